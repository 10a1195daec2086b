//! `msctp man`: writes the manual pages, made from the program's own arguments.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::Failure;
use crate::output::Output;
use crate::running::print;

/// Write the manual pages into a folder, for packages.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp man --out ~/.local/share/man/man1
  msctp man --out pages && man -l pages/msctp-send.1

Exit codes: 0 done, 1 a page cannot be written, 2 invalid arguments.")]
pub(crate) struct Args {
    /// Write msctp.1 and a page for each command into this folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !args.out.is_dir() {
        return Err(Failure::Input(format!("--out {}: want a folder that exists", args.out.display())));
    }
    let mut program = crate::program().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![("msctp".to_owned(), program.clone())];
    for command in program.get_subcommands() {
        let name = format!("msctp-{}", command.get_name());
        let page = command.clone().display_name(name.clone()).bin_name(name.replacen('-', " ", 1));
        pages.push((name, page));
    }
    for (name, command) in &pages {
        let mut page = Vec::new();
        let rendered = Man::new(command.clone()).render(&mut page);
        rendered.map_err(|error| Failure::Run(format!("cannot make the page of {name}: {error}")))?;
        Output::open("--out", &args.out.join(format!("{name}.1")))?.write(&page)?;
    }
    print(|out| writeln!(out, "{} pages in {}", pages.len(), args.out.display()))
}
