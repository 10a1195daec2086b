//! [`Schedule`]: the instants at which a link may send, repeated for ever. It reads text and opens no files.

use std::ops::RangeInclusive;
use std::sync::Arc;

use msctp_units::{Rate, Span, Time};

/// Maximum bytes of an opportunity, equal to a full packet. Mahimahi counts 1504, which includes the four
/// bytes before each packet on its TUN device.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// The first error of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct InvalidTrace {
    /// Number of the line, from 1.
    pub line: usize,
    /// The fault, and the allowed values.
    pub message: String,
}

/// Times at which a link may send: instants in a period that repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Instants in order, none after the period. Several may be equal.
    instants: Arc<[Span]>,
    period: Span,
}

/// An opportunity: the number of completed periods, and the index in the period. Ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opportunity {
    lap: u64,
    index: usize,
}

impl Schedule {
    /// Creates a schedule of these instants, in order, which repeat after `period`.
    ///
    /// # Errors
    /// [`InvalidTrace`] with the number of the instant, from 1, in place of a line.
    pub fn new(instants: Vec<Span>, period: Span) -> Result<Self, InvalidTrace> {
        let fail = |line: usize, message: String| Err(InvalidTrace { line, message });
        let Some(&last) = instants.last() else {
            return fail(1, "there is no opportunity to send: want at least one".to_owned());
        };
        if let Some(at) = instants.windows(2).position(|pair| pair[1] < pair[0]) {
            let (before, after) = (instants[at], instants[at + 1]);
            return fail(at + 2, format!("{after} follows {before}: want ascending times"));
        }
        if period < last || period.is_zero() {
            let want = format!("want more than 0s, and at least the last time, {last}");
            return fail(instants.len(), format!("a period of {period} is too short: {want}"));
        }
        Ok(Self { instants: instants.into(), period })
    }

    /// Reads a trace in Mahimahi's format: a line for each opportunity with its time in whole milliseconds.
    /// The period is `period`, or as in Mahimahi the last time. A `#` begins a comment, and empty lines are
    /// skipped.
    ///
    /// # Errors
    /// A line is invalid. The error names the first.
    pub fn from_mahimahi(text: &str, period: Option<Span>) -> Result<Self, InvalidTrace> {
        let mut instants = Vec::new();
        let mut last_line = 1;
        let text = without_mark(text);
        for (number, line) in text.lines().enumerate() {
            let word = line.split('#').next().unwrap_or_default().trim();
            if word.is_empty() {
                continue;
            }
            last_line = number + 1;
            let fail = |message: String| InvalidTrace { line: last_line, message };
            let ms: u64 = word.parse().ok().filter(|&ms| ms <= MOST_MS).ok_or_else(|| {
                fail(format!("\"{word}\": want a time in whole milliseconds, 0 to {MOST_MS}"))
            })?;
            let at = Span::from_millis(ms);
            if let Some(&before) = instants.last().filter(|&&before| at < before) {
                return Err(fail(format!("{at} follows {before}: want ascending times")));
            }
            instants.push(at);
        }
        let period = period.or(instants.last().copied()).unwrap_or_default();
        Self::new(instants, period).map_err(|e| InvalidTrace { line: last_line, ..e })
    }

    /// Reads one column of a table of rates over time: networks that were measured together, on one clock.
    ///
    /// The first line names the columns, separated by commas: `time` and the networks. The others have a time
    /// in seconds and the networks' rates in Mbps, which hold until the next line's time; the last line ends
    /// the period, and its rates are not used. A `#` begins a comment, and empty lines are skipped.
    ///
    /// # Errors
    /// A line is invalid. The error names the first.
    pub fn from_rates(text: &str, column: &str) -> Result<Self, InvalidTrace> {
        let (rows, last_line) = read_column(text, column, 0.0..=1e6, "a rate in Mbps")?;
        let rate = |(time, mbps): (Span, f64)| (time, Rate::from_bps((mbps * 1e6).round() as u64));
        let rates: Vec<_> = rows.into_iter().map(rate).collect();
        let (instants, period) = opportunities(&rates);
        Self::new(instants, period).map_err(|e| InvalidTrace { line: last_line, ..e })
    }

    /// Returns the instants of the first period.
    #[must_use]
    pub fn instants(&self) -> &[Span] {
        &self.instants
    }

    /// Returns the time after which the schedule repeats.
    #[must_use]
    pub fn period(&self) -> Span {
        self.period
    }

