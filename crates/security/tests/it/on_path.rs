//! Attackers on the path while the first keys come into use: what they send in clear, replay, reflect,
//! reorder and delete.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use msctp_proto::{AbortReason, Config, Event, KeyAgreement, PathAddr};
use msctp_security::{METHOD, METHOD_FALSE_START};
use msctp_units::{Rate, Span, Time};

use crate::joint::with_names;
use crate::prefix_truncation::{chunks, piece, texts, tsn};
use crate::secured::network::{self, Fate, Flight, Pair, Side, a_ip, chunk, message, text_message};
use crate::secured::{DTLS, Secured, agreed};

/// Bytes of a protected packet with a SACK without gap blocks: headers, SACK, trailer.
const SEALED_SACK: usize = 12 + 8 + 16 + 20;

fn is_sealed(flight: &Flight) -> bool {
    flight.chunks() == [DTLS]
}

/// Returns the last TSN of a side in clear.
fn last_in_clear(secured: &Secured, side: Side) -> u32 {
    let log = secured.pair.log.as_ref().unwrap();
    let flights = log.iter().filter(|flight| flight.from == side && !is_sealed(flight));
    let data = flights.flat_map(|flight| chunks(&flight.bytes)).filter(|one| one[0] == chunk::DATA);
    data.map(|one| tsn(&one)).next_back().unwrap()
}

/// Returns a packet in clear with these bytes behind the common header.
fn in_clear(to: Side, tag: u32, chunks: &[u8]) -> Vec<u8> {
    let mut bytes = network::packet(to, tag, &[&msctp_wire::CookieAck]);
    bytes.truncate(12);
    bytes.extend(chunks);
    network::reseal(&mut bytes);
    bytes
}

/// Returns a SACK without gap blocks.
fn sack(cum_tsn_ack: u32, a_rwnd: u32) -> Vec<u8> {
    [&[3, 0, 0, 16][..], &cum_tsn_ack.to_be_bytes(), &a_rwnd.to_be_bytes(), &[0; 4]].concat()
}

/// With False Start, the server's SACKs are protected, and its *Protection Established* does not arrive. The
/// attacker deletes what the client sends, and acknowledges it in clear.
#[test]
fn nothing_in_clear_acknowledges_user_data_once_the_peer_protects() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    secured.start(&[]);
    let deleting = Rc::new(RefCell::new(false));
    let deletes = Rc::clone(&deleting);
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        let drop = match flight.from {
            Side::A => *deletes.borrow() && is_sealed(flight),
            Side::B => is_sealed(flight) && flight.bytes.len() > SEALED_SACK,
        };
        if drop { Fate::Drop } else { Fate::Pass }
    });
    for i in 1..=4 {
        secured.pair.send(Side::A, text_message(&format!("message {i}")));
        secured.run_for(Span::from_millis(100));
    }
    assert!(secured.pair.a.saw(|event| *event == Event::Protected), "{:?}", secured.pair.a.events);
    assert!(secured.ends[0].epochs.is_empty(), "no Protection Established");
    assert_eq!(texts(&secured).len(), 4);
    *deleting.borrow_mut() = true;
    for i in 5..=6 {
        secured.pair.send(Side::A, text_message(&format!("message {i}")));
    }
    secured.run_for(Span::from_millis(100));
    let forged = sack(last_in_clear(&secured, Side::A).wrapping_add(6), 100_000);
    let tag = secured.pair.tag_of(Side::A);
    secured.pair.inject(Side::A, Pair::at(Side::A), &in_clear(Side::A, tag, &forged));
    let buffered = secured.pair.with(Side::A, |association, _| association.buffered());
    secured.pair.with(Side::A, |association, now| association.shutdown(now));
    secured.pair.pass_all();
    secured.run_for(Span::from_secs(30));
    let closed = |host: &network::Host| host.saw(|event| *event == Event::Closed);
    assert_eq!(
        texts(&secured).len(),
        6,
        "deleted; both closed: {} {}, buffered {buffered}",
        closed(&secured.pair.a),
        closed(&secured.pair.b)
    );
    assert!(buffered > 0, "the client believes that something arrived");
}

