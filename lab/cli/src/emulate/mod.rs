//! `msctp-lab emulate`: runs real programs over a scenario's links in real time.

mod applications;
mod outputs;
mod self_test;
mod session;
mod text;

use std::ffi::OsString;
use std::path::PathBuf;

use msctp_emu::Mptcp;
use msctp_terminal::Failure;
use msctp_units::Span;

use crate::sim::positive;

/// Run real programs over a scenario's links in real time.
///
/// Each host of the scenario becomes a network namespace with its addresses. The simulator provides the
/// links, routers, mobility, constant-rate sources and actions. Your commands replace the scenario's
/// associations, TCP connections and applications, unless you give --applications. The namespaces are removed
/// at the end, also after a crash.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo msctp-lab emulate scenarios/wifi-lte.toml --in server 'iperf3 -s' -- iperf3 -c 10.0.0.1 -R -t 25
  sudo msctp-lab emulate scenarios/wifi-lte.toml --mptcp handover --in server 'mptcpize run iperf3 -s' -- mptcpize run iperf3 -c 10.0.0.1 -R
  sudo msctp-lab emulate scenarios/wifi-lte.toml --set duration=3600s -- bash
  sudo msctp-lab emulate scenarios/handover.toml --applications --qlog handover.sqlog
  sudo msctp-lab emulate scenarios/wifi-lte.toml --pcap run.pcapng --in server 'nc -l -p 80' --in mobile 'nc 10.0.0.1 80'

The emulation ends with COMMAND, at the scenario's end, or with Ctrl-C. Without COMMAND it ends when every --in command \
has ended, or one has failed. Commands that still run then get SIGTERM, and SIGKILL after 1.5 s.

It needs /dev/net/tun, iproute2, and root or the root of a user namespace (unshare --user --map-root-user msctp-lab emulate …).

Exit codes: 0 done, 1 failed, COMMAND included, 2 invalid arguments or scenario, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// The scenario file (TOML).
    #[arg(required_unless_present = "self_test")]
    scenario: Option<PathBuf>,
    /// Measure the emulator's accuracy on this machine, up to 1 Gbps. A rate passes within 1 % and with an
    /// added delay of at most 0.5 ms in the median and 2 ms at the 99th percentile. Exits with 1 unless all
    /// up to 100 Mbps pass.
    #[arg(long, conflicts_with_all = ["scenario", "inside", "command"])]
    self_test: bool,
    /// Duration of each of the two measurements of a rate.
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "self_test", value_parser = positive)]
    each: Span,
    /// Print the self-test's result as JSON.
    #[arg(long, requires = "self_test")]
    json: bool,
    /// Run the scenario's own associations, TCP connections and applications on real stacks: msctp over UDP
    /// and the kernel's TCP. Prints the summary of `msctp-lab sim`.
    #[arg(long, conflicts_with_all = ["self_test", "inside", "command", "host", "mptcp"])]
    applications: bool,
    /// Run a shell command in a host from the start, with empty standard input; repeatable.
    #[arg(long = "in", num_args = 2, value_names = ["HOST", "SHELL COMMAND"])]
    inside: Vec<String>,
    /// Host of COMMAND [default: the first with several interfaces, else the first].
    #[arg(long)]
    host: Option<String>,
    /// Time to wait between the --in commands and COMMAND.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    settle: Span,
    /// Seed of the links' random streams [default: the scenario's].
    #[arg(long, value_parser = crate::running::seed)]
    seed: Option<u64>,
    /// Replace a value of the scenario, such as duration=10s, link.wlan.rate=5Mbps or action.0.at=2s;
    /// repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Configure the kernel's MPTCP endpoints as a network manager does: each interface of a host with
    /// several, while its link is up.
    #[arg(long, value_name = "MODE")]
    mptcp: Option<MptcpMode>,
    /// Write the packets that links deliver to this file (pcapng, nanoseconds since the start).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture only this link or direction of a link (wlan, wlan/forward); repeatable [default: all links].
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write the events of the scenario's own associations to this file (.sqlog) as qlog, for viewers
    /// (docs/events.md). Needs --applications.
    #[arg(long, value_name = "FILE")]
    qlog: Option<PathBuf>,
    /// Write the summary to this file as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write time series into this folder as CSV: queue.csv, with --applications those of `msctp-lab sim`.
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,
    /// Print only errors on standard error.
    #[arg(long, short)]
    quiet: bool,
    /// Command to run in one host, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How several interfaces are used.
#[derive(Clone, Copy, clap::ValueEnum)]
enum MptcpMode {
    /// Use all interfaces at once.
    Aggregate,
    /// Use a host's first interface, the others as backups.
    Handover,
}

impl From<MptcpMode> for Mptcp {
    fn from(mode: MptcpMode) -> Self {
        match mode {
            MptcpMode::Aggregate => Self::Aggregate,
            MptcpMode::Handover => Self::Handover,
        }
    }
}

/// Runs the emulation or the self-test.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.self_test {
        return self_test::run(args.each, args.json);
    }
    if args.qlog.is_some() && !args.applications {
        let why = "--qlog: commands have no events: want --applications instead of commands";
        return Err(Failure::Input(why.to_owned()));
    }
    match &args.scenario {
        Some(path) if args.applications => applications::run(args, path),
        Some(path) => session::run(args, path),
        None => Err(Failure::Input("no scenario: want the path of a scenario file".to_owned())),
    }
}
