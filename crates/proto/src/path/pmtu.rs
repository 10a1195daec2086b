//! PMTU probes (RFC 8899 §4.1, §6.2.1.2): padded HEARTBEATs on confirmed, working paths (§6.2.1.1).
//!
//! A lost PMTU probe is neither an error of the path nor congestion (RFC 8899 §3); an answered one proves
//! that the path works. [`Discovery`] interprets the answers.

use msctp_units::{Span, Time};

use crate::rng::RngState;

use super::bandwidth_probing::smallest_probe;
use super::discovery::{Discovery, Sizes};
use super::{HeartbeatInfo, Path, PathAddr, PathEvent, PathId, PathsConfig, ProbeRequest, Purpose};

/// Minimum of `Config::pmtu`: room for a COOKIE ECHO with this end's own cookie, and for a SACK with gap
/// blocks.
pub const MIN_PMTU: u32 = 512;
/// Maximum of `Config::pmtu`, the maximum size of an IP packet.
pub const MAX_PMTU: u32 = 65_535;

/// The PMTU of each path: a limit of discovery, or a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pmtu {
    /// Discovers the PMTU of each path (RFC 8899) with this MAX_PLPMTU: bytes of an IP packet, header
    /// included.
    ///
    /// A path begins with 1200 bytes (BASE_PLPMTU; 1280 on IPv6). A search begins when more than one packet
    /// is queued, and again 600 s after a search that ended below the maximum.
    UpTo(u32),
    /// Sends IP packets of up to this many bytes on every path. On a path with a smaller PMTU, packets are
    /// lost or fragmented by the host.
    Fixed(u32),
}

impl Default for Pmtu {
    /// Discovers up to 1500 bytes.
    fn default() -> Self {
        Self::UpTo(1500)
    }
}

impl Pmtu {
    /// Returns the bytes of the largest IP packet.
    pub fn max(self) -> u32 {
        let (Self::UpTo(bytes) | Self::Fixed(bytes)) = self;
        bytes
    }

    /// Returns the same kind with other bytes.
    #[must_use]
    pub fn with_max(self, bytes: u32) -> Self {
        match self {
            Self::UpTo(_) => Self::UpTo(bytes),
            Self::Fixed(_) => Self::Fixed(bytes),
        }
    }

    /// Returns whether the PMTU is discovered.
    pub fn is_discovered(self) -> bool {
        matches!(self, Self::UpTo(_))
    }
}

/// BASE_PLPMTU (RFC 8899 §5.1.2) in bytes, which nearly every network carries. At least 1280 on an IPv6 path.
const BASE_PLPMTU: u32 = 1200;
/// PMTU_RAISE_TIMER (RFC 8899 §5.1.1): time from a search that ended below the maximum to the next one.
const RAISE_INTERVAL: Span = Span::from_secs(600);

/// Minimum of PROBE_TIMER (RFC 8899 §5.1.1), which is the RTO otherwise, since the RTT is measured.
const MIN_PROBE_TIMER: Span = Span::from_secs(1);
/// Number of PMTU probes whose answer is recognized, since a late answer still proves a size.
const REMEMBERED: usize = 4;

/// The PMTU probes of one path.
#[derive(Debug)]
pub(super) struct PmtuProber {
    discovery: Discovery,
    /// Nonce and size.
    sent: [Option<(u64, u32)>; REMEMBERED],
    next_slot: usize,
}

impl PmtuProber {
    /// Returns `None` if PMTU discovery is off.
    pub(super) fn new(config: &PathsConfig, addr: &PathAddr) -> Option<Box<Self>> {
        if !config.pmtu.is_discovered() {
            return None;
        }
        let sizes = sizes(config, addr);
        let discovery = Discovery::new(sizes, RAISE_INTERVAL);
        Some(Box::new(Self { discovery, sent: [None; REMEMBERED], next_slot: 0 }))
    }

    /// Returns the current limit of packets in bytes.
    pub(super) fn plpmtu(&self) -> u32 {
        self.discovery.plpmtu()
    }
}

/// Returns the bounds of the search on a path.
fn sizes(config: &PathsConfig, addr: &PathAddr) -> Sizes {
    Sizes::new(addr.remote.is_ipv6(), BASE_PLPMTU, config.pmtu.max())
}

