//! [`RttEstimator`]: SRTT, RTTVAR and RTO of one path (RFC 9260 §6.3.1, §6.3.3), and the least RTT seen.
//!
//! The caller chooses what to measure (Karn's rule C5, once per round trip C4).

use msctp_units::Span;

/// Bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO before the first measurement ('RTO.Initial').
    pub initial: Span,
    /// Minimum RTO ('RTO.Min').
    pub min: Span,
    /// Maximum RTO ('RTO.Max'), also for back-off. At least `min`; a smaller value counts as `min`.
    pub max: Span,
    /// RTTVAR's value in place of zero: the clock granularity G.
    pub granularity: Span,
}

impl Default for RtoConfig {
    /// Returns the parameters of RFC 9260 §16: 1 s, 1 s, 60 s; G = 1 ms.
    fn default() -> Self {
        Self {
            initial: Span::from_secs(1),
            min: Span::from_secs(1),
            max: Span::from_secs(60),
            granularity: Span::from_millis(1),
        }
    }
}

/// The round-trip times of a path for a [loss classifier](crate::classifier).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// T_cur: the last measurement.
    pub current: Span,
    /// T_avg: the smoothed round-trip time, SRTT, the last measurement included.
    pub average: Span,
    /// T_dev: its deviation, RTTVAR.
    pub deviation: Span,
    /// T_min: the least measurement since creation, a reset or a start over.
    pub least: Span,
}

/// Round-trip statistics of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    measured: Option<Measured>,
    rto: Span,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    srtt: Span,
    rttvar: Span,
    latest: Span,
    least: Span,
}

impl RttEstimator {
    /// Creates an estimator without measurements, whose RTO is 'RTO.Initial' (RFC 9260 §6.3.1 C1) within min
    /// and max.
    pub fn new(config: RtoConfig) -> Self {
        let mut new = Self { config, measured: None, rto: config.initial };
        new.set_rto(config.initial);
        new
    }

    /// Adds an RTT measurement and undoes any back-off (RFC 9260 §6.3.3, "collapsing").
    pub fn on_measurement(&mut self, rtt: Span) {
        // A century-long sample must not overflow the sums below.
        let rtt = rtt.min(Span::from_nanos(u64::MAX / 16));
        let mut now = match self.measured {
            // RFC 9260 §6.3.1 C2
            None => Measured { srtt: rtt, rttvar: rtt / 2, latest: rtt, least: rtt },
            // RFC 9260 §6.3.1 C3 with RTO.Alpha = 1/8 and RTO.Beta = 1/4; RTTVAR takes the old SRTT
            Some(old) => {
                let deviation = old.srtt.saturating_sub(rtt) + rtt.saturating_sub(old.srtt);
                Measured {
                    srtt: (old.srtt * 7 + rtt) / 8,
                    rttvar: (old.rttvar * 3 + deviation) / 4,
                    latest: rtt,
                    least: old.least.min(rtt),
                }
            }
        };
        // RFC 9260 §6.3.1 G1
        if now.rttvar.is_zero() {
            now.rttvar = self.config.granularity;
        }
        self.measured = Some(now);
        self.end_back_off();
    }

    /// Doubles the RTO after T3-rtx expired, up to 'RTO.Max' (RFC 9260 §6.3.3 E2).
    pub fn back_off(&mut self) {
        self.set_rto(self.rto * 2);
    }

    /// Undoes any back-off without a measurement, because the unacknowledged data never left the host.
    pub fn end_back_off(&mut self) {
        self.rto = self.measured_rto();
    }

    /// Limits a back-off to `limit`, without a measurement. Has no effect on an RTO that was not backed off.
    pub fn limit_back_off(&mut self, limit: Span) {
        self.set_rto(self.measured_rto().max(self.rto.min(limit)));
    }

    /// Returns true if the RTO is longer than the measurements say: it was doubled or raised since the last.
    pub fn is_backed_off(&self) -> bool {
        self.rto > self.measured_rto()
    }

    /// Raises the RTO to at least `rto`, within max, until the next measurement.
    ///
    /// Not in RFC 9260: for a caller that knows that the path has just become slower.
    pub fn raise_rto(&mut self, rto: Span) {
        self.set_rto(self.rto.max(rto));
    }

    /// Returns the retransmission timeout now.
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// Returns the smoothed round-trip time; `None` before the first measurement.
    pub fn srtt(&self) -> Option<Span> {
        self.measured.map(|m| m.srtt)
    }

    /// Returns the round-trip time variation; `None` before the first measurement.
    pub fn rttvar(&self) -> Option<Span> {
        self.measured.map(|m| m.rttvar)
    }

    /// Returns the last measurement.
    pub fn latest(&self) -> Option<Span> {
        self.measured.map(|m| m.latest)
    }

    /// Returns the least measurement since creation or [`reset`](Self::reset).
    pub fn rtt_min(&self) -> Option<Span> {
        self.measured.map(|m| m.least)
    }

    /// Returns all statistics; `None` before the first measurement.
    pub fn round_trips(&self) -> Option<RoundTrips> {
        self.measured.map(|Measured { srtt, rttvar, latest, least }| RoundTrips {
            current: latest,
            average: srtt,
            deviation: rttvar,
            least,
        })
    }

