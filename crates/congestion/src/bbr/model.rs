//! [`Model`]: the path model of [`Bbr`](super::Bbr) (draft-ietf-ccwg-bbr §5.5), independent of the phase.

use msctp_units::{Span, Time};

use crate::amount::{over, permille};
use crate::delivery::{DeliverySample, LostPacket};

/// Loss rate above which the losses of a round are too high: 2 % of the bytes in flight (BBR.LossThresh,
/// §2.5).
const LOSS_THRESHOLD: u64 = 20;
/// Factor on the short-term bounds after a round with losses, in thousandths (BBR.Beta, §2.5).
const BETA: u64 = 700;
/// BBR.MinRTTFilterLen (§2.8)
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval (§2.8)
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// Maximum age of a round-trip time near the minimum that replaces a ProbeRTT.
const NEAR_LEAST: Span = Span::from_secs(1);
/// Rounds until the data of one round trip was delivered. The first acknowledgement starts the first round.
const RESUME_ROUNDS: u64 = 2;
/// BBR.ExtraAckedFilterLen (§2.7), in rounds.
const AGGREGATION_ROUNDS: u64 = 10;

#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Maximum delivery rates of the previous probe cycle and of this one (§5.5.5, MaxBwFilterLen = 2).
    max_bandwidth: [u64; 2],
    /// BBR.bw_shortterm and BBR.inflight_shortterm; `u64::MAX` without losses.
    bandwidth_short_term: u64,
    pub(super) inflight_short_term: u64,
    /// BBR.inflight_longterm
    pub(super) inflight_long_term: u64,
    /// Maximum of the round that ends with the next loss round (§5.5.10.3).
    bandwidth_latest: u64,
    pub(super) inflight_latest: u64,
    /// BBR.bw
    bandwidth: u64,
    /// Measured bandwidth at which the path resumed, until a round trip has shown the real one.
    resumed: Option<u64>,

    /// Packet-timed round trips (§5.5.1).
    rounds: u64,
    pub(super) round_start: bool,
    next_round_delivered: u64,
    delivered: u64,

    loss_in_round: bool,
    /// True if a loss round ended with this sample.
    loss_round_start: bool,
    loss_round_delivered: u64,
    /// Samples of this round with newly detected losses.
    pub(super) loss_events: u64,

    min_rtt: Option<(Span, Time)>,
    /// True if the SACK that measured `min_rtt` returned over another, shorter path. The value is discarded
    /// once this path has its own.
    shortcut: bool,
    /// Minimum round-trip time of the last ProbeRTTInterval, with its time (§5.3.4.3).
    probe_rtt_min: Option<(Span, Time)>,
    /// True if `probe_rtt_min` is older than ProbeRTTInterval.
    pub(super) probe_rtt_expired: bool,
    /// The latest round-trip time near the minimum, with [`BbrConfig::hystart`](super::BbrConfig::hystart).
    near_least: Option<(Span, Time)>,
    heeds_near_least: bool,

    /// Start of the interval over which aggregation is measured (§5.5.9).
    aggregation_start: Time,
    aggregated: u64,
    /// Maximum of two halves of the filter's rounds, and the round in which the later half began.
    extra_acked_halves: [u64; 2],
    extra_acked_since: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            max_bandwidth: [0; 2],
            bandwidth_short_term: u64::MAX,
            inflight_short_term: u64::MAX,
            inflight_long_term: u64::MAX,
            bandwidth_latest: 0,
            inflight_latest: 0,
            bandwidth: 0,
            resumed: None,
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0,
            loss_events: 0,
            min_rtt: None,
            shortcut: false,
            probe_rtt_min: None,
            probe_rtt_expired: false,
            near_least: None,
            heeds_near_least: false,
            aggregation_start: Time::ZERO,
            aggregated: 0,
            extra_acked_halves: [0; 2],
            extra_acked_since: 0,
        }
    }
}

/// Returns whether the loss rate exceeds the threshold (IsInflightTooHigh, §5.5.10.2).
pub(super) fn too_high(lost: u64, in_flight: u64) -> bool {
    lost > permille(in_flight, LOSS_THRESHOLD)
}

/// Returns the bytes in flight at which the losses crossed the threshold (BBRInflightAtLoss, §5.5.10.2). They
/// do not include the lost packet.
pub(super) fn inflight_at_loss(lost: &LostPacket) -> u64 {
    let in_flight = lost.tx_in_flight.saturating_sub(lost.bytes);
    let lost_before = lost.lost.saturating_sub(lost.bytes);
    let allowed = permille(in_flight, LOSS_THRESHOLD).saturating_sub(lost_before);
    in_flight.saturating_add(allowed.saturating_mul(1000) / (1000 - LOSS_THRESHOLD))
}

