//! Changes of an endpoint's sockets and addresses: those that the program makes, and those that the host's
//! interfaces cause.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use msctp_proto::ConfigError;
use msctp_udp::{LocalAddress, Socket, SocketError, check_local, list_addresses, source_for};
use msctp_units::Time;

use crate::binding::{SocketChange, device_of};
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectError};
use crate::options::Peer;
use crate::state::State;

/// # Addresses
///
/// A mobile endpoint follows the interfaces of a Linux host by itself. These calls are for a program that
/// knows of networks what the endpoint does not: by NWPathMonitor on macOS and iOS, ConnectivityManager on
/// Android, NotifyAddrChange on Windows, or where a sandbox refuses netlink sockets. The associations of a
/// mobile endpoint then move as they do when an interface comes or goes: an added address is used beside the
/// others, and data leaves an address that is removed.
///
/// Without [`EndpointOptions::mobile`](crate::EndpointOptions::mobile) only new associations use an added
/// address; [`Association::add_local_address`](crate::Association::add_local_address) adds it to another.
///
/// ```
/// # use std::net::IpAddr;
/// # use msctp::{BindError, Endpoint};
/// /// Called by the system's monitor.
/// fn network_changed(endpoint: &Endpoint, old: IpAddr, new: IpAddr) -> Result<(), BindError> {
///     endpoint.add_address(new)?;
///     endpoint.remove_address(old);
///     Ok(())
/// }
/// ```
impl Endpoint {
    /// Uses a socket of the program, bound to one address of this host, such as one that Android's
    /// `Network.bindSocket` has bound to a network. It replaces the endpoint's socket of that address.
    /// Returns the socket's address. May be called from any thread.
    ///
    /// # Errors
    ///
    /// The socket is bound to no single address, the kernel refuses to configure it, or the endpoint is
    /// closed.
    pub fn add_socket(&self, socket: UdpSocket) -> Result<SocketAddr, BindError> {
        let _inside = self.shards().runtime.enter();
        let unknown = SocketAddr::from(([0; 4], 0));
        let clone = |_| socket.try_clone().map_err(|error| SocketError::Io { address: unknown, error });
        // Every shard sends through it. One that receives for another passes the packet on.
        let copies = (1..self.shards().dispatch.sockets()).map(clone).collect::<Result<Vec<_>, _>>()?;
        let all = std::iter::once(socket).chain(copies).map(Socket::adopt);
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let local = all[0].local();
        self.enter(local, all)?;
        self.shards().later.note_port(local.port());
        Ok(local)
    }

    /// Uses an address of this host, with a socket at the UDP port of the others if it is free. Returns the
    /// address with its port. Does nothing if the address is in use. May be called from any thread.
    ///
    /// # Errors
    ///
    /// The host has no such address, it is a wildcard, the kernel refuses the socket, or the endpoint is
    /// closed.
    pub fn add_address(&self, ip: IpAddr) -> Result<SocketAddr, BindError> {
        if ip.is_unspecified() {
            let want = "one address of this host".to_owned();
            return Err(ConfigError { field: "address", value: ip.to_string(), want }.into());
        }
        let shards = self.shards();
        let (known, device) = {
            let state = shards.first().lock();
            (state.socket_of(ip), state.core.interface_of(ip).and_then(|name| device_of(ip, name)))
        };
        if let Some(local) = known {
            check_local(ip).map_err(|error| SocketError::Io { address: local, error })?;
            self.enter(local, Vec::new())?;
            return Ok(local);
        }
        let _inside = shards.runtime.enter();
        let sockets = shards.later.bind(ip, device, &shards.dispatch)?;
        let local = sockets[0].local();
        self.enter(local, sockets)?;
        Ok(local)
    }

    /// Ends the use of a local address, and closes its socket. Associations of a mobile endpoint leave it at
    /// once if they have another, and otherwise wait for one. [`add_address`](Self::add_address) or a report
    /// of the host's interfaces uses it again.
    pub fn remove_address(&self, ip: IpAddr) {
        self.shards().each(|state| {
            let now = state.now();
            state.removed.insert(ip);
            if state.core.follows_links() {
                state.core.remove_address(now, ip);
            } else {
                state.close_socket(now, ip);
            }
            state.wake_driver();
        });
    }

    /// Returns whether the endpoint learns by itself that addresses of this host come and go, which only
    /// Linux reports. Otherwise call [`add_address`](Self::add_address) and
    /// [`remove_address`](Self::remove_address).
    pub fn follows_interfaces(&self) -> bool {
        self.shards().first().lock().watched
    }

    /// Uses an address, and these sockets for it, one for each shard; none: those that serve the address.
    fn enter(&self, local: SocketAddr, sockets: Vec<Socket>) -> Result<(), BindError> {
        // The interface ranks the address.
        let listed = list_addresses().unwrap_or_default().into_iter().find(|listed| listed.ip == local.ip());
        let mut sockets = sockets.into_iter();
        let open = self.shards().each(|state| {
            let open = !state.closed && !state.gone;
            if open {
                let now = state.now();
                state.add(now, local, sockets.next(), listed.clone());
            }
            open
        });
        if open.contains(&false) {
            let want = "an endpoint that is not closed: bind another".to_owned();
            return Err(ConfigError { field: "endpoint", value: "closed".to_owned(), want }.into());
        }
        Ok(())
    }

