//! [`Rules`]: which addresses and ports a client may reach. Keeps no state.
//!
//! A rule is checked against each resolved address together with the name that the client requested, so the
//! address that was checked is the one to connect to.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::RangeInclusive;

use ipnet::{IpNet, Ipv4Net};

/// A rule that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RuleError(String);

/// Access rules in order; the first that matches decides, and nothing is allowed without a match.
///
/// A file has one rule a line; `#` begins a comment.
///
/// ```text
/// deny  10.0.0.5:*
/// allow 10.0.0.0/8:22,80,8000-8099
/// allow *.example.net:443
/// allow [2001:db8::/32]:*
/// allow localhost:5432
/// listen 127.0.0.1:8080
/// ```
///
/// `deny` takes precedence over the rules after it, those that begin with `listen` included.
///
/// Names and `*` do not allow the server's own loopback and link-local addresses, whatever a name resolves
/// to: name these by `localhost` or by address. `*` and suffixes do not allow addresses of its interfaces
/// ([`Rules::check_interface`]). Multicast, broadcast and unspecified addresses are never
/// allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    kind: Kind,
    host: Host,
    ports: Vec<RangeInclusive<u16>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Allow,
    Deny,
    /// Allows the server to listen at an address for a client.
    Listen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    Network(IpNet),
    /// A name in lower case, without a final dot.
    Name(String),
    /// A suffix of names, with its first dot.
    Suffix(String),
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The client may connect.
    Allowed,
    /// No rule allows it, or one denies it.
    Denied,
    /// A rule allows the name, but not this address: it belongs to the server, or is not a unicast
    /// destination.
    OwnAddress,
}

impl Rules {
    /// Parses a file.
    ///
    /// # Errors
    ///
    /// A line is invalid; the error has its number and the reason.
    pub fn parse(text: &str) -> Result<Self, (usize, RuleError)> {
        let mut rules = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split_once('#').map_or(line, |(rule, _)| rule).trim();
            if !line.is_empty() {
                rules.rules.push(Rule::parse(line).map_err(|error| (number + 1, error))?);
            }
        }
        Ok(rules)
    }

    /// Adds a rule that allows `HOST:PORTS`.
    ///
    /// # Errors
    ///
    /// The rule is invalid.
    pub fn allow(&mut self, target: &str) -> Result<(), RuleError> {
        self.rules.push(Rule::new(Kind::Allow, target)?);
        Ok(())
    }

    /// Returns whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Checks a connection to an address that `host`, a name or an address, resolved to.
    pub fn check(&self, host: &str, address: IpAddr, port: u16) -> Verdict {
        self.decide(host, address, port, false)
    }

    /// Same as [`check`](Self::check) for an address of one of the server's interfaces, which `*`, suffixes
    /// of names and networks of all addresses do not allow.
    pub fn check_interface(&self, host: &str, address: IpAddr, port: u16) -> Verdict {
        self.decide(host, address, port, true)
    }

    fn decide(&self, host: &str, address: IpAddr, port: u16, is_interface: bool) -> Verdict {
        let address = address.to_canonical();
        if is_no_destination(address) {
            return Verdict::OwnAddress;
        }
        let name = normal(host);
        let own = is_own(address);
        let translated = nat64(address).map(IpAddr::from);
        let mut verdict = Verdict::Denied;
        for rule in self.rules.iter().filter(|rule| rule.has(port)) {
            match rule.kind {
                Kind::Deny if rule.host.matches(&name, address) => return Verdict::Denied,
                Kind::Deny if translated.is_some_and(|v4| rule.host.matches(&name, v4)) => {
                    return Verdict::Denied;
                }
                Kind::Allow if rule.host.matches(&name, address) => {
                    let named = !is_interface || rule.host.names_some();
                    if named && (!own || rule.host.names_own()) {
                        return Verdict::Allowed;
                    }
                    verdict = Verdict::OwnAddress;
                }
                _ => {}
            }
        }
        verdict
    }

    /// Returns whether a rule may allow `host` at this port for some address. If not, the name need not be
    /// resolved.
    pub fn may_allow(&self, host: &str, port: u16) -> bool {
        let name = normal(host);
        for rule in self.rules.iter().filter(|rule| rule.has(port)) {
            match (rule.kind, &rule.host) {
                (Kind::Allow, Host::Network(_)) => return true,
                (Kind::Allow, host) if host.matches_name(&name) => return true,
                (Kind::Deny, host) if host.matches_name(&name) => return false,
                _ => {}
            }
        }
        false
    }

    /// Checks whether the server may listen at an address for a client. A listener at the unspecified address
    /// receives on all addresses of its family, so a rule that denies any of them denies it.
    pub fn may_listen(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let concerns = |rule: &&Rule| match (rule.kind, &rule.host) {
            (Kind::Allow, _) => false,
            (Kind::Deny, Host::Network(network)) if address.is_unspecified() => {
                network.addr().is_ipv4() == address.is_ipv4()
            }
            (_, host) => host.matches("", address),
        };
        let mut rules = self.rules.iter().filter(|rule| rule.has(port)).filter(concerns);
        rules.next().is_some_and(|rule| rule.kind == Kind::Listen)
    }
}

