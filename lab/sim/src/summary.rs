//! The summary of a run, serializable as JSON: `docs/summary.schema.json`, with units in the names of keys.

use msctp_lab_schemes::classifiers::Tally;
use msctp_units::Span;
use serde::Serialize;

/// The result of a run. Times in seconds of virtual time, rates in bit/s, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Version of the simulator.
    pub version: &'static str,
    /// Seed of every random stream.
    pub seed: u64,
    /// Virtual time of the run.
    #[serde(rename = "duration_s")]
    pub duration: f64,
    /// Wake-ups handled.
    pub events: u64,
    /// Packets that links delivered, summed over all link directions.
    pub packets: u64,
    /// SHA-256 over every delivered packet, if requested.
    pub trace_hash: Option<String>,
    /// SCTP associations.
    pub associations: Vec<AssociationSummary>,
    /// TCP connections.
    pub tcp: Vec<TcpSummary>,
    /// Constant-rate sources.
    pub cbr: Vec<CbrSummary>,
    /// Video sources.
    pub video: Vec<VideoSummary>,
    /// Link directions.
    pub links: Vec<LinkSummary>,
    /// Packets lost because the host did not have the address at that moment.
    pub no_address: u64,
    /// Packets lost because a router had no route.
    pub no_route: u64,
    /// Outcomes of the scenario's actions.
    pub actions: Vec<ActionSummary>,
    /// Mobile IP's agents and mobiles, if there are any.
    pub mobile_ip: Option<MobileIpSummary>,
    /// NATs, firewalls and captive portals.
    pub middleboxes: Vec<MiddleboxSummary>,
}

/// A middlebox. Packets between two links inside do not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MiddleboxSummary {
    /// The node's name.
    pub name: String,
    /// `nat`, `firewall` or `captive-portal`.
    pub kind: &'static str,
    /// Packets from inside that the middlebox passed.
    pub outward: u64,
    /// Packets from inside that the middlebox dropped.
    pub outward_dropped: u64,
    /// Packets from outside that the middlebox passed.
    pub inward: u64,
    /// Packets from outside that the middlebox dropped.
    pub inward_dropped: u64,
    /// Number of mappings of a NAT, or states of a firewall, that were created.
    pub created: u64,
}

/// Mobile IP in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MobileIpSummary {
    /// Home and foreign agents.
    pub agents: Vec<AgentSummary>,
    /// Mobiles.
    pub mobiles: Vec<MobileSummary>,
}

/// A mobility agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentSummary {
    /// The node's name.
    pub name: String,
    /// `home` or `foreign`.
    pub role: &'static str,
    /// Registrations and deregistrations that the home agent accepted, or that the foreign agent relayed both
    /// ways.
    pub accepted: u64,
    /// Registrations and deregistrations that the agent denied.
    pub denied: u64,
    /// Packets sent into a tunnel.
    pub tunnelled: u64,
    /// Packets taken out of a tunnel for a visitor.
    pub delivered: u64,
    /// Packets from a tunnel dropped because their destination was not registered.
    pub strangers: u64,
}

/// A mobile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MobileSummary {
    /// The node's name.
    pub name: String,
    /// Changes of the agent after the first.
    pub handovers: Vec<MobileHandoverSummary>,
    /// Registrations renewed.
    pub renewals: u64,
    /// Registrations denied.
    pub denied: u64,
    /// Times at which the mobile lost its last agent.
    #[serde(rename = "lost_at_s")]
    pub lost: Vec<f64>,
}

/// A change of a mobile's agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MobileHandoverSummary {
    /// Time at which the mobile decided to change.
    #[serde(rename = "at_s")]
    pub at: f64,
    /// The new agent.
    pub to: String,
    /// Time at which the home agent's acceptance arrived.
    #[serde(rename = "registered_s")]
    pub registered: Option<f64>,
    /// Number of requests sent for the change.
    pub requests: Option<u32>,
    /// Time from the last packet that reached the mobile before the acceptance to the first one after it.
    #[serde(rename = "gap_s")]
    pub gap: Option<f64>,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssociationSummary {
    /// Name of the association.
    pub name: String,
    /// Time at which the client considered the association up.
    #[serde(rename = "established_s")]
    pub established: Option<f64>,
    /// Reason of the end, if the association ended before the run.
    pub ended: Option<String>,
    /// From client to server.
    pub to_server: FlowSummary,
    /// From server to client.
    pub to_client: FlowSummary,
    /// Changes of the primary path, at both ends.
    pub handovers: Vec<HandoverSummary>,
}