/// The attacker rewrites the SCTP ports of every packet, so that the client reaches another program at the
/// same host than the one that it asked for.
#[test]
fn an_attacker_on_the_path_does_not_lead_a_client_to_another_port() {
    for (client, server) in [(0, 100), (100, 0)] {
        let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
        let local = msctp_proto::LocalAddrs { port: 5101, addresses: vec![network::b_ip(0)] };
        secured.listen_too(local);
        secured.pair.filter = Box::new(move |flight: &mut Flight| {
            let add = |bytes: &mut [u8], at: usize, by: i32| {
                let port = i32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]])) + by;
                bytes[at..at + 2].copy_from_slice(&(port as u16).to_be_bytes());
            };
            match flight.from {
                Side::A => (add(&mut flight.bytes, 0, client), add(&mut flight.bytes, 2, server)),
                Side::B => (add(&mut flight.bytes, 0, -server), add(&mut flight.bytes, 2, -client)),
            };
            network::reseal(&mut flight.bytes);
            Fate::Pass
        });
        secured.connect();
        secured.run_for(Span::from_secs(40));
        let protected = |host: &network::Host| host.saw(|event| *event == Event::Protected);
        assert!(!protected(&secured.pair.a) && !protected(&secured.pair.b), "{client} {server}");
    }
}

/// Clear chunks beside a protected one, in one packet.
#[test]
fn chunks_in_clear_beside_a_protected_one_are_discarded_with_it() {
    let mut secured = Secured::new();
    secured.run_for(Span::from_secs(2));
    secured.assert_works(3);
    let to = Side::B;
    let caught = Rc::new(RefCell::new(Vec::new()));
    let catch = Rc::clone(&caught);
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.from == to.other() && is_sealed(flight) && flight.bytes.len() > 100 {
            catch.borrow_mut().push(flight.bytes.clone());
            return Fate::Drop;
        }
        Fate::Pass
    });
    secured.pair.send(Side::A, text_message(&"x".repeat(200)));
    secured.run_for(Span::from_millis(10));
    let sealed = caught.borrow()[0].clone();
    let tag = secured.pair.tag_of(to);
    let before = secured.pair.b.received.len();
    let clear: [Vec<u8>; 4] = [
        sack(7, 0),
        piece(last_in_clear(&secured, Side::A).wrapping_add(3), 2, 3, b"forged"),
        vec![7, 0, 0, 8, 0, 0, 0, 1],
        vec![14, 0, 0, 4],
    ];
    for one in &clear {
        for bytes in [
            [&sealed[12..], &one[..]].concat(),
            [&one[..], &sealed[12..]].concat(),
            [&sealed[12..], &sealed[12..]].concat(),
        ] {
            secured.pair.inject(to, Pair::at(to), &in_clear(to, tag, &bytes));
        }
    }
    assert_eq!(secured.pair.b.received.len(), before);
    secured.pair.inject(to, Pair::at(to), &sealed);
    assert_eq!(secured.pair.b.received.len(), before + 1, "the packet itself was not used up");
    secured.pair.inject(to, Pair::at(to), &sealed);
    secured.pair.pass_all();
    secured.run_for(Span::from_secs(10));
    assert_eq!(secured.pair.b.received.len(), before + 1);
    secured.assert_works(3);
}

/// Every packet of the set-up and of two epochs, again and to either end, before and after rekeying.
#[test]
fn replayed_and_reflected_packets_change_nothing() {
    for methods in [&[METHOD][..], &[METHOD_FALSE_START, METHOD]] {
        let mut secured = Secured::with(methods, methods);
        secured.run_for(Span::from_secs(2));
        secured.assert_works(3);
        for epoch in 4..=8 {
            let recorded = secured.pair.log.clone().unwrap();
            let counts = [secured.pair.a.received.len(), secured.pair.b.received.len()];
            for flight in &recorded {
                for to in [Side::A, Side::B] {
                    let (mut bytes, side) = (flight.bytes.clone(), flight.from.other());
                    if to != side {
                        // Reflected: the ports, and the tag that its sender expects.
                        let (src, dst) = ([bytes[0], bytes[1]], [bytes[2], bytes[3]]);
                        bytes[..2].copy_from_slice(&dst);
                        bytes[2..4].copy_from_slice(&src);
                        let tag = secured.pair.tag_of(to).to_be_bytes();
                        bytes[4..8].copy_from_slice(&tag);
                        network::reseal(&mut bytes);
                    }
                    secured.pair.inject(to, Pair::at(to), &bytes);
                }
            }
            secured.run_for(Span::from_secs(1));
            assert_eq!([secured.pair.a.received.len(), secured.pair.b.received.len()], counts);
            assert!(!secured.pair.b.saw(|event| *event == Event::Restarted));
            secured.rekey(if epoch % 2 == 0 { Side::A } else { Side::B });
            secured.assert_works(epoch);
        }
    }
}

