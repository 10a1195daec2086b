//! Faults between the commands for real networks, over the loopback interface: names taken twice, late
//! answers, full disks, the wrong service, signals, hostile names.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "processes run in real time")]

use crate::PROGRAM;
use crate::library::security;
use crate::process::{
    HANGS, Server, config_home, end, finish, folder, msctp, run, runtime_dir, sha256, signal, stderr,
    wait_for,
};

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LOOPBACK: [&str; 2] = ["--bind", "127.0.0.1:0"];

fn receiver(out: &Path, more: &[&str]) -> Server {
    Server::start(&[&["recv", "--out", out.to_str().expect("UTF-8")], more, &LOOPBACK].concat())
}

fn sender(file: &Path, at: &str) -> Child {
    msctp(&["send", file.to_str().expect("UTF-8"), at]).spawn().expect("msctp runs")
}

/// Creates a folder for received files, beside the sent ones.
fn out(folder: &Path) -> PathBuf {
    let out = folder.join("out");
    fs::create_dir(&out).expect("a folder");
    out
}

/// Returns the names in a folder, hidden ones included.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|n| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed).collect()
}

#[test]
fn of_two_senders_of_one_name_one_gets_an_error() {
    let folder = folder("net-one-name");
    let out = out(&folder);
    let files = [1, 2].map(|seed| {
        let own = folder.join(seed.to_string());
        fs::create_dir(&own).unwrap();
        let file = own.join("same name");
        fs::write(&file, bytes(8_000_000, seed)).unwrap();
        file
    });
    let server = receiver(&out, &[]);
    let children = files.each_ref().map(|file| sender(file, &server.at));
    let outputs = children.map(finish);
    let mut right = Vec::new();
    for (file, output) in files.iter().zip(&outputs) {
        match output.status.code() {
            Some(0) => right.push(file),
            code => {
                assert_eq!(code, Some(1));
                assert!(stderr(output).contains("rename one of them"), "{}", stderr(output));
            }
        }
    }
    assert_eq!(right.len(), 1, "{outputs:?}");
    assert_eq!(names(&out), ["same name"]);
    assert!(fs::read(out.join("same name")).unwrap() == fs::read(right[0]).unwrap());
}

#[test]
fn four_senders_of_the_same_bytes_under_different_names_all_arrive() {
    let folder = folder("net-same-bytes");
    let out = out(&folder);
    let contents = bytes(4_000_000, 7);
    let expected = ["a", "b", "c", "d"];
    let server = receiver(&out, &[]);
    let children = expected.map(|name| {
        fs::write(folder.join(name), &contents).unwrap();
        sender(&folder.join(name), &server.at)
    });
    for output in children.map(finish) {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(names(&out), expected, "and no part is left");
    for name in expected {
        assert!(fs::read(out.join(name)).unwrap() == contents, "{name}");
    }
}

#[test]
fn an_answer_after_the_end_of_the_question_arrives() {
    let mut server = Server::start(&["serve", LOOPBACK[0], LOOPBACK[1]]);
    let mut client = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(b"question\n").unwrap();
    let mut got = String::new();
    let mut output = BufReader::new(server.child.stdout.take().unwrap());
    output.read_line(&mut got).unwrap();
    assert_eq!(got, "question\n");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(client.try_wait().unwrap().is_none(), "it waits for the answer");
    server.child.stdin.take().unwrap().write_all(b"answer\n").unwrap();
    let client = finish(client);
    assert_eq!(
        (client.status.code(), &client.stdout[..]),
        (Some(0), &b"answer\n"[..]),
        "{}",
        stderr(&client)
    );
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), end(&mut server.child).code()), ("", Some(0)));
}

