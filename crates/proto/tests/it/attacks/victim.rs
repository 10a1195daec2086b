//! An association under attack, and its state that must not change.

use msctp_proto::{AddressRequest, AuthConfig, Config, Event, PathAddr, SharedKey};
use msctp_units::Span;
use msctp_wire::param::AddressRequest as Request;
use msctp_wire::{Asconf, AsconfSerial, CorrelationId, EncodeChunk, Param, Params};

use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk, packet};

pub(crate) const AUTH: u8 = 0x0f;

pub(crate) fn config(auth: AuthConfig) -> Config {
    Config { auth, ..Config::default() }
}

/// Returns options with a key that the attacker does not have.
pub(crate) fn keyed() -> AuthConfig {
    AuthConfig {
        keys: vec![SharedKey { id: 1, secret: b"both ends know".to_vec() }],
        ..AuthConfig::default()
    }
}

/// Establishes a pair whose A, the mobile, has added a second address in the attacker's view.
pub(crate) fn victims(auth: AuthConfig) -> Pair {
    let mut pair = Pair::new(config(auth.clone()), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config(auth), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    let added = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
    assert!(pair.a.saw(|event| *event == added));
    pair
}

/// Returns B's view of A: its addresses, the destination of data, the confirmed paths.
pub(crate) fn view(pair: &mut Pair, side: Side) -> Vec<String> {
    pair.with(side, |end, _| {
        end.paths().map(|path| format!("{} {} {}", path.at, path.state, path.primary)).collect()
    })
}

/// Asserts that `attack` changes nothing and gets no answer, and that both ends still deliver all data.
pub(crate) fn unmoved(pair: &mut Pair, attack: impl FnOnce(&mut Pair)) {
    let before = [view(pair, Side::A), view(pair, Side::B)];
    let events = pair.b.events.len();
    attack(pair);
    assert_eq!([view(pair, Side::A), view(pair, Side::B)], before);
    assert_eq!(pair.b.events[events..], [], "the application gets no event");
    pair.transfer(Side::A, 200, 1000, Span::from_secs(60));
    pair.transfer(Side::B, 200, 1000, Span::from_secs(60));
    assert_eq!([view(pair, Side::A), view(pair, Side::B)], before);
    // The mobile's own requests are still carried out.
    let delete = AddressRequest::Delete(a_ip(1));
    pair.with(Side::A, |a, now| a.remove_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(5));
    assert!(pair.a.saw(|event| *event == Event::AddressChange { request: delete, accepted: true }));
}

/// Returns the last packet from A with a chunk of this type.
pub(crate) fn seen(pair: &Pair, typ: u8) -> Flight {
    let log = pair.log.as_ref().expect("the log is on");
    log.iter().rev().find(|flight| flight.from == Side::A && flight.has(typ)).expect("it was sent").clone()
}

/// Returns the serial number of the last ASCONF that A sent.
pub(crate) fn last_serial(pair: &Pair) -> u32 {
    let bytes = seen(pair, chunk::ASCONF).bytes;
    let mut rest = &bytes[12..];
    while rest[0] != chunk::ASCONF {
        rest = &rest[usize::from(u16::from_be_bytes([rest[2], rest[3]])).next_multiple_of(4)..];
    }
    u32::from_be_bytes(rest[4..8].try_into().expect("four bytes"))
}

/// Returns an attacker's requests to take the association over: add its address, make it primary, delete all
/// others.
pub(crate) fn hijack(attacker: core::net::IpAddr) -> [Param<'static>; 3] {
    let request = |id, address| Request { correlation_id: CorrelationId::new(id), address };
    let any = core::net::Ipv4Addr::UNSPECIFIED.into();
    [
        Param::AddIpAddress(request(1, attacker)),
        Param::SetPrimaryAddress(request(2, attacker)),
        Param::DeleteIpAddress(request(3, any)),
    ]
}

/// Builds a packet for B with those requests, the next serial number and the right tag, behind the chunks in
/// `before`.
pub(crate) fn forged(pair: &Pair, attacker: core::net::IpAddr, before: &[&dyn EncodeChunk]) -> Vec<u8> {
    let requests = hijack(attacker);
    let asconf = Asconf {
        serial: AsconfSerial::new(last_serial(pair).wrapping_add(1)),
        address: a_ip(0),
        requests: Params::from(&requests),
    };
    let chunks: Vec<&dyn EncodeChunk> = before.iter().copied().chain([&asconf as &dyn EncodeChunk]).collect();
    packet(Side::B, pair.tag_of(Side::B), &chunks)
}

/// Returns addresses of packets from A's addresses and from the attacker's.
pub(crate) fn sources(attacker: core::net::IpAddr) -> [PathAddr; 3] {
    [a_ip(0), a_ip(1), attacker].map(|remote| PathAddr { local: b_ip(0), remote })
}
