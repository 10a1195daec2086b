//! Streams with handles of their own: connects [`Numbers`](crate::numbers), the core and the tasks that read
//! and write.

use std::future::poll_fn;
use std::task::{Context, Poll};

use msctp_proto::{CallError, Handle, OutMessage, StreamEnd, StreamEvent, StreamItem, StreamRequest};
use msctp_units::Time;

use crate::association::{Association, slot_of, slot_of_parts};
use crate::error::{AssociationError, FinishError, SendError, StreamError};
use crate::numbers::{Origin, Out};
use crate::slot::{Phase, Slot};
use crate::state::State;
use crate::wakers::Wait;

/// Minimum number of streams that `open_stream` uses in turn.
const LEAST_ROUND: usize = 512;

/// What a stream's reader gets next.
#[derive(Debug)]
pub(crate) enum Read {
    Data(bytes::Bytes),
    End(StreamEnd),
    /// The association was shut down.
    Over,
}

/// Returns the error of taking a stream of an association that is over.
fn over(phase: &Phase) -> Option<StreamError> {
    match phase {
        Phase::Over(error) => Some(error.clone().map_or(StreamError::ShutDown, StreamError::Association)),
        Phase::Connecting | Phase::Up => None,
    }
}

impl Association {
    /// Takes a stream for a [`Stream`](crate::Stream) of its own.
    pub(crate) fn claim_stream(&self, stream: u16) -> Result<(), StreamError> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let (outbound, inbound) = slot.streams;
        // The numbers of an association accepted just now are not known yet.
        if !matches!(slot.phase, Phase::Connecting) && stream >= outbound.max(inbound) {
            return Err(StreamError::Unknown { stream, outbound, inbound });
        }
        if slot.numbers.is_used(stream) {
            return Err(StreamError::Taken(stream));
        }
        let Some(association) = state.core.association_mut(self.handle) else {
            return Err(over(&slot.phase).unwrap_or(StreamError::ShutDown));
        };
        if !association.claim_stream(stream) {
            return Err(StreamError::Taken(stream));
        }
        // The peer may use the same number on its own.
        slot.numbers.begin(stream, Origin::Named);
        Ok(())
    }

    /// Takes a free stream of this end's parity; `Ok(None)` if there is none, or others wait for it.
    pub(crate) fn claim_free_stream(&self) -> Result<Option<u16>, StreamError> {
        self.claim_in_turn(&mut None, None)
    }

    /// Takes a free stream of this end's parity, unless others wait that came before the holder of `ticket`.
    /// With `cx` it waits in the queue.
    fn claim_in_turn(
        &self,
        ticket: &mut Option<u64>,
        cx: Option<&Context<'_>>,
    ) -> Result<Option<u16>, StreamError> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        if let Some(error) = over(&slot.phase) {
            return Err(error);
        }
        let Some(association) = state.core.association_mut(self.handle) else {
            return Err(StreamError::ShutDown);
        };
        // The peer answers on the same number.
        let streams = slot.streams.0.min(slot.streams.1);
        let parity = u16::from(!slot.initiator);
        // A number comes round late, but each takes memory when first used.
        let round = (4 * slot.numbers.len()).max(LEAST_ROUND).min(usize::from(streams)) as u16;
        let ours = |from, to| (from..to).filter(move |stream| stream % 2 == parity);
        let free = |stream: &u16| {
            let is_taken = association.is_stream_taken(*stream) || association.is_resetting(*stream);
            !slot.numbers.is_used(*stream) && !is_taken
        };
        let mut in_turn =
            ours(slot.next_open, round).chain(ours(0, slot.next_open)).chain(ours(round, streams));
        let is_first = slot.numbers.openers.is_first(*ticket);
        let Some(stream) = in_turn.find(free).filter(|_| is_first) else {
            if let Some(cx) = cx {
                slot.numbers.openers.wait(ticket, cx);
            }
            return Ok(None);
        };
        slot.next_open = stream.saturating_add(1);
        association.claim_stream(stream);
        slot.numbers.begin(stream, Origin::Opened);
        if let Some(ticket) = ticket.take() {
            slot.numbers.openers.leave(ticket);
        }
        Ok(Some(stream))
    }

    /// Waits for a free stream of this end's parity, and takes it.
    pub(crate) async fn claim_next_free_stream(&self) -> Result<u16, StreamError> {
        let mut turn = Turn { association: self, ticket: None };
        poll_fn(|cx| match self.claim_in_turn(&mut turn.ticket, Some(cx)) {
            Ok(Some(stream)) => Poll::Ready(Ok(stream)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    /// Waits until the peer sends on a stream of its parity that nobody has taken, and takes that stream.
    pub(crate) async fn claim_incoming_stream(&self) -> Result<Option<u16>, AssociationError> {
        poll_fn(|cx| self.poll_claim_incoming(cx)).await
    }

    fn poll_claim_incoming(&self, cx: &Context<'_>) -> Poll<Result<Option<u16>, AssociationError>> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let theirs = u16::from(slot.initiator);
        if let Some(association) = state.core.association_mut(self.handle)
            && let Some(stream) = slot.next_stream(association, theirs)
        {
            association.claim_stream(stream);
            slot.numbers.begin(stream, Origin::Accepted);
            return Poll::Ready(Ok(Some(stream)));
        }
        if let Some(ended) = slot.phase.ended() {
            return Poll::Ready(ended.map(|()| None));
        }
        slot.wakers.add(Wait::Read, cx);
        Poll::Pending
    }

    /// Returns what the stream's reader gets next.
    pub(crate) fn poll_read_stream(
        &self,
        cx: &Context<'_>,
        stream: u16,
    ) -> Poll<Result<Read, AssociationError>> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let item = match state.core.association_mut(self.handle) {
            Some(association) => association.recv_on(stream).map_err(|_| AssociationError::Restarted)?,
            None => None,
        };
        match (item, slot.phase.ended()) {
            (Some(StreamItem::Message(message)), _) => {
                // The peer may need a window update.
                state.wake_driver();
                Poll::Ready(Ok(Read::Data(message.data)))
            }
            (Some(StreamItem::End(end)), _) => Poll::Ready(Ok(Read::End(end))),
            (None, Some(ended)) => Poll::Ready(ended.map(|()| Read::Over)),
            (None, None) => {
                slot.numbers.wait(stream, cx);
                Poll::Pending
            }
        }
    }

    /// Sends data on a stream. Returns an error if the direction has ended.
    pub(crate) fn poll_write_stream(
        &self,
        cx: &Context<'_>,
        message: &OutMessage,
    ) -> Poll<Result<(), WriteError>> {
        // One lock for the look and the message: a stop in between would leave the message to the next use.
        let mut state = self.shared.lock();
        let slot = slot_of(&mut state, self.handle);
        match slot.numbers.out(message.stream) {
            Some(Out::Unused | Out::Open) => {}
            Some(Out::Stopping(code) | Out::Over(Err(FinishError::Stopped(code)))) => {
                return Poll::Ready(Err(FinishError::Stopped(*code).into()));
            }
            Some(Out::Over(Err(FinishError::Association(error)))) => {
                return Poll::Ready(Err(FinishError::Association(error.clone()).into()));
            }
            _ => return Poll::Ready(Err(WriteError::Finished)),
        }
        slot.numbers.on_sent(message.stream);
        let offered = self.poll_offer(cx, &mut state, message).map_err(WriteError::Send);
        if offered.is_pending() {
            // A stop ends the wait for room too.
            slot_of(&mut state, self.handle).numbers.watch(message.stream, cx);
        }
        offered
    }

    /// Ends the direction from this end, and waits for the peer's answer.
    pub(crate) fn poll_finish(&self, cx: &Context<'_>, stream: u16) -> Poll<Result<(), FinishError>> {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let now = state.now();
        let slot = slot_of_parts(&mut state.slots, self.handle);
        // The end of the association ends all streams.
        if let Some(ended) = slot.phase.ended() {
            return Poll::Ready(ended.map_err(FinishError::Association));
        }
        if matches!(slot.numbers.out(stream), Some(Out::Unused | Out::Open)) {
            slot.numbers.end(stream, None);
            state.streams_changed(now, self.handle);
        }
        let slot = slot_of_parts(&mut state.slots, self.handle);
        match slot.numbers.out(stream) {
            Some(Out::Over(result)) => Poll::Ready(result.clone()),
            _ => {
                slot.numbers.watch(stream, cx);
                Poll::Pending
            }
        }
    }

    /// Waits for the end of the direction from this end without requesting it.
    pub(crate) fn poll_stopped(&self, cx: &Context<'_>, stream: u16) -> Poll<Result<(), FinishError>> {
        let mut state = self.shared.lock();
        let slot = slot_of(&mut state, self.handle);
        match slot.numbers.out(stream) {
            Some(Out::Stopping(code)) => return Poll::Ready(Err(FinishError::Stopped(*code))),
            Some(Out::Over(result)) => return Poll::Ready(result.clone()),
            _ => {}
        }
        if let Some(ended) = slot.phase.ended() {
            return Poll::Ready(ended.map_err(FinishError::Association));
        }
        slot.numbers.watch(stream, cx);
        Poll::Pending
    }

    /// Ends the direction from this end, unless nothing was sent and nobody reads an answer.
    pub(crate) fn end_stream(&self, stream: u16) {
        let mut state = self.shared.lock();
        let now = state.now();
        slot_of(&mut state, self.handle).numbers.end_used(stream);
        state.streams_changed(now, self.handle);
    }

    /// Gives the direction from this end up.
    pub(crate) fn reset_stream(&self, stream: u16, code: u32) {
        let mut state = self.shared.lock();
        let now = state.now();
        slot_of(&mut state, self.handle).numbers.end(stream, Some(code));
        state.streams_changed(now, self.handle);
    }

    /// Takes the stream's reader away, and asks the peer for the end.
    pub(crate) fn stop_stream(&self, stream: u16, code: Option<u32>) {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let now = state.now();
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let association = state.core.association_mut(self.handle);
        let ended = association.is_none_or(|association| association.release_stream(now, stream));
        slot.numbers.stop(stream, code, ended);
        state.streams_changed(now, self.handle);
    }

    /// Takes the last handle of a stream away.
    pub(crate) fn drop_stream(&self, stream: u16) {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let now = state.now();
        let slot = slot_of_parts(&mut state.slots, self.handle);
        let unused = slot.numbers.drop_handle(stream);
        if unused && let Some(association) = state.core.association_mut(self.handle) {
            association.leave_stream(stream);
        }
        // The number may be free, and what the peer sent on it since may be for somebody else.
        slot.numbers.openers.wake_first();
        slot.wakers.wake(Wait::Read);
        state.streams_changed(now, self.handle);
    }

    /// Takes the handles of a stream away without ending it.
    pub(crate) fn leave_stream(&self, stream: u16) {
        let mut state = self.shared.lock();
        let state = &mut *state;
        let slot = slot_of_parts(&mut state.slots, self.handle);
        slot.numbers.leave(stream);
        if let Some(association) = state.core.association_mut(self.handle) {
            association.leave_stream(stream);
        }
        slot.wakers.wake(Wait::Read);
        slot.numbers.openers.wake_first();
    }
}

/// A turn in the queue of those that wait for a free number. Dropping it passes the turn on.
struct Turn<'a> {
    association: &'a Association,
    ticket: Option<u64>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let Association { shared, handle, .. } = self.association;
            let mut state = shared.lock();
            slot_of(&mut state, *handle).numbers.openers.leave(ticket);
        }
    }
}

