//! [`Link`]: an association that carries connections. Moves messages between the association and the [`Mux`],
//! and wakes the tasks of connections.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use msctp::{Association, Message, OutMessage, Reliability, SendError};
use msctp_forward::{
    Class, Datagram, End, Event, Frame, Limits, Mux, Read, Reason, Role, Target, Violation, WindowBudget,
};
use msctp_terminal::Failure;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::net::failed;
use crate::net::service::Service;
use crate::net::status::{Connections, Monitor};

/// Interval at which windows are given the round-trip time, and remaining credits are sent.
const TICK: Duration = Duration::from_millis(200);

/// Bytes of the read buffer: the largest datagram fits, with the SOCKS5 header.
const SCRATCH: usize = 1 << 16;
const _: () = assert!(SCRATCH >= msctp_forward::frame::MAX_DATAGRAM);

/// An association and its connections.
pub(crate) struct Link {
    association: Association,
    begin: Instant,
    state: Mutex<State>,
    /// Notified when there is something to send.
    output: Notify,
    /// Notified when the last connection has ended.
    empty: Notify,
    /// Shared buffer for reads of UDP sockets, so that an idle association uses no memory for one.
    scratch: Mutex<Box<[u8]>>,
}

struct State {
    mux: Mux,
    wakes: BTreeMap<u32, Arc<Wakes>>,
    /// Connections that the peer opened.
    opens: mpsc::UnboundedSender<Opening>,
    /// The association is over.
    lost: bool,
}

/// A connection that the peer opened.
pub(crate) struct Opening {
    pub(crate) connection: Connection,
    pub(crate) target: Target,
}

/// Datagrams queued for each connection in each direction; further ones are dropped.
const DATAGRAMS: usize = 64;

/// Lifetime of a datagram in the send buffer and in flight. After it, the application has retransmitted the
/// datagram.
const LIFETIME: msctp::Span = msctp::Span::from_secs(1);

/// Wakes the two tasks of a connection.
#[derive(Default)]
struct Wakes {
    readable: Notify,
    writable: Notify,
    /// Queue of received datagrams, for a UDP association.
    datagrams: OnceLock<mpsc::Sender<Datagram>>,
}

/// A connection of a link. Dropping it releases it, and resets it if it has not ended.
pub(crate) struct Connection {
    link: Arc<Link>,
    number: u32,
    wakes: Arc<Wakes>,
}

/// The direction whose task waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// From the local socket to the association.
    Outward,
    /// From the association to the local socket.
    Inward,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn over() -> End {
    End::new(Reason::Reset, "the association has ended")
}

impl Link {
    /// Begins to carry connections over an association. Also returns the connections that the peer opens.
    pub(crate) fn new(
        association: Association,
        role: Role,
        limits: Limits,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Opening>) {
        Self::with_budgets(association, role, limits, Vec::new())
    }

    /// Same as [`new`](Self::new), with receive windows of these budgets.
    pub(super) fn with_budgets(
        association: Association,
        role: Role,
        limits: Limits,
        budgets: Vec<WindowBudget>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Opening>) {
        let mux = Mux::new(role, limits).with_budgets(budgets);
        // Its length is limited by that of connections that wait for an answer.
        let (opens, opened) = mpsc::unbounded_channel();
        let link = Self {
            association,
            begin: Instant::now(),
            state: Mutex::new(State { mux, wakes: BTreeMap::new(), opens, lost: false }),
            output: Notify::new(),
            empty: Notify::new(),
            scratch: Mutex::new(vec![0; SCRATCH].into_boxed_slice()),
        };
        (Arc::new(link), opened)
    }

    pub(crate) fn association(&self) -> &Association {
        &self.association
    }

    /// Publishes the number of connections in the status.
    pub(crate) fn show(self: &Arc<Self>, monitor: &Monitor) {
        let carrier = Arc::downgrade(self);
        monitor.add_carrier(carrier);
    }

    /// Returns whether the association is over.
    pub(crate) fn is_lost(&self) -> bool {
        lock(&self.state).lost
    }

    /// Opens a connection, which may send at once.
    ///
    /// # Errors
    ///
    /// All streams are in use, a budget is used up, or the association is over.
    pub(crate) fn open(self: &Arc<Self>, target: Target) -> Result<Connection, End> {
        if self.is_lost() {
            return Err(over());
        }
        let (outbound, inbound) = self.association.streams();
        let number = self.update(|mux| mux.open(target, outbound.min(inbound)));
        let full = "no free stream or memory for another connection";
        let number = number.ok_or_else(|| End::new(Reason::Limit, full))?;
        Ok(self.enter(&mut lock(&self.state), number))
    }

    fn enter(self: &Arc<Self>, state: &mut State, number: u32) -> Connection {
        let wakes = Arc::<Wakes>::default();
        state.wakes.insert(number, Arc::clone(&wakes));
        Connection { link: Arc::clone(self), number, wakes }
    }

