//! Plays a script of an attacker's chunks and packets between two endpoints: no panic, bounded answers.
#![no_main]

#[path = "../../crates/proto/tests/it/hostile/bytes.rs"]
mod bytes;
#[path = "../../crates/proto/tests/it/hostile/forged.rs"]
mod forged;
#[path = "../../crates/proto/tests/it/hostile/script.rs"]
mod script;
#[path = "../../crates/proto/tests/it/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::play(bytes));
