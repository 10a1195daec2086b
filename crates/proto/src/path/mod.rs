//! Paths: (local, remote) address pairs with their window, RTO, error counter, heartbeat and probing.
//!
//! What lives here: which pairs exist ([`pairing`]), which of them carries data ([`Paths::data_path`]), whether they work
//! (heartbeats, error counters) and what they could carry ([`Paths::start_probing`]). It may not touch user data, streams or packets:
//! it says *that* a HEARTBEAT is to be sent on a path and with what information, the association builds the packet.
//!
//! A path here is a *pair*. RFC 9260 speaks of destination addresses; with one path per destination both readings are
//! the same. Where they differ this module is the stricter: a pair is confirmed by its own heartbeat, even when the
//! remote address was confirmed over another pair.

mod discovery;
mod failure;
mod flow;
mod heartbeat;
mod info;
mod overlap;
mod pacing;
pub mod pairing;
mod pmtu;
mod probing;
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
};
use msctp_units::{Span, Time};

use crate::FailoverConfig;

pub use crate::{PathAddr, PathId, PathState};
pub(crate) use flow::{AckSummary, Flow, SendNumber, Sending};
pub use heartbeat::{Acknowledged, HeartbeatRequest};
pub use info::{HEARTBEAT_INFO_LEN, HeartbeatInfo, Purpose};
pub use probing::{ProbeRequest, ProbingError};
pub(crate) use rack::{DUP_THRESH, Rack, TailLossProbe};
pub use set::{Added, AddressError, Paths, SetPrimaryError};
pub(crate) use silence::{SilenceDetector, SilenceProbe};

/// Bytes of the SCTP common header (RFC 9260 §3.1).
const COMMON_HEADER: u32 = 12;

/// Options of all paths of one association.
#[derive(Clone, Debug)]
pub struct PathsConfig {
    /// RTO.Initial, RTO.Min, RTO.Max.
    pub rto: RtoConfig,
    /// HB.interval; [`Span::ZERO`]: no heartbeats but those that confirm a path or are asked for (RFC 9260 §8.3).
    pub hb_interval: Span,
    /// HB.Max.Burst: verification heartbeats per RTO over all paths, at least 1 (RFC 9260 §5.4).
    pub hb_max_burst: u32,
    /// Path.Max.Retrans (RFC 9260 §8.2).
    pub path_max_retrans: u32,
    /// When a path that stops answering is left (RFC 7829).
    pub failover: FailoverConfig,
    /// A path that data has left may go on to carry some (`Moves::Fast`).
    pub overlap: bool,
    /// Association.Max.Retrans (RFC 9260 §8.1).
    pub assoc_max_retrans: u32,
    /// Largest IP packet, header included, in bytes: on every path, or the most that is tried.
    pub pmtu: u32,
    /// Bytes of each packet that are neither headers nor DATA: an AUTH chunk (RFC 4895).
    pub reserved: u32,
    /// How the PMTU of each path is found (RFC 8899).
    pub pmtu_discovery: bool,
    /// How the controller of each new path is made.
    pub controller: ControllerFactory,
    /// The window of a path before its first data.
    pub initial_window: InitialWindow,
    /// The threshold of a path before its first loss in bytes; `None`: arbitrarily high (RFC 9260 §7.2.1).
    pub initial_ssthresh: Option<u64>,
}

impl Default for PathsConfig {
    /// RFC 9260 §16 and its controller, on a PMTU of 1500 bytes.
    fn default() -> Self {
        Self {
            rto: RtoConfig::default(),
            hb_interval: Span::from_secs(30),
            hb_max_burst: 1,
            path_max_retrans: 5,
            failover: FailoverConfig::default(),
            overlap: false,
            assoc_max_retrans: 10,
            pmtu: 1500,
            reserved: 0,
            pmtu_discovery: false,
            controller: ControllerFactory::default(),
            initial_window: InitialWindow::default(),
            initial_ssthresh: None,
        }
    }
}

/// What this end may use one of its addresses for as a source (RFC 5061 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceUse {
    /// Any packet.
    Full,
    /// Its Add-IP is not acknowledged: nothing but a packet that carries an ASCONF (rule F1).
    AsconfOnly,
    /// Its Delete-IP is under way: still valid to receive on, not a source any more (rule F4).
    ReceiveOnly,
}

/// A round-trip measurement under way on a path: one DATA chunk at a time (RFC 9260 §6.3.1 C4, C5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSlot {
    /// The TSN of the chunk that is timed, sent for the first time.
    pub tsn: u32,
    /// When it was sent.
    pub sent: Time,
}