    /// Changes the state of connections, and wakes the tasks that the change concerns.
    fn update<R>(self: &Arc<Self>, change: impl FnOnce(&mut Mux) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state.mux);
        while let Some(event) = state.mux.poll_event() {
            let (number, of): (u32, fn(&Wakes) -> &Notify) = match event {
                Event::Open(number, target) => {
                    let connection = self.enter(&mut state, number);
                    // Without a receiver the link is ending.
                    let unread = state.opens.send(Opening { connection, target });
                    drop(state);
                    drop(unread);
                    state = lock(&self.state);
                    continue;
                }
                Event::Datagram(datagram) => {
                    let wakes = state.wakes.get(&datagram.connection);
                    if let Some(sender) = wakes.and_then(|wakes| wakes.datagrams.get()) {
                        // Dropped if the queue is full, as a router does.
                        let _ = sender.try_send(datagram);
                    }
                    continue;
                }
                Event::Readable(number) => (number, |wakes| &wakes.readable),
                Event::Writable(number) => (number, |wakes| &wakes.writable),
            };
            if let Some(wakes) = state.wakes.get(&number) {
                of(wakes).notify_one();
            }
        }
        if state.mux.wants_transmit() {
            self.output.notify_one();
        }
        if state.mux.is_empty() {
            self.empty.notify_one();
        }
        result
    }

    /// Waits until every connection has sent and received its end.
    pub(crate) async fn empty(&self) {
        while !lock(&self.state).mux.is_empty() {
            self.empty.notified().await;
        }
    }

    /// Carries connections until the association is over. Passes other messages than frames to `control`.
    ///
    /// # Errors
    ///
    /// The association was lost, or the peer broke the protocol.
    pub(crate) async fn run(
        self: &Arc<Self>,
        control: impl FnMut(&Message) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let result = tokio::select! {
            result = self.receive(control) => result,
            result = self.transmit() => result,
            () = self.measure() => Ok(()),
        };
        if let Err(failure) = &result {
            self.association.abort(failure.to_string());
        }
        let mut state = lock(&self.state);
        state.lost = true;
        for wakes in state.wakes.values() {
            wakes.readable.notify_one();
            wakes.writable.notify_one();
        }
        result
    }

    async fn receive(
        self: &Arc<Self>,
        mut control: impl FnMut(&Message) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while let Some(message) = self.association.recv().await.map_err(|e| failed("receiving")(&e))? {
            let now = msctp::Time::ZERO + span(self.begin.elapsed());
            if Service::Forward.is_control(&message) {
                control(&message)?;
                continue;
            }
            match Service::of(&message) {
                Service::Forward if message.begin && message.end => {}
                Service::Forward => {
                    let why = "the peer split a forwarding frame: want one message for each frame";
                    return Err(Failure::Run(why.to_owned()));
                }
                wanted => return Err(Service::Forward.reject(&self.association, wanted)),
            }
            let handled: Result<(), Violation> =
                self.update(|mux| mux.handle(now, message.stream, message.ppid, message.data));
            handled.map_err(|e| failed("the peer violated the forwarding protocol")(&e))?;
        }
        Ok(())
    }

    /// Sends frames while the send buffer has room.
    async fn transmit(self: &Arc<Self>) -> Result<(), Failure> {
        loop {
            let Some(frame) = self.update(Mux::poll_transmit) else {
                self.output.notified().await;
                continue;
            };
            if frame.reclassified {
                // An association that is over fails below.
                let _ = self.association.set_stream_value(frame.stream, frame.class as u16);
            }
            self.send(frame).await.map_err(|e| failed("sending")(&e))?;
        }
    }

    /// Sends a frame. A bulk frame that waits for room returns to the mux if a more urgent one is queued.
    async fn send(self: &Arc<Self>, frame: Frame) -> Result<(), SendError> {
        let (stream, ppid, data) = (frame.stream, frame.ppid, frame.data.clone());
        let message = OutMessage { stream, ppid, data, ..OutMessage::default() };
        let may_wait = frame.class == Class::Bulk && frame.ppid == msctp_forward::frame::DATA;
        let mut sent = pin!(self.association.send(message));
        loop {
            tokio::select! {
                biased;
                result = &mut sent => return result,
                () = self.output.notified(), if may_wait => {
                    if lock(&self.state).mux.is_urgent() {
                        self.update(|mux| mux.put_back(frame));
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn measure(self: &Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            let primary = self.association.paths().into_iter().find(|path| path.primary);
            let srtt = primary.and_then(|path| path.srtt);
            self.update(|mux| {
                if let Some(srtt) = srtt {
                    mux.set_round_trip(srtt);
                }
                mux.queue_credits();
            });
        }
    }
}

impl Connections for Link {
    fn association(&self) -> &Association {
        &self.association
    }

    fn count(&self) -> usize {
        lock(&self.state).mux.len()
    }
}

fn span(duration: Duration) -> msctp::Span {
    msctp::Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl Connection {
    fn update<R>(&self, change: impl FnOnce(&mut Mux, u32) -> R) -> R {
        self.link.update(|mux| change(mux, self.number))
    }

    fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    fn room_now(&self) -> Result<usize, End> {
        lock(&self.link.state).mux.room(self.number)
    }

    /// Accepts a connection that the peer opened.
    pub(crate) fn accept(&self) {
        self.update(Mux::accept);
    }

    /// Waits until the peer has accepted the connection.
    ///
    /// # Errors
    ///
    /// It refused the connection, or the association was lost.
    pub(crate) async fn opened(&self) -> Result<(), End> {
        loop {
            self.room_now()?;
            if lock(&self.link.state).mux.is_open(self.number) {
                return Ok(());
            }
            if self.is_lost() {
                return Err(over());
            }
            self.wakes.readable.notified().await;
        }
    }

    /// Ends both directions. Refuses the connection if it was not accepted.
    pub(crate) fn fail(&self, end: End) {
        self.update(|mux, number| mux.fail(number, end));
    }

    /// Returns the queue of received datagrams. Call it once, before the connection is open.
    pub(super) fn datagrams(&self) -> mpsc::Receiver<Datagram> {
        let (sender, receiver) = mpsc::channel(DATAGRAMS);
        let _ = self.wakes.datagrams.set(sender);
        receiver
    }

    /// Sends a datagram. Drops it if the connection has ended, the send buffer is full, or many bytes of this
    /// connection are unsent: more would take the send buffer from other connections.
    pub(super) fn send_datagram(&self, host: String, port: u16, data: Bytes) {
        let stream = lock(&self.link.state).mux.datagram_stream(self.number);
        let Some(stream) = stream else { return };
        // At most as many bytes as `DATAGRAMS` of 1500 bytes.
        let most = (DATAGRAMS * 1500 / data.len().max(1)).clamp(1, DATAGRAMS);
        if self.link.association.unsent_on(stream) >= most {
            return;
        }
        let data = Datagram { connection: self.number, host, port, data }.encode();
        let (ppid, reliability) = (msctp_forward::frame::DATAGRAM, Reliability::Lifetime(LIFETIME));
        let message =
            OutMessage { stream, ppid, data, unordered: true, reliability, ..OutMessage::default() };
        // It may be lost on the way as well.
        let _ = self.link.association.try_send(&message);
    }

    /// Returns the bytes sent and received.
    pub(crate) fn counts(&self) -> (u64, u64) {
        lock(&self.link.state).mux.counts(self.number)
    }

    /// Waits until bytes may be written; returns how many.
    ///
    /// # Errors
    ///
    /// The connection failed.
    pub(super) async fn room(&self) -> Result<usize, End> {
        loop {
            match self.room_now()? {
                _ if self.is_lost() => return Err(over()),
                0 => self.wakes.writable.notified().await,
                room => return Ok(room),
            }
        }
    }

    /// Waits until the connection has failed, while the task of this direction waits for a local socket.
    pub(super) async fn failure(&self, direction: Direction) -> End {
        let notify = match direction {
            Direction::Outward => &self.wakes.writable,
            Direction::Inward => &self.wakes.readable,
        };
        loop {
            match self.room_now() {
                Err(end) => return end,
                Ok(_) if self.is_lost() => return over(),
                Ok(_) => notify.notified().await,
            }
        }
    }

    pub(super) fn write(&self, data: Bytes) {
        self.update(|mux, number| mux.write(number, data));
    }

    /// Records that there is nothing to write now.
    pub(super) fn idle(&self) {
        self.update(Mux::idle);
    }

    /// Ends this end's direction.
    pub(super) fn finish(&self) {
        self.update(Mux::finish);
    }

    /// Receives bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection failed.
    pub(super) async fn read(&self) -> Result<Option<Bytes>, End> {
        loop {
            match self.update(Mux::read) {
                Read::Data(data) => return Ok(Some(data)),
                Read::Finished => return Ok(None),
                Read::Failed(end) => return Err(end),
                Read::Pending if self.is_lost() => return Err(over()),
                Read::Pending => self.wakes.readable.notified().await,
            }
        }
    }

    /// Receives bytes that have arrived already.
    pub(super) fn read_now(&self) -> Option<Bytes> {
        match self.update(Mux::read) {
            Read::Data(data) => Some(data),
            // It says so again.
            Read::Finished | Read::Failed(_) | Read::Pending => None,
        }
    }

    pub(super) fn consumed(&self, len: usize) {
        let now = msctp::Time::ZERO + span(self.link.begin.elapsed());
        self.update(|mux, number| mux.consumed(now, number, len));
    }

    /// Runs `f` with a buffer for a read.
    pub(super) fn with_scratch<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        f(&mut lock(&self.link.scratch))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.link.state).wakes.remove(&self.number);
        self.update(Mux::release);
    }
}
