//! Counts the bytes of user data in an IP packet. A packet with acknowledgments alone has none.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// Returns the bytes above the header of TCP, UDP or ICMP; of other protocols, those above the IP header.
/// SCTP packets without a DATA or I-DATA chunk (RFC 9260 §3.2, RFC 8260 §2.1) carry none. Zero if it is no IP
/// packet.
pub(crate) fn payload_len(packet: &[u8]) -> usize {
    let Ok(sliced) = SlicedPacket::from_ip(packet) else { return 0 };
    match (&sliced.transport, &sliced.net) {
        (Some(TransportSlice::Tcp(tcp)), _) => tcp.payload().len(),
        (Some(TransportSlice::Udp(udp)), _) => udp.payload().len(),
        (Some(TransportSlice::Icmpv4(icmp)), _) => icmp.payload().len(),
        (Some(TransportSlice::Icmpv6(icmp)), _) => icmp.payload().len(),
        (None, Some(NetSlice::Ipv4(ip))) => above_ip(ip.payload().ip_number.0, ip.payload().payload),
        (None, Some(NetSlice::Ipv6(ip))) => above_ip(ip.payload().ip_number.0, ip.payload().payload),
        _ => 0,
    }
}

const SCTP: u8 = 132;

fn above_ip(protocol: u8, payload: &[u8]) -> usize {
    if protocol != SCTP {
        return payload.len();
    }
    // RFC 9260 §3: a common header of 12 bytes, then chunks padded to 4 bytes; the header of DATA has 16
    // bytes.
    let mut chunks = payload.get(12..).unwrap_or_default();
    let mut data = 0;
    while let Some(&[kind, _, high, low]) = chunks.first_chunk() {
        let len = usize::from(u16::from_be_bytes([high, low]));
        match kind {
            0 => data += len.saturating_sub(16),
            64 => data += len.saturating_sub(20),
            _ => {}
        }
        chunks = chunks.get(len.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn packet(builder: etherparse::PacketBuilderStep<etherparse::TcpHeader>, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        builder.write(&mut out, payload).expect("fits");
        out
    }

    #[test]
    fn acknowledgments_are_no_payload_and_data_are() {
        let ip = || PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        assert_eq!(payload_len(&packet(ip().tcp(1, 2, 3, 4).ack(5), &[])), 0);
        assert_eq!(payload_len(&packet(ip().tcp(1, 2, 3, 4).ack(5), &[0; 1000])), 1000);
        let mut udp = Vec::new();
        ip().udp(1, 2).write(&mut udp, &[0; 100]).expect("fits");
        assert_eq!(payload_len(&udp), 100);
        assert_eq!(payload_len(&[]), 0);
        assert_eq!(payload_len(&[0xff; 40]), 0);
    }

    #[test]
    fn of_sctp_only_data_count() {
        let sctp = |chunks: &[u8]| {
            let mut body = vec![0; 12];
            body.extend_from_slice(chunks);
            let mut out = Vec::new();
            let ip = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
            ip.write(&mut out, SCTP.into(), &body).expect("fits");
            payload_len(&out)
        };
        let sack = [3, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut data = vec![0, 3, 0, 16 + 5];
        data.resize(24, 0);
        assert_eq!(sctp(&sack), 0);
        assert_eq!(sctp(&data), 5);
        assert_eq!(sctp(&[&sack[..], &data].concat()), 5);
        // A chunk of length 0 ends nothing in a loop.
        assert_eq!(sctp(&[0; 40]), 0);
    }
}
