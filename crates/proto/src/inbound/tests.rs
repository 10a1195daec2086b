//! Tests of the receiving half, each named after the section of RFC 9260 it holds it against.

use super::*;
use crate::config::Config;
use bytes::Bytes;
use msctp_units::Span;
use msctp_wire::{Checksum, Chunk, DataFlags, Packet, Ppid, Ssn, VerificationTag};
use proptest::prelude::*;

impl Inbound {
    /// Asserts that the memory charged equals the memory held. The cost is linear in the data held.
    pub(crate) fn assert_consistent(&self) {
        let (ordering, reassembly) = (self.ordering.held(self.streams), self.reassembly.held());
        assert_eq!(self.window.counts(), (ordering.0 + reassembly.0, ordering.1 + reassembly.1));
        assert!(self.unreported.duplicates.len() <= MAX_DUPLICATES);
    }
}

const WHOLE: DataFlags = DataFlags::UNFRAGMENTED;
const FIRST: DataFlags = DataFlags { begin: true, end: false, unordered: false, immediate: false };
const MIDDLE: DataFlags = DataFlags { begin: false, end: false, unordered: false, immediate: false };
const LAST: DataFlags = DataFlags { begin: false, end: true, unordered: false, immediate: false };

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn chunk(tsn: u32, ssn: u16, flags: DataFlags, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(0),
        ssn: Ssn::new(ssn),
        ppid: Ppid::new(3),
        flags,
        payload,
    }
}

/// Returns a receiver after its first SACK: TSN 0 with SSN 0 was received, acknowledged and read. The next
/// TSN is 1.
fn receiver(change: impl FnOnce(&mut Config)) -> Inbound {
    let mut config = Config::default();
    change(&mut config);
    let mut inbound = Inbound::new(&InboundConfig::from(&config), Tsn::new(0), 10);
    assert_eq!(inbound.handle_data(&chunk(0, 0, WHOLE, b"0")), Ok(Received::New));
    inbound.end_packet(Time::ZERO);
    assert!(inbound.sack_due(Time::ZERO), "RFC 9260 §5.1: the first one at once");
    inbound.read().unwrap();
    sack(&mut inbound);
    inbound
}

/// A SACK: cumulative TSN, window, blocks, duplicates.
type SackFields = (u32, u32, Vec<(u16, u16)>, Vec<u32>);

/// Returns the SACK that the receiver sends.
fn sack(inbound: &mut Inbound) -> SackFields {
    sack_within(inbound, 1480).unwrap()
}

fn sack_within(inbound: &mut Inbound, max_len: usize) -> Option<SackFields> {
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, 1, 2, VerificationTag::new(9), max_len);
    let summary = inbound.encode_sack(&mut builder)?;
    builder.finish();
    let packet = Packet::parse(&out, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Sack(sack))) = packet.chunks().next() else { panic!("not a SACK") };
    assert_eq!(
        (usize::from(summary.gap_blocks), usize::from(summary.duplicates)),
        (sack.gap_blocks.len(), sack.duplicates.len())
    );
    assert!(!inbound.sack_pending());
    Some((
        sack.cum_tsn_ack.get(),
        sack.a_rwnd,
        sack.gap_blocks.iter().map(|block| (block.start, block.end)).collect(),
        sack.duplicates.iter().map(Tsn::get).collect(),
    ))
}

/// Receives a packet with one unfragmented chunk of stream 0 whose SSN is its TSN. Returns true if a SACK is
/// due at once.
fn packet(inbound: &mut Inbound, now: Time, tsn: u32) -> bool {
    inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, b"x")).unwrap();
    inbound.end_packet(now);
    inbound.assert_consistent();
    inbound.sack_due(now)
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# The SCTP endpoint MUST always acknowledge the reception of each valid DATA chunk when the DATA chunk
//# received is inside its receive window.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# an SCTP transmitter MUST NOT be more aggressive in sending SACK chunks than the following algorithms
//# allow.
#[test]
fn rfc9260_6_2_every_second_packet_or_after_the_delay() {
    let mut inbound = receiver(|_| {});
    assert!(!packet(&mut inbound, ms(10), 1));
    assert!(inbound.sack_pending());
    assert_eq!(inbound.sack_deadline(), Some(ms(210)));
    assert!(packet(&mut inbound, ms(20), 2));
    assert_eq!(sack(&mut inbound).0, 2);
    assert!(!packet(&mut inbound, ms(30), 3));
    assert!(!inbound.sack_due(ms(229)));
    assert!(inbound.sack_due(ms(230)));
}

#[test]
fn rfc9260_6_2_packets_count_not_chunks() {
    let mut inbound = receiver(|_| {});
    for tsn in 1..6 {
        inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, b"x")).unwrap();
    }
    inbound.end_packet(ms(0));
    assert!(!inbound.sack_due(ms(0)));
    inbound.end_packet(ms(0));
    assert!(!inbound.sack_due(ms(0)), "a packet without DATA does not count");
}

