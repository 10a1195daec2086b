//! `msctp forward`: carries TCP connections over an association to `msctp serve --allow`. The protocol is in
//! the crate `msctp-forward`.

mod carry;
mod client;
mod link;
mod remote;
mod report;
mod resolve;
mod server;
mod specs;
mod udp;

use std::net::SocketAddr;
use std::time::Duration;

use msctp::{Config, Message};
use msctp_forward::frame::VERSION;
use msctp_forward::{End, Reason, Target};
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpStream, ToSocketAddrs};

pub(crate) use self::server::{ServerArgs, serve};
use self::specs::{Local, Remote, parse_dynamic, parse_local, parse_remote, parse_stdio};
use super::drain::DrainArgs;
use super::options::{NetArgs, PeerArgs};
use super::outage;
use super::service::Service;
use super::status::StatusArgs;

/// Streams to request in each direction. Each end opens connections on half of them.
const STREAMS: u16 = 16_384;

/// Forward TCP connections to `msctp serve --allow` across network changes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp forward -L 8080:intranet:80 192.0.2.1          http://localhost:8080 is the server's intranet:80
  msctp forward -L 5432:db:5432 -L 6379:cache:6379 192.0.2.1
  msctp forward -D 1080 192.0.2.1                      a proxy: curl --socks5-hostname localhost:1080 https://example.net
  msctp forward -R 8080:localhost:80 192.0.2.1         the server's localhost:8080 is this host's port 80
  msctp forward -W localhost:22 192.0.2.1              connect standard input and output to its SSH server
  ssh -o ProxyCommand='msctp forward -W localhost:22 %h' user@192.0.2.1

The server must allow the target: `msctp serve --allow localhost:22`; for -R a `listen` rule of its --rules file. It resolves \
names; this host resolves those of -R. The connections survive changes of \
the network; when the association is lost, they are reset, and the command connects again until a signal ends it.

Everything is encrypted. The server's key is remembered when it is new, and must stay the same.

Exit codes: 0 both directions of -W ended, 1 no answer, association lost or connection refused with -W, port in use, \
2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
#[command(group(clap::ArgGroup::new("forwards").required(true).multiple(true).args(["local", "dynamic", "remote", "stdio"])))]
pub(crate) struct Args {
    /// Listen here, on loopback unless BIND says otherwise, and connect to HOST:HOSTPORT from the server;
    /// repeatable.
    #[arg(short = 'L', value_name = "[BIND:]PORT:HOST:HOSTPORT", value_parser = parse_local)]
    local: Vec<Local>,
    /// Listen here as a proxy, SOCKS5 (TCP and UDP) and HTTP CONNECT on the same port; repeatable.
    #[arg(short = 'D', value_name = "[BIND:]PORT", value_parser = parse_dynamic)]
    dynamic: Vec<Local>,
    /// Let the server listen, on its loopback unless BIND says otherwise, and connect to HOST:HOSTPORT from
    /// here; repeatable.
    #[arg(short = 'R', value_name = "[BIND:]PORT:HOST:HOSTPORT", value_parser = parse_remote)]
    remote: Vec<Remote>,
    /// Connect standard input and output to HOST:PORT from the server.
    #[arg(short = 'W', value_name = "HOST:PORT", value_parser = parse_stdio, conflicts_with_all = ["local", "dynamic", "remote", "json"])]
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
    drain: DrainArgs,
    #[command(flatten)]
    status: StatusArgs,
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
    // Data queued in a large send buffer arrives late when the path slows down; servers have many clients.
    (config.send_buffer, config.receive_buffer) = (4 << 20, 4 << 20);
    outage::survive(config);
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
    /// The client requests a listener of the server.
    Listen {
        /// Number of the listener, by which the server's connections name their target.
        number: u16,
        /// Where to listen.
        at: SocketAddr,
        /// True if an earlier association of the client may hold the listener. That association gives it up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        moved: bool,
    },
    /// The server listens.
    Listening {
        /// The listener's number.
        number: u16,
        /// Address at which the server listens.
        at: SocketAddr,
    },
    /// The server does not listen.
    Refused {
        /// The listener's number.
        number: u16,
        /// The reason.
        why: String,
    },
}

/// A client's request for a listener.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    number: u16,
    at: SocketAddr,
    /// True if an earlier association of the client may hold the listener. That association gives it up.
    moved: bool,
}

/// Reads a control message of a client. Returns it if it requests a listener.
fn greet(message: &Message) -> Result<Option<Wanted>, Failure> {
    match Service::Forward.read(message)? {
        Control::Hello { version: VERSION } => Ok(None),
        Control::Hello { version } => Err(Failure::Run(format!(
            "the client speaks version {version} of the forwarding protocol, this end {VERSION}: update the older end"
        ))),
        Control::Listen { number, at, moved } => Ok(Some(Wanted { number, at, moved })),
        Control::Listening { .. } | Control::Refused { .. } => {
            Err(Failure::Run("the client sent a control message of servers".to_owned()))
        }
    }
}

/// Timeout of a TCP connect.
const CONNECT: Duration = Duration::from_secs(10);

/// Connects to a target. The error is the reason with which the requesting connection ends.
async fn dial(target: impl ToSocketAddrs) -> Result<TcpStream, End> {
    match tokio::time::timeout(CONNECT, TcpStream::connect(target)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Err(End::new(Reason::Refused, ""))
        }
        Ok(Err(error)) => Err(End::new(Reason::Unreachable, os_error(&error))),
        Err(_) => Err(End::new(Reason::Unreachable, format!("no answer for {} s", CONNECT.as_secs()))),
    }
}
