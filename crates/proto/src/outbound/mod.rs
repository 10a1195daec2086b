//! Sending user data: streams, fragmentation, the outstanding queue, SACK processing. May not touch sockets or whole packets.
//!
//! [`Outbound`] takes messages and SACKs and fills packets with DATA chunks. What belongs to a path alone (window, RTO,
//! T3-rtx, error counter) lives in [`Path`](crate::path::Path); what is here is which chunk went where.
//!
//! The association calls [`next_path`](Outbound::next_path) until it gives `None`; for each path given it begins a packet
//! there, bundles what control chunks there are, and calls [`fill`](Outbound::fill). Deadlines are in
//! [`next_timeout`](Outbound::next_timeout).

mod abandon;
mod chunk;
mod detector;
mod differentiation;
mod ecn;
mod fill;
mod forward;
mod frto;
mod gaps;
mod loss;
mod partial;
mod probe;
mod queue;
mod rack;
mod reneging;
mod sack;
pub mod scheduler;
mod silence;
#[cfg(test)]
mod tests;
mod timeout;
mod tlp;

use std::collections::VecDeque;

use msctp_units::{Span, Time};
use msctp_wire::Tsn;

pub use ecn::Echoed;
pub use fill::Filled;
pub use forward::ForwardSummary;
pub use sack::{SackFault, SackOutcome};

use self::chunk::{Fate, Outstanding};
use self::detector::LossDetector;
use self::ecn::EcnSender;
use self::forward::Forward;
use self::gaps::Gaps;
use self::partial::PartialStore;
use self::probe::ZeroWindowProbe;
use self::queue::{SendQueue, Unsent};
use self::reneging::Patience;
use crate::config::{MIN_CHARGE, RetransmissionPath};
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths, SendNumber};
use crate::rare::Rare;
use crate::{Config, OutMessage, PathId, SendError, SendFailure, TraceKind};

/// Chunks outstanding at most. Keeps all TSNs within what gap blocks can report (16-bit offsets, RFC 9260 §3.3.4), and with
/// it, RFC 9260 §6.1: fewer than 2^31 TSNs, and at most 2^16 − 1 ordered messages of a stream, in the send window.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# The data sender MUST NOT use a TSN that is more than 2^31 - 1 above the beginning TSN of the current send
//# window.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current send window.
const MAX_OUTSTANDING: usize = u16::MAX as usize;

/// The sending half of data transfer.
#[derive(Debug)]
pub struct Outbound {
    queue: SendQueue,
    sent: Outstanding,
    gaps: Rare<Gaps>,
    patience: Patience,
    /// The peer's last a_rwnd.
    a_rwnd: u64,
    /// User bytes in flight over all paths.
    in_flight: u64,
    /// User bytes in `sent`.
    sent_bytes: u64,
    /// The number the next sending gets.
    next_number: SendNumber,
    probe: ZeroWindowProbe,
    streams: u16,
    /// I-DATA instead of DATA (RFC 8260 §2.2.1).
    interleaving: bool,
    /// The peer understands FORWARD TSN, or I-FORWARD-TSN with interleaving: what was sent can be given up.
    peer_forwards: bool,
    partial: Rare<PartialStore>,
    forward: Rare<Forward>,
    send_buffer: u64,
    /// A message was refused since the buffer last had room.
    refused: bool,
    writable: bool,
    /// Pacing holds the next packet back until then; `None`: it does not.
    held_until: Option<Time>,
    /// Where `next_path` has just found that new data may go: `fill` need not ask again.
    found: Option<PathId>,
    /// RFC 9260 §6.1: set the I bit on the last chunk, the association is in SHUTDOWN-PENDING.
    shutdown_pending: bool,
    /// Streams are to be reset when what was sent is acknowledged.
    resetting: bool,
    max_burst: u32,
    /// Fragments are cut so that packets are full: several packets leave at once, and a shorter one would be the last of them.
    full_packets: bool,
    retransmission_path: RetransmissionPath,
    /// Finds lost chunks.
    losses: LossDetector,
    /// Silence is detected, and is at least so long.
    silence: Option<Span>,
    /// Both ends agreed on ECN.
    use_ecn: bool,
    ecn: Option<Box<EcnSender>>,
    /// Filled only when wanted; nothing here reads it.
    trace: Option<VecDeque<TraceKind>>,
    /// Chunks the peer reneged on whose path is gone, while a SACK is processed.
    reneged_without_path: Vec<LongTsn>,
}

