//! Traffic that an attacker can direct at addresses of others by listing them (RFC 9260 §5.4).

use msctp_proto::{Config, PathState};
use msctp_units::Span;
use msctp_wire::{Init, Params, Tsn, VerificationTag};

use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message, packet};

/// The smallest packet size of any network that this stack supports.
const SMALLEST_PMTU: usize = 512;

/// Returns the packets sent to the victims in ten minutes by an association whose initiator lists `victims`
/// addresses of others, and downloads as much as it can.
fn reflected(config: Config, victims: u8) -> Vec<Flight> {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.filter =
        Box::new(
            |flight| {
                if flight.at.remote == a_ip(0) || flight.from == Side::A { Fate::Pass } else { Fate::Drop }
            },
        );
    // The attacker sends only from its own address.
    let own = a_ip(0);
    pair.connect(config, (0..=victims).map(a_ip).collect(), vec![b_ip(0)]);
    pair.filter = Box::new(move |flight| {
        let real = flight.at.local == own || flight.at.remote == own;
        if real { Fate::Pass } else { Fate::Drop }
    });
    pair.run_for(Span::from_secs(5));
    for _ in 0..100 {
        pair.send(Side::B, message(0, vec![1; 10_000]));
    }
    pair.run_for(Span::from_secs(595));
    assert!(pair.a.received.len() == 100, "the association works: {}", pair.a.received.len());
    let states: Vec<_> = pair.with(Side::B, |b, _| b.paths().map(|path| path.state).collect());
    assert_eq!(states.iter().filter(|state| **state == PathState::Active).count(), 1);
    pair.sent_since(Side::B, 0).into_iter().filter(|flight| flight.at.remote != own).collect()
}

#[test]
fn an_address_that_never_answers_gets_a_few_heartbeats_and_nothing_else() {
    // With all probes of a mobile: heartbeats each RTO, PMTU probes.
    let config = Config::mobile();
    let victims = 7;
    let interval = config.hb_interval;
    let sent = reflected(config, victims);
    assert!(
        sent.iter().all(|flight| flight.chunks() == [chunk::HEARTBEAT]),
        "no data, no probes: RFC 9260 §5.4"
    );
    let bytes: usize = sent.iter().map(|flight| flight.bytes.len()).sum();
    // Six that verify, then at most one per HB.interval (RFC 9260 §5.4, §8.3): 48 bytes each.
    let beats = 6 + 600 / (interval.as_millis() / 1000) as usize;
    let limit = usize::from(victims) * beats * 48;
    assert!(bytes <= limit, "{bytes} bytes to {victims} victims in ten minutes, at most {limit}");
    // Far less than the attacker had to send to cause it: the acknowledgements of a megabyte.
    assert!(bytes < 50_000);
}

#[test]
fn an_init_from_a_forged_address_is_answered_by_one_small_packet() {
    let mut pair = Pair::new(Config::default(), (0..8).map(b_ip).collect());
    pair.log = Some(Vec::new());
    let init = Init {
        initiate_tag: VerificationTag::new(7),
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::EMPTY,
    };
    let forged = packet(Side::B, 0, &[&init]);
    pair.inject(Side::B, Pair::at(Side::B), &forged);
    pair.run_for(Span::from_secs(3600));
    let sent = pair.sent_since(Side::B, 0);
    assert_eq!(sent.len(), 1, "it is not retransmitted");
    assert!(sent[0].bytes.len() <= SMALLEST_PMTU, "{} bytes", sent[0].bytes.len());
}

#[test]
fn unknown_parameters_are_not_echoed_without_bound() {
    // RFC 9260 §3.2.2: unrecognized parameters are reported.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let unknown: Vec<u8> = (0..300).flat_map(|_| [0xcf, 0xf7, 0, 4]).collect();
    let init = Init {
        initiate_tag: VerificationTag::new(7),
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::from_wire(&unknown),
    };
    let asked = packet(Side::B, 0, &[&init]);
    pair.inject(Side::B, Pair::at(Side::B), &asked);
    let sent = pair.sent_since(Side::B, 0);
    assert!(
        sent.len() == 1 && sent[0].bytes.len() < asked.len(),
        "{} for {}",
        sent[0].bytes.len(),
        asked.len()
    );
}
