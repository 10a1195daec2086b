//! The commands for real networks over the loopback interface, from outside: what they print, how they exit.

use crate::PROGRAM;
use crate::process;

use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use process::{Server, finish, folder, msctp, run, sha256, stderr};

#[test]
fn wrong_use_gives_one_clear_error_and_its_exit_code() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["serve", "--bind", &taken], 1, "the port is in use: choose another"),
        (&["serve", "--bind", "192.0.2.77"], 1, "this host has no such address"),
        (&["connect", "127.0.0.1", "--policy", "anticipat"], 2, "did you mean \"anticipate\"?"),
        (&["connect", "127.0.0.1", "--controller", "cubik"], 2, "cubic"),
        (&["connect", "127.0.0.1", "--mtu", "100"], 2, "want 512 to 65535 bytes"),
        // A socket is bound there, and answers nothing.
        (&["connect", &taken, "--timeout", "1"], 1, "no answer for 1 s"),
        (&["connect", "no such host"], 2, "want HOST or HOST:PORT"),
        (&["connect", "127.0.0.1:99999"], 2, "\"99999\" is not a port: want 1 to 65535"),
        (&["connect", "127.0.0.1:0"], 2, "\"0\" is not a port: want 1 to 65535"),
        (&["serve", "--bind", "127.0.0.1:99999"], 2, "\"99999\" is not a port: want 0 to 65535"),
        (&["connect", "127.0.0.1", "--policy", "foo"], 2, "--policy foo: want one of conservative, "),
        // Only a scenario of the simulator knows the true rates that these start at.
        (&["connect", "127.0.0.1", "--policy", "oracle"], 2, "want one of conservative, anticipate"),
        (&["perf", "127.0.0.1", "--policy", "clairvoyant"], 2, "want one of conservative, anticipate"),
        (&["send", "film", "127.0.0.1", "--paths", "both"], 2, "aggregate"),
        (&["serve", "--controller", "foo"], 2, "--controller foo: want one of rfc9260, "),
        (&["serve", "--mtu", "100"], 2, "--mtu 100: want 512 to 65535 bytes"),
        (&["send", "/etc", "127.0.0.1"], 2, "/etc is a folder; send takes regular files: `tar c /etc"),
        (
            &["send", "/no/such/file", "127.0.0.1"],
            2,
            "cannot read /no/such/file: No such file or directory; want the path of a file",
        ),
        (&["perf", "127.0.0.1", "--time", "0"], 2, "0 is not in 1..=86400"),
        (&["connect", "127.0.0.1", "--bind", "::1"], 1, "--bind: no local address reaches 127.0.0.1:9899"),
        (&["serve", "--bind", "localhost"], 2, "want an IP address, with :PORT or without"),
        (&["send", "/no/such/file", "127.0.0.1"], 2, "/no/such/file: No such file"),
        (&["recv", "--out", "/no/such/folder"], 2, "want a folder that exists"),
        (&["perf", "127.0.0.1", "--len", "0"], 2, "want 1 to 1048576 bytes"),
        (&["perf"], 2, "Usage"),
        (&["perf", "127.0.0.1", "--server"], 2, "Usage"),
        // The same wherever a peer, a port, a name or a file can be given.
        (&["recv", "--bind", &taken], 1, "the port is in use: choose another"),
        (&["perf", "--server", "--bind", &taken], 1, "the port is in use: choose another"),
        (&["send", "/proc/self/status", &taken, "--timeout", "1"], 1, "no answer for 1 s"),
        (&["perf", &taken, "--timeout", "1"], 1, "no answer for 1 s"),
        (
            &["serve", "--bind", "127.0.0.1:0", "--policy", "anticipated"],
            2,
            "want a handover policy; did you mean",
        ),
        (
            &["perf", "--server", "--controller", "cubik"],
            2,
            "want a congestion controller; did you mean \"cubic\"?",
        ),
        (
            &["recv", "--bind", "127.0.0.1:0", "--insecure", "--key", "/no/such/key"],
            2,
            "--key /no/such/key: No such file",
        ),
        (&["connect", "127.0.0.1", "--insecure", "--key", "/etc"], 2, "--key /etc: Is a directory"),
        (&["connect", "127.0.0.1", "--insecure", "--key", "/dev/null"], 2, "0 bytes; want at least 16"),
        (&["send", "/dev/zero", "127.0.0.1"], 2, "/dev/zero is a device; send takes regular files: `msctp"),
        (&["connect", "--sctp-port", "0", "127.0.0.1"], 2, "'--sctp-port <PORT>': 0 is not in 1..=65535"),
        (&["serve", "--sctp-port", "0"], 2, "'--sctp-port <PORT>': 0 is not in 1..=65535"),
        (&["connect", "--timeout", "0", "127.0.0.1"], 2, "'--timeout <SECONDS>': want 1 to 86400 seconds"),
        (&["perf", "--timeout", "0", "127.0.0.1"], 2, "'--timeout <SECONDS>': want 1 to 86400 seconds"),
        (&["serve", "--only="], 2, "a value is required for '--only <NAMES>'"),
        (&["serve", "--bind", "192.0.2.77:0"], 1, "--bind: cannot use 192.0.2.77:0: this host has no such"),
        (
            &["connect", "127.0.0.1", "--insecure", "--key", "/dev/zero"],
            2,
            "--key /dev/zero: longer than 64 MiB",
        ),
        (&["recv", "--out", "/dev/null/folder"], 2, "want a folder that exists"),
        // Nothing can be written there, not even by root.
        (&["recv", "--out", "/proc/self"], 2, "cannot write --out /proc/self:"),
    ];
    for (args, code, message) in cases {
        is_refused(args, &run(args), *code, message);
    }
}

