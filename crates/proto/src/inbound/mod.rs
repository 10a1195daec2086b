//! Receiving user data: TSN map, SACK generation, reassembly, streams. Does not touch paths, timers or whole
//! packets.
//!
//! [`Inbound`] takes DATA chunks and gives messages and SACKs. The association calls, for each packet that
//! holds DATA, [`handle_data`](Inbound::handle_data) per chunk and then [`end_packet`](Inbound::end_packet)
//! once; it sends a SACK when [`sack_due`](Inbound::sack_due), and bundles one with outbound DATA when
//! [`sack_pending`](Inbound::sack_pending).

mod credit;
mod fault;
mod forward;
mod ordering;
mod piece;
mod ready;
mod reassembly;
mod sack_clock;
mod slab;
#[cfg(any(test, fuzzing))]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tsn_map;
mod window;

use std::collections::{BTreeMap, VecDeque};

use msctp_units::{Span, Time};
use msctp_wire::{Data, IData, List, PacketBuilder, Sack, StreamId, Tsn};

pub(crate) use fault::DataFault;
pub use ready::{StreamEnd, StreamItem};

pub use reassembly::PartialAbort;

use self::credit::ReceiveCredit;
use self::ordering::{Arrived, Ordering};
use self::piece::Piece;
use self::ready::Released;
use self::reassembly::{Assembled, Discarded, Reassembly};
use self::sack_clock::SackClock;
use self::slab::Slab;
use self::tsn_map::{Place, TsnMap};
use self::window::{ReceiveWindow, STRETCH};
use crate::credit::{LEAST_BUFFER, chunk_charge};
use crate::long_tsn::LongTsn;
use crate::message::Message;
use crate::rare::{Rare, rare_state};

/// Maximum number of duplicate TSNs stored for the next SACK. Reporting them is a SHOULD (RFC 9260 §6.2), and
/// a peer must not force this end to store more.
const MAX_DUPLICATES: usize = 32;

/// Overhead of a full packet in bytes: IPv6 header, SCTP common header and DATA chunk header.
const PACKET_OVERHEAD: u32 = 40 + 12 + Data::OVERHEAD as u32;

/// Number of receive buffers that may be held while there is a gap, before a message is delivered in parts:
/// [`STRETCH`] of chunks behind the gap, and as many of a message before it as without a gap.
const GAP_LIMIT: u64 = 2 * STRETCH;

/// Result of receiving a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The chunk is stored, and the next SACK acknowledges it.
    New,
    /// The chunk was received before, and is reported as a duplicate.
    Duplicate,
    /// The chunk is dropped without acknowledgement. The window is closed, or the TSN is too far ahead for a
    /// gap block (RFC 9260 §6.2).
    Dropped,
    /// The chunk is acknowledged and discarded, because the stream does not exist. Answer with an ERROR chunk
    /// at once, cause Invalid Stream Identifier (RFC 9260 §6.5).
    InvalidStream(StreamId),
}

/// The contents of a sent SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SackSummary {
    /// Cumulative TSN Ack.
    pub cum_tsn_ack: Tsn,
    /// Advertised window in bytes.
    pub a_rwnd: u32,
    /// Number of gap blocks.
    pub gap_blocks: u16,
    /// Number of duplicate TSNs.
    pub duplicates: u16,
}

/// Options of the receiving half of one association; `Config` documents them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InboundConfig {
    /// Bytes for received data that was not read yet.
    pub receive_buffer: u32,
    /// Largest IP packet in bytes, header included.
    pub pmtu: u32,
    /// SACK.Delay.
    pub sack_delay: Span,
    /// Maximum number of packets with DATA per SACK.
    pub sack_frequency: u32,
    /// Maximum number of gap blocks in a SACK.
    pub max_gap_blocks: u32,
}

rare_state! {
    /// Reports that are due.
    struct Unreported {
        /// TSNs for the next SACK.
        duplicates: Vec<Tsn> = Vec::new(),
        /// Partly delivered messages that will not be completed.
        aborts: Vec<PartialAbort> = Vec::new(),
    }
}

