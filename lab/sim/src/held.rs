//! [`Held`]: keeps the window and the rate that a handover policy set, for the clairvoyant sender of
//! `msctp-lab bench policies`. Not for a network: it does not react to congestion.

use msctp_congestion::{
    Ack, Controller, ControllerConfig, Loss, Make, Measured, Rfc9260, StartState, Window,
};
use msctp_lab_schemes::catalogue::{ControllerEntry, controllers};
use msctp_units::{Rate, Time};

const HELD: ControllerEntry = ControllerEntry {
    name: Held::NAME,
    summary: "keeps the window and rate that the policy clairvoyant set and ignores congestion: a yardstick",
    options: &[],
    make: |_| HeldConfig.into(),
};

/// Returns the controllers of simulated associations: those of `msctp-lab-schemes` and `held`.
pub(crate) fn controllers_with_held() -> impl Iterator<Item = &'static ControllerEntry> {
    controllers().iter().chain([&HELD])
}

/// A controller that follows RFC 9260 until a policy starts the path, and then keeps window and pacing rate.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    before: Rfc9260,
    held: Option<StartState>,
}

/// Makes [`Held`], which has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldConfig;

impl Make<ControllerConfig, dyn Controller> for HeldConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Held::new(path))
    }
}

impl Held {
    /// The name.
    pub(crate) const NAME: &str = "held";

    /// Returns the controller of a new path.
    pub(crate) fn new(path: &ControllerConfig) -> Self {
        Self { before: Rfc9260::new(path), held: None }
    }

    /// Returns RFC 9260's controller while nothing is held.
    fn free(&mut self) -> Option<&mut Rfc9260> {
        self.held.is_none().then_some(&mut self.before)
    }
}

impl Controller for Held {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn window(&self) -> Window {
        self.held.map_or_else(
            || self.before.window(),
            |held| Window { cwnd: held.cwnd, ssthresh: held.cwnd, partial_bytes_acked: 0 },
        )
    }

    fn one_packet_in_flight(&self) -> bool {
        self.held.is_none() && self.before.one_packet_in_flight()
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(controller) = self.free() {
            controller.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if let Some(controller) = self.free() {
            controller.on_loss(loss);
        }
    }

    fn on_recovery_exit(&mut self, now: Time) {
        if let Some(controller) = self.free() {
            controller.on_recovery_exit(now);
        }
    }

    fn on_spurious_timeout(&mut self, now: Time) {
        if let Some(controller) = self.free() {
            controller.on_spurious_timeout(now);
        }
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        if let Some(controller) = self.free() {
            controller.on_idle(idle_rtos);
        }
    }

    fn start(&mut self, start: &StartState) {
        self.held = Some(*start);
    }

    fn resume(&mut self, measured: &Measured, flight_size: u64) {
        if let Some(controller) = self.free() {
            controller.resume(measured, flight_size);
        }
    }

    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        if let Some(controller) = self.free() {
            controller.adjust(cwnd, ssthresh);
        }
    }

    fn reset(&mut self) {
        self.held = None;
        self.before.reset();
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.before.on_pmtu(pmdcs);
        if let Some(held) = &mut self.held {
            held.cwnd = held.cwnd.max(pmdcs);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self.held {
            Some(held) => held.pacing_rate,
            None => self.before.pacing_rate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::{IpVersion, LossKind};

    use super::*;

    #[test]
    fn a_start_is_kept_through_losses_until_a_reset() {
        let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
        let (mut held, mut plain) = (Held::new(&path), Rfc9260::new(&path));
        let loss = Loss { now: Time::ZERO, kind: LossKind::Timeout, flight_size: 4_000 };
        held.on_loss(&loss);
        plain.on_loss(&loss);
        assert_eq!((held.window(), held.one_packet_in_flight()), (plain.window(), true));
        let rate = Some(Rate::from_kbps(1_000));
        held.start(&StartState { cwnd: 50_000, ssthresh: None, pacing_rate: rate });
        for kind in [LossKind::Gap, LossKind::Ecn, LossKind::Timeout] {
            held.on_loss(&Loss { kind, ..loss });
            held.on_idle(3);
            assert_eq!((held.window().cwnd, held.pacing_rate()), (50_000, rate));
            assert!(!held.one_packet_in_flight());
        }
        held.reset();
        assert_eq!((held.window(), held.pacing_rate()), (Rfc9260::new(&path).window(), None));
    }
}
