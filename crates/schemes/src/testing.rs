//! Views of paths for the policies' tests, those of the laboratory too.

use core::net::{IpAddr, Ipv4Addr};

use msctp_congestion::Window;
use msctp_congestion::estimator::Estimate;
use msctp_proto::handover::{Action, PathView};
use msctp_proto::{Cost, PathId, PathState};
use msctp_units::{Rate, Span};

/// Path `n`, on a local and a remote address of its own, active, never used; PMDCS 1468.
pub(crate) fn path(n: u8) -> PathView {
    PathView {
        id: PathId::new(n.into()),
        local: IpAddr::V4(Ipv4Addr::new(10, 0, n, 1)),
        remote: IpAddr::V4(Ipv4Addr::new(10, 1, n, 1)),
        state: PathState::Active,
        link_up: true,
        cost: Cost::default(),
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

pub(crate) fn estimate(c_kbps: u64, b_kbps: u64, rtt_min_ms: u64) -> Estimate {
    Estimate {
        capacity: Rate::from_kbps(c_kbps),
        available: Rate::from_kbps(b_kbps),
        rtt_min: Span::from_millis(rtt_min_ms),
        loss_ppm: 0,
        iteration: 1,
    }
}

/// Formats actions as text, to compare them: an estimator has no equality.
pub(crate) fn shown(actions: &[Action]) -> Vec<String> {
    actions.iter().map(|action| format!("{action:?}")).collect()
}
