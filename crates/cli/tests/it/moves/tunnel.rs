//! `msctp tunnel`: the kernel's TCP and ping go on while the mobile changes its network.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use super::net::{self, Net, SERVER};
use super::{Guard, Moments, Move, TIMEOUT, serve, spawn};
use crate::process::{Errors, HANGS, Server, finish, run, wait_for};

/// A network behind the server.
const BEHIND: &str = "10.50.0.1";

/// Bytes of the download: 4 s at the slower link's rate.
const LEN: usize = 8_000_000;

/// Starts a server that echoes datagrams, at an address of the server. Returns its address.
pub(super) fn echo(net: &Net, at: &str) -> SocketAddr {
    let socket = net.server.within(|| UdpSocket::bind((at, 0)).expect("bound"));
    let at = socket.local_addr().expect("an address");
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..len], from);
        }
    });
    at
}

/// A datagram from an address of the mobile, for the server's echo.
struct Question<'a> {
    from: &'a str,
    to: SocketAddr,
    len: usize,
}

impl Question<'_> {
    /// Returns whether the server answers within two seconds.
    fn is_answered(&self, net: &Net) -> bool {
        let socket = net.mobile.within(|| UdpSocket::bind((self.from, 0)).expect("bound"));
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("set");
        let data = vec![1; self.len];
        let mut buffer = [0; 2048];
        // Without a route no datagram leaves.
        socket.send_to(&data, self.to).is_ok()
            && socket.recv(&mut buffer).is_ok_and(|got| buffer[..got] == data)
    }
}

/// Asks until the server answers a datagram of this length from an address of the mobile: any may be lost.
pub(super) fn answers(net: &Net, from: &str, to: SocketAddr, len: usize) {
    let question = Question { from, to, len };
    wait_for(&format!("{to} answers {from}"), || question.is_answered(net));
}

/// Starts a tunnel of the mobile. Returns it with its lines.
fn tunnel(net: &Net, more: &[&str]) -> (Guard, Errors) {
    let mut client = Guard(spawn(&net.mobile, &[&["tunnel", SERVER], &TIMEOUT[..], more].concat()));
    let errors = Errors::of(&mut client.0);
    (client, errors)
}

#[test]
fn a_server_of_all_addresses_leaves_out_that_of_its_tunnel() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    let mut server = Guard(spawn(&net.server, &["serve", "--tunnel", "10.7.0.1/24"]));
    let line = Errors::of(&mut server.0).line_with("listening at ");
    assert!(line.contains(SERVER) && !line.contains("10.7.0.1"), "{line}");
}

#[test]
fn a_network_that_is_routed_twice_is_rejected() {
    let args = ["tunnel", SERVER, "--route", "10.50.0.0/16", "--route", "10.50.0.9/16"];
    let output = run(&args);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(why.contains("--route 10.50.0.0/16: given twice; want each network once"), "{why}");
}

#[test]
fn a_connect_to_the_server_of_a_tunnel_gets_an_error_that_names_it() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    let _server = serve(&net.server, &["serve", "--bind", SERVER, "--tunnel", "10.7.0.1/24"]);
    let output = finish(spawn(&net.mobile, &["connect", SERVER]));
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("this is `msctp serve --tunnel`") && why.contains("`msctp connect` wants"), "{why}");
}