/// What happened to the paths, for the association to act on and to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// A path was confirmed, became potentially failed, inactive or active again (RFC 9260 §5.4, §8.2, RFC 7829 §3.2).
    StateChanged {
        /// Which.
        path: PathId,
        /// Before.
        from: PathState,
        /// Now.
        to: PathState,
    },
    /// A path carries packets of another size from now on (RFC 8899).
    PmtuChanged {
        /// Which.
        path: PathId,
        /// Bytes, IP header included.
        pmtu: u32,
    },
    /// New data goes elsewhere from now on: another primary, a failover, or the way back from one (RFC 9260 §6.4.1).
    DataPathChanged {
        /// Before; `None`: there was none that may carry data.
        from: Option<PathId>,
        /// Now; `None`: there is none that may carry data.
        to: Option<PathId>,
    },
    /// The primary had more errors than Primary.Switchover.Max.Retrans: this path, which carries the data, is to become the
    /// primary (RFC 7829 §5).
    PrimarySwitchover {
        /// Which.
        to: PathId,
    },
    /// The association's error counter exceeded Association.Max.Retrans: the peer is unreachable (RFC 9260 §8.1).
    /// Given once.
    PeerUnreachable,
}

/// One (local, remote) address pair and everything that is kept per pair.
///
/// The public fields belong to data transfer; whatever decides where data goes (state, link, source rules) changes
/// through [`Paths`] alone, which keeps [`Paths::data_path`] in step.
#[derive(Debug)]
pub struct Path {
    id: PathId,
    addr: PathAddr,
    state: PathState,
    /// It answered a heartbeat once, or was confirmed by RFC 9260 §5.4 rules 1 and 2. An inactive path may be either.
    confirmed: bool,
    source: SourceUse,
    link_up: bool,
    error_count: u32,
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.3
    //# An endpoint MUST maintain separate PMTU estimates for each destination address of its peer.
    pmtu: u32,
    reserved: u32,
    pmdcs: u32,
    heartbeat: heartbeat::Heartbeat,
    prober: Option<Box<probing::Prober>>,
    /// While its PMTU is found out.
    finder: Option<Box<pmtu::Finder>>,
    /// While its controller wants packets spaced.
    pacing: Option<Box<pacing::Pacing>>,
    /// Its congestion window.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
    //# an SCTP sender MUST keep a set of the control variables cwnd, ssthresh, and partial_bytes_acked for
    //# EACH destination address of its peer
    pub controller: Box<dyn Controller>,
    /// SRTT, RTTVAR, RTO, least RTT.
    pub rtt: RttEstimator,
    /// Bytes of DATA chunks outstanding on this path: chunk header, data, padding.
    pub flight_size: u64,
    /// When T3-rtx expires; `None`: stopped.
    pub t3_rtx: Option<Time>,
    /// The round-trip measurement under way.
    pub rtt_slot: Option<RttSlot>,
    /// DATA chunks acknowledged on this path so far, in bytes.
    pub bytes_acked: u64,
    /// PRR at work: while in Fast Recovery it says how much may be sent (RFC 9937).
    pub prr: Option<Box<Prr>>,
    /// Bytes of packets with data that may go here although it is not confirmed (`Moves::Fast`).
    pub(crate) early: u64,
    /// Which chunks went here, and where their recovery stands.
    pub(crate) flow: Flow,
    /// RACK-TLP at work, where it finds the losses.
    pub(crate) rack: Option<Box<Rack>>,
    /// Its signs of life, where silence is detected.
    pub(crate) silence: Option<Box<SilenceDetector>>,
    /// A tail loss probe is to be sent: one packet, whatever the window says (RFC 8985 §7.3).
    pub loss_probe: bool,
    /// SCTP packets sent here so far.
    pub packets_sent: u64,
    /// Bytes of those, from the common header on.
    pub bytes_sent: u64,
    /// SCTP packets that came over this path so far, of those with the right verification tag.
    pub packets_received: u64,
    /// Bytes of those, from the common header on.
    pub bytes_received: u64,
    /// Tail loss probes so far.
    pub loss_probes: u32,
    /// T3-rtx expirations so far.
    pub timeouts: u32,
    /// Fast retransmits so far.
    pub fast_retransmits: u32,
    /// Expirations of T3-rtx that were spurious and were undone.
    pub spurious_timeouts: u32,
    /// Losses taken for the radio's: the window was kept.
    pub ld_recoveries: u32,
    /// When anything was last sent that can update the RTT: new DATA, INIT, COOKIE ECHO, HEARTBEAT (RFC 9260 §8.3).
    last_used: Time,
    /// From when on idle RTOs count for the window's decay (RFC 9260 §7.2.1); `None`: no data was sent here yet.
    idle_since: Option<Time>,
}

impl Path {
    fn new(id: PathId, addr: PathAddr, config: &PathsConfig, now: Time) -> Self {
        let pmtu = pmtu::initial(config, &addr);
        let pmdcs = pmdcs(pmtu, config.reserved, &addr.remote);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5
        //# the congestion control MUST be reinitialized.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.5.2
        //# the congestion control parameters for the affected destination addresses MUST be reset to their
        //# initial values.
        let controller = config.controller.make(&ControllerConfig {
            pmdcs: u64::from(pmdcs),
            ip_version: IpVersion::of(&addr.remote),
            initial_window: config.initial_window,
            initial_ssthresh: config.initial_ssthresh,
        });
        Self {
            id,
            addr,
            state: PathState::Unconfirmed,
            confirmed: false,
            source: SourceUse::Full,
            link_up: true,
            error_count: 0,
            pmtu,
            reserved: config.reserved,
            pmdcs,
            heartbeat: heartbeat::Heartbeat::default(),
            prober: None,
            finder: None,
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
            fast_retransmits: 0,
            spurious_timeouts: 0,
            ld_recoveries: 0,
            last_used: now,
            idle_since: None,
        }
    }

