//! Routing: addresses, interfaces and routers' tables, computed once from a scenario's topology.
//!
//! Everything has a dense index: nodes and links in the order of the scenario, a link's directions as
//! `2·link` (forward) and `2·link + 1` (reverse), addresses in the order of the links' ends. Link ends must
//! name nodes.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::{MiddleboxOptions, NodeKind, NodeSpec, Scenario};

/// Index of a link's direction.
pub(crate) type DirectionIndex = usize;

/// An address and its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) address: IpAddr,
    /// The host or agent.
    pub(crate) node: usize,
    /// The link.
    pub(crate) link: usize,
    /// The direction of the link that leads away from the host.
    pub(crate) egress: DirectionIndex,
}

/// The resolved topology.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Every interface of a host or agent. Its index is the address's number.
    pub(crate) interfaces: Vec<Interface>,
    /// The node to which each link direction leads.
    pub(crate) leads_to: Vec<usize>,
    /// Table of each node: empty for a host; for a router, the direction to each address, or `NO_ROUTE`.
    pub(crate) tables: Vec<Vec<u32>>,
    /// The outside of each node that is a middlebox.
    outsides: Vec<Option<Outside>>,
    by_address: BTreeMap<IpAddr, usize>,
    /// Numbers of the interfaces of each node.
    of_node: Vec<Vec<usize>>,
}

/// The outside of a middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    /// The link to the outside.
    pub(crate) link: usize,
    /// Number of the address at its end; `None` unless the middlebox is a NAT.
    pub(crate) public: Option<usize>,
}

/// Entry of a router's table without a route to the address.
pub(crate) const NO_ROUTE: u32 = u32::MAX;

impl Routes {
    /// Resolves the topology. Ignores link ends that name no node.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let names: BTreeMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
        let mut interfaces = Vec::new();
        let mut leads_to = Vec::new();
        let mut neighbours: Vec<Vec<(DirectionIndex, usize)>> = vec![Vec::new(); scenario.nodes.len()];
        for (index, link) in scenario.links.iter().enumerate() {
            let ends = (names.get(link.a.as_str()), names.get(link.b.as_str()));
            let (Some(&a), Some(&b)) = ends else {
                leads_to.extend([usize::MAX, usize::MAX]);
                continue;
            };
            leads_to.extend([b, a]);
            for (address, node, egress, other) in
                [(link.address_a, a, 2 * index, b), (link.address_b, b, 2 * index + 1, a)]
            {
                neighbours[node].push((egress, other));
                if let Some(address) = address.filter(|_| scenario.nodes[node].kind != NodeKind::Router) {
                    interfaces.push(Interface { address, node, link: index, egress });
                }
            }
        }
        let tables = (0..scenario.nodes.len())
            .map(|node| match scenario.nodes[node].kind {
                NodeKind::Host => Vec::new(),
                NodeKind::Router | NodeKind::HomeAgent | NodeKind::ForeignAgent | NodeKind::Middlebox => {
                    table(scenario, &neighbours, &interfaces, &leads_to, node)
                }
            })
            .collect();
        let by_address = interfaces.iter().enumerate().map(|(i, interface)| (interface.address, i)).collect();
        let mut of_node = vec![Vec::new(); scenario.nodes.len()];
        for (number, interface) in interfaces.iter().enumerate() {
            of_node[interface.node].push(number);
        }
        let outsides = outsides(scenario, &interfaces, &of_node);
        Self { interfaces, leads_to, tables, outsides, by_address, of_node }
    }

    /// Returns the interfaces of a node with their numbers.
    pub(crate) fn interfaces_of(&self, node: usize) -> impl Iterator<Item = (usize, &Interface)> {
        self.of_node[node].iter().map(|&number| (number, &self.interfaces[number]))
    }

    /// Returns the outside of a node that is a middlebox.
    pub(crate) fn outside(&self, node: usize) -> Option<Outside> {
        self.outsides[node]
    }

    /// Returns the link to the outside of a NAT with the NAT's address.
    fn nat(&self, node: usize) -> Option<(usize, IpAddr)> {
        let Outside { link, public } = self.outsides[node]?;
        Some((link, self.interfaces[public?].address))
    }

    /// Returns the number of an address.
    pub(crate) fn number_of(&self, address: IpAddr) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    /// Returns the interface that has the address.
    pub(crate) fn interface(&self, address: IpAddr) -> Option<&Interface> {
        self.interfaces.get(self.number_of(address)?)
    }

    /// Returns true if a NAT has the address.
    pub(crate) fn is_nat(&self, address: IpAddr) -> bool {
        self.interface(address).is_some_and(|interface| self.nat(interface.node).is_some())
    }

    /// Returns the last NAT on the way that translates the source, with its address; `None` without one.
    pub(crate) fn translation(&self, from: &Interface, to: &Interface) -> Option<(usize, IpAddr)> {
        let path = self.path(from, to).ok()?;
        let mut nats = path.windows(2).filter_map(|hops| {
            let node = self.leads_to[hops[0]];
            let (outside, address) = self.nat(node)?;
            (hops[1] / 2 == outside && hops[0] / 2 != outside).then_some((node, address))
        });
        nats.next_back()
    }

    /// Returns the link directions that a packet takes, or the node without a route.
    pub(crate) fn path(&self, from: &Interface, to: &Interface) -> Result<Vec<DirectionIndex>, usize> {
        let mut path = vec![from.egress];
        loop {
            let node = self.leads_to[path[path.len() - 1]];
            if node == to.node {
                return Ok(path);
            }
            let number = self.number_of(to.address).ok_or(node)?;
            match self.tables[node].get(number) {
                Some(&next) if next != NO_ROUTE => path.push(next as usize),
                _ => return Err(node),
            }
        }
    }
}

