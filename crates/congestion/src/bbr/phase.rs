//! [`Phase`] and [`Cycle`]: the state machine of [`Bbr`] (draft-ietf-ccwg-bbr §5.3).

use msctp_units::{Span, Time};

use super::Bbr;
use super::model::{Model, too_high};
use crate::amount::permille;
use crate::delivery::DeliverySample;
use crate::hystart::Queueing;

/// BBR.StartupFullLossCnt (§5.3.1.3)
const STARTUP_LOSS_EVENTS: u64 = 6;
/// Rounds without growth by a quarter after which the bandwidth counts as full (§5.3.1.2).
const FULL_BANDWIDTH_ROUNDS: u64 = 3;
/// BBR.ProbeRTTDuration (§2.8)
const PROBE_RTT: Span = Span::from_millis(200);
/// Largest number of rounds between probes, for coexistence with Reno (§5.3.3.5.1).
const RENO_ROUNDS: u64 = 63;
/// Rounds after which the growth of the long-term bound stops doubling (§5.3.3.6).
const MOST_UP_ROUNDS: u32 = 30;

/// The states of §5.3. Down, Cruise, Refill and Up are those of ProbeBW.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    /// Returns the pacing gain in thousandths (§5.6.1).
    pub(super) const fn pacing_gain(self) -> u64 {
        match self {
            // 4·ln 2
            Self::Startup => 2773,
            Self::Drain => 500,
            Self::Down => 900,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1000,
            Self::Up => 1250,
        }
    }

    /// Returns the window gain in thousandths (§5.6.1).
    pub(super) const fn cwnd_gain(self) -> u64 {
        match self {
            Self::Up => 2250,
            Self::ProbeRtt => 500,
            _ => 2000,
        }
    }

    const fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Which acknowledgements belong to a bandwidth probe (BBR.ack_phase, §5.3.3.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    #[default]
    None,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the state machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub(super) phase: Phase,
    ack_phase: AckPhase,
    /// Bandwidth from which growth is measured (§5.3.1.2).
    full_bandwidth: u64,
    full_bandwidth_rounds: u64,
    full_bandwidth_now: bool,
    pub(super) full_bandwidth_reached: bool,
    /// Time at which ProbeBW_DOWN began.
    began: Time,
    wait: Span,
    pub(super) rounds_since_probe: u64,
    up_rounds: u32,
    up_acked: u64,
    /// Bytes acknowledged per byte by which the long-term bound grows.
    up_count: u64,
    /// True if losses belong to data sent by a probe.
    pub(super) probe_samples: bool,
    /// Minimum round-trip time of ProbeBW_REFILL, a phase that builds no queue.
    refill_rtt: Option<Span>,
    /// True if Startup has built a queue: Startup ends with this round, and a probe follows.
    pub(super) startup_ends: bool,
    /// True if data sent in Startup was lost, so its queue has overflowed.
    pub(super) startup_lost: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    pub(super) idle_restart: bool,
}

impl Cycle {
    /// Restarts the search for the full bandwidth from `baseline` (BBRResetFullBW, §5.3.1.2).
    fn reset_full_bandwidth(&mut self, baseline: u64) {
        self.full_bandwidth = baseline;
        self.full_bandwidth_rounds = 0;
        self.full_bandwidth_now = false;
    }

    /// Checks whether the rate stopped growing (BBRCheckFullBWReached, §5.3.1.2).
    fn check_full_bandwidth(&mut self, model: &Model, sample: &DeliverySample, rate: u64) {
        if self.full_bandwidth_now
            || !model.round_start
            || sample.app_limited
            || self.phase == Phase::ProbeRtt
        {
            return;
        }
        if rate >= permille(self.full_bandwidth, 1250) {
            self.reset_full_bandwidth(rate);
            return;
        }
        self.full_bandwidth_rounds += 1;
        self.full_bandwidth_now = self.full_bandwidth_rounds >= FULL_BANDWIDTH_ROUNDS;
        self.full_bandwidth_reached |= self.full_bandwidth_now;
    }
}

impl Bbr {
    /// Changes the phase as the sample requires (part of BBRUpdateModelAndState, §5.2.3).
    pub(super) fn move_on(&mut self, sample: &DeliverySample, rate: Option<u64>, queued: bool) {
        self.end_startup(queued);
        // Without a rate sample a round cannot show growth.
        if let Some(rate) = rate {
            self.cycle.check_full_bandwidth(&self.model, sample, rate);
        }
        self.check_startup_done(sample);
        if self.cycle.phase == Phase::Drain
            && sample.in_flight <= self.inflight(self.model.max_bandwidth(), 1000)
        {
            self.start_down(sample.now);
        }
        if self.cycle.full_bandwidth_reached {
            self.adapt_long_term(sample);
            self.turn(sample, rate.unwrap_or(0), queued);
        }
        self.check_probe_rtt(sample);
    }

