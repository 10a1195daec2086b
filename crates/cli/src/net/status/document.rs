//! The status of a process, as its socket gives it in JSON. docs/commands.md describes the fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the schema: it changes when a field changes its meaning or goes, not when one comes.
pub(crate) const VERSION: u32 = 1;

/// The status of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) version: u32,
    pub(crate) msctp_version: String,
    pub(crate) pid: u32,
    /// The command, such as `serve`.
    pub(crate) command: String,
    pub(crate) uptime_seconds: f64,
    /// "tls", "code", "psk", "signed" or "none".
    pub(crate) security: String,
    /// Addresses of the open sockets.
    pub(crate) local: Vec<String>,
    /// Associations that came up so far.
    pub(crate) association_count: u64,
    pub(crate) associations: Vec<AssociationStatus>,
    /// What was refused so far, by reason.
    pub(crate) refused: BTreeMap<String, u64>,
}

/// An association that is up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AssociationStatus {
    /// ENDPOINT.NUMBER, as in a qlog of the process.
    pub(crate) id: String,
    /// The state of RFC 9260 §4.
    pub(crate) state: String,
    /// The peer's addresses, the primary path's first.
    pub(crate) peer: Vec<String>,
    /// The fingerprint of the peer's key; `null` without TLS.
    pub(crate) peer_key: Option<String>,
    pub(crate) age_seconds: f64,
    /// Streams that both ends agreed on.
    pub(crate) streams_outbound: u16,
    pub(crate) streams_inbound: u16,
    /// Connections of other programs that it carries; `null` if it carries none by its kind.
    pub(crate) connections: Option<usize>,
    /// User bytes that the peer acknowledged.
    pub(crate) acked_bytes: u64,
    /// User bytes received and read.
    pub(crate) delivered_bytes: u64,
    /// User bytes in the send buffer.
    pub(crate) buffered_bytes: u64,
    pub(crate) move_count: u64,
    /// The last moves, the oldest first.
    pub(crate) moves: Vec<MoveStatus>,
    /// The primary path first.
    pub(crate) paths: Vec<PathStatus>,
}

/// A change of the primary path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoveStatus {
    /// Time since then.
    pub(crate) ago_seconds: f64,
    /// The new primary path's addresses.
    pub(crate) local: String,
    pub(crate) remote: String,
    /// "local", "peer", "failover", "switchover", "removed" or "policy".
    pub(crate) cause: String,
    /// The longest time without a packet from the peer around it.
    pub(crate) gap_seconds: f64,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathStatus {
    pub(crate) id: u32,
    pub(crate) local: String,
    pub(crate) remote: String,
    /// "unconfirmed", "active", "potentially failed" or "inactive".
    pub(crate) state: String,
    pub(crate) primary: bool,
    /// `null` before the first measurement, as the next one.
    pub(crate) srtt_ms: Option<f64>,
    pub(crate) min_rtt_ms: Option<f64>,
    pub(crate) rto_ms: f64,
    pub(crate) cwnd_bytes: u64,
    pub(crate) flight_bytes: u64,
    pub(crate) pmtu_bytes: u32,
    /// `null` if the controller does not pace.
    pub(crate) pacing_bps: Option<u64>,
    /// SCTP packets over the last half second or longer; `null` if that is not known yet.
    pub(crate) sent_bps: Option<f64>,
    pub(crate) received_bps: Option<f64>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent_packets: u64,
    pub(crate) received_packets: u64,
    pub(crate) lost_chunks: u64,
    pub(crate) retransmitted_chunks: u64,
    /// T3-rtx expirations.
    pub(crate) timeouts: u64,
}
