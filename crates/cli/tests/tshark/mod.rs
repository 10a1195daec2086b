//! Captures of example scenarios, and tshark, which reads them. Skipped where tshark is not installed, unless
//! `MSCTP_NEED_TSHARK` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs an example, changed, and gives its capture.
pub(crate) fn capture_of(scenario: &str, changes: &[&str], name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let scenario = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).join(scenario);
    let run = Command::new(env!("CARGO_BIN_EXE_msctp"))
        .arg("sim")
        .arg(scenario)
        .args(changes.iter().flat_map(|change| ["--set", change]))
        .arg("--pcap")
        .arg(&file)
        .output()
        .expect("msctp runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    file
}

/// One line per frame: the columns asked for, separated by `|`. `None` without tshark.
pub(crate) fn dissect(file: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-T", "fields", "-E", "separator=|"]);
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-o", "sctp.checksum:CRC 32c", "-o", "tcp.check_checksum:TRUE"]);
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
pub(crate) const ERROR: u32 = 0x0080_0000;
