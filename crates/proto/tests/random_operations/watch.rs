//! Reads every packet as it leaves and checks what RFC 9260 demands of the pair as seen from the wire: packets that can
//! be read, sizes, TSNs in order, the same content when sent again, acknowledgements that are true and never taken back.

use msctp_proto::{PathAddr, Transmit};
use msctp_units::Time;
use msctp_wire::{Checksum, Chunk, Data, Packet, Sack, Tsn};

use crate::plan::{Setup, Side};

/// Where only the memory of the last blocks costs too much time, or a packet of the smallest size could not hold all.
const COMPARED_BLOCKS: usize = 60;

/// A DATA chunk as it was sent first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Print {
    stream: u16,
    ssn: u16,
    ppid: u32,
    flags: u8,
    len: usize,
    hash: u64,
}

/// One direction of data.
#[derive(Default)]
struct Flow {
    /// Verification tag of its packets.
    tag: Option<u32>,
    first: Option<Tsn>,
    /// By distance from the first TSN.
    chunks: Vec<Print>,
    acked: Vec<bool>,
    /// Chunks cumulatively acknowledged.
    cum: usize,
    /// Gap blocks of the last SACK: first and last place.
    blocks: Vec<(usize, usize)>,
    /// User bytes of chunks acknowledged in any way.
    acked_bytes: u64,
}

/// What was seen, for the statistics of a run.
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
}

pub(crate) struct Watch {
    flows: [Flow; 2],
    pmtu: [usize; 2],
    receive_buffer: [u64; 2],
    /// The ends met by more than one association: nothing can be said of TSNs any more.
    disturbed: bool,
    pub(crate) seen: Seen,
    /// Of every packet: time, addresses, bytes.
    pub(crate) hash: u64,
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Of the bytes and their number.
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
            receive_buffer: Side::BOTH.map(|side| u64::from(of(side).max_receive_buffer())),
            disturbed: false,
            seen: Seen::default(),
            hash: 0,
        }
    }

    /// A second association came into play.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// One SCTP packet leaves. `read`: user bytes that the sender's application has read.
    pub(crate) fn packet(&mut self, now: Time, from: Side, transmit: &Transmit, bytes: &[u8], read: u64) {
        self.hash = mix(self.hash, now.as_nanos());
        self.hash = hash_bytes(self.hash, transmit.at.to_string().as_bytes());
        self.hash = hash_bytes(self.hash, bytes);
        self.seen.packets += 1;
        self.check_size(from, transmit, bytes.len());
        let packet = Packet::parse(bytes, Checksum::Verify).expect("a packet that can be read");
        packet.check_bundling().expect("bundled as RFC 9260 allows");
        let tag = packet.header.verification_tag.get();
        let mut control_ended = false;
        for chunk in packet.chunks() {
            match chunk.expect("a chunk that can be read") {
                Chunk::Data(data) => {
                    control_ended = true;
                    if self.same_association(from, tag) {
                        self.data(from, &data);
                    }
                }
                other => {
                    // RFC 9260 §6.10: control chunks first
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
        // An answer without an association knows no PMTU. Chunks cut for IPv4 may go out again over IPv6.
        let pmtu = if transmit.path.is_some() { self.pmtu[from.index()] } else { 1500 };
        assert!(len + header <= pmtu + 20, "{len} bytes for a PMTU of {pmtu}");
    }

    fn control(&mut self, from: Side, tag: u32, chunk: &Chunk<'_>, read: u64) {
        match chunk {
            Chunk::Sack(sack) if self.same_association(from, tag) => self.sack(from, sack, read),
            Chunk::Shutdown(shutdown) if self.same_association(from, tag) => {
                self.cum_ack(from, shutdown.cum_tsn_ack);
            }
            Chunk::Init(_) => assert_eq!(tag, 0, "INIT with a tag"),
            Chunk::Asconf(_) => self.seen.address_changes += 1,
            Chunk::QosMeasurement(_) => self.seen.reports += 1,
            _ => {}
        }
    }

    fn same_association(&mut self, from: Side, tag: u32) -> bool {
        let known = *self.flows[from.index()].tag.get_or_insert(tag);
        self.disturbed |= known != tag;
        !self.disturbed
    }

    fn data(&mut self, from: Side, data: &Data<'_>) {
        self.seen.data_chunks += 1;
        let flow = &mut self.flows[from.index()];
        let first = *flow.first.get_or_insert(data.tsn);
        let place = data.tsn.distance_from(first) as usize;
        let mut flags = data.flags;
        // RFC 9260 §3.3.1: the I bit may differ when sent again
        flags.immediate = false;
        let print = Print {
            stream: data.stream.get(),
            ssn: data.ssn.get(),
            ppid: data.ppid.get(),
            flags: flags.bits(),
            len: data.payload.len(),
            hash: hash_bytes(0, data.payload),
        };
        match flow.chunks.get(place) {
            Some(known) => {
                self.seen.sent_again += 1;
                assert_eq!(*known, print, "TSN {} sent again with another content", data.tsn.get());
            }
            None => {
                assert_eq!(place, flow.chunks.len(), "TSN {} skips some", data.tsn.get());
                self.seen.tsn_wraps += u64::from(place > 0 && data.tsn.get() == 0);
                flow.chunks.push(print);
                flow.acked.push(false);
            }
        }
    }

    /// `from` acknowledges the other end's data up to here; gives the number of chunks.
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
            // RFC 9260 §3.3.4: TSN cum + start to cum + end; cum is the place before flow.cum
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
        // What fills a hole, or completes the message that the buffer is full of, is taken up to twice the buffer.
        let held = flow.acked_bytes.saturating_sub(read);
        assert!(held <= 2 * size + pmtu, "{held} bytes held with a receive buffer of {size}");
    }
}

impl Flow {
    fn acknowledge(&mut self, place: usize) {
        if !core::mem::replace(&mut self.acked[place], true) {
            self.acked_bytes += self.chunks[place].len as u64;
        }
    }
}
