//! [`QosMeasurement`]: the window follows the radio link the peer reports (Afif, Martins, Tabbane, Godlewski, §IV).

use msctp_congestion::{StartState, Window};
use msctp_units::{Rate, Span};

use super::preparation::Preparation;
use super::{Action, HandoverPolicy, LinkEvent, PathView, PolicyConfig, View};
use crate::PathId;
use crate::quality::LinkQuality;

/// The window of the primary path, recomputed at each report that changes what its link can hold.
///
/// The paper: "The cwnd and ssthresh update is done according to their previous respective values and of the BDP of the
/// radio link", by a formula of a paper it cites. Ours:
///
/// - the coding scheme or the rate changed: `cwnd_new = cwnd_old · BDP_new / BDP_old`, the BDPs being the radio link's: rate times
///   delay as reported, or the rates alone when a delay is missing;
/// - a handover, to another path or, with the addresses kept, to another cell: `cwnd_new = min(BDP_new, cwnd_old)`, where BDP_new
///   takes [`QosRule::delay`], and cwnd_old is the old path's;
/// - never below 1 PMDCS; what a report may *raise* a running path's window to is bounded, see [`crate::quality`];
/// - a sender in congestion avoidance stays there (`ssthresh < cwnd_new`: RFC 9260 §7.2.1 has slow start up to and including
///   ssthresh), one in slow start stays there; else ssthresh keeps its value, as in the paper.
///
/// Without reports, or with reports that do not tell the rate, it is as conservative under its defaults: plain SCTP.
#[derive(Clone, Debug)]
pub struct QosMeasurement {
    preparation: Preparation,
    /// The last report about each path.
    known: Vec<(PathId, LinkQuality)>,
    /// A switch to a path whose link was not yet reported: the window there was to replace.
    late: Option<(PathId, Window)>,
}

/// Options of `qos-measurement`. The defaults are our reading of the paper; each other value is a departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosRule {
    /// The delay of BDP_new at a handover.
    pub delay: BdpDelay,
    /// At a fall of the reported rate raise the RTO in proportion, until the next measurement: what is queued takes that much longer.
    /// Not in the paper; false.
    pub raise_rto: bool,
}

/// Which delay times the reported rate gives the BDP of a new cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BdpDelay {
    /// The round trip of the whole path, since the window covers all of it: the greatest of the link's as reported, the
    /// least measured on the new path and, while there is none, the least measured on the old one.
    #[default]
    Path,
    /// The round trip of the radio link alone, as reported.
    Link,
}

impl QosMeasurement {
    /// The name in the registry.
    pub const NAME: &str = "qos-measurement";

    /// Under these options.
    pub fn new(config: &PolicyConfig) -> Self {
        Self { preparation: Preparation::new(config, false), known: Vec::new(), late: None }
    }

    fn rule(&self) -> QosRule {
        self.preparation.config.qos
    }

    /// BDP_new of `path`, in bytes. `rtt_min`: the least round trip of the old path.
    fn bdp(&self, path: &PathView, report: &LinkQuality, rtt_min: Option<Span>) -> Option<u64> {
        let delay = match self.rule().delay {
            BdpDelay::Link => report.delay(),
            BdpDelay::Path => report.delay().max(path.rtt_min.or(rtt_min)),
        };
        Some(report.rate?.bytes_in(delay?))
    }

    /// A handover from a path with the window `old`.
    fn handed_over(
        &self,
        old: Window,
        path: &PathView,
        report: &LinkQuality,
        rtt_min: Option<Span>,
    ) -> Option<Window> {
        let bdp = self.bdp(path, report, rtt_min)?;
        Some(in_phase_of(old, bdp.min(old.cwnd).max(path.pmdcs)))
    }

    /// Keeps `report`; gives the one before it.
    fn remember(&mut self, path: PathId, report: &LinkQuality) -> Option<LinkQuality> {
        match self.known.iter_mut().find(|known| known.0 == path) {
            Some((_, known)) => Some(core::mem::replace(known, *report)),
            None => {
                self.known.push((path, *report));
                None
            }
        }
    }
}

