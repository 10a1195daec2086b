//! INITs from forged addresses: size and rate of a listener's answers (RFC 9260 limits neither).

use core::net::IpAddr;

use msctp_proto::{AuthConfig, Config, DatagramOutcome, EndpointConfig, IgnoreReason, PathAddr, PathState};
use msctp_units::Span;
use msctp_wire::{ChunkType, HmacId, List, Param};

use crate::attacks::stranger::{ask, data, echo, init, init_ack, keyed};
use crate::support::{Pair, Side, a_ip, b_ip, chunk, packet};

/// Adds the IP header, as on the wire. UDP adds the same in both directions.
fn with_header(len: usize, address: &IpAddr) -> usize {
    len + if address.is_ipv4() { 20 } else { 40 }
}

#[test]
fn an_init_ack_is_at_most_three_times_the_init_and_sets_up_an_association() {
    let v6 = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
    let keys = Config { auth: keyed(), ecn: true, ..Config::mobile() };
    let both: Vec<IpAddr> = (0..4).map(b_ip).chain((1..5).map(v6)).collect();
    let listed: Vec<Param<'_>> = (1..8).map(|n| Param::from(a_ip(n))).collect();
    let auth = [Param::Random(&[7; 32]), Param::HmacAlgo(List::from(&[HmacId::SHA1]))];
    let types = [ChunkType(0x82)];
    let extension = [Param::SupportedExtensions(List::from(&types))];
    for (config, addresses, from) in [
        (Config::default(), vec![b_ip(0)], a_ip(0)),
        (Config::mobile(), both.clone(), a_ip(0)),
        (Config { ecn: true, ..Config::mobile() }, (1..17).map(v6).collect(), v6(99)),
        (keys, both, a_ip(0)),
    ] {
        for params in [&[][..], &auth, &extension, &listed, &[Param::EcnCapable]] {
            if !config.auth.keys.is_empty() && params != auth {
                continue;
            }
            let mut pair = Pair::new(config.clone(), addresses.clone());
            pair.log = Some(Vec::new());
            let at = PathAddr { local: addresses[0], remote: from };
            let asked = packet(Side::B, 0, &[&init(params)]).len();
            let answer = ask(&mut pair, Side::B, at, params);
            assert_eq!(answer.len(), 1);
            let (asked, answered) = (with_header(asked, &from), with_header(answer[0].bytes.len(), &from));
            assert!(answered <= 3 * asked, "{answered} bytes for {asked} of {params:?}");
            let cookie = init_ack(&answer).expect("a short INIT of another stack is answered");
            let outcome = echo(&mut pair, Side::B, at, &cookie, &[]);
            let keyed = !config.auth.keys.is_empty();
            assert_eq!(matches!(outcome, DatagramOutcome::Accepted(_)), !keyed, "{outcome:?}");
            // Addresses of ours that the peer does not know are not used.
            if params.is_empty() && addresses.len() > 1 {
                assert_eq!(pair.with(Side::B, |b, _| b.paths().count()), 1);
            }
        }
    }
}

#[test]
fn our_own_init_is_long_enough_for_a_complete_answer() {
    let v6 = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
    let servers: Vec<IpAddr> = (1..17).map(v6).collect();
    for config in [
        Config { auth: AuthConfig::without(), ..Config::default() },
        Config::mobile(),
        Config { auth: keyed(), ecn: true, ..Config::mobile() },
    ] {
        let mut pair = Pair::new(config.clone(), servers.clone());
        pair.log = Some(Vec::new());
        pair.connect(config, vec![v6(99)], vec![servers[0]]);
        pair.run_for(Span::from_secs(60));
        let paths = pair.with(Side::A, |a, _| a.paths().filter(|p| p.state == PathState::Active).count());
        assert_eq!(paths, 16, "all of the server's addresses are known and work");
    }
}

#[test]
fn answers_without_an_association_are_limited_per_second() {
    let limit = EndpointConfig::default().max_replies_per_second as usize;
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    let of_many = |n: usize| PathAddr {
        remote: IpAddr::from((0x0b00_0000 + n as u32).to_be_bytes()),
        ..Pair::at(Side::B)
    };
    let asking = packet(Side::B, 0, &[&init(&[])]);
    let stray = packet(Side::B, 77, &[&data(1, b"stray")]);
    for bytes in [asking, stray] {
        let outcomes: Vec<_> = (0..2 * limit).map(|n| pair.inject(Side::B, of_many(n), &bytes)).collect();
        let answered = outcomes.iter().filter(|outcome| **outcome == DatagramOutcome::Replied).count();
        assert_eq!(answered, limit, "INIT ACKs and others are counted separately");
        assert_eq!(*outcomes.last().unwrap(), DatagramOutcome::Ignored(IgnoreReason::ReplyRate));
    }
    pair.now += Span::from_secs(1);
    let bytes = packet(Side::B, 0, &[&init(&[])]);
    assert_eq!(pair.inject(Side::B, Pair::at(Side::B), &bytes), DatagramOutcome::Replied);
}

#[test]
fn answers_of_associations_to_inits_are_limited_per_second() {
    // RFC 9260 §5.2.2: an association also answers an INIT from its peer's address, by an ABORT if it lists
    // new addresses.
    let limit = EndpointConfig::default().max_replies_per_second as usize;
    let new = [Param::from(a_ip(9))];
    for (params, answer) in [(&[][..], chunk::INIT_ACK), (&new, chunk::ABORT)] {
        let mut pair = Pair::established(Config::default());
        pair.log = Some(Vec::new());
        let bytes = packet(Side::B, 0, &[&init(params)]);
        for _ in 0..2 * limit {
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
        }
        let answered = pair.sent_since(Side::B, 0).iter().filter(|flight| flight.has(answer)).count();
        assert_eq!(answered, limit / 2, "one group of sources has half of them");
        let held_off = pair.with(Side::B, |b, _| b.stats().chunks_held_off);
        assert_eq!(held_off, 3 * limit as u64 / 2);
        pair.now += Span::from_secs(1);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        assert!(pair.log.as_ref().unwrap().last().unwrap().has(answer));
    }
}
