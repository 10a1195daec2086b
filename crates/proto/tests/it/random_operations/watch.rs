//! Parses every packet sent and checks the rules of RFC 9260 that are visible on the wire: valid packets,
//! sizes, TSNs in order, the same content when retransmitted, true acknowledgements that are never revoked.

use std::collections::{BTreeMap, BTreeSet};

use msctp_lab_schemes::quality::QOS_MEASUREMENT;
use msctp_proto::{PathAddr, Transmit};
use msctp_units::Time;
use msctp_wire::{Checksum, Chunk, Data, EncodeChunk, Fragment, IData, Packet, Param, ReConfig, Sack, Tsn};

use crate::random_operations::plan::{Setup, Side};

/// Maximum number of gap blocks that are compared with those of the previous SACK. More would take too much
/// time, or not fit a packet of the smallest size.
const COMPARED_BLOCKS: usize = 60;

/// Maximum number of TSNs between two chunks that were never sent, at the ends of abandoned messages.
const MOST_SKIPPED: usize = 400;

/// The first transmission of a DATA or I-DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Print {
    stream: u16,
    /// Stream sequence number, or message identifier.
    number: u32,
    /// Payload protocol identifier, or fragment sequence number.
    ppid: u32,
    begin: bool,
    end: bool,
    unordered: bool,
    interleaved: bool,
    len: usize,
    hash: u64,
}

impl From<&Data<'_>> for Print {
    // RFC 9260 §3.3.1: the I bit may differ when retransmitted, and is ignored.
    fn from(data: &Data<'_>) -> Self {
        Self {
            stream: data.stream.get(),
            number: u32::from(data.ssn.get()),
            ppid: data.ppid.get(),
            begin: data.flags.begin,
            end: data.flags.end,
            unordered: data.flags.unordered,
            interleaved: false,
            len: data.payload.len(),
            hash: hash_bytes(0, data.payload),
        }
    }
}

impl From<&IData<'_>> for Print {
    fn from(data: &IData<'_>) -> Self {
        let (begin, ppid) = match data.fragment {
            Fragment::First(ppid) => (true, ppid.get()),
            Fragment::Later(fsn) => (false, fsn),
        };
        Self {
            stream: data.stream.get(),
            number: data.mid.get(),
            ppid,
            begin,
            end: data.end,
            unordered: data.unordered,
            interleaved: true,
            len: data.payload.len(),
            hash: hash_bytes(0, data.payload),
        }
    }
}

/// One direction of data.
#[derive(Default)]
struct Flow {
    /// Verification tag of the flow's packets.
    tag: Option<u32>,
    first: Option<Tsn>,
    /// Chunks by distance from the first TSN; `None` if abandoned before the first transmission (RFC 3758
    /// §3.5 A3).
    chunks: Vec<Option<Print>>,
    /// Number of the next message, by stream and unordered.
    numbers: BTreeMap<(u16, bool), u32>,
    /// Streams whose numbers may restart at 0, because their reset was requested.
    resets: BTreeSet<(u16, bool)>,
    /// A FORWARD TSN skipped some.
    forwarded: bool,
    acked: Vec<bool>,
    /// Chunks cumulatively acknowledged.
    cum: usize,
    /// Gap blocks of the last SACK: first and last place.
    blocks: Vec<(usize, usize)>,
    /// True if what is held arrived while there was a gap.
    held_with_gap: bool,
    /// User bytes of chunks acknowledged in any way.
    acked_bytes: u64,
}

/// Counters for the statistics of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) packets: u64,
    pub(crate) data_chunks: u64,
    pub(crate) sent_again: u64,
    pub(crate) gap_sacks: u64,
    pub(crate) zero_windows: u64,
    pub(crate) tsn_wraps: u64,
    pub(crate) address_changes: u64,
    pub(crate) reports: u64,
    pub(crate) forwards: u64,
    pub(crate) stream_requests: u64,
    pub(crate) interleaved: u64,
}

