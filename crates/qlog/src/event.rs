//! One event as qlog has it: QUIC's names where viewers draw them, else ours. State: only what one end of an
//! association needs to name paths and number chunks.

use std::collections::BTreeMap;
use std::net::IpAddr;

use msctp_proto::{Direction, PathAddr, PathId, TraceEvent, TraceKind};
use msctp_units::{Span, Time};
use msctp_wire::ChunkType;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::fields::{self, Value};
use crate::numbers::{Acknowledged, Numbers};

/// The namespace of events that QUIC does not have.
const OWN: &str = "msctp";

/// The type of every packet: viewers match acknowledgements to packets of the same type.
const PACKET_TYPE: &str = "1RTT";

/// Bytes of a SACK chunk, and of each gap block and duplicate TSN in it (RFC 9260 §3.3.4).
const SACK: u64 = 16;
const SACK_ENTRY: u64 = 4;

/// A record of the file.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a> {
    /// Time in milliseconds.
    time: f64,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuple: Option<String>,
    group_id: &'a str,
    data: Map<String, Json>,
}

/// One end of an association.
#[derive(Debug, Default)]
pub(crate) struct End {
    paths: BTreeMap<PathId, PathAddr>,
    sent: Numbers,
    received: Numbers,
    acknowledged: Acknowledged,
}

