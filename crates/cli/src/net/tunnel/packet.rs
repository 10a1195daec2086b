//! Parses IP packets for the tunnel: addresses, flow hash and ECN. Keeps no state.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Returns source and destination; `None` if the bytes are not a whole IP packet.
pub(super) fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = packet.first_chunk()?;
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let [a, b, c, d, e, f, g, h] = *header[12..].first_chunk()?;
            let whole = header_len(packet) >= 20 && (header_len(packet)..=packet.len()).contains(&total);
            whole.then(|| (Ipv4Addr::new(a, b, c, d).into(), Ipv4Addr::new(e, f, g, h).into()))
        }
        6 => {
            let header: &[u8; 40] = packet.first_chunk()?;
            let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let source: [u8; 16] = *header[8..].first_chunk()?;
            let destination: [u8; 16] = *header[24..].first_chunk()?;
            let whole = 40 + payload <= packet.len();
            whole.then(|| (Ipv6Addr::from(source).into(), Ipv6Addr::from(destination).into()))
        }
        _ => None,
    }
}

/// Returns the length of the IPv4 header.
fn header_len(packet: &[u8]) -> usize {
    usize::from(packet[0] & 15) * 4
}

/// Returns the bytes that name the flow: addresses, protocol, and ports of TCP and UDP.
fn flow(packet: &[u8]) -> [Option<&[u8]>; 3] {
    let (addresses, protocol, ports) = match packet.first().map(|byte| byte >> 4) {
        Some(4) => {
            let fragment = packet.get(6..8).is_some_and(|bytes| bytes[0] & 0x3f != 0 || bytes[1] != 0);
            (12..20, 9, (!fragment).then(|| header_len(packet)))
        }
        _ => (8..40, 6, Some(40)),
    };
    let has_ports = matches!(packet.get(protocol), Some(&(TCP | UDP)));
    let ports = ports.filter(|_| has_ports).and_then(|at| packet.get(at..at + 4));
    [packet.get(addresses), packet.get(protocol..=protocol), ports]
}

/// Returns a hash of the flow (FNV-1a, starting from the seed).
pub(super) fn flow_hash(packet: &[u8], seed: u64) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = flow(packet).into_iter().flatten().flatten();
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // FNV-1a mixes the high bits best, and the caller uses the low ones.
    hash ^ hash >> 32
}

/// Sets Congestion Experienced (RFC 3168). Returns false, and changes nothing, if the flow does not support
/// ECN.
pub(super) fn mark_congestion(packet: &mut [u8]) -> bool {
    match packet {
        [first, second, ..] if *first >> 4 == 6 => {
            let capable = *second & 0x30 != 0;
            if capable {
                *second |= 0x30;
            }
            capable
        }
        [_, tos, ..] if *tos & 3 != 0 => {
            let (old, len) = (*tos, header_len(packet));
            if packet.len() < len || len < 20 {
                return false;
            }
            packet[1] = old | 3;
            packet[10..12].fill(0);
            let sum = packet[..len]
                .as_chunks()
                .0
                .iter()
                .map(|&pair| u32::from(u16::from_be_bytes(pair)))
                .sum::<u32>();
            let sum = (sum & 0xffff) + (sum >> 16);
            let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            true
        }
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a UDP packet over IPv4 of this length, from a port.
    pub(crate) fn udp(port: u16, len: u16, ecn: u8) -> Vec<u8> {
        let builder = etherparse::PacketBuilder::ipv4([10, 7, 0, 2], [192, 0, 2, 1], 64).udp(port, 9);
        let mut packet = Vec::new();
        builder.write(&mut packet, &vec![0; usize::from(len) - 28]).unwrap();
        packet[1] |= ecn;
        let header = etherparse::Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
        packet[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        packet
    }

    fn six(port: u16) -> Vec<u8> {
        let builder = etherparse::PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(port, 9);
        let mut packet = Vec::new();
        builder.write(&mut packet, b"data").unwrap();
        packet
    }

    #[test]
    fn addresses_are_those_of_whole_packets() {
        let packet = udp(1, 100, 0);
        let (source, destination) = (Ipv4Addr::new(10, 7, 0, 2), Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(addresses(&packet), Some((source.into(), destination.into())));
        assert_eq!(addresses(&packet[..99]), None, "cut off");
        assert_eq!(
            addresses(&six(1)),
            Some((Ipv6Addr::from([1; 16]).into(), Ipv6Addr::from([2; 16]).into()))
        );
        assert_eq!(addresses(&six(1)[..47]), None, "cut off");
        assert_eq!((addresses(b""), addresses(&[0x50; 60])), (None, None));
        let short_header = [&[0x44], &packet[1..]].concat();
        assert_eq!(addresses(&short_header), None, "a header of 16 bytes");
    }

    #[test]
    fn a_flow_is_known_by_addresses_protocol_and_ports() {
        assert_eq!(flow_hash(&udp(1, 100, 0), 5), flow_hash(&udp(1, 200, 2), 5));
        assert_ne!(flow_hash(&udp(1, 100, 0), 5), flow_hash(&udp(2, 100, 0), 5));
        assert_ne!(flow_hash(&udp(1, 100, 0), 5), flow_hash(&udp(1, 100, 0), 6));
        assert_ne!(flow_hash(&six(1), 5), flow_hash(&six(2), 5));
        // The fragments of a packet share a queue, though only the first has ports.
        let fragment = |port| {
            let mut packet = udp(port, 100, 0);
            packet[6] |= 0x20;
            packet
        };
        assert_eq!(flow_hash(&fragment(1), 5), flow_hash(&fragment(2), 5));
    }

    #[test]
    fn congestion_is_marked_where_ecn_is_supported() {
        assert!(!mark_congestion(&mut udp(1, 100, 0)));
        for ecn in 1..=3 {
            let mut packet = udp(1, 100, ecn);
            assert!(mark_congestion(&mut packet));
            assert_eq!(packet, udp(1, 100, 3), "with its checksum");
        }
        let mut packet = six(1);
        assert!(!mark_congestion(&mut packet));
        packet[1] |= 0x20;
        assert!(mark_congestion(&mut packet));
        assert_eq!(packet[1] & 0x30, 0x30);
    }

    proptest! {
        #[test]
        fn every_packet_is_read_within_its_bounds(mut packet in prop::collection::vec(any::<u8>(), 0..100)) {
            let before = addresses(&packet);
            flow_hash(&packet, 0);
            mark_congestion(&mut packet);
            prop_assert_eq!(addresses(&packet), before);
        }
    }
}
