//! ASCONF without AUTH (RFC 5061 §4.1.1, §5.2 D5), and before there are keys (CVE-2026-53225: processed
//! before the association is known).

use msctp_proto::{AuthConfig, DatagramOutcome};
use msctp_units::Span;
use msctp_wire::{Asconf, AsconfAck, AsconfSerial, Params, Tsn};

use crate::attacks::victim::{config, forged, hijack, sources, unmoved, victims};
use crate::support::chunks::data;
use crate::support::{Pair, Side, a_ip, b_ip, ip, packet, reseal};

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
//= type=test
//# If this chunk is received unauthenticated it MUST be silently discarded as described in [RFC4895].
//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# the receiver MUST encounter an AUTH chunk
#[test]
fn an_unsigned_asconf_is_dropped_with_the_rest_of_its_packet() {
    let mut pair = victims(AuthConfig::default());
    unmoved(&mut pair, |pair| {
        let attacker = ip(66, 6);
        for at in sources(attacker) {
            let sent = pair.log_len();
            let bytes = forged(pair, attacker, &[]);
            pair.inject(Side::B, at, &bytes);
            assert_eq!(pair.log_len(), sent, "silently (RFC 4895 §6.3)");
        }
        assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 3);
    });
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
//= type=test
//# If this chunk is received unauthenticated it MUST be silently discarded as described in [RFC4895].
#[test]
fn an_asconf_ack_that_was_never_authenticated_aborts_nothing() {
    // A signed one would be illegal (RFC 5061 §5.3 F0), and abort the association.
    let mut pair = victims(AuthConfig::default());
    unmoved(&mut pair, |pair| {
        let ack = AsconfAck { serial: AsconfSerial::new(0x1234_5678), responses: Params::EMPTY };
        let bytes = packet(Side::B, pair.tag_of(Side::B), &[&ack]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        assert!(pair.b.state().is_some());
    });
}

#[test]
fn unsigned_asconfs_are_ignored_during_the_set_up() {
    let attacker = ip(66, 6);
    let requests = hijack(attacker);
    let asconf = Asconf { serial: AsconfSerial::new(1), address: a_ip(0), requests: Params::from(&requests) };
    let auth = msctp_wire::Auth { shared_key_id: 0, hmac_id: msctp_wire::HmacId::SHA256, hmac: &[0; 32] };
    let mut pair = Pair::new(config(AuthConfig::default()), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config(AuthConfig::default()), vec![a_ip(0)], vec![b_ip(0)]);
    // Inject after each packet of the handshake, to both ends, with the tag that the attacker saw.
    for _ in 0..6 {
        for to in [Side::A, Side::B] {
            let log = pair.log.as_ref().expect("on");
            let seen = log.iter().rev().find(|f| f.from == to.other() && f.tag() != 0).map(|f| f.tag());
            // An end without the association would answer the right tag by an ABORT (RFC 9260 §8.4), which
            // the attacker could send itself.
            let tag = seen.filter(|_| pair.host(to).state().is_some()).unwrap_or(7);
            for chunks in [&[&asconf as &dyn msctp_wire::EncodeChunk][..], &[&auth, &asconf]] {
                let outcome = pair.inject(to, Pair::at(to), &packet(to, tag, chunks));
                assert!(!matches!(outcome, DatagramOutcome::Accepted(_)));
            }
        }
        pair.step(pair.now + Span::from_secs(1));
    }
    pair.run_for(Span::from_secs(5));
    for side in [Side::A, Side::B] {
        let paths = pair.with(side, |end, _| end.paths().count());
        assert_eq!(paths, 1, "{side:?}");
    }
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(20));
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# It MUST silently discard these chunks if they are not placed after an AUTH chunk in the packet.
#[test]
fn unsigned_data_is_rejected_if_it_must_be_signed() {
    let demanding = AuthConfig { chunks: vec![0], ..AuthConfig::default() };
    let mut pair = victims(demanding);
    unmoved(&mut pair, |pair| {
        let received = pair.b.received.len();
        for tsn in 0..3 {
            let data = data(Tsn::new(tsn), 0);
            let bytes = packet(Side::B, pair.tag_of(Side::B), &[&data]);
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
        }
        // A DATA chunk without data, which would abort the association if the peer had sent it (RFC 4895
        // §6.3).
        let mut empty = packet(Side::B, pair.tag_of(Side::B), &[&msctp_wire::CookieAck]);
        empty.truncate(12);
        empty.extend([0, 3, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        reseal(&mut empty);
        pair.inject(Side::B, Pair::at(Side::B), &empty);
        assert_eq!(pair.b.received.len(), received);
        assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 4);
    });
}

//= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
//= type=test
//# If either authentication fails, or the AUTH chunk is missing, the receiver MUST silently discard this
//# chunk and the rest of the packet.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# all the chunks following the AUTH chunk MUST be silently discarded
#[test]
fn chunks_behind_an_unsigned_asconf_or_a_wrong_auth_chunk_are_dropped() {
    let mut pair = victims(AuthConfig::default());
    unmoved(&mut pair, |pair| {
        let info = [msctp_wire::Param::HeartbeatInfo(b"answer me")];
        let heartbeat = msctp_wire::Heartbeat { params: Params::from(&info) };
        let requests = hijack(ip(66, 6));
        let serial = AsconfSerial::new(crate::attacks::victim::last_serial(pair).wrapping_add(1));
        let asconf = Asconf { serial, address: a_ip(0), requests: Params::from(&requests) };
        let auth = msctp_wire::Auth { shared_key_id: 0, hmac_id: msctp_wire::HmacId::SHA256, hmac: &[0; 32] };
        let answers = |pair: &mut Pair, chunks: &[&dyn msctp_wire::EncodeChunk]| {
            let sent = pair.log_len();
            let bytes = packet(Side::B, pair.tag_of(Side::B), chunks);
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
            pair.log_len() - sent
        };
        assert_eq!(answers(pair, &[&heartbeat]), 1, "alone it is answered");
        assert_eq!(answers(pair, &[&asconf, &heartbeat]), 0);
        assert_eq!(answers(pair, &[&auth, &asconf, &heartbeat]), 0);
        assert_eq!(answers(pair, &[&auth, &heartbeat]), 0, "though it needs no AUTH chunk");
    });
}
