//! `msctp completions`: writes a shell's completion script, made from the program's own arguments.

use clap_complete::{Shell, generate};

use crate::Failure;
use crate::running::print;

/// Write the completion script of a shell to standard output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp completions bash > ~/.local/share/bash-completion/completions/msctp
  msctp completions zsh > ~/.zfunc/_msctp                  with fpath+=~/.zfunc before compinit in ~/.zshrc
  msctp completions fish > ~/.config/fish/completions/msctp.fish

Exit codes: 0 done, 1 standard output cannot be written, 2 invalid arguments.")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completion script.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut crate::program(), "msctp", &mut script);
    print(|out| out.write_all(&script))
}
