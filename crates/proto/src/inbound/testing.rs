//! Plays scripts in bytes on the receiving half, for the tests here and the fuzz target `reassembly`.
//!
//! A script sends fragments of DATA or I-DATA in any order, late or duplicated. It abandons messages with
//! FORWARD TSN or I-FORWARD-TSN, resets streams, sends messages larger than the buffer and reads slowly. An
//! honest sender's messages must come out as they went in. Of a hostile sender only the memory and the time
//! are checked.

use std::collections::BTreeMap;

use msctp_units::{Span, Time};
use msctp_wire::{
    Data, DataFlags, ForwardTsn, Fragment, IData, IForwardTsn, List, Mid, PacketBuilder, Ppid,
    SkippedMessages, SkippedStream, Ssn, StreamId, Tsn, VerificationTag,
};

use super::{Inbound, InboundConfig, Received, StreamEnd};
use crate::message::Message;

const STREAMS: u16 = 4;
const MAX_STEPS: usize = 400;
/// Maximum number of user bytes in a chunk.
const MAX_CHUNK: usize = 1400;
/// Maximum memory, in buffers. `inbound` allows twice the buffer for chunks that fill gaps, and the same
/// again for one message before them. The chunk that reaches the limit is accepted.
const HELD_BUFFERS: u64 = 4;

fn ends_of(streams: &[u16]) -> Vec<StreamEnd> {
    streams.iter().map(|&stream| StreamEnd { stream, code: None }).collect()
}

/// Takes the next byte of the script.
fn byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

/// Takes `len` bytes of the script, or the rest.
fn upto<'a>(bytes: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(len.min(bytes.len()));
    *bytes = rest;
    head
}

/// Origin of a message: stream and order.
type Flow = (u16, bool);

/// A chunk with a TSN.
struct Piece {
    message: usize,
    fsn: u32,
    begin: bool,
    end: bool,
    /// True if the message takes only a TSN, as the end of a message abandoned before (RFC 3758 §3.5 A3).
    phantom: bool,
    payload: Vec<u8>,
}

/// A message of the honest sender.
struct SentMessage {
    flow: Flow,
    number: u32,
    /// Chunks without a TSN.
    left: Vec<Vec<u8>>,
    next_fsn: u32,
    /// The content of all chunks with a TSN.
    sent: Vec<u8>,
    abandoned: bool,
    /// Number of bytes read so far.
    read: usize,
    done: bool,
    /// True if the partial delivery of the message was aborted.
    aborted: bool,
}

/// The receiving half, and the expected state.
struct Receiver {
    inbound: Inbound,
    interleaving: bool,
    buffer: u64,
    initial: u32,
    now: Time,
}

impl Receiver {
    fn new(setup: u8) -> Self {
        let buffer = [1500, 4000, 20_000, 65_536][usize::from(setup >> 1 & 3)];
        let config = InboundConfig {
            receive_buffer: buffer,
            pmtu: 1500,
            sack_delay: Span::from_millis(200),
            sack_frequency: 2,
            max_gap_blocks: u32::MAX,
        };
        let initial = if setup & 8 == 0 { 1 } else { u32::MAX - 5 };
        let mut inbound = Inbound::new(&config, Tsn::new(initial), STREAMS);
        let interleaving = setup & 1 == 1;
        inbound.set_interleaving(interleaving);
        Self { inbound, interleaving, buffer: buffer.into(), initial, now: Time::ZERO }
    }

    fn tsn(&self, place: usize) -> Tsn {
        Tsn::new(self.initial.wrapping_add(place as u32))
    }

    /// Chunks cumulatively acknowledged.
    fn cum(&self) -> usize {
        self.inbound.cum_tsn_ack().next().get().wrapping_sub(self.initial) as usize
    }

    fn check(&self) {
        let held = self.inbound.held_bytes();
        let most = HELD_BUFFERS * self.buffer + MAX_CHUNK as u64;
        assert!(held <= most, "{held} bytes held with a buffer of {}", self.buffer);
        assert!(u64::from(self.inbound.a_rwnd()) <= self.buffer);
    }

    fn sack(&mut self) {
        let mut out = Vec::new();
        let mut builder = PacketBuilder::new(&mut out, 1, 2, VerificationTag::new(9), 1480);
        self.inbound.encode_sack(&mut builder).expect("a SACK fits");
    }
}

