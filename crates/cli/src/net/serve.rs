//! `msctp serve`: connects associations to standard input and output, as netcat does, or forwards their
//! connections.

use msctp_terminal::Failure;

use super::exchange::{Input, exchange};
use super::options::NetArgs;
use super::security::ClientsArgs;
use super::server::Server;
use super::status::StatusArgs;
use super::{block_on, forward};

/// Connect an association to standard input and output, or forward connections.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp serve                                    all addresses, UDP port 9899
  msctp serve --bind 192.0.2.1 --bind 198.51.100.1
  msctp serve --code                             to one client that has the code it prints
  msctp serve > film.mkv                         receive from the first client
  msctp serve < film.mkv                         send to the first client
  msctp serve --keep > log                       receive from one client after another
  msctp serve --allow localhost:22               let `msctp forward` reach the SSH server here
  msctp serve --rules rules.txt                  let it reach what a file allows
  sudo msctp serve --tunnel 10.7.0.1/24          carry the packets of `msctp tunnel`

Each direction ends by itself: the end of standard input ends only this side's direction, and the command exits when the \
peer's has ended too. If standard input is a terminal and standard output is not, standard input is not read.

With --allow or --rules it serves `msctp forward`, any number of clients at once, until a signal ends it. A rule is \
`allow HOST:PORTS`, `deny HOST:PORTS` or a comment behind `#`, the first that matches decides, and nothing else can be reached. \
HOST is a name, *.NAME, an address, a network such as 10.0.0.0/8 or [2001:db8::]/32, or *; PORTS is 22, 80,443, 8000-8099 or *.

With --tunnel it serves `msctp tunnel` until a signal ends it, with a TUN device that has the given address. Clients get \
addresses of that network. What they reach through this host, its own routes, NAT and firewall decide.

Everything is encrypted, and the server prints the fingerprint of its key. Without --only-clients, --code or --psk, anyone who can \
reach the port can connect.

Exit codes: 0 both directions ended, 1 association lost or port in use, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Accept the next association when one ends. Standard input is not read.
    #[arg(long, conflicts_with_all = ["allow", "rules"])]
    keep: bool,
    #[command(flatten)]
    pub(crate) forward: forward::ServerArgs,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    tunnel: super::tunnel::TunnelArgs,
    #[command(flatten)]
    pub(crate) clients: ClientsArgs,
    #[command(flatten)]
    status: StatusArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

impl Args {
    /// Rejects options for connections if the server forwards none. A server of tunnels takes --drain, which
    /// the unit and the container give: it has no connections to wait for.
    fn check_unused(&self) -> Result<(), Failure> {
        if self.forward.is_wanted() {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        let drains = self.tunnel.is_wanted();
        #[cfg(not(target_os = "linux"))]
        let drains = false;
        self.forward.check_unused(drains)
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.check_unused()?;
    #[cfg(target_os = "linux")]
    if args.tunnel.is_wanted() {
        return super::tunnel::serve(&args.tunnel, &args.clients, &args.status, &args.net);
    }
    if args.forward.is_wanted() {
        return forward::serve(&args.forward, &args.clients, &args.status, &args.net);
    }
    block_on(async |open| {
        args.status.serve(open, "serve", args.net.security()).await?;
        let server = Server::start(&args.net, &args.clients, open, None, "connect")?;
        loop {
            let association = server.accept().await?;
            if !args.keep {
                return exchange(&association, Input::standard()).await;
            }
            if let Err(failure) = exchange(&association, Input::Empty).await {
                eprintln!("msctp: {failure}");
            }
        }
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_server_of_tunnels_takes_the_drain_of_the_unit() {
        let check = |arguments: &[&str]| {
            let given = ["serve"].iter().chain(arguments);
            let checked = Command::parse_from(given).args.check_unused();
            checked.map_err(|failure| failure.to_string())
        };
        assert_eq!(check(&["--tunnel", "10.7.0.1/24", "--drain", "30"]), Ok(()));
        assert_eq!(check(&["--drain", "30"]).unwrap_err(), "--drain 30: want it with --allow or --rules");
        assert_eq!(
            check(&["--tunnel", "10.7.0.1/24", "--json"]).unwrap_err(),
            "--json: want it with --allow or --rules"
        );
    }
}
