//! Handover policies, controllers and link models that are Python classes.
//!
//! An exception in a callback is kept for the thread of the run, which stops at its next piece and raises it.
//! Until then the scheme does nothing.

mod controller;
mod link;
mod policy;
mod values;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use msctp_congestion::ControllerFactory;
use msctp_experiments::world::World;
use msctp_proto::handover::PolicyFactory;
use msctp_sim::scenario::{LinkFactory, Scenario, Schemes};
use msctp_sim::{Series, Simulation, Summary};
use msctp_wire::ChunkType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use self::controller::PythonController;
use self::link::PythonLink;
use self::policy::PythonPolicy;
pub(crate) use self::values::register;

thread_local! {
    /// The first exception of a callback on this thread since [`forget`].
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Discards an exception of an earlier run.
pub(crate) fn forget() {
    RAISED.take();
}

/// Returns the exception that a callback on this thread raised.
pub(crate) fn raised() -> PyResult<()> {
    RAISED.take().map_or(Ok(()), Err)
}

/// Returns whether a callback on this thread raised an exception.
pub(crate) fn has_raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// Stores an exception, unless there is one already.
fn raise(error: PyErr) {
    if !has_raised() {
        RAISED.set(Some(error));
    }
}

/// Calls Python, and stores an exception. After the first exception of a run, calls nothing.
fn call<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
    if has_raised() {
        return None;
    }
    Python::attach(work).map_err(|error| RAISED.set(Some(error))).ok()
}

/// Returns a copy of a text that lives as long as the program. Stores each text once.
fn kept(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(text);
    text
}

/// Returns chunk types that live as long as the program. Stores each list once.
fn kept_chunks(types: &[u8]) -> &'static [ChunkType] {
    static CHUNKS: Mutex<Vec<&'static [ChunkType]>> = Mutex::new(Vec::new());
    let mut chunks = CHUNKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) =
        chunks.iter().find(|known| known.iter().map(|chunk| chunk.0).eq(types.iter().copied()))
    {
        return known;
    }
    let list: &'static [ChunkType] = Box::leak(types.iter().copied().map(ChunkType).collect());
    chunks.push(list);
    list
}

/// A class that makes schemes.
struct Class {
    class: Py<PyAny>,
    /// Name of the class in scenarios.
    name: &'static str,
    /// Optional methods of the class.
    methods: BTreeSet<String>,
    /// `private_chunks` of a policy.
    chunks: &'static [ChunkType],
    /// `measures` of a policy, or `models_delivery` of a controller.
    measures: bool,
}

impl Class {
    fn has(&self, method: &str) -> bool {
        self.methods.contains(method)
    }
}

impl std::fmt::Debug for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:p}", self.name, self.class.as_ptr())
    }
}

/// An instance of a class.
#[derive(Debug)]
struct Instance {
    class: Arc<Class>,
    /// The instance; `None` if its constructor raised an exception.
    object: Option<Py<PyAny>>,
}

impl Instance {
    fn new(class: &Arc<Class>, arguments: impl FnOnce(Python<'_>) -> PyResult<Bound<'_, PyTuple>>) -> Self {
        let object = call(|py| class.class.call1(py, arguments(py)?));
        Self { class: Arc::clone(class), object }
    }
}

/// The description of a scheme's class by `schemes.py`.
#[derive(FromPyObject)]
pub(crate) struct Described {
    kind: String,
    name: String,
    #[pyo3(attribute("cls"))]
    class: Py<PyAny>,
    methods: Vec<String>,
    chunks: Vec<u8>,
    measures: bool,
}

/// Returns the schemes of classes.
pub(crate) fn schemes(described: Vec<Described>) -> Schemes {
    described.into_iter().fold(Schemes::none(), |schemes, one| {
        let class = Arc::new(Class {
            class: one.class,
            name: kept(&one.name),
            methods: one.methods.into_iter().collect(),
            chunks: kept_chunks(&one.chunks),
            measures: one.measures,
        });
        match one.kind.as_str() {
            "policy" => {
                let make = move || Box::new(PythonPolicy::new(&class)) as Box<_>;
                schemes.with_policy(&one.name, PolicyFactory::new(make))
            }
            "link" => {
                let factory = LinkFactory::new(move |from| Box::new(PythonLink::new(&class, from)));
                schemes.with_link(&one.name, factory)
            }
            _ => {
                let factory =
                    ControllerFactory::new(move |path| Box::new(PythonController::new(&class, path)));
                schemes.with_controller(&one.name, factory)
            }
        }
    })
}

/// Returns the error of a value of the wrong type or range.
fn wrong(what: &str, value: &Bound<'_, PyAny>, want: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{what} is {}: want {want}",
        value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string())
    ))
}

/// Runs simulations whose schemes may be Python classes. Cancelled simulations stop.
pub(crate) struct WithSchemes<'c>(pub(crate) &'c std::sync::atomic::AtomicBool);

impl World for WithSchemes<'_> {
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
        forget();
        let mut simulation = Simulation::new(scenario, Some(seed)).map_err(|error| error.to_string())?;
        let cancelled = || self.0.load(std::sync::atomic::Ordering::Relaxed);
        let complete = simulation.run_in_pieces(simulation.end(), |_| !has_raised() && !cancelled());
        raised().map_err(|error| Python::attach(|py| traceback(py, &error)))?;
        if !complete {
            return Err("cancelled".to_owned());
        }
        Ok((simulation.summary(), simulation.into_series()))
    }
}

/// Returns an exception with its traceback, in Python's format.
fn traceback(py: Python<'_>, error: &PyErr) -> String {
    let lines = py
        .import("traceback")
        .and_then(|module| {
            module
                .call_method1("format_exception", (error.get_type(py), error.value(py), error.traceback(py)))
        })
        .and_then(|lines| lines.extract::<Vec<String>>());
    lines.map_or_else(|_| error.to_string(), |lines| lines.concat().trim_end().to_owned())
}