/// Plays a script.
///
/// # Panics
/// The receiving half panics, holds more than allowed, or does not deliver an honest sender's messages
/// intact.
pub(crate) fn play(bytes: &[u8]) {
    let mut bytes = bytes;
    let Some(setup) = byte(&mut bytes) else { return };
    let receiver = Receiver::new(setup);
    if setup & 0x10 == 0 {
        let mut honest = Honest::new(receiver);
        for _ in 0..MAX_STEPS {
            if honest.step(&mut bytes).is_none() {
                break;
            }
            honest.receiver.check();
        }
        honest.finish();
    } else {
        mad(receiver, &mut bytes);
    }
}

/// A compliant sender over an arbitrary network.
struct Honest {
    receiver: Receiver,
    messages: Vec<SentMessage>,
    pieces: Vec<Piece>,
    numbers: BTreeMap<Flow, u32>,
    /// The last message read of each ordered stream.
    last_read: BTreeMap<u16, usize>,
    /// The message in partial delivery, by flow and number.
    parts: BTreeMap<(Flow, u16), usize>,
}

impl Honest {
    fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            messages: Vec::new(),
            pieces: Vec::new(),
            numbers: BTreeMap::new(),
            last_read: BTreeMap::new(),
            parts: BTreeMap::new(),
        }
    }

    fn step(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let choice = byte(bytes)?;
        match choice & 7 {
            0 => self.compose(choice, byte(bytes)?, byte(bytes)?),
            1 => {
                let open: Vec<usize> = (0..self.messages.len()).filter(|&m| self.is_open(m)).collect();
                let message = *open.get(usize::from(choice >> 3) % open.len().max(1))?;
                self.number_next(message);
            }
            2 => {
                // Any chunk, including late ones.
                let back = usize::from(byte(bytes)?);
                let first = self.receiver.cum().saturating_sub(4);
                let span = self.pieces.len() - first.min(self.pieces.len());
                if span > 0 {
                    self.deliver(first + back % span);
                }
            }
            3 => self.retransmit(),
            4 => {
                for _ in 0..=choice >> 3 {
                    if !self.read() {
                        break;
                    }
                }
            }
            5 => self.give_up(byte(bytes)?),
            6 if choice & 8 == 0 => self.forward(),
            6 => self.reset(choice >> 4),
            _ => self.receiver.sack(),
        }
        Some(())
    }

    /// Returns true if some of the message's chunks have no TSN.
    fn is_open(&self, message: usize) -> bool {
        !self.messages[message].left.is_empty() && !self.messages[message].abandoned
    }

    /// Adds a message, cut into chunks. Without interleaving they get consecutive TSNs at once (RFC 9260
    /// §6.9).
    fn compose(&mut self, choice: u8, fragments: u8, size: u8) {
        let flow: Flow = (u16::from(choice >> 3 & 3), choice & 0x20 != 0);
        let message = self.messages.len();
        // RFC 8260 §2.2.2: "MUST NOT process [...] more than one user message in any given stream at any
        // time".
        if (0..message).any(|m| self.messages[m].flow.0 == flow.0 && self.is_open(m)) {
            return;
        }
        let interleaving = self.receiver.interleaving;
        let number = self.numbers.entry(flow).or_default();
        let id = *number;
        if interleaving || !flow.1 {
            *number = if interleaving { id.wrapping_add(1) } else { u32::from((id as u16).wrapping_add(1)) };
        }
        let count = 1 + usize::from(fragments % 32);
        let len = 1 + usize::from(size) * (MAX_CHUNK - 1) / 255;
        let left = (0..count).rev().map(|n| (0..len).map(|i| (message * 31 + n * 7 + i) as u8).collect());
        self.messages.push(SentMessage {
            flow,
            number: id,
            left: left.collect(),
            next_fsn: 0,
            sent: Vec::new(),
            abandoned: false,
            read: 0,
            done: false,
            aborted: false,
        });
        self.number_next(message);
        while !interleaving && self.is_open(message) {
            self.number_next(message);
        }
    }

    /// Assigns a TSN to the next chunk of a message.
    fn number_next(&mut self, message: usize) {
        let sent = &mut self.messages[message];
        let Some(payload) = sent.left.pop() else { return };
        sent.sent.extend_from_slice(&payload);
        let (fsn, end) = (sent.next_fsn, sent.left.is_empty());
        sent.next_fsn += 1;
        self.pieces.push(Piece { message, fsn, begin: fsn == 0, end, phantom: false, payload });
    }

    fn deliver(&mut self, place: usize) {
        let piece = &self.pieces[place];
        if piece.phantom {
            return;
        }
        let sent = &self.messages[piece.message];
        let tsn = self.receiver.tsn(place);
        let (stream, unordered) = (StreamId::new(sent.flow.0), sent.flow.1);
        let ppid = Ppid::new(piece.message as u32);
        let inbound = &mut self.receiver.inbound;
        let received = if self.receiver.interleaving {
            let fragment = if piece.begin { Fragment::First(ppid) } else { Fragment::Later(piece.fsn) };
            let mid = Mid::new(sent.number);
            let (end, payload) = (piece.end, &piece.payload[..]);
            inbound.handle_i_data(&IData {
                tsn,
                stream,
                mid,
                fragment,
                unordered,
                end,
                immediate: false,
                payload,
            })
        } else {
            let flags = DataFlags { unordered, begin: piece.begin, end: piece.end, immediate: false };
            let ssn = Ssn::new(sent.number as u16);
            inbound.handle_data(&Data { tsn, stream, ssn, ppid, flags, payload: &piece.payload })
        };
        inbound.end_packet(self.receiver.now);
        match received {
            Ok(Received::New | Received::Duplicate | Received::Dropped) => {}
            other => panic!("an honest chunk: {other:?}"),
        }
    }

    /// Retransmits all unacknowledged chunks, in order.
    fn retransmit(&mut self) {
        for place in self.receiver.cum()..self.pieces.len() {
            if !self.messages[self.pieces[place].message].abandoned {
                self.deliver(place);
            }
        }
    }

    fn read(&mut self) -> bool {
        let Some(message) = self.receiver.inbound.read() else { return false };
        self.take(&message);
        true
    }

    /// Checks that each part read equals the part sent.
    fn take(&mut self, message: &Message) {
        let flow: Flow = (message.stream, message.unordered);
        let key = (flow, message.ssn);
        let id = if message.begin {
            let id = message.ppid as usize;
            if !message.end {
                self.parts.insert(key, id);
            }
            id
        } else {
            *self.parts.get(&key).expect("a part of a message that began")
        };
        let sent = &mut self.messages[id];
        assert_eq!((sent.flow, sent.number as u16), (flow, message.ssn), "message {id}: of another flow");
        assert!(!sent.done && message.begin == (sent.read == 0), "message {id}: read again");
        assert_eq!(message.ppid as usize, id, "message {id}: PPID");
        let end = sent.read + message.data.len();
        assert_eq!(sent.sent.get(sent.read..end), Some(&message.data[..]), "message {id}: content");
        sent.read = end;
        sent.done = message.end;
        if message.end {
            assert!(sent.left.is_empty() && end == sent.sent.len(), "message {id}: ends too early");
            if !message.begin {
                self.parts.remove(&key);
            }
        }
        if message.begin && !flow.1 {
            let last = self.last_read.insert(flow.0, id);
            assert!(last.is_none_or(|last| last < id), "stream {}: {id} after {last:?}", flow.0);
        }
    }

    /// Abandons a message that is not completely acknowledged (RFC 3758 §3.5 A3).
    fn give_up(&mut self, which: u8) {
        let cum = self.receiver.cum();
        let mut open: Vec<usize> = self.pieces[cum..].iter().map(|piece| piece.message).collect();
        open.extend((0..self.messages.len()).filter(|&m| self.is_open(m)));
        open.sort_unstable();
        open.dedup();
        open.retain(|&m| !self.messages[m].abandoned);
        let Some(&message) = open.get(usize::from(which) % open.len().max(1)) else { return };
        let sent = &mut self.messages[message];
        sent.abandoned = true;
        if !sent.left.is_empty() {
            let fsn = sent.next_fsn;
            self.pieces.push(Piece { message, fsn, begin: false, end: true, phantom: true, payload: vec![] });
        }
    }

    /// Forwards over an abandoned TSN immediately above the receiver's cumulative TSN (RFC 3758 §3.5 C).
    fn forward(&mut self) {
        let cum = self.receiver.cum();
        let is_over = |piece: &&Piece| self.messages[piece.message].abandoned;
        let passed: Vec<usize> =
            self.pieces[cum..].iter().take_while(is_over).map(|piece| piece.message).collect();
        if passed.is_empty() {
            return;
        }
        let new_cum_tsn = self.receiver.tsn(cum + passed.len() - 1);
        let mut largest: BTreeMap<Flow, u32> = BTreeMap::new();
        for &message in &passed {
            // Numbers of a flow increase with the TSN.
            largest.insert(self.messages[message].flow, self.messages[message].number);
        }
        let inbound = &mut self.receiver.inbound;
        let taken = if self.receiver.interleaving {
            let skipped: Vec<SkippedMessages> = largest
                .iter()
                .map(|(&(stream, unordered), &number)| SkippedMessages {
                    stream: StreamId::new(stream),
                    unordered,
                    mid: Mid::new(number),
                })
                .collect();
            inbound.handle_i_forward_tsn(&IForwardTsn { new_cum_tsn, skipped: List::from(&skipped[..]) })
        } else {
            let skipped: Vec<SkippedStream> = largest
                .iter()
                .filter(|((_, unordered), _)| !unordered)
                .map(|(&(stream, _), &number)| SkippedStream {
                    stream: StreamId::new(stream),
                    ssn: Ssn::new(number as u16),
                })
                .collect();
            inbound.handle_forward_tsn(&ForwardTsn { new_cum_tsn, skipped: List::from(&skipped[..]) })
        };
        inbound.end_packet(self.receiver.now);
        taken.expect("an honest FORWARD TSN");
        self.take_aborts();
    }

    fn take_aborts(&mut self) {
        while let Some(abort) = self.receiver.inbound.take_abort() {
            // The abort is reported once the parts are read.
            while self.read() {}
            let key = ((abort.stream, abort.unordered), abort.ssn);
            let id = self.parts.remove(&key).expect("a message that was delivered in part");
            let sent = &mut self.messages[id];
            assert!(sent.abandoned && !sent.done, "message {id} was broken off and not abandoned");
            sent.aborted = true;
        }
    }

    /// Resets the numbers to 0 after all data has arrived (RFC 6525 §5.1.2).
    fn reset(&mut self, choice: u8) {
        let quiet = (0..self.messages.len()).all(|m| !self.is_open(m));
        if !quiet || self.receiver.cum() < self.pieces.len() {
            return;
        }
        let streams: Vec<u16> = (0..STREAMS).filter(|stream| choice >> stream & 1 == 1).collect();
        self.receiver.inbound.reset_streams(&ends_of(&streams), false);
        self.numbers.retain(|(stream, _), _| !streams.is_empty() && !streams.contains(stream));
        assert!(self.receiver.inbound.take_abort().is_none(), "nothing was incomplete");
    }

    /// Repairs the network and reads everything: all messages that were not abandoned are delivered.
    fn finish(&mut self) {
        for message in 0..self.messages.len() {
            while self.is_open(message) {
                self.number_next(message);
            }
        }
        let mut rounds = 0;
        while self.receiver.cum() < self.pieces.len() || self.receiver.inbound.is_readable() {
            let before = self.receiver.cum();
            self.forward();
            self.retransmit();
            self.receiver.check();
            let mut moved = self.receiver.cum() > before;
            while self.read() {
                moved = true;
            }
            rounds += 1;
            assert!(moved, "round {rounds}: {} of {} chunks", self.receiver.cum(), self.pieces.len());
        }
        for (id, sent) in self.messages.iter().enumerate() {
            assert!(sent.abandoned || sent.done, "message {id} never came out");
            let broken_off = sent.read > 0 && !sent.done;
            assert_eq!(sent.aborted, broken_off, "message {id}: broken off, and reported so");
        }
        assert_eq!(self.receiver.inbound.held_bytes(), 0, "nothing is left");
        assert_eq!(
            u64::from(self.receiver.inbound.a_rwnd()),
            self.receiver.buffer,
            "the window is open again"
        );
    }
}

