//! `msctp-lab sim`: simulates one scenario and prints a summary.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use msctp_terminal::output::{Output, claim};
use msctp_terminal::system::cannot_write;
use msctp_terminal::{Failure, print};

use msctp_experiments::input::ScenarioText;
use msctp_experiments::metrics::{Results, enable_series};
use msctp_experiments::output::{Kind, OutputFolder};
use msctp_experiments::run_folder::{self, Program, Recorded};
use msctp_experiments::sweep::Expression;
use msctp_experiments::world::refused;
use msctp_sim::scenario::{ActionSpec, AssociationSpec, Do, Scenario};
use msctp_sim::{Series, Simulation, Summary};
use msctp_units::{Span, Time};

use crate::interrupt::Interrupt;
use crate::running::check_folder;
use crate::sim_text;

/// Simulate a scenario in virtual time and print a summary.
///
/// A run is deterministic: the same scenario and seed give the same packets at the same nanoseconds on any
/// machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab sim scenarios/handover.toml
  msctp-lab sim scenarios/handover.toml --seed 7 --set link.wlan.rate=2Mbps
  msctp-lab sim scenarios/handover.toml --pcap handover.pcapng --pcap-link 3g --pcap-link wlan/forward
  msctp-lab sim scenarios/bulk-wlan.toml --json | jq .associations[0].to_server.goodput_bps
  msctp-lab sim scenarios/handover.toml --metric handover.gap --metric path.cwnd@31s
  msctp-lab sim scenarios/handover.toml --series plots --hash
  msctp-lab sim scenarios/handover.toml --out run && msctp-lab rerun run
  msctp-lab sim scenarios/handover.toml --events events.jsonl && jq -c 'select(.event == \"primary\")' events.jsonl
  msctp-lab sim scenarios/handover.toml --qlog handover.sqlog

Output files are complete when they appear, at the end of the run. Until then an existing file of that name stays. \
A signal ends the run early and writes them too.

