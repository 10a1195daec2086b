//! Filling packets: which DATA chunks are sent now (RFC 9260 §6.1 A to E, §6.3.2 R1, §7.2).

use msctp_units::Time;
use msctp_wire::{PacketBuilder, Tsn};

use super::chunk::{Chunk, Fate};
use super::piece::{overhead, wire_len};
use super::zero_window::ZeroWindowProbe;
use super::{MAX_OUTSTANDING, Outbound};
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths, RttSlot, Sending};
use crate::trace::{Direction, TraceKind};

/// The smallest fragment that is cut to fill a packet, in user bytes.
const MIN_FRAGMENT: usize = 64;

/// A kind of DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// A part of a key management message.
    KeyMessage,
    /// User data.
    User,
}

/// The DATA chunks written into a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Number of new chunks; their TSNs are consecutive and end at `next_tsn` − 1.
    pub new: u32,
    /// Number of retransmitted chunks.
    pub again: u32,
    /// User bytes of both.
    pub bytes: u64,
    /// The packet may be sent ECT: ECN was negotiated and all DATA in it is new (RFC 3168 §6.1.5).
    pub ect: bool,
    /// A new chunk is to be copied to the other networks.
    pub redundant: bool,
}

impl Filled {
    /// Returns true if no DATA chunk was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.new + self.again == 0
    }
}

/// Returns true if the window allows another packet (RFC 9260 §6.1 rule B).
///
/// The last chunk may exceed cwnd by up to PMDCS − 1. PRR's allowance replaces cwnd during its recovery
/// (RFC 9937), unless nothing is in flight: no acknowledgement would come to raise the allowance, and no
/// T3-rtx runs (RFC 9260 §6.3.2 R2). A tail loss probe ignores the window (RFC 8985 §7.3).
#[inline]
fn below_cwnd(path: &Path) -> bool {
    match &path.prr {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# the sender MUST NOT transmit new data to a given transport address if it has cwnd + (PMDCS - 1) or
        //# more bytes of data outstanding
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# The breach of cwnd MUST constitute one packet only.
        None => path.flight_size < path.controller.window().cwnd || path.loss_probe,
        Some(prr) => prr.allowance() > 0 || path.flight_size == 0 || path.loss_probe,
    }
}

/// Returns true if a packet with DATA may be sent on the path, the window aside.
///
/// After a timeout only one packet may be in flight until a chunk is acknowledged (RFC 9260 §7.2.1, §7.2.3).
/// An unconfirmed address gets no new data (RFC 9260 §5.4).
#[inline]
fn may_begin_packet(path: &Path) -> bool {
    path.may_carry_packet() && (path.flight_size == 0 || !path.controller.one_packet_in_flight())
}

/// Notifies the path's rate sampler that the sender, not the window, limits the rate.
#[inline]
pub(super) fn note_limited(path: &mut Path) {
    if path.flow.delivery.is_some()
        && below_cwnd(path)
        && let Some(delivery) = &mut path.flow.delivery
    {
        delivery.on_limited(path.flight_size);
    }
}

impl Outbound {
    /// Returns the path on which a packet with DATA can be sent now; `None` if no chunk may be sent.
    ///
    /// Arms the timer of the zero window probe if the peer's window is closed, and the pacing timer if pacing
    /// delays the packet.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
    //# The following general rules MUST be applied by the data sender
    pub(crate) fn next_path(&mut self, now: Time, paths: &mut Paths) -> Option<PathId> {
        self.paced_until = None;
        self.ready_path = None;
        self.abandon_due(now, paths);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# before sending new DATA chunks, the sender MUST first transmit any DATA chunks that are marked for
        //# retransmission
        // RFC 9260 §6.1 C: retransmissions first
        if paths.iter().any(|path| path.flow.marked > 0)
            && let Some(path) = self.next_retransmission_path(now, paths)
        {
            return Some(path);
        }
        let data_path = paths.data_path()?;
        if paths.len() > 1 {
            Self::note_unused(paths);
        }
        let max = self.max_payload(paths);
        if self.sent.is_empty()
            && self.zero_window_probe == ZeroWindowProbe::Idle
            && self.window_is_closed(max)
        {
            let rto = paths.get(data_path)?.rtt.rto();
            self.zero_window_probe = ZeroWindowProbe::Waiting(now + rto);
        }
        if paths.may_have_carriers() {
            return self.next_carrier(now, max, paths);
        }
        self.ready_path = self.offer(now, data_path, max, paths).then_some(data_path);
        self.ready_path
    }

