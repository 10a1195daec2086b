//! The sending half: outstanding data, the window, the retransmission and the persist timer. It sees offsets,
//! no headers. The [recovery](crate::recovery) selects the next segment.

mod differentiation;
mod frto;

use std::collections::VecDeque;

use msctp_congestion::classifier::{Cause, LossClassifier};
use msctp_congestion::{Ack, Controller, ControllerConfig, IpVersion, Loss, LossKind, RttEstimator};
use msctp_units::{Span, Time};

use crate::config::{Algorithm, Config};
use crate::outstanding::{Outstanding, Role, Segment};
use crate::recovery::{self, AckView, Recovery, Response};
use crate::stats::Stats;
use crate::trace::{TraceEvent, TraceKind};
use differentiation::Differentiation;
use frto::{Frto, Verdict};

/// Trace events not yet taken; empty without [`Config::trace`](crate::Config::trace).
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    on: bool,
    events: VecDeque<TraceEvent>,
}

impl Recorder {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, events: VecDeque::new() }
    }

    pub(crate) fn add(&mut self, at: Time, kind: TraceKind) {
        if self.on {
            self.events.push_back(TraceEvent { at, kind });
        }
    }

    pub(crate) fn take(&mut self) -> Option<TraceEvent> {
        self.events.pop_front()
    }
}

/// An acknowledgment, in offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckInfo<'a> {
    /// Offset below which everything is acknowledged, at most `max`.
    pub(crate) ack: u64,
    /// Number of bytes from `ack` that the peer's window allows.
    pub(crate) window: u64,
    /// The segment carries data or FIN.
    pub(crate) with_data: bool,
    /// SACK blocks.
    pub(crate) blocks: &'a [(u64, u64)],
    /// Round-trip time from the echoed timestamp.
    pub(crate) rtt: Option<Span>,
}

/// The error of a segment that was retransmitted too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    at: Outstanding,
    controller: Box<dyn Controller>,
    recovery: Box<dyn Recovery>,
    pub(crate) rtt: RttEstimator,
    /// True if timestamps measure the round-trip times.
    timestamps: bool,
    /// The segment being timed: one past its last offset, and its transmission time (Karn: sent once).
    timed: Option<(u64, Time)>,
    rto_at: Option<Time>,
    persist: Persist,
    /// Number of timeouts since the last ACK of new data.
    retries: u32,
    max_retransmits: u32,
    /// FlightSize at the first of these timeouts (RFC 5681 §3.1 keeps ssthresh at the others).
    timeout_flight: Option<u64>,
    /// Set while F-RTO examines a timeout.
    frto: Option<Frto>,
    use_frto: bool,
    /// First offset of new data after a spurious timeout, whose round-trip time restarts the estimator.
    fresh_from: Option<u64>,
    restart_rtt_after_spurious: bool,
    differentiation: Differentiation,
    /// LD recovery is in progress.
    in_ld: bool,
    restart_timer_on_fast_retransmit: bool,
    halve_window: bool,
    grow_at_exit: bool,
    /// Time at which data was last sent, or up to which idle RTOs were reported.
    idle_since: Time,
}

/// Zero-window probes (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Persist {
    at: Option<Time>,
    /// Probes since the window closed.
    probes: u32,
    due: bool,
}

/// Results of the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Maximum segment size, in bytes of user data.
    pub(crate) smss: u64,
    /// The peer's window in bytes.
    pub(crate) window: u64,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    /// Initial sequence number of this end, which is that of offset 0.
    pub(crate) iss: u32,
}

