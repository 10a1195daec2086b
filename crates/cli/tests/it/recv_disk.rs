//! What `msctp recv` has on the disk when it says that it has a file: the order of its system calls, and
//! receivers that are killed.
#![cfg(target_os = "linux")]

use crate::PROGRAM;
use crate::process::{
    Server, config_home, end, finish, folder, msctp, own_port, run, runtime_dir, sha256, signal, stderr,
    wait_for,
};

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns whether `strace` can trace here. With `MSCTP_NEED_STRACE` set, panics if it cannot.
fn can_trace() -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    let works = command.status().is_ok_and(|status| status.success());
    if !works {
        assert!(std::env::var_os("MSCTP_NEED_STRACE").is_none(), "strace is not installed, or may not trace");
        eprintln!("left out: strace is not installed, or may not trace");
    }
    works
}

/// Creates the folder of a test, with one for received files.
fn folders(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    (folder, out)
}

/// Returns the names in a folder, hidden ones included.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Starts a receiver under `strace`. It is the child itself: `strace` detaches.
fn traced(out: &Path, options: &[&str], more: &[&str]) -> Server {
    let mut command = Command::new("strace");
    command.envs([config_home(), runtime_dir()]);
    command.args(["-D", "-f"]).args(options).arg(PROGRAM);
    command.args(["recv", "--bind", "127.0.0.1:0", "--out", out.to_str().unwrap()]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Server::start_as(command)
}

/// A system call of a trace: the lines at which it began and returned.
struct Call {
    text: String,
    began: usize,
    returned: usize,
}

/// Reads a trace of `strace -f -o`, in which the calls of several threads may interrupt each other.
fn calls(trace: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut unfinished: Vec<(&str, usize)> = Vec::new();
    for (line, text) in trace.lines().enumerate() {
        let Some((thread, text)) = text.split_once(' ') else { continue };
        let text = text.trim_start();
        if text.starts_with("<... ") {
            let place = unfinished.iter().position(|(of, _)| *of == thread).expect("it began");
            let (_, call) = unfinished.remove(place);
            let rest = text.split_once(" resumed>").expect("resumed").1;
            calls[call].text.push_str(rest);
            calls[call].returned = line;
        } else if let Some(text) = text.strip_suffix(" <unfinished ...>") {
            unfinished.push((thread, calls.len()));
            calls.push(Call { text: text.to_owned(), began: line, returned: usize::MAX });
        } else {
            calls.push(Call { text: text.to_owned(), began: line, returned: line });
        }
    }
    calls
}

/// The calls whose order matters, with the paths of descriptors and all bytes of packets.
const ORDER: [&str; 5] = [
    "-y",
    "-s",
    "65535",
    "-e",
    "trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat,sendmsg,sendto,sendmmsg",
];

/// Sends a file and returns the calls of the receiver, in clear packets.
fn calls_of_receiver(file: &Path, out: &Path, trace: &Path) -> Vec<Call> {
    let options = [&ORDER[..], &["-o", trace.to_str().unwrap()]].concat();
    let mut server = traced(out, &options, &["--insecure", "--once"]);
    let sent = run(&["send", "--insecure", file.to_str().unwrap(), &server.at]);
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    assert_eq!(end(&mut server.child).code(), Some(0));
    let pid = server.child.id();
    let mut text = String::new();
    wait_for("strace writes the end", || {
        text = fs::read_to_string(trace).unwrap();
        text.lines().any(|line| line.starts_with(&pid.to_string()) && line.ends_with("+++ exited with 0 +++"))
    });
    calls(&text)
}

/// Returns the line at which a successful `fsync` of a path returned.
fn synced(calls: &[Call], path: &str) -> usize {
    let of = format!("<{path}>)");
    let is_it = |call: &&Call| {
        (call.text.starts_with("fsync(") || call.text.starts_with("fdatasync("))
            && call.text.contains(&of)
            && call.text.ends_with("= 0")
    };
    let call = calls.iter().find(is_it);
    call.unwrap_or_else(|| panic!("no fsync of {path}: {:?}", texts(calls))).returned
}

/// Returns the line at which the first packet with this text was about to leave.
fn sent(calls: &[Call], text: &str) -> usize {
    let is_it = |call: &&Call| call.text.starts_with("send") && call.text.contains(text);
    calls.iter().find(is_it).unwrap_or_else(|| panic!("no packet with {text}: {:?}", texts(calls))).began
}

fn texts(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| &call.text[..call.text.len().min(200)]).collect()
}

/// The receiver's answer, as `strace` writes it.
const DONE: &str = r#"{\"kind\":\"done\"}"#;