    /// Returns the path on which a packet with retransmissions can be sent now.
    #[cold]
    fn next_retransmission_path(&mut self, now: Time, paths: &mut Paths) -> Option<PathId> {
        self.reroute(paths);
        for index in 0..paths.len() {
            let path = paths.at_mut(index);
            // Drops the chunks acknowledged since from the queue, so that its front is the next one.
            self.sent.next_marked(path);
            if self.may_retransmit(path) && self.may_leave(now, path) {
                return Some(path.id());
            }
        }
        None
    }

    /// Returns true if a packet with new data may leave on this path now.
    #[inline(always)]
    pub(super) fn offer(&mut self, now: Time, id: PathId, max: usize, paths: &mut Paths) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# MUST transmit no more DATA chunks until some or all of the outstanding DATA chunks are
        //# acknowledged and transmission is allowed by rule A and rule B again.
        let Some(path) = paths.get_mut(id) else { return false };
        if self.may_send_new(now, max, path) {
            return self.may_leave(now, path);
        }
        note_limited(path);
        path.on_nothing_paced();
        false
    }

    /// Returns the first of several data paths that can send new data.
    #[cold]
    fn next_carrier(&mut self, now: Time, max: usize, paths: &mut Paths) -> Option<PathId> {
        if paths.is_aggregating() {
            return self.next_aggregate(now, max, paths);
        }
        for id in paths.carriers() {
            if self.offer(now, id, max, paths) {
                self.ready_path = Some(id);
                break;
            }
        }
        self.ready_path
    }

    /// Marks paths that carry retransmissions only as limited by the sender.
    #[cold]
    fn note_unused(paths: &mut Paths) {
        for index in 0..paths.len() {
            let path = paths.at(index);
            if path.flow.marked == 0 && path.flow.unacked > 0 && !paths.is_carrier(path.id()) {
                note_limited(paths.at_mut(index));
            }
        }
    }

    /// Returns true if pacing lets the next packet on this path leave now; otherwise records when it does.
    #[inline]
    pub(super) fn may_leave(&mut self, now: Time, path: &mut Path) -> bool {
        let departure = path.departure(now);
        if departure <= now {
            return true;
        }
        if departure < Time::MAX {
            self.paced_until = Some(self.paced_until.map_or(departure, |until| until.min(departure)));
        }
        false
    }

    /// Returns true if [`fill`](Self::fill) would write a chunk on this path now. Ignores pacing.
    #[cfg(test)]
    pub(crate) fn wants_to_send(&self, now: Time, id: PathId, paths: &Paths) -> bool {
        paths.get(id).is_some_and(|path| {
            self.may_retransmit(path)
                || paths.is_carrier(id) && self.may_send_new(now, self.max_payload(paths), path)
        })
    }

    /// Returns the size of a packet for the next chunk on this path, if it exceeds the path's PMTU.
    ///
    /// The size includes the common header. Chunks are not fragmented again when they move to a path with a
    /// smaller PMTU (RFC 9260 §6.9). The caller begins the packet with this limit, and IP fragments it.
    #[inline(always)]
    pub(crate) fn oversized_packet(&self, path: PathId, paths: &mut Paths) -> Option<usize> {
        let path = paths.get_mut(path).filter(|path| path.flow.marked > 0)?;
        self.oversized_retransmission(path)
    }

    #[cold]
    fn oversized_retransmission(&self, path: &mut Path) -> Option<usize> {
        let tsn = self.sent.next_marked(path)?;
        let needed = self.sent.at(tsn)?.wire_len();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# if the PMTU has been reduced, then IP fragmentation MUST be used.
        (needed > u64::from(path.pmdcs())).then_some(12 + needed as usize)
    }

    /// Returns the bytes of the next chunk that [`fill`](Self::fill) would write, header and padding
    /// included.
    ///
    /// The caller decides from it whether to bundle another chunk.
    pub(crate) fn next_chunk_len(&self, path: PathId, paths: &mut Paths) -> Option<usize> {
        let path = paths.get_mut(path)?;
        if self.may_retransmit(path) {
            let tsn = self.sent.next_marked(path)?;
            return self.sent.at(tsn).map(|chunk| chunk.wire_len() as usize);
        }
        self.queue.next_len(self.max_payload(paths)).map(|len| wire_len(len, self.interleaving) as usize)
    }

    /// Returns true if all that is queued may leave now and fits one packet beside `others` bytes of other
    /// chunks.
    pub(crate) fn fits_next_packet(&self, others: usize, paths: &Paths) -> bool {
        let Some(path) = paths.data_path().and_then(|id| paths.get(id)) else { return false };
        // RFC 9260 §3.2: chunks are padded to 4 bytes
        let wire = self.queue.bytes() + (self.queue.len() * (overhead(self.interleaving) + 3)) as u64;
        path.flow.marked == 0
            && may_begin_packet(path)
            && below_cwnd(path)
            && wire + others as u64 <= u64::from(path.pmdcs())
            && self.queue.bytes() as i64 <= self.rwnd()
    }

    /// Returns true if the next chunk that [`fill`](Self::fill) would write is one of key management.
    pub(crate) fn is_key_message_next(&self, path: PathId, paths: &mut Paths) -> bool {
        let marked = paths.get_mut(path).filter(|path| self.may_retransmit(path));
        let marked = marked.and_then(|path| self.sent.at(self.sent.next_marked(path)?));
        marked.map_or_else(|| self.queue.is_urgent_next(), |chunk| chunk.piece.is_key_management())
    }

    /// Returns true if this TSN is that of user data in flight, or of none that was sent.
    pub(crate) fn has_sent_user_data(&self, tsn: Tsn) -> bool {
        let tsn = self.sent.first().nearest(tsn);
        tsn >= self.sent.first() && self.sent.at(tsn).is_none_or(|chunk| !chunk.piece.is_key_management())
    }

    #[inline]
    pub(super) fn may_retransmit(&self, path: &Path) -> bool {
        path.flow.marked > 0
            && !self.frto_sends_new_data()
            && !self.awaits_report(path)
            && may_begin_packet(path)
            && (path.flow.forced || below_cwnd(path))
    }

    /// Returns true if the chunks marked on a path may have arrived, beyond the gap blocks of a truncated
    /// SACK.
    ///
    /// Each further SACK covers more of them. Without data in flight on the path there may be none.
    #[cold]
    fn awaits_report(&self, path: &Path) -> bool {
        let front = path.flow.queue.front();
        path.flight_size > 0
            && !path.flow.forced
            && front.is_some_and(|&tsn| self.losses.coverage.is_beyond(tsn))
    }

    #[inline(always)]
    fn may_send_new(&self, now: Time, max: usize, path: &Path) -> bool {
        if self.queue.is_idle() || self.sent.len() >= MAX_OUTSTANDING {
            return false;
        }
        let flow = &path.flow;
        let burst_left =
            self.max_burst == 0 || flow.burst_at != now || i64::from(flow.burst) < i64::from(self.max_burst);
        burst_left
            && may_begin_packet(path)
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
            //# A zero window probe MUST only be sent when the cwnd allows
            && below_cwnd(path)
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
            //# the data sender MUST NOT transmit new data to any destination transport address if its peer's
            //# rwnd indicates that the peer has no buffer space
            && (!self.window_is_closed(max) || self.zero_window_probe == ZeroWindowProbe::Due)
    }

    /// Returns true if rwnd is smaller than the next DATA chunk (RFC 9260 §6.1 A).
    ///
    /// Chunks are never cut to fit rwnd, which also avoids the silly window syndrome.
    #[inline]
    pub(super) fn window_is_closed(&self, max: usize) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# The sender MUST also have an algorithm for sending new DATA chunks to avoid silly window syndrome
        //# (SWS)
        self.queue.next_len(max).is_some_and(|len| self.rwnd() < len as i64)
    }

    /// Moves chunks marked for an unusable path to a usable one, if there is one (RFC 9260 §6.4.1).
    fn reroute(&mut self, paths: &mut Paths) {
        for index in 0..paths.len() {
            let path = paths.at(index);
            if path.flow.marked == 0 || path.is_usable() {
                continue;
            }
            let from = path.id();
            let target = paths.retransmission_path(from).filter(|&to| to != from);
            let Some(target) = target.filter(|&to| paths.get(to).is_some_and(Path::is_usable)) else {
                continue;
            };
            let forced = core::mem::take(&mut paths.at_mut(index).flow.forced);
            let mut moved = Vec::new();
            while let Some(tsn) = self.sent.next_marked(paths.at_mut(index)) {
                paths.at_mut(index).flow.unqueue();
                if let Some(chunk) = self.sent.at_mut(tsn) {
                    chunk.target = target;
                }
                moved.push(tsn);
            }
            if let Some(to) = paths.get_mut(target) {
                to.flow.forced |= forced;
                moved.into_iter().for_each(|tsn| to.flow.mark(tsn));
            }
        }
    }

    /// Writes the DATA chunks that may be sent on the path now into a packet, and starts T3-rtx.
    ///
    /// Retransmissions come first, then new chunks if this is a data path. Control chunks must be in the
    /// packet already (RFC 9260 §6.10). `only`: the kind of chunk that the packet takes; `None`: both.
    pub(crate) fn fill(
        &mut self,
        now: Time,
        id: PathId,
        paths: &mut Paths,
        only: Option<ChunkKind>,
        builder: &mut PacketBuilder<'_>,
    ) -> Filled {
        let mut filled = Filled::default();
        let ready_path = self.ready_path.take() == Some(id);
        let max = self.max_payload(paths);
        let Some(index) = paths.index(id) else { return filled };
        let path = paths.at_mut(index);
        // RFC 9260 §7.2.1
        path.decay_if_idle(now);
        let (flight_before, t3_was_running) = (path.flight_size, path.t3_rtx.is_some());
        if self.losses.rack {
            path.rack.get_or_insert_default();
        }
        let first_number = self.next_number;
        let mut restart_t3 = false;
        if self.may_retransmit(path) {
            while let Some(sent) = self.retransmit(now, index, only, paths, builder) {
                restart_t3 |= sent.was_earliest;
                filled.again += 1;
                filled.bytes += sent.bytes;
                let path = paths.at(index);
                if !(path.flow.forced || below_cwnd(path)) {
                    break;
                }
            }
            if filled.again > 0 {
                let flow = &mut paths.at_mut(index).flow;
                flow.forced = false;
                flow.resent += u64::from(filled.again);
            }
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
        //# The transmitter MUST transmit DATA chunks within an SCTP packet in increasing order of TSN.
        // RFC 9260 §6.1 C: new chunks only once none is marked on this path
        let carries = paths.is_carrier(id);
        let path = paths.at_mut(index);
        if (path.flow.marked == 0 || self.frto_sends_new_data() || self.awaits_report(path))
            && carries
            && (filled.again > 0 || ready_path || self.may_send_new(now, max, path))
        {
            self.fill_new(now, max, only, path, builder, &mut filled);
        }
        if filled.is_empty() {
            return filled;
        }
        if path.controller.models_delivery() {
            let delivery = path.flow.delivery.get_or_insert_default();
            let in_flight = (flight_before, path.flight_size);
            delivery.on_sent(now, first_number, filled.new + filled.again, in_flight);
        }
        path.on_data_sent(now);
        path.loss_probe = false;
        if let Some(prr) = &mut path.prr {
            prr.on_sent(path.flight_size - flight_before);
        }
        path.on_departure(now, builder.len() as u64 + u64::from(path.ip_header()));
        if filled.new > 0 {
            path.on_sent(now);
        }
        // RFC 9260 §6.3.2 R1; §6.1: restart when the earliest outstanding chunk is retransmitted
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
        //# if the T3-rtx timer of that address is not currently running, the sender MUST start that
        //# timer. If the timer for that address is already running, the sender MUST restart the timer if
        //# the earliest (i.e., lowest TSN) outstanding DATA chunk sent to that address is being
        //# retransmitted. Otherwise, the data sender MUST NOT restart the timer.
        if !t3_was_running || restart_t3 {
            path.start_t3_rtx(now);
        }
        if self.use_ecn && filled.new > 0 {
            let first = self.sent.next() - u64::from(filled.new);
            filled.ect = self.note_new(id, first, filled.again);
        }
        self.schedule_tail_loss_probe(now, index, filled.new > 0, paths);
        self.trace_window(paths.at(index));
        filled
    }

    fn fill_new(
        &mut self,
        now: Time,
        max: usize,
        only: Option<ChunkKind>,
        path: &mut Path,
        builder: &mut PacketBuilder<'_>,
        filled: &mut Filled,
    ) {
        let before = filled.new;
        self.queue.begin_packet();
        // A packet without room for a header and one byte is full; most packets are after one chunk.
        while builder.remaining() > overhead(self.interleaving) {
            if only.is_some_and(|only| (only == ChunkKind::KeyMessage) != self.queue.is_urgent_next()) {
                break;
            }
            let max = self.fragment_len(max, builder.remaining());
            let Some(len) = self.queue.next_len(max) else { break };
            let closed = self.rwnd() < len as i64;
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
            //# The implementation MUST also take into account the space required for a SACK chunk if bundling
            //# a SACK chunk with the DATA chunk.
            if closed && self.zero_window_probe != ZeroWindowProbe::Due
                || (builder.remaining() as u64) < wire_len(len, self.interleaving)
                || !below_cwnd(path)
                || self.sent.len() >= MAX_OUTSTANDING
            {
                break;
            }
            let Some(redundant) = self.send_new(now, max, path, builder) else { break };
            filled.redundant |= redundant;
            filled.new += 1;
            filled.bytes += len as u64;
            self.zero_window_probe =
                if closed { ZeroWindowProbe::Sent { sack_received: false } } else { ZeroWindowProbe::Idle };
        }
        self.queue.end_packet();
        if filled.new > before {
            // RFC 9260 §6.1 D
            let flow = &mut path.flow;
            if flow.burst_at != now {
                flow.burst_at = now;
                flow.burst = 0;
            }
            flow.burst += 1;
        }
    }

    /// Returns the largest number of user bytes for the next chunk, at most `max`, with `room` left in the
    /// packet.
    ///
    /// Batched packets should have equal lengths. A message that is fragmented anyway then fills the packet
    /// that the message before it began. RFC 9260 §6.9 leaves the size of fragments open, and §6.10 asks for
    /// bundling.
    #[inline]
    fn fragment_len(&self, max: usize, room: usize) -> usize {
        if !self.full_packets || self.queue.next_len(usize::MAX).is_none_or(|left| left <= max) {
            return max;
        }
        // RFC 9260 §3.2: chunks are padded to 4 bytes
        let room = (room & !3).saturating_sub(overhead(self.interleaving));
        if room < MIN_FRAGMENT { max } else { room.min(max) }
    }

    /// Returns the user bytes of the largest chunk, from the smallest PMDCS of all paths (AMDCS;
    /// RFC 9260 §6.9, §7.3).
    #[inline]
    pub(super) fn max_payload(&self, paths: &Paths) -> usize {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# it MUST fragment a user message if the size of the user message to be sent causes the outbound
        //# SCTP packet size to exceed the current PMTU.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# the SCTP implementation MUST take into account the SCTP packet header as well as the DATA chunk
        //# header(s).
        let amdcs = paths.iter().map(Path::pmdcs).min().unwrap_or_default() as usize;
        amdcs.saturating_sub(overhead(self.interleaving)).max(1)
    }

    /// Sends one new chunk; returns whether it is to be copied, and `None` if none fitted.
    #[inline]
    fn send_new(
        &mut self,
        now: Time,
        max: usize,
        path: &mut Path,
        builder: &mut PacketBuilder<'_>,
    ) -> Option<bool> {
        let mut piece = self.queue.take(max)?;
        piece.redundant |= self.copies_small && piece.flags.begin && piece.flags.end;
        let redundant = piece.redundant;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# The transmitter MUST then assign, in sequence, a separate TSN to each of the DATA chunks in the
        //# series.
        let tsn = self.sent.next();
        // RFC 7053 §5.1: a shutdown, a stream reset or the application needs the acknowledgement
        let asks = self.shutdown_pending || self.expedited;
        if self.resetting || asks && piece.flags.end && self.queue.is_empty() {
            piece.flags.immediate = true;
            self.expedited = false;
        }
        let pushed = piece.push(tsn, builder);
        debug_assert!(pushed.is_ok(), "room was checked");
        let (len, wire) = (piece.len(), piece.wire_len());
        // If the chunk were missing from the packet, T3-rtx would retransmit it like a lost one.
        if piece.partial != 0 {
            self.partial.on_sent(piece.partial, tsn, len, piece.flags.end);
        }
        self.sent.push(Chunk::new(piece, self.next_number, now, path.id()));
        self.sent_bytes += len;
        self.in_flight += len;
        path.flight_size += wire;
        path.flow.log.push_back(Sending { number: self.next_number, tsn });
        path.flow.adopt(tsn);
        self.next_number += 1;
        // RFC 9260 §6.3.1 C4: one measurement per round trip
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.3.1
        //# a new RTT measurement MUST be made each round trip.
        if path.rtt_slot.is_none() {
            path.rtt_slot = Some(RttSlot { tsn: tsn.tsn().get(), sent: now });
        }
        self.trace_data(path.id(), tsn, len, false);
        Some(redundant)
    }

    /// Retransmits the lowest marked chunk of a path; returns `None` if there is none or it does not fit.
    #[inline(never)]
    fn retransmit(
        &mut self,
        now: Time,
        index: usize,
        only: Option<ChunkKind>,
        paths: &mut Paths,
        builder: &mut PacketBuilder<'_>,
    ) -> Option<Resent> {
        let path = paths.at_mut(index);
        let id = path.id();
        let tsn = self.sent.next_marked(path)?;
        if self.awaits_report(path) {
            return None;
        }
        let chunk = self.sent.at_mut(tsn)?;
        if only.is_some_and(|only| (only == ChunkKind::KeyMessage) != chunk.piece.is_key_management()) {
            return None;
        }
        chunk.piece.push(tsn, builder).ok()?;
        let from = chunk.path;
        if core::mem::take(&mut chunk.unreported)
            && let Some(delivery) = paths.get_mut(from).and_then(|path| path.flow.delivery.as_mut())
        {
            delivery.on_abandoned(chunk.number);
        }
        let path = paths.at_mut(index);
        chunk.path = id;
        chunk.one_path &= from == id;
        chunk.fate = Fate::InFlight;
        chunk.number = self.next_number;
        (chunk.sent, chunk.again) = (now, true);
        chunk.retransmissions = chunk.retransmissions.saturating_add(1);
        let (len, wire) = (chunk.len(), chunk.wire_len());
        self.in_flight += len;
        path.flight_size += wire;
        let flow = &mut path.flow;
        flow.unqueue();
        flow.log.push_back(Sending { number: self.next_number, tsn });
        self.next_number += 1;
        let was_earliest = from == id && flow.earliest == Some(tsn);
        if from != id {
            flow.adopt(tsn);
        }
        if let Some(rack) = &mut path.rack {
            rack.on_resent(tsn);
        }
        if from != id
            && let Some(from) = paths.get_mut(from)
        {
            self.disown(tsn, from);
        }
        let per_path = paths.recovers_per_path();
        for path in paths.iter_mut().filter(|path| !per_path || path.id() == id || path.id() == from) {
            // RFC 9260 §6.3.1 C5: neither this chunk nor any above it gives a valid measurement
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.3.1
            //# RTT measurements MUST NOT be made using chunks that were retransmitted
            if path.rtt_slot.is_some_and(|slot| self.sent.first().nearest(Tsn::new(slot.tsn)) >= tsn) {
                path.rtt_slot = None;
            }
        }
        self.trace_data(id, tsn, len, true);
        Some(Resent { was_earliest, bytes: len })
    }

    /// Removes a chunk from a path's outstanding ones: it was retransmitted on another path, or abandoned.
    pub(super) fn disown(&self, tsn: LongTsn, path: &mut Path) {
        path.flow.unacked -= 1;
        if path.flow.earliest == Some(tsn) {
            self.sent.seek_earliest(path);
        }
    }

    /// Returns true if a chunk is outstanding and to be copied to the other networks.
    pub(crate) fn is_redundant(&self, tsn: Tsn) -> bool {
        self.sent.at(self.sent.first().nearest(tsn)).is_some_and(|chunk| chunk.piece.redundant)
    }

    /// Writes a copy of an outstanding chunk for a second path; the copy counts in no window.
    ///
    /// Returns false if the chunk is acknowledged, was never sent, or does not fit.
    pub(crate) fn copy_chunk(&mut self, tsn: Tsn, builder: &mut PacketBuilder<'_>) -> bool {
        let tsn = self.sent.first().nearest(tsn);
        let chunk = self.sent.at_mut(tsn).filter(|chunk| chunk.fate != Fate::Abandoned);
        let Some(chunk) = chunk else { return false };
        let copied = chunk.piece.push(tsn, builder).is_ok();
        chunk.one_path &= !copied;
        copied
    }

    fn trace_data(&mut self, path: PathId, tsn: LongTsn, len: u64, again: bool) {
        let (direction, tsn, len) = (Direction::Out, tsn.tsn().get(), len as u32);
        self.emit(TraceKind::Data { direction, path: Some(path), tsn, len, again });
    }
}

/// The result of a retransmission.
struct Resent {
    was_earliest: bool,
    bytes: u64,
}
