//! The command as a process: servers that end with the test, folders, hashes by another program. Shared by
//! the tests of msctp and msctp-lab.
#![expect(clippy::disallowed_methods, reason = "real processes in real time")]
#![allow(dead_code, reason = "each program's tests use their own part")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::PROGRAM;

/// A wait of this length hangs, also on a machine that does much else.
pub(crate) const HANGS: Duration = Duration::from_secs(120);

thread_local! {
    /// The folder of this test: each has a thread of its own. With a single thread, one test runs after the
    /// other. Other users may read it, as they may the folder of the programs.
    static OWN: tempfile::TempDir = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a folder");
}

/// Returns a path in the folder of this test, which ends with it.
pub(crate) fn temporary(name: &str) -> PathBuf {
    OWN.with(|own| own.path().join(name))
}

/// Returns the folder of the test's key and known hosts. Two tests, whose servers may have the same port one
/// after the other, share neither.
pub(crate) fn config_home() -> (&'static str, PathBuf) {
    ("XDG_CONFIG_HOME", temporary("config-home"))
}

/// Returns the folder of the test's status sockets.
pub(crate) fn runtime_dir() -> (&'static str, PathBuf) {
    ("XDG_RUNTIME_DIR", temporary("runtime"))
}

/// Returns an address whose port no other program takes while nobody listens there: each test has another,
/// and the kernel chooses higher ones.
pub(crate) fn own_port() -> SocketAddr {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    loop {
        let number = std::process::id() % 2_000 * 10 + u32::from(TAKEN.fetch_add(1, Ordering::Relaxed));
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 10_000 + (number % 20_000) as u16));
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return at;
        }
    }
}

/// Returns whether a line says that a client remembers a server's key.
pub(crate) fn is_new_host(line: &str) -> bool {
    line.contains(" is new: its key SHA256:")
}

pub(crate) fn msctp(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.envs([config_home(), runtime_dir()]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns a command that runs `command` by another program, such as `env` or `prlimit`.
pub(crate) fn by(program: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(program[0]);
    outer.args(&program[1..]).arg(command.get_program()).args(command.get_args());
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    outer
}

pub(crate) fn run(args: &[&str]) -> Output {
    finish(msctp(args).spawn().expect("the program runs"))
}

/// Returns the output of a command when it has ended; kills it and fails if it hangs.
pub(crate) fn finish(mut child: Child) -> Output {
    let (out, errors) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = ended(&mut child);
    let [stdout, stderr] = [out, errors].map(|pipe| pipe.join().expect("read"));
    let hangs = || panic!("not done within {HANGS:?}: {}", String::from_utf8_lossy(&stderr));
    Output { status: status.unwrap_or_else(hangs), stdout, stderr }
}

/// Reads a pipe to its end.
fn read(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).expect("a pipe"));
        bytes
    })
}

/// Waits for the end of a command; kills it and fails if it hangs.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    ended(child).unwrap_or_else(|| panic!("process {} has not ended after {HANGS:?}", child.id()))
}

/// Waits for the end of a command; kills it and returns `None` if it hangs.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return Some(status);
        }
        if begin.elapsed() > HANGS {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a condition holds; fails if that hangs.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < HANGS, "not within {HANGS:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal with the system's kill command.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// The lines of a command's standard error. Reads fail with [`io::ErrorKind::TimedOut`] if they take too
/// long; the command never waits for the test to read.
pub(crate) struct Errors(Receiver<String>);

impl Errors {
    pub(crate) fn of(child: &mut Child) -> Self {
        let (sender, lines) = channel();
        let mut pipe: BufReader<ChildStderr> = BufReader::new(child.stderr.take().expect("piped"));
        thread::spawn(move || {
            let mut line = String::new();
            while let Ok(1..) = pipe.read_line(&mut line) {
                // Without a reader the rest is thrown away.
                let _ = sender.send(std::mem::take(&mut line));
            }
        });
        Self(lines)
    }

    /// Appends the next line. Returns 0 at the end, like [`BufRead::read_line`].
    pub(crate) fn read_line(&mut self, line: &mut String) -> io::Result<usize> {
        match self.0.recv_timeout(HANGS) {
            Ok(next) => {
                line.push_str(&next);
                Ok(next.len())
            }
            Err(RecvTimeoutError::Disconnected) => Ok(0),
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Returns the next line that contains `text`, without its end.
    pub(crate) fn line_with(&self, text: &str) -> String {
        let (begin, mut others) = (Instant::now(), Vec::new());
        loop {
            let line = self.0.recv_timeout(HANGS.saturating_sub(begin.elapsed()));
            let line = line.unwrap_or_else(|error| panic!("no {text:?}: {error}, after {others:?}"));
            if line.contains(text) {
                return line.trim_end().to_owned();
            }
            others.push(line);
        }
    }

    pub(crate) fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        let before = text.len();
        while self.read_line(text)? > 0 {}
        Ok(text.len() - before)
    }
}

/// A running server, killed when the test ends.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) errors: Errors,
    /// Address at which it listens, as HOST:PORT.
    pub(crate) at: String,
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_as(msctp(args))
    }

    /// Starts a server with an environment of its own.
    pub(crate) fn start_as(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the program runs");
        let mut errors = Errors::of(&mut child);
        let mut line = String::new();
        errors.read_line(&mut line).expect("a line");
        let at = line.strip_prefix("listening at ").and_then(|rest| rest.split(',').next());
        let at = at.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, errors, at }
    }

    /// Ends its standard input.
    pub(crate) fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    pub(crate) fn output(mut self) -> (Option<i32>, String, String) {
        self.end_input();
        let (mut out, mut errors) = (String::new(), String::new());
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("UTF-8");
        self.errors.read_to_string(&mut errors).expect("UTF-8");
        (end(&mut self.child).code(), out, errors)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates an empty folder of this test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = temporary(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Computes the hash with another program.
pub(crate) fn sha256(file: &str) -> String {
    let output = Command::new("sha256sum").arg(file).output().expect("sha256sum runs");
    String::from_utf8_lossy(&output.stdout)[..64].to_owned()
}

/// Returns standard error, without the line about a new host.
pub(crate) fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.split_inclusive('\n').filter(|line| !is_new_host(line)).collect()
}
