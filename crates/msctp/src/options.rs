//! [`EndpointOptions`], and [`Peer`]: the remote end of a new association.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use msctp_proto::{Config, ENCAPSULATION_PORT, EndpointConfig, Mobility, TraceEvent};
use msctp_udp::{LocalAddress, UDP_HEADER};
use msctp_units::Span;

/// The default SCTP port. With UDP encapsulation the UDP port distinguishes the programs of a host.
pub const DEFAULT_PORT: u16 = ENCAPSULATION_PORT;

/// Options of an [`Endpoint`](crate::Endpoint).
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Local addresses with their UDP ports: one socket each. An unspecified address covers every usable
    /// address of the host, and on Linux also those that appear later, which new associations use; there may
    /// be none at first. `0.0.0.0` covers IPv4, and `[::]` both families: IPv4 is left out if the system has
    /// none. For IPv6 alone, name the addresses. Where the system does not list its addresses, the kernel
    /// chooses one for each association. In clear, a peer is shown only those of the scope that is called:
    /// loopback, private or global. Port 0 chooses a free one, the same for all addresses if possible
    /// (RFC 6951 §5.1).
    pub bind: Vec<SocketAddr>,
    /// Interfaces that are never used, by the prefixes of their names; loopback is one. An example is a
    /// tunnel over this endpoint's associations. Does not apply to addresses that `bind` names. Default:
    /// none.
    pub except: Vec<String>,
    /// Moves associations as the host's interfaces change. `None`: each association keeps its first
    /// addresses.
    pub mobility: Option<Mobility>,
    /// Passes packets to the kernel in batches (segmentation offload). Default: true. A
    /// `Config::max_segments` of 1 is then raised to the size of one call, and `Config::max_burst` to at
    /// least 4 such batches. RFC 9260's 4 packets suit a peer that sends a SACK for every second packet. A
    /// peer that receives in batches acknowledges in batches, and 4 packets would never fill its window.
    pub offload: bool,
    /// Time limit of a shutdown in the background or by [`Endpoint::close`](crate::Endpoint::close), 30 s.
    /// The association is then aborted.
    pub linger: Duration,
    /// Time without a packet from the peer after which an association is lost
    /// ([`LossReason::IdleTimeout`](crate::LossReason)), 60 s; at least 100 ms. Applies where
    /// `Config::idle_timeout` is `None`. HEARTBEATs begin after a third of it and keep an idle association
    /// alive. A longer timeout survives longer outages if both ends have it. `None`: RFC 9260's error
    /// counters decide, which takes minutes.
    pub idle_timeout: Option<Duration>,
    /// Time after which a set-up of this end fails with
    /// [`ConnectError::Timeout`](crate::ConnectError::Timeout), 30 s. The error is `Security` if the peer
    /// answered and only keys of TLS are missing. `None`: as long as `Config::max_init_retransmits` lasts,
    /// 55 s in the mobile profile and four minutes by default.
    pub connect_timeout: Option<Duration>,
    /// Associations at one port that may wait for [`Endpoint::accept`](crate::Endpoint::accept), 4096; at
    /// least 1. Further ones are aborted with the reason that the listener's backlog is full.
    pub backlog: usize,
    /// TLS handshakes that a peer may begin in a second and not complete, 100; at least 1. Applies to each
    /// source: an IPv4 address, or an IPv6 prefix of 64 bits; with several shards, to each shard. Further
    /// handshakes wait until those before them complete or time passes, so that this limits no peers with
    /// keys. Handshakes of several sources take turns, behind the packets that wait at the sockets.
    #[cfg(feature = "tls")]
    pub max_handshakes_per_second: u32,
    /// Number of tasks that serve the associations, 1; at most 1024. Each can use a core if the runtime has
    /// threads, and has its own sockets, receive buffers (0.5 MiB) and locks: see
    /// [`Endpoint`](crate::Endpoint#shards). More than 1 is possible on Linux, and without `mobility`.
    pub shards: u16,
    /// Receives the trace of every association, and sets `Config::trace` of all of them. Default: `None`.
    pub trace: Option<TraceSink>,
    /// Options of the core: cookies and limits.
    pub core: EndpointConfig,
}

