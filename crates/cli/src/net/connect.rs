//! `msctp connect`: the client of `msctp serve`.

use msctp_terminal::Failure;

use super::block_on;
use super::exchange::{Input, exchange};
use super::options::{NetArgs, PeerArgs};

/// Connect standard input and output to `msctp serve`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp connect 192.0.2.1
  tar c folder | msctp connect example.net:9899
  echo question | msctp connect 192.0.2.1 > answer
  msctp connect 192.0.2.1 --prefer wlan,wwan --policy conservative

Each direction ends by itself: the end of standard input ends only this side's direction, and the command exits when the \
peer's has ended too. If standard input is a terminal and standard output is not, standard input is not read.

Exit codes: 0 both directions ended, 1 no answer or association lost, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    #[command(flatten)]
    peer: PeerArgs,
    #[command(flatten)]
    net: NetArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    block_on(async |open| {
        let (_endpoint, association) = args.peer.connect(&args.net, open, None).await?;
        exchange(&association, Input::standard()).await
    })
}
