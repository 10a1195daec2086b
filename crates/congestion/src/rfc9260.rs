//! [`Rfc9260`]: slow start and congestion avoidance exactly as in RFC 9260 §7.2.

use msctp_units::{Rate, Time};

use crate::careful_resume::{CarefulResume, Resumed};
use crate::controller::{Ack, Controller, ControllerConfig, Loss, LossKind, Measured, StartState, Window};
use crate::factory::{ControllerFactory, Make};
use crate::slow_start::SlowStart;

/// Options of [`Rfc9260`] beyond RFC 9260.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rfc9260Config {
    /// L: maximum growth of the window by one acknowledgement in slow start, in packets, at least 1 (RFC 3465
    /// §2.2). `None`: 8 with HyStart++ (RFC 9406 §4.2), otherwise 1 (RFC 5681 §3.1).
    pub slow_start_limit: Option<u64>,
    /// Leave the first slow start when the round-trip time grows: HyStart++ (RFC 9406). Default: false.
    pub hystart: bool,
}

impl Make<ControllerConfig, dyn Controller> for Rfc9260Config {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Rfc9260::with(path, *self))
    }
}

impl Default for ControllerFactory {
    /// Returns the controller of RFC 9260.
    fn default() -> Self {
        Rfc9260Config::default().into()
    }
}

/// The controller of RFC 9260 §7.2.1 to §7.2.4.
///
/// Choices where the RFC leaves room:
/// - L, the slow-start bound in PMDCS per SACK, is 1 (§7.2.1: "SHOULD be 1") unless an option says otherwise.
/// - A SACK opens the window even if it does not advance the Cumulative TSN Ack Point. RFC 4960 required
///   that, RFC 9260 §7.2.1 names two conditions only (window fully used, not in fast recovery).
/// - "Fully utilized" is `flight_size ≥ cwnd` before the SACK, as §7.2.2 words it. A sender that follows §6.1
///   rule B (exceed cwnd by up to one packet) reaches it whenever it has enough data.
/// - Idle decay (§7.2.1, last bullet) ages what was measured: it begins once data has been acknowledged or
///   lost since the path started, and it never raises a window that is below 4·PMDCS.
#[derive(Clone, Debug)]
pub struct Rfc9260 {
    config: ControllerConfig,
    options: Rfc9260Config,
    window: Window,
    slow_start: SlowStart,
    pacing_rate: Option<Rate>,
    /// True while the window is the configured initial one: no data was acknowledged or lost yet, and no
    /// policy set another window.
    initial: bool,
    /// True if data was acknowledged or lost since the path started, so that idle decay applies.
    measured: bool,
    /// True if the idle decay has begun and ssthresh was set.
    decaying: bool,
    /// True if T3-rtx expired and no data was acknowledged since.
    after_timeout: bool,
    /// The window before the last T3-rtx expiry, while that may prove spurious.
    before_timeout: Option<Window>,
    /// A jump that is not validated yet.
    resume: Option<CarefulResume>,
}

impl Rfc9260 {
    /// The name.
    pub const NAME: &str = "rfc9260";

    /// Returns the controller of a new path, with default options.
    pub fn new(path: &ControllerConfig) -> Self {
        Self::with(path, Rfc9260Config::default())
    }

    /// Returns the controller of a new path.
    pub fn with(path: &ControllerConfig, options: Rfc9260Config) -> Self {
        let mut config = path.clone();
        config.pmdcs = config.pmdcs.max(1);
        Self {
            window: Window {
                cwnd: config.initial_cwnd(),
                // RFC 9260 §7.2.1: "SHOULD be arbitrarily high"
                ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
                partial_bytes_acked: 0,
            },
            slow_start: SlowStart::by_bytes(options.slow_start_limit, options.hystart),
            config,
            options,
            pacing_rate: None,
            initial: true,
            measured: false,
            decaying: false,
            after_timeout: false,
            before_timeout: None,
            resume: None,
        }
    }

    /// Returns max(bytes / 2, 4·PMDCS): with cwnd, the window after a loss (RFC 9260 §7.2.3) and after an
    /// idle RTO (§7.2.1).
    fn half_of(&self, bytes: u64) -> u64 {
        (bytes / 2).max(self.config.pmdcs.saturating_mul(4))
    }