#[test]
fn rfc9260_6_2_delay_and_frequency_are_options() {
    let mut inbound = receiver(|config| config.sack_frequency = 1);
    assert!(packet(&mut inbound, ms(0), 1));
    let mut inbound = receiver(|config| config.sack_delay = Span::ZERO);
    assert!(packet(&mut inbound, ms(0), 1));
    let mut inbound = receiver(|config| config.sack_frequency = 3);
    assert_eq!([1, 2, 3].map(|tsn| packet(&mut inbound, ms(0), tsn)), [false, false, true]);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# the SCTP endpoint MUST fill in the Cumulative TSN Ack field to indicate the latest sequential TSN (of a
//# valid DATA chunk) it has received.
#[test]
fn rfc9260_6_7_at_once_from_the_gap_until_it_is_filled() {
    let mut inbound = receiver(|_| {});
    assert!(packet(&mut inbound, ms(0), 2), "gap");
    assert_eq!(sack(&mut inbound).2, [(2, 2)]);
    assert!(packet(&mut inbound, ms(0), 3), "still open");
    sack(&mut inbound);
    assert!(packet(&mut inbound, ms(0), 1), "filled (RFC 5681 §4.2)");
    assert_eq!((sack(&mut inbound).0, inbound.has_gap()), (3, false));
    assert!(!packet(&mut inbound, ms(0), 4));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# When a packet arrives with duplicate DATA chunk(s) and with no new DATA chunk(s), the endpoint MUST
//# immediately send a SACK chunk with no delay.
#[test]
fn rfc9260_6_2_duplicates_and_the_i_bit_hasten() {
    let mut inbound = receiver(|_| {});
    packet(&mut inbound, ms(0), 1);
    assert!(packet(&mut inbound, ms(0), 1));
    packet(&mut inbound, ms(0), 1);
    assert_eq!(sack(&mut inbound).3, [1, 1]);
    assert_eq!(sack(&mut inbound).3, [0; 0], "since the last SACK");
    let flags = DataFlags { immediate: true, ..WHOLE };
    inbound.handle_data(&chunk(2, 2, flags, b"x")).unwrap();
    inbound.end_packet(ms(0));
    assert!(inbound.sack_due(ms(0)), "RFC 7053 §5.2");
}

#[test]
fn duplicates_remembered_are_bounded() {
    let mut inbound = receiver(|_| {});
    for _ in 0..1000 {
        packet(&mut inbound, ms(0), 0);
    }
    assert_eq!(sack(&mut inbound).3.len(), MAX_DUPLICATES);
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# The SCTP endpoint MUST report as many Gap Ack Blocks as can fit in a single SACK chunk such that the size
//# of the SCTP packet does not exceed the current PMTU.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
//= type=test
//# the endpoint MUST send only one SACK chunk. This single SACK chunk MUST report the Gap Ack Blocks from the
//# lowest to highest TSNs, within the size limit set by the PMTU
#[test]
fn rfc9260_6_7_lowest_blocks_first_within_the_pmtu() {
    let mut inbound = receiver(|_| {});
    for tsn in [3, 5, 7, 9] {
        packet(&mut inbound, ms(0), tsn);
        packet(&mut inbound, ms(0), tsn);
    }
    assert_eq!(sack_within(&mut inbound, 12 + 15), None);
    assert!(inbound.sack_due(ms(0)), "it stays due");
    let (_, _, blocks, duplicates) = sack_within(&mut inbound, 12 + 16 + 8).unwrap();
    assert_eq!((blocks, duplicates), (vec![(3, 3), (5, 5)], vec![]));
    packet(&mut inbound, ms(0), 3);
    let (_, _, blocks, duplicates) = sack_within(&mut inbound, 12 + 16 + 20).unwrap();
    assert_eq!((blocks.len(), duplicates), (4, vec![3]));
}

#[test]
fn no_more_gap_blocks_than_wanted() {
    for (limit, reported) in [(0, 0), (3, 3), (4, 4), (u32::MAX, 4)] {
        let mut inbound = receiver(|config| config.max_gap_blocks = limit);
        for tsn in [3, 5, 7, 9] {
            packet(&mut inbound, ms(0), tsn);
        }
        assert_eq!(sack(&mut inbound).2.len(), reported, "{limit}");
    }
}

#[test]
fn rfc9260_6_2_the_window_counts_unread_data() {
    let mut inbound = receiver(|config| config.receive_buffer = 10_000);
    let payload = [0; 1000];
    inbound.handle_data(&chunk(2, 2, WHOLE, &payload)).unwrap();
    inbound.handle_data(&chunk(4, 4, FIRST, &payload)).unwrap();
    inbound.end_packet(ms(0));
    assert_eq!(sack(&mut inbound).1, 8000, "out of order and in reassembly");
    inbound.handle_data(&chunk(1, 1, WHOLE, &payload)).unwrap();
    inbound.end_packet(ms(0));
    assert_eq!(sack(&mut inbound).1, 7000, "ready to be read");
    inbound.read().unwrap();
    inbound.read().unwrap();
    assert_eq!((inbound.a_rwnd(), inbound.held_bytes()), (9000, 1000));
    inbound.assert_consistent();
}

/// Returns a receiver of 8000 bytes that is full except for its lowest hole: 2 to 9 are held.
fn full() -> Inbound {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    for tsn in 2..10 {
        inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0; 1000])).unwrap();
    }
    inbound.end_packet(ms(0));
    assert_eq!(sack(&mut inbound), (0, 0, vec![(2, 9)], vec![]));
    inbound
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# the receiver MUST immediately send back a SACK chunk with the current receive window
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# The dropped DATA chunk(s) MUST NOT be included in the SACK chunk, as they were not accepted.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# it MUST NOT include them in Gap Ack Blocks in subsequent SACK chunks until they are received again via
//# retransmission.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# the receiver MUST drop any new incoming DATA chunk with a TSN larger than the largest TSN received so far.
#[test]
fn rfc9260_6_2_a_closed_window_drops_new_data_and_accepts_data_that_fills_a_gap() {
    let mut inbound = full();
    assert_eq!(inbound.handle_data(&chunk(10, 10, WHOLE, b"x")), Ok(Received::Dropped));
    inbound.end_packet(ms(0));
    assert!(inbound.sack_due(ms(0)), "MUST immediately send back a SACK");
    assert_eq!(sack(&mut inbound), (0, 0, vec![(2, 9)], vec![]));
    assert_eq!(inbound.handle_data(&chunk(1, 1, WHOLE, &[0; 1000])), Ok(Received::New));
    inbound.end_packet(ms(0));
    assert_eq!(sack(&mut inbound), (9, 0, vec![], vec![]));
    assert_eq!(core::iter::from_fn(|| inbound.read()).count(), 9);
    assert!(inbound.sack_due(ms(0)), "window update");
    assert_eq!(sack(&mut inbound).1, 8000);
    assert_eq!(inbound.handle_data(&chunk(10, 10, WHOLE, b"x")), Ok(Received::New));
}

#[test]
fn rfc9260_6_2_a_window_update_waits_for_a_quarter() {
    let mut inbound = full();
    inbound.handle_data(&chunk(1, 1, WHOLE, &[0; 1000])).unwrap();
    inbound.end_packet(ms(0));
    sack(&mut inbound);
    // 9000 of 8000 are held
    for _ in 0..2 {
        inbound.read().unwrap();
        assert!(!inbound.sack_due(ms(0)));
    }
    inbound.read().unwrap();
    assert!(inbound.sack_due(ms(0)));
    assert_eq!(sack(&mut inbound).1, 2000);
}

#[test]
fn chunks_that_fill_gaps_are_bounded_too() {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    inbound.handle_data(&chunk(5000, 0, WHOLE, &[0; 8000])).unwrap();
    let mut held = 0;
    for tsn in (2..100).rev() {
        match inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0; 1000])).unwrap() {
            Received::New => held += 1,
            received => assert_eq!(received, Received::Dropped),
        }
    }
    assert_eq!(held, 8, "twice the buffer in all");
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
//= type=test
//# the receiver MUST drop any new incoming DATA chunk with a TSN larger than the largest TSN received so far.
#[test]
fn the_next_chunk_is_accepted_by_an_exhausted_buffer() {
    // The window granted bytes; what is held is charged more than its one byte each.
    let mut inbound = receiver(|config| config.receive_buffer = 12_800);
    let mut take = |tsn: u32| inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0])).unwrap();
    let held = (3..=1000).rev().filter(|&tsn| take(tsn) == Received::New).count();
    assert_eq!(held, 100, "25,600 bytes as they are charged");
    assert_eq!(take(3), Received::Dropped);
    assert_eq!(take(1), Received::New, "nothing can be read before it");
    inbound.end_packet(Time::ZERO);
    let mut take = |tsn: u32| inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0])).unwrap();
    assert_eq!(take(2), Received::Dropped, "the application reads first");
    inbound.end_packet(Time::ZERO);
    inbound.read().unwrap();
    let mut take = |tsn, flags| inbound.handle_data(&chunk(tsn, 2, flags, &[0; 6400]));
    assert_eq!(take(2, FIRST), Ok(Received::New));
    for tsn in 3..=8 {
        assert_eq!(take(tsn, MIDDLE), Ok(Received::New), "{tsn}");
    }
    assert!(!inbound.is_readable(), "44,898 of 4 times 12,800 bytes");
    assert_eq!(inbound.handle_data(&chunk(9, 2, MIDDLE, &[0; 6400])), Ok(Received::New));
    let part = inbound.read().expect("no more can be held: in parts");
    assert_eq!((part.begin, part.end, part.data.len()), (true, false, 8 * 6400));
    inbound.assert_consistent();
}

