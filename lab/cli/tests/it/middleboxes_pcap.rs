//! Wireshark's dissector reads SCTP over UDP on both sides of a NAT without complaint.
//!
//! Skipped where tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use crate::tshark;

use tshark::{ERROR, capture_of, dissect};

#[test]
fn no_frame_is_wrong_on_either_side_of_a_nat() {
    // The moves come after the part that is captured.
    let changes = [
        "duration=4s",
        "action.to-lte.at=4s",
        "action.3.at=4s",
        "action.to-cable.at=4s",
        "action.back-to-wifi.at=4s",
    ];
    let file = capture_of("three-interfaces-nat.toml", &changes, "middleboxes.pcapng");
    let fields = [
        "frame.number",
        "ip.checksum.status",
        "udp.checksum.status",
        "sctp.checksum.status",
        "ip.src",
        "udp.srcport",
        "udp.dstport",
        "_ws.malformed",
        "_ws.expert.severity",
    ];
    let Some(frames) = dissect(&file, &fields) else { return };
    let (mut inside, mut outside) = (0, 0);
    for line in &frames {
        let columns: Vec<&str> = line.split('|').collect();
        let [_, ip, udp, sctp, source, from, to, malformed, severity] = columns[..] else { panic!("{line}") };
        // Status 1: good.
        assert_eq!((ip, udp, sctp), ("1", "1", "1"), "{line}");
        assert!(malformed.is_empty(), "{line}");
        assert!(!severity.split(',').any(|s| s.parse().is_ok_and(|s: u32| s >= ERROR)), "{line}");
        match source {
            "10.0.1.2" => {
                assert_eq!((from, to), ("9899", "9899"), "{line}");
                inside += 1;
            }
            // The NAT's pool begins there.
            "203.0.113.7" => {
                assert_eq!((from, to), ("1024", "9899"), "{line}");
                outside += 1;
            }
            _ => {}
        }
    }
    assert!(inside > 1000, "{inside} frames from the mobile");
    // Over three links each.
    assert!(outside >= inside, "{outside} frames from the NAT");
}
