//! Reads all there is in arbitrary bytes: no panic, no more items than bytes allow.
#![no_main]

#[path = "../../crates/wire/tests/wire/support.rs"]
#[allow(dead_code, reason = "shared with the other fuzz target and the tests")]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| support::read_packet(bytes));
