//! Packets over TCP where UDP does not arrive: `serve --tcp`, as processes on loopback.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use crate::client::{Forward, connect, echoes};
use crate::process::{HANGS, Server, run, signal, stderr, wait_for};
use crate::targets::echo;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// Starts a server whose UDP port is at another address than its TCP port. Also returns the TCP address.
fn serve(target: SocketAddr) -> (Server, SocketAddr) {
    let (target, tcp) = (target.to_string(), "127.0.0.2:0");
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--allow", &target, "--tcp", tcp]);
    let line = server.errors.line_with("TCP for networks without UDP at ");
    let at = line.rsplit(' ').next().and_then(|at| at.parse().ok());
    (server, at.expect("its address"))
}

/// A client whose time to connect ends only when it hangs.
fn forward(server: SocketAddr, target: SocketAddr) -> Forward {
    let timeout = HANGS.as_secs().to_string();
    Forward::start(&server.to_string(), &["-L", &format!("0:{target}"), "--timeout", &timeout])
}

#[test]
fn a_client_without_udp_connects_over_tcp() {
    let echo = echo();
    let (server, tcp) = serve(echo);
    let data: Vec<u8> = (0..2_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    // The host answers that nobody listens.
    let client = forward(tcp, echo);
    let notice = format!("{tcp}: the UDP port is closed; connected over TCP\n");
    assert_eq!(client.notices, [notice]);
    assert!(echoes(&client.connect(0), &data));
    // A network drops the packets.
    let silent = UdpSocket::bind(tcp).unwrap();
    let begin = Instant::now();
    let other = forward(tcp, echo);
    let notice = format!("{tcp}: no answer over UDP; connected over TCP\n");
    assert_eq!(other.notices, [notice]);
    assert!(begin.elapsed() >= Duration::from_secs(4), "UDP has its time");
    silent.set_nonblocking(true).unwrap();
    assert!(silent.recv(&mut [0; 2000]).is_ok(), "it tried UDP");
    assert!(echoes(&other.connect(0), &data) && echoes(&client.connect(0), &data));
    // Each end learns of the other's end.
    let open = client.connect(0);
    assert!(echoes(&open, b"x"));
    signal(&server.child, "TERM");
    client.errors.line_with("association lost: the peer ended the association: terminated");
    assert!(!echoes(&open, b"y"));
}

#[test]
fn without_tcp_there_the_error_is_that_of_udp() {
    let output = run(&["forward", "127.0.0.1:9", "-W", "127.0.0.1:1", "--timeout", "600"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("want `msctp serve`"), "{}", stderr(&output));
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let output = run(&["forward", &at, "-W", "127.0.0.1:1", "--timeout", "3"]);
    assert!(stderr(&output).contains("no answer for 3 s"), "{}", stderr(&output));
}

#[test]
fn an_association_survives_the_end_of_its_tcp_connection() {
    let echo = echo();
    let (_server, tcp) = serve(echo);
    let middle = TcpListener::bind("127.0.0.3:0").unwrap();
    let at = middle.local_addr().unwrap();
    let streams = Arc::new(Mutex::new(Vec::new()));
    let cut = Arc::clone(&streams);
    thread::spawn(move || {
        for near in middle.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(tcp).unwrap());
            let both =
                [(&near, &far), (&far, &near)].map(|(a, b)| (a.try_clone().unwrap(), b.try_clone().unwrap()));
            streams.lock().unwrap().extend([near, far]);
            for (mut from, mut to) in both {
                thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    let client = forward(at, echo);
    let open = client.connect(0);
    assert!(echoes(&open, b"before"));
    for stream in cut.lock().unwrap().drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    assert!(echoes(&open, b"after"));
    assert!(!cut.lock().unwrap().is_empty(), "another TCP connection");
}

#[test]
fn hostile_connections_end_and_harm_no_other() {
    let echo = echo();
    let (_server, tcp) = serve(echo);
    let is_closed = |mut stream: &TcpStream| match stream.read(&mut [0; 1]) {
        Ok(len) => len == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    let send = |data: &[u8]| {
        let mut stream = connect(tcp);
        stream.write_all(data).unwrap();
        stream
    };
    // Another protocol, and an empty frame.
    assert!(is_closed(&send(b"GET / HTTP/1.1\r\n\r\n")));
    assert!(is_closed(&send(b"msctp/1\0\0")));
    // Garbage in valid frames is dropped as over UDP; an unfinished frame waits.
    let mut garbage = b"msctp/1".to_vec();
    for len in [1_u16, 12, 100, 65_535] {
        garbage.extend(len.to_be_bytes());
        garbage.extend(vec![0xff; usize::from(len)]);
    }
    let held = [send(&garbage), send(b"msctp/1\xff\xffunfinished"), send(b"msc"), send(b"msctp/1")];
    let client = forward(tcp, echo);
    assert!(echoes(&client.connect(0), b"beside"));
    // One source has 32 places, of which the client has one. Without the preface each is free after 5 s, so
    // that an earlier end is a refusal. A machine that held the test up for so long gets another round.
    let mut more = Vec::new();
    wait_for("of 40 connections of one source the server refuses some at once", || {
        more.clear();
        let begin = Instant::now();
        more = (0..40).map(|_| connect(tcp)).collect();
        loop {
            let left = more.iter().filter(|stream| stays(stream)).count();
            let is_early = begin.elapsed() < Duration::from_secs(5);
            if left < 32 || !is_early {
                return left < 32 && is_early;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(echoes(&client.connect(0), b"beside"));
    wait_for("those without a preface end", || {
        more.retain(stays);
        more.is_empty()
    });
    let other = forward(tcp, echo);
    assert!(echoes(&other.connect(0), b"another"));
    // Without an association each is free after 5 s.
    wait_for("connections without an association end", || !held.iter().any(stays));
    assert!(echoes(&client.connect(0), b"beside"), "an association stays");
}

/// Connects from an address of loopback.
fn connect_from(source: &str, at: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(source.parse().unwrap(), 0).into())?;
    socket.connect(&at.into())?;
    Ok(socket.into())
}

/// Returns whether the other end keeps the connection. The connection becomes non-blocking.
fn stays(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

/// The open files of a process, and its resident memory in bytes.
fn resources(child: &Child) -> (usize, usize) {
    let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count();
    let memory = std::fs::read_to_string(format!("/proc/{}/statm", child.id())).unwrap();
    (files, memory.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096)
}

/// Places of one source in the relay.
const PLACES: usize = 32;

/// Connects as often as it can, keeps what stays open, and makes the relay buffer as much as a connection
/// may: the longest frame without its end.
fn flood(source: &str, at: SocketAddr, end: &AtomicBool, made: &AtomicU32) {
    let mut frame = b"msctp/1\xff\xff".to_vec();
    frame.resize(65_000, 0);
    let mut held: Vec<TcpStream> = Vec::new();
    while !end.load(Ordering::Relaxed) {
        if let Ok(mut stream) = connect_from(source, at) {
            made.fetch_add(1, Ordering::Relaxed);
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(&frame);
            held.push(stream);
        }
        if held.len() >= 200 {
            held.retain(stays);
        }
    }
}

#[test]
fn a_flood_from_one_source_leaves_the_relay_to_others() {
    let echo = echo();
    let (server, tcp) = serve(echo);
    let before = forward(tcp, echo);
    let open = before.connect(0);
    assert!(echoes(&open, b"before"));
    let (files, memory) = resources(&server.child);
    let (end, made) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| flood("127.0.0.5", tcp, &end, &made));
        }
        // Whatever fails below, the flood ends.
        let _ended = Ended(&end);
        wait_for("the flood begins", || made.load(Ordering::Relaxed) >= 500);
        // Another source gets its places at once and keeps them; an association is set up and works.
        let begin = Instant::now();
        let other: Vec<_> = (0..PLACES).map(|_| connect_from("127.0.0.6", tcp).unwrap()).collect();
        let client = forward(tcp, echo);
        assert!(echoes(&client.connect(0), b"during"));
        let all_stay = other.iter().all(stays);
        assert!(all_stay || begin.elapsed() >= Duration::from_secs(5), "they have 5 s for the preface");
        let mut most = (0, 0);
        wait_for("the flood goes on", || {
            let (files, memory) = resources(&server.child);
            most = (most.0.max(files), most.1.max(memory));
            made.load(Ordering::Relaxed) >= 5_000 && begin.elapsed() >= Duration::from_secs(2)
        });
        assert!(echoes(&open, b"after") && echoes(&client.connect(0), b"after"));
        // The TCP and the UDP socket of each place, those of the client, and some that are being closed.
        let allowed = files + 2 * (2 * PLACES + 1) + 16;
        assert!(most.0 <= allowed, "{} open files, {files} before", most.0);
        assert!(most.1 <= memory + (24 << 20), "{} bytes of memory, {memory} before", most.1);
        eprintln!("{made:?} connections: {} files after {files}, {} bytes after {memory}", most.0, most.1);
    });
    // The places come back: nothing of the flood stays open.
    wait_for("the source has places again", || {
        let again = connect_from("127.0.0.5", tcp).unwrap();
        thread::sleep(Duration::from_millis(100));
        stays(&again)
    });
}

/// Ends a flood when dropped.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
