//! The arguments of callbacks as Python objects, and what Python returns as the core's types. Times in
//! seconds, sizes in bytes, rates in bit/s.

use msctp_congestion::estimator::Estimate as CoreEstimate;
use msctp_congestion::{Measured, StartState};
use msctp_lab_schemes::wbest::{WBest, WBestConfig};
use msctp_proto::handover::{
    Action, Grounds, LinkEvent as CoreLinkEvent, LinkState, PathView as CorePathView, View as CoreView,
};
use msctp_proto::{PathId, PathState};
use msctp_units::{Rate, Span, Time};
use msctp_wire::ChunkType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::link::{LinkChange, LinkConfig};
use super::{kept, wrong};

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<View>()?;
    module.add_class::<PathView>()?;
    module.add_class::<Estimate>()?;
    module.add_class::<LinkEvent>()?;
    module.add_class::<LinkChange>()?;
    module.add_class::<LinkConfig>()?;
    module.add_class::<PathConfig>()?;
    module.add_class::<Ack>()?;
    module.add_class::<Loss>()?;
    module.add_class::<Delivery>()
}

pub(super) fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

/// Returns a threshold; `None` is unlimited.
pub(super) fn limited(ssthresh: u64) -> Option<u64> {
    (ssthresh != u64::MAX).then_some(ssthresh)
}

/// An estimate of a path's bandwidth.
#[pyclass(frozen, get_all, module = "msctp")]
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    /// Capacity of the bottleneck in bit/s.
    capacity: u64,
    /// Available bandwidth in bit/s.
    available: u64,
    /// Minimum round-trip time of the probes in seconds.
    rtt_min: f64,
    /// Share of the probes that were lost.
    loss: f64,
    /// Available bandwidth times minimum round-trip time in bytes, rounded down.
    bdp: u64,
}

impl From<&CoreEstimate> for Estimate {
    fn from(estimate: &CoreEstimate) -> Self {
        Self {
            capacity: estimate.capacity.as_bps(),
            available: estimate.available.as_bps(),
            rtt_min: seconds(estimate.rtt_min),
            loss: f64::from(estimate.loss_ppm) / 1e6,
            bdp: estimate.available.bytes_in(estimate.rtt_min),
        }
    }
}

/// A path as a policy sees it.
#[pyclass(frozen, module = "msctp")]
pub(super) struct PathView(pub(super) CorePathView);

#[pymethods]
impl PathView {
    /// Returns the number of the path.
    #[getter]
    fn id(&self) -> u32 {
        self.0.id.number()
    }

    /// This end's address.
    #[getter]
    fn local(&self) -> String {
        self.0.local.to_string()
    }

    /// The peer's address.
    #[getter]
    fn remote(&self) -> String {
        self.0.remote.to_string()
    }

    /// `unconfirmed`, `active`, `potentially-failed` or `inactive`.
    #[getter]
    fn state(&self) -> &'static str {
        state(self.0.state)
    }

    /// True if the path should carry data only while no other works well.
    #[getter]
    fn backup(&self) -> bool {
        self.0.cost.backup
    }

    /// True if an end pays for the path by the byte.
    #[getter]
    fn metered(&self) -> bool {
        self.0.cost.metered
    }

    /// Congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.window.cwnd
    }

    /// Slow-start threshold in bytes; None if unlimited.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        limited(self.0.window.ssthresh)
    }

    /// Bytes outstanding.
    #[getter]
    fn flight_size(&self) -> u64 {
        self.0.flight_size
    }

    /// Bytes acknowledged so far.
    #[getter]
    fn bytes_acked(&self) -> u64 {
        self.0.bytes_acked
    }

    /// Smoothed round-trip time in seconds; None before the first measurement.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.0.srtt.map(seconds)
    }

    /// Minimum round-trip time in seconds; None before the first measurement.
    #[getter]
    fn rtt_min(&self) -> Option<f64> {
        self.0.rtt_min.map(seconds)
    }

    /// Retransmission timeout in seconds.
    #[getter]
    fn rto(&self) -> f64 {
        seconds(self.0.rto)
    }

    /// The largest DATA chunk that fits the path's MTU, in bytes.
    #[getter]
    fn pmdcs(&self) -> u64 {
        self.0.pmdcs
    }

    /// Latest estimate of the running probing, or None.
    #[getter]
    fn estimate(&self) -> Option<Estimate> {
        self.0.estimate.as_ref().map(Estimate::from)
    }
}

pub(super) fn state(state: PathState) -> &'static str {
    match state {
        PathState::Unconfirmed => "unconfirmed",
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially-failed",
        PathState::Inactive => "inactive",
    }
}

/// The association as a policy sees it.
#[pyclass(frozen, module = "msctp")]
pub(super) struct View {
    now: Time,
    primary: PathId,
    #[pyo3(get)]
    peer_rwnd: u64,
    #[pyo3(get)]
    unsent: u64,
    paths: Vec<CorePathView>,
}

