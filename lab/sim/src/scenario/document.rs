//! Reads a TOML document key by key, so that every error names its line, its key and the fix.
//!
//! A [`Section`] gets its valid keys when it is opened, and rejects others. A problem has the path of its key
//! (`link.wlan.rate`); [`Document::locate`] finds its line. Does not depend on the content of scenarios: the
//! laboratory reads its sweeps with it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use msctp_units::{Rate, Span};

use super::compose::{self, Text, name_of};
use super::error::{Problem, ScenarioError, removed_key, suggest};

/// A parsed document.
pub struct Document<'t> {
    /// Files of the document, the last of which names it.
    texts: &'t [Text],
    /// Tables of the document.
    pub root: DeTable<'t>,
}

/// Position of an overridden value, which is not in the text.
const NOWHERE: Range<usize> = usize::MAX..usize::MAX;

impl<'t> Document<'t> {
    /// Parses a document of one file.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse(text: &'t Text) -> Result<Self, ScenarioError> {
        Ok(Self { root: compose::parse(text)?, texts: std::slice::from_ref(text) })
    }

    /// Parses a scenario's files, merges them, applies the overrides (`key=value`), and the templates and
    /// counts.
    ///
    /// # Errors
    /// A text is not TOML, an override names no value, or a template or count is invalid.
    pub fn compose(texts: &'t [Text], overrides: &'t [String]) -> Result<Self, ScenarioError> {
        let mut document = Self { root: compose::merged(texts)?, texts };
        let (before, after): (Vec<_>, Vec<_>) = overrides.iter().partition(|pair| compose::is_before(pair));
        document.apply(before)?;
        let mut root = document.root.clone();
        compose::expand(&mut root).map_err(|problem| document.locate(problem))?;
        document.root = root;
        document.apply(after)?;
        Ok(document)
    }

    fn apply(&mut self, overrides: Vec<&'t String>) -> Result<(), ScenarioError> {
        overrides.into_iter().try_for_each(|pair| {
            apply(&mut self.root, pair).map_err(|message| ScenarioError {
                file: None,
                line: None,
                key: format!("override {pair}"),
                message,
            })
        })
    }

    /// Returns the key with the name of a table of a list in place of its number.
    fn named(&self, key: &str) -> String {
        let mut steps = key.splitn(3, '.');
        let (Some(list), Some(number)) = (steps.next(), steps.next()) else { return key.to_owned() };
        let item = match self.root.get(list).map(Spanned::get_ref) {
            Some(DeValue::Array(items))
                if items.iter().all(|item| name_of(item.get_ref()).is_none_or(|name| name != number)) =>
            {
                number.parse().ok().and_then(|number: usize| items.get(number))
            }
            _ => None,
        };
        let Some(name) = item.and_then(|item| name_of(item.get_ref())) else { return key.to_owned() };
        [list, name].into_iter().chain(steps.next()).collect::<Vec<_>>().join(".")
    }

    /// Returns the position of a key or of the innermost table around it, and whether the key itself was
    /// found.
    fn place_of(&self, key: &str) -> (Option<usize>, bool) {
        let mut table = &self.root;
        let mut place = None;
        let mut steps = key.split('.').peekable();
        while let Some(step) = steps.next() {
            let Some((written, value)) = table.get_key_value(step) else { return (place, false) };
            place = Some(written.span().start);
            table = match value.get_ref() {
                DeValue::Table(inner) => inner,
                DeValue::Array(items) => {
                    let Some(wanted) = steps.next() else { return (place, true) };
                    // Take the last of equal names: the second of two is the duplicate.
                    let is_it = |(number, item): &(usize, &Spanned<DeValue<'_>>)| {
                        name_of(item.get_ref())
                            .map_or_else(|| number.to_string() == wanted, |name| name == wanted)
                    };
                    let Some((_, item)) = items.iter().enumerate().rfind(is_it) else {
                        return (place, false);
                    };
                    place = Some(item.span().start);
                    match item.get_ref() {
                        DeValue::Table(inner) => inner,
                        _ => return (place, steps.peek().is_none()),
                    }
                }
                _ => return (place, steps.peek().is_none()),
            };
        }
        (place, true)
    }

    /// Returns true if the file itself has this key, rather than an override.
    pub fn is_written(&self, key: &str) -> bool {
        matches!(self.place_of(key), (Some(place), true) if place < NOWHERE.start)
    }

    /// Adds file and line to a problem. If two keys share a value, names the key in the file.
    pub fn locate(&self, mut problem: Problem) -> ScenarioError {
        if !self.place_of(&problem.key).1 {
            problem.key = self.named(&problem.key);
        }
        let (mut place, written) = self.place_of(&problem.key);
        if !written {
            let shared = [
                (".forward.", "."),
                (".reverse.", "."),
                (".client_sctp", ".sctp"),
                (".server_sctp", ".sctp"),
                (".client_profile", ".profile"),
                (".server_profile", ".profile"),
            ];
            for (own, both) in shared {
                let key = problem.key.replacen(own, both, 1);
                if let (Some(found), true) = self.place_of(&key)
                    && key != problem.key
                {
                    (place, problem.key) = (Some(found), key);
                    break;
                }
            }
        }
        let found = place.and_then(|place| compose::locate(self.texts, place));
        let file = found.map(|(file, _)| file).or(self.texts.last().map(|text| text.file.as_str()));
        ScenarioError {
            file: file.map(str::to_owned),
            line: found.map(|(_, line)| line),
            key: problem.key,
            message: problem.message,
        }
    }
}

