//! Builds nearly valid chunks from bytes: stream requests with the expected number or one beside it, AUTH
//! with a digest of the right length, congestion notifications near the TSNs in use. The attacker has the
//! verification tag.

use msctp_wire::{EncodeChunk, param};
use msctp_wire::{List, Param, Params, ReConfig, ReconfigSerial, StreamId, Tsn};

use super::bytes::Bytes;
use crate::support::{Pair, Side, chunk};

/// ECN Echo and Congestion Window Reduced (RFC 9260 §3.2.1: reserved types; appendix A of RFC 4960).
const ECNE: u8 = 12;
const CWR: u8 = 13;
const AUTH: u8 = 15;

/// Returns the first TSN of the end that sends to `to`, once its INIT or INIT ACK was sent.
fn initial_tsn(pair: &Pair, to: Side) -> u32 {
    let wanted = if to == Side::B { chunk::INIT } else { chunk::INIT_ACK };
    let log = pair.log.as_ref().expect("the log is on");
    let first = log.iter().find(|flight| flight.from != to && flight.bytes.get(12) == Some(&wanted));
    // RFC 9260 §3.3.2: common header, chunk header, tag, window, streams.
    first.map_or(0, |flight| u32::from_be_bytes(flight.bytes[28..32].try_into().expect("four bytes")))
}

/// Appends one or two chunks for `to`.
pub(crate) fn push(out: &mut Vec<u8>, pair: &Pair, to: Side, bytes: &mut Bytes<'_>) -> Option<()> {
    let choice = bytes.byte()?;
    let (initial, peer) = (initial_tsn(pair, to), initial_tsn(pair, to.other()));
    let near = |byte: u8| u32::from(byte & 0x0f).wrapping_sub(4);
    match choice & 7 {
        0..=4 => {
            let first = request(initial, peer, bytes)?;
            let second = if choice & 8 == 0 { None } else { request(initial.wrapping_add(1), peer, bytes) };
            let streams: Vec<StreamId> =
                bytes.upto(usize::from(choice >> 6)).iter().map(|&id| StreamId::new(id.into())).collect();
            let params: Vec<Param<'_>> =
                [Some(first), second].into_iter().flatten().map(|kind| kind.param(&streams)).collect();
            ReConfig { params: Params::from(&params[..]) }.encode(out);
        }
        5 => {
            let len = if choice & 8 == 0 { 20 } else { 32 };
            let digest = bytes.upto(len);
            out.extend_from_slice(&[
                AUTH,
                0,
                0,
                8 + len as u8,
                0,
                choice >> 6,
                0,
                if len == 20 { 1 } else { 3 },
            ]);
            out.extend_from_slice(digest);
            out.resize(out.len() + len - digest.len(), 0);
            if choice & 0x10 != 0 {
                let kind = request(initial, peer, bytes)?;
                ReConfig { params: Params::from(&[kind.param(&[])]) }.encode(out);
            }
        }
        typ => {
            let tsn = (if choice & 8 == 0 { initial } else { peer }).wrapping_add(near(bytes.byte()?));
            out.extend_from_slice(&[if typ == 6 { ECNE } else { CWR }, choice >> 4, 0, 8]);
            out.extend_from_slice(&tsn.to_be_bytes());
        }
    }
    out.resize(out.len().next_multiple_of(4), 0);
    Some(())
}

/// A parameter of RE-CONFIG (RFC 6525 §4); its streams follow.
enum Request {
    Outgoing { serial: ReconfigSerial, response_to: ReconfigSerial, last_tsn: Tsn },
    Incoming(ReconfigSerial),
    Tsn(ReconfigSerial),
    AddOutgoing(param::AddStreams),
    AddIncoming(param::AddStreams),
    Response(param::ReconfigResponse),
}

fn request(initial: u32, peer: u32, bytes: &mut Bytes<'_>) -> Option<Request> {
    let (kind, number, detail) = (bytes.byte()?, bytes.byte()?, bytes.byte()?);
    let serial = ReconfigSerial::new(initial.wrapping_add((number & 7).into()));
    let of_peer = ReconfigSerial::new(peer.wrapping_add((number >> 3 & 7).into()));
    let streams = if number & 0x40 == 0 { u16::from(detail) } else { u16::MAX - u16::from(detail) };
    Some(match kind % 6 {
        0 => {
            let last_tsn = Tsn::new(initial.wrapping_add((detail & 0x3f).into()).wrapping_sub(4));
            Request::Outgoing { serial, response_to: of_peer, last_tsn }
        }
        1 => Request::Incoming(serial),
        2 => Request::Tsn(serial),
        3 => Request::AddOutgoing(param::AddStreams { serial, streams }),
        4 => Request::AddIncoming(param::AddStreams { serial, streams }),
        _ => {
            let result = u32::from(detail & 7);
            Request::Response(param::ReconfigResponse { serial: of_peer, result, next_tsns: None })
        }
    })
}

impl Request {
    fn param<'a>(&self, streams: &'a [StreamId]) -> Param<'a> {
        let streams = List::from(streams);
        match *self {
            Self::Outgoing { serial, response_to, last_tsn } => {
                Param::OutgoingReset(param::OutgoingReset { serial, response_to, last_tsn, streams })
            }
            Self::Incoming(serial) => Param::IncomingReset(param::IncomingReset { serial, streams }),
            Self::Tsn(serial) => Param::TsnReset(serial),
            Self::AddOutgoing(add) => Param::AddOutgoingStreams(add),
            Self::AddIncoming(add) => Param::AddIncomingStreams(add),
            Self::Response(response) => Param::ReconfigResponse(response),
        }
    }
}
