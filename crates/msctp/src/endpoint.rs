//! [`Endpoint`]: binds sockets, listens, accepts and connects.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use msctp_proto::{Config, ConfigError, Endpoint as Core, LocalAddrs, RemoteAddrs};
use msctp_udp::{Dispatch, Socket};
use msctp_units::{Span, Time};
use tokio::runtime::Handle;

use crate::association::Association;
use crate::binding::{Known, Later, bind_all};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::error::{BindError, ConnectError};
use crate::host::Host;
use crate::keys::{Keys, for_role};
use crate::listener::{Arrivals, Listener};
use crate::log;
use crate::options::{EndpointOptions, Peer};
use crate::place::Place;
use crate::secure::Security;
use crate::setup::{Connecting, Incoming};
use crate::shards::{Owned, Shards};
use crate::slot::{Phase, Slot};
use crate::state::{Shared, State};
use crate::unproven::OfEndpoint;

/// The first local SCTP port for associations that name none (RFC 6335 §6: dynamic ports).
const FIRST_DYNAMIC: u16 = 49_152;

/// Sockets for SCTP over UDP and the associations over them. Clones are cheap and share the endpoint.
///
/// One task serves all associations, or one per shard. It ends when every [`Endpoint`] and [`Association`]
/// was dropped and the associations have shut down, which takes at most [`EndpointOptions::linger`].
///
/// The task runs on the runtime in which [`bind`](Self::bind) was called, and ends with it. Await
/// [`close`](Self::close) before `main` returns: the end of the runtime interrupts every delivery. Peers of
/// associations that are not over then get an ABORT, but not after `std::process::exit`.
///
/// # Shards
///
/// With [`EndpointOptions::shards`] several tasks share the work: a runtime with threads runs them on several
/// cores. The two SCTP ports of an association select its shard by a keyed hash, so it keeps its shard when
/// either end moves or a NAT changes the peer's UDP port. Associations that all have the same two SCTP ports
/// share one shard: have clients choose their port at random, which is the default ([`Peer::local_port`]).
///
/// The kernel gives each datagram to a socket of its shard (`SO_ATTACH_REUSEPORT_CBPF`). A datagram that
/// arrives at another shard, as it may in a batch with others, takes a copy and a queue of 1 MiB to its own.
/// The limits of [`EndpointOptions`] hold for all shards together.
///
/// `bind` fails if another program has the port. Afterwards a program of the same user can share the port if
/// it sets `SO_REUSEPORT`, and takes datagrams; programs of other users cannot.
#[derive(Clone)]
pub struct Endpoint {
    owned: Arc<Owned>,
}

/// Maximum number of shards, more than any machine has cores.
const MAX_SHARDS: u16 = 1024;

impl Endpoint {
    /// Binds the sockets and starts the task. Must be called within a tokio runtime that has its I/O and time
    /// drivers enabled.
    ///
    /// Where the system does not list its addresses, a wildcard is one socket, and the kernel chooses the
    /// local address of each association: Android, Windows, and sandboxes that refuse netlink sockets.
    ///
    /// # Errors
    ///
    /// An address or option is invalid or unavailable. `except` or [`Mobility::only`](crate::Mobility) names
    /// interfaces for a wildcard, and the system does not list them. There is no runtime here, or its I/O or
    /// time driver is off, of which tokio also prints a panic's message ([`BindError::NoRuntime`]).
    pub fn bind(options: &EndpointOptions) -> Result<Self, BindError> {
        check_not_zero("backlog", options.backlog, "association")?;
        #[cfg(feature = "tls")]
        check_not_zero("max_handshakes_per_second", options.max_handshakes_per_second as usize, "handshake")?;
        check_shards(options)?;
        // A listener would reject it later, by the association's option of the same name.
        let idle_timeout = options.idle_timeout.map(Span::from);
        Config { idle_timeout, ..Config::default() }.validate()?;
        let (endpoint, drivers) = Self::open(options)?;
        for driver in drivers {
            let _task = endpoint.shards().runtime.spawn(driver);
        }
        Ok(endpoint)
    }

