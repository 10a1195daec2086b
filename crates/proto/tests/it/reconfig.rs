//! Stream reconfiguration (RFC 6525) between two endpoints: sequence numbers restart, no message is lost,
//! both ends agree.

use crate::support;

use msctp_proto::{
    AssociationState, Config, Event, MIN_PMTU, OutMessage, Pmtu, ReconfigOutcome, Reconfiguration,
    Reliability, SendError, StreamEvent, StreamRequest, StreamsConfig,
};
use msctp_units::Span;
use msctp_wire::param::{IncomingReset, ReconfigResponse};
use msctp_wire::{Checksum, Chunk, List, Packet, Param, Params, ReConfig, ReconfigSerial, StreamId};
use support::{Fate, Pair, Side, chunk, message, packet};

const LIMIT: Span = Span::from_secs(30);

fn logged(config: Config) -> Pair {
    let mut pair = Pair::established(config);
    pair.log = Some(Vec::new());
    pair
}

fn ask(pair: &mut Pair, side: Side, request: StreamRequest) {
    pair.with(side, |association, now| association.reconfigure(now, request)).unwrap();
}

fn send(pair: &mut Pair, side: Side, stream: u16, text: &str) {
    pair.send(side, message(stream, text.into()));
}

fn outcomes(pair: &mut Pair, side: Side) -> Vec<ReconfigOutcome> {
    let answered = |event: &Event| match event {
        Event::Streams(StreamEvent::Answered { outcome, .. }) => Some(*outcome),
        _ => None,
    };
    pair.host(side).events.iter().filter_map(answered).collect()
}

fn answered(pair: &mut Pair, side: Side, count: usize) {
    assert!(pair.run_until(LIMIT, |pair| outcomes(pair, side).len() == count), "no answer");
}

/// Returns (stream, SSN, text) of the DATA that `from` sent, in order, without retransmissions.
fn numbers(pair: &Pair, from: Side) -> Vec<(u16, u16, String)> {
    let (mut seen, mut tsns) = (Vec::new(), std::collections::BTreeSet::new());
    for flight in pair.log.iter().flatten().filter(|flight| flight.from == from) {
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
        for chunk in packet.chunks().flatten() {
            if let Chunk::Data(data) = chunk
                && tsns.insert(data.tsn.get())
            {
                let text = String::from_utf8(data.payload.to_vec()).unwrap();
                seen.push((data.stream.get(), data.ssn.get(), text));
            }
        }
    }
    seen
}

fn texts(pair: &mut Pair, side: Side) -> Vec<String> {
    pair.host(side).received.iter().map(|m| String::from_utf8(m.data.to_vec()).unwrap()).collect()
}

/// §5.1.2, §5.2.2: earlier messages are delivered, then numbers restart at 0, on the named streams only.
#[test]
fn rfc6525_5_1_2_an_outgoing_reset() {
    let mut pair = logged(Config::default());
    for text in ["a", "b"] {
        send(&mut pair, Side::A, 1, text);
        send(&mut pair, Side::A, 2, text);
    }
    ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
    send(&mut pair, Side::A, 1, "c");
    send(&mut pair, Side::A, 2, "c");
    answered(&mut pair, Side::A, 1);
    pair.run_for(Span::from_secs(1));
    assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Performed]);
    assert!(pair.b.saw(|event| *event == Event::Streams(StreamEvent::IncomingReset(vec![1]))));
    let sent = numbers(&pair, Side::A);
    let of = |stream: u16| -> Vec<(u16, &str)> {
        sent.iter().filter(|(of, ..)| *of == stream).map(|(_, ssn, text)| (*ssn, text.as_str())).collect()
    };
    assert_eq!(of(1), [(0, "a"), (1, "b"), (0, "c")]);
    assert_eq!(of(2), [(0, "a"), (1, "b"), (2, "c")]);
    assert_eq!(texts(&mut pair, Side::B).len(), 6);
}