/// A chunk of each type in clear, alone and behind a repeated COOKIE ECHO, when the association is protected.
#[test]
fn no_chunk_in_clear_has_an_effect_under_protection() {
    let mut secured = Secured::new();
    secured.run_for(Span::from_secs(2));
    secured.assert_works(3);
    let log = secured.pair.log.clone().unwrap();
    let echo = log.iter().find(|flight| flight.has(chunk::COOKIE_ECHO)).unwrap();
    let echo = chunks(&echo.bytes).into_iter().find(|one| one[0] == chunk::COOKIE_ECHO).unwrap();
    for to in [Side::A, Side::B] {
        let tag = secured.pair.tag_of(to);
        let reflected = secured.pair.tag_of(to.other());
        let events = secured.pair.host(to).events.len();
        let next = last_in_clear(&secured, to.other()).wrapping_add(4);
        for typ in 0..=u8::MAX {
            for flags in [0, 1, 3] {
                let mut one = vec![typ, flags, 0, 20];
                one.extend(next.to_be_bytes());
                one.extend([0; 12]);
                for bytes in [one.clone(), [&echo[..], &one].concat()] {
                    for tag in [tag, reflected] {
                        secured.pair.inject(to, Pair::at(to), &in_clear(to, tag, &bytes));
                    }
                }
            }
        }
        assert_eq!(secured.pair.host(to).events[events..], [], "{to:?}");
        secured.run_for(Span::from_secs(5));
        secured.assert_works(3);
    }
}

/// A generator of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// An attacker that does what it likes at random: it drops, delays, repeats and changes packets, and injects
/// forged and recorded ones.
struct Attacker {
    random: Random,
    /// Agreements of both ends' managers.
    agreements: [Option<KeyAgreement>; 2],
    restarts: [usize; 2],
    /// The initial TSN of each side.
    initial: BTreeMap<Side, u32>,
}

impl Attacker {
    fn forged(&mut self, secured: &Secured, to: Side) -> Option<Vec<u8>> {
        let log = secured.pair.log.as_ref().unwrap();
        let tag = log.iter().rev().find(|flight| flight.from == to.other() && flight.tag() != 0)?.tag();
        let own = self.initial.get(&to)?.wrapping_add(self.random.below(40) as u32);
        let theirs = self.initial.get(&to.other()).copied().unwrap_or(0);
        let theirs = theirs.wrapping_add(self.random.below(20) as u32);
        let word = |word: u32| word.to_be_bytes();
        let ssn = self.random.below(6) as u16;
        let chunk = match self.random.below(13) {
            0..=4 => sack(own, 100_000 * self.random.below(2) as u32),
            5 => piece(theirs, ssn, 3, &[0x83, 0x7f]),
            6 => piece(theirs, ssn, 3, &[0x83, 0x01]),
            7 => [&[7, 0, 0, 8][..], &word(own)].concat(),
            8 => vec![8, 0, 0, 4],
            9 => vec![14, self.random.below(2) as u8, 0, 4],
            10 => [&[192, 0, 0, 8][..], &word(theirs)].concat(),
            11 => vec![11, 0, 0, 4],
            _ => [&[9, 0, 0, 12, 0, 3, 0, 8][..], &word(9)].concat(),
        };
        Some(in_clear(to, tag, &chunk))
    }

    fn inject(&mut self, secured: &mut Secured) {
        let to = *self.random.of(&[Side::A, Side::B]);
        let log = secured.pair.log.as_ref().unwrap();
        let bytes = if self.random.below(3) == 0 {
            let flight = self.random.of(log);
            (flight.from != to).then(|| flight.bytes.clone())
        } else {
            self.forged(secured, to)
        };
        if let Some(bytes) = bytes {
            secured.pair.inject(to, Pair::at(to), &bytes);
        }
    }

    /// Begins key management anew where the agreement has changed.
    fn follow(&mut self, secured: &mut Secured) {
        for side in [Side::A, Side::B] {
            let host = secured.pair.host(side);
            let restarts = host.events.iter().filter(|event| **event == Event::Restarted).count();
            let Some(handle) = host.handle else { continue };
            let Some(association) = host.endpoint.association(handle) else { continue };
            let agreement = association.key_agreement();
            let index = side as usize;
            if restarts > self.restarts[index] {
                self.restarts[index] = restarts;
                secured.ends[index].manager = None;
                secured.ends[index].epochs.clear();
            } else if let (Some(manager), Some(agreement)) =
                (&mut secured.ends[index].manager, agreement.as_ref())
                && self.agreements[index].as_ref().is_some_and(|old| old != agreement)
                && let Err(error) = manager.agree_again(agreed(agreement))
            {
                secured.ends[index].error.get_or_insert(error);
            }
            self.agreements[index] = agreement;
        }
    }
}