Exit codes: 0 done, 1 failed, 2 invalid arguments or scenario, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// The scenario file (TOML).
    scenario: PathBuf,
    /// Seed of the random streams [default: the scenario's].
    #[arg(long, value_parser = crate::running::seed)]
    seed: Option<u64>,
    /// Replace a value of the scenario, such as duration=10s, link.wlan.rate=5Mbps or action.0.at=2s;
    /// repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// End the run at this virtual time, such as 5s, at most the scenario's duration [default: that].
    #[arg(long, value_name = "TIME", value_parser = positive)]
    until: Option<Span>,
    /// Write the packets that links deliver to this file (pcapng, nanoseconds).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture only this link or direction of a link (wlan, wlan/forward); repeatable [default: all links].
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write the associations' events to this file, one JSON object per line: chunks, windows, path states,
    /// handover decisions (docs/events.md).
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write the associations' events to this file (.sqlog) as qlog, the format of qvis and other viewers
    /// (docs/events.md).
    #[arg(long, value_name = "FILE")]
    qlog: Option<PathBuf>,
    /// Print the summary as JSON (docs/summary.schema.json).
    #[arg(long)]
    json: bool,
    /// Print this metric's value instead of the summary, such as handover.gap or link.drops:wlan (`msctp-lab
    /// scenario metrics` lists them), or of a formula over metrics in braces, such as "8 * {flow.bytes:file}
    /// / 20s"; repeatable. With --json, one object with a member for each. A curve, which stands alone,
    /// prints lines x,value. Fails if an action of the scenario was refused, as a sweep does.
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Print a SHA-256 of all delivered packets with the summary, to compare runs.
    #[arg(long, conflicts_with = "metrics")]
    hash: bool,
    /// Write time series into this folder as CSV: throughput, window, rtt, estimate, queue, message.
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,
    /// Write the run into this folder: run.json with scenario, overrides, seed, version, commit and hashes,
    /// summary.json, and series.parquet, the time series in long form. `msctp-lab rerun DIR` repeats it.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Reads the scenario, simulates it and prints the summary.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let source = ScenarioText::read(&args.scenario).map_err(Failure::Input)?;
    let recorded = Recorded::read(&source, &args.set).map_err(|e| Failure::Input(e.to_string()))?;
    let mut scenario = recorded.scenario.clone();
    check_end(args, &scenario)?;
    // The summary shows the rates around each handover. A delivery takes 16 bytes of memory.
    scenario.probes.deliveries |= may_hand_over(&scenario);
    scenario.probes.trace |= args.events.is_some() || args.qlog.is_some();
    if args.series.is_some() || args.out.is_some() {
        enable_series(&mut scenario);
    }
    let wanted = metrics(args, &mut scenario)?;
    warn_of_unused(&scenario);
    let mut simulation =
        Simulation::new(&scenario, args.seed).map_err(|e| Failure::Input(format!("{}: {e}", source.file)))?;
    if args.hash || args.out.is_some() {
        simulation.hash_trace();
    }
    let folder = args.out.as_deref().map(open_folder).transpose()?;
    let outputs = Outputs::open(args, &mut simulation)?;
    let interrupt = Interrupt::watch()?;
    let until = args.until.map_or(simulation.end(), |span| Time::ZERO + span);
    let complete = run_in_pieces(&mut simulation, until, interrupt.flag());
    let (summary, end) = (simulation.summary(), simulation.now());
    let (written, series) = outputs.finish(simulation);
    let written = written.and_then(|()| match folder {
        Some(folder) => {
            let command = command(args, &source.file);
            let program = Program {
                version: env!("CARGO_PKG_VERSION"),
                commit: env!("MSCTP_COMMIT"),
                command: &command,
            };
            let record = recorded.record(&summary, end, &program);
            run_folder::write(folder.stage(), &record, &summary, &series)
                .map_err(|e| Failure::Run(format!("--out: {e}")))?;
            folder.commit().map_err(|e| Failure::Run(cannot_write("--out", &e)))
        }
        None => Ok(()),
    });
    let results = Results { scenario: &scenario, summary: &summary, series: &series };
    if let Some(curve) = wanted.iter().find_map(Expression::curve) {
        let points = curve.curve(&results);
        written?;
        let points = points.map_err(|why| Failure::Run(format!("--metric {why}")))?;
        print(|out| points.iter().try_for_each(|(x, value)| writeln!(out, "{x},{value}")))?;
        return if complete { as_written(&summary) } else { Err(cut_short(&interrupt, summary.duration)) };
    }
    let values: Vec<_> = wanted.iter().map(|wanted| (wanted, wanted.value(&results))).collect();
    print(|mut out| {
        if !values.is_empty() {
            write_metrics(out, &values, args.json)
        } else if args.json {
            serde_json::to_writer_pretty(&mut out, &summary)?;
            writeln!(out)
        } else {
            sim_text::write(&mut out, &summary)
        }
    })?;
    written?;
    if !complete {
        return Err(cut_short(&interrupt, summary.duration));
    }
    if values.is_empty() {
        return Ok(());
    }
    let missing = values.into_iter().find_map(|(_, value)| value.err());
    missing.map_or(Ok(()), |why| Err(Failure::Run(format!("--metric {why}"))))?;
    as_written(&summary)
}

/// Returns true if an association has several addresses at one end, or an action adds one.
fn may_hand_over(scenario: &Scenario) -> bool {
    let several = |spec: &AssociationSpec| spec.client_addresses.len().max(spec.server_addresses.len()) > 1;
    let adds = |action: &ActionSpec| matches!(action.what, Do::AddAddress { .. });
    scenario.associations.iter().any(several) || scenario.actions.iter().any(adds)
}

/// Rejects a time of `--until` after the end of the scenario.
fn check_end(args: &Args, scenario: &Scenario) -> Result<(), Failure> {
    match args.until {
        Some(until) if until > scenario.duration => Err(Failure::Input(format!(
            "--until {until} is after the end: want at most the duration, {end}, or --set duration={until}",
            end = scenario.duration
        ))),
        _ => Ok(()),
    }
}