/// §5.1.3, §5.2.3: the peer answers the request with its own outgoing reset.
#[test]
fn rfc6525_5_1_3_an_incoming_reset_of_all_streams() {
    let mut pair = logged(Config::default());
    send(&mut pair, Side::B, 3, "a");
    pair.run_for(Span::from_secs(1));
    ask(&mut pair, Side::A, StreamRequest::ResetIncoming(vec![]));
    answered(&mut pair, Side::A, 1);
    answered(&mut pair, Side::B, 1);
    send(&mut pair, Side::B, 3, "b");
    pair.run_for(Span::from_secs(1));
    assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Performed]);
    assert_eq!(numbers(&pair, Side::B), [(3, 0, "a".into()), (3, 0, "b".into())]);
    assert_eq!(texts(&mut pair, Side::A), ["a", "b"]);
}

/// §5.1.5, §5.1.6: added streams carry messages in both directions.
#[test]
fn rfc6525_5_1_5_added_streams_can_be_used() {
    let mut pair = logged(Config { outbound_streams: 2, ..Config::default() });
    let too_far = pair.with(Side::A, |association, now| association.send(now, message(4, vec![1])));
    assert!(matches!(too_far, Err(SendError::InvalidStream { stream: 4, streams: 2 })), "{too_far:?}");
    ask(&mut pair, Side::A, StreamRequest::AddOutgoing(3));
    ask(&mut pair, Side::A, StreamRequest::AddIncoming(1));
    answered(&mut pair, Side::A, 2);
    answered(&mut pair, Side::B, 1);
    send(&mut pair, Side::A, 4, "there");
    send(&mut pair, Side::B, 2, "back");
    pair.run_for(Span::from_secs(1));
    assert_eq!(
        (texts(&mut pair, Side::B), texts(&mut pair, Side::A)),
        (vec!["there".into()], vec!["back".into()])
    );
    assert!(pair.b.saw(|event| *event == Event::Streams(StreamEvent::IncomingAdded(5))));
}

/// Every request succeeds, and no message is lost, duplicated or reordered, for any losses of packets.
#[test]
fn both_ends_agree_after_losses() {
    for every in 3..9_u32 {
        let mut pair = logged(Config::default());
        let mut count = 0;
        pair.filter = Box::new(move |_| {
            count += 1;
            if count % every == 0 { Fate::Drop } else { Fate::Pass }
        });
        let mut expected = Vec::new();
        for round in 0..20_u16 {
            let text = format!("{round}");
            send(&mut pair, Side::A, 1, &text);
            expected.push(text);
            if round % 4 == 1 {
                ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
            }
            pair.run_for(Span::from_millis(30));
        }
        let done =
            |pair: &mut Pair| pair.host(Side::B).received.len() == 20 && outcomes(pair, Side::A).len() == 5;
        assert!(
            pair.run_until(Span::from_secs(600), done),
            "1 of {every} lost: {:?}",
            texts(&mut pair, Side::B)
        );
        assert_eq!(texts(&mut pair, Side::B), expected);
        assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Performed; 5]);
        let resets = numbers(&pair, Side::A).iter().filter(|(_, ssn, _)| *ssn == 0).count();
        assert!(resets >= 2, "numbers restarted {resets} times");
    }
}

/// A shutdown waits for a reset requested from the peer, and abandons requests that were not sent.
#[test]
fn a_shutdown_ends_with_requests_outstanding() {
    for asked_by in [Side::A, Side::B] {
        let mut pair = logged(Config::default());
        send(&mut pair, Side::A, 1, "a");
        ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
        ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
        send(&mut pair, Side::A, 1, "b");
        pair.with(asked_by, |association, now| association.shutdown(now));
        let closed = |pair: &mut Pair| {
            [Side::A, Side::B].iter().all(
                |&side| !matches!(pair.host(side).state(), Some(state) if state != AssociationState::Closed),
            )
        };
        assert!(pair.run_until(LIMIT, closed), "{asked_by:?}: {:?} {:?}", pair.a.state(), pair.b.state());
        assert_eq!(texts(&mut pair, Side::B), ["a", "b"], "{asked_by:?}");
        assert_eq!(outcomes(&mut pair, Side::A).len(), 2);
    }
}

