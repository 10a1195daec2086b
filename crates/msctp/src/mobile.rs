//! [`Follower`]: which of the host's addresses to use, which is better, and how long a flapping link waits.
//! Decides with time as an argument; may not touch sockets. `follow` applies the decisions to associations.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use msctp_proto::Scope;
use msctp_udp::{Change, LocalAddress};
use msctp_units::{Span, Time};

/// Options of an endpoint that follows the host's interfaces.
///
/// Only Linux reports interfaces, if no sandbox refuses netlink sockets. Elsewhere the program tells the
/// endpoint ([`Endpoint::add_address`](crate::Endpoint::add_address)).
///
/// A new address is added to every association at once (RFC 5061), verified, and measured as far as the
/// handover policy requires, while the old path carries data. Data moves to it if its interface is preferred
/// to the old one's, or if the old one is down. A removed address is deleted once another one works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mobility {
    /// Prefixes of interface names, the best first; other interfaces come last and rank equally. By default
    /// wired (`en`, `eth`), then WLAN (`wl`).
    pub prefer: Vec<String>,
    /// Uses only interfaces whose names begin with one of these prefixes, and loopback only if it is among
    /// them; empty, the default: all.
    pub only: Vec<String>,
    /// Time to measure a working new path before data moves to it, if the old one still works. `None`, the
    /// default: 300 ms with a handover policy that measures (`adaptive`), else none. If the peer sends the
    /// data, its policy decides. Set the time here in that case.
    pub probe: Option<Duration>,
    /// Time that an address waits after its link came up again, while another address works, 1 s. It doubles
    /// each time the link goes down within `calm`, up to 32 times, so that the data does not follow a
    /// flapping link.
    pub hold: Duration,
    /// Uptime after which an address's record of failures is cleared, 30 s.
    pub calm: Duration,
    /// Downtime of a link after which its address is deleted from associations with another working one, 0 s.
    /// Data in flight there, in both directions, is then retransmitted at once. A longer time avoids the
    /// exchange for short outages.
    pub delete_after: Duration,
    /// Follows loopback addresses too, whatever `only` says. False: a wildcard has those that exist at first,
    /// if `only` is empty.
    pub loopback: bool,
    /// Whether a NAT is between this host and the peer. Default: [`Translation::Auto`].
    pub translation: Translation,
}

/// Handling of NATs that translate this host's addresses, so that the peer sees other ones.
///
/// An address is then announced as the source address of the announcing packet (the wildcard of RFC 5061
/// §4.2.1, §4.2.2, §4.2.4). This is correct without a NAT as well. But no key protects a source address (§6),
/// and such requests wait until the address itself carries packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Translation {
    /// Use wildcards for private addresses (RFC 1918, RFC 4193, RFC 6598), if the peer's addresses are not
    /// private.
    #[default]
    Auto,
    /// Use wildcards for all addresses: a NAT between private networks cannot be detected by its addresses.
    Always,
    /// Never use wildcards.
    Never,
}

