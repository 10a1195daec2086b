//! Plays fragments of an honest sender, late, doubled and given up, or of one gone mad, to the receiving half: no panic, memory
//! within the buffer and what is stated beside it, and of an honest sender every message as it went in.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| msctp_proto::fuzzing::reassembly(bytes));
