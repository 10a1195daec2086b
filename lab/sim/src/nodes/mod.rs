//! Nodes that do more than forward: mobility agents, mobiles, middleboxes. Each kind is one file that
//! implements [`Node`]; the simulation dispatches packets, deadlines and actions to them.
//!
//! Plain routers are tables of the [`Network`], and the transports of hosts belong to the simulation.

mod agent;
mod datagram;
mod middlebox;
mod mobile;
mod set_up;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use msctp_units::Time;

use crate::event::{EventQueue, Target};
use crate::network::Network;
use crate::packet::{AddressId, Packet, PacketId};
use crate::scenario::{DirectionIndex, Interface, MiddleboxChange, Scenario};
use crate::summary::Summary;

pub(crate) use set_up::EVERYBODY;

/// A node's behaviour.
pub(crate) trait Node: fmt::Debug + Send {
    /// Runs once, at the start of the simulation.
    fn begin(&mut self, wire: &mut Wire<'_>) {
        let _ = wire;
    }

    /// Handles a packet that arrived over a hop: forwards or releases it.
    fn receive(&mut self, wire: &mut Wire<'_>, from: DirectionIndex, id: PacketId);

    /// Returns the next deadline; [`Time::MAX`]: none.
    fn poll_timeout(&self) -> Time {
        Time::MAX
    }

    /// Handles the deadline.
    fn on_timeout(&mut self, wire: &mut Wire<'_>) {
        let _ = wire;
    }

    /// Records that a data packet was delivered to the transports of this host.
    fn delivered(&mut self, now: Time) {
        let _ = now;
    }

    /// Executes an action on a middlebox.
    fn change(&mut self, change: MiddleboxChange) {
        let _ = change;
    }

    /// Adds the node's counters to the summary.
    fn summarize(&self, names: &Names<'_>, summary: &mut Summary);
}

/// The parts of the simulation that nodes use.
pub(crate) struct Wire<'s> {
    pub(crate) now: Time,
    pub(crate) network: &'s mut Network,
    pub(crate) events: &'s mut EventQueue,
    /// The numbers of addresses.
    pub(crate) numbers: &'s BTreeMap<IpAddr, AddressId>,
    /// Addresses by number.
    pub(crate) addresses: &'s [IpAddr],
}

impl Wire<'_> {
    fn number(&self, address: Ipv4Addr) -> Option<AddressId> {
        self.numbers.get(&IpAddr::V4(address)).copied()
    }

    fn ip(&self, address: AddressId) -> Option<Ipv4Addr> {
        match self.addresses[address.index()] {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        }
    }

    fn send_over(&mut self, hop: DirectionIndex, packet: Packet) {
        let id = self.network.pool.insert(packet);
        self.pass_over(hop, id);
    }

    fn pass_over(&mut self, hop: DirectionIndex, id: PacketId) {
        let wire_len = self.network.pool.packet(id).wire_len;
        self.network.offer(self.now, self.events, hop, id, wire_len);
    }

    /// Forwards a packet by the node's routing table.
    fn forward(&mut self, node: usize, id: PacketId) {
        self.network.forward(self.now, self.events, node, id);
    }

    /// Drops a packet that no node accepts.
    pub(crate) fn stray(&mut self, id: PacketId) {
        self.network.strays.no_address += 1;
        self.network.pool.release(id);
    }
}

/// Names of a scenario's nodes, for the summary.
pub(crate) struct Names<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) interfaces: &'s [Interface],
}

impl Names<'_> {
    /// Returns the name of a node.
    fn of(&self, node: usize) -> String {
        self.scenario.nodes[node].name.clone()
    }

    /// Returns the name of the node with an address, or the address if no node has it.
    fn of_address(&self, address: IpAddr) -> String {
        let owner = self.interfaces.iter().find(|interface| interface.address == address);
        owner.map_or_else(|| address.to_string(), |interface| self.of(interface.node))
    }
}

/// A node and its wake-up.
#[derive(Debug)]
struct Entry {
    behaviour: Box<dyn Node>,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
}

/// All nodes with a behaviour, by number.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    entries: Vec<Entry>,
    /// Number of each node of the scenario in this list; empty without any.
    numbers: Vec<Option<u32>>,
}

impl Nodes {
    /// Returns the number of a node of the scenario that has a behaviour.
    #[inline]
    pub(crate) fn number(&self, node: usize) -> Option<u32> {
        *self.numbers.get(node)?
    }

    /// Runs the start of every node and schedules the first deadlines.
    pub(crate) fn begin(&mut self, wire: &mut Wire<'_>) {
        for entry in &mut self.entries {
            entry.behaviour.begin(wire);
        }
        for number in 0..self.entries.len() {
            self.arm(wire, number);
        }
    }

    /// Calls a node and schedules its next deadline.
    pub(crate) fn call<T>(
        &mut self,
        wire: &mut Wire<'_>,
        number: u32,
        act: impl FnOnce(&mut dyn Node, &mut Wire<'_>) -> T,
    ) -> T {
        let number = number as usize;
        let result = act(&mut *self.entries[number].behaviour, wire);
        self.arm(wire, number);
        result
    }

    /// Handles a node's wake-up.
    pub(crate) fn on_timer(&mut self, wire: &mut Wire<'_>, number: u32) {
        let entry = &mut self.entries[number as usize];
        // A wake-up that an earlier one replaced is still in the queue.
        if entry.wake <= wire.now {
            entry.wake = Time::MAX;
        }
        self.call(wire, number, |node, wire| node.on_timeout(wire));
    }

    /// Records that a data packet was delivered to a host.
    #[inline]
    pub(crate) fn delivered(&mut self, now: Time, host: u32) {
        if let Some(number) = self.number(host as usize) {
            self.entries[number as usize].behaviour.delivered(now);
        }
    }

    /// Adds the counters of every node to the summary.
    pub(crate) fn summarize(&self, names: &Names<'_>, summary: &mut Summary) {
        for entry in &self.entries {
            entry.behaviour.summarize(names, summary);
        }
    }

    fn arm(&mut self, wire: &mut Wire<'_>, number: usize) {
        let entry = &mut self.entries[number];
        let next = entry.behaviour.poll_timeout();
        if next < entry.wake {
            entry.wake = next;
            wire.events.push(next, Target::Node(number as u32));
        }
    }
}
