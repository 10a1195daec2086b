//! [`Conservative`]: the new path starts from an initial window (plain mSCTP; Kim & Koh §2.2 (a)).

use msctp_congestion::StartState;

use super::preparation::Preparation;
use super::{Action, HandoverPolicy, LinkEvent, PathView, PolicyConfig, SwitchSsthresh, View};
use crate::PathId;

/// The new path's own window: what its controller has, or the configured initial window.
#[derive(Clone, Debug)]
pub struct Conservative {
    preparation: Preparation,
}

impl Conservative {
    /// The name in the registry.
    pub const NAME: &str = "conservative";

    /// Under these options.
    pub fn new(config: &PolicyConfig) -> Self {
        Self { preparation: Preparation::new(config, false) }
    }
}

impl HandoverPolicy for Conservative {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_path_added(path, view, actions);
    }

    fn on_path_removed(&mut self, path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {
        self.preparation.on_path_removed(path);
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_link_event(event, view, actions);
    }

    fn on_primary_switch(
        &mut self,
        _old: &PathView,
        new: &PathView,
        _view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        self.preparation.on_primary_switch(new.id, actions);
        let config = &self.preparation.config;
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

    use super::super::testing::{estimate, path, switch, with_cwnd};
    use super::*;

    #[test]
    fn by_default_the_new_path_keeps_its_own_state() {
        let mut policy = Conservative::new(&PolicyConfig::default());
        assert_eq!(switch(&mut policy, &with_cwnd(0, 20_000), &with_cwnd(1, 4404)), (None, vec![]));
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
