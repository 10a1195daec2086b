//! [`Conservative`]: each path keeps its own window (RFC 9260 §7.1). The default policy.

use msctp_congestion::StartState;

use super::{Action, HandoverPolicy, LinkEvent, PathView, View, Why};

/// The policy of RFC 9260: leaves the window of a new primary path to its controller, and leaves a link that
/// is reported down.
///
/// RFC 9260 §7.1 keeps congestion control parameters per destination address, so a path without data so far
/// starts with its initial window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conservative;

impl HandoverPolicy for Conservative {
    fn name(&self) -> &'static str {
        "conservative"
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        actions.extend(
            view.escape(event).map(|path| Action::SwitchPrimary { path, grounds: Why::LinkDown.into() }),
        );
    }

    fn on_primary_switch(
        &mut self,
        _old: &PathView,
        _new: &PathView,
        _view: &View<'_>,
        _actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        None
    }
}
