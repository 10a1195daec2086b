//! [`Bbr`]: BBR version 3 (draft-ietf-ccwg-bbr), a model-based controller.
//!
//! Models the path's bandwidth, its round trip without a queue, and the flight it carries with at most 2 %
//! loss. Sends at the bandwidth, instead of filling a window until a loss.
//!
//! `model.rs` holds the model, `phase.rs` the state machine, and this file window and pacing rate. Integers
//! throughout: rates in bytes per second, gains in thousandths.

mod model;
mod phase;
#[cfg(test)]
mod tests;

use msctp_units::{Rate, Span, Time};

use crate::amount::{off_wire, on_wire, over, per_second, permille};
use crate::controller::{Ack, Controller, ControllerConfig, Loss, LossKind, Measured, StartState, Window};
use crate::delivery::{DeliverySample, LostPacket};
use crate::factory::Make;
use crate::hystart::Queueing;
use model::Model;
use phase::{Cycle, Phase};

/// Options of [`Bbr`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BbrConfig {
    /// Reacts to round-trip growth. Startup and each bandwidth probe end when the round-trip time grows by
    /// the measure of HyStart++ (RFC 9406). Pacing stays below the bandwidth only while the round-trip time
    /// shows a queue. ProbeRTT runs only if no recent round-trip time was near the minimum. Default: false.
    pub hystart: bool,
}

impl Make<ControllerConfig, dyn Controller> for BbrConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Bbr::with(path, *self))
    }
}

/// Share of the bandwidth that is left after BBR.PacingMarginPercent (§2.4), in thousandths.
const BELOW_BANDWIDTH: u64 = 990;
/// Pacing gain in thousandths with [`BbrConfig::hystart`], while the round-trip time shows a queue. The next
/// constant applies while it shows none.
const DRAINING: u64 = 980;
const NO_QUEUE: u64 = 1000;

/// BBR.MinPipeCwnd (§2.7) in packets.
const MIN_PIPE: u64 = 4;
/// The controller of draft-ietf-ccwg-bbr.
///
/// Where SCTP or this project differs from the draft:
/// - It receives losses with the SACK after the one that reveals them, and takes one sample per SACK.
/// - A handover policy's threshold ([`StartState::ssthresh`]) is its estimate of the path's capacity: Startup
///   ends when the model reaches it.
/// - The intervals between probes (§5.3.3.5.3) are spread by a hash of delivered bytes and time instead of a
///   random number: runs stay deterministic.
/// - An ECN mark counts as a loss in its round, and ends Startup or a probe; the draft does not cover ECN.
/// - With [`BbrConfig::hystart`] Startup, and a probe for bandwidth, also end when the round trip shows a
///   queue: the draft waits for three rounds without growth (§5.3.1.2, §5.3.3.6), which by then have
///   overflowed a queue of one bandwidth-delay product. The margin of §5.6.2 is doubled while the round trip
///   is longer than the shortest by a sixteenth and a millisecond, and left out while it is not. And a round
///   trip that is, within a second of the time for ProbeRTT (§5.3.4.3), takes its place: half of the window
///   for 200 ms would find nothing else. ProbeRTT itself is paced, at half the bandwidth: without pacing it
///   would stall for half a round trip and then burst.
/// - After a timeout the window grows from one packet, by what is acknowledged, to what the model allows.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: ControllerConfig,
    options: BbrConfig,
    cwnd: u64,
    /// The window before ProbeRTT (§5.6.4.4).
    prior_cwnd: u64,
    pacing_rate: Option<Rate>,
    /// True if the pacing rate comes from the model, no longer from the policy.
    paced_by_model: bool,
    /// True while the window is the initial one: no data was acknowledged or lost, and no policy set another
    /// window.
    initial: bool,
    /// True if the retransmission timer expired and no data was acknowledged since.
    after_timeout: bool,
    /// The state to restore after a spurious timeout.
    before_timeout: Option<u64>,
    /// The model's size in bytes at which Startup ends.
    startup_limit: Option<u64>,
    /// True if the window was full in this round (C.is_cwnd_limited).
    cwnd_limited: bool,
    sample: Option<DeliverySample>,
    /// [`BbrConfig::hystart`] is on.
    queueing: Option<Queueing>,
    /// Pacing gain on the bandwidth, in thousandths.
    pace: u64,
    model: Model,
    cycle: Cycle,
}

