//! `msctp emulate SCENARIO --applications`: the scenario's own associations and applications on real stacks.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use msctp_emu::need;
use msctp_live::{Error, Live, Options};
use msctp_sim::scenario::Scenario;

use super::Args;
use crate::Failure;
use crate::running::print;
use crate::sim::{SERIES, THROUGHPUT_INTERVAL, beside, create, write_series};
use crate::sim_text;

/// Reads the scenario, checks what is needed, carries it out and says what came of it.
pub(super) fn run(args: &Args, path: &Path) -> Result<(), Failure> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let open = |name: &str| std::fs::read_to_string(beside(path, name)).map_err(|e| e.to_string());
    let mut scenario = Scenario::from_toml_and_files(&text, &file, &args.set, &open)
        .map_err(|e| Failure::Input(e.to_string()))?;
    scenario.probes.throughput.get_or_insert(THROUGHPUT_INTERVAL);
    if args.series.is_some() {
        scenario.probes.trace = true;
        scenario.probes.messages = true;
    }
    need::check().map_err(|missing| Failure::Run(missing.to_string()))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| Failure::Run(format!("cannot watch for signals: {e}")))?;
    }
    let mut options = Options { seed: args.seed, capture: None, cancel: &stop };
    if let Some(path) = &args.pcap {
        options.capture = Some((args.pcap_link.clone(), Box::new(BufWriter::new(create(path)?))));
    }
    if !args.quiet {
        eprintln!("{}: {} in real time", scenario.name, scenario.duration);
    }
    let Live { summary, series, emulation } = msctp_live::run(&scenario, options).map_err(|e| match e {
        Error::Scenario(e) => Failure::Input(format!("{file}: {e}")),
        Error::Emulator(msctp_emu::Error::System(e)) if e.kind() == io::ErrorKind::InvalidInput => {
            Failure::Input(format!("--pcap-link: {e}"))
        }
        e => Failure::Run(e.to_string()),
    })?;
    if let Some(dir) = &args.series {
        write_series(&series, dir, &SERIES)?;
    }
    if let Some(path) = &args.summary {
        let failure = |e: io::Error| Failure::Run(format!("{}: {e}", path.display()));
        let mut out = BufWriter::new(create(path)?);
        let both = serde_json::json!({ "applications": summary, "emulation": emulation });
        serde_json::to_writer_pretty(&mut out, &both).map_err(|e| failure(e.into()))?;
        writeln!(out).and_then(|()| out.flush()).map_err(failure)?;
    }
    if args.quiet {
        return Ok(());
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
    })
}