/// Forbidden requests of the peer are denied, and this end continues as before.
#[test]
fn rfc6525_4_4_denied() {
    let streams = StreamsConfig { reconfiguration: Reconfiguration::Own, ..StreamsConfig::default() };
    let strict = Config { streams, ..Config::default() };
    let mut pair =
        Pair::established_with(Config::default(), strict, vec![support::a_ip(0)], vec![support::b_ip(0)]);
    pair.log = Some(Vec::new());
    let requests = [
        StreamRequest::ResetOutgoing(vec![1]),
        StreamRequest::ResetIncoming(vec![1]),
        StreamRequest::AddOutgoing(1),
        StreamRequest::AddIncoming(1),
    ];
    send(&mut pair, Side::A, 1, "a");
    for request in requests {
        ask(&mut pair, Side::A, request);
    }
    answered(&mut pair, Side::A, 4);
    assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Denied; 4]);
    send(&mut pair, Side::A, 1, "b");
    pair.run_for(Span::from_secs(1));
    assert_eq!(numbers(&pair, Side::A), [(1, 0, "a".into()), (1, 1, "b".into())]);
    assert_eq!(texts(&mut pair, Side::B), ["a", "b"]);
}

/// Neither end can request more streams than fit a packet; the largest request that fits succeeds.
#[test]
fn a_request_names_as_many_streams_as_fit_any_packet() {
    let config = Config { outbound_streams: 1000, pmtu: Pmtu::UpTo(MIN_PMTU), ..Config::default() };
    let mut pair = logged(config);
    let named = |count: u16| StreamRequest::ResetOutgoing((0..count).collect());
    let refused = pair.with(Side::A, |a, now| a.reconfigure(now, named(193))).unwrap_err();
    assert_eq!(refused.to_string(), "193 streams in one request: want at most 192, or none, which is all");
    ask(&mut pair, Side::A, named(192));
    answered(&mut pair, Side::A, 1);
    // A larger request of a peer is denied.
    let tag = pair.tag_of(Side::B);
    let streams: Vec<_> = (0..193).map(StreamId::new).collect();
    let serial = ReconfigSerial::new(request_number(&pair).wrapping_add(1));
    let params = [Param::IncomingReset(IncomingReset { serial, streams: List::from(&streams[..]) })];
    let log = pair.log_len();
    pair.inject(
        Side::B,
        Pair::at(Side::B),
        &packet(Side::B, tag, &[&ReConfig { params: Params::from(&params) }]),
    );
    let sent = pair.sent_since(Side::B, log);
    let packet = Packet::parse(&sent[0].bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::ReConfig(answer))) = packet.chunks().next() else { panic!("{sent:?}") };
    let Some(Ok(Param::ReconfigResponse(response))) = answer.params.iter().next() else { panic!("{sent:?}") };
    assert_eq!((response.serial, response.result), (serial, ReconfigResponse::DENIED));
}

/// Returns the sequence number of A's last request.
fn request_number(pair: &Pair) -> u32 {
    let number = |bytes: &[u8]| {
        let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
        packet.chunks().flatten().find_map(|chunk| match chunk {
            Chunk::ReConfig(chunk) => chunk.params.iter().flatten().find_map(|param| match param {
                Param::OutgoingReset(reset) => Some(reset.serial.get()),
                _ => None,
            }),
            _ => None,
        })
    };
    let log = pair.log.iter().flatten().rev();
    log.filter(|flight| flight.from == Side::A).find_map(|flight| number(&flight.bytes)).unwrap()
}

/// §5.2.2 E3: the request follows the data at once, and the peer waits for what is missing. The delayed SACK
/// of the last data costs the end of a stream nothing.
#[test]
fn a_reset_follows_its_data_without_a_delayed_sack() {
    let ended =
        |pair: &mut Pair| pair.b.saw(|event| *event == Event::Streams(StreamEvent::IncomingReset(vec![1])));
    for lost in [false, true] {
        let mut pair = logged(Config::default());
        let mut count = 0;
        pair.filter = Box::new(move |flight| {
            count += u32::from(flight.from == Side::A);
            if lost && count == 1 && flight.from == Side::A { Fate::Drop } else { Fate::Pass }
        });
        let begin = pair.now;
        send(&mut pair, Side::A, 1, "a");
        ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
        assert!(pair.run_until(LIMIT, ended));
        assert_eq!(texts(&mut pair, Side::B), ["a"]);
        if !lost {
            let took = pair.now.since(begin);
            assert!(took <= pair.default_delay, "{took}: with the data");
        }
        answered(&mut pair, Side::A, 1);
        assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Performed], "lost: {lost}");
    }
}

