//! The lines of the view, for a terminal of any size.

use super::super::document::{AssociationStatus, Document, PathStatus};
use super::super::table::{bits, bytes, duration};
use crate::net::text::escape;

/// Columns and rows.
pub(super) type Size = (usize, usize);

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: Style,
}

/// The look of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// A heading, or the primary path.
    Bold,
    /// The chosen process of the list.
    Selected,
}

/// State of the view.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) documents: Vec<Document>,
    /// Process whose associations are shown; `None` shows the list.
    pub(super) open: Option<u32>,
    /// Place in the list.
    pub(super) selected: usize,
    /// Number of lines scrolled past at the top.
    pub(super) scroll: usize,
    /// Message above the line of keys.
    pub(super) note: String,
}

impl View {
    fn shown(&self) -> Option<&Document> {
        self.documents.iter().find(|document| Some(document.pid) == self.open)
    }

    /// Returns the number of rows for the body, without the note and the keys.
    fn room(&self, rows: usize) -> usize {
        rows.saturating_sub(1 + usize::from(!self.note.is_empty()))
    }

    /// Returns the scroll position at which the last line is visible.
    pub(super) fn last_scroll(&self, (width, rows): Size) -> usize {
        let lines = self.shown().map_or(0, |document| process(document, width).len());
        lines.saturating_sub(self.room(rows))
    }

    /// Returns the lines of a screen, cut to its height and width.
    pub(super) fn frame(&self, (width, rows): Size) -> Vec<Line> {
        let (body, keys, skip) = match self.shown() {
            Some(document) => (process(document, width), "q ends  Esc list  ↑↓ scroll", self.scroll),
            None => {
                // The head takes a row; the chosen process is visible.
                let skip = (self.selected + 2).saturating_sub(self.room(rows));
                (self.list(width), "q ends  Enter opens  ↑↓ choose", skip)
            }
        };
        let mut lines: Vec<_> = body.into_iter().skip(skip).take(self.room(rows)).collect();
        if !self.note.is_empty() {
            lines.push(plain(escape(&self.note), Style::Bold, width));
        }
        lines.push(plain(keys.to_owned(), Style::Plain, width));
        lines.truncate(rows);
        lines
    }

    fn list(&self, width: usize) -> Vec<Line> {
        let head = ["process", "command", "up", "associations", "paths", "out", "in", "moves"];
        let rows = self.documents.iter().map(|document| {
            let paths = || document.associations.iter().flat_map(|association| &association.paths);
            let total = |rate: fn(&PathStatus) -> Option<f64>| bits(paths().filter_map(rate).sum());
            let cells = vec![
                document.pid.to_string(),
                document.command.clone(),
                duration(document.uptime_seconds),
                document.associations.len().to_string(),
                paths().count().to_string(),
                total(|path| path.sent_bps),
                total(|path| path.received_bps),
                document
                    .associations
                    .iter()
                    .map(|association| association.move_count)
                    .sum::<u64>()
                    .to_string(),
            ];
            (Style::Plain, cells)
        });
        let mut lines = columns(&head, rows.collect(), width, 2);
        if let Some(line) = lines.get_mut(self.selected + 1).filter(|line| line.text.starts_with(' ')) {
            // A mark too, for terminals without reverse video.
            line.text.replace_range(0..1, ">");
            line.style = Style::Selected;
        }
        lines
    }
}

/// Describes a process and its associations.
pub(super) fn process(document: &Document, width: usize) -> Vec<Line> {
    let Document { command, pid, security, .. } = document;
    let head = format!(
        "msctp {command}, process {pid}, up {}, security {security}, at {}",
        duration(document.uptime_seconds),
        document.local.join(", ")
    );
    let mut lines = vec![plain(head, Style::Bold, width)];
    for (reason, count) in &document.refused {
        lines.push(plain(format!("refused {count}: {}", escape(reason)), Style::Plain, width));
    }
    if document.associations.is_empty() {
        lines.push(plain("no association".to_owned(), Style::Plain, width));
    }
    for association in &document.associations {
        lines.push(plain(String::new(), Style::Plain, width));
        lines.extend(describe(association, width));
    }
    lines
}

