//! `msctp doctor`, `completions` and `man`.

use crate::process;

use std::fs;
use std::net::UdpSocket;
use std::process::Command;

use process::{Server, folder, msctp, run, stderr};

/// Runs `msctp doctor --json`. Returns its checks and its exit code.
fn doctor(args: &[&str], home: &std::path::Path) -> (Vec<serde_json::Value>, Option<i32>) {
    let mut command = msctp(&[&["doctor", "--json"], args].concat());
    let output = command.env("XDG_CONFIG_HOME", home).output().unwrap();
    let checks = serde_json::from_slice(&output.stdout);
    (checks.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))), output.status.code())
}

fn state<'a>(checks: &'a [serde_json::Value], name: &str) -> (&'a str, &'a str) {
    let check = checks.iter().find(|check| check["check"] == name).expect("the check");
    (check["state"].as_str().unwrap(), check["what"].as_str().unwrap())
}

#[test]
fn the_doctor_connects_to_a_server_and_names_what_fails() {
    let home = folder("doctor");
    let loopback = ["--bind", "127.0.0.1"];
    let mut server = Server::start(&["serve", "--keep", "--bind", "127.0.0.1:0"]);
    server.end_input();
    let (checks, code) = doctor(&[&[server.at.as_str()][..], &loopback].concat(), &home);
    assert_eq!(code, Some(0), "{checks:?}");
    let (ok, what) = state(&checks, "server");
    assert!(
        ok == "ok" && what.contains("answers over UDP") && what.contains("security tls, key SHA256:"),
        "{what}"
    );
    assert_eq!(state(&checks, "addresses"), ("note", "127.0.0.1: loopback only, this host has no network"));
    assert!(state(&checks, "known hosts").1.starts_with("0 in "));
    // Now it is known.
    assert!(state(&doctor(&loopback, &home).0, "known hosts").1.starts_with("1 in "));
    // A socket that answers nothing; a key that others can read; damaged known hosts.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let key = home.join("msctp/key.der");
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(home.join("msctp/known_hosts"), "one\n").unwrap();
    let silent = [at.as_str(), "--insecure", "--timeout", "1", loopback[0], loopback[1]];
    let (checks, code) = doctor(&silent, &home);
    assert_eq!(code, Some(1));
    for (name, why) in [
        ("key", "mode 0644 lets others use the key"),
        ("known hosts", "known_hosts:1: 1 words"),
        ("lo, IPv4", "no answer over UDP from 127.0.0.1, which refuses TCP at port"),
        ("server", "no answer for 1 s"),
    ] {
        let (state, what) = state(&checks, name);
        assert!(state == "failed" && what.contains(why), "{name}: {state}: {what}");
    }
    let text = run(&["doctor", "127.0.0.1:1", "--insecure", "--bind", "127.0.0.1", "--timeout", "1"]);
    assert_eq!(text.status.code(), Some(1));
    let out = String::from_utf8_lossy(&text.stdout);
    assert!(out.contains("FAILED  server: ") && out.contains("ok      key: "), "{out}");
    assert!(
        out.contains("FAILED  lo, IPv4: nobody listens at UDP port 1 of 127.0.0.1: start the server"),
        "{out}"
    );
    assert_eq!(stderr(&text), "msctp: failed: lo, IPv4; server\n");
    assert_eq!(run(&["doctor", "--policy", "x"]).status.code(), Some(2));
}

#[test]
fn completions_are_scripts_that_the_shells_accept() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success(), "{}", stderr(&output));
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("forward") && script.contains("only-clients"), "{shell}");
        let file = folder("completions").join(shell);
        fs::write(&file, script).unwrap();
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{}", stderr(&output)),
            Err(error) => eprintln!("left out: {shell}: {error}"),
        }
    }
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let out = folder("man");
    let output = run(&["man", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let send = fs::read_to_string(out.join("msctp-send.1")).unwrap();
    assert!(send.contains(".SH NAME") && send.contains("Reconnect up to N times"), "{send}");
    let pages = fs::read_dir(&out).unwrap().count();
    assert!(out.join("msctp.1").is_file() && pages == 12, "{pages} pages");
    assert_eq!(run(&["man", "--out", "/no/such/folder"]).status.code(), Some(2));
}