pub(crate) struct Watch {
    flows: [Flow; 2],
    pmtu: [usize; 2],
    receive_buffer: [u64; 2],
    is_protected: bool,
    /// True if the ends had more than one association, so that TSNs cannot be checked any more.
    disturbed: bool,
    pub(crate) seen: Seen,
    /// Hash of every packet's time, addresses and bytes.
    pub(crate) hash: u64,
    /// `MSCTP_TRACE=1`: print every packet.
    trace: bool,
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Adds the bytes and their number to the hash.
pub(crate) fn hash_bytes(mut hash: u64, bytes: &[u8]) -> u64 {
    for word in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        hash = mix(hash, u64::from_le_bytes(padded));
    }
    mix(hash, bytes.len() as u64)
}

impl Watch {
    pub(crate) fn new(setup: &Setup) -> Self {
        let of = |side| setup.tuning(side);
        Self {
            flows: Default::default(),
            pmtu: Side::BOTH.map(|side| of(side).pmtu as usize),
            receive_buffer: Side::BOTH.map(|side| u64::from(of(side).receive_buffer)),
            is_protected: setup.is_protected(),
            disturbed: false,
            seen: Seen::default(),
            hash: 0,
            trace: std::env::var_os("MSCTP_TRACE").is_some(),
        }
    }

    /// Records a second association.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// Checks an SCTP packet when it is sent. `read`: user bytes that the sender's application has read.
    pub(crate) fn packet(&mut self, now: Time, from: Side, transmit: &Transmit, bytes: &[u8], read: u64) {
        self.hash = mix(self.hash, now.as_nanos());
        self.hash = hash_bytes(self.hash, transmit.at.to_string().as_bytes());
        self.hash = hash_bytes(self.hash, bytes);
        self.seen.packets += 1;
        self.check_size(from, transmit, bytes.len());
        let packet = Packet::parse(bytes, Checksum::Verify).expect("a packet that can be read");
        packet.check_bundling().expect("bundled as RFC 9260 allows");
        let tag = packet.header.verification_tag.get();
        if self.trace {
            let chunks: Vec<String> = packet.chunks().map(|chunk| brief(&chunk)).collect();
            eprintln!("{now:?} {from:?} {}: {}", transmit.at, chunks.join(", "));
        }
        let mut control_ended = false;
        for chunk in packet.chunks() {
            match chunk.expect("a chunk that can be read") {
                Chunk::Data(data) => {
                    control_ended = true;
                    if self.same_association(from, tag) {
                        self.data(from, data.tsn, (&data).into());
                    }
                }
                Chunk::IData(data) => {
                    control_ended = true;
                    self.seen.interleaved += 1;
                    if self.same_association(from, tag) {
                        self.data(from, data.tsn, (&data).into());
                    }
                }
                other => {
                    // RFC 9260 §6.10: control chunks first.
                    assert!(!control_ended, "a control chunk after DATA: {other:?}");
                    self.control(from, tag, &other, read);
                }
            }
        }
    }

    fn check_size(&self, from: Side, transmit: &Transmit, len: usize) {
        let PathAddr { local, remote } = transmit.at;
        assert_eq!(local.is_ipv4(), remote.is_ipv4(), "one family: {}", transmit.at);
        let header = if remote.is_ipv4() { 20 } else { 40 };
        // An answer without an association has no PMTU. Chunks cut for IPv4 may be retransmitted over IPv6.
        let pmtu = if transmit.path.is_some() { self.pmtu[from.index()] } else { 1500 };
        assert!(len + header <= pmtu + 20, "{len} bytes for a PMTU of {pmtu}");
    }

    fn control(&mut self, from: Side, tag: u32, chunk: &Chunk<'_>, read: u64) {
        match chunk {
            Chunk::Sack(sack) if self.same_association(from, tag) => self.sack(from, sack, read),
            Chunk::Shutdown(shutdown) if self.same_association(from, tag) => {
                self.cum_ack(from, shutdown.cum_tsn_ack);
            }
            Chunk::ForwardTsn(forward) if self.same_association(from, tag) => {
                self.forward(from, forward.new_cum_tsn);
            }
            Chunk::IForwardTsn(forward) if self.same_association(from, tag) => {
                self.forward(from, forward.new_cum_tsn);
            }
            Chunk::ReConfig(reconfig) if self.same_association(from, tag) => self.reconfig(from, reconfig),
            Chunk::Init(_) => assert_eq!(tag, 0, "INIT with a tag"),
            Chunk::Asconf(_) => self.seen.address_changes += 1,
            Chunk::Unknown(unknown) if unknown.chunk_type() == QOS_MEASUREMENT => self.seen.reports += 1,
            _ => {}
        }
    }

