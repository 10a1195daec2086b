//! Which sockets an endpoint binds, at first and when it gets addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};

use msctp_proto::LinkKind;
use msctp_udp::{Dispatch, InterfaceWatch, LocalAddress, Socket, SocketError, SocketOptions, list_addresses};

use crate::error::BindError;
use crate::options::EndpointOptions;

/// The addresses of this host, as far as the system tells them.
#[derive(Debug)]
pub(crate) struct Known {
    /// Reports changes.
    pub(crate) watch: Option<InterfaceWatch>,
    /// Why there are no reports.
    pub(crate) unwatched: Option<io::Error>,
    /// The addresses. `None`: the system does not list them, so that the kernel must choose.
    pub(crate) host: Option<Vec<LocalAddress>>,
}

impl Known {
    /// Asks the system.
    pub(crate) fn ask() -> Self {
        match InterfaceWatch::new() {
            Ok(watch) => Self { host: Some(watch.usable()), watch: Some(watch), unwatched: None },
            Err(error) => {
                let host = list_addresses().ok().filter(|host| !host.is_empty());
                Self { watch: None, unwatched: Some(error), host }
            }
        }
    }

    /// Rejects options that name interfaces if nothing tells them.
    pub(crate) fn check(&mut self, options: &EndpointOptions) -> Result<(), BindError> {
        let any = options.bind.iter().any(|address| address.ip().is_unspecified());
        let only = options.mobility.as_ref().is_some_and(|mobility| !mobility.only.is_empty());
        match self.unwatched.take_if(|_| self.host.is_none() && any && (only || !options.except.is_empty())) {
            Some(error) => Err(BindError::System { what: "cannot list interfaces to choose among", error }),
            None => Ok(()),
        }
    }
}

/// The options for binding sockets later, when the host gets addresses.
#[derive(Debug)]
pub(crate) struct Later {
    /// Prefixes of interfaces whose changes are ignored.
    pub(crate) except: Vec<String>,
    /// The UDP port of the sockets (RFC 6951 §5.1: one for all); 0 before the first, which chooses it.
    udp_port: AtomicU16,
    /// Unspecified addresses that the endpoint was bound to. Each stands for all of its family, later ones
    /// included.
    pub(crate) wildcards: Vec<SocketAddr>,
}

impl Later {
    /// Returns the options for an endpoint whose first socket has this port; `None`: it has no sockets yet.
    pub(crate) fn new(options: &EndpointOptions, first: Option<u16>) -> Self {
        let wildcards = options.bind.iter().filter(|address| address.ip().is_unspecified()).copied();
        let wildcards: Vec<SocketAddr> = wildcards.collect();
        let given = wildcards.iter().map(SocketAddr::port).find(|port| *port != 0);
        let udp_port = AtomicU16::new(first.or(given).unwrap_or(0));
        Self { except: options.except.clone(), udp_port, wildcards }
    }

    /// Returns the UDP port for the next socket; 0 leaves the choice to the kernel.
    pub(crate) fn udp_port(&self) -> u16 {
        self.udp_port.load(Ordering::Relaxed)
    }

