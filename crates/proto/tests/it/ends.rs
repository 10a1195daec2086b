//! The ends of streams (RFC 6525 §5.1.2) beside their data: packets per call, losses, and peers in clear.

use msctp_proto::{
    Config, Event, ReconfigOutcome, StreamCode, StreamEnd, StreamEvent, StreamItem, StreamRequest,
};
use msctp_units::Span;

use crate::protection::protected;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, message};

const LIMIT: Span = Span::from_secs(30);

/// Longest time for which a response waits for a packet with DATA.
const RESPONSE_DELAY: Span = Span::from_millis(1);

fn pair(config: &Config) -> Pair {
    let addresses = (vec![a_ip(0)], vec![b_ip(0)]);
    let mut pair = Pair::established_with(config.clone(), config.clone(), addresses.0, addresses.1);
    // The first DATA chunk gets a SACK at once (RFC 9260 §5.1).
    for side in [Side::A, Side::B] {
        pair.send(side, message(0, vec![1]));
    }
    pair.run_for(Span::from_secs(1));
    pair.log = Some(Vec::new());
    pair
}

/// Sends a message as the last one of its stream.
fn send_last(pair: &mut Pair, side: Side, stream: u16, len: usize) {
    pair.with(side, |end, now| {
        end.send(now, message(stream, vec![7; len])).unwrap();
        end.end_streams(now, vec![stream], Vec::new()).unwrap();
    });
}

fn has_ended(pair: &mut Pair, side: Side, stream: u16) -> bool {
    pair.host(side).saw(|event| *event == Event::Streams(StreamEvent::IncomingReset(vec![stream])))
}

fn outcomes(pair: &mut Pair, side: Side) -> Vec<ReconfigOutcome> {
    let answered = |event: &Event| match event {
        Event::Streams(StreamEvent::Answered { outcome, .. }) => Some(*outcome),
        _ => None,
    };
    pair.host(side).events.iter().filter_map(answered).collect()
}

/// Makes calls one after another: a message and the end of its stream, answered by the same.
fn call(pair: &mut Pair, calls: u16) {
    for stream in 1..=calls {
        for side in [Side::A, Side::B] {
            send_last(pair, side, stream, 64);
            assert!(pair.run_until(LIMIT, |pair| has_ended(pair, side.other(), stream)), "call {stream}");
        }
    }
    assert_eq!(pair.b.received.len(), 1 + usize::from(calls));
    assert_eq!(pair.a.received.len(), 1 + usize::from(calls));
}

#[test]
fn a_call_takes_two_packets() {
    let calls = 100;
    let config = Config { outbound_streams: 200, ..protected() };
    let mut pair = pair(&config);
    let begin = pair.now;
    call(&mut pair, calls);
    assert_eq!(pair.now.since(begin), pair.default_delay * 2 * u64::from(calls), "a round trip each");
    let packets = pair.log.iter().flatten().count();
    println!("{packets} packets for {calls} calls");
    assert_eq!(packets, 2 * usize::from(calls));
    pair.run_for(Span::from_secs(1));
    for side in [Side::A, Side::B] {
        assert_eq!(outcomes(&mut pair, side), vec![ReconfigOutcome::Performed; usize::from(calls)]);
    }
    // The last response, and the SACK of the last answer with it.
    assert_eq!(pair.log.iter().flatten().count(), packets + 1);
}

/// Every request and every response has a packet of its own, as other stacks expect.
#[test]
fn a_call_in_clear_takes_six_packets() {
    let mut pair = pair(&Config { outbound_streams: 200, ..Config::default() });
    call(&mut pair, 100);
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.log.iter().flatten().count(), 600);
}

/// The peer's application answers nothing: the response does not wait for a delayed SACK.
#[test]
fn a_response_waits_a_millisecond_for_data() {
    let mut pair = pair(&protected());
    let begin = pair.now;
    send_last(&mut pair, Side::A, 1, 64);
    assert!(pair.run_until(LIMIT, |pair| !outcomes(pair, Side::A).is_empty()));
    assert_eq!(pair.now.since(begin), pair.default_delay * 2 + RESPONSE_DELAY);
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.log.iter().flatten().count(), 2, "with its data, and with the SACK");
}

/// A message longer than a packet, and messages on other streams before it.
#[test]
fn an_end_follows_all_data_of_its_stream() {
    for config in [protected(), Config { max_segments: 16, ..protected() }, Config::default()] {
        for len in [1, 900, 1300, 1350, 1400, 1450, 3000, 40_000] {
            let mut pair = pair(&config);
            pair.with(Side::A, |end, now| end.send(now, message(2, vec![5; 700]))).unwrap();
            send_last(&mut pair, Side::A, 1, len);
            assert!(pair.run_until(LIMIT, |pair| has_ended(pair, Side::B, 1)), "{len}");
            assert_eq!(pair.b.received.last().map(|last| last.data.len()), Some(len));
            assert!(pair.run_until(LIMIT, |pair| outcomes(pair, Side::A).len() == 1));
            // The next use of the stream begins with number 0. Under protection a long message takes all of
            // its stream's credit until it is read.
            pair.run_for(Span::from_millis(100));
            send_last(&mut pair, Side::A, 1, 10);
            assert!(pair.run_until(LIMIT, |pair| outcomes(pair, Side::A).len() == 2));
            assert_eq!(outcomes(&mut pair, Side::A), [ReconfigOutcome::Performed; 2], "{len}");
            assert_eq!(pair.b.received.len(), 4);
        }
    }
}