#[test]
fn a_message_up_to_twice_the_buffer_is_delivered_whole_and_a_larger_one_in_parts() {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    inbound.handle_data(&chunk(1, 1, FIRST, &[1; 1000])).unwrap();
    for tsn in 2..14 {
        assert_eq!(inbound.handle_data(&chunk(tsn, 1, MIDDLE, &[1; 1000])), Ok(Received::New));
    }
    inbound.handle_data(&chunk(14, 1, LAST, &[1; 1000])).unwrap();
    assert_eq!(inbound.read().unwrap().data.len(), 14_000);
    inbound.handle_data(&chunk(15, 2, FIRST, &[1; 1000])).unwrap();
    let mut parts: Vec<(bool, bool, usize)> = Vec::new();
    for tsn in 16..60 {
        let flags = if tsn == 59 { LAST } else { MIDDLE };
        assert_eq!(inbound.handle_data(&chunk(tsn, 2, flags, &[1; 1000])), Ok(Received::New));
        inbound.assert_consistent();
        parts.extend(inbound.read().map(|part| (part.begin, part.end, part.data.len())));
    }
    // RFC 9260 §11.1.7
    assert_eq!(parts[0], (true, false, 16_000), "as soon as no more can be held");
    assert_eq!(parts.len(), 30, "then as it comes");
    assert!(parts[1..29].iter().all(|part| *part == (false, false, 1000)));
    assert_eq!(parts[29], (false, true, 1000));
    assert_eq!(inbound.handle_data(&chunk(60, 3, WHOLE, &[1; 10])), Ok(Received::New), "the stream goes on");
    assert_eq!(
        inbound.read().map(|message| (message.ssn, message.begin, message.end)),
        Some((3, true, true))
    );
}

