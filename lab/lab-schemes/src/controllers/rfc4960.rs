//! [`Rfc4960`]: RFC 9260's controller with the older condition for growth, for comparison with
//! implementations of RFC 4960 (docs/validation-reasons.md). Everything but the condition is [`Rfc9260`]'s.

use msctp_congestion::{
    Ack, Controller, ControllerConfig, Loss, Make, Measured, Rfc9260, Rfc9260Config, StartState, Window,
};
use msctp_units::{Rate, Time};

/// The window grows only by SACKs that advance the Cumulative TSN Ack Point (RFC 4960 §7.2.1, §7.2.2), and
/// chunks reported as duplicates do not count. RFC 9260 dropped the one and added the other.
///
/// Between a loss and its fast retransmit SACKs report gaps and advance nothing: here the window stands still
/// then, with [`Rfc9260`] it may take one more step. What RFC 4960 has and RFC 9260 has not changed beside
/// it, and what RFC 9260 has added (the bound on partial_bytes_acked while the window is not full), is
/// [`Rfc9260`]'s.
#[derive(Clone, Debug)]
pub struct Rfc4960(Rfc9260);

impl Rfc4960 {
    /// The name.
    pub const NAME: &str = "rfc4960";

    /// Returns the controller of a new path.
    pub fn with(path: &ControllerConfig, options: Rfc4960Config) -> Self {
        Self(Rfc9260::with(path, options.0))
    }
}

/// Options of [`Rfc4960`]: those of [`Rfc9260`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rfc4960Config(pub Rfc9260Config);

impl Make<ControllerConfig, dyn Controller> for Rfc4960Config {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Rfc4960::with(path, *self))
    }
}

impl Controller for Rfc4960 {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn window(&self) -> Window {
        self.0.window()
    }

    fn one_packet_in_flight(&self) -> bool {
        self.0.one_packet_in_flight()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0.acknowledged(&Ack { duplicate_bytes: 0, ..*ack }, ack.cum_tsn_advanced);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.0.on_loss(loss);
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.0.on_recovery_exit(now);
    }

    fn on_spurious_timeout(&mut self, now: Time) {
        self.0.on_spurious_timeout(now);
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        self.0.on_idle(idle_rtos);
    }

    fn start(&mut self, start: &StartState) {
        self.0.start(start);
    }

    fn resume(&mut self, measured: &Measured, flight_size: u64) {
        self.0.resume(measured, flight_size);
    }

    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        self.0.adjust(cwnd, ssthresh);
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.0.on_pmtu(pmdcs);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::{IpVersion, LossKind};

    use super::*;

    const PMDCS: u64 = 1468;

    fn ack(controller: &Rfc4960, cum_tsn_advanced: bool) -> Ack {
        Ack {
            now: Time::ZERO,
            bytes_acked: 2 * PMDCS,
            duplicate_bytes: 0,
            flight_size_before: controller.window().cwnd,
            cum_tsn_advanced,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt: None,
            srtt: None,
            answered_elsewhere: false,
        }
    }

    fn started(ssthresh: u64) -> Rfc4960 {
        let mut controller =
            Rfc4960::with(&ControllerConfig::rfc9260(PMDCS, IpVersion::V4), Rfc4960Config::default());
        controller.start(&StartState { cwnd: 10 * PMDCS, ssthresh: Some(ssthresh), pacing_rate: None });
        controller
    }

    #[test]
    fn a_sack_that_advances_nothing_grows_nothing() {
        for ssthresh in [u64::MAX, PMDCS] {
            let mut controller = started(ssthresh);
            let before = controller.window();
            for _ in 0..20 {
                controller.on_ack(&ack(&controller, false));
            }
            assert_eq!(controller.window(), before);
        }
    }

    #[test]
    fn a_sack_that_advances_grows_as_with_rfc_9260() {
        for ssthresh in [u64::MAX, PMDCS] {
            let mut controller = started(ssthresh);
            let mut reference = controller.0.clone();
            for _ in 0..20 {
                let ack = ack(&controller, true);
                controller.on_ack(&ack);
                reference.on_ack(&ack);
                assert_eq!(controller.window(), reference.window());
            }
            assert!(controller.window().cwnd > 10 * PMDCS);
        }
    }

    #[test]
    fn duplicates_do_not_count() {
        let mut controller = started(PMDCS);
        controller.on_ack(&Ack { bytes_acked: 0, duplicate_bytes: 5 * PMDCS, ..ack(&controller, true) });
        assert_eq!(controller.window().partial_bytes_acked, 0);
    }

    #[test]
    fn an_acknowledgement_that_advances_nothing_still_ends_the_time_after_a_timeout() {
        let mut controller = started(u64::MAX);
        controller.on_loss(&Loss { now: Time::ZERO, kind: LossKind::Timeout, flight_size: 10 * PMDCS });
        assert!(controller.one_packet_in_flight());
        controller.on_ack(&ack(&controller, false));
        assert!(!controller.one_packet_in_flight());
        assert_eq!(controller.window().cwnd, PMDCS);
    }
}
