//! [`Driver`]: the task of a shard of an endpoint. Receives, runs the core, sends, keeps the timer. That of
//! the first shard also follows the interfaces.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use msctp_proto::{DatagramOutcome, Handle, LinkChange, LinkKind, PathAddr, Scope, SocketOrder, TraceEvent};
use msctp_udp::{
    Batch, Datagram, EcnCodepoint, Fragment, IcmpError, IcmpKind, Interface, InterfaceWatch, Outgoing,
    Socket, SocketOptions, UDP_HEADER,
};
use msctp_units::{Ecn, Time};
use tokio::time::Sleep;

use crate::binding::{SocketChange, device_of};
use crate::forward::Forwarded;
use crate::log;
use crate::options::{TraceSink, is_excepted};
use crate::outbox::{Item, Outbox};
use crate::panics::contain;
use crate::shards::Shards;
use crate::state::{Shared, State};

/// Rounds of receiving and sending before the task yields to other tasks of the runtime.
const ROUNDS: u32 = 16;

/// Maximum number of associations whose peers have not proved their keys and whose messages are handled
/// before the runtime's other tasks.
const SET_UPS: u32 = 8;

/// The same before packets that may have arrived meanwhile.
const SET_UPS_OF_ROUND: u32 = 2;

/// The same if packets arrived in this round: set-ups do not wait for ever for a busy association.
const SET_UPS_BESIDE_PACKETS: u32 = 1;

/// Maximum bytes queued for a blocked socket. Packets beyond it are dropped, as in any queue of the network.
const MAX_PENDING: usize = 256 << 10;

/// Upper Layer Abort Reason in the ABORTs of associations that outlive their runtime.
const RUNTIME_ENDED: &[u8] = b"the program ended without a shutdown";

/// Upper Layer Abort Reason in the ABORTs of a shard's associations if another shard fails.
const SHARD_FAILED: &[u8] = b"the program failed";

/// A socket and the packets queued for it.
#[derive(Debug)]
struct Line {
    socket: Socket,
    pending: VecDeque<Waiting>,
    pending_bytes: usize,
}

/// Packets that a socket did not accept at once.
#[derive(Debug)]
struct Waiting {
    from: IpAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
    segment_size: Option<usize>,
    ecn: Option<EcnCodepoint>,
    fragment: Fragment,
    handle: Option<Handle>,
}

/// A packet that the system did not send: its association, its path, and why.
type Refused = (Handle, PathAddr, Refusal);

/// Why the system did not send a packet.
enum Refusal {
    /// It is longer than the interface allows: its bytes.
    TooLong(usize),
    /// There is no route to its destination.
    NoRoute,
}

/// The task of a shard.
#[derive(Debug)]
pub(crate) struct Driver {
    shared: Arc<Shared>,
    shards: Arc<Shards>,
    /// Packets received for other shards, by their index. Empty if there are none.
    misplaced: Vec<Vec<Forwarded>>,
    forwarded: VecDeque<Forwarded>,
    /// The sockets by their addresses. That of an unspecified address serves those without one.
    lines: BTreeMap<IpAddr, Line>,
    /// Addresses that the socket of all addresses does not serve.
    removed: BTreeSet<IpAddr>,
    watch: Option<InterfaceWatch>,
    batch: Batch,
    outbox: Outbox,
    trace: Option<TraceSink>,
    /// The trace that the sink gets next. Empty between calls.
    traced: Vec<(u64, TraceEvent)>,
    timer: Pin<Box<Sleep>>,
    deadline: Option<Time>,
    /// True if `State::flushed` must be set when the kernel has every packet.
    report_flush: bool,
    /// True if this shard is among the [`finished`](Shards::finished).
    finished: bool,
}

