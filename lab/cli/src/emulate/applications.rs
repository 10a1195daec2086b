//! `msctp-lab emulate SCENARIO --applications`: runs the scenario's own applications on real stacks.

use std::io;
use std::path::Path;

use msctp_emu::need;
use msctp_experiments::input::ScenarioText;
use msctp_experiments::metrics::INTERVAL;
use msctp_live::{Error, Live, Options};
use msctp_terminal::{Failure, print};

use super::Args;
use super::outputs::Outputs;
use crate::interrupt::Interrupt;
use crate::sim::{SERIES, warn_of_unused};
use crate::sim_text;

/// Reads the scenario, checks the requirements, runs it and prints the summary.
pub(super) fn run(args: &Args, path: &Path) -> Result<(), Failure> {
    let source = ScenarioText::read(path).map_err(Failure::Input)?;
    let mut scenario = source.scenario(&args.set).map_err(|e| Failure::Input(e.to_string()))?;
    scenario.probes.throughput.get_or_insert(INTERVAL);
    scenario.probes.deliveries = true;
    scenario.probes.trace |= args.qlog.is_some();
    if args.series.is_some() {
        scenario.probes.trace = true;
        scenario.probes.messages = true;
    }
    need::check().map_err(|missing| Failure::Run(missing.to_string()))?;
    warn_of_unused(&scenario);
    let outputs = Outputs::open(args, &SERIES)?;
    let interrupt = Interrupt::watch()?;
    let mut options = Options { seed: args.seed, capture: None, qlog: None, cancel: interrupt.flag() };
    if let Some(pcap) = &outputs.pcap {
        options.capture = Some((args.pcap_link.clone(), Box::new(pcap.writer()?)));
    }
    if let Some(qlog) = &outputs.qlog {
        options.qlog = Some((path.display().to_string(), Box::new(qlog.writer()?)));
    }
    if !args.quiet {
        eprintln!("{}: {} in real time", scenario.name, scenario.duration);
    }
    let Live { summary, series, emulation } = msctp_live::run(&scenario, options).map_err(|e| match e {
        Error::Scenario(e) => Failure::Input(format!("{}: {e}", source.file)),
        Error::Emulator(msctp_emu::Error::System(e)) if e.kind() == io::ErrorKind::InvalidInput => {
            Failure::Input(format!("--pcap-link: {e}"))
        }
        Error::Qlog(e) => outputs.qlog.as_ref().map_or(Failure::Run(e.to_string()), |qlog| qlog.failure(&e)),
        Error::Emulator(e) => interrupt.failure(format!("cannot emulate the scenario: {e}")),
        e => interrupt.failure(e.to_string()),
    })?;
    let both = serde_json::json!({ "applications": summary, "emulation": emulation });
    let written = outputs.write(&series, &both);
    if args.quiet {
        return written;
    }
    print(|mut out| {
        sim_text::write(&mut out, &summary)?;
        let late = &emulation.lateness;
        writeln!(
            out,
            "\n{} packets handed out, {:.3} ms late in the median, {:.3} ms at the 99th percentile{}",
            late.packets,
            1e3 * late.median,
            1e3 * late.p99,
            if emulation.real_time { "" } else { " (without real-time priority)" },
        )
    })?;
    written
}
