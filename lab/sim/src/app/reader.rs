//! A reader that takes messages at a limited rate, so that the receive window closes.

use msctp_units::{Rate, Time};

/// Reads `rate` user bytes per second on average while it runs, and without limit while it does not.
#[derive(Debug)]
pub(crate) struct Reader {
    rate: Rate,
    running: bool,
    since: Time,
    /// Bytes read since `since`.
    read: u64,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
}

impl Reader {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, running: false, since: Time::ZERO, read: 0, wake: Time::MAX }
    }

    /// Starts to limit the rate.
    pub(crate) fn start(&mut self, now: Time) {
        self.running = true;
        self.since = now;
        self.read = 0;
    }

    /// Removes the limit.
    pub(crate) fn stop(&mut self) {
        self.running = false;
    }

    /// Returns true if the rate is limited.
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    /// Returns true if another message may be read now. A message is read entirely once the rate covers all
    /// earlier ones.
    pub(crate) fn may_read(&self, now: Time) -> bool {
        !self.running || (!self.rate.is_zero() && self.next() <= now)
    }

    /// Returns the time at which the next message may be read; [`Time::MAX`] for never.
    pub(crate) fn next(&self) -> Time {
        self.since + self.rate.time_for(self.read)
    }

    /// Returns the time at which a wake-up must be scheduled for a message that may not be read yet, if none
    /// is that early.
    pub(crate) fn arm(&mut self, now: Time) -> Option<Time> {
        if self.wake <= now {
            self.wake = Time::MAX;
        }
        let next = self.next();
        if !self.running || next <= now || next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    pub(crate) fn has_read(&mut self, bytes: usize) {
        if self.running {
            self.read += bytes as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept() {
        let mut reader = Reader::new(Rate::from_kbps(8));
        assert!(reader.may_read(Time::ZERO));
        reader.start(Time::ZERO);
        reader.has_read(1000);
        assert!(!reader.may_read(Time::from_nanos(999_999_999)));
        assert!(reader.may_read(Time::from_nanos(1_000_000_000)));
        reader.has_read(500);
        assert_eq!(reader.next(), Time::from_nanos(1_500_000_000));
        reader.stop();
        assert!(reader.may_read(Time::from_nanos(1_000_000_001)));
    }

    #[test]
    fn rate_zero_reads_nothing() {
        let mut reader = Reader::new(Rate::ZERO);
        reader.start(Time::ZERO);
        assert!(!reader.may_read(Time::from_nanos(u64::MAX - 1)));
    }
}
