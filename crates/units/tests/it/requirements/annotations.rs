//! Annotations in the sources, in the syntax of the tool `duvet`:
//!
//! ```text
//! //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//! //= type=test
//! //# quoted words of the RFC
//! ```

use std::path::Path;

use crate::common::sources;

/// Address of an annotated specification.
pub(crate) const SITE: &str = "https://www.rfc-editor.org/rfc/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The code that implements the sentence.
    Code,
    /// A test that fails without that code.
    Test,
    /// Code that deliberately deviates from the sentence.
    Exception,
}

/// One annotation: a quotation and its context.
#[derive(Debug)]
pub(crate) struct Annotation {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The function, type or constant that contains the annotation or follows it.
    pub(crate) item: String,
    pub in_test: bool,
    pub(crate) kind: Kind,
    pub(crate) rfc: String,
    pub(crate) section: String,
    pub(crate) quote: String,
    pub(crate) reason: String,
}

/// Returns all annotations of the crates' sources.
///
/// # Errors
///
/// Some annotations are malformed; the error lists them with their places.
pub(crate) fn read(root: &Path) -> Result<Vec<Annotation>, String> {
    let sources = sources();
    let mut found = Vec::new();
    let mut wrong = String::new();
    for path in
        sources.iter().filter(|path| !path.components().any(|part| part.as_os_str() == "requirements"))
    {
        let text = std::fs::read_to_string(path).expect("a source");
        if text.contains("//= ") {
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            for annotation in parse(&name, &text) {
                match annotation {
                    Ok(annotation) => found.push(annotation),
                    Err(error) => wrong.push_str(&format!("{error}\n")),
                }
            }
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

/// Returns the annotations of one source.
pub(crate) fn parse(name: &str, text: &str) -> Vec<Result<Annotation, String>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let is_mark =
            |line: &str| line.trim_start().starts_with("//= ") || line.trim_start().starts_with("//# ");
        if !is_mark(lines[at]) {
            at += 1;
            continue;
        }
        // Two annotations may follow each other without a line between them.
        let first_quote =
            (at..lines.len()).find(|&i| !lines[i].trim_start().starts_with("//= ")).unwrap_or(at);
        let end = (first_quote..lines.len())
            .find(|&i| !lines[i].trim_start().starts_with("//# "))
            .unwrap_or(lines.len());
        out.push(one(name, &lines, at..first_quote, first_quote..end));
        at = end.max(at + 1);
    }
    out
}

fn one(
    file: &str,
    lines: &[&str],
    meta: std::ops::Range<usize>,
    quote: std::ops::Range<usize>,
) -> Result<Annotation, String> {
    let line = meta.start + 1;
    let wrong = |what: &str| format!("{file}:{line}: {what}");
    let mut target = None;
    let mut kind = Kind::Code;
    let mut reason = String::new();
    for text in lines[meta].iter().map(|line| line.trim_start().trim_start_matches("//= ").trim()) {
        match text.split_once('=') {
            Some(("type", "test")) => kind = Kind::Test,
            Some(("type", "exception")) => kind = Kind::Exception,
            Some(("type", "implementation")) => {}
            Some(("reason", why)) => {
                if !reason.is_empty() {
                    reason.push(' ');
                }
                reason.push_str(why);
            }
            _ if text.starts_with(SITE) && target.is_none() => {
                target = text[SITE.len()..].split_once("#section-");
            }
            _ => return Err(wrong(&format!("{text:?}: want {SITE}rfcN#section-S, type=… or reason=…"))),
        }
    }
    let Some((rfc, section)) = target else {
        return Err(wrong(&format!("names no section: want {SITE}rfcN#section-S")));
    };
    if quote.is_empty() {
        return Err(wrong("quotes nothing: want \"//# words of the RFC\" below"));
    }
    let words: Vec<&str> = lines[quote.clone()]
        .iter()
        .flat_map(|line| line.trim_start().trim_start_matches("//# ").split_whitespace())
        .collect();
    if (kind == Kind::Exception) == reason.is_empty() {
        return Err(wrong("type=exception wants a reason=, and nothing else has one"));
    }
    let (item, in_test) = item(lines, meta_start(line), quote.end);
    let annotation = Annotation {
        file: file.to_owned(),
        line,
        item,
        in_test,
        kind,
        rfc: rfc.to_owned(),
        section: section.to_owned(),
        quote: words.join(" "),
        reason,
    };
    match (kind, annotation.in_test) {
        (Kind::Test, false) => Err(wrong("type=test, but it stands in or above no test")),
        (Kind::Code | Kind::Exception, true) => Err(wrong("stands in a test: want type=test")),
        _ => Ok(annotation),
    }
}

fn meta_start(line: usize) -> usize {
    line - 1
}

/// Returns the item to which an annotation belongs, and whether that is a test. It is the item that begins
/// below the annotation, or the function around it.
fn item(lines: &[&str], start: usize, end: usize) -> (String, bool) {
    let is_beside = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with("//") || line.starts_with("#[")
    };
    let below = end + lines[end..].iter().take_while(|line| is_beside(line)).count();
    if let Some(name) = lines.get(below).and_then(|line| named(line)) {
        let tested = has_test(&lines[..below]);
        return (name.to_owned(), tested);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[start]);
    for at in (0..start).rev() {
        let line = lines[at];
        if !line.trim().is_empty()
            && indent(line) < own
            && let Some(name) = named(line).filter(|_| !line.trim_start().starts_with("const "))
        {
            return (name.to_owned(), has_test(&lines[..at]));
        }
    }
    (String::new(), false)
}

/// Returns whether the attributes directly above an item make it a test.
fn has_test(above: &[&str]) -> bool {
    above
        .iter()
        .rev()
        .map(|line| line.trim_start())
        .take_while(|line| line.starts_with("//") || line.starts_with("#["))
        .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
}

/// Returns the name of the item that a line begins.
fn named(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    while words.next_if(|word| word.starts_with("pub") || matches!(*word, "async" | "unsafe")).is_some() {}
    let mut kind = words.next()?;
    if kind == "const" && words.peek() == Some(&"fn") {
        kind = words.next()?;
    }
    let is = matches!(kind, "fn" | "struct" | "enum" | "const" | "static" | "type" | "trait" | "mod");
    let name = words.next().filter(|_| is)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}