    /// Restarts from one round-trip time, which may belong to another network.
    ///
    /// T_min = T_avg = `rtt` and T_dev = `rtt` / 2, as after a first measurement (Park & Jang §2.2: at the
    /// ACK of the first new segment after a spurious timeout). The RTO follows, and any back-off is undone.
    pub fn start_over(&mut self, rtt: Span) {
        self.reset();
        self.on_measurement(rtt);
    }

    /// Discards all measurements, for a path whose route changed.
    pub fn reset(&mut self) {
        *self = Self::new(self.config);
    }

    /// Sets the RTO within min and max (RFC 9260 §6.3.1 C6, C7).
    /// The RTO of the measurements, without a back-off (RFC 9260 §6.3.1 C1 to C3).
    fn measured_rto(&self) -> Span {
        self.within(self.measured.map_or(self.config.initial, |m| m.srtt + m.rttvar * 4))
    }

    fn set_rto(&mut self, rto: Span) {
        self.rto = self.within(rto);
    }

    fn within(&self, rto: Span) -> Span {
        rto.min(self.config.max).max(self.config.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn loose() -> RtoConfig {
        RtoConfig { initial: ms(3000), min: ms(1), max: ms(60_000), granularity: ms(1) }
    }

    #[test]
    fn starts_at_rto_initial_without_measurement() {
        let rtt = RttEstimator::new(RtoConfig::default());
        assert_eq!(rtt.rto(), Span::from_secs(1));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rtt_min(), rtt.latest()), (None, None, None, None));
    }

    #[test]
    fn follows_c2_and_c3() {
        let mut rtt = RttEstimator::new(loose());
        rtt.on_measurement(ms(200));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(200)), Some(ms(100)), ms(600)));
        // RTTVAR = 3/4·100 + 1/4·|200−280| = 95; SRTT = 7/8·200 + 1/8·280 = 210; RTO = 210 + 380
        rtt.on_measurement(ms(280));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(210)), Some(ms(95)), ms(590)));
        // below SRTT: RTTVAR = 3/4·95 + 1/4·|210−130| = 91.25; SRTT = 7/8·210 + 1/8·130 = 200
        rtt.on_measurement(ms(130));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(200)), Some(Span::from_micros(91_250))));
        assert_eq!((rtt.rtt_min(), rtt.latest()), (Some(ms(130)), Some(ms(130))));
    }

    #[test]
    fn rttvar_of_zero_becomes_the_granularity() {
        let mut rtt = RttEstimator::new(loose());
        rtt.on_measurement(Span::ZERO);
        assert_eq!(rtt.rttvar(), Some(ms(1)));
        assert_eq!(rtt.rto(), ms(4));
    }

    #[test]
    fn min_max_back_off_and_collapse() {
        let mut rtt = RttEstimator::new(RtoConfig::default());
        rtt.on_measurement(ms(70));
        assert_eq!(rtt.rto(), ms(1000), "C6");
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Span::from_secs(expected), "E2");
        }
        rtt.on_measurement(ms(70));
        assert_eq!(rtt.rto(), ms(1000), "§6.3.3");
        rtt.reset();
        assert_eq!((rtt.srtt(), rtt.rto()), (None, ms(1000)));
    }

    #[test]
    fn a_limited_back_off_is_no_shorter_than_the_measurements_say() {
        let back_off = |rtt: &mut RttEstimator| (0..4).for_each(|_| rtt.back_off());
        let mut rtt = RttEstimator::new(RtoConfig::default());
        assert!(!rtt.is_backed_off());
        rtt.limit_back_off(ms(3000));
        assert_eq!(rtt.rto(), ms(1000), "not backed off");
        rtt.back_off();
        rtt.limit_back_off(ms(3000));
        assert_eq!((rtt.rto(), rtt.is_backed_off()), (ms(2000), true), "below the limit");
        back_off(&mut rtt);
        rtt.limit_back_off(ms(3000));
        assert_eq!(rtt.rto(), ms(3000));
        rtt.on_measurement(ms(2000));
        assert!(!rtt.is_backed_off());
        back_off(&mut rtt);
        rtt.limit_back_off(ms(3000));
        assert_eq!((rtt.rto(), rtt.is_backed_off()), (ms(6000), false), "SRTT + 4 RTTVAR");
    }

    #[test]
    fn starting_over_forgets_the_old_network() {
        let mut rtt = RttEstimator::new(loose());
        assert_eq!(rtt.round_trips(), None);
        for sample in [400, 480, 440] {
            rtt.on_measurement(ms(sample));
        }
        let before = rtt.round_trips().unwrap();
        assert_eq!((before.current, before.least), (ms(440), ms(400)));
        assert_eq!((before.average, before.deviation), (rtt.srtt().unwrap(), rtt.rttvar().unwrap()));
        rtt.back_off();
        // Park & Jang §2.2: "T_min and T_avg is set to new measured RTT and T_dev is set to a half"
        rtt.start_over(ms(40));
        let after = RoundTrips { current: ms(40), average: ms(40), deviation: ms(20), least: ms(40) };
        assert_eq!((rtt.round_trips(), rtt.rto()), (Some(after), ms(120)));
    }

    #[test]
    fn absurd_samples_do_not_overflow() {
        let mut rtt = RttEstimator::new(RtoConfig::default());
        for sample in [Span::MAX, Span::ZERO, Span::MAX, Span::MAX] {
            rtt.on_measurement(sample);
            assert_eq!(rtt.rto(), Span::from_secs(60));
        }
    }
}
