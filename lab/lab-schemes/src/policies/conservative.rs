//! [`Conservative`]: the new path starts from an initial window (plain mSCTP; Kim & Koh §2.2 (a)).

use msctp_congestion::StartState;

use super::{ByRule, PolicyConfig, StartRule, SwitchSsthresh};
use msctp_proto::handover::PathView;

/// The new path's own window: what its controller has, or the configured initial window.
pub type Conservative = ByRule<ConservativeStart>;

/// The rule of [`Conservative`].
#[derive(Clone, Copy, Debug)]
pub enum ConservativeStart {}

impl StartRule for ConservativeStart {
    const NAME: &'static str = "conservative";

    fn start(config: &PolicyConfig, _old: &PathView, new: &PathView) -> Option<StartState> {
        let cwnd = match config.initial_window {
            // RFC 9260 §7.1: each path keeps its own parameters.
            None if config.ssthresh == SwitchSsthresh::Controller => return None,
            None => new.window.cwnd,
            Some(window) => new.initial_window(window),
        };
        Some(config.start(cwnd, new))
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::InitialWindow;

    use super::*;
    use crate::policies::testing::{estimate, path, switch, with_cwnd};

    #[test]
    fn by_default_the_new_path_keeps_its_own_state() {
        let mut policy = Conservative::new(&PolicyConfig::default());
        let (start, actions) = switch(&mut policy, &with_cwnd(0, 20_000), &with_cwnd(1, 4404));
        assert!(start.is_none() && actions.is_empty());
    }

    /// Kim & Koh §2.2 (a): 1 MTU; §3.3: B·RTT_min/2 = 11 Mbps · 70 ms / 8 / 2 = 48,125 bytes.
    #[test]
    fn the_paper_has_one_mtu_and_its_own_threshold() {
        let config = PolicyConfig {
            initial_window: Some(InitialWindow::Packets(1)),
            ssthresh: SwitchSsthresh::EstimatedHalfBdp,
            ..PolicyConfig::default()
        };
        let new = PathView { estimate: Some(estimate(11_000, 11_000, 70)), ..path(1) };
        let (start, _) = switch(&mut Conservative::new(&config), &with_cwnd(0, 20_000), &new);
        assert_eq!(start, Some(StartState { cwnd: 1468, ssthresh: Some(48_125), pacing_rate: None }));
    }

    #[test]
    fn a_threshold_alone_leaves_the_window() {
        let config = PolicyConfig { ssthresh: SwitchSsthresh::Bytes(65_536), ..PolicyConfig::default() };
        let (start, _) = switch(&mut Conservative::new(&config), &with_cwnd(0, 20_000), &with_cwnd(1, 4404));
        assert_eq!(start, Some(StartState { cwnd: 4404, ssthresh: Some(65_536), pacing_rate: None }));
    }

    #[test]
    fn eklunds_large_initial_windows() {
        for (window, cwnd) in [(InitialWindow::Packets(10), 14_680), (InitialWindow::Bytes(50_000), 50_000)] {
            let config = PolicyConfig { initial_window: Some(window), ..PolicyConfig::default() };
            let (start, _) = switch(&mut Conservative::new(&config), &path(0), &path(1));
            assert_eq!(start, Some(StartState { cwnd, ssthresh: None, pacing_rate: None }));
        }
    }
}