/// §4.4, Result 4: both ends ask for each other's resets at once. The end with the greater tag goes first.
#[test]
fn both_ends_ask_for_each_others_ends_at_once() {
    let mut pair = logged(Config::default());
    for (side, text) in [(Side::A, "a"), (Side::B, "b")] {
        send(&mut pair, side, 1, text);
    }
    pair.run_for(Span::from_secs(1));
    for side in [Side::A, Side::B] {
        ask(&mut pair, side, StreamRequest::ResetIncoming(vec![1]));
    }
    for side in [Side::A, Side::B] {
        // Its own request, and the reset that answers the other's.
        answered(&mut pair, side, 2);
        assert_eq!(outcomes(&mut pair, side), [ReconfigOutcome::Performed; 2], "{side:?}");
        assert!(pair.host(side).saw(|event| *event == Event::Streams(StreamEvent::IncomingReset(vec![1]))));
    }
}

/// A stream that ends before anything was sent on it is accepted all the same; one whose end this end has
/// requested is not.
#[test]
fn a_stream_that_ends_without_a_message_is_reported() {
    let mut pair = logged(Config::default());
    let next = |pair: &mut Pair| pair.with(Side::B, |b, _| b.next_stream(|_| true)).unwrap();
    assert_eq!(next(&mut pair), None);
    pair.b.events.clear();
    ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![4]));
    answered(&mut pair, Side::A, 1);
    assert!(pair.b.saw(|event| *event == Event::Readable));
    assert_eq!(next(&mut pair), Some(4));
    pair.with(Side::B, |b, now| {
        assert!(b.claim_stream(4));
        assert!(matches!(b.recv_on(4), Ok(Some(msctp_proto::StreamItem::End(end))) if end.stream == 4));
        assert!(b.release_stream(now, 4));
    });
    ask(&mut pair, Side::B, StreamRequest::ResetIncoming(vec![4]));
    answered(&mut pair, Side::B, 1);
    assert_eq!(next(&mut pair), None);
}

/// A peer that ends more streams than are taken has to wait, and loses none.
#[test]
fn ends_of_untaken_streams_wait_for_room() {
    let streams: u16 = 2000;
    let mut pair = logged(Config { outbound_streams: streams, ..Config::default() });
    for from in (0..streams).step_by(192) {
        let named = (from..streams.min(from + 192)).collect();
        ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(named));
    }
    pair.run_for(Span::from_secs(10));
    assert!(outcomes(&mut pair, Side::A).len() < 11);
    let mut taken = 0;
    for _ in 0..30 {
        pair.with(Side::B, |b, now| {
            while let Some(stream) = b.next_stream(|_| true).unwrap() {
                assert_eq!(stream, taken);
                assert!(b.claim_stream(stream) && b.release_stream(now, stream));
                taken += 1;
            }
        });
        pair.run_for(Span::from_secs(2));
    }
    assert_eq!((taken, outcomes(&mut pair, Side::A)), (streams, vec![ReconfigOutcome::Performed; 11]));
}

