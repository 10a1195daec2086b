//! Delivers, drops, repeats, changes and injects key management messages between two key managers: no panic,
//! no epoch twice, and no end seals by keys that its peer does not have.
#![no_main]

#[path = "../../crates/security/tests/it/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|script: &[u8]| {
    support::play::play(script);
});
