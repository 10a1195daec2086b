//! Finds over which of this host's interfaces a server answers, for `msctp doctor`. Sets up no association.

mod probe;
mod words;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use msctp_udp::route_from;
use nix::net::if_::if_nametoindex;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::probe::{Outcome, Probe};
use super::devices;
use super::options::NetArgs;

/// Time that TCP has after the server has answered over UDP.
const TCP_AFTER_UDP: Duration = Duration::from_secs(1);

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Family {
    IPv4,
    IPv6,
}

impl Family {
    const fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::IPv4,
            IpAddr::V6(_) => Self::IPv6,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        }
    }
}

/// The result of a check over one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Found {
    /// The server answers.
    Answers,
    /// Nobody listens at the port.
    Closed,
    /// An ICMP message, or the neighbour table, says that packets do not arrive.
    Unreachable,
    /// This host's firewall forbids it.
    Forbidden,
    /// Neither an answer nor an error.
    Silent,
    /// This host has no route.
    NoRoute,
    /// The interface has no address of the family.
    NoAddress,
    /// Another error of this host.
    Failed,
}

/// A server's address, as this host reaches it over an interface.
#[derive(Debug, Serialize)]
pub(crate) struct Reach {
    pub(crate) interface: String,
    pub(crate) family: Family,
    address: IpAddr,
    udp: Found,
    /// `None` if it was not tried, or UDP had answered before.
    tcp: Option<Found>,
    /// Time from the INIT to its answer.
    round_trip_ms: Option<f64>,
    /// Why there is no answer over UDP, and what to do.
    why: Option<String>,
    /// The result in a sentence, without `why`.
    #[serde(skip)]
    finding: String,
}

impl Reach {
    /// Returns whether the server answers over UDP.
    pub(crate) fn answers(&self) -> bool {
        self.udp == Found::Answers
    }

    /// Returns whether this host does not even try.
    pub(crate) fn is_untried(&self) -> bool {
        matches!(self.udp, Found::NoRoute | Found::NoAddress)
    }

    /// Returns the result in a sentence.
    pub(crate) fn sentence(&self) -> String {
        match &self.why {
            Some(why) => format!("{}: {why}", self.finding),
            None => self.finding.clone(),
        }
    }
}

/// An interface from which to reach an address.
#[derive(Clone, Debug)]
struct Source {
    interface: String,
    /// The interface's addresses.
    ips: Vec<IpAddr>,
    /// Whether sockets are bound to the interface.
    is_followed: bool,
}

impl Source {
    /// Returns its first address of a family that the kernel lets a socket have: not a tentative one.
    fn ip(&self, family: Family) -> Option<IpAddr> {
        let mut of_family = self.ips.iter().copied().filter(|ip| Family::of(*ip) == family);
        of_family.find(|ip| msctp_udp::check_local(*ip).is_ok())
    }
}

/// Returns the interfaces from which the options let a client reach an address.
fn sources(net: &NetArgs, to: IpAddr) -> Vec<Source> {
    let all = devices::addresses();
    let interface_of = |ip: IpAddr| all.iter().find(|(_, own)| *own == ip).map(|(name, _)| name.clone());
    let bound: Vec<IpAddr> = net.bound().collect();
    if !bound.is_empty() && bound.iter().all(|ip| !ip.is_unspecified()) {
        let named = |ip: IpAddr| Source {
            interface: interface_of(ip).unwrap_or_else(|| ip.to_string()),
            ips: vec![ip],
            is_followed: false,
        };
        return bound.into_iter().filter(|ip| Family::of(*ip) == Family::of(to)).map(named).collect();
    }
    if to.is_loopback() || interface_of(to).is_some() {
        // Packets to this host itself use its loopback interface.
        let loopback = all.iter().find(|(_, own)| own.is_loopback());
        let interface = loopback.map_or("loopback", |(name, _)| name).to_owned();
        return vec![Source { interface, ips: vec![to], is_followed: false }];
    }
    let usable = net.devices().with_addresses().into_iter();
    let is_followed = net.follows() && cfg!(target_os = "linux");
    usable.map(|(interface, ips)| Source { interface, ips, is_followed }).collect()
}

/// When to stop probing, and the server's SCTP port.
#[derive(Clone, Copy)]
struct Plan {
    sctp_port: u16,
    limit: Duration,
    deadline: Instant,
    /// Whether answers may arrive over several interfaces, so that a reverse-path filter matters.
    has_several: bool,
}

/// The outcomes of the probes from an interface to an address.
struct Probed {
    udp: Outcome,
    /// `None` if UDP had answered before.
    tcp: Option<Outcome>,
    /// The filter that may explain why no answer arrived.
    strict: Option<StrictFilter>,
}