impl Driver {
    /// Creates the task of a shard. Only the first shard has a `watch`, and it binds later sockets for all.
    pub(crate) fn new(
        shared: Arc<Shared>,
        shards: Arc<Shards>,
        sockets: Vec<Socket>,
        watch: Option<InterfaceWatch>,
    ) -> Self {
        let lines = sockets.into_iter().map(|socket| (socket.local().ip(), Line::new(socket))).collect();
        let now = tokio::time::Instant::now();
        let (offload, trace) = {
            let state = shared.lock();
            (state.offload, state.trace.clone())
        };
        let others = if shared.place.of > 1 { shared.place.of } else { 0 };
        Self {
            shared,
            shards,
            misplaced: (0..others).map(|_| Vec::new()).collect(),
            forwarded: VecDeque::new(),
            lines,
            removed: BTreeSet::new(),
            watch,
            batch: Batch::default(),
            outbox: Outbox { offload, ..Outbox::default() },
            trace,
            traced: Vec::new(),
            timer: Box::pin(tokio::time::sleep_until(now)),
            deadline: None,
            report_flush: false,
            finished: false,
        }
    }

    /// Receives a batch from each socket. Returns whether anything arrived.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        let mut broken = Vec::new();
        for (&ip, line) in &self.lines {
            match line.socket.poll_recv(cx, &mut self.batch) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => {
                    any = true;
                    let mut state = self.shared.lock();
                    let now = state.now();
                    let mut before = None;
                    let (dispatch, place) = (&self.shards.dispatch, self.shared.place);
                    for mut datagram in self.batch.datagrams() {
                        if self.removed.contains(&datagram.local) {
                            continue;
                        }
                        if place.of > 1 {
                            let index = dispatch.index_of(datagram.bytes);
                            if index != usize::from(place.index) {
                                self.misplaced[index].push(Forwarded::of(&datagram));
                                continue;
                            }
                        }
                        contain(&mut state, &mut self.outbox, |state, outbox| {
                            take(state, now, &mut datagram, &mut before, outbox);
                        });
                    }
                }
                Poll::Ready(Err(_)) => broken.push(ip),
            }
        }
        for ip in broken {
            self.lines.remove(&ip);
            let mut state = self.shared.lock();
            let now = state.now();
            state.close_socket(now, ip);
            any = true;
        }
        self.forward();
        any
    }

    /// Passes packets of other shards to their queues.
    fn forward(&mut self) {
        for (shard, entries) in self.shards.iter().zip(&mut self.misplaced) {
            if !entries.is_empty() {
                shard.forwarded.extend(entries.drain(..));
            }
        }
    }

    /// Handles packets that other shards received for this one. Returns whether there were any.
    fn receive_forwarded(&mut self, cx: &Context<'_>) -> bool {
        if self.shared.place.of == 1 {
            return false;
        }
        let mut entries = std::mem::take(&mut self.forwarded);
        self.shared.forwarded.take(cx, &mut entries);
        let any = !entries.is_empty();
        let mut before = None;
        for entry in entries.drain(..) {
            match entry {
                Forwarded::Datagram { local, remote, ecn, mut bytes } => {
                    let mut state = self.shared.lock();
                    let now = state.now();
                    let mut datagram = Datagram { local, remote, ecn, bytes: &mut bytes };
                    contain(&mut state, &mut self.outbox, |state, outbox| {
                        take(state, now, &mut datagram, &mut before, outbox);
                    });
                }
                Forwarded::Icmp(local, message) => {
                    take_icmp(&mut self.shared.lock(), local, &message);
                }
                Forwarded::Evicted(handle) => {
                    let mut state = self.shared.lock();
                    let now = state.now();
                    state.evict(now, handle);
                }
            }
        }
        self.forwarded = entries;
        any
    }

    /// Makes the changes of the sockets that the state has. Returns whether there were any.
    fn change_sockets(&mut self, changes: Vec<SocketChange>) -> bool {
        let any = !changes.is_empty();
        for change in changes {
            match change {
                SocketChange::Open(socket) => {
                    self.removed.remove(&socket.local().ip());
                    self.lines.insert(socket.local().ip(), Line::new(*socket));
                }
                SocketChange::Serve(ip) => {
                    self.removed.remove(&ip);
                }
                SocketChange::Close(ip) => {
                    self.lines.remove(&ip);
                    if self.lines.keys().any(IpAddr::is_unspecified) {
                        self.removed.insert(ip);
                    }
                }
            }
        }
        any
    }

    /// Reads changes of the host's interfaces. Returns whether there were any.
    fn watch(&mut self, cx: &mut Context<'_>) -> bool {
        let mut changed = Vec::new();
        while let Some(watch) = &mut self.watch {
            match watch.poll_change(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(interface)) => changed.push(interface),
                // Without reports the addresses stay as they are.
                Poll::Ready(Err(error)) => {
                    self.watch = None;
                    self.shared.lock().watched = false;
                    log::not_followed(&error);
                }
            }
        }
        let any = !changed.is_empty();
        if any {
            self.change(changed);
        }
        any
    }

    /// Handles changes of the host's interfaces.
    fn change(&mut self, mut changed: Vec<Interface>) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let (now, gone) = (state.now(), state.host.change(&changed));
        state.tell_host();
        changed.retain(|interface| !is_excepted(&interface.name, &self.shards.later.except));
        if !state.core.follows_links() {
            drop(state);
            return self.change_wildcards(&changed, &gone);
        }
        let links: Vec<LinkChange> = changed.into_iter().map(link_of).collect();
        contain(&mut state, &mut self.outbox, |state, _| state.core.link_change(now, &links));
        let order = state.core.poll_socket();
        drop(state);
        self.obey(order);
    }

    /// Updates the sockets of a wildcard for an endpoint whose associations do not move. Existing paths stay,
    /// and new associations use the new addresses.
    fn change_wildcards(&mut self, changed: &[Interface], gone: &[IpAddr]) {
        let later = &self.shards.later;
        let wildcard = |ip: &IpAddr| later.wildcards.iter().find(|any| any.is_ipv4() == ip.is_ipv4());
        for &ip in gone {
            if wildcard(&ip).is_some() && self.has_address(ip) {
                self.shards.each(|state| {
                    let now = state.now();
                    state.close_socket(now, ip);
                });
            }
        }
        for ip in changed.iter().filter(|link| link.up).flat_map(|link| &link.addresses).copied() {
            let Some(any) = wildcard(&ip).filter(|_| !is_link_local(ip) && !self.has_address(ip)) else {
                continue;
            };
            let port = if any.port() == 0 { later.udp_port() } else { any.port() };
            // If another program has the port there, the address is not used.
            let at = SocketAddr::new(ip, port);
            let group = Socket::bind_group(at, &SocketOptions::default(), &self.shards.dispatch);
            for (shard, socket) in self.shards.iter().zip(group.unwrap_or_default()) {
                later.note_port(socket.local().port());
                shard.lock().open_socket(socket);
            }
        }
    }

    /// Returns whether new associations may use this address.
    fn has_address(&self, ip: IpAddr) -> bool {
        self.shared.lock().locals.iter().any(|local| local.ip() == ip)
    }

    /// Opens and closes sockets as the core says, beginning with this order. Call it before the core is
    /// drained.
    fn obey(&mut self, mut next: Option<SocketOrder>) {
        while let Some(order) = next {
            match order {
                SocketOrder::Open { address, .. } if self.has_address(address) => {}
                SocketOrder::Open { address, interface } => {
                    // A socket is bound without the lock.
                    let device = device_of(address, &interface);
                    let bound = self.shards.later.bind(address, device, &self.shards.dispatch);
                    let mut state = self.shared.lock();
                    match bound.ok().and_then(|mut sockets| sockets.pop()) {
                        Some(socket) => state.enter_address(socket.local(), Some(socket)),
                        None => {
                            let now = state.now();
                            state.core.refuse_address(now, address);
                        }
                    }
                }
                SocketOrder::Close(address) => self.shared.lock().leave_address(address),
            }
            next = self.shared.lock().core.poll_socket();
        }
    }

    /// Runs the core until only a timeout is left, and up to `set_ups` set-ups of peers without proven keys,
    /// which it subtracts. Returns `None` if the endpoint is over, else whether there is more to do at once.
    fn work(&mut self, cx: &mut Context<'_>, set_ups: &mut u32) -> Option<bool> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        state.set_driver(cx.waker());
        let (clock, now) = (state.clock, state.now());
        let done = contain(&mut state, &mut self.outbox, |state, _| expire(state, now));
        if let Some(order) = state.core.poll_socket() {
            drop(state);
            self.obey(Some(order));
            state = shared.lock();
        }
        let changed = self.change_sockets(std::mem::take(&mut state.socket_changes));
        let done = done.and_then(|()| {
            contain(&mut state, &mut self.outbox, |state, outbox| settle(state, now, set_ups, outbox))
        });
        if done.is_none() {
            return Some(true);
        }
        state.unsettled = false;
        self.report_flush = state.wants_flush();
        for (place, handle) in state.evicted.drain(..) {
            self.shards.get(place).forwarded.extend([Forwarded::Evicted(handle)]);
        }
        if state.dropped && state.slots.is_empty() || state.closed && state.is_idle() {
            return None;
        }
        let linger = state.next_abort();
        let keys = state.next_keys();
        // Some were not served, or events have queued them since.
        let set_up = state.next_set_up();
        let waiting = set_up.is_some_and(|at| at <= now);
        let timers = [state.core.poll_timeout(), linger, keys, set_up.filter(|_| !waiting)];
        let deadline = timers.into_iter().flatten().min();
        drop(state);
        let busy = changed || waiting;
        if self.deadline != deadline {
            self.deadline = deadline;
            if let Some(deadline) = deadline {
                self.timer.as_mut().reset(clock.instant(deadline));
            }
        }
        let due = self.deadline.is_some() && self.timer.as_mut().poll(cx).is_ready();
        if due {
            self.deadline = None;
        }
        Some(busy || due)
    }

    /// Passes ICMP messages to the core. Returns whether one had an effect.
    fn take_icmp_errors(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        self.lines.values().for_each(|line| line.socket.poll_errors(cx));
        let errors = |(&local, line): (&IpAddr, &Line)| {
            line.socket.take_icmp_errors().into_iter().map(move |message| (local, message))
        };
        for (local, message) in self.lines.iter().flat_map(errors) {
            // A packet of ours: its ports are reversed. The kernel gives the message to any socket.
            let shard = match *message.quoted.as_slice() {
                [a, b, c, d, ..] => {
                    self.shards.of_ports(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
                }
                _ => continue,
            };
            if shard.place == self.shared.place {
                any |= take_icmp(&mut self.shared.lock(), local, &message);
            } else {
                shard.forwarded.extend([Forwarded::Icmp(local, message)]);
            }
        }
        any
    }

    /// Passes all packets to the kernel. Returns whether there is more to do at once, because packets were
    /// too long or a closed endpoint is finished.
    fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        let mut lost = 0;
        let mut refused = Vec::new();
        for item in self.outbox.items.drain(..) {
            let bytes = &self.outbox.bytes[item.start..item.start + item.len];
            let socket = socket_for(&self.lines, &self.removed, item.local);
            match socket.and_then(|ip| self.lines.get_mut(&ip)) {
                Some(line) => lost += line.send(&item, bytes, &mut refused),
                None => lost += 1,
            }
        }
        self.outbox.bytes.clear();
        for line in self.lines.values_mut() {
            lost += line.flush(cx, &mut refused);
        }
        let flushed = self.report_flush && self.lines.values().all(|line| line.pending.is_empty());
        if lost == 0 && !flushed && refused.is_empty() {
            return false;
        }
        let mut state = self.shared.lock();
        state.send_errors += lost;
        if flushed {
            self.report_flush = false;
            state.flushed = true;
            state.idlers.wake_all();
        }
        let now = state.now();
        let done = flushed && state.closed;
        refused.into_iter().fold(done, |any, (handle, at, refusal)| {
            let Some(association) = state.core.association_mut(handle) else { return any };
            any | match refusal {
                Refusal::TooLong(len) => association.packet_refused(now, at, len),
                Refusal::NoRoute => association.path_unreachable(now, at),
            }
        })
    }

    /// Passes the trace to the sink, without the lock: the sink may call the endpoint.
    fn report_trace(&mut self) {
        let Some(sink) = &self.trace else { return };
        std::mem::swap(&mut self.shared.lock().traced, &mut self.traced);
        for (association, event) in self.traced.drain(..) {
            sink.report(association, &event);
        }
    }

    /// Marks this shard as finished. Returns whether all shards are: until then, its sockets may receive
    /// packets of other shards.
    fn finish(&mut self) -> bool {
        if !self.finished {
            self.finished = true;
            self.shards.finish();
        }
        self.shards.finished()
    }

    /// Sends an ABORT for each association that is not over, because the task ends.
    fn abort_all(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let now = state.now();
        state.abort_all(now, &RUNTIME_ENDED.into());
        drain(&mut state, now, None, &mut self.outbox);
        state.collect_trace();
        drop(state);
        // The sink may be what failed: a second panic would end the program.
        if !std::thread::panicking() {
            self.report_trace();
        }
        for item in self.outbox.items.drain(..) {
            let bytes = &self.outbox.bytes[item.start..item.start + item.len];
            // The kernel accepts it now, or it is lost: nothing retries it.
            let socket = socket_for(&self.lines, &self.removed, item.local);
            if let Some(line) = socket.and_then(|ip| self.lines.get(&ip)) {
                let Item { local, to, segment_size, ecn, fragment, .. } = item;
                let _ =
                    line.socket.send(&Outgoing { from: Some(local), to, bytes, segment_size, ecn, fragment });
            }
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let driver = &mut *self;
        let mut set_ups = SET_UPS;
        for _ in 0..ROUNDS {
            let received = driver.receive(cx) | driver.receive_forwarded(cx);
            let watched = driver.watch(cx);
            let share = set_ups.min(if received { SET_UPS_BESIDE_PACKETS } else { SET_UPS_OF_ROUND });
            let mut left = share;
            let busy = driver.work(cx, &mut left);
            driver.report_trace();
            set_ups -= share - left;
            let mut again = driver.flush(cx);
            if busy.is_none() && driver.finish() {
                return Poll::Ready(());
            }
            again |= driver.take_icmp_errors(cx);
            if !(received || watched || busy == Some(true) || again) {
                return Poll::Pending;
            }
            if set_ups == 0 && !received {
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.abort_all();
        if std::thread::panicking() {
            // An endpoint without one of its shards would be lost for some peers only.
            for shard in self.shards.others(self.shared.place) {
                let mut state = shard.lock();
                let now = state.now();
                state.abort_all(now, &SHARD_FAILED.into());
            }
        }
        self.finish();
        // Tasks that wait for the end may bind the ports at once.
        self.lines.clear();
        self.shared.forwarded.close();
        self.shared.lock().end();
    }
}

impl Line {
    fn new(socket: Socket) -> Self {
        Self { socket, pending: VecDeque::new(), pending_bytes: 0 }
    }

    /// Sends packets, and queues those that the kernel does not accept now. Returns the number of packets
    /// lost.
    fn send(&mut self, item: &Item, bytes: &[u8], refused: &mut Vec<Refused>) -> u64 {
        let &Item { local: from, to, segment_size, ecn, fragment, handle, .. } = item;
        let packets = Outgoing { from: Some(from), to, bytes, segment_size, ecn, fragment };
        let sent = if self.pending.is_empty() {
            match self.hand_over(&packets, handle, refused) {
                Some(sent) => sent,
                None => return 1,
            }
        } else {
            0
        };
        let rest = &bytes[sent..];
        if rest.is_empty() {
            return 0;
        }
        if self.pending_bytes + rest.len() > MAX_PENDING {
            return 1;
        }
        self.pending_bytes += rest.len();
        let bytes = rest.to_vec();
        self.pending.push_back(Waiting { from, to, bytes, segment_size, ecn, fragment, handle });
        0
    }

    /// Passes packets to the kernel. Returns the number of bytes accepted, or `None` if the packets are lost.
    fn hand_over(
        &self,
        packets: &Outgoing<'_>,
        handle: Option<Handle>,
        refused: &mut Vec<Refused>,
    ) -> Option<usize> {
        let sent = self.socket.send(packets);
        let refusal = match &sent {
            Ok(sent) => sent.too_long.map(Refusal::TooLong),
            Err(error) => {
                let no_route =
                    matches!(error.kind(), ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable);
                no_route.then_some(Refusal::NoRoute)
            }
        };
        if let (Some(refusal), Some(handle)) = (refusal, handle) {
            let local = packets.from.unwrap_or_else(|| self.socket.local().ip());
            let at = PathAddr { local, remote: packets.to.ip() };
            refused.push((handle, at, refusal));
        }
        sent.ok().map(|sent| sent.bytes)
    }

    /// Retries the queued packets. Returns the number lost.
    fn flush(&mut self, cx: &mut Context<'_>, refused: &mut Vec<Refused>) -> u64 {
        let mut lost = 0;
        while let Some(mut waiting) = self.pending.pop_front() {
            if self.socket.poll_send_ready(cx).is_pending() {
                self.pending.push_front(waiting);
                break;
            }
            let Waiting { from, to, segment_size, ecn, fragment, handle, .. } = waiting;
            let from = Some(from);
            let packets = Outgoing { from, to, bytes: &waiting.bytes, segment_size, ecn, fragment };
            match self.hand_over(&packets, handle, refused) {
                Some(sent) if sent < waiting.bytes.len() => {
                    waiting.bytes.drain(..sent);
                    self.pending_bytes -= sent;
                    self.pending.push_front(waiting);
                    continue;
                }
                Some(_) => {}
                None => lost += 1,
            }
            self.pending_bytes -= waiting.bytes.len();
        }
        lost
    }
}

/// Serves up to `set_ups` set-ups, which it subtracts, and runs the core until it has nothing to send or to
/// report.
fn settle(state: &mut State, now: Time, set_ups: &mut u32, outbox: &mut Outbox) {
    // Their answers leave with the acknowledgements that `drain` finds.
    *set_ups -= state.serve_set_ups(now, *set_ups);
    // Events can cause calls, and calls packets and events.
    loop {
        drain(state, now, None, outbox);
        state.collect_trace();
        let any = state.take_events();
        if !state.look_after(now) && !any {
            break;
        }
    }
    state.wake_writers();
}

/// Fires every timer that is due.
fn expire(state: &mut State, now: Time) {
    while let Some(handle) = state.core.handle_next_timeout(now) {
        state.touch(handle);
    }
    state.expire_keys(now);
    state.expire_unproven(now);
}

/// Returns what the core must know of an interface.
fn link_of(interface: Interface) -> LinkChange {
    let Interface { index, name, loopback, up, addresses } = interface;
    let mut link = LinkChange::new(index, name).with_addresses(addresses).with_carrier(up);
    if loopback {
        link.kind = LinkKind::Loopback;
    }
    link
}

fn is_link_local(ip: IpAddr) -> bool {
    Scope::of(&ip) == Scope::LinkLocal
}

/// Handles an ICMP message about a packet from `local`. Returns whether it ended a set-up, shortened its wait
/// or changed a PMTU.
fn take_icmp(state: &mut State, local: IpAddr, message: &IcmpError) -> bool {
    let (now, remote) = (state.now(), message.to.ip());
    let handle = match message.kind {
        IcmpKind::PortUnreachable => state.core.handle_port_unreachable(now, remote, &message.quoted),
        IcmpKind::PacketTooBig { mtu } => {
            let at = PathAddr { local, remote };
            // The core's packets have no UDP header.
            state.core.handle_packet_too_big(now, at, mtu.saturating_sub(UDP_HEADER), &message.quoted)
        }
    };
    handle.is_some()
}

/// Returns the address of the socket for packets from a local address: its own, or that of all addresses.
fn socket_for(lines: &BTreeMap<IpAddr, Line>, removed: &BTreeSet<IpAddr>, local: IpAddr) -> Option<IpAddr> {
    if lines.contains_key(&local) {
        return Some(local);
    }
    let any = if local.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    (lines.contains_key(&any) && !removed.contains(&local)).then_some(any)
}

/// Passes a datagram to the core. `before` holds the association and
/// the origin of the batch's previous datagram, if that was verified.
fn take(
    state: &mut State,
    now: Time,
    datagram: &mut Datagram<'_>,
    before: &mut Option<(Handle, SocketAddr)>,
    outbox: &mut Outbox,
) {
    let at = PathAddr { local: datagram.local, remote: datagram.remote.ip() };
    let udp_port = datagram.remote.port();
    let last = before.take();
    let ecn = datagram.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
    state.unsettled = true;
    match state.core.handle_encapsulated_datagram(now, at, udp_port, ecn, datagram.bytes) {
        DatagramOutcome::Association(handle) => {
            *before = Some((handle, datagram.remote));
            // Most packets of a batch have one origin.
            if last != *before {
                // Before the COOKIE ECHO leaves, which takes the ClientHello along.
                state.note_key_message(now, handle);
                state.note_received(now, handle);
                state.touch(handle);
                let association = state.core.association(handle);
                // Without a path no port is learned, but answers go back to the packet's origin.
                if association.is_some_and(|association| association.path_between(at).is_none()) {
                    *before = None;
                    drain(state, now, Some(Stray { handle, at, udp_port, verified: true }), outbox);
                }
            }
        }
        DatagramOutcome::Accepted(handle) => {
            state.enter_accepted(now, handle, datagram.remote);
        }
        // Answers go back to the packet's origin, and nothing else does.
        DatagramOutcome::Unverified(handle) => {
            drain(state, now, Some(Stray { handle, at, udp_port, verified: false }), outbox);
        }
        DatagramOutcome::Replied => state.answer_refused(now, datagram.remote, outbox),
        DatagramOutcome::Ignored(_) => {}
    }
}

/// Origin of the current packet if no port was learned from it. Responses are sent there.
#[derive(Clone, Copy, Debug)]
struct Stray {
    handle: Handle,
    at: PathAddr,
    udp_port: u16,
    /// True if the packet was verified as the peer's. Others get only [`Transmit::answers_unverified`]
    /// packets.
    verified: bool,
}

/// Takes every packet that the core has to send.
fn drain(state: &mut State, now: Time, stray: Option<Stray>, outbox: &mut Outbox) {
    loop {
        let start = outbox.bytes.len();
        let Some((handle, transmit)) = state.core.poll_transmit_from(now, &mut outbox.bytes) else { break };
        let port = match &stray {
            Some(stray)
                if (stray.verified || transmit.answers_unverified)
                    && handle == Some(stray.handle)
                    && stray.at == transmit.at =>
            {
                Some(stray.udp_port)
            }
            _ => transmit.udp_port,
        };
        // A reply whose packet is gone has no port, and is dropped.
        match port {
            Some(port) => outbox.push(start, &transmit, handle, port),
            None => outbox.bytes.truncate(start),
        }
    }
}

#[cfg(all(test, feature = "tls"))]
#[path = "driver_tests.rs"]
mod tests;