/// Returns a receiver with a message whose first part was delivered: TSNs 1 to 16, SSN 1.
fn opened() -> Inbound {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    inbound.handle_data(&chunk(1, 1, FIRST, &[1; 1000])).unwrap();
    for tsn in 2..17 {
        inbound.handle_data(&chunk(tsn, 1, MIDDLE, &[1; 1000])).unwrap();
    }
    assert!(inbound.read().is_some_and(|part| part.begin && !part.end));
    inbound
}

#[test]
fn a_message_in_parts_is_held_against_the_same_rules() {
    let mut inbound = opened();
    assert_eq!(inbound.handle_data(&chunk(17, 2, WHOLE, b"x")), Err(DataFault::BeginInsideMessage));
    assert_eq!(opened().handle_data(&chunk(17, 2, LAST, b"x")), Err(DataFault::FragmentsDiffer));
    let mut inbound = opened();
    assert_eq!(inbound.handle_data(&chunk(18, 1, LAST, b"b")), Ok(Received::New));
    assert_eq!(inbound.read(), None, "a hole");
    assert_eq!(inbound.handle_data(&chunk(17, 1, MIDDLE, b"a")), Ok(Received::New));
    assert_eq!(inbound.read().map(|part| (part.data, part.end)), Some((Bytes::from_static(b"ab"), true)));
    inbound.assert_consistent();
}

#[test]
fn a_message_that_was_read_in_parts_is_settled_when_its_end_was_read() {
    let mut inbound = opened();
    while inbound.read().is_some() {}
    assert!(!inbound.is_settled(), "the end is to come");
    inbound.handle_data(&chunk(17, 1, LAST, b"end")).unwrap();
    assert!(!inbound.is_settled(), "unread");
    assert!(inbound.read().is_some_and(|part| part.end));
    assert!(inbound.is_settled());
}

fn forward(tsn: u32, skipped: &[(u16, u16)]) -> Vec<u8> {
    let skipped: Vec<_> = skipped
        .iter()
        .map(|&(stream, ssn)| msctp_wire::SkippedStream { stream: StreamId::new(stream), ssn: Ssn::new(ssn) })
        .collect();
    let mut bytes = Vec::new();
    let chunk = msctp_wire::ForwardTsn { new_cum_tsn: Tsn::new(tsn), skipped: List::from(&skipped[..]) };
    msctp_wire::EncodeChunk::encode(&chunk, &mut bytes);
    bytes
}

fn take_forward(inbound: &mut Inbound, now: Time, tsn: u32, skipped: &[(u16, u16)]) {
    let bytes = forward(tsn, skipped);
    let Ok(Chunk::ForwardTsn(chunk)) = Chunk::parse(&bytes) else { panic!("not a FORWARD TSN") };
    inbound.handle_forward_tsn(&chunk).unwrap();
    inbound.end_packet(now);
    inbound.assert_consistent();
}

#[test]
fn rfc3758_3_6_the_figure() {
    // 103 and 106 missing; 103 is abandoned
    let mut inbound = receiver(|_| {});
    for tsn in [1, 2, 4, 5, 7] {
        packet(&mut inbound, ms(0), tsn);
    }
    while inbound.read().is_some() {}
    sack(&mut inbound);
    take_forward(&mut inbound, ms(1), 3, &[(0, 3)]);
    let (cum, _, blocks, _) = sack(&mut inbound);
    assert_eq!((cum, blocks), (5, vec![(2, 2)]));
    let read: Vec<u16> = core::iter::from_fn(|| inbound.read()).map(|message| message.ssn).collect();
    assert_eq!(read, [4, 5], "what was stranded can be read");
    packet(&mut inbound, ms(2), 3);
    assert_eq!(sack(&mut inbound).3, [3], "what comes late is a duplicate");
    assert_eq!(inbound.read(), None);
}

/// The state of a stream is never freed: a FORWARD TSN must not begin streams that DATA may not begin.
#[test]
fn a_forward_tsn_begins_no_streams_while_memory_is_short() {
    let mut inbound = Inbound::new(&InboundConfig::from(&Config::default()), Tsn::new(0), 65_535);
    let all: Vec<(u16, u16)> = (0..1000).map(|page| (page * 64, 0)).collect();
    packet(&mut inbound, ms(0), 0);
    while inbound.read().is_some() {}
    let before = inbound.memory();
    inbound.set_share(16 << 10);
    take_forward(&mut inbound, ms(1), 1, &all);
    assert_eq!((inbound.memory(), sack(&mut inbound).0), (before, 0), "dropped: the peer repeats it");
    take_forward(&mut inbound, ms(2), 1, &all[..1]);
    assert_eq!(sack(&mut inbound).0, 1, "one of a stream that has begun");
    inbound.set_share(u64::MAX);
    take_forward(&mut inbound, ms(3), 2, &all);
    assert_eq!(sack(&mut inbound).0, 2);
}