    /// Its name.
    pub fn id(&self) -> PathId {
        self.id
    }

    /// Its addresses.
    pub fn addr(&self) -> PathAddr {
        self.addr
    }

    /// Unconfirmed, active, potentially failed, inactive.
    pub fn state(&self) -> PathState {
        self.state
    }

    /// True once the pair was confirmed; data may never go to one that is not (RFC 9260 §5.4).
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// A full packet with data may go here: it is confirmed, or was given as much before.
    #[inline]
    pub(crate) fn may_carry_packet(&self) -> bool {
        self.confirmed || self.early >= u64::from(self.pmtu)
    }

    /// What its local address may be used for.
    pub fn source(&self) -> SourceUse {
        self.source
    }

    /// False while the link of its local address is down.
    pub fn link_is_up(&self) -> bool {
        self.link_up
    }

    /// What leaves here may arrive: its link is up and it has not failed.
    pub(crate) fn may_deliver(&self) -> bool {
        self.link_up && self.state != PathState::Inactive
    }

    /// Consecutive errors (RFC 9260 §8.2).
    pub fn error_count(&self) -> u32 {
        self.error_count
    }

    /// Largest IP packet, header included, in bytes.
    pub fn pmtu(&self) -> u32 {
        self.pmtu
    }

    /// PMDCS: the largest DATA chunk, header and padding included, that fits the PMTU, in bytes (RFC 9260 §1.3).
    /// It is what RFC 8899 §4.4 calls MPS.
    #[inline]
    pub fn pmdcs(&self) -> u32 {
        self.pmdcs
    }

    /// Bytes of IP header on this path.
    pub fn ip_header(&self) -> u32 {
        ip_header(&self.addr.remote)
    }

    /// New data may go here: active, its link up, its local address allowed as a source.
    #[inline]
    pub fn is_usable(&self) -> bool {
        self.state == PathState::Active && self.link_up && self.source == SourceUse::Full
    }

    /// New data may go here when no path is usable: potentially failed, and nothing else against it (RFC 7829 §3.2).
    fn is_second_choice(&self) -> bool {
        self.state == PathState::PotentiallyFailed && self.link_up && self.source == SourceUse::Full
    }

    /// Changes the PMTU (bytes, IP header included) and tells the controller.
    pub fn set_pmtu(&mut self, pmtu: u32) {
        self.pmtu = pmtu;
        self.pmdcs = pmdcs(pmtu, self.reserved, &self.addr.remote);
        self.controller.on_pmtu(u64::from(self.pmdcs));
    }

    /// A chunk that can update the RTT (new DATA, INIT, COOKIE ECHO) was sent: the path is not idle (RFC 9260 §8.3).
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        self.last_used = now;
    }

    /// True once DATA was sent here.
    pub(crate) fn has_carried_data(&self) -> bool {
        self.idle_since.is_some()
    }

    /// The path is in Fast Recovery (RFC 9260 §7.2.4).
    pub fn in_fast_recovery(&self) -> bool {
        self.flow.recovery_exit.is_some()
    }

    /// Its silence detector, started if there is none.
    pub(crate) fn silence_detector(&mut self, now: Time) -> &mut SilenceDetector {
        self.silence.get_or_insert_with(|| Box::new(SilenceDetector::new(now)))
    }

    /// DATA was sent, new or again: the window does not age (RFC 9260 §7.2.1).
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// When anything was last sent that can update the RTT.
    pub fn last_used(&self) -> Time {
        self.last_used
    }

    /// To be called before DATA is sent with nothing outstanding here: lets the window decay by the RTOs that
    /// passed without data (RFC 9260 §7.2.1).
    #[inline]
    pub fn decay_if_idle(&mut self, now: Time) {
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

/// Bytes of IP header before an SCTP packet to `remote`: no options, no extension headers.
pub const fn ip_header(remote: &IpAddr) -> u32 {
    match remote {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    }
}

/// Bytes of a packet to `remote` that are not chunks: IP header and SCTP common header.
pub const fn packet_overhead(remote: &IpAddr) -> u32 {
    ip_header(remote) + COMMON_HEADER
}

/// PMDCS of a path: what the PMTU leaves after IP and common header and what is reserved, in whole words because chunks are
/// padded.
pub(crate) const fn pmdcs(pmtu: u32, reserved: u32, remote: &IpAddr) -> u32 {
    pmtu.saturating_sub(packet_overhead(remote) + reserved) & !3
}
