//! [`Tuning`]: how large the receive buffer should be (dynamic right-sizing, Fisk & Feng 2001): twice what
//! the application read in a round trip. A sender held back by the window sends one window per round trip;
//! with twice as much it can show whether the path carries more. Knows no chunks.
//!
//! The round trip is the path's, where this end has measured it (HEARTBEATs, data of its own, the handshake);
//! else the time from the announcement of a window's edge to data beyond what was allowed before, which
//! cannot be shorter.

use msctp_units::{Span, Time};

/// Measures for the receive window.
#[derive(Debug)]
pub(super) struct Tuning {
    /// The buffer grows no further.
    max: u64,
    /// Bytes the application has read.
    read: u64,
    /// Arrival time of the latest packet with data.
    now: Time,
    /// Start of this round, and `read` at that time.
    round: Option<(Time, u64)>,
    /// Time of a window announcement, and the highest byte that earlier announcements allowed.
    edge: Option<(Time, u64)>,
    /// The shortest time from an announcement to data that it allowed.
    least: Option<Span>,
}

impl Tuning {
    pub(super) fn new(max: u32) -> Self {
        Self { max: u64::from(max), now: Time::ZERO, read: 0, round: None, edge: None, least: None }
    }

    /// Notes that the application read `len` bytes.
    pub(super) fn on_read(&mut self, len: usize) {
        self.read += len as u64;
    }

    /// Records a sent SACK whose window edge is above `edge` bytes since the beginning. It answered the
    /// latest packet, or left later.
    pub(super) fn on_announced(&mut self, edge: u64) {
        self.edge.get_or_insert((self.now, edge));
    }

    /// Returns the new size of a buffer of `size` bytes after data arrived. `received`: bytes since the
    /// beginning. `rtt`: of the path, if known.
    pub(super) fn on_data(&mut self, now: Time, received: u64, rtt: Option<Span>, size: u64) -> u64 {
        self.now = now;
        if let Some((announced, edge)) = self.edge
            && received > edge
        {
            let sample = now.since(announced);
            self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
            self.edge = None;
        }
        let Some((began, read)) = self.round else {
            self.round = Some((now, self.read));
            return size;
        };
        let Some(rtt) = rtt.or(self.least) else { return size };
        if now.since(began) < rtt {
            return size;
        }
        self.round = Some((now, self.read));
        size.max((2 * (self.read - read)).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A sender that sends a whole window each round trip of 100 ms, on a path that carries `path` bytes in
    /// that time.
    fn settle(rtt: Option<Span>, path: u64, max: u32) -> u64 {
        let (mut tuning, mut size, mut received) = (Tuning::new(max), 64_000, 0);
        for round in 0..40u64 {
            let window = size.min(path);
            tuning.on_announced(received);
            for part in 1..=10 {
                received += window / 10;
                let now = ms(round * 100 + 100) + Span::from_micros(part * 100);
                size = tuning.on_data(now, received, rtt, size);
                tuning.on_read((window / 10) as usize);
            }
        }
        size
    }

    #[test]
    fn the_buffer_grows_to_twice_the_bdp_within_its_limit() {
        for rtt in [Some(Span::from_millis(100)), None] {
            let size = settle(rtt, 1_250_000, 8 << 20);
            assert!((2_500_000..=2_800_000).contains(&size), "{size}, {rtt:?}");
            assert_eq!(settle(rtt, 1_250_000, 1 << 20), 1 << 20, "{rtt:?}");
            assert_eq!(settle(rtt, 20_000, 8 << 20), 64_000, "never smaller, {rtt:?}");
        }
    }

    #[test]
    fn unread_data_does_not_grow_the_buffer() {
        let mut tuning = Tuning::new(8 << 20);
        for round in 0..40 {
            let size = tuning.on_data(ms(round * 100), round * 60_000, Some(Span::from_millis(100)), 64_000);
            assert_eq!(size, 64_000);
        }
    }
}
