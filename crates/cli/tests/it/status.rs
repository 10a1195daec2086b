//! `msctp status` and the status sockets of `serve`, `forward` and `recv`, over the loopback interface.
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use crate::client::{Forward, connect};
use crate::process::{Errors, Server, end, folder, msctp, signal, stderr, wait_for};

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Starts a server whose socket is in a folder.
fn start(runtime: &Path, args: &[&str]) -> Server {
    let mut command = msctp(&[args, &["--bind", "127.0.0.1:0"]].concat());
    command.env("XDG_RUNTIME_DIR", runtime);
    Server::start_as(command)
}

fn status(runtime: &Path, args: &[&str]) -> Output {
    msctp(&[&["status"], args].concat()).env("XDG_RUNTIME_DIR", runtime).output().unwrap()
}

/// Returns the documents of the processes with a socket in a folder. `msctp status` also reads the sockets of
/// other processes in /run/msctp.
fn documents(runtime: &Path) -> Vec<Value> {
    let own = |document: &Value| {
        let end = format!("-{}.sock", document["pid"]);
        sockets(runtime).iter().any(|path| path.to_str().unwrap().ends_with(&end))
    };
    let output = status(runtime, &["--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(own)
        .collect()
}

fn of<'a>(documents: &'a [Value], command: &str) -> &'a Value {
    documents.iter().find(|document| document["command"] == command).unwrap()
}

