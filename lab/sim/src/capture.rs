//! Writes the packets that links deliver as pcapng: raw IP packets with real headers and checksums, and
//! nanosecond time stamps.
//!
//! The file depends on the run alone, not on a clock, the machine or the program version. Each captured
//! link direction is an interface of the file, named as `wlan/forward`. A packet is written when it arrives
//! at the far end, with the time of its arrival; dropped packets are not in the file.

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::IpAddr;
use std::time::Duration;

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, UdpHeader};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use msctp_lab_tcp::header;
use msctp_units::{Ecn, Time};

use crate::packet::{AddressId, Body, Packet};
use crate::scenario::UDP_HEADER;

/// TTL or hop limit of every packet; routers do not decrement it.
const TTL: u8 = 64;

/// Returns the length of the IP header of this address family in bytes.
pub(crate) fn ip_header_len(address: IpAddr) -> u32 {
    if address.is_ipv4() { 20 } else { 40 }
}

/// An open capture file.
pub(crate) struct Capture {
    writer: PcapNgWriter<Box<dyn Write + Send>>,
    /// Buffer of the packet under construction.
    frame: Vec<u8>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

impl Capture {
    /// Starts a file with one interface for each name.
    pub(crate) fn begin(out: Box<dyn Write + Send>, interfaces: &[String]) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(out).map_err(io_error)?;
        for name in interfaces {
            writer
                .write_pcapng_block(InterfaceDescriptionBlock {
                    linktype: DataLink::RAW,
                    snaplen: 0,
                    options: vec![
                        InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                        InterfaceDescriptionOption::IfTsResol(9),
                    ],
                })
                .map_err(io_error)?;
        }
        Ok(Self { writer, frame: Vec::new() })
    }

