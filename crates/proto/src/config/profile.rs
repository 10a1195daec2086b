//! Sets of options for a purpose, with their differences from [`Config::default`], which is RFC 9260.

use msctp_congestion::{DelayBoundConfig, InitialWindow};
use msctp_units::Span;

use super::{Config, Moves};
use crate::auth::{AuthConfig, AuthPolicy};
use crate::extensions::OfferConfig;
use crate::handover::PolicyFactory;
use crate::outbound::{LossRecovery, SpuriousTimeouts};
use crate::path::FailoverConfig;
use crate::streams::StreamsConfig;

impl Config {
    /// Returns options for a host that moves between networks, and for the server it talks to.
    ///
    /// They differ from [`Config::default`]:
    ///
    /// - Data leaves a path at its first timeout (RFC 7829 §6: a threshold of 0) and returns with its first
    ///   answer.
    /// - A path that carries data and is silent for 25 ms, and for 1.5 times the usual interval, causes a
    ///   silence probe: the oldest chunks in flight are retransmitted on another path. After 100 ms, and
    ///   three times the usual interval, the path fails if the other path has answered. No error message
    ///   reports a network that drops all packets.
    /// - The request that adds an address leaves from that address, three times at once. Data may go there
    ///   before the address is confirmed, within the limit of RFC 9000 §8.1.
    /// - Until the new path's rate is known, the previous path carries the rest of the data, if it works and
    ///   has the shorter round trip.
    /// - The initial window is ten packets, as TCP's (RFC 6928): the capacity of a new path is known two
    ///   round trips sooner.
    /// - The buffers hold 16 MiB. Two networks in use at once need the sum of their rates times the longer
    ///   round trip, twice because a lost chunk holds up the others: 500 Mbit/s and 100 ms take 12.5 MB.
    /// - RTO.Initial is 500 ms: a link often loses the first packet after it came up, and that packet is the
    ///   request to add its address.
    /// - RTO.Min is 400 ms, twice the delay of a SACK. RTO.Max is 10 s, so that a network that recovered is
    ///   soon detected.
    /// - HB.interval is 10 s: an idle path is known to work, and NATs that forget a mapping after 15 s keep
    ///   it.
    /// - Association.Max.Retrans is 40: the association survives minutes without a network. Failover at the
    ///   first timeout makes several paths count errors, but RFC 9260's limit of 10 assumes one path.
    /// - The policy that the driver deploys moves the data: `Anticipate` in the crate `msctp`.
    /// - Each path sends with a small queue of bounded delay (`DelayBound`). Slow start overfills a new
    ///   path's queue, and each loss there blocks delivery for a round trip with a full queue. The rate of a
    ///   radio link changes by factors within a second: a controller that probes for bandwidth every few
    ///   seconds leaves a part of it unused.
    /// - RACK-TLP (RFC 8985) detects lost retransmissions by time. RFC 9260's fast retransmit, once per
    ///   chunk, leaves them to T3-rtx.
    /// - Spurious timeouts are detected and undone (RFC 5682), because radio links stall.
    /// - There are 65,535 streams each way, for as many requests at a time: unused ones cost nothing.
    /// - Streams take turns (`round-robin`): a large transfer does not delay live messages or a request.
    pub fn mobile() -> Self {
        Self {
            outbound_streams: u16::MAX,
            failover: FailoverConfig {
                potentially_failed_threshold: Some(0),
                silence: Some(Span::from_millis(100)),
                ..FailoverConfig::default()
            },
            controller: DelayBoundConfig.into(),
            handover_policy: PolicyFactory::deployed(),
            initial_window: InitialWindow::Packets(10),
            receive_buffer: 16 << 20,
            send_buffer: 16 << 20,
            moves: Moves::Fast,
            loss_recovery: LossRecovery::Rack,
            rto_initial: Span::from_millis(500),
            rto_min: Span::from_millis(400),
            rto_max: Span::from_secs(10),
            hb_interval: Span::from_secs(10),
            assoc_max_retrans: 40,
            spurious_timeouts: SpuriousTimeouts::Undo,
            streams: StreamsConfig { scheduler: "round-robin".to_owned(), ..StreamsConfig::default() },
            ..Self::default()
        }
    }

    /// Returns options for a WebRTC peer's SCTP over DTLS, which has one address.
    ///
    /// They differ from [`Config::default`]: INIT and INIT ACK list and announce nothing that such stacks do
    /// not support, and DTLS authenticates. Packets have no checksum if the peer accepts that (RFC 9653 §6).
    /// There are 65535 streams each way, as many as RFC 8831's data channels. Both ends may use port 5000, as
    /// they usually do.
    pub fn webrtc() -> Self {
        Self {
            offer: OfferConfig {
                list_addresses: false,
                dynamic_addresses: false,
                lower_layer_protects: true,
            },
            auth: AuthConfig { policy: AuthPolicy::Off, ..AuthConfig::default() },
            outbound_streams: u16::MAX,
            max_inbound_streams: u16::MAX,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_can_be_used() {
        assert_eq!(Config::mobile().validate(), Ok(()));
        assert_eq!(Config::webrtc().validate(), Ok(()));
    }
}
