//! Turns a TOML file whose keys are a clap command's flags into arguments ([`ConfigFile`]), so that each
//! value is parsed as on the command line.

mod value;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use msctp_names::suggest;
use toml::de::DeTable;

use self::value::{flags, key_of};

/// The file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error on the line, and the allowed values.
    pub what: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

impl std::error::Error for FileError {}

/// A configuration file, and the command that reads it.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    text: &'a str,
    command: &'a Command,
    except: &'a [&'a str],
}

impl<'a> ConfigFile<'a> {
    /// Creates the configuration file of a command from its text. `except` lists the identifiers of arguments
    /// that a file cannot have.
    pub const fn new(text: &'a str, command: &'a Command, except: &'a [&'a str]) -> Self {
        Self { text, command, except }
    }

    /// Returns the arguments of the file's keys that the command line does not override. `given` is the
    /// command line.
    ///
    /// # Errors
    ///
    /// The file is not TOML, or has a key or a value that the command does not take.
    pub fn arguments(&self, given: &ArgMatches) -> Result<Vec<String>, FileError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            self.failure(place, &format!("not TOML: {}", error.message()))
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut arguments = Vec::new();
        for (key, value) in entries {
            let name: &str = key.get_ref();
            let failure = |what: String| self.failure(key.span().start, &format!("{name}: {what}"));
            let arg = self.find(name).ok_or_else(|| failure(self.unknown(name)))?;
            let own = flags(arg, value.get_ref()).map_err(failure)?;
            self.check(&own).map_err(failure)?;
            if !self.is_overridden(arg, given) {
                arguments.extend(own);
            }
        }
        Ok(arguments)
    }

    fn failure(&self, offset: usize, what: &str) -> FileError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        FileError { line, what: what.to_owned() }
    }

    /// Returns the command's arguments that a file may have.
    fn known(&self) -> impl Iterator<Item = &Arg> {
        self.command.get_arguments().filter(|arg| !self.except.contains(&arg.get_id().as_str()))
    }

    fn find(&self, key: &str) -> Option<&Arg> {
        self.known().find(|arg| key_of(arg) == key)
    }

    fn unknown(&self, key: &str) -> String {
        let known: Vec<String> = self.known().map(key_of).collect();
        format!("unknown key{}", suggest(key, known.iter().map(String::as_str)))
    }

    /// Returns whether the command line has this argument, or one that excludes it.
    fn is_overridden(&self, arg: &Arg, given: &ArgMatches) -> bool {
        let is_given =
            |arg: &Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let excludes = |other: &Arg| {
            let conflicts =
                |a, b: &Arg| self.command.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
            conflicts(arg, other) || conflicts(other, arg)
        };
        self.known().any(|other| is_given(other) && (other.get_id() == arg.get_id() || excludes(other)))
    }

    /// Parses the arguments of one key. The parser checks conflicts with other arguments when all are known.
    fn check(&self, arguments: &[String]) -> Result<(), String> {
        let name = self.command.get_name().to_owned();
        let parsed =
            self.command.clone().ignore_errors(false).try_get_matches_from([name].iter().chain(arguments));
        let Err(error) = parsed else { return Ok(()) };
        match error.kind() {
            ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::UnknownArgument
            | ErrorKind::TooFewValues
            | ErrorKind::TooManyValues
            | ErrorKind::WrongNumberOfValues => {
                let text = error.to_string();
                let first = text.split("\n\n").next().unwrap_or_default();
                let first = first.strip_prefix("error: ").unwrap_or(first);
                Err(first.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, value_parser};
    use proptest::prelude::*;

    use super::*;

    fn command() -> Command {
        Command::new("serve").args([
            Arg::new("config").long("config"),
            Arg::new("keep").long("keep").action(ArgAction::SetTrue),
            Arg::new("mtu").long("mtu").value_parser(value_parser!(u32)),
            Arg::new("bind").long("bind").action(ArgAction::Append).conflicts_with("keep"),
            Arg::new("local").short('L').action(ArgAction::Append),
            Arg::new("code").long("code").num_args(0..=1),
            Arg::new("host"),
        ])
    }

    fn arguments(text: &str, given: &[&str]) -> Result<Vec<String>, String> {
        let command = command();
        let given = command.clone().get_matches_from([&["serve"], given].concat());
        let file = ConfigFile::new(text, &command, &["config"]);
        file.arguments(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_become_arguments_unless_the_command_line_has_them() {
        let text = "keep = true\nmtu = 0x500\nL = [\"1\", \"2\"]\ncode = true\nhost = \"a\"\n";
        let all = ["--keep", "--mtu=1280", "-L=1", "-L=2", "--code", "a"].map(str::to_owned);
        assert_eq!(arguments(text, &[]).unwrap(), all);
        assert_eq!(arguments(text, &["--mtu", "900", "-L", "3", "b"]).unwrap(), ["--keep", "--code"]);
        assert_eq!(arguments("keep = true", &["--bind", "x"]).unwrap(), [""; 0], "they exclude each other");
    }

    #[test]
    fn errors_have_the_line() {
        for (text, want) in [
            ("\nmtuu = 5", "2: mtuu: unknown key; did you mean \"mtu\"?"),
            ("config = \"a\"", "1: config: unknown key"),
            ("mtu = 99999999999", "1: mtu: invalid value '99999999999'"),
            ("mtu = \"5\"", "1: mtu: this is a string: want a whole number"),
            ("keep =", "1: not TOML: "),
            ("L = []", "1: L: empty list: want at least one value"),
        ] {
            let error = arguments(text, &[]).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected_with_a_line_of_it(text in "(keep|mtu|bind|L|host|x|=|\\[|\\]|\"|1|\n| ){0,40}") {
            let command = command();
            let given = command.clone().get_matches_from(["serve"]);
            match ConfigFile::new(&text, &command, &[]).arguments(&given) {
                Ok(arguments) => {
                    let arguments = ["serve".to_owned()].into_iter().chain(arguments);
                    if let Err(error) = command.try_get_matches_from(arguments) {
                        prop_assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{}", error);
                    }
                }
                Err(error) => prop_assert!((1..=1 + text.lines().count()).contains(&error.line), "{error}"),
            }
        }
    }
}
