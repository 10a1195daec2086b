//! [`WBest`]: the modified WBest of Kim & Koh (2009) §3.2, which measures a path's capacity C and its
//! available bandwidth B with pairs and trains of equal probes.
//!
//! One iteration, L being the probe's size on the IP wire:
//!
//! 1. `pairs` pairs of probes back to back. T is the time between the arrivals of a pair's two answers;
//!    C = median(L / T). For an even number of values the median is the mean of the middle two.
//! 2. A train of `train` probes at rate C. R = L / mean(T); B = C·(2 − C/R), within 0 and C: 0 when R < C/2
//!    (the paper leaves it open), C when the answers arrived faster than the probes were sent. With p of the
//!    train lost, B·(1 − p).
//! 3. B(k) = α·B + (1 − α)·B(k−1); the next iteration follows after `interval`.
//!
//! Choices where the paper leaves room:
//!
//! - **Spacing of pairs.** A pair is sent when the one before it was answered or timed out, so that no pair
//!   queues behind another, at the cost of one round trip per pair. The train waits for the last pair
//!   likewise.
//! - **Disturbed pairs.** A pair counts only if both its answers came, in order, further apart than the two
//!   probes were sent (which also drops answers that arrive at one instant). Cross traffic between the two
//!   probes makes T larger and L/T smaller; as in the paper only the median defends against it, so C falls
//!   below the true capacity when more than half of the pairs are disturbed. Without any usable pair the
//!   iteration ends without an estimate and the next one begins: the last estimate remains.
//! - **Losses in the train.** T is taken between neighbours that were both answered, in order: a lost probe
//!   counts in p, not in T as well. If no two neighbours were answered, T is the time from the first to the
//!   last answer divided by the probes between; with fewer than two answers B is 0.
//! - **When a pair or train ends.** When its last probe is answered (links are FIFO: what is missing then
//!   counts as lost, even if it comes later) or, that failing, one retransmission timeout after the last
//!   probe or answer. The timeout follows RFC 9260 §6.3.1 over the probes' own round trips, within 200 ms and
//!   `response_timeout`.
//! - **B(0)**, by which the first iteration is smoothed, is `initial_capacity`; without one the first B
//!   stands as measured.
//! - **Answers** are assumed to be spread only by the forward path: the reverse path must carry small answers
//!   at the rate at which probes arrive.
//!
//! Memory is two words per probe of one train.

use msctp_units::{Rate, Span, Time};

use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
use msctp_congestion::{RtoConfig, RttEstimator};

/// Parameters of [`WBest`]. The default is the paper's for a path of unknown capacity, with the pairs and
/// train of a movement to WLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WBestConfig {
    /// n: pairs per iteration, 1 to 1000. The paper: 6 towards WLAN, 4 towards 3G.
    pub pairs: u16,
    /// m: probes per train, 2 to 1000. The paper: 30 towards WLAN, 12 towards 3G.
    pub train: u16,
    /// L: bytes of one probe on the IP wire, 1 to 65535. The paper: 700.
    pub probe_bytes: u32,
    /// α as numerator and denominator, 0 < α ≤ 1. The paper: 7/10.
    pub smoothing: (u32, u32),
    /// B(0), the real capacity of the new link; `None`: not known.
    pub initial_capacity: Option<Rate>,
    /// Pause between two iterations. The paper: none.
    pub interval: Span,
    /// The longest wait for an answer, and the wait before the first round trip was measured. Not zero.
    pub response_timeout: Span,
    /// At most this many probes unanswered at a time, at least 2: a train that reaches it ends there.
    pub max_outstanding: u16,
}

impl Default for WBestConfig {
    fn default() -> Self {
        Self {
            pairs: 6,
            train: 30,
            probe_bytes: 700,
            smoothing: (7, 10),
            initial_capacity: None,
            interval: Span::ZERO,
            response_timeout: Span::from_secs(2),
            max_outstanding: 1000,
        }
    }
}

