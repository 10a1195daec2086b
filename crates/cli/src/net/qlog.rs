//! `--qlog` of commands for real networks: the traces of a command's endpoints in one file.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msctp::TraceSink;
use msctp_qlog::{Vantage, Writer};
use msctp_terminal::Failure;
use msctp_terminal::output::Output;
use msctp_units::Span;
use tokio::time::Instant;

/// The option of commands that write a qlog.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct QlogArgs {
    /// Write the associations' events to this file (.sqlog) as qlog, the format of qvis and other viewers
    /// (docs/events.md). The file appears when the command ends.
    #[arg(long, value_name = "FILE", help_heading = "Network options")]
    qlog: Option<PathBuf>,
}

type Shared = Arc<Mutex<Option<Writer<BufWriter<File>>>>>;

/// A qlog that is being written.
pub(crate) struct Qlog {
    output: Output,
    /// `None` once the log is complete.
    writer: Shared,
    start: Instant,
    endpoints: u64,
}

impl Qlog {
    /// Opens the file that the arguments name. The command is the client or the server of its associations.
    pub(crate) fn open(args: &QlogArgs, vantage: Vantage) -> Result<Option<Self>, Failure> {
        let Some(output) = Output::open_optional("--qlog", args.qlog.as_deref())? else { return Ok(None) };
        let writer = Writer::new(output.writer()?, "msctp", vantage);
        let writer = Arc::new(Mutex::new(Some(writer)));
        Ok(Some(Self { output, writer, start: Instant::now(), endpoints: 0 }))
    }

    /// Returns the sink of the next endpoint to be bound. Its associations are the groups ENDPOINT.NUMBER.
    pub(crate) fn sink(&mut self) -> TraceSink {
        self.endpoints += 1;
        let (endpoint, writer) = (self.endpoints, Arc::clone(&self.writer));
        let bound = Span::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        TraceSink::new(move |association, event| {
            if let Some(writer) = &mut *lock(&writer) {
                let mut event = *event;
                event.at += bound;
                writer.write(&format!("{endpoint}.{association}"), &event);
            }
        })
    }

    /// Completes the file and renames it into place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let writer = lock(&self.writer).take();
        writer.map_or(Ok(()), Writer::finish).map_err(|error| self.output.failure(&error))?;
        self.output.commit()
    }
}

fn lock(writer: &Shared) -> MutexGuard<'_, Option<Writer<BufWriter<File>>>> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}
