//! Sets of options for a purpose. [`Config::default`] is RFC 9260; these say where they differ from it, and
//! why.

use msctp_congestion::{BbrConfig, InitialWindow};
use msctp_units::Span;

use super::{Config, Moves};
use crate::auth::{AuthConfig, AuthPolicy};
use crate::extensions::OfferConfig;
use crate::outbound::{LossRecovery, SpuriousTimeouts};
use crate::path::FailoverConfig;

impl Config {
    /// For a host that moves between networks, and for the server it talks to. As [`Config::default`], but:
    ///
    /// - data leaves a path at its first time-out (RFC 7829 §6: a threshold of 0) and comes back with its
    ///   first answer;
    /// - a path with a stream of data that has been silent for 25 ms, and one and a half times as long as
    ///   usual, has another one asked by what the receiver waits for; after 100 ms, and three times as long
    ///   as usual, it is left if that one has answered: nobody tells of a network that swallows packets;
    /// - a new address asks for itself, three times at once, and data may go there before it is confirmed, as
    ///   far as RFC 9000 §8.1 would let it;
    /// - until the new path's rate is known, a path with a shorter round trip that was left and works goes on
    ///   to carry the rest;
    /// - a path begins with ten packets, as TCP does (RFC 6928): what a new path carries is seen two round
    ///   trips sooner;
    /// - the buffers hold 4 MiB: what is sent over a fast path waits for what the slow one that was left
    ///   still has in its queue;
    /// - RTO.Initial is 500 ms: a link often loses the first packet after it came, and that one asks to be
    ///   let onto it;
    /// - RTO.Min is 400 ms, twice the delay of a SACK, and RTO.Max 10 s, so that a network that is back is
    ///   found soon;
    /// - HB.interval is 10 s: what is idle is known to work, and address translators that forget after 15 s
    ///   keep it in mind;
    /// - HB.Max.Burst is 4: a few new addresses are confirmed in one round trip;
    /// - Association.Max.Retrans is 40: minutes without any network are no reason to give up. A path that is
    ///   left at the first time-out makes several paths count errors, where RFC 9260's ten are counted with
    ///   one in mind;
    /// - each path is sent at the rate it delivers (BBR), and looks for that rate until the round trip shows
    ///   a queue: slow start overfills a new path's queue, and what is lost there holds up the rest for a
    ///   round trip with that queue full;
    /// - what is sent again and lost again is found by time (RACK-TLP, RFC 8985): where a path's queue
    ///   overflows, RFC 9260's fast retransmit, once per chunk, leaves the second loss to T3-rtx;
    /// - spurious time-outs are found and undone (RFC 5682), because radio links stall.
    pub fn mobile() -> Self {
        Self {
            failover: FailoverConfig {
                potentially_failed_threshold: Some(0),
                silence: Some(Span::from_millis(100)),
                ..FailoverConfig::default()
            },
            controller: BbrConfig { hystart: true }.into(),
            initial_window: InitialWindow::Packets(10),
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
            moves: Moves::Fast,
            loss_recovery: LossRecovery::Rack,
            rto_initial: Span::from_millis(500),
            rto_min: Span::from_millis(400),
            rto_max: Span::from_secs(10),
            hb_interval: Span::from_secs(10),
            hb_max_burst: 4,
            assoc_max_retrans: 40,
            spurious_timeouts: SpuriousTimeouts::Undo,
            ..Self::default()
        }
    }

    /// For a WebRTC peer's SCTP over DTLS, which has one address and is told of none: as [`Config::default`],
    /// but nothing is listed or announced that such stacks do not know (DTLS authenticates), packets go
    /// without a checksum if the peer takes them so (RFC 9653 §6: DTLS is one), and there are 65535 streams
    /// each way (RFC 8831 has that many data channels). Both ends may use port 5000, as they usually do.
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
