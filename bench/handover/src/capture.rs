//! `--qlog`: the trace of each end, and both in one file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use msctp::TraceSink;
use msctp_qlog::{Vantage, Writer};
use msctp_units::Span;
use serde::Deserialize;

use crate::arrivals::monotonic;

/// The capture of one end.
#[derive(Clone, Debug, clap::Args)]
pub struct Wanted {
    /// File of this end's trace.
    #[arg(long = "qlog", requires = "origin")]
    file: Option<PathBuf>,
    /// The monotonic clock at the emulation's start, in nanoseconds.
    #[arg(long, default_value_t = 0)]
    origin: u64,
}

/// A file that is being written.
pub struct Capture {
    writer: Arc<Mutex<Option<Writer<BufWriter<File>>>>>,
    group: &'static str,
    bound: Span,
}

impl Wanted {
    /// Creates the file if one is wanted. The endpoint named `group` is bound next.
    pub fn open(&self, group: &'static str) -> io::Result<Option<Capture>> {
        let Some(path) = &self.file else { return Ok(None) };
        let writer = Writer::new(BufWriter::new(File::create(path)?), "handover", Vantage::Unknown);
        let bound = Span::from_nanos(monotonic()?.saturating_sub(self.origin));
        Ok(Some(Capture { writer: Arc::new(Mutex::new(Some(writer))), group, bound }))
    }
}

impl Capture {
    /// Returns the sink of the endpoint.
    pub fn sink(&self) -> TraceSink {
        let (writer, group, bound) = (Arc::clone(&self.writer), self.group, self.bound);
        TraceSink::new(move |association, event| {
            if let Some(writer) = &mut *writer.lock().unwrap_or_else(PoisonError::into_inner) {
                let mut event = *event;
                event.at += bound;
                writer.write(&format!("{group}.{association}"), &event);
            }
        })
    }

    /// Completes the file.
    pub fn finish(self) -> io::Result<()> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), Writer::finish)
    }
}

/// The records of a capture after its header.
struct Records {
    lines: io::Lines<BufReader<File>>,
    /// The next record with its time.
    next: Option<(f64, String)>,
}

#[derive(Deserialize)]
struct Timed {
    time: f64,
}

impl Records {
    /// Opens a capture. Returns it with its header.
    fn open(path: &Path) -> io::Result<(Self, String)> {
        let mut lines = BufReader::new(File::open(path)?).lines();
        let header = lines.next().transpose()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut records = Self { lines, next: None };
        records.advance()?;
        Ok((records, header))
    }

    fn advance(&mut self) -> io::Result<Option<String>> {
        let next = match self.lines.next().transpose()? {
            None => None,
            Some(line) => {
                let Timed { time } = serde_json::from_str(line.trim_start_matches('\x1e'))?;
                Some((time, line))
            }
        };
        Ok(std::mem::replace(&mut self.next, next).map(|(_, line)| line))
    }

    fn time(&self) -> f64 {
        self.next.as_ref().map_or(f64::INFINITY, |(time, _)| *time)
    }
}

/// Writes the captures of both ends into one file, in the order of time.
pub fn join(one: &Path, other: &Path, to: &Path) -> io::Result<()> {
    let (mut one, header) = Records::open(one)?;
    let (mut other, _) = Records::open(other)?;
    let mut out = BufWriter::new(File::create(to)?);
    writeln!(out, "{header}")?;
    loop {
        let first = if one.time() <= other.time() { &mut one } else { &mut other };
        match first.advance()? {
            Some(line) => writeln!(out, "{line}")?,
            None => return out.flush(),
        }
    }
}
