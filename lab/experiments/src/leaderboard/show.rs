//! Formats the leaderboard as text and as Markdown.

use std::fmt::Write;

use super::Leaderboard;

/// Maximum columns of a line of the explanation below the table.
const LINE: usize = 110;

impl Leaderboard {
    /// Returns the headings of the columns, and the cells of each row.
    pub(super) fn cells(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let [one, other] = &self.networks;
        let head = [
            "sender",
            "first",
            "of better",
            "of optimum",
            "< 0.97",
            "gap, median s",
            "max s",
            "< 1 Mbps",
            &format!("{one} GB"),
            &format!("{other} GB"),
            "queue ms",
            "video ms",
            "of 90 %",
        ];
        let seconds = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}"));
        let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |s| format!("{:.0}", s * 1000.0));
        let rows = self.rows.iter().map(|row| {
            vec![
                row.sender.clone(),
                row.first.clone().unwrap_or_else(|| "–".to_owned()),
                format!("{:.3}", row.of_better),
                format!("{:.3}", row.of_optimum),
                format!("{:.1} %", row.worse * 100.0),
                seconds(row.gap_median),
                seconds(row.gap_max),
                format!("{:.2} %", row.below_1mbps * 100.0),
                format!("{:.2}", row.bytes[0] as f64 / 1e9),
                format!("{:.2}", row.bytes[1] as f64 / 1e9),
                ms(row.queueing_p95),
                ms(row.video_p95),
                ms(row.video_p95_of_nine_tenths),
            ]
        });
        (head.map(str::to_owned).to_vec(), rows.collect())
    }

    /// Explains the columns.
    pub(super) fn legend(&self) -> String {
        format!(
            "{} drives. of better: total bytes against the better single network of each drive, under the \
             better of both controllers. < 0.97: drives below 0.97 of that. < 1 Mbps: share of intervals of \
             0.5 s. queue: the queueing delay that 95 % of the samples of a drive stay below, median of the \
             drives. video: the time that 95 % of the messages of a video of 20 Mbps took at most, alone on \
             the drive; median of the drives, and what 90 % of them stay below. GB: IP packets towards the \
             mobile. The last rows are computed from the rates.",
            self.drives
        )
    }

    /// Formats the leaderboard for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let (head, rows) = self.cells();
        let width = |column: usize| {
            let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let mut text = String::new();
        // Writing to a String cannot fail.
        for row in std::iter::once(&head).chain(&rows) {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 | 1 => write!(line, "{cell:<width$}  "),
                    _ => write!(line, "{cell:>width$}  "),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let mut line = String::new();
        for word in self.legend().split(' ') {
            if line.chars().count() + word.chars().count() >= LINE {
                let _ = write!(text, "\n{line}");
                line.clear();
            }
            let space = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{space}{word}");
        }
        let _ = writeln!(text, "\n{line}");
        text
    }

    /// Formats the leaderboard as a Markdown table with the explanation of its columns.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (head, rows) = self.cells();
        let mut text = format!("| {} |\n", head.join(" | "));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "|---|---{}|", "|---:".repeat(head.len() - 2));
        for row in rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        let _ = write!(text, "\n{}", self.legend());
        text
    }
}
