//! SACK processing: RFC 9260 §6.2.1, §6.7.

use super::super::sack::SackFault;
use super::*;
use msctp_units::Span;

fn in_flight(chunks: usize) -> Sender {
    let mut sender = Sender::new(1).window(P0, 20);
    sender.enqueue(chunks, FULL);
    assert_eq!(sender.tsns().len(), chunks);
    sender
}

#[test]
fn rfc9260_6_2_1_d_i_an_older_sack_is_dropped() {
    let mut sender = in_flight(5);
    sender.sack(3, &[]);
    sender.a_rwnd = 1;
    assert!(sender.sack(2, &[(3, 3)]).stale);
    assert_eq!(sender.out.rwnd(), (1 << 20) - 2 * FULL as i64);
    assert_eq!(sender.path(P0).flight_size, 2 * PMDCS);
}

#[test]
fn rfc9260_6_2_1_d_ii_rwnd_is_a_rwnd_less_the_bytes_in_flight() {
    let mut sender = in_flight(5);
    sender.a_rwnd = 10_000;
    let outcome = sender.sack(1, &[(2, 3)]);
    assert_eq!((outcome.bytes_acked, outcome.cum_tsn_advanced), (3 * FULL as u64, true));
    assert_eq!(sender.out.rwnd(), 10_000 - 2 * FULL as i64);
    assert_eq!(sender.path(P0).flight_size, 2 * PMDCS);
}

#[test]
fn acknowledging_a_tsn_never_sent_is_a_fault_and_changes_nothing() {
    let mut sender = in_flight(2);
    let before = format!("{:?}", sender.out);
    for tsn in [3, 4, 0x7fff_ffff] {
        let sack =
            Sack { cum_tsn_ack: Tsn::new(tsn), a_rwnd: 0, gap_blocks: List::EMPTY, duplicates: List::EMPTY };
        let fault = Err(SackFault::NeverSent(Tsn::new(tsn)));
        assert_eq!(sender.out.handle_sack(sender.now, &sack, &mut sender.paths), fault);
        assert_eq!(sender.out.handle_cum_tsn_ack(sender.now, Tsn::new(tsn), &mut sender.paths), fault);
    }
    assert_eq!(before, format!("{:?}", sender.out));
}

#[test]
fn gap_blocks_of_any_kind_are_only_data() {
    let blocks: [&[(u16, u16)]; 8] = [
        &[(0, 0)],
        &[(1, 2)],
        &[(5, 4)],
        &[(2, 3), (3, 5)],
        &[(4, 5), (2, 2)],
        &[(2, u16::MAX)],
        &[(u16::MAX, u16::MAX)],
        &[(0, u16::MAX), (1, 1)],
    ];
    for gaps in blocks {
        let mut sender = in_flight(6);
        assert!(sender.sack(0, gaps).malformed_gap_blocks, "{gaps:?}");
        sender.sack(6, &[]);
        assert!(sender.out.is_drained());
    }
}

#[test]
fn rfc9260_6_2_1_d_iii_reneging_counts_a_miss_and_starts_t3_rtx() {
    // TSN 1 is missing on another path: gap blocks never acknowledge the TSN after the Cumulative TSN Ack.
    let mut sender = Sender::new(2).window(P1, 20);
    sender.enqueue(1, FULL);
    sender.flush();
    sender.paths.set_primary(P1).unwrap();
    sender.enqueue(2, FULL);
    sender.flush();
    sender.sack(0, &[(2, 3)]);
    assert_eq!((sender.path(P1).flight_size, sender.path(P1).t3_rtx), (0, None));
    sender.wait(Span::from_millis(10));
    let outcome = sender.sack(0, &[]);
    assert_eq!((outcome.reneged, outcome.bytes_acked), (2, 0));
    assert_eq!(sender.path(P1).flight_size, 2 * PMDCS);
    assert_eq!(sender.path(P1).t3_rtx, Some(ms(2010)), "RFC 9260 §6.3.2 R4");
    // acknowledged again: not new, so cwnd does not grow
    let (cwnd, pba) = (sender.cwnd(P1), sender.path(P1).controller.window().partial_bytes_acked);
    assert_eq!(sender.sack(0, &[(2, 3)]).bytes_acked, 0);
    let window = sender.path(P1).controller.window();
    assert_eq!((window.cwnd, window.partial_bytes_acked), (cwnd, pba));
    // the third miss indication in a row starts a fast retransmit
    sender.sack(0, &[]);
    sender.sack(0, &[(2, 3)]);
    sender.sack(0, &[]);
    let again = sender.tsns();
    assert!([2, 3].iter().all(|tsn| again.contains(tsn)), "{again:?}");
    sender.sack(3, &[]);
    assert!(sender.out.is_drained());
}

