//! Formats the leaderboard as text.

use std::fmt::Write;

use super::Leaderboard;

impl Leaderboard {
    /// Formats the leaderboard for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let [one, other] = &self.networks;
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<24} {:<9} {:>9} {:>10} {:>7} {:>13} {:>8} {:>8} {:>11} {:>11} {:>9}",
            "sender",
            "first",
            "of better",
            "of optimum",
            "< 0.97",
            "gap, median s",
            "max s",
            "< 1 Mbps",
            format!("{one} GB"),
            format!("{other} GB"),
            "queue ms"
        );
        let seconds = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}"));
        for row in &self.rows {
            let _ = writeln!(
                text,
                "{:<24} {:<9} {:>9.3} {:>10.3} {:>5.1} % {:>13} {:>8} {:>6.2} % {:>11.2} {:>11.2} {:>9}",
                row.sender,
                row.first.as_deref().unwrap_or("–"),
                row.of_better,
                row.of_optimum,
                row.worse * 100.0,
                seconds(row.gap_median),
                seconds(row.gap_max),
                row.below_1mbps * 100.0,
                row.bytes[0] as f64 / 1e9,
                row.bytes[1] as f64 / 1e9,
                row.queueing_p95.map_or_else(|| "–".to_owned(), |s| format!("{:.0}", s * 1000.0)),
            );
        }
        let _ = writeln!(
            text,
            "\n{} drives. of better: total bytes against the better single network of each drive, under the \
             better of both\ncontrollers. < 0.97: drives below 0.97 of that. < 1 Mbps: share of intervals of \
             0.5 s. queue: the queueing delay\nthat 95 % of the samples of a drive stay below, median of the \
             drives. The last rows are computed from the rates.",
            self.drives
        );
        text
    }
}
