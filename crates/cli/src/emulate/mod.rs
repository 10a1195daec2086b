//! `msctp emulate`: a scenario's links in real time, and real programs in its hosts.

#[cfg(feature = "net")]
mod applications;
mod outputs;
mod self_test;
mod session;
mod text;

use std::ffi::OsString;
use std::path::PathBuf;

use msctp_emu::Mptcp;
use msctp_units::Span;

use crate::Failure;
use crate::sim::positive;

/// Run real programs in the hosts of a scenario, over its links in real time.
///
/// Each host becomes a network namespace with the scenario's addresses; links, routers, mobility,
/// constant-rate sources and actions are the simulator's. Its associations, TCP connections and their
/// applications are not run: your commands take their place, unless --applications says otherwise. Nothing is
/// left behind, however the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo msctp emulate scenarios/wifi-lte.toml --in server 'iperf3 -s' -- iperf3 -c 10.0.0.1 -R -t 25
  sudo msctp emulate scenarios/wifi-lte.toml --mptcp handover --in server 'mptcpize run iperf3 -s' -- mptcpize run iperf3 -c 10.0.0.1 -R
  sudo msctp emulate scenarios/wifi-lte.toml --set duration=3600s -- bash
  sudo msctp emulate scenarios/handover.toml --applications
  sudo msctp emulate scenarios/wifi-lte.toml --pcap run.pcapng --in server 'nc -l -p 80' --in mobile 'nc 10.0.0.1 80'

It ends when COMMAND ends (without one: when all others have ended, or one has failed), at the scenario's end, or with
Ctrl-C. What else runs then is asked to end, and killed after 1.5 s.

It needs root, or the root of a user namespace (unshare --user --map-root-user msctp emulate …), /dev/net/tun and iproute2.

Exit codes: 0 done, 1 failed on the way (COMMAND too), 2 wrong arguments or scenario, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// The scenario file (TOML).
    #[arg(required_unless_present = "self_test")]
    scenario: Option<PathBuf>,
    /// Measure how true the emulator is on this machine: rates within 1 %, added delay within 0.5 ms in the
    /// median and 2 ms at the 99th percentile, up to 100 Mbps. Exit code 1 if it is not.
    #[arg(long, conflicts_with_all = ["scenario", "inside", "command"])]
    self_test: bool,
    /// Measure each rate for so long, twice.
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "self_test", value_parser = positive)]
    each: Span,
    /// Print the self-test's result as JSON.
    #[arg(long, requires = "self_test")]
    json: bool,
    /// Run the scenario's own associations, TCP connections and applications, on real stacks: msctp over UDP,
    /// the kernel's TCP. What comes of it is said as sim says it.
    #[cfg(feature = "net")]
    #[arg(long, conflicts_with_all = ["self_test", "inside", "command", "host", "mptcp"])]
    applications: bool,
    /// Run a command in a host from the start (with sh -c; its input is empty). May be repeated.
    #[arg(long = "in", num_args = 2, value_names = ["HOST", "SHELL COMMAND"])]
    inside: Vec<String>,
    /// The host of COMMAND; without it, the first with several interfaces, else the first.
    #[arg(long)]
    host: Option<String>,
    /// When COMMAND starts, if others were started before it.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    settle: Span,
    /// Seed of the links' random streams, instead of the scenario's.
    #[arg(long)]
    seed: Option<u64>,
    /// Replace a value of the scenario, as duration=10s, link.wlan.rate=5Mbps or action.0.at=2s. May be
    /// repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Keep the kernel's MPTCP endpoints as a network manager would: every interface of a host with several,
    /// while its link is up.
    #[arg(long, value_name = "MODE")]
    mptcp: Option<MptcpMode>,
    /// Write what links deliver to this file (pcapng, nanoseconds since the start).
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture this link or link direction (wlan, wlan/forward) only. May be repeated.
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write what it came to into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write the links' queues over time into this folder (queue.csv, as sim does).
    #[arg(long, value_name = "DIR")]
    series: Option<PathBuf>,
    /// Say nothing on standard error but what went wrong.
    #[arg(long, short)]
    quiet: bool,
    /// The command, run in one host.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How several interfaces are used.
#[derive(Clone, Copy, clap::ValueEnum)]
enum MptcpMode {
    /// All interfaces together.
    Aggregate,
    /// A host's first interface, the others as backups.
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

/// Emulates what was asked for.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.self_test {
        return self_test::run(args.each, args.json);
    }
    match &args.scenario {
        #[cfg(feature = "net")]
        Some(path) if args.applications => applications::run(args, path),
        Some(path) => session::run(args, path),
        None => Err(Failure::Input("want a scenario file".to_owned())),
    }
}
