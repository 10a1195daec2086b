//! User messages and packets. No state.

use core::fmt;

use bytes::Bytes;
use msctp_units::{Ecn, Span};
use msctp_wire::Ppid;

use crate::addr::{PathAddr, PathId};

/// Minimum charge of a message or a chunk in either buffer, in bytes: about its memory overhead.
///
/// Without it, a buffer of 1 MiB would accept a million one-byte messages, which occupy some 200 MB.
pub(crate) const MIN_CHARGE: u64 = 256;

/// Reliability of a message (RFC 3758 §4, RFC 7496 §3). If the peer does not support PR-SCTP, a partly sent
/// message is reliable, and an unsent one can still be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Retransmit the message until it arrives.
    #[default]
    Full,
    /// Timed reliability (RFC 3758 §4.1): abandon the message this long after `send`.
    Lifetime(Span),
    /// Limited retransmissions (RFC 7496 §3.1): abandon the message instead of retransmitting a chunk more
    /// often. 0 sends each chunk once.
    Retransmissions(u16),
    /// Priority (RFC 7496 §3.2): abandon the message when one of higher priority needs its room in the send
    /// buffer. 0 is the highest priority. Messages with other kinds of reliability rank above all of these.
    Priority(u16),
}

/// A user message to send (RFC 9260 §11.1.5). The default is empty and cannot be sent: it serves `..` in
/// initializers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OutMessage {
    /// Stream of the message, below the negotiated number of outbound streams.
    pub stream: u16,
    /// Payload protocol identifier, passed to the peer without interpretation.
    pub ppid: u32,
    /// Deliver the message without regard to the order of the stream (RFC 9260 §6.6).
    pub unordered: bool,
    /// The payload, at least one byte.
    pub data: Bytes,
    /// Value returned in [`Event::SendFailed`](crate::Event::SendFailed) if the message cannot be delivered.
    pub context: u64,
    /// Reliability of the message.
    pub reliability: Reliability,
    /// Request that the peer acknowledge the end of this message without delay (RFC 7053 §5.1), because the
    /// application waits for it.
    pub sack_immediately: bool,
    /// Sends copies on the other networks too.
    ///
    /// [`PathUse::Redundant`](crate::PathUse::Redundant) sets this for small messages and limits the copies.
    pub redundant: bool,
}

/// A message that could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// The message. Its `data` may be empty if the message was sent in part.
    pub message: OutMessage,
    /// True if no part of the message was sent (RFC 9260 §11.1.14), false if it was sent but not acknowledged
    /// (§11.1.15).
    pub unsent: bool,
    /// Number of its user bytes that were sent at least once. After the end of the association it counts only
    /// the last fragment.
    pub sent: u64,
    /// True if the message was abandoned because its [`Reliability`] expired, not because the association
    /// ended.
    pub abandoned: bool,
}

/// A user message received, or a part of one (RFC 9260 §11.1.7).
///
/// A message that needs more than twice the receive buffer before it is complete is delivered in parts: the
/// first has `begin`, the last `end`, all others neither. The parts of one message arrive in order, possibly
/// with messages of other streams and unordered ones between them. If a partly delivered message cannot be
/// completed, this is reported by [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted).
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Stream of the message.
    pub stream: u16,
    /// Stream sequence number, which has no meaning if `unordered`. With interleaving, it is the low 16 bits
    /// of the message identifier (RFC 8260 §4.1), which distinguish parts of unordered messages.
    pub ssn: u16,
    /// Payload protocol identifier from the peer.
    pub ppid: u32,
    /// True if the message was sent without regard to the order of the stream.
    pub unordered: bool,
    /// True if this is the beginning of the message.
    pub begin: bool,
    /// True if this is the end of the message.
    pub end: bool,
    /// The payload.
    pub data: Bytes,
}

/// Stream of the messages of key management.
pub(crate) const KEY_MANAGEMENT_STREAM: u16 = 0;

/// Returns whether messages sent this way are those of key management: ordered, on stream 0
/// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §4).
#[inline]
pub(crate) fn is_key_management(stream: u16, unordered: bool, ppid: u32) -> bool {
    ppid == Ppid::DTLS_KEY_MANAGEMENT.get() && stream == KEY_MANAGEMENT_STREAM && !unordered
}

impl Message {
    #[inline]
    pub(crate) fn is_key_management(&self) -> bool {
        is_key_management(self.stream, self.unordered, self.ppid)
    }
}

impl fmt::Debug for OutMessage {
    /// Writes the length of the payload instead of its bytes, since events that carry messages may be logged.
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
    /// Writes the length of the payload instead of its bytes.
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
    /// The path of the packet; `None` for answers that belong to no path (out of the blue, INIT ACK, …).
    pub path: Option<PathId>,
    /// Source and destination addresses of the packet.
    pub at: PathAddr,
    /// UDP port of the destination; `None` without [encapsulation](crate::Association::encapsulate).
    pub udp_port: Option<u16>,
    /// Bytes appended to the buffer.
    pub len: usize,
    /// Length of each packet if more than one was appended; the last may be shorter.
    pub segment_size: Option<usize>,
    /// True if the packet is larger than its path's PMTU, because it carries a chunk that was cut for a
    /// larger one. IP must be allowed to fragment it (RFC 9260 §6.9). Every other packet fits, and may have
    /// "don't fragment" set (RFC 8899 §4.5).
    pub may_fragment: bool,
    /// True if the packet begins with a chunk that may answer an unverified packet: an INIT ACK or an
    /// unsigned ABORT (RFC 9260 §5.2, §8.4).
    ///
    /// After [`DatagramOutcome::Unverified`](crate::DatagramOutcome) only such packets may be sent to the
    /// source of that datagram.
    pub answers_unverified: bool,
    /// True if the packet probes its own size: it must be lost where it is too large (RFC 8899 §3).
    pub probe: bool,
    /// Value of the ECN field of the IP header of each packet. It is ECT(0) if ECN was agreed and all DATA in
    /// the packet is new (RFC 3168 §6.1.5), else Not-ECT.
    pub ecn: Ecn,
    /// True if the Checksum field of each packet is 0 and the layer below must write it
    /// ([`msctp_wire::write_checksum`]). Only with `EndpointConfig::checksum_offload`. A checksum that
    /// RFC 9653 leaves out stays 0.
    pub needs_checksum: bool,
}

impl Transmit {
    /// Creates the transmission of one packet of `len` bytes that fits its path.
    pub(crate) fn new(path: Option<PathId>, at: PathAddr, len: usize) -> Self {
        Self {
            path,
            at,
            udp_port: None,
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
