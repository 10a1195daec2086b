//! Paths: (local, remote) address pairs with their window, RTO, error counter, heartbeats and probing.
//!
//! This module knows which pairs exist ([`pairing`]) and which of them carries data ([`Paths::data_path`]).
//! It monitors whether they work (heartbeats, error counters) and measures their bandwidth
//! ([`Paths::start_probing`]). It may not touch user data, streams or packets: it requests a HEARTBEAT on a
//! path with its information, and the association builds the packet.
//!
//! A path is a *pair*; RFC 9260 speaks of destination addresses. With one path per destination both are the
//! same. Otherwise this module is stricter: a pair is confirmed by its own heartbeat, even if the remote
//! address was confirmed on another pair.

mod bandwidth_probing;
mod carried;
mod cost;
mod discovery;
mod failover;
mod failure;
mod flow;
mod heartbeat;
pub(crate) mod host;
mod info;
mod overlap;
mod pacing;
pub(crate) mod pairing;
mod pmtu;
mod rack;
mod recovery;
mod select;
mod set;
mod silence;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod testing;

use core::net::IpAddr;

use msctp_congestion::{
    Controller, ControllerConfig, ControllerFactory, InitialWindow, IpVersion, Prr, RtoConfig, RttEstimator,
    Window,
};
use msctp_units::{Span, Time};

use crate::trace::TraceKind;

pub(crate) use crate::addr::{PathAddr, PathId};
pub(crate) use crate::stats::PathState;
pub(crate) use bandwidth_probing::ProbeRequest;
pub(crate) use carried::Carried;
pub use failover::FailoverConfig;
pub(crate) use failure::Evidence;
pub(crate) use flow::{AckSummary, Flow, SendNumber, Sending};
pub(crate) use heartbeat::Acknowledged;
pub use host::{HostAddrs, Scope};
pub(crate) use info::{HEARTBEAT_INFO_LEN, HeartbeatInfo, Purpose};
pub use pmtu::{MAX_PMTU, MIN_PMTU, Pmtu};
pub(crate) use rack::{DUP_THRESH, Rack, TailLossProbe};
pub use set::AddressError;
pub(crate) use set::{Added, Paths, SetPrimaryError};
pub(crate) use silence::{PROBE_MIN_FRACTION, SilenceDetector, SilenceProbe};

/// Length in bytes of the SCTP common header (RFC 9260 §3.1).
const COMMON_HEADER: u32 = 12;

/// Bytes that may be sent to an unconfirmed address for each byte received from it. RFC 9260 §5.4 leaves the
/// number open; this is that of RFC 9000 §8.1.
pub(crate) const AMPLIFICATION_LIMIT: u32 = 3;

/// Options of all paths of one association.
#[derive(Clone, Debug)]
pub(crate) struct PathsConfig {
    /// RTO parameters: RTO.Initial, RTO.Min, RTO.Max.
    pub rto: RtoConfig,
    /// HB.interval; [`Span::ZERO`] limits heartbeats to verification and requests (RFC 9260 §8.3).
    pub hb_interval: Span,
    /// HB.Max.Burst: verification heartbeats per RTO over all paths (RFC 9260 §5.4).
    pub hb_max_burst: u32,
    /// Path.Max.Retrans (RFC 9260 §8.2).
    pub path_max_retrans: u32,
    /// Failover from an unresponsive path (RFC 7829).
    pub failover: FailoverConfig,
    /// True if the previous data path may carry data for a while (`Moves::Fast`).
    pub overlap: bool,
    /// True if several paths carry new data at once (`PathUse::Aggregate`).
    pub aggregate: bool,
    /// Association.Max.Retrans (RFC 9260 §8.1).
    pub assoc_max_retrans: u32,
    /// The PMTU of each path: discovered or fixed.
    pub pmtu: Pmtu,
    /// Congestion controller of each new path.
    pub controller: ControllerFactory,
    /// Initial window of a path.
    pub initial_window: InitialWindow,
}

impl Default for PathsConfig {
    /// Returns the values of RFC 9260 §16, its controller, and a fixed PMTU of 1500 bytes.
    fn default() -> Self {
        Self {
            rto: RtoConfig::default(),
            hb_interval: Span::from_secs(30),
            hb_max_burst: 1,
            path_max_retrans: 5,
            failover: FailoverConfig::default(),
            overlap: false,
            aggregate: false,
            assoc_max_retrans: 10,
            pmtu: Pmtu::Fixed(1500),
            controller: ControllerFactory::default(),
            initial_window: InitialWindow::default(),
        }
    }
}