/// The receiving half of data transfer.
#[derive(Debug)]
pub(crate) struct Inbound {
    map: TsnMap,
    window: ReceiveWindow,
    reassembly: Rare<Reassembly>,
    ordering: Ordering,
    slab: Slab,
    clock: SackClock,
    max_gap_blocks: usize,
    streams: u16,
    /// True if no message was unread when the current packet arrived.
    all_was_read: bool,
    /// True if I-DATA chunks are received instead of DATA chunks (RFC 8260 §2.2.1).
    interleaving: bool,
    /// True if the last window was small because of unread data.
    is_full: bool,
    /// The receive buffer that the limits of streams share; 0 without limits.
    credit_buffer: u32,
    unreported: Rare<Unreported>,
}

impl Inbound {
    /// Creates the receiving half. `initial_tsn` is the peer's, from its INIT or INIT ACK. `streams` is the
    /// negotiated number of inbound streams.
    pub(crate) fn new(config: &InboundConfig, initial_tsn: Tsn, streams: u16) -> Self {
        Self {
            map: TsnMap::new(initial_tsn),
            window: ReceiveWindow::new(config.receive_buffer, config.pmtu.saturating_sub(PACKET_OVERHEAD)),
            reassembly: Rare::default(),
            ordering: Ordering::new(),
            slab: Slab::new(config.receive_buffer as usize),
            clock: SackClock::new(config.sack_delay, config.sack_frequency),
            max_gap_blocks: usize::try_from(config.max_gap_blocks).unwrap_or(usize::MAX),
            streams,
            all_was_read: false,
            interleaving: false,
            is_full: false,
            credit_buffer: 0,
            unreported: Rare::default(),
        }
    }

    /// Sets whether I-DATA chunks replace DATA chunks (RFC 8260 §2.2.1). Call this before the first chunk.
    pub(crate) fn set_interleaving(&mut self, interleaving: bool) {
        self.interleaving = interleaving;
        if interleaving || self.reassembly.is_touched() {
            self.reassembly.set_interleaving(interleaving);
        }
        self.ordering.set_interleaving(interleaving);
    }

    /// Processes one DATA chunk. Call [`end_packet`](Self::end_packet) after the last one of the packet.
    ///
    /// # Errors
    ///
    /// The peer violated the protocol: abort with [`DataFault::cause`]. After that, only call methods that
    /// read.
    #[inline]
    pub(crate) fn handle_data(&mut self, data: &Data<'_>) -> Result<Received, DataFault> {
        if self.interleaving {
            return Err(DataFault::WrongChunk);
        }
        self.handle(&data.into())
    }

    /// Processes one I-DATA chunk, like [`handle_data`](Self::handle_data).
    ///
    /// # Errors
    ///
    /// The peer violated the protocol: abort with [`DataFault::cause`]. After that, only call methods that
    /// read.
    pub(crate) fn handle_i_data(&mut self, data: &IData<'_>) -> Result<Received, DataFault> {
        if !self.interleaving {
            return Err(DataFault::WrongChunk);
        }
        self.handle(&data.into())
    }

    #[inline]
    fn handle(&mut self, data: &Piece<'_>) -> Result<Received, DataFault> {
        if data.payload.is_empty() {
            return Err(DataFault::NoUserData);
        }
        self.all_was_read |= !self.ordering.is_readable();
        let tsn = self.map.extend(data.tsn);
        let place = self.map.place(tsn);
        let received = match place {
            Place::Duplicate => {
                if self.unreported.duplicates.len() < MAX_DUPLICATES {
                    self.unreported.duplicates.push(data.tsn);
                }
                Received::Duplicate
            }
            Place::TooFar => Received::Dropped,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
            //# The dropped DATA chunk(s) MUST NOT be included in the SACK chunk, as they were not accepted.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
            //# it MUST NOT include them in Gap Ack Blocks in subsequent SACK chunks until they are received
            //# again via retransmission.
            Place::Next | Place::Ahead(_) if !self.may_hold(tsn, place, data.stream, data.payload.len()) => {
                Received::Dropped
            }
            Place::Next | Place::Ahead(_) if data.stream >= self.streams => {
                self.record(tsn, place);
                self.window.pass(data.payload.len());
                Received::InvalidStream(StreamId::new(data.stream))
            }
            Place::Next | Place::Ahead(_) => {
                if self.credit_buffer > 0 {
                    self.take_counted(tsn, place, data)?;
                } else {
                    self.take(tsn, place, data)?;
                }
                Received::New
            }
        };
        // RFC 9260 §6.2: a duplicate (MAY when bundled with new data), a dropped chunk and the I bit call for
        // a SACK at once. §6.7: so does a gap; `record` looks after it.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# the receiver MUST immediately send back a SACK chunk with the current receive window
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# When a packet arrives with duplicate DATA chunk(s) and with no new DATA chunk(s), the endpoint
        //# MUST immediately send a SACK chunk with no delay.
        self.clock.on_data(received != Received::New || data.immediate);
        if self.sorts() {
            self.release_discarded();
        }
        self.stretch_window();
        Ok(received)
    }

