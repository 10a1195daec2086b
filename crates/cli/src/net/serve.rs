//! `msctp serve`: connects associations to standard input and output, as netcat does, or forwards their
//! connections.

use msctp::Endpoint;

use super::exchange::{Input, exchange};
use super::{block_on, forward, options::NetArgs};
use crate::Failure;

/// Connect an association to standard input and output, or forward connections.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp serve                                    all addresses, UDP port 9899
  msctp serve --bind 192.0.2.1 --bind 198.51.100.1
  msctp serve > film.mkv                         receive from the first client
  msctp serve < film.mkv                         send to the first client
  msctp serve --keep > log                       receive from one client after another
  msctp serve --allow localhost:22               let `msctp forward` reach the SSH server here
  msctp serve --rules rules.txt                  let it reach what a file allows

Each direction ends by itself: the end of standard input ends only this side's direction, and the command exits when the \
peer's has ended too. If standard input is a terminal and standard output is not, standard input is not read.

With --allow or --rules it serves `msctp forward`, any number of clients at once, until a signal ends it. A rule is \
`allow HOST:PORTS`, `deny HOST:PORTS` or a comment behind `#`, the first that matches decides, and nothing else can be reached. \
HOST is a name, *.NAME, an address, a network as 10.0.0.0/8 or [2001:db8::]/32, or *; PORTS is 22, 80,443, 8000-8099 or *.

Without --psk or --key, anyone who can reach the port can connect. Only --psk encrypts.

Exit codes: 0 both directions ended, 1 association lost or port in use, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Accept the next association when one ends. Standard input is not read.
    #[arg(long, conflicts_with_all = ["allow", "rules"])]
    keep: bool,
    #[command(flatten)]
    forward: forward::ServerArgs,
    #[command(flatten)]
    net: NetArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.forward.is_wanted() {
        return forward::serve(&args.forward, &args.net);
    }
    block_on(async |open| {
        let endpoint = args.net.server(open, None)?;
        announce(&endpoint, &args.net, "connect");
        loop {
            let Some(association) = endpoint.accept(args.net.sctp_port()).await else {
                return Err(Failure::Run("the endpoint has ended".to_owned()));
            };
            if !args.keep {
                return exchange(&association, Input::standard()).await;
            }
            if let Err(failure) = exchange(&association, Input::Empty).await {
                eprintln!("msctp: {failure}");
            }
        }
    })
}

/// Prints the addresses, and what anyone may do there without a key.
pub(crate) fn announce(endpoint: &Endpoint, net: &NetArgs, may: &str) {
    let addresses: Vec<String> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
    eprintln!("listening at {}, SCTP port {}", addresses.join(", "), net.sctp_port());
    if !net.has_key() {
        eprintln!("no --psk or --key: anyone who can reach this port can {may}");
    }
}