    /// Binds the sockets. Returns the endpoint and the tasks of its shards.
    pub(crate) fn open(options: &EndpointOptions) -> Result<(Self, Vec<Driver>), BindError> {
        let runtime = Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        if !has_timers() || !msctp_udp::has_io_driver() {
            return Err(BindError::NoRuntime);
        }
        let options = &options.with_both_families();
        let mut known = Known::ask();
        known.check(options)?;
        let [a, b, c, d, ..] = seed()?;
        let dispatch = Dispatch::new(options.shards, u32::from_ne_bytes([a, b, c, d]));
        let mut sockets = bind_all(options, known.host.as_deref(), &dispatch)?;
        let first = sockets[0].first().map(|socket| socket.local().port());
        let follows = options.mobility.is_some();
        let later = Later::new(options, first);
        // A wildcard waits for addresses, if something reports them.
        let waits = !later.wildcards.is_empty() && (known.watch.is_some() || follows);
        if first.is_none() && !waits {
            return Err(BindError::NoAddress);
        }
        let mut watch = known.watch.take().filter(|_| follows || !later.wildcards.is_empty());
        let host = Host::new(known.host.as_deref().unwrap_or_default(), &options.bind);
        let all = shards_of(options, &sockets, &host)?;
        let shards = Arc::new(Shards::new(dispatch, later, runtime, all));
        shards.each(|state| state.begin_to_follow(watch.is_some(), known.host.as_deref()));
        if let Some(error) = known.unwatched.filter(|_| follows) {
            log::not_followed(&error);
        }
        let drivers = shards.iter().zip(sockets.drain(..)).map(|(shard, sockets)| {
            Driver::new(Arc::clone(shard), Arc::clone(&shards), sockets, watch.take())
        });
        let drivers = drivers.collect();
        Ok((Self { owned: Arc::new(Owned(shards)) }, drivers))
    }

    pub(crate) fn shards(&self) -> &Arc<Shards> {
        &self.owned.0
    }

