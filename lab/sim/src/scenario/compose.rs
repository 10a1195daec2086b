//! Composes a scenario of several files, templates and counted items, before its keys are read:
//! `extends = "base.toml"`, `template = "NAME"` and `count = 200` with `{i}`.
//!
//! Works on tables alone; does not depend on the meaning of keys, except for the names of the lists of items.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{Problem, ScenarioError, suggest};

/// The lists whose items have names, templates and counts.
const LISTS: [&str; 6] = ["node", "link", "association", "tcp", "app", "action"];

/// The tables of named tables.
const NAMED: [&str; 3] = ["sctp", "tcp-profile", "template"];

/// Maximum number of files, and of copies of an item.
const MOST_FILES: usize = 32;
const MOST_COPIES: i64 = 100_000;

/// A file of a scenario, or another document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Path of the file, for errors.
    pub file: String,
    /// Its contents.
    pub text: String,
    /// Folder of the paths in the file, relative to the scenario's.
    folder: String,
}

impl Text {
    /// Creates a document of one file.
    #[must_use]
    pub fn new(text: &str, file: &str) -> Self {
        Self { file: file.to_owned(), text: text.to_owned(), folder: String::new() }
    }
}

/// Reads a scenario file and the files that it extends, each before those that extend it. `open` returns the
/// text of a file by its path relative to the scenario's folder.
///
/// # Errors
/// A file is not TOML, cannot be read, or extends itself. The error has the line.
pub fn texts(
    text: &str,
    file: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<Text>, ScenarioError> {
    let mut texts = Vec::new();
    let root = Path::new(file).parent().map_or_else(String::new, |at| at.to_string_lossy().into_owned());
    collect(Text::new(text, file), &[], &root, open, &mut texts)?;
    Ok(texts)
}

fn collect(
    own: Text,
    extending: &[&str],
    root_folder: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
    texts: &mut Vec<Text>,
) -> Result<(), ScenarioError> {
    let root = parse(&own)?;
    let fail = |at: usize, message: String| {
        Err(ScenarioError {
            file: Some(own.file.clone()),
            line: line_at(&own.text, at),
            key: "extends".to_owned(),
            message,
        })
    };
    if let Some((key, value)) = root.get_key_value("extends") {
        let at = key.span().start;
        let names: Option<Vec<&str>> = match value.get_ref() {
            DeValue::String(name) => Some(vec![name]),
            DeValue::Array(names) => names.iter().map(|name| name.get_ref().as_str()).collect(),
            _ => None,
        };
        let Some(names) = names else {
            return fail(at, "want the path of a scenario file in quotes, or a list of them".to_owned());
        };
        for name in names {
            let path = beside(&own.folder, name);
            if extending.contains(&path.as_str()) {
                let message = format!(
                    "{name} extends this file, directly or indirectly: remove one of the two extends"
                );
                return fail(at, message);
            }
            if texts.len() + extending.len() >= MOST_FILES {
                return fail(at, format!("more than {MOST_FILES} files: want fewer"));
            }
            let text = match open(&path) {
                Ok(text) => text,
                Err(why) => return fail(at, why),
            };
            let folder =
                Path::new(&path).parent().map_or_else(String::new, |at| at.to_string_lossy().into_owned());
            let base = Text { file: beside(root_folder, &path), text, folder };
            collect(base, &[extending, &[path.as_str()]].concat(), root_folder, open, texts)?;
        }
    }
    texts.push(own);
    Ok(())
}

pub(super) fn parse(of: &Text) -> Result<DeTable<'_>, ScenarioError> {
    let parsed = DeTable::parse(&of.text).map_err(|e| ScenarioError {
        file: Some(of.file.clone()),
        line: e.span().and_then(|span| line_at(&of.text, span.start)),
        key: String::new(),
        message: format!("not TOML: {}", e.message()),
    })?;
    Ok(parsed.into_inner())
}

/// Returns the line of an offset, from 1.
fn line_at(text: &str, offset: usize) -> Option<usize> {
    Some(1 + text.get(..offset)?.bytes().filter(|&b| b == b'\n').count())
}

/// Returns a path in a folder, without `.` and `..` where possible.
#[must_use]
pub fn beside(folder: &str, name: &str) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(folder).join(name).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}

/// Returns the file and the line of a position in the merged tables.
pub(super) fn locate(texts: &[Text], place: usize) -> Option<(&str, usize)> {
    let mut offset = 0;
    for text in texts {
        if let Some(line) = place.checked_sub(offset).and_then(|place| line_at(&text.text, place)) {
            return Some((&text.file, line));
        }
        offset += text.text.len() + 1;
    }
    None
}

