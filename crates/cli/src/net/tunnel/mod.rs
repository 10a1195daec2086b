//! `msctp tunnel` and `msctp serve --tunnel`: IP packets over an association, between TUN devices.

mod client;
mod device;
mod outbound;
mod packet;
mod pool;
mod queue;
mod routes;
mod server;

use std::net::IpAddr;

use ipnet::IpNet;
use msctp::Message;
use msctp_terminal::Failure;
use serde::{Deserialize, Serialize};

pub(crate) use self::server::{TunnelArgs, serve};
use super::options::{NetArgs, PeerArgs};
use super::status::StatusArgs;

/// MTU of the devices. With all headers, such a packet fits into 1500 bytes, also over IPv6. A path with a
/// smaller MTU fragments it into two chunks.
const MTU: u16 = 1380;

/// Payload protocol identifier of packets; not registered with IANA.
const PACKET: u32 = u32::from_be_bytes(*b"msTP");

/// The version of the protocol.
const VERSION: u8 = 1;

/// Route IP packets through `msctp serve --tunnel` across network changes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sudo msctp tunnel 192.0.2.1                          all but the local networks, over any network of this host
  sudo msctp tunnel 192.0.2.1 --route 10.20.0.0/16     this network only; repeatable
  sudo msctp serve --tunnel 10.7.0.1/24 --tunnel fd07::1/64    on the server

The server gives this host an address of its --tunnel networks. TCP connections and calls go on while the host moves between \
networks. While the server cannot be reached, nothing that the tunnel's routes cover leaves through another interface; the routes go when \
the command ends. Local networks, and an address family that the server has no network of, do not use the tunnel.

It needs Linux, root or CAP_NET_ADMIN, /dev/net/tun and iproute2.

Exit codes: 0 never, as a signal ends it, 1 no answer or no TUN device, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    #[command(flatten)]
    peer: PeerArgs,
    /// Route this network, such as 10.20.0.0/16 or an address, instead of everything; repeatable.
    #[arg(long = "route", value_name = "CIDR", value_parser = parse_network)]
    routes: Vec<IpNet>,
    #[command(flatten)]
    status: StatusArgs,
    #[command(flatten)]
    net: NetArgs,
}

fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network
        .map(|network| network.trunc())
        .map_err(|_| "want a network, such as 10.20.0.0/16 or 2001:db8::/32, or an address".to_owned())
}

/// Rejects a network that is there twice.
fn check_routes(routes: &[IpNet]) -> Result<(), Failure> {
    match routes.iter().enumerate().find(|(number, route)| routes[..*number].contains(route)) {
        Some((_, route)) => {
            Err(Failure::Input(format!("--route {route}: given twice; want each network once")))
        }
        None => Ok(()),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_routes(&args.routes)?;
    client::run(args)
}

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Control {
    /// The client's first message.
    Hello {
        /// The version of the protocol.
        version: u8,
        /// An address from the client's last association, which it requests again.
        had: Option<IpAddr>,
    },
    /// The server's answer: the client's addresses, with the prefix length of the server's network, which the
    /// client ignores.
    Addresses {
        /// At most one of each family.
        addresses: Vec<IpNet>,
    },
    /// The server has no address.
    Refused {
        /// The reason.
        why: String,
    },
}

/// Writes the received packets that `accepts` allows to the device, until the association ends.
async fn receive(
    association: &msctp::Association,
    device: &device::Device,
    accepts: impl Fn(&[u8]) -> bool,
) -> Result<(), Failure> {
    let received = |error: msctp::AssociationError| super::failed("receiving")(&error);
    let mut batch = Vec::with_capacity(device::BATCH);
    loop {
        // Packets that have arrived together are written together.
        let message = tokio::select! {
            biased;
            message = association.recv(), if batch.len() < device::BATCH => message.map_err(received)?,
            () = std::future::ready(()), if !batch.is_empty() => {
                device.write(&batch);
                batch.clear();
                continue;
            }
        };
        let Some(Message { ppid, data, begin, end, .. }) = message else { break };
        if ppid != PACKET || !begin || !end {
            return Err(Failure::Run("the peer sent a message that is not one whole IP packet".to_owned()));
        }
        if accepts(&data) {
            batch.push(data);
        }
    }
    device.write(&batch);
    Ok(())
}