/// While the peer's window is closed, the data waits, and requests of other streams do not.
#[test]
fn other_requests_pass_an_end_that_waits_for_its_data() {
    for config in [protected(), Config::default()] {
        let config = Config { receive_buffer: 4096, ..config };
        let mut pair = pair(&config);
        pair.b.reading = false;
        pair.send(Side::A, message(3, vec![5; 4000]));
        pair.run_for(Span::from_secs(1));
        send_last(&mut pair, Side::A, 1, 2000);
        pair.with(Side::A, |end, now| end.reconfigure(now, StreamRequest::AddOutgoing(1))).unwrap();
        assert!(pair.run_until(LIMIT, |pair| outcomes(pair, Side::A).len() == 1));
        assert!(!has_ended(&mut pair, Side::B, 1));
        pair.b.reading = true;
        pair.drain(Side::B);
        assert!(pair.run_until(LIMIT, |pair| outcomes(pair, Side::A).len() == 2));
        assert!(has_ended(&mut pair, Side::B, 1));
    }
}

/// Any one or two packets are lost: each call ends, and no message is lost or comes twice.
#[test]
fn a_lost_end_is_repeated() {
    for first in 0..12 {
        for second in first..12 {
            let mut pair = pair(&protected());
            let mut count = 0;
            pair.filter = Box::new(move |_: &mut Flight| {
                count += 1;
                if [first, second].contains(&(count - 1)) { Fate::Drop } else { Fate::Pass }
            });
            let begin = pair.now;
            call(&mut pair, 4);
            let took = pair.now.since(begin);
            assert!(took <= Span::from_secs(10), "{first} and {second} lost: {took}");
            for side in [Side::A, Side::B] {
                assert!(
                    pair.run_until(LIMIT, |pair| outcomes(pair, side).len() == 4),
                    "{first} and {second}"
                );
                assert_eq!(
                    outcomes(&mut pair, side),
                    [ReconfigOutcome::Performed; 4],
                    "{first} and {second}"
                );
            }
        }
    }
}

/// Other stacks may answer a request whose data follows in the same packet with an error.
#[test]
fn a_peer_in_clear_gets_the_request_after_the_data() {
    let mut pair = pair(&Config::default());
    send_last(&mut pair, Side::A, 1, 64);
    pair.run_for(Span::from_secs(1));
    let chunks: Vec<_> =
        pair.log.iter().flatten().filter(|flight| flight.from == Side::A).map(Flight::chunks).collect();
    assert_eq!(chunks, [vec![0], vec![130]]);
    let answers =
        pair.log.iter().flatten().filter(|flight| flight.from == Side::B && flight.has(130)).count();
    assert_eq!((answers, outcomes(&mut pair, Side::A)), (1, vec![ReconfigOutcome::Performed]));
}

/// Reads on these streams of B until both ends are closed, and returns the ends.
fn ends_until_closed(pair: &mut Pair, streams: &[u16]) -> Vec<StreamEnd> {
    let (mut ends, limit) = (Vec::new(), pair.now + Span::from_secs(120));
    while pair.b.endpoint.len() + pair.a.endpoint.len() > 0 {
        assert!(pair.step(limit), "{:?} {:?}", pair.a.events, pair.b.events);
        let b = pair.b.endpoint.association_mut(pair.b.handle.unwrap());
        let Some(b) = b else { continue };
        for &stream in streams {
            while let Ok(Some(item)) = b.recv_on(stream) {
                if let StreamItem::End(end) = item {
                    ends.push(end);
                }
            }
        }
        pair.drain(Side::B);
    }
    for host in [&pair.a, &pair.b] {
        assert!(host.saw(|event| *event == Event::Closed), "{:?}", host.events);
    }
    ends
}

/// The association is shut down right after streams were abandoned, by either end, and packets are lost: the
/// peer's readers do not take the part that they have for the whole.
#[test]
fn a_shutdown_does_not_hide_that_streams_were_given_up() {
    for config in [protected(), Config::default()] {
        for (first_lost, lost) in [(0, 0), (0, 1), (1, 1), (0, 3), (1, 3), (2, 2)] {
            for closer in [Side::A, Side::B] {
                let mut pair = pair(&config);
                for stream in [1, 2, 3] {
                    assert!(pair.with(Side::B, |b, _| b.claim_stream(stream)));
                    pair.send(Side::A, message(stream, vec![5; 40_000]));
                }
                let mut count = 0;
                pair.drop_if(move |flight| {
                    count += u32::from(flight.from == Side::A);
                    flight.from == Side::A && (first_lost + 1..=first_lost + lost).contains(&count)
                });
                pair.with(Side::A, |a, now| {
                    for stream in [1, 2] {
                        let codes = vec![StreamCode { stream, code: 7 }];
                        a.end_streams(now, vec![stream], codes).unwrap();
                    }
                    a.end_streams(now, vec![3], Vec::new()).unwrap();
                    let codes = vec![StreamCode { stream: 4, code: 7 }];
                    a.end_streams(now, vec![4], codes).unwrap();
                });
                pair.with(closer, |end, now| end.shutdown(now));
                let mut ends = ends_until_closed(&mut pair, &[1, 2, 3]);
                ends.retain(|end| end.code.is_some());
                let given_up = [1, 2].map(|stream| StreamEnd { stream, code: Some(7) });
                assert_eq!(ends, given_up, "{first_lost} {lost} {closer:?}");
            }
        }
    }
}
