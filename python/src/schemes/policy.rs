//! [`PythonPolicy`]: a handover policy that is an instance of a Python class.

use std::net::IpAddr;
use std::sync::Arc;

use msctp_congestion::StartState;
use msctp_congestion::estimator::Estimate as CoreEstimate;
use msctp_proto::handover::{
    Action, HandoverPolicy, LinkEvent as CoreLinkEvent, PathView as CorePathView, View as CoreView,
};
use msctp_proto::{PathAddr, PathId, PathState};
use msctp_units::Span;
use msctp_wire::{ChunkType, UnknownChunk};
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::values::{Estimate, LinkEvent, PathView, View, action, seconds, start, state};
use super::{Class, Instance, call};

/// A policy that is an instance of a Python class.
#[derive(Debug)]
pub(super) struct PythonPolicy(Instance);

impl PythonPolicy {
    pub(super) fn new(class: &Arc<Class>) -> Self {
        Self(Instance::new(class, |py| Ok(PyTuple::empty(py))))
    }

    /// Calls a method with further arguments, then `view` and the list of actions, if the class has it.
    fn event<A>(&self, method: &'static str, view: &CoreView<'_>, actions: &mut Vec<Action>, first: A)
    where
        A: for<'py> FnOnce(Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>,
    {
        if self.0.class.has(method) {
            self.called(method, view, actions, first, |_| Ok(()));
        }
    }

    fn called<A, T>(
        &self,
        method: &'static str,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
        first: A,
        then: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T>
    where
        A: for<'py> FnOnce(Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>,
    {
        let object = self.0.object.as_ref()?;
        call(|py| {
            let list = PyList::empty(py);
            let mut arguments = first(py)?;
            arguments.push(Bound::new(py, View::from(view))?.into_any());
            arguments.push(list.clone().into_any());
            let result = object.bind(py).call_method1(method, PyTuple::new(py, arguments)?)?;
            let result = then(&result)?;
            for item in &list {
                actions.push(action(&item, view.now)?);
            }
            Ok(result)
        })
    }
}

/// Returns two paths as Python objects.
fn each(py: Python<'_>, paths: [PathView; 2]) -> PyResult<Vec<Bound<'_, PyAny>>> {
    paths.into_iter().map(|path| Ok(Bound::new(py, path)?.into_any())).collect()
}

fn number(py: Python<'_>, path: PathId) -> PyResult<Bound<'_, PyAny>> {
    Ok(path.number().into_pyobject(py)?.into_any())
}

fn text<'py>(py: Python<'py>, value: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(value.into_pyobject(py)?.into_any())
}

impl HandoverPolicy for PythonPolicy {
    fn name(&self) -> &'static str {
        self.0.class.name
    }

    fn measures(&self) -> bool {
        self.0.class.measures
    }

    fn private_chunks(&self) -> &'static [ChunkType] {
        self.0.class.chunks
    }

    fn on_established(&mut self, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_established", view, actions, |_| Ok(Vec::new()));
    }

    fn on_chunk(
        &mut self,
        from: PathAddr,
        chunk: &UnknownChunk<'_>,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.event("on_chunk", view, actions, |py| {
            let chunk_type = chunk.bytes()[0].into_pyobject(py)?.into_any();
            let value = PyBytes::new(py, chunk.value()).into_any();
            Ok(vec![text(py, &from.remote.to_string())?, chunk_type, value])
        });
    }

    fn on_local_address(
        &mut self,
        address: IpAddr,
        added: bool,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.event("on_local_address", view, actions, |py| {
            Ok(vec![text(py, &address.to_string())?, added.into_pyobject(py)?.into_bound().into_any()])
        });
    }

    fn on_primary_requested(&mut self, local: IpAddr, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_primary_requested", view, actions, |py| Ok(vec![text(py, &local.to_string())?]));
    }

    fn on_path_added(&mut self, path: PathId, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_path_added", view, actions, |py| Ok(vec![number(py, path)?]));
    }

    fn on_path_removed(&mut self, path: PathId, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_path_removed", view, actions, |py| Ok(vec![number(py, path)?]));
    }

    fn on_link_event(&mut self, event: CoreLinkEvent, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_link_event", view, actions, |py| {
            Ok(vec![Bound::new(py, LinkEvent(event))?.into_any()])
        });
    }

    fn on_estimate(
        &mut self,
        path: PathId,
        estimate: &CoreEstimate,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.event("on_estimate", view, actions, |py| {
            Ok(vec![number(py, path)?, Bound::new(py, Estimate::from(estimate))?.into_any()])
        });
    }

    fn wants_round_trips(&self) -> bool {
        self.0.class.has("on_round_trip")
    }

    fn on_round_trip(&mut self, path: PathId, sample: Span, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_round_trip", view, actions, |py| {
            Ok(vec![number(py, path)?, seconds(sample).into_pyobject(py)?.into_any()])
        });
    }

    fn on_path_state(
        &mut self,
        path: PathId,
        from: PathState,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.event("on_path_state", view, actions, |py| Ok(vec![number(py, path)?, text(py, state(from))?]));
    }

    fn on_timer(&mut self, view: &CoreView<'_>, actions: &mut Vec<Action>) {
        self.event("on_timer", view, actions, |_| Ok(Vec::new()));
    }

    fn on_primary_switch(
        &mut self,
        old: &CorePathView,
        new: &CorePathView,
        view: &CoreView<'_>,
        actions: &mut Vec<Action>,
    ) -> Option<StartState> {
        if !self.0.class.has("on_primary_switch") {
            return None;
        }
        let paths = [*old, *new].map(PathView);
        self.called("on_primary_switch", view, actions, |py| each(py, paths), start)?
    }
}
