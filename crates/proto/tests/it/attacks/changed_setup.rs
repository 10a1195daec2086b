//! An attacker on the path changes INIT or INIT ACK, which nobody can sign. The keys depend on all that both
//! say: with a pre-shared key the set-up fails at both ends, and no message is deleted.

use std::sync::{Arc, Mutex};

use msctp_protection::{
    CipherSuite, FIRST_EPOCH, HEADER_LEN, KeyContext, KeyLogEntry, Ring, Sealer, Secret, TRAILER_LEN,
};
use msctp_proto::{
    AssociationState as State, Config, Event, KeyManagement, LocalAddrs, LossReason, OutMessage, Protection,
    RemoteAddrs, StreamRequest,
};
use msctp_units::Span;
use msctp_wire::param::DtlsRoles;
use msctp_wire::{Cause, Causes, EncodeChunk, Error, KeyManagementId, StreamId};

use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message, packet, reseal, text_message};

/// Offset of the parameters of an INIT or INIT ACK in a packet.
const PARAMS: usize = 12 + 20;
/// Parameter types whose content other checks refuse first: State Cookie and DTLS Key Management.
const CHECKED: [u16; 2] = [7, 0x8006];

pub(crate) fn psk() -> Config {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Config { protection: Protection::Required(Arc::new(keys)), ..Config::mobile() }
}

/// Returns a packet with another parameter list behind its INIT or INIT ACK.
fn with_params(bytes: &[u8], params: &[Vec<u8>]) -> Vec<u8> {
    let mut out = [&bytes[..PARAMS], &params.concat()].concat();
    let len = (out.len() - 12) as u16;
    out[14..16].copy_from_slice(&len.to_be_bytes());
    reseal(&mut out);
    out
}

/// Returns the parameters of an INIT or INIT ACK, padded.
fn params(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut all) = (&bytes[PARAMS..], Vec::new());
    while rest.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).next_multiple_of(4);
        let (one, others) = rest.split_at(len);
        all.push(one.to_vec());
        rest = others;
    }
    all
}

fn typ(param: &[u8]) -> u16 {
    u16::from_be_bytes([param[0], param[1]])
}

/// Returns what an attacker may make of a packet, each with a name: every fixed field but the tag changed,
/// every parameter changed, removed and repeated, others added.
fn changes(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (what, at) in [("a_rwnd", 22), ("outbound streams", 25), ("inbound streams", 27), ("TSN", 31)] {
        let mut changed = bytes.to_vec();
        changed[at] ^= 4;
        reseal(&mut changed);
        all.push((what.to_owned(), changed));
    }
    let list = params(bytes);
    for (i, param) in list.iter().enumerate().filter(|(_, param)| !CHECKED.contains(&typ(param))) {
        let what = format!("parameter {:#06x}", typ(param));
        let mut removed = list.clone();
        removed.remove(i);
        all.push((format!("{what} removed"), with_params(bytes, &removed)));
        let mut repeated = list.clone();
        repeated.insert(i, param.clone());
        all.push((format!("{what} repeated"), with_params(bytes, &repeated)));
        let len = usize::from(u16::from_be_bytes([param[2], param[3]]));
        if len > 4 {
            let mut changed = list.clone();
            changed[i][len - 1] ^= 1;
            all.push((format!("{what} changed"), with_params(bytes, &changed)));
        }
    }
    let address = vec![0, 5, 0, 8, 192, 0, 2, 1];
    for added in [address, vec![0x80, 8, 0, 5, 0x82, 0, 0, 0], vec![0xc0, 0, 0, 4], vec![0xbf, 0xf0, 0, 4]] {
        let what = format!("parameter {:#06x} added", typ(&added));
        all.push((what, with_params(bytes, &[&list[..], &[added]].concat())));
    }
    all
}

