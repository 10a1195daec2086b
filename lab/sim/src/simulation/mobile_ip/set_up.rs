//! Creates the agents and mobiles of a checked scenario.

use std::net::{IpAddr, Ipv4Addr};

use super::{AgentNode, MobileIp, MobileNode, Role};
use crate::mobile_ip::foreign_agent::ForeignAgent;
use crate::mobile_ip::home_agent::HomeAgent;
use crate::packet::AddressId;
use crate::scenario::{NodeKind, Routes, Scenario};

/// The address of all hosts on a link: agents advertise to it (RFC 5944 §2.1).
pub(crate) const EVERYBODY: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// Returns the first address of a node.
fn address_of(routes: &Routes, node: usize) -> Option<(AddressId, Ipv4Addr)> {
    routes.interfaces.iter().enumerate().find_map(|(number, interface)| match interface.address {
        IpAddr::V4(ip) if interface.node == node => Some((AddressId(number as u32), ip)),
        _ => None,
    })
}

impl MobileIp {
    /// Returns `None` if the scenario has neither agents nor mobiles. `everybody`: the number of
    /// [`EVERYBODY`].
    pub(crate) fn of(scenario: &Scenario, routes: &Routes, everybody: AddressId) -> Option<Self> {
        let node_of = |name: &str| scenario.nodes.iter().position(|node| node.name == name);
        let mut world = Self { agents: Vec::new(), mobiles: Vec::new(), everybody };
        for (node, spec) in scenario.nodes.iter().enumerate() {
            let Some(mobile) = &spec.mobile else { continue };
            let (address, ip) = address_of(routes, node)?;
            let (_, home_agent) = address_of(routes, node_of(&mobile.home_agent)?)?;
            world.mobiles.push(MobileNode::new(node, address, ip, home_agent, mobile.options));
        }
        for (node, spec) in scenario.nodes.iter().enumerate() {
            if !spec.kind.is_agent() {
                continue;
            }
            let (address, ip) = address_of(routes, node)?;
            let options = spec.agent.unwrap_or_default();
            let role = if spec.kind == NodeKind::HomeAgent {
                let its = |m: &&crate::scenario::NodeSpec| {
                    m.mobile.as_ref().is_some_and(|mobile| mobile.home_agent == spec.name)
                };
                let mobiles: Vec<Ipv4Addr> = scenario
                    .nodes
                    .iter()
                    .filter(its)
                    .filter_map(|m| Some(address_of(routes, node_of(&m.name)?)?.1))
                    .collect();
                Role::Home(HomeAgent::new(ip, options, &mobiles))
            } else {
                Role::Foreign(ForeignAgent::new(ip, options))
            };
            world.agents.push(AgentNode::new(node, ip, address, role));
        }
        for link in 0..scenario.links.len() {
            // For the forward direction, leads_to is the link's end b.
            let (a, b) = (routes.leads_to[2 * link + 1], routes.leads_to[2 * link]);
            for (agent, mobile, to_mobile) in [(a, b, 2 * link), (b, a, 2 * link + 1)] {
                let agent = world.agents.iter_mut().find(|it| it.node == agent);
                let mobile = world.mobiles.iter_mut().find(|it| it.node == mobile);
                if let (Some(agent), Some(mobile)) = (agent, mobile) {
                    agent.radios.push((mobile.address, to_mobile));
                    mobile.radios.push((agent.ip, to_mobile ^ 1, to_mobile));
                }
            }
        }
        (!world.agents.is_empty() || !world.mobiles.is_empty()).then_some(world)
    }

    /// Returns the number of the agent at a node.
    pub(crate) fn agent_at(&self, node: usize) -> Option<u32> {
        self.agents.iter().position(|agent| agent.node == node).map(|number| number as u32)
    }
}
