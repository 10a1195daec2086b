//! Bytes from anybody: no panic, nothing opened that was not sealed, and no effect.
#![cfg(feature = "ring")]

use proptest::prelude::*;

use crate::support;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn of_any_kind(script in prop::collection::vec(any::<u8>(), 0..200)) {
        support::play(&msctp_protection::Ring, &script);
    }

    /// Returns bytes that look like a DTLS chunk.
    #[test]
    fn framed(suite in 0u8..3, restart in any::<bool>(), text in prop::collection::vec(any::<u8>(), 17..300)) {
        let len = ((8 + text.len()) as u16).to_be_bytes();
        let header = [suite, 0x41, restart.into(), len[0], len[1], 0, 0b0010_1011, 0, 0];
        let script = [&header[..], &text].concat();
        let padding = vec![0; (1 + 4 - script.len() % 4) % 4];
        support::play(&msctp_protection::Ring, &[script, padding].concat());
    }
}