// RFC 9260 §3.3.4: a gap block begins behind a missing TSN.
#[test]
fn the_tsn_after_the_cumulative_tsn_ack_stays_in_flight_with_its_timer() {
    let mut sender = in_flight(3);
    assert!(sender.sack(0, &[(1, 3)]).malformed_gap_blocks);
    assert_eq!(sender.path(P0).flight_size, PMDCS);
    assert!(sender.path(P0).t3_rtx.is_some());
    sender.sack(3, &[]);
    assert!(sender.out.is_drained());
}

#[test]
fn reneging_on_a_chunk_hundreds_of_times_overflows_nothing() {
    let mut sender = in_flight(3);
    for _ in 0..700 {
        sender.sack(1, &[(2, 2)]);
        sender.sack(1, &[]);
        sender.flush();
    }
    sender.sack(3, &[]);
    assert!(sender.out.is_drained());
}

#[test]
fn chunks_reneged_on_a_removed_path_move_to_another() {
    let mut sender = Sender::new(2).window(P0, 20);
    sender.enqueue(3, FULL);
    sender.flush();
    sender.sack(0, &[(2, 2)]);
    let gone = sender.paths.remove_remote(&IpAddr::from([192, 0, 2, 1]));
    sender.out.remove_path(&gone[0], &mut sender.paths);
    sender.out.assert_consistent(&sender.paths);
    sender.sack(0, &[]);
    let sent: Vec<u32> = sender.tsns();
    assert_eq!(sent, [1, 2, 3]);
    assert_eq!(sender.path(P1).flight_size, 3 * PMDCS);
    sender.sack(3, &[]);
    assert!(sender.out.is_drained());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.2
//= type=test
//# SCTP MUST NOT increment cwnd by more than PMDCS per RTT.
#[test]
fn rfc9260_7_2_2_a_duplicate_counts_once_and_only_for_a_retransmitted_chunk() {
    let mut sender = in_flight(5);
    // cwnd 20, flight 5: not full, so that partial_bytes_acked shows what was counted
    sender.sack_with(1, &[(2, 2)], &[3, 1, 99]);
    // 1 and 3 are acknowledged; 3 was sent once, 1 is no longer stored and 99 was never sent
    assert_eq!(sender.path(P0).controller.window().partial_bytes_acked, 2 * PMDCS);
    let counted = |duplicates: &[u32]| {
        let mut sender = in_flight(8);
        packet_bytes(|builder| assert!(sender.out.copy_chunk(Tsn::new(3), builder)), 1480);
        sender.sack_with(1, &[(2, 3)], duplicates);
        sender.sack_with(1, &[(2, 4)], duplicates);
        sender.path(P0).controller.window().partial_bytes_acked
    };
    assert_eq!(counted(&[3]), counted(&[]) + PMDCS, "3 was sent twice");
    assert_eq!(counted(&[3, 3, 3, 4, 2]), counted(&[3]), "once; 4 was sent once, 2 has not arrived");
}

#[test]
fn rfc9260_9_2_the_cumulative_ack_of_shutdown_leaves_gaps_and_window() {
    let mut sender = in_flight(6);
    sender.sack(0, &[(3, 4)]);
    sender.out.handle_cum_tsn_ack(sender.now, Tsn::new(1), &mut sender.paths).unwrap();
    sender.out.assert_consistent(&sender.paths);
    assert_eq!(sender.path(P0).flight_size, 3 * PMDCS, "2, 5 and 6");
    sender.out.handle_cum_tsn_ack(sender.now, Tsn::new(6), &mut sender.paths).unwrap();
    sender.out.assert_consistent(&sender.paths);
    assert!(sender.out.is_drained());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
//= type=test
//# the endpoint MUST remove all DATA chunks that have been acknowledged by the SACK chunk's Cumulative TSN
//# Ack from its transmit queue.
#[test]
fn tsns_wrap() {
    let mut out = Outbound::new(
        &OutboundConfig::from(&Config { max_burst: 0, ..Config::default() }),
        Tsn::new(u32::MAX - 1),
    );
    out.establish(1 << 20, 1);
    let mut sender = Sender { out, ..Sender::new(1).window(P0, 20) };
    sender.enqueue(5, FULL);
    assert_eq!(sender.tsns(), [u32::MAX - 1, u32::MAX, 0, 1, 2]);
    sender.sack(u32::MAX - 1, &[(2, 3)]);
    assert_eq!(sender.path(P0).flight_size, 2 * PMDCS);
    assert!(sender.sack(u32::MAX - 2, &[]).stale);
    sender.sack(2, &[]);
    assert!(sender.out.is_drained());
}