fn describe(association: &AssociationStatus, width: usize) -> Vec<Line> {
    let peer = association.peer.first().map_or("a peer", String::as_str);
    let connections = association.connections.map_or(String::new(), |n| format!(", {n} connections"));
    let head =
        format!("{} {peer}, {}, {}", association.id, association.state, duration(association.age_seconds));
    let counts = format!(
        "  {} acknowledged, {} received, {} buffered, streams {} out {} in{connections}",
        bytes(association.acked_bytes),
        bytes(association.delivered_bytes),
        bytes(association.buffered_bytes),
        association.streams_outbound,
        association.streams_inbound,
    );
    let mut lines = vec![plain(head, Style::Bold, width), plain(counts, Style::Plain, width)];
    // By their weight: the last columns go first where the terminal is narrow.
    let head = [
        "path",
        "out",
        "in",
        "rtt",
        "cwnd",
        "in flight",
        "lost",
        "state",
        "timeouts",
        "retransmitted",
        "rto",
    ];
    let rows = association.paths.iter().map(|path| {
        let known = |rate: Option<f64>| rate.map_or("–".to_owned(), bits);
        let mark = if path.primary { '*' } else { ' ' };
        let cells = vec![
            format!("{mark} {} → {}", path.local, path.remote),
            known(path.sent_bps),
            known(path.received_bps),
            path.srtt_ms.map_or("–".to_owned(), |ms| format!("{ms:.1} ms")),
            bytes(path.cwnd_bytes),
            bytes(path.flight_bytes),
            path.lost_chunks.to_string(),
            path.state.clone(),
            path.timeouts.to_string(),
            path.retransmitted_chunks.to_string(),
            format!("{:.0} ms", path.rto_ms),
        ];
        (if path.primary { Style::Bold } else { Style::Plain }, cells)
    });
    lines.extend(columns(&head, rows.collect(), width, 2));
    if association.move_count > 0 {
        lines.push(plain(
            format!("  {} moves, the last first:", association.move_count),
            Style::Plain,
            width,
        ));
    }
    for moved in association.moves.iter().rev() {
        let gap = moved.gap_seconds * 1e3;
        let (ago, local) = (duration(moved.ago_seconds), &moved.local);
        let text = format!("    {ago} ago to {local} ({}), longest silence {gap:.0} ms", moved.cause);
        lines.push(plain(text, Style::Plain, width));
    }
    lines
}

