//! Two hosts with two links between them: ours in this process's network namespace, the peer's in its own.
//! Each check has its own addresses and interfaces, because the kernel removes those of a dead namespace
//! late.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};

/// Addresses of both ends, by link: 0 and 1.
#[derive(Clone, Copy, Debug)]
pub struct Net {
    number: u8,
    v6: bool,
}

impl Net {
    pub fn new(number: u8, v6: bool) -> Self {
        Self { number, v6 }
    }

    fn address(&self, link: u8, host: u8) -> IpAddr {
        if self.v6 {
            Ipv6Addr::new(0xfd00, self.number.into(), link.into(), 0, 0, 0, 0, host.into()).into()
        } else {
            Ipv4Addr::new(10, self.number, link, host).into()
        }
    }

    /// Returns our address on a link.
    pub fn ours(&self, link: u8) -> IpAddr {
        self.address(link, 1)
    }

    /// Returns the peer's address on a link.
    pub fn theirs(&self, link: u8) -> IpAddr {
        self.address(link, 2)
    }

    fn side(&self, end: char, host: u8) -> String {
        let prefix = if self.v6 { 64 } else { 24 };
        let line = |link: u8| {
            let (name, address) = (self.interface(end, link), self.address(link, host));
            let dad = if self.v6 { " nodad" } else { "" };
            format!("addr add {address}/{prefix} dev {name}{dad}\nlink set {name} up\n")
        };
        format!("link set lo up\n{}{}", line(0), line(1))
    }

    fn interface(&self, end: char, link: u8) -> String {
        format!("{end}{}-{link}", self.number)
    }

    /// Sets both links up; `peer`: the process of the peer's namespace.
    pub fn set_up(&self, peer: u32) -> Result<(), String> {
        let pair = |link| {
            let (ours, theirs) = (self.interface('o', link), self.interface('t', link));
            format!("link add {ours} type veth peer name {theirs} netns {peer}\n")
        };
        run(&["ip", "-batch", "-"], &format!("{}{}{}", pair(0), pair(1), self.side('o', 1)))?;
        let target = peer.to_string();
        run(&["nsenter", "--target", &target, "--net", "ip", "-batch", "-"], &self.side('t', 2))
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for link in [0, 1] {
            let _ = run(&["ip", "link", "del", &self.0.interface('o', link)], "");
        }
    }
}

/// Removes the links when dropped.
pub struct Links(pub Net);

/// Runs a command to its end.
fn run(words: &[&str], stdin: &str) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| format!("{}: {e}", words.join(" "));
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| said(&e))?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(stdin.as_bytes()).map_err(|e| said(&e))?;
    }
    let output = child.wait_with_output().map_err(|e| said(&e))?;
    if output.status.success() { Ok(()) } else { Err(said(&String::from_utf8_lossy(&output.stderr).trim())) }
}