/// Returns a filter that drops, delays and repeats packets, the more the greater `harm` is.
fn random_fates(seed: u64, harm: u64, withheld_until: Time) -> Box<dyn FnMut(&mut Flight) -> Fate> {
    let mut fate = Random(seed);
    Box::new(move |flight| {
        // SACKs reach the client for a while, and *Protection Established* does not.
        let withheld = flight.from == Side::B && is_sealed(flight) && flight.bytes.len() > SEALED_SACK;
        match fate.below(40) {
            0..=35 if harm > 2 && withheld && flight.sent < withheld_until => Fate::Drop,
            0..=3 if harm > 0 => Fate::Drop,
            4..=7 if harm > 1 && is_sealed(flight) => Fate::Drop,
            8..=10 => Fate::Late(Span::from_millis(fate.below(100))),
            11..=13 => Fate::Twice(Span::from_millis(fate.below(2000))),
            _ => Fate::Pass,
        }
    })
}

const MARK: &str = "a secret";

/// Runs an association under a random attack. Returns whether both ends closed it.
fn attacked_at_random(seed: u64, false_start: bool) -> bool {
    let methods: &[u8] = if false_start { &[METHOD_FALSE_START, METHOD] } else { &[METHOD] };
    let mut secured = Secured::over(&Config::mobile(), methods, methods);
    let mut attacker = Attacker {
        random: Random(seed),
        agreements: [None, None],
        restarts: [0, 0],
        initial: BTreeMap::new(),
    };
    let quiet_until = secured.pair.now + Span::from_millis(1 + attacker.random.below(400));
    let withheld_until = secured.pair.now + Span::from_secs(3);
    secured.pair.filter = random_fates(!seed, attacker.random.below(4), withheld_until);
    let (mut sent, mut asked) = (0, false);
    let total = attacker.random.below(12) as usize;
    let end = secured.pair.now + Span::from_secs(700);
    let ended = |host: &network::Host| host.saw(|event| matches!(event, Event::Lost(_) | Event::Closed));
    while secured.pair.step(end) {
        for flight in secured.pair.log.as_ref().unwrap().iter().take(6) {
            if flight.has(chunk::INIT) || flight.has(chunk::INIT_ACK) {
                let first = u32::from_be_bytes(flight.bytes[28..32].try_into().unwrap());
                attacker.initial.insert(flight.from, first);
            }
        }
        secured.serve(Side::A);
        attacker.follow(&mut secured);
        secured.serve(Side::B);
        attacker.follow(&mut secured);
        for side in [Side::A, Side::B] {
            if secured.ends[side as usize].error.is_some() && !ended(secured.pair.host(side)) {
                secured.pair.with(side, |association, now| association.abort(now, &AbortReason::default()));
            }
        }
        let may = secured.ends[0].started || !secured.ends[0].epochs.is_empty();
        let up = !ended(&secured.pair.a);
        if may && up && sent < total && attacker.random.below(3) == 0 {
            let text = text_message(&format!("{MARK} {sent}"));
            let accepted = secured.pair.with(Side::A, |association, now| association.send(now, text));
            sent += usize::from(accepted.is_ok());
        }
        if may && up && sent == total && !asked && attacker.random.below(4) == 0 {
            asked = true;
            secured.pair.with(Side::A, |association, now| association.shutdown(now));
        }
        if secured.pair.now >= quiet_until && attacker.random.below(3) == 0 {
            attacker.inject(&mut secured);
        }
        let expected: Vec<String> = (0..sent).map(|i| format!("{MARK} {i}")).collect();
        let received = texts(&secured);
        assert_eq!(received[..], expected[..received.len()], "seed {seed}");
        if up && may && sent > 0 && !ended(&secured.pair.a) {
            let buffered = secured.pair.with(Side::A, |association, _| association.buffered());
            assert!(buffered > 0 || received.len() == sent, "seed {seed}: acknowledged and not delivered");
        }
        let host = &secured.pair.b;
        if host.saw(|event| matches!(event, Event::PeerShutdown | Event::Closed)) {
            assert!(asked, "seed {seed}: a shutdown that nobody asked for");
            assert_eq!(received.len(), sent, "seed {seed}: a graceful end without the last messages");
        }
        if ended(&secured.pair.a) && (secured.pair.b.handle.is_none() || ended(&secured.pair.b)) {
            break;
        }
    }
    let closed = |host: &network::Host| host.saw(|event| *event == Event::Closed);
    if closed(&secured.pair.a) {
        assert_eq!(texts(&secured).len(), sent, "seed {seed}: closed without all");
    }
    assert!(ended(&secured.pair.a), "seed {seed}: the client waits: {:?}", secured.pair.a.events);
    let log = secured.pair.log.as_ref().unwrap();
    let leaks = |flight: &Flight| flight.bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    assert!(!log.iter().any(leaks), "seed {seed}: user data in clear");
    closed(&secured.pair.a) && closed(&secured.pair.b)
}

