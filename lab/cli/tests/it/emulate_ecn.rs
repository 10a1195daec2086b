//! ECN end to end on real stacks: the emulator's queue marks packets of the kernel's TCP and of our SCTP over
//! UDP instead of dropping them, both detect it and answer, and tshark sees it. Needs root and tshark;
//! without them it says so and is left out, unless MSCTP_NEED_EMULATION=1 or MSCTP_NEED_TSHARK=1.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::PROGRAM;
use crate::tshark::dissect::dissect;
use serde_json::Value;

/// The result of a run of the bulk example. Its air link marks packets while 20 are queued, and queues at
/// most 400.
struct Ran {
    summary: Value,
    capture: PathBuf,
    _dir: tempfile::TempDir,
}

impl Ran {
    /// Counters of the bottleneck.
    fn air(&self, key: &str) -> u64 {
        let emulation = self.summary.get("emulation").unwrap_or(&self.summary);
        let links = emulation["links"].as_array().expect("a list");
        let air = links.iter().find(|link| link["name"] == "wlan/forward").expect("the bottleneck");
        air[key].as_u64().unwrap_or_else(|| panic!("{key}: {air}"))
    }

    /// Returns the number of frames that match the display filter.
    fn count(&self, filter: impl Fn(&str) -> bool, fields: &[&str]) -> Option<usize> {
        Some(dissect(&self.capture, fields)?.iter().filter(|line| filter(line)).count())
    }
}

/// Runs an emulation; prints the reason and returns `None` if this machine cannot emulate.
fn emulate(arguments: &[&str]) -> Option<Ran> {
    let dir = tempfile::tempdir().expect("made");
    let (summary, capture) = (dir.path().join("summary.json"), dir.path().join("run.pcapng"));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/bulk-wlan.toml");
    let path = |path: &Path| path.display().to_string();
    let mut command = Command::new(PROGRAM);
    command.args(["emulate", scenario, "--quiet", "--summary", &path(&summary), "--pcap", &path(&capture)]);
    // Of one link: a packet captured twice looks like a retransmission.
    command.args(["--pcap-link", "wlan"]);
    command.args(["--set", "link.wlan.queue={ packets = 400 }", "--set", "link.wlan.mark={ packets = 20 }"]);
    let output = command.args(arguments).output().expect("starts");
    if !output.status.success() && !summary.exists() {
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{why}");
        eprintln!("left out: {why}");
        return None;
    }
    let summary = std::fs::read_to_string(summary).expect("written");
    Some(Ran { summary: serde_json::from_str(&summary).expect("JSON"), capture, _dir: dir })
}

/// RFC 3168 §6.1.3: the receiver sets ECE from the first mark on, until a segment with CWR says that the
/// sender has reacted.
fn the_kernels_tcp_is_marked_and_answers(seconds: u32) {
    if Command::new("iperf3").arg("--version").output().is_err() {
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "needs iperf3");
        eprintln!("left out: needs iperf3");
        return;
    }
    let with_ecn = "sysctl -q -w net.ipv4.tcp_ecn=1 && exec";
    let server = format!("{with_ecn} iperf3 -s >/dev/null 2>&1");
    let client = format!("{with_ecn} timeout 9 iperf3 -c 10.0.1.2 -t {seconds} >/dev/null 2>&1");
    let Some(ran) = emulate(&["--in", "receiver", &server, "--", "sh", "-c", &client]) else { return };
    assert!(ran.air("marked") >= 3, "{}", ran.summary);
    // The threshold drops only packets that are not ECN-capable. Pure acknowledgements are not (RFC 3168
    // §6.1.4), and those of iperf3's control connection share the queue.
    assert!(ran.air("queue_drops") <= 3, "{}", ran.summary);
    let fields = ["ip.dsfield.ecn", "tcp.flags.ece", "tcp.flags.cwr", "tcp.flags.syn"];
    let is = |ecn: &'static str, ece: &'static str, cwr: &'static str| {
        move |line: &str| {
            let columns: Vec<&str> = line.split('|').collect();
            columns.len() == 4
                && columns[3] == "0"
                && [ecn, ece, cwr].iter().zip(&columns).all(|(want, is)| want.is_empty() || want == is)
        }
    };
    let Some(marked) = ran.count(is("3", "", ""), &fields) else { return };
    assert!(marked >= 3, "{marked} marked");
    let (told, answered) = (ran.count(is("", "1", ""), &fields), ran.count(is("", "", "1"), &fields));
    assert!(told >= Some(3) && answered >= Some(2), "{told:?} with ECE, {answered:?} with CWR");
    let again =
        |line: &str| line.split_once('|').is_some_and(|(again, data)| !again.is_empty() && data != "0");
    let again = ran.count(again, &["tcp.analysis.retransmission", "tcp.len"]);
    assert_eq!(again, Some(0), "segments with data retransmitted");
}

#[test]
fn alone_the_kernels_tcp_is_marked_and_answers() {
    the_kernels_tcp_is_marked_and_answers(3);
}

#[test]
#[ignore = "takes four seconds of real time"]
fn slow_the_kernels_tcp_is_marked_and_answers() {
    the_kernels_tcp_is_marked_and_answers(4);
}

/// RFC 4960 Appendix A: an ECNE reports the first mark until a CWR answers it.
fn our_sctp_over_udp_is_marked_and_answers(seconds: u64) {
    let duration = format!("duration={seconds}s");
    let ecn = ["--applications", "--set", &duration, "--set", "sctp.default.ecn=true"];
    let Some(ran) = emulate(&ecn) else { return };
    // At the threshold only packets that cannot be marked are dropped: a CWR alone, and no data.
    assert!(ran.air("marked") >= 3, "{}", ran.summary);
    let sent = &ran.summary["applications"]["associations"][0]["to_server"];
    assert!(sent["bytes"].as_u64() > Some(400_000 * seconds), "{sent}");
    assert_eq!((sent["retransmitted"].as_u64(), sent["timeouts"].as_u64()), (Some(0), Some(0)), "{sent}");
    let fields = ["ip.dsfield.ecn", "sctp.chunk_type"];
    let has = |chunk: &'static str| {
        move |line: &str| {
            line.split_once('|').is_some_and(|(_, chunks)| chunks.split(',').any(|c| c == chunk))
        }
    };
    let Some(marked) = ran.count(|line| line.starts_with("3|"), &fields) else { return };
    assert!(marked >= 3, "{marked} marked");
    let (told, answered) = (ran.count(has("12"), &fields), ran.count(has("13"), &fields));
    assert!(told >= Some(2) && answered >= Some(2), "{told:?} ECNE, {answered:?} CWR");
    let wrong = ran.count(|line| !line.is_empty(), &["_ws.malformed"]);
    assert_eq!(wrong, Some(0), "malformed");
}

#[test]
fn alone_our_sctp_over_udp_is_marked_and_answers() {
    our_sctp_over_udp_is_marked_and_answers(3);
}

#[test]
#[ignore = "takes five seconds of real time"]
fn slow_our_sctp_over_udp_is_marked_and_answers() {
    our_sctp_over_udp_is_marked_and_answers(5);
}