/// Why data cannot be written to a stream.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// This end has ended the direction.
    Finished,
    /// The peer has, or the association.
    Ended(FinishError),
    Send(SendError),
}

impl From<FinishError> for WriteError {
    fn from(error: FinishError) -> Self {
        Self::Ended(error)
    }
}

impl State {
    /// Applies a change of streams by either end.
    pub(crate) fn note_streams(&mut self, handle: Handle, change: &StreamEvent) {
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        match change {
            StreamEvent::IncomingReset(streams) => slot.numbers.on_peer_ended(streams),
            StreamEvent::ResetRequested(ends) => {
                let now = self.now();
                self.note_stops(now, handle, ends);
            }
            StreamEvent::Answered { request: StreamRequest::ResetOutgoing(streams), outcome } => {
                slot.numbers.on_ends_answered(streams, *outcome);
            }
            StreamEvent::Answered { request: StreamRequest::ResetIncoming(streams), outcome } => {
                slot.numbers.on_stops_answered(streams, *outcome);
            }
            StreamEvent::Answered { .. } | StreamEvent::IncomingAdded(_) => {
                let agreed = self.core.association(handle).and_then(msctp_proto::Association::agreed);
                if let Some(agreed) = agreed {
                    slot.streams = (agreed.outbound_streams, agreed.inbound_streams);
                }
            }
        }
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        slot.numbers.openers.wake_first();
        if slot.numbers.is_waiting() {
            // Requested when all events are known: a stop after the peer's end would be for the next use.
            self.ending.insert(handle);
            self.touch(handle);
        }
        self.wake_driver();
    }