/// Checks the exit code and the single line of the error, or the parser's own message.
fn is_refused(args: &[&str], output: &Output, code: i32, message: &str) {
    let errors = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(errors.contains(message), "{args:?}: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    assert!(!errors.contains("os error"), "{errors}");
    if message != "Usage" && !errors.starts_with("error:") {
        assert_eq!(errors.lines().count(), 1, "{args:?}: {errors}");
        assert!(errors.starts_with("msctp: "), "{args:?}: {errors}");
    }
}

#[test]
fn missing_permission_is_reported() {
    // Whoever runs the tests, the program runs as nobody.
    let nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        command.arg(PROGRAM).args(args).stdin(Stdio::null()).output()
    };
    if !nobody(&["--version"]).is_ok_and(|output| output.status.success()) {
        eprintln!("left out: wants root, setpriv, and a target folder that everybody may read");
        return;
    }
    let folder = folder("net-permission");
    let key = folder.join("key");
    fs::write(&key, "a key of enough bytes").unwrap();
    let mut secret = fs::metadata(&key).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut secret, 0o600);
    fs::set_permissions(&key, secret).unwrap();
    let (key, folder) = (key.to_str().unwrap(), folder.to_str().unwrap());
    let cases: &[(&[&str], i32, &str)] = &[
        (&["serve", "--bind", "127.0.0.1:99"], 1, "no permission: ports below 1024 require root"),
        (&["recv", "--out", folder], 2, ": Permission denied; name a place where you may write"),
        (&["connect", "127.0.0.1", "--insecure", "--key", key], 2, "Permission denied"),
        (&["send", key, "127.0.0.1"], 2, "Permission denied"),
    ];
    for (args, code, message) in cases {
        is_refused(args, &nobody(args).unwrap(), *code, message);
    }
}

#[test]
fn an_unwritable_destination_is_reported_to_the_sender() {
    let folder = folder("net-destination");
    let (file, out) = (folder.join("x"), folder.join("out"));
    fs::create_dir(&out).unwrap();
    fs::write(&file, b"contents").unwrap();
    let file = file.to_str().unwrap();
    // A folder stands where the part would be.
    fs::create_dir(out.join(format!(".{}.part", sha256(file)))).unwrap();
    let server =
        Server::start(&["recv", "--out", out.to_str().unwrap(), "--bind", "127.0.0.1:0", "--insecure"]);
    let output = run(&["send", file, &server.at, "--insecure"]);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    // After the lines about its paths.
    let told: Vec<_> = errors.lines().filter(|line| !line.ends_with(" works")).collect();
    assert!(
        matches!(told[..], [line] if line.starts_with("msctp: refused: ") && line.contains("Is a directory")),
        "{errors}"
    );
}

