//! The server: one TUN device for all clients, each with an address of its networks.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use msctp::security::Fingerprint;
use msctp::{Association, AssociationState};
use msctp_terminal::Failure;
use tokio::task::JoinSet;

use super::device::{Device, PREFIX, reads};
use super::outbound::Outbound;
use super::packet::addresses;
use super::pool::Pool;
use super::{Control, VERSION, receive};
use crate::net::options::NetArgs;
use crate::net::reload::{self, Hangups};
use crate::net::security::ClientsArgs;
use crate::net::server::Server;
use crate::net::service::Service;
use crate::net::sources::{Full, source};
use crate::net::status::StatusArgs;
use crate::net::text::escape;
use crate::net::{block_on, devices, outage};

/// Options of `msctp serve` for tunnels.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Tunnel options")]
pub(crate) struct TunnelArgs {
    /// Carry the packets of `msctp tunnel`: this end's address in the network that clients get addresses of,
    /// such as 10.7.0.1/24 or fd07::1/64; once for each family.
    #[arg(long, value_name = "ADDRESS/LENGTH", value_parser = parse_tunnel, conflicts_with_all = ["keep", "allow", "rules"])]
    tunnel: Vec<IpNet>,
}

fn parse_tunnel(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().ok().filter(|network| {
        let address = network.addr();
        let hosts = if address.is_ipv4() { 2..=30 } else { 2..=126 };
        let last = address.is_ipv4() && address == network.broadcast();
        let is_host = address != network.network() && !last;
        hosts.contains(&network.prefix_len()) && is_host && !address.is_loopback() && !address.is_multicast()
    });
    network.ok_or_else(|| {
        "want a host address with a prefix length, such as 10.7.0.1/24 or fd07::1/64".to_owned()
    })
}

/// Checks that no interface has an address in the networks of --tunnel, such as that of another tunnel
/// server.
fn check_free(tunnel: &[IpNet], interfaces: &[(String, IpAddr)]) -> Result<(), Failure> {
    for network in tunnel {
        if let Some((name, address)) = interfaces.iter().find(|(_, address)| network.contains(address)) {
            return Err(Failure::Run(format!(
                "--tunnel {network}: the interface {name} has {address} in it; choose a network that no interface of this host uses"
            )));
        }
    }
    Ok(())
}

impl TunnelArgs {
    /// Returns whether the server carries packets.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.tunnel.is_empty()
    }

    fn check(&self) -> Result<(), Failure> {
        match &self.tunnel[..] {
            [a, b] if a.addr().is_ipv4() == b.addr().is_ipv4() => Err(Failure::Input(format!(
                "--tunnel {a} --tunnel {b}: want at most one IPv4 and one IPv6 network"
            ))),
            [_, _, third, ..] => {
                Err(Failure::Input(format!("--tunnel {third}: want at most one IPv4 and one IPv6 network")))
            }
            _ => Ok(()),
        }
    }
}

/// A client: the queue of its packets, its key, and its source unless it is on this host.
#[derive(Clone)]
struct Client {
    outbound: Arc<Outbound>,
    key: Option<Fingerprint>,
    source: Option<IpAddr>,
}

impl Client {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.outbound, &other.outbound)
    }

    /// Returns whether the association has ended or is shutting down: its addresses are free soon.
    fn is_ending(&self) -> bool {
        self.outbound.association().state() != AssociationState::Established
    }

    fn is_neighbor(&self, other: &Self) -> bool {
        self.source.is_some() && self.source == other.source
    }
}

/// A client's place, its addresses and the client that was replaced.
type Taken = (u128, Vec<IpNet>, Option<Client>);

/// The device and the clients.
struct Hub {
    device: Device,
    pool: Mutex<Pool<Client>>,
}

impl Hub {
    fn pool(&self) -> MutexGuard<'_, Pool<Client>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a client. If there is none, replaces a client of the same key that answers nothing:
    /// it crashed, and has connected again without its address.
    async fn take(&self, had: Option<IpAddr>, own: &Client) -> Result<Taken, Full> {
        let is_same = |old: &Client| own.key.is_some() && old.key == own.key;
        let is_neighbor = |old: &Client| own.is_neighbor(old);
        let replaces = |old: &Client| old.is_ending() || is_same(old);
        let full = match self.pool().take(had, replaces, is_neighbor, own.clone()) {
            Err(full) => full,
            taken => return taken,
        };
        let mut silent = JoinSet::new();
        for (address, old) in self.pool().select(is_same) {
            silent.spawn(async move {
                outage::is_silent(old.outbound.association()).await.then_some((address, old))
            });
        }
        while let Some(checked) = silent.join_next().await {
            if let Ok(Some((address, old))) = checked {
                return self.pool().take(Some(address), |client| client.is(&old), is_neighbor, own.clone());
            }
        }
        Err(full)
    }

    /// Forwards packets of the device to their clients.
    async fn distribute(&self) -> Result<(), Failure> {
        let mut reads = reads();
        loop {
            self.device.read(&mut reads).await?;
            for packet in reads.packets() {
                let Some((_, to)) = addresses(packet) else { continue };
                let client = self.pool().find(to).cloned();
                if let Some(client) = client {
                    client.outbound.push(packet.to_vec());
                }
            }
        }
    }
}

