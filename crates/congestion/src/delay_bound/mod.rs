//! [`DelayBound`]: fills a path whose rate varies, with a bounded queue.
//!
//! `path.rs` measures the path, `allowance.rs` bounds the queue, `channel.rs` tells the channel's losses from
//! those of an overflow, `contest.rs` detects queues of other flows, and this file sets window and pacing
//! rate. Integers throughout: rates in bytes per second, shares in thousandths unless noted.

mod allowance;
mod channel;
mod contest;
mod path;
#[cfg(test)]
mod tests;

use msctp_units::{Rate, Span, Time};

use crate::amount::{off_wire, on_wire, over, per_second, permille};
use crate::{
    Ack, Controller, ControllerConfig, DeliverySample, Loss, LossKind, LostPacket, Make, Measured,
    StartState, Window,
};
use allowance::{Allowance, LossRound};
use channel::Channel;
use contest::{Contest, End};
use path::PathModel;

/// Options of [`DelayBound`]: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayBoundConfig;

impl Make<ControllerConfig, dyn Controller> for DelayBoundConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(DelayBound::new(path))
    }
}

/// Minimum packets in flight.
const LEAST_PACKETS: u64 = 4;
/// Share of the target below which the queue counts as empty, so that the window grows.
const EMPTY: u64 = 500;
/// Growth per acknowledged byte while the queue is empty, after the start: by half in a round trip.
const GROWTH: u64 = 500;
/// Rounds with an empty queue after which the window grows as at the start, because the path's rate has
/// multiplied.
const CLEAR_ROUNDS: u32 = 2;
/// Maximum window beyond the target, at the start and later, in thousandths of delivery rate × minimum
/// round-trip time. After [`CLEAR_ROUNDS`] the value of the start applies.
const START_GAIN: u64 = 2000;
const MOST_GAIN: u64 = 1500;
/// Rounds between a drain and the measurement of its effect, after which the window is restored.
const HELD_ROUNDS: u32 = 2;
/// Pacing gain over one window per round trip, so that the window limits and not the pacer.
const PACING_GAIN: u64 = 1250;
/// Factor on the window after an ECN mark, the same as in Alternative Backoff with ECN for CUBIC.
const AFTER_ECN: u64 = 850;

/// A controller for links whose rate changes by factors within a second.
///
/// It aims at a small queue instead of probing for bandwidth at intervals. A queue that empties shows a
/// higher rate after one round trip, and one that grows shows a lower rate:
/// - Queue below half of the target: the window grows by half of what is acknowledged. It grows by all of it
///   until the first queue, and after two rounds without one.
/// - Queue above the target: the window is delivery rate × least round trip + target. That is the fixed
///   point of FAST TCP (Wei et al., IEEE/ACM ToN 2006), reached in one round trip in either direction.
/// - Between the two it grows by a packet per round trip.
///
/// The target is 15 ms at 20 Mbit/s. It falls with the square root of the rate, as Swift's does with the
/// window (Kumar et al., SIGCOMM 2020), which makes the shares of several such flows converge.
///
/// Losses: where more than 2 % of a round are lost, the buffer is shallow. The target stays below the queue
/// that overflowed, and growth per round trip below it too; both recover within seconds. Fewer losses count
/// on a lossless channel if the queue is as long as at the last overflow and the delivery rate was higher in
/// the last minute: somebody else fills the queue slowly. The window then falls by CUBIC's factor for CUBIC's
/// time of return, because CUBIC loses there too. Other losses change nothing. If the losses continue at the
/// lower rate, a trial with three quarters of the bandwidth-delay product measures them. A share that is lost
/// there too is the channel's: it counts as no overflow, and the window grows by it, because lost packets are
/// in flight for a round trip.
///
/// Rivals: a queue that stays although this flow drained its own belongs to another flow (Copa, Arun and
/// Balakrishnan, NSDI 2018, tests its own oscillation likewise). Against it the window is that of
/// [`Cubic`], until a later drain finds the queue gone. A drain lasts a few round trips with three quarters
/// of the bandwidth-delay product, and measures the least round trip again.
///
/// [`Cubic`]: crate::Cubic
#[derive(Clone, Debug)]
pub struct DelayBound {
    config: ControllerConfig,
    cwnd: u64,
    pacing_rate: Option<Rate>,
    /// True while the window is the initial one: no data was acknowledged or lost, and no policy set another
    /// window.
    initial: bool,
    /// True if no queue was detected since the start or the last timeout.
    starting: bool,
    /// Number of rounds for which the window is held.
    held: u32,
    /// Consecutive rounds with an empty queue.
    clear_rounds: u32,
    /// The window at which the start ends.
    start_limit: Option<u64>,
    /// True if the retransmission timer expired and no data was acknowledged since.
    after_timeout: bool,
    /// The window to restore after a spurious timeout.
    before_timeout: Option<u64>,
    sample: Option<DeliverySample>,
    path: PathModel,
    allowance: Allowance,
    channel: Channel,
    /// The window before a series of overflows, and whether the start continued.
    before_overflow: (u64, bool),
    contest: Contest,
}

