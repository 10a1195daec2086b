//! Writes a shell's completion script, made from the program's own arguments.

use clap::Command;
use clap_complete::{Shell, generate};

use crate::{Failure, print};

/// Write the completion script of a shell to standard output.
#[derive(clap::Args)]
#[command(after_help = "\
The script of msctp goes to ~/.local/share/bash-completion/completions/msctp (bash), ~/.zfunc/_msctp with \
fpath+=~/.zfunc before compinit in ~/.zshrc (zsh), or ~/.config/fish/completions/msctp.fish (fish).

Exit codes: 0 done, 1 standard output cannot be written, 2 invalid arguments.")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completion script of a program.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &Args, mut program: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    generate(args.shell, &mut program, name, &mut script);
    print(|out| out.write_all(&script))
}
