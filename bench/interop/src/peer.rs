//! A peer: a process in its own network namespace that reads commands and writes events, one a line.
//!
//! It starts with `hello NAME VERSION`. It answers each command by `done COMMAND` or `error COMMAND: WHY`:
//!
//! | command | |
//! |---|---|
//! | `begin [6]` | the network is set up: IPv4, or IPv6 |
//! | `option NAME VALUE…` | before `open` |
//! | `open PORT ADDRESS…` | binds and listens |
//! | `connect PORT ADDRESS…` | |
//! | `send STREAM o\|u COUNT SIZE FIRST [ttl\|rtx\|buf VALUE]` | messages, see `message` |
//! | `add`, `delete`, `peer-primary ADDRESS` | RFC 5061 |
//! | `primary PORT ADDRESS`, `heartbeat PORT ADDRESS` | where it sends; RFC 9260 §11.1 |
//! | `reset out\|in STREAM…`, `add-streams OUT IN`, `reset-association` | RFC 6525 |
//! | `shutdown`, `abort`, `quit` | |
//!
//! Events: `up OUT IN …`, `message STREAM o|u PPID LENGTH HASH`, `address ADDRESS STATE`, `closed`, `lost …`
//! and similar ones.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;

use crate::input::Input;

/// The process. Dropping it ends the process and its namespace.
pub struct Peer {
    child: Child,
    stdin: ChildStdin,
}

impl Peer {
    /// Starts the process; its lines go to `inputs`.
    pub fn start(program: &str, inputs: Sender<Input>) -> Result<Self, String> {
        let mut child = Command::new("unshare")
            .args(["--net", "--", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("unshare {program}: {e}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if inputs.send(Input::Line(line)).is_err() {
                    return;
                }
            }
            let _ = inputs.send(Input::PeerGone);
        });
        Ok(Self { child, stdin })
    }

    /// Returns the process id, which also names the namespace.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command.
    pub fn tell(&mut self, command: &str) -> Result<(), String> {
        writeln!(self.stdin, "{command}").map_err(|e| format!("the peer takes no command ({command}): {e}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