    /// Releases the window of messages that nobody will read.
    fn release_discarded(&mut self) {
        if let Some(Released { bytes, chunks }) = self.ordering.ready.take_discarded() {
            self.window.release(bytes, chunks);
            if self.window.update_due() {
                self.clock.hasten();
            }
        }
    }

    /// Returns whether a chunk may be kept. With the window closed, only chunks below the largest received
    /// TSN may (RFC 9260 §6.2). Acknowledged data is never dropped to make room: up to twice the buffer is
    /// held instead, and with the chunks that are next up to [`GAP_LIMIT`].
    #[inline(always)]
    fn may_hold(&self, tsn: LongTsn, place: Place, stream: u16, len: usize) -> bool {
        // A stream's memory is never freed: no stream begins while the endpoint is short of memory.
        if !self.ordering.has_begun(stream) && self.window.is_squeezed(self.other_memory()) {
            return false;
        }
        if self.window.is_open() || self.window.was_granted(len) {
            return true;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //= type=exception
        //= reason=the next TSN is taken, within bounds, when nothing can be read before it: dropped, it would
        //= reason=stop the association for ever
        //# the receiver MUST drop any new incoming DATA chunk with a TSN larger than the largest TSN received
        //# so far.
        if place == Place::Next {
            // Nothing can be read before this chunk is taken: dropping it would stop the association for
            // ever. It can be read at once, or continues an incomplete message; `take` delivers
            // that in parts in the end. The rest of its packet is as good, within bounds: one small message
            // for each packet would be slow.
            let within = || self.all_was_read && !self.window.holds_buffers(GAP_LIMIT);
            if !self.ordering.is_readable() || within() {
                return true;
            }
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# the receiver MUST drop any new incoming DATA chunk with a TSN larger than the largest TSN received
        //# so far.
        tsn < self.map.highest() && !self.window.holds_buffers(STRETCH)
    }

    /// Stretches the window for a message longer than the buffer, so that it arrives at the rate of the path
    /// until it is delivered in parts.
    #[inline]
    fn stretch_window(&mut self) {
        self.window.stretch(!self.awaits_reader() && !self.map.has_gap());
    }

    /// Returns whether reading makes room: unread bytes take of the window, and there are some.
    fn awaits_reader(&self) -> bool {
        self.ordering.is_readable() && self.credit_buffer == 0
    }

    /// Returns whether an incomplete message must be delivered in parts, because too much is held.
    fn must_deliver_parts(&self, place: Place) -> bool {
        let limit = if self.map.has_gap() { GAP_LIMIT } else { STRETCH };
        place == Place::Next && self.window.holds_buffers(limit) && !self.awaits_reader()
    }

    fn record(&mut self, tsn: LongTsn, place: Place) {
        // RFC 9260 §6.7, §7.2.4: a SACK for every packet from the one that shows a hole to the one that
        // closes it (RFC 5681 §4.2: a segment that fills all or part of a gap is acknowledged at once).
        if place != Place::Next || self.map.has_gap() {
            self.clock.hasten();
        }
        self.map.insert(tsn, place);
    }

    fn take(&mut self, tsn: LongTsn, place: Place, data: &Piece<'_>) -> Result<(), DataFault> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
        //# An endpoint MUST recognize fragmented DATA chunks by examining the B/ E bits in each of the
        //# received DATA chunks and queue the fragmented DATA chunks for reassembly.
        let whole = data.is_whole();
        if !whole && self.reassembly.is_given_up(data) {
            self.record(tsn, place);
            self.window.pass(data.payload.len());
            return Ok(());
        }
        if !whole || !self.reassembly.is_empty() {
            self.reassembly.check(tsn, data, &self.map)?;
            let discarded = self.reassembly.discard_rest(tsn, data);
            self.discard(discarded);
        }
        self.record(tsn, place);
        self.window.hold(data.payload.len());
        let (last, arrived) = if whole {
            let payload = match place {
                // It can be read at once (`complete` below).
                Place::Next => self.slab.copy(data.payload),
                _ => bytes::Bytes::copy_from_slice(data.payload),
            };
            (tsn, Arrived { message: message(data, payload), number: data.number, chunks: 1 })
        } else {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6
            //# they MUST be implemented by the data receiver, i.e., an endpoint MUST properly receive and
            //# process bundled or fragmented data.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
            //# it MUST support reassembly when receiving DATA chunks.
            match self.reassembly.insert(tsn, data, &mut self.slab) {
                Some(Assembled::Whole(last, whole)) => (last, whole),
                Some(Assembled::Part(part)) => {
                    self.ordering.arrive_part(part);
                    return Ok(());
                }
                None => return self.open_if_full(tsn, place, data),
            }
        };
        self.ordering.arrive(arrived, last <= self.map.cum_tsn_ack())
    }

    /// Begins to deliver a message in parts (RFC 9260 §11.1.7), if nothing can be read and no more can be
    /// held.
    ///
    /// All data before its chunk has arrived, so the message is the next of its stream and the only
    /// incomplete one. A peer that violates this could make this end hold data without limit.
    fn open_if_full(&mut self, tsn: LongTsn, place: Place, data: &Piece<'_>) -> Result<(), DataFault> {
        if !self.must_deliver_parts(place) {
            return Ok(());
        }
        if !self.ordering.is_next(data.stream, data.unordered, data.number) {
            return Err(DataFault::Unfinished);
        }
        match self.reassembly.open(tsn, data)? {
            Some(part) => self.ordering.arrive_part(part),
            // All before it has come, and no beginning: it was abandoned, or never sent.
            None => {
                let discarded = self.reassembly.drop_message(tsn, data);
                self.discard(discarded);
            }
        }
        Ok(())
    }

    /// Sets the number of streams from the peer (RFC 6525 §5.2.5).
    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.streams = streams;
    }

    /// Restarts the message numbers of these streams from 0 (RFC 6525 §5.2.2), or of all streams if none is
    /// named. Incomplete messages are discarded, because everything before the reset has arrived. `wanted`:
    /// this end has requested the reset.
    pub(crate) fn reset_streams(&mut self, ends: &[StreamEnd], wanted: bool) {
        // Work is bounded by what is held, not by how many streams there could be.
        let unfinished = if ends.is_empty() { self.reassembly.unfinished() } else { Vec::new() };
        self.ordering.reset_streams(ends, wanted);
        for stream in ends.iter().map(|end| end.stream).chain(unfinished) {
            let discarded = self.reassembly.forget(stream);
            self.discard(discarded);
        }
        self.release_discarded();
    }

    fn discard(&mut self, discarded: Discarded) {
        self.window.release(discarded.bytes, discarded.chunks);
        if !discarded.aborts.is_empty() {
            self.unreported.aborts.extend(discarded.aborts);
        }
    }

    /// Returns the next message whose delivery in parts must be aborted.
    pub(crate) fn take_abort(&mut self) -> Option<PartialAbort> {
        if self.unreported.is_touched() { self.unreported.aborts.pop() } else { None }
    }

    /// Frees the receive buffers that are kept to avoid allocation, after some time without data.
    pub(crate) fn rest(&mut self) {
        self.slab.rest();
    }

    /// Ends a packet whose chunks were all processed. RFC 9260 §6.2 counts packets, not chunks.
    pub(crate) fn end_packet(&mut self, now: Time) {
        self.clock.end_packet(now);
        self.all_was_read = false;
    }

    /// Separates messages of key management from user messages from now on. Call this before the first chunk.
    pub(crate) fn set_key_management(&mut self) {
        self.ordering.set_key_management();
    }

    /// Announces limits for each stream from now on: both ends agreed on it. Call this before the first
    /// chunk. `buffer`: the receive buffer that the peer knows from INIT or INIT ACK.
    pub(crate) fn use_credit(&mut self, buffer: u32) {
        if buffer >= LEAST_BUFFER {
            self.credit_buffer = buffer;
        }
    }

    /// Keeps a chunk like [`take`](Self::take), and counts it for the limits of streams.
    #[inline(never)]
    fn take_counted(&mut self, tsn: LongTsn, place: Place, data: &Piece<'_>) -> Result<(), DataFault> {
        self.ordering.ready.begin_credit(self.credit_buffer);
        self.take(tsn, place, data)?;
        let credit = self.ordering.ready.begin_credit(self.credit_buffer);
        credit.on_arrival(data.stream, chunk_charge(data.payload.len(), data.is_whole()));
        self.check_limits(data.stream);
        Ok(())
    }

    /// Requests a SACK with the limit of a stream if it changes enough.
    #[inline]
    fn check_credit(&mut self, stream: u16) {
        if self.credit_buffer > 0 {
            self.check_limits(stream);
        }
    }

    #[cold]
    #[inline(never)]
    fn check_limits(&mut self, stream: u16) {
        let size = self.window.size();
        if let Some(credit) = self.ordering.ready.credit_mut() {
            if credit.check(stream, size) {
                self.clock.hasten();
            }
            self.window.set_limited(credit.unread());
        }
    }

    /// Requests another SACK if the last had no room for all limits of streams.
    #[inline]
    pub(crate) fn continue_credit(&mut self) {
        if self.ordering.ready.credit().is_some_and(ReceiveCredit::is_due) {
            self.clock.hasten();
        }
    }

    /// Answers the peer's question for the limit of a stream.
    pub(crate) fn on_blocked(&mut self, stream: u16) {
        if let Some(credit) = self.ordering.ready.credit_mut() {
            credit.on_blocked(stream);
            self.clock.hasten();
        }
    }

    /// Returns the bytes of limits that precede the next SACK.
    #[inline]
    pub(crate) fn credit_len(&self) -> usize {
        self.ordering.ready.credit().map_or(0, ReceiveCredit::chunk_len)
    }

    /// Writes the limits of streams that are due, in front of a SACK.
    #[inline]
    pub(crate) fn encode_credit(&mut self, builder: &mut PacketBuilder<'_>) {
        let size = self.window.size();
        if let Some(credit) = self.ordering.ready.credit_mut() {
            credit.encode(size, builder);
        }
    }

    /// Returns the next message of key management.
    pub(crate) fn read_key_message(&mut self) -> Option<Message> {
        let arrived = self.ordering.read_key_message()?;
        Some(self.release(arrived))
    }

    /// Returns whether there is a message to [`read_key_message`](Self::read_key_message).
    pub(crate) fn has_key_message(&self) -> bool {
        self.ordering.has_key_message()
    }

    /// Returns whether there is a message to [`read_key_message`](Self::read_key_message). Returns true only
    /// once until all were read.
    pub(crate) fn announce_key_messages(&mut self) -> bool {
        self.ordering.announce_key_messages()
    }

    /// Returns the next message, in the order of its stream.
    ///
    /// Afterwards a SACK may be due that announces the freed window.
    #[inline]
    pub(crate) fn read(&mut self) -> Option<Message> {
        let arrived = self.ordering.read()?;
        Some(self.release(arrived))
    }

    /// Releases the window that a message occupied.
    #[inline]
    fn release(&mut self, arrived: Arrived) -> Message {
        let Arrived { message, chunks, .. } = arrived;
        self.check_credit(message.stream);
        self.window.release(message.data.len(), chunks);
        self.stretch_window();
        // RFC 9260 §6.2: SHOULD send a SACK to update the window
        if self.window.update_due() {
            self.clock.hasten();
        }
        message
    }

    /// Returns whether messages are sorted: streams have readers, or key management has messages of its own.
    #[inline]
    pub(crate) fn sorts(&self) -> bool {
        self.ordering.ready.sorts()
    }

    /// Returns the number of messages to [`read`](Self::read), including parts of partially delivered ones.
    pub(crate) fn readable(&self) -> usize {
        self.ordering.ready.unclaimed()
    }

    /// Returns whether there is a message to [`read`](Self::read).
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.ordering.ready.has_unclaimed()
    }