impl Bbr {
    /// The name.
    pub const NAME: &str = "bbr";

    /// Returns the controller of a new path, with default options.
    pub fn new(path: &ControllerConfig) -> Self {
        Self::with(path, BbrConfig::default())
    }

    /// Returns the controller of a new path.
    pub fn with(path: &ControllerConfig, options: BbrConfig) -> Self {
        let mut config = path.clone();
        config.pmdcs = config.pmdcs.max(1);
        let heeds_round_trip = options.hystart;
        let (cwnd, startup_limit) = (config.initial_cwnd(), config.initial_ssthresh);
        Self {
            config,
            options,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: None,
            paced_by_model: false,
            initial: true,
            after_timeout: false,
            before_timeout: None,
            startup_limit,
            cwnd_limited: false,
            sample: None,
            queueing: heeds_round_trip.then(Queueing::default),
            pace: if heeds_round_trip { NO_QUEUE } else { BELOW_BANDWIDTH },
            model: Model::new(heeds_round_trip),
            cycle: Cycle::default(),
        }
    }

    fn least(&self) -> u64 {
        self.config.pmdcs.saturating_mul(MIN_PIPE)
    }

    /// Returns `gain` times the bandwidth-delay product (BBRBDPMultiple, §5.6.4.2).
    fn bdp(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.model.min_rtt() else { return self.config.initial_cwnd() };
        permille(over(bandwidth, min_rtt), gain)
    }

    /// Returns the bytes that fill the path, with room for bursts and delayed SACKs (BBRInflight, §5.6.4.2).
    fn inflight(&self, bandwidth: u64, gain: u64) -> u64 {
        self.quantized(self.bdp(bandwidth, gain))
    }

    /// Raises `inflight` to make room for bursts (BBRQuantizationBudget). A burst is a millisecond of pacing
    /// (§5.6.3), at least two packets.
    fn quantized(&self, inflight: u64) -> u64 {
        let burst =
            over(self.model.bandwidth(), Span::from_millis(1)).max(self.config.pmdcs.saturating_mul(2));
        let room = inflight.max(burst.saturating_mul(3)).max(self.least());
        if self.cycle.phase == Phase::Up {
            // one more packet for each of two delayed SACKs
            return room.saturating_add(self.config.pmdcs.saturating_mul(2));
        }
        room
    }

    /// Returns the target for the bytes in flight (BBRTargetInflight, §5.3.3.5.3).
    fn target_inflight(&self) -> u64 {
        self.bdp(self.model.bandwidth(), 1000).min(self.cwnd)
    }

    /// Updates the model, the phase, the pacing rate and the window for one SACK (BBRUpdateOnACK, §5.2.3).
    fn take_sample(&mut self, sample: &DeliverySample, rtt: Option<Span>, elsewhere: bool) {
        if self.model.forget_shortcut(rtt.filter(|_| !elsewhere))
            && let Some(queueing) = &mut self.queueing
        {
            *queueing = Queueing::default();
        }
        if let Some(rtt) = rtt.filter(|_| self.queueing.is_some()) {
            self.pace = if self.model.is_near_least(rtt) { NO_QUEUE } else { DRAINING };
        }
        let rate = sample.rate(self.model.min_rtt());
        self.model.begin(sample, rate, rtt, elsewhere);
        if self.model.round_start {
            self.cycle.rounds_since_probe += 1;
        }
        let keeps_up = matches!(self.cycle.phase, Phase::Startup | Phase::Refill | Phase::Up);
        self.model.adapt_lower_bounds(self.cwnd, keeps_up);
        self.model.update_aggregation(sample, self.cwnd, self.cycle.full_bandwidth_reached);
        let queued = rtt.is_some_and(|rtt| self.sees_queue(sample.now, rtt));
        self.check_resume(sample, rtt);
        self.move_on(sample, rate, queued);
        let round_ended = self.model.round_start;
        self.model.end(sample, rate);
        self.set_pacing_rate();
        self.set_cwnd(sample);
        if round_ended {
            self.cwnd_limited = false;
        }
    }

