//! [`QosMeasurement`]: the window follows the peer's reports about its radio link (Afif, Martins, Tabbane,
//! Godlewski, §IV).

use core::net::IpAddr;

use msctp_congestion::{StartState, Window};
use msctp_proto::handover::{Action, HandoverPolicy, LinkEvent, LinkQuality, LinkState, PathView, View};
use msctp_proto::{PathAddr, PathId, PathState};
use msctp_units::{Rate, Span};
use msctp_wire::{ChunkType, UnknownChunk};

use super::PolicyConfig;
use super::preparation::Preparation;
use crate::quality::{Carried, Incoming, Limits, Outgoing, QOS_MEASUREMENT, Report};

/// Names of the policy's entries in the trace
/// ([`TraceKind::PolicyNote`](msctp_proto::TraceKind::PolicyNote)).
pub mod note {
    /// A report was sent: its number.
    pub const SENT: &str = "report-sent";
    /// A report was accepted: its number, 0 without one. Its fields follow.
    pub const RECEIVED: &str = "report-received";
    /// Nominal rate, bit/s.
    pub const RATE: &str = "report-rate";
    /// Blocks in error per million.
    pub const BLOCK_ERRORS: &str = "report-block-errors";
    /// Coding scheme towards the reported address.
    pub const SCHEME: &str = "report-scheme";
    /// Number of the cell.
    pub const CELL: &str = "report-cell";
    /// Round trip over the link, ns.
    pub const ROUND_TRIP: &str = "report-round-trip";
    /// One-way delay over the link, ns.
    pub const ONE_WAY: &str = "report-one-way";
}

/// Reports this end's links to the peer, and recomputes the window of the primary path at each report of the
/// peer that changes what its link can hold.
///
/// The paper: "The cwnd and ssthresh update is done according to their previous respective values and of the
/// BDP of the radio link", by a formula of a paper it cites. Ours:
///
/// - the coding scheme or the rate changed: `cwnd_new = cwnd_old · BDP_new / BDP_old`, the BDPs being the
///   radio link's: rate times delay as reported, or the rates alone when a delay is missing;
/// - a handover, to another path or, with the addresses kept, to another cell: `cwnd_new = min(BDP_new,
///   cwnd_old)`, where BDP_new takes [`PolicyConfig::qos_delay`], and cwnd_old is the old path's;
/// - never below 1 PMDCS; what a report may *raise* a running path's window to is bounded, see
///   [`crate::quality`];
/// - a sender in congestion avoidance stays there (`ssthresh < cwnd_new`: RFC 9260 §7.2.1 has slow start up
///   to and including ssthresh), one in slow start stays there; else ssthresh keeps its value, as in the
///   paper.
///
/// Without reports, or with reports without a rate, it does as `conservative` by default: plain SCTP. A
/// report is sent on a path over the link that it is about, else on the primary path.
///
/// `AuthConfig::chunks` should list [`QOS_MEASUREMENT`], so that only authenticated reports are taken.
#[derive(Clone, Debug)]
pub struct QosMeasurement {
    preparation: Preparation,
    /// This end's addresses that the peer knows.
    announced: Vec<IpAddr>,
    ours: Outgoing,
    theirs: Incoming,
    carried: Carried,
    /// The last report about each path.
    known: Vec<(PathId, LinkQuality)>,
    /// A switch to a path whose link was not yet reported: the window there was to replace.
    late: Option<(PathId, Window)>,
}

/// The delay by which the reported rate is multiplied for the BDP of a new cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BdpDelay {
    /// The round trip of the whole path, which the window covers. It is the larger of the reported one of the
    /// link and the shortest one measured on the new path, or on the old path before that.
    #[default]
    Path,
    /// The round trip of the radio link alone, as reported.
    Link,
}

impl QosMeasurement {
    /// The name in the registry.
    pub const NAME: &str = "qos-measurement";

    /// Creates the policy with these options.
    pub fn new(config: &PolicyConfig) -> Self {
        Self {
            preparation: Preparation::new(config, false),
            announced: Vec::new(),
            ours: Outgoing::default(),
            theirs: Incoming::default(),
            carried: Carried::default(),
            known: Vec::new(),
            late: None,
        }
    }

    /// Returns BDP_new of `path`, in bytes. `rtt_min`: the least round trip of the old path.
    fn bdp(&self, path: &PathView, report: &LinkQuality, rtt_min: Option<Span>) -> Option<u64> {
        let delay = match self.preparation.config.qos_delay {
            BdpDelay::Link => report.delay(),
            BdpDelay::Path => report.delay().max(path.rtt_min.or(rtt_min)),
        };
        Some(report.rate?.bytes_in(delay?))
    }

    /// Returns the window after a handover from a path with the window `old`.
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

