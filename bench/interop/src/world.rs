//! Our end over real sockets, the peer, and the waits for events. One thread drives everything; all input
//! arrives through one channel.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use msctp_proto::{
    Association, CallError, Config, DatagramOutcome, Endpoint, EndpointConfig, Event, Handle, LocalAddrs,
    OutMessage, PathAddr, PathState, PathStats, Pmtu, RemoteAddrs,
};
use msctp_units::{Span, Time};

use crate::capture::Capture;
use crate::input::Input;
use crate::message::{Batch, Got, compare, fill, ppid_of};
use crate::net::{Links, Net};
use crate::peer::Peer;
use crate::sockets::Sockets;

/// RFC 6951 §5.1.
pub const UDP_PORT: u16 = 9899;
/// SCTP ports: those of WebRTC, since pion has no others.
pub const OUR_PORT: u16 = 5000;
pub const THEIR_PORT: u16 = 5000;
/// The UDP header is taken from the MTU (RFC 6951 §5.6).
const PMTU: u32 = 1500 - 8;
/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(15);

/// Reason why a check stops.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The check failed.
    Failed(String),
    /// The peer does not support the feature.
    Unsupported(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        Self::Failed(format!("our end refuses: {error}"))
    }
}

/// Stops a check unless `right`.
pub fn ensure(right: bool, why: impl Into<String>) -> Result<(), Stop> {
    if right { Ok(()) } else { Err(Stop::Failed(why.into())) }
}

/// Decides whether a packet is lost, by whether we sent it, its bytes, and its addresses as we see them.
type Loss = Box<dyn FnMut(bool, &[u8], PathAddr) -> bool>;

/// Both ends.
pub struct World {
    pub net: Net,
    endpoint: Endpoint,
    config: Config,
    handle: Option<Handle>,
    sockets: Sockets,
    inputs: Receiver<Input>,
    peer: Peer,
    peer_gone: bool,
    /// `NAME VERSION`.
    pub peer_name: String,
    /// Lines of the peer, without answers and messages.
    pub said: Vec<String>,
    answers: VecDeque<String>,
    capture: Capture,
    start: Instant,
    pub events: Vec<Event>,
    /// Messages received by us.
    pub ours: Vec<Got>,
    /// Messages received by the peer.
    pub theirs: Vec<Got>,
    loss: Option<Loss>,
    outgoing: VecDeque<OutMessage>,
    buffer: Vec<u8>,
    // Last: they go when the peer is gone.
    _links: Links,
}