#[test]
fn a_client_without_the_servers_key_or_with_another_gets_no_answer() {
    let folder = folder("net-key");
    let key = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (key("right", "a key of enough bytes\n"), key("wrong", "another of enough bytes"));
    let short = key("short", "short\n");
    let mut server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--insecure", "--key", &right]);
    // A client waits for the end of the server's input.
    server.end_input();
    let output = run(&["connect", &server.at, "--insecure", "--key", &short]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("5 bytes; want at least 16"), "{}", stderr(&output));
    let output = run(&["connect", &server.at, "--insecure", "--key", "/no/such/key"]);
    assert_eq!(output.status.code(), Some(2));
    for args in [
        &["connect", &server.at, "--timeout", "1", "--insecure", "--key", &wrong][..],
        &["connect", &server.at, "--timeout", "1", "--insecure"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("no answer for 1 s"), "{}", stderr(&output));
    }
    let output = run(&["connect", &server.at, "--insecure", "--key", &right]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, _, errors) = server.output();
    assert_eq!(code, Some(0), "{errors}");
}

/// Writes a key file with a mode.
fn key_file(file: &std::path::Path, text: &str, mode: u32) -> String {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_pre_shared_key_protects_and_a_wrong_one_is_reported() {
    let folder = folder("net-psk");
    let key = |name: &str, text: &str, mode| key_file(&folder.join(name), text, mode);
    let right = key("right", "0123456789abcdef0123456789abcdef\n", 0o600);
    let wrong = key("wrong", "fedcba9876543210fedcba9876543210\n", 0o600);
    let (short, open) = (key("short", "short", 0o600), key("open", &"x".repeat(32), 0o644));
    for (file, error) in [
        (&short, "5 bytes; want at least 32"),
        (&open, "its mode 0644 lets others read the key; want 0600: chmod 600 "),
    ] {
        let output = run(&["connect", "127.0.0.1", "--psk", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(error), "{}", stderr(&output));
    }
    let output = run(&["connect", "127.0.0.1", "--psk", &right, "--insecure"]);
    assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    let mut server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--psk", &right]);
    server.end_input();
    // Neither takes the server's one association.
    let output = run(&["connect", &server.at, "--timeout", "600", "--psk", &wrong]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(
            ": the keys of --psk differ at both ends, or the set-up was changed on the way; want files of"
        ),
        "{}",
        stderr(&output)
    );
    let output = run(&["connect", &server.at, "--timeout", "600"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let mut client = msctp(&["connect", &server.at, "--psk", &right]).stdin(Stdio::piped()).spawn().unwrap();
    let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(finish(client).status.success());
    let (code, received, errors) = server.output();
    assert_eq!((code, received), (Some(0), text), "{errors}");
}

#[test]
fn connect_and_serve_exchange_bytes_as_netcat_does() {
    let mut server = Server::start(&["serve", "--bind", "127.0.0.1:0"]);
    server.end_input();
    let mut client = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let client = finish(client);
    assert_eq!(client.status.code(), Some(0), "{}", stderr(&client));
    let (code, out, errors) = server.output();
    assert_eq!(code, Some(0), "{errors}");
    assert!(out == text, "{} of {} bytes", out.len(), text.len());
}

#[test]
fn only_without_a_match_lists_the_interfaces() {
    let output = run(&["connect", "192.0.2.1", "--only", "nope", "--timeout", "1"]);
    let want = "msctp: --only nope: no interface's name begins with this; those with an address are ";
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(want), "{}", stderr(&output));
}

#[test]
fn alone_perf_measures_both_directions() {
    let server = Server::start(&["perf", "--server", "--bind", "127.0.0.1:0"]);
    for more in [&[][..], &["--reverse"]] {
        let args = [&["perf", &server.at, "--time", "1", "--interval", "0.2", "--json"], more].concat();
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let (sender, receiver) = (&report["sender"], &report["receiver"]);
        let bytes = |side: &serde_json::Value| side["bytes"].as_f64().expect("a number");
        assert!((bytes(sender) / bytes(receiver) - 1.0).abs() < 0.2, "{report}");
        assert_eq!(sender["seconds"], 1.0, "{report}");
        assert!(receiver["seconds"].as_f64().is_some_and(|s| (0.5..=1.0).contains(&s)), "{report}");
        assert!(sender["bytes"].as_u64() > Some(100_000), "{report}");
        assert!(receiver["longest_gap"].as_f64().is_some_and(|gap| gap > 0.0 && gap < 1.5), "{report}");
        let intervals = report["intervals"].as_array().unwrap();
        assert!(intervals.len() >= 2, "{report}");
        assert_eq!(intervals[0]["paths"][0]["primary"], true);
    }
}

#[test]
fn a_file_arrives_whole_and_an_interrupted_transfer_resumes() {
    let folder = folder("net-send");
    let (file, out) = (folder.join("a file"), folder.join("out"));
    fs::create_dir(&out).unwrap();
    let bytes: Vec<u8> = (0..6_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&file, &bytes).unwrap();
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    // Without keys the name of a part has the hash alone.
    let server =
        Server::start(&["recv", "--out", out, "--once", "--json", "--bind", "127.0.0.1:0", "--insecure"]);

    // A part of it, as an attempt that was interrupted leaves it.
    let hash = sha256(file);
    let part = PathBuf::from(out).join(format!(".{hash}.part"));
    fs::write(&part, &bytes[..2_500_000]).unwrap();

    let output = run(&["send", file, &server.at, "--json", "--insecure"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&sent["sent"], &sent["sha256"]), (&3_500_000.into(), &hash.as_str().into()));
    let (code, received, errors) = server.output();
    assert_eq!(code, Some(0), "{errors}");
    let received: serde_json::Value = serde_json::from_str(&received).expect("JSON");
    assert_eq!((&received["resumed"], &received["bytes"]), (&2_500_000.into(), &6_000_000.into()));
    assert!(fs::read(PathBuf::from(out).join("a file")).unwrap() == bytes);
    assert!(!part.exists());
}

#[test]
fn both_ends_of_a_transfer_write_a_qlog() {
    let folder = folder("net-qlog");
    let (file, out) = (folder.join("a file"), folder.join("out"));
    fs::create_dir(&out).unwrap();
    fs::write(&file, vec![7; 100_000]).unwrap();
    let logs = ["client", "server"].map(|side| folder.join(format!("{side}.sqlog")).display().to_string());
    let out = out.to_str().unwrap();
    let server =
        Server::start(&["recv", "--out", out, "--once", "--bind", "127.0.0.1:0", "--qlog", &logs[1]]);
    let output = run(&["send", file.to_str().unwrap(), &server.at, "--qlog", &logs[0]]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, _, errors) = server.output();
    assert_eq!(code, Some(0), "{errors}");
    for (log, side) in logs.iter().zip(["client", "server"]) {
        let text = fs::read_to_string(log).unwrap();
        let records: Vec<serde_json::Value> =
            text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).expect(record)).collect();
        assert_eq!(records[0]["trace"]["vantage_point"]["type"], side);
        for name in ["transport:packet_sent", "transport:packet_received", "recovery:metrics_updated"] {
            assert!(records.iter().any(|record| record["name"] == name), "no {name} in {log}");
        }
        let times: Vec<f64> = records[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{log}");
        assert_eq!(records[1]["group_id"], "1.0");
    }
}

#[test]
fn a_receiver_refuses_to_overwrite_and_a_wrong_part_spoils_no_transfer() {
    let folder = folder("net-refuse");
    let (file, out) = (folder.join("x"), folder.join("out"));
    fs::create_dir(&out).unwrap();
    fs::write(&file, b"new contents").unwrap();
    fs::write(out.join("x"), b"old contents").unwrap();
    let (file, out_text) = (file.to_str().unwrap(), out.to_str().unwrap());
    let server = Server::start(&["recv", "--out", out_text, "--bind", "127.0.0.1:0"]);
    let output = run(&["send", file, &server.at]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("refused: another file has this name"), "{}", stderr(&output));
    assert_eq!(fs::read(out.join("x")).unwrap(), b"old contents");

    fs::remove_file(out.join("x")).unwrap();
    // A part that is not the beginning of the file it is kept for, of a sender without a key.
    let part = out.join(format!(".{}.part", sha256(file)));
    fs::write(&part, b"NEW").unwrap();
    let output = run(&["send", file, &server.at]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read(out.join("x")).unwrap(), b"new contents");
    assert!(part.exists(), "another sender's");
    fs::remove_file(out.join("x")).unwrap();
    let insecure = Server::start(&["recv", "--out", out_text, "--bind", "127.0.0.1:0", "--insecure"]);
    let output = run(&["send", file, &insecure.at, "--insecure", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&sent["sent"], &sent["resumed"]), (&21.into(), &0.into()), "9 bytes, then all 12");
    assert_eq!(fs::read(out.join("x")).unwrap(), b"new contents");
    assert!(!part.exists());
    // Again: the file exists already.
    let output = run(&["send", file, &server.at]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(": the receiver has the file already"));
}