/// Rejects metrics of a run in which an action was refused, as a sweep does.
fn as_written(summary: &Summary) -> Result<(), Failure> {
    let failed = |why| Failure::Run(format!("--metric: the run differs from the scenario: {why}"));
    refused(summary).map_or(Ok(()), |why| Err(failed(why)))
}

/// Opens the folder of `--out` before the run.
fn open_folder(dir: &Path) -> Result<OutputFolder, Failure> {
    check_folder(dir, Kind::Run)?;
    let what = format!("--out {}", dir.display());
    claim(&what, dir)?;
    [run_folder::RUN, run_folder::SUMMARY, run_folder::SERIES]
        .iter()
        .try_for_each(|name| claim(&what, &dir.join(name)))?;
    OutputFolder::create(dir, Kind::Run).map_err(|e| Failure::Input(cannot_write(what, &e)))
}

/// Returns the command that repeats the run, without its outputs.
fn command(args: &Args, file: &str) -> String {
    let seed = args.seed.map(|seed| format!(" --seed {seed}")).unwrap_or_default();
    let until = args.until.map(|until| format!(" --until {until}")).unwrap_or_default();
    let set: String = args.set.iter().map(|set| format!(" --set '{}'", set.replace('\'', r"'\''"))).collect();
    format!("msctp-lab sim {file}{seed}{until}{set}")
}

/// Parses the metrics and enables the probes that they need.
fn metrics(args: &Args, scenario: &mut Scenario) -> Result<Vec<Expression>, Failure> {
    let parse = |text: &String| {
        let wanted = Expression::parse(text)?;
        wanted.prepare(scenario)?;
        if wanted.curve().is_some() && (args.metrics.len() > 1 || args.json) {
            return Err(format!("{wanted} is a curve: want it alone, without --json"));
        }
        Ok(wanted)
    };
    let wanted: Result<_, String> = args.metrics.iter().map(parse).collect();
    wanted.map_err(|fault| Failure::Input(format!("--metric: {fault}")))
}

