//! [`LinkModel`]: the interface of every link to the simulator, and its plain data.

use core::fmt;

use msctp_units::{Rate, Span, Time};

use crate::coding_scheme::CodingScheme;
use crate::fate::{Delivery, Offer};
use crate::loss::{LossProcess, Probability};
use crate::queue::QueueLen;
use crate::stats::LinkStats;

/// One direction of a link. `now` never goes back.
///
/// After any call, [`next_delivery`](Self::next_delivery) says when to call [`deliver`](Self::deliver) again,
/// until it gives `None`. A model with a clock of its own (radio blocks, scheduling rounds) uses the same
/// two: `deliver` then may give nothing and move `next_delivery` on.
pub trait LinkModel<P>: fmt::Debug + Send {
    /// Offers a packet of `wire_len` bytes, headers included, to the link.
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P>;

    /// Same as [`offer`](Self::offer), with what CoDel and FQ-CoDel look at. Other models ignore it.
    fn offer_as(&mut self, now: Time, packet: P, wire_len: u32, class: Class) -> Offer<P> {
        let _ = class;
        self.offer(now, packet, wire_len)
    }

    /// Returns the earliest time at which [`deliver`](Self::deliver) has work; `None` while nothing will
    /// happen by itself. In the past if it already has.
    fn next_delivery(&self) -> Option<Time>;

    /// Returns the next packet that has left the link by `now`, in order of leaving. Each accepted packet
    /// comes out exactly once, delivered or lost.
    fn deliver(&mut self, now: Time) -> Option<Delivery<P>>;

    /// Changes a property of the link at `now`; packets inside are treated as the model documents.
    ///
    /// # Errors
    /// [`Unsupported`] if the model has no such property; it is unchanged then.
    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported>;

    /// Replaces the loss process; `None`: nothing is lost on the way. Ignored by models whose losses are not
    /// a process.
    fn set_loss(&mut self, loss: Option<Box<dyn LossProcess>>) {
        let _ = loss;
    }

    /// Returns whether the link is up.
    fn is_up(&self) -> bool;

    /// Returns the length of the link's queue at `now`, without the packet in transmission.
    fn queue_len(&self, now: Time) -> QueueLen;

    /// Returns the radio data blocks sent for the first time, so far: how far the link's own sequence number
    /// came; `None` for links without.
    fn blocks_sent(&self) -> Option<u64> {
        None
    }

    /// Returns the counters since the beginning.
    fn stats(&self) -> &LinkStats;

    /// Returns the blocks or frames that the link layer retransmitted by itself; 0 for links that do not.
    fn resent(&self) -> u64 {
        0
    }

    /// Returns the radio conditions now, as a modem reports them; `None` for links that are no radio links.
    fn conditions(&self) -> Option<Conditions> {
        None
    }

    /// Returns the receive power at the far end in thousandths of dBm; `None` for links without.
    fn receive_power(&self, now: Time) -> Option<i32> {
        let _ = now;
        None
    }
}

/// Properties of a packet that a queue may look at, instead of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Equal for packets of one flow, by addresses, ports and protocol.
    pub flow: u64,
    /// It may be marked instead of dropped (RFC 3168 §5).
    pub ecn_capable: bool,
}

/// Conditions of a radio link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Channel coding, where it has a name.
    pub coding: Option<CodingScheme>,
    /// Rate without errors.
    pub rate: Rate,
    /// Share of blocks lost; zero if that is not known.
    pub block_errors: Probability,
    /// The least time from the beginning of a block to its use at the other side.
    pub one_way: Span,
    /// Changes of cell so far.
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
    /// The mobile changes to another cell of the same network: nothing is sent for `interruption`.
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
    /// Every packet that has not arrived; those begun are retransmitted from their first octet. The default.
    #[default]
    Everything,
    /// Packets of which nothing has been sent yet.
    Unsent,
    /// Forward no packets.
    Nothing,
}

/// The link model has no such property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this link model does not support {change:?}")]
pub struct Unsupported {
    /// The requested change.
    pub change: Change,
}
