//! Wireshark's dissector reads every frame of a Mobile IP run without complaint, tunnels and registrations
//! among them.
//!
//! Skipped where tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use crate::tshark;

use tshark::{ERROR, capture_of, dissect};

#[test]
fn tshark_finds_every_mobile_ip_message_and_no_fault() {
    let way = "node.mh.waypoints=[{ at = \"10s\", to = [390, 0], speed = 20 }, { at = \"50s\", to = [10, 0], speed = 20 }]";
    let file = capture_of("mobile-ip.toml", &["duration=80s", way], "mobile-ip.pcapng");
    let fields = [
        "frame.number",
        "ip.proto",
        "ip.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "sctp.checksum.status",
        "mip.type",
        "icmp.mip.type",
        "_ws.malformed",
        "_ws.expert.severity",
    ];
    let Some(frames) = dissect(&file, &fields) else { return };
    let (mut tunnelled, mut requests, mut replies, mut advertisements) = (0, 0, 0, 0);
    for line in &frames {
        let columns: Vec<&str> = line.split('|').collect();
        let [_, proto, ip, udp, icmp, sctp, mip, extension, malformed, severity] = columns[..] else {
            panic!("{line}")
        };
        // Status 1: good. Of a tunnelled packet both headers are.
        let good = |status: &str| status.split(',').all(|s| s.is_empty() || s == "1");
        assert!(good(ip) && good(udp) && good(icmp) && good(sctp), "{line}");
        assert!(malformed.is_empty(), "{line}");
        assert!(!severity.split(',').any(|s| s.parse().is_ok_and(|s: u32| s >= ERROR)), "{line}");
        tunnelled += usize::from(proto.starts_with("4,132"));
        requests += usize::from(mip == "1");
        replies += usize::from(mip == "3");
        advertisements += usize::from(proto == "1" && extension == "16");
    }
    assert!(frames.len() > 10_000, "{} frames", frames.len());
    assert!(tunnelled > 1000, "{tunnelled} tunnelled packets of SCTP");
    // Through the foreign agent over three links, once for each registration and renewal; home over one.
    assert!(requests > 6 && replies > 6, "{requests} requests, {replies} replies");
    assert!(advertisements > 50, "{advertisements} agent advertisements");
}