impl Model {
    /// Creates an empty model. `heeds_near_least` makes a round-trip time near the minimum count as the
    /// minimum.
    pub(super) fn new(heeds_near_least: bool) -> Self {
        Self { heeds_near_least, ..Self::default() }
    }

    /// Returns whether `rtt` is near the shortest round trip, so that the path had no standing queue.
    pub(super) fn is_near_least(&self, rtt: Span) -> bool {
        self.min_rtt().is_none_or(|least| rtt <= least + (least / 16).max(Span::from_millis(1)))
    }

    /// Returns BBR.bw in bytes per second; 0 if unknown.
    pub(super) fn bandwidth(&self) -> u64 {
        self.bandwidth
    }

    /// Returns BBR.max_bw in bytes per second.
    pub(super) fn max_bandwidth(&self) -> u64 {
        self.max_bandwidth[0].max(self.max_bandwidth[1]).max(self.resumed.unwrap_or(0))
    }

    /// Starts with a bandwidth and a round trip that were measured before data was sent.
    pub(super) fn resume(&mut self, bandwidth: u64, rtt_min: Span) {
        self.resumed = Some(bandwidth);
        self.bandwidth = bandwidth;
        self.min_rtt = Some((rtt_min, Time::ZERO));
    }

    /// Returns whether the bandwidth was measured before data was sent.
    pub(super) fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    /// Discards the measured bandwidth: from now on, only delivered data counts.
    pub(super) fn end_resume(&mut self) {
        self.resumed = None;
    }

    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// Returns BBR.extra_acked in bytes.
    pub(super) fn extra_acked(&self) -> u64 {
        self.extra_acked_halves[0].max(self.extra_acked_halves[1])
    }

