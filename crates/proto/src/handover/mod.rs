//! Handover policies: they set windows at a path change.
//!
//! There is one [`HandoverPolicy`] per association. It receives changes of paths and links, estimates and the
//! primary switch. It requests probing, copies or a switch by pushing [`Action`]s, and returns the start
//! state of the new primary path. The core has one policy, [`Conservative`]; others are passed by value as a
//! [`PolicyFactory`].

mod conservative;
mod factory;
mod link_event;
mod link_quality;

pub use crate::grounds::{Grounds, Why};
pub use conservative::Conservative;
pub use factory::PolicyFactory;
pub use link_event::{LinkEvent, LinkState};
pub use link_quality::{CodingScheme, InvalidQuality, LinkQuality};

use core::fmt;
use core::net::IpAddr;

use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
use msctp_congestion::{InitialWindow, IpVersion, Measured, StartState, Window};
use msctp_units::{Span, Time};
use msctp_wire::{ChunkType, UnknownChunk};

use crate::addr::{PathAddr, PathId};
use crate::cost::Cost;
use crate::stats::PathState;

/// Sets the windows at a path change, and prepares for one.
///
/// Each method may push any number of [`Action`]s; the association performs them in order, after the method
/// has returned. A policy that ignores an event keeps the empty default.
pub trait HandoverPolicy: fmt::Debug + Send {
    /// Returns the policy's name, for traces and messages.
    fn name(&self) -> &'static str;

    /// Returns whether the policy measures a new path before data moves there, so that a later switch is
    /// better.
    fn measures(&self) -> bool {
        false
    }

    /// Returns whether the policy moves data from one working path to another by itself. If so, an endpoint
    /// that follows its host's links moves data to a better link once, when that comes into use.
    fn chooses(&self) -> bool {
        false
    }