/// The allowed use of a local address as a source (RFC 5061 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceUse {
    /// Any packet.
    Full,
    /// The address whose Add-IP is not acknowledged may only send packets with an ASCONF (rule F1).
    AsconfOnly,
    /// The address whose Delete-IP is in progress still receives, but is no source (rule F4).
    ReceiveOnly,
}

/// A pending RTT measurement on a path: one DATA chunk at a time (RFC 9260 §6.3.1 C4, C5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RttSlot {
    /// TSN of the measured chunk, which was sent for the first time.
    pub tsn: u32,
    /// Time at which the chunk was sent.
    pub sent: Time,
}

/// An event on the paths, for the association to handle and report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathEvent {
    /// A path was confirmed, became potentially failed, inactive or active again (RFC 9260 §5.4, §8.2,
    /// RFC 7829 §3.2).
    StateChanged {
        /// The path.
        path: PathId,
        /// Previous state of the path.
        from: PathState,
        /// New state of the path.
        to: PathState,
    },
    /// The PMTU of a path changed (RFC 8899).
    PmtuChanged {
        /// The path.
        path: PathId,
        /// PMTU in bytes, IP header included.
        pmtu: u32,
    },
    /// New data moves to another path: a new primary, a failover, or a return (RFC 9260 §6.4.1).
    DataPathChanged {
        /// The previous data path; `None` if no path could carry data.
        from: Option<PathId>,
        /// The new data path; `None` if no path can carry data.
        to: Option<PathId>,
    },
    /// The primary exceeded Primary.Switchover.Max.Retrans: the data path becomes the primary (RFC 7829 §5).
    PrimarySwitchover {
        /// The new primary.
        to: PathId,
    },
    /// The association's error counter exceeded Association.Max.Retrans: the peer is unreachable
    /// (RFC 9260 §8.1).
    ///
    /// Reported once.
    PeerUnreachable,
    /// The peer acknowledged no user data for this long, whatever else it answered (RFC 9260 §8.1).
    DataUnacknowledged {
        /// Time since the first expiration of a timer.
        after: Span,
    },
}

/// One (local, remote) address pair and its state.
///
/// The public fields belong to data transfer. State, link and source rules decide which path carries data.
/// They change only through [`Paths`], which keeps [`Paths::data_path`] up to date.
#[derive(Debug)]
pub(crate) struct Path {
    id: PathId,
    addr: PathAddr,
    state: PathState,
    /// True if the path has answered a heartbeat, or RFC 9260 §5.4 rules 1 and 2 confirmed it. An inactive
    /// path may be either.
    confirmed: bool,
    source: SourceUse,
    link_up: bool,
    costs: cost::Costs,
    /// True if the path carries new data at the same time as others.
    joined: bool,
    error_count: u32,
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.3
    //# An endpoint MUST maintain separate PMTU estimates for each destination address of its peer.
    pmtu: u32,
    reserved: u32,
    pmdcs: u32,
    heartbeat: heartbeat::Heartbeat,
    bandwidth_prober: Option<Box<bandwidth_probing::BandwidthProber>>,
    /// PMTU discovery, while it runs.
    pmtu_prober: Option<Box<pmtu::PmtuProber>>,
    /// The pacer, if the controller sets a rate.
    pacing: Option<Box<pacing::Pacing>>,
    /// Congestion controller of the path.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
    //# an SCTP sender MUST keep a set of the control variables cwnd, ssthresh, and partial_bytes_acked for
    //# EACH destination address of its peer
    pub controller: Box<dyn Controller>,
    /// Estimator of SRTT, RTTVAR, RTO and minimum RTT.
    pub rtt: RttEstimator,
    /// Bytes of DATA chunks outstanding on this path: chunk header, data, padding.
    pub flight_size: u64,
    /// Expiration time of T3-rtx; `None` if it is stopped.
    pub t3_rtx: Option<Time>,
    /// The RTT measurement in progress.
    pub rtt_slot: Option<RttSlot>,
    /// Bytes of DATA chunks acknowledged on this path.
    pub bytes_acked: u64,
    /// PRR, which limits transmissions during Fast Recovery (RFC 9937).
    pub prr: Option<Box<Prr>>,
    /// Bytes of packets with data that may be sent before the path is confirmed (`Moves::Fast`).
    pub(crate) early: u64,
    /// The chunks sent on this path, and its loss recovery.
    pub(crate) flow: Flow,
    /// State of RACK-TLP, if it detects losses.
    pub(crate) rack: Option<Box<Rack>>,
    /// Silence detector, if silence detection is on.
    pub(crate) silence: Option<Box<SilenceDetector>>,
    /// True if a tail loss probe must be sent: one packet regardless of the window (RFC 8985 §7.3).
    pub loss_probe: bool,
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// Bytes sent, from the common header on.
    pub bytes_sent: u64,
    /// SCTP packets received with a valid verification tag.
    pub packets_received: u64,
    /// Bytes received, from the common header on.
    pub bytes_received: u64,
    /// Tail loss probes sent.
    pub loss_probes: u32,
    /// T3-rtx expirations.
    pub timeouts: u32,
    /// Those to which the peer had not answered by a closed window.
    pub(crate) unanswered_timeouts: u32,
    /// Failures to deliver data.
    doubt: failure::Doubt,
    /// Fast retransmits.
    pub fast_retransmits: u32,
    /// Spurious T3-rtx expirations that were undone.
    pub spurious_timeouts: u32,
    /// Number of losses classified as wireless, for which the window was kept.
    pub ld_recoveries: u32,
    /// Time of the last transmission that can update the RTT: new DATA, INIT, COOKIE ECHO, HEARTBEAT
    /// (RFC 9260 §8.3).
    last_used: Time,
    /// Time of the last acknowledgement of data sent here alone, or of a heartbeat or probe.
    pub(crate) answered: Time,
    /// Start of the idle time that decays the window (RFC 9260 §7.2.1); `None` before the first data.
    idle_since: Option<Time>,
}

