//! `msctp sim`: run one scenario.

use std::path::PathBuf;

use crate::Failure;

/// Run one scenario in virtual time and print what happened.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The scenario file (TOML).
    scenario: PathBuf,
}

/// Reads the scenario and runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let text = std::fs::read_to_string(&args.scenario)
        .map_err(|e| Failure::Input(format!("{}: {e}", args.scenario.display())))?;
    if text.is_empty() {
        return Err(Failure::Input(format!("{}: the file is empty", args.scenario.display())));
    }
    Err(Failure::Run("the simulator is not linked yet".into()))
}