/// `cwnd` in the phase `old` was in. RFC 9260 §7.2.1: slow start while cwnd ≤ ssthresh.
fn in_phase_of(old: Window, cwnd: u64) -> Window {
    let slow_start = old.cwnd <= old.ssthresh;
    let ssthresh = if slow_start { old.ssthresh.max(cwnd) } else { old.ssthresh.min(cwnd.saturating_sub(1)) };
    Window { cwnd, ssthresh, partial_bytes_acked: 0 }
}

/// BDP_new / BDP_old of the link; `None` when a rate was not told.
fn ratio(old: &LinkQuality, new: &LinkQuality) -> Option<(u128, u128)> {
    let bits = |rate: Rate| u128::from(rate.as_bps());
    let (rates, delays) = ((bits(new.rate?), bits(old.rate?)), (new.delay(), old.delay()));
    Some(match delays {
        (Some(new), Some(old)) => {
            (rates.0 * u128::from(new.as_nanos()), rates.1 * u128::from(old.as_nanos()))
        }
        _ => rates,
    })
}

/// `cwnd · new / old`, rounded down, saturating.
fn scaled(cwnd: u64, (new, old): (u128, u128)) -> u64 {
    u128::from(cwnd)
        .saturating_mul(new)
        .checked_div(old)
        .map_or(cwnd, |cwnd| cwnd.try_into().unwrap_or(u64::MAX))
}