/// One direction of an association.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowSummary {
    /// User bytes delivered.
    pub bytes: u64,
    /// Messages delivered.
    pub messages: u64,
    /// User bytes since the start of the run, as a rate.
    #[serde(rename = "goodput_bps")]
    pub goodput: u64,
    /// First delivery.
    #[serde(rename = "first_s")]
    pub first: Option<f64>,
    /// Last delivery.
    #[serde(rename = "last_s")]
    pub last: Option<f64>,
    /// Longest gap between two deliveries.
    #[serde(rename = "longest_gap_s")]
    pub longest_gap: f64,
    /// Start of the longest gap.
    #[serde(rename = "longest_gap_at_s")]
    pub longest_gap_at: f64,
    /// Time at which everything had been delivered, if all sending applications have ended.
    #[serde(rename = "completed_s")]
    pub completed: Option<f64>,
    /// DATA chunks sent for the first time.
    pub data_chunks: u64,
    /// DATA chunks retransmitted.
    pub retransmitted: u64,
    /// T3-rtx expirations, over all paths that exist at the end.
    pub timeouts: u64,
    /// Fast retransmits, over all paths that exist at the end.
    pub fast_retransmits: u64,
    /// T3-rtx expirations detected as spurious and undone.
    pub spurious_timeouts: u64,
    /// Verdicts of the sender's loss classifier, if it has one.
    pub verdicts: Option<VerdictSummary>,
    /// SACK chunks the receiver sent.
    pub sacks: u64,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpSummary {
    /// Name of the connection.
    pub name: String,
    /// Time at which the client considered the connection up.
    #[serde(rename = "established_s")]
    pub established: Option<f64>,
    /// Reason of the end, if the connection ended before the run.
    pub ended: Option<String>,
    /// From client to server.
    pub to_server: TcpFlowSummary,
    /// From server to client.
    pub to_client: TcpFlowSummary,
}

/// One direction of a TCP connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TcpFlowSummary {
    /// User bytes delivered in order.
    pub bytes: u64,
    /// User bytes since the start of the run, as a rate.
    #[serde(rename = "goodput_bps")]
    pub goodput: u64,
    /// First delivery.
    #[serde(rename = "first_s")]
    pub first: Option<f64>,
    /// Last delivery.
    #[serde(rename = "last_s")]
    pub last: Option<f64>,
    /// Longest gap between two deliveries.
    #[serde(rename = "longest_gap_s")]
    pub longest_gap: f64,
    /// Start of the longest gap.
    #[serde(rename = "longest_gap_at_s")]
    pub longest_gap_at: f64,
    /// Time at which all bytes of a finite bulk application had been delivered.
    #[serde(rename = "completed_s")]
    pub completed: Option<f64>,
    /// Segments with data or FIN sent for the first time.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Expirations detected as spurious and undone.
    pub spurious_timeouts: u64,
    /// Times fast recovery was entered.
    pub fast_retransmits: u64,
    /// Duplicate ACKs the sender received.
    pub duplicate_acks: u64,
    /// Verdicts of the sender's loss classifier, if it has one.
    pub verdicts: Option<VerdictSummary>,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Segments without data that the receiver sent.
    pub acks: u64,
}

/// Verdicts of a loss classifier, by the true cause of the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerdictSummary {
    /// Number of packets lost by a radio link and classified as wireless.
    pub wireless_as_wireless: u64,
    /// Number of packets lost by a radio link and classified as congestion.
    pub wireless_as_congestion: u64,
    /// Number of packets lost to congestion and classified as wireless.
    pub congestion_as_wireless: u64,
    /// Number of packets lost to congestion and classified as congestion.
    pub congestion_as_congestion: u64,
    /// Number of verdicts "wireless" on packets that were not lost, or lost for an unknown cause.
    pub unknown_as_wireless: u64,
    /// Number of verdicts "congestion" on packets that were not lost, or lost for an unknown cause.
    pub unknown_as_congestion: u64,
}