    fn same_association(&mut self, from: Side, tag: u32) -> bool {
        let known = *self.flows[from.index()].tag.get_or_insert(tag);
        self.disturbed |= known != tag;
        !self.disturbed
    }

    /// RFC 3758 §3.5 C: abandoned chunks count as sent, even if they were not.
    fn forward(&mut self, from: Side, new_cum_tsn: Tsn) {
        self.seen.forwards += 1;
        let flow = &mut self.flows[from.index()];
        let first = flow.first.expect("passes over what was sent");
        let up_to = new_cum_tsn.next().distance_from(first) as usize;
        assert!(up_to <= flow.chunks.len() + MOST_SKIPPED, "passes over {up_to} of {}", flow.chunks.len());
        flow.forwarded = true;
        flow.grow(up_to);
    }

    fn reconfig(&mut self, from: Side, reconfig: &ReConfig<'_>) {
        for param in reconfig.params.iter().flatten() {
            self.seen.stream_requests += u64::from(!matches!(param, Param::ReconfigResponse(_)));
            let Param::OutgoingReset(reset) = param else { continue };
            let flow = &mut self.flows[from.index()];
            // RFC 6525 §4.1: an empty list names all. RFC 8260 §2.3.2: both kinds of number.
            let named: Vec<u16> = reset.streams.iter().map(|stream| stream.get()).collect();
            let hit = flow.numbers.keys().filter(|(stream, _)| named.is_empty() || named.contains(stream));
            flow.resets.extend(hit);
        }
    }

    fn data(&mut self, from: Side, tsn: Tsn, print: Print) {
        self.seen.data_chunks += 1;
        let flow = &mut self.flows[from.index()];
        let first = *flow.first.get_or_insert(tsn);
        let place = tsn.distance_from(first) as usize;
        if let Some(known) = flow.chunks.get(place) {
            self.seen.sent_again += 1;
            assert_eq!(*known, Some(print), "TSN {} retransmitted with another content", tsn.get());
            return;
        }
        // The end of a message abandoned after partial transmission has a TSN and is never sent.
        assert!(place - flow.chunks.len() <= MOST_SKIPPED, "TSN {} skips some", tsn.get());
        self.seen.tsn_wraps += u64::from(place > 0 && tsn.get() == 0);
        flow.grow(place);
        flow.chunks.push(Some(print));
        flow.acked.push(false);
        flow.check_number(&print);
    }

    /// Records that `from` acknowledges the other end's data up to this TSN. Returns the number of chunks.
    fn cum_ack(&mut self, from: Side, tsn: Tsn) {
        let flow = &mut self.flows[from.other().index()];
        let Some(first) = flow.first else { return };
        let cum = tsn.next().distance_from(first) as usize;
        assert!(cum <= flow.chunks.len(), "acknowledges {} which was never sent", tsn.get());
        assert!(cum >= flow.cum, "the cumulative acknowledgement goes back: {cum} after {}", flow.cum);
        for place in flow.cum..cum {
            flow.acknowledge(place);
        }
        flow.cum = cum;
    }

