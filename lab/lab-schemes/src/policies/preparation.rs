//! [`Preparation`]: the common work of policies before a switch.
//!
//! It probes the paths that may become primary, if the policy needs their estimates, and leaves a link that
//! is reported down. It sets no windows.

use super::{PolicyConfig, SwitchSsthresh};
use crate::wbest::WBest;
use msctp_proto::PathId;
use msctp_proto::handover::{Action, LinkEvent, LinkState, PathView, View, Why};

/// The shared part of the policies.
#[derive(Clone, Debug)]
pub(super) struct Preparation {
    pub(super) config: PolicyConfig,
    /// Estimates are needed, by the policy or by its threshold rule.
    probes: bool,
    /// Paths being probed.
    probed: Vec<PathId>,
}

impl Preparation {
    /// Creates the shared part. `needs_estimates`: the policy itself uses estimates.
    pub(super) fn new(config: &PolicyConfig, needs_estimates: bool) -> Self {
        Self {
            config: config.clone(),
            probes: needs_estimates || config.ssthresh == SwitchSsthresh::EstimatedHalfBdp,
            probed: Vec::new(),
        }
    }

    pub(super) fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        if let Some(path) = view.path(path) {
            self.probe(path, view, actions);
        }
    }

    pub(super) fn on_path_removed(&mut self, path: PathId) {
        self.probed.retain(|&probed| probed != path);
    }

    pub(super) fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        let affected = view.paths.iter().filter(|path| path.local == event.local);
        match event.state {
            LinkState::Up => affected.for_each(|path| self.probe(path, view, actions)),
            LinkState::Down => {
                affected.for_each(|path| self.stop(path.id, actions));
                let escape = view.escape(event).filter(|_| self.config.switch_on_link_down);
                actions
                    .extend(escape.map(|path| Action::SwitchPrimary { path, grounds: Why::LinkDown.into() }));
            }
            // The schemes so far wait for the peer's or the application's switch.
            LinkState::Degrading | LinkState::PredictedDown { .. } | LinkState::Quality(_) => {}
        }
    }

    /// Stops estimating a path that becomes primary (Kim & Koh §3.2 step 3).
    pub(super) fn on_primary_switch(&mut self, new: PathId, actions: &mut Vec<Action>) {
        self.stop(new, actions);
    }

    fn probe(&mut self, path: &PathView, view: &View<'_>, actions: &mut Vec<Action>) {
        let wanted = self.probes && path.id != view.primary && path.may_carry_data();
        if wanted && !self.probed.contains(&path.id) {
            // The parameters were checked when the policy was made.
            if let Ok(estimator) = WBest::new(self.config.wbest_for(path), view.now) {
                self.probed.push(path.id);
                actions.push(Action::StartProbing { path: path.id, estimator: Box::new(estimator) });
            }
        }
    }

    fn stop(&mut self, path: PathId, actions: &mut Vec<Action>) {
        if let Some(index) = self.probed.iter().position(|&probed| probed == path) {
            self.probed.remove(index);
            actions.push(Action::StopProbing { path });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policies::testing::{down, path, shown, up, view};
    use msctp_proto::PathState;
    use msctp_proto::handover::PathView;
    use msctp_units::Time;

    use super::*;

    fn start(path: PathId) -> Action {
        let estimator = Box::new(WBest::new(PolicyConfig::default().wbest, Time::ZERO).unwrap());
        Action::StartProbing { path, estimator }
    }

    #[test]
    fn probing_runs_from_add_to_switch_and_only_off_the_primary() {
        let paths = [path(0), path(1)];
        let mut preparation = Preparation::new(&PolicyConfig::default(), true);
        let mut actions = Vec::new();
        preparation.on_path_added(paths[0].id, &view(0, &paths), &mut actions);
        assert!(actions.is_empty(), "the primary is not probed");
        preparation.on_path_added(paths[1].id, &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[start(paths[1].id)]));
        actions.clear();
        preparation.on_primary_switch(paths[1].id, &mut actions);
        assert_eq!(shown(&actions), shown(&[Action::StopProbing { path: paths[1].id }]));
        actions.clear();
        preparation.on_primary_switch(paths[1].id, &mut actions);
        assert!(actions.is_empty(), "stopped once");
    }

    #[test]
    fn probing_follows_the_link() {
        let paths = [path(0), path(1)];
        let mut preparation = Preparation::new(&PolicyConfig::default(), true);
        let mut actions = Vec::new();
        preparation.on_link_event(up(1), &view(0, &paths), &mut actions);
        preparation.on_link_event(up(1), &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[start(paths[1].id)]));
        actions.clear();
        preparation.on_link_event(down(1), &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[Action::StopProbing { path: paths[1].id }]));
        actions.clear();
        preparation.on_link_event(up(1), &view(0, &paths), &mut actions);
        preparation.on_path_removed(paths[1].id);
        preparation.on_link_event(up(1), &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[start(paths[1].id), start(paths[1].id)]), "removed, then back");
    }

    #[test]
    fn without_need_of_estimates_nothing_is_probed() {
        let paths = [path(0), path(1)];
        let mut actions = Vec::new();
        let mut preparation = Preparation::new(&PolicyConfig::default(), false);
        preparation.on_path_added(paths[1].id, &view(0, &paths), &mut actions);
        assert!(actions.is_empty());
        let config = PolicyConfig { ssthresh: SwitchSsthresh::EstimatedHalfBdp, ..PolicyConfig::default() };
        Preparation::new(&config, false).on_path_added(paths[1].id, &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[start(paths[1].id)]), "the threshold rule needs them");
    }

    #[test]
    fn a_dead_primary_link_is_left_for_an_active_path() {
        let inactive = PathView { state: PathState::Inactive, ..path(1) };
        let paths = [path(0), inactive, path(2)];
        let mut preparation = Preparation::new(&PolicyConfig::default(), false);
        let mut actions = Vec::new();
        preparation.on_link_event(down(2), &view(0, &paths), &mut actions);
        assert!(actions.is_empty(), "not the primary's link");
        preparation.on_link_event(down(0), &view(0, &paths), &mut actions);
        assert_eq!(
            shown(&actions),
            shown(&[Action::SwitchPrimary { path: paths[2].id, grounds: Why::LinkDown.into() }])
        );
        actions.clear();
        preparation.on_link_event(down(0), &view(0, &paths[..2]), &mut actions);
        assert!(actions.is_empty(), "nowhere to go");
        let config = PolicyConfig { switch_on_link_down: false, ..PolicyConfig::default() };
        Preparation::new(&config, false).on_link_event(down(0), &view(0, &paths), &mut actions);
        assert!(actions.is_empty());
    }
}