/// Returns a name in lower case, without a final dot.
fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Converts a network of IPv4-mapped IPv6 addresses to IPv4, because such an address is checked as an IPv4
/// address.
fn canonical(network: IpNet) -> Result<IpNet, &'static str> {
    /// Length of the prefix `::ffff:0:0`.
    const MAPPED: u8 = 96;
    let IpNet::V6(v6) = network else { return Ok(network) };
    match (v6.network().to_ipv4_mapped(), v6.prefix_len().checked_sub(MAPPED)) {
        (Some(v4), Some(len)) => {
            Ok(Ipv4Net::new(v4, len).map_err(|_| "not an address, a network or a host name")?.into())
        }
        // ::/0 has every IPv6 address, and 0.0.0.0/0 every IPv4 address.
        (_, None) if v6.prefix_len() > 0 && v6.contains(&Ipv4Addr::UNSPECIFIED.to_ipv6_mapped()) => Err(
            "the network includes IPv6 addresses and all IPv4 addresses (::ffff:0:0/96): want one rule for \
                 each family",
        ),
        _ => Ok(network),
    }
}

/// Returns the IPv4 address to which a NAT64 translates an address of its well-known prefix 64:ff9b::/96 (RFC
/// 6052 §2.1). A server behind a NAT64 reaches that address.
pub fn nat64(address: IpAddr) -> Option<Ipv4Addr> {
    const PREFIX: u128 = 0x64_ff9b << 96;
    let IpAddr::V6(v6) = address else { return None };
    let bits = u128::from(v6);
    (bits >> 32 << 32 == PREFIX).then(|| Ipv4Addr::from(bits as u32))
}

/// Returns whether an address does not name exactly one host. 0.0.0.0 leads to the host itself on Linux.
fn is_no_destination(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast() || v4.octets()[0] == 0);
    let translated = nat64(address).is_some_and(|v4| is_no_destination(v4.into()));
    address.is_unspecified() || address.is_multicast() || broadcast || translated
}

/// Returns whether an address is one of the server itself or of its link, as the metadata services of clouds.
fn is_own(address: IpAddr) -> bool {
    /// The metadata services of EC2 and of Google Cloud over IPv6.
    const METADATA: [Ipv6Addr; 2] = [
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    ];
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => {
            let translated = nat64(address).is_some_and(|v4| is_own(v4.into()));
            v6.is_loopback() || v6.is_unicast_link_local() || METADATA.contains(&v6) || translated
        }
    }
}

impl Rule {
    fn parse(line: &str) -> Result<Self, RuleError> {
        let (word, target) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let kind = match word {
            "allow" => Kind::Allow,
            "deny" => Kind::Deny,
            "listen" => Kind::Listen,
            other => {
                return Err(RuleError(format!(
                    "{other:?} is not a rule: want allow HOST:PORTS, deny HOST:PORTS or listen ADDRESS:PORTS"
                )));
            }
        };
        Self::new(kind, target.trim())
    }

    fn new(kind: Kind, target: &str) -> Result<Self, RuleError> {
        let unusable = |why: &str| {
            RuleError(format!(
                "{target:?}: {why}; want HOST:PORTS, such as 10.0.0.0/8:22,8000-8099 or *.example.net:443"
            ))
        };
        let (host, ports) = target.rsplit_once(':').ok_or_else(|| unusable("no port"))?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(unusable("an IPv6 address wants brackets"));
        }
        let host = Host::parse(host).ok_or_else(|| unusable("not an address, a network or a host name"))?;
        let host = match host {
            Host::Network(network) => Host::Network(canonical(network).map_err(unusable)?),
            other => other,
        };
        if kind == Kind::Listen && matches!(host, Host::Name(_) | Host::Suffix(_)) {
            return Err(unusable("a listener wants an address or *"));
        }
        let ports =
            parse_ports(ports).ok_or_else(|| unusable("ports are 1 to 65535, ranges of them, or *"))?;
        Ok(Self { kind, host, ports })
    }

    fn has(&self, port: u16) -> bool {
        self.ports.iter().any(|ports| ports.contains(&port))
    }
}