/// Parses the files and merges each into the previous ones. Positions count through the files in order.
pub(super) fn merged(texts: &[Text]) -> Result<DeTable<'_>, ScenarioError> {
    let mut root = DeTable::new();
    let mut offset = 0;
    for text in texts {
        let mut table = parse(text)?;
        table.remove("extends");
        shift(&mut table, offset, &text.folder);
        offset += text.text.len() + 1;
        merge(&mut root, table);
    }
    Ok(root)
}

/// Moves the positions of a table by `offset`, and the paths of its traces into their file's folder.
fn shift(table: &mut DeTable<'_>, offset: usize, folder: &str) {
    for (key, mut value) in std::mem::take(table) {
        if key.get_ref() == "trace"
            && !folder.is_empty()
            && let DeValue::String(path) = value.get_mut()
        {
            *path = Cow::Owned(beside(folder, path));
        }
        let moved = shifted(value, offset, folder);
        let span = key.span();
        table.insert(Spanned::new(span.start + offset..span.end + offset, key.into_inner()), moved);
    }
}

fn shifted<'t>(value: Spanned<DeValue<'t>>, offset: usize, folder: &str) -> Spanned<DeValue<'t>> {
    let span = value.span();
    let mut inner = value.into_inner();
    match &mut inner {
        DeValue::Table(table) => shift(table, offset, folder),
        DeValue::Array(items) => {
            for item in items.iter_mut() {
                let taken = std::mem::replace(item, Spanned::new(0..0, DeValue::Boolean(false)));
                *item = shifted(taken, offset, folder);
            }
        }
        _ => {}
    }
    Spanned::new(span.start + offset..span.end + offset, inner)
}

/// Merges a file into those that it extends. Keys replace keys; lists and named tables are merged item by
/// item.
fn merge<'t>(base: &mut DeTable<'t>, own: DeTable<'t>) {
    for (key, value) in own {
        let name = key.get_ref().to_string();
        match (base.get_mut(name.as_str()).map(Spanned::get_mut), value.into_inner_with_span()) {
            (Some(DeValue::Array(known)), (DeValue::Array(items), _)) if LISTS.contains(&name.as_str()) => {
                for item in items {
                    let same = known.iter_mut().find(|known| {
                        name_of(known.get_ref()).is_some_and(|name| Some(name) == name_of(item.get_ref()))
                    });
                    match (same.map(Spanned::get_mut), item.into_inner_with_span()) {
                        (Some(DeValue::Table(known)), (DeValue::Table(item), _)) => replace(known, item),
                        (_, (item, span)) => known.push(Spanned::new(span, item)),
                    }
                }
            }
            (Some(DeValue::Table(known)), (DeValue::Table(tables), _)) if NAMED.contains(&name.as_str()) => {
                for (key, value) in tables {
                    match (
                        known.get_mut(&**key.get_ref()).map(Spanned::get_mut),
                        value.into_inner_with_span(),
                    ) {
                        (Some(DeValue::Table(known)), (DeValue::Table(table), _)) => replace(known, table),
                        (_, (value, span)) => {
                            known.remove(&**key.get_ref());
                            known.insert(key, Spanned::new(span, value));
                        }
                    }
                }
            }
            (Some(DeValue::Table(known)), (DeValue::Table(table), _)) if name == "probes" => {
                replace(known, table);
            }
            (_, (value, span)) => {
                base.remove(name.as_str());
                base.insert(key, Spanned::new(span, value));
            }
        }
    }
}

/// Replaces the keys of a table by those of another one.
fn replace<'t>(base: &mut DeTable<'t>, own: DeTable<'t>) {
    for (key, value) in own {
        base.remove(&**key.get_ref());
        base.insert(key, value);
    }
}

/// Access to the parts of a value.
trait WithSpan<T> {
    fn into_inner_with_span(self) -> (T, std::ops::Range<usize>);
}

impl<T> WithSpan<T> for Spanned<T> {
    fn into_inner_with_span(self) -> (T, std::ops::Range<usize>) {
        let span = self.span();
        (self.into_inner(), span)
    }
}

pub(super) fn name_of<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    value.as_table()?.get("name")?.get_ref().as_str()
}

/// Returns true if an override applies to a template, or to an item before it is copied.
pub(super) fn is_before(key: &str) -> bool {
    key.starts_with("template.") || key.contains("{i")
}