#[test]
fn a_full_disk_is_reported_at_both_ends() {
    let folder = folder("net-full-disk");
    let (out, file) = (out(&folder), folder.join("film"));
    fs::write(&file, bytes(8_000_000, 3)).unwrap();
    // In a mount namespace of its own: a disk of a mebibyte.
    let script =
        "mount -t tmpfs -o size=1m tmpfs \"$1\" && exec \"$0\" recv --once --out \"$1\" --bind 127.0.0.1:0";
    let mut command = Command::new("unshare");
    command.envs([config_home(), runtime_dir()]);
    command.args(["--mount", "sh", "-c", script, PROGRAM, out.to_str().unwrap()]);
    let mut receiver = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("unshare runs");
    let mut errors = BufReader::new(receiver.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let Some(at) = line.strip_prefix("listening at ").and_then(|rest| rest.split(',').next()) else {
        assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "{line}");
        eprintln!("left out, mount namespaces want root: {line}");
        receiver.wait().unwrap();
        return;
    };
    let output = finish(sender(&file, at));
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("refused: cannot write film: No space left on device"), "{said}");
    assert!(said.contains("of 8000000 bytes are kept in") && said.contains("make room"), "{said}");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("cannot write film: No space left on device"), "{rest}");
    assert_eq!(receiver.wait().unwrap().code(), Some(1), "{rest}");
}

#[test]
fn alone_connecting_to_a_closed_port_fails_at_once() {
    // A socket that receives from one other only: nobody listens at its port, and no other program takes it.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    closed.connect("127.0.0.1:1").unwrap();
    let at = closed.local_addr().unwrap().to_string();
    for client in [&["connect"][..], &["send", "/proc/self/status"], &["perf"]] {
        let args = [client, &[at.as_str(), "--timeout", "600"]].concat();
        let output = finish(msctp(&args).spawn().unwrap());
        assert_eq!(output.status.code(), Some(1), "{client:?}");
        let said = stderr(&output);
        assert!(said.starts_with(&format!("msctp: nobody listens at {at}: ")), "{client:?}: {said}");
        assert!(said.contains("want `msctp serve`, `msctp recv` or `msctp perf --server` there"), "{said}");
    }
}

#[test]
fn a_client_of_another_service_gets_an_error_that_names_it() {
    let folder = folder("net-services");
    let out = out(&folder);
    let file = folder.join("file");
    fs::write(&file, "text").unwrap();
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let (send, perf): (&[&str], &[&str]) = (&["send", file], &["perf"]);
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&["serve"], send, "this is `msctp serve`; `msctp send` wants `msctp recv` there"),
        (&["serve"], perf, "this is `msctp serve`; `msctp perf` wants `msctp perf --server` there"),
        (&["recv", "--out", out], perf, "this is `msctp recv`; `msctp perf` wants"),
        (&["recv", "--out", out], &["connect"], "this is `msctp recv`; `msctp connect` wants `msctp serve`"),
        (&["perf", "--server"], send, "this is `msctp perf --server`; `msctp send` wants"),
        (&["perf", "--server"], &["connect"], "this is `msctp perf --server`; `msctp connect` wants"),
    ];
    for (serve, client, words) in cases {
        let server = Server::start(&[serve, &LOOPBACK[..]].concat());
        let mut command = msctp(&[client, &[server.at.as_str()][..]].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // Only `connect` reads it; it stays open.
        let mut input = child.stdin.take().unwrap();
        let _ = input.write_all(b"text");
        let output = finish(child);
        assert_eq!(output.status.code(), Some(1), "{serve:?} {client:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{serve:?} {client:?}: {}", stderr(&output));
    }
}

#[test]
fn a_connect_that_sends_nothing_to_another_service_gets_an_error_that_names_it() {
    let server = Server::start(&["serve", "--allow", "localhost:22", LOOPBACK[0], LOOPBACK[1]]);
    let mut child = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    let output = finish(child);
    drop(input);
    assert_eq!(output.status.code(), Some(1));
    let words = "this is `msctp serve --allow`, and it received nothing for 15 s; `msctp connect` wants `msctp serve`";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
}

#[test]
fn a_busy_perf_server_rejects_another_client() {
    let server = Server::start(&["perf", "--server", LOOPBACK[0], LOOPBACK[1]]);
    let mut first = msctp(&["perf", &server.at, "--time", "600", "--interval", "0.1"]).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    // The head, and the first interval: it measures.
    assert!(lines.next().is_some() && lines.next().is_some());
    let second = finish(msctp(&["perf", &server.at]).spawn().unwrap());
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("the server is busy with another measurement"), "{}", stderr(&second));
    signal(&first, "INT");
    assert_eq!(end(&mut first).code(), Some(130));
    // The server knows that the first client has ended.
    let third = finish(msctp(&["perf", &server.at, "--time", "1", "--json"]).spawn().unwrap());
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
}

