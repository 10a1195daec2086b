//! Sending rules: RFC 9260 §6.1, §6.4, §6.9, §6.10.

use super::*;
use msctp_units::Span;

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# The following general rules MUST be applied by the data sender
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# the sender MUST NOT transmit new data to a given transport address if it has cwnd + (PMDCS - 1) or more
//# bytes of data outstanding
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# The breach of cwnd MUST constitute one packet only.
#[test]
fn rfc9260_6_1_b_new_data_exceeds_cwnd_by_less_than_a_packet() {
    let mut sender = Sender::new(1);
    assert_eq!(sender.cwnd(P0), 4404);
    // 1016 bytes each: 4064 are below cwnd, 5080 are not
    sender.enqueue(20, 1000);
    assert_eq!(sender.tsns(), [1, 2, 3, 4, 5]);
    assert_eq!(sender.path(P0).flight_size, 5080);
    assert_eq!(sender.out.rwnd(), (1 << 20) - 5000, "RFC 9260 §6.2.1 B");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# the data sender MUST NOT transmit new data to any destination transport address if its peer's rwnd
//# indicates that the peer has no buffer space
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# The sender MUST also have an algorithm for sending new DATA chunks to avoid silly window syndrome (SWS)
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# MUST transmit no more DATA chunks until some or all of the outstanding DATA chunks are acknowledged and
//# transmission is allowed by rule A and rule B again.
#[test]
fn rfc9260_6_1_a_new_data_stays_within_rwnd() {
    let mut sender = Sender::new(1).window(P0, 100);
    sender.out.establish(3000, 10);
    sender.enqueue(5, FULL);
    assert_eq!(sender.tsns(), [1, 2]);
    // An open window smaller than the last chunk: no smaller chunk is cut (silly window syndrome).
    sender.a_rwnd = 1000;
    sender.sack(2, &[]);
    assert_eq!(sender.tsns(), [0; 0]);
    sender.a_rwnd = FULL as u32;
    sender.sack(2, &[]);
    assert_eq!(sender.tsns(), [3]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked for
//# retransmission
#[test]
fn rfc9260_6_1_c_retransmissions_come_first_within_cwnd() {
    let mut sender = Sender::new(1).window(P0, 6);
    sender.enqueue(20, FULL);
    assert_eq!(sender.tsns(), [1, 2, 3, 4, 5, 6]);
    // The third miss for 1 and 2 halves the window to 4. Chunk 3 is in flight, 1 is sent regardless of the
    // window.
    sender.sack(0, &[(4, 4)]);
    assert_eq!(sender.tsns(), [7]);
    sender.sack(0, &[(4, 5)]);
    assert_eq!(sender.tsns(), [8]);
    sender.sack(0, &[(4, 6)]);
    assert_eq!(sender.cwnd(P0), 4 * PMDCS);
    // All three are lost; 7 and 8 are in flight: room for two of them.
    assert_eq!(sender.tsns(), [1, 2]);
    sender.sack(0, &[(4, 7)]);
    assert_eq!(sender.tsns(), [3]);
    sender.sack(0, &[(4, 8)]);
    assert_eq!(sender.tsns(), [9], "new data after the last marked chunk");
}

#[test]
fn rfc9260_6_1_d_max_burst_per_opportunity() {
    let mut sender = Sender::with(1, |config| config.max_burst = 4).window(P0, 100);
    sender.enqueue(20, FULL);
    assert_eq!(sender.tsns(), [1, 2, 3, 4]);
    sender.enqueue(1, FULL);
    assert_eq!(sender.tsns(), [0; 0], "another call at the same time starts no new burst");
    sender.sack(1, &[]);
    assert_eq!(sender.tsns(), [5, 6, 7, 8]);
    sender.wait(Span::from_millis(1));
    assert_eq!(sender.tsns(), [9, 10, 11, 12]);
    sender.wait(Span::from_millis(1));
    sender.sack(2, &[]);
    sender.sack(4, &[]);
    assert_eq!(sender.tsns(), [13, 14, 15, 16, 17, 18, 19, 20], "two bursts for two SACKs");
    sender.enqueue(20, FULL);
    sender.sack(6, &[]);
    assert_eq!(sender.tsns(), [21, 22, 23, 24], "one for each");
    sender.wait(Span::from_millis(1));
    assert_eq!(sender.tsns(), [25, 26, 27, 28], "one at another time");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# The total size of the resultant SCTP packet MUST be less that or equal to the current PMTU.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
//= type=test
//# The transmitter MUST transmit DATA chunks within an SCTP packet in increasing order of TSN.
#[test]
fn rfc9260_6_10_small_messages_are_bundled_up_to_the_pmtu() {
    let mut sender = Sender::new(1);
    sender.enqueue(30, 100);
    // 12 + 12 · 116 = 1404 ≤ 1480
    let sent = sender.flush();
    assert_eq!(sent.iter().map(|(_, chunks)| chunks.len()).collect::<Vec<_>>(), [12, 12, 6]);
    let tsns: Vec<u32> = sent.iter().flat_map(|(_, chunks)| chunks).map(|seen| seen.tsn).collect();
    assert!(tsns.is_sorted(), "increasing order of TSN");
}

#[test]
fn rfc9260_6_10_padding_counts() {
    // 16 + 717 and 3 of padding: two take 1472 of 1468
    for (len, packets) in [(716, 1), (717, 2)] {
        let mut sender = Sender::new(1);
        sender.enqueue(2, len);
        assert_eq!(sender.flush().len(), packets, "{len}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# it MUST fragment a user message if the size of the user message to be sent causes the outbound SCTP packet
//# size to exceed the current PMTU.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# the SCTP implementation MUST take into account the SCTP packet header as well as the DATA chunk header(s).
//= https://www.rfc-editor.org/rfc/rfc9260#section-7.3
//= type=test
//# An endpoint MUST maintain separate PMTU estimates for each destination address of its peer.
#[test]
fn rfc9260_6_9_fragments_fit_every_path() {
    let mut sender = Sender::new(2).window(P0, 100);
    sender.path_mut(P1).set_pmtu(1000);
    sender.enqueue(1, 2000);
    let lens: Vec<_> = sender.flush().iter().flat_map(|(_, chunks)| chunks).map(|seen| seen.len).collect();
    // AMDCS 968: 952 user bytes
    assert_eq!(lens, [952, 952, 96]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# The transmitter MUST then assign, in sequence, a separate TSN to each of the DATA chunks in the series.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# the U flag of each DATA chunk of the user message MUST be set to 1.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# The transmitter MUST also set the B/E bits of the first DATA chunk in the series to 10, the B/E bits of
//# the last DATA chunk in the series to 01
#[test]
fn rfc9260_6_9_tsns_and_flags_of_fragments() {
    let mut sender = Sender::new(1).window(P0, 100);
    for unordered in [false, true] {
        let data = Bytes::from(vec![7; 2 * FULL + 1]);
        sender.give(OutMessage { unordered, data, ..OutMessage::default() }).unwrap();
    }
    let mut seen = Vec::new();
    while let Some(path) = sender.out.next_path(sender.now, &mut sender.paths) {
        let (now, out, paths) = (sender.now, &mut sender.out, &mut sender.paths);
        let bytes = packet_bytes(|builder| _ = out.fill(now, path, paths, None, builder), 1480);
        with_data(&bytes, |data| {
            let flags = data.flags;
            seen.push((data.tsn.get(), flags.unordered, flags.begin, flags.end));
        });
    }
    let fragments = |first: u32, unordered| {
        let parts = [(true, false), (false, false), (false, true)];
        (first..).zip(parts).map(move |(tsn, (begin, end))| (tsn, unordered, begin, end))
    };
    assert_eq!(seen, fragments(1, false).chain(fragments(4, true)).collect::<Vec<_>>());
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
//= type=test
//# when the Stream Sequence Number reaches the value 65535, the next Stream Sequence Number MUST be set to 0.
#[test]
fn rfc9260_6_5_the_stream_sequence_number_after_65535_is_0() {
    let mut sender = Sender::new(1).window(P0, 1000);
    let (mut ssns, mut acked) = (Vec::new(), 0);
    for _ in 0..66 {
        sender.enqueue(1000, 1);
        while let Some(path) = sender.out.next_path(sender.now, &mut sender.paths) {
            let (now, out, paths) = (sender.now, &mut sender.out, &mut sender.paths);
            let bytes = packet_bytes(|builder| _ = out.fill(now, path, paths, None, builder), 1480);
            with_data(&bytes, |data| ssns.push(data.ssn.get()));
        }
        acked += 1000;
        sender.sack(acked, &[]);
    }
    assert_eq!(ssns[..2], [0, 1]);
    assert_eq!(ssns[65_534..65_538], [65_534, 65_535, 0, 1]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# if the PMTU has been reduced, then IP fragmentation MUST be used.
#[test]
fn rfc9260_6_9_chunks_are_not_fragmented_again() {
    let mut sender = Sender::new(2).window(P0, 100);
    sender.enqueue(1, FULL);
    sender.flush();
    sender.path_mut(P1).set_pmtu(1000);
    sender.time_out();
    assert_eq!(sender.out.oversized_packet(P1, &mut sender.paths), Some(12 + PMDCS as usize));
    assert_eq!(sender.flush(), [(P1, vec![Seen { tsn: 1, len: FULL, immediate: false }])]);
    assert_eq!(sender.out.oversized_packet(P1, &mut sender.paths), None);
}

#[test]
fn rfc9260_6_1_i_bit_on_the_last_chunk_before_shutdown() {
    let mut sender = Sender::new(1).window(P0, 100);
    sender.enqueue(1, 100);
    assert!(!sender.flush()[0].1[0].immediate);
    sender.enqueue(2, FULL);
    sender.out.on_shutdown_pending();
    let bits: Vec<_> = sender.flush().iter().map(|(_, chunks)| chunks[0].immediate).collect();
    assert_eq!(bits, [false, true]);
}

#[test]
fn rfc9260_7_2_1_idle_window_decays_before_sending() {
    let mut sender = Sender::new(1).window(P0, 40);
    sender.enqueue(1, FULL);
    sender.flush();
    sender.wait(Span::from_millis(100));
    sender.sack(1, &[]);
    // RTO is 1 s: two whole RTOs pass without data
    sender.now = ms(3500);
    sender.enqueue(1, FULL);
    sender.flush();
    assert_eq!(sender.cwnd(P0), 10 * PMDCS);
}

#[test]
fn rfc9260_6_4_new_data_goes_to_the_primary_and_timers_of_the_old_continue() {
    let mut sender = Sender::new(2).window(P0, 2).window(P1, 3);
    sender.enqueue(10, FULL);
    assert_eq!(sender.flush().iter().map(|(path, _)| *path).collect::<Vec<_>>(), [P0, P0]);
    sender.paths.set_primary(P1).unwrap();
    sender.wait(Span::from_millis(10));
    assert_eq!(sender.flush().iter().map(|(path, _)| *path).collect::<Vec<_>>(), [P1, P1, P1]);
    // RFC 9260 §6.3.3 F1
    assert_eq!(sender.path(P0).t3_rtx, Some(ms(2000)));
    assert_eq!(sender.path(P1).t3_rtx, Some(ms(2010)));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# The data sender MUST NOT use a TSN that is more than 2^31 - 1 above the beginning TSN of the current send
//# window.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//= type=test
//# the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current send window.
#[test]
fn rfc9260_3_3_4_no_more_outstanding_than_gap_blocks_can_report() {
    let mut sender = Sender::with(1, |config| config.send_buffer = u32::MAX).window(P0, 1_000_000);
    sender.out.establish(u32::MAX, 10);
    sender.enqueue(65_536, 4);
    let mut sent = 0;
    while let Some(path) = sender.out.next_path(sender.now, &mut sender.paths) {
        let (now, paths) = (sender.now, &mut sender.paths);
        let out = &mut sender.out;
        let mut filled = None;
        packet_bytes(|builder| filled = Some(out.fill(now, path, paths, None, builder)), 1480);
        sent += filled.unwrap().new;
    }
    assert_eq!(sent, 65_535);
    sender.sack(1, &[]);
    assert_eq!(sender.tsns(), [65_536]);
}

#[test]
fn a_copy_changes_only_whether_an_acknowledgement_proves_the_path() {
    let mut sender = Sender::new(2);
    sender.enqueue(2, 500);
    sender.flush();
    let before = format!("{:?}", sender.out);
    let bytes = packet_bytes(
        |builder| {
            assert!(sender.out.copy_chunk(Tsn::new(2), builder));
            assert!(!sender.out.copy_chunk(Tsn::new(3), builder), "never sent");
            assert!(!sender.out.copy_chunk(Tsn::new(0), builder), "acknowledged");
        },
        1480,
    );
    let mut copied = Vec::new();
    with_data(&bytes, |data| copied.push((data.tsn.get(), data.payload.len())));
    assert_eq!(copied, [(2, 500)]);
    let chunk = sender.out.sent.at_mut(sender.out.sent.first() + 1).unwrap();
    assert!(!chunk.one_path, "it was sent on another path too");
    chunk.one_path = true;
    assert_eq!(before, format!("{:?}", sender.out));
}

#[test]
fn rfc7053_5_1_the_application_sets_the_i_bit_of_the_last_fragment() {
    let mut sender = Sender::new(1).window(P0, 10);
    let data = Bytes::from(vec![7; 2 * FULL]);
    let message = OutMessage { data, sack_immediately: true, ..OutMessage::default() };
    sender.give(message).unwrap();
    sender.enqueue(1, 100);
    let flags: Vec<bool> =
        sender.flush().into_iter().flat_map(|(_, chunks)| chunks).map(|seen| seen.immediate).collect();
    assert_eq!(flags, [false, true, false]);
}