fn parse_ports(text: &str) -> Option<Vec<RangeInclusive<u16>>> {
    if text == "*" {
        return Some(vec![1..=u16::MAX]);
    }
    let port = |text: &str| text.parse::<u16>().ok().filter(|&port| port > 0);
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (port(first)?, port(last)?);
        (first <= last).then_some(first..=last)
    };
    text.split(',').map(range).collect()
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        let address = match bare {
            Some(bare) => bare?,
            None => text,
        };
        if let Ok(network) = address.parse::<IpNet>() {
            return Some(Self::Network(network));
        }
        if let Ok(address) = address.parse::<IpAddr>() {
            return Some(Self::Network(address.into()));
        }
        if bare.is_some() {
            return None;
        }
        if text == "*" {
            return Some(Self::Any);
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        match name.strip_prefix('*') {
            Some(suffix) => {
                let valid = suffix.strip_prefix('.').is_some_and(crate::frame::is_host);
                valid.then(|| Self::Suffix(suffix.to_owned()))
            }
            None => crate::frame::is_host(&name).then_some(Self::Name(name)),
        }
    }

    fn matches(&self, name: &str, address: IpAddr) -> bool {
        match self {
            Self::Network(network) => network.contains(&address),
            _ => self.matches_name(name),
        }
    }

    /// Returns whether the name matches, ignoring its address.
    fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Network(_) => false,
            Self::Name(own) => own == name,
            Self::Suffix(suffix) => name.ends_with(suffix.as_str()),
        }
    }

    /// Returns whether the rule names a host or a network, and not any.
    fn names_some(&self) -> bool {
        match self {
            Self::Any | Self::Suffix(_) => false,
            Self::Network(network) => network.prefix_len() > 0,
            Self::Name(_) => true,
        }
    }

    /// Returns whether the rule names the server's own addresses.
    fn names_own(&self) -> bool {
        match self {
            Self::Any | Self::Suffix(_) => false,
            // A network that has others, too, as 0.0.0.0/0, does not name them.
            Self::Network(network) => is_own(network.network()) && is_own(network.broadcast()),
            Self::Name(name) => name == "localhost",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Denied => "no rule allows it",
            Self::OwnAddress => {
                "the address belongs to the server or is not unicast: only a rule for that address allows it, \
                 such as `allow 127.0.0.1:80`"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::parse(text).unwrap()
    }

    fn allows(rules: &Rules, host: &str, address: &str, port: u16) -> bool {
        rules.check(host, address.parse().unwrap(), port) == Verdict::Allowed
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_nothing_else_is_allowed() {
        let rules = rules(
            "# a comment\n deny 10.0.0.5:*\nallow 10.0.0.0/8:22,8000-8099 # behind\nallow [2001:db8::/32]:*\n\
             allow *.example.net:443\nallow Example.ORG.:80\n",
        );
        let ip = |address, port| allows(&rules, address, address, port);
        assert!(ip("10.1.2.3", 22) && ip("10.1.2.3", 8099) && ip("2001:db8::7", 9));
        assert!(!ip("10.1.2.3", 23) && !ip("10.1.2.3", 8100) && !ip("11.1.2.3", 22) && !ip("2001:db9::7", 9));
        assert!(!ip("10.0.0.5", 22), "denied before");
        assert!(
            ip("::ffff:10.1.2.3", 22) && !ip("::ffff:10.0.0.5", 22),
            "an IPv4 address in IPv6 is that address"
        );
        assert!(allows(&rules, "www.EXAMPLE.net.", "192.0.2.1", 443));
        assert!(allows(&rules, "example.org", "192.0.2.1", 80));
        for (host, port) in
            [("example.net", 443), ("www.example.net", 80), ("badexample.net", 443), ("x.org", 80)]
        {
            assert!(!allows(&rules, host, "192.0.2.1", port), "{host}:{port}");
        }
        assert!(!allows(&rules, "www.example.net", "10.0.0.5", 443), "the address is denied under any name");
        assert!(!allows(&rules, "192.0.2.1", "192.0.2.1", 443), "a name's address is not allowed by itself");
        assert!(!allows(&Rules::default(), "a", "192.0.2.1", 80));
    }

    #[test]
    fn names_do_not_lead_to_the_servers_own_addresses() {
        let any = rules("allow *:*\nallow *.example.net:80\nallow 0.0.0.0/0:*\nallow [::/0]:*");
        for own in [
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::169.254.169.254",
        ] {
            assert_eq!(
                any.check("rebound.example.net", own.parse().unwrap(), 80),
                Verdict::OwnAddress,
                "{own}"
            );
            assert_eq!(any.check(own, own.parse().unwrap(), 80), Verdict::OwnAddress, "{own}");
        }
        assert!(allows(&any, "x", "192.0.2.1", 1));
        let named = rules(
            "allow localhost:80\nallow 127.0.0.2:81\nallow 169.254.0.0/16:82\nallow 0.0.0.0:83\nallow 224.0.0.0/4:84",
        );
        assert!(allows(&named, "localhost", "127.0.0.1", 80) && allows(&named, "localhost", "::1", 80));
        assert!(
            allows(&named, "127.0.0.2", "127.0.0.2", 81) && allows(&named, "169.254.1.1", "169.254.1.1", 82)
        );
        assert!(allows(&named, "a.b", "127.0.0.2", 81), "the address is named");
        for (never, port) in
            [("0.0.0.0", 83), ("::", 83), ("224.0.0.1", 84), ("255.255.255.255", 80), ("0.0.0.1", 83)]
        {
            assert!(!allows(&named, never, never, port), "{never}");
            assert!(!allows(&any, never, never, port), "{never}");
        }
    }

    #[test]
    fn the_ipv4_address_behind_a_nat64_is_checked_as_well() {
        let rules = rules(
            "deny 10.0.0.0/8:*\nallow *:80\nallow [64:ff9b::/96]:81\nallow [64:ff9b::169.254.169.254]:82",
        );
        for (address, port, verdict) in [
            ("64:ff9b::192.0.2.1", 80, Verdict::Allowed),
            ("64:ff9b::192.0.2.1", 81, Verdict::Allowed),
            ("64:ff9b::10.0.0.1", 80, Verdict::Denied),
            ("64:ff9b::10.0.0.1", 81, Verdict::Denied),
            ("64:ff9b::127.0.0.1", 81, Verdict::OwnAddress),
            ("64:ff9b::224.0.0.1", 81, Verdict::OwnAddress),
            ("64:ff9b::169.254.169.254", 82, Verdict::Allowed),
            ("64:ff9b:1::10.0.0.1", 80, Verdict::Allowed),
        ] {
            assert_eq!(rules.check("x", address.parse().unwrap(), port), verdict, "{address}:{port}");
        }
    }

    #[test]
    fn addresses_of_the_servers_interfaces_want_a_rule_that_names_them() {
        let rules = rules(
            "allow *:80\nallow *.example.net:81\nallow 0.0.0.0/0:82\nallow 192.0.2.0/24:83\nallow a.test:84\n\
             allow [fd00:ec2::254]:80",
        );
        let own = "192.0.2.1".parse().unwrap();
        for (host, port, interface) in [
            ("192.0.2.1", 80, Verdict::OwnAddress),
            ("www.example.net", 81, Verdict::OwnAddress),
            ("192.0.2.1", 82, Verdict::OwnAddress),
            ("192.0.2.1", 83, Verdict::Allowed),
            ("a.test", 84, Verdict::Allowed),
        ] {
            assert_eq!(rules.check(host, own, port), Verdict::Allowed, "{host}:{port}");
            assert_eq!(rules.check_interface(host, own, port), interface, "{host}:{port}");
        }
        assert!(allows(&rules, "fd00:ec2::254", "fd00:ec2::254", 80), "named");
    }

    #[test]
    fn networks_of_ipv4_addresses_in_ipv6_are_ipv4_networks() {
        let rules = rules(
            "deny [::ffff:10.0.0.0/104]:*\ndeny [::ffff:11.0.0.5]:*\nallow 0.0.0.0/0:80\nallow [::/0]:80",
        );
        for (address, allowed) in [
            ("10.1.2.3", false),
            ("::ffff:10.1.2.3", false),
            ("11.0.0.5", false),
            ("11.0.0.6", true),
            ("2001:db8::1", true),
        ] {
            assert_eq!(allows(&rules, address, address, 80), allowed, "{address}");
        }
        for overlapping in ["::/80", "::ffff:0:0/95", "::/1"] {
            let error = Rules::parse(&format!("deny [{overlapping}]:*")).unwrap_err().1.to_string();
            assert!(
                error.contains("all IPv4 addresses (::ffff:0:0/96): want one rule for each family"),
                "{error}"
            );
        }
        for apart in ["::fffe:0:0/96", "8000::/1", "::/96"] {
            assert!(Rules::parse(&format!("deny [{apart}]:*")).is_ok(), "{apart}");
        }
    }

    #[test]
    fn hosts_that_no_rule_allows_at_a_port_are_known_without_their_address() {
        let rules = rules(
            "deny secret.example:*\nallow 10.0.0.0/8:22\nallow *.example:80\ndeny *:443\nallow db:443,5432\nlisten *:81",
        );
        for (host, port, may) in [
            ("any.test", 22, true),
            ("secret.example", 22, false),
            ("Secret.Example.", 80, false),
            ("WWW.example.", 80, true),
            ("any.test", 80, false),
            ("db", 443, false),
            ("db", 5432, true),
            ("any.test", 81, false),
        ] {
            assert_eq!(rules.may_allow(host, port), may, "{host}:{port}");
        }
    }

    #[test]
    fn listeners_have_rules_of_their_own() {
        let rules = rules("allow *:*\nlisten 127.0.0.1:8000-8999\nlisten [::1]:80");
        let may = |address: &str, port| rules.may_listen(address.parse().unwrap(), port);
        assert!(may("127.0.0.1", 8000) && may("::1", 80) && may("::ffff:127.0.0.1", 8999));
        assert!(!may("127.0.0.1", 80) && !may("0.0.0.0", 8000) && !may("::1", 8000));
        assert!(!allows(&rules, "127.0.0.1", "127.0.0.1", 8000), "to listen is not to reach");
    }

    #[test]
    fn a_rule_that_denies_an_address_denies_a_listener_at_all_addresses() {
        let rules = rules("listen *:79\ndeny 203.0.113.7:70-80\nlisten *:*");
        let may = |address: &str, port| rules.may_listen(address.parse().unwrap(), port);
        assert!(!may("0.0.0.0", 80) && !may("::ffff:0.0.0.0", 80) && !may("203.0.113.7", 80));
        assert!(may("0.0.0.0", 79) && may("0.0.0.0", 81) && may("203.0.113.8", 80));
        assert!(may("::", 80), "it has no IPv4 address");
    }

    #[test]
    fn a_rule_that_denies_holds_for_listeners_behind_it() {
        let rules = rules("listen 127.0.0.1:80\ndeny 127.0.0.1:*\ndeny x:*\nlisten *:80-90");
        let may = |address: &str, port| rules.may_listen(address.parse().unwrap(), port);
        assert!(may("127.0.0.1", 80) && may("127.0.0.2", 81));
        assert!(!may("127.0.0.1", 81) && !may("::ffff:127.0.0.1", 81));
    }

    #[test]
    fn invalid_rules_are_rejected_with_their_line() {
        let error = |text: &str| {
            let (line, error) = Rules::parse(text).unwrap_err();
            format!("{line}: {error}")
        };
        for (text, want) in [
            ("\npermit x:1", "2: \"permit\" is not a rule: want allow"),
            ("allow x", "1: \"x\": no port; want HOST:PORTS"),
            ("allow", "1: \"\": no port"),
            ("allow 2001:db8::1:80", "an IPv6 address wants brackets"),
            ("allow [2001:db8::1:80", "not an address, a network or a host name"),
            ("allow [x]:80", "not an address, a network or a host name"),
            ("allow 10.0.0.0/33:80", "not an address, a network or a host name"),
            ("allow *example.net:80", "not an address, a network or a host name"),
            ("allow a b:80", "not an address, a network or a host name"),
            ("allow x:0", "ports are 1 to 65535"),
            ("allow x:80-70", "ports are 1 to 65535"),
            ("allow x:80,,90", "ports are 1 to 65535"),
            ("allow x:65536", "ports are 1 to 65535"),
            ("listen x:80", "a listener wants an address or *"),
        ] {
            assert!(error(text).contains(want), "{text}: {}", error(text));
        }
        assert!(Rules::default().allow("10.0.0.1:80").is_ok() && Rules::default().allow("10.0.0.1").is_err());
    }
}