#[test]
fn a_signal_sets_the_exit_code_and_notifies_the_peer() {
    for (name, code, reason) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated")] {
        for ends_client in [true, false] {
            let mut server = Server::start(&["serve", LOOPBACK[0], LOOPBACK[1]]);
            let mut client = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
            client.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            server.child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let (ended, other) =
                if ends_client { (&mut client, &mut server.child) } else { (&mut server.child, &mut client) };
            signal(ended, name);
            assert_eq!(end(ended).code(), Some(code));
            // Not only a timeout.
            end(other);
            let mut errors = String::new();
            match ends_client {
                true => server.errors.read_to_string(&mut errors).unwrap(),
                false => client.stderr.take().unwrap().read_to_string(&mut errors).unwrap(),
            };
            assert!(errors.contains(reason), "{name}, client: {ends_client}: {errors}");
        }
    }
}

#[test]
fn an_interrupted_transfer_leaves_a_part_that_the_next_one_completes() {
    let folder = folder("net-interrupted");
    let (out, file) = (out(&folder), folder.join("film"));
    let len = 300_000_000;
    fs::File::create(&file).unwrap().set_len(len).unwrap();
    let hash = sha256(file.to_str().unwrap());
    let find = || names(&out).into_iter().find(|name| name.starts_with(&format!(".{hash}")));
    let len_of_part =
        || find().and_then(|name| fs::metadata(out.join(name)).ok()).map_or(0, |part| part.len());
    let server = receiver(&out, &[]);
    let mut interrupted = sender(&file, &server.at);
    wait_for("it receives", || {
        assert!(interrupted.try_wait().unwrap().is_none(), "it is sending");
        len_of_part() > 0
    });
    signal(&interrupted, "INT");
    assert_eq!(end(&mut interrupted).code(), Some(130));
    let line = server.errors.line_with("kept in");
    assert!(line.contains("the same `msctp send`, without --code, resumes it"), "{line}");
    let kept = len_of_part();
    assert!(kept > 0 && kept < len);
    let again = run(&["send", file.to_str().unwrap(), &server.at]);
    let text = String::from_utf8_lossy(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(text.starts_with(&format!("{len} bytes ({kept} of them from an earlier attempt)")), "{text}");
    let there = run(&["send", file.to_str().unwrap(), &server.at]);
    let text = String::from_utf8_lossy(&there.stdout);
    assert!(text.starts_with(&format!("{len} bytes: the receiver has the file already; SHA-256 ")), "{text}");
    assert_eq!(names(&out), ["film"]);
}

#[test]
fn names_with_control_characters_are_escaped_wherever_they_are_printed() {
    let folder = folder("net-names");
    let out = out(&folder);
    let name = "red \u{1b}[31m\u{7}\u{202e}txt";
    fs::write(folder.join(name), "new").unwrap();
    let mut server = receiver(&out, &[]);
    let sent = finish(sender(&folder.join(name), &server.at));
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    // And in a refusal.
    fs::write(out.join(name), "old contents").unwrap();
    let refused = finish(sender(&folder.join(name), &server.at));
    assert_eq!(refused.status.code(), Some(1));
    signal(&server.child, "TERM");
    let (mut printed, mut errors) = (String::new(), String::new());
    server.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    server.errors.read_to_string(&mut errors).unwrap();
    let escaped = r"red \u{1b}[31m\u{7}\u{202e}txt";
    for text in [&printed, &errors, &stderr(&refused)] {
        assert!(text.contains(escaped), "{text:?}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn a_server_without_a_key_warns_that_anyone_may_use_it() {
    let folder = folder("net-warning");
    let key = folder.join("key");
    fs::write(&key, "a key of enough bytes").unwrap();
    let key = ["--insecure", "--key", key.to_str().unwrap()];
    let out = ["recv", "--out", folder.to_str().unwrap()];
    for command in [&["serve"][..], &out, &["perf", "--server"]] {
        let mut server = Server::start(&[command, &LOOPBACK[..]].concat());
        let (mut own, mut line) = (String::new(), String::new());
        server.errors.read_line(&mut own).unwrap();
        server.errors.read_line(&mut line).unwrap();
        assert!(own.starts_with("key SHA256:"), "{own}");
        assert!(
            line.starts_with("no --only-clients, --code or --psk: anyone who can reach this port can "),
            "{command:?}: {line}"
        );
        let server = Server::start(&[command, &LOOPBACK[..], &key].concat());
        signal(&server.child, "TERM");
        let (code, _, errors) = server.output();
        assert_eq!(code, Some(143));
        assert!(!errors.contains("anyone"), "{command:?}: {errors}");
        assert!(errors.starts_with("--insecure: nothing is encrypted\n"), "{errors}");
    }
}

#[test]
fn a_pipe_or_device_is_not_sent() {
    let folder = folder("net-pipe");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for (file, what) in [(pipe.as_path(), "a named pipe"), (Path::new("/dev/zero"), "a device")] {
        let output = finish(sender(file, "127.0.0.1"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let start = format!("msctp: {} is {what}; send takes regular files: ", file.display());
        assert!(said.starts_with(&start), "{said}");
    }
}

/// A client that speaks the protocol of a service only as far as the test requires.
struct Client {
    runtime: tokio::runtime::Runtime,
    association: msctp::Association,
    ppid: u32,
}

impl Client {
    fn connect(at: &str, ppid: [u8; 4]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let association = runtime.block_on(async {
            let any = "127.0.0.1:0".parse().unwrap();
            let endpoint = msctp::Endpoint::bind(&msctp::EndpointOptions::new([any])).unwrap();
            endpoint
                .connect(msctp::Peer::new(at.parse().unwrap()), security(), msctp::Config::mobile())
                .await
                .unwrap()
        });
        Self { runtime, association, ppid: u32::from_be_bytes(ppid) }
    }

    fn send(&self, stream: u16, data: String) {
        let ppid = if stream == 1 { self.ppid } else { 0 };
        let message = msctp::OutMessage { stream, ppid, data: data.into(), ..msctp::OutMessage::default() };
        self.runtime.block_on(self.association.send(message)).unwrap();
    }

    fn receive(&self) -> String {
        let message = async { tokio::time::timeout(HANGS, self.association.recv()).await };
        let message = self.runtime.block_on(message).expect("in time").unwrap().expect("a message");
        String::from_utf8_lossy(&message.data).into_owned()
    }

    /// Stays alive for `time`, and only answers.
    fn idle(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }
}

#[test]
fn a_hidden_name_is_refused_at_both_ends() {
    let folder = folder("net-hidden");
    let (out, file) = (out(&folder), folder.join(".profile"));
    fs::write(&file, "text").unwrap();
    let server = receiver(&out, &[]);
    let output = finish(sender(&file, &server.at));
    let why = "the name begins with a dot, and `msctp recv` takes no hidden files: rename it";
    assert_eq!(stderr(&output), format!("msctp: {}: {why}\n", file.display()));
    assert_eq!(output.status.code(), Some(2));
    // A sender that does not check.
    let client = Client::connect(&server.at, *b"msFI");
    let hash = "0".repeat(64);
    client.send(1, format!(r#"{{"kind":"offer","name":".profile","size":4,"sha256":"{hash}"}}"#));
    let refused = client.receive();
    assert!(refused.contains("refused") && refused.contains(&format!(".profile: {why}")), "{refused}");
    server.errors.line_with(why);
    assert!(names(&out).is_empty());
}

/// Longer than the servers' idle timeout of 15 s.
const IDLE: Duration = Duration::from_secs(21);

/// They detect it by their own idle timeout, which is shorter than the endpoint's.
#[test]
fn a_server_notices_a_killed_client() {
    let folder = folder("net-killed");
    let (out, file) = (out(&folder), folder.join("film"));
    fs::File::create(&file).unwrap().set_len(300_000_000).unwrap();
    let mut recv = receiver(&out, &[]);
    let mut perf = Server::start(&["perf", "--server", LOOPBACK[0], LOOPBACK[1]]);
    let kill = |client: &mut Child| {
        assert!(client.try_wait().unwrap().is_none(), "it runs");
        client.kill().unwrap();
        client.wait().unwrap();
    };
    // One after the other: a measurement takes all that the machine has.
    let mut send = sender(&file, &recv.at);
    wait_for("it receives", || !names(&out).is_empty());
    kill(&mut send);
    let mut measure = msctp(&["perf", &perf.at, "--time", "600", "--interval", "0.1"]).spawn().unwrap();
    let mut lines = BufReader::new(measure.stdout.take().unwrap()).lines();
    assert!(lines.next().is_some() && lines.next().is_some(), "it measures");
    kill(&mut measure);
    wait_for("the server is not busy with a client that is gone", || {
        let second = finish(msctp(&["perf", &perf.at, "--time", "1", "--json"]).spawn().unwrap());
        assert!(second.status.success() || stderr(&second).contains("busy"), "{}", stderr(&second));
        second.status.success()
    });
    for server in [&mut recv, &mut perf] {
        signal(&server.child, "TERM");
        let mut errors = String::new();
        server.errors.read_to_string(&mut errors).unwrap();
        assert!(errors.contains("receiving: ") && errors.contains("for 15s (idle timeout)"), "{errors}");
    }
}

#[test]
fn an_idle_client_that_is_alive_is_kept_for_longer_than_20_s() {
    let folder = folder("net-idle");
    let (out, file) = (out(&folder), folder.join("film"));
    fs::write(&file, "abc").unwrap();
    let recv = receiver(&out, &[]);
    let perf = Server::start(&["perf", "--server", LOOPBACK[0], LOOPBACK[1]]);
    let sender = Client::connect(&recv.at, *b"msFI");
    let hash = sha256(file.to_str().unwrap());
    sender.send(1, format!(r#"{{"kind":"offer","name":"film","size":3,"sha256":"{hash}"}}"#));
    assert_eq!(sender.receive(), r#"{"kind":"from","offset":0}"#);
    let measured = Client::connect(&perf.at, *b"msPE");
    measured.send(1, r#"{"kind":"start","milliseconds":1000,"len":3,"reverse":false}"#.to_owned());
    assert_eq!(measured.receive(), r#"{"kind":"ready"}"#);
    std::thread::scope(|scope| {
        scope.spawn(|| sender.idle(IDLE));
        scope.spawn(|| measured.idle(IDLE));
    });
    sender.send(2, "abc".to_owned());
    assert_eq!(sender.receive(), r#"{"kind":"done"}"#);
    assert_eq!(fs::read(out.join("film")).unwrap(), b"abc");
    measured.send(2, "abc".to_owned());
    measured.send(1, r#"{"kind":"end"}"#.to_owned());
    assert!(measured.receive().contains(r#""kind":"result""#));
}

/// Twenty clients offer the name of an existing file with its length, so that the receiver has to hash it.
#[test]
fn offers_of_a_large_name_do_not_delay_another_sender() {
    use msctp::{Association, Endpoint, EndpointOptions, OutMessage, Peer};
    const LARGE: u64 = 2_000_000_000;
    let folder = folder("net-large");
    let (out, small) = (out(&folder), folder.join("small"));
    fs::write(&small, "25 bytes, or nearly so").unwrap();
    fs::File::create(out.join("large")).unwrap().set_len(LARGE).unwrap();
    // The time in which another program hashes it, from that for a tenth.
    let tenth = folder.join("tenth");
    fs::File::create(&tenth).unwrap().set_len(LARGE / 10).unwrap();
    let begin = Instant::now();
    sha256(tenth.to_str().unwrap());
    let hashing = begin.elapsed() * 10;
    let server = receiver(&out, &[]);
    let text = format!(r#"{{"kind":"offer","name":"large","size":{LARGE},"sha256":"{}"}}"#, "0".repeat(64));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut offers: Vec<Association> = runtime.block_on(async {
        let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
        let mut offers = Vec::new();
        for _ in 0..20 {
            let peer = Peer::new(server.at.parse().unwrap());
            let association = client.connect(peer, security(), msctp::Config::mobile()).await.unwrap();
            let (stream, ppid) = (1, u32::from_be_bytes(*b"msFI"));
            let data = text.clone().into();
            association.send(OutMessage { stream, ppid, data, ..OutMessage::default() }).await.unwrap();
            offers.push(association);
        }
        offers
    });
    let first = |offers: &mut Vec<Association>| {
        let message = runtime.block_on(async { offers[0].recv().await }).unwrap().expect("an answer");
        String::from_utf8_lossy(&message.data).into_owned()
    };
    let said = first(&mut offers);
    assert!(said.contains(r#""kind":"wait""#), "{said}");
    let begin = Instant::now();
    let sent = finish(sender(&small, &server.at));
    let took = begin.elapsed();
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    assert!(took < hashing * 10, "{took:?}, where twenty hashes take {:?}", hashing * 20);
    let said = first(&mut offers);
    assert!(said.contains("another file has this name"), "{said}");
}
