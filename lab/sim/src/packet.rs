//! Packets on the simulated network and the pool that owns them.
//!
//! Links, queues and routers move [`PacketId`]s of four bytes; the packet itself stays where it is until it
//! is delivered or dropped, and its buffer is then reused. May not touch routes, time or the transports.

use msctp_link::Class;
use msctp_units::Ecn;

use crate::ip_ecn;
pub(crate) use crate::packet_id::PacketId;
use crate::scenario::Side;

/// An address of the scenario: an index into the network's address table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AddressId(pub(crate) u32);

impl AddressId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The content of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// An SCTP packet, whose bytes are in [`Packet::bytes`].
    Sctp,
    /// A segment of a TCP connection in flight to one end of it. The header is in [`Packet::bytes`], and the
    /// data is zeros.
    Tcp { connection: u32, to: Side },
    /// A UDP datagram, whose header and data are in [`Packet::bytes`].
    Udp,
    /// An ICMP message for the link only, in [`Packet::bytes`].
    Icmp,
    /// The `number`-th datagram of the CBR application `app`. Its bytes, a UDP header and zeros, are built
    /// for captures.
    Cbr { app: u32, number: u64 },
    /// A packet of an outside host. [`Packet::bytes`] is the whole packet with its IP header.
    Outside,
}

/// An IP packet.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) source: AddressId,
    pub(crate) destination: AddressId,
    /// Source and destination of the inner packet, in a tunnel (IP in IP).
    pub(crate) inner: Option<(AddressId, AddressId)>,
    pub(crate) body: Body,
    /// Source and destination ports of UDP or TCP; zeros without ports. An SCTP packet with ports is
    /// encapsulated in UDP (RFC 6951), and its UDP header is not in [`bytes`](Self::bytes).
    pub(crate) ports: (u16, u16),
    /// Length on the wire in bytes, with the IP header and without the link header.
    pub(crate) wire_len: u32,
    /// True if a router may fragment the packet (IPv4 without “don't fragment”).
    pub(crate) may_fragment: bool,
    /// ECN field of the IP header. In a tunnel, that of both headers: the outer one is copied from the inner
    /// one, and a mark is copied back (RFC 6040 §4.1, §4.2).
    pub(crate) ecn: Ecn,
    /// True if the SCTP checksum is still 0 ([`PacketPool::completed`]).
    pub(crate) needs_checksum: bool,
    /// The body, the TCP header, or the whole packet; empty if the bytes are built only for captures.
    pub(crate) bytes: Vec<u8>,
}

impl Packet {
    /// Returns the properties that a managed queue uses. Addresses, ports and protocol identify the flow.
    pub(crate) fn class(&self) -> Class {
        let (protocol, (from, to)) = match self.body {
            Body::Outside => Self::protocol_and_ports(&self.bytes),
            Body::Tcp { .. } => (6, self.ports),
            Body::Icmp => (1, self.ports),
            Body::Sctp if self.ports == (0, 0) => (132, Self::ports_of(&self.bytes)),
            Body::Sctp | Body::Udp | Body::Cbr { .. } => (17, self.ports),
        };
        let ports = u32::from(from) << 16 | u32::from(to);
        // FNV-1a over words; the queue mixes the result with its seed.
        let words = [self.source.0, self.destination.0, ports, u32::from(protocol)];
        let flow = words.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
            (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Class { flow, ecn_capable: self.ecn.is_capable() }
    }

    /// Returns the protocol of a whole IP packet, and the ports at the start of its transport header.
    fn protocol_and_ports(packet: &[u8]) -> (u8, (u16, u16)) {
        let version_4 = packet.first().is_some_and(|first| first >> 4 == 4);
        let (protocol, header) = if version_4 { (9, usize::from(packet[0] & 15) * 4) } else { (6, 40) };
        let ports = packet.get(header..).map_or((0, 0), Self::ports_of);
        (packet.get(protocol).copied().unwrap_or(0), ports)
    }

    /// Returns the ports at the start of a UDP, TCP or SCTP header; zeros if it is shorter.
    pub(crate) fn ports_of(header: &[u8]) -> (u16, u16) {
        let ports = header.first_chunk().map(|&[a, b, c, d]| [[a, b], [c, d]].map(u16::from_be_bytes));
        ports.map_or((0, 0), |[source, destination]| (source, destination))
    }
}

/// Owns every packet in flight. After a warm-up it allocates nothing: the buffer of a released packet serves
/// the next one.
#[derive(Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// Buffers of packets that carry bytes, stored separately so that packets without bytes do not hold any.
    buffers: Vec<Vec<u8>>,
}

