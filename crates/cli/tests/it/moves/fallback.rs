//! `msctp forward` over TCP where a network drops UDP, and back over UDP when it works.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::net::{self, Host, Net, SERVER};
use super::{Guard, TIMEOUT, folder, serve, spawn};
use crate::client::{Forward, connect, echoes, set_timeouts};
use crate::process::{Errors, Server, finish, stderr};

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

fn is_open(stream: &TcpStream) -> bool {
    echoes(stream, b"hello")
}

/// Returns whether the connection echoes within three seconds.
fn is_soon_open(stream: &TcpStream) -> bool {
    set_timeouts(stream, Duration::from_secs(3));
    is_open(stream)
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
    let server = serve(&net.server, &["serve", "--bind", SERVER, "--rules", rules, "--tcp", &tcp]);
    server.errors.line_with("TCP for networks without UDP at ");
    let free = net.server.within(|| TcpListener::bind("127.0.0.1:0").expect("bound"));
    let remote = free.local_addr().expect("an address");
    drop(free);
    let (local, back) = (format!("0:{there}"), format!("{}:{here}", remote.port()));
    let args = ["forward", SERVER, "-L", &local, "-R", &back, TIMEOUT[0], TIMEOUT[1]];
    let client = Forward::of(&mut net.mobile.msctp(&args));
    let over_tcp = |line: &String| line.contains("no answer over UDP; connected over TCP");
    assert!(client.notices.iter().any(over_tcp), "{:?}", client.notices);
    let lines = &client.errors;
    lines.line_with(&format!(": listening at {remote}"));
    let both = || [net.mobile.within(|| connect(client.at[0])), net.server.within(|| connect(remote))];
    let old = both();
    assert!(old.iter().all(is_open), "over TCP");
    block(&net.server, "udp", false);
    lines.line_with("UDP works: new connections use it");
    lines.line_with(&format!(": listening at {remote}"));
    let new = both();
    assert!(new.iter().chain(&old).all(is_open), "over both");
    // Which connections are over TCP.
    block(&net.server, "tcp", true);
    assert!(new.iter().all(is_open), "over UDP");
    assert!(!old.iter().any(is_soon_open), "over TCP, which is blocked");
    block(&net.server, "tcp", false);
    // The association over TCP ends with its last connection.
    drop(old);
    server.errors.line_with(&format!("association lost: {SERVER}:"));
    assert!(new.iter().chain(&both()).all(is_open), "over UDP alone");
}

/// INITs over both networks race. The set-up ended after 4.5 s, before TCP was tried.
#[test]
fn two_networks_without_udp_connect_over_tcp_and_the_time_limit_holds() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    for link in ["wlan0", "cell0"] {
        net.carrier(link, true);
        net::wait_for_carrier(&net.mobile, link);
    }
    prepare_to_block(&net.server);
    block(&net.server, "udp", true);
    let there = echo(&net.server);
    let (allowed, tcp) = (there.to_string(), format!("{SERVER}:9899"));
    let args = ["serve", "--bind", SERVER, "--allow", &allowed, "--tcp", &tcp];
    let server = serve(&net.server, &args);
    server.errors.line_with("TCP for networks without UDP at ");
    // Without TCP at that port.
    let late = finish(spawn(&net.mobile, &["connect", &format!("{SERVER}:9"), "--timeout", "7"]));
    assert!(stderr(&late).contains("no answer for 7 s"), "{}", stderr(&late));
    let local = format!("0:{there}");
    let args = ["forward", SERVER, "-L", &local, TIMEOUT[0], TIMEOUT[1]];
    let client = Forward::of(&mut net.mobile.msctp(&args));
    let over_tcp = |line: &String| line.contains("no answer over UDP; connected over TCP");
    assert!(client.notices.iter().any(over_tcp), "{:?}", client.notices);
    assert!(is_open(&net.mobile.within(|| connect(client.at[0]))));
}

/// A tunnel over TCP, as programs of this machine see it.
struct Tunnel {
    net: Net,
    server: Server,
    client: (Errors, Guard),
    /// A UDP echo at the server's address in the tunnel.
    echo: SocketAddr,
}

impl Tunnel {
    /// Starts both ends, in networks that drop UDP.
    fn start(networks: &[&str], security: &[&str]) -> Self {
        let net = Net::new();
        // The relay of TCP has a socket there.
        net.mobile.run("ip link set lo up");
        for name in networks {
            net.carrier(name, true);
            net::wait_for_carrier(&net.mobile, name);
        }
        prepare_to_block(&net.server);
        block(&net.server, "udp", true);
        let tcp = format!("{SERVER}:9899");
        let args = ["serve", "--bind", SERVER, "--tunnel", "10.7.0.1/24", "--tcp", &tcp];
        let server = serve(&net.server, &[&args, security].concat());
        server.errors.line_with("TCP for networks without UDP at ");
        // The host's own routes to the server lead into the tunnel.
        let args = ["tunnel", SERVER, "--route", SERVER, "--route", "10.7.0.0/24", TIMEOUT[0], TIMEOUT[1]];
        let mut client = Guard(spawn(&net.mobile, &[&args, security].concat()));
        let client = (Errors::of(&mut client.0), client);
        client.0.line_with("no answer over UDP; connected over TCP");
        client.0.line_with(": 10.7.0.2");
        let echo = super::tunnel::echo(&net, "10.7.0.1");
        Self { net, server, client, echo }
    }

    /// Waits until the server answers.
    fn answers(&self) {
        super::tunnel::answers(&self.net, "10.7.0.2", self.echo, 1000);
    }

    /// Unblocks UDP. Waits until it carries the packets, with the same addresses.
    fn return_to_udp(&self) {
        block(&self.net.server, "udp", false);
        self.client.0.line_with("UDP works: packets go over it");
        self.client.0.line_with(": 10.7.0.2");
        self.answers();
        // Over UDP alone.
        block(&self.net.server, "tcp", true);
        self.answers();
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
    let tunnel = Tunnel::start(&["cell0"], &[]);
    tunnel.answers();
    // TCP follows the networks: it is bound to an interface, so it does not enter the tunnel.
    tunnel.net.carrier("wlan0", true);
    tunnel.net.carrier("cell0", false);
    tunnel.answers();
    tunnel.return_to_udp();
    tunnel.server.errors.line_with(" has 10.7.0.2");
    tunnel.server.errors.line_with(" has 10.7.0.2");
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
    let tunnel = Tunnel::start(&["wlan0", "cell0"], &["--psk", file.to_str().expect("UTF-8")]);
    tunnel.answers();
    tunnel.return_to_udp();
}
