//! `msctp doctor`: checks this machine's set-up and the connection to a server.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use msctp::ENCAPSULATION_PORT;
use msctp_terminal::system::os_error;
use msctp_terminal::{Failure, print};
use serde::Serialize;
use tokio::time::Instant;

use crate::identity;
use crate::net::options::{Carrier, NetArgs, PeerArgs, parse_timeout};
use crate::net::reach::{self, Reach};
use crate::net::security::Secured;
use crate::net::{Open, block_on};

/// Check this machine's set-up, and whether a server can be reached.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp doctor
  msctp doctor 192.0.2.1 --json
  msctp doctor example.net:9900 --psk FILE                 with the options of the command that fails

With a HOST, each address of it is probed from each interface that the commands would use, over UDP (by one INIT, \
without an association) and TCP. A line names the interface, the family and what is in the way. Then the check `server` \
sets up an association over whatever works.

It connects and shuts down at once: it ends `msctp serve` without --keep, and uses up a --code. \
Like every client, it stores the key of a new server.

Exit codes: 0 no check failed, 1 one failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Server to connect to, such as 192.0.2.1, [2001:db8::1]:9899 or example.net.
    #[arg(value_name = "HOST[:PORT]")]
    host: Option<String>,
    /// Time to wait for the server's answer: once for all interfaces, then for the association.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = parse_timeout)]
    timeout: u64,
    /// Print the checks as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    net: NetArgs,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// A limitation of function or speed.
    Note,
    Failed,
}

/// A check and its result.
#[derive(Serialize)]
struct Check {
    check: Cow<'static, str>,
    state: State,
    what: String,
    /// The data of the check of an interface.
    #[serde(flatten)]
    reach: Option<Reach>,
}

impl Check {
    fn new(check: &'static str, state: State, what: String) -> Self {
        Self { check: check.into(), state, what, reach: None }
    }

    fn of(check: &'static str, result: Result<String, Failure>) -> Self {
        match result {
            Ok(what) => Self::new(check, State::Ok, what),
            Err(failure) => Self::new(check, State::Failed, failure.to_string()),
        }
    }

    fn note(check: &'static str, result: Result<String, String>) -> Self {
        match result {
            Ok(what) => Self::new(check, State::Ok, what),
            Err(what) => Self::new(check, State::Note, what),
        }
    }

    /// Creates the check of an interface. One that does not work is no failure if the association
    /// `is_connected`.
    fn of_interface(reach: Reach, is_connected: bool) -> Self {
        let state = match () {
            () if reach.answers() => State::Ok,
            () if reach.is_untried() || is_connected => State::Note,
            () => State::Failed,
        };
        let check = format!("{}, {}", reach.interface, reach.family.name());
        Self { check: check.into(), state, what: reach.sentence(), reach: Some(reach) }
    }
}

/// Runs the checks and prints them.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // Invalid options end the command; they are not a failed check.
    args.net.config()?;
    let mut checks = vec![
        Check::of("key", identity::own_and_file().map(|(key, file)| format!("{key} in {}", file.display()))),
        Check::of("known hosts", known_hosts()),
        Check::note("server port", server_port()),
        Check::note("offload", offload()),
    ];
    block_on(async |open| {
        checks.push(Check::note("addresses", addresses(&args.net)));
        if let Some(host) = &args.host {
            let peer = PeerArgs::new(host, args.timeout);
            // Before the association, whose end may end the server.
            let reached = reach::probe(&args.net, peer.resolve().await, peer.timeout()).await;
            let server = server(args, host, &peer, open).await;
            let is_connected = server.is_ok();
            checks.extend(reached.into_iter().map(|reach| Check::of_interface(reach, is_connected)));
            checks.push(Check::of("server", server));
        }
        Ok(())
    })?;
    report(args, &checks)?;
    let failed = checks.iter().filter(|check| check.state == State::Failed);
    let failed: Vec<&str> = failed.map(|check| check.check.as_ref()).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Run(format!("failed: {}", failed.join("; ")))) }
}

