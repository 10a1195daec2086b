//! The status of a process, as its socket gives it in JSON. docs/commands.md describes the fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the schema. It changes when a field is removed or changes its meaning, not when one is added.
pub(crate) const VERSION: u32 = 1;

/// The status of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) version: u32,
    pub(crate) msctp_version: String,
    pub(crate) pid: u32,
    /// Name of the command, such as `serve`.
    pub(crate) command: String,
    pub(crate) uptime_seconds: f64,
    /// "tls", "code", "psk", "signed" or "none".
    pub(crate) security: String,
    /// Addresses of the open sockets.
    pub(crate) local: Vec<String>,
    /// Associations established since the start.
    pub(crate) association_count: u64,
    pub(crate) associations: Vec<AssociationStatus>,
    /// Rejections since the start, by reason.
    pub(crate) refused: BTreeMap<String, u64>,
}

/// An association in the status.
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
    /// Connections of other programs that the association carries; `null` if it cannot carry any.
    pub(crate) connections: Option<usize>,
    /// User bytes that the peer acknowledged.
    pub(crate) acked_bytes: u64,
    /// User bytes received and read.
    pub(crate) delivered_bytes: u64,
    /// User bytes in the send buffer.
    pub(crate) buffered_bytes: u64,
    pub(crate) move_count: u64,
    /// The latest moves, the oldest first.
    pub(crate) moves: Vec<MoveStatus>,
    /// The primary path first.
    pub(crate) paths: Vec<PathStatus>,
}

/// A change of the primary path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoveStatus {
    /// Seconds since the move.
    pub(crate) ago_seconds: f64,
    /// The new primary path's addresses.
    pub(crate) local: String,
    pub(crate) remote: String,
    /// "local", "peer", "failover", "switchover", "removed", "policy", "link" or "link-down".
    pub(crate) cause: String,
    /// Why, in words.
    #[serde(default)]
    pub(crate) reason: String,
    /// The longest time in seconds without a packet from the peer around the move.
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
    /// To be used only while no other path works well.
    #[serde(default)]
    pub(crate) backup: bool,
    /// An end pays by the byte.
    #[serde(default)]
    pub(crate) metered: bool,
    /// Smoothed round-trip time in ms; `null` before the first measurement.
    pub(crate) srtt_ms: Option<f64>,
    pub(crate) min_rtt_ms: Option<f64>,
    pub(crate) rto_ms: f64,
    pub(crate) cwnd_bytes: u64,
    pub(crate) flight_bytes: u64,
    pub(crate) pmtu_bytes: u32,
    /// Pacing rate in bit/s; `null` if the controller does not pace.
    pub(crate) pacing_bps: Option<u64>,
    /// Rate of SCTP packets sent over at least the last half second, in bit/s; `null` if not known yet.
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

impl PathStatus {
    /// Returns what the path costs, in words.
    pub(crate) const fn cost(&self) -> Option<&'static str> {
        match (self.backup, self.metered) {
            (true, true) => Some("backup, metered"),
            (true, false) => Some("backup"),
            (false, true) => Some("metered"),
            (false, false) => None,
        }
    }
}
