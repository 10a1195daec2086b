//! [`Cubic`]: CUBIC (RFC 9438) in integer arithmetic, deterministic on every machine.
//!
//! Times are in microseconds, windows in bytes with a binary fraction, C and β in thousandths. RFC 9438
//! counts segments; this counts bytes, one PMDCS per segment.

use msctp_units::{Span, Time};
use num_integer::Roots;

use crate::amount::permille;
use crate::composed::{Composed, WindowAdjustment};
use crate::controller::{Ack, Controller, ControllerConfig, Loss, LossKind};
use crate::factory::Make;
use crate::precise::Precise;
use crate::slow_start::SlowStart;

/// The controller of RFC 9438.
///
/// Choices where the RFC leaves room:
/// - Slow start is HyStart++ (§4.10: "SHOULD"), unless switched off. A window equal to ssthresh is in
///   congestion avoidance, as §4.6 and §4.2 imply.
/// - A congestion avoidance stage begins with the first acknowledgement, outside fast recovery, of a fully
///   used window.
/// - The flow counts as application-limited (§5.8) when a full packet would have fitted into the window, and
///   while nothing was outstanding; that time is not part of t.
/// - In the Reno-friendly region (§4.3) the window is set to W_est unless it is above it already: an
///   acknowledgement never closes it.
/// - After an RTO without data the window starts again as RFC 5681 §4.1 says; W_max is kept for the next
///   stage.
/// - A stage that begins with a window above W_max is treated as one without W_max (K = 0 and W_max = cwnd,
///   RFC 9438 §4.8, §4.10).
pub type Cubic = Composed<CubicCurve>;

/// Options of [`Cubic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicConfig {
    /// L: maximum growth of the window by one acknowledgement in slow start, in packets, at least 1 (RFC 3465
    /// §2.2). `None`: 8 with HyStart++ (RFC 9406 §4.2), otherwise 1 (RFC 5681 §3.1).
    pub slow_start_limit: Option<u64>,
    /// Leave the first slow start when the round-trip time grows: HyStart++ (RFC 9406). Default: true.
    pub hystart: bool,
    /// β_cubic, the share of the window kept after a loss, in thousandths: 100 to 950 (RFC 9438 §4.6). Values
    /// outside count as the nearest. Default: 700.
    pub beta: u64,
    /// C, the steepness of the curve, in thousandths of a packet per cubic second: 1 to 10,000 (RFC 9438
    /// §5.1). Values outside count as the nearest. Default: 400.
    pub c: u64,
    /// Release bandwidth to new flows if the window fell twice in a row (RFC 9438 §4.7). Default: true.
    pub fast_convergence: bool,
    /// Never open the window more slowly than Reno would (RFC 9438 §4.3). Default: true.
    pub reno_friendly: bool,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            slow_start_limit: None,
            hystart: true,
            beta: 700,
            c: 400,
            fast_convergence: true,
            reno_friendly: true,
        }
    }
}

impl Make<ControllerConfig, dyn Controller> for CubicConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Cubic::with(path, *self))
    }
}

/// The cubic function of time since the last loss (RFC 9438 §4).
#[derive(Clone, Debug)]
pub struct CubicCurve {
    /// β_cubic in thousandths.
    beta: u64,
    /// C (RFC 9438 §4.1) in thousandths of a packet per cubic second.
    c: u64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// W_max in bytes; `None` while it is undefined (RFC 9438 §4.8, §4.10).
    w_max: Option<u64>,
    /// The window when ssthresh was last set, in bytes.
    cwnd_prior: Option<u64>,
    stage: Option<Stage>,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// t_epoch, advanced by the time excluded from t.
    epoch: Time,
    /// K in microseconds.
    k: u64,
    w_max: u64,
    w_est: Precise,
    /// Time of the last acknowledgement, if nothing was outstanding after it.
    last: Time,
    drained: bool,
}

/// Distance from K, in µs (19 h), beyond which the curve counts as flat: the products below fit in 128 bits.
const FARTHEST: u64 = 1 << 36;

/// Returns K = cbrt((W_max − cwnd_epoch) / C) in µs (RFC 9438 Figure 2). `c` is in thousandths.
pub(crate) fn k(below: u64, pmdcs: u64, c: u64) -> u64 {
    // (bytes / (C · PMDCS)) in s³, times 10^18 in µs³; below 2^56 bytes (64 PiB) nothing overflows
    let cube =
        u128::from(below.min(1 << 56)) * 10u128.pow(18) * 1000 / (u128::from(c) * u128::from(pmdcs.max(1)));
    // less than 2^43
    cube.cbrt() as u64
}

impl CubicCurve {
    /// Returns W_cubic(t) = C·(t − K)³ + W_max in bytes; t in µs (RFC 9438 Figure 1).
    fn w_cubic(&self, stage: &Stage, t: u64, pmdcs: u64) -> u64 {
        let distance = u128::from(t.abs_diff(stage.k).min(FARTHEST));
        // µs³ · 10^-6, times C in thousandths and bytes, over the 10^18 − 6 and 1000 that are left
        let scaled = distance.pow(3) / 1_000_000 * u128::from(self.c) * u128::from(pmdcs.min(1 << 20));
        let bytes = u64::try_from(scaled / (10u128.pow(12) * 1000)).unwrap_or(u64::MAX);
        if t >= stage.k { stage.w_max.saturating_add(bytes) } else { stage.w_max.saturating_sub(bytes) }
    }

