//! [`SignalTrace`]: the receive power of a recording, on the clock of its rates.

use std::sync::Arc;

use msctp_units::{Span, Time};

use super::schedule::{InvalidTrace, read_column};

/// Receive power over time, in a period that repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalTrace {
    /// Steps: the time since the first one, and the power from then on in thousandths of dBm.
    steps: Arc<[(Span, i32)]>,
    period: Span,
}

impl SignalTrace {
    /// Reads one column of a table as [`Schedule::from_rates`](super::Schedule::from_rates) does: powers in
    /// dBm, each from its line's time to the next line's. The last line ends the period; its power is not
    /// used.
    ///
    /// # Errors
    /// A line is invalid. The error names the first.
    pub fn from_table(text: &str, column: &str) -> Result<Self, InvalidTrace> {
        let (mut rows, last_line) = read_column(text, column, -200.0..=100.0, "a receive power in dBm")?;
        let last = rows.pop().map(|(at, _)| at);
        let (Some(last), Some(&(first, _))) = (last, rows.first()) else {
            return Err(InvalidTrace {
                line: last_line,
                message: "want at least two lines of values".to_owned(),
            });
        };
        let step = |(at, dbm): (Span, f64)| (at.saturating_sub(first), (dbm * 1000.0).round() as i32);
        Ok(Self { steps: rows.into_iter().map(step).collect(), period: last.saturating_sub(first) })
    }

    /// Returns the receive power at a time in thousandths of dBm.
    pub fn at(&self, now: Time) -> i32 {
        let into = Span::from_nanos(now.as_nanos() % self.period.as_nanos().max(1));
        let next = self.steps.partition_point(|(at, _)| *at <= into);
        self.steps[next.saturating_sub(1)].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_a_line_holds_until_the_next_and_the_table_repeats() {
        let table = "time,wifi,wifi_dbm\n10,5,-50\n11,5,-61.5\n13,0,-80\n14,0,0\n";
        let signal = SignalTrace::from_table(table, "wifi_dbm").expect("valid");
        let at = |ms: u64| signal.at(Time::ZERO + Span::from_millis(ms));
        assert_eq!(
            [0, 999, 1000, 2999, 3000, 3999].map(at),
            [-50_000, -50_000, -61_500, -61_500, -80_000, -80_000]
        );
        assert_eq!([4000, 5000].map(at), [-50_000, -61_500]);
    }

    #[test]
    fn a_faulty_table_is_rejected_with_its_line() {
        let fault =
            |table: &str, column| SignalTrace::from_table(table, column).expect_err("faulty").to_string();
        assert_eq!(
            fault("time,w\n0,-300\n1,0\n", "w"),
            "2: \"-300\": want a receive power in dBm, -200 to 100"
        );
        assert_eq!(fault("time,w\n0,-30\n", "w"), "2: want at least two lines of values");
        assert_eq!(fault("time,w\n0,-30\n", "x"), "1: there is no column \"x\"; want one of w");
    }
}