#[test]
fn rfc3758_3_6_an_outdated_forward_tsn_gets_a_sack_at_once() {
    let mut inbound = receiver(|_| {});
    packet(&mut inbound, ms(0), 1);
    sack(&mut inbound);
    take_forward(&mut inbound, ms(1), 1, &[(0, 9)]);
    assert!(inbound.sack_due(ms(1)));
    assert_eq!(sack(&mut inbound).0, 1);
    assert!(packet(&mut inbound, ms(2), 2) || inbound.read().is_some(), "its streams were not looked at");
}

#[test]
fn rfc3758_3_6_a_new_one_is_acknowledged_like_data() {
    let mut inbound = receiver(|_| {});
    take_forward(&mut inbound, ms(0), 1, &[(0, 1)]);
    assert!(!inbound.sack_due(ms(0)) && inbound.sack_due(ms(200)));
    take_forward(&mut inbound, ms(1), 2, &[(0, 2)]);
    assert!(inbound.sack_due(ms(1)), "the second packet");
}

#[test]
fn rfc3758_3_6_incomplete_messages_are_discarded_unless_they_can_be_completed() {
    let mut inbound = receiver(|_| {});
    // SSN 1: 1 and 3 of three; SSN 2: 4 and 5, the end to come
    for (tsn, ssn, flags) in [(1, 1, FIRST), (3, 1, LAST), (4, 2, FIRST), (5, 2, MIDDLE)] {
        inbound.handle_data(&chunk(tsn, ssn, flags, &[1; 100])).unwrap();
    }
    inbound.end_packet(ms(0));
    take_forward(&mut inbound, ms(1), 3, &[(0, 1)]);
    assert_eq!(inbound.held_bytes(), 200);
    inbound.handle_data(&chunk(6, 2, LAST, &[1; 100])).unwrap();
    assert_eq!(inbound.read().map(|message| (message.ssn, message.data.len())), Some((2, 300)));
    assert_eq!(inbound.held_bytes(), 0);
}

#[test]
fn the_rest_of_an_abandoned_message_is_no_violation() {
    // 1 and 2 of four were skipped by the FORWARD TSN; 3 is in flight, 4 was never sent. Then a new message.
    let mut inbound = receiver(|_| {});
    inbound.handle_data(&chunk(1, 1, FIRST, b"a")).unwrap();
    take_forward(&mut inbound, ms(0), 2, &[(0, 1)]);
    assert_eq!(inbound.handle_data(&chunk(3, 1, MIDDLE, b"c")), Ok(Received::New));
    take_forward(&mut inbound, ms(1), 4, &[(0, 1)]);
    assert_eq!(inbound.handle_data(&chunk(5, 2, WHOLE, b"x")), Ok(Received::New));
    assert_eq!(inbound.read().map(|message| message.ssn), Some(2));
    inbound.assert_consistent();
    assert_eq!(inbound.held_bytes(), 0);
}

#[test]
fn rfc3758_3_6_a_message_in_parts_that_will_not_be_completed_is_reported() {
    let mut inbound = opened();
    take_forward(&mut inbound, ms(0), 18, &[(0, 1)]);
    assert_eq!(inbound.take_abort(), Some(PartialAbort { stream: 0, ssn: 1, unordered: false }));
    assert_eq!(inbound.take_abort(), None);
    assert_eq!(inbound.handle_data(&chunk(19, 2, WHOLE, b"x")), Ok(Received::New));
    assert_eq!(inbound.read().map(|message| message.ssn), Some(2));
}

#[test]
fn the_cost_of_a_forward_tsn_depends_on_its_length_not_on_its_jump() {
    let mut inbound = receiver(|_| {});
    let bytes = forward(0x7fff_ffff, &(0..10).map(|stream| (stream, 0x7fff)).collect::<Vec<_>>());
    let Ok(Chunk::ForwardTsn(chunk)) = Chunk::parse(&bytes) else { panic!() };
    inbound.handle_forward_tsn(&chunk).unwrap();
    assert_eq!(inbound.cum_tsn_ack(), Tsn::new(0x7fff_ffff));
    // A million of them would take days if each step were looked at.
    for step in 1..1_000_000u32 {
        let new_cum_tsn = Tsn::new(0x7fff_ffffu32.wrapping_mul(step));
        let chunk = msctp_wire::ForwardTsn { new_cum_tsn, ..chunk };
        inbound.handle_forward_tsn(&chunk).unwrap();
    }
    inbound.assert_consistent();
}

/// An I-DATA chunk: (TSN, stream, unordered, message, fragment, last).
fn i_data(tsn: u32, stream: u16, unordered: bool, mid: u32, fsn: u32, end: bool) -> IData<'static> {
    IData {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(stream),
        mid: msctp_wire::Mid::new(mid),
        fragment: match fsn {
            0 => msctp_wire::Fragment::First(Ppid::new(77)),
            later => msctp_wire::Fragment::Later(later),
        },
        unordered,
        end,
        immediate: false,
        payload: &[5; 10],
    }
}

fn interleaving(receive_buffer: u32) -> Inbound {
    let mut inbound =
        Inbound::new(&InboundConfig::from(&Config { receive_buffer, ..Config::default() }), Tsn::new(1), 10);
    inbound.set_interleaving(true);
    inbound
}