/// What the peer may not know of: a stream whose first message is queued, or was lost.
#[test]
fn a_stream_is_undelivered_until_its_first_message_is_acknowledged() {
    let mut pair = logged(Config::default());
    let undelivered = |pair: &mut Pair| {
        pair.with(Side::A, |a, _| a.undelivered([1, 2, 3].into_iter().collect()))
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(undelivered(&mut pair), [0; 0]);
    pair.drop_first(Side::A, 0, 1);
    send(&mut pair, Side::A, 1, "lost");
    assert_eq!(undelivered(&mut pair), [1], "queued or in flight");
    pair.run_for(Span::from_millis(100));
    send(&mut pair, Side::A, 2, "later");
    pair.run_for(Span::from_millis(400));
    assert_eq!(undelivered(&mut pair), [1]);
    pair.run_for(Span::from_secs(10));
    send(&mut pair, Side::A, 1, "more");
    assert_eq!(undelivered(&mut pair), [0; 0]);
}

/// The peer's answer to a request waits for data of another stream: the request is not over before, or the
/// end would be taken for that of the next use of the number.
#[test]
fn a_request_is_answered_when_the_streams_have_ended() {
    let mut pair = logged(Config::default());
    send(&mut pair, Side::B, 1, "a");
    pair.run_for(Span::from_secs(1));
    pair.drop_first(Side::B, 0, 1);
    send(&mut pair, Side::B, 2, "lost");
    ask(&mut pair, Side::A, StreamRequest::ResetIncoming(vec![1]));
    pair.run_for(Span::from_millis(500));
    assert_eq!(outcomes(&mut pair, Side::A), [], "its data is missing");
    answered(&mut pair, Side::A, 1);
    let ended = Event::Streams(StreamEvent::IncomingReset(vec![1]));
    assert!(pair.a.saw(|event| *event == ended));
    assert_eq!(texts(&mut pair, Side::A), ["a", "lost"]);
}

/// The SACK of a FORWARD TSN is lost, or all that B sends for a while, and A resets the stream meanwhile: the
/// next FORWARD TSN skips no message of the stream's next use (RFC 3758 §3.5 C4).
#[test]
fn a_forward_tsn_skips_nothing_behind_a_reset() {
    for interleaving in [false, true] {
        for answered_late in [false, true] {
            let what = format!("interleaving: {interleaving}, answered late: {answered_late}");
            let streams = StreamsConfig { interleaving, ..StreamsConfig::default() };
            let mut pair = logged(Config { streams, ..Config::default() });
            let once = |stream| OutMessage {
                reliability: Reliability::Retransmissions(0),
                ..message(stream, vec![7; 100])
            };
            let abandoned = |pair: &Pair| -> usize {
                pair.a.events.iter().filter(|event| matches!(event, Event::SendFailed(_))).count()
            };
            for text in ["a", "b"] {
                send(&mut pair, Side::A, 1, text);
            }
            pair.run_for(Span::from_secs(1));
            pair.drop_if(|flight| flight.from == Side::A && (flight.has(chunk::DATA) || flight.has(64)));
            pair.send(Side::A, once(1));
            // The FORWARD TSN arrives, and the SACK of it is lost.
            assert!(pair.run_until(LIMIT, |pair| abandoned(pair) == 1), "{what}");
            let lost = move |flight: &support::Flight| match flight.from {
                Side::A => flight.has(chunk::DATA) || flight.has(64),
                Side::B => answered_late || flight.has(chunk::SACK),
            };
            pair.drop_if(lost);
            // The delayed SACK.
            pair.run_for(Span::from_millis(500));
            ask(&mut pair, Side::A, StreamRequest::ResetOutgoing(vec![1]));
            pair.run_for(Span::from_millis(100));
            assert_eq!(outcomes(&mut pair, Side::A).len(), usize::from(!answered_late), "{what}");
            let reset = |event: &Event| *event == Event::Streams(StreamEvent::IncomingReset(vec![1]));
            assert!(pair.b.saw(reset), "{what}");
            pair.send(Side::A, once(2));
            assert!(pair.run_until(LIMIT, |pair| abandoned(pair) == 2), "{what}");
            pair.run_for(Span::from_millis(100));
            pair.pass_all();
            answered(&mut pair, Side::A, 1);
            for text in ["c", "d", "e", "f"] {
                send(&mut pair, Side::A, 1, text);
                send(&mut pair, Side::A, 2, text);
            }
            pair.run_for(Span::from_secs(10));
            let got = texts(&mut pair, Side::B);
            assert_eq!(
                got,
                ["a", "b", "c", "c", "d", "d", "e", "e", "f", "f"],
                "{what}: {:?}",
                pair.b.events
            );
        }
    }
}
