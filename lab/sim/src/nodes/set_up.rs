//! Creates the nodes of a checked scenario.

use std::net::{IpAddr, Ipv4Addr};

use msctp_units::Time;

use super::agent::{AgentNode, Role};
use super::middlebox::MiddleboxNode;
use super::mobile::MobileNode;
use super::{Entry, Node, Nodes};
use crate::mobile_ip::foreign_agent::ForeignAgent;
use crate::mobile_ip::home_agent::HomeAgent;
use crate::packet::AddressId;
use crate::scenario::{Interface, MiddleboxSpec, NodeKind, NodeSpec, Routes, Scenario};

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
            if let Some(middlebox) = middlebox(scenario, routes, (node, spec)) {
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
    routes.interfaces.iter().enumerate().find_map(|(number, interface)| match interface.address {
        IpAddr::V4(ip) if interface.node == node => Some((AddressId(number as u32), ip)),
        _ => None,
    })
}

/// Creates agents and mobiles, with the links between them.
fn mobile_ip(
    scenario: &Scenario,
    routes: &Routes,
    everybody: AddressId,
) -> (Vec<AgentNode>, Vec<MobileNode>) {
    let numbered = || scenario.nodes.iter().enumerate();
    let (mut agents, mut mobiles): (Vec<AgentNode>, Vec<MobileNode>) =
        numbered().fold((Vec::new(), Vec::new()), |(mut agents, mut mobiles), (node, spec)| {
            agents.extend(agent(scenario, routes, (node, spec), everybody));
            mobiles.extend(mobile(scenario, routes, (node, spec)));
            (agents, mobiles)
        });
    for link in 0..scenario.links.len() {
        // For the forward direction, leads_to is the link's end b.
        let (a, b) = (routes.leads_to[2 * link + 1], routes.leads_to[2 * link]);
        for (agent, mobile, to_mobile) in [(a, b, 2 * link), (b, a, 2 * link + 1)] {
            let agent = agents.iter_mut().find(|it| it.node == agent);
            let mobile = mobiles.iter_mut().find(|it| it.node == mobile);
            if let (Some(agent), Some(mobile)) = (agent, mobile) {
                agent.radios.push((mobile.address, to_mobile));
                mobile.radios.push((agent.ip, to_mobile ^ 1, to_mobile));
            }
        }
    }
    (agents, mobiles)
}

fn agent(
    scenario: &Scenario,
    routes: &Routes,
    (node, spec): (usize, &NodeSpec),
    everybody: AddressId,
) -> Option<AgentNode> {
    let (address, ip) = address_of(routes, node).filter(|_| spec.kind.is_agent())?;
    let options = spec.agent.unwrap_or_default();
    let role = if spec.kind == NodeKind::HomeAgent {
        let its = |(_, other): &(usize, &NodeSpec)| {
            other.mobile.as_ref().is_some_and(|mobile| mobile.home_agent == spec.name)
        };
        let mobiles = scenario.nodes.iter().enumerate().filter(its);
        let mobiles: Vec<Ipv4Addr> =
            mobiles.filter_map(|(node, _)| Some(address_of(routes, node)?.1)).collect();
        Role::Home(HomeAgent::new(ip, options, &mobiles))
    } else {
        Role::Foreign(ForeignAgent::new(ip, options))
    };
    Some(AgentNode::new(node, ip, address, everybody, role))
}

fn mobile(scenario: &Scenario, routes: &Routes, (node, spec): (usize, &NodeSpec)) -> Option<MobileNode> {
    let mobile = spec.mobile.as_ref()?;
    let home_agent = scenario.nodes.iter().position(|node| node.name == mobile.home_agent)?;
    let (address, ip) = address_of(routes, node)?;
    let (_, home_agent) = address_of(routes, home_agent)?;
    Some(MobileNode::new(node, address, ip, home_agent, mobile.options))
}

fn middlebox(
    scenario: &Scenario,
    routes: &Routes,
    (node, spec): (usize, &NodeSpec),
) -> Option<MiddleboxNode> {
    let MiddleboxSpec { outside, options } = spec.middlebox.as_ref()?;
    let outside = scenario.links.iter().position(|link| link.name == *outside)?;
    let its = |interface: &Interface| interface.node == node && interface.link == outside;
    // A NAT alone has an address.
    let public = routes.interfaces.iter().position(its).unwrap_or_default() as u32;
    Some(MiddleboxNode::new(node, outside, options.word(), options.build(public)))
}