/// Replaces or sets one value, such as `link.wlan.rate=5Mbps`. Tables in arrays are found by their `name`,
/// else by number.
fn apply<'t>(root: &mut DeTable<'t>, pair: &'t str) -> Result<(), String> {
    let (path, text) =
        pair.split_once('=').ok_or("want KEY=VALUE, such as duration=10s or link.wlan.rate=5Mbps")?;
    let value = parse_value(text.trim());
    let mut table = root;
    let mut steps = path.trim().split('.').peekable();
    loop {
        let step = steps.next().filter(|s| !s.is_empty()).ok_or("the key has an empty part")?;
        if steps.peek().is_none() {
            // Remove it first, because a map keeps the old key with its place.
            table.remove(step);
            table.insert(Spanned::new(NOWHERE, step.into()), Spanned::new(NOWHERE, value));
            return Ok(());
        }
        let inner = table
            .entry(Spanned::new(NOWHERE, step.into()))
            .or_insert_with(|| Spanned::new(NOWHERE, DeValue::Table(DeTable::new())))
            .get_mut();
        table = match inner {
            DeValue::Table(inner) => inner,
            DeValue::Array(items) => {
                let wanted = steps.next().unwrap_or_default();
                let names: Vec<String> = items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| name_of(item.get_ref()).map_or_else(|| i.to_string(), str::to_owned))
                    .collect();
                let at = names.iter().position(|name| name == wanted).ok_or_else(|| {
                    format!(
                        "there is no {step} \"{wanted}\"{}",
                        suggest(wanted, names.iter().map(String::as_str))
                    )
                })?;
                match items.get_mut(at).map(Spanned::get_mut) {
                    Some(DeValue::Table(inner)) if steps.peek().is_some() => inner,
                    _ => return Err(format!("{step}.{wanted} is not a value: name a key in it")),
                }
            }
            _ => return Err(format!("{step} is a value, not a table: want {step}=VALUE")),
        };
    }
}

/// Parses the text as a TOML value, or else as a string.
fn parse_value(text: &str) -> DeValue<'_> {
    let mut value = match DeValue::parse(text) {
        Ok(value) => value.into_inner(),
        Err(_) => DeValue::String(text.into()),
    };
    forget_places(&mut value);
    value
}

fn forget_places(value: &mut DeValue<'_>) {
    match value {
        DeValue::Array(items) => {
            for item in items.iter_mut() {
                forget_places(item.get_mut());
                *item = Spanned::new(NOWHERE, std::mem::replace(item.get_mut(), DeValue::Boolean(false)));
            }
        }
        DeValue::Table(table) => {
            let entries = std::mem::take(table);
            for (key, mut value) in entries {
                forget_places(value.get_mut());
                let value = Spanned::new(NOWHERE, value.into_inner());
                table.insert(Spanned::new(NOWHERE, key.into_inner()), value);
            }
        }
        _ => {}
    }
}

/// One table of the document.
pub struct Section<'d, 't> {
    table: &'d DeTable<'t>,
    /// Dotted path of the table; empty for the whole document.
    path: String,
}

