//! The sending half of data transfer: streams, fragmentation, retransmission and SACK processing.
//!
//! [`Outbound`] takes messages and SACKs and fills packets with DATA chunks. It records which chunk was sent
//! on which path. The state of a path alone (window, RTO, T3-rtx, error counter) is in
//! [`Path`]. This module may not touch sockets or whole packets.
//!
//! The association calls [`next_path`](Outbound::next_path) until it returns `None`. For each path returned
//! it begins a packet there, bundles control chunks and calls [`fill`](Outbound::fill).
//! [`next_timeout`](Outbound::next_timeout) returns the deadline.

mod abandon;
mod aggregate;
mod chunk;
mod coverage;
mod credit;
mod detector;
mod differentiation;
mod ecn;
mod fill;
mod forward;
mod frto;
mod gaps;
mod loss;
mod options;
mod partial;
mod piece;
mod queue;
mod rack;
mod reneging;
mod sack;
pub(crate) mod scheduler;
mod silence;
#[cfg(test)]
mod tests;
mod timeout;
mod tlp;
#[cfg(debug_assertions)]
mod untimed;
mod zero_window;

use std::collections::{BTreeSet, VecDeque};

use msctp_units::{Span, Time};
use msctp_wire::Tsn;

pub(crate) use ecn::Echoed;
pub(crate) use options::OutboundConfig;
pub use options::{LossRecovery, RetransmissionPath, SpuriousTimeouts};

use self::aggregate::Aggregation;
use self::chunk::{Fate, Outstanding};
use self::credit::SendCredit;
use self::detector::LossDetector;
use self::ecn::EcnSender;
pub(crate) use self::fill::{ChunkKind, Filled};
use self::forward::Forward;
use self::gaps::Gaps;
use self::partial::PartialStore;
use self::queue::{Queued, SendQueue};
use self::reneging::RenegingBudget;
use self::zero_window::ZeroWindowProbe;
use crate::addr::PathId;
use crate::error::SendError;
use crate::long_tsn::LongTsn;
use crate::message::{MIN_CHARGE, OutMessage, SendFailure};
use crate::path::{Path, Paths, SendNumber};
use crate::rare::Rare;
use crate::trace::TraceKind;

/// Maximum number of outstanding chunks.
///
/// All TSNs stay within the 16-bit offsets of gap blocks (RFC 9260 §3.3.4). RFC 9260 §6.1 follows: the send
/// window holds fewer than 2^31 TSNs and at most 2^16 − 1 ordered messages of a stream.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# The data sender MUST NOT use a TSN that is more than 2^31 - 1 above the beginning TSN of the current send
//# window.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current send window.
const MAX_OUTSTANDING: usize = u16::MAX as usize;

/// The sending half of data transfer.
#[derive(Debug)]
pub(crate) struct Outbound {
    queue: SendQueue,
    sent: Outstanding,
    gaps: Rare<Gaps>,
    reneging_budget: RenegingBudget,
    /// The last a_rwnd received.
    a_rwnd: u64,
    /// User bytes in flight on all paths.
    in_flight: u64,
    /// User bytes in `sent`.
    sent_bytes: u64,
    /// The number of the next transmission of a chunk.
    next_number: SendNumber,
    zero_window_probe: ZeroWindowProbe,
    /// Since T3-rtx expired last, the peer has sent a SACK without room for the first outstanding chunk.
    refused: bool,
    streams: u16,
    /// Sends I-DATA instead of DATA (RFC 8260 §2.2.1).
    interleaving: bool,
    /// The peer supports FORWARD TSN, or I-FORWARD-TSN with interleaving: chunks already sent can be
    /// abandoned.
    peer_forwards: bool,
    partial: Rare<PartialStore>,
    /// The peer's receive buffer, if both ends agreed on limits for each stream; otherwise 0.
    credit_buffer: u32,
    /// The limits, from the first message on.
    credit: Option<Box<SendCredit>>,
    forward: Rare<Forward>,
    send_buffer: u64,
    /// A message was rejected since the send buffer last had room.
    enqueue_rejected: bool,
    writable: bool,
    /// The time until which pacing delays the next packet; `None` without a delay.
    paced_until: Option<Time>,
    /// The path that `next_path` returned for new data; saves `fill` a second check.
    ready_path: Option<PathId>,
    /// The association is in SHUTDOWN-PENDING: the last chunk gets the I bit (RFC 9260 §6.1).
    shutdown_pending: bool,
    /// As `shutdown_pending`, for the last chunk of what is queued now.
    expedited: bool,
    /// Streams are reset once all sent chunks are acknowledged.
    resetting: bool,
    max_burst: u32,
    /// Cuts fragments so that packets are full. Several packets then leave in one batch of equal lengths.
    full_packets: bool,
    /// Messages that fit one packet are sent in copy (`PathUse::Redundant`).
    copies_small: bool,
    retransmission_path: RetransmissionPath,
    /// Detects lost chunks.
    losses: LossDetector,
    /// The shortest silence that counts as one; `None` if silence detection is off.
    silence: Option<Span>,
    /// Both ends negotiated ECN.
    use_ecn: bool,
    ecn: Option<Box<EcnSender>>,
    /// The trace, if `Config::trace` is on; nothing here reads it.
    #[expect(clippy::box_collection, reason = "few associations have a trace: a pointer takes less memory")]
    trace: Option<Box<VecDeque<TraceKind>>>,
    aggregation: Option<Box<Aggregation>>,
    /// Chunks that the peer reneged on and whose path was removed; used while a SACK is processed.
    reneged_without_path: Vec<LongTsn>,
}

