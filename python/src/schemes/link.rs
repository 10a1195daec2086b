//! [`PythonLink`]: a link model that is an instance of a Python class.
//!
//! Packets have numbers in Python. The adapter holds them, and counts what the summary shows; so a model can
//! neither lose a packet nor return one twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use msctp_link::{
    Change, Conditions as CoreConditions, Delivery, DropReason, LinkModel, LinkStats, LossProcess,
    LossReason, Offer, Outcome, Probability, QueueLen, QueueLimit, Unsupported,
};
use msctp_sim::PacketId;
use msctp_sim::scenario::OwnLink;
use msctp_units::{Rate, Span, Time};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::values::seconds;
use super::{Class, Instance, call, raise, wrong};

/// Input of a link model: the keys of the link in the scenario.
#[pyclass(frozen, module = "msctp")]
pub(super) struct LinkConfig {
    /// Name of the link.
    #[pyo3(get)]
    name: String,
    /// `forward` (from `a` to `b`) or `reverse`.
    #[pyo3(get)]
    direction: String,
    /// The key `rate` in bit/s, or None.
    #[pyo3(get)]
    rate: Option<u64>,
    /// The key `delay` in seconds, or None.
    #[pyo3(get)]
    delay: Option<f64>,
    /// Maximum number of queued packets (the key `queue`). None if the limit is in bytes, or there is none.
    #[pyo3(get)]
    queue_packets: Option<u64>,
    /// Maximum number of queued bytes. None if the limit is in packets, or there is none.
    #[pyo3(get)]
    queue_bytes: Option<u64>,
    /// Seed for the model's own random numbers. It depends on the run's seed and the direction.
    #[pyo3(get)]
    seed: u64,
    /// The process of the key `loss`.
    loss: Mutex<Option<Box<dyn LossProcess>>>,
}

impl LinkConfig {
    fn new(from: OwnLink) -> Self {
        let path = from.label.strip_prefix("link/").unwrap_or(&from.label);
        let (name, direction) = path.rsplit_once('/').unwrap_or((path, ""));
        let (queue_packets, queue_bytes) = match from.queue {
            QueueLimit::Packets(packets) => (Some(packets), None),
            QueueLimit::Bytes(bytes) => (None, Some(bytes)),
            QueueLimit::Unbounded => (None, None),
        };
        let [a, b, c, d, e, f, g, h, ..] = from.seed;
        Self {
            name: name.to_owned(),
            direction: direction.to_owned(),
            rate: from.rate.map(Rate::as_bps),
            delay: from.delay.map(seconds),
            queue_packets,
            queue_bytes,
            seed: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            loss: Mutex::new(from.loss),
        }
    }
}

#[pymethods]
impl LinkConfig {
    /// Draws whether the next packet is lost, from the process of the key `loss`. `at` is the end of its
    /// transmission in seconds, and `size` its length in bytes.
    fn loses(&self, at: f64, size: u32) -> PyResult<bool> {
        let at = instant(at).ok_or_else(|| PyTypeError::new_err(format!("at is {at}: want {SECONDS}")))?;
        let mut loss = self.loss.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(loss.as_mut().is_some_and(|loss| loss.loses(at, size)))
    }
}

/// A change of a link's properties.
#[pyclass(frozen, get_all, module = "msctp")]
pub(super) struct LinkChange {
    /// Kind of change: `rate`, `delay`, `up` or `down`.
    kind: &'static str,
    /// New rate in bit/s; None for another change.
    rate: Option<u64>,
    /// New delay in seconds; None for another change.
    delay: Option<f64>,
}

const SECONDS: &str = "a time in seconds, at least 0";

fn instant(at: f64) -> Option<Time> {
    Span::from_secs_f64(at).map(|span| Time::ZERO + span)
}

/// A time from the model, and the same time in the simulator, rounded to the nearest nanosecond.
#[derive(Clone, Copy, Debug)]
struct Due {
    given: f64,
    at: Time,
}

/// A link model that is an instance of a Python class.
#[derive(Debug)]
pub(super) struct PythonLink {
    instance: Instance,
    /// Packets inside with their lengths, by number.
    packets: BTreeMap<u64, (PacketId, u32)>,
    bytes: u64,
    offered: u64,
    /// Last result of `next_delivery`.
    next: Option<Due>,
    /// The last time that was passed to the model.
    latest: f64,
    up: bool,
    stats: LinkStats,
}

