//! [`Mobility`]: the options of an endpoint that follows its host's links.

use core::net::IpAddr;
use core::time::Duration;

use msctp_units::Span;

use super::link::{LinkChange, LinkKind};
use crate::cost::Cost;
use crate::path::Scope;

/// Options of an endpoint that follows its host's links ([`Endpoint::follow_links`]).
///
/// A new address is added to every association at once (RFC 5061), verified, and measured as far as the
/// handover policy requires, while the old path carries data. Data moves to it if its interface is preferred
/// to the old one's, or if the old one is down. A removed address is deleted once another one works.
///
/// [`Endpoint::follow_links`]: crate::Endpoint::follow_links
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mobility {
    /// Prefixes of interface names, the best first; other interfaces come last and rank equally. By default
    /// wired (`en`, `eth`), then WLAN (`wl`).
    pub prefer: Vec<String>,
    /// Prefixes of the names of interfaces that carry data only while no other works well
    /// ([`Cost::backup`]). `None`, the default: cellular ones, unless `prefer` names them.
    pub backup: Option<Vec<String>>,
    /// Prefixes of the names of interfaces for which the host's owner pays by the byte ([`Cost::metered`]),
    /// beside those of which the host says so ([`LinkChange::metered`]).
    pub metered: Vec<String>,
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

/// Time until the bandwidth estimator's first estimate, approximately.
const MEASURE: Span = Span::from_millis(300);

impl Default for Mobility {
    fn default() -> Self {
        Self {
            prefer: ["en", "eth", "wl"].map(str::to_owned).to_vec(),
            backup: None,
            metered: Vec::new(),
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
    #[must_use]
    pub fn follows(&self, interface: &str) -> bool {
        self.only.is_empty() || begins(interface, &self.only)
    }

    /// Returns the rank of the interface of this name; 0 is the best.
    #[must_use]
    pub fn rank_of(&self, interface: &str) -> usize {
        let named = self.prefer.iter().position(|begin| interface.starts_with(begin.as_str()));
        named.unwrap_or(self.prefer.len())
    }

    /// Returns what the use of a link costs.
    pub(crate) fn cost_of(&self, link: &LinkChange) -> Cost {
        let backup = match &self.backup {
            Some(names) => begins(&link.name, names),
            None => link.kind == LinkKind::Cellular && !begins(&link.name, &self.prefer),
        };
        Cost { backup, metered: link.metered || begins(&link.name, &self.metered) }
    }

    /// Returns the time for which to measure a new path. `measures` says whether the policy measures.
    pub(crate) fn probe(&self, measures: bool) -> Span {
        self.probe.map_or(if measures { MEASURE } else { Span::ZERO }, Span::from)
    }
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

fn begins(name: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

/// Returns whether many networks use the address, so that it has no meaning outside its own.
fn is_private(ip: IpAddr) -> bool {
    Scope::of(&ip) != Scope::Global
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cellular_links_are_backups_unless_they_are_preferred() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let cost = |options: &Mobility, name: &str| options.cost_of(&LinkChange::new(1, name));
        let (free, backup) = (Cost::default(), Cost { backup: true, metered: false });
        let plain = Mobility::default();
        assert_eq!(
            (cost(&plain, "wwan0"), cost(&plain, "wlan0"), cost(&plain, "eth0")),
            (backup, free, free)
        );
        let preferred = Mobility { prefer: names(&["wwan", "wlan"]), ..Mobility::default() };
        assert_eq!(cost(&preferred, "wwan0"), free);
        let chosen = Mobility { backup: Some(names(&["eth1"])), ..Mobility::default() };
        assert_eq!((cost(&chosen, "wwan0"), cost(&chosen, "eth1")), (free, backup));
        let metered = Mobility { metered: names(&["wl"]), ..Mobility::default() };
        assert_eq!(cost(&metered, "wlan0"), Cost { backup: false, metered: true });
        assert!(plain.cost_of(&LinkChange::new(1, "eth0").with_metered(true)).metered);
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
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(Translation::Always.of(ip("203.0.113.9"), []) && !Translation::Never.of(ip("10.0.0.1"), []));
    }
}