/// Probes each of the server's addresses from each usable interface, all at once and for at most `limit`.
pub(crate) async fn probe(net: &NetArgs, servers: &[SocketAddr], limit: Duration) -> Vec<Reach> {
    let mut running = JoinSet::new();
    let (sctp_port, deadline) = (net.sctp_port(), Instant::now() + limit);
    for &server in servers {
        let sources = sources(net, server.ip());
        let plan = Plan { sctp_port, limit, deadline, has_several: sources.len() > 1 };
        for source in sources {
            let place = running.len();
            running.spawn(async move { (place, source.probe(server, plan).await, server, source) });
        }
    }
    let mut found = running.join_all().await;
    found.sort_by_key(|(place, ..)| *place);
    let answers = |(_, probed, server, _): &(usize, Result<Probed, Found>, SocketAddr, Source)| {
        probed.as_ref().is_ok_and(|probed| probed.udp.is_answer()).then_some(server.ip())
    };
    let answering: Vec<IpAddr> = found.iter().filter_map(answers).collect();
    let describe = |(_, probed, server, source): (usize, Result<Probed, Found>, SocketAddr, Source)| {
        source.describe(&probed, server, limit, answering.contains(&server.ip()))
    };
    found.into_iter().map(describe).collect()
}

impl Source {
    /// Probes one address. Fails without a route to it, or without an address of its family.
    async fn probe(&self, server: SocketAddr, plan: Plan) -> Result<Probed, Found> {
        let Plan { sctp_port, limit, deadline, has_several } = plan;
        let ip = self.ip(Family::of(server.ip())).ok_or(Found::NoAddress)?;
        let index = if_nametoindex(self.interface.as_str()).ok();
        let over = index.filter(|_| self.is_followed);
        if let Ok(None) = route_from(ip, server.ip(), over) {
            return Err(Found::NoRoute);
        }
        let device = self.is_followed.then(|| self.interface.clone());
        let probe = Probe { ip, device, server, deadline };
        let (udp_has_answered, answered) = oneshot::channel();
        let udp = async {
            let outcome = probe.udp(sctp_port, limit).await;
            if outcome.is_answer() {
                let _ = udp_has_answered.send(());
            }
            outcome
        };
        let tcp = async {
            let too_late = async {
                match answered.await {
                    Ok(()) => tokio::time::sleep(TCP_AFTER_UDP).await,
                    Err(_) => std::future::pending().await,
                }
            };
            tokio::select! {
                outcome = timeout_at(deadline, probe.tcp()) => Some(outcome.unwrap_or(Outcome::Silent)),
                () = too_late => None,
            }
        };
        let (udp, tcp) = tokio::join!(udp, tcp);
        let strict = index.filter(|_| has_several && !udp.is_answer());
        let strict = strict.and_then(|index| strict_filter(ip, server.ip(), index));
        Ok(Probed { udp, tcp, strict })
    }

    /// Describes the result of [`probe`](Self::probe). `answers_elsewhere`: the address answers over UDP from
    /// another interface.
    fn describe(
        self,
        probed: &Result<Probed, Found>,
        server: SocketAddr,
        limit: Duration,
        answers_elsewhere: bool,
    ) -> Reach {
        let family = Family::of(server.ip());
        let described = words::Described { server, limit, interface: &self.interface, answers_elsewhere };
        let (udp, tcp, round_trip, words::Words { finding, why }) = match probed {
            Ok(Probed { udp, tcp, strict }) => {
                let words = described.words(udp, tcp.as_ref(), strict.as_ref());
                (udp.found(), tcp.as_ref().map(Outcome::found), udp.round_trip(), words)
            }
            Err(found) => (*found, None, None, described.untried(*found, family)),
        };
        let round_trip_ms = round_trip.map(|time| time.as_secs_f64() * 1e3);
        let interface = self.interface;
        Reach { interface, family, address: server.ip(), udp, tcp, round_trip_ms, why, finding }
    }
}

/// A strict reverse-path filter that drops answers.
struct StrictFilter {
    /// The interface to which the routing table sends packets to the server.
    elsewhere: String,
}

/// Returns the strict reverse-path filter that drops packets from `server` to `ip` that
/// arrive over the interface with this index.
fn strict_filter(ip: IpAddr, server: IpAddr, index: u32) -> Option<StrictFilter> {
    let name_of = |index| nix::net::if_::if_indextoname(index).ok()?.into_string().ok();
    let interface = name_of(index)?;
    if !server.is_ipv4() || rp_filter("all").max(rp_filter(&interface)) != 1 {
        return None;
    }
    let route = route_from(ip, server, None).ok()??;
    let elsewhere = name_of(route)?;
    (route != index).then_some(StrictFilter { elsewhere })
}

/// Returns the value of `net.ipv4.conf.NAME.rp_filter`. The kernel uses the greater one of `all` and of the
/// interface.
fn rp_filter(name: &str) -> u8 {
    let value = std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"));
    value.ok().and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}
