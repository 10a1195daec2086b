//! What went wrong between the commands for real networks, over the loopback interface: names taken twice,
//! late answers, full disks, the wrong service, signals, hostile names.
#![cfg(all(feature = "net", target_os = "linux"))]
#![expect(clippy::disallowed_methods, reason = "processes run in real time")]

mod process;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use process::{Server, folder, msctp, run, sha256, stderr};

/// What must not take minutes is given so long, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(20);

const LOOPBACK: [&str; 2] = ["--bind", "127.0.0.1:0"];

/// The output of a process that ends soon.
fn finish(mut child: Child) -> Output {
    let begin = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if begin.elapsed() > SOON {
            let _ = child.kill();
            let output = child.wait_with_output().expect("its output");
            panic!("not done within {SOON:?}: {}", stderr(&output));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output")
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

fn receiver(out: &Path, more: &[&str]) -> Server {
    Server::start(&[&["recv", "--out", out.to_str().expect("UTF-8")], more, &LOOPBACK].concat())
}

fn sender(file: &Path, at: &str) -> Child {
    msctp(&["send", file.to_str().expect("UTF-8"), at]).spawn().expect("msctp runs")
}

/// A folder for what is received, beside the files.
fn out(folder: &Path) -> PathBuf {
    let out = folder.join("out");
    fs::create_dir(&out).expect("a folder");
    out
}

/// Names in a folder, hidden ones too.
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
fn of_two_senders_of_one_name_one_is_told_that_it_is_taken() {
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
                assert!(stderr(output).contains("another file of that name"), "{}", stderr(output));
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
    assert_eq!((rest.as_str(), server.child.wait().unwrap().code()), ("", Some(0)));
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
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_msctp"), out.to_str().unwrap()]);
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
fn a_client_learns_at_once_that_nobody_listens() {
    // A port that was free a moment ago.
    let at = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
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
fn a_client_that_reaches_another_service_is_told_so_at_once() {
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
fn a_perf_server_that_measures_tells_another_client_that_it_is_busy() {
    let server = Server::start(&["perf", "--server", LOOPBACK[0], LOOPBACK[1]]);
    let mut first = msctp(&["perf", &server.at, "--time", "600", "--interval", "0.1"]).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    // The head, and the first interval: it measures.
    assert!(lines.next().is_some() && lines.next().is_some());
    let second = finish(msctp(&["perf", &server.at]).spawn().unwrap());
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("the server is busy with another measurement"), "{}", stderr(&second));
    signal(&first, "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    // The server knows that the first is gone.
    let third = finish(msctp(&["perf", &server.at, "--time", "1", "--json"]).spawn().unwrap());
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
}

#[test]
fn a_signal_is_the_exit_code_and_the_peer_hears_of_it() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        for ends_client in [true, false] {
            let mut server = Server::start(&["serve", LOOPBACK[0], LOOPBACK[1]]);
            let mut client = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
            client.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            server.child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let (ended, other) =
                if ends_client { (&mut client, &mut server.child) } else { (&mut server.child, &mut client) };
            signal(ended, name);
            assert_eq!(ended.wait().unwrap().code(), Some(code));
            let begin = Instant::now();
            while other.try_wait().unwrap().is_none() {
                assert!(begin.elapsed() < SOON, "the peer waits, {name}, client: {ends_client}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn an_interrupted_transfer_leaves_a_part_that_the_next_one_completes() {
    let folder = folder("net-interrupted");
    let (out, file) = (out(&folder), folder.join("film"));
    let len = 300_000_000;
    fs::File::create(&file).unwrap().set_len(len).unwrap();
    let part = out.join(format!(".{}.part", &sha256(file.to_str().unwrap())[..32]));
    let mut server = receiver(&out, &[]);
    let mut interrupted = sender(&file, &server.at);
    while fs::metadata(&part).map_or(0, |part| part.len()) == 0 {
        assert!(interrupted.try_wait().unwrap().is_none(), "it is sending");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&interrupted, "INT");
    assert_eq!(interrupted.wait().unwrap().code(), Some(130));
    let mut line = String::new();
    while !line.contains("kept in") {
        line.clear();
        assert!(server.errors.read_line(&mut line).unwrap() > 0, "the receiver says that it is over");
    }
    assert!(line.contains("the same `msctp send` goes on from there"), "{line}");
    let kept = fs::metadata(&part).unwrap().len();
    assert!(kept > 0 && kept < len);
    let again = run(&["send", file.to_str().unwrap(), &server.at]);
    let text = String::from_utf8_lossy(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(text.starts_with(&format!("{} bytes ({kept} were there)", len - kept)), "{text}");
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
fn a_server_without_a_key_says_who_may_use_it() {
    let folder = folder("net-warning");
    let key = folder.join("key");
    fs::write(&key, "a key of enough bytes").unwrap();
    let key = ["--key", key.to_str().unwrap()];
    let out = ["recv", "--out", folder.to_str().unwrap()];
    for command in [&["serve"][..], &out, &["perf", "--server"]] {
        let mut server = Server::start(&[command, &LOOPBACK[..]].concat());
        let mut line = String::new();
        server.errors.read_line(&mut line).unwrap();
        assert!(line.starts_with("no --key: anybody who can reach this port can "), "{command:?}: {line}");
        let server = Server::start(&[command, &LOOPBACK[..], &key].concat());
        signal(&server.child, "TERM");
        let (code, _, errors) = server.output();
        assert_eq!(code, Some(143));
        assert!(!errors.contains("anybody"), "{command:?}: {errors}");
    }
}

/// Twenty clients offer the name of a file that is there, at its length, so that it has to be hashed.
#[test]
fn offers_of_a_large_name_do_not_delay_another_sender() {
    use msctp::{Association, Config, Endpoint, EndpointOptions, OutMessage, Peer};
    const LARGE: u64 = 2_000_000_000;
    let folder = folder("net-large");
    let (out, small) = (out(&folder), folder.join("small"));
    fs::write(&small, "25 bytes, or nearly so").unwrap();
    fs::File::create(out.join("large")).unwrap().set_len(LARGE).unwrap();
    let server = receiver(&out, &[]);
    let text = format!(r#"{{"kind":"offer","name":"large","size":{LARGE},"sha256":"{}"}}"#, "0".repeat(64));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut offers: Vec<Association> = runtime.block_on(async {
        let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
        let mut offers = Vec::new();
        for _ in 0..20 {
            let peer = Peer::new(server.at.parse().unwrap());
            let association = client.connect(peer, Config::mobile()).await.unwrap();
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
    let sent = finish(sender(&small, &server.at));
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    let said = first(&mut offers);
    assert!(said.contains("another file of that name"), "{said}");
}
