//! Parses every item of arbitrary bytes: no panic, at most one item per 4 bytes.
#![no_main]

#[path = "../../crates/wire/tests/it/wire/support.rs"]
#[allow(dead_code, reason = "shared with the other fuzz target and the tests")]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| support::read_packet(bytes));