#[test]
fn rfc8260_2_2_3_messages_of_several_streams_are_put_together_at_once() {
    let mut inbound = interleaving(1 << 20);
    // figure 2, with an unordered message on stream 0 after the ordered one
    let chunks = [
        (0, false, 0, 0, false),
        (1, false, 0, 0, true),
        (2, false, 0, 0, false),
        (0, false, 0, 1, false),
        (1, false, 1, 0, true),
        (2, false, 0, 1, false),
        (0, false, 0, 2, true),
        (2, false, 0, 2, true),
        (0, true, 0, 0, false),
        (0, true, 0, 1, true),
    ];
    // in any order: here every third first
    for step in (0..3).flat_map(|from| (from..chunks.len()).step_by(3)) {
        let (stream, unordered, mid, fsn, end) = chunks[step];
        let data = i_data(step as u32 + 1, stream, unordered, mid, fsn, end);
        assert_eq!(inbound.handle_i_data(&data), Ok(Received::New), "{step}");
        inbound.assert_consistent();
    }
    let mut read: Vec<_> = core::iter::from_fn(|| inbound.read())
        .map(|m| (m.stream, m.unordered, m.ssn, m.ppid, m.data.len()))
        .collect();
    read.sort_unstable();
    let expected = [
        (0, false, 0, 77, 30),
        (0, true, 0, 77, 20),
        (1, false, 0, 77, 10),
        (1, false, 1, 77, 10),
        (2, false, 0, 77, 30),
    ];
    assert_eq!(read, expected);
    assert_eq!(inbound.held_bytes(), 0);
}

#[test]
fn rfc8260_2_2_3_the_wrong_kind_of_chunk_is_a_violation() {
    assert_eq!(interleaving(1 << 20).handle_data(&chunk(1, 0, WHOLE, b"x")), Err(DataFault::WrongChunk));
    let mut inbound = receiver(|_| {});
    assert_eq!(inbound.handle_i_data(&i_data(1, 0, false, 0, 0, true)), Err(DataFault::WrongChunk));
    assert_eq!(DataFault::WrongChunk.cause(), msctp_wire::CauseCode::PROTOCOL_VIOLATION);
}

#[test]
fn rfc8260_2_1_fragments_that_cannot_be() {
    let fault = |chunks: &[IData<'_>]| {
        let mut inbound = interleaving(1 << 20);
        let results: Vec<_> = chunks.iter().map(|chunk| inbound.handle_i_data(chunk)).collect();
        assert!(results[..results.len() - 1].iter().all(Result::is_ok), "{results:?}");
        results[results.len() - 1].unwrap_err()
    };
    let repeated = DataFault::FragmentRepeated;
    assert_eq!(fault(&[i_data(1, 0, false, 0, 0, false), i_data(2, 0, false, 0, 0, false)]), repeated);
    assert_eq!(fault(&[i_data(1, 0, false, 0, 2, true), i_data(2, 0, false, 0, 3, false)]), repeated);
    assert_eq!(fault(&[i_data(1, 0, false, 0, 3, false), i_data(2, 0, false, 0, 2, true)]), repeated);
    assert_eq!(fault(&[i_data(1, 0, false, 0, u32::MAX, false)]), DataFault::NoBegin);
    assert_eq!(fault(&[i_data(1, 0, false, 1, 0, true)]), DataFault::StreamSequence);
}

#[test]
fn rfc8260_2_3_1_skipped_messages_by_stream_and_order() {
    let mut inbound = interleaving(1 << 20);
    for (tsn, unordered, mid, fsn) in [(2, false, 0, 1), (4, true, 0, 1), (6, true, 1, 1), (8, false, 2, 0)] {
        inbound.handle_i_data(&i_data(tsn, 3, unordered, mid, fsn, true)).unwrap();
    }
    let skipped = |unordered, mid| msctp_wire::SkippedMessages {
        stream: StreamId::new(3),
        unordered,
        mid: msctp_wire::Mid::new(mid),
    };
    let skip = [skipped(false, 1), skipped(true, 0)];
    let forward = msctp_wire::IForwardTsn { new_cum_tsn: Tsn::new(5), skipped: List::from(&skip) };
    inbound.handle_i_forward_tsn(&forward).unwrap();
    inbound.assert_consistent();
    assert_eq!(inbound.read().map(|message| message.ssn), Some(2));
    inbound.handle_i_data(&i_data(7, 3, true, 1, 0, false)).unwrap();
    assert_eq!(inbound.read().map(|message| (message.unordered, message.data.len())), Some((true, 20)));
    assert_eq!((inbound.held_bytes(), inbound.cum_tsn_ack()), (0, Tsn::new(8)));
}

/// Late fragments of an abandoned message are acknowledged and not held or delivered, in any order, and later
/// messages are delivered.
///
/// These fragments were in flight when the I-FORWARD-TSN arrived. The message ends before their TSNs, since
/// those between belong to other streams. Of a stream, only the last abandoned message can have such
/// fragments: all earlier ones have lower TSNs (RFC 8260 §2.2.2).
#[test]
fn rfc8260_2_3_1_late_fragments_of_an_abandoned_message_are_discarded() {
    for (unordered, beginning_came) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut inbound = interleaving(1 << 20);
        if beginning_came {
            inbound.handle_i_data(&i_data(2, 3, unordered, 1, 0, false)).unwrap();
        }
        let skip = [msctp_wire::SkippedMessages {
            stream: StreamId::new(3),
            unordered,
            mid: msctp_wire::Mid::new(1),
        }];
        let forward = msctp_wire::IForwardTsn { new_cum_tsn: Tsn::new(2), skipped: List::from(&skip) };
        inbound.handle_i_forward_tsn(&forward).unwrap();
        assert_eq!(inbound.held_bytes(), 0);
        for (tsn, fsn, end) in [(6, 3, true), (4, 1, false), (5, 2, false)] {
            let late = i_data(tsn, 3, unordered, 1, fsn, end);
            assert_eq!(inbound.handle_i_data(&late), Ok(Received::New), "{fsn}");
            assert_eq!((inbound.held_bytes(), inbound.read()), (0, None), "{fsn}");
            inbound.assert_consistent();
        }
        inbound.handle_i_data(&i_data(3, 4, false, 0, 0, true)).unwrap();
        inbound.handle_i_data(&i_data(7, 3, unordered, 2, 0, true)).unwrap();
        assert_eq!(inbound.cum_tsn_ack(), Tsn::new(7));
        let read: Vec<_> = core::iter::from_fn(|| inbound.read()).map(|m| (m.stream, m.data.len())).collect();
        assert_eq!(read, [(4, 10), (3, 10)]);
        assert_eq!(inbound.held_bytes(), 0);
    }
}

