//! [`Composed`]: a controller made of slow start and a [`WindowAdjustment`].
//!
//! Holds what TCP's controllers share: the switch between the two, idle restart, timeouts and their undo,
//! starts and resets.

use msctp_units::{Rate, Time};

use crate::careful_resume::{CarefulResume, Resumed};
use crate::controller::{Ack, Controller, ControllerConfig, Loss, LossKind, Measured, StartState, Window};
use crate::coupled::CoupledPaths;
use crate::precise::Precise;
use crate::slow_start::SlowStart;

/// Window growth above the threshold, and the reduction after a loss.
///
/// Sizes in bytes. Receives acknowledgements outside fast recovery only.
pub trait WindowAdjustment: Clone + core::fmt::Debug + Send {
    /// The controller's options.
    type Options: Clone + Default + core::fmt::Debug + Send;
    /// The controller's name.
    const NAME: &'static str;
    /// Minimum window after an ECN mark, in full packets; after a loss it is 2.
    const LEAST_AFTER_ECN: u64 = 2;
    /// Whether growth depends on the association's other paths.
    const COUPLED: bool = false;

    /// Returns the state of a new path and its slow start.
    fn new(options: &Self::Options) -> (Self, SlowStart)
    where
        Self: Sized;

    /// Handles an acknowledgement in congestion avoidance while the window is fully used.
    fn grow(&mut self, ack: &Ack, cwnd: &mut Precise, pmdcs: u64);

    /// Handles the state of the other paths that carry data, before [`grow`](Self::grow).
    fn on_other_paths(&mut self, _others: CoupledPaths) {}

    /// Handles an acknowledgement in congestion avoidance while the window is not fully used.
    fn not_used(&mut self, _ack: &Ack) {}

    /// Returns whether the window grows while it is not fully used.
    fn grows_unused(&self) -> bool {
        false
    }

    /// Returns the threshold after a loss, before its floor. `flight` is the flight size, at most cwnd. Not
    /// called for the second and later timeouts in a row.
    fn reduce(&mut self, loss: &Loss, flight: u64, cwnd: u64) -> u64;

    /// Restarts after at least an RTO without data.
    fn restart(&mut self) {}

    /// Returns the bytes acknowledged towards the next increase.
    fn partial_bytes_acked(&self) -> u64 {
        0
    }
}

/// A controller made of slow start and `A`. Beyond the contract of [`Controller`]:
///
/// - Slow start applies below the threshold, `A` from the threshold on (RFC 5681 §3.1 leaves equality open).
/// - The window counts as used when no full packet would have fitted before the acknowledgement. Otherwise it
///   does not grow (RFC 7661 §1 and RFC 9438 §5.8 say why), unless `A` wants it to.
/// - The flight size after which the window is reduced (RFC 5681 §3.1 eq. (4)) is at most cwnd, so that a
///   loss among data sent beyond the window never opens it.
/// - In fast recovery the window stands where [`on_loss`](Controller::on_loss) put it. TCP's inflation by
///   duplicate acknowledgements (RFC 5681 §3.2 (3), (4)) is left to the sender.
/// - After an RTO without data cwnd is at most the initial window (RFC 5681 §4.1), the threshold stays.
#[derive(Clone, Debug)]
pub struct Composed<A: WindowAdjustment> {
    config: ControllerConfig,
    options: A::Options,
    state: State<A>,
    pacing_rate: Option<Rate>,
    /// True while the window is the configured initial one: no data was acknowledged or lost yet, and no
    /// policy set another window.
    initial: bool,
    /// True if the retransmission timer expired and no data was acknowledged since.
    after_timeout: bool,
    /// The state to restore after a spurious timeout.
    before_timeout: Option<State<A>>,
    /// A jump that is not validated yet.
    resume: Option<CarefulResume>,
}

#[derive(Clone, Debug)]
struct State<A> {
    cwnd: Precise,
    ssthresh: u64,
    slow_start: SlowStart,
    adjustment: A,
}

impl<A: WindowAdjustment> Composed<A> {
    /// The name.
    pub const NAME: &str = A::NAME;