    /// Detects the queue of sending faster than the known delivery rate, with `BbrConfig::hystart`.
    ///
    /// In Startup the RTT is compared with the path's least, in a probe with that of the refill before it,
    /// which includes other flows' queues.
    pub(super) fn sees_queue(&mut self, now: Time, rtt: Span) -> bool {
        let Some(queueing) = &mut self.queueing else { return false };
        let baseline = match self.cycle.phase {
            Phase::Startup => self.model.min_rtt(),
            Phase::Up => self.cycle.refill_rtt,
            Phase::Refill => {
                self.cycle.refill_rtt = Some(self.cycle.refill_rtt.map_or(rtt, |least| least.min(rtt)));
                None
            }
            Phase::Drain | Phase::Down | Phase::Cruise | Phase::ProbeRtt => None,
        };
        match baseline {
            Some(baseline) => queueing.on_sample(now, rtt, baseline),
            None => {
                *queueing = Queueing::default();
                false
            }
        }
    }

    /// Handles a queue detected in Startup: it drains, and Startup ends a round later.
    ///
    /// The round lets all data in flight measure the path. The queue may have been a burst, so a probe
    /// follows at once if nothing was lost. It grows by a quarter per round trip, in place of RFC 9406's
    /// Conservative Slow Start.
    fn end_startup(&mut self, queued: bool) {
        if self.cycle.phase != Phase::Startup {
            return;
        }
        if self.cycle.startup_ends {
            self.cycle.full_bandwidth_reached |= self.model.round_start;
        } else if queued {
            self.cycle.startup_ends = true;
            self.model.start_round();
        }
    }

    /// Ends Startup at the full bandwidth or after too many losses (BBRCheckStartupDone,
    /// BBRCheckStartupHighLoss; §5.3.1.1, §5.3.1.3).
    fn check_startup_done(&mut self, sample: &DeliverySample) {
        if self.cycle.phase != Phase::Startup {
            return;
        }
        let bdp = self.bdp(self.model.max_bandwidth(), 1000);
        if self.model.loss_events >= STARTUP_LOSS_EVENTS && too_high(sample.lost, sample.tx_in_flight) {
            self.model.inflight_long_term = bdp.max(self.model.inflight_latest);
            self.cycle.full_bandwidth_reached = true;
        }
        let known = self.model.min_rtt().is_some() && self.model.max_bandwidth() > 0;
        if known && self.startup_limit.is_some_and(|limit| bdp >= limit) {
            self.cycle.full_bandwidth_reached = true;
        }
        if self.cycle.full_bandwidth_reached {
            self.cycle.phase = Phase::Drain;
        }
    }

    /// Moves to the next phase of ProbeBW when it is due (BBRUpdateProbeBWCyclePhase, §5.3.3.6).
    fn turn(&mut self, sample: &DeliverySample, rate: u64, queued: bool) {
        let phase = self.cycle.phase;
        match phase {
            Phase::Down if self.is_time_to_probe(sample.now) => self.start_refill(),
            Phase::Down if self.is_time_to_cruise(sample) => self.cycle.phase = Phase::Cruise,
            Phase::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(),
            Phase::Refill if self.model.round_start => {
                self.cycle.probe_samples = true;
                self.start_up(rate);
            }
            Phase::Up if queued || self.is_time_to_go_down(rate) => self.start_down(sample.now),
            _ => {}
        }
    }

    /// Enters ProbeBW_DOWN (BBRStartProbeBW_DOWN).
    fn start_down(&mut self, now: Time) {
        self.model.reset_congestion_signals();
        self.model.start_round();
        self.pick_wait(now);
        if core::mem::take(&mut self.cycle.startup_ends) && !self.cycle.startup_lost {
            self.cycle.wait = Span::ZERO;
        }
        self.cycle.up_count = u64::MAX;
        self.cycle.began = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.cycle.phase = Phase::Down;
    }

    /// Picks the time until the next probe: 2 to 3 s, less 0 or 1 of the rounds of Reno (BBRPickProbeWait,
    /// §5.3.3.5.3).
    ///
    /// The time, the bandwidth and the window replace a random number: they differ between flows that share a
    /// bottleneck.
    fn pick_wait(&mut self, now: Time) {
        let mixed = mix(now.as_nanos() ^ self.model.max_bandwidth().rotate_left(32) ^ self.cwnd);
        self.cycle.rounds_since_probe = mixed & 1;
        self.cycle.wait = Span::from_millis(2000 + (mixed >> 1) % 1001);
    }

    /// Enters ProbeBW_REFILL (BBRStartProbeBW_REFILL).
    fn start_refill(&mut self) {
        self.model.reset_short_term();
        self.model.start_round();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.refill_rtt = None;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.cycle.phase = Phase::Refill;
    }

    /// Enters ProbeBW_UP (BBRStartProbeBW_UP).
    fn start_up(&mut self, rate: u64) {
        self.model.start_round();
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.cycle.reset_full_bandwidth(rate);
        self.cycle.phase = Phase::Up;
        self.raise_slope();
    }

