//! Opens arbitrary and modified DTLS chunks: no panic, no forgery, and genuine ones still open.
#![no_main]

#[path = "../../crates/protection/tests/it/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|script: &[u8]| support::play(&msctp_protection::Ring, script));
