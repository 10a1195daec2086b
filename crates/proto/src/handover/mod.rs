//! Handover policies: what happens at a path change. May not touch packets; sees a view, answers with actions.
//!
//! There is one [`HandoverPolicy`] per association. It hears of paths, links, estimates and the primary switch, asks
//! for probing, copies or a switch by pushing [`Action`]s, and says how the new primary path starts. A new policy is
//! one file here and one line in `registry.rs`, or a file of the user's own, given by value ([`PolicyChoice`]); one that only
//! chooses the starting window is one function, a [`StartRule`].

mod adaptive;
mod config;
mod conservative;
mod inherit;
mod large_window;
mod link_event;
mod oracle;
mod preparation;
mod qos_measurement;
mod registry;
mod start_rule;

pub use adaptive::Adaptive;
pub use config::{PolicyConfig, ProbeRule, SwitchSsthresh, Truth};
pub use conservative::Conservative;
pub use inherit::Inherit;
pub use large_window::LargeInitialWindow;
pub use link_event::{LinkEvent, LinkState};
pub use oracle::Oracle;
pub use qos_measurement::{BdpDelay, QosMeasurement, QosRule};
pub use registry::{PolicyChoice, PolicyError, PolicyInfo, create, policies};
pub use start_rule::{ByRule, StartRule};

use core::fmt;
use core::net::IpAddr;

use msctp_congestion::estimator::{Estimate, WBestConfig};
use msctp_congestion::{InitialWindow, IpVersion, StartState, Window};
use msctp_units::{Span, Time};

use crate::quality::LinkQuality;
use crate::{PathId, PathState};

/// What happens to windows at a path change, and what is done to prepare for one.
///
/// Each method may push any number of [`Action`]s; the association carries them out in order, after the method returned.
/// A policy that does not care about an event keeps the empty default.
pub trait HandoverPolicy: fmt::Debug + Send {
    /// The name under which [`create`] makes this policy; one's own may have any.
    fn name(&self) -> &'static str;

    /// It has a new path measured before data moves there, and does better when that has time.
    fn measures(&self) -> bool {
        false
    }

    /// `path` may carry data from now on: it is in `view`, and its addresses are confirmed (RFC 9260 §5.4). Called once
    /// for each path, those of the set-up included.
    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, view, actions);
    }

    /// `path` is gone, and with it any probing or copying on it; `view` does not have it any more.
    fn on_path_removed(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, view, actions);
    }

    /// The application reported a change of the link below one of this end's addresses.
    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (event, view, actions);
    }

    /// Probing of `path` gave a new estimate; the path's view has it already.
    fn on_estimate(&mut self, path: PathId, estimate: &Estimate, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, estimate, view, actions);
    }

    /// The peer reported the link below the remote address of `path`; the path's view has it already. Called for each path to
    /// that address. What is in a report is the peer's word, see [`crate::quality`].
    fn on_quality(&mut self, path: PathId, report: &LinkQuality, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, report, view, actions);
    }

    /// Whether [`on_round_trip`](Self::on_round_trip) is called. Asked once, when the policy is made: a
    /// policy that says no costs nothing per packet.
    fn wants_round_trips(&self) -> bool {
        false
    }

    /// A measurement changed the round-trip times of `path`; `sample` is the latest, and the path's view has
    /// it already. Called at most once per packet received and path, and only if
    /// [`wants_round_trips`](Self::wants_round_trips). Paths that carry no data are measured by heartbeats.
    fn on_round_trip(&mut self, path: PathId, sample: Span, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, sample, view, actions);
    }

    /// The state of `path` changed from `from` to the one in `view` (RFC 9260 §8.2, RFC 7829). A path that
    /// becomes active for the first time is [added](Self::on_path_added) instead.
    fn on_path_state(&mut self, path: PathId, from: PathState, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (path, from, view, actions);
    }

    /// The time of the policy's [`Action::SetTimer`] has come. The timer is off until it is set again.
    fn on_timer(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let _ = (view, actions);
    }

    /// The primary path has just changed from `old` to `new`, whoever wanted it; `view.primary` is `new` already.
    ///
    /// Gives the state in which `new` starts; `None` leaves its controller as it is.
    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState>;
}

/// What a policy asks the association to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the bandwidth estimator on a path. On a path that is being probed it starts afresh.
    StartProbing {
        /// The path.
        path: PathId,
        /// The estimator's parameters, valid by [`WBestConfig::validate`].
        config: WBestConfig,
    },
    /// End it; the path's estimate is forgotten, since it would only grow stale.
    StopProbing {
        /// The path.
        path: PathId,
    },
    /// Send each new DATA chunk that goes to `from` in copy to `to`. Replaces what was asked for before.
    StartBicast {
        /// The path whose chunks are copied.
        from: PathId,
        /// The path that gets the copies.
        to: PathId,
    },
    /// Send no more copies.
    StopBicast,
    /// Set the window of a path that runs, its recovery and its idle time going on. The phase is the one asked for (slow start
    /// is cwnd ≤ ssthresh); how far the window is raised is bounded by [`crate::quality::Limits`].
    Adjust {
        /// The path.
        path: PathId,
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow-start threshold in bytes.
        ssthresh: u64,
    },
    /// Let a path's retransmission timeout be at least this until its round trip is measured next; a running T3-rtx too.
    RaiseRto {
        /// The path.
        path: PathId,
        /// The timeout, at most RTO.Max.
        rto: Span,
    },
    /// Make `path` the primary path for what this end sends.
    SwitchPrimary {
        /// The path.
        path: PathId,
    },
    /// Call [`HandoverPolicy::on_timer`] at this time. Replaces the time set before; `None` turns the timer
    /// off.
    SetTimer {
        /// When, at least [`MIN_TIMER`] from now.
        at: Option<Time>,
    },
}

/// The shortest time after which a policy's timer fires. An earlier [`Action::SetTimer`] waits for it, so
/// that a policy that always asks for "now" does not keep its association busy.
pub const MIN_TIMER: Span = Span::from_millis(1);

/// The association as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Now.
    pub now: Time,
    /// The primary path.
    pub primary: PathId,
    /// All paths, by ascending id.
    pub paths: &'a [PathView],
}

impl View<'_> {
    /// The path called `id`, if it exists.
    pub fn path(&self, id: PathId) -> Option<&PathView> {
        self.paths.iter().find(|path| path.id == id)
    }
}

/// A path as a policy sees it. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathView {
    /// Its name.
    pub id: PathId,
    /// This end's address.
    pub local: IpAddr,
    /// The peer's address.
    pub remote: IpAddr,
    /// Unconfirmed, active, potentially failed, inactive.
    pub state: PathState,
    /// cwnd, ssthresh, partial_bytes_acked.
    pub window: Window,
    /// DATA chunks outstanding.
    pub flight_size: u64,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Least round-trip time seen, probes included.
    pub rtt_min: Option<Span>,
    /// Retransmission timeout, backed off.
    pub rto: Span,
    /// The largest DATA chunk, header and padding included, that fits the path's PMTU.
    pub pmdcs: u64,
    /// The latest result of the probing that is on. At a switch: of the probing that was on just before.
    pub estimate: Option<Estimate>,
    /// What the peer last reported of the link below `remote`.
    pub quality: Option<LinkQuality>,
}

impl PathView {
    /// `window` in bytes on this path, at least 1 PMDCS.
    pub fn initial_window(&self, window: InitialWindow) -> u64 {
        window.bytes(self.pmdcs, IpVersion::of(&self.remote))
    }
}

#[cfg(test)]
mod testing;
