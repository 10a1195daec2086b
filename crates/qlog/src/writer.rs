//! [`Writer`]: the file's header and records as a JSON text sequence (RFC 7464).

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use msctp_proto::TraceEvent;
use serde::Serialize;

use crate::event::End;

/// URI of the schema of msctp's events.
pub const EVENT_SCHEMA: &str = "https://github.com/msctp/msctp/blob/main/docs/events.md#qlog";

/// Begins each record.
const RECORD_SEPARATOR: u8 = 0x1e;

/// The place at which a log was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Vantage {
    /// The end that began the associations.
    Client,
    /// The end that accepted the associations.
    Server,
    /// Both ends, as in the simulator. The groups distinguish them.
    Unknown,
}

/// Writer of a log. Keeps the first error for [`finish`](Self::finish) and writes nothing after it.
pub struct Writer<W> {
    out: W,
    /// The ends by group.
    ends: BTreeMap<String, End>,
    failed: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(out: W, title: &str, vantage: Vantage) -> Self {
        let mut writer = Self { out, ends: BTreeMap::new(), failed: None };
        let header = Header::new(title, vantage);
        writer.failed = put(&mut writer.out, &header).err();
        writer
    }

    /// Writes an event. `group` names the end of the association that recorded it.
    pub fn write(&mut self, group: &str, event: &TraceEvent) {
        if self.failed.is_some() {
            return;
        }
        if !self.ends.contains_key(group) {
            self.ends.insert(group.to_owned(), End::default());
        }
        if let Some(end) = self.ends.get_mut(group) {
            self.failed = put(&mut self.out, &end.record(group, event)).err();
        }
    }

    /// Flushes the file.
    ///
    /// # Errors
    /// The first error met in writing.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed.map_or_else(|| self.out.flush(), Err)
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("failed", &self.failed).finish_non_exhaustive()
    }
}

fn put(out: &mut impl Write, record: &impl Serialize) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// The first record (`QlogFileSeq`).
#[derive(Serialize)]
struct Header<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    /// Version of the format for viewers that only know version 0.3, such as qvis. The next constant is its
    /// counterpart.
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    trace: Trace,
}

#[derive(Serialize)]
struct Trace {
    event_schemas: [&'static str; 1],
    vantage_point: VantagePoint,
    common_fields: CommonFields,
}

#[derive(Serialize)]
struct VantagePoint {
    name: &'static str,
    #[serde(rename = "type")]
    vantage: Vantage,
}

#[derive(Serialize)]
struct CommonFields {
    time_format: &'static str,
    reference_time: ReferenceTime,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

impl<'a> Header<'a> {
    fn new(title: &'a str, vantage: Vantage) -> Self {
        Self {
            file_schema: "urn:ietf:params:qlog:file:sequential",
            serialization_format: "application/qlog+json-seq",
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title,
            trace: Trace {
                event_schemas: [EVENT_SCHEMA],
                vantage_point: VantagePoint { name: "msctp", vantage },
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                },
            },
        }
    }
}
