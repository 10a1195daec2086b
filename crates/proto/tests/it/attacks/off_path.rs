//! An off-path attacker that adds its own address has to guess the tag, the serial number and the key.

use msctp_proto::{AuthConfig, PathAddr};
use msctp_wire::{Asconf, AsconfSerial, Auth, HmacId, Params};

use crate::attacks::victim::{hijack, last_serial, unmoved, victims};
use crate::support::{PORT_A, PORT_B, Side, a_ip, b_ip, ip, packet_between};

#[test]
fn wrong_tags_have_no_effect_and_the_right_tag_does_not_suffice() {
    let mut pair = victims(AuthConfig::default());
    let (right, next) = (pair.tag_of(Side::B), last_serial(&pair).wrapping_add(1));
    let attacker = ip(66, 6);
    let requests = hijack(attacker);
    unmoved(&mut pair, |pair| {
        for tag in (1..2000).map(|n: u32| n.wrapping_mul(2_147_483_647)).chain([
            right ^ 1,
            right.wrapping_add(1),
            right,
        ]) {
            for (remote, lookup) in [(attacker, a_ip(0)), (attacker, attacker), (a_ip(0), a_ip(0))] {
                let asconf = Asconf {
                    serial: AsconfSerial::new(next),
                    address: lookup,
                    requests: Params::from(&requests),
                };
                let auth =
                    Auth { shared_key_id: 0, hmac_id: HmacId::SHA256, hmac: &tag.to_be_bytes().repeat(8) };
                let at = PathAddr { local: b_ip(0), remote };
                let bytes = packet_between(PORT_A, PORT_B, tag, &[&auth, &asconf]);
                let sent = pair.log_len();
                pair.inject(Side::B, at, &bytes);
                // An out-of-the-blue packet may be answered (RFC 9260 §8.4), to the attacker and with its own
                // tag.
                for answer in &pair.log.as_ref().unwrap()[sent..] {
                    assert_eq!((answer.at.remote, answer.tag()), (attacker, tag));
                }
            }
        }
    });
}