/// Applies templates and counts. The root has none of them afterwards.
pub(super) fn expand(root: &mut DeTable<'_>) -> Result<(), Problem> {
    let templates = match root.remove("template").map(Spanned::into_inner) {
        None => DeTable::new(),
        Some(DeValue::Table(templates)) => templates,
        Some(_) => return Err(Problem::new("template", "want tables headed [template.NAME]")),
    };
    for list in LISTS {
        let Some(DeValue::Array(items)) = root.get_mut(list).map(Spanned::get_mut) else { continue };
        let before = std::mem::replace(items, DeArray::new());
        for (number, mut item) in before.into_iter().enumerate() {
            let name = name_of(item.get_ref()).map_or_else(|| number.to_string(), str::to_owned);
            let span = item.span();
            let DeValue::Table(table) = item.get_mut() else {
                items.push(item);
                continue;
            };
            let path = format!("{list}.{name}");
            apply_template(table, &templates).map_err(|p| p.within(&path))?;
            match copies(table).map_err(|p| p.within(&path))? {
                None => items.push(item),
                Some(copies) => {
                    for number in 1..=copies {
                        let mut copy = item.get_ref().clone();
                        number_texts(&mut copy, number);
                        items.push(Spanned::new(span.clone(), copy));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Adds the keys of the template that an item names, unless the item has them.
fn apply_template<'t>(item: &mut DeTable<'t>, templates: &DeTable<'t>) -> Result<(), Problem> {
    let Some(named) = item.remove("template") else { return Ok(()) };
    let name = named.get_ref().as_str().ok_or_else(|| Problem::new("template", "want a name in quotes"))?;
    let template = templates.get(name).and_then(|template| template.get_ref().as_table());
    let Some(template) = template else {
        let remedy = suggest(name, templates.keys().map(|key| &**key.get_ref()));
        return Err(Problem::new("template", format!("there is no [template.{name}]{remedy}")));
    };
    for (key, value) in template {
        if !item.contains_key(&**key.get_ref()) {
            item.insert(key.clone(), value.clone());
        }
    }
    Ok(())
}

/// Takes the number of copies of an item.
fn copies(item: &mut DeTable<'_>) -> Result<Option<i64>, Problem> {
    let Some(count) = item.remove("count") else { return Ok(None) };
    let number = match count.get_ref() {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    let Some(number) = number.filter(|number| (1..=MOST_COPIES).contains(number)) else {
        return Err(Problem::new("count", format!("want a whole number from 1 to {MOST_COPIES}")));
    };
    let name = item.get("name").and_then(|name| name.get_ref().as_str());
    if name.is_some_and(|name| !name.contains("{i")) {
        let message = "gives all copies the same name: want {i} in it, such as \"mobile-{i}\"";
        return Err(Problem::new("name", message));
    }
    Ok(Some(number))
}

/// Replaces `{i}` by the number of the copy in all strings, `{i+N}` by N more, `{i/N}` by the quotient and
/// `{i%N}` by the remainder.
fn number_texts(value: &mut DeValue<'_>, number: i64) {
    match value {
        DeValue::String(text) if text.contains("{i") => *text = Cow::Owned(numbered(text, number)),
        DeValue::Array(items) => items.iter_mut().for_each(|item| number_texts(item.get_mut(), number)),
        DeValue::Table(table) => {
            for (_, value) in table.iter_mut() {
                number_texts(value.get_mut(), number);
            }
        }
        _ => {}
    }
}

fn numbered(text: &str, number: i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{i") {
        out.push_str(before);
        let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
        let operand = inside.get(1..).and_then(|digits| digits.parse::<i64>().ok());
        let value = match (inside.chars().next(), operand) {
            (None, _) => Some(number),
            (Some('+'), Some(more)) => Some(number.saturating_add(more)),
            (Some('/'), Some(by)) => number.checked_div(by),
            (Some('%'), Some(by)) => number.checked_rem(by),
            _ => None,
        };
        match value {
            Some(value) if after.contains('}') => {
                out.push_str(&value.to_string());
                rest = behind;
            }
            _ => {
                out.push_str("{i");
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_replace_i_and_sums() {
        assert_eq!(numbered("m{i} 10.0.{i+10}.2 {in} {i", 3), "m3 10.0.13.2 {in} {i");
        assert_eq!(numbered("10.{i/250}.{i%250}.2 {i/0} {i%} {i*2}", 777), "10.3.27.2 {i/0} {i%} {i*2}");
    }

    #[test]
    fn paths_are_relative_to_their_folder() {
        assert_eq!(beside("a/b", "../c.toml"), "a/c.toml");
        assert_eq!(beside("", "../c.toml"), "../c.toml");
        assert_eq!(beside("a", "/c.toml"), "/c.toml");
    }
}