#[test]
fn no_random_attack_deletes_or_inserts_a_message_unnoticed() {
    let mut closed = 0_u64;
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(100);
    for seed in 0..seeds {
        closed += u64::from(attacked_at_random(seed, true)) + u64::from(attacked_at_random(seed, false));
    }
    assert!(closed > seeds / 2, "{closed} of {} closed", 2 * seeds);
}

/// An observer restarts the server's association while the client's last message is on its way.
#[test]
fn a_restart_of_the_server_during_false_start_is_noticed_by_the_client() {
    let mut secured = Secured::false_start();
    secured.hello_behind_cookie();
    secured.start(&["message 1", "message 2", "message 3"]);
    let mut init = secured.pair.log.as_ref().unwrap()[0].bytes.clone();
    init[16] ^= 1;
    network::reseal(&mut init);
    let before = secured.pair.log_len();
    secured.pair.inject(Side::B, Pair::at(Side::B), &init);
    let ack = secured.pair.sent_since(Side::B, before).remove(0).bytes;
    let ack = chunks(&ack).remove(0);
    let tag = u32::from_be_bytes(ack[4..8].try_into().unwrap());
    let mut rest = &ack[20..];
    let cookie = loop {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        if rest[..2] == [0, 7] {
            break &rest[4..len];
        }
        rest = &rest[len.next_multiple_of(4)..];
    };
    let len = (4 + cookie.len() as u16).to_be_bytes();
    let mut echo = [&[10, 0][..], &len, cookie].concat();
    echo.resize(echo.len().next_multiple_of(4), 0);
    secured.pair.inject(Side::B, Pair::at(Side::B), &in_clear(Side::B, tag, &echo));
    assert!(secured.began_again(), "{:?}", secured.pair.b.events);
    secured.run_for(Span::from_secs(70));
    assert!(texts(&secured).is_empty());
    let buffered = secured.pair.with(Side::A, |association, _| association.buffered());
    let error = secured.ends[0].error.is_some();
    let lost = secured.pair.a.saw(|event| matches!(event, Event::Lost(_)));
    assert!(error || lost, "buffered {buffered}: {:?}", secured.pair.a.events);
}

/// Packets of one side that an observer has copied.
type Copies = Rc<RefCell<Vec<Vec<u8>>>>;

/// Copies the packets to one side. Those to an address of the observer go no further.
fn copy_all(secured: &mut Secured, to: Side, observer: core::net::IpAddr) -> Copies {
    let copies = Copies::default();
    let copy = Rc::clone(&copies);
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.from != to {
            copy.borrow_mut().push(flight.bytes.clone());
        }
        if flight.at.remote == observer { Fate::Drop } else { Fate::Pass }
    });
    copies
}

/// Delivers each copy at once, between these addresses: the packet itself arrives 20 ms later.
fn run_overtaken(secured: &mut Secured, to: Side, copies: &Copies, at: PathAddr, span: Span) {
    let end = secured.pair.now + span;
    loop {
        for bytes in copies.take() {
            secured.pair.inject(to, at, &bytes);
        }
        let more = secured.pair.step(end);
        secured.serve(Side::A);
        secured.serve(Side::B);
        if !more {
            return;
        }
    }
}

/// The client has moved. An observer delivers a copy of each packet first, from or to the address that the
/// client left. A copy that is discarded must not make a replay of the packet.
#[test]
fn a_copy_at_a_deleted_address_uses_up_no_record() {
    for to in [Side::A, Side::B] {
        let mut secured = Secured::new();
        secured.run_for(Span::from_secs(2));
        secured.assert_works(3);
        secured.pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
        secured.run_for(Span::from_secs(10));
        let remotes: Vec<_> =
            secured.pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect());
        assert_eq!(remotes, [a_ip(1)]);
        let copies = copy_all(&mut secured, to, a_ip(0));
        let before = secured.pair.host(to).received.len();
        secured.pair.send(to.other(), text_message("moved"));
        run_overtaken(&mut secured, to, &copies, Pair::at(to), Span::from_secs(10));
        assert_eq!(secured.pair.host(to).received.len(), before + 1, "{to:?}");
        secured.pair.pass_all();
        secured.assert_works(3);
    }
}

