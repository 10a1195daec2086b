//! Fills the trace. Costs one branch if it is off; the association never reads it.

use std::collections::VecDeque;

use msctp_congestion::Window;
use msctp_units::Time;
use msctp_wire::EncodeChunk;

use crate::addr::PathId;
use crate::outbound::Outbound;
use crate::path::Paths;
use crate::trace::{Direction, TraceEvent, TraceKind};

/// Maximum number of entries that wait to be taken; the oldest are dropped first.
const MOST: usize = 1 << 16;

/// The trace of one association; `None` if it is off.
#[derive(Debug)]
pub(super) struct Tracer(Option<Box<Log>>);

/// The entries that were not taken yet.
#[derive(Debug, Default)]
struct Log {
    queue: VecDeque<TraceEvent>,
    /// The last recorded window of each path.
    windows: Vec<(PathId, Window, u64)>,
}

impl Tracer {
    pub(super) fn new(on: bool) -> Self {
        Self(on.then(Box::default))
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub(super) fn push(&mut self, at: Time, kind: TraceKind) {
        if let Some(log) = &mut self.0 {
            log.add(at, kind);
        }
    }

    /// Records a chunk that is neither data nor a SACK.
    #[inline]
    pub(super) fn control(
        &mut self,
        at: Time,
        direction: Direction,
        path: Option<PathId>,
        chunk: &impl EncodeChunk,
    ) {
        if let Some(log) = &mut self.0 {
            let (chunk_type, len) = (chunk.chunk_type().0, chunk.encoded_len() as u16);
            log.add(at, TraceKind::Control { direction, path, chunk_type, len });
        }
    }

    pub(super) fn pop(&mut self) -> Option<TraceEvent> {
        self.0.as_mut()?.queue.pop_front()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|log| log.queue.is_empty())
    }

    /// Writes the entries of data transfer in order, then other changes of windows.
    #[inline]
    pub(super) fn collect(&mut self, at: Time, outbound: &mut Outbound, paths: &Paths) {
        if let Some(log) = &mut self.0 {
            log.collect(at, outbound, paths);
        }
    }
}

impl Log {
    fn add(&mut self, at: Time, kind: TraceKind) {
        if let TraceKind::Window { path, cwnd, ssthresh, flight_size, partial_bytes_acked } = kind {
            let window = Window { cwnd, ssthresh, partial_bytes_acked };
            if !self.differs(path, window, flight_size) {
                return;
            }
        }
        if self.queue.len() == MOST {
            self.queue.pop_front();
        }
        self.queue.push_back(TraceEvent { at, kind });
    }

    /// Returns whether this window of a path differs from the last recorded one, and stores it.
    fn differs(&mut self, path: PathId, window: Window, flight_size: u64) -> bool {
        match self.windows.iter_mut().find(|entry| entry.0 == path) {
            Some(entry) if (entry.1, entry.2) == (window, flight_size) => return false,
            Some(entry) => *entry = (path, window, flight_size),
            None => self.windows.push((path, window, flight_size)),
        }
        true
    }

    fn collect(&mut self, at: Time, outbound: &mut Outbound, paths: &Paths) {
        while let Some(kind) = outbound.poll_trace() {
            self.add(at, kind);
        }
        for path in paths.iter() {
            self.add(at, path.window_trace());
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Span;

    use super::*;
    use crate::stats::PathState;

    #[test]
    fn entries_that_nobody_takes_are_bounded() {
        let mut tracer = Tracer::new(true);
        let at = |n: usize| Time::ZERO + Span::from_millis(n as u64);
        for n in 0..MOST + 10 {
            let (path, of) = (PathId::new(0), PathState::Active);
            tracer.push(at(n), TraceKind::PathState { path, from: of, to: of });
        }
        let kept: Vec<Time> = core::iter::from_fn(|| tracer.pop()).map(|event| event.at).collect();
        assert_eq!((kept.len(), kept[0], kept[MOST - 1]), (MOST, at(10), at(MOST + 9)));
    }
}