/// Injects chunks without any rules.
fn mad(mut receiver: Receiver, bytes: &mut &[u8]) {
    for _ in 0..MAX_STEPS {
        if mad_step(&mut receiver, bytes).is_none() {
            return;
        }
        receiver.check();
    }
}

/// Runs one step of a hostile sender. Returns `None` at the end of the script, or if the association would be
/// aborted.
fn mad_step(receiver: &mut Receiver, bytes: &mut &[u8]) -> Option<()> {
    let (choice, ahead) = (byte(bytes)?, byte(bytes)?);
    // Mostly the next TSN, else one behind, ahead, or far away.
    let ahead = match ahead >> 6 {
        0 | 1 => u32::from(ahead & 0x0f),
        2 => u32::from(ahead & 0x3f) << 8,
        _ => u32::from(ahead & 0x3f).wrapping_neg(),
    };
    let tsn = Tsn::new(receiver.inbound.cum_tsn_ack().next().get().wrapping_add(ahead));
    let fault = match choice & 7 {
        0..=4 => {
            let (field, len, repeat) = (byte(bytes)?, byte(bytes)?, byte(bytes)?);
            let payload = vec![field; usize::from(len) * MAX_CHUNK / 255];
            let repeat = if repeat < 0xf0 { 1 } else { 1 << (repeat & 7) };
            (0..repeat).any(|n| {
                let tsn = Tsn::new(tsn.get().wrapping_add(n));
                let fault = mad_chunk(receiver, choice, field, tsn, n, &payload);
                receiver.check();
                fault
            })
        }
        5 => {
            let named = upto(bytes, usize::from(choice >> 3 & 3) * 2);
            let inbound = &mut receiver.inbound;
            let skip = |pair: &[u8]| (StreamId::new(u16::from(pair[0] & 7)), pair[0] & 8 != 0, pair[1]);
            let skips = named.chunks_exact(2).map(skip);
            if receiver.interleaving {
                let skipped: Vec<SkippedMessages> = skips
                    .map(|(stream, unordered, mid)| SkippedMessages {
                        stream,
                        unordered,
                        mid: Mid::new(mid.into()),
                    })
                    .collect();
                let skipped = List::from(&skipped[..]);
                inbound.handle_i_forward_tsn(&IForwardTsn { new_cum_tsn: tsn, skipped }).is_err()
            } else {
                let skipped: Vec<SkippedStream> = skips
                    .map(|(stream, _, ssn)| SkippedStream { stream, ssn: Ssn::new(ssn.into()) })
                    .collect();
                let skipped = List::from(&skipped[..]);
                inbound.handle_forward_tsn(&ForwardTsn { new_cum_tsn: tsn, skipped }).is_err()
            }
        }
        6 => {
            for _ in 0..choice >> 3 {
                receiver.inbound.read();
            }
            false
        }
        _ if choice & 8 == 0 => {
            receiver.sack();
            false
        }
        _ => {
            let streams: Vec<u16> = (0..STREAMS).filter(|stream| choice >> (4 + stream) & 1 == 1).collect();
            receiver.inbound.reset_streams(&ends_of(&streams), false);
            false
        }
    };
    receiver.inbound.end_packet(receiver.now);
    while receiver.inbound.take_abort().is_some() {}
    (!fault).then_some(())
}