/// An observer delivers a copy of each packet first, from an address of its own, which gets the answers to
/// HEARTBEATs. An idle association must not end while the packets of both ends arrive.
#[test]
fn copies_from_an_address_of_an_observer_do_not_end_an_idle_association() {
    let observer = core::net::IpAddr::from([10, 9, 0, 9]);
    for to in [Side::A, Side::B] {
        let mut secured = Secured::new();
        secured.run_for(Span::from_secs(2));
        secured.assert_works(3);
        let copies = copy_all(&mut secured, to, observer);
        let at = PathAddr { remote: observer, ..Pair::at(to) };
        run_overtaken(&mut secured, to, &copies, at, Span::from_secs(1500));
        for host in [&secured.pair.a, &secured.pair.b] {
            assert!(!host.saw(|event| matches!(event, Event::Lost(_))), "{to:?}: {:?}", host.events.last());
        }
        secured.assert_works(3);
    }
}

/// The client's network is dead, and it moves to another one. An observer delivers a copy of each packet
/// first, from an address of its own, which gets the answers to ASCONFs.
#[test]
fn copies_from_an_address_of_an_observer_do_not_prevent_a_move() {
    let observer = core::net::IpAddr::from([10, 9, 0, 9]);
    let mut secured = Secured::new();
    secured.run_for(Span::from_secs(2));
    secured.assert_works(3);
    let copies = copy_all(&mut secured, Side::B, observer);
    let at = PathAddr { remote: observer, ..Pair::at(Side::B) };
    secured.pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[a_ip(0)])).unwrap();
    run_overtaken(&mut secured, Side::B, &copies, at, Span::from_secs(60));
    let moved = |event: &Event| matches!(event, Event::AddressChange { accepted: true, .. });
    assert!(secured.pair.a.saw(moved), "{:?}", secured.pair.a.events);
    secured.assert_works(3);
}

/// One of the client's two networks is dead. An observer delivers a copy of each packet first, from the
/// client's address there, which must not get all SACKs and HEARTBEAT ACKs.
#[test]
fn copies_from_a_dead_address_do_not_end_an_association() {
    let mut secured = Secured::new();
    secured.run_for(Span::from_secs(2));
    secured.assert_works(3);
    secured.pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    secured.run_for(Span::from_secs(5));
    let copies = Copies::default();
    let copy = Rc::clone(&copies);
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.at.local == a_ip(1) || flight.at.remote == a_ip(1) {
            return Fate::Drop;
        }
        if flight.from == Side::A {
            copy.borrow_mut().push(flight.bytes.clone());
        }
        Fate::Pass
    });
    let at = PathAddr { remote: a_ip(1), ..Pair::at(Side::B) };
    run_overtaken(&mut secured, Side::B, &copies, at, Span::from_secs(120));
    let before = secured.pair.b.received.len();
    for _ in 0..20 {
        secured.pair.send(Side::A, message(0, vec![1; 5000]));
    }
    run_overtaken(&mut secured, Side::B, &copies, at, Span::from_secs(3000));
    assert_eq!(secured.pair.b.received.len(), before + 20);
    for host in [&secured.pair.a, &secured.pair.b] {
        assert!(!host.saw(|event| matches!(event, Event::Lost(_))), "{:?}", host.events.last());
    }
}

/// The path carries packets of 1280 bytes. An observer answers the larger PMTU probes, if it sees them.
#[test]
fn a_forged_answer_in_clear_does_not_raise_the_pmtu() {
    let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
    for end in &mut secured.ends {
        end.config = with_names(90);
    }
    let seen = Rc::new(RefCell::new(Vec::new()));
    let see = Rc::clone(&seen);
    secured.pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.has(chunk::HEARTBEAT) {
            let mut answer = chunks(&flight.bytes).remove(0);
            answer[0] = chunk::HEARTBEAT_ACK;
            see.borrow_mut().push((flight.from, answer));
        }
        if flight.bytes.len() > 1260 { Fate::Drop } else { Fate::Pass }
    });
    secured.connect();
    let end = secured.pair.now + Span::from_secs(5);
    while secured.pair.step(end) {
        for (from, answer) in seen.take() {
            let tag = secured.pair.tag_of(from);
            secured.pair.inject(from, Pair::at(from), &in_clear(from, tag, &answer));
        }
        secured.serve(Side::A);
        secured.serve(Side::B);
    }
    assert_eq!(secured.ends[0].epochs, [3]);
    for side in [Side::A, Side::B] {
        secured.pair.send(side, message(0, vec![1; 100_000]));
        secured.run_for(Span::from_secs(5));
        let other = secured.pair.host(side.other());
        assert_eq!(other.received.len(), 1, "{side:?}");
        assert!(!other.saw(|event| matches!(event, Event::PathMtu { pmtu: 1281.., .. })), "{side:?}");
    }
}