/// Returns the initial PMTU of a path.
pub(super) fn initial(config: &PathsConfig, addr: &PathAddr) -> u32 {
    if config.pmtu.is_discovered() { sizes(config, addr).base } else { config.pmtu.max() }
}

impl Path {
    /// Starts PMTU discovery if it is configured. Idle paths need no state for it.
    pub(super) fn start_pmtu_discovery(&mut self, config: &PathsConfig) {
        if self.pmtu_prober.is_none() {
            self.pmtu_prober = PmtuProber::new(config, &self.addr);
        }
    }

    /// Creates the PMTU probe that is due, if any.
    pub(super) fn next_pmtu_probe(&mut self, now: Time, rng: &mut RngState) -> Option<ProbeRequest> {
        let lost_after = self.rtt.rto().max(MIN_PROBE_TIMER);
        let finder = self.pmtu_prober.as_mut()?;
        let size = finder.discovery.poll(now, lost_after)?;
        let nonce = rng.next_u64();
        finder.sent[finder.next_slot] = Some((nonce, size));
        finder.next_slot = (finder.next_slot + 1) % REMEMBERED;
        let info = HeartbeatInfo { path: self.id, purpose: Purpose::PathMtu, sent: now, nonce };
        let padding = size.saturating_sub(smallest_probe(self));
        Some(ProbeRequest { path: self.id, info: info.to_bytes(), padding })
    }

    pub(super) fn next_pmtu_timeout(&self) -> Option<Time> {
        self.pmtu_prober.as_ref()?.discovery.next_timeout()
    }

    /// Handles the expiration of PROBE_TIMER. Returns the change of the PMTU, if any.
    pub(super) fn handle_pmtu_timeout(&mut self, now: Time) -> Option<PathEvent> {
        self.pmtu_prober.as_mut()?.discovery.handle_timeout(now);
        self.apply_pmtu()
    }

    /// Handles the answer to a PMTU probe (RFC 8899 §6.2.1.3).
    ///
    /// Returns `None` if the nonce is not that of a PMTU probe, otherwise the change of the PMTU, if any.
    pub(super) fn on_pmtu_probe_ack(&mut self, nonce: u64, now: Time) -> Option<Option<PathEvent>> {
        let finder = self.pmtu_prober.as_mut()?;
        let slot = finder.sent.iter_mut().find(|slot| slot.is_some_and(|sent| sent.0 == nonce))?;
        let (_, size) = slot.take()?;
        finder.discovery.on_ack(now, size);
        Some(self.apply_pmtu())
    }

    /// Handles a timeout of a packet that may have been too large.
    pub(super) fn suspect_pmtu(&mut self) -> Option<PathEvent> {
        self.pmtu_prober.as_mut()?.discovery.suspect();
        self.apply_pmtu()
    }

    fn apply_pmtu(&mut self) -> Option<PathEvent> {
        let plpmtu = self.pmtu_prober.as_ref()?.plpmtu();
        if plpmtu == self.pmtu {
            return None;
        }
        self.set_pmtu(plpmtu);
        Some(PathEvent::PmtuChanged { path: self.id, pmtu: plpmtu })
    }
}

impl super::Paths {
    /// Starts PMTU discovery when the unsent data exceeds one packet for the first time; returns true if it
    /// started.
    ///
    /// RFC 8899 §6.2.1.1 allows a start as soon as a path is confirmed. Associations that are idle, send
    /// little or only receive do not need it, and there may be many of them.
    #[inline]
    pub(crate) fn is_pmtu_of_use(&mut self, unsent: u64) -> bool {
        if !self.pmtu_discovery_pending || unsent <= self.amdcs().map_or(0, u64::from) {
            return false;
        }
        self.pmtu_discovery_pending = false;
        for path in &mut self.list {
            path.start_pmtu_discovery(&self.config);
        }
        true
    }

    /// Handles a validated Packet Too Big message, which reports that packets of at most `mtu` bytes pass on
    /// this path (RFC 8899 §4.6).
    ///
    /// Returns true if it changed the state.
    pub(crate) fn on_packet_too_big(&mut self, id: PathId, mtu: u32, now: Time) -> bool {
        self.on_limit(id, |discovery| discovery.on_packet_too_big(now, mtu))
    }

    /// Handles the rejection of a packet of `size` bytes, IP header included, by the local interface.
    ///
    /// Returns true if PMTU discovery is on and it changed the state.
    pub(crate) fn on_packet_refused(&mut self, id: PathId, size: u32, now: Time) -> bool {
        self.on_limit(id, |discovery| discovery.on_refused(now, size))
    }

