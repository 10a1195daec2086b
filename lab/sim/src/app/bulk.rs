//! A source that sends messages over an association as fast as it takes them.

use bytes::Bytes;

use msctp_units::Time;

use crate::scenario::Sending;

/// A bulk source. All messages share one buffer of zeros, so that creating one copies nothing.
#[derive(Debug)]
pub(crate) struct Bulk {
    message: Bytes,
    /// Total bytes to send; `None` if endless.
    total: Option<u64>,
    pub(crate) sending: Sending,
    running: bool,
    /// Bytes that the association accepted.
    accepted: u64,
    /// Bytes delivered to the other end's application.
    delivered: u64,
    /// Time at which all of `total` was delivered.
    pub(crate) completed: Option<Time>,
}

impl Bulk {
    /// Creates a stopped source of messages of `message` bytes; the last one may be shorter.
    pub(crate) fn new(message: u32, total: Option<u64>, sending: Sending) -> Self {
        Self {
            message: Bytes::from(vec![0; message as usize]),
            total,
            sending,
            running: false,
            accepted: 0,
            delivered: 0,
            completed: None,
        }
    }

    pub(crate) fn set_running(&mut self, running: bool) {
        self.running = running;
    }

    /// Returns the remaining bytes to send; `None` if endless.
    fn remaining(&self) -> Option<u64> {
        self.total.map(|total| total.saturating_sub(self.accepted))
    }

    /// Returns the next message to offer, if there is one.
    pub(crate) fn next(&self) -> Option<Bytes> {
        if !self.running {
            return None;
        }
        match self.remaining() {
            None => Some(self.message.clone()),
            Some(0) => None,
            Some(left) if left < self.message.len() as u64 => Some(self.message.slice(..left as usize)),
            Some(_) => Some(self.message.clone()),
        }
    }

    /// Returns true if there is a next message.
    pub(crate) fn has_more(&self) -> bool {
        self.running && self.remaining() != Some(0)
    }

    /// Returns true if the source has ended or is stopped, and all that it sent was delivered.
    pub(crate) fn is_done(&self) -> bool {
        self.completed.is_some() || !self.has_more() && self.delivered == self.accepted
    }

    /// Records the delivery of `len` bytes. Returns true if they were the last.
    #[inline]
    pub(crate) fn was_delivered(&mut self, now: Time, len: usize) -> bool {
        self.delivered += len as u64;
        if self.total.is_none_or(|total| self.delivered < total) || self.completed.is_some() {
            return false;
        }
        self.completed = Some(now);
        true
    }

    /// Records that the association accepted a message of `len` bytes.
    pub(crate) fn accepted(&mut self, len: usize) {
        self.accepted += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_is_shorter_and_none_follows() {
        let mut bulk = Bulk::new(1000, Some(2500), Sending::default());
        assert_eq!(bulk.next(), None);
        bulk.set_running(true);
        let mut sizes = Vec::new();
        while let Some(message) = bulk.next() {
            sizes.push(message.len());
            bulk.accepted(message.len());
        }
        assert_eq!(sizes, [1000, 1000, 500]);
        let at = Time::from_nanos(5);
        assert!(!bulk.was_delivered(at, 2000));
        assert!(bulk.was_delivered(at, 500));
        assert!(!bulk.was_delivered(at, 500), "told once");
        assert_eq!(bulk.completed, Some(at));
    }

    #[test]
    fn a_stopped_source_is_done_when_all_that_it_sent_is_delivered() {
        for total in [None, Some(2500)] {
            let mut bulk = Bulk::new(1000, total, Sending::default());
            bulk.set_running(true);
            assert!(!bulk.is_done(), "it has more");
            bulk.accepted(1000);
            bulk.set_running(false);
            assert!(!bulk.is_done(), "undelivered data");
            assert!(!bulk.was_delivered(Time::from_nanos(5), 1000));
            assert!(bulk.is_done());
            assert_eq!(bulk.completed, None);
            bulk.set_running(true);
            assert!(!bulk.is_done(), "it runs again");
        }
    }
}