/// An observer acknowledges a message of the handshake in clear before the peer does. The round-trip time is
/// then too short, and a controller that measures queueing delay by it would send at a fraction of the rate.
#[test]
fn a_sack_in_clear_slows_no_protected_association() {
    let time = |forged: Option<(Side, u64)>| {
        let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
        secured.pair.rate = Some(Rate::from_kbps(10_000));
        secured.connect();
        let sender = forged.map_or(Side::B, |(to, _)| to);
        if let Some((to, after)) = forged {
            secured.run_for(Span::from_millis(after));
            let last = last_in_clear(&secured, to);
            let tag = secured.pair.tag_of(to);
            secured.pair.inject(to, Pair::at(to), &in_clear(to, tag, &sack(last, 100_000)));
        }
        secured.run_for(Span::from_secs(1));
        assert_eq!(secured.ends[0].epochs, [3]);
        let begun = secured.pair.now;
        secured.pair.send(sender, message(0, vec![1; 4_000_000]));
        let to = sender.other();
        assert!(secured.pair.run_until(Span::from_secs(60), |pair| !pair.host(to).received.is_empty()));
        secured.pair.now.since(begun).as_millis()
    };
    let usual = time(None);
    // The ClientHello, the client's last message, the server's.
    for (to, after) in [(Side::A, 84), (Side::A, 126), (Side::B, 104)] {
        let forged = time(Some((to, after)));
        assert!(forged < usual + usual / 8, "{to:?} after {after} ms: {forged} ms, not {usual} ms");
    }
}

/// Returns chunks that an observer may forge towards a side during the set-up.
fn forgeries(secured: &Secured, to: Side) -> Vec<Vec<u8>> {
    let log = secured.pair.log.as_ref().unwrap();
    let in_clear = |side: Side| {
        let flights = log.iter().filter(move |flight| flight.from == side && !is_sealed(flight));
        flights.flat_map(|flight| chunks(&flight.bytes)).collect::<Vec<_>>()
    };
    let word = |word: u32| word.to_be_bytes();
    let first = |side: Side| {
        let init = in_clear(side).into_iter().find(|one| [chunk::INIT, chunk::INIT_ACK].contains(&one[0]));
        u32::from_be_bytes(init.expect("INIT or INIT ACK")[16..20].try_into().unwrap())
    };
    let (own, theirs) = (first(to), first(to.other()));
    let data = in_clear(to).into_iter().filter(|one| one[0] == chunk::DATA);
    let last = data.map(|one| tsn(&one)).next_back().unwrap_or(own.wrapping_sub(1));
    let mut all = Vec::new();
    for cum in [own.wrapping_sub(1), last.wrapping_sub(1), last] {
        all.push(sack(cum, 0));
        all.push(sack(cum, u32::MAX));
        // With a gap block up to 9 TSNs ahead, and with two duplicates.
        all.push([&[3, 0, 0, 20][..], &word(cum), &word(1500), &[0, 1, 0, 0, 0, 2, 0, 9]].concat());
        all.push(
            [&[3, 0, 0, 24][..], &word(cum), &word(1500), &[0, 0, 0, 2], &word(own), &word(last)].concat(),
        );
        all.push([&[12, 0, 0, 8][..], &word(cum)].concat());
        all.push([&[13, 0, 0, 8][..], &word(cum)].concat());
    }
    for mut heartbeat in in_clear(to).into_iter().filter(|one| one[0] == chunk::HEARTBEAT) {
        heartbeat[0] = chunk::HEARTBEAT_ACK;
        all.push(heartbeat);
    }
    for cause in [1, 3, 6, 8, 10] {
        all.push(vec![9, 0, 0, 12, 0, cause, 0, 8, chunk::ASCONF, 0, 0, 4]);
    }
    for ahead in 0..2 {
        let serial = word(theirs.wrapping_add(ahead));
        all.push([&[192, 0, 0, 8][..], &serial].concat());
        all.push([&[130, 0, 0, 16, 0, 17, 0, 12][..], &serial, &[0, 5, 0, 0]].concat());
        all.push([&[0xc1, 0, 0, 16][..], &serial, &[0, 5, 0, 8, 10, 0, 0, 1]].concat());
        let serial = word(own.wrapping_add(ahead));
        all.push([&[0x80, 0, 0, 8][..], &serial].concat());
        all.push([&[130, 0, 0, 16, 0, 16, 0, 12][..], &serial, &word(1)].concat());
    }
    all.extend([11, 8, 14, 0x84, 0x3f, 0x7f, 0xbf, 0xff].map(|typ| vec![typ, 0, 0, 4]));
    all
}