    /// Returns the window that a new report about `path` gives it, before the limits; `None`: it stays.
    fn follow(&mut self, path: PathId, report: &LinkQuality, view: &View<'_>) -> Option<Window> {
        let before = self.remember(path, report);
        let path = view.path(path).filter(|path| path.id == view.primary)?;
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
        }?;
        self.late = None;
        let (old, new) = (path.window, window);
        ((old.cwnd, old.ssthresh) != (new.cwnd, new.ssthresh)).then_some(window)
    }

    /// Sends the reports that are due, and sets the timer for the next.
    fn report(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let announced = &self.announced;
        let can_tell = |address: &IpAddr| announced.contains(address) && path_for(address, view).is_some();
        while let Some(report) = self.ours.poll(view.now, can_tell) {
            let Some(path) = report.address.and_then(|address| path_for(&address, view)) else { break };
            let chunk_type = QOS_MEASUREMENT;
            actions.push(Action::SendChunk { path, chunk_type, value: report.encode() });
            let value = report.number.unwrap_or_default().into();
            actions.push(Action::Note { name: note::SENT, address: report.address, value });
        }
        if let Some(at) = self.ours.next_timeout(can_tell) {
            actions.push(Action::SetTimer { at: Some(at) });
        }
    }
}

/// Returns the path on which a report about `address` is sent: one over that link, else the primary one.
fn path_for(address: &IpAddr, view: &View<'_>) -> Option<PathId> {
    let active = |path: &&PathView| path.state == PathState::Active;
    let over_it = view.paths.iter().filter(active).find(|path| path.local == *address);
    over_it.or_else(|| view.path(view.primary).filter(active)).map(|path| path.id)
}

fn note_received(report: &Report, address: IpAddr, actions: &mut Vec<Action>) {
    let LinkQuality { rate, block_error_ppm, round_trip, one_way, cell, .. } = report.quality;
    let fields = [
        (note::RECEIVED, Some(report.number.unwrap_or_default().into())),
        (note::RATE, rate.map(Rate::as_bps)),
        (note::BLOCK_ERRORS, block_error_ppm.map(u64::from)),
        (note::SCHEME, report.quality.coding_scheme.map(|scheme| scheme.down.into())),
        (note::CELL, cell),
        (note::ROUND_TRIP, round_trip.map(Span::as_nanos)),
        (note::ONE_WAY, one_way.map(Span::as_nanos)),
    ];
    let present = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    actions.extend(present.map(|(name, value)| Action::Note { name, address: Some(address), value }));
}

/// Returns `cwnd` in the phase `old` was in. RFC 9260 §7.2.1: slow start while cwnd ≤ ssthresh.
fn in_phase_of(old: Window, cwnd: u64) -> Window {
    let slow_start = old.cwnd <= old.ssthresh;
    let ssthresh = if slow_start { old.ssthresh.max(cwnd) } else { old.ssthresh.min(cwnd.saturating_sub(1)) };
    Window { cwnd, ssthresh, partial_bytes_acked: 0 }
}

/// Returns BDP_new / BDP_old of the link; `None` if a rate was not reported.
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

