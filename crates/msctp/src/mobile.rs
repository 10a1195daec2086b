//! Following the host's interfaces: which address is used, which is better, which one a flapping link has to
//! wait for. Pure decisions with time as an argument; may not touch sockets. What an association does about
//! them is in `follow`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use msctp_udp::{Change, LocalAddress};
use msctp_units::{Span, Time};

use crate::clock::span;

/// How a mobile endpoint follows its interfaces.
///
/// An address that appears is added to every association at once (RFC 5061), verified, and measured as far as
/// the handover policy wants, while the old path carries data. Data moves to it when its interface is
/// preferred to the old one's, or when the old one is down. An address that is gone is deleted when another
/// one works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mobility {
    /// Interfaces by the beginnings of their names, the best first; those not named come last, and are
    /// equals. Wired, then WLAN, then what there is.
    pub prefer: Vec<String>,
    /// Only interfaces whose names begin like one of these; empty, the default: all.
    pub only: Vec<String>,
    /// How long a new path that works is measured before data moves to it while the old one still works.
    /// `None`, the default: 300 ms with a handover policy that measures (`adaptive`), no time with any other.
    /// Where the peer is the one that sends, it is its policy that counts: say it here.
    pub probe: Option<Duration>,
    /// An address that comes back after its link was down waits so long while another address works, 1 s;
    /// twice as long each time it went down again within `calm`, at most 32 times. A link that comes and goes
    /// does not drag the data with it.
    pub hold: Duration,
    /// An address that was up for so long has a clean record again, 30 s.
    pub calm: Duration,
    /// An address whose link is down for so long is deleted from the associations that have another that
    /// works, 0 s: what was in flight there, in both directions, is then retransmitted at once. Longer spares
    /// the exchange when links blink.
    pub delete_after: Duration,
    /// Use loopback addresses. False.
    pub loopback: bool,
    /// Whether an address translator is before this host. [`Translation::Auto`].
    pub translation: Translation,
}

/// Whether the peer knows this host's addresses by other names, because a translator (NAT) is on the way.
/// Then an address is announced as the source address of the announcing packet (the wildcard of RFC 5061
/// §4.2.1, §4.2.2, §4.2.4). That is as right where nothing is translated, but no key protects a source
/// address (§6), and such requests wait until the address itself carries packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Translation {
    /// For an address that is private (RFC 1918, RFC 4193, RFC 6598) towards a peer whose addresses are not.
    #[default]
    Auto,
    /// For all addresses: a translator between private networks cannot be told by its addresses.
    Always,
    /// For none.
    Never,
}

impl Translation {
    /// Whether a peer at `remotes` knows `local` by another name.
    pub(crate) fn of(self, local: IpAddr, remotes: impl IntoIterator<Item = IpAddr>) -> bool {
        match self {
            Self::Auto => is_private(local) && !remotes.into_iter().any(is_private),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// An address that many networks use: it means nothing outside its own.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            // RFC 6598: 100.64.0.0/10
            let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || shared
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback() || ip.is_unicast_link_local(),
    }
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
    /// How good an interface is by its name; the least is the best.
    pub(crate) fn rank_of(&self, interface: &str) -> usize {
        self.prefer
            .iter()
            .position(|begin| interface.starts_with(begin.as_str()))
            .unwrap_or(self.prefer.len())
    }
}

/// The bandwidth estimator has its first estimate after about so long.
const MEASURE: Duration = Duration::from_millis(300);

/// The longest hold, in multiples of the first.
const MAX_HOLD: u64 = 32;

/// Addresses remembered that are gone; what flapped longest ago is forgotten first.
const MAX_GONE: usize = 32;

/// What is to be done about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It can be used: a socket for it, if there is none, and into the associations.
    Use(LocalAddress),
    /// Its link is down.
    Down(IpAddr),
    /// It is down for good: out of the associations, when they have another.
    Delete(IpAddr),
    /// It does not exist any more: as `Delete`, and its socket is of no use.
    Gone(IpAddr),
}

#[derive(Debug)]
struct Known {
    address: LocalAddress,
    /// Its link is up.
    link_up: bool,
    /// [`Step::Use`] was given, and nothing else since.
    used: bool,
    /// Waits for a calmer link until then.
    held_until: Option<Time>,
    /// The next hold.
    hold: Span,
    /// When it was last used from.
    since: Time,
    /// To be deleted then.
    delete_at: Option<Time>,
    /// Not an address any more; remembered for its record.
    gone: bool,
}

/// The addresses of the host as an endpoint uses them.
#[derive(Debug)]
pub(crate) struct Follower {
    options: Mobility,
    known: BTreeMap<IpAddr, Known>,
}

impl Follower {
    pub(crate) fn new(options: Mobility) -> Self {
        Self { options, known: BTreeMap::new() }
    }

