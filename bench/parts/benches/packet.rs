//! Nanoseconds to build, and to parse and verify, the packets of a bulk transfer.
//!
//!     cargo bench --manifest-path bench/parts/Cargo.toml --bench packet

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use msctp_wire::{
    Checksum, Chunk, Data, DataFlags, EncodeChunk, GapBlock, List, Packet, PacketBuilder, Ppid, Sack, Ssn,
    StreamId, Tsn, VerificationTag, checksum,
};

/// User data of a packet for an MTU of 1500 bytes, in bytes: the MTU less IPv4 header 20, common header 12
/// and DATA header 16.
const PAYLOAD: [u8; 1452] = [0x5a; 1452];
const MAX_LEN: usize = 1480;

fn data() -> Data<'static> {
    Data {
        tsn: Tsn::new(1),
        stream: StreamId::new(0),
        ssn: Ssn::new(0),
        ppid: Ppid::new(0),
        flags: DataFlags::UNFRAGMENTED,
        payload: &PAYLOAD,
    }
}

fn build<C: EncodeChunk>(out: &mut Vec<u8>, chunk: &C) {
    out.clear();
    let mut packet = PacketBuilder::new(out, 5000, 5001, VerificationTag::new(0x1234_5678), MAX_LEN);
    packet.push(chunk).expect("one chunk fits");
    packet.finish();
}

/// Parses a packet, and reads every field that an association reads.
fn parse(bytes: &mut [u8], checksum: Checksum) -> u64 {
    let packet = Packet::parse_mut(bytes, checksum).expect("a good packet");
    let mut sum = u64::from(packet.header.verification_tag.get());
    for chunk in packet.chunks() {
        match chunk {
            Ok(Chunk::Data(data)) => sum += u64::from(data.tsn.get()) + data.payload.len() as u64,
            Ok(Chunk::Sack(sack)) => {
                sum += u64::from(sack.cum_tsn_ack.get());
                sum += sack.gap_blocks.iter().map(|block| u64::from(block.end - block.start)).sum::<u64>();
            }
            other => panic!("{other:?}"),
        }
    }
    sum
}

fn packets(c: &mut Criterion) {
    let blocks: Vec<GapBlock> = (1..=20).map(|i| GapBlock { start: 4 * i, end: 4 * i + 2 }).collect();
    let sack =
        |gap_blocks| Sack { cum_tsn_ack: Tsn::new(9), a_rwnd: 1 << 20, gap_blocks, duplicates: List::EMPTY };
    let chunks = [
        ("data 1452", Chunk::Data(data())),
        ("sack", Chunk::Sack(sack(List::EMPTY))),
        ("sack 20 gaps", Chunk::Sack(sack(List::from(&blocks[..])))),
    ];
    for (name, chunk) in chunks {
        let mut group = c.benchmark_group(name);
        let mut out = Vec::new();
        build(&mut out, &chunk);
        let mut bytes = out.clone();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function("build", |b| b.iter(|| build(&mut out, black_box(&chunk))));
        for (name, checksum) in [("parse and verify", Checksum::Verify), ("parse", Checksum::Skip)] {
            group.bench_function(name, |b| b.iter(|| parse(black_box(&mut bytes), checksum)));
        }
    }
}

/// Builds a packet as an association sends data, without the enum around the chunk.
fn build_data(c: &mut Criterion) {
    let mut out = Vec::new();
    c.bench_function("data 1452/build from Data", |b| b.iter(|| build(&mut out, black_box(&data()))));
}

fn crc(c: &mut Criterion) {
    let mut group = c.benchmark_group("crc32c 1452");
    group.throughput(Throughput::Bytes(PAYLOAD.len() as u64));
    group.bench_function("crc-fast (used)", |b| b.iter(|| checksum::crc32c(black_box(&PAYLOAD))));
    group.bench_function("crc32c", |b| b.iter(|| crc32c::crc32c(black_box(&PAYLOAD))));
    group.finish();
}

criterion_group!(benches, packets, build_data, crc);
criterion_main!(benches);