impl HandoverPolicy for QosMeasurement {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_path_added(path, view, actions);
    }

    fn on_path_removed(&mut self, path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {
        self.preparation.on_path_removed(path);
        self.known.retain(|known| known.0 != path);
        self.late = self.late.filter(|late| late.0 != path);
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_link_event(event, view, actions);
    }

    fn on_quality(&mut self, path: PathId, report: &LinkQuality, view: &View<'_>, actions: &mut Vec<Action>) {
        let before = self.remember(path, report);
        let Some(path) = view.path(path).filter(|path| path.id == view.primary) else { return };
        let late = self.late.filter(|late| late.0 == path.id);
        let other_cell =
            |old: &LinkQuality| matches!((old.cell, report.cell), (Some(old), Some(new)) if old != new);
        let window = match (before, late) {
            (_, Some((_, old))) => self.handed_over(old, path, report, None),
            (Some(before), None) if other_cell(&before) => self.handed_over(path.window, path, report, None),
            (Some(before), None)
                if before.rate != report.rate || before.coding_scheme != report.coding_scheme =>
            {
                ratio(&before, report)
                    .map(|ratio| in_phase_of(path.window, scaled(path.window.cwnd, ratio).max(path.pmdcs)))
            }
            _ => None,
        };
        if let Some(Window { cwnd, ssthresh, .. }) = window {
            self.late = None;
            if (cwnd, ssthresh) != (path.window.cwnd, path.window.ssthresh) {
                actions.push(Action::Adjust { path: path.id, cwnd, ssthresh });
            }
        }
        if let (true, Some(old), Some(new)) =
            (self.rule().raise_rto, before.and_then(|b| b.rate), report.rate)
            && new < old
        {
            let rto = path.rto.mul_ratio(old.as_bps(), new.as_bps());
            actions.push(Action::RaiseRto { path: path.id, rto });
        }
    }

    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        _view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        self.preparation.on_primary_switch(new.id, actions);
        if let Some(report) = &new.quality {
            self.remember(new.id, report);
        }
        let window = new.quality.and_then(|report| self.handed_over(old.window, new, &report, old.rtt_min));
        self.late = window.is_none().then_some((new.id, old.window));
        window.map(|window| StartState {
            cwnd: window.cwnd,
            ssthresh: Some(window.ssthresh),
            pacing_rate: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{path, switch, view};
    use super::*;

    fn kbps(rate: u64) -> LinkQuality {
        LinkQuality { rate: Some(Rate::from_kbps(rate)), ..LinkQuality::default() }
    }

    fn in_cell(rate: u64, cell: u64) -> LinkQuality {
        LinkQuality { cell: Some(cell), ..kbps(rate) }
    }

    fn running(n: u8, cwnd: u64, ssthresh: u64) -> PathView {
        let window = Window { cwnd, ssthresh, partial_bytes_acked: 0 };
        PathView { window, rtt_min: Some(Span::from_millis(800)), ..path(n) }
    }

    /// What a first and a second report make of the window of the primary path.
    fn after(window: (u64, u64), first: LinkQuality, second: LinkQuality) -> Option<(u64, u64)> {
        let paths = [running(0, window.0, window.1)];
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        let mut actions = Vec::new();
        policy.on_quality(paths[0].id, &first, &view(0, &paths), &mut actions);
        assert_eq!(actions, [], "a first report changes nothing");
        policy.on_quality(paths[0].id, &second, &view(0, &paths), &mut actions);
        match actions[..] {
            [] => None,
            [Action::Adjust { path, cwnd, ssthresh }] => {
                assert_eq!(path, paths[0].id);
                Some((cwnd, ssthresh))
            }
            _ => panic!("{actions:?}"),
        }
    }

    /// CS4 to CS3 on 3 PDCHs: 60 to 43.2 kbit/s; CS2 to CS1: 36 to 24 kbit/s.
    #[test]
    fn the_old_window_times_the_ratio_of_the_bdps() {
        let cs3 = LinkQuality { rate: Some(Rate::from_bps(43_200)), ..LinkQuality::default() };
        assert_eq!(after((20_000, 5_000), kbps(60), cs3), Some((14_400, 5_000)));
        assert_eq!(after((15_000, 12_000), kbps(36), kbps(24)), Some((10_000, 9_999)), "avoidance stays");
        assert_eq!(after((10_000, 5_000), kbps(24), kbps(60)), Some((25_000, 5_000)), "and up");
        let delay = |ms, rate| LinkQuality { round_trip: Some(Span::from_millis(ms)), ..kbps(rate) };
        assert_eq!(after((12_000, 0), delay(100, 60), delay(200, 40)), Some((16_000, 0)), "delays count");
        assert_eq!(after((12_000, 0), delay(100, 60), kbps(40)), Some((8_000, 0)), "one is missing");
    }

    #[test]
    fn slow_start_stays_slow_start() {
        assert_eq!(after((20_000, u64::MAX), kbps(60), kbps(30)), Some((10_000, u64::MAX)));
        assert_eq!(after((8_000, 9_000), kbps(30), kbps(60)), Some((16_000, 16_000)), "cwnd ≤ ssthresh");
    }

    #[test]
    fn never_below_one_mtu_and_nothing_without_a_change() {
        assert_eq!(after((3_000, 0), kbps(60), kbps(1)), Some((1468, 0)));
        assert_eq!(after((3_000, 0), kbps(60), LinkQuality { block_error_ppm: Some(5), ..kbps(60) }), None);
        assert_eq!(after((3_000, 0), kbps(60), LinkQuality::default()), None, "no rate");
        assert_eq!(after((3_000, 0), LinkQuality::default(), kbps(60)), None, "no rate before");
        let extreme =
            after((u64::MAX, 0), kbps(1), LinkQuality { rate: Some(Rate::from_bps(u64::MAX)), ..kbps(1) });
        assert_eq!(extreme.map(|(cwnd, _)| cwnd), None, "already the largest there is");
    }

    /// 43.2 kbit/s · 800 ms / 8 = 4320 bytes.
    #[test]
    fn a_handover_starts_with_the_new_cells_bdp() {
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        let report = LinkQuality { rate: Some(Rate::from_bps(43_200)), ..LinkQuality::default() };
        let old = running(0, 20_000, 6_000);
        let new = PathView { quality: Some(report), ..path(1) };
        let start = |cwnd, ssthresh| Some(StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: None });
        assert_eq!(switch(&mut policy, &old, &new).0, start(4320, 4319), "in avoidance");
        let slow = running(0, 20_000, u64::MAX);
        assert_eq!(switch(&mut policy, &slow, &new).0, start(4320, u64::MAX), "in slow start");
        let small = running(0, 3_000, 2_000);
        assert_eq!(switch(&mut policy, &small, &new).0, start(3_000, 2_000), "bounded by the old window");
        let tiny = PathView { quality: Some(kbps(1)), ..path(1) };
        assert_eq!(switch(&mut policy, &old, &tiny).0, start(1468, 1467), "1 MTU");
        let longer = PathView { rtt_min: Some(Span::from_secs(1)), ..new };
        assert_eq!(switch(&mut policy, &old, &longer).0, start(5400, 5399), "the new path's own round trip");
    }

    #[test]
    fn the_links_own_delay_is_an_option() {
        let qos = QosRule { delay: BdpDelay::Link, ..QosRule::default() };
        let mut policy = QosMeasurement::new(&PolicyConfig { qos, ..PolicyConfig::default() });
        let report = LinkQuality { one_way: Some(Span::from_millis(200)), ..kbps(40) };
        let (start, _) =
            switch(&mut policy, &running(0, 20_000, 6_000), &PathView { quality: Some(report), ..path(1) });
        assert_eq!(start.unwrap().cwnd, 2_000);
    }

    #[test]
    fn another_cell_on_the_same_path_is_a_handover() {
        assert_eq!(after((20_000, 6_000), in_cell(24, 1), in_cell(40, 2)), Some((4_000, 3_999)));
        assert_eq!(after((20_000, 6_000), in_cell(24, 1), kbps(48)), Some((40_000, 6_000)), "cell not told");
    }

    #[test]
    fn without_a_report_the_new_path_keeps_its_own_state_until_one_comes() {
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        let paths = [running(0, 20_000, 6_000), running(1, 4404, u64::MAX)];
        assert_eq!(switch(&mut policy, &paths[0], &paths[1]), (None, vec![]));
        let mut actions = Vec::new();
        policy.on_quality(paths[1].id, &kbps(80), &view(1, &paths), &mut actions);
        assert_eq!(actions, [Action::Adjust { path: paths[1].id, cwnd: 8_000, ssthresh: 6_000 }]);
        actions.clear();
        policy.on_quality(paths[1].id, &kbps(80), &view(1, &paths), &mut actions);
        assert_eq!(actions, [], "once");
    }

    #[test]
    fn only_the_primary_path_is_adjusted() {
        let paths = [running(0, 20_000, 6_000), running(1, 20_000, 6_000)];
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        let mut actions = Vec::new();
        policy.on_quality(paths[1].id, &kbps(60), &view(0, &paths), &mut actions);
        policy.on_quality(paths[1].id, &kbps(30), &view(0, &paths), &mut actions);
        assert_eq!(actions, []);
        policy.on_path_removed(paths[1].id, &view(0, &paths[..1]), &mut actions);
        assert_eq!(policy.known, []);
    }

    #[test]
    fn the_rto_rises_with_the_fall_of_the_rate_if_asked_for() {
        let qos = QosRule { raise_rto: true, ..QosRule::default() };
        let mut policy = QosMeasurement::new(&PolicyConfig { qos, ..PolicyConfig::default() });
        let paths = [PathView { rto: Span::from_secs(2), ..running(0, 1468, 0) }];
        let mut actions = Vec::new();
        for rate in [36, 24, 36] {
            policy.on_quality(paths[0].id, &kbps(rate), &view(0, &paths), &mut actions);
        }
        let raised = Action::RaiseRto { path: paths[0].id, rto: Span::from_secs(3) };
        let up = Action::Adjust { path: paths[0].id, cwnd: 2202, ssthresh: 0 };
        assert_eq!(actions, [raised, up]);
    }
}
