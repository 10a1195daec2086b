//! The commands behind the points of a page's figures: a script opens each point as its command.
//!
//! Commands share most of their parts, so that the page has each part once. Without scripts, and in print,
//! the CSV of a figure has them.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::{Figure, Panel, ReportError};
use crate::figure::{Chart, Series, shortest};

/// Minimum distance in pixels between two points of a curve that a click can distinguish.
const APART: i32 = 6;

/// Returns the script and its data; nothing without commands.
pub(super) fn script<'f>(figures: impl IntoIterator<Item = &'f Figure>) -> Result<Markup, ReportError> {
    let mut parts = Parts::default();
    let mut panels = serde_json::Map::new();
    let of_figures = figures.into_iter().flat_map(|figure| &figure.groups).flat_map(|(_, panels)| panels);
    for panel in of_figures.filter(|panel| has_commands(panel)) {
        let series = panel.chart.series.iter().filter(|series| !series.commands.is_empty());
        let series: Vec<Value> = series.map(|series| entry(&panel.chart, series, &mut parts)).collect();
        panels.insert(panel.slug.clone(), series.into());
    }
    if panels.is_empty() {
        return Ok(html! {});
    }
    let data = json!({ "parts": parts.texts, "panels": panels });
    // No text ends the element.
    let data = serde_json::to_string(&data)?.replace("</", "<\\/");
    Ok(html! {
        script #points type="application/json" { (PreEscaped(data)) }
        script { (PreEscaped(include_str!("points.js"))) }
    })
}

fn has_commands(panel: &Panel) -> bool {
    panel.chart.series.iter().any(|series| !series.commands.is_empty())
}

/// Returns the place where the script shows a panel's commands.
pub(super) fn place(panel: &Panel) -> Markup {
    html! {
        @if has_commands(panel) {
            details.points data-panel=(panel.slug) {
                summary { "Commands of its points" }
                p { "The CSV has the command of each point." }
            }
        }
    }
}

/// Returns a series: `name`, `at` (x and y of points in the drawing), `commands` (indices of parts) and
/// `points`. The last has their texts, unless one command prints all.
fn entry(chart: &Chart, series: &Series, parts: &mut Parts) -> Value {
    let commands: Vec<Vec<usize>> = series.commands.iter().map(|command| parts.indices(command)).collect();
    let mut places = chart.places(series);
    if series.commands.len() < series.points.len() {
        places.dedup_by(|next, last| (next.0 - last.0).abs() < APART && (next.1 - last.1).abs() < APART);
        return json!({ "name": series.name, "at": places, "commands": commands });
    }
    let words = series.points.iter().map(|point| {
        let half = point.half_width.map_or(String::new(), |half| format!(" ± {}", shortest(half)));
        format!("{}: {}{half}", chart.x_text(point.x), shortest(point.y))
    });
    let points: Vec<String> = words.collect();
    json!({ "name": series.name, "at": places, "commands": commands, "points": points })
}

/// The parts of all commands, without repetition.
#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Parts {
    /// Splits a command into parts. Loops over seeds, options and the end of a command repeat between
    /// commands.
    fn indices(&mut self, command: &str) -> Vec<usize> {
        let mut indices = Vec::new();
        let mut rest = command;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_len(rest));
            indices.push(self.index(part));
            rest = after;
        }
        indices
    }

    fn index(&mut self, part: &str) -> usize {
        if let Some(&index) = self.known.get(part) {
            return index;
        }
        self.texts.push(part.to_owned());
        self.known.insert(part.to_owned(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}

/// Returns the length of the first part of a command.
fn part_len(command: &str) -> usize {
    const DO: &str = "; do ";
    if let Some(at) = command.strip_prefix("for ").and_then(|rest| rest.find(DO)) {
        return "for ".len() + at + DO.len();
    }
    let begins = [" --", ";", " |", "for "];
    let from = command.chars().next().map_or(0, char::len_utf8);
    let next = begins.iter().filter_map(|begin| command[from..].find(begin)).min();
    next.map_or(command.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_command_make_it_again() {
        let mut parts = Parts::default();
        let commands = [
            "for run in '1 --set a=1s' '2 --set a=2s'; do msctp-lab sim x.toml --set b=ü --seed $run; done | awk '1'",
            "{ for seed in 1 2; do msctp-lab sim x.toml --seed $seed --metric m; done | sed 's/^/+,/'; } | awk '2'",
            "msctp-lab sim x.toml --seed 1 --metric '8 * {flow.bytes:f} / 2'",
        ];
        for command in commands {
            let indices = parts.indices(command);
            let again: String = indices.iter().map(|&index| parts.texts[index].as_str()).collect();
            assert_eq!(again, command);
        }
        assert!(parts.texts.iter().any(|part| part == " --set b=ü"), "{:?}", parts.texts);
        assert_eq!(parts.texts.iter().filter(|part| *part == "msctp-lab sim x.toml").count(), 1);
    }
}
