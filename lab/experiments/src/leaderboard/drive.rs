//! [`Drive`]: two networks measured on one clock, and what a sender could have carried over them.

use std::fs;
use std::path::{Path, PathBuf};

use msctp_units::Span;

/// Share of user data in a full packet: 1452 of 1500 bytes, without IPv4, SCTP and DATA headers.
pub(super) const USER_SHARE: f64 = 1452.0 / 1500.0;
/// Length of the intervals in which standstills are counted, in seconds.
pub(super) const BIN: f64 = 0.5;
/// The rate below which an interval counts as a standstill, in bit/s.
pub(super) const STANDSTILL: f64 = 1e6;
/// Time over which the follower compares the networks, in seconds.
const FOLLOWED: f64 = 5.0;

/// Rates of both networks over a piece of time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: f64,
    until: f64,
    /// Rate of each network in Mbps.
    rates: [f64; 2],
}

/// A drive with a phone on each of two networks.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Name of the drive's file, without folder and extension.
    pub name: String,
    /// Names of the networks, which are the columns of the table.
    pub networks: [String; 2],
    /// The table of rates (`docs/models/trace.md`).
    pub table: String,
    /// One-way delays, half of the ping times.
    pub delays: [Span; 2],
    pieces: Vec<Piece>,
}

/// The result of a rule that uses the whole capacity of the network that it chose.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ideal {
    /// User bytes that the rule carries.
    pub(super) bytes: f64,
    /// Share of the time below 1 Mbps.
    pub(super) below: f64,
    /// Bytes of IP packets over each network.
    pub(super) on: [f64; 2],
}

/// The drives cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DrivesError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The content of a file is invalid.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The fault, and the expected content.
        problem: String,
    },
}

/// Reads the drives that `DIR/index.csv` lists, or with `most` that many of them, evenly spaced.
///
/// # Errors
/// A file cannot be read or parsed. The error names the first.
pub fn load(dir: &Path, most: Option<usize>) -> Result<Vec<Drive>, DrivesError> {
    let path = dir.join("index.csv");
    let text = read(&path)?;
    let mut lines = lines(&text);
    let (_, header) = lines.next().unwrap_or_default();
    let head: Vec<&str> = header.split(',').map(str::trim).collect();
    let rows: Vec<(usize, &str)> = lines.collect();
    let fail = |line, problem| DrivesError::Content { path: path.clone(), line, problem };
    let file = column(&head, "file").ok_or_else(|| fail(1, "no column \"file\"".to_owned()))?;
    if rows.is_empty() {
        return Err(fail(1, "the index lists no drive: want a line for each".to_owned()));
    }
    let count = most.unwrap_or(rows.len()).clamp(1, rows.len());
    let chosen = (0..count).map(|number| rows[number * rows.len() / count]);
    chosen
        .map(|(line, row)| {
            let words: Vec<&str> = row.split(',').map(str::trim).collect();
            if words.len() != head.len() {
                return Err(fail(line, format!("{} values: want {}", words.len(), head.len())));
            }
            let ping = |network: &str| {
                let name = format!("ping_{network}_ms");
                let at = column(&head, &name).ok_or_else(|| fail(1, format!("no column \"{name}\"")))?;
                let ms = words[at].parse::<f64>().ok().filter(|ms| (0.0..=60_000.0).contains(ms));
                ms.ok_or_else(|| fail(line, format!("{name} is \"{}\": want 0 to 60000", words[at])))
            };
            Drive::read(&dir.join(words[file]), ping)
        })
        .collect()
}

fn read(path: &Path) -> Result<String, DrivesError> {
    fs::read_to_string(path).map_err(|source| DrivesError::File { path: path.to_owned(), source })
}

/// Returns the lines with content, without comments, each with its number.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let content = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    (1..).zip(content).filter(|(_, line)| !line.is_empty())
}

fn column(head: &[&str], name: &str) -> Option<usize> {
    head.iter().position(|column| *column == name)
}