/// Returns true if the receiving half detected the violation.
fn mad_chunk(receiver: &mut Receiver, choice: u8, field: u8, tsn: Tsn, step: u32, payload: &[u8]) -> bool {
    let stream = StreamId::new(u16::from(field & 7));
    let number = u32::from(field >> 3 & 7);
    let (begin, end, unordered) = (choice & 8 != 0, choice & 0x10 != 0, choice & 0x20 != 0);
    let immediate = choice & 0x40 != 0;
    let inbound = &mut receiver.inbound;
    if receiver.interleaving {
        let fragment =
            if begin { Fragment::First(Ppid::new(7)) } else { Fragment::Later(u32::from(field >> 6) + step) };
        let mid = Mid::new(number);
        let chunk = IData { tsn, stream, mid, fragment, unordered, end, immediate, payload };
        inbound.handle_i_data(&chunk).is_err()
    } else {
        let flags = DataFlags { unordered, begin, end, immediate };
        let ssn = Ssn::new(number as u16);
        inbound.handle_data(&Data { tsn, stream, ssn, ppid: Ppid::new(7), flags, payload }).is_err()
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::play;

    /// Replays the inputs kept from fuzzing.
    #[test]
    fn committed_reassemblies() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/reassembly");
        let files: Vec<_> = std::fs::read_dir(folder).expect(folder).collect();
        assert!(!files.is_empty());
        for file in files {
            let path = file.expect("an entry").path();
            play(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }

    fn random_reassemblies(seeds: core::ops::Range<u64>) {
        for seed in seeds {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut script = vec![0; (rng.next_u32() % 1200) as usize];
            rng.fill_bytes(&mut script);
            play(&script);
        }
    }

    #[test]
    fn random_fragments() {
        random_reassemblies(0..3_000);
    }

    /// Its short form is `random_fragments`.
    #[test]
    #[ignore = "half a minute"]
    fn slow_many_random_fragments() {
        random_reassemblies(3_000..300_000);
    }
}