    /// Leaves Safe Retreat with PipeSize `pipe_size`, in bytes.
    ///
    /// RFC 9959: ssthresh is no larger than PipeSize times Beta, which is a half here (RFC 9260 §7.2.3).
    fn retreated(&mut self, pipe_size: u64) {
        self.window.ssthresh = self.half_of(pipe_size);
    }

    /// Handles a loss or mark while a jump is not validated.
    fn retreat(&mut self, mut resume: CarefulResume, loss: &Loss) {
        let least = self.config.pmdcs;
        self.window.cwnd = resume.on_congestion(loss.flight_size).clamp(least, self.window.cwnd);
        self.window.ssthresh = self.window.cwnd;
        self.before_timeout = None;
        self.pacing_rate = None;
        match loss.kind {
            LossKind::Gap | LossKind::Ecn => self.resume = Some(resume),
            LossKind::Timeout => {
                self.retreated(resume.pipe_size());
                self.window.cwnd = least;
                self.after_timeout = true;
            }
        }
    }

    fn note_measured(&mut self) {
        self.initial = false;
        self.measured = true;
        self.decaying = false;
    }

    /// Handles a SACK as [`on_ack`](Controller::on_ack) does, if `may_grow`. Otherwise the window stays.
    ///
    /// Controllers that wrap this one use it with their own condition for growth.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Ack, may_grow: bool) {
        if ack.bytes_acked > 0 {
            self.note_measured();
            self.after_timeout = false;
            match CarefulResume::on_ack(&mut self.resume, ack) {
                Resumed::Hold => return,
                Resumed::Set(cwnd) => {
                    self.window.cwnd = cwnd.max(self.config.pmdcs);
                    self.pacing_rate = None;
                    return;
                }
                Resumed::Grow => self.pacing_rate = None,
                Resumed::Retreated(pipe_size) => self.retreated(pipe_size),
            }
        }
        if may_grow {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
            //# The slow-start and congestion avoidance algorithms MUST be used by an endpoint to control the
            //# amount of data being injected into the network.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
            //# an SCTP sender MUST NOT be more aggressive than the following algorithms allow.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
            //# When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start
            //# algorithm
            if self.window.cwnd <= self.window.ssthresh {
                self.slow_start(ack);
            } else {
                self.slow_start.leave();
                self.congestion_avoidance(ack);
            }
        }
        if ack.nothing_outstanding {
            // RFC 9260 §7.2.2, last bullet
            self.window.partial_bytes_acked = 0;
        }
    }

    /// Grows the window in slow start (RFC 9260 §7.2.1, fifth bullet).
    fn slow_start(&mut self, ack: &Ack) {
        if ack.in_fast_recovery {
            return;
        }
        if ack.bytes_acked > 0 && self.slow_start.on_ack(ack) {
            // RFC 9406 §4.2: slow start is over
            self.window.ssthresh = self.window.cwnd;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
        //# otherwise, the cwnd MUST NOT be increased.
        if ack.flight_size_before >= self.window.cwnd {
            let growth = self.slow_start.growth(ack, self.config.pmdcs, u64::MAX);
            self.window.cwnd = self.window.cwnd.saturating_add(growth);
        }
    }

    /// Grows the window in congestion avoidance (RFC 9260 §7.2.2).
    fn congestion_avoidance(&mut self, ack: &Ack) {
        let Window { cwnd, partial_bytes_acked, .. } = &mut self.window;
        *partial_bytes_acked =
            partial_bytes_acked.saturating_add(ack.bytes_acked).saturating_add(ack.duplicate_bytes);
        if ack.flight_size_before < *cwnd {
            *partial_bytes_acked = (*partial_bytes_acked).min(*cwnd);
        } else if *partial_bytes_acked >= *cwnd {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.2
            //# SCTP MUST NOT increment cwnd by more than PMDCS per RTT.
            *partial_bytes_acked -= *cwnd;
            *cwnd = cwnd.saturating_add(self.config.pmdcs);
        }
    }
}

impl Controller for Rfc9260 {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn window(&self) -> Window {
        self.window
    }