    /// Returns whether a reader of a stream has items.
    pub(crate) fn has_unread(&self) -> bool {
        self.ordering.ready.has_unread()
    }

    /// Gives a stream a reader of its own. Returns false if it has one, or the peer has not ended the stream
    /// since it had one.
    pub(crate) fn claim(&mut self, stream: u16) -> bool {
        self.ordering.ready.claim(stream)
    }

    /// Takes a stream's reader away, and discards what it has not read. Returns whether the peer has ended
    /// the stream: what arrives until then is discarded too.
    pub(crate) fn release_reader(&mut self, stream: u16) -> bool {
        let ended = self.ordering.ready.release(stream);
        self.release_discarded();
        self.stretch_window();
        self.check_credit(stream);
        ended
    }

    /// Takes a stream's reader away, and leaves to [`read`](Self::read) what it has not read.
    pub(crate) fn leave(&mut self, stream: u16) {
        self.ordering.ready.leave(stream);
    }

    /// Returns whether the ends of these streams may be kept for their readers.
    pub(crate) fn may_end(&mut self, ends: &[StreamEnd]) -> bool {
        self.ordering.ready.may_end(ends.iter().map(|end| end.stream))
    }

    /// Returns whether a stream has ended without a message, and the application was not notified.
    pub(crate) fn take_untold_end(&mut self) -> bool {
        self.ordering.ready.take_untold_end()
    }