impl Outbound {
    /// Creates the state before anything is sent.
    ///
    /// The peer is unknown: until [`establish`](Self::establish) every stream identifier is accepted and no
    /// chunk is sent.
    pub(crate) fn new(config: &OutboundConfig<'_>, initial_tsn: Tsn) -> Self {
        Self {
            // `validate` has rejected unknown names.
            queue: scheduler::create(config.scheduler).map_or_else(|_| SendQueue::default(), SendQueue::new),
            sent: Outstanding::new(initial_tsn),
            gaps: Rare::default(),
            reneging_budget: RenegingBudget::default(),
            a_rwnd: 0,
            in_flight: 0,
            sent_bytes: 0,
            next_number: 1,
            zero_window_probe: ZeroWindowProbe::default(),
            refused: false,
            streams: u16::MAX,
            interleaving: false,
            peer_forwards: false,
            partial: Rare::default(),
            credit_buffer: 0,
            credit: None,
            forward: Rare::default(),
            send_buffer: u64::from(config.send_buffer),
            enqueue_rejected: false,
            writable: false,
            paced_until: None,
            ready_path: None,
            shutdown_pending: false,
            expedited: false,
            resetting: false,
            max_burst: config.max_burst,
            full_packets: config.full_packets,
            copies_small: config.copies_small,
            retransmission_path: config.retransmission_path,
            losses: LossDetector::new(config),
            silence: config.silence,
            use_ecn: false,
            ecn: None,
            trace: config.trace.then(Box::default),
            aggregation: None,
            reneged_without_path: Vec::new(),
        }
    }

    /// Sets the peer's a_rwnd from INIT or INIT ACK (RFC 9260 §6.2.1 A) and the negotiated number of outbound
    /// streams.
    ///
    /// Returns the messages queued for streams that do not exist.
    pub(crate) fn establish(&mut self, a_rwnd: u32, streams: u16) -> Vec<SendFailure> {
        self.a_rwnd = u64::from(a_rwnd);
        self.streams = streams;
        self.zero_window_probe = ZeroWindowProbe::Idle;
        let failed = self.queue.fail_beyond(streams);
        self.note_room();
        failed.into_iter().map(|unsent| self.fail(unsent)).collect()
    }

    /// Sets the negotiated extensions: I-DATA instead of DATA (RFC 8260), and abandoning sent chunks
    /// (RFC 3758).
    ///
    /// Must be called before anything is sent.
    pub(crate) fn set_extensions(&mut self, interleaving: bool, peer_forwards: bool) {
        self.interleaving = interleaving;
        self.peer_forwards = peer_forwards;
        self.queue.set_interleaving(interleaving);
    }

    fn fail(&mut self, unsent: Queued) -> SendFailure {
        if unsent.partial != 0 {
            self.partial.remove(unsent.partial);
        }
        unsent.into_failure()
    }

    /// Reports the send buffer as writable once half of it is free, after a message was rejected.
    fn note_room(&mut self) {
        if self.enqueue_rejected && Self::charge(self.buffered(), self.kept_chunks()) <= self.send_buffer / 2
        {
            self.enqueue_rejected = false;
            self.writable = true;
        }
    }

    /// Chooses the stream scheduler (RFC 8260 §4.3.2).
    pub(crate) fn set_scheduler(&mut self, scheduler: Box<dyn scheduler::Scheduler>) {
        self.queue.set_scheduler(scheduler);
    }