    /// Handles the peer's request for the end of streams of this end. What is queued there is of the use that
    /// the peer has abandoned.
    fn note_stops(&mut self, now: Time, handle: Handle, ends: &[StreamEnd]) {
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let Some(association) = self.core.association_mut(handle) else { return };
        for stream in slot.numbers.on_stop_requested(ends, &association.waiting_uses()) {
            association.abandon_unsent(now, stream);
        }
    }

    /// Requests what is due after a change of streams.
    fn streams_changed(&mut self, now: Time, handle: Handle) {
        if self.slots.get(&handle).is_some_and(|slot| slot.numbers.is_waiting()) {
            self.ending.insert(handle);
            // With unknown events, `look_after` does it behind them.
            if !self.unsettled {
                self.advance_streams(now, handle);
            }
            // What an end waits for may be sent without a packet from the peer.
            self.touch(handle);
        }
        self.wake_driver();
    }

    /// Shuts an association down gracefully. Ends the streams that were reset first: their readers would take
    /// what they have for all.
    pub(crate) fn shut_down(&mut self, now: Time, handle: Handle) {
        let Some(association) = self.core.association_mut(handle) else { return };
        while let Some(slot) = self.slots.get_mut(&handle) {
            let batch = slot.numbers.next_given_up(|stream| !association.is_resetting(stream));
            if batch.streams.is_empty()
                || association.end_streams(now, batch.streams.clone(), batch.codes).is_err()
            {
                break;
            }
            slot.numbers.on_ends_asked(&batch.streams);
        }
        association.shutdown(now);
    }

