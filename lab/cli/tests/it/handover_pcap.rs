//! Wireshark's dissector reads every frame of a handover without complaint, and of one with QoS_Measurement
//! chunks, which it does not know.
//!
//! Skipped where tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use crate::tshark;

use std::path::PathBuf;

use tshark::{capture_of, complaints, dissect};

/// Runs the handover example and returns its capture.
fn capture(name: &str) -> PathBuf {
    capture_of("handover.toml", &["duration=45s", "link.3g.loss=0.01"], name)
}

#[test]
fn no_frame_of_a_handover_is_wrong() {
    let file = capture("handover.pcapng");
    let Some(wrong) = complaints(&file) else { return };
    assert_eq!(wrong, [""; 0], "frame|ip|sctp|malformed|severity|chunks");
    let chunks = dissect(&file, &["sctp.chunk_type"]).unwrap_or_default();
    assert!(chunks.len() > 10_000, "{} frames", chunks.len());
    // INIT, INIT ACK, SACK, HEARTBEAT, COOKIE ECHO, COOKIE ACK, AUTH, ASCONF-ACK, ASCONF: the whole handover
    // is there.
    for kind in ["1", "2", "3", "4", "10", "11", "15", "128", "193"] {
        let there = chunks.iter().any(|line| line.split(',').any(|chunk| chunk == kind));
        assert!(there, "no chunk of type {kind}");
    }
}

/// Wireshark reports no error in frames with the private chunk, and skips it as its type requires.
#[test]
fn no_frame_with_a_quality_report_is_wrong() {
    let file = capture_of("radio-quality.toml", &[], "radio-quality.pcapng");
    let Some(wrong) = complaints(&file) else { return };
    assert_eq!(wrong, [""; 0], "frame|ip|sctp|malformed|severity|chunks");
    let reports =
        dissect(&file, &["sctp.chunk_type", "sctp.chunk_bit_1", "sctp.chunk_bit_2"]).unwrap_or_default();
    // At the set-up, two changes, the new cell, and again at the handover; each link of the way is captured.
    let reports = reports.iter().filter(|line| line.split(['|', ',']).any(|chunk| chunk == "190")).count();
    assert!(reports >= 5, "{reports} frames with a report");
}

/// The check above can fail: Wireshark reports a flipped bit.
#[test]
fn a_flipped_bit_is_found() {
    let file = capture("flipped.pcapng");
    let mut bytes = std::fs::read(&file).expect("written");
    // In the payload of a DATA chunk: a long run of zeros.
    let at = bytes.windows(600).position(|w| w.iter().all(|&b| b == 0)).expect("a DATA chunk") + 300;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("writable");
    let Some(wrong) = complaints(&file) else { return };
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}
