//! Encoding and parsing are inverse, for arbitrary chunks and packets of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use msctp_wire::cause::{EncapsulationPorts, MissingParams, UnknownCause};
use msctp_wire::param::{
    AddStreams, AddressRequest, DtlsKeyManagement, DtlsRoles, ErrorCauseIndication, IncomingReset,
    OutgoingReset, Padding, ReconfigResponse, UnknownParam,
};
use msctp_wire::{
    Abort, Asconf, AsconfAck, AsconfSerial, Auth, Cause, CauseCode, Causes, Chunk, ChunkType, CookieAck,
    CookieEcho, CorrelationId, Cwr, Data, DataFlags, Dtls, Ecne, EncodeChunk, Error, ForwardTsn, Fragment,
    GapBlock, Heartbeat, HeartbeatAck, HmacId, IData, IForwardTsn, Init, InitAck, KeyManagementId, List, Mid,
    Pad, Param, ParamType, Params, Ppid, ReConfig, ReconfigSerial, Sack, Shutdown, ShutdownAck,
    ShutdownComplete, SkippedMessages, SkippedStream, Ssn, StreamBlocked, StreamCredit, StreamId,
    StreamLimit, Tlv, Tsn, UnknownChunk, VerificationTag,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::wire::support;

/// Leaks a value, so that chunks can borrow it as long as the test process lives.
fn keep<T>(values: Vec<T>) -> &'static [T] {
    values.leak()
}

fn bytes() -> impl Strategy<Value = &'static [u8]> {
    vec(any::<u8>(), 0..70).prop_map(keep)
}

fn tsn() -> impl Strategy<Value = Tsn> {
    any::<u32>().prop_map(Tsn::new)
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
        Just(Ipv4Addr::UNSPECIFIED.into()),
        Just(Ipv6Addr::UNSPECIFIED.into()),
    ]
}

/// Generates a type-length-value item with the type and a value.
fn item(typ: u16, value: &[u8]) -> &'static [u8] {
    let mut item = typ.to_be_bytes().to_vec();
    item.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
    item.extend_from_slice(value);
    keep(item)
}

fn chunk_types() -> impl Strategy<Value = List<'static, ChunkType>> {
    vec(any::<u8>().prop_map(ChunkType), 0..9).prop_map(|types| List::from(keep(types)))
}

fn request() -> impl Strategy<Value = AddressRequest> {
    (any::<u32>(), address())
        .prop_map(|(id, address)| AddressRequest { correlation_id: CorrelationId::new(id), address })
}

fn cause() -> impl Strategy<Value = Cause<'static>> {
    prop_oneof![
        any::<u16>().prop_map(|id| Cause::InvalidStreamIdentifier(StreamId::new(id))),
        vec(any::<u16>().prop_map(ParamType), 0..5).prop_map(|types| Cause::MissingMandatoryParameter(
            MissingParams { types: List::from(keep(types)) }
        )),
        any::<u32>().prop_map(Cause::StaleCookie),
        bytes().prop_map(Cause::UnresolvableAddress),
        bytes().prop_map(Cause::UnrecognizedChunkType),
        bytes().prop_map(Cause::UnrecognizedParameters),
        tsn().prop_map(Cause::NoUserData),
        bytes().prop_map(Cause::RestartWithNewAddresses),
        any::<(u16, u16)>()
            .prop_map(|(current, new)| Cause::RestartWithNewPort(EncapsulationPorts { current, new })),
        bytes().prop_map(Cause::UserInitiatedAbort),
        bytes().prop_map(Cause::ProtocolViolation),
        bytes().prop_map(Cause::DeleteLastAddress),
        bytes().prop_map(Cause::ResourceShortage),
        bytes().prop_map(Cause::DeleteSourceAddress),
        bytes().prop_map(Cause::NoAuthorization),
        any::<u16>().prop_map(|id| Cause::UnsupportedHmac(HmacId::new(id))),
        Just(Cause::OutOfResource),
        Just(Cause::InvalidMandatoryParameter),
        Just(Cause::CookieReceivedWhileShuttingDown),
        Just(Cause::IllegalAsconfAck),
        Just(Cause::MissingDtlsSupport),
        Just(Cause::NoCommonKeyManagement),
        Just(Cause::TieBreakerCollision),
        Just(Cause::IncompatibleKeyManagementRoles),
        (any::<u16>(), bytes())
            .prop_filter("a code that is not known", |(code, _)| CauseCode(*code).name().is_none())
            .prop_map(|(code, value)| Cause::Unknown(UnknownCause::new(item(code, value)).unwrap())),
    ]
}