    /// Writes one packet that arrived at `at` on the file's interface `interface`. `addresses` maps numbers
    /// to addresses.
    pub(crate) fn write(
        &mut self,
        at: Time,
        interface: u32,
        packet: &Packet,
        addresses: &[IpAddr],
    ) -> io::Result<()> {
        self.frame.clear();
        let left_out = whole_packet(&mut self.frame, packet, addresses)?;
        let comment = |bytes| {
            EnhancedPacketOption::Comment(Cow::Owned(format!(
                "{} SACK blocks ({bytes} bytes on the simulated wire) exceed the TCP option and are omitted: \
                 only the simulator has them",
                bytes / 8
            )))
        };
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: self.frame.len() as u32,
            data: Cow::Borrowed(&self.frame),
            options: left_out.map(comment).into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map(drop).map_err(io_error)
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

/// Appends the packet as on the wire. Returns the number of bytes omitted because a real packet could not
/// carry them.
fn whole_packet(out: &mut Vec<u8>, packet: &Packet, addresses: &[IpAddr]) -> io::Result<Option<usize>> {
    let ends = |(source, destination): (AddressId, AddressId)| {
        (addresses[source.index()], addresses[destination.index()])
    };
    let (protocol, ttl) = match packet.body {
        // RFC 6951 §5.2: encapsulated if it has ports.
        Body::Sctp if packet.ports == (0, 0) => (IpNumber::SCTP, TTL),
        Body::Sctp => (IpNumber::UDP, TTL),
        Body::Tcp { .. } => (IpNumber::TCP, TTL),
        Body::Udp | Body::Cbr { .. } => (IpNumber::UDP, TTL),
        // Agent advertisements stay on their link (RFC 5944 §2.1).
        Body::Icmp => (IpNumber::ICMP, 1),
        Body::Outside => {
            out.extend_from_slice(&packet.bytes);
            return Ok(None);
        }
    };
    let left_out = match packet.body {
        Body::Tcp { .. } => Some(tcp_extension(&packet.bytes)?).filter(|&len| len > 0),
        _ => None,
    };
    let mut len = packet.wire_len - left_out.unwrap_or(0) as u32;
    let mut inside = ends((packet.source, packet.destination));
    if let Some(inner) = packet.inner {
        // RFC 2003 §3.1: the unchanged packet after an outer header of protocol 4.
        len -= ip_header_len(inside.0);
        ip_header(out, IpNumber::IPV4, TTL, len, inside, packet.ecn)?;
        inside = ends(inner);
    }
    len -= ip_header_len(inside.0);
    ip_header(out, protocol, ttl, len, inside, packet.ecn)?;
    match packet.body {
        Body::Sctp if packet.ports != (0, 0) => udp_packet(out, packet.ports, &packet.bytes, inside)?,
        Body::Sctp | Body::Udp | Body::Icmp => out.extend_from_slice(&packet.bytes),
        Body::Tcp { .. } => {
            let header = &packet.bytes[..packet.bytes.len() - left_out.unwrap_or(0)];
            tcp_segment(out, header, len as u16, inside.0, inside.1);
        }
        Body::Cbr { number, .. } => {
            let payload = cbr_payload(number, len);
            udp_packet(out, packet.ports, &payload, inside)?;
        }
        Body::Outside => {}
    }
    Ok(left_out)
}

/// Appends an IP header for a payload of `payload_len` bytes.
fn ip_header(
    out: &mut Vec<u8>,
    protocol: IpNumber,
    ttl: u8,
    payload_len: u32,
    (source, destination): (IpAddr, IpAddr),
    ecn: Ecn,
) -> io::Result<()> {
    let payload_len = payload_len as u16;
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header =
                Ipv4Header::new(payload_len, ttl, protocol, source.octets(), destination.octets())
                    .map_err(io::Error::other)?;
            header.dont_fragment = true;
            header.ecn = ecn.bits().try_into().map_err(io::Error::other)?;
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = Ipv6Header {
                traffic_class: ecn.bits(),
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: payload_len,
                next_header: protocol,
                hop_limit: ttl,
                source: source.octets(),
                destination: destination.octets(),
            };
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return Err(io::Error::other("source and destination are of different IP versions")),
    }
    Ok(())
}

/// Returns the bytes of the laboratory's extension after a TCP header.
fn tcp_extension(bytes: &[u8]) -> io::Result<usize> {
    Ok(bytes.len() - header::real_len(bytes).map_err(io::Error::other)?)
}

/// Appends a TCP header with its checksum (RFC 9293 §3.1), and zeros.
fn tcp_segment(out: &mut Vec<u8>, header: &[u8], len: u16, source: IpAddr, destination: IpAddr) {
    let sum = match (source, destination) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Sum16BitWords::new().add_4bytes(a.octets()).add_4bytes(b.octets()),
        (a, b) => Sum16BitWords::new().add_16bytes(v6(a)).add_16bytes(v6(b)),
    };
    // The data are zeros, which do not change the sum; the checksum field is zero too.
    let sum = sum.add_2bytes([0, IpNumber::TCP.0]).add_2bytes(len.to_be_bytes()).add_slice(header);
    let start = out.len();
    out.extend_from_slice(header);
    out[start + 16..start + 18].copy_from_slice(&sum.ones_complement().to_ne_bytes());
    out.resize(start + usize::from(len), 0);
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Returns the payload of a CBR packet: its number, then zeros. `len` includes the UDP header.
fn cbr_payload(number: u64, len: u32) -> Vec<u8> {
    let mut payload = vec![0; len.saturating_sub(UDP_HEADER) as usize];
    for (to, from) in payload.iter_mut().zip(number.to_be_bytes()) {
        *to = from;
    }
    payload
}

/// Appends a UDP header and its payload.
fn udp_packet(
    out: &mut Vec<u8>,
    (source_port, destination_port): (u16, u16),
    payload: &[u8],
    (source, destination): (IpAddr, IpAddr),
) -> io::Result<()> {
    let len = payload.len() as u16 + UDP_HEADER as u16;
    let header = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => UdpHeader::with_ipv4_checksum(
            source_port,
            destination_port,
            &Ipv4Header::new(len, TTL, IpNumber::UDP, source.octets(), destination.octets())
                .map_err(io::Error::other)?,
            payload,
        ),
        (IpAddr::V6(source), IpAddr::V6(destination)) => UdpHeader::with_ipv6_checksum(
            source_port,
            destination_port,
            &Ipv6Header {
                payload_length: len,
                next_header: IpNumber::UDP,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv6Header::default()
            },
            payload,
        ),
        _ => return Err(io::Error::other("source and destination are of different IP versions")),
    }
    .map_err(io::Error::other)?;
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(payload);
    Ok(())
}
