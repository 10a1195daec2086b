//! `msctp connect`: the other end of `msctp serve`.

use super::block_on;
use super::options::{NetArgs, PeerArgs};
use super::serve::exchange;
use crate::Failure;

/// Connect to a server and exchange bytes with it: standard input goes out, what comes goes to standard output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp connect 192.0.2.1
  tar c folder | msctp connect example.net:9899
  msctp connect 192.0.2.1 --prefer wlan,wwan --policy adaptive

Exit codes: 0 shut down in good order, 1 the server does not answer or the association was lost, 2 wrong arguments.")]
pub(crate) struct Args {
    #[command(flatten)]
    peer: PeerArgs,
    #[command(flatten)]
    net: NetArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    block_on(async {
        let (_endpoint, association) = args.peer.connect(&args.net).await?;
        exchange(&association, true).await
    })
}