fn causes() -> impl Strategy<Value = Causes<'static>> {
    vec(cause(), 0..4).prop_map(|causes| Causes::from(keep(causes)))
}

fn param() -> impl Strategy<Value = Param<'static>> {
    prop_oneof![
        bytes().prop_map(Param::HeartbeatInfo),
        address().prop_map(Param::from),
        bytes().prop_map(Param::StateCookie),
        bytes().prop_map(Param::UnrecognizedParameter),
        any::<u32>().prop_map(Param::CookiePreservative),
        bytes().prop_map(Param::HostName),
        vec(any::<u16>().prop_map(ParamType), 0..5)
            .prop_map(|types| Param::SupportedAddressTypes(List::from(keep(types)))),
        bytes().prop_map(Param::Random),
        chunk_types().prop_map(Param::ChunkList),
        vec(any::<u16>().prop_map(HmacId::new), 0..5).prop_map(|ids| Param::HmacAlgo(List::from(keep(ids)))),
        (0u16..200).prop_map(|len| Param::Padding(Padding { len })),
        chunk_types().prop_map(Param::SupportedExtensions),
        request().prop_map(Param::AddIpAddress),
        request().prop_map(Param::DeleteIpAddress),
        (any::<u32>(), causes()).prop_map(|(id, causes)| {
            Param::ErrorCauseIndication(ErrorCauseIndication {
                correlation_id: CorrelationId::new(id),
                causes,
            })
        }),
        request().prop_map(Param::SetPrimaryAddress),
        any::<u32>().prop_map(|id| Param::SuccessIndication(CorrelationId::new(id))),
        any::<u32>().prop_map(Param::AdaptationLayerIndication),
        reconfig_param(),
        key_management().prop_map(Param::DtlsKeyManagement),
        Just(Param::EcnCapable),
        Just(Param::ForwardTsnSupported),
        (any::<u16>(), bytes())
            .prop_filter("a type that is not known", |(typ, _)| ParamType(*typ).name().is_none())
            .prop_map(|(typ, value)| Param::Unknown(UnknownParam::new(item(typ, value)).unwrap())),
    ]
}

fn key_management() -> impl Strategy<Value = DtlsKeyManagement<'static>> {
    let methods = vec(any::<u8>().prop_map(KeyManagementId::new), 1..6);
    (any::<u32>(), any::<[bool; 3]>(), methods).prop_map(
        |(tie_breaker, [restart, client, server], methods)| DtlsKeyManagement {
            tie_breaker,
            restart,
            roles: DtlsRoles { client, server },
            methods: List::from(keep(methods)),
        },
    )
}

fn reconfig_param() -> impl Strategy<Value = Param<'static>> {
    let streams = || vec(any::<u16>().prop_map(StreamId::new), 0..6).prop_map(|s| List::from(keep(s)));
    let add = || {
        any::<(u32, u16)>()
            .prop_map(|(serial, streams)| AddStreams { serial: ReconfigSerial::new(serial), streams })
    };
    prop_oneof![
        (any::<[u32; 3]>(), streams()).prop_map(|([serial, response_to, last_tsn], streams)| {
            Param::OutgoingReset(OutgoingReset {
                serial: ReconfigSerial::new(serial),
                response_to: ReconfigSerial::new(response_to),
                last_tsn: Tsn::new(last_tsn),
                streams,
            })
        }),
        (any::<u32>(), streams()).prop_map(|(serial, streams)| {
            Param::IncomingReset(IncomingReset { serial: ReconfigSerial::new(serial), streams })
        }),
        any::<u32>().prop_map(|serial| Param::TsnReset(ReconfigSerial::new(serial))),
        any::<(u32, u32, Option<(u32, u32)>)>().prop_map(|(serial, result, tsns)| {
            Param::ReconfigResponse(ReconfigResponse {
                serial: ReconfigSerial::new(serial),
                result,
                next_tsns: tsns.map(|(sender, receiver)| (Tsn::new(sender), Tsn::new(receiver))),
            })
        }),
        add().prop_map(Param::AddOutgoingStreams),
        add().prop_map(Param::AddIncomingStreams),
    ]
}

fn params() -> impl Strategy<Value = Params<'static>> {
    vec(param(), 0..5).prop_map(|params| Params::from(keep(params)))
}