impl Translation {
    /// Returns whether a peer at `remotes` sees another address than `local`.
    pub(crate) fn of(self, local: IpAddr, remotes: impl IntoIterator<Item = IpAddr>) -> bool {
        match self {
            Self::Auto => is_private(local) && !remotes.into_iter().any(is_private),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Returns whether many networks use the address, so that it has no meaning outside its own.
fn is_private(ip: IpAddr) -> bool {
    Scope::of(&ip) != Scope::Global
}

impl Default for Mobility {
    fn default() -> Self {
        Self {
            prefer: ["en", "eth", "wl"].map(str::to_owned).to_vec(),
            only: Vec::new(),
            probe: None,
            hold: Duration::from_secs(1),
            calm: Duration::from_secs(30),
            delete_after: Duration::ZERO,
            loopback: false,
            translation: Translation::Auto,
        }
    }
}

impl Mobility {
    /// Returns whether the interface of this name is used at all.
    pub(crate) fn follows(&self, interface: &str) -> bool {
        self.only.is_empty() || begins_with_one_of(interface, &self.only)
    }

    /// Returns the rank of the interface of this name; 0 is the best.
    pub(crate) fn rank_of(&self, interface: &str) -> usize {
        self.prefer
            .iter()
            .position(|begin| interface.starts_with(begin.as_str()))
            .unwrap_or(self.prefer.len())
    }
}

/// Returns whether an interface's name begins with one of these prefixes.
pub(crate) fn begins_with_one_of(interface: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|begin| interface.starts_with(begin.as_str()))
}

/// Time until the bandwidth estimator's first estimate, approximately.
const MEASURE: Duration = Duration::from_millis(300);

/// The longest hold, as a multiple of the first.
const MAX_HOLD: u64 = 32;

/// Number of removed addresses kept; the least recently used is dropped first.
const MAX_GONE: usize = 32;

/// A change to make for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Use the address: bind a socket unless there is one, and add it to the associations.
    Use(LocalAddress),
    /// The link of the address is down.
    Down(IpAddr),
    /// The address is down for good: delete it from associations that have another.
    Delete(IpAddr),
    /// The address was removed: delete it like `Delete`, and close its socket.
    Gone(IpAddr),
}

#[derive(Debug)]
struct Known {
    address: LocalAddress,
    /// True if the link of the address is up.
    link_up: bool,
    /// [`Step::Use`] was the last step.
    used: bool,
    /// Time until which the address waits because its link flaps.
    held_until: Option<Time>,
    /// Duration of the next hold.
    hold: Span,
    /// Time at which the use of the address began.
    since: Time,
    /// Time at which to delete the address.
    delete_at: Option<Time>,
    /// True if the address was removed; its record of failures is kept.
    gone: bool,
}

/// The addresses of the host and their use by an endpoint.
#[derive(Debug)]
pub(crate) struct Follower {
    options: Mobility,
    known: BTreeMap<IpAddr, Known>,
    /// Unspecified addresses with a socket: the kernel chooses addresses of their families that nothing
    /// reports.
    unlisted: Vec<IpAddr>,
}

impl Follower {
    /// Creates a follower. `locals` are the sockets at first.
    pub(crate) fn new(options: Mobility, locals: &[SocketAddr]) -> Self {
        let unlisted = locals.iter().map(SocketAddr::ip).filter(IpAddr::is_unspecified).collect();
        Self { options, known: BTreeMap::new(), unlisted }
    }

    /// Uses an address that the application names, whatever the options say of its interface.
    pub(crate) fn add(&mut self, now: Time, address: LocalAddress) -> Vec<Step> {
        self.up(now, address)
    }

    /// Ends the use of an address that the application names.
    pub(crate) fn remove(&mut self, now: Time, ip: IpAddr) -> Vec<Step> {
        self.known.entry(ip).or_insert_with(|| {
            let mut known = Known::new(LocalAddress::new(ip, String::new(), 0), now);
            known.start(now);
            known
        });
        self.down(now, ip, true)
    }

    /// Returns what was reported of an address.
    pub(crate) fn reported(&self, ip: IpAddr) -> Option<&LocalAddress> {
        self.known.get(&ip).map(|known| &known.address)
    }

    /// Returns whether an address was reported and cannot be used now.
    pub(crate) fn is_down(&self, ip: IpAddr) -> bool {
        self.known.get(&ip).is_some_and(|known| !known.used)
    }

    fn wanted(&self, address: &LocalAddress) -> bool {
        // A link-local address names another host on the next link.
        self.options.follows(&address.interface)
            && !address.link_local
            && (self.options.loopback || !address.loopback)
    }

    pub(crate) fn change(&mut self, now: Time, change: Change) -> Vec<Step> {
        match change {
            Change::Up(address) if self.wanted(&address) => self.up(now, address),
            Change::Up(_) => Vec::new(),
            Change::Down(ip) => self.down(now, ip, false),
            Change::Gone(ip) => self.down(now, ip, true),
        }
    }