    /// Returns the opportunities in a period.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.instants.len()
    }

    /// Returns the mean rate.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        Rate::of(self.instants.len() as u64 * u64::from(OPPORTUNITY_BYTES), self.period).unwrap_or_default()
    }

    /// Returns the instant of an opportunity.
    pub(super) fn at(&self, opportunity: Opportunity) -> Time {
        let laps = Span::from_nanos(self.period.as_nanos().saturating_mul(opportunity.lap));
        Time::ZERO + laps + self.instants[opportunity.index]
    }

    /// Returns the first opportunity after an instant.
    pub(super) fn after(&self, now: Time) -> Opportunity {
        let (lap, into) = (now.as_nanos() / self.period.as_nanos(), now.as_nanos() % self.period.as_nanos());
        let index = self.instants.partition_point(|at| at.as_nanos() <= into);
        if index < self.instants.len() {
            return Opportunity { lap, index };
        }
        // An opportunity at 0 is in the instant of the last one, which may be this one.
        let next = Opportunity { lap: lap + 1, index: 0 };
        if self.at(next) > now { next } else { self.next(next) }
    }

    pub(super) fn next(&self, opportunity: Opportunity) -> Opportunity {
        let Opportunity { lap, index } = opportunity;
        if index + 1 < self.instants.len() {
            Opportunity { lap, index: index + 1 }
        } else {
            Opportunity { lap: lap + 1, index: 0 }
        }
    }
}

/// Reads a column of a table over time. Returns times with values, and the number of the last line.
pub(super) fn read_column(
    text: &str,
    column: &str,
    within: RangeInclusive<f64>,
    what: &str,
) -> Result<(Vec<(Span, f64)>, usize), InvalidTrace> {
    let lines =
        without_mark(text).lines().enumerate().map(|(number, line)| (number + 1, line.split('#').next()));
    let mut lines =
        lines.filter_map(|(number, line)| Some((number, line?.trim()))).filter(|l| !l.1.is_empty());
    let fail = |line: usize, message: String| InvalidTrace { line, message };
    let (first, header) = lines.next().unwrap_or((1, ""));
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    if names[0] != "time" {
        return Err(fail(first, format!("\"{}\": want the names of the columns, time first", names[0])));
    }
    let known = || names[1..].join(", ");
    let at = names[1..].iter().position(|name| *name == column);
    let at =
        at.ok_or_else(|| fail(first, format!("there is no column \"{column}\"; want one of {}", known())))?;
    let mut rows: Vec<(Span, f64)> = Vec::new();
    let mut last_line = first;
    for (line, text) in lines {
        last_line = line;
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words.len() != names.len() {
            return Err(fail(line, format!("{} values: want {}", words.len(), names.len())));
        }
        let number = |word: &str, what: &str, within: &RangeInclusive<f64>| {
            let number = word.parse::<f64>().ok().filter(|n| within.contains(n));
            let (least, most) = (within.start(), within.end());
            number.ok_or_else(|| fail(line, format!("\"{word}\": want {what}, {least} to {most}")))
        };
        let time =
            Span::from_secs_f64(number(words[0], "a time in seconds", &(0.0..=1e6))?).unwrap_or_default();
        let value = number(words[1 + at], what, &within)?;
        if let Some((before, _)) = rows.last().filter(|(before, _)| time <= *before) {
            return Err(fail(line, format!("{time} follows {before}: want ascending times")));
        }
        rows.push((time, value));
    }
    if rows.is_empty() {
        let message = "the table has only the names of its columns: want lines of values below";
        return Err(fail(first, message.to_owned()));
    }
    Ok((rows, last_line))
}

/// Removes a byte order mark, which editors on Windows write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Longest trace: a year.
const MOST_MS: u64 = 366 * 24 * 3600 * 1000;

