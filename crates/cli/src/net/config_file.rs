//! `--config FILE`: a TOML file whose keys are the names of the command's flags. It becomes arguments before
//! those of the command line (`msctp-config-file`).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command};
use msctp_config_file::ConfigFile;
use msctp_terminal::Failure;
use msctp_terminal::system::read_text;

/// The commands that take `--config`.
const COMMANDS: [&str; 3] = ["serve", "forward", "tunnel"];

/// Arguments that a configuration file cannot set.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "version"];

/// Adds `--config` to a command that takes it.
pub(crate) fn add(command: Command) -> Command {
    if !COMMANDS.contains(&command.get_name()) {
        return command;
    }
    let config = Arg::new("config").long("config").value_name("FILE").help(
        "TOML file with options, such as bind = [\"192.0.2.1\"] and fixed = true: the keys are \
         the flags' long names, or L, D, R, W and host. The command line takes precedence",
    );
    command.arg(config.value_parser(clap::value_parser!(PathBuf)))
}

/// Returns the arguments with those of the `--config` file before the command line's own.
///
/// # Errors
///
/// The file cannot be used; the message has the line.
pub(crate) fn expand(program: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let mut lenient = program.clone().ignore_errors(true);
    // Whatever is wrong with the command line itself is reported when it is parsed for good.
    let Ok(matches) = lenient.try_get_matches_from_mut(&given) else { return Ok(given) };
    let Some((name, matches)) = matches.subcommand().filter(|(name, _)| COMMANDS.contains(name)) else {
        return Ok(given);
    };
    let (Some(path), Some(command)) = (matches.get_one::<PathBuf>("config"), lenient.find_subcommand(name))
    else {
        return Ok(given);
    };
    let text = read_text(format!("--config {}", path.display()), path)?;
    let file = ConfigFile::new(&text, command, &NOT_IN_FILES);
    let own =
        file.arguments(matches).map_err(|error| Failure::Input(format!("{}:{error}", path.display())))?;
    let Some(place) = given.iter().skip(1).position(|argument| argument == name) else { return Ok(given) };
    let mut arguments = given;
    let behind = arguments.split_off(place + 2);
    arguments.extend(own.into_iter().map(OsString::from));
    arguments.extend(behind);
    Ok(arguments)
}