impl Path {
    fn new(id: PathId, addr: PathAddr, config: &PathsConfig, reserved: u32, now: Time) -> Self {
        let pmtu = pmtu::initial(config, &addr);
        let pmdcs = pmdcs(pmtu, reserved, &addr.remote);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5
        //# the congestion control MUST be reinitialized.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5.2
        //# the congestion control parameters for the affected destination addresses MUST be reset to their
        //# initial values.
        let controller = config.controller.make(&ControllerConfig {
            pmdcs: u64::from(pmdcs),
            ip_version: IpVersion::of(&addr.remote),
            initial_window: config.initial_window,
            initial_ssthresh: None,
        });
        Self {
            id,
            addr,
            state: PathState::Unconfirmed,
            confirmed: false,
            source: SourceUse::Full,
            link_up: true,
            costs: cost::Costs::default(),
            joined: false,
            error_count: 0,
            pmtu,
            reserved,
            pmdcs,
            heartbeat: heartbeat::Heartbeat::default(),
            bandwidth_prober: None,
            pmtu_prober: None,
            pacing: None,
            controller,
            rtt: RttEstimator::new(config.rto),
            flight_size: 0,
            t3_rtx: None,
            rtt_slot: None,
            bytes_acked: 0,
            prr: None,
            early: 0,
            flow: Flow::default(),
            rack: None,
            silence: None,
            loss_probe: false,
            packets_sent: 0,
            bytes_sent: 0,
            packets_received: 0,
            bytes_received: 0,
            loss_probes: 0,
            timeouts: 0,
            unanswered_timeouts: 0,
            doubt: failure::Doubt::default(),
            fast_retransmits: 0,
            spurious_timeouts: 0,
            ld_recoveries: 0,
            last_used: now,
            answered: now,
            idle_since: None,
        }
    }

    /// Returns its id.
    pub(crate) fn id(&self) -> PathId {
        self.id
    }

    /// Returns its addresses.
    pub(crate) fn addr(&self) -> PathAddr {
        self.addr
    }

    /// Returns the path's state: unconfirmed, active, potentially failed or inactive.
    pub(crate) fn state(&self) -> PathState {
        self.state
    }

    /// Returns true once the pair is confirmed. An unconfirmed pair may not carry data (RFC 9260 §5.4).
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Returns true if a full packet with data may be sent, because the path is confirmed or has an early
    /// allowance left.
    #[inline]
    pub(crate) fn may_carry_packet(&self) -> bool {
        self.confirmed || self.early >= u64::from(self.pmtu)
    }

    /// Returns the allowed use of its local address.
    pub(crate) fn source(&self) -> SourceUse {
        self.source
    }

    /// Returns false while the link of its local address is down.
    pub(crate) fn link_is_up(&self) -> bool {
        self.link_up
    }

    /// Returns true if packets sent here may arrive, because the path's link is up and the path has not
    /// failed.
    pub(crate) fn may_deliver(&self) -> bool {
        self.link_up && self.state != PathState::Inactive
    }

    /// Returns the number of consecutive errors (RFC 9260 §8.2).
    pub(crate) fn error_count(&self) -> u32 {
        self.error_count
    }

