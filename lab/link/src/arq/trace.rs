//! [`Trace`]: block numbers over time, recorded on request. The link never reads it.

use std::collections::VecDeque;

use msctp_units::Time;

/// Something happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// Time of the event.
    pub at: Time,
    /// Number of the block, counted from 0 since the creation of the link. It continues across connections,
    /// and is not modulo the sequence number space.
    pub number: u64,
    /// Kind of the event.
    pub kind: BlockEventKind,
}

/// Event of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEventKind {
    /// The block was sent for the first time.
    Sent,
    /// The block was retransmitted.
    Retransmitted,
    /// The receiver received the block for the first time.
    Received,
    /// The sender knows that this block and all before it arrived.
    Acknowledged,
}

/// The record of block events, which is off by default.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    events: Option<VecDeque<BlockEvent>>,
}

impl Trace {
    pub(crate) fn switch(&mut self, on: bool) {
        match on {
            true => self.events = Some(self.events.take().unwrap_or_default()),
            false => self.events = None,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, at: Time, number: u64, kind: BlockEventKind) {
        if let Some(events) = &mut self.events {
            events.push_back(BlockEvent { at, number, kind });
        }
    }

    pub(crate) fn poll(&mut self) -> Option<BlockEvent> {
        self.events.as_mut()?.pop_front()
    }
}
