//! Why packets were lost, told to those who sent them: the truth that loss classifiers are measured by, and
//! that the classifier `oracle` is asked for.
//!
//! A yardstick, not a protocol: no byte on any link depends on it unless a sender uses the oracle. The hop
//! that loses a packet says why; the packet is kept aside until its sender's transport was told, by the
//! position of its data in the stream. Nothing is kept when no sender of the scenario tells losses apart.

use msctp_congestion::classifier::Cause;
use msctp_link::{DropReason, LossReason};

use crate::capture::ip_header_len;
use crate::packet::{Body, PacketId, PacketPool};
use crate::scenario::{Scenario, Side};
use crate::simulation::Simulation;

/// Packets that were lost and whose senders have not been told yet.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Somebody wants to know.
    on: bool,
    packets: Vec<(PacketId, Cause)>,
}

/// Why a link that does not take a packet loses it: a full queue is congestion; a link that is down is no
/// queue.
pub(crate) fn dropped(reason: DropReason) -> Cause {
    match reason {
        DropReason::QueueFull => Cause::Congestion,
        DropReason::LinkDown => Cause::Wireless,
    }
}

/// Why a link loses a packet inside. `channel`: what its loss process stands for.
pub(crate) fn lost(reason: LossReason, channel: Cause) -> Cause {
    if reason == LossReason::Channel { channel } else { Cause::Wireless }
}

impl Lost {
    /// On when a sender of the scenario tells losses apart.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let none = msctp_congestion::classifier::None::NAME;
        let tcp = scenario.tcp_profiles.iter().any(|profile| profile.config.loss_classifier != none);
        let sctp = scenario.sctp.iter().any(|profile| profile.config.loss_classifier != none);
        Self { on: tcp || sctp, packets: Vec::new() }
    }

    /// A packet was lost; `cause`: why, if it is known.
    #[inline]
    pub(crate) fn lose(&mut self, pool: &mut PacketPool, id: PacketId, cause: Option<Cause>) {
        match cause.filter(|_| self.on) {
            Some(cause) => self.packets.push((id, cause)),
            None => pool.release(id),
        }
    }

    /// Is there anything to tell?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Simulation {
    /// Tells senders why their packets were lost.
    #[cold]
    pub(crate) fn tell_losses(&mut self) {
        let mut packets = std::mem::take(&mut self.network.lost.packets);
        for (id, cause) in packets.drain(..) {
            match self.network.pool.packet(id).body {
                Body::Tcp { connection, to } => {
                    self.tell_tcp_loss(connection as usize, to.other(), id, cause);
                }
                Body::Sctp => self.tell_sctp_loss(id, cause),
                _ => {}
            }
            self.network.pool.release(id);
        }
        self.network.lost.packets = packets;
    }

    /// The sender's association is that between the packet's ports whose end is at the host of its source
    /// address.
    fn tell_sctp_loss(&mut self, id: PacketId, cause: Cause) {
        let packet = self.network.pool.packet(id);
        let source = packet.inner.map_or(packet.source, |(source, _)| source);
        let number = self.network.ports[source.index()].host;
        let Some(&[a, b, c, d]) = packet.bytes.first_chunk() else { return };
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let sides = [Side::Client, Side::Server];
        let ends = (0..self.lines.len()).flat_map(|line| sides.map(|side| (line, side)));
        let mut handle = ends.filter_map(|(line, side)| {
            let (client, server) = self.ports[line];
            let own = if side == Side::Client { (client, server) } else { (server, client) };
            let end = self.lines[line].end(side);
            end.handle.filter(|_| end.host == number && own == ports)
        });
        let Some(handle) = handle.next_back() else { return };
        let Some(host) = &mut self.hosts[number as usize] else { return };
        if let Some(association) = host.endpoint.association_mut(handle) {
            association.tell_loss(&packet.bytes, cause);
        }
    }

    fn tell_tcp_loss(&mut self, number: usize, sender: Side, id: PacketId, cause: Cause) {
        let packet = self.network.pool.packet(id);
        let (source, outer) = match packet.inner {
            // In a tunnel it is longer by the outer header.
            Some((source, _)) => (source, ip_header_len(self.addresses[packet.source.index()])),
            None => (packet.source, 0),
        };
        let headers = packet.bytes.len() as u32 + ip_header_len(self.addresses[source.index()]) + outer;
        let len = packet.wire_len.saturating_sub(headers);
        if let Some(connection) = &mut self.tcp[number].end_mut(sender).connection {
            connection.report_loss(&packet.bytes, len, cause);
        }
    }
}