/// Describes a protected association: its paths, the time of a transfer each way in units of 100 ms, and
/// whether addresses and streams can be added and keys be changed.
fn picture(secured: &mut Secured) -> String {
    let mut out = String::new();
    for side in [Side::A, Side::B] {
        let paths: Vec<_> = secured.pair.with(side, |end, _| {
            end.paths().map(|path| (path.at, path.state, path.primary, path.pmtu)).collect()
        });
        let (begun, before) = (secured.pair.now, secured.pair.host(side.other()).received.len());
        secured.pair.send(side, message(3, vec![1; 60_000]));
        let done = |pair: &mut Pair| pair.host(side.other()).received.len() > before;
        assert!(secured.pair.run_until(Span::from_secs(60), done), "{side:?}");
        let took = secured.pair.now.since(begun).as_millis() / 100;
        out += &format!("{side:?} {paths:?} {took}; ");
    }
    secured.pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    let more = msctp_proto::StreamRequest::AddOutgoing(2);
    secured.pair.with(Side::B, |b, now| b.reconfigure(now, more)).unwrap();
    secured.run_for(Span::from_secs(3));
    let changes = |event: &&Event| matches!(event, Event::AddressChange { .. } | Event::Streams(_));
    let [a, b] = [&secured.pair.a, &secured.pair.b].map(|host| host.events.iter().filter(changes).collect());
    let (a, b): (Vec<_>, Vec<_>) = (a, b);
    out += &format!("{a:?} {b:?}");
    secured.rekey(Side::A);
    secured.assert_works(4);
    out
}

/// A forged chunk in clear prevents a set-up, or it leaves nothing behind under protection.
#[test]
fn a_forged_chunk_in_clear_leaves_nothing_behind() {
    let run = |forged: Option<(u64, Side, usize)>| {
        let mut secured = Secured::over(&Config { ecn: true, ..Config::mobile() }, &[METHOD], &[METHOD]);
        if let Some((after, to, which)) = forged {
            secured.run_for(Span::from_millis(after));
            let body = forgeries(&secured, to).into_iter().nth(which)?;
            let tag = secured.pair.tag_of(to);
            secured.pair.inject(to, Pair::at(to), &in_clear(to, tag, &body));
        }
        secured.run_for(Span::from_secs(4));
        let ended = |host: &network::Host| host.saw(|event| matches!(event, Event::Lost(_)));
        if ended(&secured.pair.a) || ended(&secured.pair.b) {
            return Some(None);
        }
        Some(Some(picture(&mut secured)))
    };
    let usual = run(None).flatten().unwrap();
    let (mut all, mut same) = (0, 0);
    for to in [Side::A, Side::B] {
        for after in [86, 112, 138] {
            let mut which = 0;
            while let Some(end) = run(Some((after, to, which))) {
                if let Some(picture) = end {
                    assert_eq!(picture, usual, "chunk {which} to {to:?} after {after} ms");
                    same += 1;
                }
                (which, all) = (which + 1, all + 1);
            }
        }
    }
    assert!(same * 10 > all * 9, "{same} of {all} set-ups were completed");
}

/// Copies of the last packets in clear come first, from UDP ports of an observer that passes on what is sent
/// there (RFC 6951 §5.4). It is not on the path under the keys.
#[test]
fn a_udp_port_learned_in_clear_does_not_outlast_the_handshake() {
    const PORTS: [u16; 2] = [1000, 9899];
    const X: u16 = 6666;
    for method in [METHOD, METHOD_FALSE_START] {
        let mut secured = Secured::unconnected(&Config::mobile(), &[method], &[method]);
        secured.pair.udp = Some(PORTS);
        let overtaken = Rc::new(RefCell::new(Vec::new()));
        let (caught, mut hello) = (Rc::clone(&overtaken), true);
        secured.pair.filter = Box::new(move |flight: &mut Flight| {
            if let Some([_, to]) = &mut flight.ports
                && *to == X
            {
                *to = PORTS[flight.from.other() as usize];
            }
            let data = flight.has(chunk::DATA);
            if !data || flight.from == Side::A && core::mem::take(&mut hello) {
                return Fate::Pass;
            }
            caught.borrow_mut().push((flight.from.other(), flight.bytes.clone()));
            Fate::Drop
        });
        secured.connect();
        let mut taught = [0; 2];
        for _ in 0..1000 {
            secured.run_for(Span::from_millis(1));
            for (to, bytes) in overtaken.take() {
                secured.pair.inject_from(to, Pair::at(to), msctp_units::Ecn::NotEct, Some(X), &bytes);
                taught[to as usize] += 1;
            }
            secured.serve(Side::A);
            secured.serve(Side::B);
        }
        assert!(taught.iter().all(|&count| count > 0), "{taught:?}");
        secured.assert_works(3);
        for side in [Side::A, Side::B] {
            let port = secured.pair.with(side, |end, _| end.paths().next().unwrap().udp_port);
            assert_eq!(port, Some(PORTS[side.other() as usize]), "{side:?}");
        }
    }
}
