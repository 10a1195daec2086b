//! [`Inherit`]: the new path starts with the old path's window (C-SCTP, Aydin 2003; Kim & Koh §2.2 (b)).

use msctp_congestion::StartState;

use super::PolicyConfig;
use super::preparation::Preparation;
use msctp_proto::PathId;
use msctp_proto::handover::{Action, HandoverPolicy, LinkEvent, LinkState, PathView, View};

/// Starts the new path with the old path's window and, as an option, copies the data on both paths in the
/// handover region.
///
/// The handover region is the time in which both paths exist. Copies go from the primary path to the new one
/// from its addition, and in the other direction after the switch. They end when one of the two is removed or
/// its link is reported down. Kim & Koh compare without copies.
#[derive(Clone, Debug)]
pub struct Inherit {
    preparation: Preparation,
    /// Copies go from the first to the second.
    bicast: Option<(PathId, PathId)>,
}

impl Inherit {
    /// The name in the registry.
    pub const NAME: &str = "inherit";

    /// Creates the policy with these options.
    pub fn new(config: &PolicyConfig) -> Self {
        Self { preparation: Preparation::new(config, false), bicast: None }
    }

    fn copy(&mut self, from: PathId, to: PathId, actions: &mut Vec<Action>) {
        self.bicast = Some((from, to));
        actions.push(Action::StartBicast { from, to });
    }

    /// Ends copying if `path` takes part in it.
    fn stop_copying(&mut self, path: PathId, actions: &mut Vec<Action>) {
        if self.bicast.is_some_and(|(from, to)| path == from || path == to) {
            self.bicast = None;
            actions.push(Action::StopBicast);
        }
    }
}

impl HandoverPolicy for Inherit {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_path_added(path, view, actions);
        if self.preparation.config.bicast && self.bicast.is_none() && path != view.primary {
            self.copy(view.primary, path, actions);
        }
    }

    fn on_path_removed(&mut self, path: PathId, _view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_path_removed(path);
        self.stop_copying(path, actions);
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        if event.state == LinkState::Down {
            for path in view.paths.iter().filter(|path| path.local == event.local) {
                self.stop_copying(path.id, actions);
            }
        }
        self.preparation.on_link_event(event, view, actions);
    }

    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        _view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        self.preparation.on_primary_switch(new.id, actions);
        match self.bicast {
            Some((_, to)) if to == new.id => self.copy(new.id, old.id, actions),
            // A switch to a third path: the region of these two is left behind.
            Some((from, _)) => self.stop_copying(from, actions),
            None => {}
        }
        Some(self.preparation.config.start(old.window.cwnd, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::testing::{down, path, shown, switch, view, with_cwnd};

    #[test]
    fn the_old_window_moves_over() {
        let mut policy = Inherit::new(&PolicyConfig::default());
        let (start, actions) = switch(&mut policy, &with_cwnd(0, 20_000), &with_cwnd(1, 4404));
        assert_eq!(start, Some(StartState { cwnd: 20_000, ssthresh: None, pacing_rate: None }));
        assert!(actions.is_empty(), "no copies unless asked for");
    }

    fn bicasting() -> (Inherit, [PathView; 2]) {
        let paths = [path(0), path(1)];
        let mut policy = Inherit::new(&PolicyConfig { bicast: true, ..PolicyConfig::default() });
        let mut actions = Vec::new();
        policy.on_path_added(paths[0].id, &view(0, &paths[..1]), &mut actions);
        assert!(actions.is_empty(), "one path: nothing to copy to");
        policy.on_path_added(paths[1].id, &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[Action::StartBicast { from: paths[0].id, to: paths[1].id }]));
        (policy, paths)
    }

    #[test]
    fn copies_turn_round_at_the_switch_and_end_with_the_old_path() {
        let (mut policy, paths) = bicasting();
        let (_, actions) = switch(&mut policy, &paths[0], &paths[1]);
        assert_eq!(shown(&actions), shown(&[Action::StartBicast { from: paths[1].id, to: paths[0].id }]));
        let mut actions = Vec::new();
        policy.on_path_removed(paths[0].id, &view(1, &paths[1..]), &mut actions);
        assert_eq!(shown(&actions), shown(&[Action::StopBicast]));
    }

    #[test]
    fn copies_end_when_a_link_goes_down_or_a_third_path_is_taken() {
        let (mut policy, paths) = bicasting();
        let mut actions = Vec::new();
        policy.on_link_event(down(1), &view(0, &paths), &mut actions);
        policy.on_link_event(down(1), &view(0, &paths), &mut actions);
        assert_eq!(shown(&actions), shown(&[Action::StopBicast]));
        let (mut policy, paths) = bicasting();
        let (_, actions) = switch(&mut policy, &paths[0], &path(2));
        assert_eq!(shown(&actions), shown(&[Action::StopBicast]));
    }
}