#[test]
fn rfc8260_2_3_1_numbers_wrap() {
    let mut inbound = interleaving(1 << 20);
    for (tsn, mid) in [(2, u32::MAX - 1), (3, 1), (4, 5)] {
        inbound.handle_i_data(&i_data(tsn, 0, true, mid, 1, false)).unwrap();
    }
    let skip = [msctp_wire::SkippedMessages {
        stream: StreamId::new(0),
        unordered: true,
        mid: msctp_wire::Mid::new(1),
    }];
    let forward = msctp_wire::IForwardTsn { new_cum_tsn: Tsn::new(1), skipped: List::from(&skip) };
    inbound.handle_i_forward_tsn(&forward).unwrap();
    inbound.assert_consistent();
    assert_eq!(inbound.held_bytes(), 10, "the one that is not skipped");
}

#[test]
fn with_interleaving_too_a_large_message_is_delivered_in_parts() {
    let mut inbound = interleaving(1500);
    let big = |tsn, fsn, end| IData { payload: &[7; 500], ..i_data(tsn, 1, false, 0, fsn, end) };
    inbound.handle_i_data(&i_data(1, 2, false, 0, 0, false)).unwrap();
    let mut parts = Vec::new();
    for fsn in 0..20 {
        inbound.handle_i_data(&big(fsn + 2, fsn, fsn == 19)).unwrap();
        inbound.assert_consistent();
        parts.extend(inbound.read().map(|part| (part.begin, part.end, part.data.len())));
    }
    assert_eq!(parts.first(), Some(&(true, false, 3000)));
    assert_eq!(parts.last(), Some(&(false, true, 500)));
    assert_eq!(parts.iter().map(|part| part.2).sum::<usize>(), 10_000);
    inbound.handle_i_data(&i_data(22, 2, false, 0, 1, true)).unwrap();
    assert_eq!(inbound.read().map(|message| message.stream), Some(2), "and the other one whole");
}

#[test]
fn rfc9260_6_5_an_invalid_stream_is_acknowledged_and_thrown_away() {
    let mut inbound = receiver(|_| {});
    let data = Data { stream: StreamId::new(10), ..chunk(1, 0, WHOLE, b"x") };
    assert_eq!(inbound.handle_data(&data), Ok(Received::InvalidStream(StreamId::new(10))));
    inbound.end_packet(ms(0));
    assert!(inbound.sack_due(ms(0)));
    assert_eq!((sack(&mut inbound).0, inbound.read(), inbound.held_bytes()), (1, None, 0));
    assert_eq!(inbound.a_rwnd(), Config::default().receive_buffer);
}

#[test]
fn rfc9260_6_2_no_user_data_is_a_fault() {
    let mut inbound = receiver(|_| {});
    let fault = inbound.handle_data(&chunk(1, 1, WHOLE, b"")).unwrap_err();
    assert_eq!(fault, DataFault::NoUserData);
    assert_eq!(fault.cause(), msctp_wire::CauseCode::NO_USER_DATA);
}

/// A DATA fragment: TSN, SSN, flags.
type Fragment = (u32, u16, DataFlags);

