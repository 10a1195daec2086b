//! False Start: the client's data leaves with its last message of the handshake.

use crate::secured;

use msctp_proto::{AbortReason, Event, SendError};
use msctp_security::{METHOD, METHOD_FALSE_START};
use msctp_units::{Span, Time};
use msctp_wire::{Abort, Causes, EncodeChunk, List, Sack, Shutdown, Tsn};
use secured::network::{self, Fate, Flight, Pair, Side, chunk, text_message};
use secured::{DTLS, Secured};

const FALSE_START: &[u8] = &[METHOD_FALSE_START, METHOD];

impl Secured {
    /// Runs until the client may send, and sends `texts`. Returns the time of the INIT.
    pub(crate) fn start(&mut self, texts: &[&str]) -> Time {
        let begun = self.pair.log.as_ref().expect("a log")[0].sent;
        let limit = self.pair.now + Span::from_secs(60);
        while !self.ends[0].started {
            assert!(self.pair.step(limit), "no keys within a minute");
            self.serve(Side::A);
            self.serve(Side::B);
        }
        for text in texts {
            self.pair.send(Side::A, text_message(text));
        }
        begun
    }

    /// Runs until the server has received this text. Returns the time since `begun`, in whole milliseconds.
    fn time_of(&mut self, begun: Time, text: &str) -> u64 {
        let limit = self.pair.now + Span::from_secs(60);
        while !self.has(text) {
            assert!(self.pair.step(limit), "not delivered within a minute");
            self.serve(Side::A);
            self.serve(Side::B);
        }
        self.pair.now.since(begun).as_millis()
    }

    fn has(&self, text: &str) -> bool {
        self.pair.b.received.iter().any(|message| message.data == text.as_bytes())
    }

    fn undecryptable(&self) -> u64 {
        self.pair.b.endpoint.association(self.pair.b.handle.unwrap()).unwrap().stats().undecryptable_packets
    }

    fn log(&self) -> &[Flight] {
        self.pair.log.as_ref().expect("a log")
    }
}

/// Passes all packets, except that the first ones that `pick` selects meet `fate`.
fn first(
    count: u32,
    fate: Fate,
    mut pick: impl FnMut(&Flight) -> bool + 'static,
) -> Box<dyn FnMut(&mut Flight) -> Fate> {
    let mut left = count;
    Box::new(move |flight| {
        let hit = left > 0 && pick(flight);
        left -= u32::from(hit);
        if hit { fate } else { Fate::Pass }
    })
}

fn sealed(flight: &Flight) -> bool {
    flight.chunks() == [DTLS]
}

/// Returns whether a packet is the client's last of the handshake: the first with DATA after the COOKIE ECHO.
fn finished(flight: &Flight) -> bool {
    flight.from == Side::A && flight.has(chunk::DATA) && !flight.has(chunk::COOKIE_ECHO)
}

/// With round trips of 40 ms, data leaves after two of them.
#[test]
fn data_leaves_after_two_round_trips() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    let begun = secured.start(&["early"]);
    assert_eq!(secured.pair.now.since(begun).as_millis(), 80, "the client may send");
    // The path paces the data a millisecond behind the message.
    assert_eq!(secured.time_of(begun, "early"), 101);
    assert_eq!(secured.undecryptable(), 0);
    // The last message of the handshake leaves in clear, the data behind it does not.
    let log = secured.log();
    let data = log.iter().position(sealed).expect("a sealed packet");
    assert!(finished(&log[data - 1]) && log[data].from == Side::A, "{:?}", log[data - 1].chunks());
    // The server's data needs the client's last message: it leaves when the client's data arrives.
    secured.pair.send(Side::B, text_message("answer"));
    secured.run_for(Span::from_secs(1));
    assert_eq!(secured.pair.a.received[0].data, "answer");
    secured.assert_works(3);
    let later = secured.log().iter().skip(data).filter(|flight| !sealed(flight)).count();
    assert_eq!(later, 0, "nothing else in clear");
}

#[test]
fn a_peer_that_does_not_offer_it_gets_the_drafts_order() {
    for (client, server) in [(FALSE_START, &[METHOD][..]), (&[METHOD], FALSE_START)] {
        let mut secured = Secured::with(client, server);
        secured.hello_behind_cookie();
        assert_eq!(secured.time_to_protection(), Span::from_millis(120));
        assert!(!secured.ends[0].started);
        secured.assert_works(3);
    }
}

/// Data that overtakes the client's last message is held until it can be opened.
#[test]
fn sealed_packets_ahead_of_the_keys_are_held() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    secured.pair.filter = first(1, Fate::Late(Span::from_millis(15)), finished);
    let begun = secured.start(&["early"]);
    assert_eq!(secured.time_of(begun, "early"), 115);
    assert_eq!(secured.undecryptable(), 0);
    // Nothing was retransmitted.
    assert_eq!(secured.log().iter().filter(|flight| finished(flight)).count(), 1);
    secured.run_for(Span::from_secs(1));
    secured.assert_works(3);
}

/// Each of the first packets of either end is lost once and twice in a row, with and without client data that
/// follows at once.
#[test]
fn every_packet_of_the_set_up_may_be_lost() {
    for side in [Side::A, Side::B] {
        for skipped in 0..9 {
            for count in [1, 2] {
                for texts in [&[][..], &["early", "second"]] {
                    let mut secured = Secured::false_start();
                    let mut seen = 0;
                    secured.pair.filter = first(count, Fate::Drop, move |flight| {
                        let due = flight.from == side && seen >= skipped;
                        seen += u32::from(flight.from == side);
                        due
                    });
                    let begun = secured.start(texts);
                    for text in texts {
                        let took = secured.time_of(begun, text);
                        assert!(took < 12_000, "{side:?} {skipped} {count}: {took} ms");
                    }
                    secured.run_for(Span::from_secs(20));
                    secured.assert_works(3);
                }
            }
        }
    }
}

