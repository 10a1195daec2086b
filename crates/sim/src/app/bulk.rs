//! A source that sends messages over an association as fast as it takes them.

use bytes::Bytes;

/// A bulk source. All messages share one buffer of zeros, so that making one copies nothing.
#[derive(Debug)]
pub(crate) struct Bulk {
    message: Bytes,
    /// Bytes still to hand over; `None`: endless.
    remaining: Option<u64>,
    /// Bytes to send in all; `None`: endless.
    pub(crate) total: Option<u64>,
    pub(crate) stream: u16,
    pub(crate) unordered: bool,
    running: bool,
    /// Messages the association took.
    pub(crate) taken: u64,
}

impl Bulk {
    /// A stopped source of messages of `message` bytes, the last one shorter if need be.
    pub(crate) fn new(message: u32, total: Option<u64>, stream: u16, unordered: bool) -> Self {
        Self {
            message: Bytes::from(vec![0; message as usize]),
            remaining: total,
            total,
            stream,
            unordered,
            running: false,
            taken: 0,
        }
    }

    pub(crate) fn set_running(&mut self, running: bool) {
        self.running = running;
    }

    /// The next message to offer, if there is one.
    pub(crate) fn next(&self) -> Option<Bytes> {
        if !self.running {
            return None;
        }
        match self.remaining {
            None => Some(self.message.clone()),
            Some(0) => None,
            Some(left) if left < self.message.len() as u64 => Some(self.message.slice(..left as usize)),
            Some(_) => Some(self.message.clone()),
        }
    }

    /// The association took a message of `len` bytes.
    pub(crate) fn took(&mut self, len: usize) {
        self.taken += 1;
        if let Some(remaining) = &mut self.remaining {
            *remaining -= len as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_is_shorter_and_then_there_is_none() {
        let mut bulk = Bulk::new(1000, Some(2500), 0, false);
        assert_eq!(bulk.next(), None);
        bulk.set_running(true);
        let mut sizes = Vec::new();
        while let Some(message) = bulk.next() {
            sizes.push(message.len());
            bulk.took(message.len());
        }
        assert_eq!(sizes, [1000, 1000, 500]);
        assert_eq!(bulk.taken, 3);
    }
}