    /// Returns the chunk types outside the RFCs that this policy exchanges with the peer's. Received ones are
    /// passed to [`on_chunk`](Self::on_chunk). Any other unknown chunk is handled by RFC 9260 §3.2: the
    /// type's two highest bits determine the reaction of a peer without the policy. List a type in
    /// `AuthConfig::chunks` to have it authenticated. A type that has a [name](ChunkType::name) is taken, and
    /// [`Config::validate`](crate::Config::validate) refuses the policy.
    fn private_chunks(&self) -> &'static [ChunkType] {
        &[]
    }

    /// Called when the association is established, or after the peer restarted (RFC 9260 §5.2.4 A).
    /// The paths of `view` are those of the set-up; [`on_path_added`](Self::on_path_added) follows for each
    /// that is confirmed.
    fn on_established(&mut self, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when the peer sent one of the [`private_chunks`](Self::private_chunks). Its content is
    /// untrusted. At most [`MAX_PRIVATE_CHUNKS`] of a packet are passed on.
    fn on_chunk(
        &mut self,
        _from: PathAddr,
        _chunk: &UnknownChunk<'_>,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) {
    }

    /// Called when the peer accepted the addition (`added`) or the deletion of one of this end's addresses
    /// (RFC 5061 §4.2.1, §4.2.2).
    fn on_local_address(
        &mut self,
        _address: IpAddr,
        _added: bool,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) {
    }

    /// Called when the application requested that the peer send to `local` from now on (RFC 5061 §4.2.4).
    fn on_primary_requested(&mut self, _local: IpAddr, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when `path` may carry data: it is in `view`, and its addresses are confirmed (RFC 9260 §5.4).
    /// Called once for each path, those of the set-up included.
    fn on_path_added(&mut self, _path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when `path` was removed, which ends any probing or copying on it. `view` no longer contains it.
    fn on_path_removed(&mut self, _path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when the application reported a change of the link below one of this end's addresses.
    fn on_link_event(&mut self, _event: LinkEvent, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when probing of `path` gave a new estimate, which the path's view already has.
    fn on_estimate(
        &mut self,
        _path: PathId,
        _estimate: &Estimate,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) {
    }

    /// Returns whether [`on_round_trip`](Self::on_round_trip) is called. It is called once, when the policy
    /// is created, so that a policy that returns false costs nothing per packet.
    fn wants_round_trips(&self) -> bool {
        false
    }

    /// Called when a measurement changed the round-trip times of `path`. `sample` is the latest, and the
    /// path's view already has it.
    ///
    /// Called at most once per received packet and path, and only if
    /// [`wants_round_trips`](Self::wants_round_trips). Paths that carry no data are measured by heartbeats.
    fn on_round_trip(&mut self, _path: PathId, _sample: Span, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when the state of `path` changed from `from` to the one in `view` (RFC 9260 §8.2, RFC 7829). A
    /// path that becomes active for the first time is [added](Self::on_path_added) instead.
    fn on_path_state(
        &mut self,
        _path: PathId,
        _from: PathState,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) {
    }

    /// Called when the policy's timer ([`Action::SetTimer`]) expired. The timer is then off until it is set.
    fn on_timer(&mut self, _view: &View<'_>, _actions: &mut Vec<Action>) {}

    /// Called when the primary path changed from `old` to `new`, for any cause. `view.primary` is already
    /// `new`.
    ///
    /// Returns the state in which `new` starts; `None` leaves its controller as it is.
    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState>;
}

/// A request from a policy to the association.
#[derive(Debug)]
pub enum Action {
    /// Run a bandwidth estimator on a path. It replaces a running one.
    StartProbing {
        /// The path.
        path: PathId,
        /// The estimator.
        estimator: Box<dyn BandwidthEstimator>,
    },
    /// Send one of the policy's [`private_chunks`](HandoverPolicy::private_chunks) on a path. Dropped if the
    /// association is not established, the path is gone or inactive, or the chunk does not fit its PMTU.
    SendChunk {
        /// The path.
        path: PathId,
        /// The chunk's type.
        chunk_type: ChunkType,
        /// Value of the chunk, without header and padding.
        value: Vec<u8>,
    },
    /// Write an entry into the trace ([`TraceKind::PolicyNote`](crate::TraceKind::PolicyNote)).
    Note {
        /// The entry's name.
        name: &'static str,
        /// Address that the entry concerns, if any.
        address: Option<IpAddr>,
        /// Value of the entry.
        value: u64,
    },
    /// End probing, and discard the path's estimate, which would become outdated.
    StopProbing {
        /// The path.
        path: PathId,
    },
    /// Send a copy of each new DATA chunk for `from` on `to`. Replaces an earlier request.
    StartBicast {
        /// The path whose chunks are copied.
        from: PathId,
        /// Path on which the copies are sent.
        to: PathId,
    },
    /// Stop sending copies.
    StopBicast,
    /// Set the window of a running path, whose recovery and idle time continue.
    ///
    /// The path is in slow start if cwnd ≤ ssthresh (RFC 9260 §7.2.1). The window is at least 1 PMDCS. A
    /// policy that follows the peer's reports must limit how far it raises the window.
    Adjust {
        /// The path.
        path: PathId,
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow-start threshold in bytes.
        ssthresh: u64,
    },
    /// Restart a path's controller with a measurement of the path, without a search for its rate (RFC 9959).
    Resume {
        /// The path.
        path: PathId,
        /// The measurement.
        measured: Measured,
    },
    /// Retransmit the chunks in flight on `from` over `to`, oldest first, as far as the window of `to`
    /// allows. It serves a path that still works but is much slower: new data behind those chunks would wait
    /// for them.
    Resend {
        /// Previous path of the data.
        from: PathId,
        /// New path of the data.
        to: PathId,
    },
    /// Make `path` the primary path for what this end sends. Dropped while its link is down.
    SwitchPrimary {
        /// The path.
        path: PathId,
        /// Why.
        grounds: Grounds,
    },
    /// Call [`HandoverPolicy::on_timer`] at this time. Replaces the time set before; `None` turns the timer
    /// off.
    SetTimer {
        /// Expiration, at least [`MIN_TIMER`] from now; `None` stops the timer.
        at: Option<Time>,
    },
}

/// Maximum number of private chunks per packet that reach [`HandoverPolicy::on_chunk`]; more are ignored.
pub const MAX_PRIVATE_CHUNKS: u32 = 4;

/// Minimum time after which a policy's timer fires. An earlier [`Action::SetTimer`] is delayed to it, so that
/// a policy that always sets "now" does not keep its association busy.
pub const MIN_TIMER: Span = Span::from_millis(1);

/// The association as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Current time.
    pub now: Time,
    /// The primary path.
    pub primary: PathId,
    /// Bytes of user data that still fit the peer's receive window (RFC 9260 §6.2.1).
    pub peer_rwnd: u64,
    /// Bytes of user data that were never sent; 0 if the application limits the rate, not a path.
    pub unsent: u64,
    /// All paths, by ascending id.
    pub paths: &'a [PathView],
}

impl View<'_> {
    /// Returns the path with this identifier, if it exists.
    pub fn path(&self, id: PathId) -> Option<&PathView> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// Returns the first active path on another local address, if `event` says that the primary path's link
    /// is down.
    pub fn escape(&self, event: LinkEvent) -> Option<PathId> {
        let primary = self.path(self.primary)?;
        if event.state != LinkState::Down || primary.local != event.local {
            return None;
        }
        let usable = |path: &&PathView| path.local != event.local && path.may_carry_data();
        self.paths.iter().find(usable).map(|path| path.id)
    }
}

/// A path as a policy sees it. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathView {
    /// Identifier of the path.
    pub id: PathId,
    /// This end's address.
    pub local: IpAddr,
    /// The peer's address.
    pub remote: IpAddr,
    /// State: unconfirmed, active, potentially failed or inactive.
    pub state: PathState,
    /// False while the link below this end's address is down.
    pub link_up: bool,
    /// What the path costs either end.
    pub cost: Cost,
    /// Control variables: cwnd, ssthresh, partial_bytes_acked.
    pub window: Window,
    /// DATA chunks outstanding.
    pub flight_size: u64,
    /// Bytes of DATA chunks acknowledged on this path so far.
    pub bytes_acked: u64,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Minimum round-trip time measured, probes included.
    pub rtt_min: Option<Span>,
    /// Retransmission timeout, including back-off.
    pub rto: Span,
    /// The largest DATA chunk, header and padding included, that fits the path's PMTU.
    pub pmdcs: u64,
    /// Latest result of the running probing. At a switch, it is that of the probing that ran just before.
    pub estimate: Option<Estimate>,
}

impl PathView {
    /// Returns true if new data may take the path: it is active, and its link is up.
    pub fn may_carry_data(&self) -> bool {
        self.state == PathState::Active && self.link_up
    }

    /// Returns `window` in bytes on this path, at least 1 PMDCS.
    pub fn initial_window(&self, window: InitialWindow) -> u64 {
        window.bytes(self.pmdcs, IpVersion::of(&self.remote))
    }

    /// Returns the bytes of full IP packets that carry `bytes` of DATA chunks on this path.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        let headers = u64::from(crate::path::packet_overhead(&self.remote));
        bytes.saturating_add(headers.saturating_mul(bytes.div_ceil(self.pmdcs.max(1))))
    }
}
