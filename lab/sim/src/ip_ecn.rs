//! Reads and writes the ECN field in the header of an IP packet, and updates the header's checksum.

use msctp_units::Ecn;

/// Returns the ECN field of an IP packet; Not-ECT for other bytes.
pub(crate) fn read(packet: &[u8]) -> Ecn {
    match packet {
        // RFC 3168 §5: the low two bits of the TOS octet.
        [first, tos, ..] if first >> 4 == 4 => Ecn::from_bits(*tos),
        // The same bits of the traffic class, which begins in the first octet (RFC 8200 §3).
        [first, second, ..] if first >> 4 == 6 => Ecn::from_bits(second >> 4),
        _ => Ecn::NotEct,
    }
}

/// Writes the field into the header.
pub(crate) fn write(packet: &mut [u8], ecn: Ecn) {
    match packet {
        [first, tos, _, _, _, _, _, _, _, _, high, low, ..] if *first >> 4 == 4 => {
            let old = u16::from_be_bytes([*first, *tos]);
            *tos = *tos & !0b11 | ecn.bits();
            let new = u16::from_be_bytes([*first, *tos]);
            // RFC 1624 §3: HC' = ~(~HC + ~m + m').
            let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!old) + u32::from(new);
            let folded = (sum & 0xffff) + (sum >> 16);
            let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
            [*high, *low] = checksum.to_be_bytes();
        }
        [first, second, ..] if *first >> 4 == 6 => *second = *second & !0b11_0000 | ecn.bits() << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{IpNumber, Ipv4Header, Ipv6Header};

    use super::*;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    #[test]
    fn ipv4_keeps_its_dscp_and_has_the_right_checksum() {
        for (ident, dscp) in (0..=u16::MAX).step_by(97).zip((0u8..64).cycle()) {
            for (old, new) in ALL.into_iter().flat_map(|old| ALL.map(|new| (old, new))) {
                let mut header =
                    Ipv4Header::new(77, 64, IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
                header.identification = ident;
                header.dscp = dscp.try_into().unwrap();
                header.ecn = old.bits().try_into().unwrap();
                header.header_checksum = header.calc_header_checksum();
                let mut bytes = header.to_bytes().to_vec();
                assert_eq!(read(&bytes), old);
                write(&mut bytes, new);
                assert_eq!(read(&bytes), new);
                header.ecn = new.bits().try_into().unwrap();
                header.header_checksum = header.calc_header_checksum();
                assert_eq!(bytes, header.to_bytes().to_vec(), "{ident} {dscp} {old} {new}");
            }
        }
    }

    #[test]
    fn ipv6_keeps_the_rest_of_its_class_and_its_flow_label() {
        let header = Ipv6Header {
            traffic_class: 0b1011_1010,
            flow_label: 0xabcde.try_into().unwrap(),
            ..Ipv6Header::default()
        };
        let mut bytes = header.to_bytes().to_vec();
        assert_eq!(read(&bytes), Ecn::Ect0);
        for ecn in ALL {
            write(&mut bytes, ecn);
            assert_eq!(read(&bytes), ecn);
            let (read, _) = Ipv6Header::from_slice(&bytes).unwrap();
            assert_eq!(read, Ipv6Header { traffic_class: 0b1011_1000 | ecn.bits(), ..header.clone() });
        }
    }

    #[test]
    fn bytes_that_are_no_ip_packet_are_unchanged() {
        for bytes in [&mut [][..], &mut [0x45], &mut [0x45; 11], &mut [0x10; 40]] {
            let before = bytes.to_vec();
            write(bytes, Ecn::Ce);
            assert_eq!(*bytes, before[..]);
        }
        assert_eq!(read(&[]), Ecn::NotEct);
    }
}