/// Runs a set-up in which `change` may replace the first packet with this chunk, and all its retransmissions.
fn run(chunk_type: u8, mut change: impl FnMut(&[u8]) -> Option<Vec<u8>> + 'static) -> Pair {
    let mut pair = Pair::new(psk(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.has(chunk_type)
            && let Some(changed) = change(&flight.bytes)
        {
            flight.bytes = changed;
        }
        Fate::Pass
    });
    pair.connect(psk(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.send(Side::A, message(0, b"on stream 0".to_vec()));
    pair.send(Side::A, message(3, b"on stream 3".to_vec()));
    pair.run_for(Span::from_secs(30));
    pair
}

#[test]
fn every_part_of_init_and_init_ack_is_an_input_of_the_keys() {
    for chunk_type in [chunk::INIT, chunk::INIT_ACK] {
        let honest = run(chunk_type, |_| None);
        assert_eq!(honest.b.received.len(), 2, "{:?}", honest.b.events);
        let log = honest.log.as_ref().unwrap();
        let sent = log.iter().find(|flight| flight.has(chunk_type)).unwrap().bytes.clone();
        let all = changes(&sent).len();
        assert!(all >= 16, "{all} changes");
        for i in 0..all {
            let (what, _) = changes(&sent).swap_remove(i);
            let pair = run(chunk_type, move |bytes| Some(changes(bytes).swap_remove(i).1));
            assert!(pair.b.received.is_empty(), "{what} of chunk {chunk_type}");
            let differ = |event: &Event| *event == Event::Lost(LossReason::KeysDiffer);
            assert!(pair.a.saw(differ), "{what} of chunk {chunk_type}: {:?}", pair.a.events);
            assert!(pair.b.saw(differ), "{what} of chunk {chunk_type}: {:?}", pair.b.events);
        }
    }
}

/// The State Cookie is not hashed: the server's MAC protects it, and it has the hash of its own set-up.
#[test]
fn a_changed_or_exchanged_cookie_is_no_set_up() {
    let cookie_of = |bytes: &[u8]| params(bytes).into_iter().find(|param| typ(param) == 7).unwrap();
    let replace = |bytes: &[u8], cookie: &[u8]| {
        let list = params(bytes).into_iter();
        let list: Vec<_> = list.map(|param| if typ(&param) == 7 { cookie.to_vec() } else { param }).collect();
        with_params(bytes, &list)
    };
    let changed = run(chunk::INIT_ACK, move |bytes| {
        let mut cookie = cookie_of(bytes);
        cookie[20] ^= 1;
        Some(replace(bytes, &cookie))
    });
    assert!(changed.b.handle.is_none() && changed.b.received.is_empty());

    // The INIT arrives a second time, with fewer streams. Its answer gives the cookie, the first one the
    // rest.
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.has(chunk::INIT_ACK));
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let mut init = pair.log.as_ref().unwrap()[0].bytes.clone();
    pair.run_for(Span::from_millis(30));
    init[24..26].copy_from_slice(&1u16.to_be_bytes());
    reseal(&mut init);
    pair.inject(Side::B, Pair::at(Side::B), &init);
    let answers: Vec<_> =
        pair.sent_since(Side::B, 0).into_iter().filter(|flight| flight.has(chunk::INIT_ACK)).collect();
    assert_eq!(answers.len(), 2);
    pair.pass_all();
    // Fixed fields and cookie of the second, parameters of the first.
    let mut mixed = replace(&answers[0].bytes, &cookie_of(&answers[1].bytes));
    mixed[16..32].copy_from_slice(&answers[1].bytes[16..32]);
    reseal(&mut mixed);
    pair.inject(Side::A, Pair::at(Side::A), &mixed);
    pair.send(Side::A, message(3, b"on stream 3".to_vec()));
    pair.run_for(Span::from_secs(20));
    assert!(pair.b.received.is_empty());
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::KeysDiffer)), "{:?}", pair.a.events);
}

/// The keys depend on the INIT as it was sent: a retransmission is the same, from whichever address.
#[test]
fn a_retransmitted_init_is_the_same_from_every_address() {
    let mut pair = Pair::new(psk(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    let mut lost = 0;
    pair.drop_if(move |flight| {
        lost += u32::from(flight.has(chunk::INIT));
        flight.has(chunk::INIT) && lost <= 3
    });
    pair.connect(psk(), vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)]);
    pair.send(Side::A, text_message("after four INITs"));
    pair.run_for(Span::from_secs(60));
    let inits: Vec<_> =
        pair.sent_since(Side::A, 0).into_iter().filter(|flight| flight.has(chunk::INIT)).collect();
    assert!(inits.len() >= 4);
    assert!(inits.iter().all(|init| init.bytes == inits[0].bytes));
    assert!(inits.iter().any(|init| init.at != inits[0].at), "another pair of addresses");
    assert_eq!(pair.b.received.len(), 1);
}

/// RFC 9260 §5.2.6: the INIT after a stale cookie asks for more time, so that it is another one, with another
/// tag. A late answer to the first one is none to it.
#[test]
fn after_a_stale_cookie_only_the_answer_to_the_new_init_counts() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.has(chunk::COOKIE_ECHO) || flight.chunks() == [0x41]);
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    assert!(pair.run_until(Span::from_secs(1), |pair| pair.a.state() == Some(State::CookieEchoed)));
    let answer = pair.sent_since(Side::B, 0).into_iter().find(|flight| flight.has(chunk::INIT_ACK)).unwrap();
    let stale = [Cause::StaleCookie(1)];
    let tag = pair.tag_of(Side::A);
    pair.drop_if(|_| true);
    let error = packet(Side::A, tag, &[&Error { causes: Causes::from(&stale) }]);
    pair.inject(Side::A, Pair::at(Side::A), &error);
    assert_eq!(pair.a.state(), Some(State::CookieWait));
    // A second copy of the INIT ACK.
    pair.inject(Side::A, Pair::at(Side::A), &answer.bytes);
    assert_eq!(pair.a.state(), Some(State::CookieWait), "it answers the INIT before");
    pair.pass_all();
    pair.send(Side::A, text_message("patience"));
    assert!(pair.run_until(Span::from_secs(20), |pair| pair.b.received.len() == 1), "{:?}", pair.a.events);
    pair.transfer(Side::B, 20, 1000, Span::from_secs(20));
}

