//! `msctp status --watch` in a pseudo-terminal, over servers on the loopback interface.
#![expect(clippy::disallowed_methods, reason = "real processes in real time")]

use crate::process::{HANGS, Server, end, folder, msctp, stderr};

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

/// Begins and ends the alternate screen.
const OPENED: &str = "\x1b[?1049h";
const RESTORED: &str = "\x1b[?1049l";

/// `msctp status --watch` in a terminal.
struct Watch {
    child: Child,
    /// The terminal's side of the program, for reading its mode.
    slave: OwnedFd,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Watch {
    fn start(runtime: &Path, columns: u16, args: &[&str], colour: bool) -> Self {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let stdio = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = msctp(&[&["status", "--watch", "--interval", "0.1"], args].concat());
        command.env("XDG_RUNTIME_DIR", runtime).env("TERM", "xterm").env_remove("NO_COLOR");
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let child = command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        let (mut screen, seen) =
            (File::from(pty.master.try_clone().unwrap()), Arc::new(Mutex::new(Vec::new())));
        let into = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = screen.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..len]);
            }
        });
        Self { child, slave: pty.slave, keys: File::from(pty.master), seen }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// Waits for a text on the screen since the last call, and discards the output before it.
    fn wait(&self, part: &str) -> String {
        let begin = Instant::now();
        loop {
            let text = self.text();
            if let Some(at) = text.find(part) {
                self.seen.lock().unwrap().drain(..at + part.len());
                return text;
            }
            assert!(begin.elapsed() < HANGS, "{part:?} is missing in {text:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn end(mut self) -> ExitStatus {
        self.wait(RESTORED);
        let status = end(&mut self.child);
        let flags = tcgetattr(&self.slave).unwrap().local_flags;
        assert!(flags.contains(LocalFlags::ICANON | LocalFlags::ECHO), "the terminal stays raw");
        status
    }
}

fn serve(runtime: &Path) -> Server {
    let mut command = msctp(&["serve", "--allow", "127.0.0.1:9", "--bind", "127.0.0.1:0"]);
    command.env("XDG_RUNTIME_DIR", runtime);
    Server::start_as(command)
}

#[test]
fn a_list_opens_a_process_and_keys_leave_it() {
    let runtime = folder("watch-list");
    let (one, two) = (serve(&runtime), serve(&runtime));
    let mut watch = Watch::start(&runtime, 80, &[], true);
    watch.wait(OPENED);
    // `>` marks the first of the list, which is sorted by the sockets' names.
    let first = [&one, &two].map(|server| server.child.id()).into_iter().min_by_key(u32::to_string).unwrap();
    watch.wait(&format!("\x1b[7m> {first}"));
    watch.press("\r");
    watch.wait(&format!("\x1b[1mmsctp serve, process {first}, up "));
    watch.press("\x1b");
    watch.wait("Enter opens");
    watch.press("q");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_process_that_ends_says_so_and_restores_the_screen() {
    let runtime = folder("watch-end");
    let mut server = serve(&runtime);
    let pid = server.child.id();
    let watch = Watch::start(&runtime, 80, &[&pid.to_string()], true);
    watch.wait("no association");
    // Killed: the socket's file stays.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    watch.wait(RESTORED);
    watch.wait(&format!("process {pid} (msctp serve) has ended"));
}

#[test]
fn ctrl_c_ends_a_narrow_view_without_styles() {
    let runtime = folder("watch-narrow");
    let server = serve(&runtime);
    // One process: others may run, with sockets in /run/msctp.
    let mut watch = Watch::start(&runtime, 30, &[&server.child.id().to_string()], false);
    watch.wait("no association");
    watch.press("\x03");
    let begin = watch.wait("\x1b[?25h");
    assert!(!begin.contains("\x1b[1m") && !begin.contains("\x1b[7m"), "{begin:?}");
    for line in begin.split("\x1b[K") {
        let text = line.trim_start_matches("\x1b[J").trim_start_matches("\x1b[H").trim_start();
        assert!(text.chars().count() <= 30 || text.contains('\x1b'), "{text:?}");
    }
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn without_a_terminal_it_prints_once() {
    let runtime = folder("watch-once");
    let server = serve(&runtime);
    let output = msctp(&["status", "--watch"]).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("msctp serve, process {}, up ", server.child.id())), "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");

    let nobody =
        msctp(&["status", "--watch", "1"]).env("XDG_RUNTIME_DIR", folder("watch-nobody")).output().unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("no process with the process ID 1 has a status"), "{}", stderr(&nobody));
    let wrong = msctp(&["status", "--watch", "--interval", "0"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("want seconds from 0.1 to 3600"), "{}", stderr(&wrong));
}