    fn one_packet_in_flight(&self) -> bool {
        self.after_timeout
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.acknowledged(ack, true);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.note_measured();
        match loss.kind {
            LossKind::Gap | LossKind::Ecn => self.before_timeout = None,
            LossKind::Timeout if self.after_timeout => {}
            LossKind::Timeout => self.before_timeout = Some(self.window),
        }
        self.window.partial_bytes_acked = 0;
        self.slow_start.on_loss(loss.kind);
        if let Some(resume) = self.resume.take() {
            self.retreat(resume, loss);
            return;
        }
        // RFC 9260 §7.2.3
        self.window.ssthresh = self.half_of(self.window.cwnd);
        match loss.kind {
            LossKind::Gap => self.window.cwnd = self.window.ssthresh,
            // The minimum of four packets is for losses: a mark opens no window.
            LossKind::Ecn => self.window.cwnd = self.window.cwnd.min(self.window.ssthresh),
            LossKind::Timeout => {
                //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
                //# The initial cwnd after a retransmission timeout MUST be no more than PMDCS
                self.window.cwnd = self.config.pmdcs;
                self.after_timeout = true;
            }
        }
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        // RFC 9260 §7.2.4 changes no variable here: cwnd is where §7.2.3 put it.
        if let Some(pipe_size) = CarefulResume::on_recovery_exit(&mut self.resume) {
            self.retreated(pipe_size);
        }
    }

    fn on_spurious_timeout(&mut self, _now: Time) {
        let Some(before) = self.before_timeout.take() else { return };
        self.after_timeout = false;
        if before.cwnd > self.window.cwnd {
            self.window.cwnd = before.cwnd.max(self.config.pmdcs);
            self.window.partial_bytes_acked = before.partial_bytes_acked;
        }
        self.window.ssthresh = before.ssthresh;
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        if !self.measured {
            return;
        }
        for _ in 0..idle_rtos {
            let decayed = self.half_of(self.window.cwnd);
            if decayed >= self.window.cwnd {
                break;
            }
            if !self.decaying {
                // RFC 9260 §7.2.1: "before the first cwnd adjustment"
                self.window.ssthresh = self.window.cwnd;
                self.decaying = true;
                self.before_timeout = None;
            }
            self.window.cwnd = decayed;
            self.resume = None;
        }
    }

    fn start(&mut self, start: &StartState) {
        self.reset();
        self.window.cwnd = start.cwnd.max(self.config.pmdcs);
        if let Some(ssthresh) = start.ssthresh {
            self.window.ssthresh = ssthresh;
        }
        self.pacing_rate = start.pacing_rate;
        self.initial = false;
    }