    /// Returns whether a stream has a reader, or had one since the peer's last end, or a message or an end
    /// that waits for one.
    pub(crate) fn is_taken(&self, stream: u16) -> bool {
        self.ordering.ready.is_claimed(stream) || self.ordering.ready.is_waiting(stream)
    }

    /// Returns the streams that wait for a reader, and how many uses of each, which ends separate.
    pub(crate) fn waiting_uses(&self) -> BTreeMap<u16, usize> {
        self.ordering.ready.waiting().into_iter().map(|(stream, uses)| (stream, uses.count)).collect()
    }

    /// Returns the first stream without a reader that has a message, or has ended without one, and for which
    /// `wanted` holds.
    pub(crate) fn next_stream(&self, wanted: impl Fn(u16) -> bool) -> Option<u16> {
        self.ordering.ready.next_stream(wanted)
    }

    /// Returns the next item of a stream with a reader. Afterwards a SACK may be due, as after
    /// [`read`](Self::read).
    pub(crate) fn read_on(&mut self, stream: u16) -> Option<StreamItem<Message>> {
        Some(match self.ordering.ready.read_on(stream)? {
            StreamItem::Message(arrived) => StreamItem::Message(self.release(arrived)),
            StreamItem::End(end) => StreamItem::End(end),
        })
    }