/// Returns the instants at which the rates have carried another opportunity's bytes, and the time of the last
/// rate. Each rate applies until the next one's time. Times count from the first.
fn opportunities(rates: &[(Span, Rate)]) -> (Vec<Span>, Span) {
    // bit/s · ns in an opportunity.
    const WORK: u128 = OPPORTUNITY_BYTES as u128 * 8 * 1_000_000_000;
    let start = rates.first().map_or(Span::ZERO, |(at, _)| *at);
    let since = |at: Span| at.saturating_sub(start);
    let mut instants = Vec::new();
    let mut done: u128 = 0;
    for pair in rates.windows(2) {
        let ((from, rate), (to, _)) = (pair[0], pair[1]);
        let (from, to) = (since(from).as_nanos(), since(to).as_nanos());
        let bps = u128::from(rate.as_bps());
        if bps == 0 {
            continue;
        }
        let mut at = u128::from(from);
        loop {
            let next = at + (WORK - done).div_ceil(bps);
            if next > u128::from(to) {
                done += bps * (u128::from(to) - at);
                break;
            }
            // The excess of rounding up to a nanosecond belongs to the next instant.
            done = (done + bps * (next - at)) - WORK;
            at = next;
            instants.push(Span::from_nanos(at as u64));
        }
    }
    (instants, rates.last().map_or(Span::ZERO, |(at, _)| since(*at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + ms(milliseconds)
    }

    /// Returns the next instants after `from`, in milliseconds.
    fn next(schedule: &Schedule, from: u64, count: usize) -> Vec<u64> {
        let mut opportunity = schedule.after(at(from));
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(schedule.at(opportunity).since(Time::ZERO).as_millis());
            opportunity = schedule.next(opportunity);
        }
        list
    }

    #[test]
    fn a_mahimahi_trace_repeats_after_its_last_time() {
        let schedule = Schedule::from_mahimahi("2\n2\n5\n\n10 # ten\n", None).unwrap();
        assert_eq!(next(&schedule, 0, 6), [2, 2, 5, 10, 12, 12]);
        assert_eq!(next(&schedule, 2, 3), [5, 10, 12]);
        assert_eq!(next(&schedule, 10, 2), [12, 12]);
        assert_eq!(next(&schedule, 25, 2), [30, 32]);
        // 4 packets of 1500 bytes in 10 ms.
        assert_eq!(schedule.mean_rate(), Rate::from_bps(4_800_000));
    }

    #[test]
    fn a_longer_period_ends_with_silence() {
        let schedule = Schedule::from_mahimahi("1\n2\n", Some(ms(100))).unwrap();
        assert_eq!(next(&schedule, 1, 4), [2, 101, 102, 201]);
        assert_eq!(next(&schedule, 50, 1), [101]);
    }

    #[test]
    fn an_opportunity_at_zero_coincides_with_the_last_of_the_previous_period() {
        let schedule = Schedule::from_mahimahi("0\n10\n", None).unwrap();
        assert_eq!(next(&schedule, 0, 4), [10, 10, 20, 20]);
        assert_eq!(next(&schedule, 10, 2), [20, 20]);
    }

    #[test]
    fn rates_become_opportunities_and_networks_share_the_clock() {
        // 12 Mbps are a packet of 1500 bytes each millisecond.
        let text = "time,wifi,lte # a walk\n100,12,6\n100.004,0,6\n100.006,12,6\n100.010,0,0\n";
        let wifi = Schedule::from_rates(text, "wifi").unwrap();
        let lte = Schedule::from_rates(text, "lte").unwrap();
        assert_eq!(next(&wifi, 0, 9), [1, 2, 3, 4, 7, 8, 9, 10, 11]);
        assert_eq!(next(&lte, 0, 6), [2, 4, 6, 8, 10, 12]);
        assert_eq!((wifi.period(), lte.period()), (ms(10), ms(10)));
    }

    #[test]
    fn the_remainder_of_a_rate_carries_over_to_the_next() {
        // 7 Mbps for 1 ms, 5 Mbps for 1 ms: 12,000 bits.
        let schedule = Schedule::from_rates("time,x\n0,7\n0.001,5\n0.002,0\n", "x").unwrap();
        assert_eq!(next(&schedule, 0, 1), [2]);
        // And over a long time nothing is lost to rounding: 1,000 s at 7 Mbps.
        let long = Schedule::from_rates("time,x\n0,7\n1000,0\n", "x").unwrap();
        assert_eq!(long.opportunities(), 7_000_000_000 / 12_000);
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let error = |text| Schedule::from_mahimahi(text, None).unwrap_err().to_string();
        assert_eq!(error("1\n1.5\n"), "2: \"1.5\": want a time in whole milliseconds, 0 to 31622400000");
        assert_eq!(error("5\n\n3\n"), "3: 3ms follows 5ms: want ascending times");
        assert!(error("").contains("want at least one"));
        assert!(error("0\n0\n").contains("period of 0s"), "{}", error("0\n0\n"));
        let error = |text| Schedule::from_rates(text, "wifi").unwrap_err().to_string();
        assert!(error("0,1\n").contains("time first"));
        assert_eq!(error("time,a,b\n"), "1: there is no column \"wifi\"; want one of a, b");
        assert_eq!(error("time,wifi\n0,1\n1\n"), "3: 1 values: want 2");
        assert!(error("time,wifi\n0,-1\n").contains("want a rate in Mbps"));
        assert_eq!(error("time,wifi\n0,1\n0,1\n"), "3: 0s follows 0s: want ascending times");
        assert!(error("time,wifi\n0,0\n1,0\n").contains("no opportunity"));
        assert_eq!(
            error("time,wifi\n"),
            "1: the table has only the names of its columns: want lines of values below"
        );
        // A byte order mark is no part of the text.
        assert!(Schedule::from_rates("\u{feff}time,wifi\n0,12\n1,0\n", "wifi").is_ok());
        assert!(Schedule::from_mahimahi("\u{feff}1\n", None).is_ok());
        let short = Schedule::from_mahimahi("5\n", Some(ms(4))).unwrap_err();
        assert!(short.to_string().contains("a period of 4ms"), "{short}");
    }
}
