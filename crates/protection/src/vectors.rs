//! The crate against an independent implementation: `tests/vectors/make.py` over Python's `cryptography`.

use crate::binding::{Binding, FirstProtected};
use crate::keys::KeyMaterial;
use crate::negotiation::End;
use crate::opener::Opener;
use crate::provider::all;
use crate::psk::{Direction, PreShared, SetUp};
use crate::record::{FIRST_EPOCH, HEADER_LEN, KeyContext, TRAILER_LEN};
use crate::sealer::Sealer;
use crate::secret::Secret;
use crate::suite::CipherSuite;

/// Reads bytes written in hexadecimal.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal"))
        .collect()
}

/// Returns the words of all vectors of a kind.
fn vectors(kind: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = include_str!("../tests/vectors/records.txt").lines();
    let words = lines.filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect::<Vec<_>>());
    words.filter(move |words| words[0] == kind).map(|words| words[1..].to_vec())
}

fn suite(code: &str) -> CipherSuite {
    CipherSuite::from_code(u16::from_str_radix(code, 16).expect("a number")).expect("a known suite")
}

fn context(name: &str) -> KeyContext {
    if name == "restart" { KeyContext::Restart } else { KeyContext::Primary }
}

#[test]
fn records_are_those_of_the_independent_implementation() {
    let mut count = 0;
    for words in vectors("record") {
        let [code, secret, name, epoch, number, chunks, protected] = words[..] else { panic!("{words:?}") };
        let (epoch, number): (u64, u64) = (epoch.parse().unwrap(), number.parse().unwrap());
        let (chunks, protected, secret) = (hex(chunks), hex(protected), Secret::from(&hex(secret)[..]));
        for (library, provider) in all() {
            let keys = KeyMaterial::from_traffic_secret(provider, suite(code), &secret);
            let (mut sealer, mut opener) = (Sealer::new(), Opener::default());
            let first = if name == "restart" { epoch } else { FIRST_EPOCH };
            for epoch in first..=epoch {
                sealer.establish(context(name), epoch, &keys, provider).unwrap();
                opener.establish(context(name), epoch, &keys, provider).unwrap();
            }
            sealer.skip_to(number);
            opener.skip_to(context(name), epoch, number);
            let mut bytes = [&[0xee; HEADER_LEN][..], &chunks, &[0xee; TRAILER_LEN]].concat();
            sealer.seal(&mut bytes).unwrap();
            assert_eq!(bytes, protected, "{library} {words:?}");
            let opened = opener.open(&mut bytes).unwrap();
            assert_eq!((&bytes[opened.chunks], opened.epoch), (&chunks[..], epoch), "{library} {words:?}");
            assert_eq!(opened.context, context(name));
            count += 1;
        }
    }
    assert_eq!(count, 21 * all().len());
}

#[test]
fn pre_shared_keys_are_those_of_the_independent_implementation() {
    let mut count = 0;
    for words in vectors("psk") {
        let [
            code,
            psk,
            client,
            ct,
            cn,
            server,
            st,
            sn,
            binding,
            end,
            name,
            direction,
            epoch,
            key,
            sn_key,
            iv,
        ] = words[..]
        else {
            panic!("{words:?}")
        };
        let (client, server) = (hex(client), hex(server));
        let client = SetUp { parameter: &client, tag: ct.parse().unwrap(), initial_tsn: cn.parse().unwrap() };
        let server = SetUp { parameter: &server, tag: st.parse().unwrap(), initial_tsn: sn.parse().unwrap() };
        let end = if end == "client" { End::Client } else { End::Server };
        let direction = if direction == "send" { Direction::Send } else { Direction::Receive };
        for (library, provider) in all() {
            let psk = Secret::from(&hex(psk)[..]);
            let binding = Binding::from_bytes(hex(binding).try_into().unwrap());
            let mut shared =
                PreShared::new(provider, suite(code), &psk, end, client, server, binding).unwrap();
            while shared.epoch().to_string() != epoch {
                shared.advance(provider);
            }
            let keys = shared.keys(provider, context(name), direction);
            assert_eq!(keys.parts(), [&hex(key)[..], &hex(sn_key), &hex(iv)], "{library} {words:?}");
            count += 1;
        }
    }
    assert_eq!(count, 48 * all().len());
}

#[test]
fn bound_keys_are_those_of_the_independent_implementation() {
    let mut count = 0;
    for words in vectors("bound") {
        let [code, exported @ .., a, b, c, d, key, sn_key, iv] = &words[..] else { panic!("{words:?}") };
        let [a, b, c, d] = [a, b, c, d].map(|number| number.parse().unwrap());
        let (client, server) =
            (FirstProtected { tsn: a, messages: b }, FirstProtected { tsn: c, messages: d });
        let [one, two, three] = exported else { panic!("{words:?}") };
        let [one, two, three] = [one, two, three].map(|part| Secret::from(&hex(part)[..]));
        let exported = KeyMaterial::new(suite(code), one, two, three).unwrap();
        for (library, provider) in all() {
            let keys = exported.bound(provider, client, server);
            assert_eq!(keys.parts(), [&hex(key)[..], &hex(sn_key), &hex(iv)], "{library} {words:?}");
            count += 1;
        }
    }
    assert_eq!(count, 6 * all().len());
}