/// Returns `cwnd · new / old`, rounded down, saturating.
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

    fn private_chunks(&self) -> &'static [ChunkType] {
        &[QOS_MEASUREMENT]
    }

    fn wants_round_trips(&self) -> bool {
        true
    }

    fn on_established(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        self.announced.clear();
        self.announced.extend(view.paths.iter().map(|path| path.local));
        self.ours.begin();
        self.theirs.clear();
        // Anyone may have forged those of an association in clear, which a restart protects.
        self.known.clear();
        self.late = None;
        self.carried = Carried::default();
        self.report(view, actions);
    }

    fn on_local_address(&mut self, address: IpAddr, added: bool, view: &View<'_>, actions: &mut Vec<Action>) {
        self.announced.retain(|announced| *announced != address);
        if added {
            self.announced.push(address);
            self.ours.again(address);
            self.report(view, actions);
        } else {
            self.ours.forget(&address);
        }
    }

    fn on_primary_requested(&mut self, local: IpAddr, view: &View<'_>, actions: &mut Vec<Action>) {
        self.ours.again(local);
        self.report(view, actions);
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        self.preparation.on_path_added(path, view, actions);
        self.report(view, actions);
    }

    fn on_path_state(&mut self, _: PathId, _: PathState, view: &View<'_>, actions: &mut Vec<Action>) {
        self.report(view, actions);
    }

    fn on_path_removed(&mut self, path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {
        self.preparation.on_path_removed(path);
        self.known.retain(|known| known.0 != path);
        self.late = self.late.filter(|late| late.0 != path);
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        if let LinkState::Quality(quality) = event.state {
            self.ours.set(event.local, quality);
            self.report(view, actions);
        }
        self.preparation.on_link_event(event, view, actions);
    }

    fn on_timer(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        self.report(view, actions);
    }

    fn on_round_trip(&mut self, path: PathId, sample: Span, view: &View<'_>, _actions: &mut Vec<Action>) {
        if let Some(path) = view.path(path).filter(|path| path.id == view.primary) {
            self.carried.on_round_trip(view.now, sample, path);
        }
    }

    fn on_chunk(
        &mut self,
        from: PathAddr,
        chunk: &UnknownChunk<'_>,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) {
        let report = Report::read(chunk.value());
        let address = report.address.unwrap_or(from.remote);
        let is_the_peers = |address: &IpAddr| view.paths.iter().any(|path| path.remote == *address);
        self.theirs.retain(is_the_peers);
        if !is_the_peers(&address) || !self.theirs.accept(address, &report) {
            return;
        }
        note_received(&report, address, actions);
        for path in view.paths.iter().filter(|path| path.remote == address) {
            let Some(window) = self.follow(path.id, &report.quality, view) else { continue };
            self.carried.look(path);
            let limits = Limits {
                window: path.window,
                carried: self.carried.bytes(),
                receivable: path.flight_size.saturating_add(view.peer_rwnd),
                pmdcs: path.pmdcs,
            };
            let (cwnd, ssthresh) = limits.admit(window.cwnd, window.ssthresh);
            self.carried.on_adjusted(cwnd, ssthresh);
            actions.push(Action::Adjust { path: path.id, cwnd, ssthresh });
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
        self.carried.on_primary_switch();
        let quality = self.theirs.latest(&new.remote);
        if let Some(report) = &quality {
            self.remember(new.id, report);
        }
        let window = quality.and_then(|report| self.handed_over(old.window, new, &report, old.rtt_min));
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
    use super::*;
    use crate::policies::testing::{path, switch, view};

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

    /// Returns the window of the primary path after a first and a second report.
    fn after(window: (u64, u64), first: LinkQuality, second: LinkQuality) -> Option<(u64, u64)> {
        let paths = [running(0, window.0, window.1)];
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        assert_eq!(
            policy.follow(paths[0].id, &first, &view(0, &paths)),
            None,
            "a first report changes nothing"
        );
        let window = policy.follow(paths[0].id, &second, &view(0, &paths))?;
        Some((window.cwnd, window.ssthresh))
    }

    /// An attacker may have set up the association in clear before the peer restarts it under protection.
    #[test]
    fn a_report_from_before_a_restart_does_not_count() {
        let paths = [running(0, 20_000, 5_000)];
        let view = view(0, &paths);
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        assert_eq!(policy.follow(paths[0].id, &kbps(1000), &view), None);
        policy.on_established(&view, &mut Vec::new());
        assert_eq!(policy.follow(paths[0].id, &kbps(60), &view), None, "the first report changes nothing");
        assert!(policy.follow(paths[0].id, &kbps(30), &view).is_some());
    }

    /// The peer reported `quality` of the link below the remote address of `path`.
    fn reported(policy: &mut QosMeasurement, path: &PathView, quality: LinkQuality) {
        policy.theirs.clear();
        assert!(policy.theirs.accept(path.remote, &Report { quality, ..Report::default() }));
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
        let new = path(1);
        reported(&mut policy, &new, report);
        let start = |cwnd, ssthresh| Some(StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: None });
        assert_eq!(switch(&mut policy, &old, &new).0, start(4320, 4319), "in avoidance");
        let slow = running(0, 20_000, u64::MAX);
        assert_eq!(switch(&mut policy, &slow, &new).0, start(4320, u64::MAX), "in slow start");
        let small = running(0, 3_000, 2_000);
        assert_eq!(switch(&mut policy, &small, &new).0, start(3_000, 2_000), "bounded by the old window");
        reported(&mut policy, &new, kbps(1));
        assert_eq!(switch(&mut policy, &old, &new).0, start(1468, 1467), "1 MTU");
        reported(&mut policy, &new, report);
        let longer = PathView { rtt_min: Some(Span::from_secs(1)), ..new };
        assert_eq!(switch(&mut policy, &old, &longer).0, start(5400, 5399), "the new path's own round trip");
    }

    #[test]
    fn the_links_own_delay_is_an_option() {
        let config = PolicyConfig { qos_delay: BdpDelay::Link, ..PolicyConfig::default() };
        let mut policy = QosMeasurement::new(&config);
        let report = LinkQuality { one_way: Some(Span::from_millis(200)), ..kbps(40) };
        reported(&mut policy, &path(1), report);
        let (start, _) = switch(&mut policy, &running(0, 20_000, 6_000), &path(1));
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
        let (start, actions) = switch(&mut policy, &paths[0], &paths[1]);
        assert!(start.is_none() && actions.is_empty());
        let follow = |policy: &mut QosMeasurement| {
            policy
                .follow(paths[1].id, &kbps(80), &view(1, &paths))
                .map(|window| (window.cwnd, window.ssthresh))
        };
        assert_eq!(follow(&mut policy), Some((8_000, 6_000)));
        assert_eq!(follow(&mut policy), None, "once");
    }

    #[test]
    fn only_the_primary_path_is_adjusted() {
        let paths = [running(0, 20_000, 6_000), running(1, 20_000, 6_000)];
        let mut policy = QosMeasurement::new(&PolicyConfig::default());
        assert_eq!(policy.follow(paths[1].id, &kbps(60), &view(0, &paths)), None);
        assert_eq!(policy.follow(paths[1].id, &kbps(30), &view(0, &paths)), None);
        policy.on_path_removed(paths[1].id, &view(0, &paths[..1]), &mut Vec::new());
        assert_eq!(policy.known, []);
    }
}
