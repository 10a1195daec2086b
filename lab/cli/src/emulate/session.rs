//! Emulates a scenario while commands run in its hosts.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::channel;

use msctp_emu::contain::{self, Role};
use msctp_emu::session::{Ended, Note, Task};
use msctp_emu::{Emulation, Error, Options, need};
use msctp_experiments::input::ScenarioText;
use msctp_experiments::metrics::INTERVAL;
use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::Series;
use msctp_sim::scenario::{NodeKind, Scenario, WithOutsideHosts};
use msctp_terminal::Failure;

use super::outputs::Outputs;
use super::{Args, text};
use crate::sim::Column;

/// The time series of an emulation of commands.
const QUEUES: Column = ("queue.csv", Series::write_queue_csv);

/// Reads the scenario, checks the requirements, and emulates it in a process of its own.
pub(super) fn run(args: &Args, path: &Path) -> Result<(), Failure> {
    let source = ScenarioText::read(path).map_err(Failure::Input)?;
    let ScenarioText { file, text, .. } = &source;
    let open = |name: &str| source.open(name);
    let WithOutsideHosts { mut scenario, left_out } =
        Scenario::from_toml_with_outside_hosts(text, file, &args.set, &open)
            .map_err(|e| Failure::Input(e.to_string()))?;
    if args.series.is_some() {
        scenario.probes.queues.get_or_insert(INTERVAL);
    }
    let (helpers, main) = tasks(args, &scenario)?;
    need::check().map_err(|missing| Failure::Run(missing.to_string()))?;
    match contain::enter()
        .map_err(|e| Failure::Run(format!("cannot make a PID namespace: {e}; run it as root")))?
    {
        Role::Outer(outcome) if outcome.status.success() => Ok(()),
        // The inner process has printed the reason.
        Role::Outer(outcome) => std::process::exit(contain::code(outcome).into()),
        Role::Inner => {
            if !left_out.is_empty() && !args.quiet {
                eprintln!("not run, because your commands replace them: {}", left_out.join(", "));
            }
            emulate(args, &scenario, &helpers, main.as_ref())
        }
    }
}

/// Returns the commands of --in, and the main command.
fn tasks(args: &Args, scenario: &Scenario) -> Result<(Vec<Task>, Option<Task>), Failure> {
    let hosts: Vec<&str> =
        scenario.nodes.iter().filter(|n| n.kind == NodeKind::Host).map(|n| n.name.as_str()).collect();
    let known = |option: &str, name: &str| match hosts.contains(&name) {
        true => Ok(name.to_owned()),
        false => {
            let remedy = suggest(name, hosts.iter().copied());
            Err(Failure::Input(format!("{option} {name}: the scenario has no such host{remedy}")))
        }
    };
    let mut helpers = Vec::new();
    for pair in args.inside.chunks_exact(2) {
        let argv = ["sh", "-c", &pair[1]].map(OsString::from).to_vec();
        helpers.push(Task { host: known("--in", &pair[0])?, argv, reads_input: false });
    }
    if args.command.is_empty() {
        if helpers.is_empty() {
            let wants = "nothing to run: want -- COMMAND (such as -- bash), or --in HOST 'COMMAND'";
            return Err(Failure::Input(wants.to_owned()));
        }
        return Ok((helpers, None));
    }
    let interfaces = |host: &str| {
        let ends = scenario.links.iter().flat_map(|link| [&link.a, &link.b]);
        ends.filter(|end| *end == host).count()
    };
    let host = match &args.host {
        Some(name) => known("--host", name)?,
        None => {
            let several = hosts.iter().find(|host| interfaces(host) > 1);
            let first = several.or(hosts.first());
            let none = || Failure::Input("the scenario has no hosts".to_owned());
            (*first.ok_or_else(none)?).to_owned()
        }
    };
    Ok((helpers, Some(Task { host, argv: args.command.clone(), reads_input: true })))
}

fn emulate(args: &Args, scenario: &Scenario, helpers: &[Task], main: Option<&Task>) -> Result<(), Failure> {
    let (events, done) = channel();
    let mut options = Options {
        seed: args.seed,
        mptcp: args.mptcp.map(Into::into),
        events: Some(events),
        ..Options::default()
    };
    let outputs = Outputs::open(args, &[QUEUES])?;
    if let Some(pcap) = &outputs.pcap {
        options.capture = Some((args.pcap_link.clone(), Box::new(pcap.writer()?)));
    }
    let emulation = Emulation::start(scenario, options).map_err(|e| match e {
        Error::Scenario(e) => Failure::Input(e.to_string()),
        Error::System(e) if e.kind() == io::ErrorKind::InvalidInput => {
            Failure::Input(format!("--pcap-link: {e}"))
        }
        e => Failure::Run(format!("cannot start the emulation: {e}")),
    })?;
    let tell = |note: &Note<'_>| {
        match note {
            Note::Failed(why) => eprintln!("msctp-lab: {why}"),
            Note::Left(task, status) if !status.success() => {
                eprintln!("msctp-lab: {}: {}: {}", task.host, task.shown(), how(*status));
            }
            _ => {}
        }
        for action in done.try_iter().filter(|_| !args.quiet) {
            eprintln!(">> {:.3} s: {}", action.at.as_secs_f64(), action.what);
        }
    };
    let ended = msctp_emu::session::run(&emulation, helpers, main, args.settle, tell);
    let (summary, simulation) =
        emulation.finish().map_err(|e| Failure::Run(format!("cannot complete the emulation: {e}")))?;
    let written = outputs.write(&simulation.into_series(), &summary);
    if !args.quiet {
        let mut out = BufWriter::new(io::stderr().lock());
        if io::stderr().is_terminal() {
            let _ = writeln!(out);
        }
        let _ = text::write(&mut out, &summary).and_then(|()| out.flush());
    }
    written?;
    match ended.map_err(|e| Failure::Run(e.to_string()))? {
        Ended::Commands(status) if status.success() => Ok(()),
        Ended::Commands(status) => Err(Failure::Run(match main {
            Some(task) => format!("{}: {}", task.shown(), how(status)),
            None => "a command failed".to_owned(),
        })),
        Ended::Scenario => Err(Failure::Run(format!(
            "the scenario ended at {} while commands were running: want shorter commands, or a longer \
             scenario with --set duration=…",
            scenario.duration
        ))),
        Ended::Interrupted => Err(Failure::Run("interrupted".to_owned())),
    }
}

fn how(status: ExitStatus) -> String {
    format!("ended with {status}")
}
