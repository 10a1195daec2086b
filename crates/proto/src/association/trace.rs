//! Filling the trace. Costs one branch when it is off; nothing reads it back.

use std::collections::VecDeque;

use msctp_congestion::Window;
use msctp_units::Time;

use crate::path::Paths;
use crate::{PathId, TraceEvent, TraceKind};

/// The trace of one association.
#[derive(Debug)]
pub(super) struct Tracer {
    on: bool,
    queue: VecDeque<TraceEvent>,
    /// Per path what was last written of its window.
    windows: Vec<(PathId, Window, u64)>,
}

impl Tracer {
    pub(super) fn new(on: bool) -> Self {
        Self { on, queue: VecDeque::new(), windows: Vec::new() }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    #[inline]
    pub(super) fn push(&mut self, at: Time, kind: TraceKind) {
        if self.on {
            self.queue.push_back(TraceEvent { at, kind });
        }
    }

    pub(super) fn pop(&mut self) -> Option<TraceEvent> {
        self.queue.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Writes the windows that changed since they were last written.
    #[inline]
    pub(super) fn windows(&mut self, at: Time, paths: &Paths) {
        if self.on {
            self.changed_windows(at, paths);
        }
    }

    fn changed_windows(&mut self, at: Time, paths: &Paths) {
        for path in paths.iter() {
            let (id, window, flight_size) = (path.id(), path.controller.window(), path.flight_size);
            match self.windows.iter_mut().find(|entry| entry.0 == id) {
                Some(entry) if (entry.1, entry.2) == (window, flight_size) => continue,
                Some(entry) => *entry = (id, window, flight_size),
                None => self.windows.push((id, window, flight_size)),
            }
            let Window { cwnd, ssthresh, partial_bytes_acked } = window;
            let kind = TraceKind::Window { path: id, cwnd, ssthresh, flight_size, partial_bytes_acked };
            self.queue.push_back(TraceEvent { at, kind });
        }
    }
}
