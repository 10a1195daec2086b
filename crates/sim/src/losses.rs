//! The true causes of packet losses, reported to the senders' loss classifiers: classifiers are measured
//! against them, and the classifier `oracle` returns them.
//!
//! A yardstick, not a protocol: no byte on any link depends on it unless a sender uses the oracle. The hop
//! that loses a packet knows the cause; the packet is kept until its cause was reported, by the sequence
//! numbers of its data. Nothing is kept when no sender of the scenario classifies losses.

use msctp_congestion::classifier::{Cause, LossClassifier};
use msctp_lab_tcp::header;
use msctp_link::{DropReason, LossReason};
use msctp_schemes::classifiers::{Measured, Tally};
use msctp_wire::{Checksum, Chunk, Packet};

use crate::capture::ip_header_len;
use crate::packet::{Body, PacketId, PacketPool};
use crate::scenario::{Scenario, Side};
use crate::simulation::Simulation;

/// Lost packets whose causes have not been reported yet.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// A sender classifies losses.
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

/// Returns the verdicts of a loss classifier.
pub(crate) fn tally(classifier: Option<&dyn LossClassifier>) -> Tally {
    classifier.and_then(Measured::of).map(Measured::tally).unwrap_or_default()
}

impl Lost {
    /// On when a sender of the scenario classifies losses.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let tcp = scenario.tcp_profiles.iter().any(|profile| profile.config.loss_classifier.is_some());
        let sctp = scenario.sctp.iter().any(|profile| profile.config.loss_classifier.is_some());
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

    /// Returns whether there is nothing to report.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Simulation {
    /// Reports to senders why their packets were lost.
    #[cold]
    pub(crate) fn report_losses(&mut self) {
        let mut packets = std::mem::take(&mut self.network.lost.packets);
        for (id, cause) in packets.drain(..) {
            match self.network.pool.packet(id).body {
                Body::Tcp { connection, to } => {
                    self.report_tcp_loss(connection as usize, to.other(), id, cause);
                }
                Body::Sctp => self.report_sctp_loss(id, cause),
                _ => {}
            }
            self.network.pool.release(id);
        }
        self.network.lost.packets = packets;
    }

    /// The sender's association is that between the packet's ports whose end is at the host of its source
    /// address.
    fn report_sctp_loss(&mut self, id: PacketId, cause: Cause) {
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
        let classifier = host.endpoint.association_mut(handle).and_then(|a| a.loss_classifier_mut());
        let Some(measured) = classifier.and_then(Measured::of_mut) else { return };
        let Ok(parsed) = Packet::parse(&packet.bytes, Checksum::Skip) else { return };
        for chunk in parsed.chunks() {
            match chunk {
                Ok(Chunk::Data(data)) => measured.report(data.tsn.get(), 1, cause),
                Ok(Chunk::IData(data)) => measured.report(data.tsn.get(), 1, cause),
                _ => {}
            }
        }
    }

    fn report_tcp_loss(&mut self, number: usize, sender: Side, id: PacketId, cause: Cause) {
        let packet = self.network.pool.packet(id);
        let (source, outer) = match packet.inner {
            // In a tunnel it is longer by the outer header.
            Some((source, _)) => (source, ip_header_len(self.addresses[packet.source.index()])),
            None => (packet.source, 0),
        };
        let headers = packet.bytes.len() as u32 + ip_header_len(self.addresses[source.index()]) + outer;
        let len = packet.wire_len.saturating_sub(headers);
        let connection = self.tcp[number].end_mut(sender).connection.as_mut();
        let classifier = connection.and_then(|connection| connection.loss_classifier_mut());
        let Some(measured) = classifier.and_then(Measured::of_mut).filter(|_| len > 0) else { return };
        if let Ok(parsed) = header::parse(&packet.bytes) {
            measured.report(parsed.header.sequence, len, cause);
        }
    }
}