impl Sender {
    /// Creates a sender after the handshake. Data begins at offset 1.
    pub(crate) fn new(now: Time, config: &Config, agreed: Agreed, rtt: RttEstimator) -> Self {
        let algorithm = match config.recovery {
            Algorithm::Sack if !agreed.sack => Algorithm::NewReno,
            other => other,
        };
        let controller = ControllerConfig {
            pmdcs: agreed.smss,
            // Only RFC 9260's initial window needs it, which a connection uses only if configured.
            ip_version: IpVersion::V4,
            initial_window: config.initial_window(agreed.smss),
            initial_ssthresh: config.initial_ssthresh,
        };
        Self {
            at: Outstanding {
                una: 1,
                nxt: 1,
                max: 1,
                edge: 1 + agreed.window,
                largest_window: agreed.window,
                written: 1,
                fin: false,
                smss: agreed.smss,
                nagle: config.nagle,
            },
            controller: config.controller.make(&controller),
            recovery: recovery::start(algorithm, config),
            rtt,
            timestamps: agreed.timestamps,
            timed: None,
            rto_at: None,
            persist: Persist::default(),
            retries: 0,
            max_retransmits: config.max_retransmits,
            timeout_flight: None,
            frto: None,
            use_frto: config.frto,
            fresh_from: None,
            restart_rtt_after_spurious: config.restart_rtt_after_spurious,
            differentiation: Differentiation::new(config, agreed.iss),
            in_ld: false,
            restart_timer_on_fast_retransmit: config.restart_timer_on_fast_retransmit,
            halve_window: config.halve_window,
            grow_at_exit: config.grow_at_exit && algorithm != Algorithm::Sack,
            idle_since: now,
        }
    }

    pub(crate) fn at(&self) -> &Outstanding {
        &self.at
    }

    pub(crate) fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    pub(crate) fn is_recovering(&self) -> bool {
        self.recovery.is_recovering()
    }

    /// Sets the written offset. With `fin` the application will not write more.
    pub(crate) fn set_written(&mut self, written: u64, fin: bool) {
        self.at.written = written;
        self.at.fin = fin;
    }

    /// Returns whether this end's FIN was acknowledged.
    pub(crate) fn fin_is_acknowledged(&self) -> bool {
        self.at.fin && self.at.una > self.at.written
    }

    /// Returns whether this end's FIN was sent.
    pub(crate) fn fin_is_sent(&self) -> bool {
        self.at.fin && self.at.max > self.at.written
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        [self.rto_at, self.persist.at, self.differentiation.deadline()].into_iter().flatten().min()
    }

    pub(crate) fn loss_classifier(&self) -> Option<&dyn LossClassifier> {
        self.differentiation.classifier.as_deref()
    }

