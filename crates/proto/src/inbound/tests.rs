//! Tests of the receiving half, each named after the section of RFC 9260 it holds it against.

use super::*;
use bytes::Bytes;
use msctp_units::Span;
use msctp_wire::{Checksum, Chunk, DataFlags, Packet, Ppid, Ssn, VerificationTag};
use proptest::prelude::*;

impl Inbound {
    /// What is charged is what is held. Costs O(held).
    pub(crate) fn assert_consistent(&self) {
        let (ordering, reassembly) = (self.ordering.held(self.streams), self.reassembly.held());
        assert_eq!(self.window.held(), (ordering.0 + reassembly.0, ordering.1 + reassembly.1));
        assert!(self.duplicates.len() <= MAX_DUPLICATES);
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

/// A receiver whose first SACK is behind it: TSN 0 with SSN 0 came, was acknowledged and read. The next TSN is 1.
fn receiver(change: impl FnOnce(&mut Config)) -> Inbound {
    let mut config = Config::default();
    change(&mut config);
    let mut inbound = Inbound::new(&config, Tsn::new(0), 10);
    assert_eq!(inbound.handle_data(&chunk(0, 0, WHOLE, b"0")), Ok(Received::New));
    inbound.end_packet(Time::ZERO);
    assert!(inbound.sack_due(Time::ZERO), "RFC 9260 §5.1: the first one at once");
    inbound.read().unwrap();
    sack(&mut inbound);
    inbound
}

/// A SACK: cumulative TSN, window, blocks, duplicates.
type SackFields = (u32, u32, Vec<(u16, u16)>, Vec<u32>);

/// The SACK it sends.
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

/// One packet with one unfragmented chunk of stream 0 whose SSN is its TSN; true when a SACK is due at once.
fn packet(inbound: &mut Inbound, now: Time, tsn: u32) -> bool {
    inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, b"x")).unwrap();
    inbound.end_packet(now);
    inbound.assert_consistent();
    inbound.sack_due(now)
}

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
fn rfc9260_6_2_window_counts_what_is_not_read() {
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

/// A receiver of 8000 bytes, full but for its lowest hole: 2 to 9 are held.
fn full() -> Inbound {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    for tsn in 2..10 {
        inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0; 1000])).unwrap();
    }
    inbound.end_packet(ms(0));
    assert_eq!(sack(&mut inbound), (0, 0, vec![(2, 9)], vec![]));
    inbound
}

#[test]
fn rfc9260_6_2_a_closed_window_drops_what_is_new_and_takes_what_fills_a_hole() {
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
fn what_fills_holes_is_bounded_too() {
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

#[test]
fn what_everything_waits_for_is_taken_from_an_exhausted_buffer() {
    // The window granted bytes; what is held is charged more than its one byte each.
    let mut inbound = receiver(|config| config.receive_buffer = 12_800);
    let mut take = |tsn: u32| inbound.handle_data(&chunk(tsn, tsn as u16, WHOLE, &[0])).unwrap();
    let held = (3..=1000).rev().filter(|&tsn| take(tsn) == Received::New).count();
    assert_eq!(held, 200, "25,600 bytes as they are charged");
    assert_eq!(take(3), Received::Dropped);
    assert_eq!(take(1), Received::New, "nothing can be read before it");
    assert_eq!(take(2), Received::Dropped, "the application reads first");
    inbound.read().unwrap();
    let mut take = |tsn, flags| inbound.handle_data(&chunk(tsn, 2, flags, &[0; 6400]));
    assert_eq!(take(2, FIRST), Ok(Received::New));
    for tsn in 3..=9 {
        assert_eq!(take(tsn, MIDDLE), Ok(Received::New), "{tsn}");
    }
    assert_eq!(take(10, MIDDLE), Err(DataFault::MessageTooLarge), "51,398 of 4 times 12,800 bytes");
}

#[test]
fn a_message_larger_than_the_buffer_gets_through_up_to_twice_its_size() {
    let mut inbound = receiver(|config| config.receive_buffer = 8000);
    inbound.handle_data(&chunk(1, 1, FIRST, &[1; 1000])).unwrap();
    for tsn in 2..14 {
        assert_eq!(inbound.handle_data(&chunk(tsn, 1, MIDDLE, &[1; 1000])), Ok(Received::New));
    }
    inbound.handle_data(&chunk(14, 1, LAST, &[1; 1000])).unwrap();
    assert_eq!(inbound.read().unwrap().data.len(), 14_000);
    inbound.handle_data(&chunk(15, 2, FIRST, &[1; 1000])).unwrap();
    for tsn in 16..31 {
        inbound.handle_data(&chunk(tsn, 2, MIDDLE, &[1; 1000])).unwrap();
    }
    assert_eq!(inbound.handle_data(&chunk(31, 2, MIDDLE, &[1])), Err(DataFault::MessageTooLarge));
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

/// TSN, SSN, flags.
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

#[test]
fn rfc9260_6_6_fragments_of_an_unordered_message_may_have_any_ssn() {
    let mut inbound = receiver(|_| {});
    let unordered = |flags| DataFlags { unordered: true, ..flags };
    inbound.handle_data(&chunk(1, 7, unordered(FIRST), b"a")).unwrap();
    inbound.handle_data(&chunk(2, 9, unordered(LAST), b"b")).unwrap();
    assert_eq!(inbound.read().unwrap().data, Bytes::from_static(b"ab"));
}

/// Stream, unordered, lengths of the fragments.
type Fragmented = (u16, bool, Vec<usize>);

/// Messages cut into fragments, all chunks in some order, some of them twice.
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
    #[test]
    fn rfc9260_6_9_any_order_of_fragments_gives_the_messages((messages, order) in scrambled()) {
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
        let mut inbound = Inbound::new(&Config::default(), Tsn::new(first), 3);
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

    /// Whatever a peer sends: an outcome or a fault, never a panic, never more than twice the buffer held.
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
