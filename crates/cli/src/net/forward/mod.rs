//! `msctp forward`: carries TCP connections over an association to `msctp serve --allow`. The protocol is in
//! the crate `msctp-forward`.

mod carry;
mod client;
mod link;
mod report;
mod resolve;
mod server;
mod specs;

use msctp::{Config, Message, Span};
use msctp_forward::Target;
use msctp_forward::frame::VERSION;
use serde::{Deserialize, Serialize};

pub(crate) use self::server::{ServerArgs, serve};
use self::specs::{Local, parse_dynamic, parse_local, parse_stdio};
use super::options::{NetArgs, PeerArgs};
use super::service::Service;
use crate::Failure;

/// Streams to ask for in each direction: half of them for the connections that each end opens.
const STREAMS: u16 = 16_384;

/// Forward TCP connections to `msctp serve --allow` across network changes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp forward -L 8080:intranet:80 192.0.2.1          http://localhost:8080 is the server's intranet:80
  msctp forward -L 5432:db:5432 -L 6379:cache:6379 192.0.2.1
  msctp forward -D 1080 192.0.2.1                      a proxy: curl --socks5-hostname localhost:1080 https://example.net
  msctp forward -W localhost:22 192.0.2.1              connect standard input and output to its SSH server
  ssh -o ProxyCommand='msctp forward -W localhost:22 %h' user@192.0.2.1

The server must allow the target: `msctp serve --allow localhost:22`. It resolves names. The connections survive changes of \
the network; when the association is lost, they are reset, and the command connects again until a signal ends it.

Everything is encrypted. The server's key is remembered when it is new, and must stay the same.

Exit codes: 0 both directions of -W ended, 1 no answer, association lost or connection refused with -W, port in use, \
2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
#[command(group(clap::ArgGroup::new("forwards").required(true).multiple(true).args(["local", "dynamic", "stdio"])))]
pub(crate) struct Args {
    /// Listen here, on loopback unless BIND says otherwise, and connect to HOST:HOSTPORT from the server;
    /// repeatable.
    #[arg(short = 'L', value_name = "[BIND:]PORT:HOST:HOSTPORT", value_parser = parse_local)]
    local: Vec<Local>,
    /// Listen here as a proxy, SOCKS5 and HTTP CONNECT on the same port; repeatable.
    #[arg(short = 'D', value_name = "[BIND:]PORT", value_parser = parse_dynamic)]
    dynamic: Vec<Local>,
    /// Connect standard input and output to HOST:PORT from the server.
    #[arg(short = 'W', value_name = "HOST:PORT", value_parser = parse_stdio, conflicts_with_all = ["local", "dynamic", "json"])]
    stdio: Option<Target>,
    #[command(flatten)]
    peer: PeerArgs,
    /// Print events as JSON, one a line.
    #[arg(long)]
    json: bool,
    /// Print errors only.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    net: NetArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    client::run(args)
}

/// Changes the options of an association that carries connections.
fn tune(config: &mut Config) {
    config.outbound_streams = STREAMS;
    config.streams.scheduler = "priority".to_owned();
    config.streams.interleaving = true;
    // An outage of a few minutes ends no connection.
    config.idle_timeout = Some(Span::from_secs(600));
    config.assoc_max_retrans = 100;
}

/// A control message, besides the frames of `msctp-forward`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Control {
    /// The first message of a client: another service rejects it at once.
    Hello {
        /// The version of the protocol.
        version: u8,
    },
}

/// Handles a control message of a client.
fn greet(message: &Message) -> Result<(), Failure> {
    match Service::Forward.read(message)? {
        Control::Hello { version: VERSION } => Ok(()),
        Control::Hello { version } => Err(Failure::Run(format!(
            "the client speaks version {version} of the forwarding protocol, this end {VERSION}: update the older end"
        ))),
    }
}