#[test]
fn rfc9260_6_9_fragments_that_fit_no_message_are_faults() {
    let unordered = |flags| DataFlags { unordered: true, ..flags };
    // (what came before, what must not follow)
    let cases: [(&[Fragment], Fragment, DataFault); 12] = [
        (&[], (1, 1, MIDDLE), DataFault::NoBegin),
        (&[], (1, 1, LAST), DataFault::NoBegin),
        (&[(1, 1, FIRST)], (2, 2, FIRST), DataFault::BeginInsideMessage),
        (&[(1, 1, FIRST)], (2, 2, WHOLE), DataFault::BeginInsideMessage),
        (&[(2, 1, MIDDLE)], (1, 1, WHOLE), DataFault::NoBegin),
        (&[(2, 1, FIRST)], (1, 1, FIRST), DataFault::BeginInsideMessage),
        (&[(2, 2, WHOLE)], (1, 1, FIRST), DataFault::BeginInsideMessage),
        (&[(2, 1, LAST)], (3, 2, MIDDLE), DataFault::NoBegin),
        (&[(1, 1, FIRST)], (2, 2, LAST), DataFault::FragmentsDiffer),
        (&[(1, 1, FIRST)], (2, 1, unordered(LAST)), DataFault::FragmentsDiffer),
        (&[(3, 1, LAST)], (2, 2, MIDDLE), DataFault::FragmentsDiffer),
        (&[(1, 1, WHOLE)], (2, 1, WHOLE), DataFault::StreamSequence),
    ];
    for (before, (tsn, ssn, flags), fault) in cases {
        let mut inbound = receiver(|_| {});
        for &(tsn, ssn, flags) in before {
            inbound.handle_data(&chunk(tsn, ssn, flags, b"x")).unwrap();
        }
        assert_eq!(inbound.handle_data(&chunk(tsn, ssn, flags, b"x")), Err(fault), "{tsn} after {before:?}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.6
//= type=test
//# but the receiver MUST ignore the field.
#[test]
fn rfc9260_6_6_fragments_of_an_unordered_message_may_have_any_ssn() {
    let mut inbound = receiver(|_| {});
    let unordered = |flags| DataFlags { unordered: true, ..flags };
    inbound.handle_data(&chunk(1, 7, unordered(FIRST), b"a")).unwrap();
    inbound.handle_data(&chunk(2, 9, unordered(LAST), b"b")).unwrap();
    assert_eq!(inbound.read().unwrap().data, Bytes::from_static(b"ab"));
}

/// A message in fragments: stream, unordered, lengths of the fragments.
type Fragmented = (u16, bool, Vec<usize>);

/// Generates messages cut into fragments, with all chunks in some order and some of them twice.
fn scrambled() -> impl Strategy<Value = (Vec<Fragmented>, Vec<usize>)> {
    let fragments = prop::collection::vec(1usize..5, 1..6);
    prop::collection::vec((0u16..3, prop::bool::weighted(0.3), fragments), 1..20).prop_flat_map(|messages| {
        let count: usize = messages.iter().map(|(_, _, fragments)| fragments.len()).sum();
        let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        let again = prop::collection::vec(0..count, 0..10);
        (Just(messages), order, again).prop_map(|(messages, mut order, again)| {
            again.into_iter().for_each(|index| order.insert(index, index));
            (messages, order)
        })
    })
}

proptest! {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6
    //= type=test
    //# they MUST be implemented by the data receiver, i.e., an endpoint MUST properly receive and process
    //# bundled or fragmented data.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
    //= type=test
    //# it MUST support reassembly when receiving DATA chunks.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
    //= type=test
    //# An endpoint MUST recognize fragmented DATA chunks by examining the B/ E bits in each of the received
    //# DATA chunks and queue the fragmented DATA chunks for reassembly.
    #[test]
    fn rfc9260_6_9_fragments_in_any_order_are_reassembled((messages, order) in scrambled()) {
        let (mut chunks, mut ssns) = (Vec::new(), [0u16; 3]);
        for (index, (stream, unordered, lens)) in messages.iter().enumerate() {
            let ssn = ssns[usize::from(*stream)];
            if !unordered { ssns[usize::from(*stream)] += 1; }
            for (n, &len) in lens.iter().enumerate() {
                let flags = DataFlags {
                    begin: n == 0, end: n + 1 == lens.len(), unordered: *unordered, immediate: false };
                chunks.push((*stream, ssn, index as u32, flags, vec![(index * 10 + n) as u8; len]));
            }
        }
        let first = u32::MAX - 10;
        let mut inbound = Inbound::new(&InboundConfig::from(&Config::default()), Tsn::new(first), 3);
        let mut delivered = Vec::new();
        for index in order {
            let (stream, ssn, ppid, flags, payload) = &chunks[index];
            inbound.handle_data(&Data {
                tsn: Tsn::new(first) + index as u32, stream: StreamId::new(*stream), ssn: Ssn::new(*ssn),
                ppid: Ppid::new(*ppid), flags: *flags, payload,
            }).unwrap();
            inbound.end_packet(Time::ZERO);
            inbound.assert_consistent();
            delivered.extend(core::iter::from_fn(|| inbound.read()));
        }
        let whole = |index: u32| -> Vec<u8> {
            chunks.iter().filter(|chunk| chunk.2 == index).flat_map(|chunk| chunk.4.clone()).collect()
        };
        for message in &delivered {
            prop_assert_eq!(&message.data[..], &whole(message.ppid)[..]);
        }
        for stream in 0..3 {
            let ordered: Vec<u32> =
                delivered.iter().filter(|m| m.stream == stream && !m.unordered).map(|m| m.ppid).collect();
            prop_assert!(ordered.is_sorted());
        }
        let mut all: Vec<u32> = delivered.iter().map(|m| m.ppid).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..messages.len() as u32).collect::<Vec<_>>());
        prop_assert!(!inbound.has_gap());
    }

    /// Any chunks give an outcome or a fault, without a panic, and never hold more than twice the buffer.
    #[test]
    fn any_chunk_is_survived(
        chunks in prop::collection::vec((0u32..50, 0u16..4, 0u16..12, 0u8..16, 0usize..400), 0..200)
    ) {
        let mut inbound = receiver(|config| config.receive_buffer = 3000);
        for (tsn, ssn, stream, flags, len) in chunks {
            let payload = vec![0; len];
            let data = Data {
                stream: StreamId::new(stream), ..chunk(tsn, ssn, DataFlags::from_bits(flags), &payload) };
            if inbound.handle_data(&data).is_err() { break; }
            inbound.assert_consistent();
            prop_assert!(inbound.held_bytes() <= 6000 + 400);
        }
    }
}
