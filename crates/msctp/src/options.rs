//! Options of an endpoint, and whom to connect to.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use msctp_proto::{Config, EndpointConfig};
use msctp_udp::{ENCAPSULATION_PORT, UDP_HEADER};
use msctp_units::Span;

use crate::mobile::Mobility;

/// The SCTP port that is used when none is named. Over UDP it is the UDP port that tells programs of one host
/// apart.
pub const DEFAULT_PORT: u16 = ENCAPSULATION_PORT;

/// Options of an [`Endpoint`](crate::Endpoint).
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Local addresses with their UDP ports: one socket each. An unspecified address stands for every address
    /// of its family that the host has and that is up, and on Linux for those that come later: new
    /// associations use them. Port 0 takes a free one, the same for all addresses if possible (RFC
    /// 6951 §5.1).
    pub bind: Vec<SocketAddr>,
    /// Move associations as the host's interfaces come and go; `None`: each keeps the addresses it began
    /// with.
    pub mobility: Option<Mobility>,
    /// Hand packets to the kernel in batches (segmentation offload). True: `Config::max_segments` is what one
    /// call takes, where it is 1, and `Config::max_burst` is no less than 4 such batches. RFC 9260's 4
    /// packets are for an end that receives a SACK for every second packet; one that receives in batches
    /// acknowledges in batches, and would never fill its window.
    pub offload: bool,
    /// How long a shutdown in the background, or by [`Endpoint::close`](crate::Endpoint::close), may take
    /// before the association is aborted, 30 s.
    pub linger: Duration,
    /// How long a peer may be silent, 60 s: then its association is lost
    /// ([`LossReason::IdleTimeout`](crate::LossReason)), for a reader as for a sender. HEARTBEATs begin after
    /// a third of it and keep an idle association alive. Longer outlives longer outages, but both ends have
    /// to allow it. For associations whose `Config::idle_timeout` is `None`; at least 100 ms. `None`: RFC
    /// 9260's error counters decide, which takes minutes.
    pub idle_timeout: Option<Duration>,
    /// Associations at one port that are up and wait for [`Endpoint::accept`](crate::Endpoint::accept), 4096.
    /// Beyond it new ones are aborted; the peer is told that the listener's backlog is full. At least 1.
    pub backlog: usize,
    /// What the core wants to know.
    pub core: EndpointConfig,
}

impl EndpointOptions {
    /// These addresses, everything else as usual.
    pub fn new(bind: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            bind: bind.into_iter().collect(),
            mobility: None,
            offload: true,
            linger: Duration::from_secs(30),
            idle_timeout: Some(Duration::from_secs(60)),
            backlog: 4096,
            core: EndpointConfig::default(),
        }
    }

    /// As [`new`](Self::new), following the host's interfaces.
    #[must_use]
    pub fn mobile(mut self, mobility: Mobility) -> Self {
        self.mobility = Some(mobility);
        self
    }
}

/// Whom to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its addresses; all are taken for its own (RFC 9260 §5.4), the first is tried first. They have one UDP
    /// port until packets from it say otherwise.
    pub addresses: Vec<IpAddr>,
    /// Its UDP port, 9899 (RFC 6951 §5.1).
    pub udp_port: u16,
    /// Its SCTP port, [`DEFAULT_PORT`].
    pub port: u16,
    /// Our SCTP port; `None`: a random one.
    pub local_port: Option<u16>,
    /// Our addresses to begin with, of those that the endpoint has sockets for, the first as primary; `None`:
    /// all that reach the peer. The others can be added later
    /// ([`Association::add_local_address`](crate::Association::add_local_address)).
    pub from: Option<Vec<IpAddr>>,
}

impl Peer {
    /// The peer at this address and UDP port.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            addresses: vec![address.ip()],
            udp_port: address.port(),
            port: DEFAULT_PORT,
            local_port: None,
            from: None,
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::new(address)
    }
}

/// Batches that leave at once: RFC 9260 §16's Max.Burst, a batch being what a packet is there.
const BURST: u32 = 4;

/// A configuration as it is used over UDP: RFC 6951 §5.6 takes the UDP header from the MTU, and packets go to
/// the kernel in batches as large as one call takes. `idle_timeout` is the endpoint's.
pub(crate) fn over_udp(mut config: Config, offload: bool, idle_timeout: Option<Span>) -> Config {
    config.idle_timeout = config.idle_timeout.or(idle_timeout);
    // A value that is too small stays as it is: the core rejects it with the value that was given.
    if config.pmtu >= msctp_proto::MIN_PMTU {
        config.pmtu = config.pmtu.saturating_sub(UDP_HEADER).max(msctp_proto::MIN_PMTU);
    }
    if offload {
        if config.max_segments == 1 {
            config.max_segments = (65_000 / config.pmtu.max(1)).clamp(1, 64);
        }
        if config.max_burst != 0 {
            config.max_burst = config.max_burst.max(BURST * config.max_segments);
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_made_to_fit_udp_and_the_kernel() {
        let used = over_udp(Config::default(), true, None);
        // RFC 6951 §5.6; 65000 / 1492
        assert_eq!((used.pmtu, used.max_segments, used.max_burst), (1492, 43, 172));
        let plain = over_udp(Config::default(), false, None);
        assert_eq!((plain.pmtu, plain.max_segments, plain.max_burst), (1492, 1, Config::default().max_burst));
        let pmtu = |pmtu| over_udp(Config { pmtu, ..Config::default() }, true, None).pmtu;
        assert_eq!([pmtu(0), pmtu(511), pmtu(512), pmtu(520)], [0, 511, 512, 512]);
        let own = Config { pmtu: 9000, max_segments: 2, max_burst: 0, ..Config::default() };
        let used = over_udp(own, true, Some(Span::from_secs(9)));
        assert_eq!((used.pmtu, used.max_segments, used.max_burst), (8992, 2, 0));
        assert_eq!(used.validate(), Ok(()));
        assert_eq!(used.idle_timeout, Some(Span::from_secs(9)));
        assert_eq!(
            over_udp(used, true, None).idle_timeout,
            Some(Span::from_secs(9)),
            "the association's own"
        );
    }
}
