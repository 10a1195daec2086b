//! The completions and the manual pages that packages hold.

use std::fs;

use crate::process::{folder, run, stderr};

#[test]
fn completions_are_those_of_the_laboratory() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success(), "{}", stderr(&output));
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("msctp-lab") && script.contains("pcap-link"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let out = folder("man");
    let output = run(&["man", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(out.join("msctp-lab-sim.1")).unwrap();
    assert!(page.contains(".SH NAME") && page.contains("msctp\\-lab sim"), "{page}");
    let name = |page: std::io::Result<fs::DirEntry>| page.unwrap().file_name().into_string().unwrap();
    let mut pages: Vec<String> = fs::read_dir(&out).unwrap().map(name).collect();
    pages.sort();
    let commands = ["bench", "emulate", "reproduce", "rerun", "scenario", "sim", "sweep", "validate"];
    let wanted = commands.iter().map(|command| format!("msctp-lab-{command}.1"));
    assert_eq!(pages, wanted.chain(["msctp-lab.1".to_owned()]).collect::<Vec<_>>());
}