impl VerdictSummary {
    /// Returns the summary of a tally; `None` without a classifier.
    pub(crate) fn of(tally: &Tally) -> Option<Self> {
        (tally.total() > 0).then_some(Self {
            wireless_as_wireless: tally.wireless_as_wireless,
            wireless_as_congestion: tally.wireless_as_congestion,
            congestion_as_wireless: tally.congestion_as_wireless,
            congestion_as_congestion: tally.congestion_as_congestion,
            unknown_as_wireless: tally.unknown_as_wireless,
            unknown_as_congestion: tally.unknown_as_congestion,
        })
    }
}

/// A change of the primary path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverSummary {
    /// The end whose primary changed.
    pub side: &'static str,
    /// Time of the change.
    #[serde(rename = "at_s")]
    pub at: f64,
    /// Local and remote address of the new primary path.
    pub to: String,
    /// The cause of the change.
    pub cause: String,
    /// Rate delivered to the other end in the 5 s before the change; `None` if the run began later, or
    /// deliveries are not recorded.
    #[serde(rename = "before_bps")]
    pub before: Option<u64>,
    /// Rate delivered to the other end in the 5 s after the change; `None` if the run ended earlier, or
    /// deliveries are not recorded.
    #[serde(rename = "after_bps")]
    pub after: Option<u64>,
    /// Longest gap between deliveries to the other end, or from the last one to the end of the run, that
    /// overlaps the 5 s after the change.
    #[serde(rename = "gap_s")]
    pub gap: Option<f64>,
}

impl HandoverSummary {
    /// The time before and after a change over which rates are computed, and after it in which gaps count.
    pub const WATCH: Span = Span::from_secs(5);
}

/// A constant-rate source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CbrSummary {
    /// Name of the source.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that reached the destination.
    pub received: u64,
    /// Bytes on the wire that reached the destination.
    pub received_bytes: u64,
}

/// A video source. A message's transfer time runs from its generation to its delivery; messages not
/// delivered by the end of the run have none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VideoSummary {
    /// Name of the source.
    pub name: String,
    /// Messages generated.
    pub generated: u64,
    /// Bytes of the generated messages.
    pub generated_bytes: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// Messages not delivered by the end of the run.
    pub undelivered: u64,
    /// Mean transfer time.
    #[serde(rename = "mean_transfer_s")]
    pub mean_transfer: Option<f64>,
    /// 95th percentile of the transfer times of delivered messages (nearest rank).
    #[serde(rename = "p95_transfer_s")]
    pub p95_transfer: Option<f64>,
    /// The longest transfer time.
    #[serde(rename = "max_transfer_s")]
    pub max_transfer: Option<f64>,
    /// Maximum number of messages that waited for room in the send buffer.
    pub longest_wait: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Name of the direction, such as `wlan/forward`.
    pub name: String,
    /// Node at the near end.
    pub from: String,
    /// Node at the far end.
    pub to: String,
    /// Packets offered to the link.
    pub offered: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered, IP headers included.
    pub delivered_bytes: u64,
    /// Packets dropped because the queue was full, or would mark packets that are not ECN-capable.
    pub queue_drops: u64,
    /// Packets marked with Congestion Experienced instead.
    pub marked: u64,
    /// Packets lost by the loss process.
    pub losses: u64,
    /// Blocks or frames that the link layer retransmitted. If links share a cell, it counts those of the
    /// whole cell.
    pub resent: u64,
    /// Packets lost because the link was down.
    pub down_drops: u64,
    /// Packets dropped because they were larger than the link's MTU.
    pub too_big: u64,
    /// Largest queue length in packets.
    pub longest_queue: u64,
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionSummary {
    /// The action, such as `add-address`.
    pub action: String,
    /// Subject of the action.
    pub subject: String,
    /// Time of the action; `None` if the event that it waited for did not happen.
    #[serde(rename = "at_s")]
    pub at: Option<f64>,
    /// The reason if it was rejected.
    pub refused: Option<String>,
}