    /// Sets a stream's value for the scheduler (RFC 8260 §4.3.3).
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`] if the stream does not exist.
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.queue.set_value(stream, value);
        Ok(())
    }

    /// Starts no further message on these streams; on no stream if the list is empty (RFC 6525 §5.1.2).
    ///
    /// Chunks sent meanwhile ask for an immediate SACK (RFC 7053 §5.1).
    pub(crate) fn pause_streams(&mut self, streams: &[u16]) {
        self.resetting = true;
        self.queue.all_paused = streams.is_empty();
        self.queue.selected(streams).into_iter().for_each(|stream| self.queue.pause(stream));
    }

    /// Returns true if no message of these streams is partly sent; an empty list means all streams.
    pub(crate) fn are_quiet(&mut self, streams: &[u16]) -> bool {
        !self.queue.selected(streams).into_iter().any(|stream| self.queue.is_begun(stream))
    }

    /// Returns the last TSN assigned.
    #[cfg(test)]
    pub(crate) fn last_tsn(&self) -> LongTsn {
        self.sent.next() - 1
    }

    /// Resumes these streams after the reset was answered; restarts their numbers at 0 if it was `performed`.
    pub(crate) fn finish_reset(&mut self, streams: &[u16], performed: bool) {
        self.resetting = false;
        self.queue.all_paused = false;
        self.end_reset(performed);
        for stream in self.queue.selected(streams) {
            if performed {
                self.queue.reset_numbers(stream);
            }
            self.queue.resume(stream);
        }
    }

    /// Sets the number of outbound streams (RFC 6525 §5.1.5).
    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.streams = streams;
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
    //# Every DATA chunk MUST carry a valid stream identifier.
    fn check_stream(&self, stream: u16) -> Result<(), SendError> {
        if stream < self.streams {
            return Ok(());
        }
        Err(SendError::InvalidStream { stream, streams: self.streams })
    }

    /// Returns an eighth of the send buffer, in bytes.
    pub(crate) fn reserve(&self) -> u64 {
        self.send_buffer / 8
    }

    /// Asks for an immediate SACK of the last queued chunk (RFC 7053 §5.1).
    pub(crate) fn expedite(&mut self) {
        self.expedited = !self.queue.is_empty();
    }

    /// Asks for an immediate SACK of the last chunk, in SHUTDOWN-PENDING (RFC 9260 §6.1, RFC 7053).
    pub(crate) fn on_shutdown_pending(&mut self) {
        self.shutdown_pending = true;
    }

    /// Queues a message that fits into the send buffer.
    #[cfg(test)]
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        message: OutMessage,
        paths: &mut Paths,
    ) -> Result<(), SendError> {
        self.enqueue_leaving(now, message, 0, paths)
    }

    /// Queues a message if `reserve` bytes of the send buffer stay free. A message that is too large for that
    /// may take all.
    ///
    /// # Errors
    ///
    /// The message is empty, its stream does not exist, or it does not fit into the send buffer. After
    /// [`SendError::BufferFull`], [`take_writable`](Self::take_writable) reports when to retry.
    #[inline(always)]
    pub(crate) fn enqueue_leaving(
        &mut self,
        now: Time,
        message: OutMessage,
        reserve: u64,
        paths: &mut Paths,
    ) -> Result<(), SendError> {
        let len = message.data.len();
        let reserve = if len as u64 + reserve > self.send_buffer { 0 } else { reserve };

        if len == 0 {
            return Err(SendError::Empty);
        }
        self.check_stream(message.stream)?;
        if len as u64 > self.send_buffer {
            return Err(SendError::TooLarge { len, max: self.send_buffer as usize });
        }
        if self.lacks_credit(message.stream) {
            self.want_credit(now, message.stream, paths);
            return Err(SendError::BufferFull { len, free: 0 });
        }
        let mut free = self.free(self.buffered(), self.kept_chunks()).saturating_sub(reserve);
        if len as u64 > free && self.partial.is_touched() {
            self.make_room(now, len as u64 + reserve, message.reliability, paths);
            free = self.free(self.buffered(), self.kept_chunks()).saturating_sub(reserve);
        }
        if len as u64 > free {
            self.enqueue_rejected = true;
            return Err(SendError::BufferFull { len, free: free as usize });
        }
        self.take_credit(message.stream, len);
        let partial = self.partial.note(now, &message, self.queue.next_id());
        self.queue.push(message, partial);
        Ok(())
    }

    /// Queues a message before all user data of which no fragment was sent, beyond the send buffer's size.
    ///
    /// # Errors
    ///
    /// An empty message or an invalid stream.
    pub(crate) fn enqueue_urgent(&mut self, message: OutMessage) -> Result<(), SendError> {
        if message.data.is_empty() {
            return Err(SendError::Empty);
        }
        self.check_stream(message.stream)?;
        // Key management waits for no limit.
        self.take_credit(message.stream, message.data.len());
        self.queue.push_urgent(message);
        Ok(())
    }

    /// Returns the number of queued messages and of chunks kept: each costs memory besides its user bytes.
    #[inline]
    fn kept_chunks(&self) -> u64 {
        (self.queue.len() + self.sent.len()) as u64
    }

    /// Returns the share of the send buffer that `bytes` user bytes in `chunks` messages and chunks take.
    #[inline]
    fn charge(bytes: u64, chunks: u64) -> u64 {
        bytes.max(chunks * MIN_CHARGE)
    }

    /// Returns the size in bytes of the largest message that fits, with `bytes` and `chunks` buffered.
    #[inline]
    fn free(&self, bytes: u64, chunks: u64) -> u64 {
        if (chunks + 1) * MIN_CHARGE > self.send_buffer { 0 } else { self.send_buffer.saturating_sub(bytes) }
    }

    /// Returns the user bytes in the send buffer: unsent, or not cumulatively acknowledged.
    #[inline]
    pub(crate) fn buffered(&self) -> u64 {
        self.queue.bytes() + self.sent_bytes
    }

    /// Returns the user bytes queued and never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.queue.bytes()
    }

    /// Returns the number of messages of a stream that are not completely sent.
    pub(crate) fn unsent_on(&self, stream: u16) -> usize {
        self.queue.len_of(stream)
    }

    /// Removes the streams of whose first message since their last reset (RFC 6525 §5.1.2) nothing is queued
    /// and nothing is in flight.
    pub(crate) fn retain_undelivered(&self, streams: &mut BTreeSet<u16>) {
        if streams.is_empty() {
            return;
        }
        let firsts =
            self.sent.iter().filter(|(_, chunk)| chunk.piece.mid == 0 && chunk.fate.is_outstanding());
        let in_flight: BTreeSet<u16> = firsts.map(|(_, chunk)| chunk.piece.stream).collect();
        streams.retain(|stream| self.queue.has_first(*stream) || in_flight.contains(stream));
    }

    /// Returns true once after a message was rejected and half of the send buffer has become free.
    pub(crate) fn take_writable(&mut self) -> bool {
        core::mem::take(&mut self.writable)
    }

    /// Returns true if everything is sent and acknowledged: a shutdown may proceed (RFC 9260 §9.2).
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.sent.is_empty()
    }

    /// Returns the number of chunks not cumulatively acknowledged.
    #[inline]
    pub(crate) fn outstanding_chunks(&self) -> usize {
        self.sent.len()
    }

    /// Returns the peer's window less the bytes in flight (RFC 9260 §6.2.1).
    ///
    /// Negative if the peer shrank its window, or during zero window probing.
    #[inline]
    pub(crate) fn rwnd(&self) -> i64 {
        // Follows RFC 9260 §6.2.1 B (less when data is sent), C (more when it is marked) and D ii (reset by
        // each SACK).
        self.a_rwnd as i64 - self.in_flight as i64
    }

    /// Returns the TSN of the next new chunk.
    pub(crate) fn next_tsn(&self) -> Tsn {
        self.sent.next().tsn()
    }

    /// Returns whether messages of key management wait to be sent for the first time.
    pub(crate) fn has_key_messages(&self) -> bool {
        self.queue.has_urgent()
    }

    /// Returns the number of the next ordered message of a stream.
    pub(crate) fn next_ordered(&self, stream: u16) -> u32 {
        self.queue.next_ordered(stream)
    }

    /// Returns the Cumulative TSN Ack Point.
    #[cfg(test)]
    pub(crate) fn cum_tsn_ack(&self) -> Tsn {
        self.sent.cum_tsn_ack().tsn()
    }

    /// Returns the next trace entry; always `None` unless `Config::trace` is on.
    pub(crate) fn poll_trace(&mut self) -> Option<TraceKind> {
        self.trace.as_mut()?.pop_front()
    }

    /// Appends an entry to the trace, if it is on.
    #[inline(always)]
    fn emit(&mut self, kind: TraceKind) {
        if let Some(trace) = &mut self.trace {
            trace.push_back(kind);
        }
    }

    #[inline]
    fn trace_window(&mut self, path: &Path) {
        if let Some(trace) = &mut self.trace {
            trace.push_back(path.window_trace());
        }
    }

    /// Moves the chunks of a removed path to another one for retransmission (RFC 5061).
    pub(crate) fn remove_path(&mut self, removed: &Path, paths: &mut Paths) {
        let gone = removed.id();
        self.forward_after_removal(gone);
        self.losses.frto = None;
        for detector in paths.iter_mut().filter_map(|path| path.silence.as_mut()) {
            detector.silence_probe.take_if(|probe| probe.path == gone);
        }
        // A peer can add and remove paths that never carry data: these must not cost a search.
        if removed.flow.unacked == 0 && removed.flow.marked == 0 {
            return;
        }
        let Some(target) = paths.data_path().or_else(|| paths.primary()) else { return };
        let Some(to) = paths.get_mut(target) else { return };
        for (tsn, chunk) in self.sent.iter_mut() {
            let moves = match chunk.fate {
                Fate::InFlight if chunk.path == gone => {
                    self.in_flight -= chunk.len();
                    chunk.misses = 0;
                    true
                }
                Fate::Marked => chunk.target == gone,
                Fate::InFlight | Fate::GapAcked | Fate::Abandoned => false,
            };
            if moves {
                chunk.fate = Fate::Marked;
                chunk.target = target;
                self.partial.on_marked(chunk.piece.partial, tsn);
                to.flow.mark(tsn);
            }
        }
    }

    /// Abandons everything and returns it in sending order (RFC 9260 §11.1.14, §11.1.15, §11.2.2).
    ///
    /// The data of a fragmented message that was partly sent is not returned. Stops all T3-rtx timers.
    pub(crate) fn give_up(&mut self, paths: &mut Paths) -> Vec<SendFailure> {
        for path in paths.iter_mut() {
            path.forget_data();
        }
        let mut failures: Vec<SendFailure> = Vec::new();
        for chunk in self.sent.drain() {
            if !chunk.piece.flags.end || chunk.fate == Fate::Abandoned {
                continue;
            }
            let chunk_len = chunk.len();
            failures.push(SendFailure {
                message: OutMessage {
                    stream: chunk.piece.stream,
                    ppid: chunk.piece.ppid,
                    unordered: chunk.piece.flags.unordered,
                    data: if chunk.piece.flags.begin { chunk.piece.data } else { bytes::Bytes::new() },
                    context: chunk.piece.context,
                    ..OutMessage::default()
                },
                unsent: false,
                sent: chunk_len,
                abandoned: false,
            });
        }
        failures.extend(self.queue.drain().into_iter().map(Queued::into_failure));
        if self.partial.is_touched() {
            self.partial.clear();
        }
        self.forward = Rare::default();
        self.losses.frto = None;
        self.gaps = Rare::default();
        self.in_flight = 0;
        self.sent_bytes = 0;
        self.zero_window_probe = ZeroWindowProbe::default();
        self.paced_until = None;
        self.note_room();
        failures
    }

    /// Marks a chunk that was lost for retransmission on `target`. The caller subtracts it from the flight
    /// size of its previous path.
    fn mark(&mut self, tsn: LongTsn, target: PathId, paths: &mut Paths) {
        let Some(chunk) = self.sent.at(tsn) else { return };
        let (from, number, wire_len) = (chunk.path, chunk.number, chunk.wire_len());
        if let Some(path) = paths.get_mut(from) {
            path.flow.note_lost(number, wire_len);
        }
        self.requeue(tsn, target, paths);
    }

    /// Like [`mark`](Self::mark), for a chunk that may still arrive over its previous path: to the controller
    /// there it is no loss.
    fn mark_unacked(&mut self, tsn: LongTsn, target: PathId, paths: &mut Paths) {
        let Some(chunk) = self.sent.at(tsn) else { return };
        let (from, number) = (chunk.path, chunk.number);
        if let Some(path) = paths.get_mut(from) {
            path.flow.note_moved(number);
        }
        self.requeue(tsn, target, paths);
    }

    fn requeue(&mut self, tsn: LongTsn, target: PathId, paths: &mut Paths) {
        let Some(chunk) = self.sent.at_mut(tsn) else { return };
        debug_assert_eq!(chunk.fate, Fate::InFlight);
        chunk.fate = Fate::Marked;
        chunk.target = target;
        chunk.misses = 0;
        // RFC 9260 §6.2.1 C
        self.in_flight -= chunk.len();
        self.partial.on_marked(chunk.piece.partial, tsn);
        if let Some(path) = paths.get_mut(target) {
            path.flow.mark(tsn);
        }
    }
}
