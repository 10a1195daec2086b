//! Running `msctp forward`, and connections to its listeners.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command};
use std::time::Duration;

use crate::process::{Errors, HANGS, is_new_host, msctp};

/// A running `msctp forward` that has connected, killed when the test ends.
pub(crate) struct Forward {
    pub(crate) child: Child,
    pub(crate) errors: Errors,
    /// Addresses at which it listens.
    pub(crate) at: Vec<SocketAddr>,
    /// Other lines that it printed before it was connected, but not that the server's key is new.
    pub(crate) notices: Vec<String>,
}

impl Forward {
    pub(crate) fn start(server: &str, args: &[&str]) -> Self {
        Self::of(&mut msctp(&[&["forward", server], args].concat()))
    }

    /// Starts a command, and waits until it has connected.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("msctp runs");
        let errors = Errors::of(&mut child);
        let mut forward = Self { child, errors, at: Vec::new(), notices: Vec::new() };
        loop {
            let mut line = String::new();
            let len = forward.errors.read_line(&mut line).expect("a line");
            assert!(len > 0, "the end, before it was connected: {:?}", forward.notices);
            if let Some((_, at)) = line.trim_end().split_once(": listening at ") {
                forward.at.push(at.parse().expect("an address"));
            } else if line.starts_with("connected to ") {
                return forward;
            } else if !is_new_host(&line) {
                forward.notices.push(line);
            }
        }
    }

    /// Connects to the listener at this place.
    pub(crate) fn connect(&self, place: usize) -> TcpStream {
        connect(self.at[place])
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects with timeouts that end only what hangs.
pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).expect("connected");
    set_timeouts(&stream, HANGS);
    stream
}

pub(crate) fn set_timeouts(stream: &TcpStream, timeout: Duration) {
    stream.set_read_timeout(Some(timeout)).expect("set");
    stream.set_write_timeout(Some(timeout)).expect("set");
}

/// Returns whether the connection echoes this data.
pub(crate) fn echoes(mut stream: &TcpStream, data: &[u8]) -> bool {
    std::thread::scope(|scope| {
        let mut writer = stream;
        scope.spawn(move || writer.write_all(data));
        let mut answer = vec![0; data.len()];
        stream.read_exact(&mut answer).is_ok() && answer == data
    })
}
