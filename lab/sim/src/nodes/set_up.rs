//! Creates the nodes of a checked scenario.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use msctp_units::Time;

use super::agent::{AgentNode, Role};
use super::middlebox::MiddleboxNode;
use super::mobile::MobileNode;
use super::{Entry, Node, Nodes};
use crate::mobile_ip::foreign_agent::ForeignAgent;
use crate::mobile_ip::home_agent::HomeAgent;
use crate::packet::AddressId;
use crate::scenario::{NodeKind, NodeSpec, Outside, Routes, Scenario};

/// The address of all hosts on a link, to which agents advertise (RFC 5944 §2.1).
pub(crate) const EVERYBODY: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

impl Nodes {
    /// Creates the nodes. `everybody` is the number of [`EVERYBODY`].
    pub(crate) fn of(scenario: &Scenario, routes: &Routes, everybody: AddressId) -> Self {
        let mut nodes = Self::default();
        let (agents, mobiles) = mobile_ip(scenario, routes, everybody);
        agents.into_iter().for_each(|agent| nodes.add(agent.node, Box::new(agent)));
        mobiles.into_iter().for_each(|mobile| nodes.add(mobile.node, Box::new(mobile)));
        for (node, spec) in scenario.nodes.iter().enumerate() {
            if let Some(middlebox) = middlebox(routes, (node, spec)) {
                nodes.add(node, Box::new(middlebox));
            }
        }
        nodes
    }

    fn add(&mut self, node: usize, behaviour: Box<dyn Node>) {
        self.numbers.resize(self.numbers.len().max(node + 1), None);
        self.numbers[node] = Some(self.entries.len() as u32);
        self.entries.push(Entry { behaviour, wake: Time::MAX });
    }
}

/// Returns the first IPv4 address of a node.
fn address_of(routes: &Routes, node: usize) -> Option<(AddressId, Ipv4Addr)> {
    routes.interfaces_of(node).find_map(|(number, interface)| match interface.address {
        IpAddr::V4(ip) => Some((AddressId(number as u32), ip)),
        IpAddr::V6(_) => None,
    })
}

/// Creates agents and mobiles, with the links between them.
fn mobile_ip(
    scenario: &Scenario,
    routes: &Routes,
    everybody: AddressId,
) -> (Vec<AgentNode>, Vec<MobileNode>) {
    let (mut agents, mut mobiles): (Vec<AgentNode>, Vec<MobileNode>) = Default::default();
    // Numbers of agents and mobiles by their nodes.
    let (mut agent_at, mut mobile_at) = (BTreeMap::new(), BTreeMap::new());
    let homes = Homes::of(scenario, routes);
    for (node, spec) in scenario.nodes.iter().enumerate() {
        if let Some(agent) = agent(&homes, routes, (node, spec), everybody) {
            agent_at.insert(node, agents.len());
            agents.push(agent);
        }
        if let Some(mobile) = mobile(&homes, routes, (node, spec)) {
            mobile_at.insert(node, mobiles.len());
            mobiles.push(mobile);
        }
    }
    for link in 0..scenario.links.len() {
        // For the forward direction, leads_to is the link's end b.
        let (a, b) = (routes.leads_to[2 * link + 1], routes.leads_to[2 * link]);
        for (agent, mobile, to_mobile) in [(a, b, 2 * link), (b, a, 2 * link + 1)] {
            if let (Some(&agent), Some(&mobile)) = (agent_at.get(&agent), mobile_at.get(&mobile)) {
                let (agent, mobile) = (&mut agents[agent], &mut mobiles[mobile]);
                agent.radios.push((mobile.address, to_mobile));
                mobile.radios.push((agent.ip, to_mobile ^ 1, to_mobile));
            }
        }
    }
    (agents, mobiles)
}

/// The home agents by name: the address of each, and those of its mobiles.
#[derive(Default)]
struct Homes<'s> {
    addresses: BTreeMap<&'s str, Ipv4Addr>,
    mobiles: BTreeMap<&'s str, Vec<Ipv4Addr>>,
}

impl<'s> Homes<'s> {
    fn of(scenario: &'s Scenario, routes: &Routes) -> Self {
        let mut homes = Self::default();
        for (node, spec) in scenario.nodes.iter().enumerate() {
            let Some((_, ip)) = address_of(routes, node) else { continue };
            if spec.kind == NodeKind::HomeAgent {
                homes.addresses.insert(&spec.name, ip);
            }
            if let Some(mobile) = &spec.mobile {
                homes.mobiles.entry(&mobile.home_agent).or_default().push(ip);
            }
        }
        homes
    }
}

fn agent(
    homes: &Homes<'_>,
    routes: &Routes,
    (node, spec): (usize, &NodeSpec),
    everybody: AddressId,
) -> Option<AgentNode> {
    let (address, ip) = address_of(routes, node).filter(|_| spec.kind.is_agent())?;
    let options = spec.agent.unwrap_or_default();
    let role = if spec.kind == NodeKind::HomeAgent {
        let mobiles = homes.mobiles.get(spec.name.as_str()).map_or(&[][..], Vec::as_slice);
        Role::Home(HomeAgent::new(ip, options, mobiles))
    } else {
        Role::Foreign(ForeignAgent::new(ip, options))
    };
    Some(AgentNode::new(node, ip, address, everybody, role))
}

fn mobile(homes: &Homes<'_>, routes: &Routes, (node, spec): (usize, &NodeSpec)) -> Option<MobileNode> {
    let mobile = spec.mobile.as_ref()?;
    let (address, ip) = address_of(routes, node)?;
    let home_agent = *homes.addresses.get(mobile.home_agent.as_str())?;
    Some(MobileNode::new(node, address, ip, home_agent, mobile.options))
}

fn middlebox(routes: &Routes, (node, spec): (usize, &NodeSpec)) -> Option<MiddleboxNode> {
    let options = spec.middlebox.as_ref()?.options;
    let Outside { link, public } = routes.outside(node)?;
    // A NAT alone has an address.
    let public = public.unwrap_or_default() as u32;
    Some(MiddleboxNode::new(node, link, options.word(), options.build(public)))
}
