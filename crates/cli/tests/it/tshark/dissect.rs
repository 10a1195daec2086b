//! tshark, which reads captures. Tests are skipped where it is not installed, unless `MSCTP_NEED_TSHARK` is
//! set. Shared by those of several crates.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::Path;
use std::process::Command;

/// Returns one line per frame with the requested columns, separated by `|`; `None` without tshark.
pub(crate) fn dissect(file: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-T", "fields", "-E", "separator=|"]);
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-o", "sctp.checksum:CRC 32c", "-o", "tcp.check_checksum:TRUE"]);
    // Random payload may look like the beginning of another protocol's message. tshark would then reassemble
    // it anew with every later segment: a minute for 20 MB.
    tshark.args(["-o", "sctp.relative_tsns:FALSE", "-o", "tcp.desegment_tcp_streams:FALSE"]);
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

/// Severity from which an expert note reports an error.
pub(crate) const ERROR: u32 = 0x0080_0000;

/// Returns the faulty frames of an SCTP capture: malformed ones, a checksum that is not good (status 1), an
/// expert note of an error, or an unknown chunk. Bare SCTP packets have no IP header to check.
pub(crate) fn complaints(file: &Path) -> Option<Vec<String>> {
    let fields = [
        "frame.number",
        "ip.checksum.status",
        "sctp.checksum.status",
        "_ws.malformed",
        "_ws.expert.severity",
        "sctp.chunk_type",
    ];
    // DATA … SHUTDOWN COMPLETE of RFC 9260, AUTH (15), I-DATA (64), ASCONF-ACK (128), RE-CONFIG (130), PAD
    // (132), QoS_Measurement (190), FORWARD TSN (192), ASCONF (193), I-FORWARD-TSN (194).
    let others = [64, 128, 130, 132, 190, 192, 193, 194];
    let known = |kind: &str| kind.parse::<u8>().is_ok_and(|k| k <= 15 || others.contains(&k));
    let wrong = |line: &String| {
        let columns: Vec<&str> = line.split('|').collect();
        let [_, ip, sctp, malformed, severity, chunks] = columns[..] else { return true };
        !["", "1"].contains(&ip)
            || sctp != "1"
            || !malformed.is_empty()
            || severity.split(',').any(|s| s.parse().is_ok_and(|s: u32| s >= ERROR))
            || chunks.is_empty()
            || !chunks.split(',').all(known)
    };
    Some(dissect(file, &fields)?.into_iter().filter(wrong).collect())
}
