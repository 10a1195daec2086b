//! An on-path attacker holds back a genuine ASCONF and flips each of its bits: every copy is rejected.

use msctp_proto::AuthConfig;
use msctp_units::Span;

use crate::attacks::victim::{AUTH, unmoved, victims};
use crate::support::{Fate, Pair, Side, a_ip, chunk, reseal};

#[test]
fn a_flip_of_any_bit_from_the_auth_chunk_on_is_rejected() {
    let mut pair = victims(AuthConfig::default());
    pair.drop_if(|flight| flight.has(chunk::ASCONF));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).unwrap();
    let held = crate::attacks::victim::seen(&pair, chunk::ASCONF);
    assert_eq!(held.chunks(), [AUTH, chunk::ASCONF]);
    let paths = pair.with(Side::B, |b, _| b.paths().count());
    let (mut bytes, bits) = (held.bytes.clone(), held.bytes.len() * 8);
    for bit in 12 * 8..bits {
        bytes[bit / 8] ^= 1 << (bit % 8);
        reseal(&mut bytes);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        assert_eq!(pair.with(Side::B, |b, _| b.paths().count()), paths, "bit {bit}");
        assert!(pair.b.state().is_some());
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    // Delivered at last, the genuine request is carried out: no forged copy consumed its serial number.
    pair.filter = Box::new(|_| Fate::Pass);
    pair.run_for(Span::from_secs(10));
    assert_eq!(pair.with(Side::B, |b, _| b.paths().count()), paths + 1);
    unmoved(&mut pair, |_| {});
}