/// Finds the outside of each middlebox.
fn outsides(scenario: &Scenario, interfaces: &[Interface], of_node: &[Vec<usize>]) -> Vec<Option<Outside>> {
    let links: BTreeMap<&str, usize> =
        scenario.links.iter().enumerate().map(|(number, link)| (link.name.as_str(), number)).collect();
    let outside = |(node, spec): (usize, &NodeSpec)| {
        let middlebox = spec.middlebox.as_ref()?;
        let link = *links.get(middlebox.outside.as_str())?;
        let is_nat = matches!(middlebox.options, MiddleboxOptions::Nat(_));
        let public = of_node[node].iter().copied().find(|&own| is_nat && interfaces[own].link == link);
        Some(Outside { link, public })
    };
    scenario.nodes.iter().enumerate().map(outside).collect()
}

/// Computes a router's table, breadth first over the routers: fewest links first, then the order of
/// declaration.
fn table(
    scenario: &Scenario,
    neighbours: &[Vec<(DirectionIndex, usize)>],
    interfaces: &[Interface],
    leads_to: &[usize],
    router: usize,
) -> Vec<u32> {
    let mut first_hop = vec![NO_ROUTE; neighbours.len()];
    let mut queue = VecDeque::from([router]);
    while let Some(node) = queue.pop_front() {
        for &(egress, next) in &neighbours[node] {
            if next != router && first_hop[next] == NO_ROUTE && scenario.nodes[next].kind.forwards() {
                first_hop[next] = if node == router { egress as u32 } else { first_hop[node] };
                queue.push_back(next);
            }
        }
    }
    interfaces
        .iter()
        .map(|interface| {
            // The last hop is the interface's own link: each address of a host is reached over its own link.
            let last = leads_to[interface.egress];
            if last == router { (interface.egress ^ 1) as u32 } else { first_hop[last] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{DirectionSpec, LinkSpec, LossConfig, NodeSpec, PlainSpec, QueueLimit};
    use super::*;
    use msctp_units::{Rate, Span};

    fn scenario(nodes: &[&str], links: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::empty("t", Span::from_secs(1), 1);
        for &name in nodes {
            let kind = if name.starts_with('r') { NodeKind::Router } else { NodeKind::Host };
            scenario.nodes.push(NodeSpec::new(name, kind));
        }
        for (i, &(a, b)) in links.iter().enumerate() {
            let direction = DirectionSpec::Plain(PlainSpec {
                rate: Rate::from_mbps(1),
                delay: Span::ZERO,
                queue: QueueLimit::Unbounded,
                loss: LossConfig::None,
                discipline: Default::default(),
                jitter: Span::ZERO,
                reorder: None,
            });
            let address =
                |node: &str, end: u8| (!node.starts_with('r')).then(|| [10, 0, i as u8, end].into());
            scenario.links.push(LinkSpec {
                name: format!("l{i}"),
                a: a.into(),
                b: b.into(),
                address_a: address(a, 1),
                address_b: address(b, 2),
                mtu: 1500,
                loss_means: msctp_congestion::classifier::Cause::Wireless,
                up: true,
                mark: [None; 2],
                coding: None,
                report_quality: true,
                forward: direction.clone(),
                reverse: direction,
            });
        }
        scenario
    }

    fn path(routes: &Routes, from: [u8; 4], to: [u8; 4]) -> Result<Vec<usize>, usize> {
        routes.path(routes.interface(from.into()).unwrap(), routes.interface(to.into()).unwrap())
    }

    #[test]
    fn each_address_of_a_host_is_reached_over_its_own_link() {
        // cn - r1 - r2 - mn and r1 - r3 - mn.
        let s = scenario(
            &["cn", "mn", "r1", "r2", "r3"],
            &[("cn", "r1"), ("r1", "r2"), ("r1", "r3"), ("r2", "mn"), ("r3", "mn")],
        );
        let routes = Routes::of(&s);
        assert_eq!(path(&routes, [10, 0, 0, 1], [10, 0, 3, 2]), Ok(vec![0, 2, 6]));
        assert_eq!(path(&routes, [10, 0, 0, 1], [10, 0, 4, 2]), Ok(vec![0, 4, 8]));
        // Each address is also sent from over its own link.
        assert_eq!(path(&routes, [10, 0, 4, 2], [10, 0, 0, 1]), Ok(vec![9, 5, 1]));
    }

    #[test]
    fn the_fewest_links_win_and_hosts_do_not_forward() {
        // Both r1 and r3 are attached to h: a shortcut if hosts forwarded.
        let s = scenario(
            &["a", "b", "h", "r1", "r2", "r3"],
            &[("a", "r1"), ("r1", "h"), ("h", "r3"), ("r1", "r2"), ("r2", "r3"), ("r1", "r3"), ("r3", "b")],
        );
        let routes = Routes::of(&s);
        assert_eq!(path(&routes, [10, 0, 0, 1], [10, 0, 6, 2]), Ok(vec![0, 10, 12]));
        let s = scenario(&["a", "b", "h", "r1", "r3"], &[("a", "r1"), ("r1", "h"), ("h", "r3"), ("r3", "b")]);
        let routes = Routes::of(&s);
        assert_eq!(path(&routes, [10, 0, 0, 1], [10, 0, 3, 2]), Err(3));
    }

    #[test]
    fn two_hosts_may_share_a_link() {
        let s = scenario(&["a", "b"], &[("a", "b")]);
        let routes = Routes::of(&s);
        assert_eq!(path(&routes, [10, 0, 0, 1], [10, 0, 0, 2]), Ok(vec![0]));
    }
}