impl WBestConfig {
    /// Checks every field against the range its documentation gives.
    ///
    /// # Errors
    /// [`InvalidWBest`] for the first field that is out of range.
    pub fn validate(&self) -> Result<(), InvalidWBest> {
        let check = |ok: bool, field, value: u64, want| {
            if ok { Ok(()) } else { Err(InvalidWBest { field, value, want }) }
        };
        let (num, den) = self.smoothing;
        check((1..=1000).contains(&self.pairs), "pairs", self.pairs.into(), "1 to 1000")?;
        check((2..=1000).contains(&self.train), "train", self.train.into(), "2 to 1000")?;
        let size = 1..=65_535;
        check(size.contains(&self.probe_bytes), "probe_bytes", self.probe_bytes.into(), "1 to 65535")?;
        check(num > 0, "smoothing (numerator)", num.into(), "at least 1: 0 < α ≤ 1")?;
        check(den >= num, "smoothing (denominator)", den.into(), "at least the numerator: 0 < α ≤ 1")?;
        let timeout = self.response_timeout;
        check(!timeout.is_zero(), "response_timeout", timeout.as_nanos(), "more than zero")?;
        check(
            self.max_outstanding >= 2,
            "max_outstanding",
            self.max_outstanding.into(),
            "at least 2, one pair",
        )
    }
}

/// A [`WBestConfig`] field is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bandwidth estimator: {field} is {value}, want {want}")]
pub struct InvalidWBest {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// The allowed values.
    pub want: &'static str,
}

/// A probe to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Number that the answer returns. One estimator never uses it twice.
    pub id: u64,
    /// Size on the IP wire.
    pub bytes: u32,
}

/// Estimates the available bandwidth of one path; sans-IO. After each call, send the probes of
/// [`poll_probe`](Self::poll_probe) until it returns `None`, and take [`poll_estimate`](Self::poll_estimate).
/// Call [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout). Drop the estimator
/// to end probing.
#[derive(Debug)]
pub struct WBest {
    config: WBestConfig,
    rtt: RttEstimator,
    phase: Phase,
    group: Group,
    /// C_i of this iteration's usable pairs.
    capacities: Vec<Rate>,
    pairs_done: u16,
    /// B(k−1)
    previous: Option<Rate>,
    estimate: Option<Estimate>,
    estimate_is_new: bool,
    failed_iterations: u64,
}

impl BandwidthEstimator for WBest {
    fn probe_bytes(&self) -> u32 {
        self.config.probe_bytes
    }

    fn poll_probe(&mut self, now: Time) -> Option<u64> {
        self.poll_probe(now).map(|probe| probe.id)
    }

    fn outstanding(&self) -> usize {
        self.outstanding()
    }

    fn on_probe_ack(&mut self, now: Time, id: u64) {
        self.on_probe_ack(now, id);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.poll_timeout()
    }

    fn poll_estimate(&mut self) -> Option<Estimate> {
        self.poll_estimate()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate()
    }

    fn restart(&mut self, now: Time) {
        // The configuration was checked before.
        if let Ok(fresh) = Self::new(self.config, now) {
            *self = fresh;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The next iteration begins at `until`.
    Pause { until: Time },
    /// Step 1. The pair may be sent from `since` on.
    Pair { since: Time },
    /// Step 2. The train began (or may begin) at `start`.
    Train { capacity: Rate, start: Time },
}

/// The probes of the current pair or train.
#[derive(Debug, Default)]
struct Group {
    first_id: u64,
    size: usize,
    probes: Vec<Sent>,
    answered: usize,
    /// Time at which missing answers time out; `None` while probes remain to be sent.
    deadline: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    answered: Option<Time>,
}

impl WBest {
    /// Creates an estimator whose probing may begin at `now`.
    ///
    /// # Errors
    /// [`InvalidWBest`] if a field of `config` is out of range.
    pub fn new(config: WBestConfig, now: Time) -> Result<Self, InvalidWBest> {
        config.validate()?;
        let rto = RtoConfig {
            initial: config.response_timeout,
            min: Span::from_millis(200).min(config.response_timeout),
            max: config.response_timeout,
            ..RtoConfig::default()
        };
        Ok(Self {
            config,
            rtt: RttEstimator::new(rto),
            phase: Phase::Pause { until: now },
            group: Group { probes: Vec::with_capacity(usize::from(config.train.max(2))), ..Group::default() },
            capacities: Vec::with_capacity(usize::from(config.pairs)),
            pairs_done: 0,
            previous: config.initial_capacity,
            estimate: None,
            estimate_is_new: false,
            failed_iterations: 0,
        })
    }

    /// Returns the next probe to send now, if one is due. The returned probe counts as sent.
    pub fn poll_probe(&mut self, now: Time) -> Option<Probe> {
        if let Phase::Pause { until } = self.phase
            && until <= now
        {
            self.capacities.clear();
            self.pairs_done = 0;
            self.begin_pair(now);
        }
        if self.next_send()? > now {
            return None;
        }
        if let Phase::Train { start, .. } = &mut self.phase
            && self.group.probes.is_empty()
        {
            *start = now;
        }
        let id = self.group.send(now);
        if self.group.outstanding() >= usize::from(self.config.max_outstanding) {
            self.group.size = self.group.probes.len();
        }
        self.group.set_deadline(now + self.rtt.rto());
        Some(Probe { id, bytes: self.config.probe_bytes })
    }

    /// Returns when [`poll_probe`](Self::poll_probe) or [`handle_timeout`](Self::handle_timeout) has
    /// something to do next; in the past if that is already so.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Pause { until } => Some(until),
            Phase::Pair { .. } | Phase::Train { .. } => self.next_send().or(self.group.deadline),
        }
    }

