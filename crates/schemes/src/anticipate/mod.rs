//! [`Anticipate`]: moves when another path would carry more, and starts there at its measured rate. Ours.

mod known;
#[cfg(test)]
mod tests;

use known::Known;
use msctp_congestion::estimator::Estimate;
use msctp_congestion::{Measured, StartState};
use msctp_proto::handover::{
    Action, Grounds, HandoverPolicy, LinkEvent, LinkState, PathView, PolicyFactory, View, Why,
};
use msctp_proto::{PathId, PathState};
use msctp_units::{Rate, Span, Time};

use crate::train::{LONG, Train};

/// Time between two comparisons of the paths while data flows, and while none does.
const TICK: Span = Span::from_millis(100);
const IDLE_TICK: Span = Span::from_secs(1);
/// Time between two trains on an idle path, and while the primary path is in trouble.
const TRAINS: Span = Span::from_millis(1000);
const URGENT_TRAINS: Span = Span::from_millis(300);
/// Share of the measured bandwidth that a sender carries on a path whose rate varies, in per cent.
const CARRIED: u64 = 80;
/// Rate that another path must promise, in per cent of the primary path's: the cost of a move.
const BETTER: u64 = 110;
/// A primary path stands still if it carries less than this share of another path's promise, in per cent.
const STANDSTILL: u64 = 20;
/// Time on a path before a better one is compared, and before a standstill counts.
const SETTLED: Span = Span::from_millis(1500);
const STARTED: Span = Span::from_millis(500);
/// Both are at least so many of the path's round trips: the first one shows nothing, then the rate grows.
const GROWING: u64 = 4;
/// A longer round trip counts as this long: a path that takes seconds is not waited for.
const LONGEST_ROUND_TRIP: Span = Span::from_millis(750);
/// Time on a path that the application, the peer or a failure chose.
const RESPECTED: Span = Span::from_secs(5);
/// The oldest measurement that a path starts at.
const FRESH: Span = Span::from_millis(2500);
/// Minimum time over which a standstill is measured.
const RECENT: Span = Span::from_millis(300);
/// Chunks in flight on the old path are retransmitted if they would take longer than this to arrive.
const LEFT_BEHIND: Span = Span::from_millis(150);
/// Time after a move in which they are.
const RESENDING: Span = Span::from_secs(3);
/// Data takes a backup path if the others carried too little for this long, while more waited:
const SHORT: Span = Span::from_secs(3);
/// less than this,
const ENOUGH: Rate = Rate::from_kbps(2000);
/// or less than this share of what the backup path promises, in per cent.
const WORTH: u64 = 33;
/// It returns to one that promises this share of what the backup path carries, in per cent,
const BACK: u64 = 75;
/// after this time there, which doubles up to the second while it does not stay.
const AWAY: [Span; 2] = [Span::from_secs(3), Span::from_secs(60)];
/// Data that leaves the other path again within this time did not stay.
const STAYED: Span = Span::from_secs(30);
/// Before data leaves or enters a backup path because of rates, a long train confirms what short ones say: at
/// most one in [`known::CONFIRMS`] on a backup path, which counts for this time.
const CONFIRMED: Span = Span::from_secs(3);
/// A primary path that carries at least this share of its mean is steady, in per cent. A promise beyond this
/// share of what it carries is doubted then, in per cent, and confirmed at most once in this time.
const STEADY: u64 = 50;
const DOUBTED: u64 = 400;
const DOUBTS: Span = Span::from_secs(10);
/// Time between two trains on a backup path that is not needed,
const SPARED_TRAINS: Span = Span::from_secs(10);
/// and the part of what the primary path carries that they may take.
const SPARED: u64 = 200;
/// Bytes per minute to measure a path for which an end pays by the byte.
const METERED: u64 = 60_000;