    /// Ends the use of the measured bandwidth if the path does not carry it: after a loss, or a queue of half
    /// a round-trip time (RFC 9959's Safe Retreat).
    fn check_resume(&mut self, sample: &DeliverySample, rtt: Option<Span>) {
        let longer = |rtt: Span| self.model.min_rtt().is_some_and(|least| rtt > least + least / 2);
        if self.model.is_resumed() && (sample.newly_lost > 0 || rtt.is_some_and(longer)) {
            self.model.end_resume();
        }
    }

    /// Sets the pacing rate (BBRSetPacingRate, §5.6.2). Before the first measurement only the window limits.
    fn set_pacing_rate(&mut self) {
        let bandwidth = self.model.bandwidth();
        let Some(min_rtt) = self.model.min_rtt().filter(|_| bandwidth > 0) else { return };
        // Rate samples taken while only one small packet could be in flight are too low, and pacing at them
        // would keep them low. Startup uses the initial window per round trip (BBRInitPacingRate, §5.6.2),
        // later phases the least one.
        let window =
            if self.is_starting() { self.config.initial_cwnd().max(self.least()) } else { self.least() };
        let bandwidth = bandwidth.max(per_second(window, min_rtt));
        let gain = match self.cycle.phase {
            Phase::Startup if self.cycle.startup_ends => Phase::Drain.pacing_gain(),
            Phase::ProbeRtt if self.queueing.is_some() => Phase::ProbeRtt.cwnd_gain(),
            phase => phase.pacing_gain(),
        };
        // §5.6.2: a little below, so that queues drain
        let rate = permille(permille(bandwidth, gain), self.pace);
        let rate = on_wire(rate, &self.config);
        // §5.6.2: in Startup it never falls
        let falls = self.paced_by_model && self.pacing_rate.is_some_and(|now| rate < now);
        if self.cycle.full_bandwidth_reached || self.cycle.startup_ends || !falls {
            self.pacing_rate = Some(rate);
            self.paced_by_model = true;
        }
    }

    /// Sets the congestion window (BBRSetCwnd, §5.6.4.6).
    fn set_cwnd(&mut self, sample: &DeliverySample) {
        let inflight = self.bdp(self.model.bandwidth(), self.cycle.phase.cwnd_gain());
        let most = self.quantized(inflight.saturating_add(self.model.extra_acked()));
        let grown = self.cwnd.saturating_add(sample.newly_acked);
        if self.cycle.full_bandwidth_reached {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || sample.total_delivered < self.config.initial_cwnd() {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least());
        if self.cycle.phase == Phase::ProbeRtt {
            let evenly = self.queueing.is_some().then(|| sample.in_flight.saturating_add(self.config.pmdcs));
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd().max(evenly.unwrap_or_default()));
        }
        self.bound_cwnd();
    }

    /// Returns the congestion window of ProbeRTT (BBRProbeRTTCwnd, §5.6.4.5).
    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.model.bandwidth(), Phase::ProbeRtt.cwnd_gain()).max(self.least())
    }

    /// Bounds the congestion window by the model (BBRBoundCwndForModel, §5.6.4.7).
    fn bound_cwnd(&mut self) {
        let long_term = match self.cycle.phase {
            Phase::Startup | Phase::Drain => u64::MAX,
            Phase::Down | Phase::Refill | Phase::Up => self.model.inflight_long_term,
            Phase::Cruise | Phase::ProbeRtt => self.inflight_with_headroom(),
        };
        let most = long_term.min(self.model.inflight_short_term).max(self.least());
        self.cwnd = self.cwnd.min(most);
    }

    /// Returns the long-term bound less 15 % for other flows (BBRInflightWithHeadroom, §5.3.3.6).
    fn inflight_with_headroom(&self) -> u64 {
        let most = self.model.inflight_long_term;
        if most == u64::MAX {
            return most;
        }
        let headroom = permille(most, 150).max(self.config.pmdcs);
        most.saturating_sub(headroom).max(self.least())
    }
}

