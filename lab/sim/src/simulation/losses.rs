//! Reports lost packets and their true causes to the senders' loss classifiers.

use msctp_congestion::classifier::Cause;
use msctp_lab_schemes::classifiers::Measured;
use msctp_lab_tcp::header;
use msctp_wire::{Checksum, Chunk, Packet as SctpPacket};

use crate::capture::ip_header_len;
use crate::packet::{Body, Packet, PacketId};
use crate::scenario::Side;

use super::Simulation;

impl Simulation {
    /// Reports the causes of lost packets to their senders.
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

    /// Finds the sender's association by the packet's ports and the host of its source address, and reports
    /// the loss.
    fn report_sctp_loss(&mut self, id: PacketId, cause: Cause) {
        let packet = self.network.pool.packet(id);
        let source = packet.inner.map_or(packet.source, |(source, _)| source);
        let number = self.network.ports[source.index()].host;
        let (ports, seen) = (Packet::ports_of(&packet.bytes), self.addresses[source.index()]);
        // Behind a NAT the end may be on another host than the one with the packet's source address.
        let sides = [Side::Client, Side::Server];
        let all = (0..self.lines.len()).flat_map(|line| sides.map(|side| (line, side)));
        let translated = self.index.is_translated();
        let own = self.index.ends(number).iter().map(|&(line, side)| (line as usize, side));
        let ends = own.filter(|_| !translated).chain(all.filter(|_| translated));
        let mut handle = ends.filter_map(|(line, side)| {
            let (client, server) = self.ports[line];
            let own = if side == Side::Client { (client, server) } else { (server, client) };
            let end = self.lines[line].end(side);
            let is_sender = end.host == number || self.lines[line].knows_as(seen);
            end.handle.filter(|_| is_sender && own == ports).map(|handle| (handle, end.host))
        });
        let Some((handle, number)) = handle.next_back() else { return };
        let Some(host) = &mut self.hosts[number as usize] else { return };
        let classifier = host.endpoint.association_mut(handle).and_then(|a| a.loss_classifier_mut());
        let Some(measured) = classifier.and_then(Measured::of_mut) else { return };
        let Ok(parsed) = SctpPacket::parse(&packet.bytes, Checksum::Skip) else { return };
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
