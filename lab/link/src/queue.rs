//! [`Fifo`]: the packets inside a link, each with its departure and arrival times. It applies the queue limit
//! and is independent of rates and losses.
//!
//! A packet's times are computed when it enters, so that a hop costs one event. One ring holds the packets in
//! order of entry: first those that have departed (they propagate), then the one in transmission, then the
//! queued ones. A cursor separates the departed ones and moves with time, once past each packet.

use std::collections::VecDeque;

use msctp_queue::{QueueLen, QueueLimit};
use msctp_units::Time;

/// A packet inside the link.
#[derive(Debug)]
pub(crate) struct Entry<P> {
    pub(crate) packet: P,
    pub(crate) wire_len: u32,
    /// True if the link went down with the packet inside.
    pub(crate) lost: bool,
    /// End of the packet's transmission; [`Time::MAX`] while unknown.
    pub(crate) departs: Time,
    /// Arrival of the packet at the other end; [`Time::MAX`] while unknown.
    pub(crate) arrives: Time,
}

/// The packets inside a link, in order of entry. `departs` and `arrives` never decrease along it.
pub(crate) struct Fifo<P> {
    entries: VecDeque<Entry<P>>,
    /// Number of entries, from the front, that have departed.
    departed: usize,
    /// Bytes of the packets that have not departed.
    undeparted_bytes: u64,
}

impl<P> Fifo<P> {
    pub(crate) fn new() -> Self {
        Self { entries: VecDeque::new(), departed: 0, undeparted_bytes: 0 }
    }

    /// Advances the cursor past the packets that departed until `now`, inclusive.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(entry) = self.entries.get(self.departed)
            && entry.departs <= now
        {
            self.undeparted_bytes -= u64::from(entry.wire_len);
            self.departed += 1;
        }
    }

    /// Returns whether a packet may enter. The cursor must have been advanced to now.
    pub(crate) fn has_room(&self, limit: QueueLimit, wire_len: u32) -> bool {
        limit.has_room(self.waiting(), wire_len) || self.is_idle()
    }

    /// Returns the queue's length. The cursor must have been advanced to now.
    pub(crate) fn waiting(&self) -> QueueLen {
        match self.entries.get(self.departed) {
            None => QueueLen::default(),
            Some(in_transmission) => QueueLen {
                packets: (self.entries.len() - self.departed - 1) as u64,
                bytes: self.undeparted_bytes - u64::from(in_transmission.wire_len),
            },
        }
    }

    /// Returns the queue's length at `now`, for any position of the cursor. The cost is linear in the packets
    /// departed since the cursor moved.
    pub(crate) fn waiting_at(&self, now: Time) -> QueueLen {
        let mut len =
            QueueLen { packets: (self.entries.len() - self.departed) as u64, bytes: self.undeparted_bytes };
        for entry in self.entries.range(self.departed..) {
            // Departed packets do not wait, nor does the next one, which is in transmission.
            len.packets -= 1;
            len.bytes -= u64::from(entry.wire_len);
            if entry.departs > now {
                break;
            }
        }
        len
    }

    /// Returns whether nothing waits or is in transmission. The cursor must have been advanced to now.
    pub(crate) fn is_idle(&self) -> bool {
        self.departed == self.entries.len()
    }

    pub(crate) fn push(&mut self, entry: Entry<P>) {
        self.undeparted_bytes += u64::from(entry.wire_len);
        self.entries.push_back(entry);
    }

    pub(crate) fn front(&self) -> Option<&Entry<P>> {
        self.entries.front()
    }

    pub(crate) fn last(&self) -> Option<&Entry<P>> {
        self.entries.back()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes the oldest packet, which has departed. Advance the cursor to its arrival first.
    pub(crate) fn pop(&mut self) -> Option<Entry<P>> {
        debug_assert!(self.departed > 0 || self.entries.is_empty(), "arrived before it departed");
        let entry = self.entries.pop_front()?;
        self.departed -= 1;
        Some(entry)
    }

    /// Removes the packets that have not arrived by `now`, as lost.
    pub(crate) fn lose_inside(&mut self, now: Time) {
        for entry in self.entries.iter_mut().filter(|entry| entry.arrives > now) {
            entry.lost = true;
            (entry.departs, entry.arrives) = (entry.departs.min(now), now);
        }
        self.departed = self.entries.len();
        self.undeparted_bytes = 0;
    }

    /// Returns the last departed packet's arrival, and the entries that have not departed.
    pub(crate) fn undeparted_mut(&mut self) -> (Option<Time>, impl Iterator<Item = &mut Entry<P>>) {
        let last_arrival = self.departed.checked_sub(1).map(|i| self.entries[i].arrives);
        (last_arrival, self.entries.range_mut(self.departed..))
    }
}