impl PacketPool {
    /// Returns an empty buffer for [`insert`](Self::insert); return it with [`recycle`](Self::recycle) if
    /// unused.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Returns a buffer to the pool.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Adds the packet to the pool.
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id.0 as usize] = packet;
            return id;
        }
        let id = PacketId(u32::try_from(self.packets.len()).expect("fewer than 2^32 packets in flight"));
        self.packets.push(packet);
        id
    }

    /// Returns the packet `id`, which must not have been released.
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }

    /// Returns the packet `id` with its checksum, for an observer of its bytes. Hosts leave the checksum to
    /// the network because most packets have no observer. Nothing in the simulation changes the bytes of an
    /// SCTP packet, so that its receiver needs no checksum.
    pub(crate) fn completed(&mut self, id: PacketId) -> &Packet {
        let packet = &mut self.packets[id.0 as usize];
        if std::mem::take(&mut packet.needs_checksum) {
            msctp_wire::write_checksum(&mut packet.bytes);
        }
        packet
    }

    /// Returns a packet that reached its host, whose bytes the host may change.
    pub(crate) fn packet_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.0 as usize]
    }

    /// Marks a packet with Congestion Experienced.
    pub(crate) fn mark(&mut self, id: PacketId) {
        let packet = &mut self.packets[id.0 as usize];
        packet.ecn = Ecn::Ce;
        if packet.body == Body::Outside {
            ip_ecn::write(&mut packet.bytes, Ecn::Ce);
        }
    }

    /// Puts a packet into a tunnel between two addresses, with an outer header of this length.
    pub(crate) fn encapsulate(&mut self, id: PacketId, outer: (AddressId, AddressId), header: u32) {
        let packet = &mut self.packets[id.0 as usize];
        debug_assert_eq!(packet.inner, None, "a tunnel in a tunnel");
        packet.inner = Some((packet.source, packet.destination));
        (packet.source, packet.destination) = outer;
        packet.wire_len += header;
    }

    /// Takes a packet out of its tunnel.
    pub(crate) fn decapsulate(&mut self, id: PacketId, header: u32) {
        let packet = &mut self.packets[id.0 as usize];
        if let Some(inner) = packet.inner.take() {
            (packet.source, packet.destination) = inner;
            packet.wire_len -= header;
        }
    }

    /// Releases the packet and keeps its buffer for another.
    pub(crate) fn release(&mut self, id: PacketId) {
        let bytes = std::mem::take(&mut self.packets[id.0 as usize].bytes);
        self.recycle(bytes);
        self.free.push(id);
    }

    /// Returns the number of packets in flight.
    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: Vec<u8>) -> Packet {
        let wire_len = 20 + bytes.len() as u32;
        let (source, destination) = (AddressId(0), AddressId(1));
        Packet {
            source,
            destination,
            inner: None,
            body: Body::Sctp,
            ports: (0, 0),
            wire_len,
            may_fragment: false,
            ecn: Ecn::NotEct,
            needs_checksum: false,
            bytes,
        }
    }

    #[test]
    fn a_flow_is_addresses_ports_and_protocol() {
        let flow = |ports: [u8; 4]| packet([&ports[..], &[0; 8]].concat()).class().flow;
        assert_eq!(flow([0, 1, 0, 2]), flow([0, 1, 0, 2]));
        assert_ne!(flow([0, 1, 0, 2]), flow([0, 1, 0, 3]));
        let outside = |protocol, port| {
            let mut bytes = vec![0; 28];
            (bytes[0], bytes[9], bytes[23]) = (0x45, protocol, port);
            Packet { body: Body::Outside, ..packet(bytes) }.class().flow
        };
        assert_eq!(outside(6, 7), outside(6, 7));
        assert!(outside(6, 7) != outside(6, 8) && outside(6, 7) != outside(17, 7));
        assert!(!Packet { body: Body::Outside, ..packet(Vec::new()) }.class().ecn_capable);
    }

    #[test]
    fn slots_and_buffers_are_reused() {
        let mut pool = PacketPool::default();
        let mut buffer = pool.buffer();
        buffer.extend_from_slice(&[1; 1000]);
        let memory = buffer.as_ptr();
        let first = pool.insert(packet(buffer));
        assert_eq!(pool.in_flight(), 1);
        assert_eq!(pool.packet(first).wire_len, 1020);
        pool.release(first);
        assert_eq!(pool.in_flight(), 0);
        let buffer = pool.buffer();
        assert!(buffer.is_empty());
        assert_eq!(buffer.as_ptr(), memory);
        assert_eq!(pool.insert(packet(buffer)), first);
        let second = pool.insert(packet(Vec::new()));
        assert_ne!(second, first);
        assert_eq!(pool.in_flight(), 2);
    }
}
