use etherparse::PacketBuilder;

use super::*;

const FROM: [u8; 4] = [10, 0, 0, 1];
const TO: [u8; 4] = [10, 0, 0, 2];

fn tcp(port: u16, sequence: u32, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let builder = PacketBuilder::ipv4(FROM, TO, 64).tcp(port, 2, sequence, 100).ack(1);
    builder.write(&mut out, &vec![7; len]).expect("fits");
    out
}

fn udp(port: u16, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(FROM, TO, 64).udp(port, 2).write(&mut out, &vec![7; len]).expect("fits");
    out
}

fn udp6(port: u16, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(port, 2);
    builder.write(&mut out, &vec![7; len]).expect("fits");
    out
}

#[test]
fn a_batch_takes_what_continues_a_flow() {
    assert!(continues(&tcp(1, 1000, 500), &tcp(1, 1500, 500)));
    assert!(continues(&tcp(1, 1000, 500), &tcp(1, 9000, 500)), "after a loss");
    assert!(continues(&tcp(1, u32::MAX, 500), &tcp(1, 499, 500)), "modulo 2^32");
    assert!(continues(&udp(1, 500), &udp(1, 500)));
    assert!(continues(&udp(1, 500), &udp(1, 100)));
    assert!(continues(&udp6(1, 500), &udp6(1, 500)));
}

#[test]
fn a_batch_changes_no_order() {
    assert!(!continues(&tcp(1, 1500, 500), &tcp(1, 1000, 500)), "reordered by a link");
    assert!(!continues(&tcp(1, 1500, 0), &tcp(1, 1500, 500)), "data after a pure acknowledgment");
    assert!(!continues(&tcp(1, 1000, 500), &tcp(3, 1500, 500)), "another connection");
    assert!(!continues(&udp(1, 100), &udp(1, 500)), "a longer datagram starts its own");
    assert!(!continues(&udp(1, 100), &udp(1, 0)), "a datagram without data");
    assert!(!continues(&udp(1, 500), &tcp(1, 1500, 500)));
    let mut fragment = udp(1, 500);
    fragment[6] |= 0x20;
    assert!(!continues(&udp(1, 500), &fragment) && !continues(&fragment, &udp(1, 500)));
    assert!(!continues(&[], &[]) && !continues(&[0x45; 20], &[0x45; 20]));
}

#[test]
fn a_batch_ends_at_another_interface_and_at_the_largest_packet() {
    let mut batch = Batch::default();
    assert!(batch.takes(0, &tcp(1, 1000, 1000)));
    for number in 0..u32::MAX {
        let packet = tcp(1, 1000 * number, 1000);
        if !batch.takes(0, &packet) {
            assert_eq!(number, 63, "of 1040 bytes each");
            break;
        }
        assert_eq!(batch.takes(1, &packet), number == 0);
        batch.push(0, &packet, Time::ZERO, 1000);
    }
    let mut small = Batch::default();
    let taken = (0..100).filter(|&number| {
        let packet = tcp(1, 10 * number, 10);
        let takes = small.takes(0, &packet);
        if takes {
            small.push(0, &packet, Time::ZERO, 10);
        }
        takes
    });
    assert_eq!(taken.count(), SEGMENTS);
}
