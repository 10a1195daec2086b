//! A peer that causes events faster than the application polls them: the queue is bounded, and important
//! events are kept.

use msctp_proto::{AssociationState as State, AuthConfig, Config, Endpoint, EndpointConfig, Event};
use msctp_units::Span;
use msctp_wire::param::AddressRequest as Request;
use msctp_wire::{Asconf, AsconfSerial, CorrelationId, Param, Params};

use crate::attacks::victim::last_serial;
use crate::support::{Pair, Side, a_ip, b_ip, chunk, ip, message, packet};

/// The documented limit, and the events that one packet may add beyond it.
const LIMIT: usize = 1024 + 256;

#[test]
fn address_changes_wait_until_the_application_has_polled_its_events() {
    let mut pair = Pair::established(Config { auth: AuthConfig::without(), ..Config::default() });
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 10, Span::from_secs(2));
    let tag = pair.tag_of(Side::B);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    let mut serial = last_serial(&pair);
    let request =
        |n: u32| Request { correlation_id: CorrelationId::new(n), address: ip(88, (n / 2) as u8 + 1) };
    let params: Vec<Param<'_>> =
        (0..32)
            .map(|n| {
                if n % 2 == 0 { Param::AddIpAddress(request(n)) } else { Param::DeleteIpAddress(request(n)) }
            })
            .collect();
    let (handle, now, mut out) = (pair.b.handle.unwrap(), pair.now, Vec::new());
    // Returns true if the request is answered.
    let mut ask = |pair: &mut Pair, serial: u32| {
        let asconf = Asconf {
            serial: AsconfSerial::new(serial),
            address: a_ip(0),
            requests: Params::from(&params[..]),
        };
        pair.b.endpoint.handle_datagram(now, Pair::at(Side::B), &mut packet(Side::B, tag, &[&asconf]));
        let mut answered = false;
        while pair.b.endpoint.poll_transmit(now, &mut out).is_some() {
            answered |= out[12] == chunk::ASCONF_ACK;
            out.clear();
        }
        answered
    };
    let mut done = 0;
    for _ in 0..2000 {
        if ask(&mut pair, serial.wrapping_add(1)) {
            serial = serial.wrapping_add(1);
            done += 1;
        }
    }
    let mut waiting = Vec::new();
    while let Some((of, event)) = pair.b.endpoint.poll_event() {
        assert_eq!(of, handle);
        waiting.push(event);
    }
    assert!(waiting.len() <= LIMIT, "{} events queued after {done} requests", waiting.len());
    // No event of a completed request is missing: each address that was added was also deleted.
    let count = |wanted: fn(&Event) -> bool| waiting.iter().filter(|event| wanted(event)).count();
    let added = count(|event| matches!(event, Event::PathAdded { .. }));
    assert_eq!((added, count(|event| matches!(event, Event::PathRemoved { .. }))), (done * 16, done * 16));
    assert!(
        ask(&mut pair, serial.wrapping_add(1)),
        "the postponed request is carried out when it is retransmitted"
    );
    assert_eq!(pair.b.state(), Some(State::Established));
}

#[test]
fn repeated_restarts_leave_the_unread_messages_of_one_association() {
    let mut pair = Pair::established(Config::default());
    pair.b.reading = false;
    for life in 0..8u8 {
        for _ in 0..100 {
            let _ = pair.with(Side::A, |a, now| a.send(now, message(0, vec![life; 5000])));
        }
        pair.run_for(Span::from_secs(2));
        pair.a.endpoint = Endpoint::new(EndpointConfig::default(), [100 + life; 32]).unwrap();
        pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(2));
    }
    let unread = pair.with(Side::B, |b, _| b.unread());
    assert!(unread <= 200, "{unread} messages unread, at most those of two associations");
    assert!(pair.with(Side::B, |b, _| b.stats().chunks_held_off) > 0);
    // Once they are read, the retransmitted COOKIE ECHO is accepted.
    pair.b.reading = true;
    pair.drain(Side::B);
    pair.run_for(Span::from_secs(60));
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
}
