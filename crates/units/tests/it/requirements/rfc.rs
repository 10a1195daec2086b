//! The text of an RFC, cut into sections and sentences.

use std::ops::Range;

/// A section: its number, and its prose with all white space reduced to single spaces.
pub(crate) struct Section {
    pub(crate) number: String,
    pub(crate) title: String,
    pub(crate) text: String,
    /// The sentences with a MUST or a SHALL, as ranges in `text`.
    pub(crate) required: Vec<Range<usize>>,
}

/// Splits a text RFC into its numbered sections.
pub(crate) fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<(String, String, Vec<&str>)> = Vec::new();
    for line in without_page_breaks(text) {
        if let Some((number, title)) = heading(line) {
            found.push((number.to_owned(), title.to_owned(), Vec::new()));
        } else if let Some((_, _, body)) = found.last_mut() {
            body.push(line);
        }
    }
    found.into_iter().map(|(number, title, body)| section(number, title, &body)).collect()
}

/// Returns the positions of the binding words ("MUST", "SHALL") in a text.
pub(crate) fn keywords(text: &str) -> Vec<usize> {
    let is_word = |at: usize, word: &str| {
        let around = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !around(text[..at].chars().next_back()) && !around(text[at + word.len()..].chars().next())
    };
    let mut places: Vec<usize> = ["MUST", "SHALL"]
        .iter()
        .flat_map(|word| text.match_indices(word).filter(|(at, word)| is_word(*at, word)).map(|(at, _)| at))
        .collect();
    places.sort_unstable();
    places
}

/// Returns "6.2" and "Title" of "6.2.  Title". Headings in the table of contents are indented and do not
/// count.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (number, title) = line.split_once(' ')?;
    let digits = number.strip_suffix('.')?;
    let numbered = digits.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    numbered.then(|| (digits, title.trim()))
}

/// Returns the lines without footers and headers of pages. A paragraph that continues after the break stays
/// one paragraph.
fn without_page_breaks(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    let mut broken = false;
    for line in text.lines() {
        let line = line.trim_end();
        let footer = line.ends_with(']') && line.contains("[Page ");
        let header = line.starts_with("RFC ") && line.ends_with(|c: char| c.is_ascii_digit());
        if line.starts_with('\u{c}') || footer || header {
            while lines.last().is_some_and(|last| last.is_empty()) {
                lines.pop();
            }
            broken = true;
        } else if !(broken && line.is_empty()) {
            let whole = lines.last().is_none_or(|last| last.ends_with(['.', ':', '|', '+']));
            if broken && (whole || heading(line).is_some()) {
                lines.push("");
            }
            broken = false;
            lines.push(line);
        }
    }
    lines
}

fn section(number: String, title: String, body: &[&str]) -> Section {
    let mut text = String::new();
    let mut required = Vec::new();
    for paragraph in body.split(|line| line.is_empty()).filter(|lines| !lines.is_empty() && !is_art(lines)) {
        for block in blocks(paragraph) {
            for sentence in sentences(&block) {
                if !text.is_empty() {
                    text.push(' ');
                }
                let start = text.len();
                text.push_str(sentence);
                if !keywords(sentence).is_empty() {
                    required.push(start..text.len());
                }
            }
        }
    }
    Section { number, title, text, required }
}

/// Returns whether a line belongs to a packet format, a table or a figure.
fn is_art(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let line = line.trim_start();
        line.starts_with(['|', '/', '\\'])
            || line.contains("+-")
            || line.contains("+=")
            || line.contains("---")
    })
}

/// Returns the column of the text after a line's bullet ("*", "o", "1.", "C4)"); `None` without a bullet.
fn bullet(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let (mark, rest) = text.split_once(' ')?;
    let stem = mark.strip_suffix([')', '.']).map(|stem| stem.trim_start_matches('('));
    let numbered = stem.is_some_and(|stem| stem.len() <= 3 && stem.chars().all(char::is_alphanumeric));
    let is = matches!(mark, "*" | "o" | "-" | "+") || numbered;
    (is && rest.starts_with(' ')).then(|| line.len() - rest.trim_start().len())
}

/// Returns the texts of a paragraph without bullets. A smaller indentation ends the heading of a field.
fn blocks(paragraph: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut indent = None;
    for line in paragraph {
        let own = line.len() - line.trim_start().len();
        let text = bullet(line).map_or_else(|| line.trim_start(), |at| &line[at..]);
        if bullet(line).is_some() || indent.is_none_or(|before| own > before) {
            out.push(String::new());
        }
        indent = Some(bullet(line).unwrap_or(own));
        let block = out.last_mut().expect("a block");
        for word in text.split_whitespace() {
            if !block.is_empty() {
                block.push(' ');
            }
            block.push_str(word);
        }
    }
    out
}

/// Splits a text after each full stop that a capital letter, a bracket or a quotation mark follows.
fn sentences(block: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, _) in block.match_indices(' ') {
        let (before, after) = (&block[start..at], &block[at + 1..]);
        let ends = before.ends_with('.') || before.ends_with(".)") || before.ends_with(".\"");
        let abbreviated = ["e.g.", "i.e.", "etc.", "vs.", "al."].iter().any(|short| before.ends_with(short));
        if ends && !abbreviated && after.starts_with(|c: char| c.is_uppercase() || c == '(' || c == '"') {
            out.push(before);
            start = at + 1;
        }
    }
    out.push(&block[start..]);
    out
}
