//! [`StartRule`]: a scheme that only chooses the start state of the new path, as most schemes do.

use core::fmt;
use core::marker::PhantomData;

use msctp_congestion::StartState;

use super::PolicyConfig;
use super::preparation::Preparation;
use msctp_proto::PathId;
use msctp_proto::handover::{Action, HandoverPolicy, LinkEvent, PathView, View};

/// Chooses the start state of the new primary path. [`ByRule`] turns it into a policy, which also probes
/// paths whose estimates are needed, and leaves a link that is reported down.
pub trait StartRule: fmt::Debug + Send + 'static {
    /// The name in the registry.
    const NAME: &'static str;
    /// The rule computes with estimates of the new path: they are made from its addition to the switch.
    const NEEDS_ESTIMATES: bool = false;

    /// Returns the state in which `new` starts after `old`; `None` leaves its controller as it is.
    fn start(config: &PolicyConfig, old: &PathView, new: &PathView) -> Option<StartState>;
}

/// The policy of a [`StartRule`].
#[derive(Clone, Debug)]
pub struct ByRule<R> {
    preparation: Preparation,
    rule: PhantomData<R>,
}

impl<R: StartRule> ByRule<R> {
    /// The name in the registry.
    pub const NAME: &'static str = R::NAME;

    /// Creates the rule with these options.
    pub fn new(config: &PolicyConfig) -> Self {
        Self { preparation: Preparation::new(config, R::NEEDS_ESTIMATES), rule: PhantomData }
    }
}

impl<R: StartRule> HandoverPolicy for ByRule<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn measures(&self) -> bool {
        R::NEEDS_ESTIMATES
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
        old: &PathView,
        new: &PathView,
        _view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        self.preparation.on_primary_switch(new.id, actions);
        R::start(&self.preparation.config, old, new)
    }
}