#[test]
fn packets_of_other_programs_survive_moves() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    net.server.run(&format!("ip address add {BEHIND}/32 dev lo"));
    let args = ["serve", "--bind", SERVER, "--tunnel", "10.7.0.1/24", "--tunnel", "fd07::1/64"];
    let server = serve(&net.server, &args);
    // The tunnel's own networks are routed only if they are named.
    let routes = ["--route", "10.50.0.0/24", "--route", "10.7.0.0/24", "--route", "fd07::/64"];
    let (_client, lines) = tunnel(&net, &routes);
    assert!(lines.line_with(": 10.7.0.2").ends_with("10.7.0.2, fd07::2"));
    assert!(net.mobile.output("ip link show msctp0").contains(" mtu 1380 "));
    // Packets of exactly the MTU, over IPv4 and IPv6, and to the network behind the server.
    let (four, six, behind) = (echo(&net, "10.7.0.1"), echo(&net, "fd07::1"), echo(&net, BEHIND));
    answers(&net, "10.7.0.2", four, 1380 - 28);
    answers(&net, "fd07::2", six, 1380 - 48);
    answers(&net, "0.0.0.0", behind, 100);
    // A second tunnel of the host does not take the routes of the first.
    let second = ["tunnel", SERVER, "--route", "10.50.0.0/24", TIMEOUT[0], TIMEOUT[1]];
    let second = finish(spawn(&net.mobile, &second));
    let why = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{why}");
    assert!(why.contains("end the other tunnel or VPN"), "{why}");
    answers(&net, "0.0.0.0", behind, 100);
    // Nor does its association have an address of the first tunnel, which the server would see.
    let other = tunnel(&net, &["--route", "10.60.0.0/24"]);
    other.1.line_with("msctp1: ");
    let bound = net.mobile.output("ss -Huan");
    assert!(!bound.contains("%msctp"), "{bound}");
    drop(other);
    // Packets in fragments.
    answers(&net, "10.7.0.2", four, 2000);
    // The server drops packets from another source than the client's own addresses, as the client does.
    net.mobile.run("ip address add 10.7.0.77/24 dev msctp0");
    let question = Question { from: "10.7.0.77", to: four, len: 100 };
    assert!(!question.is_answered(&net), "another source");
    let listener = net.server.within(|| TcpListener::bind((BEHIND, 0)).expect("bound"));
    let at = listener.local_addr().expect("an address");
    let byte = |n: usize| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let data: Vec<u8> = (0..LEN).map(byte).collect();
        let _ = stream.write_all(&data);
    });
    let mut stream = net.mobile.within(|| TcpStream::connect(at).expect("connected"));
    stream.set_read_timeout(Some(HANGS)).expect("set");
    let reader = thread::spawn(move || {
        let mut got = Vec::with_capacity(LEN);
        let result = stream.read_to_end(&mut got);
        (result.map_err(|error| error.to_string()), got)
    });
    let (mut current, mut other) = ("cell0", "wlan0");
    let mut moments = Moments(11);
    for kind in [Move::MakeBeforeBreak, Move::BreakBeforeMake] {
        thread::sleep(Duration::from_millis(600));
        kind.make(&net.server, current, other, &mut moments);
        std::mem::swap(&mut current, &mut other);
    }
    let (result, got) = reader.join().expect("no panic");
    assert_eq!(result, Ok(LEN));
    assert!(got.iter().enumerate().all(|(n, &got)| got == byte(n)), "other bytes arrived");
    // After a restart of the server the client has the same address; until then nothing leaves another way.
    drop(server);
    let server = serve(&net.server, &args);
    answers(&net, "10.7.0.2", four, 100);
    server.errors.line_with(" has 10.7.0.2, fd07::2");
}

/// Returns the mobile's routes through the tunnel.
fn routes(net: &Net) -> String {
    net.mobile.output("ip route show dev msctp0") + &net.mobile.output("ip -6 route show dev msctp0")
}

#[test]
fn the_routes_stay_when_the_server_gives_other_addresses() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    let serve = |tunnel: &[&str]| -> Server {
        let networks: Vec<&str> = tunnel.iter().flat_map(|network| ["--tunnel", network]).collect();
        let server = super::serve(&net.server, &[&["serve", "--bind", SERVER], &networks[..]].concat());
        server.errors.line_with("msctp0: ");
        server
    };
    let server = serve(&["10.7.0.1/24", "fd07::1/64"]);
    let (_client, lines) = tunnel(&net, &[]);
    lines.line_with("msctp0: 10.7.0.2, fd07::2");
    let has_all = |routes: &str| {
        ["0.0.0.0/1 ", "128.0.0.0/1 ", "::/1 ", "8000::/1 "].iter().all(|half| routes.contains(half))
    };
    let before = routes(&net);
    assert!(has_all(&before), "{before}");
    assert!(!before.contains("10.7.0.0/24"), "the server chooses no routes: {before}");
    // Other addresses of the same networks.
    drop(server);
    let server = serve(&["10.7.0.2/24", "fd07::2/64"]);
    lines.line_with("msctp0: 10.7.0.1, fd07::1");
    let after = routes(&net);
    assert!(has_all(&after), "{after}");
    answers(&net, "10.7.0.1", echo(&net, "10.7.0.2"), 100);
    // A server without IPv4, and a route that another program removed.
    drop(server);
    net.mobile.run("ip route del 128.0.0.0/1 dev msctp0");
    let _server = serve(&["fd09::1/64"]);
    lines.line_with("msctp0: fd09::2");
    let after = routes(&net);
    assert!(has_all(&after), "{after}");
}

#[test]
fn a_client_that_crashed_gets_the_address_of_a_full_network_again() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    let server = serve(&net.server, &["serve", "--bind", SERVER, "--tunnel", "10.7.0.1/30"]);
    server.errors.line_with("msctp0: ");
    for _ in 0..2 {
        // Dropped, it is killed, and its association stays.
        let client = tunnel(&net, &[]);
        client.1.line_with(": 10.7.0.2");
    }
}