    /// Returns a stream whose reader has items and was not told.
    pub(crate) fn take_untold(&mut self) -> Option<u16> {
        self.ordering.ready.take_untold()
    }

    /// Takes all that readers have not read, before a restart replaces this state.
    pub(crate) fn take_readers(&mut self) -> Vec<(u16, VecDeque<StreamItem<Message>>)> {
        let items = |item| match item {
            StreamItem::Message(Arrived { message, .. }) => StreamItem::Message(message),
            StreamItem::End(end) => StreamItem::End(end),
        };
        let readers = self.ordering.ready.take_readers().into_iter();
        readers.map(|(stream, unread)| (stream, unread.into_iter().map(items).collect())).collect()
    }

    /// Returns the number of the next ordered message of a stream.
    pub(crate) fn next_ordered(&self, stream: u16) -> u32 {
        self.ordering.next_ordered(stream)
    }

    /// Returns whether all received data has been read, and no message is incomplete.
    pub(crate) fn is_settled(&self) -> bool {
        !self.map.has_gap() && self.window.held() == 0 && self.reassembly.is_empty()
    }

    /// Requests another SACK, because earlier ones may have gone to a place where the peer is not.
    pub(crate) fn repeat_sack(&mut self) {
        self.clock.hasten();
    }

    /// Returns whether a SACK must be sent now.
    pub(crate) fn sack_due(&self, now: Time) -> bool {
        self.clock.is_due(now)
    }

    /// Returns whether received data is not acknowledged yet, so that a SACK is bundled with outbound DATA
    /// (RFC 9260 §6.1).
    pub(crate) fn sack_pending(&self) -> bool {
        self.clock.is_pending()
    }

    /// Returns when a delayed SACK falls due.
    pub(crate) fn sack_deadline(&self) -> Option<Time> {
        self.clock.deadline()
    }

