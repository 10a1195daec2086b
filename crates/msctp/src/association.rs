//! [`Association`]: messages in and out, paths, events, the end.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use msctp_proto::{
    AbortReason, Agreed, AssociationState, AssociationStats, CallError as Refusal, Event, Handle, Message,
    OutMessage, PathId, PathStats, TraceEvent,
};
use msctp_units::Time;

use crate::budget::within_budget;
use crate::error::{AssociationError, CallError, SendError};
use crate::history::History;
use crate::slot::{Last, Phase, Slot};
use crate::state::{Shared, State};
use crate::wakers::Wait;

/// An SCTP association (RFC 9260). Clones are cheap and share the association, so one task can send while
/// another receives.
///
/// # The end
///
/// [`shutdown`](Self::shutdown) returns `Ok` when the peer has acknowledged everything that was sent. So does
/// [`Endpoint::close`](crate::Endpoint::close) for all associations of an endpoint. Await one of the two
/// before `main` returns, or data is lost.
///
/// Dropping the last clone only begins the shutdown. The endpoint's task completes it in the background, for
/// at most [`EndpointOptions::linger`](crate::EndpointOptions::linger) and as long as the runtime lives. If
/// the runtime ends first, the peer gets an ABORT and undelivered data is lost.
///
/// Every wait is cancel-safe: no message is lost or sent in part.
pub struct Association {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: Handle,
    /// [`Slot::losing_restarts`] that this handle has reported. Written under the lock of `shared`.
    reported: AtomicU32,
}

impl Association {
    /// Size of the largest message that [`recv`](Self::recv) returns, in bytes: 16 MiB. It is also what an
    /// association keeps at most of messages that have arrived in part, beside the receive buffer.
    pub const MAX_MESSAGE: usize = crate::whole::MAX_MESSAGE;

    /// Creates a handle. The caller counts it.
    pub(crate) fn new(shared: Arc<Shared>, handle: Handle, losing_restarts: u32) -> Self {
        Self { shared, handle, reported: AtomicU32::new(losing_restarts) }
    }

    /// Runs `f` on the core's association. Returns `None` if it is over and its messages were taken.
    fn with_core<R>(&self, f: impl FnOnce(&mut msctp_proto::Association, Time) -> R) -> Option<R> {
        self.with_state(|state, now| {
            state.core.association_mut(self.handle).map(|association| f(association, now))
        })
    }

    /// Runs `f`, which may change the association, and wakes the driver.
    fn with_state<R>(&self, f: impl FnOnce(&mut State, Time) -> R) -> R {
        let mut state = self.shared.lock();
        let now = state.now();
        let result = f(&mut state, now);
        state.touch(self.handle);
        state.unsettled = true;
        state.wake_driver();
        result
    }

    /// Reads the core's association; does not wake the driver.
    pub(crate) fn look<R>(&self, f: impl FnOnce(&msctp_proto::Association) -> R) -> Option<R> {
        self.shared.lock().core.association(self.handle).map(f)
    }

    pub(crate) fn call(
        &self,
        f: impl FnOnce(&mut msctp_proto::Association, Time) -> Result<(), Refusal>,
    ) -> Result<(), CallError> {
        let over = Refusal::WrongState { state: AssociationState::Closed };
        self.with_core(f).unwrap_or(Err(over)).map_err(CallError::Refused)
    }

    pub(crate) fn poll_established(&self, cx: &Context<'_>) -> Poll<Result<(), AssociationError>> {
        self.poll_wait(cx, |slot| match &slot.phase {
            Phase::Connecting => None,
            // A peer that has shut down since may have sent messages.
            Phase::Up | Phase::Over(None) => Some(Ok(())),
            Phase::Over(Some(error)) => Some(Err(error.clone())),
        })
    }

    #[cfg(feature = "tls")]
    pub(crate) fn start_early(&self) {
        self.shared.lock().start_early(self.handle);
    }

    /// Returns the value of `ready`. Otherwise registers `cx` with the slot's watchers.
    fn poll_wait<R>(&self, cx: &Context<'_>, ready: impl FnOnce(&mut Slot) -> Option<R>) -> Poll<R> {
        let mut state = self.shared.lock();
        let slot = slot_of(&mut state, self.handle);
        match ready(slot) {
            Some(result) => Poll::Ready(result),
            None => {
                slot.wakers.add(Wait::Event, cx);
                Poll::Pending
            }
        }
    }

    /// Waits for an event until `ready` returns a value.
    pub(crate) async fn wait<R>(&self, mut ready: impl FnMut(&mut Slot) -> Option<R>) -> R {
        poll_fn(|cx| within_budget(cx, |cx| self.poll_wait(cx, &mut ready))).await
    }