    /// Returns the controller of a new path, with default options.
    pub fn new(path: &ControllerConfig) -> Self {
        Self::with(path, A::Options::default())
    }

    /// Returns the controller of a new path.
    pub fn with(path: &ControllerConfig, options: A::Options) -> Self {
        let mut config = path.clone();
        config.pmdcs = config.pmdcs.max(1);
        let (adjustment, slow_start) = A::new(&options);
        let state = State {
            cwnd: Precise::new(config.initial_cwnd()),
            // RFC 5681 §3.1: "SHOULD be set arbitrarily high"
            ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
            slow_start,
            adjustment,
        };
        Self {
            config,
            options,
            state,
            pacing_rate: None,
            initial: true,
            after_timeout: false,
            before_timeout: None,
            resume: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn adjustment(&self) -> &A {
        &self.state.adjustment
    }

    fn is_used(&self, ack: &Ack) -> bool {
        ack.flight_size_before.saturating_add(self.config.pmdcs) > self.state.cwnd.bytes()
            || self.state.adjustment.grows_unused()
    }

    /// Handles an acknowledgement in slow start. Returns false if it ended slow start.
    fn slow_start(&mut self, ack: &Ack, used: bool) -> bool {
        let State { cwnd, ssthresh, slow_start, .. } = &mut self.state;
        let whole = cwnd.bytes();
        if slow_start.on_ack(ack) {
            *ssthresh = whole;
            return false;
        }
        if used {
            let growth = slow_start.growth(ack, self.config.pmdcs, *ssthresh - whole);
            *cwnd = Precise::new(whole.saturating_add(growth));
        }
        true
    }

    /// Returns the threshold after a loss, before its floor.
    fn reduced(&mut self, loss: &Loss) -> u64 {
        let cwnd = self.state.cwnd.bytes();
        self.state.adjustment.reduce(loss, loss.flight_size.min(cwnd), cwnd)
    }

    /// Leaves Safe Retreat with PipeSize `pipe_size`, in bytes.
    ///
    /// RFC 9959: ssthresh is no larger than PipeSize times Beta, the controller's factor after a loss.
    fn retreated(&mut self, now: Time, pipe_size: u64) {
        let loss = Loss { now, kind: LossKind::Gap, flight_size: pipe_size };
        self.state.ssthresh = self.state.adjustment.reduce(&loss, pipe_size, pipe_size).max(self.packets(2));
    }

    /// Handles a loss or mark while a jump is not validated.
    fn retreat(&mut self, mut resume: CarefulResume, loss: &Loss) {
        let least = self.packets(1);
        let cwnd = resume.on_congestion(loss.flight_size).clamp(least, self.state.cwnd.bytes());
        self.state.cwnd = Precise::new(cwnd);
        self.state.ssthresh = cwnd;
        self.before_timeout = None;
        self.pacing_rate = None;
        match loss.kind {
            LossKind::Gap | LossKind::Ecn => self.resume = Some(resume),
            LossKind::Timeout => {
                self.retreated(loss.now, resume.pipe_size());
                self.state.cwnd = Precise::new(least);
                self.after_timeout = true;
            }
        }
    }

    fn packets(&self, packets: u64) -> u64 {
        self.config.pmdcs.saturating_mul(packets)
    }
}

impl<A: WindowAdjustment> Controller for Composed<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.state.cwnd.bytes(),
            ssthresh: self.state.ssthresh,
            partial_bytes_acked: self.state.adjustment.partial_bytes_acked(),
        }
    }

    fn one_packet_in_flight(&self) -> bool {
        self.after_timeout
    }

    fn is_coupled(&self) -> bool {
        A::COUPLED
    }

    fn on_other_paths(&mut self, others: CoupledPaths) {
        self.state.adjustment.on_other_paths(others);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.bytes_acked == 0 {
            return;
        }
        self.initial = false;
        self.after_timeout = false;
        match CarefulResume::on_ack(&mut self.resume, ack) {
            Resumed::Hold => return,
            Resumed::Set(cwnd) => {
                self.state.cwnd = Precise::new(cwnd.max(self.config.pmdcs));
                self.pacing_rate = None;
                return;
            }
            Resumed::Grow => self.pacing_rate = None,
            Resumed::Retreated(pipe_size) => self.retreated(ack.now, pipe_size),
        }
        if ack.in_fast_recovery {
            return;
        }
        let used = self.is_used(ack);
        if self.state.cwnd.bytes() < self.state.ssthresh && self.slow_start(ack, used) {
            return;
        }
        let State { cwnd, slow_start, adjustment, .. } = &mut self.state;
        slow_start.leave();
        if used {
            adjustment.grow(ack, cwnd, self.config.pmdcs);
        } else {
            adjustment.not_used(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.initial = false;
        if let Some(resume) = self.resume.take() {
            self.retreat(resume, loss);
            self.state.slow_start.on_loss(loss.kind);
            return;
        }
        let floor = self.packets(2);
        match loss.kind {
            LossKind::Gap | LossKind::Ecn => {
                self.before_timeout = None;
                let reduced = self.reduced(loss);
                // RFC 5681 §3.1 eq. (4): not less than two packets
                self.state.ssthresh = reduced.max(floor);
                self.state.cwnd = match loss.kind {
                    // A mark opens no window.
                    LossKind::Ecn => {
                        let least = reduced.max(self.packets(A::LEAST_AFTER_ECN));
                        self.state.cwnd.min(Precise::new(least))
                    }
                    _ => Precise::new(self.state.ssthresh),
                };
            }
            LossKind::Timeout => {
                // RFC 5681 §3.1: for data that the timer has retransmitted before, "the value of ssthresh is
                // held constant"
                if !self.after_timeout {
                    self.before_timeout = Some(self.state.clone());
                    self.state.ssthresh = self.reduced(loss).max(floor);
                }
                // RFC 5681 §3.1: the loss window, one packet
                self.state.cwnd = Precise::new(self.config.pmdcs);
                self.after_timeout = true;
            }
        }
        self.state.slow_start.on_loss(loss.kind);
    }

    fn on_recovery_exit(&mut self, now: Time) {
        // RFC 5681 §3.2 (6): cwnd is ssthresh, where on_loss put it.
        if let Some(pipe_size) = CarefulResume::on_recovery_exit(&mut self.resume) {
            self.retreated(now, pipe_size);
        }
    }

    fn on_spurious_timeout(&mut self, _now: Time) {
        let Some(mut before) = self.before_timeout.take() else { return };
        before.cwnd = before.cwnd.max(self.state.cwnd).max(Precise::new(self.config.pmdcs));
        self.state = before;
        self.after_timeout = false;
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        // RFC 5681 §4.1: RW = min(IW, cwnd)
        let restart = Precise::new(self.config.initial_cwnd());
        if idle_rtos > 0 && restart < self.state.cwnd {
            self.state.cwnd = restart;
            self.state.adjustment.restart();
            self.before_timeout = None;
            self.resume = None;
        }
    }

    fn start(&mut self, start: &StartState) {
        self.reset();
        self.state.cwnd = Precise::new(start.cwnd.max(self.config.pmdcs));
        if let Some(ssthresh) = start.ssthresh {
            self.state.ssthresh = ssthresh;
        }
        self.pacing_rate = start.pacing_rate;
        self.initial = false;
    }

    fn resume(&mut self, measured: &Measured, flight_size: u64) {
        let (resume, start) = CarefulResume::jump(measured, flight_size, self.config.initial_cwnd());
        self.start(&start);
        self.resume = resume;
    }

    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        self.state.cwnd = Precise::new(cwnd.max(self.config.pmdcs));
        self.state.ssthresh = ssthresh;
        // The history of the old window does not apply to this one.
        self.state.adjustment.restart();
        self.before_timeout = None;
        self.resume = None;
        self.initial = false;
    }

    fn reset(&mut self) {
        *self = Self::with(&self.config, self.options.clone());
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.config.pmdcs = pmdcs.max(1);
        let least = if self.initial { self.config.initial_cwnd() } else { self.config.pmdcs };
        if self.initial || self.state.cwnd < Precise::new(least) {
            self.state.cwnd = Precise::new(least);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
}