/// Moves when another path would carry more than the primary one, and starts there at its measured rate.
///
/// While this end sends data, every idle path is measured by [`Train`]s, within
/// [`probe_budget`](Self::probe_budget). The primary path's rate is what is acknowledged there. Another path
/// promises the median of its measurements, of two trains at least, or the least of the last two. Trains of a
/// path that carried much less than they claimed, twice, are discounted for a time. Data moves
///
/// - when the primary path carries less than a fifth of what another one promises;
/// - when another path promises a tenth more;
/// - when the primary path fails, or its link is reported down, to the path that promises most.
///
/// A backup path ([`Cost`](msctp_proto::Cost)) is taken only when the others fail, or carry for three seconds
/// less than 2 Mbit/s or a third of what it promises. Data returns when another promises three quarters of
/// its rate.
///
/// It stays while the application, not the path, limits the rate, and while the receiver's window is closed.
/// A primary path that the policy did not choose is left only after five seconds, or when it stands still. A
/// path is judged after four of its round trips.
/// The new path's controller resumes at the latest measurement ([`Action::Resume`]). Chunks in flight on a
/// path that was left because it was slow are retransmitted ([`Action::Resend`]).
#[derive(Clone, Debug)]
pub struct Anticipate {
    /// Bytes per minute that may be sent on each idle path to measure it, IP packets and answers together; 0:
    /// never. One million, and at most one per cent of what the path was measured to carry.
    pub probe_budget: u64,
    /// Leaves the primary path when its link is reported down. True.
    pub leaves_dead_links: bool,
    known: Vec<Known>,
    /// Time at which data moved to the primary path.
    since: Time,
    /// The primary path is kept until then, unless it stands still.
    hold: Time,
    /// The reason of this policy's own switch while it is in progress.
    moving: Option<Why>,
    /// The path that data left last.
    left: Option<Left>,
    /// Time since which more data waits than the primary path carries.
    waits_since: Option<Time>,
    /// True if a backup path may be needed soon.
    short: bool,
    /// Data that takes a backup path stays there until then, the time that it then waits, and the time of its
    /// last return.
    away: (Time, Span, Option<Time>),
    /// Bytes acknowledged on all paths at the last comparison.
    acked: u64,
    /// True if the timer runs.
    ticks: bool,
}

/// A path that data left.
#[derive(Clone, Copy, Debug)]
struct Left {
    path: PathId,
    at: Time,
    /// The policy left it because it was slow or failed; otherwise something else moved the data.
    slow: bool,
}

impl Default for Anticipate {
    fn default() -> Self {
        Self {
            probe_budget: 1_000_000,
            leaves_dead_links: true,
            known: Vec::new(),
            since: Time::ZERO,
            hold: Time::ZERO,
            moving: None,
            left: None,
            waits_since: None,
            short: false,
            away: (Time::ZERO, AWAY[0], None),
            acked: 0,
            ticks: false,
        }
    }
}

impl Anticipate {
    /// The name in the registry.
    pub const NAME: &str = "anticipate";

    /// Returns a factory of this policy with its default options.
    pub fn factory() -> PolicyFactory {
        PolicyFactory::new(|| Box::new(Self::default()))
    }

    /// Sets [`probe_budget`](Self::probe_budget).
    #[must_use]
    pub fn with_probe_budget(self, probe_budget: u64) -> Self {
        Self { probe_budget, ..self }
    }

    fn known(&mut self, path: PathId, now: Time) -> &mut Known {
        let at = self.known.iter().position(|known| known.id == path).unwrap_or_else(|| {
            self.known.push(Known::new(path, now));
            self.known.len() - 1
        });
        &mut self.known[at]
    }

    /// Sends a train on an idle path, if the budget allows it.
    fn measure(&mut self, path: &PathView, view: &View<'_>, actions: &mut Vec<Action>) {
        let budget = self.budget(path, view);
        if budget == 0 || path.id == view.primary || !path.may_carry_data() {
            return;
        }
        let known = self.known(path.id, view.now);
        let packets = known.train_packets();
        if known.measuring || !known.spend(view.now, packets, probe_bytes(path), budget) {
            return;
        }
        self.send_train(path, packets, view, actions);
    }

    fn send_train(&mut self, path: &PathView, packets: u64, view: &View<'_>, actions: &mut Vec<Action>) {
        let known = self.known(path.id, view.now);
        known.measuring = true;
        known.last_train = Some(view.now);
        let patience = path.srtt.map_or(Span::from_secs(1), |srtt| srtt * 3).max(Span::from_millis(300));
        let bytes = u32::try_from(probe_bytes(path)).unwrap_or(u32::MAX);
        let train = Train::new(packets, bytes, patience, path.rtt_min);
        actions.push(Action::StartProbing { path: path.id, estimator: Box::new(train) });
    }