    /// Updates the round, the delivery signals and the bandwidth, before the phase
    /// (BBRUpdateLatestDeliverySignals, BBRUpdateRound, BBRUpdateMaxBw; §5.5.10.3, §5.5.1, §5.5.5).
    ///
    /// `rtt` is that of the latest packet without retransmission that the SACK acknowledged.
    pub(super) fn begin(
        &mut self,
        sample: &DeliverySample,
        rate: Option<u64>,
        rtt: Option<Span>,
        elsewhere: bool,
    ) {
        self.delivered = sample.total_delivered;
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.total_delivered;
        }
        self.bandwidth_latest = self.bandwidth_latest.max(rate.unwrap_or(0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered());
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            if self.rounds >= RESUME_ROUNDS {
                self.end_resume();
            }
        }
        if let Some(rate) = rate
            && (rate >= self.max_bandwidth() || !sample.app_limited)
        {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(rate);
        }
        if sample.newly_lost > 0 {
            self.loss_in_round = true;
            self.loss_events += 1;
        }
        let before = self.min_rtt();
        self.update_min_rtt(sample.now, rtt);
        self.shortcut |= elsewhere && self.min_rtt() != before;
    }

    /// Discards a minimum round-trip time whose SACK returned over another path, once this path has its own.
    /// Returns whether there was one.
    pub(super) fn forget_shortcut(&mut self, rtt: Option<Span>) -> bool {
        let forgets = self.shortcut && rtt.is_some();
        if forgets {
            (self.min_rtt, self.probe_rtt_min, self.shortcut) = (None, None, false);
        }
        forgets
    }

    /// Starts a round (BBRStartRound), which ends when a packet sent from now on is acknowledged.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// Lowers the short-term bounds once per round with losses (BBRAdaptLowerBoundsFromCongestion,
    /// §5.5.10.3). While probing for bandwidth, the long-term bound records losses instead.
    pub(super) fn adapt_lower_bounds(&mut self, cwnd: u64, probing: bool) {
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !probing {
            if self.bandwidth_short_term == u64::MAX {
                self.bandwidth_short_term = self.max_bandwidth();
            }
            if self.inflight_short_term == u64::MAX {
                self.inflight_short_term = cwnd;
            }
            self.bandwidth_short_term = self.bandwidth_latest.max(Self::reduced(self.bandwidth_short_term));
            self.inflight_short_term = self.inflight_latest.max(Self::reduced(self.inflight_short_term));
        }
        self.loss_in_round = false;
    }

    /// Advances the delivery signals and bounds the bandwidth, after the phase
    /// (BBRAdvanceLatestDeliverySignals, BBRBoundBWForModel; §5.5.10.3).
    pub(super) fn end(&mut self, sample: &DeliverySample, rate: Option<u64>) {
        if self.loss_round_start {
            self.bandwidth_latest = rate.unwrap_or(0);
            self.inflight_latest = sample.delivered();
        }
        if self.round_start {
            self.loss_events = 0;
        }
        self.bandwidth = self.max_bandwidth().min(self.bandwidth_short_term);
    }

    /// Records a loss in this round (BBRNoteLoss, §5.5.10.2).
    pub(super) fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivered;
        }
        self.loss_in_round = true;
    }

    /// Begins another cycle of the bandwidth filter (BBRAdvanceMaxBwFilter, §5.5.6).
    pub(super) fn advance_max_bandwidth(&mut self) {
        // A cycle without a sample of its own knows what the one before knew.
        if self.max_bandwidth[1] > 0 {
            self.max_bandwidth = [self.max_bandwidth[1], 0];
        }
    }

    /// Clears the delivery and loss signals (BBRResetCongestionSignals, §5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bandwidth_latest = 0;
        self.inflight_latest = 0;
    }

    /// Removes the short-term bounds (BBRResetShortTermModel, §5.5.10.3).
    pub(super) fn reset_short_term(&mut self) {
        self.bandwidth_short_term = u64::MAX;
        self.inflight_short_term = u64::MAX;
    }

    /// Returns `amount` times BBR.Beta.
    pub(super) fn reduced(amount: u64) -> u64 {
        permille(amount, BETA)
    }

    /// Updates the shortest round trip (BBRUpdateMinRTT, §5.3.4.3).
    fn update_min_rtt(&mut self, now: Time, rtt: Option<Span>) {
        if self.resumed.is_some()
            && let Some((_, at)) = self.min_rtt.as_mut().filter(|(_, at)| *at == Time::ZERO)
        {
            // Measured just before the path resumed.
            *at = now;
        }
        let older = |since: Option<(Span, Time)>, than| since.is_none_or(|(_, at)| now.since(at) > than);
        let mut expired = older(self.probe_rtt_min, PROBE_RTT_INTERVAL);
        if self.heeds_near_least {
            self.near_least =
                rtt.filter(|&rtt| self.is_near_least(rtt)).map(|rtt| (rtt, now)).or(self.near_least);
            if expired && !older(self.near_least, NEAR_LEAST) {
                self.probe_rtt_min = self.near_least.map(|(rtt, _)| (rtt, now));
                expired = false;
            }
        }
        self.probe_rtt_expired = expired && self.probe_rtt_min.is_some();
        if let Some(rtt) = rtt
            && (expired || self.probe_rtt_min.is_some_and(|(least, _)| rtt < least))
        {
            self.probe_rtt_min = Some((rtt, now));
        }
        let lower = |(least, _): (Span, Time)| self.min_rtt.is_none_or(|(rtt, _)| least < rtt);
        if older(self.min_rtt, MIN_RTT_WINDOW) || self.probe_rtt_min.is_some_and(lower) {
            self.min_rtt = self.probe_rtt_min.or(self.min_rtt);
        }
    }

    /// Dates the round trip measured in ProbeRTT to its end.
    pub(super) fn refresh_probe_rtt(&mut self, now: Time) {
        if let Some((_, at)) = &mut self.probe_rtt_min {
            *at = now;
        }
    }

    /// Measures bytes acknowledged at once beyond the bandwidth (BBRUpdateACKAggregation, §5.5.9).
    pub(super) fn update_aggregation(&mut self, sample: &DeliverySample, cwnd: u64, settled: bool) {
        let mut expected = over(self.bandwidth, sample.now.since(self.aggregation_start));
        if self.aggregated <= expected {
            self.aggregated = 0;
            self.aggregation_start = sample.now;
            expected = 0;
        }
        self.aggregated = self.aggregated.saturating_add(sample.newly_acked);
        let extra = self.aggregated.saturating_sub(expected).min(cwnd);
        // In Startup a round is enough: the path's rate is not known yet.
        let half = if settled { AGGREGATION_ROUNDS / 2 } else { 1 };
        if self.rounds >= self.extra_acked_since.saturating_add(half) {
            self.extra_acked_halves = [self.extra_acked_halves[1], 0];
            self.extra_acked_since = self.rounds;
        }
        self.extra_acked_halves[1] = self.extra_acked_halves[1].max(extra);
    }
}
