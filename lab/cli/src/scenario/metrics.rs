//! `msctp-lab scenario metrics`: lists the metrics of a run.

use std::io;

use msctp_experiments::metrics::{Entry, METRICS, Metric, Subject, When};
use msctp_terminal::{Failure, print};

/// List the metrics of a run: name, unit and meaning.
///
/// A metric is written NAME[:SUBJECT][@TIME]: link.drops:wlan/forward, path.cwnd@31s,
/// association.goodput@30s..40s. Without a subject it covers all of the kind. A curve is for sweeps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab scenario metrics
  msctp-lab scenario metrics --json | jq -r '.[].name'
  msctp-lab sim scenarios/handover.toml --metric handover.gap --metric path.cwnd@31s

Exit codes: 0 done, 1 failed, 2 invalid arguments.")]
pub(crate) struct Args {
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let entries: Vec<Entry> = METRICS.iter().map(Metric::entry).collect();
    print(|out| {
        if args.json {
            return serde_json::to_writer_pretty(&mut *out, &entries)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out));
        }
        for (number, metric) in METRICS.iter().enumerate() {
            let group = |metric: &Metric| metric.name.split('.').next().unwrap_or_default();
            if number > 0 && group(&METRICS[number - 1]) != group(metric) {
                writeln!(out)?;
            }
            let subject = match metric.subject {
                Subject::Run => "",
                Subject::OneLink => ":NAME",
                _ => "[:NAME]",
            };
            let time = match metric.when {
                When::Never => "",
                When::Instant => "@TIME",
                When::Range => "[@FROM..TO]",
            };
            let over = if metric.is_curve() { format!(", over {}", metric.x()) } else { String::new() };
            writeln!(out, "{}{subject}{time} ({}{over})", metric.name, metric.unit.symbol())?;
            writeln!(out, "    {}", metric.meaning)?;
        }
        Ok(())
    })
}
