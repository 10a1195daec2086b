//! [`PythonController`]: a congestion controller that is an instance of a Python class.
//!
//! Its variables are read after each callback, so that the core's many questions for the window call nothing.

use std::sync::Arc;

use msctp_congestion::{
    Ack as CoreAck, Controller, ControllerConfig, DeliverySample, Loss as CoreLoss, LossKind, LostPacket,
    Measured, StartState, Window,
};
use msctp_units::{Rate, Time};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::values::{Ack, Delivery, Loss, PathConfig, limited, seconds, window};
use super::{Class, Instance, call};

/// A controller that is an instance of a Python class.
#[derive(Debug)]
pub(super) struct PythonController {
    instance: Instance,
    pmdcs: u64,
    window: Window,
    one_packet_in_flight: bool,
    pacing_rate: Option<Rate>,
}

impl PythonController {
    pub(super) fn new(class: &Arc<Class>, path: &ControllerConfig) -> Self {
        let config = PathConfig {
            pmdcs: path.pmdcs,
            initial_cwnd: path.initial_cwnd(),
            initial_ssthresh: path.initial_ssthresh,
        };
        let window = Window {
            cwnd: path.initial_cwnd(),
            ssthresh: path.initial_ssthresh.unwrap_or(u64::MAX),
            partial_bytes_acked: 0,
        };
        let instance = Instance::new(class, |py| PyTuple::new(py, [Bound::new(py, config)?]));
        let pmdcs = path.pmdcs.max(1);
        let mut new = Self { instance, pmdcs, window, one_packet_in_flight: false, pacing_rate: None };
        if let Some(object) = &new.instance.object {
            let variables = call(|py| window_of(object, py));
            new.take(variables);
        }
        new
    }

    /// Calls a method, then reads the variables.
    fn event<A>(&mut self, method: &'static str, arguments: A)
    where
        A: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    {
        let Some(object) = &self.instance.object else { return };
        let variables = call(|py| {
            object.bind(py).call_method1(method, arguments(py)?)?;
            window_of(object, py)
        });
        self.take(variables);
    }

    fn take(&mut self, variables: Option<(Window, bool, Option<Rate>)>) {
        if let Some((window, one_packet_in_flight, pacing_rate)) = variables {
            self.window = Window { cwnd: window.cwnd.max(self.pmdcs), ..window };
            self.one_packet_in_flight = one_packet_in_flight;
            self.pacing_rate = pacing_rate;
        }
    }
}

fn window_of(object: &Py<PyAny>, py: Python<'_>) -> PyResult<(Window, bool, Option<Rate>)> {
    window(object.bind(py))
}

impl Controller for PythonController {
    fn name(&self) -> &'static str {
        self.instance.class.name
    }

    fn window(&self) -> Window {
        self.window
    }

    fn one_packet_in_flight(&self) -> bool {
        self.one_packet_in_flight
    }

    fn on_ack(&mut self, ack: &CoreAck) {
        let ack = Ack {
            now: ack.now.as_secs_f64(),
            bytes_acked: ack.bytes_acked,
            duplicate_bytes: ack.duplicate_bytes,
            flight_size_before: ack.flight_size_before,
            cum_tsn_advanced: ack.cum_tsn_advanced,
            in_fast_recovery: ack.in_fast_recovery,
            nothing_outstanding: ack.nothing_outstanding,
            rtt: ack.rtt.map(seconds),
            srtt: ack.srtt.map(seconds),
            answered_elsewhere: ack.answered_elsewhere,
        };
        self.event("on_ack", |py| PyTuple::new(py, [Bound::new(py, ack)?]));
    }

    fn models_delivery(&self) -> bool {
        self.instance.class.measures
    }

    fn on_delivery(&mut self, sample: &DeliverySample) {
        let sample = Delivery {
            now: sample.now.as_secs_f64(),
            total_delivered: sample.total_delivered,
            prior_delivered: sample.prior_delivered,
            interval: seconds(sample.interval),
            tx_in_flight: sample.tx_in_flight,
            lost: sample.lost,
            in_flight: sample.in_flight,
            newly_acked: sample.newly_acked,
            newly_lost: sample.newly_lost,
            app_limited: sample.app_limited,
        };
        self.event("on_delivery", |py| PyTuple::new(py, [Bound::new(py, sample)?]));
    }

    fn on_packet_lost(&mut self, now: Time, lost: &LostPacket) {
        if self.instance.class.has("on_packet_lost") {
            self.event("on_packet_lost", |py| {
                (now.as_secs_f64(), lost.bytes, lost.tx_in_flight).into_pyobject(py)
            });
        }
    }

    fn on_loss(&mut self, loss: &CoreLoss) {
        let kind = match loss.kind {
            LossKind::Gap => "gap",
            LossKind::Timeout => "timeout",
            LossKind::Ecn => "ecn",
        };
        let loss = Loss { now: loss.now.as_secs_f64(), kind, flight_size: loss.flight_size };
        self.event("on_loss", |py| PyTuple::new(py, [Bound::new(py, loss)?]));
    }

    fn on_recovery_exit(&mut self, now: Time) {
        if self.instance.class.has("on_recovery_exit") {
            self.event("on_recovery_exit", |py| (now.as_secs_f64(),).into_pyobject(py));
        }
    }

    fn on_spurious_timeout(&mut self, now: Time) {
        if self.instance.class.has("on_spurious_timeout") {
            self.event("on_spurious_timeout", |py| (now.as_secs_f64(),).into_pyobject(py));
        }
    }

    fn on_idle(&mut self, idle_rtos: u64) {
        if self.instance.class.has("on_idle") && idle_rtos > 0 {
            self.event("on_idle", |py| (idle_rtos,).into_pyobject(py));
        }
    }

    fn start(&mut self, start: &StartState) {
        let rate = start.pacing_rate.map(Rate::as_bps);
        let (cwnd, ssthresh) = (start.cwnd.max(self.pmdcs), start.ssthresh);
        self.event("start", |py| (cwnd, ssthresh, rate).into_pyobject(py));
    }

    fn resume(&mut self, measured: &Measured, flight_size: u64) {
        let (bandwidth, rtt_min) = (measured.bandwidth.as_bps(), seconds(measured.rtt_min));
        let bdp = measured.bandwidth.bytes_in(measured.rtt_min);
        self.event("resume", |py| (bandwidth, rtt_min, bdp, flight_size).into_pyobject(py));
    }

    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        let cwnd = cwnd.max(self.pmdcs);
        self.event("adjust", |py| (cwnd, limited(ssthresh)).into_pyobject(py));
    }

    fn reset(&mut self) {
        self.event("reset", |py| Ok(PyTuple::empty(py)));
    }

    fn on_pmtu(&mut self, pmdcs: u64) {
        self.pmdcs = pmdcs.max(1);
        self.event("on_pmtu", |py| (pmdcs,).into_pyobject(py));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
}
