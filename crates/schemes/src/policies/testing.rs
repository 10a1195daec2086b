//! Views and events for the policies' tests.

use core::net::{IpAddr, Ipv4Addr};

use msctp_congestion::estimator::Estimate;
use msctp_congestion::{StartState, Window};
use msctp_units::{Rate, Span, Time};

use msctp_proto::handover::{Action, HandoverPolicy, LinkEvent, LinkState, PathView, View};
use msctp_proto::{PathId, PathState};

/// Path `n`, on a local and a remote address of its own, active, never used; PMDCS 1468.
pub(crate) fn path(n: u8) -> PathView {
    PathView {
        id: PathId::new(n.into()),
        local: local(n),
        remote: IpAddr::V4(Ipv4Addr::new(10, 1, n, 1)),
        state: PathState::Active,
        link_up: true,
        window: Window { cwnd: 4404, ssthresh: u64::MAX, partial_bytes_acked: 0 },
        flight_size: 0,
        bytes_acked: 0,
        srtt: None,
        rtt_min: None,
        rto: Span::from_secs(1),
        pmdcs: 1468,
        estimate: None,
    }
}

pub(crate) fn with_cwnd(n: u8, cwnd: u64) -> PathView {
    PathView { window: Window { cwnd, ..path(n).window }, ..path(n) }
}

pub(crate) fn estimate(c_kbps: u64, b_kbps: u64, rtt_min_ms: u64) -> Estimate {
    Estimate {
        capacity: Rate::from_kbps(c_kbps),
        available: Rate::from_kbps(b_kbps),
        rtt_min: Span::from_millis(rtt_min_ms),
        loss_ppm: 0,
        iteration: 1,
    }
}

pub(crate) fn view(primary: u8, paths: &[PathView]) -> View<'_> {
    View { now: Time::ZERO, peer_rwnd: 1 << 20, unsent: 1 << 20, primary: PathId::new(primary.into()), paths }
}

/// Formats actions as text, to compare them: an estimator has no equality.
pub(crate) fn shown(actions: &[Action]) -> Vec<String> {
    actions.iter().map(|action| format!("{action:?}")).collect()
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
    LinkEvent { local: local(n), state: LinkState::Up }
}

pub(crate) fn down(n: u8) -> LinkEvent {
    LinkEvent { local: local(n), state: LinkState::Down }
}

fn local(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, n, 1))
}
