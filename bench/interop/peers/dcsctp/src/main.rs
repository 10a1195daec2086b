//! A peer for the interoperability run: dcsctp over UDP (RFC 6951). It reads commands from stdin and writes
//! events to stdout, as `../../src/peer.rs` describes. It checks nothing itself.

#![expect(clippy::disallowed_methods, reason = "a peer lives in real time")]

use std::collections::VecDeque;
use std::io::BufRead;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use dcsctp::api::{
    DcSctpSocket, ErrorKind, Message, Options, PpId, SendOptions, Socket, SocketEvent, SocketTime, StreamId,
};

const UDP_PORT: u16 = 9899;
/// The other end's SCTP port, which the library requires before the first packet.
const THEIR_PORT: u16 = 5000;

enum Input {
    Datagram(SocketAddr, Vec<u8>),
    Line(String),
}

/// FNV-1a of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the content of message `number` of a stream.
fn fill(stream: u16, number: u32, size: usize) -> Vec<u8> {
    let mut x = number.wrapping_mul(2_654_435_761).wrapping_add(stream.into());
    let next = |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..size).map(next).collect()
}

struct Peer {
    options: Options,
    socket: Option<Socket>,
    udp: Option<UdpSocket>,
    remote: Option<SocketAddr>,
    /// Messages that wait for room in the send buffer.
    outgoing: VecDeque<(Message, SendOptions)>,
    start: Instant,
    shutdown_after: bool,
    inputs: Sender<Input>,
}

fn list(streams: &[StreamId]) -> String {
    streams.iter().map(|stream| format!(" {}", stream.0)).collect()
}

impl Peer {
    fn event(&mut self, event: SocketEvent) {
        match event {
            SocketEvent::SendPacket(bytes) => {
                if let (Some(udp), Some(remote)) = (&self.udp, self.remote) {
                    let _ = udp.send_to(&bytes, remote);
                }
            }
            SocketEvent::OnConnected() => {
                let metrics = self.socket.as_ref().and_then(Socket::get_metrics);
                let streams = metrics.map_or((0, 0), |metrics| {
                    (metrics.negotiated_maximum_outgoing_streams, metrics.negotiated_maximum_incoming_streams)
                });
                println!("up {} {}", streams.0, streams.1);
            }
            SocketEvent::OnClosed() => println!("closed"),
            SocketEvent::OnConnectionRestarted() => println!("restart"),
            SocketEvent::OnAborted(ErrorKind::NoError, _) => println!("closed"),
            SocketEvent::OnAborted(kind, why) => println!("lost {kind:?} {why}"),
            SocketEvent::OnError(kind, why) => println!("peer-error {kind:?} {why}"),
            SocketEvent::OnStreamsResetPerformed(streams) => println!("reset out{}", list(&streams)),
            SocketEvent::OnStreamsResetFailed(streams) => println!("reset out failed{}", list(&streams)),
            SocketEvent::OnIncomingStreamReset(streams) => println!("reset in{}", list(&streams)),
            _ => {}
        }
    }

    fn drive(&mut self) {
        let now = SocketTime::zero() + self.start.elapsed();
        let Some(socket) = &mut self.socket else { return };
        socket.advance_time(now);
        while let Some((message, options)) = self.outgoing.pop_front() {
            // A copy, because what is refused is not given back.
            let copy = Message::new(message.stream_id, message.ppid, message.payload.clone());
            if socket.send(copy, &options).is_err() {
                self.outgoing.push_front((message, options));
                break;
            }
        }
        if self.shutdown_after && self.outgoing.is_empty() {
            self.shutdown_after = false;
            socket.shutdown();
        }
        while let Some(message) = socket.get_next_message() {
            // The library does not say how a message was sent; its identifier does.
            let order = if message.ppid.0 >= 1000 { 'u' } else { 'o' };
            let (stream, len) = (message.stream_id.0, message.payload.len());
            println!("message {stream} {order} {} {len} {:016x}", message.ppid.0, hash(&message.payload));
        }
        while let Some(event) = self.socket.as_mut().and_then(Socket::poll_event) {
            self.event(event);
        }
    }

    fn wait(&self) -> Duration {
        let now = SocketTime::zero() + self.start.elapsed();
        let wait = self.socket.as_ref().map_or(Duration::MAX, |socket| socket.poll_timeout() - now);
        wait.clamp(Duration::from_millis(1), Duration::from_millis(50))
    }

