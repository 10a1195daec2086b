//! Views and events for the policies' tests.

#[path = "../../../../crates/schemes/src/testing.rs"]
mod paths;

use msctp_congestion::StartState;
use msctp_congestion::Window;
use msctp_proto::PathId;
use msctp_proto::handover::{Action, HandoverPolicy, LinkEvent, LinkState, PathView, View};
use msctp_units::Time;

pub(crate) use paths::{estimate, path, shown};

pub(crate) fn with_cwnd(n: u8, cwnd: u64) -> PathView {
    PathView { window: Window { cwnd, ..path(n).window }, ..path(n) }
}

pub(crate) fn view(primary: u8, paths: &[PathView]) -> View<'_> {
    View { now: Time::ZERO, peer_rwnd: 1 << 20, unsent: 1 << 20, primary: PathId::new(primary.into()), paths }
}

/// The primary moves from `old` to `new`.
pub(crate) fn switch(
    policy: &mut dyn HandoverPolicy,
    old: &PathView,
    new: &PathView,
) -> (Option<StartState>, Vec<Action>) {
    let mut actions = Vec::new();
    let view =
        View { now: Time::ZERO, peer_rwnd: 1 << 20, unsent: 1 << 20, primary: new.id, paths: &[*old, *new] };
    let start = policy.on_primary_switch(old, new, &view, &mut actions);
    (start, actions)
}

pub(crate) fn up(n: u8) -> LinkEvent {
    LinkEvent { local: path(n).local, state: LinkState::Up }
}

pub(crate) fn down(n: u8) -> LinkEvent {
    LinkEvent { local: path(n).local, state: LinkState::Down }
}
