//! [`Adaptive`]: the new path starts with the window its estimated bandwidth allows (Kim & Koh 2009, eq. 3).

use msctp_congestion::StartState;
use msctp_congestion::estimator::Estimate;

use super::{ByRule, PolicyConfig, StartRule};
use msctp_proto::handover::PathView;

/// cwnd = min(cwnd_old, C·RTT_min)·B/C, at least 1 PMDCS (the paper's 1 MTU, in the bytes that windows
/// count).
///
/// C, B and RTT_min come from the estimator, which runs on each new path until it becomes primary. B above C,
/// which smoothing can give when C fell, counts as C. A switch before the first estimate starts with an
/// initial window: RFC 9260's, or the configured one.
pub type Adaptive = ByRule<AdaptiveStart>;

/// The rule of [`Adaptive`].
#[derive(Clone, Copy, Debug)]
pub enum AdaptiveStart {}

/// Computes Kim & Koh's equation 3 in bytes, without a floor.
fn equation_3(cwnd_old: u64, estimate: &Estimate) -> u64 {
    let (b, c) = (estimate.available.as_bps(), estimate.capacity.as_bps());
    let bdp = estimate.capacity.bytes_in(estimate.rtt_min);
    let product = u128::from(cwnd_old.min(bdp)) * u128::from(b.min(c));
    // The quotient is at most cwnd_old, so that it fits.
    product.checked_div(u128::from(c)).map_or(0, |cwnd| cwnd as u64)
}

impl StartRule for AdaptiveStart {
    const NAME: &'static str = "adaptive";
    const NEEDS_ESTIMATES: bool = true;

    fn start(config: &PolicyConfig, old: &PathView, new: &PathView) -> Option<StartState> {
        let cwnd = match &new.estimate {
            Some(estimate) => equation_3(old.window.cwnd, estimate).max(new.pmdcs),
            None => new.initial_window(config.initial_window.unwrap_or_default()),
        };
        Some(config.start(cwnd, new))
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::InitialWindow;
    use msctp_proto::handover::{Action, HandoverPolicy};
    use msctp_units::Time;

    use super::*;
    use crate::policies::SwitchSsthresh;
    use crate::policies::testing::{estimate, path, shown, switch, view, with_cwnd};
    use crate::wbest::WBest;

    fn cwnd_at_switch(cwnd_old: u64, c_kbps: u64, b_kbps: u64, rtt_min_ms: u64) -> u64 {
        let new = PathView { estimate: Some(estimate(c_kbps, b_kbps, rtt_min_ms)), ..path(1) };
        let (start, _) = switch(&mut Adaptive::new(&PolicyConfig::default()), &with_cwnd(0, cwnd_old), &new);
        start.unwrap().cwnd
    }

    /// Eq. 1, 3G to WLAN: BDP = 11 Mbps · 70 ms / 8 = 96,250 bytes, more than the old window.
    #[test]
    fn to_a_wider_path_the_old_window_times_b_over_c() {
        assert_eq!(cwnd_at_switch(20_000, 11_000, 11_000, 70), 20_000);
        assert_eq!(cwnd_at_switch(20_000, 11_000, 6_600, 70), 12_000);
        assert_eq!(cwnd_at_switch(20_000, 11_000, 2_200, 70), 4_000);
    }

    /// Eq. 2, WLAN to 3G: BDP = 384 kbps · 230 ms / 8 = 11,040 bytes, less than the old window.
    #[test]
    fn to_a_narrower_path_its_bdp_times_b_over_c() {
        assert_eq!(cwnd_at_switch(65_536, 384, 384, 230), 11_040);
        assert_eq!(cwnd_at_switch(65_536, 384, 230, 230), 6_612);
        assert_eq!(cwnd_at_switch(65_536, 384, 192, 230), 5_520);
    }

    #[test]
    fn never_below_one_mtu_nor_above_eq_3s_minimum() {
        assert_eq!(cwnd_at_switch(65_536, 384, 0, 230), 1468, "B = 0");
        assert_eq!(cwnd_at_switch(20_000, 0, 0, 70), 1468, "C = 0");
        assert_eq!(cwnd_at_switch(20_000, 5_500, 11_000, 70), 20_000, "B > C counts as C");
        assert_eq!(cwnd_at_switch(u64::MAX, 11_000, 11_000, 70), 96_250);
    }

    #[test]
    fn without_an_estimate_an_initial_window() {
        let mut policy = Adaptive::new(&PolicyConfig::default());
        let (start, _) = switch(&mut policy, &with_cwnd(0, 65_536), &with_cwnd(1, 9_999));
        assert_eq!(start, Some(StartState { cwnd: 4404, ssthresh: None, pacing_rate: None }));
        let one = PolicyConfig { initial_window: Some(InitialWindow::Packets(1)), ..PolicyConfig::default() };
        let (start, _) = switch(&mut Adaptive::new(&one), &with_cwnd(0, 65_536), &path(1));
        assert_eq!(start.unwrap().cwnd, 1468);
    }

    #[test]
    fn the_papers_threshold_beside_eq_3() {
        let config = PolicyConfig { ssthresh: SwitchSsthresh::EstimatedHalfBdp, ..PolicyConfig::default() };
        let new = PathView { estimate: Some(estimate(384, 192, 230)), ..path(1) };
        let (start, _) = switch(&mut Adaptive::new(&config), &with_cwnd(0, 65_536), &new);
        // B·RTT_min / 2 = 192 kbps · 230 ms / 8 / 2 = 2760 bytes
        assert_eq!(start, Some(StartState { cwnd: 5_520, ssthresh: Some(2_760), pacing_rate: None }));
    }

    #[test]
    fn it_probes_from_the_addition_to_the_switch() {
        let paths = [path(0), path(1)];
        let mut policy = Adaptive::new(&PolicyConfig::default());
        let mut actions = Vec::new();
        policy.on_path_added(paths[1].id, &view(0, &paths), &mut actions);
        let estimator = Box::new(WBest::new(PolicyConfig::default().wbest, Time::ZERO).unwrap());
        assert_eq!(shown(&actions), shown(&[Action::StartProbing { path: paths[1].id, estimator }]));
        let (_, actions) = switch(&mut policy, &paths[0], &paths[1]);
        assert_eq!(shown(&actions), shown(&[Action::StopProbing { path: paths[1].id }]));
    }
}