    fn others_work(&self, ip: IpAddr) -> bool {
        self.known.iter().any(|(&other, known)| other != ip && known.used)
    }

    fn up(&mut self, now: Time, address: LocalAddress) -> Vec<Step> {
        let (ip, others_work, hold) =
            (address.ip, self.others_work(address.ip), Span::from(self.options.hold));
        let known = self.known.entry(ip).or_insert_with(|| Known::new(address.clone(), now));
        known.address = address;
        known.link_up = true;
        known.gone = false;
        if known.used {
            return Vec::new();
        }
        if known.hold.is_zero() || !others_work {
            // A new address has no record, and waiting gains nothing if no other address works.
            known.hold = known.hold.max(hold);
            return vec![known.start(now)];
        }
        known.held_until = Some(now + known.hold);
        known.hold = (known.hold * 2).min(hold * MAX_HOLD);
        Vec::new()
    }

    fn down(&mut self, now: Time, ip: IpAddr, gone: bool) -> Vec<Step> {
        let (calm, hold) = (Span::from(self.options.calm), Span::from(self.options.hold));
        let delete_after = Span::from(self.options.delete_after);
        let Some(known) = self.known.get_mut(&ip) else { return Vec::new() };
        let mut steps = Vec::new();
        known.link_up = false;
        known.held_until = None;
        if std::mem::replace(&mut known.used, false) {
            if now.since(known.since) >= calm {
                known.hold = hold;
            }
            known.delete_at = Some(now + delete_after);
            steps.push(Step::Down(ip));
        }
        if gone && !std::mem::replace(&mut known.gone, true) {
            known.delete_at = None;
            steps.push(Step::Gone(ip));
        }
        if !self.known.values().any(|known| known.used) {
            // No other address is left: held ones are used at once.
            let held = self.known.values_mut().filter(|known| known.held_until.is_some());
            steps.extend(held.map(|known| known.start(now)));
        }
        self.forget();
        steps
    }

    /// Forgets old records.
    fn forget(&mut self) {
        while self.known.values().filter(|known| known.gone).count() > MAX_GONE {
            let gone = self.known.iter().filter(|(_, known)| known.gone);
            let Some(oldest) = gone.min_by_key(|(_, known)| known.since).map(|(&ip, _)| ip) else { break };
            self.known.remove(&oldest);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.known.values().flat_map(|known| [known.held_until, known.delete_at]).flatten().min()
    }

    pub(crate) fn timeout(&mut self, now: Time) -> Vec<Step> {
        let mut steps = Vec::new();
        for (&ip, known) in &mut self.known {
            if known.held_until.is_some_and(|until| until <= now) {
                steps.push(known.start(now));
            }
            if known.delete_at.take_if(|at| *at <= now).is_some() {
                steps.push(Step::Delete(ip));
            }
        }
        steps
    }

    /// Returns the rank of an address, 0 for the best; `None` if it cannot be used now.
    pub(crate) fn rank(&self, ip: IpAddr) -> Option<usize> {
        let Some(known) = self.known.get(&ip) else {
            let unlisted = self.unlisted.iter().any(|any| any.is_ipv4() == ip.is_ipv4());
            return unlisted.then_some(self.options.prefer.len());
        };
        known.used.then(|| self.options.rank_of(&known.address.interface))
    }

    /// Returns whether an address has been down or removed for longer than the associations wait for it.
    pub(crate) fn is_doomed(&self, ip: IpAddr) -> bool {
        let due = |known: &Known| known.delete_at.is_none() || self.options.delete_after.is_zero();
        self.known.get(&ip).is_some_and(|known| !known.used && !known.link_up && due(known))
    }

    /// Returns the addresses in use.
    pub(crate) fn used(&self) -> impl Iterator<Item = IpAddr> {
        self.known.iter().filter(|(_, known)| known.used).map(|(&ip, _)| ip)
    }

    pub(crate) fn translation(&self) -> Translation {
        self.options.translation
    }

    /// Returns the time for which to measure a new path. `measures` says whether the policy measures.
    pub(crate) fn probe(&self, measures: bool) -> Span {
        Span::from(self.options.probe.unwrap_or(if measures { MEASURE } else { Duration::ZERO }))
    }
}

impl Known {
    fn new(address: LocalAddress, now: Time) -> Self {
        Self {
            address,
            link_up: false,
            used: false,
            held_until: None,
            hold: Span::ZERO,
            since: now,
            delete_at: None,
            gone: false,
        }
    }

