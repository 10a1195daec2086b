//! Plays ASCONFs and ASCONF-ACKs of a misbehaving peer after a handshake: no panic, bounded answers, and
//! always a path.
#![no_main]

#[path = "../../crates/proto/tests/it/hostile/asconf.rs"]
mod asconf;
#[path = "../../crates/proto/tests/it/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| asconf::play(bytes));
