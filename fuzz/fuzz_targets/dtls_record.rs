//! Opens arbitrary DTLS chunks, and changed genuine ones: no panic, no forgery, no effect on genuine ones.
#![no_main]

#[path = "../../crates/protection/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|script: &[u8]| support::play(&msctp_protection::Ring, script));