    /// Sends a message (RFC 9260 §11.1.5); waits while the send buffer is full, or while the peer does not
    /// read the stream ([`Stream`](crate::Stream#flow-control)).
    ///
    /// # Errors
    ///
    /// The message cannot be sent, or the association is closing or over.
    pub async fn send(&self, message: OutMessage) -> Result<(), SendError> {
        poll_fn(|cx| within_budget(cx, |cx| self.poll_send(cx, &message))).await
    }

    /// Sends a message as [`send`](Self::send) does, without waiting. An eighth of the send buffer is for
    /// this call: streams of bytes and `send` wait before they fill it.
    ///
    /// # Errors
    ///
    /// The send buffer is full or the peer does not read the stream
    /// ([`SendError::BufferFull`]), the message cannot be sent, or the association is
    /// closing or over.
    pub fn try_send(&self, message: &OutMessage) -> Result<(), SendError> {
        self.offer(&mut self.shared.lock(), message, None)
    }

    /// Sends an ordered message on a stream, with payload protocol identifier 0.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_bytes(&self, stream: u16, data: impl Into<Bytes>) -> Result<(), SendError> {
        self.send(OutMessage {
            stream,
            ppid: 0,
            unordered: false,
            data: data.into(),
            ..OutMessage::default()
        })
        .await
    }

    fn poll_send(&self, cx: &Context<'_>, message: &OutMessage) -> Poll<Result<(), SendError>> {
        self.poll_offer(cx, &mut self.shared.lock(), message)
    }

    /// Queues a message in the core, or waits for room in the send buffer.
    pub(crate) fn poll_offer(
        &self,
        cx: &Context<'_>,
        state: &mut State,
        message: &OutMessage,
    ) -> Poll<Result<(), SendError>> {
        match self.offer(state, message, Some(cx)) {
            Err(SendError::BufferFull { .. }) => Poll::Pending,
            result => Poll::Ready(result),
        }
    }

    /// Queues a message in the core. If the send buffer is full, `cx` is woken when there is room.
    fn offer(
        &self,
        state: &mut State,
        message: &OutMessage,
        cx: Option<&Context<'_>>,
    ) -> Result<(), SendError> {
        let now = state.now();
        let slot = slot_of_parts(&mut state.slots, self.handle);
        if let Phase::Over(error) = &slot.phase {
            return Err(error.clone().map_or(SendError::Closed, SendError::Association));
        }
        let Some(association) = state.core.association_mut(self.handle) else {
            return Err(SendError::Closed);
        };
        let result = match cx {
            Some(_) => association.send_patiently(now, message.clone()),
            None => association.send(now, message.clone()),
        };
        let refused = matches!(result, Err(msctp_proto::SendError::BufferFull { .. }));
        // A stream that the peer does not read takes no turn of those that wait for room.
        let lacks_credit = refused && association.lacks_credit(message.stream);
        slot.is_full |= refused && !lacks_credit;
        if let Some(cx) = cx.filter(|_| refused) {
            slot.wakers.add(if lacks_credit { Wait::Credit(message.stream) } else { Wait::Write }, cx);
        }
        if !slot.is_full {
            slot.wakers.wake_first(Wait::Write, 1);
        }
        // A stream without credit has a timer.
        if !refused || lacks_credit {
            state.wake_driver();
        }
        result.map_err(|error| SendError::of(&error))
    }

    /// Receives the next message (RFC 9260 §11.1.7) of any stream without a [`Stream`](crate::Stream). `None`
    /// if the peer has shut down and everything was read.
    ///
    /// A restart of the peer ([`Event::Restarted`](crate::Event::Restarted)) ends nothing. All messages from
    /// before it are returned first, and [`restarts`](Self::restarts) tells those after it from them.
    ///
    /// # Errors
    ///
    /// - [`AssociationError::MessageTooLarge`]: the rest of the message is discarded, and the association
    ///   goes on. [`recv_part`](Self::recv_part) receives messages of any size.
    /// - Otherwise the association was lost; messages that arrived before are returned first.
    pub async fn recv(&self) -> Result<Option<Message>, AssociationError> {
        poll_fn(|cx| within_budget(cx, |cx| self.poll_recv(cx, true))).await
    }

    /// Returns the number of restarts of the peer (RFC 9260 §5.2.4 A) before what [`recv`](Self::recv) or
    /// [`accept_stream`](Self::accept_stream) returned last. It grows only when they go on behind a restart.
    /// Restarts with nothing to read between them count as one.
    ///
    /// A restarted peer has lost its state, and set the association up again from the same addresses and
    /// ports. A program that keeps state of its peer begins anew where the number grows:
    ///
    /// ```
    /// # use msctp::{Association, AssociationError};
    /// async fn serve(association: Association) -> Result<(), AssociationError> {
    ///     let (mut peer, mut greeted) = (0, false);
    ///     while let Some(message) = association.recv().await? {
    ///         if peer != association.restarts() {
    ///             (peer, greeted) = (association.restarts(), false);
    ///         }
    ///         greeted |= message.data == "hello";
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// With keys of TLS or a pre-shared key a peer cannot restart an association; it sets another one up. In
    /// clear anyone can who receives packets at the peer's address. `AuthConfig::accept_restarts` set to
    /// false refuses restarts.
    pub fn restarts(&self) -> u32 {
        slot_of(&mut self.shared.lock(), self.handle).restarts
    }

    /// As [`recv`](Self::recv), but receives a message that is larger than the receive buffer has room for in
    /// parts, as they arrive: `begin` and `end` of [`Message`] tell the first and the last. Parts of messages
    /// of several streams may alternate. If the peer abandons a message after its first part was delivered,
    /// [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted) follows instead of the rest.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv), without [`AssociationError::MessageTooLarge`].
    pub async fn recv_part(&self) -> Result<Option<Message>, AssociationError> {
        poll_fn(|cx| within_budget(cx, |cx| self.poll_recv(cx, false))).await
    }

    /// Receives the next message, `whole` or in parts.
    fn poll_recv(&self, cx: &Context<'_>, whole: bool) -> Poll<Result<Option<Message>, AssociationError>> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let (message, consumed) = match state.core.association_mut(self.handle) {
            Some(association) => slot.next_message(association, whole),
            None => (Ok(None), false),
        };
        if consumed {
            // A number is not free while messages of it wait to be read.
            slot.numbers.openers.wake_first();
            // The peer may need a window update.
            state.wake_driver();
        }
        let slot = slot_of_parts(&mut state.slots, self.handle);
        match (message?, slot.phase.ended()) {
            (Some(message), _) => Poll::Ready(Ok(Some(message))),
            (None, Some(ended)) => Poll::Ready(ended.map(|()| None)),
            (None, None) => {
                slot.wakers.add(Wait::Read, cx);
                Poll::Pending
            }
        }
    }

    /// Returns the next event (RFC 9260 §11.2), except those of reading and writing. Returns `None` if the
    /// association has ended and all events were returned. The association keeps 256 events with 1 MiB of
    /// undelivered messages in them, and drops the oldest first.
    ///
    /// Each event is returned once, to one of the tasks that call this, whichever handle they use. A further
    /// listener that is to get every event has [`events`](Self::events).
    pub async fn event(&self) -> Option<Event> {
        self.wait(|slot| {
            let event = slot.events.pop();
            slot.event_or_end(event)
        })
        .await
    }

    /// Takes the trace entries since the last call, if `Config::trace` is on: windows, round trips, losses,
    /// the handover policy's decisions. The association keeps the last 65,536 until they are taken. Times are
    /// those of [`Endpoint::now`](crate::Endpoint::now). There are none if
    /// [`EndpointOptions::trace`](crate::EndpointOptions::trace) takes them.
    pub fn take_trace(&self, take: impl FnMut(TraceEvent)) {
        let all = |association: &mut msctp_proto::Association| {
            std::iter::from_fn(|| association.poll_trace()).collect::<Vec<_>>()
        };
        // Without the lock: `take` may call the association.
        self.with_core(|association, _| all(association)).into_iter().flatten().for_each(take);
    }

    /// Waits until the peer has acknowledged everything that was sent.
    ///
    /// # Errors
    ///
    /// The association was lost. [`AssociationError::Restarted`]: the peer restarted before it acknowledged
    /// everything, and sent messages were discarded. Each handle reports that once, also after the restart.
    pub async fn flush(&self) -> Result<(), AssociationError> {
        let reported = self.reported.load(Ordering::Relaxed);
        poll_fn(|cx| self.poll_flush(cx, reported)).await
    }

    fn poll_flush(&self, cx: &Context<'_>, reported: u32) -> Poll<Result<(), AssociationError>> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        if let Some(result) = self.outcome(slot, reported) {
            return Poll::Ready(result);
        }
        if slot.losing_restarts != reported {
            return Poll::Ready(Err(self.report_restart(slot)));
        }
        let association = state.core.association(self.handle);
        let drained = association.is_none_or(|association| association.buffered() == 0);
        // A restart or an abort whose event was not forwarded yet empties the send buffer as well.
        if drained && !state.unsettled {
            return Poll::Ready(Ok(()));
        }
        slot.wakers.add(Wait::Flush, cx);
        state.await_flush(self.handle);
        if let Some(association) = state.core.association_mut(self.handle) {
            association.expedite();
        }
        if drained {
            state.touch(self.handle);
        }
        Poll::Pending
    }

    /// Returns the end of an association that is over. [`AssociationError::Restarted`] if it was shut down,
    /// and a restart before that discarded messages, which this handle had not `reported`.
    fn outcome(&self, slot: &Slot, reported: u32) -> Option<Result<(), AssociationError>> {
        match &slot.phase {
            Phase::Over(Some(error)) => Some(Err(error.clone())),
            Phase::Over(None) if slot.losing_restarts != reported => Some(Err(self.report_restart(slot))),
            Phase::Over(None) => Some(Ok(())),
            Phase::Connecting | Phase::Up => None,
        }
    }

    /// Records that this handle reports the restarts that discarded messages.
    fn report_restart(&self, slot: &Slot) -> AssociationError {
        self.reported.store(slot.losing_restarts, Ordering::Relaxed);
        AssociationError::Restarted
    }

    /// Shuts down gracefully (RFC 9260 §9.2): delivers everything first. Ready when the association is
    /// over. That takes as long as the peer reads nothing: limit it by `tokio::time::timeout` and
    /// [`abort`](Self::abort). [`EndpointOptions::linger`](crate::EndpointOptions::linger) limits only the
    /// shutdown of an association that was dropped, and [`Endpoint::close`](crate::Endpoint::close).
    ///
    /// # Errors
    ///
    /// The association was lost first. [`AssociationError::Restarted`]: the peer restarted before it
    /// acknowledged everything, and sent messages were discarded. As [`flush`](Self::flush), each handle
    /// reports that once.
    pub async fn shutdown(&self) -> Result<(), AssociationError> {
        let reported = self.reported.load(Ordering::Relaxed);
        self.with_state(|state, now| state.shut_down(now, self.handle));
        self.wait(|slot| self.outcome(slot, reported)).await
    }

    /// Aborts the association (RFC 9260 §9.1); undelivered data is lost. The peer gets the reason: text or
    /// bytes, a number, or both ([`LossReason::PeerAborted`](crate::LossReason)).
    ///
    /// ```
    /// # use msctp::{AbortReason, Association, AssociationError, LossReason};
    /// /// The application's code for a client that has sent too much.
    /// const OVER_QUOTA: u32 = 7;
    ///
    /// fn refuse(association: &Association) {
    ///     association.abort(AbortReason { code: Some(OVER_QUOTA), reason: "over quota".into() });
    /// }
    ///
    /// fn is_over_quota(error: &AssociationError) -> bool {
    ///     matches!(error, AssociationError::Lost(LossReason::PeerAborted { code: Some(OVER_QUOTA), .. }))
    /// }
    /// ```
    pub fn abort(&self, reason: impl Into<AbortReason>) {
        let reason = reason.into();
        self.with_core(|association, now| association.abort(now, &reason));
    }

    /// Waits until the association has ended.
    ///
    /// # Errors
    ///
    /// The association was lost instead of shut down gracefully.
    pub async fn closed(&self) -> Result<(), AssociationError> {
        self.wait(|slot| slot.phase.ended()).await
    }

    /// Returns the numbers of outbound and inbound streams.
    pub fn streams(&self) -> (u16, u16) {
        slot_of(&mut self.shared.lock(), self.handle).streams
    }

    /// Returns the state (RFC 9260 §4).
    pub fn state(&self) -> AssociationState {
        self.look(msctp_proto::Association::state).unwrap_or(AssociationState::Closed)
    }

    /// Returns all paths with their counters. After the end, returns the last ones.
    pub fn paths(&self) -> Vec<PathStats> {
        let now = self.look(|association| association.paths().collect());
        now.or_else(|| self.last(|last| last.paths.clone())).unwrap_or_default()
    }

    /// Returns the association's counters. After the end, returns the last ones, or `None` if the runtime
    /// ended first.
    pub fn stats(&self) -> Option<AssociationStats> {
        self.look(msctp_proto::Association::stats).or_else(|| self.last(|last| last.stats))
    }

    /// Returns the time at which the association came up, and its last moves.
    pub fn history(&self) -> History {
        let mut state = self.shared.lock();
        let now = state.now();
        slot_of(&mut state, self.handle).record.history(now)
    }

    /// Returns the association's number, unique within its endpoint, as traces have it
    /// ([`TraceSink`](crate::TraceSink)).
    pub fn number(&self) -> u64 {
        self.shared.place.number(self.handle)
    }

    /// Returns the peer's addresses with their UDP ports (RFC 6951 §5.1), the primary path's first. After the
    /// end, returns the last ones.
    pub fn remote_addresses(&self) -> Vec<SocketAddr> {
        let mut paths = self.paths();
        paths.sort_by_key(|path| !path.primary);
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for path in paths {
            let remote = path.at.remote;
            if addresses.iter().all(|known| known.ip() != remote) {
                addresses.push(SocketAddr::new(remote, path.udp_port.unwrap_or_default()));
            }
        }
        addresses
    }

    /// Returns this end's addresses that have a path, with the UDP ports of their sockets. Empty when the
    /// sockets are closed.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        let paths = self.paths();
        let state = self.shared.lock();
        let mut used: Vec<SocketAddr> =
            paths.iter().filter_map(|path| state.socket_of(path.at.local)).collect();
        let place = |at: &SocketAddr| state.locals.iter().position(|local| local == at);
        used.sort_by_key(|at| place(at).unwrap_or(usize::MAX));
        used.dedup();
        used
    }

    /// Returns this end's SCTP port. A later association can reuse it ([`Peer::local_port`](crate::Peer)).
    pub fn local_port(&self) -> u16 {
        slot_of(&mut self.shared.lock(), self.handle).sctp_ports.0
    }

    /// Returns the peer's SCTP port.
    pub fn remote_port(&self) -> u16 {
        slot_of(&mut self.shared.lock(), self.handle).sctp_ports.1
    }

    /// Returns the streams and extensions that both ends agreed on; `None` before the association is up and
    /// after its end.
    pub fn agreed(&self) -> Option<Agreed> {
        self.look(msctp_proto::Association::agreed).flatten()
    }

    /// Returns the peer's key and certificates, as TLS authenticated them, also after the end. Returns `None`
    /// without TLS ([`Tls`](crate::security::Tls)).
    #[cfg(feature = "tls")]
    pub fn peer_identity(&self) -> Option<Arc<msctp_security::PeerIdentity>> {
        slot_of(&mut self.shared.lock(), self.handle).keys.as_ref()?.peer().cloned()
    }

    fn last<R>(&self, f: impl FnOnce(&Last) -> R) -> Option<R> {
        slot_of(&mut self.shared.lock(), self.handle).last.as_deref().map(f)
    }

    /// Returns the number of bytes that the application sent and the peer has not acknowledged yet.
    pub fn buffered(&self) -> u64 {
        self.look(msctp_proto::Association::buffered).unwrap_or(0)
    }

    /// Returns the number of queued messages of a stream that are not sent completely.
    ///
    /// A sender that exceeds the path's rate can drop its own messages while this number is high. That leaves
    /// the send buffer to other streams.
    pub fn unsent_on(&self, stream: u16) -> usize {
        self.look(|association| association.unsent_on(stream)).unwrap_or(0)
    }

    /// Returns the peer's UDP port on a path (RFC 6951 §5.1).
    pub fn remote_udp_port(&self, path: PathId) -> Option<u16> {
        self.paths().into_iter().find(|stats| stats.id == path)?.udp_port
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("state", &self.state())
            .field("remote_addresses", &self.remote_addresses())
            .finish_non_exhaustive()
    }
}

/// Two values are equal if they are handles of one association.
impl PartialEq for Association {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle && Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Association {}

impl Clone for Association {
    fn clone(&self) -> Self {
        slot_of(&mut self.shared.lock(), self.handle).handles += 1;
        Self::new(Arc::clone(&self.shared), self.handle, self.reported.load(Ordering::Relaxed))
    }
}

impl Drop for Association {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let slot = slot_of(&mut state, self.handle);
        slot.handles -= 1;
        if slot.handles == 0 {
            state.abandon(self.handle);
        }
    }
}

/// Returns the slot of an association, which stays until the last handle is dropped.
pub(crate) fn slot_of(state: &mut State, handle: Handle) -> &mut Slot {
    slot_of_parts(&mut state.slots, handle)
}

pub(crate) fn slot_of_parts(
    slots: &mut std::collections::BTreeMap<Handle, Box<Slot>>,
    handle: Handle,
) -> &mut Slot {
    slots.entry(handle).or_insert_with(|| {
        debug_assert!(false, "a handle keeps its slot");
        Box::new(Slot::new(Phase::Over(Some(AssociationError::EndpointGone)), 1))
    })
}