    /// Returns the local addresses with the UDP ports of their sockets. An unspecified address is that of a
    /// socket for which the kernel chooses the address of each association. Empty while a wildcard waits for
    /// its first address.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.shards().first().lock().locals.clone()
    }

    /// Listens for associations at an SCTP port; [`accept`](Self::accept) returns them.
    ///
    /// `security`: [`Tls`](crate::security::Tls), a pre-shared key, or [`Security::insecure`].
    ///
    /// # Errors
    ///
    /// An option is invalid, or the endpoint already listens at the port.
    pub fn listen(
        &self,
        port: u16,
        security: impl Into<Security>,
        config: Config,
    ) -> Result<(), ConfigError> {
        let config = security.into().over(config)?;
        Keys::check(&config.protection)?;
        let config = Config { protection: for_role(config.protection.clone(), true), ..config };
        let arrivals = Arc::new(Arrivals::default());
        // What one of them rejects, the first rejects.
        for shard in self.shards().iter() {
            listen_at(&mut shard.lock(), port, config.clone(), Arc::clone(&arrivals))?;
        }
        Ok(())
    }

    /// Accepts the next association at a port; `None` if the endpoint does not listen there, also after
    /// [`stop_listening`](Self::stop_listening) or [`close`](Self::close). Cancel-safe.
    pub async fn accept(&self, port: u16) -> Option<Association> {
        self.incoming(port).await.map(Incoming::accept)
    }

    /// Waits for the next association at a port, to inspect it before accepting or refusing it. Returns
    /// `None` as [`accept`](Self::accept) does. Cancel-safe.
    ///
    /// ```
    /// # use msctp::{Association, Endpoint};
    /// async fn accept_ipv4(endpoint: &Endpoint) -> Option<Association> {
    ///     loop {
    ///         let incoming = endpoint.incoming(msctp::DEFAULT_PORT).await?;
    ///         let ipv4 = incoming.remote_addresses().iter().all(|at| at.ip().to_canonical().is_ipv4());
    ///         if ipv4 {
    ///             return Some(incoming.accept());
    ///         }
    ///         incoming.refuse("IPv4 only");
    ///     }
    /// }
    /// ```
    pub async fn incoming(&self, port: u16) -> Option<Incoming> {
        poll_fn(|cx| self.poll_arrivals(port, |arrivals| self.poll_incoming(cx, arrivals))).await
    }

    /// Calls `f` with the arrivals at a port. Returns ready with `None` if nothing is accepted there.
    fn poll_arrivals<T>(&self, port: u16, f: impl FnOnce(&Arrivals) -> Poll<Option<T>>) -> Poll<Option<T>> {
        let state = self.shards().first().lock();
        let Some(arrivals) = state.listeners.get(&port).map(|listener| Arc::clone(&listener.arrivals)) else {
            return Poll::Ready(None);
        };
        drop(state);
        f(&arrivals)
    }

    fn poll_incoming(&self, cx: &Context<'_>, arrivals: &Arrivals) -> Poll<Option<Incoming>> {
        let Some((place, handle)) = ready!(arrivals.poll_next(cx)) else { return Poll::Ready(None) };
        let shard = self.shards().get(place);
        let mut state = shard.lock();
        if let Some(slot) = state.slots.get_mut(&handle) {
            slot.queued = false;
            slot.handles += 1;
        }
        drop(state);
        Poll::Ready(Some(Incoming::new(Association::new(Arc::clone(shard), handle, 0))))
    }

    /// Waits for the next rejected set-up at a port. This end rejected it for the peer's key, code or missing
    /// protection, because there were too many associations or the backlog was full, or key management
    /// failed.
    ///
    /// Returns `None` as [`accept`](Self::accept) does. Rejections that are not taken at once are counted
    /// together, so that no reason is lost ([`Rejected::count`](crate::security::Rejected)). Cancel-safe.
    #[cfg(feature = "tls")]
    pub async fn rejected(&self, port: u16) -> Option<crate::tls::Rejected> {
        poll_fn(|cx| self.poll_arrivals(port, |arrivals| arrivals.poll_rejected(cx))).await
    }

    /// Stops listening at a port; shuts down associations that were not accepted.
    pub fn stop_listening(&self, port: u16) {
        self.shards().each(|state| {
            state.close_listener(port);
            state.wake_driver();
        });
    }

    /// Sets an association up: `endpoint.connect(address, tls, Config::mobile()).await?`. The set-up begins
    /// with the call and needs no polling. Dropping the [`Connecting`] cancels it.
    ///
    /// `security`: [`Tls`](crate::security::Tls), a pre-shared key, or [`Security::insecure`].
    ///
    /// # Errors
    ///
    /// The future returns the errors: an option is invalid, or the peer does not answer or refuses.
    pub fn connect(
        &self,
        peer: impl Into<Peer>,
        security: impl Into<Security>,
        config: Config,
    ) -> Connecting {
        let (peer, security) = (peer.into(), security.into());
        let (udp_port, offers) = (peer.udp_port, security.encrypts());
        match security.over(config) {
            Ok(config) => self.connect_from(peer, config, None, (udp_port, offers)),
            Err(error) => Connecting::new(Err(error.into()), udp_port, offers),
        }
    }

    /// Begins a set-up whose first random port follows from `first`; `None`: from the system's numbers.
    pub(crate) fn connect_from(
        &self,
        peer: Peer,
        config: Config,
        first: Option<u16>,
        (udp_port, offers): (u16, bool),
    ) -> Connecting {
        let connecting = Connecting::new(self.begin(&peer, &config, first), udp_port, offers);
        if peer.local_port.is_some() {
            return connecting;
        }
        let owned = Arc::downgrade(&self.owned);
        let begin = move || Some(Self { owned: owned.upgrade()? }.begin(&peer, &config, None));
        connecting.with_other_ports(Box::new(begin))
    }

    /// Begins an association.
    fn begin(&self, peer: &Peer, config: &Config, first: Option<u16>) -> Result<Association, ConnectError> {
        let (peer, config) = (peer.clone(), config.clone());
        let chosen = self.chosen_for(&peer);
        let remote = RemoteAddrs { port: peer.port, addresses: peer.addresses.clone() };
        // The ports select the shard.
        if let Some(port) = peer.local_port {
            let shard = self.shards().of_ports(port, remote.port);
            return begin_at(shard, &mut shard.lock(), port, (peer, &chosen), config);
        }
        // A port without an association to this peer: a random one, or the next free one above it.
        let none = |want: &str| ConfigError {
            field: "local.port",
            value: "random".to_owned(),
            want: want.to_owned(),
        };
        let first = first.or_else(|| self.shards().random());
        let first = first.ok_or_else(|| none("a system with random numbers, or a port"))?;
        for offset in FIRST_DYNAMIC..=u16::MAX {
            let port = first.wrapping_add(offset) | FIRST_DYNAMIC;
            let shard = self.shards().of_ports(port, remote.port);
            let mut state = shard.lock();
            if !state.core.is_associated(port, &remote) {
                return begin_at(shard, &mut state, port, (peer, &chosen), config);
            }
        }
        Err(none("fewer than 16384 associations to one peer, or another endpoint").into())
    }

    /// Returns the associations that are up, except those that were not accepted yet or whose handles were
    /// dropped.
    ///
    /// The returned handles count like any other: an association without further handles shuts down when they
    /// are dropped.
    pub fn associations(&self) -> Vec<Association> {
        let of_shard = |shard: &Arc<Shared>| {
            let handles = shard.lock().in_use();
            let new = |(handle, restarts)| Association::new(Arc::clone(shard), handle, restarts);
            handles.into_iter().map(new).collect::<Vec<_>>()
        };
        self.shards().iter().flat_map(of_shard).collect()
    }

    /// Waits until every association of this endpoint is over and the kernel has their last packets. Handles
    /// to them may still be held. [`close`](Self::close) also ends them.
    pub async fn idle(&self) {
        self.wait_for(State::is_idle).await;
    }

    /// Returns the time since the endpoint was bound, which is the time base of its traces.
    pub fn now(&self) -> Time {
        self.shards().first().lock().now()
    }

    /// Returns the number of packets that the kernel rejected. Reasons are a missing route, a packet too
    /// large for the interface, or a full queue.
    pub fn send_errors(&self) -> u64 {
        self.shards().each(|state| state.send_errors).into_iter().sum()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("local_addresses", &self.local_addresses()).finish_non_exhaustive()
    }
}

