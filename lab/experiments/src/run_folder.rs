//! The folder of one run: `run.json` with everything the run depends on, `summary.json`, and the time series
//! in long form (`series.parquet`). A sweep's `run.json` has the same keys.

use std::cell::RefCell;
use std::path::Path;

use msctp_sim::scenario::{Scenario, ScenarioError, Schemes, resolved};
use msctp_sim::{Series, Summary};
use msctp_units::{Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::input::ScenarioText;
use crate::store::Attachment;
use crate::table::{Table, TableError, write_parts};

/// Names of the folder's files.
pub const RUN: &str = "run.json";
/// Name of the file with the summary, as `msctp-lab sim --json` prints it.
pub const SUMMARY: &str = "summary.json";
/// The time series.
pub const SERIES: &str = "series.parquet";

/// The record of a run.
#[derive(Debug, Deserialize, Serialize)]
pub struct RunRecord {
    /// Kind of the record: `sim`.
    pub kind: String,
    /// Version of msctp.
    pub version: String,
    /// Commit that msctp was built from; empty outside of a repository.
    pub commit: String,
    /// The command.
    pub command: String,
    /// Name of the scenario.
    pub title: String,
    /// The seed.
    pub seeds: Vec<u64>,
    /// The scenario file first, then the files that it names.
    pub files: Vec<RecordedFile>,
    /// The scenario with its overrides.
    pub cells: Vec<RecordedCell>,
    /// Virtual time at which the run ended.
    pub until_ns: u64,
    /// SHA-256 over every delivered packet.
    pub trace_hash: Option<String>,
    /// The scenario's keys from all files, with overrides, templates and counts applied.
    pub scenario: Value,
}

/// A file that a run read.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct RecordedFile {
    /// Path of the file: the scenario's as given, others as the scenario names them.
    pub path: String,
    /// SHA-256 of its contents, hexadecimal.
    pub sha256: String,
    /// Contents.
    pub text: String,
}

/// A cell of the run; a sweep has several.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct RecordedCell {
    /// Values of a sweep's axes; empty.
    pub values: serde_json::Map<String, Value>,
    /// The scenario file.
    pub scenario: String,
    /// Overrides of the cell.
    pub overrides: Vec<String>,
}

impl RecordedFile {
    fn new(path: &str, text: String) -> Self {
        let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { path: path.to_owned(), sha256, text }
    }
}

/// A scenario with the texts from which it was read.
#[derive(Debug)]
pub struct Recorded {
    /// The scenario.
    pub scenario: Scenario,
    files: Vec<RecordedFile>,
    overrides: Vec<String>,
    resolved: Value,
}

/// The program and the command of a run.
#[derive(Clone, Copy, Debug)]
pub struct Program<'p> {
    /// Version of msctp.
    pub version: &'p str,
    /// Commit from which the program was built.
    pub commit: &'p str,
    /// Command that repeats the run.
    pub command: &'p str,
}

impl Recorded {
    /// Reads a scenario and keeps the texts.
    ///
    /// # Errors
    /// Same as [`ScenarioText::scenario`].
    pub fn read(source: &ScenarioText, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::of(&source.file, &source.text, overrides, &|name| source.open(name))
    }

    /// Reads the scenario of a record, and nothing else from this machine.
    ///
    /// # Errors
    /// Rejects a record without a file or cell, and a faulty scenario.
    pub fn from_record(record: &RunRecord) -> Result<Self, String> {
        let (Some(file), Some(cell)) = (record.files.first(), record.cells.first()) else {
            return Err("the record has no scenario".to_owned());
        };
        let open = |name: &str| {
            let found = record.files.iter().skip(1).find(|file| file.path == name);
            found.map(|file| file.text.clone()).ok_or_else(|| format!("{name} is not in the record"))
        };
        Self::of(&file.path, &file.text, &cell.overrides, &open).map_err(|error| error.to_string())
    }

    fn of(
        file: &str,
        text: &str,
        overrides: &[String],
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        let files = RefCell::new(vec![RecordedFile::new(file, text.to_owned())]);
        let kept = |name: &str| {
            let text = open(name)?;
            let known = files.borrow().iter().skip(1).any(|file| file.path == name);
            if !known {
                files.borrow_mut().push(RecordedFile::new(name, text.clone()));
            }
            Ok(text)
        };
        let scenario = Scenario::with_schemes(text, file, overrides, &kept, &Schemes::none())?;
        let resolved = resolved(text, file, overrides, &kept)?;
        Ok(Self { scenario, files: files.into_inner(), overrides: overrides.to_vec(), resolved })
    }

