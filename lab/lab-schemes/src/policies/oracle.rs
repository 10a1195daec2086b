//! [`Oracle`]: starts the new path with its true available bandwidth.
//!
//! No protocol can know that: the laboratory configures it, as the reference for other policies.

use msctp_congestion::StartState;

use super::{ByRule, PolicyConfig, StartRule};
use msctp_proto::handover::PathView;

/// Sets cwnd and ssthresh to available bandwidth · RTT.
///
/// That window fills the path without a queue, and congestion avoidance follows. A path without
/// [`Truth`](super::Truth) starts as under `conservative`.
pub type Oracle = ByRule<OracleStart>;

/// The rule of [`Oracle`].
#[derive(Clone, Copy, Debug)]
pub enum OracleStart {}

impl StartRule for OracleStart {
    const NAME: &'static str = "oracle";

    fn start(config: &PolicyConfig, _old: &PathView, new: &PathView) -> Option<StartState> {
        match config.truth(new) {
            Some(truth) => {
                let cwnd = truth.available.bytes_in(truth.rtt).max(new.pmdcs);
                Some(StartState { cwnd, ssthresh: Some(cwnd), pacing_rate: None })
            }
            None => config.initial_window.map(|window| config.start(new.initial_window(window), new)),
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::{Rate, Span};

    use super::*;
    use crate::policies::Truth;
    use crate::policies::testing::{path, switch};

    fn told(available: Rate) -> Oracle {
        let truth = Truth { address: path(1).remote, available, rtt: Span::from_millis(70) };
        Oracle::new(&PolicyConfig { truths: vec![truth], ..PolicyConfig::default() })
    }

    #[test]
    fn the_window_is_available_bandwidth_times_rtt() {
        let (start, actions) = switch(&mut told(Rate::from_kbps(6_600)), &path(0), &path(1));
        // 6.6 Mbps · 70 ms / 8
        assert_eq!(start, Some(StartState { cwnd: 57_750, ssthresh: Some(57_750), pacing_rate: None }));
        assert!(actions.is_empty());
    }

    #[test]
    fn at_least_a_packet_and_no_start_without_a_truth() {
        let (start, _) = switch(&mut told(Rate::ZERO), &path(0), &path(1));
        assert_eq!(start.map(|start| start.cwnd), Some(path(1).pmdcs));
        let (start, _) = switch(&mut Oracle::new(&PolicyConfig::default()), &path(0), &path(1));
        assert_eq!(start, None);
    }
}