impl Outbound {
    /// Nothing sent yet. The peer is unknown: until [`establish`](Self::establish) any stream may be named and no chunk is
    /// sent.
    ///
    /// Uses `streams`, `send_buffer`, `max_burst`, `retransmission_path`, `failover`, `loss_classifier`, `spurious_timeouts`,
    /// `loss_recovery`, `sack_delay` (for the peer's, which is not known) and `trace` of `config`.
    pub fn new(config: &Config, initial_tsn: Tsn) -> Self {
        Self {
            // An unknown name was refused by `validate`.
            queue: scheduler::create(&config.streams.scheduler)
                .map_or_else(|_| SendQueue::default(), SendQueue::new),
            sent: Outstanding::new(initial_tsn),
            gaps: Rare::default(),
            patience: Patience::default(),
            a_rwnd: 0,
            in_flight: 0,
            sent_bytes: 0,
            next_number: 1,
            probe: ZeroWindowProbe::default(),
            streams: u16::MAX,
            interleaving: false,
            peer_forwards: false,
            partial: Rare::default(),
            forward: Rare::default(),
            send_buffer: u64::from(config.send_buffer),
            refused: false,
            writable: false,
            held_until: None,
            found: None,
            shutdown_pending: false,
            resetting: false,
            max_burst: config.max_burst,
            full_packets: config.max_segments > 1,
            retransmission_path: config.retransmission_path,
            losses: LossDetector::new(config),
            silence: config.failover.silence,
            use_ecn: false,
            ecn: None,
            trace: config.trace.then(VecDeque::new),
            reneged_without_path: Vec::new(),
        }
    }

    /// The peer is known: its a_rwnd from INIT or INIT ACK (RFC 9260 §6.2.1 A) and the negotiated number of outbound
    /// streams. Messages queued for streams that do not exist come back.
    pub fn establish(&mut self, a_rwnd: u32, streams: u16) -> Vec<SendFailure> {
        self.a_rwnd = u64::from(a_rwnd);
        self.streams = streams;
        self.probe = ZeroWindowProbe::Idle;
        let failed = self.queue.fail_beyond(streams);
        self.note_room();
        failed.into_iter().map(|unsent| self.fail(unsent)).collect()
    }

    /// What was agreed with the peer: I-DATA instead of DATA (RFC 8260), and whether what was sent can be given up
    /// (RFC 3758). To be said before anything is sent.
    pub fn set_extensions(&mut self, interleaving: bool, peer_forwards: bool) {
        self.interleaving = interleaving;
        self.peer_forwards = peer_forwards;
        self.queue.set_interleaving(interleaving);
    }

    fn fail(&mut self, unsent: Unsent) -> SendFailure {
        if unsent.partial != 0 {
            self.partial.remove(unsent.partial);
        }
        unsent.into_failure()
    }

    /// The buffer is worth an application's while again when half of it is free.
    fn note_room(&mut self) {
        if self.refused && Self::charge(self.buffered(), self.kept_chunks()) <= self.send_buffer / 2 {
            self.refused = false;
            self.writable = true;
        }
    }

    /// Chooses the stream scheduler (RFC 8260 §4.3.2).
    pub fn set_scheduler(&mut self, scheduler: Box<dyn scheduler::Scheduler>) {
        self.queue.set_scheduler(scheduler);
    }