    /// Returns the rate of a path by a long train of just now; without one, sends it, at most one in `every`.
    /// A path that is paid by the byte is believed.
    fn confirmed(
        &mut self,
        (path, promised): (PathId, Rate),
        every: Span,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<Rate> {
        let view_of = *view.path(path)?;
        if view_of.cost.metered || self.probe_budget == 0 {
            return Some(promised);
        }
        let known = self.known(path, view.now);
        let recent = known.long.filter(|(at, _)| view.now.since(*at) <= CONFIRMED);
        if let Some((_, Some(rate))) = recent {
            return Some(rate);
        }
        if !known.measuring && known.long.is_none_or(|(at, _)| view.now.since(at) >= every) {
            known.long = Some((view.now, None));
            self.send_train(&view_of, LONG, view, actions);
        }
        None
    }

    /// Returns what a path surely promises. What is far more than the primary path carries steadily is
    /// confirmed; without that there is no hurry. A token bucket passes a short train at its line rate.
    fn sure(
        &mut self,
        (path, promised): (PathId, Rate),
        (recent, mean): (Rate, Rate),
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<Rate> {
        let steady = percent(recent, 100) >= percent(mean, STEADY);
        if !steady || percent(promised, 100) <= percent(recent, DOUBTED) {
            return Some(promised);
        }
        self.confirmed((path, promised), DOUBTS, view, actions).map(|rate| rate.min(promised))
    }

    /// Returns the bytes per minute for trains on an idle path.
    fn budget(&self, path: &PathView, view: &View<'_>) -> u64 {
        let budget = if path.cost.metered { self.probe_budget.min(METERED) } else { self.probe_budget };
        let primary = view.path(view.primary).filter(|_| self.is_spared(path, view));
        let carried = primary.and_then(|primary| {
            let known = self.known.iter().find(|known| known.id == primary.id)?;
            known.mean_carried(view.now, primary)
        });
        carried.map_or(budget, |rate| budget.min(rate.bytes_in(Span::from_secs(60)) / SPARED))
    }

    /// Returns whether a path is a backup that is not needed.
    fn is_spared(&self, path: &PathView, view: &View<'_>) -> bool {
        let primary_works =
            view.path(view.primary).is_some_and(|primary| !primary.cost.backup && primary.may_carry_data());
        path.cost.backup && primary_works && !self.short
    }

    /// Measures the idle paths whose last measurement is older than `interval`.
    fn measure_all(&mut self, interval: Span, view: &View<'_>, actions: &mut Vec<Action>) {
        for path in view.paths {
            let known = self.known(path.id, view.now);
            // A single train promises nothing.
            let interval = if known.promise(view.now, FRESH).is_none() { URGENT_TRAINS } else { interval };
            let last = known.last_train;
            let interval = if self.is_spared(path, view) { SPARED_TRAINS } else { interval };
            if last.is_none_or(|at| view.now.since(at) >= interval) {
                self.measure(path, view, actions);
            }
        }
    }

    /// The active path that promises most, other than the primary, with its promise; of those that are
    /// backups or of those that are not.
    fn best(
        &self,
        view: &View<'_>,
        backup: bool,
        promise: impl Fn(&Known) -> Option<Rate>,
    ) -> Option<(PathId, Rate)> {
        let usable = |known: &&Known| {
            let path = view.path(known.id).filter(|path| path.id != view.primary && path.may_carry_data());
            path.is_some_and(|path| path.cost.backup == backup)
        };
        let promises = self.known.iter().filter(usable).filter_map(|known| Some((known.id, promise(known)?)));
        promises.max_by_key(|&(id, rate)| (rate, core::cmp::Reverse(id)))
    }

    /// Decides whether data leaves the primary path.
    fn decide(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let now = view.now;
        let Some(primary) = view.path(view.primary) else { return };
        // Nothing waits for the path, or the receiver is behind: no fault of the path.
        let waits = view.unsent > 0 && view.peer_rwnd >= primary.pmdcs;
        self.waits_since = waits.then(|| self.waits_since.unwrap_or(now));
        let Some(mine) = self.known.iter().find(|known| known.id == primary.id) else { return };
        let window = primary.srtt.map_or(RECENT, |srtt| (srtt * 2).max(RECENT)).min(Span::from_secs(1));
        let recent = mine.rate_over(now, window, primary);
        let mean = mine.mean_carried(now, primary);
        let carries = mean.max(recent);
        if let Some(found) = self.returns(view, carries.unwrap_or_default())
            && let Some(promised) = self.confirmed(found, AWAY[0], view, actions)
            && self.is_enough(promised, carries.unwrap_or_default())
        {
            let carried = carries.filter(|_| waits);
            self.switch(found.0, Grounds { why: Why::Back, carried, promised: Some(promised) }, actions);
            return;
        }
        let (true, Some(recent), Some(mean)) = (waits, recent, mean) else {
            self.short = false;
            self.measure_all(TRAINS, view, actions);
            return;
        };
        // What an application writes at once may wait for a moment on a path that carries all of it.
        let waited = self.waits_since.is_some_and(|since| now.since(since) >= RECENT);
        let age = now.since(self.since);
        let grown = round_trip(primary) * GROWING;
        let measured = age >= STARTED.max(window).max(grown);
        if measured {
            self.known(primary.id, now).on_carried(recent);
        }
        let promised = self.best(view, primary.cost.backup, |known| known.promise(now, FRESH));
        let settled = age >= SETTLED.max(grown) && now >= self.hold;
        let why = |rate: Rate| {
            if measured && percent(recent, 100) < percent(rate, STANDSTILL) {
                return Some((Why::Standstill, recent));
            }
            let carried = mean.max(recent);
            (settled && percent(rate, CARRIED) > percent(carried, BETTER)).then_some((Why::Better, carried))
        };
        if waited
            && let Some((path, rate)) = promised.filter(|(_, rate)| why(*rate).is_some())
            && let Some(rate) = self.sure((path, rate), (recent, mean), view, actions)
            && let Some((why, carried)) = why(rate)
        {
            self.switch(path, grounds(why, carried, rate), actions);
            return;
        }
        if let Some((path, grounds)) = self.needs_backup(view, measured.then_some(recent), actions) {
            self.switch(path, grounds, actions);
            return;
        }
        // Less than half of the usual: a decision may be near.
        let trouble = self.short || percent(recent, 100) < percent(mean, 50);
        self.measure_all(if trouble { URGENT_TRAINS } else { TRAINS }, view, actions);
    }

    /// Returns the path to which data returns from a backup path that carries `carried`, and its promise.
    fn returns(&self, view: &View<'_>, carried: Rate) -> Option<(PathId, Rate)> {
        let primary = view.path(view.primary).filter(|path| path.cost.backup)?;
        let age = view.now.since(self.since);
        if view.now < self.away.0.max(self.hold) || age < SETTLED.max(round_trip(primary) * GROWING) {
            return None;
        }
        let best = self.best(view, false, |known| known.promise(view.now, FRESH));
        best.filter(|(_, rate)| self.is_enough(*rate, carried))
    }

    /// Returns whether a path of this rate can take what a backup path carries.
    fn is_enough(&self, rate: Rate, carried: Rate) -> bool {
        // What the application sends is no measure of a path that it does not fill.
        let suffices = self.waits_since.is_none() && rate >= ENOUGH;
        suffices || percent(rate, 100) >= percent(carried, BACK)
    }

    /// Returns the backup path that data takes now, and why. `recent` is what the primary path carries, if
    /// that is known.
    fn needs_backup(
        &mut self,
        view: &View<'_>,
        recent: Option<Rate>,
        actions: &mut Vec<Action>,
    ) -> Option<(PathId, Grounds)> {
        let now = view.now;
        let primary = view.path(view.primary).filter(|path| !path.cost.backup)?;
        let long = self.waits_since.is_some_and(|since| now.since(since.max(self.since)) >= SHORT);
        let mine = self.known.iter().find(|known| known.id == primary.id)?;
        let carried = mine.rate_over(now, SHORT, primary).filter(|_| long);
        let stands = recent.is_some_and(Rate::is_zero);
        let is_short = |backup: Rate| {
            carried.is_some_and(|rate| {
                let little = rate < ENOUGH && percent(backup, CARRIED) > percent(rate, BETTER);
                little || percent(rate, 100) < percent(backup, WORTH)
            })
        };
        let remembered = self.best(view, true, |known| known.remembered);
        self.short = stands || remembered.is_some_and(|(_, rate)| is_short(rate));
        let (path, rate) = self.best(view, true, |known| known.promise(now, FRESH))?;
        if stands {
            return Some((path, grounds(Why::Standstill, Rate::ZERO, rate)));
        }
        let carried = carried.filter(|_| now >= self.hold && is_short(rate))?;
        let rate =
            self.confirmed((path, rate), known::CONFIRMS, view, actions).filter(|rate| is_short(*rate))?;
        Some((path, grounds(Why::TooLittle, carried, rate)))
    }

    fn switch(&mut self, path: PathId, grounds: Grounds, actions: &mut Vec<Action>) {
        self.moving = Some(grounds.why);
        actions.push(Action::SwitchPrimary { path, grounds });
    }

    /// Handles that data moves to a backup path, or back.
    fn note_cost(&mut self, old: &PathView, new: &PathView, now: Time) {
        let (until, wait, returned) = &mut self.away;
        if new.cost.backup && !old.cost.backup {
            let stayed = returned.is_none_or(|at| now.since(at) >= STAYED);
            *wait = if stayed { AWAY[0] } else { (*wait * 2).min(AWAY[1]) };
            *until = now + *wait;
        } else if old.cost.backup && !new.cost.backup {
            *returned = Some(now);
        }
        self.short = false;
    }

    /// Leaves a primary path that failed: otherwise data would come back with its first answer.
    fn escape(&mut self, why: Why, view: &View<'_>, actions: &mut Vec<Action>) {
        let latest = |known: &Known| known.latest(view.now, known::MEMORY).or(Some(Rate::ZERO));
        let other = self.best(view, false, latest).or_else(|| self.best(view, true, latest));
        if let Some((path, _)) = other {
            self.switch(path, why.into(), actions);
        }
    }

    /// Resends what is in flight on the path that was left, if it would arrive late.
    fn resend(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let Some(left) = self.left else { return };
        let Some(old) = view.path(left.path).filter(|path| path.flight_size > 0) else {
            self.left = None;
            return;
        };
        let age = view.now.since(left.at);
        if age >= RESENDING || left.path == view.primary {
            self.left = None;
        } else if stands_in_queue(old, age) && (left.slow || resending_pays(old, age, view)) {
            actions.push(Action::Resend { from: left.path, to: view.primary });
        }
    }
}

/// Returns the bytes of a probe on this path: HEARTBEATs are padded to a multiple of four.
fn probe_bytes(path: &PathView) -> u64 {
    path.wire_bytes(path.pmdcs) / 4 * 4
}

fn grounds(why: Why, carried: Rate, promised: Rate) -> Grounds {
    Grounds { why, carried: Some(carried), promised: Some(promised) }
}

/// Returns whether chunks in flight on the old path, left `age` ago, are late: the path had a queue then, or
/// they have not arrived within a round trip.
fn stands_in_queue(path: &PathView, age: Span) -> bool {
    let (Some(srtt), Some(least)) = (path.srtt, path.rtt_min) else { return age >= LEFT_BEHIND };
    age.max(srtt) >= least + LEFT_BEHIND
}

/// Returns whether the new path delivers what is in flight on the old one, left `age` ago, in a fifth of
/// the time. Otherwise both carry more if the old one delivers it.
fn resending_pays(old: &PathView, age: Span, view: &View<'_>) -> bool {
    let (Some(srtt), Some(new)) = (old.srtt, view.path(view.primary)) else { return true };
    if age >= srtt + LEFT_BEHIND {
        return true;
    }
    let round_trip = new.srtt.unwrap_or(new.rto);
    let by_window = Rate::of(new.window.cwnd, round_trip).unwrap_or(Rate::ZERO);
    let takes = round_trip + by_window.time_for(old.flight_size);
    takes.as_nanos().saturating_mul(100) < srtt.saturating_sub(age).as_nanos().saturating_mul(STANDSTILL)
}

/// The round trip of a path without queues, as far as the policy waits for it.
fn round_trip(path: &PathView) -> Span {
    path.rtt_min.unwrap_or_default().min(LONGEST_ROUND_TRIP)
}

/// A rate times `share`, to compare shares in per cent.
fn percent(rate: Rate, share: u64) -> u64 {
    rate.as_bps().saturating_mul(share)
}

impl HandoverPolicy for Anticipate {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn chooses(&self) -> bool {
        true
    }

    fn on_established(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        self.since = view.now;
        self.ticks = true;
        actions.push(Action::SetTimer { at: Some(view.now + TICK) });
    }

    fn on_path_added(&mut self, path: PathId, view: &View<'_>, actions: &mut Vec<Action>) {
        self.known(path, view.now);
        if !std::mem::replace(&mut self.ticks, true) {
            actions.push(Action::SetTimer { at: Some(view.now + TICK) });
        }
        if view.unsent > 0
            && let Some(path) = view.path(path)
        {
            self.measure(path, view, actions);
        }
    }

    fn on_path_removed(&mut self, path: PathId, _view: &View<'_>, _actions: &mut Vec<Action>) {
        self.known.retain(|known| known.id != path);
        self.left = self.left.filter(|left| left.path != path);
    }

    fn on_link_event(&mut self, event: LinkEvent, view: &View<'_>, actions: &mut Vec<Action>) {
        let on_primary = view.path(view.primary).is_some_and(|path| path.local == event.local);
        match event.state {
            LinkState::Down if on_primary && self.leaves_dead_links => {
                self.escape(Why::LinkDown, view, actions);
            }
            LinkState::Up => self.measure_all(TRAINS, view, actions),
            _ => {}
        }
    }

    fn on_path_state(&mut self, path: PathId, _: PathState, view: &View<'_>, actions: &mut Vec<Action>) {
        if path == view.primary && view.path(path).is_some_and(|path| path.state != PathState::Active) {
            self.escape(Why::Failed, view, actions);
        }
    }

    fn on_estimate(&mut self, path: PathId, estimate: &Estimate, view: &View<'_>, actions: &mut Vec<Action>) {
        self.known(path, view.now).on_train(view.now, estimate.available);
        self.decide(view, actions);
    }

    fn on_timer(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        if let Some(primary) = view.path(view.primary) {
            let silent = view.now.since(self.since) < round_trip(primary);
            let known = self.known(primary.id, view.now);
            if silent {
                // No chunk sent since the move can be acknowledged yet: this time is not the path's rate.
                known.restart();
            }
            known.on_tick(view.now, primary);
        }
        let acked = view.paths.iter().map(|path| path.bytes_acked).sum();
        let in_flight = view.paths.iter().any(|path| path.flight_size > 0);
        let sends = acked != self.acked || in_flight || view.unsent > 0;
        self.acked = acked;
        if sends && view.paths.len() > 1 {
            self.resend(view, actions);
            self.decide(view, actions);
        }
        // A sleeping association with one path costs nothing; another path wakes it.
        self.ticks = sends || view.paths.len() > 1;
        if self.ticks {
            let tick = if sends { TICK } else { IDLE_TICK };
            actions.push(Action::SetTimer { at: Some(view.now + tick) });
        }
    }

    fn on_primary_switch(
        &mut self,
        old: &PathView,
        new: &PathView,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        let now = view.now;
        let reason = self.moving.take();
        if reason.is_none() {
            self.hold = now + RESPECTED;
        }
        self.known(old.id, now).on_left(now, old);
        self.note_cost(old, new, now);
        self.since = now;
        let slow = reason.is_some_and(|why| why != Why::Back);
        self.left = Some(Left { path: old.id, at: now, slow });
        let known = self.known(new.id, now);
        let latest = known.latest(now, FRESH).filter(|rate| !rate.is_zero());
        let promise = known.promise(now, FRESH);
        known.on_entered(now);
        known.on_tick(now, new);
        if known.measuring {
            known.measuring = false;
            known.long = known.long.filter(|(_, result)| result.is_some());
            actions.push(Action::StopProbing { path: new.id });
        }
        if let (Some(latest), Some(promise), Some(rtt_min)) = (latest, promise, new.rtt_min) {
            let measured = Measured { bandwidth: latest.min(promise), rtt_min };
            actions.push(Action::Resume { path: new.id, measured });
        }
        if reason == Some(Why::Standstill) || slow && stands_in_queue(old, Span::ZERO) {
            actions.push(Action::Resend { from: old.id, to: new.id });
        }
        None
    }
}
