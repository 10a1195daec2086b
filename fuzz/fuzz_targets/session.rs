//! Mutates the structure of a live session's packets and signs them again: no panic, bounded answers.
#![no_main]

#[path = "../../crates/proto/tests/it/hostile/bytes.rs"]
mod bytes;
#[path = "../../crates/proto/tests/it/hostile/session.rs"]
mod session;
#[path = "../../crates/proto/tests/it/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| session::play(bytes));