    /// Processes the answer to probe `id`. Ignores answers that are late, unknown or duplicate.
    pub fn on_probe_ack(&mut self, now: Time, id: u64) {
        let Some(sent) = self.group.answer(id, now) else { return };
        self.rtt.on_measurement(now.since(sent));
        self.group.set_deadline(now + self.rtt.rto());
        if self.group.last_is_answered() {
            self.finish_group(now);
        }
    }

    /// Times out unanswered probes. An early call has no effect.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.group.deadline.is_some_and(|deadline| deadline <= now) {
            if self.group.answered == 0 {
                self.rtt.back_off();
            }
            self.finish_group(now);
        }
    }

    /// Returns the estimate of the iteration that ended since the last call, if one did. One per iteration.
    pub fn poll_estimate(&mut self) -> Option<Estimate> {
        std::mem::take(&mut self.estimate_is_new).then_some(self.estimate)?
    }

    /// Returns the latest estimate.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Probes sent, and neither answered nor timed out.
    pub fn outstanding(&self) -> usize {
        self.group.outstanding()
    }

    /// Iterations that ended without an estimate, for want of a usable pair.
    pub fn failed_iterations(&self) -> u64 {
        self.failed_iterations
    }

    /// Returns when the group's next probe goes out; `None` when it is all sent or there is none.
    fn next_send(&self) -> Option<Time> {
        let sent = self.group.probes.len();
        if sent >= self.group.size {
            return None;
        }
        match self.phase {
            Phase::Pause { .. } => None,
            Phase::Pair { since } => Some(since),
            Phase::Train { capacity, start } => {
                // From the start, not from the last probe: rounding and late calls do not add up.
                Some(start + capacity.time_for(sent as u64 * u64::from(self.config.probe_bytes)))
            }
        }
    }

    fn begin_pair(&mut self, now: Time) {
        self.phase = Phase::Pair { since: now };
        self.group.begin(2);
    }

    fn finish_group(&mut self, now: Time) {
        match self.phase {
            Phase::Pause { .. } => {}
            Phase::Pair { .. } => self.finish_pair(now),
            Phase::Train { capacity, .. } => self.finish_train(capacity, now),
        }
    }

    /// Takes the rate of a pair at its end (step 1).
    fn finish_pair(&mut self, now: Time) {
        self.capacities.extend(self.group.pair_rate(self.config.probe_bytes));
        self.pairs_done += 1;
        if self.pairs_done < self.config.pairs {
            self.begin_pair(now);
        } else if let Some(capacity) = median(&mut self.capacities) {
            self.phase = Phase::Train { capacity, start: now };
            self.group.begin(usize::from(self.config.train));
        } else {
            self.failed_iterations += 1;
            self.pause(now);
        }
    }

    /// Steps 2 and 4, at the end of a train.
    fn finish_train(&mut self, capacity: Rate, now: Time) {
        let sent = self.group.probes.len() as u64;
        let lost = sent - self.group.answered as u64;
        let measured = available(capacity, self.config.probe_bytes, self.group.dispersion())
            .mul_ratio(sent - lost, sent);
        let available = match self.previous {
            None => measured,
            Some(previous) => {
                let (num, den) = (u64::from(self.config.smoothing.0), u64::from(self.config.smoothing.1));
                let sum = u128::from(measured.as_bps()) * u128::from(num)
                    + u128::from(previous.as_bps()) * u128::from(den - num);
                Rate::from_bps(u64::try_from(sum / u128::from(den)).unwrap_or(u64::MAX))
            }
        };
        self.previous = Some(available);
        self.estimate = self.rtt.rtt_min().map(|rtt_min| Estimate {
            capacity,
            available,
            rtt_min,
            loss_ppm: u32::try_from(lost * 1_000_000 / sent).unwrap_or(1_000_000),
            iteration: self.estimate.map_or(1, |last| last.iteration + 1),
        });
        self.estimate_is_new = self.estimate.is_some();
        self.pause(now);
    }

    fn pause(&mut self, now: Time) {
        self.group.begin(0);
        self.phase = Phase::Pause { until: now + self.config.interval };
    }
}