    /// Returns the local addresses that the kernel chooses for the addresses of a peer, for those sockets
    /// that leave it the choice.
    pub(crate) fn chosen_for(&self, peer: &Peer) -> Vec<IpAddr> {
        let any = self.shards().first().lock().unlisted();
        let of_family = |ip: &&IpAddr| any.iter().any(|any| any.is_ipv4() == ip.is_ipv4());
        let choose = |ip: &IpAddr| source_for(SocketAddr::new(*ip, peer.udp_port.max(1))).ok();
        peer.addresses.iter().filter(of_family).filter_map(choose).collect()
    }
}

impl State {
    /// Begins to follow the host's addresses. `listed` are those at first.
    pub(crate) fn begin_to_follow(&mut self, watched: bool, listed: Option<&[LocalAddress]>) {
        self.watched = watched;
        if watched || !self.core.follows_links() {
            return;
        }
        let now = self.now();
        for ip in self.locals.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified()) {
            let local = listed.unwrap_or_default().iter().find(|local| local.ip == ip);
            self.core.add_address(now, ip, local.map_or("", |local| &local.interface));
        }
    }

    /// Returns the unspecified addresses whose sockets leave the choice of the local address to the kernel.
    fn unlisted(&self) -> Vec<IpAddr> {
        self.locals.iter().map(SocketAddr::ip).filter(IpAddr::is_unspecified).collect()
    }

    /// Returns the address and UDP port from which packets of a local address leave; `None` without a socket.
    pub(crate) fn socket_of(&self, ip: IpAddr) -> Option<SocketAddr> {
        let exact = self.locals.iter().find(|local| local.ip() == ip);
        let like = |any: &&SocketAddr| any.ip().is_unspecified() && any.is_ipv4() == ip.is_ipv4();
        let any = || self.locals.iter().find(like).map(|any| SocketAddr::new(ip, any.port()));
        exact.copied().or_else(any)
    }

    /// Returns the local addresses that a new association may use, the preferred ones first. `chosen` are the
    /// kernel's choices.
    pub(crate) fn sources(&self, chosen: &[IpAddr]) -> Vec<IpAddr> {
        let mut sources: Vec<IpAddr> = Vec::new();
        for ip in chosen.iter().copied().chain(self.local_ips()) {
            if !sources.contains(&ip) && self.may_use(ip) {
                sources.push(ip);
            }
        }
        if self.core.follows_links() {
            sources.sort_by_key(|ip| self.core.rank_of(*ip).unwrap_or(usize::MAX));
        }
        sources.truncate(msctp_proto::MAX_ADDRESSES);
        sources
    }

    fn may_use(&self, ip: IpAddr) -> bool {
        !self.core.is_down(ip) && !self.removed.contains(&ip)
    }

    /// Returns why no local address reaches a peer.
    pub(crate) fn unreached(&self, peer: SocketAddr) -> ConnectError {
        let comes = self.core.follows_links() || self.host.wants_all_like(peer.ip());
        let network = |ip: &IpAddr| !ip.is_loopback() && self.may_use(*ip);
        if comes && !self.local_ips().iter().any(network) {
            return ConnectError::NoNetwork;
        }
        ConnectError::NoLocalAddress(peer)
    }

    /// Uses an address that the program names, through this socket or those that serve it.
    fn add(&mut self, now: Time, local: SocketAddr, socket: Option<Socket>, listed: Option<LocalAddress>) {
        let ip = local.ip();
        self.removed.remove(&ip);
        if socket.is_some() || !self.locals.contains(&local) {
            self.enter_address(local, socket);
        }
        if self.core.follows_links() {
            let listed = listed.map(|listed| listed.interface);
            let name = listed.or_else(|| self.core.interface_of(ip).map(str::to_owned)).unwrap_or_default();
            self.core.add_address(now, ip, &name);
        } else {
            self.core.notify_link(now, ip, true);
        }
        self.wake_driver();
    }

    /// Adds an address to those of new associations. Its packets leave through this socket, or through that
    /// of all addresses.
    pub(crate) fn enter_address(&mut self, local: SocketAddr, socket: Option<Socket>) {
        self.locals.retain(|known| known.ip() != local.ip());
        self.locals.push(local);
        self.sort_locals();
        self.listen_again();
        self.removed.remove(&local.ip());
        self.socket_changes.push(match socket {
            Some(socket) => SocketChange::Open(Box::new(socket)),
            None => SocketChange::Serve(local.ip()),
        });
    }

    /// Removes an address from those of new associations, and closes its socket.
    pub(crate) fn leave_address(&mut self, ip: IpAddr) {
        self.locals.retain(|local| local.ip() != ip);
        self.listen_again();
        self.socket_changes.push(SocketChange::Close(ip));
    }

    /// Uses another socket, for an endpoint whose associations do not move.
    pub(crate) fn open_socket(&mut self, socket: Socket) {
        let local = socket.local();
        self.enter_address(local, Some(socket));
        // The associations of an address that came back use it again.
        let now = self.now();
        self.core.notify_link(now, local.ip(), true);
        self.wake_driver();
    }

    /// Closes a socket.
    pub(crate) fn close_socket(&mut self, now: Time, ip: IpAddr) {
        self.leave_address(ip);
        self.core.notify_link(now, ip, false);
        self.wake_driver();
    }
}
