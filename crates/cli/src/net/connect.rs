//! `msctp connect`: the other end of `msctp serve`.

use super::block_on;
use super::exchange::{Input, exchange};
use super::options::{NetArgs, PeerArgs};
use crate::Failure;

/// Connect to a server and exchange bytes with it: standard input goes out, what comes goes to standard
/// output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp connect 192.0.2.1
  tar c folder | msctp connect example.net:9899
  echo question | msctp connect 192.0.2.1 > answer
  msctp connect 192.0.2.1 --prefer wlan,wwan --policy adaptive

Each direction ends by itself: the end of standard input tells the server that this was all, and the command ends when the
server's input has ended too. Standard input is not read where it is a terminal and standard output is not.
Exit codes: 0 both directions ended, 1 the server does not answer or the association was lost, 2 wrong arguments, 130 Ctrl-C,
143 SIGTERM.")]
pub(crate) struct Args {
    #[command(flatten)]
    peer: PeerArgs,
    #[command(flatten)]
    net: NetArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    block_on(async |open| {
        let (_endpoint, association) = args.peer.connect(&args.net, open).await?;
        exchange(&association, Input::standard()).await
    })
}
