//! Arguments that the programs treat alike, and the hidden commands that packages use.

pub mod completions;
pub mod man;

use clap::Command;

/// Returns a program's command whose `--version` is that of the program, and whose arguments take negative
/// numbers: one out of range gets the error about its range, not one about an unknown flag.
#[must_use]
pub fn command(program: &'static str, command: Command) -> Command {
    command.display_name(program).mut_args(|argument| {
        let takes = argument.get_action().takes_values();
        if takes { argument.allow_negative_numbers(true) } else { argument }
    })
}
