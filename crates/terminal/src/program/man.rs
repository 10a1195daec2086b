//! Writes the manual pages, made from the program's own arguments.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::output::Output;
use crate::{Failure, print};

/// Write the manual pages into a folder, for packages.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 done, 1 a page cannot be written, 2 invalid arguments.")]
pub struct Args {
    /// Write the program's page and one for each command into this folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the pages of a program.
///
/// # Errors
/// The folder does not exist, or a page cannot be written.
pub fn run(args: &Args, program: Command) -> Result<(), Failure> {
    if !args.out.is_dir() {
        return Err(Failure::Input(format!("--out {}: want a folder that exists", args.out.display())));
    }
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let own = program.get_name().to_owned();
    let mut pages = vec![(own.clone(), program.clone())];
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("{own}-{}", command.get_name());
        let used = format!("{own} {}", command.get_name());
        pages.push((name.clone(), command.clone().display_name(name).bin_name(used)));
    }
    for (name, command) in &pages {
        let mut page = Vec::new();
        let rendered = Man::new(command.clone()).render(&mut page);
        rendered.map_err(|error| Failure::Run(format!("cannot make the page of {name}: {error}")))?;
        Output::open("--out", &args.out.join(format!("{name}.1")))?.write(&page)?;
    }
    print(|out| writeln!(out, "{} pages in {}", pages.len(), args.out.display()))
}