    fn resume(&mut self, measured: &Measured, flight_size: u64) {
        let (resume, start) = CarefulResume::jump(measured, flight_size, self.config.initial_cwnd());
        self.start(&start);
        // The measurement ages while nothing is sent.
        self.measured = true;
        self.resume = resume;
    }

    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        self.window = Window { cwnd: cwnd.max(self.config.pmdcs), ssthresh, partial_bytes_acked: 0 };
        self.resume = None;
        self.initial = false;
    }

    fn reset(&mut self) {
        *self = Self::with(&self.config, self.options);
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.config.pmdcs = pmdcs.max(1);
        if self.initial {
            self.window.cwnd = self.config.initial_cwnd();
        } else {
            self.window.cwnd = self.window.cwnd.max(self.config.pmdcs);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Span;

    use super::*;
    use crate::{InitialWindow, IpVersion};

    const PMDCS: u64 = 1468;

    fn fresh() -> Rfc9260 {
        Rfc9260::new(&ControllerConfig::rfc9260(PMDCS, IpVersion::V4))
    }

    fn started(cwnd: u64, ssthresh: u64) -> Rfc9260 {
        let mut controller = fresh();
        controller.start(&StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: None });
        controller
    }

    /// Returns a SACK for `bytes_acked` while the window was full.
    fn full(controller: &Rfc9260, bytes_acked: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            bytes_acked,
            duplicate_bytes: 0,
            flight_size_before: controller.window().cwnd,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt: None,
            srtt: None,
            answered_elsewhere: false,
        }
    }

    #[test]
    fn adjusting_a_running_path_forgets_neither_a_timeout_nor_the_idle_decay() {
        let mut controller = started(30_000, 20_000);
        controller.on_loss(&loss(LossKind::Timeout));
        controller.adjust(6_000, 5_000);
        assert!(controller.one_packet_in_flight());
        let window = Window { cwnd: 6_000, ssthresh: 5_000, partial_bytes_acked: 0 };
        assert_eq!(controller.window(), window);
        controller.on_pmtu(1000);
        assert_eq!(controller.window().cwnd, 6_000, "no initial window any more");
        controller.adjust(0, 0);
        assert_eq!(controller.window().cwnd, 1000);
        // The default of the trait does what a fresh start does.
        controller.on_loss(&loss(LossKind::Timeout));
        controller.start(&StartState { cwnd: 6_000, ssthresh: Some(5_000), pacing_rate: None });
        assert!(!controller.one_packet_in_flight());
    }

    fn loss(kind: LossKind) -> Loss {
        Loss { now: Time::ZERO, kind, flight_size: 0 }
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=test
    //# The initial cwnd before data transmission MUST be set to min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if
    //# the peer address is an IPv4 address
    #[test]
    fn initial_window_by_family_and_size() {
        let initial = |pmdcs, version| Rfc9260::new(&ControllerConfig::rfc9260(pmdcs, version)).window().cwnd;
        assert_eq!(initial(1468, IpVersion::V4), 4404);
        assert_eq!(initial(1448, IpVersion::V6), 4344);
        assert_eq!(initial(500, IpVersion::V4), 2000, "4·PMDCS is the least");
        assert_eq!(initial(8960, IpVersion::V4), 17920, "2·PMDCS above 4404");
        assert_eq!(fresh().window().ssthresh, u64::MAX);
        let with = |initial_window| {
            let config =
                ControllerConfig { initial_window, ..ControllerConfig::rfc9260(PMDCS, IpVersion::V4) };
            Rfc9260::new(&config).window().cwnd
        };
        assert_eq!(with(InitialWindow::Packets(10)), 14_680);
        assert_eq!(with(InitialWindow::Bytes(50_000)), 50_000);
        assert_eq!(with(InitialWindow::Packets(0)), PMDCS, "never less than one chunk");
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=test
    //# If these conditions are met, then cwnd MUST be increased by, at most, the lesser of
    #[test]
    fn slow_start_adds_what_was_acked_up_to_one_pmdcs() {
        let mut controller = fresh();
        controller.on_ack(&full(&controller, 100));
        assert_eq!(controller.window().cwnd, 4504);
        controller.on_ack(&full(&controller, 2 * PMDCS));
        assert_eq!(controller.window().cwnd, 4504 + PMDCS, "L = 1");
    }

    /// With RFC 9406 the first slow start slows down when the round-trip time grows, and ends after five
    /// rounds. Until then the window opens by up to eight packets per SACK.
    #[test]
    fn slow_start_with_hystart_ends_before_a_loss() {
        let options = Rfc9260Config { hystart: true, ..Rfc9260Config::default() };
        let mut controller = Rfc9260::with(&ControllerConfig::rfc9260(PMDCS, IpVersion::V4), options);
        controller.on_ack(&full(&controller, 3 * PMDCS));
        assert_eq!(controller.window().cwnd, 4404 + 3 * PMDCS, "L = 8");
        let mut rounds = 0;
        while controller.window().ssthresh == u64::MAX {
            let flight = controller.window().cwnd;
            // The queue has been growing since the third round.
            let rtt = Some(Span::from_millis(40 + 20 * u64::max(rounds, 2)));
            for _ in 0..10 {
                let ack = Ack { flight_size_before: flight, rtt, ..full(&controller, flight / 10) };
                controller.on_ack(&ack);
            }
            rounds += 1;
            assert!(rounds < 20);
        }
        let Window { cwnd, ssthresh, .. } = controller.window();
        assert!(cwnd <= ssthresh + PMDCS && rounds >= 7, "{rounds} {cwnd} {ssthresh}");
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=test
    //# otherwise, the cwnd MUST NOT be increased.
    #[test]
    fn slow_start_needs_a_full_window_and_no_fast_recovery() {
        let mut controller = fresh();
        let ack = full(&controller, PMDCS);
        controller.on_ack(&Ack { flight_size_before: 4403, ..ack });
        controller.on_ack(&Ack { in_fast_recovery: true, ..ack });
        controller.on_ack(&Ack { bytes_acked: 0, ..ack });
        assert_eq!(controller.window().cwnd, 4404);
        controller.on_ack(&Ack { cum_tsn_advanced: false, ..ack });
        assert_eq!(controller.window().cwnd, 4404 + PMDCS, "RFC 9260 does not ask for the cumulative TSN");
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
    //= type=test
    //# The slow-start and congestion avoidance algorithms MUST be used by an endpoint to control the amount
    //# of data being injected into the network.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=test
    //# When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start algorithm
    #[test]
    fn slow_start_holds_at_ssthresh_and_avoidance_begins_above() {
        let mut controller = started(10_000, 10_000);
        controller.on_ack(&full(&controller, PMDCS));
        assert_eq!(controller.window().cwnd, 11_468, "cwnd ≤ ssthresh is still slow start");
        controller.on_ack(&full(&controller, PMDCS));
        assert_eq!(
            controller.window(),
            Window { cwnd: 11_468, ssthresh: 10_000, partial_bytes_acked: PMDCS },
            "above it bytes are counted"
        );
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.2
    //= type=test
    //# SCTP MUST NOT increment cwnd by more than PMDCS per RTT.
    #[test]
    fn avoidance_adds_one_pmdcs_per_window_acked() {
        let mut controller = started(10_000, 5_000);
        for acked in [4_000, 4_000] {
            controller.on_ack(&full(&controller, acked));
        }
        assert_eq!(controller.window().cwnd, 10_000);
        controller.on_ack(&full(&controller, 4_000));
        let after = controller.window();
        assert_eq!((after.cwnd, after.partial_bytes_acked), (10_000 + PMDCS, 2_000));
    }

    #[test]
    fn avoidance_counts_duplicates_and_caps_when_the_window_is_not_full() {
        let mut controller = started(10_000, 5_000);
        let not_full = Ack { flight_size_before: 9_999, ..full(&controller, 9_000) };
        controller.on_ack(&Ack { duplicate_bytes: 500, ..not_full });
        assert_eq!(controller.window().partial_bytes_acked, 9_500);
        controller.on_ack(&not_full);
        assert_eq!(controller.window().partial_bytes_acked, 10_000, "reset to cwnd");
        assert_eq!(controller.window().cwnd, 10_000);
        controller.on_ack(&full(&controller, 1));
        let after = controller.window();
        assert_eq!((after.cwnd, after.partial_bytes_acked), (11_468, 1));
    }

    #[test]
    fn partial_bytes_acked_is_dropped_when_all_is_acked() {
        let mut controller = started(10_000, 5_000);
        controller.on_ack(&full(&controller, 3_000));
        controller.on_ack(&Ack { nothing_outstanding: true, ..full(&controller, 3_000) });
        assert_eq!(controller.window().partial_bytes_acked, 0);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=test
    //# The initial cwnd after a retransmission timeout MUST be no more than PMDCS
    #[test]
    fn losses_halve_with_a_floor_of_four_pmdcs() {
        for kind in [LossKind::Gap, LossKind::Ecn] {
            let mut controller = started(100_000, 5_000);
            controller.on_ack(&full(&controller, 3_000));
            controller.on_loss(&loss(kind));
            assert_eq!(
                controller.window(),
                Window { cwnd: 50_000, ssthresh: 50_000, partial_bytes_acked: 0 }
            );
            assert!(!controller.one_packet_in_flight());
        }
        let mut controller = started(6_000, 5_000);
        controller.on_loss(&loss(LossKind::Gap));
        assert_eq!(controller.window().cwnd, 4 * PMDCS);
        let mut controller = started(100_000, 5_000);
        controller.on_loss(&loss(LossKind::Timeout));
        assert_eq!(controller.window(), Window { cwnd: PMDCS, ssthresh: 50_000, partial_bytes_acked: 0 });
        controller.on_loss(&loss(LossKind::Timeout));
        assert_eq!(controller.window().ssthresh, 4 * PMDCS);
    }

    #[test]
    fn one_packet_from_a_timeout_to_the_next_ack() {
        let mut controller = started(100_000, 5_000);
        controller.on_loss(&loss(LossKind::Timeout));
        assert!(controller.one_packet_in_flight());
        controller.on_ack(&Ack { bytes_acked: 0, ..full(&controller, 0) });
        assert!(controller.one_packet_in_flight());
        controller.on_ack(&full(&controller, PMDCS));
        assert!(!controller.one_packet_in_flight());
        assert_eq!(controller.window().cwnd, 2 * PMDCS);
    }

    #[test]
    fn a_spurious_timeout_is_undone_once() {
        let mut controller = started(100_000, 50_000);
        controller.on_ack(&full(&controller, 7_000));
        let before = controller.window();
        controller.on_loss(&loss(LossKind::Timeout));
        controller.on_loss(&loss(LossKind::Timeout));
        controller.on_spurious_timeout(Time::ZERO);
        assert_eq!(controller.window(), before, "the whole series");
        assert!(!controller.one_packet_in_flight());
        controller.on_loss(&loss(LossKind::Timeout));
        controller.on_loss(&loss(LossKind::Gap));
        let after = controller.window();
        controller.on_spurious_timeout(Time::ZERO);
        assert_eq!(controller.window(), after, "a loss that was seen stands");
    }

    #[test]
    fn idle_halves_once_per_rto_after_saving_cwnd_in_ssthresh() {
        let mut at_once = started(100_000, 50_000);
        at_once.on_idle(3);
        assert_eq!(at_once.window().cwnd, 100_000, "nothing sent yet: nothing to age");
        at_once.on_ack(&full(&at_once, 1));
        let mut one_by_one = at_once.clone();
        at_once.on_idle(3);
        for _ in 0..3 {
            one_by_one.on_idle(1);
        }
        for controller in [&at_once, &one_by_one] {
            assert_eq!((controller.window().cwnd, controller.window().ssthresh), (12_500, 100_000));
        }
        at_once.on_idle(u64::MAX);
        assert_eq!(at_once.window().cwnd, 4 * PMDCS);
        // used again, then idle again: the threshold is saved anew
        at_once.on_ack(&full(&at_once, PMDCS));
        let used = at_once.window().cwnd;
        at_once.on_idle(1);
        assert_eq!((at_once.window().cwnd, at_once.window().ssthresh), (4 * PMDCS, used));
    }

    #[test]
    fn idle_never_raises_a_small_window() {
        let mut controller = started(100_000, 50_000);
        controller.on_loss(&loss(LossKind::Timeout));
        let before = controller.window();
        controller.on_idle(5);
        assert_eq!(controller.window(), before);
    }

    #[test]
    fn start_reset_and_pmtu() {
        let mut controller = fresh();
        controller.on_pmtu(1000);
        assert_eq!(controller.window().cwnd, 4000, "unused: the initial window follows");
        controller.start(&StartState { cwnd: 10, ssthresh: None, pacing_rate: Some(Rate::from_mbps(1)) });
        assert_eq!(controller.window(), Window { cwnd: 1000, ssthresh: u64::MAX, partial_bytes_acked: 0 });
        assert_eq!(controller.pacing_rate(), Some(Rate::from_mbps(1)));
        controller.on_pmtu(1200);
        assert_eq!(controller.window().cwnd, 1200, "started: only the floor follows");
        controller.reset();
        assert_eq!((controller.window().cwnd, controller.pacing_rate()), (4404, None));
    }

    proptest::proptest! {
        /// §7.2.1, §7.2.2: the window is always at least 1 PMDCS. One SACK raises it by at most 1 PMDCS, and
        /// not while the window is not full. Only a policy's start or a reset raises it otherwise.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
        //= type=test
        //# an SCTP sender MUST NOT be more aggressive than the following algorithms allow.
        #[test]
        fn any_sequence_of_events(
            events in proptest::collection::vec((0u8..8, 0u64..20_000, 0u64..200_000), 1..200),
        ) {
            let mut controller = fresh();
            for (what, bytes, flight_size_before) in events {
                let before = controller.window().cwnd;
                let ack = Ack { flight_size_before, ..full(&controller, bytes) };
                let limit = match what {
                    0..=2 => {
                        controller.on_ack(&ack);
                        if flight_size_before < before { before } else { before + PMDCS }
                    }
                    3 => {
                        controller.on_ack(&Ack { nothing_outstanding: true, ..ack });
                        before + PMDCS
                    }
                    4 => {
                        controller.on_loss(&loss(LossKind::Gap));
                        before.max(4 * PMDCS)
                    }
                    5 => {
                        controller.on_loss(&loss(LossKind::Timeout));
                        PMDCS
                    }
                    6 => {
                        controller.on_idle(bytes % 5);
                        before
                    }
                    _ => {
                        controller.start(&StartState { cwnd: bytes, ssthresh: Some(bytes), pacing_rate: None });
                        bytes.max(PMDCS)
                    }
                };
                let after = controller.window().cwnd;
                proptest::prop_assert!((PMDCS..=limit).contains(&after), "{what}: {before} to {after}");
            }
        }
    }
}