impl PythonLink {
    pub(super) fn new(class: &Arc<Class>, from: OwnLink) -> Self {
        let config = LinkConfig::new(from);
        let instance = Instance::new(class, |py| PyTuple::new(py, [Bound::new(py, config)?]));
        Self {
            instance,
            packets: BTreeMap::new(),
            bytes: 0,
            offered: 0,
            next: None,
            latest: 0.0,
            up: true,
            stats: LinkStats::default(),
        }
    }

    /// Returns `now` for the model. It never precedes an earlier time, nor the time of a due delivery that
    /// was rounded down.
    fn seconds(&mut self, now: Time) -> f64 {
        let due = self.next.filter(|due| due.at <= now).map_or(0.0, |due| due.given);
        self.latest = self.latest.max(now.as_secs_f64()).max(due);
        self.latest
    }

    /// Calls a method, then reads the time of the next delivery. Returns `None` if an exception was raised.
    fn event<T>(&mut self, work: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.instance.object.as_ref()?;
        let done = call(|py| {
            let object = object.bind(py);
            let result = work(object)?;
            Ok((result, next_delivery(object)?))
        });
        let (result, next) = done.unzip();
        self.next = next.flatten();
        result
    }

    /// Calls an optional method that only reads.
    fn read<T>(&self, method: &str, then: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.instance.object.as_ref().filter(|_| self.instance.class.has(method))?;
        call(|py| then(&object.bind(py).call_method0(method)?))
    }

    /// Removes a packet that the model returned.
    fn take(&mut self, number: u64, outcome: Outcome) -> Option<Delivery<PacketId>> {
        let Some((packet, wire_len)) = self.packets.remove(&number) else {
            let name = self.instance.class.name;
            raise(PyRuntimeError::new_err(format!(
                "{name}.deliver returned packet {number}, which is not in the link: want each accepted packet once"
            )));
            self.next = None;
            return None;
        };
        self.bytes -= u64::from(wire_len);
        let delivery = Delivery { packet, wire_len, outcome };
        self.stats.count(&delivery);
        Some(delivery)
    }

    fn length(&self, seconds: f64) -> Option<QueueLen> {
        if !self.instance.class.has("queue_len") {
            return Some(QueueLen { packets: self.packets.len() as u64, bytes: self.bytes });
        }
        let object = self.instance.object.as_ref()?;
        call(|py| {
            let found = object.bind(py).call_method1("queue_len", (seconds,))?;
            let (packets, bytes): (u64, u64) = found.extract().map_err(|_| {
                wrong("the result of queue_len", &found, "(packets, bytes), integers at least 0")
            })?;
            Ok(QueueLen { packets, bytes })
        })
    }
}

fn next_delivery(object: &Bound<'_, PyAny>) -> PyResult<Option<Due>> {
    let found = object.call_method0("next_delivery")?;
    if found.is_none() {
        return Ok(None);
    }
    let given: Option<f64> = found.extract().ok();
    let due = given.and_then(|given| Some(Due { given, at: instant(given)? }));
    due.map(Some).ok_or_else(|| wrong("the result of next_delivery", &found, "a time in seconds, or None"))
}

/// Converts the result of `offer`.
fn dropped(found: &Bound<'_, PyAny>) -> PyResult<Option<DropReason>> {
    if found.is_none() {
        return Ok(None);
    }
    match found.extract::<String>().as_deref() {
        Ok("queue-full") => Ok(Some(DropReason::QueueFull)),
        Ok("link-down") => Ok(Some(DropReason::LinkDown)),
        _ => Err(wrong("the result of offer", found, "None (queued), \"queue-full\" or \"link-down\"")),
    }
}

/// Converts the result of `deliver`: the number of a packet, and its outcome.
fn left(found: &Bound<'_, PyAny>) -> PyResult<Option<(u64, Outcome)>> {
    if found.is_none() {
        return Ok(None);
    }
    if let Ok(number) = found.extract::<u64>() {
        return Ok(Some((number, Outcome::Arrived)));
    }
    let want = "None, the number of a packet that arrives, or Lost(packet, \"channel\" or \"link-down\")";
    let fail = || wrong("the result of deliver", found, want);
    if found.get_type().name()? != "Lost" {
        return Err(fail());
    }
    let reason = match found.getattr("reason")?.extract::<String>().as_deref() {
        Ok("channel") => LossReason::Channel,
        Ok("link-down") => LossReason::LinkDown,
        _ => return Err(fail()),
    };
    let number: u64 = found.getattr("packet")?.extract().map_err(|_| fail())?;
    Ok(Some((number, Outcome::Lost(reason))))
}