impl DelayBound {
    /// The name.
    pub const NAME: &str = "delay-bound";

    /// Returns the controller of a new path.
    pub fn new(path: &ControllerConfig) -> Self {
        let mut config = path.clone();
        config.pmdcs = config.pmdcs.max(1);
        let (cwnd, start_limit) = (config.initial_cwnd(), config.initial_ssthresh);
        Self {
            config,
            cwnd,
            pacing_rate: None,
            initial: true,
            starting: true,
            held: 0,
            clear_rounds: 0,
            start_limit,
            after_timeout: false,
            before_timeout: None,
            sample: None,
            path: PathModel::default(),
            allowance: Allowance::default(),
            channel: Channel::default(),
            before_overflow: (0, false),
            contest: Contest::default(),
        }
    }

    fn least(&self) -> u64 {
        self.config.pmdcs.saturating_mul(LEAST_PACKETS)
    }

    fn take_sample(&mut self, sample: &DeliverySample, rtt: Option<Span>, elsewhere: bool) {
        let queued = rtt.map(|rtt| self.path.on_round_trip(sample.now, rtt, elsewhere));
        let Some(base) = self.path.base() else { return };
        self.allowance.on_delivered(sample.newly_acked);
        if let Some(round) = self.path.on_sample(sample, base) {
            self.end_loss_round(sample.now, round.rate, base);
            let little = permille(self.allowance.target(round.rate, self.config.pmdcs), EMPTY);
            let clear = round.queued.is_some_and(|queued| over(round.rate, queued) < little);
            // A queue that a drain emptied says nothing about the rate.
            let drained = self.imposed().is_some() || self.held > 0;
            self.clear_rounds = if clear && !drained { self.clear_rounds + 1 } else { 0 };
            self.held = self.held.saturating_sub(1);
            let (in_flight, cwnd) = (sample.in_flight, self.cwnd);
            let end = End { now: sample.now, round, base, in_flight, cwnd, least: self.least() };
            let (allowance, pmdcs) = (&self.allowance, self.config.pmdcs);
            if let Some(window) =
                self.contest.end_round(&end, &self.config, |rate| allowance.target(rate, pmdcs))
            {
                self.cwnd = window;
                self.held = HELD_ROUNDS;
            }
        }
        if let Some(queued) = queued {
            self.path.count(queued);
            if queued <= (base / 16).max(Span::from_millis(1)) {
                self.contest.on_near_base(sample.now);
            }
            self.set_cwnd(sample, base, queued);
            self.set_pacing_rate(base + queued);
        } else {
            self.grow_by_rate(sample, base);
            self.set_pacing_rate(base);
        }
    }