/// Serves `msctp tunnel` until a signal comes.
pub(crate) fn serve(
    args: &TunnelArgs,
    accepted: &ClientsArgs,
    status: &StatusArgs,
    net: &NetArgs,
) -> Result<(), Failure> {
    args.check()?;
    block_on(async |open| {
        status.serve(open, "serve", net.security()).await?;
        check_free(&args.tunnel, &devices::addresses())?;
        let device = Device::create()?;
        let may = "send packets through this host";
        let net = net.tuned(outage::survive).without_interfaces(PREFIX);
        device.configure(&args.tunnel)?;
        let server = Server::start(&net, accepted, open, None, may)?;
        let networks: Vec<String> = args.tunnel.iter().map(IpNet::to_string).collect();
        eprintln!("{}: {}", device.name(), networks.join(", "));
        let hub = Arc::new(Hub { device, pool: Mutex::new(Pool::new(&args.tunnel)) });
        let (mut clients, mut hangups) = (JoinSet::new(), Hangups::register(open)?);
        let mut distribute = std::pin::pin!(hub.distribute());
        loop {
            tokio::select! {
                incoming = server.incoming() => {
                    let incoming = incoming?;
                    let source = server.source(incoming.remote_addresses().first()).map(source);
                    clients.spawn(client(incoming.accept(), source, Arc::clone(&hub), server.clone()));
                }
                again = hangups.next() => {
                    let again = again?;
                    reload::report(again.and_then(|again| server.reload(again.net.security(), &again.clients)));
                }
                Some(_) = clients.join_next(), if !clients.is_empty() => {}
                result = &mut distribute => return result,
            }
        }
    })
}

/// Serves a client until its association is over.
async fn client(association: Association, source: Option<IpAddr>, hub: Arc<Hub>, server: Server) {
    let first = association.remote_addresses().first().copied();
    let from = first.unwrap_or_else(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0));
    match carry(&association, source, &hub, (from, &server)).await {
        Ok(()) => server.tell(from, &format!("{from}: the client ended the association")),
        Err(failure) => {
            server.tell(from, &format!("{from}: {}", escape(&failure.to_string())));
            association.abort(failure.to_string());
        }
    }
}

async fn carry(
    association: &Association,
    source: Option<IpAddr>,
    hub: &Hub,
    (from, server): (SocketAddr, &Server),
) -> Result<(), Failure> {
    let had = match Service::Tunnel.receive_first(association).await? {
        Control::Hello { version: VERSION, had } => had,
        Control::Hello { version, .. } => {
            return Err(Failure::Run(format!(
                "the client speaks version {version} of the tunnel protocol, this end {VERSION}: update the older end"
            )));
        }
        _ => return Err(Failure::Run("the client sent a control message of servers".to_owned())),
    };
    let key = association.peer_identity().map(|peer| peer.fingerprint);
    // Addresses and hash seeds of clients need not be secret, only different in each run.
    let seed = u64::from(std::process::id()) << 32 | u64::from(association.remote_port());
    let own = Client { outbound: Outbound::new(association.clone(), seed), key, source };
    let (place, addresses_of_client, replaced) = match hub.take(had, &own).await {
        Ok(taken) => taken,
        Err(full) => {
            server.monitor().note_refused("no address left");
            let why = match full {
                Full::All => "all addresses of the server's --tunnel network are in use".to_owned(),
                Full::Source => {
                    format!("this server has {} clients from your address, the maximum", hub.pool().share())
                }
            };
            Service::Tunnel.send(association, &Control::Refused { why: why.clone() }).await?;
            return Err(Failure::Run(why));
        }
    };
    if let Some(old) = replaced {
        old.outbound.association().abort("another association has its addresses now");
    }
    let list: Vec<IpAddr> = addresses_of_client.iter().map(IpNet::addr).collect();
    let shown: Vec<String> = list.iter().map(ToString::to_string).collect();
    server.tell(from, &format!("{from} has {}", shown.join(", ")));
    let answer = Control::Addresses { addresses: addresses_of_client };
    let result = match Service::Tunnel.send(association, &answer).await {
        Ok(()) => {
            // A client may send only from its own addresses.
            let accepts = |packet: &[u8]| addresses(packet).is_some_and(|(source, _)| list.contains(&source));
            tokio::select! {
                result = receive(association, &hub.device, accepts) => result,
                () = own.outbound.run() => Ok(()),
            }
        }
        Err(failure) => Err(failure),
    };
    hub.pool().free(place, |client| client.is(&own));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_wants_the_address_of_a_host() {
        for usable in ["10.7.0.1/24", "10.7.0.254/24", "10.7.0.1/30", "fd07::1/64", "fd07::ffff/112"] {
            assert!(parse_tunnel(usable).is_ok(), "{usable}");
        }
        for unusable in [
            "10.7.0.0/24",
            "10.7.0.255/24",
            "127.0.0.1/24",
            "::1/64",
            "224.0.0.1/24",
            "10.7.0.1/31",
            "10.7.0.1",
        ] {
            assert!(parse_tunnel(unusable).is_err(), "{unusable}");
        }
    }

    #[test]
    fn a_network_that_an_interface_has_is_refused() {
        let has = |address: &str| vec![("msctp0".to_owned(), address.parse().unwrap())];
        let tunnel = [parse_tunnel("10.7.0.1/24").unwrap(), parse_tunnel("fd07::1/64").unwrap()];
        let error = |address: &str| check_free(&tunnel, &has(address)).err().map(|error| error.to_string());
        for taken in ["10.7.0.1", "10.7.0.9", "fd07::1"] {
            let error = error(taken).unwrap();
            assert!(error.contains(&format!("the interface msctp0 has {taken} in it")), "{error}");
        }
        assert_eq!((error("10.8.0.1"), error("fd08::1")), (None, None));
    }
}
