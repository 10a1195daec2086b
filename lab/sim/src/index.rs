//! [`Index`]: finds the associations and interfaces of a host or a link without looking at all of them.

use std::collections::BTreeMap;

use crate::line::Line;
use crate::scenario::{Interface, Side};

/// The key of an association without NAT: hosts of server and client, ports of client and server.
type Ends = (u32, u32, (u16, u16));

/// Associations by host and interfaces by node and link, each list in the order of the scenario.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Ends of associations on each node, the client's end of an association first.
    ends: Vec<Vec<(u32, Side)>>,
    /// Numbers of the interfaces of each node.
    of_node: Vec<Vec<u32>>,
    /// Numbers of the interfaces on each link.
    of_link: Vec<Vec<u32>>,
    /// The first association between two hosts with these ports; empty if a NAT translates addresses.
    between: BTreeMap<Ends, u32>,
    /// A NAT translates addresses.
    translated: bool,
}

impl Index {
    pub(crate) fn new(
        (nodes, links): (usize, usize),
        lines: &[Line],
        ports: &[(u16, u16)],
        interfaces: &[Interface],
    ) -> Self {
        let mut index = Self {
            ends: vec![Vec::new(); nodes],
            of_node: vec![Vec::new(); nodes],
            of_link: vec![Vec::new(); links],
            between: BTreeMap::new(),
            translated: lines.iter().any(Line::has_translations),
        };
        for (number, (line, &ports)) in lines.iter().zip(ports).enumerate() {
            let [client, server] = [Side::Client, Side::Server].map(|side| line.end(side).host);
            index.ends[client as usize].push((number as u32, Side::Client));
            index.ends[server as usize].push((number as u32, Side::Server));
            if !index.translated {
                index.between.entry((server, client, ports)).or_insert(number as u32);
            }
        }
        for (number, interface) in interfaces.iter().enumerate() {
            index.of_node[interface.node].push(number as u32);
            index.of_link[interface.link].push(number as u32);
        }
        index
    }

    /// Returns true if a NAT translates the addresses of some association.
    pub(crate) fn is_translated(&self) -> bool {
        self.translated
    }

    /// Returns the ends of associations on a node.
    pub(crate) fn ends(&self, node: u32) -> &[(u32, Side)] {
        self.ends.get(node as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the numbers of a node's interfaces.
    pub(crate) fn interfaces_of(&self, node: u32) -> &[u32] {
        &self.of_node[node as usize]
    }

    /// Returns the numbers of the interfaces on a link.
    pub(crate) fn interfaces_on(&self, link: usize) -> &[u32] {
        &self.of_link[link]
    }

    /// Returns the association between two hosts with these ports of client and server. Also returns `None`
    /// if a NAT translates addresses; the caller must then search all associations.
    pub(crate) fn between(&self, server: u32, client: u32, ports: (u16, u16)) -> Option<u32> {
        self.between.get(&(server, client, ports)).copied()
    }
}