fn data() -> impl Strategy<Value = Data<'static>> {
    let flags = (0u8..16).prop_map(DataFlags::from_bits);
    (tsn(), any::<u16>(), any::<u16>(), any::<u32>(), flags, vec(any::<u8>(), 1..1500)).prop_map(
        |(tsn, stream, ssn, ppid, flags, payload)| Data {
            tsn,
            stream: StreamId::new(stream),
            ssn: Ssn::new(ssn),
            ppid: Ppid::new(ppid),
            flags,
            payload: keep(payload),
        },
    )
}

fn init() -> impl Strategy<Value = Init<'static>> {
    (any::<[u32; 3]>(), any::<[u16; 2]>(), params()).prop_map(
        |([tag, a_rwnd, initial_tsn], streams, params)| Init {
            initiate_tag: VerificationTag::new(tag),
            a_rwnd,
            outbound_streams: streams[0],
            inbound_streams: streams[1],
            initial_tsn: Tsn::new(initial_tsn),
            params,
        },
    )
}

fn sack() -> impl Strategy<Value = Sack<'static>> {
    let blocks = vec(any::<(u16, u16)>().prop_map(|(start, end)| GapBlock { start, end }), 0..40);
    (tsn(), any::<u32>(), blocks, vec(tsn(), 0..20)).prop_map(|(cum_tsn_ack, a_rwnd, blocks, duplicates)| {
        Sack {
            cum_tsn_ack,
            a_rwnd,
            gap_blocks: List::from(keep(blocks)),
            duplicates: List::from(keep(duplicates)),
        }
    })
}

fn forward_tsn() -> impl Strategy<Value = ForwardTsn<'static>> {
    let skipped = any::<(u16, u16)>()
        .prop_map(|(stream, ssn)| SkippedStream { stream: StreamId::new(stream), ssn: Ssn::new(ssn) });
    (tsn(), vec(skipped, 0..9))
        .prop_map(|(new_cum_tsn, skipped)| ForwardTsn { new_cum_tsn, skipped: List::from(keep(skipped)) })
}

fn i_data() -> impl Strategy<Value = IData<'static>> {
    (tsn(), any::<(u16, u32, u32)>(), any::<[bool; 4]>(), vec(any::<u8>(), 1..1500)).prop_map(
        |(tsn, (stream, mid, last), [begin, unordered, end, immediate], payload)| IData {
            tsn,
            stream: StreamId::new(stream),
            mid: Mid::new(mid),
            fragment: if begin { Fragment::First(Ppid::new(last)) } else { Fragment::Later(last) },
            unordered,
            end,
            immediate,
            payload: keep(payload),
        },
    )
}

fn i_forward_tsn() -> impl Strategy<Value = IForwardTsn<'static>> {
    let skipped = any::<(u16, bool, u32)>().prop_map(|(stream, unordered, mid)| SkippedMessages {
        stream: StreamId::new(stream),
        unordered,
        mid: Mid::new(mid),
    });
    (tsn(), vec(skipped, 0..9))
        .prop_map(|(new_cum_tsn, skipped)| IForwardTsn { new_cum_tsn, skipped: List::from(keep(skipped)) })
}