    fn begin(&mut self, now: Time, cwnd: Precise, pmdcs: u64) -> Stage {
        let whole = cwnd.bytes();
        // RFC 9438 §4.10: after a first slow start that no loss ended "CUBIC sets cwnd_prior = cwnd"
        self.cwnd_prior.get_or_insert(whole);
        let w_max = self.w_max.filter(|&w_max| w_max > whole).unwrap_or(whole);
        self.w_max = Some(w_max);
        let k = k(w_max - whole, pmdcs, self.c);
        Stage { epoch: now, k, w_max, w_est: cwnd, last: now, drained: false }
    }

    /// Grows W_est by α · segments_acked / cwnd (RFC 9438 §4.3 Figure 4).
    fn grow_estimate(&self, stage: &mut Stage, acked: u64, cwnd: Precise, pmdcs: u64) {
        if stage.w_est.bytes() >= self.cwnd_prior.unwrap_or(0) {
            // "the sender SHOULD set α_cubic to 1"
            stage.w_est.add_ratio(acked, pmdcs, cwnd);
        } else {
            // α = 3·(1 − β)/(1 + β)
            let (numerator, denominator) = (3 * (1000 - self.beta), 1000 + self.beta);
            stage.w_est.add_ratio(acked.saturating_mul(numerator), pmdcs, cwnd.times(denominator));
        }
    }
}

impl Stage {
    /// Excludes the time since the last acknowledgement from t, except for `except`.
    fn skip(&mut self, now: Time, except: Span) {
        self.epoch += now.since(self.last).saturating_sub(except);
    }

    fn record(&mut self, ack: &Ack) {
        self.last = ack.now;
        self.drained = ack.nothing_outstanding;
    }
}

impl WindowAdjustment for CubicCurve {
    type Options = CubicConfig;
    const NAME: &'static str = "cubic";
    // RFC 9438 §4.6: at least 1 SMSS on a mark
    const LEAST_AFTER_ECN: u64 = 1;

    fn new(options: &CubicConfig) -> (Self, SlowStart) {
        let new = Self {
            beta: options.beta.clamp(100, 950),
            c: options.c.clamp(1, 10_000),
            fast_convergence: options.fast_convergence,
            reno_friendly: options.reno_friendly,
            w_max: None,
            cwnd_prior: None,
            stage: None,
        };
        (new, SlowStart::by_bytes(options.slow_start_limit, options.hystart))
    }

    fn grow(&mut self, ack: &Ack, cwnd: &mut Precise, pmdcs: u64) {
        let rtt = ack.srtt.or(ack.rtt).unwrap_or_default();
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(ack.now, *cwnd, pmdcs),
        };
        if stage.drained {
            // RFC 9438 §5.8: idle periods are not part of t; the round trip of what was sent after is.
            stage.skip(ack.now, rtt);
        }
        stage.record(ack);
        self.grow_estimate(&mut stage, ack.bytes_acked, *cwnd, pmdcs);
        let micros = |span: Span| span.as_nanos() / 1000;
        let t = micros(ack.now.since(stage.epoch));
        if self.reno_friendly && self.w_cubic(&stage, t, pmdcs) < stage.w_est.bytes() {
            // RFC 9438 §4.3
            *cwnd = (*cwnd).max(stage.w_est);
        } else {
            // RFC 9438 §4.2: target within cwnd and 1.5 cwnd; §4.4, §4.5: (target − cwnd)/cwnd per segment
            let whole = cwnd.bytes();
            let target = self.w_cubic(&stage, t.saturating_add(micros(rtt)), pmdcs);
            let target = target.min(whole.saturating_add(whole / 2));
            cwnd.add_ratio(ack.bytes_acked, target.saturating_sub(whole), *cwnd);
        }
        self.stage = Some(stage);
    }

    fn not_used(&mut self, ack: &Ack) {
        if let Some(stage) = &mut self.stage {
            // RFC 9438 §4.2: t MUST NOT include periods without growth for want of data
            stage.skip(ack.now, Span::ZERO);
            stage.record(ack);
        }
    }

    fn reduce(&mut self, loss: &Loss, flight: u64, cwnd: u64) -> u64 {
        self.stage = None;
        self.cwnd_prior = Some(cwnd);
        self.w_max = match loss.kind {
            // RFC 9438 §4.8: the next stage begins with K = 0 and W_max = cwnd
            LossKind::Timeout => None,
            // RFC 9438 §4.7
            LossKind::Gap | LossKind::Ecn
                if self.fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max) =>
            {
                Some(permille(cwnd, 1000 + self.beta) / 2)
            }
            LossKind::Gap | LossKind::Ecn => Some(cwnd),
        };
        // RFC 9438 §4.6
        permille(flight, self.beta)
    }

    fn restart(&mut self) {
        self.stage = None;
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