    /// Returns the record of a run that ended at the time of its summary.
    #[must_use]
    pub fn record(self, summary: &Summary, end: Time, program: &Program<'_>) -> RunRecord {
        let scenario = self.files.first().map(|file| file.path.clone()).unwrap_or_default();
        RunRecord {
            kind: "sim".to_owned(),
            version: program.version.to_owned(),
            commit: program.commit.to_owned(),
            command: program.command.to_owned(),
            title: summary.scenario.clone(),
            seeds: vec![summary.seed],
            files: self.files,
            cells: vec![RecordedCell { values: serde_json::Map::new(), scenario, overrides: self.overrides }],
            until_ns: end.as_nanos(),
            trace_hash: summary.trace_hash.clone(),
            scenario: self.resolved,
        }
    }
}

/// Writes a run's files into a folder.
///
/// # Errors
/// The file system or the Parquet writer fails.
pub fn write(dir: &Path, record: &RunRecord, summary: &Summary, series: &Series) -> Result<(), TableError> {
    let notes = [("command", record.command.as_str())];
    long(summary, series).write_parquet(&dir.join(SERIES), &notes)?;
    for (name, value) in [(SUMMARY, serde_json::to_value(summary)), (RUN, serde_json::to_value(record))] {
        let path = dir.join(name);
        let text = value.and_then(|value| serde_json::to_string_pretty(&value)).map(|text| text + "\n");
        text.map_err(std::io::Error::other)
            .and_then(|text| crate::output::write_file(&path, text.as_bytes()))
            .map_err(|source| TableError::File { path: path.display().to_string(), source })?;
    }
    Ok(())
}

/// Writes the stored series of several runs, each as [`long`] has it, with the number of the run as a first
/// column.
///
/// # Errors
/// A series cannot be read, or the file system or the Parquet writer fails.
pub(crate) fn write_all(path: &Path, runs: &[Attachment], notes: &[(&str, &str)]) -> Result<(), TableError> {
    write_parts(path, ("run", Rows::default().table()), runs.iter().map(Attachment::read), notes)
}

/// The rows of a long table.
#[derive(Default)]
struct Rows {
    time_s: Vec<f64>,
    subject: Vec<String>,
    side: Vec<Option<&'static str>>,
    path: Vec<Option<String>>,
    quantity: Vec<&'static str>,
    value: Vec<f64>,
    note: Vec<Option<String>>,
}

/// The association or connection, the end and the path of a row.
type Of<'r> = (&'r str, Option<&'static str>, Option<&'r str>);

impl Rows {
    fn push(&mut self, at: Time, (subject, side, path): Of<'_>, quantity: &'static str, value: f64) {
        self.time_s.push(at.as_secs_f64());
        self.subject.push(subject.to_owned());
        self.side.push(side);
        self.path.push(path.filter(|path| !path.is_empty()).map(str::to_owned));
        self.quantity.push(quantity);
        self.value.push(value);
        self.note.push(None);
    }

    fn span(&mut self, at: Time, of: Of<'_>, quantity: &'static str, value: Span) {
        self.push(at, of, quantity, value.as_secs_f64());
    }

    fn table(self) -> Table {
        Table::new()
            .real("time_s", self.time_s)
            .text("subject", self.subject)
            .optional_text("side", self.side)
            .optional_text("path", self.path)
            .text("quantity", self.quantity)
            .real("value", self.value)
            .optional_text("note", self.note)
    }
}

