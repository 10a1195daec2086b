//! [`LinkModel`]: the interface of every link to the simulator, and its plain data.

use core::fmt;

use msctp_units::{Rate, Span, Time};

use crate::coding_scheme::CodingScheme;
use crate::fate::{Delivery, Offer};
use crate::loss::{LossProcess, Probability};
use crate::stats::LinkStats;
use msctp_queue::QueueLen;

/// One direction of a link. `now` never goes back.
///
/// After any call, [`next_delivery`](Self::next_delivery) returns the time to call [`deliver`](Self::deliver)
/// again, until it returns `None`. A model with its own clock (radio blocks, scheduling rounds) uses the same
/// two methods: `deliver` may then return nothing and advance `next_delivery`.
pub trait LinkModel<P>: fmt::Debug + Send {
    /// Offers a packet of `wire_len` bytes, headers included, to the link.
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P>;

    /// Offers a packet like [`offer`](Self::offer), with the properties that CoDel and FQ-CoDel use. Other
    /// models ignore them.
    fn offer_as(&mut self, now: Time, packet: P, wire_len: u32, class: Class) -> Offer<P> {
        let _ = class;
        self.offer(now, packet, wire_len)
    }

    /// Returns the earliest time at which [`deliver`](Self::deliver) has work; `None` if no event is pending.
    /// The time is in the past if there is work already.
    fn next_delivery(&self) -> Option<Time>;

    /// Returns the next packet that has left the link by `now`, in order of departure. Each accepted packet
    /// comes out exactly once, delivered or lost.
    fn deliver(&mut self, now: Time) -> Option<Delivery<P>>;

    /// Changes a property of the link at `now`; packets inside are treated as the model documents.
    ///
    /// # Errors
    /// [`Unsupported`] if the model has no such property; nothing changes in that case.
    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported>;

    /// Replaces the loss process; with `None` no packets are lost in flight. Models whose losses are not a
    /// process ignore it.
    fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        let _ = loss;
    }

    /// Returns whether the link is up.
    fn is_up(&self) -> bool;

    /// Returns the length of the link's queue at `now`, without the packet in transmission.
    fn queue_len(&self, now: Time) -> QueueLen;

    /// Returns the number of radio data blocks sent for the first time, which is the link's own sequence
    /// number so far; `None` for links without blocks.
    fn blocks_sent(&self) -> Option<u64> {
        None
    }

    /// Returns the counters since the beginning.
    fn stats(&self) -> &LinkStats;

    /// Returns the number of blocks or frames that the link layer has retransmitted; 0 for links that do not
    /// retransmit.
    fn resent(&self) -> u64 {
        0
    }

    /// Returns the current radio conditions, as a modem reports them; `None` for links without a radio.
    fn conditions(&self) -> Option<Conditions> {
        None
    }

    /// Returns the receive power at the far end in thousandths of dBm; `None` for links without a radio.
    fn receive_power(&self, now: Time) -> Option<i32> {
        let _ = now;
        None
    }
}

/// Properties of a packet on which a queue may act, instead of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Flow of the packet, equal for packets with the same addresses, ports and protocol.
    pub flow: u64,
    /// True if the packet may be marked instead of dropped (RFC 3168 §5).
    pub ecn_capable: bool,
}

/// Conditions of a radio link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Channel coding, if it has a name.
    pub coding: Option<CodingScheme>,
    /// Rate without errors.
    pub rate: Rate,
    /// Share of blocks lost; zero if unknown.
    pub block_errors: Probability,
    /// Minimum time from the beginning of a block to its use at the other side.
    pub one_way: Span,
    /// Number of cell changes so far.
    pub handovers: u64,
}

/// A change of a link's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The transmission rate.
    Rate(Rate),
    /// The propagation delay.
    Delay(Span),
    /// The link comes up.
    Up,
    /// The link goes down.
    Down,
    /// The channel coding of later transmissions changes.
    Coding(CodingScheme),
    /// The share of radio blocks lost from now on.
    BlockErrors(Probability),
    /// The mobile changes to another cell of the same network. Nothing is sent for `interruption`.
    Handover {
        /// Time from the last block in the old cell to the first one in the new cell.
        interruption: Span,
        /// Fate of the packets inside.
        carries: Carries,
    },
}

/// Packets that the old cell forwards to the new one at a handover. All others are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// Every packet that has not arrived. Packets whose transmission has begun are retransmitted from their
    /// first octet. The default.
    #[default]
    Everything,
    /// Packets whose transmission has not begun.
    Unsent,
    /// Forward no packets.
    Nothing,
}

/// The error of a link model without such a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this link model does not support {change:?}")]
pub struct Unsupported {
    /// The requested change.
    pub change: Change,
}