impl World {
    /// Starts the peer and sets up the network.
    pub fn new(net: Net, program: &str, config: Config, capture: &Path) -> Result<Self, String> {
        let (sender, inputs) = channel();
        let peer = Peer::start(program, sender.clone())?;
        let endpoint = Endpoint::new(EndpointConfig::default(), seed()).map_err(|e| e.to_string())?;
        let mut world = Self {
            net,
            endpoint,
            config: Config { pmtu: Pmtu::UpTo(PMTU), ..config },
            handle: None,
            sockets: Sockets::default(),
            inputs,
            peer,
            peer_gone: false,
            peer_name: String::new(),
            said: Vec::new(),
            answers: VecDeque::new(),
            capture: Capture::begin(capture).map_err(|e| e.to_string())?,
            start: Instant::now(),
            events: Vec::new(),
            ours: Vec::new(),
            theirs: Vec::new(),
            loss: None,
            outgoing: VecDeque::new(),
            buffer: Vec::new(),
            _links: Links(net),
        };
        // Said from within its namespace, which is therefore there.
        world.until("the peer's process", |world| !world.said.is_empty()).map_err(why)?;
        let hello = world.said.remove(0);
        world.peer_name = hello.strip_prefix("hello ").ok_or("the peer does not say hello")?.to_owned();
        net.set_up(world.peer.id())?;
        for link in [0, 1] {
            let address = SocketAddr::new(net.ours(link), UDP_PORT);
            world.sockets.bind(address, &sender).map_err(|e| format!("{address}: {e}"))?;
        }
        Ok(world)
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Datagram { to, from, bytes } => self.take_datagram(to, from, &bytes),
            Input::Line(line) if line.starts_with("done ") || line.starts_with("error ") => {
                self.answers.push_back(line);
            }
            Input::Line(line) => match line.strip_prefix("message ").and_then(Got::read) {
                Some(message) => self.theirs.push(message),
                None => self.said.push(line),
            },
            Input::PeerGone => self.peer_gone = true,
        }
    }

    fn take_datagram(&mut self, to: SocketAddr, from: SocketAddr, bytes: &[u8]) {
        let at = PathAddr { local: to.ip(), remote: from.ip() };
        if self.loss.as_mut().is_some_and(|lost| lost(false, bytes, at)) {
            return;
        }
        // A full disk shows when the capture is read.
        let _ = self.capture.write(self.start.elapsed(), from, to, bytes);
        if let DatagramOutcome::Accepted(handle) =
            self.endpoint.handle_datagram(self.now(), at, &mut bytes.to_vec())
        {
            self.handle = Some(handle);
        }
    }

    fn drain(&mut self) {
        loop {
            let now = self.now();
            self.buffer.clear();
            let mut buffer = std::mem::take(&mut self.buffer);
            let transmit = self.endpoint.poll_transmit(now, &mut buffer);
            self.buffer = buffer;
            let Some(transmit) = transmit else { break };
            self.send_packet(transmit.at);
        }
        while let Some((_, event)) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        if let Some(association) = self.handle.and_then(|handle| self.endpoint.association_mut(handle)) {
            while let Some(message) = association.recv().or_else(|_| association.recv()).ok().flatten() {
                self.ours.push(Got::new(message.stream, message.unordered, message.ppid, &message.data));
            }
        }
    }

    fn send_packet(&mut self, at: PathAddr) {
        let lost = self.loss.as_mut().is_some_and(|lost| lost(true, &self.buffer, at));
        let from = SocketAddr::new(at.local, UDP_PORT);
        let to = SocketAddr::new(at.remote, UDP_PORT);
        // A packet that a downed link refuses is lost, as it would be on the link.
        if !lost && self.sockets.send(from, to, &self.buffer) {
            let _ = self.capture.write(self.start.elapsed(), from, to, &self.buffer);
        }
    }

    /// Passes queued messages to the association until its send buffer is full.
    fn feed(&mut self) {
        let now = self.now();
        let Some(handle) = self.handle else { return };
        let Some(association) = self.endpoint.association_mut(handle) else { return };
        while let Some(message) = self.outgoing.front() {
            match association.send(now, message.clone()) {
                Ok(()) => drop(self.outgoing.pop_front()),
                Err(_) => return,
            }
        }
    }

    fn step(&mut self, longest: Duration) {
        self.feed();
        // Reads since then may have opened the window.
        self.drain();
        let wake =
            self.endpoint.poll_timeout().map(|at| Duration::from_nanos(at.since(self.now()).as_nanos()));
        match self.inputs.recv_timeout(wake.unwrap_or(longest).min(longest)) {
            Ok(input) => {
                self.take(input);
                while let Ok(input) = self.inputs.try_recv() {
                    self.take(input);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.peer_gone = true,
        }
        let now = self.now();
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        self.drain();
    }

    /// Runs both ends until `is` holds.
    pub fn until(&mut self, what: &str, is: impl Fn(&Self) -> bool) -> Result<(), Stop> {
        self.until_within(PATIENCE, what, is)
    }

    pub fn until_within(
        &mut self,
        patience: Duration,
        what: &str,
        is: impl Fn(&Self) -> bool,
    ) -> Result<(), Stop> {
        let end = Instant::now() + patience;
        while !is(self) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.peer_gone {
                let how = if self.peer_gone { "the peer's process ended" } else { "not in time" };
                let last = self.said.last().map_or("nothing", String::as_str);
                return Err(Stop::Failed(format!("{what}: {how}; the last word of the peer: {last}")));
            }
            self.step(left.min(Duration::from_millis(100)));
        }
        Ok(())
    }

    /// Runs both ends for `time`.
    pub fn rest(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.step(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Sends the peer a command and waits for its answer.
    pub fn ask(&mut self, command: &str) -> Result<(), Stop> {
        self.answers.clear();
        self.peer.tell(command)?;
        self.until(&format!("the peer's {command}"), |world| !world.answers.is_empty())?;
        match self.answers.pop_front() {
            Some(answer) if answer.starts_with("done") => Ok(()),
            answer => Err(Stop::Failed(format!("{command}: the peer says {}", answer.unwrap_or_default()))),
        }
    }

    /// Sends the peer a command without waiting for its answer.
    pub fn tell(&mut self, command: &str) -> Result<(), Stop> {
        Ok(self.peer.tell(command)?)
    }

    /// Loses packets from now on, as `loss` decides.
    pub fn lose(&mut self, loss: impl FnMut(bool, &[u8], PathAddr) -> bool + 'static) {
        self.loss = Some(Box::new(loss));
    }

    /// Returns our association.
    pub fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.handle?)
    }

    /// Calls our association.
    pub fn call<R>(&mut self, f: impl FnOnce(&mut Association, Time) -> R) -> Result<R, Stop> {
        let now = self.now();
        let association = self.handle.and_then(|handle| self.endpoint.association_mut(handle));
        let result = association.map(|association| f(association, now));
        self.drain();
        result.ok_or_else(|| Stop::Failed("our association is gone".to_owned()))
    }

    pub fn paths(&self) -> Vec<PathStats> {
        self.association().map(|association| association.paths().collect()).unwrap_or_default()
    }

    /// Returns the path over one link, once it is confirmed.
    pub fn path(&self, link: u8) -> Option<PathStats> {
        let at = PathAddr { local: self.net.ours(link), remote: self.net.theirs(link) };
        self.paths().into_iter().find(|path| path.at == at && path.state != PathState::Unconfirmed)
    }

    /// Begins an association from `links` addresses of ours to the peer's on link 0.
    pub fn connect(&mut self, links: u8) -> Result<(), Stop> {
        let local = LocalAddrs { port: OUR_PORT, addresses: (0..links).map(|n| self.net.ours(n)).collect() };
        let remote = RemoteAddrs { port: THEIR_PORT, addresses: vec![self.net.theirs(0)] };
        let handle = self.endpoint.connect(self.now(), self.config.clone(), local, remote);
        self.handle = Some(handle.map_err(|e| e.to_string())?);
        Ok(())
    }

    /// Listens with `links` addresses of ours.
    pub fn listen(&mut self, links: u8) -> Result<(), Stop> {
        let addresses = (0..links).map(|n| self.net.ours(n)).collect();
        let local = LocalAddrs { port: OUR_PORT, addresses };
        Ok(self.endpoint.listen(local, self.config.clone()).map_err(|e| e.to_string())?)
    }

    /// Waits until both ends report that the association is up.
    pub fn until_up(&mut self) -> Result<(), Stop> {
        self.until("the association is up at both ends", |world| {
            world.is_connected() && world.has_said("up ")
        })
    }

    pub fn is_connected(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Connected { .. }))
    }

    /// Returns whether a line of the peer begins with `begin`.
    pub fn has_said(&self, begin: &str) -> bool {
        self.said.iter().any(|line| line.starts_with(begin))
    }

    /// Queues messages at this end.
    pub fn send(&mut self, batch: &Batch) {
        self.send_with(batch, |message| message);
    }

    pub fn send_with(&mut self, batch: &Batch, change: impl Fn(OutMessage) -> OutMessage) {
        for i in 0..batch.count {
            let data = Bytes::from(fill(batch.stream, batch.first + i, batch.size));
            let message = OutMessage {
                stream: batch.stream,
                ppid: ppid_of(batch.stream, batch.unordered),
                unordered: batch.unordered,
                data,
                ..OutMessage::default()
            };
            self.outgoing.push_back(change(message));
        }
    }

    /// Sends these messages to the peer and waits until they have arrived, unchanged.
    pub fn deliver(&mut self, batches: &[Batch]) -> Result<(), Stop> {
        self.theirs.clear();
        for batch in batches {
            self.send(batch);
        }
        let wanted = batches.iter().map(|batch| batch.count as usize).sum();
        let arrived = self.until("our messages at the peer", |world| world.theirs.len() >= wanted);
        compare(&self.theirs, batches)?;
        arrived
    }

    /// Has the peer send these messages and waits until they have arrived, unchanged.
    pub fn collect(&mut self, batches: &[Batch]) -> Result<(), Stop> {
        self.ours.clear();
        for batch in batches {
            self.tell(&batch.command())?;
        }
        let wanted = batches.iter().map(|batch| batch.count as usize).sum();
        let arrived = self.until("the peer's messages here", |world| world.ours.len() >= wanted);
        compare(&self.ours, batches)?;
        arrived
    }

    /// Ends the check and returns the number of frames captured.
    pub fn finish(self) -> io::Result<u64> {
        self.capture.finish()
    }
}

/// Returns the text of a stop.
pub fn why(stop: Stop) -> String {
    match stop {
        Stop::Failed(why) | Stop::Unsupported(why) => why,
    }
}

/// Returns a seed. Tags and keys need not be secret here, only different from those of the run before.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    seed[..16].copy_from_slice(&now.as_nanos().to_le_bytes());
    seed
}