impl Drive {
    fn read(path: &Path, ping: impl Fn(&str) -> Result<f64, DrivesError>) -> Result<Self, DrivesError> {
        let table = read(path)?;
        let fail = |line, problem: &str| DrivesError::Content {
            path: path.to_owned(),
            line,
            problem: problem.to_owned(),
        };
        let mut lines = lines(&table);
        let (first, header) = lines.next().unwrap_or((1, ""));
        let head: Vec<&str> = header.split(',').map(str::trim).collect();
        let &["time", one, other] = head.as_slice() else {
            return Err(fail(first, "want the columns time and two networks"));
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for (line, row) in lines {
            let numbers: Vec<f64> = row.split(',').filter_map(|word| word.trim().parse().ok()).collect();
            let &[from, a, b] = numbers.as_slice() else {
                return Err(fail(line, "want a time and two rates"));
            };
            if let Some(last) = pieces.last_mut() {
                last.until = from;
            }
            pieces.push(Piece { from, until: from, rates: [a, b] });
        }
        // The last line ends the period.
        pieces.pop();
        if pieces.iter().any(|piece| piece.until <= piece.from) || pieces.is_empty() {
            return Err(fail(first, "want at least two lines, their times ascending"));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let networks = [one.to_owned(), other.to_owned()];
        let delays = [ping(one)?, ping(other)?].map(|ms| Span::from_micros((ms * 500.0).round() as u64));
        Ok(Self { name, networks, delays, pieces, table })
    }

    /// Returns the duration in seconds.
    pub(super) fn duration(&self) -> f64 {
        self.end() - self.pieces[0].from
    }

    fn end(&self) -> f64 {
        self.pieces[self.pieces.len() - 1].until
    }

    /// Returns the capacity of a network between two times since the beginning, in bits. The table repeats.
    pub(super) fn capacity(&self, network: usize, from: f64, until: f64) -> f64 {
        let start = self.pieces[0].from;
        let overlap =
            |piece: &Piece| (piece.until.min(until + start) - piece.from.max(from + start)).max(0.0);
        self.pieces.iter().map(|piece| overlap(piece) * piece.rates[network] * 1e6).sum()
    }

    /// Returns the time that a queue of this many bytes takes to empty, starting at a time, in seconds.
    pub(super) fn drain(&self, network: usize, at: f64, bytes: u64) -> f64 {
        let start = self.pieces[0].from;
        let mut left = bytes as f64 * 8.0;
        let first = self.pieces.partition_point(|piece| piece.until - start <= at);
        for piece in &self.pieces[first.min(self.pieces.len())..] {
            let (from, until) = ((piece.from - start).max(at), piece.until - start);
            let rate = piece.rates[network] * 1e6;
            if rate * (until - from) >= left {
                return from + left / rate - at;
            }
            left -= rate * (until - from);
        }
        // Not before the end of the drive.
        self.duration() - at
    }

    /// Returns the result of always using the better network, at no cost.
    pub(super) fn optimum(&self) -> Ideal {
        self.ideal(|_, rates| usize::from(rates[1] > rates[0]))
    }

    /// Returns the result of using the network that carried more in the last five seconds, at no cost.
    /// `first` is used at the start.
    pub(super) fn follower(&self, first: usize) -> Ideal {
        let start = self.pieces[0].from;
        let mut on = first;
        self.ideal(|from, _| {
            let [one, other] = [0, 1].map(|n| self.capacity(n, from - start - FOLLOWED, from - start));
            if one != other {
                on = usize::from(other > one);
            }
            on
        })
    }

    fn ideal(&self, mut choose: impl FnMut(f64, [f64; 2]) -> usize) -> Ideal {
        let start = self.pieces[0].from;
        let mut bins = vec![0.0; (self.duration() / BIN).ceil() as usize];
        let mut on = [0.0; 2];
        for piece in &self.pieces {
            let network = choose(piece.from, piece.rates);
            on[network] += piece.rates[network] * 1e6 * (piece.until - piece.from) / 8.0;
            let rate = piece.rates[network] * 1e6 * USER_SHARE;
            for (number, bin) in bins.iter_mut().enumerate() {
                let from = start + number as f64 * BIN;
                *bin += rate * (piece.until.min(from + BIN) - piece.from.max(from)).max(0.0);
            }
        }
        let below = bins.iter().filter(|&&bits| bits < STANDSTILL * BIN).count();
        Ideal { bytes: (on[0] + on[1]) * USER_SHARE, below: below as f64 / bins.len() as f64, on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Drive {
        let rates = [[8.0, 2.0], [0.0, 4.0], [8.0, 0.0], [8.0, 0.0]];
        let piece =
            |(n, rates): (usize, [f64; 2])| Piece { from: 3.0 + n as f64, until: 4.0 + n as f64, rates };
        Drive {
            name: "drive".to_owned(),
            networks: ["a".to_owned(), "b".to_owned()],
            table: String::new(),
            delays: [Span::ZERO; 2],
            pieces: rates.into_iter().enumerate().map(piece).collect(),
        }
    }

    #[test]
    fn the_optimum_and_the_follower_are_computed_from_the_rates() {
        let optimum = drive().optimum();
        assert_eq!(optimum.on, [24e6 / 8.0, 4e6 / 8.0]);
        assert_eq!((optimum.bytes, optimum.below), (28e6 / 8.0 * USER_SHARE, 0.0));
        // Second by second: first on b; a carried 8 against 2, 8 against 6, 16 against 6.
        let follower = drive().follower(1);
        assert_eq!(follower.on, [16e6 / 8.0, 2e6 / 8.0]);
        assert_eq!(follower.below, 0.25);
    }

    #[test]
    fn a_queue_waits_for_the_rates_that_follow() {
        let drive = drive();
        assert_eq!(drive.drain(0, 0.5, 500_000), 0.5);
        assert_eq!(drive.drain(0, 0.5, 1_000_000), 2.0, "a second stands still");
        assert_eq!(drive.drain(1, 2.5, 1), 1.5, "not before the end");
        assert_eq!(drive.capacity(1, 0.5, 1.5), 3e6);
    }
}
