//! `msctp forward` over TCP where a network drops UDP, and back over UDP when it works.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::net::{self, Host, Net, SERVER};
use super::{Guard, folder, spawn};

/// Begins or ends dropping packets of a protocol that arrive at the host.
fn block(host: &Host, protocol: &str, is_blocked: bool) {
    for (pref, device) in (if protocol == "udp" { 4 } else { 6 }..).zip(["cell0", "wlan0"]) {
        host.run(&match is_blocked {
            true => format!("ip rule add pref {pref} iif {device} ipproto {protocol} blackhole"),
            false => format!("ip rule del pref {pref}"),
        });
    }
}

/// Makes routing rules precede the table of the host's own addresses.
fn prepare_to_block(host: &Host) {
    host.run("ip rule add pref 10 lookup local");
    host.run("ip rule del pref 0");
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
    prepare_to_block(&net.server);
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

/// A tunnel over TCP, as programs of this machine see it.
struct Tunnel {
    net: Net,
    server: (Lines, Guard),
    client: (Lines, Guard),
    /// A UDP echo at the server's address in the tunnel.
    echo: SocketAddr,
}

impl Tunnel {
    /// Starts both ends in a network that drops UDP.
    fn start(security: &[&str]) -> Self {
        let net = Net::new();
        // The relay of TCP has a socket there.
        net.mobile.run("ip link set lo up");
        net.carrier("cell0", true);
        prepare_to_block(&net.server);
        block(&net.server, "udp", true);
        let tcp = format!("{SERVER}:9899");
        let args = ["serve", "--bind", SERVER, "--tunnel", "10.7.0.1/24", "--tcp", &tcp];
        let mut server = Guard(spawn(&net.server, &[&args, security].concat()));
        let server = (Lines::of(&mut server.0), server);
        server.0.next("TCP for networks without UDP at ");
        // The host's own routes to the server lead into the tunnel.
        let args = ["tunnel", SERVER, "--route", SERVER, "--route", "10.7.0.0/24", "--timeout", "12"];
        let mut client = Guard(spawn(&net.mobile, &[&args, security].concat()));
        let client = (Lines::of(&mut client.0), client);
        client.0.next("no answer over UDP; connected over TCP");
        client.0.next(": 10.7.0.2");
        let echo = super::tunnel::echo(&net, "10.7.0.1");
        Self { net, server, client, echo }
    }

    fn answers(&self) -> bool {
        super::tunnel::answers(&self.net, "10.7.0.2", self.echo, 1000)
    }

    /// Unblocks UDP. Waits until it carries the packets, with the same addresses.
    fn return_to_udp(&self) {
        block(&self.net.server, "udp", false);
        self.client.0.next("UDP works: packets go over it");
        self.client.0.next(": 10.7.0.2");
        assert!(self.answers(), "over UDP");
        block(&self.net.server, "tcp", true);
        assert!(self.answers(), "over UDP alone");
    }
}

fn has_no_tun() -> bool {
    net::missing().is_some() || !std::path::Path::new("/dev/net/tun").exists()
}

#[test]
fn a_tunnel_without_udp_goes_over_tcp_moves_and_returns_to_udp() {
    if has_no_tun() {
        return;
    }
    let tunnel = Tunnel::start(&[]);
    assert!(tunnel.answers(), "over TCP");
    // TCP follows the networks: it is bound to an interface, so it does not enter the tunnel.
    tunnel.net.carrier("wlan0", true);
    tunnel.net.carrier("cell0", false);
    let begin = Instant::now();
    while !tunnel.answers() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it goes on over the WLAN");
    }
    tunnel.return_to_udp();
    tunnel.server.0.next(" has 10.7.0.2");
    tunnel.server.0.next(" has 10.7.0.2");
}

#[test]
fn a_tunnel_without_keys_of_clients_keeps_its_address_when_it_returns_to_udp() {
    use std::os::unix::fs::PermissionsExt;
    if has_no_tun() {
        return;
    }
    let file = folder("moves-fallback-psk").join("psk");
    std::fs::write(&file, [7; 32]).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    let tunnel = Tunnel::start(&["--psk", file.to_str().expect("UTF-8")]);
    assert!(tunnel.answers(), "over TCP");
    tunnel.return_to_udp();
}
