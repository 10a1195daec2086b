//! Kernel TCP over an emulated fast link: the hosts' devices pass large segments, the link and its
//! capture see packets of its MTU. Needs root, iperf3 and tshark; without them it says so and is left out,
//! unless MSCTP_NEED_EMULATION=1 or MSCTP_NEED_TSHARK=1.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::PROGRAM;
use crate::tshark::dissect::dissect;
use serde_json::Value;

fn scenario(addresses: [&str; 2], rate: &str) -> String {
    let [a, b] = addresses;
    format!(
        r#"
        name = "fast"
        duration = "60s"
        [[node]]
        name = "client"
        kind = "host"
        [[node]]
        name = "server"
        kind = "host"
        [[link]]
        name = "fibre"
        a = "client"
        b = "server"
        address_a = "{a}"
        address_b = "{b}"
        rate = "{rate}"
        delay = "2ms"
        queue = {{ packets = 2000 }}
        mark = {{ packets = 50 }}
        "#
    )
}

/// Sends this many mebibytes with ECN and checks each packet of the capture.
fn sees_packets(addresses: [&str; 2], header: u64, (rate, mebibytes): (&str, u64)) {
    if Command::new("iperf3").arg("--version").output().is_err() {
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "needs iperf3");
        eprintln!("left out: needs iperf3");
        return;
    }
    let dir = tempfile::tempdir().expect("made");
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("fast.toml"), scenario(addresses, rate)).expect("written");
    let with_ecn = "sysctl -q -w net.ipv4.tcp_ecn=1 && exec";
    let server = format!("{with_ecn} iperf3 -s -1 >/dev/null 2>&1");
    let client = format!("{with_ecn} timeout 40 iperf3 -c {} -n {mebibytes}M >/dev/null 2>&1", addresses[1]);
    let mut command = Command::new(PROGRAM);
    command.args(["emulate", &path("fast.toml"), "--quiet", "--summary", &path("summary.json")]);
    command.args(["--pcap", &path("run.pcapng"), "--pcap-link", "fibre/forward"]);
    let output = command.args(["--in", "server", &server, "--", "sh", "-c", &client]).output();
    let output = output.expect("starts");
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let cannot = !dir.path().join("summary.json").exists();
        assert!(cannot && std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{why}");
        eprintln!("left out: {why}");
        return;
    }
    let summary = std::fs::read_to_string(path("summary.json")).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let fibre = summary["links"].as_array().expect("a list");
    let fibre = fibre.iter().find(|link| link["name"] == "fibre/forward").expect("the link");
    let number = |key: &str| fibre[key].as_u64().unwrap_or_else(|| panic!("{key}: {fibre}"));
    assert_eq!(number("too_big"), 0, "{fibre}");
    assert!(number("marked") > 0, "{fibre}");

    let fields = [
        "ip.len",
        "ipv6.plen",
        "tcp.checksum.status",
        "ip.checksum.status",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
    ];
    let Some(lines) = dissect(&dir.path().join("run.pcapng"), &fields) else { return };
    assert_eq!(lines.len() as u64, number("delivered"));
    let (mut full, mut marked) = (0_u64, 0);
    for line in &lines {
        let columns: Vec<&str> = line.split('|').collect();
        let [v4, v6, tcp, ip, ecn4, ecn6] = columns[..] else { panic!("{line}") };
        let len: u64 = [v4, v6].concat().parse().expect("a length");
        assert!(len <= 1500 - header, "{line}");
        assert!(tcp == "1" && ["", "1"].contains(&ip), "a wrong checksum: {line}");
        full += u64::from(len == 1500 - header);
        marked += u64::from([ecn4, ecn6].concat() == "3");
    }
    // A MiB in segments of 1448 or 1428 bytes would be 724 or more. A host's TCP also sends smaller ones.
    assert!(full > 250 * mebibytes, "{full} full packets");
    assert_eq!(marked, number("marked"));
}

fn over_both_families(amount: (&str, u64)) {
    sees_packets(["10.0.0.1", "10.0.0.2"], 0, amount);
    // Its length field leaves out the header.
    sees_packets(["fd00::1", "fd00::2"], 40, amount);
}

#[test]
fn a_link_sees_packets_of_its_mtu_with_checksums_and_marks() {
    over_both_families(("100Mbps", 4));
}

#[test]
#[ignore = "takes three seconds of real time"]
fn slow_a_fast_link_sees_packets_of_its_mtu_with_checksums_and_marks() {
    over_both_families(("1Gbps", 20));
}
