//! Mutates the packets of a live session in their structure and signs them anew: no panic, no answer without bound.
#![no_main]

#[path = "../../crates/proto/tests/hostile/bytes.rs"]
mod bytes;
#[path = "../../crates/proto/tests/hostile/session.rs"]
mod session;
#[path = "../../crates/proto/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| session::play(bytes));
