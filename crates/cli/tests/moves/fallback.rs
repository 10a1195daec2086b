//! `msctp forward` over TCP where a network drops UDP, and back over UDP when it works.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::net::{self, Host, Net, SERVER};
use super::{Guard, folder, spawn};

/// Drops what arrives at the host by a protocol, or no longer does.
fn block(host: &Host, protocol: &str, is_blocked: bool) {
    let pref = if protocol == "udp" { 5 } else { 6 };
    host.run(&match is_blocked {
        true => format!("ip rule add pref {pref} iif cell0 ipproto {protocol} blackhole"),
        false => format!("ip rule del pref {pref}"),
    });
}

/// Echoes on the host's loopback interface.
fn echo(host: &Host) -> SocketAddr {
    let listener = host.within(|| TcpListener::bind("127.0.0.1:0").expect("bound"));
    let at = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    at
}

/// A command's lines of standard error.
struct Lines(Receiver<String>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        let (sender, lines) = channel();
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        thread::spawn(move || errors.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self(lines)
    }

    /// Returns the next line that contains this text.
    fn next(&self, text: &str) -> String {
        let (begin, mut others) = (Instant::now(), Vec::new());
        loop {
            let line = self.0.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|error| panic!("no {text:?}: {error}, after {others:?}"));
            if line.contains(text) {
                return line;
            }
            others.push(line);
            assert!(begin.elapsed() < Duration::from_secs(60), "no {text:?} in {others:?}");
        }
    }
}

fn connect(host: &Host, at: SocketAddr) -> TcpStream {
    let stream = host.within(|| TcpStream::connect(at).expect("connected"));
    stream.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
    stream
}

fn echoes(mut stream: &TcpStream) -> bool {
    let mut answer = [0; 5];
    stream.write_all(b"hello").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"hello"
}

#[test]
fn connections_return_to_udp_when_it_works_and_those_over_tcp_go_on() {
    if net::missing().is_some() {
        return;
    }
    let (net, folder) = (Net::new(), folder("moves-fallback"));
    net.mobile.run("ip link set lo up");
    // TCP takes the route with the lowest metric, also without a carrier.
    net.mobile.run("ip link set wlan0 down");
    net.carrier("cell0", true);
    // Rules of routing that precede the table of local addresses.
    net.server.run("ip rule add pref 10 lookup local");
    net.server.run("ip rule del pref 0");
    block(&net.server, "udp", true);
    let (there, here) = (echo(&net.server), echo(&net.mobile));
    let rules = folder.join("rules");
    std::fs::write(&rules, "allow 127.0.0.1:*\nlisten 127.0.0.1:*\n").expect("written");
    let tcp = format!("{SERVER}:9899");
    let rules = rules.to_str().expect("UTF-8");
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--rules", rules, "--tcp", &tcp]));
    let server = (Lines::of(&mut server.0), server);
    server.0.next("TCP for networks without UDP at ");
    let free = net.server.within(|| TcpListener::bind("127.0.0.1:0").expect("bound"));
    let remote = free.local_addr().expect("an address");
    drop(free);
    let (local, back) = (format!("0:{there}"), format!("{}:{here}", remote.port()));
    let args = ["forward", SERVER, "-L", &local, "-R", &back, "--timeout", "12"];
    let mut client = Guard(spawn(&net.mobile, &args));
    let lines = Lines::of(&mut client.0);
    lines.next("no answer over UDP; connected over TCP");
    let line = lines.next(": listening at ");
    let at: SocketAddr = line.split_once(": listening at ").expect("found").1.parse().expect("an address");
    lines.next(&format!(": listening at {remote}"));
    let old = [connect(&net.mobile, at), connect(&net.server, remote)];
    assert!(old.iter().all(echoes), "over TCP");
    block(&net.server, "udp", false);
    lines.next("UDP works: new connections use it");
    lines.next(&format!(": listening at {remote}"));
    let new = [connect(&net.mobile, at), connect(&net.server, remote)];
    assert!(new.iter().all(echoes) && old.iter().all(echoes), "over both");
    // Which connections are over TCP.
    block(&net.server, "tcp", true);
    assert!(new.iter().all(echoes), "over UDP");
    assert!(!old.iter().any(echoes), "over TCP, which is blocked");
    block(&net.server, "tcp", false);
    // The association over TCP ends with its last connection.
    drop(old);
    server.0.next(&format!("association lost: {SERVER}:"));
    assert!(new.iter().all(echoes) && echoes(&connect(&net.mobile, at)), "over UDP alone");
}

#[test]
fn a_tunnel_without_udp_says_that_it_needs_it() {
    if net::missing().is_some() || !std::path::Path::new("/dev/net/tun").exists() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    net.server.run("ip rule add pref 10 lookup local");
    net.server.run("ip rule del pref 0");
    block(&net.server, "udp", true);
    let tunnel = spawn(&net.mobile, &["tunnel", SERVER, "--timeout", "2"]);
    let output = super::finish(tunnel, Duration::from_secs(60));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("no answer for 2 s") && errors.contains("a tunnel needs UDP"), "{errors}");
    assert_eq!(output.status.code(), Some(1));
}
