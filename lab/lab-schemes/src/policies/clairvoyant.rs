//! [`Clairvoyant`]: sends on the new path at the rate that is truly free there.
//!
//! No protocol can know that: the laboratory configures it. With the controller `held`, which keeps the rate
//! whatever is lost, it shows what the buffers and the loss recovery of a scenario allow at best.

use msctp_congestion::StartState;

use super::{ByRule, PolicyConfig, StartRule};
use msctp_proto::handover::PathView;

/// Paces at the available bandwidth, with a window of twice available bandwidth · RTT: losses that await
/// their retransmission do not close it.
///
/// A path without [`Truth`](super::Truth) starts as under `conservative`.
pub type Clairvoyant = ByRule<ClairvoyantStart>;

/// The rule of [`Clairvoyant`].
#[derive(Clone, Copy, Debug)]
pub enum ClairvoyantStart {}

impl StartRule for ClairvoyantStart {
    const NAME: &'static str = "clairvoyant";

    fn start(config: &PolicyConfig, _old: &PathView, new: &PathView) -> Option<StartState> {
        match config.truth(new) {
            Some(truth) => {
                let cwnd = (2 * truth.available.bytes_in(truth.rtt)).max(new.pmdcs);
                Some(StartState { cwnd, ssthresh: Some(cwnd), pacing_rate: Some(truth.available) })
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

    #[test]
    fn the_rate_is_the_free_one_and_the_window_two_round_trips_of_it() {
        let available = Rate::from_kbps(6_600);
        let truth = Truth { address: path(1).remote, available, rtt: Span::from_millis(70) };
        let config = PolicyConfig { truths: vec![truth], ..PolicyConfig::default() };
        let (start, actions) = switch(&mut Clairvoyant::new(&config), &path(0), &path(1));
        // 2 · 6.6 Mbps · 70 ms / 8
        let want = StartState { cwnd: 115_500, ssthresh: Some(115_500), pacing_rate: Some(available) };
        assert_eq!(start, Some(want));
        assert!(actions.is_empty());
        let (start, _) = switch(&mut Clairvoyant::new(&PolicyConfig::default()), &path(0), &path(1));
        assert_eq!(start, None);
    }
}
