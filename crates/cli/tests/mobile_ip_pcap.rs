//! Wireshark's dissector reads every frame of a Mobile IP run without complaint, tunnels and registrations among them.
//!
//! Skipped where tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use std::path::Path;
use std::process::Command;

/// One line per frame: the columns asked for, separated by `|`. `None` without tshark.
fn dissect(file: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-T", "fields", "-E", "separator=|"]);
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-o", "sctp.checksum:CRC 32c"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    match tshark.output() {
        Ok(out) => {
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            Some(String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect())
        }
        Err(e) if std::env::var_os("MSCTP_NEED_TSHARK").is_some() => panic!("tshark: {e}"),
        Err(_) => {
            eprintln!("tshark is not installed: not checked");
            None
        }
    }
}

/// Severity of an expert note from which on it tells of an error.
const ERROR: u32 = 0x0080_0000;

#[test]
fn no_frame_is_wrong_and_the_whole_of_mobile_ip_is_there() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mobile-ip.pcapng");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/mobile-ip.toml");
    let run = Command::new(env!("CARGO_BIN_EXE_msctp"))
        .args(["sim", scenario, "--set", "duration=80s", "--set", "node.mh.waypoints=[{ at = \"10s\", to = [390, 0], speed = 20 }, { at = \"50s\", to = [10, 0], speed = 20 }]", "--pcap"])
        .arg(&file)
        .output()
        .expect("msctp runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
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