    /// Returns the maximum size of an IP packet in bytes, header included.
    pub(crate) fn pmtu(&self) -> u32 {
        self.pmtu
    }

    /// Returns PMDCS: the largest DATA chunk that fits the PMTU, header and padding included (RFC 9260 §1.3).
    ///
    /// RFC 8899 §4.4 calls it MPS.
    #[inline]
    pub(crate) fn pmdcs(&self) -> u32 {
        self.pmdcs
    }

    /// Returns the bytes of the IP header on this path.
    pub(crate) fn ip_header(&self) -> u32 {
        ip_header(&self.addr.remote)
    }

    /// Returns the RTO as after an answer: a path that stopped answering has backed off up to RTO.Max.
    pub(crate) fn rto_without_back_off(&self) -> Span {
        let mut rtt = self.rtt.clone();
        rtt.end_back_off();
        rtt.rto()
    }

    /// Returns true if new data may be sent here: the path is active, its link is up, and its local address
    /// may be a source.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.state == PathState::Active && self.link_up && self.source == SourceUse::Full
    }

    /// Returns true if new data may be sent here when no path is usable, because the path is only potentially
    /// failed (RFC 7829 §3.2).
    fn is_second_choice(&self) -> bool {
        self.state == PathState::PotentiallyFailed && self.link_up && self.source == SourceUse::Full
    }

    /// Sets the PMTU (bytes, IP header included) and updates the controller.
    pub(crate) fn set_pmtu(&mut self, pmtu: u32) {
        self.pmtu = pmtu;
        self.pmdcs = pmdcs(pmtu, self.reserved, &self.addr.remote);
        self.controller.on_pmtu(u64::from(self.pmdcs));
    }

    /// Records a transmission that can update the RTT (new DATA, INIT, COOKIE ECHO), so that the path is not
    /// idle (RFC 9260 §8.3).
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time) {
        self.last_used = now;
    }

    /// Returns the time of the last such transmission.
    pub(crate) fn last_used(&self) -> Time {
        self.last_used
    }

    /// Returns the trace entry of its window.
    #[cold]
    pub(crate) fn window_trace(&self) -> TraceKind {
        let Window { cwnd, ssthresh, partial_bytes_acked } = self.controller.window();
        let (path, flight_size) = (self.id, self.flight_size);
        TraceKind::Window { path, cwnd, ssthresh, flight_size, partial_bytes_acked }
    }

    /// Returns true once DATA was sent here.
    pub(crate) fn has_carried_data(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Returns true in Fast Recovery (RFC 9260 §7.2.4).
    #[cfg(test)]
    pub(crate) fn in_fast_recovery(&self) -> bool {
        self.flow.recovery_exit.is_some()
    }

    /// Returns the path's silence detector, and creates it if there is none.
    pub(crate) fn silence_detector(&mut self, now: Time) -> &mut SilenceDetector {
        self.silence.get_or_insert_with(|| Box::new(SilenceDetector::new(now)))
    }

    /// Records a transmission of DATA, new or repeated, so that the window does not decay (RFC 9260 §7.2.1).
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// Decays the window by the RTOs that passed without data (RFC 9260 §7.2.1).
    ///
    /// Call it before DATA is sent with nothing outstanding on the path.
    #[inline]
    pub(crate) fn decay_if_idle(&mut self, now: Time) {
        let Some(since) = self.idle_since else { return };
        let (idle, rto) = (now.since(since), self.rtt.rto());
        if self.flight_size > 0 || idle < rto || rto.is_zero() {
            return;
        }
        let rtos = idle.as_nanos() / rto.as_nanos();
        self.controller.on_idle(rtos);
        self.idle_since = Some(since + rto * rtos);
    }
}

/// Returns the length in bytes of the IP header before an SCTP packet to `remote`, without options and
/// extension headers.
pub(crate) const fn ip_header(remote: &IpAddr) -> u32 {
    match remote {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    }
}

/// Returns the bytes of a packet to `remote` outside of chunks: IP header and SCTP common header.
pub(crate) const fn packet_overhead(remote: &IpAddr) -> u32 {
    ip_header(remote) + COMMON_HEADER
}

/// Returns the PMDCS of a path: the PMTU less IP header, common header and reserved bytes.
///
/// A multiple of 4, because chunks are padded.
pub(crate) const fn pmdcs(pmtu: u32, reserved: u32, remote: &IpAddr) -> u32 {
    pmtu.saturating_sub(packet_overhead(remote) + reserved) & !3
}
