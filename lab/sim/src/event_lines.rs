//! Writes the associations' trace as JSON lines, one object per event (docs/events.md). Does not affect the
//! run.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use msctp_proto::{PathAddr, PathId, TraceEvent, TraceKind};
use msctp_qlog::fields::{self, Value};
use msctp_units::Time;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Writer of the lines.
pub(crate) struct EventLines {
    out: Box<dyn Write + Send>,
    /// Addresses of the paths of each end, by association and side.
    paths: BTreeMap<(usize, &'static str, PathId), PathAddr>,
    /// The first error, after which nothing is written.
    failed: Option<io::Error>,
}

impl fmt::Debug for EventLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLines").field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// One end of an association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) number: usize,
    pub(crate) association: &'a str,
    /// `client` or `server`.
    pub(crate) side: &'static str,
}

impl EventLines {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, paths: BTreeMap::new(), failed: None }
    }

    /// Writes a line.
    pub(crate) fn write(&mut self, source: Source<'_>, event: &TraceEvent) {
        if let TraceKind::PathAdded { path, at } = event.kind {
            self.paths.insert((source.number, source.side, path), at);
        }
        if self.failed.is_some() {
            return;
        }
        let line = Line { source, event, paths: &self.paths };
        let written = serde_json::to_writer(&mut self.out, &line).map_err(io::Error::from);
        self.failed = written.and_then(|()| self.out.write_all(b"\n")).err();
    }

    /// Flushes the lines.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.failed.map_or_else(|| self.out.flush(), Err)
    }
}

struct Line<'a> {
    source: Source<'a>,
    event: &'a TraceEvent,
    paths: &'a BTreeMap<(usize, &'static str, PathId), PathAddr>,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Source { number, association, side } = self.source;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time_ns", &self.event.at.since(Time::ZERO).as_nanos())?;
        map.serialize_entry("association", association)?;
        map.serialize_entry("side", side)?;
        map.serialize_entry("event", fields::name(&self.event.kind))?;
        let mut result = Ok(());
        fields::fields(&self.event.kind, |name, value| {
            if result.is_err() {
                return;
            }
            result = match value {
                Value::Number(number) => map.serialize_entry(name, &number),
                Value::Flag(flag) => map.serialize_entry(name, &flag),
                Value::Word(word) => map.serialize_entry(name, word),
                Value::Text(text) => map.serialize_entry(name, &text),
                Value::Path(path) => {
                    let at = self.paths.get(&(number, side, path));
                    map.serialize_entry(name, &at.map_or_else(|| path.to_string(), PathAddr::to_string))
                }
                Value::Nothing => map.serialize_entry(name, &()),
            };
        });
        result?;
        map.end()
    }
}
