//! The SCTP packets in a capture's frames, and their decrypted form.

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, IpSlice, UdpHeader};
use pcap_file::DataLink;

/// Length in bytes of the SCTP common header, and of a UDP header.
const SCTP: usize = 12;
const UDP: usize = 8;
/// The type of the DTLS chunk.
const DTLS_CHUNK: u8 = 0x41;

/// Returns the IP packet in a frame, or `None` if there is none.
pub(super) fn ip(link: DataLink, frame: &[u8]) -> Option<&[u8]> {
    let start = match link {
        DataLink::ETHERNET => {
            // Each VLAN tag (IEEE 802.1Q, 802.1ad) takes four bytes in front of the type.
            let tagged = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8]));
            (12..).step_by(4).find(|&at| !tagged(at))? + 2
        }
        DataLink::LINUX_SLL => 16,
        DataLink::LINUX_SLL2 => 20,
        DataLink::NULL | DataLink::LOOP => 4,
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => 0,
        _ => return None,
    };
    let packet = frame.get(start..)?;
    let whole = IpSlice::from_slice(packet).ok()?;
    // Frames may be padded.
    let header = header_len(&whole, packet);
    packet.get(..header + whole.payload().payload.len())
}

/// Returns the bytes in front of the payload, extension headers included.
fn header_len(ip: &IpSlice<'_>, packet: &[u8]) -> usize {
    let total = match ip {
        IpSlice::Ipv4(ip) => usize::from(ip.header().total_len()),
        IpSlice::Ipv6(ip) => 40 + usize::from(ip.header().payload_length()),
    };
    total.min(packet.len()) - ip.payload().payload.len()
}

/// An SCTP packet with a DTLS chunk.
pub(super) struct Protected<'a> {
    /// The headers of IP, and of UDP if it is encapsulated (RFC 6951).
    outer: &'a [u8],
    is_v4: bool,
    is_udp: bool,
    header: &'a [u8],
    /// The verification tag.
    pub(super) tag: u32,
    /// The bytes after the common header.
    pub(super) body: &'a [u8],
}

/// Finds the DTLS chunk of an IP packet. `None` if there is none.
pub(super) fn protected(packet: &[u8]) -> Option<Protected<'_>> {
    let ip = IpSlice::from_slice(packet).ok()?;
    let is_udp = match ip.payload().ip_number {
        IpNumber::UDP => true,
        IpNumber::SCTP => false,
        _ => return None,
    };
    if ip.payload().fragmented {
        return None;
    }
    let start = header_len(&ip, packet) + if is_udp { UDP } else { 0 };
    let (outer, sctp) = packet.split_at_checked(start)?;
    let (header, body) = sctp.split_at_checked(SCTP)?;
    if body.first() != Some(&DTLS_CHUNK) {
        return None;
    }
    let tag = u32::from_be_bytes(header[4..8].try_into().ok()?);
    Some(Protected { outer, is_v4: matches!(ip, IpSlice::Ipv4(_)), is_udp, header, tag, body })
}

impl Protected<'_> {
    /// Returns the IP packet with these chunks in place of the DTLS chunk; corrects lengths and checksums.
    pub(super) fn with_chunks(&self, chunks: &[u8]) -> Vec<u8> {
        let mut packet = [self.outer, self.header, chunks].concat();
        let (outer, sctp) = packet.split_at_mut(self.outer.len());
        // RFC 9260 Appendix A: over the packet with a checksum of zero.
        sctp[8..SCTP].fill(0);
        let checksum = msctp_wire::crc32c(sctp).to_le_bytes();
        sctp[8..SCTP].copy_from_slice(&checksum);

        let udp = self.is_udp.then(|| outer.len() - UDP);
        let ip_header = udp.unwrap_or(outer.len());
        let total = outer.len() + sctp.len();
        if self.is_v4 {
            outer[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            outer[10..12].fill(0);
            let sum = Sum16BitWords::new().add_slice(&outer[..ip_header]).ones_complement();
            outer[10..12].copy_from_slice(&sum.to_ne_bytes());
        } else {
            outer[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
        }
        if let Some(udp) = udp {
            outer[udp + 4..udp + 6].copy_from_slice(&((UDP + sctp.len()) as u16).to_be_bytes());
            let checksum = udp_checksum(outer, udp, self.is_v4, sctp);
            outer[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
        }
        packet
    }
}

/// Computes the checksum of a UDP datagram; its header begins at `udp`.
fn udp_checksum(outer: &[u8], udp: usize, is_v4: bool, payload: &[u8]) -> u16 {
    let Ok((header, _)) = UdpHeader::from_slice(&outer[udp..]) else { return 0 };
    let checksum = if is_v4 {
        let address = |at: usize| [outer[at], outer[at + 1], outer[at + 2], outer[at + 3]];
        header.calc_checksum_ipv4_raw(address(12), address(16), payload)
    } else {
        let address = |at: usize| core::array::from_fn(|i| outer[at + i]);
        header.calc_checksum_ipv6_raw(address(8), address(24), payload)
    };
    checksum.unwrap_or(0)
}
