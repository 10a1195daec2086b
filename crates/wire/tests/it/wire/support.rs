//! Parses all items of some bytes and encodes them again; shared by integration tests and fuzz targets.

use msctp_wire::{
    Cause, Causes, Checksum, Chunk, Chunks, EncodeChunk, Packet, PacketBuilder, Param, Params, Tlv,
    VerificationTag,
};

/// Parses every chunk, parameter, cause and list entry in `bytes`, which follow a common header. Returns the
/// number of errors.
///
/// # Panics
/// A list yields more items than one per 4 bytes, or more entries than it has bytes.
pub(crate) fn read_chunks(bytes: &[u8]) -> usize {
    read_items(Chunks::new(bytes), bytes.len(), read_chunk)
}

/// Parses each item, and its content with `read`, which returns the errors inside the item. Returns the
/// number of errors.
fn read_items<T, E: std::fmt::Display>(
    items: impl Iterator<Item = Result<T, E>>,
    bytes: usize,
    read: impl Fn(&T) -> usize,
) -> usize {
    let (mut count, mut errors) = (0, 0);
    for item in items {
        count += 1;
        errors += match item {
            Ok(item) => read(&item),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                1
            }
        };
    }
    assert!(count <= bytes.div_ceil(4), "{count} items from {bytes} bytes");
    errors
}

fn read_chunk(chunk: &Chunk<'_>) -> usize {
    match chunk {
        Chunk::Init(init) => read_params(init.params),
        Chunk::InitAck(init_ack) => {
            assert!(init_ack.state_cookie().is_none_or(|cookie| cookie.len() < chunk.encoded_len()));
            read_params(init_ack.params)
        }
        Chunk::Heartbeat(heartbeat) => {
            assert!(heartbeat.info().is_none_or(|info| info.len() < chunk.encoded_len()));
            read_params(heartbeat.params)
        }
        Chunk::HeartbeatAck(ack) => read_params(ack.params),
        Chunk::Asconf(asconf) => read_params(asconf.requests),
        Chunk::AsconfAck(ack) => read_params(ack.responses),
        Chunk::Abort(abort) => read_causes(abort.causes),
        Chunk::Error(error) => read_causes(error.causes),
        Chunk::Sack(sack) => {
            assert_eq!(sack.gap_blocks.iter().count(), sack.gap_blocks.len());
            assert_eq!(sack.duplicates.iter().next(), sack.duplicates.at(0));
            assert!((sack.gap_blocks.len() + sack.duplicates.len()) * 4 <= chunk.encoded_len());
            0
        }
        Chunk::ForwardTsn(forward) => {
            assert_eq!(forward.skipped.iter().next_back(), forward.skipped.last());
            0
        }
        _ => 0,
    }
}

fn read_params(params: Params<'_>) -> usize {
    read_items(params.iter(), params.encoded_len(), |param| match param {
        Param::ErrorCauseIndication(indication) => read_causes(indication.causes),
        Param::UnrecognizedParameter(bytes) => read_quoted(bytes),
        Param::SupportedAddressTypes(types) => types.len() - types.iter().count(),
        Param::SupportedExtensions(types) | Param::ChunkList(types) => types.len() - types.iter().count(),
        Param::HmacAlgo(ids) => ids.len() - ids.iter().count(),
        _ => 0,
    })
}

fn read_causes(causes: Causes<'_>) -> usize {
    read_items(causes.iter(), causes.encoded_len(), |cause| match cause {
        Cause::UnrecognizedParameters(bytes)
        | Cause::RestartWithNewAddresses(bytes)
        | Cause::UnresolvableAddress(bytes)
        | Cause::DeleteLastAddress(bytes) => read_quoted(bytes),
        Cause::UnrecognizedChunkType(bytes) => {
            Chunk::parse(bytes).map_or(1, |chunk| usize::from(chunk.encoded_len() > bytes.len()))
        }
        _ => 0,
    })
}

/// Parses parameters quoted in a parameter or a cause, but not those that they quote in turn.
fn read_quoted(bytes: &[u8]) -> usize {
    read_items(Params::from_wire(bytes).iter(), bytes.len(), |param| {
        usize::from(param.encoded_len() > bytes.len())
    })
}

/// Parses `bytes` as a packet, with the checksum and without, and as chunks without a header.
pub(crate) fn read_packet(bytes: &[u8]) {
    if let Ok(packet) = Packet::parse(bytes, Checksum::Skip) {
        read_chunks(&packet.bytes()[12..]);
        let bundled = packet.check_bundling();
        assert!(bundled.is_ok() || packet.chunks().count() > 1);
        assert_eq!(
            packet.first_chunk_type().is_some(),
            packet.chunks().next_raw().is_some_and(|raw| raw.is_ok())
        );
    }
    let verified = Packet::parse(bytes, Checksum::Verify);
    assert!(verified.is_err() || Packet::parse(bytes, Checksum::Skip).is_ok());
    read_chunks(bytes);
}

/// Parses the chunks of `bytes`, builds a packet of the valid ones, parses it and compares.
///
/// # Panics
/// A chunk that is built and parsed again differs.
pub(crate) fn round_trip(bytes: &[u8]) {
    let chunks: Vec<Chunk<'_>> = Chunks::new(bytes).filter_map(Result::ok).collect();
    send_and_receive(&chunks);
    for chunk in &chunks {
        let (Chunk::Init(_) | Chunk::InitAck(_) | Chunk::Heartbeat(_)) = chunk else {
            continue;
        };
        rebuild_params(chunk);
    }
}

/// Builds packets of `chunks`, as many as needed, parses them and compares.
pub(crate) fn send_and_receive(chunks: &[Chunk<'_>]) {
    let mut out = Vec::new();
    let mut sent = 0;
    while sent < chunks.len() {
        out.clear();
        let mut packet =
            PacketBuilder::new(&mut out, 5000, 5001, VerificationTag::new(0x1234_5678), usize::MAX);
        let begin = sent;
        while sent < chunks.len() && packet.push(&chunks[sent]).is_ok() {
            sent += 1;
        }
        if begin == sent {
            // Too large for a packet with a common header of its own.
            assert!(chunks[sent].padded_len() > 65_535 - 12);
            sent += 1;
            continue;
        }
        let len = packet.finish();
        assert_eq!(len, out.len());
        assert_eq!(len % 4, 0);
        let packet = Packet::parse(&out, Checksum::Verify).expect("a packet just built");
        assert!(
            packet.chunks().eq(chunks[begin..sent].iter().copied().map(Ok)),
            "{:?}",
            &chunks[begin..sent]
        );
    }
}

/// Splits parameters into values and rebuilds them. Every parameter that could be parsed must be unchanged.
fn rebuild_params(chunk: &Chunk<'_>) {
    let params = match chunk {
        Chunk::Init(init) => init.params,
        Chunk::InitAck(init_ack) => init_ack.params,
        Chunk::Heartbeat(heartbeat) => heartbeat.params,
        _ => return,
    };
    let values: Vec<Param<'_>> = params.iter().filter_map(Result::ok).collect();
    let rebuilt = Chunk::Heartbeat(msctp_wire::Heartbeat { params: Params::from(&values[..]) });
    send_and_receive(&[rebuilt]);
}