    /// Writes a SACK with as many gap blocks, then duplicate TSNs, as fit. Returns `None` if not even an
    /// empty SACK fits; the SACK stays due.
    pub(crate) fn encode_sack(&mut self, builder: &mut PacketBuilder<'_>) -> Option<SackSummary> {
        let entries = builder.remaining().checked_sub(Sack::MIN_LEN)? / 4;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# the SCTP endpoint MUST fill in the Cumulative TSN Ack field to indicate the latest sequential TSN
        //# (of a valid DATA chunk) it has received.
        let cum_tsn_ack = self.cum_tsn_ack();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# The SCTP endpoint MUST report as many Gap Ack Blocks as can fit in a single SACK chunk such that
        //# the size of the SCTP packet does not exceed the current PMTU.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //= type=exception
        //= reason=option `max_gap_blocks`, unlimited by default: an experiment limits what a SACK reports
        //# The SCTP endpoint MUST report as many Gap Ack Blocks as can fit in a single SACK chunk such that
        //# the size of the SCTP packet does not exceed the current PMTU.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.7
        //# the endpoint MUST send only one SACK chunk. This single SACK chunk MUST report the Gap Ack Blocks
        //# from the lowest to highest TSNs, within the size limit set by the PMTU
        // RFC 9260 §6.7: lowest TSNs first, the highest are left out
        let gap_blocks = self.map.gap_blocks(entries.min(self.max_gap_blocks));
        let duplicates = self.unreported.duplicates.len().min(entries - gap_blocks.len());
        let sack = Sack {
            cum_tsn_ack,
            a_rwnd: self.window.a_rwnd(),
            gap_blocks: List::from(gap_blocks),
            duplicates: List::from(&self.unreported.duplicates[..duplicates]),
        };
        builder.push(&sack).ok()?;
        let summary = SackSummary {
            cum_tsn_ack: sack.cum_tsn_ack,
            a_rwnd: sack.a_rwnd,
            gap_blocks: sack.gap_blocks.len() as u16,
            duplicates: duplicates as u16,
        };
        self.window.announce(summary.a_rwnd);
        self.clock.sent();
        if self.unreported.is_touched() {
            self.unreported.duplicates.clear();
        }
        Some(summary)
    }

    /// Returns whether the buffer is full of unread data when this window is announced, and was not since it
    /// had room.
    #[inline]
    pub(crate) fn became_full(&mut self, a_rwnd: u32) -> bool {
        if self.window.is_mostly_free(a_rwnd) {
            self.is_full = false;
            return false;
        }
        let full = self.window.is_small(a_rwnd) && self.ordering.is_readable();
        full && !core::mem::replace(&mut self.is_full, true)
    }

    /// Records that a SHUTDOWN chunk carries the acknowledgement instead of a SACK (RFC 9260 §6.2, §9.2).
    pub(crate) fn acknowledged_by_shutdown(&mut self) {
        self.clock.sent();
    }

    /// Returns the highest TSN up to which all TSNs were received (RFC 9260 §3.3.4).
    pub(crate) fn cum_tsn_ack(&self) -> Tsn {
        self.map.cum_tsn_ack().tsn()
    }

    /// Returns whether TSNs above [`cum_tsn_ack`](Self::cum_tsn_ack) were received, so that a SACK must
    /// acknowledge them instead of a SHUTDOWN (RFC 9260 §6.2).
    #[cfg(test)]
    pub(crate) fn has_gap(&self) -> bool {
        self.map.has_gap()
    }

    /// Returns the bytes that this end holds for the peer: user data, its overhead, and the state of streams.
    #[inline]
    pub(crate) fn memory(&self) -> u64 {
        self.window.held() + self.other_memory()
    }

    /// Returns the bytes of memory beside user data, which are never freed.
    fn other_memory(&self) -> u64 {
        self.ordering.memory() + self.reassembly.memory()
    }

    /// Sets this association's share of the endpoint's memory in bytes; `u64::MAX` means no limit. The window
    /// closes as with a buffer of that size.
    #[inline]
    pub(crate) fn set_share(&mut self, share: u64) {
        self.window.set_share(share);
    }

    /// Returns the window a SACK would announce now, in bytes.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn a_rwnd(&self) -> u32 {
        self.window.a_rwnd()
    }

    /// Returns the user bytes held: out of order, in reassembly, or not read yet.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn held_bytes(&self) -> u64 {
        self.window.held_bytes()
    }
}

/// Returns an unfragmented message with its payload copied out of the packet.
fn message(data: &Piece<'_>, payload: bytes::Bytes) -> Message {
    Message {
        stream: data.stream,
        ssn: data.number as u16,
        ppid: data.ppid,
        unordered: data.unordered,
        begin: true,
        end: true,
        data: payload,
    }
}
