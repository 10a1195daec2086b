//! docs/results/requirements.md: where each requirement is held.

use std::fmt::Write as _;

use crate::requirements::Requirement;
use crate::requirements::annotations::{Annotation, Kind};

/// Returns the text of the page.
pub(crate) fn of(all: &[Requirement<'_>]) -> String {
    let mut out = String::from(
        "# Requirements\n\n\
         Each MUST and SHALL of RFC 9260 §3.3–§9, RFC 5061 §4–§5 and RFC 4895 §6, the code that holds it, the tests that fail\n\
         without that code, and the deliberate departures. Generated from the annotations in the sources by\n\
         `MSCTP_WRITE=1 cargo test -p msctp-units --test it requirements`; do not edit. Files are below `crates/`.\n",
    );
    let mut rfc = "";
    let mut section = "";
    for requirement in all {
        if requirement.rfc != rfc {
            rfc = requirement.rfc;
            section = "";
            let _ = write!(out, "\n## RFC {}\n", rfc.trim_start_matches("rfc"));
        }
        if requirement.section != section {
            section = &requirement.section;
            let _ = write!(out, "\n### {section} {}\n\n", requirement.title);
            out.push_str("| | requirement | code | tests | departure |\n|---|---|---|---|---|\n");
        }
        let departure = match &requirement.not_applicable {
            Some(reason) => format!("not applicable: {reason}"),
            None => distinct(requirement, Kind::Exception, |by| format!("{} ({})", by.reason, place(by))),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            requirement.number,
            requirement.quote.replace('|', "\\|"),
            distinct(requirement, Kind::Code, place),
            distinct(requirement, Kind::Test, place),
            departure.replace('|', "\\|"),
        );
    }
    out
}

fn place(annotation: &Annotation) -> String {
    let file = annotation.file.trim_start_matches("crates/");
    if annotation.item.is_empty() { format!("`{file}`") } else { format!("`{file}::{}`", annotation.item) }
}

fn distinct(requirement: &Requirement<'_>, kind: Kind, text: impl Fn(&Annotation) -> String) -> String {
    let mut texts: Vec<String> = Vec::new();
    for annotation in requirement.by.iter().filter(|by| by.kind == kind) {
        let text = text(annotation);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}
