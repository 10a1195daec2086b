//! The client: carries the packets of a TUN device over an association, and reconnects when it is lost.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use msctp::{Association, Endpoint};
use msctp_terminal::Failure;

use super::device::{Device, PREFIX, reads};
use super::outbound::Outbound;
use super::packet::addresses;
use super::{Args, Control, VERSION, receive, routes};
use crate::net::options::{Carrier, NetArgs};
use crate::net::service::{END_TIMEOUT, Service};
use crate::net::text::escape;
use crate::net::{Open, block_on, moves, notify, outage};

/// An association, and this end's addresses in the tunnel.
struct Connected {
    endpoint: Endpoint,
    association: Association,
    carrier: Carrier,
    addresses: Vec<IpNet>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    args.net.check_follows()?;
    block_on(async |open| {
        args.status.serve(open, "tunnel", args.net.security()).await?;
        let device = Device::create()?;
        let net = args.net.tuned(outage::survive).without_interfaces(PREFIX);
        let mut connected = connect(args, &net, open, None).await?;
        set_up(args, &device, &connected)?;
        args.peer.keep_addresses();
        if args.routes.is_empty() {
            for family in bypassing(&connected.addresses, routes::default_routes()) {
                eprintln!(
                    "warning: the server has no {family} network: this host's {family} packets do not use the tunnel"
                );
            }
        }
        loop {
            let Connected { endpoint, association, carrier, addresses } = connected;
            notify::ready();
            let own: Vec<String> = addresses.iter().map(|own| own.addr().to_string()).collect();
            eprintln!("{}: {}", device.name(), own.join(", "));
            let watched = association.clone();
            let watch =
                tokio::spawn(async move { moves::report_moves(&watched, |text| eprintln!("{text}")).await });
            let had = addresses.first().map(IpNet::addr);
            let result = tokio::select! {
                result = carry(&association, &device, &addresses) => result.map(|()| None),
                found = outage::return_to_udp(async || args.peer.connect_by_udp(&net, open).await), if carrier == Carrier::Tcp => {
                    let next = replace(args, &net, &association, found, had).await;
                    next.and_then(|next| set_up(args, &device, &next).map(|()| Some(next)))
                }
            };
            watch.abort();
            let why = match result {
                Ok(Some(next)) => {
                    eprintln!("UDP works: packets go over it");
                    let _ =
                        tokio::time::timeout(END_TIMEOUT, endpoint.abort("replaced by another association"))
                            .await;
                    connected = next;
                    continue;
                }
                Ok(None) => "the server ended the association".to_owned(),
                Err(failure) => failure.to_string(),
            };
            eprintln!("association lost: {}", escape(&why));
            // Closes the sockets.
            let _ = tokio::time::timeout(END_TIMEOUT, endpoint.abort(why)).await;
            // The device and its routes stay, so no packet bypasses the tunnel.
            connected = outage::reconnect(
                async || {
                    let next = connect(args, &net, open, had).await?;
                    set_up(args, &device, &next).map(|()| next)
                },
                |failure, seconds| eprintln!("cannot connect: {failure}; trying again in {seconds} s"),
            )
            .await;
        }
    })
}

/// Gives the device the addresses and the routes. After an error the association is over, and the earlier
/// routes stay.
fn set_up(args: &Args, device: &Device, connected: &Connected) -> Result<(), Failure> {
    let result = device.configure(&connected.addresses);
    let result = result.and_then(|()| device.add_routes(&wanted_routes(args, &connected.addresses)));
    result.inspect_err(|failure| connected.association.abort(failure.to_string()))
}

/// Connects, and requests the addresses.
async fn connect(args: &Args, net: &NetArgs, open: &Open, had: Option<IpAddr>) -> Result<Connected, Failure> {
    let (endpoint, association, carrier) = args.peer.connect_by(net, open, None).await?;
    greet(args, (endpoint, association, carrier), had).await
}

/// Replaces an association over TCP with one over UDP, with the same addresses. The server recognizes the
/// client by its key. Without a key, the old association releases the addresses first.
async fn replace(
    args: &Args,
    net: &NetArgs,
    old: &Association,
    (endpoint, association): (Endpoint, Association),
    had: Option<IpAddr>,
) -> Result<Connected, Failure> {
    if !net.security().has_own_key() {
        let _ = tokio::time::timeout(END_TIMEOUT, old.shutdown()).await;
    }
    greet(args, (endpoint, association, Carrier::Udp), had).await
}

/// Requests the addresses.
async fn greet(
    args: &Args,
    (endpoint, association, carrier): (Endpoint, Association, Carrier),
    had: Option<IpAddr>,
) -> Result<Connected, Failure> {
    Service::Tunnel.send(&association, &Control::Hello { version: VERSION, had }).await?;
    match Service::Tunnel.receive_answer(&association, args.peer.timeout()).await? {
        Control::Addresses { addresses } => {
            let addresses =
                hosts(&addresses).inspect_err(|failure| association.abort(failure.to_string()))?;
            Ok(Connected { endpoint, association, carrier, addresses })
        }
        Control::Refused { why } => Err(Failure::Run(format!("refused: {}", escape(&why)))),
        _ => Err(Failure::Run("the server sent an unexpected control message".to_owned())),
    }
}