/// Returns the time series in long form, with a row for each value. The quantity's name ends with its unit.
///
/// `subject` is an association, TCP connection, link direction or video application; `side` its end; `path`
/// the local and remote address as that end sees them, missing for sums. An unlimited threshold has no value.
#[must_use]
pub fn long(summary: &Summary, series: &Series) -> Table {
    let mut rows = Rows::default();
    throughput(&mut rows, series);
    traces(&mut rows, series);
    links(&mut rows, series);
    for of in &series.messages {
        for (generated, delivered) in of.generated.iter().zip(&of.delivered) {
            let transfer = delivered.map_or(f64::NAN, |at| at.since(*generated).as_secs_f64());
            rows.push(*generated, (&of.app, None, None), "transfer_s", transfer);
        }
    }
    for association in &summary.associations {
        for handover in &association.handovers {
            let at = Span::from_secs_f64(handover.at).unwrap_or_default();
            let of = (association.name.as_str(), Some(handover.side), Some(handover.to.as_str()));
            rows.push(Time::ZERO + at, of, "handover_gap_s", handover.gap.unwrap_or(f64::NAN));
            if let Some(note) = rows.note.last_mut() {
                *note = Some(handover.cause.clone());
            }
        }
    }
    rows.table()
}

fn throughput(rows: &mut Rows, series: &Series) {
    for of in &series.delivery {
        let paths = of.per_path.iter().map(|(path, bins)| (Some(path.to_string()), bins));
        for (path, bins) in std::iter::once((None, &of.total)).chain(paths) {
            for (number, rate) in bins.rates().enumerate() {
                let key = (of.association.as_str(), Some(of.side), path.as_deref());
                let at = Time::ZERO + bins.interval * number as u64;
                rows.push(at, key, "throughput_bps", rate.as_bps() as f64);
            }
        }
    }
}

fn traces(rows: &mut Rows, series: &Series) {
    let threshold = |bytes: u64| if bytes == u64::MAX { f64::NAN } else { bytes as f64 };
    for of in &series.traces {
        let (paths, window, rtt, estimate) = (of.paths(), &of.window, &of.rtt, &of.estimate);
        let key = |path| (of.association.as_str(), Some(of.side), Some(paths.of(path)));
        for (i, &at) in window.at.iter().enumerate() {
            let key = key(window.path[i]);
            rows.push(at, key, "cwnd_bytes", window.cwnd[i] as f64);
            rows.push(at, key, "ssthresh_bytes", threshold(window.ssthresh[i]));
            rows.push(at, key, "flight_size_bytes", window.flight_size[i] as f64);
        }
        for (i, &at) in rtt.at.iter().enumerate() {
            let key = key(rtt.path[i]);
            rows.span(at, key, "rtt_s", rtt.sample[i]);
            rows.span(at, key, "srtt_s", rtt.srtt[i]);
            rows.span(at, key, "rto_s", rtt.rto[i]);
        }
        for (i, &at) in estimate.at.iter().enumerate() {
            let key = key(estimate.path[i]);
            rows.push(at, key, "capacity_bps", estimate.capacity[i].as_bps() as f64);
            rows.push(at, key, "available_bps", estimate.available[i].as_bps() as f64);
            rows.span(at, key, "min_rtt_s", estimate.min_rtt[i]);
            rows.push(at, key, "probe_loss_ppm", f64::from(estimate.loss_ppm[i]));
        }
    }
    for of in &series.tcp {
        let key = (of.connection.as_str(), Some(of.side), Some(of.path.as_str()));
        for &(at, cwnd, ssthresh, flight_size) in &of.window {
            rows.push(at, key, "cwnd_bytes", cwnd as f64);
            rows.push(at, key, "ssthresh_bytes", threshold(ssthresh));
            rows.push(at, key, "flight_size_bytes", flight_size as f64);
        }
        for &(at, sample, srtt, rto) in &of.rtt {
            rows.span(at, key, "rtt_s", sample);
            rows.span(at, key, "srtt_s", srtt);
            rows.span(at, key, "rto_s", rto);
        }
    }
}

fn links(rows: &mut Rows, series: &Series) {
    for of in &series.queues {
        let key = (of.direction.as_str(), None, None);
        let mut last = (Time::ZERO, 0, 0);
        for (i, &at) in of.at.iter().enumerate() {
            rows.push(at, key, "queue_packets", of.packets[i] as f64);
            rows.push(at, key, "queue_bytes", of.bytes[i] as f64);
            let (before, bytes, dropped) = last;
            let seconds = at.since(before).as_secs_f64();
            if seconds > 0.0 {
                let rate = (of.delivered_bytes[i] - bytes) as f64 * 8.0 / seconds;
                rows.push(at, key, "link_rate_bps", rate);
                rows.push(at, key, "drops_packets", (of.dropped[i] - dropped) as f64);
            }
            last = (at, of.delivered_bytes[i], of.dropped[i]);
        }
    }
}
