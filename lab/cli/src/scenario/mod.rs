//! `msctp-lab scenario`: checks and draws scenario files, explains their keys, and lists the metrics of runs.

mod metrics;

use std::path::PathBuf;

use msctp_experiments::input::ScenarioText;
use msctp_experiments::topology;
use msctp_sim::Simulation;
use msctp_sim::scenario::{Scenario, keys};
use msctp_terminal::output::Output;
use msctp_terminal::{Failure, counted, print};

use crate::sim::warn_of_unused;

/// Check or draw a scenario file, or explain its keys and the metrics of a run.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp-lab scenario check scenarios/handover.toml
  msctp-lab scenario check scenarios/walk.toml --set link.wifi.loss=0.01
  msctp-lab scenario draw scenarios/handover.toml > handover.svg
  msctp-lab scenario explain link.rate
  msctp-lab scenario schema > scenario.schema.json
  msctp-lab scenario metrics

Exit codes: 0 done, 1 failed, 2 invalid arguments or scenario.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Read a scenario as `msctp-lab sim` does, without running it: reports the first fault, and unused
    /// parts.
    Check(Of),
    /// Write the topology as SVG, to standard output or to a file.
    Draw(Draw),
    /// Explain a key of scenario files: meaning, type, default, example.
    Explain {
        /// The key, such as link.rate, link.lte.rate or rate [default: all keys, as Markdown].
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },
    /// Write the JSON schema of scenario files, for editors.
    Schema,
    Metrics(metrics::Args),
}

#[derive(clap::Args)]
struct Of {
    /// The scenario file (TOML).
    scenario: PathBuf,
    /// Replace a value of the scenario, as with `msctp-lab sim`; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(clap::Args)]
struct Draw {
    #[command(flatten)]
    of: Of,
    /// Write the drawing to this file [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Checks or draws a scenario, or explains keys.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.what {
        What::Check(of) => {
            let scenario = read(of)?;
            warn_of_unused(&scenario);
            let count = |number: usize, noun: &str| counted(number as u64, noun);
            print(|out| {
                writeln!(
                    out,
                    "{}: {}, {}, {}, {}, {}, {}; {} of virtual time",
                    scenario.name,
                    count(scenario.nodes.len(), "node"),
                    count(scenario.links.len(), "link"),
                    count(scenario.associations.len(), "association"),
                    count(scenario.tcp.len(), "TCP connection"),
                    count(scenario.apps.len(), "application"),
                    count(scenario.actions.len(), "action"),
                    scenario.duration,
                )
            })
        }
        What::Draw(draw) => {
            let svg = topology::svg(&read(&draw.of)?);
            match &draw.out {
                Some(path) => Output::open("--out", path)?.write(svg.as_bytes()),
                None => print(|out| out.write_all(svg.as_bytes())),
            }
        }
        What::Explain { key } => {
            let text = key.as_deref().map_or_else(|| Ok(keys::markdown()), keys::explain);
            let text = text.map_err(Failure::Input)?;
            print(|out| out.write_all(text.as_bytes()))
        }
        What::Metrics(args) => metrics::run(args),
        What::Schema => {
            let schema = keys::schema();
            print(|out| writeln!(out, "{schema:#}"))
        }
    }
}

/// Reads a scenario, and builds its simulation to check the rest.
fn read(of: &Of) -> Result<Scenario, Failure> {
    let source = ScenarioText::read(&of.scenario).map_err(Failure::Input)?;
    let scenario = source.scenario(&of.set).map_err(|e| Failure::Input(e.to_string()))?;
    Simulation::new(&scenario, None).map_err(|e| Failure::Input(format!("{}: {e}", source.file)))?;
    Ok(scenario)
}
