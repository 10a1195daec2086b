//! Parses chunks, builds packets of them and parses those again: the chunks are equal.
#![no_main]

#[path = "../../crates/wire/tests/it/wire/support.rs"]
#[allow(dead_code, reason = "shared with the other fuzz target and the tests")]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    support::round_trip(bytes);
    if let Some(chunks) = bytes.get(msctp_wire::CommonHeader::LEN..) {
        support::round_trip(chunks);
    }
});
