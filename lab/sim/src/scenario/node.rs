//! Nodes of a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use msctp_proto::Mobility;
use msctp_units::Span;

use super::error::{Problem, suggest};
use super::{LinkSpec, Scenario};
use crate::middlebox::{FirewallOptions, MiddleboxOptions, NatOptions};
use crate::mobile_ip::{AgentOptions, MobileOptions};
use crate::mobility::{Position, Waypoint};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique among nodes.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
    /// Position of the node at the start.
    pub position: Position,
    /// Movements of the node, in order of time.
    pub waypoints: Vec<Waypoint>,
    /// Options of a mobility agent; `None` for the defaults.
    pub agent: Option<AgentOptions>,
    /// A host that moves between mobility agents.
    pub mobile: Option<MobileSpec>,
    /// Follows the node's links as a mobile host does: its associations use the addresses of links that are
    /// up, without actions.
    pub follows: Option<Mobility>,
    /// The options of a middlebox.
    pub middlebox: Option<MiddleboxSpec>,
}

/// A middlebox between the link to the outside and its other links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiddleboxSpec {
    /// The link to the outside.
    pub outside: String,
    /// Kind and options of the middlebox.
    pub options: MiddleboxOptions,
}

/// The options of a mobile of Mobile IP. Its only address is that of its link to its home agent. Its links to
/// foreign agents have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileSpec {
    /// Node of the home agent.
    pub home_agent: String,
    /// Options of agent selection and registration.
    pub options: MobileOptions,
}

impl NodeSpec {
    /// Creates a node that stays at the origin.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Self {
        Self {
            name: name.into(),
            kind,
            position: Position::default(),
            waypoints: Vec::new(),
            agent: None,
            mobile: None,
            follows: None,
            middlebox: None,
        }
    }
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives, and does not forward. A packet leaves through the interface of its source address.
    Host,
    /// Forwards on the shortest path: fewest links; among equal ones, the link declared first.
    Router,
    /// A router that is the home agent of mobiles, and has one address. It tunnels packets for mobiles that
    /// are away (RFC 5944).
    HomeAgent,
    /// A router that is the foreign agent of visiting mobiles. Its only address is their care-of address.
    ForeignAgent,
    /// A router that translates or drops packets to and from its outside.
    Middlebox,
}

impl NodeKind {
    /// Returns true if the node forwards packets.
    #[must_use]
    pub fn forwards(self) -> bool {
        self != Self::Host
    }

    /// Returns true if the node is a mobility agent.
    #[must_use]
    pub fn is_agent(self) -> bool {
        matches!(self, Self::HomeAgent | Self::ForeignAgent)
    }
}

/// Checks agents and mobiles. Link ends must name nodes, and addresses be unique.
pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    let mut links: BTreeMap<&str, Vec<&LinkSpec>> = BTreeMap::new();
    for link in &scenario.links {
        links.entry(&link.a).or_default().push(link);
        links.entry(&link.b).or_default().push(link);
    }
    let agents = scenario.nodes.iter().filter(|node| node.kind == NodeKind::HomeAgent);
    let agents = agents.map(|node| node.name.as_str()).collect();
    for node in &scenario.nodes {
        let own = links.get(node.name.as_str()).map_or(&[][..], Vec::as_slice);
        one(node, own, &agents).map_err(|p| p.within(&format!("node.{}", node.name)))?;
    }
    Ok(())
}

/// Checks a node. `links` are its own, `home_agents` the names of all home agents: it sees no other part of
/// the scenario, so that the checks of many nodes take linear time.
fn one(node: &NodeSpec, links: &[&LinkSpec], home_agents: &BTreeSet<&str>) -> Result<(), Problem> {
    let fail = |key: &str, message: String| Err(Problem::new(key, message));
    if let Some(pair) = node.waypoints.windows(2).find(|pair| pair[1].at < pair[0].at) {
        let message =
            format!("{} follows {}: want waypoints in ascending order of time", pair[1].at, pair[0].at);
        return fail("waypoints", message);
    }
    if node.waypoints.iter().any(|waypoint| waypoint.speed_mm_s == 0) {
        let message = "at speed 0 the node never reaches its destination: want more than 0";
        return fail("waypoints", message.to_owned());
    }
    // List the node's addresses, each with the other end of its link.
    let addresses: Vec<(IpAddr, &str)> = links
        .iter()
        .flat_map(|l| [(&l.a, l.address_a, &l.b), (&l.b, l.address_b, &l.a)])
        .filter(|(own, ..)| **own == node.name)
        .filter_map(|(_, address, other)| Some((address?, other.as_str())))
        .collect();
    if node.kind.is_agent() && !matches!(addresses[..], [(IpAddr::V4(_), _)]) {
        let message = format!(
            "a mobility agent with {} addresses: want one, an IPv4 address at the end of its wired link",
            addresses.len()
        );
        return fail("kind", message);
    }
    match &node.agent {
        Some(_) if !node.kind.is_agent() => {
            let message = "the node is not an agent: want kind = \"home-agent\" or \"foreign-agent\"";
            return fail("agent", message.to_owned());
        }
        Some(agent) => {
            let least = Span::from_millis(1);
            if agent.interval < least {
                return fail("agent.interval", format!("{}: want at least {least}", agent.interval));
            }
            if agent.lifetime < agent.interval {
                let (lifetime, interval) = (agent.lifetime, agent.interval);
                let message = format!("{lifetime} is shorter than the interval: want at least {interval}");
                return fail("agent.lifetime", message);
            }
            for (key, span) in
                [("lifetime", agent.lifetime), ("registration_lifetime", agent.registration_lifetime)]
            {
                whole_seconds(span).map_err(|p| p.within(&format!("agent.{key}")))?;
            }
        }
        None => {}
    }
    if node.follows.is_some() && (node.kind != NodeKind::Host || node.mobile.is_some()) {
        let message =
            "only a host whose addresses are its own follows its links: want kind = \"host\", without mobile";
        return fail("follows", message.to_owned());
    }
    if let Some(mobile) = &node.mobile {
        check_mobile(home_agents, node, mobile, &addresses).map_err(|p| p.within("mobile"))?;
    }
    node.middlebox.as_ref().map_or(Ok(()), |middlebox| {
        check_middlebox(node, links, middlebox).map_err(|p| p.within(middlebox.options.key()))
    })
}