impl End {
    /// Converts an event of this end.
    pub(crate) fn record<'a>(&mut self, group_id: &'a str, event: &TraceEvent) -> Record<'a> {
        if let TraceKind::PathAdded { path, at } = event.kind {
            self.paths.insert(path, at);
        }
        let (name, data) = match self.mirrored(&event.kind) {
            Some((name, data)) => (name.to_owned(), data),
            None => self.own(&event.kind),
        };
        let tuple = self.tuple(&event.kind);
        Record { time: milliseconds(event.at.since(Time::ZERO)), name, tuple, group_id, data }
    }

    /// Returns the path of an event, if it concerns one.
    fn tuple(&self, kind: &TraceKind) -> Option<String> {
        let mut tuple = None;
        fields::fields(kind, |name, value| {
            if let ("path", Value::Path(path)) = (name, value) {
                tuple = Some(self.path(path));
            }
        });
        tuple
    }

    /// Names a path by its addresses.
    fn path(&self, path: PathId) -> String {
        self.paths.get(&path).map_or_else(|| path.to_string(), PathAddr::to_string)
    }

    /// Converts an event that QUIC has as well.
    fn mirrored(&mut self, kind: &TraceKind) -> Option<(&'static str, Map<String, Json>)> {
        let (name, data) = match *kind {
            TraceKind::State { from, to } => (
                "connectivity:connection_state_updated",
                json!({ "old": from.to_string(), "new": to.to_string() }),
            ),
            TraceKind::PathAdded { at, .. } => (
                "connectivity:tuple_assigned",
                json!({
                    "tuple_id": at.to_string(),
                    "tuple_local": endpoint(at.local),
                    "tuple_remote": endpoint(at.remote),
                }),
            ),
            TraceKind::Window { cwnd, ssthresh, flight_size, partial_bytes_acked, .. } => {
                let mut data = json!({
                    "congestion_window": cwnd,
                    "bytes_in_flight": flight_size,
                    "partial_bytes_acked": partial_bytes_acked,
                });
                if ssthresh != u64::MAX {
                    data["ssthresh"] = ssthresh.into();
                }
                ("recovery:metrics_updated", data)
            }
            TraceKind::Rtt { sample, srtt, rto, .. } => {
                let [sample, srtt, rto] = [sample, srtt, rto].map(milliseconds);
                (
                    "recovery:metrics_updated",
                    json!({ "latest_rtt": sample, "smoothed_rtt": srtt, "rto": rto }),
                )
            }
            TraceKind::T3Timeout { rto, .. } => (
                "recovery:loss_timer_updated",
                json!({ "event_type": "expired", "timer_type": "t3_rtx", "rto": milliseconds(rto) }),
            ),
            TraceKind::FastRetransmit { tsn, .. } => (
                "recovery:packet_lost",
                json!({ "header": self.header(Direction::Out, tsn), "trigger": "fast_retransmit" }),
            ),
            TraceKind::EcnReduction { tsn, .. } => (
                "recovery:congestion_state_updated",
                json!({ "new": "recovery", "trigger": "ecn", "packet_number": self.sent.of(tsn) }),
            ),
            TraceKind::Data { direction, tsn, len, again, .. } => (
                packet_event(direction),
                json!({
                    "header": self.header(direction, tsn),
                    "raw": { "length": len },
                    "frames": [{ "frame_type": "data", "length": len, "tsn": tsn, "again": again }],
                }),
            ),
            TraceKind::Sack { direction, cum_tsn_ack, a_rwnd, gap_blocks, duplicates, .. } => {
                let mut frame = json!({
                    "frame_type": "ack",
                    "cum_tsn_ack": cum_tsn_ack,
                    "a_rwnd": a_rwnd,
                    "gap_blocks": gap_blocks,
                    "duplicates": duplicates,
                });
                if let Some((first, last)) = self.newly_acknowledged(direction, cum_tsn_ack) {
                    frame["acked_ranges"] = json!([[first, last]]);
                }
                let length = SACK + SACK_ENTRY * (u64::from(gap_blocks) + u64::from(duplicates));
                (packet_event(direction), control(length, &frame))
            }
            TraceKind::Control { direction, chunk_type, len, .. } => {
                let chunk = ChunkType(chunk_type).to_string();
                let frame = json!({ "frame_type": chunk.to_lowercase() });
                (packet_event(direction), control(len.into(), &frame))
            }
            _ => return None,
        };
        match data {
            Json::Object(data) => Some((name, data)),
            _ => None,
        }
    }

    /// Returns the header of a packet with this DATA chunk.
    fn header(&mut self, direction: Direction, tsn: u32) -> Json {
        let number = match direction {
            Direction::Out => self.sent.of(tsn),
            Direction::In => self.received.of(tsn),
        };
        if let (Direction::Out, Some(number)) = (direction, number) {
            self.acknowledged.sent(number);
        }
        json!({ "packet_type": PACKET_TYPE, "packet_number": number })
    }

    /// Returns the first and last number that a SACK acknowledges for the first time.
    fn newly_acknowledged(&mut self, direction: Direction, cum_tsn_ack: u32) -> Option<(u64, u64)> {
        match direction {
            Direction::In => self.acknowledged.advance(self.sent.of(cum_tsn_ack)?),
            Direction::Out => None,
        }
    }

    /// Converts an event that only SCTP or msctp has, with the name and fields of the JSON lines.
    fn own(&self, kind: &TraceKind) -> (String, Map<String, Json>) {
        let mut data = Map::new();
        fields::fields(kind, |name, value| {
            let value = match value {
                Value::Number(number) => number.into(),
                Value::Flag(flag) => flag.into(),
                Value::Word(word) => word.into(),
                Value::Text(text) => text.into(),
                Value::Path(path) => self.path(path).into(),
                Value::Nothing => Json::Null,
            };
            data.insert(name.to_owned(), value);
        });
        (format!("{OWN}:{}", fields::name(kind).replace('-', "_")), data)
    }
}

fn packet_event(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "transport:packet_sent",
        Direction::In => "transport:packet_received",
    }
}

/// Returns the data of a packet with a chunk that has no TSN.
fn control(length: u64, frame: &Json) -> Json {
    json!({ "header": { "packet_type": PACKET_TYPE }, "raw": { "length": length }, "frames": [frame] })
}

fn endpoint(ip: IpAddr) -> Json {
    match ip {
        IpAddr::V4(ip) => json!({ "ip_v4": ip.to_string() }),
        IpAddr::V6(ip) => json!({ "ip_v6": ip.to_string() }),
    }
}

fn milliseconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}
