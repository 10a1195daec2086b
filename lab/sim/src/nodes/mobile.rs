//! Mobiles of Mobile IP: carries messages and timers between the state machine and the network, and selects
//! the base station.

use std::net::Ipv4Addr;

use msctp_units::{Span, Time};

use super::datagram::{pack, unpack};
use super::{Names, Node, Wire};
use crate::mobile_ip::MobileOptions;
use crate::mobile_ip::message::advertisement::Advertisement;
use crate::mobile_ip::mobile::{Mobile, Note};
use crate::packet::{AddressId, Body, PacketId};
use crate::scenario::DirectionIndex;
use crate::summary::{MobileHandoverSummary, MobileSummary, Summary};

/// A change of the agent, and its outcome.
#[derive(Clone, Debug)]
struct Handover {
    at: Time,
    to: Ipv4Addr,
    /// Time of the home agent's acceptance, and number of requests.
    registered: Option<(Time, u32)>,
    /// Time of the last data packet before the acceptance.
    before: Option<Time>,
    /// Time from that packet to the first data packet after the acceptance.
    gap: Option<Span>,
}

/// A mobile in the simulation.
#[derive(Debug)]
pub(super) struct MobileNode {
    pub(super) node: usize,
    pub(super) address: AddressId,
    machine: Mobile,
    /// The mobile's links to agents, each with the hop to the agent and the hop from it.
    pub(super) radios: Vec<(Ipv4Addr, DirectionIndex, DirectionIndex)>,
    scan: Span,
    next_scan: Time,
    /// Time of the last data packet.
    last_packet: Option<Time>,
    handovers: Vec<Handover>,
    renewals: u64,
    denied: u64,
    /// Times at which the mobile lost its last agent.
    lost: Vec<Time>,
    used_before: bool,
}

impl MobileNode {
    pub(super) fn new(
        node: usize,
        address: AddressId,
        home_address: Ipv4Addr,
        home_agent: Ipv4Addr,
        options: MobileOptions,
    ) -> Self {
        Self {
            node,
            address,
            machine: Mobile::new(home_address, home_agent, options),
            radios: Vec::new(),
            scan: options.scan,
            next_scan: Time::ZERO,
            last_packet: None,
            handovers: Vec::new(),
            renewals: 0,
            denied: 0,
            lost: Vec::new(),
            used_before: false,
        }
    }

    /// Selects the host's base station, and drains datagrams and events.
    fn settle(&mut self, wire: &mut Wire<'_>) {
        let attached = self.machine.attached();
        if let Some(&(_, hop, _)) = self.radios.iter().find(|(agent, ..)| Some(*agent) == attached) {
            wire.network.set_egress(self.address, hop);
        }
        while let Some(datagram) = self.machine.poll_transmit() {
            match pack(wire, &datagram) {
                Some(packet) => wire.network.send(wire.now, wire.events, packet),
                None => wire.network.strays.no_route += 1,
            }
        }
        while let Some(note) = self.machine.poll_note() {
            self.take_note(wire.now, note);
        }
    }

    fn take_note(&mut self, now: Time, note: Note) {
        match note {
            // The first agent is no handover.
            Note::Switched { to } if self.used_before => {
                self.handovers.push(Handover { at: now, to, registered: None, before: None, gap: None });
            }
            Note::Switched { .. } => self.used_before = true,
            Note::Registered { renewal: true, .. } => self.renewals += 1,
            Note::Registered { attempts, .. } => {
                if let Some(handover) = self.handovers.last_mut() {
                    handover.registered = Some((now, attempts));
                    handover.before = self.last_packet;
                }
            }
            Note::Denied { .. } => self.denied += 1,
            Note::Lost => self.lost.push(now),
        }
    }
}

impl Node for MobileNode {
    fn begin(&mut self, wire: &mut Wire<'_>) {
        self.on_timeout(wire);
    }

    /// Handles a signalling packet.
    fn receive(&mut self, wire: &mut Wire<'_>, _from: DirectionIndex, id: PacketId) {
        let packet = wire.network.pool.packet(id);
        if packet.body == Body::Icmp {
            if let Some(advertisement) = Advertisement::parse(&packet.bytes) {
                self.machine.handle_advertisement(wire.now, &advertisement);
            }
        } else if let Some(datagram) = unpack(wire, id) {
            self.machine.handle_datagram(wire.now, &datagram);
        }
        wire.network.pool.release(id);
        self.settle(wire);
    }

    fn poll_timeout(&self) -> Time {
        self.machine.poll_timeout().min(self.next_scan)
    }

    fn on_timeout(&mut self, wire: &mut Wire<'_>) {
        if self.next_scan <= wire.now {
            self.next_scan = wire.now + self.scan;
            let mut heard: Vec<(i32, Ipv4Addr)> = self
                .radios
                .iter()
                .filter_map(|&(agent, _, from)| Some((wire.network.receive_power(wire.now, from)?, agent)))
                .collect();
            // The strongest first; of equal ones, the link declared first.
            heard.sort_by_key(|&(power, _)| std::cmp::Reverse(power));
            self.machine.set_covered(heard.into_iter().map(|(_, agent)| agent).collect());
        }
        self.machine.handle_timeout(wire.now);
        self.settle(wire);
    }

    fn delivered(&mut self, now: Time) {
        self.last_packet = Some(now);
        if let Some(handover) = self.handovers.last_mut()
            && let Some(before) = handover.before.take()
        {
            handover.gap = Some(now.since(before));
        }
    }

    fn summarize(&self, names: &Names<'_>, summary: &mut Summary) {
        let handovers = self.handovers.iter().map(|handover| MobileHandoverSummary {
            at: handover.at.as_secs_f64(),
            to: names.of_address(handover.to.into()),
            registered: handover.registered.map(|(at, _)| at.as_secs_f64()),
            requests: handover.registered.map(|(_, requests)| requests),
            gap: handover.gap.map(|gap| gap.as_secs_f64()),
        });
        summary.mobile_ip.get_or_insert_default().mobiles.push(MobileSummary {
            name: names.of(self.node),
            handovers: handovers.collect(),
            renewals: self.renewals,
            denied: self.denied,
            lost: self.lost.iter().copied().map(Time::as_secs_f64).collect(),
        });
    }
}