/// Rejects an option that is 0.
fn check_not_zero(field: &'static str, value: usize, what: &str) -> Result<(), ConfigError> {
    match value {
        0 => Err(ConfigError { field, value: "0".to_owned(), want: format!("at least 1 {what}") }),
        _ => Ok(()),
    }
}

/// Rejects a number of shards for which sockets cannot be bound.
fn check_shards(options: &EndpointOptions) -> Result<(), ConfigError> {
    let error = |want: &str| ConfigError {
        field: "shards",
        value: options.shards.to_string(),
        want: want.to_owned(),
    };
    match options.shards {
        1 => Ok(()),
        0 => Err(error("at least 1")),
        shards if shards > MAX_SHARDS => Err(error(&format!("at most {MAX_SHARDS}"))),
        _ if options.mobility.is_some() => {
            Err(error("1 for an endpoint that follows the host's interfaces (`mobility`)"))
        }
        _ if !cfg!(target_os = "linux") => Err(error("1: several sockets share an address on Linux only")),
        _ => Ok(()),
    }
}

/// Returns whether the current runtime has its time driver. Tokio says so only by a panic.
fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

fn seed() -> Result<[u8; 32], BindError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| BindError::System { what: "random numbers", error: io::Error::other(error) })?;
    Ok(seed)
}

/// Creates the states of all shards, with these sockets.
fn shards_of(
    options: &EndpointOptions,
    sockets: &[Vec<Socket>],
    host: &Host,
) -> Result<Vec<Arc<Shared>>, BindError> {
    let first = Core::new(options.core.clone(), seed()?)?;
    let mut cores = vec![];
    for _ in 1..options.shards {
        cores.push(first.shard(seed()?));
    }
    let clock = Clock::start();
    let unproven = OfEndpoint::new(options.core.max_associations.div_ceil(4));
    let of = options.shards;
    let shards = std::iter::once(first).chain(cores).zip(0..).zip(sockets).map(|((core, index), sockets)| {
        let locals = sockets.iter().map(Socket::local).collect();
        Shared::new(core, clock, (locals, host.clone()), options, Place { index, of }, unproven.clone())
    });
    Ok(shards.collect())
}

/// Listens at a port of one shard.
fn listen_at(
    state: &mut State,
    port: u16,
    config: Config,
    arrivals: Arc<Arrivals>,
) -> Result<(), ConfigError> {
    if state.closed {
        let want = "an endpoint that is not closed: bind another".to_owned();
        return Err(ConfigError { field: "endpoint", value: "closed".to_owned(), want });
    }
    let config = state.adapted(config);
    let addresses = state.local_ips();
    state.core.listen(LocalAddrs { port, addresses }, config.clone())?;
    state.listeners.insert(port, Listener { config, arrivals });
    Ok(())
}