#[test]
fn a_file_is_on_the_disk_before_the_sender_learns_that_it_arrived() {
    if !can_trace() {
        return;
    }
    let (folder, out) = folders("recv-order");
    let out = out.canonicalize().unwrap();
    let file = folder.join("film");
    fs::write(&file, vec![7; 3_000_000]).unwrap();
    let calls = calls_of_receiver(&file, &out, &folder.join("trace"));
    let part = format!("{}/.{}.part", out.display(), sha256(file.to_str().unwrap()));
    let written = synced(&calls, &part);
    let renamed = calls.iter().find(|call| {
        let is_rename = call.text.starts_with("rename") || call.text.starts_with("link");
        is_rename && call.text.contains("/film\"") && call.text.ends_with("= 0")
    });
    let renamed = renamed.unwrap_or_else(|| panic!("it has no name: {:?}", texts(&calls)));
    let folder_written = synced(&calls, out.to_str().unwrap());
    let done = sent(&calls, DONE);
    assert!(written < renamed.began, "the bytes before the name");
    assert!(renamed.returned < folder_written && folder_written < done, "the name before the answer");
    assert_eq!(names(&out), ["film"]);
}

/// The file may be of a receiver that was killed before it had written the folder, or of another program. The
/// sender may delete its own copy.
#[test]
fn a_file_that_is_there_already_is_on_the_disk_before_the_sender_learns_of_it() {
    if !can_trace() {
        return;
    }
    let (folder, out) = folders("recv-there");
    let out = out.canonicalize().unwrap();
    let file = folder.join("film");
    fs::write(&file, vec![7; 100_000]).unwrap();
    fs::copy(&file, out.join("film")).unwrap();
    let calls = calls_of_receiver(&file, &out, &folder.join("trace"));
    let (written, folder_written) =
        (synced(&calls, out.join("film").to_str().unwrap()), synced(&calls, out.to_str().unwrap()));
    let done = sent(&calls, DONE);
    assert!(written < done && folder_written < done);
}

/// Writes a file whose mebibytes all differ.
fn write_film(file: &Path, mebibytes: u32) {
    let mut bytes: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut all = Vec::new();
    for n in 0..mebibytes {
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        all.extend_from_slice(&bytes);
    }
    fs::write(file, all).unwrap();
}

#[test]
fn a_killed_receiver_leaves_only_a_part_that_the_next_one_resumes() {
    let (folder, out) = folders("recv-killed");
    let file = folder.join("film");
    write_film(&file, 192);
    let film = fs::read(&file).unwrap();
    let hash = sha256(file.to_str().unwrap());
    let start = |at: &str| Server::start(&["recv", "--bind", at, "--out", out.to_str().unwrap()]);
    let at = own_port().to_string();
    let mut server = start(&at);
    let mut sender = msctp(&["send", file.to_str().unwrap(), &at]).spawn().unwrap();
    let mut kept = 0;
    for _ in 0..2 {
        let part = || {
            let name = names(&out).into_iter().find(|name| name.ends_with(".part"))?;
            Some((fs::metadata(out.join(&name)).ok()?.len(), name))
        };
        wait_for("it receives", || part().is_some_and(|(len, _)| len > kept + (8 << 20)));
        // SIGKILL.
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let (len, name) = part().unwrap();
        assert_eq!(names(&out), [name.as_str()], "a part alone");
        assert!(name.starts_with(&format!(".{hash}.")), "{name}");
        assert!(len > kept && len < film.len() as u64, "{len} bytes, {kept} before");
        assert!(fs::read(out.join(&name)).unwrap() == film[..len as usize], "its beginning");
        assert!(sender.try_wait().unwrap().is_none(), "the sender goes on");
        kept = len;
        server = start(&at);
    }
    // The same sender connects again.
    let sent = finish(sender);
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    assert!(stderr(&sent).contains("; reconnecting (2 of 5)"), "{}", stderr(&sent));
    assert_eq!(names(&out), ["film"]);
    assert!(fs::read(out.join("film")).unwrap() == film);
    // The last receiver had the part that the one before kept.
    signal(&server.child, "TERM");
    let (_, printed, _) = server.output();
    assert!(printed.contains(&format!("({kept} of them from an earlier attempt)")), "{printed}");
}

/// The name is given in one step: a receiver that is killed before or after it leaves the part or the file,
/// and not both.
#[test]
fn a_receiver_killed_while_it_gives_the_name_leaves_no_second_link() {
    if !can_trace() {
        return;
    }
    let (folder, out) = folders("recv-name");
    let out = out.canonicalize().unwrap();
    let file = folder.join("film");
    fs::write(&file, vec![7; 100_000]).unwrap();
    let part = format!("{}/.{}.part", out.display(), sha256(file.to_str().unwrap()));
    // Killed when it is about to give the name, then when it is about to remove the old one, if it does.
    for calls in ["rename,renameat,renameat2,link,linkat", "unlink,unlinkat"] {
        let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:signal=SIGKILL"));
        let options = ["-P", &part, "-e", &trace, "-e", &inject, "-o", "/dev/null"];
        let mut server = traced(&out, &options, &["--insecure", "--once"]);
        let args = ["send", "--insecure", file.to_str().unwrap(), &server.at];
        let mut sender = msctp(&args).spawn().unwrap();
        let is_killed = end(&mut server.child).code().is_none();
        if is_killed {
            sender.kill().unwrap();
        }
        assert_eq!(end(&mut sender).success(), !is_killed);
        assert_eq!(names(&out).len(), 1, "{:?}", names(&out));
    }
    assert_eq!(names(&out), ["film"]);
}
