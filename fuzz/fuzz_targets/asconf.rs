//! Plays ASCONFs and ASCONF-ACKs of a peer gone mad after a handshake: no panic, no answer without bound, never without a path.
#![no_main]

#[path = "../../crates/proto/tests/hostile/asconf.rs"]
mod asconf;
#[path = "../../crates/proto/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| asconf::play(bytes));