/// Converts the result of `conditions`.
fn conditions(found: &Bound<'_, PyAny>) -> PyResult<Option<CoreConditions>> {
    if found.is_none() {
        return Ok(None);
    }
    let fail = || {
        wrong(
            "the result of conditions",
            found,
            "None, or Conditions(rate, block_errors, one_way, handovers)",
        )
    };
    let field = |name: &str| found.getattr(name).map_err(|_| fail());
    let rate: u64 = field("rate")?.extract().map_err(|_| fail())?;
    let errors: f64 = field("block_errors")?.extract().map_err(|_| fail())?;
    let one_way: f64 = field("one_way")?.extract().map_err(|_| fail())?;
    Ok(Some(CoreConditions {
        coding: None,
        rate: Rate::from_bps(rate),
        block_errors: Probability::new("block_errors", errors).map_err(|_| fail())?,
        one_way: Span::from_secs_f64(one_way).ok_or_else(fail)?,
        handovers: field("handovers")?.extract::<u64>().map_err(|_| fail())?,
    }))
}

impl LinkModel<PacketId> for PythonLink {
    fn offer(&mut self, now: Time, packet: PacketId, wire_len: u32) -> Offer<PacketId> {
        self.stats.offered.add(wire_len);
        let (now, number) = (self.seconds(now), self.offered);
        self.offered += 1;
        let found = self.event(|object| dropped(&object.call_method1("offer", (now, number, wire_len))?));
        match found {
            Some(None) => {
                self.packets.insert(number, (packet, wire_len));
                self.bytes += u64::from(wire_len);
                if let Some(length) = self.length(now) {
                    self.stats.saw_queue(length);
                }
                Offer::Queued
            }
            Some(Some(DropReason::QueueFull)) => {
                self.stats.dropped_full.add(wire_len);
                Offer::Dropped(packet, DropReason::QueueFull)
            }
            // After an exception the run ends.
            Some(Some(DropReason::LinkDown)) | None => {
                self.stats.dropped_down.add(wire_len);
                Offer::Dropped(packet, DropReason::LinkDown)
            }
        }
    }

    fn next_delivery(&self) -> Option<Time> {
        self.next.map(|due| due.at)
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<PacketId>> {
        while let Some(due) = self.next.filter(|due| due.at <= now) {
            let seconds = self.seconds(now);
            let found = self.event(|object| left(&object.call_method1("deliver", (seconds,))?))?;
            if let Some((number, outcome)) = found {
                return self.take(number, outcome);
            }
            // Else the run would never go on.
            if self.next.is_some_and(|next| next.at <= due.at) {
                let name = self.instance.class.name;
                raise(PyRuntimeError::new_err(format!(
                    "{name}.deliver returned None at {seconds} s, and next_delivery is still {} s: want a packet, or a \
                     later next_delivery",
                    due.given
                )));
                self.next = None;
            }
        }
        None
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        let other = LinkChange { kind: "", rate: None, delay: None };
        let python = match change {
            Change::Rate(rate) => LinkChange { kind: "rate", rate: Some(rate.as_bps()), ..other },
            Change::Delay(delay) => LinkChange { kind: "delay", delay: Some(seconds(delay)), ..other },
            Change::Up => LinkChange { kind: "up", ..other },
            Change::Down => LinkChange { kind: "down", ..other },
            Change::Coding(_) | Change::BlockErrors(_) | Change::Handover { .. } => {
                return Err(Unsupported { change });
            }
        };
        match change {
            Change::Up => self.up = true,
            Change::Down => self.up = false,
            _ => {}
        }
        let now = self.seconds(now);
        self.event(|object| object.call_method1("change", (now, Bound::new(object.py(), python)?)).map(drop));
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.up
    }

    fn queue_len(&self, now: Time) -> QueueLen {
        self.length(self.latest.max(now.as_secs_f64())).unwrap_or_default()
    }

    fn blocks_sent(&self) -> Option<u64> {
        let want = "an integer of blocks, or None";
        let convert = |found: &Bound<'_, PyAny>| {
            found.extract::<Option<u64>>().map_err(|_| wrong("the result of blocks_sent", found, want))
        };
        self.read("blocks_sent", convert).flatten()
    }

    fn stats(&self) -> &LinkStats {
        &self.stats
    }

    fn resent(&self) -> u64 {
        let want = "an integer of blocks, at least 0";
        let convert = |found: &Bound<'_, PyAny>| {
            found.extract::<u64>().map_err(|_| wrong("the result of resent", found, want))
        };
        self.read("resent", convert).unwrap_or(0)
    }

    fn conditions(&self) -> Option<CoreConditions> {
        self.read("conditions", conditions).flatten()
    }
}