    /// Applies a limit to discovery. Returns true if that changed its state.
    fn on_limit(&mut self, id: PathId, note: impl FnOnce(&mut Discovery) -> bool) -> bool {
        let Some(index) = self.index(id) else { return false };
        let path = &mut self.list[index];
        path.start_pmtu_discovery(&self.config);
        let Some(finder) = &mut path.pmtu_prober else { return false };
        let news = note(&mut finder.discovery);
        let event = path.apply_pmtu();
        self.emit_all(event);
        news
    }

    pub(super) fn emit_all(&mut self, events: impl IntoIterator<Item = PathEvent>) {
        events.into_iter().for_each(|event| self.emit(event));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{P0, confirmed_with, events, heartbeats, local, ms};
    use super::super::{Acknowledged, Paths};
    use super::*;

    fn finding() -> Paths {
        let config = PathsConfig { pmtu: Pmtu::UpTo(1500), ..PathsConfig::default() };
        let mut paths = confirmed_with(config, 1, 1);
        assert_eq!(paths.get(P0).unwrap().pmtu(), 1200, "RFC 8899 §5.2: BASE");
        paths.start_heartbeats(ms(0));
        assert_eq!(heartbeats(&mut paths, ms(0)).len(), 0);
        // 1200 less the headers of IP and SCTP
        assert!(!paths.is_pmtu_of_use(1168));
        assert_eq!((paths.poll_probe(ms(0)), paths.next_probe_timeout()), (None, None), "no use for it yet");
        assert!(paths.is_pmtu_of_use(1169));
        assert!(!paths.is_pmtu_of_use(1169), "no news");
        paths
    }

    fn bytes(request: &ProbeRequest) -> u32 {
        // IP header, common header, HEARTBEAT, its parameter and information, PAD
        20 + 12 + 4 + 4 + 28 + 4 + request.padding
    }

    #[test]
    fn probes_have_the_size_under_test_and_their_answers_count_once() {
        let mut paths = finding();
        let base = paths.poll_probe(ms(0)).unwrap();
        assert_eq!((bytes(&base), paths.poll_probe(ms(0))), (1200, None));
        assert_eq!(paths.on_heartbeat_ack(&base.info, ms(50)), Acknowledged::Probe { path: P0 });
        assert_eq!(paths.on_heartbeat_ack(&base.info, ms(50)), Acknowledged::Unknown);
        let top = paths.poll_probe(ms(50)).unwrap();
        assert_eq!(bytes(&top), 1500);
        paths.on_heartbeat_ack(&top.info, ms(90));
        assert_eq!(paths.get(P0).unwrap().pmtu(), 1500);
        assert_eq!(events(&mut paths), [PathEvent::PmtuChanged { path: P0, pmtu: 1500 }]);
    }

    #[test]
    fn a_lost_probe_is_no_error_of_the_path() {
        // RFC 8899 §3
        let mut paths = finding();
        paths.poll_probe(ms(0)).unwrap();
        let lost = paths.next_timeout().unwrap();
        assert_eq!(lost, ms(1000));
        paths.handle_timeout(lost);
        assert_eq!(paths.get(P0).unwrap().error_count(), 0);
        assert_eq!(bytes(&paths.poll_probe(lost).unwrap()), 1200, "again");
    }

    #[test]
    fn data_timeouts_start_a_probe_of_the_current_pmtu() {
        // RFC 8899 §4.3
        let mut paths = finding();
        for _ in 0..2 {
            let probe = paths.poll_probe(ms(0)).unwrap();
            paths.on_heartbeat_ack(&probe.info, ms(10));
        }
        paths.on_timeout(P0);
        assert_eq!(bytes(&paths.poll_probe(ms(1000)).unwrap()), 1500);
        paths.on_timeout(P0);
        paths.handle_timeout(ms(2000));
        assert_eq!(paths.get(P0).unwrap().pmtu(), 1200, "two timeouts and a lost probe");
    }

    #[test]
    fn nothing_is_probed_over_a_link_that_is_down() {
        let mut paths = finding();
        paths.set_link(&local(0), false, ms(0));
        assert_eq!((paths.poll_probe(ms(0)), paths.next_timeout()), (None, None));
    }
}
