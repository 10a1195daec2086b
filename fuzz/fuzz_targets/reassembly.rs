//! Plays fragments to the receiving half: late, duplicated and abandoned ones of a correct sender, or those
//! of a misbehaving one. No panic, bounded memory, and every message of a correct sender is read unchanged.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| msctp_proto::fuzzing::reassembly(bytes));
