//! A mobile whose only network is replaced by another (break before make): the gain of `Moves::Fast`, and its
//! limits.

use crate::support;

use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{AddressRequest, Config, Event, Moves, PathAddr};
use msctp_units::{Rate, Span, Time};
use msctp_wire::param::AddressRequest as Request;
use msctp_wire::{Asconf, AsconfSerial, CorrelationId, Pad, Param, Params};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk};

/// Twice `Pair::default_delay`.
const ROUND_TRIP: Span = Span::from_millis(40);

/// Makes B send endlessly to A, which loses network 0 and moves to network 1; returns the time of the move.
fn moved(moves: Moves) -> (Pair, Time) {
    moved_if(moves, over(0))
}

/// Makes B send endlessly to A, which moves as in `moved`. The network also drops packets that match `lost`
/// from before the move on.
fn moved_if(moves: Moves, lost: impl FnMut(&Flight) -> bool + 'static) -> (Pair, Time) {
    let config = Config { moves, ..Config::default() };
    let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let mut waiting = (0..4000).collect();
    pair.feed(Side::B, &mut waiting, 1000);
    assert!(pair.run_until(Span::from_secs(5), |p| p.a.received.len() > 300));
    pair.drop_if(lost);
    // Data in flight arrives, its SACKs do not.
    pair.run_for(ROUND_TRIP);
    pair.with(Side::A, |a, now| {
        a.link_event(now, LinkEvent { local: a_ip(0), state: LinkState::Down }).unwrap();
        a.move_local_address(now, a_ip(1), &[a_ip(0)]).unwrap();
    });
    let at = pair.now;
    (pair, at)
}

fn over(network: u8) -> impl Fn(&Flight) -> bool {
    move |flight| flight.at.local == a_ip(network) || flight.at.remote == a_ip(network)
}

/// Returns the time until data arrives again, and checks that all data is in order. With `once`, no data had
/// arrived before.
fn gap(mut pair: Pair, moved: Time, once: bool) -> Span {
    let received = pair.a.received.len();
    assert!(pair.run_until(Span::from_secs(20), |p| p.a.received.len() > received + 300));
    for (n, message) in pair.a.received.iter().enumerate() {
        assert_eq!(message.data[..4], (n as u32).to_be_bytes());
    }
    let asconfs: Vec<_> = pair.sent_since(Side::A, 0).into_iter().filter(|f| f.has(ASCONF)).collect();
    let first = serial(&asconfs[0].bytes);
    assert!(asconfs.iter().all(|f| serial(&f.bytes) == first), "one request for everything");
    for request in
        [AddressRequest::Add(a_ip(1)), AddressRequest::SetPrimary(a_ip(1)), AddressRequest::Delete(a_ip(0))]
    {
        assert!(pair.a.saw(|e| *e == Event::AddressChange { request, accepted: true }), "{request:?}");
    }
    let left: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
    assert_eq!(left, [a_ip(1)]);
    let again = pair.with(Side::A, |a, _| a.stats().duplicate_tsns_received);
    assert_eq!(again == 0, once, "{again} chunks arrived twice");
    let sent = pair.sent_since(Side::B, 0);
    let first = sent.iter().find(|f| over(1)(f) && f.has(chunk::DATA)).expect("data to the new address");
    first.sent.since(moved) + ROUND_TRIP / 2
}

const ASCONF: u8 = chunk::ASCONF;

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# the sender MUST NOT use the new IP address as a source for ANY SCTP packet except on carrying an ASCONF
//# Chunk.
#[test]
fn a_move_takes_two_round_trips_and_with_early_data_one() {
    // RFC 9260 §5.4: the request, the HEARTBEAT and its answer precede data.
    let (pair, at) = moved(Moves::Standard);
    let usual = gap(pair, at, false);
    assert!(usual >= ROUND_TRIP * 2 && usual < ROUND_TRIP * 2 + Span::from_millis(10), "{usual}");
    let (pair, at) = moved(Moves::Fast);
    let early = gap(pair, at, true);
    assert!(early >= ROUND_TRIP && early < ROUND_TRIP + Span::from_millis(10), "{early}");
}

#[test]
fn an_address_that_never_answers_gets_at_most_three_times_the_bytes_received_from_it() {
    // RFC 9000 §8.1. The address belongs to another host, which does not answer B's heartbeats.
    let (mut pair, _) = moved(Moves::Fast);
    pair.drop_if(|flight| over(0)(flight) || flight.from == Side::A && !flight.has(ASCONF));
    pair.run_for(Span::from_secs(30));
    let log = pair.log.as_ref().unwrap();
    let (mut came, mut went, mut data) = (0, 0, 0);
    for flight in log.iter().filter(|flight| over(1)(flight)) {
        let len = flight.bytes.len() + 20;
        match flight.from {
            Side::A if flight.has(ASCONF) => came += len,
            Side::A => {}
            // The limit holds for all packets. When it is spent, only HEARTBEATs continue, once per RTO (RFC
            // 9260 §5.4).
            Side::B => {
                went += len;
                if flight.has(chunk::DATA) {
                    data += len;
                    assert!(went <= 3 * came, "{went} bytes for {came}");
                }
            }
        }
    }
    assert!(data > 2 * came, "the allowance is used: {data} of {came}");
}