fn report(args: &Args, checks: &[Check]) -> Result<(), Failure> {
    print(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, checks)?;
            return writeln!(out);
        }
        for Check { check, state, what, .. } in checks {
            let state = match state {
                State::Ok => "ok",
                State::Note => "note",
                State::Failed => "FAILED",
            };
            writeln!(out, "{state:6}  {check}: {}", what.replace('\n', "\n        "))?;
        }
        Ok(())
    })
}

fn known_hosts() -> Result<String, Failure> {
    let (count, file) = identity::known_hosts()?;
    Ok(format!("{count} in {}", file.display()))
}

/// Checks whether a server can bind the default port.
fn server_port() -> Result<String, String> {
    let bound =
        UdpSocket::bind((Ipv6Addr::UNSPECIFIED, ENCAPSULATION_PORT)).or_else(|error| match error.kind() {
            ErrorKind::AddrInUse => Err(error),
            // A host without IPv6.
            _ => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ENCAPSULATION_PORT)),
        });
    match bound {
        Ok(_) => Ok(format!("UDP port {ENCAPSULATION_PORT} is free")),
        Err(error) => Err(format!(
            "UDP port {ENCAPSULATION_PORT}: {}; if no server runs here already, start one with --bind ADDRESS:PORT",
            os_error(&error)
        )),
    }
}

/// Checks the kernel's UDP segmentation offload (GSO and GRO).
fn offload() -> Result<String, String> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{setsockopt, sockopt};
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| os_error(&error))?;
        let send = setsockopt(&socket, sockopt::UdpGsoSegment, &1200).is_ok();
        let receive = setsockopt(&socket, sockopt::UdpGroSegment, &true).is_ok();
        match (send, receive) {
            (true, true) => Ok("UDP segmentation offload (GSO, GRO) works".to_owned()),
            (send, _) => Err(format!(
                "the kernel has no UDP {}: transfers of more than 1 Gbps take more CPU time; use Linux 5.0 or later",
                if send { "GRO" } else { "GSO" }
            )),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Err("UDP segmentation offload (GSO, GRO) is used on Linux only".to_owned())
}

/// Lists the addresses that a client uses.
fn addresses(net: &NetArgs) -> Result<String, String> {
    let bound = net.client(None, None).map(|endpoint| endpoint.local_addresses()).unwrap_or_default();
    let mut found: Vec<IpAddr> = bound.iter().map(SocketAddr::ip).collect();
    found.sort_unstable();
    let list = |found: &[IpAddr]| found.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
    let (loopback, others): (Vec<IpAddr>, Vec<IpAddr>) = found.into_iter().partition(IpAddr::is_loopback);
    match (others.len(), loopback.is_empty()) {
        (0, true) => Err("none: connect this host to a network".to_owned()),
        (0, false) => Err(format!("{}: loopback only, this host has no network", list(&loopback))),
        (1, _) => Ok(format!("{}: an association moves when another one appears", list(&others))),
        _ => Ok(format!("{}: an association moves between them", list(&others))),
    }
}

/// Connects to the server, and ends the association.
async fn server(args: &Args, host: &str, peer: &PeerArgs, open: &Open) -> Result<String, Failure> {
    let begin = Instant::now();
    let (_endpoint, association, carrier) = peer.connect_by(&args.net, open, None).await?;
    let took = begin.elapsed().as_secs_f64() * 1e3;
    let secured = Secured::of(args.net.security(), &association);
    let path = association.paths().into_iter().find(|path| path.primary);
    let round_trip = path
        .and_then(|path| path.srtt)
        .map_or(String::new(), |srtt| format!(", round trip {:.1} ms", srtt.as_secs_f64() * 1e3));
    association.abort("this was `msctp doctor`");
    let over = match carrier {
        Carrier::Udp => "UDP",
        Carrier::Tcp => "TCP, not over UDP",
    };
    Ok(format!("{host} answers over {over}: connected in {took:.0} ms{round_trip}, {secured}"))
}