/// Begins an association from this SCTP port, on the port's shard. `chosen` are the kernel's choices of local
/// addresses.
fn begin_at(
    shard: &Arc<Shared>,
    state: &mut State,
    port: u16,
    (peer, chosen): (Peer, &[IpAddr]),
    config: Config,
) -> Result<Association, ConnectError> {
    let first = *peer.addresses.first().ok_or(ConnectError::NoRemoteAddress)?;
    if state.closed {
        return Err(ConnectError::EndpointClosed);
    }
    if peer.udp_port == 0 {
        return Err(ConnectError::NoUdpPort);
    }
    if let Some(address) = peer.addresses.iter().find(|address| !msctp_proto::is_endpoint(address)) {
        return Err(ConnectError::NotUnicast(*address));
    }
    if state.locals.is_empty() {
        return Err(ConnectError::NoNetwork);
    }
    let reaches = |local: &IpAddr| peer.addresses.iter().any(|remote| msctp_proto::can_pair(local, remote));
    let mut addresses = state.sources(chosen);
    let fixed = peer.from.is_some() && !state.core.follows_links();
    if let Some(from) = peer.from {
        let Some(&named) = from.first() else {
            let want = "at least one address, or None".to_owned();
            return Err(ConfigError { field: "peer.from", value: "[]".to_owned(), want }.into());
        };
        addresses = from.into_iter().filter(|address| state.socket_of(*address).is_some()).collect();
        if addresses.is_empty() {
            return Err(ConnectError::NoSocket(named));
        }
    }
    addresses.retain(reaches);
    if addresses.is_empty() {
        return Err(state.unreached(SocketAddr::new(first, peer.udp_port)));
    }
    Keys::check(&config.protection)?;
    let mut config = config;
    if state.one_by_one {
        // RFC 6951 §5.7: the INIT names none. The first answer decides which one is used, and the others are
        // added once the association is up.
        config.offer.list_addresses = false;
    }
    let config = state.used_options(config);
    let local = LocalAddrs { port, addresses };
    let remote = RemoteAddrs { port: peer.port, addresses: peer.addresses };
    let now = state.now();
    let keys = Keys::of(&config.protection);
    let handle = state.core.connect(now, config, local, remote)?;
    if let Some(association) = state.core.association_mut(handle) {
        association.encapsulate(peer.udp_port);
        if fixed {
            association.keep_addresses();
        }
    }
    let mut slot = Box::new(Slot::new(Phase::Connecting, 1));
    slot.keys = keys;
    state.insert_slot(handle, slot);
    state.limit_set_up(now, handle);
    state.wake_driver();
    Ok(Association::new(Arc::clone(shard), handle, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often both endpoints process associations. `count` associations are set up, each sends a
    /// little and waits for the acknowledgement, and all end.
    fn looked_at(count: usize) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = || EndpointOptions::new(["127.0.0.1:0".parse().unwrap()]);
            let (a, b) = (Endpoint::bind(&options()).unwrap(), Endpoint::bind(&options()).unwrap());
            b.listen(9, Security::insecure(), Config::default()).unwrap();
            let peer = Peer { port: 9, ..Peer::new(b.local_addresses()[0]) };
            let (mut here, mut there) = (Vec::new(), Vec::new());
            for _ in 0..count {
                here.push(a.connect(peer.clone(), Security::insecure(), Config::default()).await.unwrap());
                there.push(b.accept(9).await.unwrap());
            }
            for association in &here {
                association.send_bytes(0, vec![1; 10]).await.unwrap();
            }
            // All wait at once.
            let mut waits: Vec<_> = here.iter().map(|association| Box::pin(association.flush())).collect();
            for wait in &mut waits {
                let waits = poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx).is_pending())).await;
                assert!(waits, "nothing was sent yet");
            }
            for wait in waits {
                wait.await.unwrap();
            }
            drop((here, there));
            a.idle().await;
            b.idle().await;
            let looked = |endpoint: &Endpoint| endpoint.shards().first().lock().looked;
            looked(&a) + looked(&b)
        })
    }

    #[tokio::test]
    async fn the_mobile_profile_moves_with_anticipate_and_the_rfcs_does_not() {
        let endpoint = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
        let state = endpoint.shards().first().lock();
        let policy = |config| state.adapted(config).handover_policy.make().name();
        assert_eq!([Config::mobile(), Config::default()].map(policy), ["anticipate", "conservative"]);
    }

    #[test]
    fn what_is_looked_at_grows_with_what_happens_and_not_with_how_many_there_are() {
        let (few, many) = (looked_at(20), looked_at(160));
        assert!(few >= 20, "{few}: each is looked at once at least");
        // A packet, timer or call looks after its own association only: eight times as many take eight times
        // the work, plus some for how packets are batched. Looking after all each time would take sixty times
        // the work.
        assert!(many <= few * 16, "{few} for 20 associations, {many} for 160");
    }
}