    /// Ends a round of losses with its delivery rate, in bytes per second.
    fn end_loss_round(&mut self, now: Time, rate: u64, base: Span) {
        if self.contest.window().is_some() {
            self.channel.abandon_trial();
        }
        let rates = (rate, over(rate, base));
        match self.allowance.end_round(now, rates, self.config.pmdcs, &mut self.channel) {
            LossRound::Quiet => {}
            LossRound::Overflow => self.starting = false,
            LossRound::FirstOverflow => {
                self.before_overflow = (self.cwnd, self.starting);
                self.starting = false;
            }
            LossRound::ChannelLoss => {
                self.cwnd = self.cwnd.max(self.before_overflow.0);
                self.starting = self.before_overflow.1;
                self.held = HELD_ROUNDS;
            }
        }
    }

    /// Returns the window that a drain, a rival or a trial of the channel imposes, if any.
    fn imposed(&self) -> Option<u64> {
        self.contest.window().or_else(|| self.channel.window())
    }

    /// Sets the window while retransmissions measure no round-trip time (Karn). It grows by the acknowledged
    /// bytes, up to the delivery rate's share.
    fn grow_by_rate(&mut self, sample: &DeliverySample, base: Span) {
        if self.imposed().is_some() || self.held > 0 || !self.is_used(sample) {
            return;
        }
        let step = self.allowance.limit(sample.newly_acked, self.cwnd);
        self.cwnd = self.cwnd.saturating_add(step).min(self.most(base)).max(self.cwnd);
        self.starting &= self.start_limit.is_none_or(|limit| self.cwnd < limit);
    }

    fn set_cwnd(&mut self, sample: &DeliverySample, base: Span, queued: Span) {
        let rate = self.path.latest_rate;
        let target = self.allowance.target(rate, self.config.pmdcs);
        let queue = over(rate, queued);
        self.allowance.on_queue(queue, queued);
        if let Some(window) = self.imposed() {
            self.starting = false;
            self.cwnd = window.max(self.least());
            return;
        }
        if queue > target {
            self.starting = false;
            let window = self.channel.with_losses(over(rate, base)).saturating_add(target);
            if window > self.cwnd {
                self.cwnd = window.min(self.cwnd.saturating_add(sample.newly_acked));
            } else if !sample.app_limited {
                self.cwnd = window;
            }
        } else if self.held == 0 && self.is_used(sample) {
            let step = if queue >= permille(target, EMPTY) {
                // A packet per round trip, as Reno: who has little of a shared queue is not stuck with it.
                over_window(self.config.pmdcs, sample.newly_acked, self.cwnd)
            } else if self.starting || self.clear_rounds >= CLEAR_ROUNDS {
                sample.newly_acked
            } else {
                permille(sample.newly_acked, GROWTH)
            };
            let grown = self.cwnd.saturating_add(self.allowance.limit(step, self.cwnd));
            self.cwnd = grown.min(self.most(base)).max(self.cwnd);
            self.starting &= self.start_limit.is_none_or(|limit| self.cwnd < limit);
        }
        self.cwnd = self.cwnd.min(self.allowance.most(sample.now)).max(self.least());
    }

    /// Returns the maximum window. A queue is measured one round trip late, and the delivery rate sooner.
    fn most(&self, base: Span) -> u64 {
        let rate = self.path.rate();
        let path = self.channel.with_losses(over(rate, base));
        if self.starting {
            return permille(path, START_GAIN).saturating_add(self.least());
        }
        let target = self.allowance.target(rate, self.config.pmdcs);
        let gain = if self.clear_rounds >= CLEAR_ROUNDS { START_GAIN } else { MOST_GAIN };
        permille(path, gain).saturating_add(target)
    }

    /// Returns whether the window was full when the packet left, or is full now, except for bytes that pacing
    /// holds back.
    fn is_used(&self, sample: &DeliverySample) -> bool {
        let room = (self.cwnd / 8).saturating_add(self.least());
        sample.tx_in_flight.max(sample.in_flight).saturating_add(room) > self.cwnd
    }

    fn set_pacing_rate(&mut self, rtt: Span) {
        let rate = permille(per_second(self.cwnd, rtt), PACING_GAIN);
        self.pacing_rate = Some(on_wire(rate, &self.config));
    }
}