    pub(crate) fn loss_classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        self.differentiation.classifier.as_deref_mut()
    }

    /// Handles an acknowledgment that is not older than the last one.
    pub(crate) fn on_ack(&mut self, now: Time, info: &AckInfo<'_>, stats: &mut Stats, trace: &mut Recorder) {
        let at = &mut self.at;
        let flight_before = at.nxt - at.una;
        let acked = info.ack - at.una;
        let edge = info.ack + info.window;
        // RFC 5681 §2
        let plain_duplicate = acked == 0 && !info.with_data && at.max > at.una && edge == at.edge;
        at.una = info.ack;
        at.nxt = at.nxt.max(at.una);
        if acked > 0 || edge > at.edge {
            self.persist = Persist::default();
        }
        at.edge = at.edge.max(edge);
        at.largest_window = at.largest_window.max(info.window);
        let in_fast_recovery = self.recovery.is_recovering();
        let cwnd = self.controller.window().cwnd;
        let view = AckView { acked, plain_duplicate, cwnd, blocks: info.blocks };
        let outcome = self.recovery.on_ack(&self.at, &view);
        stats.duplicate_acks += u64::from(outcome.duplicate);
        let blocks = info.blocks.len() as u32;
        trace.add(now, TraceKind::AckReceived { ack: info.ack, blocks, duplicate: outcome.duplicate });
        if acked > 0 {
            let rtt = self.new_data_acknowledged(now, info, outcome.keep_timer, trace);
            let in_fast_recovery = in_fast_recovery && !(outcome.left && self.grow_at_exit);
            let ack = Ack { rtt, in_fast_recovery, ..self.ack(now, acked, flight_before) };
            self.controller.on_ack(&ack);
        }
        self.differentiation.on_ack(now, acked > 0, outcome.duplicate);
        if outcome.lost {
            self.loss_found(now, stats, trace);
        }
        if outcome.left && !std::mem::take(&mut self.in_ld) {
            self.controller.on_recovery_exit(now);
        }
        if outcome.left {
            trace.add(now, TraceKind::RecoveryExit);
        }
        self.forward(now, acked, outcome.duplicate || plain_duplicate, stats, trace);
        self.record_window(now, trace);
    }

    /// Reports newly acknowledged data to the controller.
    fn ack(&self, now: Time, acked: u64, flight_before: u64) -> Ack {
        let cwnd = self.controller.window().cwnd;
        // A TCP may not exceed cwnd (RFC 5681 §3.1), an SCTP may by a part of a packet: a window that has no
        // room for a segment is full, which controllers know as flight_size ≥ cwnd.
        let full = flight_before + self.at.smss > cwnd;
        Ack {
            now,
            bytes_acked: acked,
            duplicate_bytes: 0,
            flight_size_before: if full { flight_before.max(cwnd) } else { flight_before },
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: self.at.una == self.at.max,
            rtt: None,
            srtt: self.rtt.srtt(),
            answered_elsewhere: false,
        }
    }

    /// Updates the timers and the round-trip time. Returns the measurement.
    fn new_data_acknowledged(
        &mut self,
        now: Time,
        info: &AckInfo<'_>,
        keep_timer: bool,
        trace: &mut Recorder,
    ) -> Option<Span> {
        self.retries = 0;
        self.timeout_flight = None;
        let timed = self.timed.filter(|&(end, _)| info.ack >= end);
        let sample = if self.timestamps { info.rtt } else { timed.map(|(_, sent)| now.since(sent)) };
        if timed.is_some() {
            self.timed = None;
        }
        if let Some(sample) = sample {
            if self.fresh_from.take_if(|from| info.ack > *from).is_some() {
                // Park & Jang §2.2: “When TCP receives ACK for the first newly transmitted packet”
                self.rtt.start_over(sample);
                if let Some(times) = self.rtt.round_trips() {
                    trace.add(now, TraceKind::RttStartedOver { sample, times });
                }
            } else {
                self.rtt.on_measurement(sample);
            }
            let srtt = self.rtt.srtt().unwrap_or_default();
            trace.add(now, TraceKind::Rtt { sample, srtt, rto: self.rtt.rto() });
        }
        // RFC 6298 §5 (5.2), (5.3)
        if self.at.una == self.at.max {
            self.rto_at = None;
        } else if !keep_timer {
            self.rto_at = Some(now + self.rtt.rto());
        }
        sample
    }

    /// Handles a loss that the recovery detected by its gap. No other function does.
    fn loss_found(&mut self, now: Time, stats: &mut Stats, trace: &mut Recorder) {
        let window = self.controller.window();
        let Some(cause) = self.differentiation.judge(&self.at, window, &self.rtt) else {
            return self.answer(now, Cause::Congestion, stats, trace);
        };
        trace.add(now, TraceKind::Verdict { offset: self.at.una, cause });
        if self.differentiation.hold(now, cause, &self.rtt) {
            self.recovery.enter(&self.at, Response::Wait);
        } else {
            self.answer(now, cause, stats, trace);
        }
    }

    /// Responds to a loss detected by its gap: a congestion loss reduces the window, a wireless one does not.
    fn answer(&mut self, now: Time, cause: Cause, stats: &mut Stats, trace: &mut Recorder) {
        match cause {
            Cause::Congestion => {
                let flight_size = self.recovery.enter(&self.at, Response::Fast);
                let flight_size = self.halved(flight_size);
                stats.fast_retransmits += 1;
                if self.restart_timer_on_fast_retransmit {
                    // The segment that is retransmitted now starts it.
                    self.rto_at = None;
                }
                let kind = LossKind::Gap;
                self.controller.on_loss(&Loss { now, kind, flight_size });
                trace.add(now, TraceKind::Loss { kind, flight_size });
            }
            Cause::Wireless => {
                self.recovery.enter(&self.at, Response::Ld);
                self.in_ld = true;
                stats.ld_recoveries += 1;
                trace.add(now, TraceKind::LdRecovery);
            }
        }
    }

    /// Returns the value that a loss halves: FlightSize (RFC 5681 §3.1 (4)), or the window.
    fn halved(&self, flight_size: u64) -> u64 {
        match self.halve_window {
            true => self.controller.window().cwnd.min(self.at.largest_window),
            false => flight_size,
        }
    }

    /// Passes an acknowledgment to F-RTO.
    fn forward(&mut self, now: Time, acked: u64, duplicate: bool, stats: &mut Stats, trace: &mut Recorder) {
        let Some(frto) = &mut self.frto else { return };
        let mut beyond = self.at;
        beyond.nxt = beyond.max;
        let can_probe = beyond.in_order(u64::MAX).is_some();
        match frto.on_ack(self.at.una, acked, duplicate, can_probe) {
            None => {}
            Some(Verdict::Probe) => self.at.nxt = self.at.max,
            Some(Verdict::Genuine) => {
                // RFC 5682 §2.1 (3a): segments not yet retransmitted are retransmitted now.
                if frto.may_probe().is_some() {
                    self.at.nxt = self.at.una;
                }
                self.frto = None;
            }
            Some(Verdict::Spurious) => {
                stats.spurious_timeouts += 1;
                self.fresh_from = self.restart_rtt_after_spurious.then_some(frto.recover());
                self.frto = None;
                self.controller.on_spurious_timeout(now);
                trace.add(now, TraceKind::SpuriousTimeout);
            }
        }
    }

    fn record_window(&self, now: Time, trace: &mut Recorder) {
        let window = self.controller.window();
        let flight_size = self.recovery.pipe(&self.at);
        trace.add(now, TraceKind::Window { cwnd: window.cwnd, ssthresh: window.ssthresh, flight_size });
    }

    /// Runs the timers that are due.
    ///
    /// # Errors
    /// A segment was retransmitted too often.
    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        stats: &mut Stats,
        trace: &mut Recorder,
    ) -> Result<(), GaveUp> {
        if self.persist.at.is_some_and(|at| at <= now) {
            self.persist.at = None;
            self.persist.due = true;
        }
        if self.rto_at.is_none_or(|at| at > now) {
            if let Some(cause) = self.differentiation.take_due(now) {
                self.answer(now, cause, stats, trace);
            }
            return Ok(());
        }
        self.rto_at = None;
        if self.at.una == self.at.max {
            return Ok(());
        }
        self.retries += 1;
        if self.retries > self.max_retransmits {
            return Err(GaveUp);
        }
        stats.timeouts += 1;
        let flight_size = self.halved(self.at.nxt - self.at.una);
        let flight_size = *self.timeout_flight.get_or_insert(flight_size);
        // RFC 5682 §2.1 (1): not again while an earlier timeout is being repaired. Park & Jang §2.1: not in
        // LD recovery.
        let in_ld = std::mem::take(&mut self.in_ld);
        let first = self.at.nxt == self.at.max && self.retries == 1 && !in_ld;
        self.differentiation.on_timeout();
        self.fresh_from = None;
        self.frto = (self.use_frto && first).then(|| Frto::begin(self.at.max));
        self.recovery.on_timeout(&self.at);
        let kind = LossKind::Timeout;
        self.controller.on_loss(&Loss { now, kind, flight_size });
        // RFC 6298 §5 (5.5)
        self.rtt.back_off();
        self.timed = None;
        self.at.nxt = self.at.una;
        trace.add(now, TraceKind::Timeout { rto: self.rtt.rto() });
        trace.add(now, TraceKind::Loss { kind, flight_size });
        self.record_window(now, trace);
        Ok(())
    }

    fn cwnd(&self) -> u64 {
        let cwnd = self.controller.window().cwnd.max(self.at.smss);
        if self.controller.one_packet_in_flight() { self.at.smss } else { cwnd }
    }

    /// Returns the segment to send now, already counted as sent.
    pub(crate) fn next_segment(
        &mut self,
        now: Time,
        stats: &mut Stats,
        trace: &mut Recorder,
    ) -> Option<Segment> {
        if self.persist.due {
            self.persist.due = false;
            self.persist.probes += 1;
            // As much as the window allows, small as it may be (RFC 9293 §3.8.6.2.1, the override), or one
            // byte more than that.
            let end = self.at.cut(self.at.una, self.at.edge).max(self.at.una + 1);
            let segment = Segment { start: self.at.una, end, role: Role::Probe };
            self.sent(now, &segment, stats, trace);
            return Some(segment);
        }
        if self.at.una == self.at.max && self.at.nxt < self.at.end() {
            self.age(now);
        }
        let cwnd = self.cwnd();
        let segment = match self.frto.and_then(|frto| frto.may_probe()) {
            Some(true) => self.at.in_order(u64::MAX),
            Some(false) => None,
            None => self.recovery.next(&self.at, cwnd),
        };
        let Some(segment) = segment else {
            self.watch_window(now, cwnd);
            return None;
        };
        self.sent(now, &segment, stats, trace);
        Some(segment)
    }

    /// Restarts after idle time (RFC 5681 §4.1): the controller ages its window by the RTOs in which nothing
    /// was sent.
    fn age(&mut self, now: Time) {
        let rto = self.rtt.rto();
        let idle_rtos = now.since(self.idle_since).as_nanos() / rto.as_nanos().max(1);
        if idle_rtos > 0 {
            self.controller.on_idle(idle_rtos);
            self.idle_since += rto * idle_rtos;
        }
    }

    /// Starts the persist timer if a closed window blocks data.
    fn watch_window(&mut self, now: Time, cwnd: u64) {
        let stopped = self.at.is_stopped_by_window(self.at.una.saturating_add(cwnd));
        if stopped && self.persist.at.is_none() && self.rto_at.is_none() {
            // RFC 9293 §3.8.6.1: the first after one RTO, then at growing intervals
            let wait = self.rtt.rto() * (1 << self.persist.probes.min(10));
            self.persist.at = Some(now + wait.min(Span::from_secs(60)));
        }
    }

    fn sent(&mut self, now: Time, segment: &Segment, stats: &mut Stats, trace: &mut Recorder) {
        self.recovery.on_sent(&self.at, segment);
        if let Some(frto) = &mut self.frto {
            frto.sent();
        }
        let at = &mut self.at;
        let retransmission = segment.start < at.max;
        let payload = at.payload(segment);
        at.max = at.max.max(segment.end);
        if segment.role == Role::InOrder {
            at.nxt = segment.end;
        }
        if segment.role == Role::Probe {
            stats.window_probes += 1;
        } else if retransmission {
            stats.retransmitted += 1;
        } else {
            stats.data_segments += 1;
        }
        stats.bytes_sent += payload;
        if retransmission || segment.role == Role::Probe {
            // Karn: what was sent twice is not timed.
            self.timed = None;
        } else {
            self.timed.get_or_insert((segment.end, now));
        }
        // RFC 6298 §5 (5.1)
        if segment.role != Role::Probe && self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.rto());
        }
        self.idle_since = now;
        trace.add(now, TraceKind::Sent { offset: segment.start, len: payload as u32, retransmission });
    }
}