    fn begin(&mut self, v6: bool) -> std::io::Result<()> {
        let any = if v6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
        let udp = UdpSocket::bind((any, UDP_PORT))?;
        let (reader, inputs) = (udp.try_clone()?, self.inputs.clone());
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok((len, from)) = reader.recv_from(&mut buffer) {
                if inputs.send(Input::Datagram(from, buffer[..len].to_vec())).is_err() {
                    return;
                }
            }
        });
        self.udp = Some(udp);
        Ok(())
    }

    fn option(&mut self, words: &[&str]) -> Option<()> {
        let value: u64 = words.get(1)?.parse().ok()?;
        match *words.first()? {
            "pr" => self.options.enable_partial_reliability = value != 0,
            "interleaving" => self.options.enable_message_interleaving = value != 0,
            _ => return None,
        }
        Some(())
    }

    /// `STREAM o|u COUNT SIZE FIRST [ttl|rtx VALUE]`
    fn send(&mut self, words: &[&str]) -> Option<()> {
        let [stream, order, count, size, first, policy @ ..] = words else { return None };
        let (stream, unordered): (u16, bool) = (stream.parse().ok()?, *order == "u");
        let (first, size): (u32, usize) = (first.parse().ok()?, size.parse().ok()?);
        for i in 0..count.parse().ok()? {
            let mut options = SendOptions { unordered, ..SendOptions::default() };
            match policy {
                ["ttl", ms] => options.lifetime = Some(Duration::from_millis(ms.parse().ok()?)),
                ["rtx", n] => options.max_retransmissions = Some(n.parse().ok()?),
                [] => {}
                _ => return None,
            }
            let ppid = PpId(u32::from(stream) + 100 + if unordered { 1000 } else { 0 });
            let message = Message::new(StreamId(stream), ppid, fill(stream, first + i, size));
            self.outgoing.push_back((message, options));
        }
        Some(())
    }

    fn perform(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["begin", rest @ ..] => self.begin(rest == ["6"]).ok(),
            ["option", rest @ ..] => self.option(rest),
            ["open", port, ..] => {
                self.options.local_port = port.parse().ok()?;
                self.options.remote_port = THEIR_PORT;
                self.socket = Some(Socket::new("peer", &self.options));
                Some(())
            }
            ["connect", _, address, ..] => {
                self.remote = Some(SocketAddr::new(address.parse().ok()?, UDP_PORT));
                self.socket.as_mut()?.connect();
                Some(())
            }
            ["send", rest @ ..] => self.send(rest),
            ["reset", "out", streams @ ..] => {
                let streams: Option<Vec<StreamId>> =
                    streams.iter().map(|stream| stream.parse().ok().map(StreamId)).collect();
                self.socket.as_mut()?.reset_streams(&streams?).ok()
            }
            ["shutdown"] => {
                self.shutdown_after = true;
                Some(())
            }
            ["abort"] => {
                self.socket.as_mut()?.close();
                Some(())
            }
            _ => None,
        }
    }
}

fn read_commands(inputs: Sender<Input>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let _ = inputs.send(Input::Line(line));
    }
    let _ = inputs.send(Input::Line("quit".to_owned()));
}

fn serve(peer: &mut Peer, inputs: &Receiver<Input>) {
    loop {
        peer.drive();
        let Ok(first) = inputs.recv_timeout(peer.wait()) else { continue };
        for input in std::iter::once(first).chain(inputs.try_iter().take(64)) {
            match input {
                Input::Datagram(from, bytes) => {
                    peer.remote = Some(from);
                    if let Some(socket) = &mut peer.socket {
                        socket.handle_input(&bytes);
                    }
                }
                Input::Line(line) => {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    match words.first() {
                        Some(&"quit") => return,
                        Some(what) => match peer.perform(&words) {
                            Some(()) => println!("done {what}"),
                            None => println!("error {what}: not understood, or refused"),
                        },
                        None => {}
                    }
                }
            }
        }
    }
}

fn main() {
    println!("hello dcsctp 0.1.16");
    let (inputs, receiver) = channel();
    let mut peer = Peer {
        options: Options::default(),
        socket: None,
        udp: None,
        remote: None,
        outgoing: VecDeque::new(),
        start: Instant::now(),
        shutdown_after: false,
        inputs: inputs.clone(),
    };
    std::thread::spawn(move || read_commands(inputs));
    serve(&mut peer, &receiver);
    // The reader of the socket ends with the process.
    std::process::exit(0);
}