impl Controller for DelayBound {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: u64::MAX, partial_bytes_acked: 0 }
    }

    fn one_packet_in_flight(&self) -> bool {
        self.after_timeout
    }

    fn models_delivery(&self) -> bool {
        true
    }

    fn is_starting(&self) -> bool {
        self.starting
    }

    fn on_delivery(&mut self, sample: &DeliverySample) {
        self.sample = Some(*sample);
    }

    fn on_packet_lost(&mut self, _now: Time, lost: &LostPacket) {
        self.allowance.on_lost(lost);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.bytes_acked == 0 {
            self.sample = None;
            return;
        }
        self.initial = false;
        self.after_timeout = false;
        self.contest.on_ack(ack);
        let known = self.path.base().is_some();
        match self.sample.take() {
            // Karn: data first sent on another path measures no round trip here. Until a sample comes, use
            // the one of HEARTBEATs, which the peer may have answered over another path.
            Some(sample) => {
                let rtt = ack.rtt.or(ack.srtt.filter(|_| !known));
                self.take_sample(&sample, rtt, ack.answered_elsewhere || ack.rtt.is_none());
            }
            // Without samples the window grows as in slow start.
            None if !ack.in_fast_recovery && !known => {
                self.cwnd = self.cwnd.saturating_add(ack.bytes_acked);
            }
            None => {}
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.initial = false;
        self.contest.on_loss(loss);
        match loss.kind {
            // on_packet_lost has already counted every packet.
            LossKind::Gap => self.before_timeout = None,
            LossKind::Ecn => {
                self.before_timeout = None;
                self.starting = false;
                self.cwnd = permille(self.cwnd, AFTER_ECN).max(self.least());
            }
            LossKind::Timeout => {
                if !self.after_timeout {
                    self.before_timeout = Some(self.cwnd);
                }
                self.allowance.on_timeout(loss.now);
                self.cwnd = self.config.pmdcs;
                self.starting = true;
                self.after_timeout = true;
            }
        }
    }

    fn on_spurious_timeout(&mut self, now: Time) {
        self.contest.on_spurious_timeout(now);
        if let Some(before) = self.before_timeout.take() {
            self.cwnd = self.cwnd.max(before).max(self.config.pmdcs);
            self.after_timeout = false;
        }
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        // The first packets are paced at the last rate.
        if idle_rtos > 0 {
            self.before_timeout = None;
        }
    }

    fn start(&mut self, start: &StartState) {
        *self = Self::new(&self.config);
        self.cwnd = start.cwnd.max(self.config.pmdcs);
        self.start_limit = start.ssthresh.or(self.start_limit);
        self.pacing_rate = start.pacing_rate;
        self.initial = false;
    }

    fn resume(&mut self, measured: &Measured, _flight_size: u64) {
        *self = Self::new(&self.config);
        let rate = off_wire(measured.bandwidth, &self.config);
        self.path.resume(rate, measured.rtt_min);
        let target = self.allowance.target(rate, self.config.pmdcs);
        self.cwnd = over(rate, measured.rtt_min).saturating_add(target).max(self.least());
        self.pacing_rate = Some(measured.bandwidth);
        // The rate is known: from here the window follows the queue.
        (self.initial, self.starting) = (false, false);
    }

    fn reset(&mut self) {
        *self = Self::new(&self.config);
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.config.pmdcs = pmdcs.max(1);
        let least = if self.initial { self.config.initial_cwnd() } else { self.config.pmdcs };
        if self.initial || self.cwnd < least {
            self.cwnd = least;
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
}

/// Returns the share of a packet that `acked` bytes of a window earn.
fn over_window(pmdcs: u64, acked: u64, cwnd: u64) -> u64 {
    let part = u128::from(pmdcs) * u128::from(acked) / u128::from(cwnd.max(1));
    u64::try_from(part).unwrap_or(u64::MAX).min(acked)
}
