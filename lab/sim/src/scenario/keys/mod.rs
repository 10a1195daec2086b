//! Every key of a scenario file: name, type, default, example, help. From these tables come the parser's
//! unknown-key errors, `msctp-lab scenario explain`, the JSON schema and `docs/scenario-keys.md`.
//!
//! The readers hold what relates keys to each other. `lab/sim/tests/it/keys.rs` reads each example and each
//! default through them, so that a table and its reader cannot differ.

mod action;
mod app;
mod explain;
mod link;
mod node;
mod schema;
mod sctp;
mod tcp;
mod top;

pub(super) use action::{ACTION, ACTIONS, AFTER, EVENTS};
pub(super) use app::{APP, APPS, SENDING};
pub use explain::{explain, markdown};
pub(super) use link::*;
pub(super) use node::*;
pub use schema::schema;
pub(super) use sctp::*;
pub(super) use tcp::{PROFILE as TCP_PROFILE, TCP};
pub(super) use top::{PROBES, SCENARIO};

/// A table of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Path of the table, such as `link.radio`. Capitals stand for names.
    pub path: &'static str,
    /// Subject of the table, in one sentence.
    pub help: &'static str,
    /// Keys of the table.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Type of the value.
    pub kind: Kind,
    /// Value if the key is omitted.
    pub default: Default,
    /// Example of a value, in TOML.
    pub example: &'static str,
    /// Meaning of the key, in one sentence or two.
    pub help: &'static str,
}

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A string.
    Text,
    /// The name of another item in this list.
    Name(&'static str),
    /// The path of a file.
    File,
    /// A time with a unit.
    Time,
    /// A rate with a unit.
    Rate,
    /// A whole number, with its unit and its range.
    Integer(&'static str, u64, u64),
    /// A number, with its unit.
    Number(&'static str),
    /// A number from 0 to 1.
    Probability,
    /// `true` or `false`.
    Flag,
    /// An IP address.
    Address,
    /// A list of IP addresses. A single one needs no brackets.
    Addresses,
    /// A list of texts. A single one needs no brackets.
    Texts,
    /// A list of numbers.
    Numbers,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of the names of a catalogue.
    Names(fn() -> Vec<&'static str>),
    /// A table.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// Tables by name.
    Named(&'static Table),
    /// A table whose keys depend on another key.
    Options,
    /// A value of one of these types.
    Either(&'static [Kind]),
}

/// The value of an omitted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// The key is required.
    Required,
    /// A fixed value, in TOML.
    Is(&'static str),
    /// No value, or one that depends on others, as the text describes.
    Means(&'static str),
}

/// Creates a required key.
const fn need(name: &'static str, kind: Kind, example: &'static str, help: &'static str) -> Key {
    Key { name, kind, default: Default::Required, example, help }
}

/// Creates a key with a default in TOML.
const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    help: &'static str,
) -> Key {
    Key { name, kind, default: Default::Is(default), example, help }
}

/// Creates a key without a default of its own.
const fn may(
    name: &'static str,
    kind: Kind,
    means: &'static str,
    example: &'static str,
    help: &'static str,
) -> Key {
    Key { name, kind, default: Default::Means(means), example, help }
}

/// The largest integers.
const U16: u64 = u16::MAX as u64;
const U32: u64 = u32::MAX as u64;
const I64: u64 = i64::MAX as u64;

/// A key that several tables share.
const NAME: Key = need("name", Kind::Text, "\"first\"", "Unique in its list, without `.` and `/`.");

impl Table {
    /// Returns the names of its keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// Returns true if the table has a key.
    pub(super) fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }
}

/// Returns the names of the keys of several tables.
pub(super) fn names(tables: &[&Table]) -> Vec<&'static str> {
    tables.iter().flat_map(|table| table.names()).collect()
}

impl Kind {
    /// Describes the type in a few words.
    fn describe(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Name(list) => format!("name of {list}"),
            Self::File => "path of a file".to_owned(),
            Self::Time => "time".to_owned(),
            Self::Rate => "rate".to_owned(),
            Self::Integer(unit, least, most) => {
                let unit = if unit.is_empty() { "whole number" } else { unit };
                match *most {
                    most if most >= U32 => format!("{unit}, at least {least}"),
                    most => format!("{unit}, {least} to {most}"),
                }
            }
            Self::Number("") => "number".to_owned(),
            Self::Number(unit) => format!("number, {unit}"),
            Self::Probability => "probability, 0 to 1".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Address => "IP address".to_owned(),
            Self::Addresses => "IP addresses".to_owned(),
            Self::Texts => "list of texts".to_owned(),
            Self::Numbers => "list of numbers".to_owned(),
            Self::Words(words) => quoted(words),
            Self::Names(names) => quoted(&names()),
            Self::Table(_) => "table".to_owned(),
            Self::Tables(_) => "list of tables".to_owned(),
            Self::Named(_) => "tables by name".to_owned(),
            Self::Options => "table".to_owned(),
            Self::Either(kinds) => kinds.iter().map(Self::describe).collect::<Vec<_>>().join(", or "),
        }
    }

    /// Returns the table that a value of this type is or contains.
    fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table) | Self::Tables(table) | Self::Named(table) => Some(table),
            Self::Either(kinds) => kinds.iter().find_map(Self::table),
            _ => None,
        }
    }
}

/// Joins words in quotes.
fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns every table, each once, in the order of the file's sections.
#[must_use]
pub fn tables() -> Vec<&'static Table> {
    let mut all: Vec<&'static Table> = Vec::new();
    let variants = link::TYPES.iter().chain(app::TABLES).chain(action::TABLES).copied();
    let mut open: Vec<&'static Table> = vec![&SCENARIO];
    open.extend(variants);
    while !open.is_empty() {
        let table = open.remove(0);
        if all.iter().any(|known| known.path == table.path && known.names() == table.names()) {
            continue;
        }
        all.push(table);
        let inner = table.keys.iter().filter_map(|key| key.kind.table());
        open.splice(0..0, inner);
    }
    all.sort_by_key(|table| section_of(table.path));
    all
}

/// Returns the position of a table's section in the file.
fn section_of(path: &str) -> usize {
    let section = path.split(['.', '[']).next().unwrap_or_default();
    SCENARIO.keys.iter().position(|key| key.name == section).map_or(0, |place| place + 1)
}