impl EndpointOptions {
    /// Returns the default options with these local addresses.
    pub fn new(bind: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            bind: bind.into_iter().collect(),
            except: Vec::new(),
            mobility: None,
            offload: true,
            linger: Duration::from_secs(30),
            idle_timeout: Some(Duration::from_secs(60)),
            connect_timeout: Some(Duration::from_secs(30)),
            backlog: 4096,
            #[cfg(feature = "tls")]
            max_handshakes_per_second: 100,
            shards: 1,
            trace: None,
            core: EndpointConfig::default(),
        }
    }

    /// Makes the endpoint follow the host's interfaces (Linux), or what the program says of them
    /// ([`Endpoint::add_address`](crate::Endpoint::add_address)).
    #[must_use]
    pub fn mobile(mut self, mobility: Mobility) -> Self {
        self.mobility = Some(mobility);
        self
    }

    /// Returns the options with `0.0.0.0` beside `[::]`, which stands for both families.
    pub(crate) fn with_both_families(&self) -> Self {
        let (v4, v6) = (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED));
        let has_v4 = self.bind.iter().any(|address| address.ip() == v4);
        let both = self.bind.iter().flat_map(|&address| {
            let other = (address.ip() == v6 && !has_v4).then(|| SocketAddr::new(v4, address.port()));
            std::iter::once(address).chain(other)
        });
        Self { bind: both.collect(), ..self.clone() }
    }

    /// Returns whether a wildcard stands for this address, by its interface.
    pub(crate) fn follows(&self, local: &LocalAddress) -> bool {
        let followed =
            |mobility: &Mobility| mobility.follows(&local.interface) || local.loopback && mobility.loopback;
        !is_excepted(&local.interface, &self.except) && self.mobility.as_ref().is_none_or(followed)
    }

    /// Passes the trace of every association to a function as it is recorded. The crate `msctp-qlog` writes
    /// it as a qlog file.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// use msctp::{EndpointOptions, TraceSink};
    /// use msctp_qlog::{Vantage, Writer};
    ///
    /// # fn options(file: std::fs::File) -> EndpointOptions {
    /// let log = Mutex::new(Writer::new(file, "my server", Vantage::Server));
    /// let sink = TraceSink::new(move |association, event| {
    ///     log.lock().unwrap().write(&association.to_string(), event);
    /// });
    /// EndpointOptions::new(["0.0.0.0:9899".parse().unwrap()]).traced(sink)
    /// # }
    /// ```
    #[must_use]
    pub fn traced(mut self, sink: TraceSink) -> Self {
        self.trace = Some(sink);
        self
    }
}

/// Callback for the trace events of an endpoint's associations: windows, round trips, chunks, losses, paths,
/// and decisions of the handover policy.
#[derive(Clone)]
pub struct TraceSink(Arc<Report>);

type Report = dyn Fn(u64, &TraceEvent) + Send + Sync;

impl TraceSink {
    /// Creates a sink. The endpoint's task calls `sink` with the association's number and an event, in the
    /// order of time. It may call the endpoint and its associations, of which a handle in it keeps them
    /// alive, and must not block, which would hold up all of them. The numbers are not reused. Times are
    /// those of [`Endpoint::now`](crate::Endpoint::now). With several [`shards`](EndpointOptions::shards)
    /// their tasks may call `sink` at the same time, each for its own associations. A panic of `sink` ends
    /// the endpoint.
    pub fn new(sink: impl Fn(u64, &TraceEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    pub(crate) fn report(&self, association: u64, event: &TraceEvent) {
        (self.0)(association, event);
    }
}

impl fmt::Debug for TraceSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceSink")
    }
}