    fn sack(&mut self, from: Side, sack: &Sack<'_>, read: u64) {
        self.cum_ack(from, sack.cum_tsn_ack);
        let (size, pmtu) = (self.receive_buffer[from.index()], self.pmtu[from.other().index()] as u64);
        assert!(u64::from(sack.a_rwnd) <= size, "a_rwnd {} with a buffer of {size}", sack.a_rwnd);
        self.seen.zero_windows += u64::from(sack.a_rwnd == 0);
        self.seen.gap_sacks += u64::from(!sack.gap_blocks.is_empty());
        let flow = &mut self.flows[from.other().index()];
        let mut blocks = Vec::new();
        let mut last_end = 0;
        for block in sack.gap_blocks.iter() {
            // RFC 9260 §3.3.4: TSN cum + start to cum + end; cum is the place before flow.cum.
            assert!(block.start > last_end + 1 && block.end >= block.start, "gap blocks: {sack:?}");
            last_end = block.end;
            let (start, end) =
                (flow.cum + usize::from(block.start) - 1, flow.cum + usize::from(block.end) - 1);
            assert!(end < flow.chunks.len(), "a gap block with TSNs that were never sent");
            for place in start..=end {
                flow.acknowledge(place);
            }
            blocks.push((start, end));
        }
        if blocks.len() < COMPARED_BLOCKS {
            for &(start, end) in &flow.blocks {
                let start = start.max(flow.cum);
                let kept = end < start || blocks.iter().any(|block| block.0 <= start && end <= block.1);
                assert!(kept, "{start}–{end} were acknowledged and are not any more: {blocks:?}");
            }
        }
        flow.blocks = blocks;
        // Bytes held, in buffers; the last packet may exceed the sum.
        // - 2 without a gap: a message that cannot be read before it is complete may take a second buffer
        //   (`Config::receive_buffer`). It is then delivered in parts (RFC 9260 §11.1.7).
        // - 4 with a gap: chunks below the largest TSN received are accepted up to 2 (§6.2), and acknowledged
        //   ones are not dropped. The next TSN is accepted beside them, because nothing can be read before
        //   it: it belongs to a message that may take 2 as well.
        // - 4 more under protection: they wait for the readers of streams with limits.
        // A closed gap frees nothing: its bound holds until the rest is read.
        let held = flow.acked_bytes.saturating_sub(read);
        let without_gap = 2 * (size + pmtu);
        flow.held_with_gap = !flow.blocks.is_empty() || flow.held_with_gap && held > without_gap;
        let most = if flow.held_with_gap { 4 * size + 2 * pmtu } else { without_gap };
        let for_readers = if self.is_protected { 4 * (size + pmtu) } else { 0 };
        assert!(
            flow.forwarded || held <= most + for_readers,
            "{held} bytes held with a receive buffer of {size}"
        );
    }
}

/// Formats a chunk in a line, without its user data.
fn brief(chunk: &Result<Chunk<'_>, impl std::fmt::Debug>) -> String {
    match chunk {
        Ok(Chunk::Data(data)) => {
            let print = Print::from(data);
            format!("DATA {} {} {} of {}", data.tsn.get(), print.place(), data.payload.len(), print.number)
        }
        Ok(Chunk::IData(data)) => {
            let print = Print::from(data);
            format!("I-DATA {} {} {} of {}", data.tsn.get(), print.place(), data.payload.len(), print.number)
        }
        other => {
            let mut text = format!("{other:?}");
            text.truncate(400);
            text
        }
    }
}

impl Print {
    /// Formats the stream and the part of a message.
    fn place(&self) -> String {
        let [begin, end] =
            [(self.begin, 'B'), (self.end, 'E')].map(|(is, letter)| if is { letter } else { '-' });
        format!("stream {}{} {begin}{end}", self.stream, if self.unordered { " unordered" } else { "" })
    }
}

impl Flow {
    /// Extends the list to this many chunks; new ones are unknown.
    fn grow(&mut self, len: usize) {
        if len > self.chunks.len() {
            self.chunks.resize(len, None);
            self.acked.resize(len, false);
        }
    }

    /// RFC 9260 §6.5, RFC 8260 §2.1: messages of a stream are numbered consecutively, from 0 again after a
    /// reset.
    fn check_number(&mut self, print: &Print) {
        if !print.begin || print.unordered && !print.interleaved {
            return;
        }
        let key = (print.stream, print.unordered);
        let next = self.numbers.get(&key).copied().unwrap_or(0);
        let anew = print.number == 0 && self.resets.contains(&key);
        assert!(anew || print.number == next, "stream {key:?}: message {} after {next}", print.number);
        if anew && next != 0 {
            self.resets.remove(&key);
        }
        let following = print.number.wrapping_add(1);
        self.numbers.insert(key, if print.interleaved { following } else { following & 0xffff });
    }

    fn acknowledge(&mut self, place: usize) {
        if !core::mem::replace(&mut self.acked[place], true) {
            self.acked_bytes += self.chunks[place].map_or(0, |print| print.len as u64);
        }
    }
}
