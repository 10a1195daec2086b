//! `msctp serve`: connects associations to standard input and output, as netcat does.

use msctp::Endpoint;

use super::exchange::{Input, exchange};
use super::{block_on, options::NetArgs};
use crate::Failure;

/// Wait for an association and connect it to standard input and output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp serve                                    wait at every address, UDP port 9899
  msctp serve --bind 192.0.2.1 --bind 198.51.100.1
  msctp serve > film.mkv                         receive
  msctp serve < film.mkv                         send to whom connects
  msctp serve --keep > log                       one association after another

Each direction ends by itself: the end of standard input tells the peer that this was all, and the command ends when the
peer's input has ended too. Standard input is not read where it is a terminal and standard output is not.
Without --key, anybody who can reach this port can connect.
Exit codes: 0 both directions ended, 1 the association was lost or the port is taken, 2 wrong arguments, 130 Ctrl-C,
143 SIGTERM.")]
pub(crate) struct Args {
    #[command(flatten)]
    net: NetArgs,
    /// Take the next association when one is over, instead of ending. Standard input is not read.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    block_on(async |open| {
        let endpoint = args.net.server(open, None)?;
        announce(&endpoint, &args.net, "connect");
        loop {
            let Some(association) = endpoint.accept(args.net.sctp_port()).await else {
                return Err(Failure::Run("the endpoint is gone".to_owned()));
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

/// Says where it listens, and what anybody may do there.
pub(crate) fn announce(endpoint: &Endpoint, net: &NetArgs, may: &str) {
    let addresses: Vec<String> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
    eprintln!("listening at {}, SCTP port {}", addresses.join(", "), net.sctp_port());
    if !net.has_key() {
        eprintln!("no --key: anybody who can reach this port can {may}");
    }
}
