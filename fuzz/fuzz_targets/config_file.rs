//! The file of `--config` for a command with every kind of argument: no panic, errors with a line of the file, and
//! arguments that are flags of the command.
#![no_main]

use std::sync::LazyLock;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use msctp_config_file::ConfigFile;

static COMMAND: LazyLock<(Command, ArgMatches)> = LazyLock::new(|| {
    let mut command = Command::new("serve").args([
        Arg::new("config").long("config"),
        Arg::new("keep").long("keep").action(ArgAction::SetTrue),
        Arg::new("mtu").long("mtu").value_parser(value_parser!(u32)),
        Arg::new("metrics").long("metrics").value_name("[ADDRESS:]PORT"),
        Arg::new("nat").long("nat").value_parser(["auto", "always", "never"]),
        Arg::new("bind").long("bind").action(ArgAction::Append).conflicts_with("keep"),
        Arg::new("prefer").long("prefer").value_delimiter(','),
        Arg::new("local").short('L').action(ArgAction::Append),
        Arg::new("code").long("code").num_args(0..=1),
        Arg::new("host"),
    ]);
    let given = command.try_get_matches_from_mut(["serve"]).expect("no argument is required");
    (command, given)
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (command, given) = &*COMMAND;
    match ConfigFile::new(text, command, &["config"]).arguments(given) {
        Ok(arguments) => {
            let arguments = ["serve".to_owned()].into_iter().chain(arguments);
            if let Err(error) = command.clone().try_get_matches_from(arguments) {
                assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{error}");
            }
        }
        Err(error) => assert!((1..=1 + text.matches('\n').count()).contains(&error.line), "{error}"),
    }
});
