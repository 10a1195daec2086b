//! The output files of `msctp-lab emulate`.

use msctp_terminal::Failure;
use msctp_terminal::output::Output;
use serde::Serialize;

use super::Args;
use crate::sim::{Column, SeriesFiles};
use msctp_sim::Series;

/// Output files, opened before the emulation.
pub(super) struct Outputs {
    pub(super) pcap: Option<Output>,
    pub(super) qlog: Option<Output>,
    series: Option<SeriesFiles>,
    summary: Option<Output>,
}

impl Outputs {
    /// Opens the files that the arguments name.
    pub(super) fn open(args: &Args, columns: &[Column]) -> Result<Self, Failure> {
        Ok(Self {
            pcap: Output::open_optional("--pcap", args.pcap.as_deref())?,
            qlog: Output::open_optional("--qlog", args.qlog.as_deref())?,
            series: args.series.as_deref().map(|dir| SeriesFiles::open(dir, columns)).transpose()?,
            summary: Output::open_optional("--summary", args.summary.as_deref())?,
        })
    }

    /// Writes all files and renames them into place. The capture and the qlog were written already.
    pub(super) fn write(self, series: &Series, summary: &impl Serialize) -> Result<(), Failure> {
        if let Some(pcap) = self.pcap {
            pcap.commit()?;
        }
        if let Some(qlog) = self.qlog {
            qlog.commit()?;
        }
        if let Some(files) = self.series {
            files.write(series)?;
        }
        if let Some(output) = self.summary {
            let mut json = serde_json::to_vec_pretty(summary).map_err(|e| output.failure(&e.into()))?;
            json.push(b'\n');
            output.write(&json)?;
        }
        Ok(())
    }
}