/// Returns the serial number of the first ASCONF in a packet.
fn serial(packet: &[u8]) -> AsconfSerial {
    let mut rest = &packet[12..];
    while rest[0] != ASCONF {
        rest = &rest[usize::from(u16::from_be_bytes([rest[2], rest[3]])).next_multiple_of(4)..];
    }
    AsconfSerial::new(u32::from_be_bytes(rest[4..8].try_into().unwrap()))
}

#[test]
fn a_forged_or_repeated_request_moves_no_data() {
    // RFC 4895 §6.3: unsigned chunks are discarded. `genuine`: the mobile's own request came before, and
    // spent its allowance.
    for genuine in [false, true] {
        let mut left = usize::from(genuine);
        let lost = move |flight: &Flight| {
            let asked = flight.has(ASCONF) && std::mem::take(&mut left) > 0;
            over(0)(flight) || flight.from == Side::A && !asked
        };
        let (mut pair, _) = moved_if(Moves::Fast, lost);
        pair.run_for(Span::from_secs(5));
        let request = pair.sent_since(Side::A, 0).into_iter().find(|f| f.has(ASCONF)).unwrap().bytes;
        let (tag, before) = (pair.tag_of(Side::B), pair.log_len());
        let from = |remote| PathAddr { local: b_ip(0), remote };
        let genuine_serial = serial(&request);
        for serial in [genuine_serial, genuine_serial + 1] {
            for address in [a_ip(1), a_ip(2)] {
                let add = [Param::AddIpAddress(Request { correlation_id: CorrelationId::new(9), address })];
                let forged = Asconf { serial, address, requests: Params::from(&add) };
                let packet = support::packet(Side::B, tag, &[&forged, &Pad { padding_len: 1200 }]);
                pair.inject(Side::B, from(address), &packet);
            }
        }
        // The signed request, from an address that never sent it.
        pair.inject(Side::B, from(a_ip(2)), &request);
        pair.run_for(Span::from_secs(5));
        let to = |ip| move |flight: &&Flight| flight.at.remote == ip && flight.has(chunk::DATA);
        let sent = pair.sent_since(Side::B, before);
        assert_eq!(sent.iter().filter(to(a_ip(2))).count(), 0, "genuine: {genuine}");
        assert_eq!(sent.iter().filter(to(a_ip(1))).count(), 0, "genuine: {genuine}");
    }
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
//= type=test
//# The receiver MUST NOT send packets to the new address except for
#[test]
fn without_the_option_an_unconfirmed_address_gets_no_data() {
    // RFC 9260 §5.4.
    let (mut pair, _) = moved(Moves::Standard);
    pair.drop_if(|flight| over(0)(flight) || flight.from == Side::A && !flight.has(ASCONF));
    let log = pair.log_len();
    pair.run_for(Span::from_secs(10));
    assert_eq!(pair.sent_since(Side::B, log).iter().filter(|f| over(1)(f) && f.has(chunk::DATA)).count(), 0);
}

#[test]
fn a_new_address_sends_its_own_request_first_and_another_sends_it_without_an_answer() {
    // RFC 5061 §5.3 F1, §5.1 B4.
    for (heard, moves) in [(true, Moves::Fast), (false, Moves::Fast), (true, Moves::Standard)] {
        let config = Config { moves, ..Config::default() };
        let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.drop_if(move |flight| !heard && over(1)(flight));
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
        pair.run_for(Span::from_secs(10));
        let asked: Vec<_> =
            pair.sent_since(Side::A, 0).iter().filter(|f| f.has(ASCONF)).map(|f| f.at.local).collect();
        // With `Moves::Fast` three copies are sent at once.
        let expected = match (heard, moves) {
            (_, Moves::Standard) => vec![a_ip(0)],
            (true, Moves::Fast) => vec![a_ip(1); 3],
            (false, Moves::Fast) => vec![a_ip(1), a_ip(1), a_ip(1), a_ip(0)],
        };
        assert_eq!(asked, expected);
        let done = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
        assert!(pair.a.saw(|e| *e == done));
    }
}

#[test]
fn a_request_in_three_copies_is_one_request_and_allows_three_times_as_much() {
    let moves = Moves::Fast;
    // `lost`: number of copies that the link drops, as a link does that just came up.
    for lost in 0..=2 {
        let mut left = lost;
        let drops = move |flight: &Flight| {
            let first = flight.from == Side::A && flight.has(ASCONF) && left > 0;
            left -= u32::from(first);
            over(0)(flight) || first
        };
        let (mut pair, at) = moved_if(moves, drops);
        let received = pair.a.received.len();
        assert!(pair.run_until(Span::from_secs(20), |p| p.a.received.len() > received + 300));
        let asked: Vec<_> = pair.sent_since(Side::A, 0).into_iter().filter(|f| f.has(ASCONF)).collect();
        assert_eq!(asked.len(), 3, "{lost} lost");
        assert!(asked.iter().all(|f| serial(&f.bytes) == serial(&asked[0].bytes) && f.sent == at));
        for request in [
            AddressRequest::Add(a_ip(1)),
            AddressRequest::SetPrimary(a_ip(1)),
            AddressRequest::Delete(a_ip(0)),
        ] {
            let done = Event::AddressChange { request, accepted: true };
            assert_eq!(pair.a.events.iter().filter(|&e| *e == done).count(), 1, "{lost} lost: {request:?}");
        }
        // RFC 9000 §8.1: data sent there in the round trip before its answer.
        let early = |f: &Flight| over(1)(f) && f.sent < at + ROUND_TRIP * 3 / 2;
        let went: Vec<_> = pair.sent_since(Side::B, 0).into_iter().filter(early).collect();
        let (went, data): (usize, usize) = (
            went.iter().map(|f| f.bytes.len() + 20).sum(),
            went.iter().filter(|f| f.has(chunk::DATA)).map(|f| f.bytes.len() + 20).sum(),
        );
        let came: usize = asked[lost as usize..].iter().map(|f| f.bytes.len() + 20).sum();
        assert!(went <= 3 * came, "{lost} lost: {went} bytes for {came}");
        // RFC 9260 §7.2.1: the initial window, exceeded by up to one packet.
        assert!(data > (2 * came).min(4404), "{lost} lost: {data} bytes of data for {came}");
    }
}

/// Makes B send to A over network 0 while A joins network 1, requests the data there, and keeps network 0.
/// `delays` has the one-way delays in ms.
///
/// Returns B's packets with data from then on: for each network those of the first second and of the third.
fn overlapped(moves: Moves, delays: [u64; 2]) -> [[usize; 2]; 2] {
    let config = Config { moves, ..Config::mobile() };
    let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
    for network in 0..2u8 {
        pair.delays.insert(a_ip(network), Span::from_millis(delays[usize::from(network)]));
    }
    // Each network takes a packet of 1200 bytes per millisecond.
    pair.rate = Some(Rate::from_bps(9_600_000));
    pair.log = Some(Vec::new());
    let mut waiting = (0..12_000).collect();
    let feeding = |pair: &mut Pair, waiting: &mut std::collections::VecDeque<u32>, until: Time| {
        while pair.now < until {
            pair.feed(Side::B, waiting, 1000);
            pair.run_for(Span::from_millis(1));
        }
    };
    let started = pair.now;
    feeding(&mut pair, &mut waiting, started + Span::from_secs(2));
    pair.with(Side::A, |a, now| {
        a.move_local_address(now, a_ip(1), &[]).unwrap();
    });
    let at = pair.now;
    feeding(&mut pair, &mut waiting, at + Span::from_secs(3));
    for (n, message) in pair.a.received.iter().enumerate() {
        assert_eq!(message.data[..4], (n as u32).to_be_bytes());
    }
    let sent = pair.sent_since(Side::B, 0);
    let count = |network: u8, from: u64| {
        let (from, to) = (at + Span::from_millis(from), at + Span::from_millis(from + 1000));
        sent.iter()
            .filter(|f| f.sent >= from && f.sent < to && over(network)(f) && f.has(chunk::DATA))
            .count()
    };
    [[count(0, 0), count(1, 0)], [count(0, 2000), count(1, 2000)]]
}

#[test]
fn data_beyond_the_window_of_a_new_path_uses_the_old_one() {
    let [without, later] = overlapped(Moves::Standard, [10, 40]);
    assert!(later[0] == 0 && later[1] > 800, "data has moved: {later:?}");
    let [with, later] = overlapped(Moves::Fast, [10, 40]);
    assert!(with[0] > without[0] + 100 && with[1] * 10 > without[1] * 9, "{with:?}, without {without:?}");
    assert!(later[0] == 0 && later[1] > 800, "its rate is known: {later:?}");
    // Data on the longer path would block data that overtakes it.
    let longer = overlapped(Moves::Fast, [40, 10]);
    assert!(longer[0][0] < with[0] / 2 && longer[1][0] == 0, "{longer:?}");
}