impl Group {
    /// Empties the group for `size` new probes. Ids continue, so that late answers match no probe.
    fn begin(&mut self, size: usize) {
        self.first_id += self.probes.len() as u64;
        self.probes.clear();
        self.size = size;
        self.answered = 0;
        self.deadline = None;
    }

    fn send(&mut self, now: Time) -> u64 {
        let id = self.first_id + self.probes.len() as u64;
        self.probes.push(Sent { at: now, answered: None });
        id
    }

    /// Marks probe `id` as answered and returns the time it was sent; `None` if it is unknown or was answered
    /// before.
    fn answer(&mut self, id: u64, now: Time) -> Option<Time> {
        let index = usize::try_from(id.checked_sub(self.first_id)?).ok()?;
        let probe = self.probes.get_mut(index)?;
        if probe.answered.is_some() {
            return None;
        }
        probe.answered = Some(now);
        self.answered += 1;
        Some(probe.at)
    }

    fn outstanding(&self) -> usize {
        self.probes.len() - self.answered
    }

    fn all_sent(&self) -> bool {
        self.probes.len() == self.size
    }

    fn set_deadline(&mut self, deadline: Time) {
        if self.all_sent() {
            self.deadline = Some(deadline);
        }
    }

    fn last_is_answered(&self) -> bool {
        self.all_sent() && self.probes.last().is_some_and(|probe| probe.answered.is_some())
    }

    /// Returns the rate C_i = L/T_i of a pair, if it is usable.
    fn pair_rate(&self, probe_bytes: u32) -> Option<Rate> {
        let [first, second] = self.probes.as_slice() else { return None };
        let dispersion = second.answered?.since(first.answered?);
        if dispersion <= second.at.since(first.at) {
            return None;
        }
        Rate::of(u64::from(probe_bytes), dispersion).filter(|rate| !rate.is_zero())
    }

    /// Returns the sum of the train's inter-arrival times and how many they are; `None` if there is none to
    /// take.
    fn dispersion(&self) -> Option<(Span, u64)> {
        let neighbours = self.probes.windows(2).filter_map(|two| {
            let (first, second) = (two[0].answered?, two[1].answered?);
            (first <= second).then(|| second.since(first))
        });
        let (sum, count) = neighbours.fold((Span::ZERO, 0), |(sum, count), t| (sum + t, count + 1));
        if count > 0 {
            return Some((sum, count));
        }
        let mut answers = self.probes.iter().enumerate().filter_map(|(i, probe)| Some((i, probe.answered?)));
        let (first, last) = (answers.next()?, answers.next_back()?);
        (first.1 <= last.1).then(|| (last.1.since(first.1), (last.0 - first.0) as u64))
    }
}

/// Returns the median; the mean of the middle two if their number is even; `None` without values. Sorts them.
fn median(rates: &mut [Rate]) -> Option<Rate> {
    rates.sort_unstable();
    let upper = rates.get(rates.len() / 2)?.as_bps();
    let lower = rates[(rates.len() - 1) / 2].as_bps();
    Some(Rate::from_bps(lower + (upper - lower) / 2))
}

/// Returns the available bandwidth B = C·(2 − C/R) with R = L / mean(T), within 0 and C; 0 without T.
///
/// In integers: 2·C − C²·ΣT / (L·count).
fn available(capacity: Rate, probe_bytes: u32, dispersion: Option<(Span, u64)>) -> Rate {
    const NS_BITS: u128 = 8 * 1_000_000_000;
    let Some((sum, count)) = dispersion else { return Rate::ZERO };
    let c = u128::from(capacity.as_bps());
    let Some(product) = (c * c).checked_mul(u128::from(sum.as_nanos())) else { return Rate::ZERO };
    let spread = product / (NS_BITS * u128::from(probe_bytes) * u128::from(count));
    let b = (2 * c).saturating_sub(spread).min(c);
    Rate::from_bps(u64::try_from(b).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