#[test]
fn data_arrives_over_a_lossy_network() {
    for seed in 0..40u32 {
        let mut secured = Secured::false_start();
        let mut state = seed;
        secured.pair.filter = Box::new(move |_: &mut Flight| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 16 {
                draw if draw % 5 == 0 => Fate::Drop,
                draw if draw % 5 == 1 => Fate::Late(Span::from_millis(30)),
                draw if draw % 5 == 2 => Fate::Twice(Span::from_millis(10)),
                _ => Fate::Pass,
            }
        });
        secured.start(&["early"]);
        secured.run_for(Span::from_secs(50));
        secured.pair.pass_all();
        secured.run_for(Span::from_secs(70));
        assert!(secured.has("early"), "{seed}");
        secured.assert_works(3);
    }
}

/// Until a packet of the server was opened, only chunks of a server without keys are accepted in clear. A
/// forged SACK would let the client drop data that the server never received.
#[test]
fn a_forged_acknowledgement_shutdown_or_restart_in_clear_has_no_effect() {
    for kind in 0..5 {
        let mut secured = Secured::false_start();
        secured.hello_behind_cookie();
        // The data is lost, and what the server sends is late.
        secured.pair.filter = first(1, Fate::Drop, sealed);
        secured.start(&["early"]);
        secured.run_for(Span::from_millis(5));
        let log = secured.log();
        assert!(sealed(log.last().unwrap()), "the data has left");
        // The data's TSN follows that of the last message in clear.
        let last = log.iter().rev().find_map(|flight| finished(flight).then(|| flight.tsn())).flatten();
        let last = last.expect("the client's last message");
        let (cum_tsn_ack, end) = [(last, 1), (last + 1, 0), (last + 1, 0), (last - 1, 2), (last, 0)][kind];
        let gaps = [msctp_wire::GapBlock { start: 1.max(end), end }];
        let sack = Sack {
            cum_tsn_ack: Tsn::new(cum_tsn_ack),
            a_rwnd: 100_000,
            gap_blocks: List::from(if end > 0 { &gaps[..] } else { &[] }),
            duplicates: List::from(&[][..]),
        };
        let shutdown = Shutdown { cum_tsn_ack: Tsn::new(cum_tsn_ack) };
        let init = network::chunks::bare_init();
        let forged: &dyn EncodeChunk = match kind {
            2 => &shutdown,
            4 => &init,
            _ => &sack,
        };
        let tag = if kind == 4 { 0 } else { secured.pair.tag_of(Side::A) };
        let packet = network::packet(Side::A, tag, &[forged]);
        secured.pair.inject(Side::A, Pair::at(Side::A), &packet);
        let discarded = |secured: &mut Secured| {
            secured.pair.with(Side::A, |association, _| association.stats().unprotected_packets)
        };
        assert_eq!(discarded(&mut secured), 1, "{kind}");
        secured.run_for(Span::from_secs(20));
        assert!(secured.has("early"), "{kind}");
        secured.assert_works(3);
    }
}

/// The ABORT of a client that aborts at once reaches the server, with keys and without.
#[test]
fn an_abort_behind_the_last_message_ends_the_association() {
    for lost in [0, 1] {
        let mut secured = Secured::false_start();
        secured.pair.filter = first(lost, Fate::Drop, finished);
        secured.start(&[]);
        secured.run_for(Span::from_millis(1));
        secured.pair.with(Side::A, |association, now| association.abort(now, &AbortReason::from("no")));
        secured.run_for(Span::from_secs(1));
        assert!(secured.pair.b.saw(|event| matches!(event, Event::Lost(_))), "{lost}");
    }
}

/// The server refuses the client's key. Its ABORT in clear ends the association, which so far only the client
/// trusts.
#[test]
fn a_refusal_in_clear_is_accepted_until_the_server_has_keys() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    secured.pair.filter = Box::new(|flight| if finished(flight) { Fate::Drop } else { Fate::Pass });
    secured.start(&["early"]);
    secured.run_for(Span::from_millis(1));
    let tag = secured.pair.tag_of(Side::A);
    let abort = Abort { tag_reflected: false, causes: Causes::from(&[][..]) };
    let packet = network::packet(Side::A, tag, &[&abort]);
    secured.pair.inject(Side::A, Pair::at(Side::A), &packet);
    assert!(secured.pair.a.saw(|event| matches!(event, Event::Lost(_))));
    assert!(secured.pair.b.received.is_empty());
}

/// Without the client's last message, none of its data is delivered.
#[test]
fn nothing_is_delivered_before_the_client_is_authenticated() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    secured.pair.filter = Box::new(|flight| if finished(flight) { Fate::Drop } else { Fate::Pass });
    let texts: Vec<String> = (0..200).map(|i| format!("{i:0>1000}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    secured.start(&texts);
    secured.run_for(Span::from_secs(10));
    assert!(secured.pair.b.received.is_empty());
    assert!(secured.log().iter().filter(|flight| sealed(flight)).count() >= 10, "data was sent");
    let sent = secured.pair.with(Side::B, |association, now| association.send(now, text_message("no")));
    assert_eq!(sent, Err(SendError::NoKeys));
    secured.pair.pass_all();
    secured.run_for(Span::from_secs(100));
    assert_eq!(secured.pair.b.received.len(), texts.len());
}