impl From<&CoreView<'_>> for View {
    fn from(view: &CoreView<'_>) -> Self {
        let CoreView { now, primary, peer_rwnd, unsent, paths } = *view;
        Self { now, primary, peer_rwnd, unsent, paths: paths.to_vec() }
    }
}

#[pymethods]
impl View {
    /// Virtual time in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Number of the primary path.
    #[getter]
    fn primary(&self) -> u32 {
        self.primary.number()
    }

    /// All paths, by ascending number.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.paths.iter().map(|&path| PathView(path)).collect::<Vec<_>>())
    }

    /// Returns the path with this number, or None.
    fn path(&self, id: u32) -> Option<PathView> {
        self.paths.iter().find(|path| path.id.number() == id).map(|&path| PathView(path))
    }

    /// Returns the first active path on another local address, if the event says that the primary path's link
    /// is down; else None.
    fn escape(&self, event: PyRef<'_, LinkEvent>) -> Option<u32> {
        let Self { now, primary, peer_rwnd, unsent, ref paths } = *self;
        let view = CoreView { now, primary, peer_rwnd, unsent, paths };
        view.escape(event.0).map(PathId::number)
    }
}

/// A change of the link below a local address.
#[pyclass(frozen, module = "msctp")]
pub(super) struct LinkEvent(pub(super) CoreLinkEvent);

#[pymethods]
impl LinkEvent {
    /// Address of the link.
    #[getter]
    fn local(&self) -> String {
        self.0.local.to_string()
    }

    /// `up`, `degrading`, `down`, `predicted-down` or `quality`.
    #[getter]
    fn state(&self) -> &'static str {
        match self.0.state {
            LinkState::Up => "up",
            LinkState::Degrading => "degrading",
            LinkState::Down => "down",
            LinkState::PredictedDown { .. } => "predicted-down",
            LinkState::Quality(_) => "quality",
        }
    }

    /// Maximum time in seconds until a link goes down that is predicted to; None without a prediction.
    #[getter]
    fn within(&self) -> Option<f64> {
        match self.0.state {
            LinkState::PredictedDown { within } => Some(seconds(within)),
            _ => None,
        }
    }

    /// Rate of the link in bit/s when no block is in error; None if not reported.
    #[getter]
    fn rate(&self) -> Option<u64> {
        match self.0.state {
            LinkState::Quality(quality) => quality.rate.map(Rate::as_bps),
            _ => None,
        }
    }

    /// Share of the blocks in error; None if not reported.
    #[getter]
    fn block_errors(&self) -> Option<f64> {
        match self.0.state {
            LinkState::Quality(quality) => quality.block_error_ppm.map(|ppm| f64::from(ppm) / 1e6),
            _ => None,
        }
    }

    /// Round-trip time over the link alone in seconds; None if not reported.
    #[getter]
    fn round_trip(&self) -> Option<f64> {
        match self.0.state {
            LinkState::Quality(quality) => quality.delay().map(seconds),
            _ => None,
        }
    }
}

/// Parameters of a path for its controller.
#[pyclass(frozen, get_all, module = "msctp")]
pub(super) struct PathConfig {
    /// The largest DATA chunk that fits the path's MTU, in bytes.
    pub(super) pmdcs: u64,
    /// The window before the first data in bytes.
    pub(super) initial_cwnd: u64,
    /// Slow-start threshold before the first loss in bytes; None if unlimited.
    pub(super) initial_ssthresh: Option<u64>,
}

/// The content of one SACK for one path. Sizes in bytes, times in seconds.
#[pyclass(frozen, get_all, module = "msctp")]
pub(super) struct Ack {
    pub(super) now: f64,
    pub(super) bytes_acked: u64,
    pub(super) duplicate_bytes: u64,
    pub(super) flight_size_before: u64,
    pub(super) cum_tsn_advanced: bool,
    pub(super) in_fast_recovery: bool,
    pub(super) nothing_outstanding: bool,
    pub(super) rtt: Option<f64>,
    pub(super) srtt: Option<f64>,
    pub(super) answered_elsewhere: bool,
}

/// A loss event on one path.
#[pyclass(frozen, get_all, module = "msctp")]
pub(super) struct Loss {
    pub(super) now: f64,
    pub(super) kind: &'static str,
    pub(super) flight_size: u64,
}

/// A sample of the delivery rate. Sizes in bytes, times in seconds.
#[pyclass(frozen, get_all, module = "msctp")]
pub(super) struct Delivery {
    pub(super) now: f64,
    pub(super) total_delivered: u64,
    pub(super) prior_delivered: u64,
    pub(super) interval: f64,
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    pub(super) in_flight: u64,
    pub(super) newly_acked: u64,
    pub(super) newly_lost: u64,
    pub(super) app_limited: bool,
}