impl Controller for Bbr {
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
        !self.cycle.full_bandwidth_reached && !self.cycle.startup_ends
    }

    fn on_delivery(&mut self, sample: &DeliverySample) {
        self.sample = Some(*sample);
    }

    fn on_packet_lost(&mut self, now: Time, lost: &LostPacket) {
        self.model.note_loss();
        self.cycle.startup_lost |= matches!(self.cycle.phase, Phase::Startup | Phase::Drain);
        // BBRHandleLostPacket (§5.5.10.2)
        if !self.cycle.probe_samples || !model::too_high(lost.lost, lost.tx_in_flight) {
            return;
        }
        self.inflight_too_high(now, model::inflight_at_loss(lost), lost.app_limited);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.bytes_acked == 0 {
            self.sample = None;
            return;
        }
        self.initial = false;
        self.after_timeout = false;
        self.cwnd_limited |= ack.flight_size_before.saturating_add(self.config.pmdcs) > self.cwnd;
        match self.sample.take() {
            Some(sample) => {
                // Karn: data first sent on another path measures no round trip here. Until a sample comes,
                // use the one of HEARTBEATs: without any, the model stays at the initial window for good.
                let known = self.model.min_rtt().is_some();
                self.take_sample(&sample, ack.rtt.or(ack.srtt.filter(|_| !known)), ack.answered_elsewhere);
            }
            // Without samples the window grows as in slow start.
            None if !ack.in_fast_recovery && self.model.bandwidth() == 0 => {
                self.cwnd = self.cwnd.saturating_add(ack.bytes_acked);
            }
            None => {}
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.initial = false;
        match loss.kind {
            // on_packet_lost has already counted every packet.
            LossKind::Gap => self.before_timeout = None,
            LossKind::Ecn => {
                self.before_timeout = None;
                self.model.note_loss();
                if matches!(self.cycle.phase, Phase::Startup | Phase::Up) {
                    self.inflight_too_high(loss.now, loss.flight_size, false);
                }
            }
            LossKind::Timeout => {
                if !self.after_timeout {
                    self.before_timeout = Some(self.cwnd);
                }
                self.cwnd = self.config.pmdcs;
                self.after_timeout = true;
            }
        }
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        // §5.6.4.4: recovery left nothing to restore.
    }

    fn on_spurious_timeout(&mut self, _now: Time) {
        if let Some(before) = self.before_timeout.take() {
            self.cwnd = self.cwnd.max(before).max(self.config.pmdcs);
            self.after_timeout = false;
        }
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        // BBRHandleRestartFromIdle (§5.4.1): the model stays, the first packets are paced at its bandwidth.
        if idle_rtos > 0 {
            self.cycle.idle_restart = true;
            self.before_timeout = None;
        }
    }

    fn start(&mut self, start: &StartState) {
        *self = Self::with(&self.config, self.options);
        self.cwnd = start.cwnd.max(self.config.pmdcs);
        self.startup_limit = start.ssthresh.or(self.startup_limit);
        self.pacing_rate = start.pacing_rate;
        self.initial = false;
    }

    fn resume(&mut self, measured: &Measured, _flight_size: u64) {
        *self = Self::with(&self.config, self.options);
        self.initial = false;
        self.model.resume(off_wire(measured.bandwidth, &self.config), measured.rtt_min);
        // The bandwidth is known: no Startup. The first probe for more follows when a round trip is over.
        self.cycle.full_bandwidth_reached = true;
        self.cycle.phase = Phase::Cruise;
        self.cwnd = self.inflight(self.model.bandwidth(), Phase::Cruise.cwnd_gain());
        self.set_pacing_rate();
    }

    fn reset(&mut self) {
        *self = Self::with(&self.config, self.options);
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