/// Aligns cells: the first column to the left, the others to the right. Omits the last columns that do not
/// fit.
fn columns(head: &[&str], rows: Vec<(Style, Vec<String>)>, width: usize, indent: usize) -> Vec<Line> {
    let head = (Style::Plain, head.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>());
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let wide = |column: usize| rows.iter().map(|(_, row)| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].1.len()).map(wide).collect();
    let ends = widths.iter().scan(indent, |end, width| {
        *end += width;
        let this = *end;
        *end += 2;
        Some(this)
    });
    let fitting = ends.take_while(|&end| end <= width).count().max(1);
    let line = |(style, row): (Style, Vec<String>)| {
        let cells = row.iter().zip(&widths).take(fitting).enumerate().map(|(i, (cell, &width))| match i {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let cells = cells.collect::<Vec<_>>().join("  ");
        plain(format!("{:indent$}{cells}", "").trim_end().to_owned(), style, width)
    };
    rows.into_iter().map(line).collect()
}

/// Cuts a text to the width. An ellipsis marks the cut.
fn plain(text: String, style: Style, width: usize) -> Line {
    let text = if text.chars().count() <= width {
        text
    } else {
        text.chars().take(width.saturating_sub(1)).chain(['…']).take(width).collect()
    };
    Line { text, style }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the status of a process whose association has two paths and has moved.
    pub(in super::super) fn document(pid: u32) -> Document {
        let path = |id: u32, primary: bool| {
            serde_json::json!({
                "id": id, "local": format!("10.0.{id}.2:9899"), "remote": "10.0.0.1:9899", "state": "active",
                "primary": primary, "srtt_ms": 40.5, "min_rtt_ms": 40.0, "rto_ms": 1000.0, "cwnd_bytes": 64_000,
                "flight_bytes": 32_000, "pmtu_bytes": 1400, "pacing_bps": null, "sent_bps": 11e6,
                "received_bps": 2e5, "sent_bytes": 1, "received_bytes": 1, "sent_packets": 1,
                "received_packets": 1, "lost_chunks": 7, "retransmitted_chunks": 8, "timeouts": 1,
            })
        };
        serde_json::from_value(serde_json::json!({
            "version": 1, "msctp_version": "0", "pid": pid, "command": "serve", "uptime_seconds": 5.0,
            "security": "tls", "local": ["10.0.0.1:9899"], "association_count": 1, "refused": {"wrong code": 2},
            "associations": [{
                "id": "1.0", "state": "ESTABLISHED", "peer": ["10.0.1.2"], "peer_key": null, "age_seconds": 4.0,
                "streams_outbound": 10, "streams_inbound": 12, "connections": null, "acked_bytes": 3_200_000,
                "delivered_bytes": 5, "buffered_bytes": 1_000, "move_count": 1,
                "moves": [{"ago_seconds": 2.0, "local": "10.0.2.2", "remote": "10.0.0.1", "cause": "policy",
                           "gap_seconds": 0.08}],
                "paths": [path(2, true), path(1, false)],
            }],
        }))
        .unwrap()
    }

    #[test]
    fn what_another_process_writes_does_not_control_the_terminal() {
        let mut hostile = document(7);
        hostile.command = "serve\x1b[2J".to_owned();
        hostile.associations[0].peer[0] = "\x1b]0;title\x07".to_owned();
        hostile.associations[0].paths[0].state = "active\r".to_owned();
        let read = crate::net::status::parse(&serde_json::to_vec(&hostile).unwrap()).unwrap();
        let lines = process(&read, 160);
        assert!(lines.iter().any(|line| line.text.contains("serve\\u{1b}[2J")));
        assert!(!lines.iter().any(|line| line.text.contains(char::is_control)));
    }

    #[test]
    fn a_wide_terminal_has_every_column_and_the_moves() {
        let text: Vec<_> = process(&document(7), 160).into_iter().map(|line| line.text).collect();
        let text = text.join("\n");
        for part in [
            "process 7",
            "refused 2: wrong code",
            "streams 10 out 12 in",
            "* 10.0.2.2:9899 → 10.0.0.1:9899",
            "11.0 Mbps",
            "200.0 kbps",
            "40.5 ms",
            "64.0 kB",
            "32.0 kB",
            "retransmitted",
            "1000 ms",
            "2.0 s ago to 10.0.2.2 (policy), longest silence 80 ms",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn a_frame_fits_every_size() {
        let mut view =
            View { documents: (1..30).map(document).collect(), note: "a note ".repeat(9), ..View::default() };
        view.selected = 28;
        for open in [None, Some(3)] {
            view.open = open;
            for width in [0, 1, 2, 10, 40, 80, 200] {
                for rows in [0, 1, 2, 3, 8, 60] {
                    view.scroll = view.last_scroll((width, rows));
                    let frame = view.frame((width, rows));
                    assert!(frame.len() <= rows, "{width}×{rows}: {}", frame.len());
                    let widest = frame.iter().map(|line| line.text.chars().count()).max();
                    assert!(widest <= Some(width), "{width}×{rows}: {widest:?}");
                }
            }
        }
    }

    #[test]
    fn a_narrow_terminal_leaves_out_the_last_columns_whole() {
        let lines = process(&document(1), 60);
        let head = lines.iter().find(|line| line.text.trim_start().starts_with("path")).unwrap();
        let names: Vec<_> = head.text.split_whitespace().collect();
        assert_eq!(names, ["path", "out", "in"], "{lines:?}");
    }

    #[test]
    fn the_chosen_process_is_visible_and_marked() {
        let documents = (1..30).map(document).collect();
        let view = View { documents, selected: 28, ..View::default() };
        let frame = view.frame((80, 8));
        let chosen = frame.iter().find(|line| line.style == Style::Selected).unwrap();
        assert!(chosen.text.starts_with("> 29"), "{frame:?}");
    }
}
