//! User messages and packets. No state.

use core::fmt;

use bytes::Bytes;
use msctp_units::{Ecn, Span};
use msctp_wire::Ppid;

use crate::addr::{PathAddr, PathId};

/// The least that a message or a chunk is charged in either buffer, in bytes: about what keeping it takes
/// besides its data.
///
/// Without it a million one-byte messages, which take some 200 MB, would fit a buffer of 1 MiB.
pub(crate) const MIN_CHARGE: u64 = 256;

/// Reliability of a message (RFC 3758 §4, RFC 7496 §3). If the peer does not support PR-SCTP, a partly sent
/// message is reliable, and an unsent one can still be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Retransmit until it arrives.
    #[default]
    Full,
    /// Timed reliability (RFC 3758 §4.1): abandon it this long after `send`.
    Lifetime(Span),
    /// Limited retransmissions (RFC 7496 §3.1): abandon it instead of retransmitting a chunk more often. 0
    /// sends it once.
    Retransmissions(u16),
    /// Priority (RFC 7496 §3.2): abandon it when a message of higher priority needs its room in the send
    /// buffer. 0 is the highest priority; messages of the other kinds rank above all of these.
    Priority(u16),
}

/// A user message to send (RFC 9260 §11.1.5). The default is empty and cannot be sent: it serves `..` in
/// initializers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OutMessage {
    /// Stream to send it on, below the negotiated number of outbound streams.
    pub stream: u16,
    /// Payload protocol identifier, passed to the peer unread.
    pub ppid: u32,
    /// Deliver without regard to the order of the stream (RFC 9260 §6.6).
    pub unordered: bool,
    /// The payload, at least one byte.
    pub data: Bytes,
    /// Returned in [`Event::SendFailed`](crate::Event::SendFailed) if the message cannot be delivered.
    pub context: u64,
    /// Reliability of the message.
    pub reliability: Reliability,
    /// Ask the peer to acknowledge the end of this message without delay (RFC 7053 §5.1): the application
    /// waits for it.
    pub sack_immediately: bool,
    /// Send copies over the other networks too, within the limit of
    /// [`PathUse::Redundant`](crate::PathUse::Redundant), which sets this for small messages.
    pub redundant: bool,
}

/// A message that could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// The message. Its `data` may be empty if it was sent in part.
    pub message: OutMessage,
    /// True if no part of it was sent (RFC 9260 §11.1.14), false if it was sent but not acknowledged
    /// (§11.1.15).
    pub unsent: bool,
    /// User bytes of it that were sent at least once. After the end of the association only those of the last
    /// fragment.
    pub sent: u64,
    /// The message was abandoned because its [`Reliability`] expired, not because the association ended.
    pub abandoned: bool,
}

/// A user message received, or a part of one (RFC 9260 §11.1.7).
///
/// A message that needs more than twice the receive buffer before it is complete is delivered in parts: the
/// first has `begin`, the last `end`, all others neither. The parts of one message come in order; between
/// them come messages of other streams, and unordered ones. What of a message was delivered and cannot be
/// completed is reported by [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted).
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Stream of the message.
    pub stream: u16,
    /// Stream sequence number; without meaning if `unordered`. With interleaving, the low 16 bits of the
    /// message identifier (RFC 8260 §4.1), which distinguish parts of unordered messages.
    pub ssn: u16,
    /// Payload protocol identifier as the peer gave it.
    pub ppid: u32,
    /// Sent without regard to the order of the stream.
    pub unordered: bool,
    /// This is the beginning of the message.
    pub begin: bool,
    /// This is the end of the message.
    pub end: bool,
    /// The payload.
    pub data: Bytes,
}

/// Returns whether messages so sent are those of key management: ordered, on stream 0
/// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §4).
#[inline]
pub(crate) fn is_key_management(stream: u16, unordered: bool, ppid: u32) -> bool {
    ppid == Ppid::DTLS_KEY_MANAGEMENT.get() && stream == 0 && !unordered
}

impl Message {
    #[inline]
    pub(crate) fn is_key_management(&self) -> bool {
        is_key_management(self.stream, self.unordered, self.ppid)
    }
}

impl fmt::Debug for OutMessage {
    /// Writes the length of the payload, not the payload: events that carry messages end up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutMessage")
            .field("stream", &self.stream)
            .field("ppid", &self.ppid)
            .field("unordered", &self.unordered)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .field("context", &self.context)
            .field("reliability", &self.reliability)
            .field("sack_immediately", &self.sack_immediately)
            .field("redundant", &self.redundant)
            .finish()
    }
}

impl fmt::Debug for Message {
    /// Writes the length of the payload, not the payload.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("stream", &self.stream)
            .field("ssn", &self.ssn)
            .field("ppid", &self.ppid)
            .field("unordered", &self.unordered)
            .field("begin", &self.begin)
            .field("end", &self.end)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .finish()
    }
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
    /// The packet is larger than its path's PMTU, because it carries a chunk that was cut for a larger one:
    /// IP has to be allowed to fragment it (RFC 9260 §6.9). Every other packet fits, and may go with "don't
    /// fragment" set (RFC 8899 §4.5).
    pub may_fragment: bool,
    /// The packet begins with a chunk that may answer an unverified packet: an INIT ACK or an unsigned ABORT
    /// (RFC 9260 §5.2, §8.4).
    ///
    /// After [`DatagramOutcome::Unverified`](crate::DatagramOutcome) only such packets may be sent to the
    /// source of that datagram.
    pub answers_unverified: bool,
    /// The packet is a probe of its own size: where it is too large it must be lost (RFC 8899 §3).
    pub probe: bool,
    /// Value of the ECN field of the IP header of each of them: ECT(0) where ECN was agreed and all DATA in
    /// it is new (RFC 3168 §6.1.5), else Not-ECT.
    pub ecn: Ecn,
    /// The Checksum field of each of them is 0, and the layer below writes it
    /// ([`msctp_wire::write_checksum`]). Only with `EndpointConfig::checksum_offload`; a checksum that is
    /// left out by RFC 9653 stays 0.
    pub needs_checksum: bool,
}

impl Transmit {
    /// Creates the transmission of one packet of `len` bytes that fits its path.
    pub(crate) fn new(path: Option<PathId>, at: PathAddr, len: usize) -> Self {
        Self {
            path,
            at,
            len,
            segment_size: None,
            may_fragment: false,
            answers_unverified: false,
            probe: false,
            ecn: Ecn::NotEct,
            needs_checksum: false,
        }
    }
}
