//! Sequence numbers near the end of their range: stream sequence numbers (16 bits), message identifiers and
//! TSNs (32 bits).

use msctp_proto::{AssociationState as State, AuthConfig, Config, StreamsConfig};
use msctp_units::Span;
use msctp_wire::{
    Data, EncodeChunk, ForwardTsn, Fragment, IData, IForwardTsn, List, Mid, Ppid, SkippedMessages, Ssn,
    StreamId, Tsn,
};

use crate::support::chunks::stream_data;
use crate::support::{Flight, Pair, Side, packet};

/// Establishes a pair with all extensions on; the attacker acts as A. Also returns the next TSN that B
/// expects, and its tag.
fn up(interleaving: bool) -> (Pair, u32, u32) {
    let streams = StreamsConfig { interleaving, ..StreamsConfig::default() };
    let mut pair = Pair::established(Config { auth: AuthConfig::without(), streams, ..Config::default() });
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 10, Span::from_secs(1));
    pair.run_for(Span::from_secs(1));
    let log = pair.log.as_ref().unwrap();
    let of_a = |flight: &&Flight| flight.from == Side::A && matches!(flight.bytes[12], 0 | 0x40);
    let data = log.iter().rev().find(of_a).expect("data of A's");
    let tsn = u32::from_be_bytes(data.bytes[16..20].try_into().unwrap());
    let tag = pair.tag_of(Side::B);
    pair.b.received.clear();
    (pair, tsn.wrapping_add(1), tag)
}

fn give(pair: &mut Pair, tag: u32, chunk: &dyn EncodeChunk) {
    let bytes = packet(Side::B, tag, &[chunk]);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
}

fn data(tsn: u32, stream: u16, ssn: u16) -> Data<'static> {
    stream_data(Tsn::new(tsn), stream, ssn)
}

fn i_data(tsn: u32, mid: u32) -> IData<'static> {
    IData {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(1),
        mid: Mid::new(mid),
        fragment: Fragment::First(Ppid::new(mid)),
        unordered: false,
        end: true,
        immediate: false,
        payload: b"x",
    }
}

fn order(pair: &Pair) -> Vec<u32> {
    pair.b.received.iter().map(|message| message.ppid).collect()
}

#[test]
fn stream_sequence_numbers_wrap_in_order_whatever_the_order_of_arrival() {
    let (mut pair, tsn, tag) = up(false);
    // Skip to the edge by abandoning all earlier messages, in steps that RFC 1982 can compare.
    for (n, ssn) in [(0, 0x7fff), (1, 0xfffd)] {
        let skipped = [(StreamId::new(1), Ssn::new(ssn))]
            .map(|(stream, ssn)| msctp_wire::SkippedStream { stream, ssn });
        give(&mut pair, tag, &ForwardTsn { new_cum_tsn: Tsn::new(tsn + n), skipped: List::from(&skipped) });
    }
    let numbers = [0xfffe, 0xffff, 0, 1, 2];
    for n in [2, 0, 4, 1, 3usize] {
        give(&mut pair, tag, &data(tsn + 2 + n as u32, 1, numbers[n]));
    }
    assert_eq!(order(&pair), numbers.map(u32::from));
    assert_eq!(pair.b.state(), Some(State::Established));
}

#[test]
fn a_stream_sequence_number_from_before_or_half_the_range_ahead_ends_in_an_abort_and_holds_nothing() {
    for ssn in [0xffff, 0x7fff, 0x8000, 2] {
        let (mut pair, tsn, tag) = up(false);
        give(&mut pair, tag, &data(tsn, 1, 0));
        give(&mut pair, tag, &data(tsn + 1, 1, ssn));
        // All earlier messages have arrived: nothing can fill the gap (RFC 9260 §6.5).
        assert_eq!(pair.b.state(), None, "{ssn}");
        assert_eq!(order(&pair), [0]);
    }
}

#[test]
fn message_identifiers_wrap_in_order() {
    let (mut pair, tsn, tag) = up(true);
    for (n, mid) in [(0, 0x7fff_ffff), (1, 0xffff_fffd)] {
        let skipped = [SkippedMessages { stream: StreamId::new(1), unordered: false, mid: Mid::new(mid) }];
        give(&mut pair, tag, &IForwardTsn { new_cum_tsn: Tsn::new(tsn + n), skipped: List::from(&skipped) });
    }
    let numbers = [0xffff_fffe, 0xffff_ffff, 0, 1];
    for n in [3, 1, 0, 2usize] {
        give(&mut pair, tag, &i_data(tsn + 2 + n as u32, numbers[n]));
    }
    assert_eq!(order(&pair), numbers);
    assert_eq!(pair.b.state(), Some(State::Established));
}

#[test]
fn tsns_skip_half_their_range_and_data_continues() {
    let (mut pair, tsn, tag) = up(false);
    let mut next = tsn;
    for _ in 0..100 {
        let cum = next.wrapping_add(0x7fff_fffe);
        give(&mut pair, tag, &ForwardTsn { new_cum_tsn: Tsn::new(cum), skipped: List::from(&[]) });
        next = cum.wrapping_add(1);
        // The next but one is held, distant ones are rejected, old ones are duplicates.
        for tsn in [next.wrapping_add(0x7fff_ffff), next.wrapping_sub(1), next.wrapping_add(100_000)] {
            give(&mut pair, tag, &data(tsn, 2, 0));
        }
        assert_eq!(pair.b.state(), Some(State::Established));
    }
    give(&mut pair, tag, &data(next, 1, 0));
    assert_eq!(order(&pair), [0]);
}
