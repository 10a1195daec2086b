//! [`Inbox`]: received bytes of a connection, in memory proportional to their number. Keeps state.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Length in bytes below which messages are joined, so that the overhead of one-byte messages stays small.
const SMALL: usize = 1 << 10;

/// Maximum length of joined messages in bytes.
const JOINED: usize = 8 << 10;

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: VecDeque<Bytes>,
    /// Small messages after the queue.
    joined: BytesMut,
}

impl Inbox {
    pub(crate) fn push(&mut self, data: Bytes) {
        if data.len() >= SMALL || self.queue.is_empty() && self.joined.is_empty() {
            self.flush();
            self.queue.push_back(data);
            return;
        }
        self.joined.extend_from_slice(&data);
        if self.joined.len() >= JOINED {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.joined.is_empty() {
            self.queue.push_back(self.joined.split().freeze());
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        if self.queue.is_empty() {
            self.flush();
        }
        self.queue.pop_front()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.joined.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_and_small_messages_are_joined() {
        let mut inbox = Inbox::default();
        let all: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        let (mut at, mut len, mut pieces) = (0, 1, 0);
        while at < all.len() {
            let end = (at + len).min(all.len());
            inbox.push(Bytes::copy_from_slice(&all[at..end]));
            (at, len) = (end, len * 7 % 1999);
        }
        let mut got = Vec::new();
        while let Some(piece) = inbox.pop() {
            got.extend_from_slice(&piece);
            pieces += 1;
        }
        assert!(got == all && inbox.is_empty(), "{pieces}");
        for _ in 0..10_000 {
            inbox.push(Bytes::from_static(b"x"));
        }
        assert_eq!(
            std::iter::from_fn(|| inbox.pop()).map(|piece| piece.len()).collect::<Vec<_>>(),
            [1, 8192, 1807]
        );
    }
}