    fn wanted(&self, address: &LocalAddress) -> bool {
        let named = |begin: &String| address.interface.starts_with(begin.as_str());
        let interface = self.options.only.is_empty() || self.options.only.iter().any(named);
        // An address that reaches one link only names another host on the next one.
        interface && !address.link_local && (self.options.loopback || !address.loopback)
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
        let (ip, others_work, hold) = (address.ip, self.others_work(address.ip), span(self.options.hold));
        let known = self.known.entry(ip).or_insert_with(|| Known {
            address: address.clone(),
            link_up: false,
            used: false,
            held_until: None,
            hold: Span::ZERO,
            since: now,
            delete_at: None,
            gone: false,
        });
        known.address = address;
        known.link_up = true;
        known.gone = false;
        if known.used {
            return Vec::new();
        }
        if known.hold.is_zero() || !others_work {
            // The first time there is no record; and nothing is gained by waiting when there is nothing else.
            known.hold = known.hold.max(hold);
            return vec![known.start(now)];
        }
        known.held_until = Some(now + known.hold);
        known.hold = (known.hold * 2).min(hold * MAX_HOLD);
        Vec::new()
    }

    fn down(&mut self, now: Time, ip: IpAddr, gone: bool) -> Vec<Step> {
        let (calm, hold) = (span(self.options.calm), span(self.options.hold));
        let delete_after = span(self.options.delete_after);
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
            // Nothing else is left: whoever waits for a calmer link waits no longer.
            let held = self.known.values_mut().filter(|known| known.held_until.is_some());
            steps.extend(held.map(|known| known.start(now)));
        }
        self.forget();
        steps
    }

    /// Old records go.
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

    /// How good an address is, the least is the best; `None`: it cannot be used now.
    pub(crate) fn rank(&self, ip: IpAddr) -> Option<usize> {
        let known = self.known.get(&ip).filter(|known| known.used)?;
        Some(self.options.rank_of(&known.address.interface))
    }

    /// Its link is down, or it is gone, for longer than the associations wait for it.
    pub(crate) fn is_doomed(&self, ip: IpAddr) -> bool {
        let due = |known: &Known| known.delete_at.is_none() || self.options.delete_after.is_zero();
        self.known.get(&ip).is_some_and(|known| !known.used && !known.link_up && due(known))
    }

    /// The addresses that are used.
    pub(crate) fn used(&self) -> impl Iterator<Item = IpAddr> {
        self.known.iter().filter(|(_, known)| known.used).map(|(&ip, _)| ip)
    }

    pub(crate) fn translation(&self) -> Translation {
        self.options.translation
    }

    /// How long a new path is measured by a policy that does, or does not.
    pub(crate) fn probe(&self, measures: bool) -> Span {
        span(self.options.probe.unwrap_or(if measures { MEASURE } else { Duration::ZERO }))
    }
}

impl Known {
    fn start(&mut self, now: Time) -> Step {
        self.used = true;
        self.since = now;
        self.held_until = None;
        self.delete_at = None;
        Step::Use(self.address.clone())
    }
}

/// What an association was told to do about addresses, so that it is told once.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// The peer was asked to send here.
    pub(crate) peer_primary: Option<IpAddr>,
    /// It was asked to as the address was added: from the primary's address of that time, to this one. Data
    /// of this end follows when the path works.
    pub(crate) moving: Option<(Option<IpAddr>, IpAddr)>,
    /// Requests that were made and not answered yet, or refused.
    pub(crate) added: Vec<IpAddr>,
    pub(crate) deleted: Vec<IpAddr>,
    /// The peer was asked to forget all others, by whatever names it knows them.
    pub(crate) kept: Option<IpAddr>,
    /// The peer does not know RFC 5061.
    pub(crate) fixed: bool,
    /// Since when each better path is confirmed.
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
        let mut follower = Follower::new(Mobility::default());
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
        let mut follower = Follower::new(Mobility::default());
        up(&mut follower, 0, 1, "wwan0");
        up(&mut follower, 0, 2, "wlan0");
        let mut now = 10;
        for hold in [1, 2, 4, 8, 16, 32, 32] {
            assert_eq!(follower.change(secs(now), Change::Down(ip(2))), [Step::Down(ip(2))]);
            assert_eq!(up(&mut follower, now, 2, "wlan0"), []);
            assert_eq!(follower.rank(ip(2)), None);
            // Down and up again meanwhile: nothing was announced, so there is nothing to announce.
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
        let mut follower = Follower::new(Mobility::default());
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
            Follower::new(Mobility { delete_after: Duration::from_secs(3), ..Mobility::default() });
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
        let mut follower = Follower::new(Mobility::default());
        for n in 0..=255 {
            up(&mut follower, n.into(), n, "wlan0");
            let steps = follower.change(secs(n.into()), Change::Gone(ip(n)));
            assert_eq!(steps, [Step::Down(ip(n)), Step::Gone(ip(n))]);
        }
        assert_eq!(follower.known.len(), MAX_GONE);
        assert_eq!(follower.change(secs(300), Change::Gone(ip(0))), []);
    }
}
