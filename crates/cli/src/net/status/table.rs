//! The status as a person reads it.

use std::fmt::Write;

use super::document::{AssociationStatus, Document, PathStatus};
use crate::net::text::escape;

/// Describes a process.
pub(super) fn text(document: &Document) -> String {
    let Document { command, pid, security, associations, .. } = document;
    let mut out = format!(
        "msctp {command}, process {pid}, up {}, security {security}, at {}\n",
        duration(document.uptime_seconds),
        document.local.join(", ")
    );
    for (reason, count) in &document.refused {
        let _ = writeln!(out, "  refused {count}: {}", escape(reason));
    }
    if associations.is_empty() {
        out.push_str("  no association\n");
    }
    for association in associations {
        describe(&mut out, association);
    }
    out
}

fn describe(out: &mut String, association: &AssociationStatus) {
    let peer = association.peer.first().map_or("a peer", String::as_str);
    let connections = association.connections.map_or(String::new(), |n| format!(", {n} connections"));
    let _ = writeln!(
        out,
        "  {} {peer}, {}, {}, {} acknowledged, {} received{connections}",
        association.id,
        association.state,
        duration(association.age_seconds),
        bytes(association.acked_bytes),
        bytes(association.delivered_bytes),
    );
    if let Some(key) = &association.peer_key {
        let _ = writeln!(out, "    key {}", escape(key));
    }
    let rows = association.paths.iter().map(row);
    let head = ["path", "state", "rtt", "cwnd", "in flight", "sent", "received", "lost"].map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (cell, &width))| match i {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let _ = writeln!(out, "    {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    let shown = association.moves.len().min(5);
    if association.move_count > shown as u64 {
        let _ = writeln!(out, "    {} moves, the last {shown}:", association.move_count);
    }
    for moved in &association.moves[association.moves.len() - shown..] {
        let _ = writeln!(
            out,
            "    moved {} ago to {} ({}), longest silence {:.0} ms",
            duration(moved.ago_seconds),
            moved.local,
            escape(&moved.reason),
            moved.gap_seconds * 1e3
        );
    }
}

fn row(path: &PathStatus) -> [String; 8] {
    let mark = if path.primary { "*" } else { " " };
    let known = |rate: Option<f64>| rate.map_or("–".to_owned(), bits);
    [
        format!("{mark} {} → {}", path.local, path.remote),
        path.cost().map_or_else(|| path.state.clone(), |cost| format!("{}, {cost}", path.state)),
        path.srtt_ms.map_or("–".to_owned(), |ms| format!("{ms:.1} ms")),
        bytes(path.cwnd_bytes),
        bytes(path.flight_bytes),
        known(path.sent_bps),
        known(path.received_bps),
        path.lost_chunks.to_string(),
    ]
}

/// Formats a time in its two largest units.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// Formats a size.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, ["B", "kB", "MB", "GB"])
}

/// Formats a rate.
pub(crate) fn bits(bps: f64) -> String {
    scaled(bps, ["bps", "kbps", "Mbps", "Gbps"])
}

fn scaled(value: f64, units: [&str; 4]) -> String {
    let [one, kilo, mega, giga] = units;
    match value {
        value if value >= 1e9 => format!("{:.2} {giga}", value / 1e9),
        value if value >= 1e6 => format!("{:.1} {mega}", value / 1e6),
        value if value >= 1e3 => format!("{:.1} {kilo}", value / 1e3),
        value => format!("{value:.0} {one}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_value() {
        assert_eq!(
            [0, 999, 1_000, 1_500_000, 2_000_000_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "1.5 MB", "2.00 GB"]
        );
        assert_eq!(
            [0.04, 59.0, 61.0, 3_700.0, 200_000.0].map(duration),
            ["0.0 s", "59.0 s", "1 min 1 s", "1 h 1 min", "2 d 7 h"]
        );
    }
}