    /// Returns whether to probe for bandwidth (BBRIsTimeToProbeBW, BBRIsRenoCoexistenceProbeTime;
    /// §5.3.3.5.3).
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno = (self.target_inflight() / self.config.pmdcs).min(RENO_ROUNDS);
        now.since(self.cycle.began) > self.cycle.wait || self.cycle.rounds_since_probe >= reno
    }

    /// Returns whether ProbeBW_DOWN has drained the queue (BBRIsTimeToCruise, §5.3.3.6).
    fn is_time_to_cruise(&self, sample: &DeliverySample) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.model.max_bandwidth(), 1000)
    }

    /// Returns whether ProbeBW_UP has reached the full bandwidth (BBRIsTimeToGoDown, §5.3.3.6).
    fn is_time_to_go_down(&mut self, rate: u64) -> bool {
        if self.cwnd_limited && self.cwnd >= self.model.inflight_long_term {
            // the bound, not the path, holds the rate
            self.cycle.reset_full_bandwidth(rate);
            return false;
        }
        self.cycle.full_bandwidth_now
    }

    /// Adapts the long-term bound to the samples of the last probe (BBRAdaptLongTermModel, §5.3.3.6).
    fn adapt_long_term(&mut self, sample: &DeliverySample) {
        let round_start = self.model.round_start;
        if self.cycle.ack_phase == AckPhase::ProbeStarting && round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && round_start {
            // the samples of the last probe end here
            self.cycle.ack_phase = AckPhase::None;
            self.cycle.probe_samples = false;
            if self.cycle.phase.probes_bandwidth() && !sample.app_limited {
                self.model.advance_max_bandwidth();
            }
        }
        if too_high(sample.lost, sample.tx_in_flight) {
            if self.cycle.probe_samples {
                self.inflight_too_high(sample.now, sample.tx_in_flight, sample.app_limited);
            }
            return;
        }
        if self.model.inflight_long_term == u64::MAX {
            return;
        }
        self.model.inflight_long_term = self.model.inflight_long_term.max(sample.tx_in_flight);
        if self.cycle.phase == Phase::Up {
            self.probe_upward(sample);
        }
    }

    /// Raises the long-term bound while a probe fills it (BBRProbeInflightLongtermUpward, §5.3.3.6).
    fn probe_upward(&mut self, sample: &DeliverySample) {
        if !self.cwnd_limited || self.cwnd < self.model.inflight_long_term {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(sample.newly_acked);
        let growth = self.cycle.up_acked / self.cycle.up_count.max(1);
        self.cycle.up_acked -= growth * self.cycle.up_count.max(1);
        self.model.inflight_long_term = self.model.inflight_long_term.saturating_add(growth);
        if self.model.round_start {
            self.raise_slope();
        }
    }

    /// Doubles the growth of the long-term bound per round: 1 packet, 2, 4 … (BBRRaiseInflightLongtermSlope,
    /// §5.3.3.6).
    fn raise_slope(&mut self) {
        let growth = self.config.pmdcs.saturating_mul(1 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.cycle.up_count = (self.cwnd / growth).max(1);
    }

    /// Lowers the long-term bound after too many losses (BBRHandleInflightTooHigh, §5.5.10.2).
    pub(super) fn inflight_too_high(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.cycle.probe_samples = false;
        if !app_limited {
            self.model.inflight_long_term = in_flight.max(Model::reduced(self.target_inflight()));
        }
        match self.cycle.phase {
            Phase::Startup => self.cycle.full_bandwidth_reached = true,
            Phase::Up => self.start_down(now),
            _ => {}
        }
    }

    /// Enters and runs ProbeRTT when it is due (BBRCheckProbeRTT, BBRHandleProbeRTT; §5.3.4.3).
    fn check_probe_rtt(&mut self, sample: &DeliverySample) {
        if self.cycle.phase != Phase::ProbeRtt && self.model.probe_rtt_expired && !self.cycle.idle_restart {
            self.prior_cwnd = self.cwnd;
            self.cycle.phase = Phase::ProbeRtt;
            self.cycle.probe_rtt_done = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.cycle.phase == Phase::ProbeRtt {
            match self.cycle.probe_rtt_done {
                None if sample.in_flight <= self.probe_rtt_cwnd() => {
                    self.cycle.probe_rtt_done = Some(sample.now + PROBE_RTT);
                    self.cycle.probe_rtt_round_done = false;
                    self.model.start_round();
                }
                None => {}
                Some(done) => {
                    self.cycle.probe_rtt_round_done |= self.model.round_start;
                    if self.cycle.probe_rtt_round_done && sample.now > done {
                        self.leave_probe_rtt(sample.now);
                    }
                }
            }
        }
        if sample.delivered() > 0 {
            self.cycle.idle_restart = false;
        }
    }

    /// Leaves ProbeRTT (BBRExitProbeRTT, §5.3.4.4).
    fn leave_probe_rtt(&mut self, now: Time) {
        self.model.refresh_probe_rtt(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.model.reset_short_term();
        if self.cycle.full_bandwidth_reached {
            self.start_down(now);
            self.cycle.phase = Phase::Cruise;
        } else {
            self.cycle.phase = Phase::Startup;
        }
    }
}

/// Mixes the bits of `x` (the finalizer of SplitMix64): every output bit depends on every input bit.
pub(super) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