/// Checks the link to the outside. Only a NAT must have an address, at the end of that link.
fn check_middlebox(node: &NodeSpec, own: &[&LinkSpec], middlebox: &MiddleboxSpec) -> Result<(), Problem> {
    let outside = &middlebox.outside;
    if !own.iter().any(|link| link.name == *outside) {
        let remedy = suggest(outside, own.iter().map(|link| link.name.as_str()));
        return Err(Problem::new("outside", format!("\"{}\" has no link \"{outside}\"{remedy}", node.name)));
    }
    let nat = matches!(middlebox.options, MiddleboxOptions::Nat(_));
    for link in own {
        let (key, address) =
            if link.a == node.name { ("address_a", link.address_a) } else { ("address_b", link.address_b) };
        let public = nat && link.name == *outside;
        if public != address.is_some() {
            let (name, link) = (&node.name, &link.name);
            let want = if public {
                format!(
                    "its public address is missing: want {key}, such as \"198.51.100.7\", in link \"{link}\""
                )
            } else {
                format!("\"{name}\" has no address inside: want {key} of link \"{link}\" left out")
            };
            return Err(Problem::new("outside", want));
        }
    }
    match middlebox.options {
        MiddleboxOptions::Nat(NatOptions { ports: (first, last), .. }) if first == 0 || first > last => {
            let message =
                format!("[{first}, {last}]: want the first and the last port, such as [1024, 65535]");
            Err(Problem::new("ports", message))
        }
        MiddleboxOptions::Nat(NatOptions { timeout, .. })
        | MiddleboxOptions::Firewall(FirewallOptions { timeout })
            if timeout.is_zero() =>
        {
            let message = "a timeout of 0s blocks every answer: want a longer one, such as \"30s\"";
            Err(Problem::new("timeout", message))
        }
        _ => Ok(()),
    }
}

/// Checks that a time is a whole number of seconds in 16 bits, as in the messages.
fn whole_seconds(span: Span) -> Result<(), Problem> {
    if span.as_nanos().is_multiple_of(1_000_000_000) && (1..=65_535).contains(&(span.as_millis() / 1000)) {
        return Ok(());
    }
    Err(Problem::new("", format!("{span}: want whole seconds, 1s to 65535s")))
}

fn check_mobile(
    home_agents: &BTreeSet<&str>,
    node: &NodeSpec,
    mobile: &MobileSpec,
    addresses: &[(IpAddr, &str)],
) -> Result<(), Problem> {
    let fail = |key: &str, message: String| Err(Problem::new(key, message));
    if node.kind != NodeKind::Host {
        return fail("", "only a host is a mobile: want kind = \"host\"".to_owned());
    }
    if !home_agents.contains(mobile.home_agent.as_str()) {
        let remedy = suggest(&mobile.home_agent, home_agents.iter().copied());
        return fail("home_agent", format!("there is no home agent \"{}\"{remedy}", mobile.home_agent));
    }
    if !matches!(addresses, [(IpAddr::V4(_), other)] if *other == mobile.home_agent) {
        let message = format!(
            "want one IPv4 address on \"{}\", on its link to \"{}\", and none on links to foreign agents",
            node.name, mobile.home_agent
        );
        return fail("home_agent", message);
    }
    whole_seconds(mobile.options.lifetime).map_err(|p| p.within("lifetime"))?;
    let least = Span::from_millis(1);
    for (key, span) in [("retry", mobile.options.retry), ("scan", mobile.options.scan)] {
        if span < least {
            return fail(key, format!("{span}: want at least {least}"));
        }
    }
    Ok(())
}