fn chunk() -> impl Strategy<Value = Chunk<'static>> {
    prop_oneof![
        data().prop_map(Chunk::Data),
        init().prop_map(Chunk::Init),
        init().prop_map(|init| {
            let Init { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, params } = init;
            Chunk::InitAck(InitAck {
                initiate_tag,
                a_rwnd,
                outbound_streams,
                inbound_streams,
                initial_tsn,
                params,
            })
        }),
        sack().prop_map(Chunk::Sack),
        params().prop_map(|params| Chunk::Heartbeat(Heartbeat { params })),
        params().prop_map(|params| Chunk::HeartbeatAck(HeartbeatAck { params })),
        (any::<bool>(), causes())
            .prop_map(|(tag_reflected, causes)| Chunk::Abort(Abort { tag_reflected, causes })),
        tsn().prop_map(|cum_tsn_ack| Chunk::Shutdown(Shutdown { cum_tsn_ack })),
        Just(Chunk::ShutdownAck(ShutdownAck)),
        causes().prop_map(|causes| Chunk::Error(Error { causes })),
        bytes().prop_map(|cookie| Chunk::CookieEcho(CookieEcho { cookie })),
        Just(Chunk::CookieAck(CookieAck)),
        tsn().prop_map(|lowest_tsn| Chunk::Ecne(Ecne { lowest_tsn })),
        tsn().prop_map(|lowest_tsn| Chunk::Cwr(Cwr { lowest_tsn })),
        any::<bool>().prop_map(|tag_reflected| Chunk::ShutdownComplete(ShutdownComplete { tag_reflected })),
        (any::<u16>(), any::<u16>(), bytes()).prop_map(|(shared_key_id, hmac_id, hmac)| {
            Chunk::Auth(Auth { shared_key_id, hmac_id: HmacId::new(hmac_id), hmac })
        }),
        (0u16..1500).prop_map(|padding_len| Chunk::Pad(Pad { padding_len })),
        forward_tsn().prop_map(Chunk::ForwardTsn),
        i_data().prop_map(Chunk::IData),
        i_forward_tsn().prop_map(Chunk::IForwardTsn),
        vec(prop_oneof![3 => reconfig_param(), 1 => param()], 0..4)
            .prop_map(|params| Chunk::ReConfig(ReConfig { params: Params::from(keep(params)) })),
        (any::<u32>(), vec((any::<u16>(), any::<u32>()), 0..4)).prop_map(|(firsts, limits)| {
            let limits = limits.into_iter().map(|(stream, limit)| StreamLimit { stream, limit }).collect();
            Chunk::StreamCredit(StreamCredit { firsts, limits: List::from(keep(limits)) })
        }),
        vec(any::<u16>().prop_map(StreamId::new), 0..4)
            .prop_map(|streams| Chunk::StreamBlocked(StreamBlocked { streams: List::from(keep(streams)) })),
        (any::<bool>(), bytes()).prop_map(|(restart, record)| Chunk::Dtls(Dtls { restart, record })),
        (any::<u32>(), address(), params()).prop_map(|(serial, address, requests)| {
            Chunk::Asconf(Asconf { serial: AsconfSerial::new(serial), address, requests })
        }),
        (any::<u32>(), params()).prop_map(|(serial, responses)| {
            Chunk::AsconfAck(AsconfAck { serial: AsconfSerial::new(serial), responses })
        }),
        (any::<u16>(), bytes())
            .prop_filter("a type that is not known", |(typ, _)| ChunkType(typ.to_be_bytes()[0])
                .name()
                .is_none())
            .prop_map(|(typ, value)| Chunk::Unknown(UnknownChunk::new(item(typ, value)).unwrap())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_chunk(chunk in chunk()) {
        let mut out = Vec::new();
        chunk.encode(&mut out);
        prop_assert_eq!(out.len(), chunk.encoded_len());
        prop_assert_eq!(usize::from(u16::from_be_bytes([out[2], out[3]])), out.len());
        let parsed = Chunk::parse(&out);
        prop_assert_eq!(parsed, Ok(chunk));
        // The view encodes to the same bytes as the values it was made from.
        let mut again = Vec::new();
        parsed.unwrap().encode(&mut again);
        prop_assert_eq!(again, out);
    }

    #[test]
    fn a_parameter(param in param()) {
        let mut out = Vec::new();
        param.encode(&mut out);
        prop_assert_eq!(out.len(), param.encoded_len());
        prop_assert_eq!(Param::parse(&out), Ok(param));
    }

    #[test]
    fn a_cause(cause in cause()) {
        let mut out = Vec::new();
        cause.encode(&mut out);
        prop_assert_eq!(out.len(), cause.encoded_len());
        prop_assert_eq!(Cause::parse(&out), Ok(cause));
    }

    #[test]
    fn packets(chunks in vec(chunk(), 0..8)) {
        support::send_and_receive(&chunks);
    }

    #[test]
    fn every_truncation_of_a_chunk_is_a_framing_error(chunk in chunk()) {
        let mut out = Vec::new();
        chunk.encode(&mut out);
        for len in 0..out.len() {
            let error = Chunk::parse(&out[..len]).unwrap_err();
            prop_assert!(matches!(error, msctp_wire::ChunkError::Framing(_)), "{}: {}", len, error);
        }
    }

    #[test]
    fn any_length_field_gives_a_value_or_an_error(chunk in chunk(), lengths in vec(any::<u16>(), 32)) {
        let mut out = Vec::new();
        chunk.encode(&mut out);
        let true_length = out.len() as u16;
        let near = true_length.saturating_sub(8)..true_length.saturating_add(8);
        for length in lengths.into_iter().chain(near).chain(0..24) {
            out[2..4].copy_from_slice(&length.to_be_bytes());
            support::read_chunks(&out);
            support::round_trip(&out);
        }
    }

    #[test]
    fn one_flipped_byte_anywhere(chunk in chunk(), at in any::<prop::sample::Index>(), with in 1u8..) {
        let mut out = Vec::new();
        chunk.encode(&mut out);
        let at = at.index(out.len());
        out[at] ^= with;
        support::read_chunks(&out);
        support::round_trip(&out);
    }
}