/// Both ends begin at once: one INIT is answered, so that there is one pair of chunks on which keys depend.
#[test]
fn of_two_inits_that_cross_one_is_answered() {
    let mut answered = [0; 2];
    for seed in 0..8u16 {
        let mut pair = Pair::new(psk(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        // Draws other tie breakers.
        for port in 0..seed {
            pair.a.endpoint.connect(pair.now, psk(), one(6000 + port, 0), to_nobody()).unwrap();
        }
        pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
        let local = LocalAddrs { port: 5001, addresses: vec![b_ip(0)] };
        let remote = RemoteAddrs { port: 5000, addresses: vec![a_ip(0)] };
        let handle = pair.b.endpoint.connect(pair.now, psk(), local, remote).unwrap();
        pair.b.handle = Some(handle);
        pair.drain(Side::B);
        pair.run_for(Span::from_secs(3));
        let answers = [Side::A, Side::B]
            .map(|side| pair.sent_since(side, 0).iter().filter(|flight| flight.has(chunk::INIT_ACK)).count());
        assert_eq!(answers.iter().sum::<usize>(), 1, "{answers:?}");
        answered[usize::from(answers[1] > 0)] += 1;
        for side in [Side::A, Side::B] {
            assert_eq!(pair.host(side).state(), Some(State::Established));
            pair.transfer(side, 20, 1000, Span::from_secs(20));
        }
    }
    assert!(answered.iter().all(|&count| count > 0), "either end may be the server: {answered:?}");
}

fn one(port: u16, network: u8) -> LocalAddrs {
    LocalAddrs { port, addresses: vec![a_ip(network)] }
}

fn to_nobody() -> RemoteAddrs {
    RemoteAddrs { port: 9, addresses: vec![[192, 0, 2, 9].into()] }
}

/// Returns protected ends, and what seals packets to each of them with the other's keys, from beyond the
/// records that it uses.
fn with_forgers() -> (Pair, [Sealer; 2]) {
    with_forgers_of(|_| {}, vec![b_ip(0)])
}

/// Returns ends as [`with_forgers`] does. `prepare` is called before the set-up; B has these addresses.
pub(crate) fn with_forgers_of(
    prepare: impl FnOnce(&mut Pair),
    addresses: Vec<core::net::IpAddr>,
) -> (Pair, [Sealer; 2]) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    let keys = keys.with_log(move |line| log.lock().unwrap().push(line.to_owned()));
    let protection = Protection::Required(Arc::new(keys));
    let config = Config { protection, outbound_streams: 10, ..Config::mobile() };
    let mut pair = Pair::new(config.clone(), addresses);
    pair.log = Some(Vec::new());
    prepare(&mut pair);
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    let forgers = [Side::A, Side::B].map(|to| {
        let lines = lines.lock().unwrap();
        let entries = lines.iter().filter_map(|line| KeyLogEntry::parse(line).unwrap());
        let tag = pair.tag_of(to);
        let entry = entries.clone().find(|entry| entry.tag == tag && entry.epoch == FIRST_EPOCH).unwrap();
        let mut sealer = Sealer::new();
        sealer.establish(KeyContext::Primary, FIRST_EPOCH, &entry.keys, &Ring).unwrap();
        for _ in 0..1000 {
            sealer.seal(&mut [0; HEADER_LEN + 4 + TRAILER_LEN]).unwrap();
        }
        sealer
    });
    (pair, forgers)
}

/// Returns a sealed packet to `to` with these chunks.
pub(crate) fn sealed(pair: &Pair, to: Side, sealer: &mut Sealer, chunks: &[&dyn EncodeChunk]) -> Vec<u8> {
    let clear = packet(to, pair.tag_of(to), chunks);
    let mut record = [&[0; HEADER_LEN][..], &clear[12..], &[0; TRAILER_LEN]].concat();
    sealer.seal(&mut record).unwrap();
    let mut out = [&clear[..12], &record].concat();
    reseal(&mut out);
    out
}

/// The ends agreed on the numbers of streams: data on others, or a report of it, ends the association instead
/// of being acknowledged and thrown away (RFC 9260 §6.5).
#[test]
fn a_disagreement_on_streams_under_protection_ends_the_association() {
    let violated = |event: &Event| {
        let what = "data on a stream that was not agreed on";
        *event == Event::Lost(LossReason::ProtocolViolation { cause: 13, what })
    };
    let data = |pair: &Pair, stream: u16| {
        let tsn = crate::support::states::initial_tsn_of(pair, Side::A);
        crate::support::chunks::stream_data(tsn, stream, 0)
    };
    let (mut pair, mut forgers) = with_forgers();
    let agreed = pair.with(Side::B, |b, _| b.agreed()).unwrap();
    let beyond = data(&pair, agreed.inbound_streams);
    let bytes = sealed(&pair, Side::B, &mut forgers[1], &[&beyond]);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
    assert!(pair.b.saw(violated) && pair.b.received.is_empty(), "{:?}", pair.b.events);

    for (stream, ends) in [(0, true), (agreed.outbound_streams, false)] {
        let (mut pair, mut forgers) = with_forgers();
        let causes = [Cause::InvalidStreamIdentifier(StreamId::new(stream))];
        let error = Error { causes: Causes::from(&causes) };
        let bytes = sealed(&pair, Side::B, &mut forgers[1], &[&error]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        assert_eq!(pair.b.saw(violated), ends, "{stream}: {:?}", pair.b.events);
    }
}

/// Streams that this end has asked the peer to add count as agreed: the peer may use them before the answer
/// arrives.
#[test]
fn data_on_streams_being_added_ends_nothing() {
    let (mut pair, mut forgers) = with_forgers();
    let streams = pair.with(Side::B, |b, _| b.agreed()).unwrap().inbound_streams;
    pair.drop_if(|flight| flight.from == Side::B);
    pair.with(Side::B, |b, now| b.reconfigure(now, StreamRequest::AddIncoming(2))).unwrap();
    let tsn = crate::support::states::initial_tsn_of(&pair, Side::A);
    for (i, stream) in [streams, streams + 1, streams + 2].into_iter().enumerate() {
        let data = crate::support::chunks::stream_data(tsn + i as u32, stream, 0);
        let bytes = sealed(&pair, Side::B, &mut forgers[1], &[&data]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        let lost = pair.b.saw(|event| matches!(event, Event::Lost(_)));
        assert_eq!(lost, i == 2, "stream {stream} of {streams} and 2: {:?}", pair.b.events);
    }
}

/// Both ends offer protection, and one has an earlier version: they do not fall back to clear.
#[test]
fn offered_protection_of_an_earlier_version_is_refused_by_name() {
    let roles = DtlsRoles { client: true, server: true };
    for earlier in [&[0][..], &[192, 254]] {
        let methods = earlier.iter().copied().map(KeyManagementId::new).collect();
        let earlier = KeyManagement::external(Arc::new(Ring), methods, roles);
        let earlier = Config { protection: Protection::OrInsecure(Arc::new(earlier)), ..Config::mobile() };
        let Protection::Required(keys) = psk().protection else { panic!("required") };
        let ours = Config { protection: Protection::OrInsecure(keys), ..Config::mobile() };
        let mut pair = Pair::new(ours.clone(), vec![b_ip(0)]);
        pair.connect(earlier.clone(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        let refused =
            |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { cause: Some(101), .. }));
        assert!(pair.a.saw(refused), "{:?}", pair.a.events);
        let mut pair = Pair::new(earlier, vec![b_ip(0)]);
        pair.connect(ours, vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::EarlierVersion)), "{:?}", pair.a.events);
    }
}

/// Shared keys (RFC 4895) sign nothing of INIT: it names the random numbers of which the keys are made.
/// SECURITY.md says what an attacker on the path can do.
#[test]
fn known_limit_shared_keys_do_not_bind_the_initial_tsn() {
    let auth = crate::attacks::stranger::keyed();
    let config = Config { auth, ..Config::mobile() };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.filter = Box::new(|flight: &mut Flight| {
        if flight.from == Side::A && flight.has(chunk::INIT) {
            let tsn = u32::from_be_bytes(flight.bytes[28..32].try_into().unwrap()).wrapping_add(3);
            flight.bytes[28..32].copy_from_slice(&tsn.to_be_bytes());
            reseal(&mut flight.bytes);
        }
        Fate::Pass
    });
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    for i in 1..=6 {
        pair.send(Side::A, OutMessage { unordered: true, ..text_message(&format!("message {i}")) });
    }
    pair.run_for(Span::from_secs(20));
    assert_eq!(pair.b.received.len(), 3, "the first three are acknowledged and not delivered");
}
