//! What goes in and out: user messages and packets. No state.

use bytes::Bytes;

use crate::{PathAddr, PathId};

/// A user message to send (RFC 9260 §11.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutMessage {
    /// Stream to send it on, below the negotiated number of outbound streams.
    pub stream: u16,
    /// Payload protocol identifier, passed to the peer unread.
    pub ppid: u32,
    /// Deliver without regard to the order of the stream (RFC 9260 §6.6).
    pub unordered: bool,
    /// The payload, at least one byte.
    pub data: Bytes,
    /// Comes back in [`Event::SendFailed`](crate::Event::SendFailed) if the message cannot be delivered.
    pub context: u64,
}

/// A user message received (RFC 9260 §11.1.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Stream it came on.
    pub stream: u16,
    /// Stream sequence number; of no meaning when `unordered`.
    pub ssn: u16,
    /// Payload protocol identifier as the peer gave it.
    pub ppid: u32,
    /// Sent without regard to the order of the stream.
    pub unordered: bool,
    /// The payload.
    pub data: Bytes,
}

/// A packet (or several of equal size) that `poll_transmit` appended to its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The path it belongs to; `None` for answers that belong to no path (out of the blue, INIT ACK, …).
    pub path: Option<PathId>,
    /// Between which addresses it travels.
    pub at: PathAddr,
    /// Bytes appended to the buffer.
    pub len: usize,
    /// Set when more than one packet was appended: each is this long, the last may be shorter.
    pub segment_size: Option<usize>,
    /// The packet is larger than its path's PMTU, because it carries a chunk that was cut for a larger one: IP has to be
    /// allowed to fragment it (RFC 9260 §6.9). Every other packet fits, and may go with "don't fragment" set (RFC 8899 §4.5).
    pub may_fragment: bool,
}

impl Transmit {
    /// One packet of `len` bytes that fits its path.
    pub(crate) fn new(path: Option<PathId>, at: PathAddr, len: usize) -> Self {
        Self { path, at, len, segment_size: None, may_fragment: false }
    }
}