    /// Records the UDP port of a new socket: if it is the first, later ones get the same.
    pub(crate) fn note_port(&self, udp_port: u16) {
        let _ = self.udp_port.compare_exchange(0, udp_port, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Binds sockets for a new address, one for each shard, at the UDP port of the others if it is free.
    pub(crate) fn bind(
        &self,
        ip: IpAddr,
        device: Option<String>,
        dispatch: &Dispatch,
    ) -> Result<Vec<Socket>, SocketError> {
        let options = SocketOptions { device, ..SocketOptions::default() };
        let bind = |port| Socket::bind_group(SocketAddr::new(ip, port), &options, dispatch);
        let sockets = bind(self.udp_port()).or_else(|_| bind(0))?;
        self.note_port(sockets[0].local().port());
        Ok(sockets)
    }
}

/// Returns the addresses that the options name, the preferred ones first. A wildcard stays one if the host's
/// addresses are unknown.
fn addresses_to_bind(options: &EndpointOptions, host: Option<&[LocalAddress]>) -> Vec<SocketAddr> {
    let mut wanted: Vec<SocketAddr> = Vec::new();
    let Some(host) = host else {
        // The socket of all addresses has the port for each.
        let taken = |address: &SocketAddr| {
            let any = |any: &SocketAddr| {
                any.ip().is_unspecified()
                    && any.is_ipv4() == address.is_ipv4()
                    && any.port() == address.port()
                    && any.port() != 0
            };
            !address.ip().is_unspecified() && options.bind.iter().any(any)
        };
        return options.bind.iter().filter(|address| !taken(address)).copied().collect();
    };
    for &address in &options.bind {
        if !address.ip().is_unspecified() {
            wanted.push(address);
            continue;
        }
        let of_family = host.iter().filter(|local| {
            local.ip.is_ipv4() == address.is_ipv4() && !local.link_local && options.follows(local)
        });
        wanted.extend(of_family.map(|local| SocketAddr::new(local.ip, address.port())));
    }
    if let Some(mobility) = &options.mobility {
        // Best first: associations begin there.
        let rank = |address: &SocketAddr| {
            let interface = host.iter().find(|local| local.ip == address.ip()).map(|local| &local.interface);
            interface.map_or(usize::MAX, |name| mobility.rank_of(name))
        };
        wanted.sort_by_key(rank);
    }
    wanted
}

/// Binds the sockets that the options name, for each shard.
pub(crate) fn bind_all(
    options: &EndpointOptions,
    host: Option<&[LocalAddress]>,
    dispatch: &Dispatch,
) -> Result<Vec<Vec<Socket>>, BindError> {
    // RFC 6951 §5.1: one port for all sockets, if the first address leaves the choice to the kernel.
    let mut shards: Vec<Vec<Socket>> = (0..dispatch.sockets()).map(|_| Vec::new()).collect();
    let add = |shards: &mut Vec<Vec<Socket>>, group: Vec<Socket>| {
        for (sockets, socket) in shards.iter_mut().zip(group) {
            sockets.push(socket);
        }
    };
    let any_of = |ipv4| options.bind.iter().any(|at| at.ip().is_unspecified() && at.is_ipv4() == ipv4);
    let both = any_of(true) && any_of(false);
    let mut lacking = None;
    for mut address in addresses_to_bind(options, host) {
        let sockets = &shards[0];
        if sockets.iter().any(|socket| socket.local().ip() == address.ip()) {
            continue;
        }
        // A host that does not move may receive through any interface; the routing table decides where its
        // packets leave.
        let bound = options.mobility.is_some();
        let mut host = host.unwrap_or_default().iter();
        let of_host = host.find(|local| bound && local.ip == address.ip() && !local.loopback);
        let socket_options = SocketOptions {
            device: of_host.map(|local| local.interface.clone()),
            ..SocketOptions::default()
        };
        if let (0, Some(first)) = (address.port(), sockets.first()) {
            address.set_port(first.local().port());
            if let Ok(group) = Socket::bind_group(address, &socket_options, dispatch) {
                add(&mut shards, group);
                continue;
            }
            address.set_port(0);
        }
        match Socket::bind_group(address, &socket_options, dispatch) {
            Ok(group) => add(&mut shards, group),
            // One family is enough for the wildcard of both.
            Err(error) if both && address.ip().is_unspecified() && is_of_family(&error) => {
                lacking = Some(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    match lacking {
        Some(error) if shards[0].is_empty() => Err(error.into()),
        _ => Ok(shards),
    }
}

/// Returns whether a wildcard cannot be bound because the system does not have its family.
fn is_of_family(error: &SocketError) -> bool {
    let SocketError::Io { error, .. } = error else { return false };
    !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

/// A change of a shard's sockets. The shard's task makes it before it sends anything else.
#[derive(Debug)]
pub(crate) enum SocketChange {
    /// Use a socket.
    Open(Box<Socket>),
    /// Send from this address through the socket of all addresses.
    Serve(IpAddr),
    /// Close the socket of this address; neither send from there nor receive.
    Close(IpAddr),
}

/// Returns the interface to which the socket of an address is bound: none for the host itself, or if it is
/// not known.
pub(crate) fn device_of(ip: IpAddr, interface: &str) -> Option<String> {
    let leads_out = !ip.is_loopback() && LinkKind::of_name(interface) != LinkKind::Loopback;
    (leads_out && !interface.is_empty()).then(|| interface.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mobility;

    #[test]
    fn an_unspecified_address_covers_only_the_interfaces_that_are_followed() {
        let host = |interface: &str, ip: &str, loopback| LocalAddress {
            ip: ip.parse().unwrap(),
            interface: interface.to_owned(),
            index: 1,
            loopback,
            link_local: false,
        };
        let host = [
            host("lo", "127.0.0.1", true),
            host("tun0", "10.7.0.2", false),
            host("wwan0", "10.2.0.1", false),
            host("wlan0", "10.1.0.1", false),
        ];
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let bound_except = |mobility: Option<Mobility>, except: &[&str]| {
            let mut options = EndpointOptions::new(["0.0.0.0:9899".parse().unwrap()]);
            options.mobility = mobility;
            options.except = names(except);
            let mut bound = addresses_to_bind(&options, Some(&host));
            bound.retain(|address| !address.ip().is_loopback());
            bound.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>()
        };
        let bound = |mobility| bound_except(mobility, &[]);
        assert_eq!(bound(None), ["10.7.0.2", "10.2.0.1", "10.1.0.1"]);
        let loopback = |mobility: Mobility, except: &[&str]| {
            let mut options = EndpointOptions::new(["0.0.0.0:0".parse().unwrap()]).mobile(mobility);
            options.except = names(except);
            addresses_to_bind(&options, Some(&host)).iter().any(|address| address.ip().is_loopback())
        };
        let nosuch = Mobility { only: names(&["nosuch"]), ..Mobility::default() };
        assert!(loopback(Mobility::default(), &[]) && !loopback(Mobility::default(), &["lo"]));
        assert!(!loopback(nosuch.clone(), &[]) && loopback(Mobility { loopback: true, ..nosuch }, &[]));
        let only = |prefixes| bound(Some(Mobility { only: names(prefixes), ..Mobility::default() }));
        assert_eq!(only(&[]), ["10.1.0.1", "10.7.0.2", "10.2.0.1"], "WLAN first");
        assert_eq!(only(&["wwan"]), ["10.2.0.1"]);
        assert!(only(&["eth"]).is_empty());
        assert_eq!(bound_except(Some(Mobility::default()), &["tun0"]), ["10.1.0.1", "10.2.0.1"]);
        assert_eq!(bound_except(None, &["tun0"]), ["10.2.0.1", "10.1.0.1"]);
    }
}
