//! The arguments of a key: its flag, and its value as on the command line.

use clap::{Arg, ArgAction};
use toml::de::DeValue;

/// Returns the key of an argument: its long name, else its letter, else its placeholder.
pub(crate) fn key_of(arg: &Arg) -> String {
    let letter = || arg.get_short().map(String::from);
    arg.get_long().map(str::to_owned).or_else(letter).unwrap_or_else(|| arg.get_id().to_string())
}

/// Returns the arguments of a key with this value, or an error about the value.
pub(crate) fn flags(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, String> {
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
        // Read as the default, which for most flags means everything, it would widen access.
        (ArgAction::Append, DeValue::Array(values)) if values.is_empty() => {
            Err("empty list: want at least one value, or no such key for the default".to_owned())
        }
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