    /// Sets what the scheduler knows of a stream (RFC 8260 §4.3.3).
    ///
    /// # Errors
    ///
    /// The stream does not exist.
    pub fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.queue.set_value(stream, value);
        Ok(())
    }

    /// Begins no message on these streams any more; none named: on none at all (RFC 6525 §5.1.2). Chunks that still go ask for
    /// SACKs without delay (RFC 7053 §5.1).
    pub(crate) fn pause_streams(&mut self, streams: &[u16]) {
        self.resetting = true;
        match streams {
            [] => self.queue.pause_all(),
            _ => streams.iter().for_each(|&stream| self.queue.pause(stream)),
        }
    }

    /// No message of these streams is sent in part.
    pub(crate) fn are_quiet(&mut self, streams: &[u16]) -> bool {
        match streams {
            [] => !self.queue.any_begun(),
            _ => !streams.iter().any(|&stream| self.queue.is_begun(stream)),
        }
    }

    /// The last TSN given to a chunk.
    pub(crate) fn last_tsn(&self) -> LongTsn {
        self.sent.next() - 1
    }

    pub(crate) fn is_acked_up_to(&self, tsn: LongTsn) -> bool {
        self.sent.cum_tsn_ack() >= tsn
    }

    /// The reset of these streams was answered; they go on, numbered from 0 when it was `performed`.
    pub(crate) fn finish_reset(&mut self, streams: &[u16], performed: bool) {
        self.resetting = false;
        if performed {
            match streams {
                [] => self.queue.reset_all_numbers(),
                _ => streams.iter().for_each(|&stream| self.queue.reset_numbers(stream)),
            }
        }
        match streams {
            [] => self.queue.resume_all(),
            _ => streams.iter().for_each(|&stream| self.queue.resume(stream)),
        }
    }

    /// So many streams may be sent on (RFC 6525 §5.1.5).
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

    /// Ask for SACKs without delay at the end of the data: SHUTDOWN-PENDING (RFC 9260 §6.1, RFC 7053).
    pub fn on_shutdown_pending(&mut self) {
        self.shutdown_pending = true;
    }

    /// Takes a message.
    ///
    /// # Errors
    ///
    /// It is empty, its stream does not exist, or there is no room for it, now or ever. After
    /// [`SendError::BufferFull`] [`take_writable`](Self::take_writable) tells when to try again.
    pub fn enqueue(&mut self, now: Time, message: OutMessage, paths: &mut Paths) -> Result<(), SendError> {
        let len = message.data.len();
        if len == 0 {
            return Err(SendError::Empty);
        }
        self.check_stream(message.stream)?;
        if len as u64 > self.send_buffer {
            return Err(SendError::TooLarge { len, max: self.send_buffer as usize });
        }
        let mut free = self.free(self.buffered(), self.kept_chunks());
        if len as u64 > free && self.partial.is_touched() {
            self.make_room(now, len as u64, message.reliability, paths);
            free = self.free(self.buffered(), self.kept_chunks());
        }
        if len as u64 > free {
            self.refused = true;
            return Err(SendError::BufferFull { len, free: free as usize });
        }
        let partial = self.partial.note(now, &message, self.queue.next_id());
        self.queue.push(message, partial);
        Ok(())
    }

    /// Messages that wait and chunks that were sent: what takes memory beside user bytes.
    #[inline]
    fn kept_chunks(&self) -> u64 {
        (self.queue.len() + self.sent.len()) as u64
    }

    /// What so many user bytes in so many messages and chunks take of the send buffer.
    #[inline]
    fn charge(bytes: u64, chunks: u64) -> u64 {
        bytes.max(chunks * MIN_CHARGE)
    }

    /// The largest message that there is room for, in bytes, with so much kept.
    #[inline]
    fn free(&self, bytes: u64, chunks: u64) -> u64 {
        if (chunks + 1) * MIN_CHARGE > self.send_buffer { 0 } else { self.send_buffer.saturating_sub(bytes) }
    }

    /// User bytes in the send buffer: waiting, or not yet cumulatively acknowledged.
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.queue.bytes() + self.sent_bytes
    }

    /// Bytes that wait and were never sent.
    pub fn unsent(&self) -> u64 {
        self.queue.bytes()
    }

    /// Messages of a stream that wait and were not sent yet, or not the whole.
    pub(crate) fn unsent_on(&self, stream: u16) -> usize {
        self.queue.len_of(stream)
    }

    /// True once after a message was refused and half of the buffer has become free.
    pub fn take_writable(&mut self) -> bool {
        core::mem::take(&mut self.writable)
    }

    /// Everything sent is acknowledged and nothing waits: a shutdown may go on (RFC 9260 §9.2).
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.sent.is_empty()
    }

    /// DATA chunks not yet cumulatively acknowledged.
    pub fn outstanding_chunks(&self) -> usize {
        self.sent.len()
    }

    /// The peer's window less what is in flight (RFC 9260 §6.2.1), in bytes; negative when the peer took back what it had
    /// granted, or a zero window is being probed.
    #[inline]
    pub fn rwnd(&self) -> i64 {
        // B: less what is sent. C: more when it is marked for retransmission. D ii: anew with each SACK.
        self.a_rwnd as i64 - self.in_flight as i64
    }

    /// The TSN the next new chunk gets.
    pub fn next_tsn(&self) -> Tsn {
        self.sent.next().tsn()
    }

    /// The Cumulative TSN Ack Point.
    pub fn cum_tsn_ack(&self) -> Tsn {
        self.sent.cum_tsn_ack().tsn()
    }

    /// The next entry of the trace; filled only when `Config::trace` is on.
    pub fn poll_trace(&mut self) -> Option<TraceKind> {
        self.trace.as_mut()?.pop_front()
    }

    #[inline]
    fn trace_window(&mut self, path: &Path) {
        if self.trace.is_some() {
            self.push_window(path);
        }
    }

    #[cold]
    fn push_window(&mut self, path: &Path) {
        if let Some(trace) = &mut self.trace {
            let window = path.controller.window();
            trace.push_back(TraceKind::Window {
                path: path.id(),
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                flight_size: path.flight_size,
                partial_bytes_acked: window.partial_bytes_acked,
            });
        }
    }

    /// When T3-rtx of a path or the zero window probe is due, or a packet that pacing holds back may leave. Valid after
    /// [`next_path`](Self::next_path) gave `None`.
    pub fn next_timeout(&self, paths: &Paths) -> Option<Time> {
        let mut next = paths.earliest_t3();
        let mut wait = |deadline: Option<Time>| {
            if let Some(at) = deadline {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        };
        // Few have any of these.
        wait(self.probe.deadline());
        wait(self.held_until);
        if self.losses.rack {
            paths.iter().filter_map(|path| path.rack.as_ref()).for_each(|rack| wait(rack.next_timeout()));
        }
        if self.silence.is_some() {
            wait(self.silence_deadline(paths));
        }
        if self.partial.is_touched() {
            wait(self.partial.next_deadline());
        }
        next
    }

    /// A path is gone (RFC 5061): what was in flight there is sent again elsewhere.
    pub fn remove_path(&mut self, gone: PathId, paths: &mut Paths) {
        self.forward_after_removal(gone);
        self.losses.frto = None;
        for detector in paths.iter_mut().filter_map(|path| path.silence.as_mut()) {
            detector.probe.take_if(|probe| probe.path == gone);
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
                self.partial.suspect(chunk.partial, tsn);
                to.flow.mark(tsn);
            }
        }
    }

    /// Gives up everything, in the order in which it would have been delivered (RFC 9260 §11.1.14, §11.1.15, §11.2.2). Of a
    /// message sent in fragments the data does not come back. Stops all T3-rtx timers.
    pub fn give_up(&mut self, paths: &mut Paths) -> Vec<SendFailure> {
        for path in paths.iter_mut() {
            path.forget_data();
        }
        let mut failures: Vec<SendFailure> = Vec::new();
        for chunk in self.sent.drain() {
            if !chunk.flags.end || chunk.fate == Fate::Abandoned {
                continue;
            }
            let chunk_len = chunk.len();
            failures.push(SendFailure {
                message: OutMessage {
                    stream: chunk.stream,
                    ppid: chunk.ppid,
                    unordered: chunk.flags.unordered,
                    data: if chunk.flags.begin { chunk.data } else { bytes::Bytes::new() },
                    context: chunk.context,
                    ..OutMessage::default()
                },
                unsent: false,
                sent: chunk_len,
                abandoned: false,
            });
        }
        failures.extend(self.queue.drain().into_iter().map(Unsent::into_failure));
        if self.partial.is_touched() {
            self.partial.clear();
        }
        self.forward = Rare::default();
        self.losses.frto = None;
        self.gaps = Rare::default();
        self.in_flight = 0;
        self.sent_bytes = 0;
        self.probe = ZeroWindowProbe::default();
        self.held_until = None;
        self.note_room();
        failures
    }

    /// Marks a chunk for retransmission on `target`. The caller takes it out of the window of the path it was on.
    fn mark(&mut self, tsn: LongTsn, target: PathId, paths: &mut Paths) {
        let Some(chunk) = self.sent.at_mut(tsn) else { return };
        debug_assert_eq!(chunk.fate, Fate::InFlight);
        chunk.fate = Fate::Marked;
        chunk.target = target;
        chunk.misses = 0;
        // RFC 9260 §6.2.1 C
        self.in_flight -= chunk.len();
        self.partial.suspect(chunk.partial, tsn);
        let (from, number, wire_len) = (chunk.path, chunk.number, chunk.wire_len());
        if let Some(path) = paths.get_mut(from) {
            path.flow.note_lost(number, wire_len);
        }
        if let Some(path) = paths.get_mut(target) {
            path.flow.mark(tsn);
        }
    }
}