/// The remote end of a new association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The peer's addresses. All count as confirmed (RFC 9260 §5.4); the first is tried first. They share one
    /// UDP port until packets from another one arrive.
    pub addresses: Vec<IpAddr>,
    /// The peer's UDP port; 9899 by convention (RFC 6951 §5.1).
    pub udp_port: u16,
    /// The peer's SCTP port. Default: [`DEFAULT_PORT`].
    pub port: u16,
    /// The local SCTP port; `None` chooses a random free one, and another if a host behind the same NAT has
    /// it.
    pub local_port: Option<u16>,
    /// The local addresses to begin with, at least one of which the endpoint has a socket for. The first is
    /// the primary's. `None`: all that reach the peer. Add others later with
    /// [`Association::add_local_address`](crate::Association::add_local_address).
    pub from: Option<Vec<IpAddr>>,
}

impl Peer {
    /// Returns the peer at this address and UDP port.
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

/// Maximum number of batches that may leave at once: RFC 9260 §16's Max.Burst, with a batch in place of a
/// packet.
const BURST: u32 = 4;

/// Adapts a configuration to UDP: subtracts the UDP header from the MTU (RFC 6951 §5.6) and sizes batches to
/// one call. `idle_timeout` is the endpoint's.
pub(crate) fn over_udp(mut config: Config, offload: bool, idle_timeout: Option<Span>) -> Config {
    config.idle_timeout = config.idle_timeout.or(idle_timeout);
    // Keeps a value that is too small: the core rejects it and names the given value.
    let mtu = config.pmtu.max();
    if mtu >= msctp_proto::MIN_PMTU {
        config.pmtu = config.pmtu.with_max(mtu.saturating_sub(UDP_HEADER).max(msctp_proto::MIN_PMTU));
    }
    if offload {
        if config.max_segments == 1 {
            config.max_segments = (65_000 / config.pmtu.max().max(1)).clamp(1, 64);
        }
        if config.max_burst != 0 {
            config.max_burst = config.max_burst.max(BURST * config.max_segments);
        }
    }
    config
}

/// Returns whether an interface's name begins with one of these prefixes.
pub(crate) fn is_excepted(interface: &str, except: &[String]) -> bool {
    except.iter().any(|begin| interface.starts_with(begin.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use msctp_proto::Pmtu;

    #[test]
    fn a_configuration_is_made_to_fit_udp_and_the_kernel() {
        let used = over_udp(Config::default(), true, None);
        // RFC 6951 §5.6; 65000 / 1492
        assert_eq!((used.pmtu.max(), used.max_segments, used.max_burst), (1492, 43, 172));
        let plain = over_udp(Config::default(), false, None);
        assert_eq!(
            (plain.pmtu.max(), plain.max_segments, plain.max_burst),
            (1492, 1, Config::default().max_burst)
        );
        let pmtu = |pmtu| {
            let config = Config { pmtu: Pmtu::Fixed(pmtu), ..Config::default() };
            let Pmtu::Fixed(pmtu) = over_udp(config, true, None).pmtu else { panic!("still fixed") };
            pmtu
        };
        assert_eq!([pmtu(0), pmtu(511), pmtu(512), pmtu(520)], [0, 511, 512, 512]);
        let own = Config { pmtu: Pmtu::UpTo(9000), max_segments: 2, max_burst: 0, ..Config::default() };
        let used = over_udp(own, true, Some(Span::from_secs(9)));
        assert_eq!((used.pmtu.max(), used.max_segments, used.max_burst), (8992, 2, 0));
        assert_eq!(used.validate(), Ok(()));
        assert_eq!(used.idle_timeout, Some(Span::from_secs(9)));
        assert_eq!(
            over_udp(used, true, None).idle_timeout,
            Some(Span::from_secs(9)),
            "the association's own"
        );
    }
}
