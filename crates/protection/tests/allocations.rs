//! Sealing and opening a packet allocate nothing.
#![cfg(feature = "ring")]

use std::alloc::System;

use msctp_protection::{
    CipherSuite, FIRST_EPOCH, HEADER_LEN, KeyContext, KeyMaterial, Opener, Ring, Sealer, Secret, TRAILER_LEN,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_packet_allocates_nothing() {
    for suite in CipherSuite::ALL {
        let secret = Secret::from(&[1; 48][..suite.hash().len()]);
        let keys = KeyMaterial::from_traffic_secret(&Ring, suite, &secret);
        let (mut sealer, mut opener) = (Sealer::new(), Opener::default());
        sealer.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring).expect("an epoch");
        opener.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring).expect("an epoch");
        let mut bytes = vec![0; HEADER_LEN + 1200 + TRAILER_LEN];
        // The first record of an epoch allocates the replay window.
        sealer.seal(&mut bytes).expect("room in the key");
        opener.open(&mut bytes).expect("a genuine packet");
        let region = Region::new(ALLOCATOR);
        for _ in 0..100 {
            sealer.seal(&mut bytes).expect("room in the key");
            opener.open(&mut bytes).expect("a genuine packet");
            assert!(opener.open(&mut bytes).is_err(), "what was decrypted is not authentic");
        }
        let change = region.change();
        assert_eq!((change.allocations, change.reallocations), (0, 0), "{suite}");
    }
}