fn sockets(runtime: &Path) -> Vec<PathBuf> {
    fs::read_dir(runtime.join("msctp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Starts `msctp forward` with a listener.
fn forward(runtime: &Path, server: &str, target: &str) -> Forward {
    let mut command = msctp(&["forward", server, "-L", &format!("0:{target}")]);
    Forward::of(command.env("XDG_RUNTIME_DIR", runtime))
}

#[test]
fn the_status_has_both_ends_of_a_connection() {
    let runtime = folder("status-both");
    let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let allowed = target.local_addr().unwrap().to_string();
    let server = start(&runtime, &["serve", "--allow", &allowed]);
    let client = forward(&runtime, &server.at, &allowed);
    let mut near = client.connect(0);
    near.write_all(&[7; 10_000]).unwrap();
    let (mut far, _) = target.accept().unwrap();
    far.read_exact(&mut [0; 10_000]).unwrap();

    let mut found = Vec::new();
    // An acknowledgement may be delayed.
    wait_for("the client's data is acknowledged", || {
        found = documents(&runtime);
        of(&found, "forward")["associations"][0]["acked_bytes"].as_u64() >= Some(10_000)
    });
    assert_eq!(found.len(), 2, "{found:?}");
    let (here, there) = (of(&found, "forward"), of(&found, "serve"));
    assert_eq!((&here["pid"], &there["pid"]), (&client.child.id().into(), &server.child.id().into()));
    assert_eq!(here["version"], 1);
    assert_eq!((&here["security"], &there["association_count"]), (&"tls".into(), &1.into()));
    let (ours, theirs) = (&here["associations"][0], &there["associations"][0]);
    assert_eq!((&ours["connections"], &theirs["connections"]), (&1.into(), &1.into()));
    assert_eq!(ours["peer"][0], server.at.as_str());
    assert_eq!(ours["state"], "ESTABLISHED");
    assert!(ours["peer_key"].as_str().unwrap().starts_with("SHA256:"));
    assert!(theirs["delivered_bytes"].as_u64().unwrap() >= 10_000, "{theirs}");
    assert_eq!(theirs["paths"][0]["remote"], ours["paths"][0]["local"], "{ours}, {theirs}");
    assert_eq!(theirs["paths"][0]["primary"], true);
    assert!(theirs["paths"][0]["received_bps"].is_number() && ours["paths"][0]["srtt_ms"].is_number());

    let pid = server.child.id().to_string();
    let table = String::from_utf8(status(&runtime, &[&pid]).stdout).unwrap();
    assert!(table.starts_with(&format!("msctp serve, process {pid}, up ")), "{table}");
    assert!(table.contains(", 1 connections\n") && table.contains(" active "), "{table}");
    let socket = runtime.join(format!("msctp/serve-{pid}.sock"));
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let named = status(&runtime, &[socket.to_str().unwrap(), "--prometheus"]);
    let text = String::from_utf8(named.stdout).unwrap();
    let line =
        format!("msctp_association_connections{{command=\"serve\",pid=\"{pid}\",association=\"1.0\"}} 1");
    assert!(text.lines().any(|found| found == line), "{text}");
}

/// The status reports the bits per second of a transfer in progress: those that the target counts beside it.
#[test]
fn rates_are_those_of_the_transfer() {
    let runtime = folder("status-rates");
    let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let allowed = target.local_addr().unwrap().to_string();
    let server = start(&runtime, &["serve", "--allow", &allowed]);
    let client = forward(&runtime, &server.at, &allowed);
    let mut near = client.connect(0);
    let counted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&counted);
    thread::spawn(move || {
        let (mut far, _) = target.accept().unwrap();
        let mut buffer = vec![0; 65_536];
        while let Ok(len @ 1..) = far.read(&mut buffer) {
            count.fetch_add(len as u64, Ordering::Relaxed);
        }
    });
    thread::spawn(move || {
        // 100 kB each 50 ms are 16 Mbps.
        while near.write_all(&[7; 100_000]).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let (mut begin, mut before) = (Instant::now(), 0);
    // Less than a factor of 8 tells bits from bytes. Rates differ while the machine holds one process up.
    wait_for("both ends report the rate of the target", || {
        let found = documents(&runtime);
        let now = counted.load(Ordering::Relaxed);
        let rate = (now - before) as f64 * 8.0 / begin.elapsed().as_secs_f64();
        (begin, before) = (Instant::now(), now);
        let path = |command: &str| of(&found, command)["associations"][0]["paths"][0].clone();
        let reported = [&path("forward")["sent_bps"], &path("serve")["received_bps"]].map(Value::as_f64);
        eprintln!("{rate} bit/s at the target, {reported:?} reported");
        rate > 0.0 && reported.iter().all(|is| is.is_some_and(|is| (0.4..2.5).contains(&(is / rate))))
    });
}

#[test]
fn refusals_are_counted_by_reason() {
    let runtime = folder("status-refused");
    let server = start(&runtime, &["serve", "--allow", "127.0.0.1:9"]);
    for _ in 0..2 {
        let output = msctp(&["forward", "-W", "127.0.0.1:10", &server.at]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
    }
    let output = msctp(&["forward", "--insecure", "-W", "127.0.0.1:9", &server.at]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let mut found = Vec::new();
    wait_for("the associations of the clients end", || {
        found = documents(&runtime);
        found[0]["associations"].as_array().unwrap().is_empty()
    });
    let refused = &of(&found, "serve")["refused"];
    assert_eq!(refused["target not allowed"], 2, "{refused}");
    assert!(refused["other encryption"].as_u64().unwrap() >= 1, "{refused}");
}

#[test]
fn sockets_go_with_their_process_and_stale_ones_with_the_next() {
    let runtime = folder("status-stale");
    // One process: others may run, with sockets in /run/msctp.
    let none = status(&runtime, &["1"]);
    assert_eq!(none.status.code(), Some(1));
    let why = stderr(&none);
    assert!(why.contains("no process with the process ID 1 has a status in "), "{why}");
    let mut killed = start(&runtime, &["serve", "--keep"]);
    let mut ended = start(&runtime, &["recv", "--out", runtime.to_str().unwrap()]);
    assert_eq!(documents(&runtime).len(), 2);
    signal(&ended.child, "TERM");
    assert_eq!(end(&mut ended.child).code(), Some(143));
    signal(&killed.child, "KILL");
    killed.child.wait().unwrap();
    assert_eq!(sockets(&runtime).len(), 1, "that of the killed process");
    let why = stderr(&status(&runtime, &[&killed.child.id().to_string()]));
    assert!(why.contains(": the process was killed"), "{why}");
    let next = start(&runtime, &["serve", "--keep"]);
    wait_for("the stale socket is removed", || sockets(&runtime).len() == 1);
    assert_eq!(documents(&runtime)[0]["pid"], next.child.id());
}

#[test]
fn a_socket_in_use_and_another_file_are_not_replaced() {
    let runtime = folder("status-path");
    let path = runtime.join("my.sock");
    let at = path.to_str().unwrap();
    let first = start(&runtime, &["serve", "--keep", "--status", at]);
    let refused = |why: &str| {
        let output = msctp(&["serve", "--keep", "--bind", "127.0.0.1:0", "--status", at]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stderr(&output), format!("msctp: --status {at}: {why}; want another path\n"));
    };
    refused("another process answers there");
    let output = status(&runtime, &[at, "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["pid"], first.child.id());
    drop(first);
    let replaced = start(&runtime, &["serve", "--keep", "--status", at]);
    assert!(status(&runtime, &[at]).status.success(), "that of a killed process is replaced");
    drop(replaced);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    refused("the file exists and is not a socket");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

/// A process that is killed when the test ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn metrics_are_served_over_http() {
    let runtime = folder("status-metrics");
    let mut server = msctp(&["serve", "--keep", "--bind", "127.0.0.1:0", "--metrics", "0"]);
    let mut child = Ended(server.env("XDG_RUNTIME_DIR", &runtime).spawn().unwrap());
    let line = Errors::of(&mut child.0).line_with("metrics at ");
    let at = line.strip_prefix("metrics at http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let at: SocketAddr = at.parse().unwrap();
    let ask = |request: &[u8]| {
        let mut stream = connect(at);
        // The server may answer and close before it has all.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    };
    let answer = ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(body.contains("\nmsctp_associations{command=\"serve\",pid=\""), "{body}");
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("msctp_") && value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(ask(b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask(b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(ask(b"\0\xff\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let long = ask(&vec![b'x'; 1 << 20]);
    assert!(long.is_empty() || long.starts_with("HTTP/1.1 400 "), "{long}");
    // A client that sends nothing keeps no other waiting.
    let _silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(at).unwrap()).collect();
    assert!(ask(b"GET /metrics HTTP/1.1\r\n\r\n").contains("msctp_uptime_seconds"));
}
