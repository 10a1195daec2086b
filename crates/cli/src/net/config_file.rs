//! `--config FILE`: a TOML file whose keys are the names of the command's flags. It becomes arguments before
//! those of the command line, so each value is parsed as on the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use msctp_schemes::catalogue::suggest;
use toml::de::{DeTable, DeValue};

use crate::Failure;
use crate::system::read_text;

/// The commands that take the option.
const COMMANDS: [&str; 3] = ["serve", "forward", "tunnel"];

/// Arguments that a file cannot have.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "version"];

/// Adds `--config` to a command that takes it.
pub(crate) fn add(command: Command) -> Command {
    if !COMMANDS.contains(&command.get_name()) {
        return command;
    }
    let config = Arg::new("config").long("config").value_name("FILE").help(
        "TOML file with options, as bind = [\"192.0.2.1\"] and fixed = true: the keys are the flags' long names, or \
         L, D, R, W and host. The command line takes precedence",
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
    let file = File { path, text: &text, command };
    let Some(place) = given.iter().skip(1).position(|argument| argument == name) else { return Ok(given) };
    let mut arguments = given;
    let behind = arguments.split_off(place + 2);
    arguments.extend(file.arguments(matches)?);
    arguments.extend(behind);
    Ok(arguments)
}

/// A file, and the command that it is for.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
    command: &'a Command,
}

impl File<'_> {
    /// Returns the arguments of the keys that the command line leaves to the file.
    fn arguments(&self, given: &ArgMatches) -> Result<Vec<OsString>, Failure> {
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
                arguments.extend(own.into_iter().map(OsString::from));
            }
        }
        Ok(arguments)
    }

    fn failure(&self, offset: usize, what: &str) -> Failure {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        Failure::Input(format!("{}:{line}: {what}", self.path.display()))
    }

    /// Returns the command's arguments that a file may have.
    fn known(&self) -> impl Iterator<Item = &Arg> {
        self.command.get_arguments().filter(|arg| !NOT_IN_FILES.contains(&arg.get_id().as_str()))
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

    /// Parses the arguments of one key. Whether they fit to the others is checked when all are known.
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

/// Returns the key of an argument: its long name, else its letter, else the name of its place.
fn key_of(arg: &Arg) -> String {
    let letter = || arg.get_short().map(String::from);
    arg.get_long().map(str::to_owned).or_else(letter).unwrap_or_else(|| arg.get_id().to_string())
}

/// Returns the arguments of a key with this value, or what is wrong with the value.
fn flags(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let flag = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        // It stands alone on the command line, where it would be a flag.
        (None, None) => match text(arg, value)? {
            text if text.starts_with('-') => return Err(format!("{text:?} begins with \"-\": want a host")),
            text => return Ok(vec![text]),
        },
    };
    let one = |value: &DeValue<'_>| Ok(format!("{flag}={}", text(arg, value)?));
    let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::SetTrue, DeValue::Boolean(true)) => Ok(vec![flag]),
        (ArgAction::SetTrue, other) => Err(wrong(other, "true or false")),
        (_, DeValue::Boolean(wanted)) if optional => Ok(if *wanted { vec![flag] } else { Vec::new() }),
        (ArgAction::Append, DeValue::Array(values)) => {
            values.iter().map(|value| one(value.get_ref())).collect()
        }
        (_, value) => Ok(vec![one(value)?]),
    }
}

/// Returns a single value as on the command line.
fn text(arg: &Arg, value: &DeValue<'_>) -> Result<String, String> {
    use std::any::TypeId;
    let parses = arg.get_value_parser().type_id();
    let is_number = [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>()]
        .iter()
        .any(|number| parses == *number);
    let is_port = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.ends_with("]PORT")));
    match value {
        DeValue::String(text) if !is_number => Ok(text.to_string()),
        DeValue::Integer(number) if is_number || is_port => {
            let digits = i128::from_str_radix(number.as_str(), number.radix());
            digits.map(|digits| digits.to_string()).map_err(|_| format!("{} is too large", number.as_str()))
        }
        other if is_number => Err(wrong(other, "a whole number")),
        other if is_port => Err(wrong(other, "a port, or a string in quotes")),
        other => Err(wrong(other, "a string in quotes")),
    }
}

fn wrong(value: &DeValue<'_>, want: &str) -> String {
    let is = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("this is {is}: want {want}")
}
