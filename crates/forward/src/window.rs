//! [`Window`]: the receive window of a connection, which grows with the rate at which it is read. Keeps
//! state.

use msctp_units::{Span, Time};

/// Bytes that a connection may send before the first credit.
pub const INITIAL_WINDOW: u32 = 64 << 10;

/// The largest window of a connection in bytes.
pub const MAX_WINDOW: u32 = 4 << 20;

#[derive(Debug)]
pub(crate) struct Window {
    size: u32,
    received: u64,
    consumed: u64,
    /// Number of consumed bytes that was last announced to the peer.
    announced: u64,
    /// Start of the rate measurement: its time, and the bytes consumed by then.
    since: Option<(Time, u64)>,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self { size: INITIAL_WINDOW, received: 0, consumed: 0, announced: 0, since: None }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Counts received bytes. Returns false if the peer exceeds its limit.
    #[must_use]
    pub(crate) fn receive(&mut self, len: usize) -> bool {
        self.received += len as u64;
        self.received <= self.announced + u64::from(self.size)
    }

    /// Counts bytes that the application consumed. Returns whether a credit is due. `room` is the number of
    /// bytes by which the window may grow.
    pub(crate) fn consume(&mut self, now: Time, len: usize, round_trip: Span, room: u64) -> bool {
        self.consumed = (self.consumed + len as u64).min(self.received);
        let (since, from) = *self.since.get_or_insert((now, self.consumed));
        if self.consumed - from >= u64::from(self.size) / 2 {
            // A window of four times the bytes per round trip never stops the sender.
            let elapsed = now.since(since);
            if elapsed < round_trip * 2 && self.size < MAX_WINDOW && u64::from(self.size) <= room {
                self.size *= 2;
            }
            self.since = Some((now, self.consumed));
        }
        self.unannounced() >= u64::from((self.size / 16).max(INITIAL_WINDOW / 4))
    }

    /// Returns the bytes consumed since the last credit.
    pub(crate) fn unannounced(&self) -> u64 {
        self.consumed - self.announced
    }

    /// Returns bytes consumed and window for a credit.
    pub(crate) fn announce(&mut self) -> (u64, u32) {
        self.announced = self.consumed;
        (self.consumed, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_to_four_times_the_bytes_per_round_trip() {
        let round_trip = Span::from_millis(100);
        let grown = |bytes_per_ms: u64, room: u64| {
            let mut window = Window::new();
            for ms in 0..5_000 {
                let now = Time::ZERO + Span::from_millis(ms);
                assert!(window.receive(bytes_per_ms as usize), "credit is in time");
                if window.consume(now, bytes_per_ms as usize, round_trip, room) {
                    window.announce();
                }
            }
            window.size()
        };
        assert_eq!(grown(10, u64::MAX), INITIAL_WINDOW, "1 kB per round trip");
        assert_eq!(grown(1_000, u64::MAX), 512 << 10, "100 kB per round trip");
        assert_eq!(grown(16_000, u64::MAX), MAX_WINDOW);
        assert_eq!(grown(16_000, 100_000), 128 << 10, "no room for more");
    }

    #[test]
    fn a_peer_that_exceeds_its_limit_is_noticed() {
        let mut window = Window::new();
        assert!(window.receive(INITIAL_WINDOW as usize));
        assert!(window.consume(Time::ZERO, 20_000, Span::ZERO, 0), "a credit is due");
        assert_eq!(window.announce(), (20_000, INITIAL_WINDOW));
        assert!(window.receive(20_000) && !window.receive(1));
    }
}