    fn start(&mut self, now: Time) -> Step {
        self.used = true;
        self.since = now;
        self.held_until = None;
        self.delete_at = None;
        Step::Use(self.address.clone())
    }
}

/// Address requests that an association has made, so that none is repeated.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// The address to which the peer was requested to send.
    pub(crate) peer_primary: Option<IpAddr>,
    /// The move in the request that adds the address: from the primary's address at that time to this one.
    /// This end's data follows when the path works.
    pub(crate) moving: Option<(Option<IpAddr>, IpAddr)>,
    /// Addresses in requests that were not answered yet, or were refused.
    pub(crate) added: Vec<IpAddr>,
    pub(crate) deleted: Vec<IpAddr>,
    /// The address in a request to delete all others.
    pub(crate) kept: Option<IpAddr>,
    /// True if no address is added: the peer does not support RFC 5061, or `Peer::from` chose them.
    pub(crate) fixed: bool,
    /// Time at which each preferred path was confirmed.
    pub(crate) confirmed: BTreeMap<IpAddr, Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn address(n: u8, interface: &str) -> LocalAddress {
        LocalAddress {
            ip: ip(n),
            interface: interface.to_owned(),
            index: n.into(),
            loopback: false,
            link_local: false,
        }
    }

    fn secs(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn up(follower: &mut Follower, at: u64, n: u8, interface: &str) -> Vec<Step> {
        follower.change(secs(at), Change::Up(address(n, interface)))
    }

    #[test]
    fn a_new_address_is_used_at_once_and_ranked_by_its_interface() {
        let mut follower = Follower::new(Mobility::default(), &[]);
        assert_eq!(up(&mut follower, 0, 1, "wwan0"), [Step::Use(address(1, "wwan0"))]);
        assert_eq!(up(&mut follower, 1, 2, "wlan0"), [Step::Use(address(2, "wlan0"))]);
        assert_eq!(up(&mut follower, 1, 2, "wlan0"), [], "told already");
        assert!(follower.rank(ip(2)) < follower.rank(ip(1)) && follower.rank(ip(3)).is_none());
        assert_eq!(follower.next_timeout(), None);
        let local = LocalAddress { link_local: true, ..address(4, "wlan0") };
        assert_eq!(follower.change(secs(1), Change::Up(local)), []);
    }

    #[test]
    fn a_link_that_flaps_waits_longer_each_time_while_another_works() {
        let mut follower = Follower::new(Mobility::default(), &[]);
        up(&mut follower, 0, 1, "wwan0");
        up(&mut follower, 0, 2, "wlan0");
        let mut now = 10;
        for hold in [1, 2, 4, 8, 16, 32, 32] {
            assert_eq!(follower.change(secs(now), Change::Down(ip(2))), [Step::Down(ip(2))]);
            assert_eq!(up(&mut follower, now, 2, "wlan0"), []);
            assert_eq!(follower.rank(ip(2)), None);
            // Down and up again meanwhile: nothing was announced, so nothing is to be announced.
            let due = follower.known[&ip(2)].held_until.unwrap();
            assert_eq!(due, secs(now + hold));
            now += hold;
            assert_eq!(follower.timeout(secs(now)), [Step::Use(address(2, "wlan0"))]);
        }
        now += 30;
        follower.change(secs(now), Change::Down(ip(2)));
        up(&mut follower, now, 2, "wlan0");
        assert_eq!(follower.known[&ip(2)].held_until, Some(secs(now + 1)), "it was calm for long");
    }

    #[test]
    fn a_private_address_means_nothing_to_a_public_peer() {
        let of = |local: &str, remote: &str| {
            Translation::Auto.of(local.parse().unwrap(), [remote.parse::<IpAddr>().unwrap()])
        };
        for local in ["10.0.0.2", "172.16.9.1", "192.168.1.7", "100.64.0.1", "100.127.255.255"] {
            assert!(of(local, "198.51.100.1"), "{local}");
            assert!(!of(local, "10.9.0.1"), "{local}: in one network, for all we know");
        }
        for local in ["203.0.113.9", "100.63.255.255", "100.128.0.0", "172.32.0.1"] {
            assert!(!of(local, "198.51.100.1"), "{local}");
        }
        assert!(of("fd00::2", "2001:db8::1") && !of("2001:db8::2", "2001:db8::1"));
        let public = "203.0.113.9".parse().unwrap();
        assert!(Translation::Always.of(public, []) && !Translation::Never.of(ip(1), []));
    }

    #[test]
    fn nothing_waits_when_nothing_else_works() {
        let mut follower = Follower::new(Mobility::default(), &[]);
        up(&mut follower, 0, 1, "wwan0");
        up(&mut follower, 0, 2, "wlan0");
        follower.change(secs(1), Change::Down(ip(2)));
        assert_eq!(up(&mut follower, 1, 2, "wlan0"), [], "held");
        let steps = follower.change(secs(1), Change::Gone(ip(1)));
        assert_eq!(steps, [Step::Down(ip(1)), Step::Gone(ip(1)), Step::Use(address(2, "wlan0"))]);
        follower.change(secs(2), Change::Down(ip(2)));
        assert_eq!(up(&mut follower, 2, 2, "wlan0"), [Step::Use(address(2, "wlan0"))], "the only one");
    }

    #[test]
    fn an_address_that_stays_down_is_deleted_one_that_comes_back_is_not() {
        let mut follower =
            Follower::new(Mobility { delete_after: Duration::from_secs(3), ..Mobility::default() }, &[]);
        up(&mut follower, 0, 1, "wwan0");
        up(&mut follower, 0, 2, "wlan0");
        follower.change(secs(5), Change::Down(ip(2)));
        assert_eq!(follower.next_timeout(), Some(secs(8)));
        assert!(!follower.is_doomed(ip(2)));
        assert_eq!(follower.timeout(secs(8)), [Step::Delete(ip(2))]);
        assert!(follower.is_doomed(ip(2)));
        up(&mut follower, 9, 2, "wlan0");
        assert_eq!(follower.timeout(secs(10)), [Step::Use(address(2, "wlan0"))]);
        follower.change(secs(50), Change::Down(ip(2)));
        up(&mut follower, 51, 2, "wlan0");
        assert_eq!(follower.timeout(secs(52)), [Step::Use(address(2, "wlan0"))]);
        assert_eq!((follower.timeout(secs(60)), follower.next_timeout()), (vec![], None));
    }

    #[test]
    fn addresses_that_are_gone_do_not_fill_the_memory() {
        let mut follower = Follower::new(Mobility::default(), &[]);
        for n in 0..=255 {
            up(&mut follower, n.into(), n, "wlan0");
            let steps = follower.change(secs(n.into()), Change::Gone(ip(n)));
            assert_eq!(steps, [Step::Down(ip(n)), Step::Gone(ip(n))]);
        }
        assert_eq!(follower.known.len(), MAX_GONE);
        assert_eq!(follower.change(secs(300), Change::Gone(ip(0))), []);
    }
}