impl<'d, 't> Section<'d, 't> {
    /// Opens a table and rejects keys that are not in `valid`.
    pub fn open(table: &'d DeTable<'t>, path: String, valid: &[&str]) -> Result<Self, Problem> {
        let section = Self { table, path };
        let unknown = table.keys().filter(|key| !valid.contains(&&**key.get_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(section),
            Some(key) => {
                let name: &str = key.get_ref();
                let what = match removed_key(name) {
                    Some(now) => format!("removed: {now}"),
                    None => format!("unknown key{}", suggest(name, valid.iter().copied())),
                };
                Err(Problem::new(section.key(name), what))
            }
        }
    }

    /// Returns the path of a key of this table.
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Returns the path of the table.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if the table has a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the value of a key as it was written.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&'d DeValue<'t>> {
        Some(self.table.get(key)?.get_ref())
    }

    /// Returns the problem of a value whose type is not `want`.
    #[must_use]
    pub fn wrong_type(&self, key: &str, value: &DeValue<'_>, want: &str) -> Problem {
        Problem::new(self.key(key), format!("{} is {}: want {want}", show(value), kind(value)))
    }

    /// Returns the value of a required key.
    pub fn required<T>(&self, key: &str, value: Option<T>, example: &str) -> Result<T, Problem> {
        value.ok_or_else(|| Problem::new(self.key(key), format!("missing: want {key} = {example}")))
    }

    /// Reads a string.
    pub fn text(&self, key: &str) -> Result<Option<&'d str>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(key, other, "a string in quotes")),
        }
    }

    /// Reads a value that is written as a string, such as a rate or a time.
    pub fn parsed<T: FromStr>(&self, key: &str, example: &str) -> Result<Option<T>, Problem>
    where
        T::Err: std::fmt::Display,
    {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::String(text)) => {
                text.parse().map(Some).map_err(|e| Problem::new(self.key(key), format!("\"{text}\" is {e}")))
            }
            Some(other) => Err(self.wrong_type(key, other, &format!("a string, such as {example}"))),
        }
    }

    /// Reads a rate with a unit, such as `"11Mbps"`.
    pub fn rate(&self, key: &str) -> Result<Option<Rate>, Problem> {
        self.parsed(key, "\"11Mbps\"")
    }

    /// Reads a time with a unit, such as `"20ms"`.
    pub fn span(&self, key: &str) -> Result<Option<Span>, Problem> {
        self.parsed(key, "\"20ms\"")
    }

    /// Reads an IP address.
    pub fn address(&self, key: &str) -> Result<Option<IpAddr>, Problem> {
        self.text(key)?.map(|text| self.parse_address(key, text)).transpose()
    }

    fn parse_address(&self, key: &str, text: &str) -> Result<IpAddr, Problem> {
        text.parse().map_err(|_| {
            Problem::new(
                self.key(key),
                format!("\"{text}\" is not an address: want IPv4 or IPv6, such as 10.0.2.1 or fd00::1"),
            )
        })
    }

    /// Reads a list of IP addresses. A single one needs no brackets.
    pub fn addresses(&self, key: &str) -> Result<Option<Vec<IpAddr>>, Problem> {
        match self.value(key) {
            Some(DeValue::Array(items)) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => self.parse_address(key, text),
                    other => Err(self.wrong_type(key, other, "an address in quotes")),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            _ => Ok(self.address(key)?.map(|address| vec![address])),
        }
    }

    /// Reads a list of texts. A single one needs no brackets.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Problem> {
        match self.value(key) {
            Some(DeValue::Array(items)) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Ok(text.to_string()),
                    other => Err(self.wrong_type(key, other, "a text in quotes")),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            _ => Ok(self.text(key)?.map(|text| vec![text.to_owned()])),
        }
    }

    /// Reads a whole number from `min` to `max`.
    pub fn integer<T: TryFrom<i128>>(&self, key: &str, min: i128, max: i128) -> Result<Option<T>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let want = || format!("a whole number from {min} to {max}");
        let DeValue::Integer(number) = value else {
            return Err(self.wrong_type(key, value, &want()));
        };
        i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|n| (min..=max).contains(n))
            .and_then(|n| T::try_from(n).ok())
            .map(Some)
            .ok_or_else(|| Problem::new(self.key(key), format!("{number} is out of range: want {}", want())))
    }

    /// Reads a list of whole numbers of at least 0.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<u64>>, Problem> {
        let want = "a list of whole numbers, such as [3, 17]";
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::Array(items)) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                        .map_err(|_| self.wrong_type(key, item.get_ref(), want)),
                    other => Err(self.wrong_type(key, other, want)),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            Some(other) => Err(self.wrong_type(key, other, want)),
        }
    }

    /// Reads a number, with or without decimals.
    pub fn number(&self, key: &str) -> Result<Option<f64>, Problem> {
        self.value(key).map(|value| self.parse_number(key, value)).transpose()
    }

    /// Reads a list of numbers, with or without decimals.
    pub fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::Array(items)) => items
                .iter()
                .map(|item| self.parse_number(key, item.get_ref()))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(other) => Err(self.wrong_type(key, other, "a list of numbers")),
        }
    }

    fn parse_number(&self, key: &str, value: &DeValue<'_>) -> Result<f64, Problem> {
        let text = match value {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) => number.as_str(),
            other => return Err(self.wrong_type(key, other, "a number")),
        };
        text.parse().map_err(|_| Problem::new(self.key(key), format!("{text} is not a number")))
    }

    /// Reads `true` or `false`.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::Boolean(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong_type(key, other, "true or false")),
        }
    }

    /// Reads one of several words.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match choices.iter().find(|(word, _)| *word == text) {
            Some(&(_, value)) => Ok(Some(value)),
            None => Err(Problem::new(
                self.key(key),
                format!("\"{text}\" is unknown{}", suggest(text, choices.iter().map(|&(word, _)| word))),
            )),
        }
    }

    /// Opens a table inside this one.
    pub fn section(&self, key: &str, valid: &[&str]) -> Result<Option<Self>, Problem> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::Table(table)) => Section::open(table, self.key(key), valid).map(Some),
            Some(other) => Err(self.wrong_type(key, other, "a table")),
        }
    }

    /// Returns true if the value is a table.
    pub fn is_table(&self, key: &str) -> bool {
        matches!(self.value(key), Some(DeValue::Table(_)))
    }

    /// Returns true if the value is a string.
    pub fn is_string(&self, key: &str) -> bool {
        matches!(self.value(key), Some(DeValue::String(_)))
    }

    /// Returns the value as it was written, for a message.
    pub fn show(&self, key: &str) -> String {
        self.value(key).map(show).unwrap_or_default()
    }

    /// Returns true if the value is a whole number.
    pub fn is_integer(&self, key: &str) -> bool {
        matches!(self.value(key), Some(DeValue::Integer(_)))
    }

    /// Returns the tables of `[[key]]`, each with its path: by name if it has one, else by number.
    pub fn items(&self, key: &str) -> Result<Vec<(String, &'d DeTable<'t>)>, Problem> {
        let items = match self.value(key) {
            None => return Ok(Vec::new()),
            Some(DeValue::Array(items)) => items,
            // The file has no such table: an override of one of them created this one.
            Some(DeValue::Table(table)) if table.keys().all(|name| name.span() == NOWHERE) => {
                let name = table.keys().next().map(|name| name.get_ref().to_string()).unwrap_or_default();
                let path = self.key(&format!("{key}.{name}"));
                let message = format!("there is no {key} \"{name}\": the file has no [[{key}]]");
                return Err(Problem::new(path, message));
            }
            Some(other) => return Err(self.wrong_type(key, other, &format!("tables headed [[{key}]]"))),
        };
        let mut out: Vec<(String, &DeTable<'t>)> = Vec::with_capacity(items.len());
        let mut names = BTreeSet::new();
        for (number, item) in items.iter().enumerate() {
            let DeValue::Table(table) = item.get_ref() else {
                return Err(self.wrong_type(key, item.get_ref(), &format!("tables headed [[{key}]]")));
            };
            let name = name_of(item.get_ref());
            let path = self.key(&format!("{key}.{}", name.map_or_else(|| number.to_string(), str::to_owned)));
            if name.is_some_and(|name| !names.insert(name)) {
                return Err(Problem::new(path, "two items have this name: want unique names"));
            }
            out.push((path, table));
        }
        Ok(out)
    }

    /// Returns the tables of `[key.NAME]`, in the order of the file.
    pub fn named(&self, key: &str) -> Result<Vec<(String, &'d DeTable<'t>)>, Problem> {
        let table = match self.value(key) {
            None => return Ok(Vec::new()),
            Some(DeValue::Table(table)) => table,
            Some(other) => return Err(self.wrong_type(key, other, &format!("tables headed [{key}.NAME]"))),
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
            .into_iter()
            .map(|(name, value)| match value.get_ref() {
                DeValue::Table(inner) => Ok((name.get_ref().to_string(), inner)),
                other => Err(Problem::new(
                    self.key(key),
                    format!(
                        "{name} is {}: want tables headed [{key}.NAME]",
                        kind(other),
                        name = name.get_ref()
                    ),
                )),
            })
            .collect()
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn show(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) | DeValue::Table(_) => "this".to_owned(),
    }
}
