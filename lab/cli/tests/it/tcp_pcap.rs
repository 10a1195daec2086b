//! Wireshark's dissector reads every frame of a TCP transfer with SACK, timestamps and losses without
//! complaint.
//!
//! Skipped where tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use crate::tshark;

use std::path::{Path, PathBuf};

use tshark::{ERROR, capture_of, dissect};

/// Captures a lossy TCP transfer beside an association, on the link that drops packets.
fn capture(name: &str) -> PathBuf {
    let changes = [
        "duration=8s",
        "link.bottleneck.forward.loss=0.02",
        "tcp-profile.default.timestamps=true",
        "tcp-profile.default.recovery=sack",
    ];
    capture_of("tcp.toml", &changes, name)
}

/// Returns the number of TCP frames of a capture, and the faulty ones: malformed, a checksum that is not
/// good (status 1), or an expert note of an error.
fn complaints(file: &Path) -> Option<(usize, Vec<String>)> {
    let fields = [
        "frame.number",
        "ip.proto",
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
    ];
    let mut frames = dissect(file, &fields)?;
    frames.retain(|line| line.split('|').nth(1) == Some("6"));
    let count = frames.len();
    frames.retain(|line| {
        let columns: Vec<&str> = line.split('|').collect();
        let [_, _, ip, tcp, malformed, severity] = columns[..] else { return true };
        ip != "1"
            || tcp != "1"
            || !malformed.is_empty()
            || severity.split(',').any(|s| s.parse().is_ok_and(|s: u32| s >= ERROR))
    });
    Some((count, frames))
}

#[test]
fn no_frame_of_a_lossy_transfer_is_wrong() {
    let file = capture("tcp.pcapng");
    let Some((count, wrong)) = complaints(&file) else { return };
    assert_eq!(wrong, [""; 0], "frame|proto|ip|tcp|malformed|severity");
    assert!(count > 1000, "{count} frames of TCP");
    let fields = [
        "tcp.options.sack_perm",
        "tcp.options.sack.count",
        "tcp.options.timestamp.tsval",
        "tcp.analysis.retransmission",
        "tcp.flags.syn",
    ];
    let frames = dissect(&file, &fields).unwrap_or_default();
    let with = |column: usize, wanted: &dyn Fn(&str) -> bool| {
        frames.iter().filter(|line| line.split('|').nth(column).is_some_and(wanted)).count()
    };
    let is_there: &dyn Fn(&str) -> bool = &|text| !text.is_empty();
    assert!(with(4, &|syn| syn == "1" || syn == "True") >= 2, "SYN and SYN ACK");
    assert!(with(0, is_there) >= 2, "SACK-permitted on both");
    // Wireshark tells retransmissions by their sequence numbers.
    assert!(with(3, is_there) > 10, "{} retransmissions", with(3, is_there));
    assert!(with(1, is_there) > 50, "{} ACKs with SACK blocks", with(1, is_there));
    assert_eq!(with(2, is_there), count, "a timestamp on every segment");
}

/// The check above can fail: it reports a flipped bit.
#[test]
fn a_flipped_bit_is_found() {
    let file = capture("tcp-flipped.pcapng");
    let mut bytes = std::fs::read(&file).expect("written");
    // In the payload of a segment, which follows the port 80 it goes to: a long run of zeros.
    let segments = bytes.windows(2000).position(|w| w[..4] == [0x27, 0x10, 0, 80] && w[200..800] == [0; 600]);
    let at = segments.expect("a segment") + 500;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("writable");
    let Some((_, wrong)) = complaints(&file) else { return };
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}