/// Prints the values of the metrics. A single value is a number alone; several have a line each with their
/// units.
fn write_metrics(
    out: &mut dyn Write,
    values: &[(&Expression, Result<f64, String>)],
    json: bool,
) -> io::Result<()> {
    if json {
        let member = |(wanted, value): &(&Expression, Result<f64, String>)| {
            (wanted.to_string(), value.as_ref().ok().copied().into())
        };
        let object: serde_json::Map<_, _> = values.iter().map(member).collect();
        serde_json::to_writer_pretty(&mut *out, &object)?;
        return writeln!(out);
    }
    for (wanted, value) in values {
        match value {
            Ok(value) if values.len() == 1 => writeln!(out, "{value}")?,
            Ok(value) => writeln!(out, "{}", format!("{wanted} {value} {}", wanted.unit()).trim_end())?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Warns on standard error of unused declarations.
pub(crate) fn warn_of_unused(scenario: &Scenario) {
    for what in scenario.unused() {
        eprintln!("msctp-lab: warning: {what}");
    }
}

/// The output files of a run, opened before it.
struct Outputs {
    pcap: Option<Output>,
    events: Option<Output>,
    qlog: Option<Output>,
    series: Option<SeriesFiles>,
}

impl Outputs {
    /// Opens the files that the arguments name and connects the simulation to them.
    fn open(args: &Args, simulation: &mut Simulation) -> Result<Self, Failure> {
        let outputs = Self {
            pcap: Output::open_optional("--pcap", args.pcap.as_deref())?,
            events: Output::open_optional("--events", args.events.as_deref())?,
            qlog: Output::open_optional("--qlog", args.qlog.as_deref())?,
            series: args.series.as_deref().map(|dir| SeriesFiles::open(dir, &SERIES)).transpose()?,
        };
        if let Some(pcap) = &outputs.pcap {
            simulation.capture(&args.pcap_link, Box::new(pcap.writer()?)).map_err(|e| match e.kind() {
                io::ErrorKind::InvalidInput => Failure::Input(format!("--pcap-link: {e}")),
                _ => pcap.failure(&e),
            })?;
        }
        if let Some(events) = &outputs.events {
            simulation.write_events(Box::new(events.writer()?));
        }
        if let Some(qlog) = &outputs.qlog {
            simulation.write_qlog(&args.scenario.display().to_string(), Box::new(qlog.writer()?));
        }
        Ok(outputs)
    }

    /// Completes every file, also after an interrupted run, and returns the time series. Completes the other
    /// files if one fails.
    fn finish(self, mut simulation: Simulation) -> (Result<(), Failure>, Series) {
        let finish = |output: Option<Output>, finished: io::Result<()>| match output {
            Some(output) => finished.map_err(|e| output.failure(&e)).and_then(|()| output.commit()),
            None => Ok(()),
        };
        let pcap = finish(self.pcap, simulation.finish());
        let events = finish(self.events, simulation.finish_events());
        let qlog = finish(self.qlog, simulation.finish_qlog());
        let series = simulation.into_series();
        let written = self.series.map_or(Ok(()), |files| files.write(&series));
        (pcap.and(events).and(qlog).and(written), series)
    }
}

fn cut_short(interrupt: &Interrupt, seconds: f64) -> Failure {
    interrupt.failure(format!("interrupted at {seconds:.3} s"))
}

/// Parses a time greater than 0.
pub(crate) fn positive(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(Span::ZERO) => Err("want more than 0, such as 500ms or 5s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs in pieces to `end`, or until `stop`. Returns whether it reached `end`.
fn run_in_pieces(simulation: &mut Simulation, end: Time, stop: &AtomicBool) -> bool {
    let bar =
        if io::stderr().is_terminal() { ProgressBar::new(Simulation::PIECES) } else { ProgressBar::hidden() };
    bar.set_style(
        ProgressStyle::with_template("{bar:40} {percent}% of {msg}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(format!("{}", end.since(Time::ZERO)));
    let complete = simulation.run_in_pieces(end, |piece| {
        bar.set_position(piece);
        !stop.load(Ordering::Relaxed)
    });
    if complete {
        bar.finish_and_clear();
    } else {
        bar.abandon();
    }
    complete
}

/// A time series file and the function that writes it.
pub(crate) type Column = (&'static str, fn(&Series, &mut BufWriter<File>) -> io::Result<()>);

/// The time series of `sim`.
pub(crate) const SERIES: [Column; 6] = [
    ("throughput.csv", Series::write_throughput_csv),
    ("window.csv", Series::write_window_csv),
    ("rtt.csv", Series::write_rtt_csv),
    ("estimate.csv", Series::write_estimate_csv),
    ("queue.csv", Series::write_queue_csv),
    ("message.csv", Series::write_message_csv),
];

/// The files of `--series`, opened before the run.
pub(crate) struct SeriesFiles(Vec<(Column, Output)>);

impl SeriesFiles {
    /// Opens the files in their folder; creates the folder if it does not exist.
    pub(crate) fn open(dir: &Path, columns: &[Column]) -> Result<Self, Failure> {
        let what = format!("--series {}", dir.display());
        claim(&what, dir)?;
        std::fs::create_dir_all(dir).map_err(|e| Failure::Input(cannot_write(what, &e)))?;
        let open = |column: &Column| Ok((*column, Output::open("--series", &dir.join(column.0))?));
        columns.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Writes every file, then renames all into place.
    pub(crate) fn write(self, series: &Series) -> Result<(), Failure> {
        for ((_, write), output) in &self.0 {
            let mut out = output.writer()?;
            write(series, &mut out).and_then(|()| out.flush()).map_err(|e| output.failure(&e))?;
        }
        self.0.into_iter().try_for_each(|(_, output)| output.commit())
    }
}