    /// Requests the ends that are due.
    pub(crate) fn advance_streams(&mut self, now: Time, handle: Handle) {
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let Some(association) = self.core.association_mut(handle) else { return };
        advance_stops(now, slot, association);
        advance_ends(now, slot, association);
        if !slot.numbers.is_waiting() {
            self.ending.remove(&handle);
        }
    }
}

/// Asks the peer for the ends of streams whose readers are gone.
fn advance_stops(now: Time, slot: &mut Slot, association: &mut msctp_proto::Association) {
    let undelivered = association.undelivered(slot.numbers.unsure_stops());
    let batch = slot.numbers.next_stops(&undelivered);
    if batch.streams.is_empty() {
        return;
    }
    let request = StreamRequest::ResetIncoming(batch.streams.clone());
    match association.reconfigure_with(now, request, batch.codes) {
        Ok(()) => slot.numbers.on_stops_asked(&batch.streams),
        // The association shuts down, which ends all streams; or other requests come first.
        Err(CallError::WrongState { .. } | CallError::TooManyStreamRequests) => {}
        Err(_) => slot.numbers.refuse_stops(&batch.streams),
    }
}

/// Requests the ends of streams of this end: of those that are sent completely with the next packet, or are
/// abandoned.
fn advance_ends(now: Time, slot: &mut Slot, association: &mut msctp_proto::Association) {
    let batch = slot.numbers.next_ends(|stream, code| {
        !association.is_resetting(stream) && (code.is_some() || association.may_end(stream))
    });
    if batch.streams.is_empty() {
        return;
    }
    let error = match association.end_streams(now, batch.streams.clone(), batch.codes) {
        Ok(()) => return slot.numbers.on_ends_asked(&batch.streams),
        // The delivery is all that this end can ensure.
        Err(CallError::PeerLacksReconfig) if association.buffered() > 0 => return,
        Err(CallError::PeerLacksReconfig) => FinishError::NotAgreedOn,
        Err(CallError::WrongState { .. } | CallError::TooManyStreamRequests) => return,
        Err(error) => FinishError::Refused(error),
    };
    slot.numbers.refuse_ends(&batch.streams, &error);
}
