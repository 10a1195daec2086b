//! Registration messages of Mobile IP as packets.

use etherparse::{IpNumber, Ipv4Header, UdpHeader, UdpSlice};
use msctp_units::Ecn;

use super::Wire;
use crate::mobile_ip::{Datagram, PORT};
use crate::packet::{Body, Packet, PacketId};

/// Length in bytes of an IP header. The next constant is that of a UDP header.
pub(super) const IP_HEADER: u32 = 20;
const UDP_HEADER: usize = 8;

/// Builds the packet of a registration message; `None` if an address is unknown.
pub(super) fn pack(wire: &mut Wire<'_>, datagram: &Datagram) -> Option<Packet> {
    let (source, destination) = (wire.number(datagram.source)?, wire.number(datagram.destination)?);
    let len = (UDP_HEADER + datagram.payload.len()) as u16;
    let (from, to) = (datagram.source.octets(), datagram.destination.octets());
    let ip = Ipv4Header::new(len, 64, IpNumber::UDP, from, to).ok()?;
    let (port, to_port) = (datagram.source_port, datagram.destination_port);
    let header = UdpHeader::with_ipv4_checksum(port, to_port, &ip, &datagram.payload).ok()?;
    let mut bytes = wire.network.pool.buffer();
    bytes.extend_from_slice(&header.to_bytes());
    bytes.extend_from_slice(&datagram.payload);
    let wire_len = IP_HEADER + bytes.len() as u32;
    Some(Packet {
        source,
        destination,
        inner: None,
        body: Body::Udp,
        ports: (port, to_port),
        wire_len,
        may_fragment: false,
        ecn: Ecn::NotEct,
        needs_checksum: false,
        bytes,
    })
}

/// Parses a packet for the registration port.
pub(super) fn unpack(wire: &Wire<'_>, id: PacketId) -> Option<Datagram> {
    let packet = wire.network.pool.packet(id);
    if packet.body != Body::Udp {
        return None;
    }
    let udp = UdpSlice::from_slice(&packet.bytes).ok()?;
    (udp.destination_port() == PORT).then_some(())?;
    Some(Datagram {
        source: wire.ip(packet.source)?,
        source_port: udp.source_port(),
        destination: wire.ip(packet.destination)?,
        destination_port: udp.destination_port(),
        payload: udp.payload().to_vec(),
    })
}