/// Returns an attribute, or an error that names its object and the allowed values.
fn field<'py, T: for<'a> FromPyObject<'a, 'py>>(
    of: &Bound<'py, PyAny>,
    name: &str,
    want: &str,
) -> PyResult<T> {
    let value = of.getattr(name)?;
    value.extract().map_err(|_| {
        let class = of.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        wrong(&format!("{class}.{name}"), &value, want)
    })
}

const BYTES: &str = "an integer of bytes, at least 0";
const BPS: &str = "an integer of bit/s, at least 1";
const PATH: &str = "the number of a path";

fn path(of: &Bound<'_, PyAny>, name: &str) -> PyResult<PathId> {
    field(of, name, PATH).map(PathId::new)
}

/// Returns a time in seconds as a span.
fn span(of: &Bound<'_, PyAny>, name: &str) -> PyResult<Span> {
    let want = "a time in seconds, at least 0";
    Span::from_secs_f64(field(of, name, want)?).ok_or_else(|| match of.getattr(name) {
        Ok(value) => wrong(name, &value, want),
        Err(error) => error,
    })
}

/// Reads the variables that a controller has after a callback: cwnd, ssthresh, partial_bytes_acked,
/// one_packet_in_flight, pacing_rate.
pub(super) fn window(of: &Bound<'_, PyAny>) -> PyResult<(msctp_congestion::Window, bool, Option<Rate>)> {
    let window = msctp_congestion::Window {
        cwnd: field(of, "cwnd", BYTES)?,
        ssthresh: field::<Option<u64>>(of, "ssthresh", "an integer of bytes, or None")?.unwrap_or(u64::MAX),
        partial_bytes_acked: field(of, "partial_bytes_acked", BYTES)?,
    };
    let rate = field::<Option<u64>>(of, "pacing_rate", "an integer of bit/s, or None")?;
    let rate = rate.map(Rate::from_bps).filter(|rate| !rate.is_zero());
    Ok((window, field(of, "one_packet_in_flight", "True or False")?, rate))
}

/// Converts the result of `on_primary_switch`.
pub(super) fn start(value: &Bound<'_, PyAny>) -> PyResult<Option<StartState>> {
    if value.is_none() {
        return Ok(None);
    }
    if value.get_type().name()? != "StartState" {
        return Err(wrong("the result of on_primary_switch", value, "a StartState or None"));
    }
    let rate: Option<u64> = field(value, "pacing_rate", "an integer of bit/s, or None")?;
    Ok(Some(StartState {
        cwnd: field(value, "cwnd", BYTES)?,
        ssthresh: field(value, "ssthresh", "an integer of bytes, or None")?,
        pacing_rate: rate.map(Rate::from_bps).filter(|rate| !rate.is_zero()),
    }))
}

/// Converts an action of `msctp.schemes`.
pub(super) fn action(value: &Bound<'_, PyAny>, now: Time) -> PyResult<Action> {
    let class = value.get_type().name()?.to_string();
    Ok(match class.as_str() {
        "StartProbing" => {
            let estimator = WBest::new(WBestConfig::default(), now)
                .map_err(|error| PyTypeError::new_err(error.to_string()))?;
            Action::StartProbing { path: path(value, "path")?, estimator: Box::new(estimator) }
        }
        "StopProbing" => Action::StopProbing { path: path(value, "path")? },
        "SendChunk" => Action::SendChunk {
            path: path(value, "path")?,
            chunk_type: ChunkType(field(value, "chunk_type", "an integer from 0 to 255")?),
            value: field(value, "value", "bytes")?,
        },
        "Note" => Action::Note {
            name: kept(&field::<String>(value, "name", "a text")?),
            address: None,
            value: field(value, "value", "an integer, at least 0")?,
        },
        "StartBicast" => Action::StartBicast { from: path(value, "source")?, to: path(value, "target")? },
        "StopBicast" => Action::StopBicast,
        "Adjust" => Action::Adjust {
            path: path(value, "path")?,
            cwnd: field(value, "cwnd", BYTES)?,
            ssthresh: field(value, "ssthresh", BYTES)?,
        },
        "Resume" => {
            let bandwidth = Rate::from_bps(field(value, "bandwidth", BPS)?);
            if bandwidth.is_zero() {
                return Err(wrong("Resume.bandwidth", &value.getattr("bandwidth")?, BPS));
            }
            let measured = Measured { bandwidth, rtt_min: span(value, "rtt_min")? };
            Action::Resume { path: path(value, "path")?, measured }
        }
        "Resend" => Action::Resend { from: path(value, "source")?, to: path(value, "target")? },
        "SwitchPrimary" => Action::SwitchPrimary { path: path(value, "path")?, grounds: Grounds::default() },
        "SetTimer" if value.getattr("at")?.is_none() => Action::SetTimer { at: None },
        "SetTimer" => Action::SetTimer { at: Some(Time::ZERO + span(value, "at")?) },
        _ => return Err(wrong("an action", value, "one of msctp.schemes, such as SwitchPrimary")),
    })
}