/// Returns the server's addresses as those of single hosts. The server must not choose what this host routes
/// through the tunnel, so the lengths of the prefixes are ignored.
fn hosts(addresses: &[IpNet]) -> Result<Vec<IpNet>, Failure> {
    let is_host = |address: IpAddr| match address {
        IpAddr::V4(v4) => {
            let class = v4.octets()[0];
            class != 0 && class < 224 && !v4.is_loopback() && !v4.is_link_local()
        }
        IpAddr::V6(v6) => {
            let local = v6.is_unspecified() || v6.is_loopback() || v6.is_unicast_link_local();
            !local && !v6.is_multicast() && v6.to_ipv4_mapped().is_none()
        }
    };
    let list: Vec<IpAddr> = addresses.iter().map(IpNet::addr).collect();
    let once = |v4: bool| list.iter().filter(|address| address.is_ipv4() == v4).count() <= 1;
    if list.is_empty() || !list.iter().all(|address| is_host(*address)) || !once(true) || !once(false) {
        let shown: Vec<String> = list.iter().map(ToString::to_string).collect();
        let shown = if shown.is_empty() { "no address".to_owned() } else { shown.join(", ") };
        return Err(Failure::Run(format!(
            "the server assigned {shown}: want one unicast address, or one of each family"
        )));
    }
    Ok(list.into_iter().map(IpNet::from).collect())
}

/// Returns the networks to route: those of --route, else everything. Everything is two halves, which precede
/// a default route without replacing it.
fn wanted_routes(args: &Args, addresses: &[IpNet]) -> Vec<IpNet> {
    const HALVES: [[&str; 2]; 2] = [["0.0.0.0/1", "128.0.0.0/1"], ["::/1", "8000::/1"]];
    if !args.routes.is_empty() {
        return args.routes.clone();
    }
    let [four, six] = HALVES.map(|halves| halves.map(|half| half.parse::<IpNet>().expect("a network")));
    let [has4, has6] = families(addresses);
    four.into_iter().filter(|_| has4).chain(six.into_iter().filter(|_| has6)).collect()
}

/// Returns the families with a default route of this host and no address in the tunnel. `defaults`: whether
/// there is one for IPv4 and IPv6.
fn bypassing(addresses: &[IpNet], defaults: [bool; 2]) -> impl Iterator<Item = &'static str> {
    let all = ["IPv4", "IPv6"].into_iter().zip(defaults).zip(families(addresses));
    all.filter_map(|((family, default), covered)| (default && !covered).then_some(family))
}

/// Returns whether one of the addresses is of IPv4, and of IPv6.
fn families(addresses: &[IpNet]) -> [bool; 2] {
    [true, false].map(|v4| addresses.iter().any(|own| own.addr().is_ipv4() == v4))
}

/// Carries packets until the association is over.
async fn carry(association: &Association, device: &Device, own: &[IpNet]) -> Result<(), Failure> {
    let outbound = Outbound::new(association.clone(), u64::from(std::process::id()));
    let read = async {
        let outbound = Arc::clone(&outbound);
        let mut reads = reads();
        loop {
            device.read(&mut reads).await?;
            // Skips the kernel's own packets, such as link-local ones, which the server would drop.
            let ours = |(source, _): (IpAddr, IpAddr)| own.iter().any(|own| own.addr() == source);
            for packet in reads.packets().filter(|packet| addresses(packet).is_some_and(ours)) {
                outbound.push(packet.to_vec());
            }
        }
    };
    // The kernel drops packets that are not for this host, unless it is set up as a router.
    let accepts = |packet: &[u8]| addresses(packet).is_some();
    tokio::select! {
        result = receive(association, device, accepts) => result,
        () = outbound.run() => Ok(()),
        result = read => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_assigns_one_host_address_of_each_family() {
        let hosts = |addresses: &[&str]| {
            let addresses: Vec<IpNet> = addresses.iter().map(|own| own.parse().unwrap()).collect();
            hosts(&addresses).map(|own| own.iter().map(IpNet::to_string).collect::<Vec<_>>().join(" ")).ok()
        };
        assert_eq!(hosts(&["10.7.0.2/24"]).as_deref(), Some("10.7.0.2/32"));
        assert_eq!(hosts(&["10.50.0.1/1", "fd07::2/64"]).as_deref(), Some("10.50.0.1/32 fd07::2/128"));
        for unusable in [
            &["10.50.0.1/1", "200.0.0.1/1"][..],
            &["fd07::2/64", "fd07::3/64"],
            &["10.7.0.2/24", "ff02::1/64"],
            &["224.0.0.1/32"],
            &["255.255.255.255/32"],
            &["0.0.0.0/0"],
            &["127.0.0.1/8"],
            &["169.254.169.254/32"],
            &["fe80::1/64"],
            &["::1/128"],
            &["::ffff:10.0.0.1/128"],
            &[],
        ] {
            assert_eq!(hosts(unusable), None, "{unusable:?}");
        }
    }

    #[test]
    fn a_family_that_bypasses_the_tunnel_is_named() {
        let has = |addresses: &[&str], defaults| {
            let addresses: Vec<IpNet> = addresses.iter().map(|own| own.parse().unwrap()).collect();
            bypassing(&addresses, defaults).collect::<Vec<_>>()
        };
        assert_eq!(has(&["10.7.0.2/24"], [true, true]), ["IPv6"]);
        assert_eq!(has(&["fd07::2/64"], [true, true]), ["IPv4"]);
        assert!(has(&["10.7.0.2/24"], [true, false]).is_empty());
        assert!(has(&["10.7.0.2/24", "fd07::2/64"], [true, true]).is_empty());
    }
}
