//! UDP datagrams of SOCKS5 (RFC 1928, section 7): [`associate`] at the client, [`relay`] at the server.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use msctp_forward::proxy::{Greeting, associated, parse_datagram, wrap_datagram};
use msctp_forward::{Datagram, End, Reason, Target, Verdict};
use msctp_terminal::system::os_error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::carry::detect_loss;
use super::client::{Links, open};
use super::link::{Connection, Direction};
use super::report::{ClientReport, Happened, Report};
use super::resolve::Resolver;
use super::server::Access;

/// Maximum number of UDP associations of one client: each uses two sockets.
pub(super) const ASSOCIATIONS: usize = 64;

/// Maximum number of addresses with which a client exchanges datagrams. A new address evicts the one that was
/// sent to longest ago.
const PEERS: usize = 256;

/// Time without a datagram after which the server ends a UDP association. RFC 4787 §4.3 recommends 5 minutes
/// for NATs. Without the limit, a program that keeps its TCP connection and sends nothing would occupy one of
/// the client's places.
pub(super) const IDLE: Duration = Duration::from_secs(300);

/// Size and lifetime of the cache of a client's resolved names.
const NAMES: usize = 64;
const NAME_KEPT: Duration = Duration::from_secs(60);

/// Serves UDP ASSOCIATE until the client closes its TCP connection.
pub(super) async fn associate(
    mut stream: TcpStream,
    greeting: &Greeting,
    links: Links,
    timeout: Duration,
    name: &str,
    report: Report,
) {
    let target = Target::Udp.to_string();
    let client = name.to_owned();
    detect_loss(&stream);
    let made = async {
        let connection = open(&Target::Udp, links, timeout).await?;
        let datagrams = connection.datagrams();
        let mut byte = [0; 1];
        tokio::select! {
            opened = connection.opened() => opened?,
            _ = stream.read(&mut byte) => return Err(End::new(Reason::Reset, "the program closed it")),
        }
        let failed = |error: io::Error| End::new(Reason::Unreachable, os_error(&error));
        let own = stream.local_addr().map_err(failed)?;
        let socket = UdpSocket::bind(SocketAddr::new(own.ip(), 0)).await.map_err(failed)?;
        let at = socket.local_addr().map_err(failed)?;
        Ok((connection, datagrams, socket, at))
    };
    let (connection, mut datagrams, socket, at) = match made.await {
        Ok(made) => made,
        Err(end) => {
            let end: End = end;
            report.tell(&Happened::Failed { client, target, why: end.to_string() });
            let _ = stream.write_all(&greeting.failure(end.reason)).await;
            let _ = stream.shutdown().await;
            return;
        }
    };
    if stream.write_all(&associated(at)).await.is_err() {
        return;
    }
    report.tell(&Happened::Opened { client: client.clone(), target: target.clone() });
    let allowed = stream.peer_addr().map(|peer| peer.ip()).ok();
    let (mut program, mut sent, mut received): (Option<SocketAddr>, u64, u64) = (None, 0, 0);
    let mut byte = [0; 1];
    let result = loop {
        tokio::select! {
            got = receive(&connection, Some(&socket)) => {
                // An ICMP error of an earlier datagram ends nothing.
                let Ok((datagram, from)) = got else { continue };
                // The first source has the association: other programs of the host may not use it.
                if Some(from.ip()) != allowed || program.is_some_and(|program| program != from) {
                    continue;
                }
                if let Some((host, port, data)) = parse_datagram(&datagram) {
                    program = Some(from);
                    sent += data.len() as u64;
                    connection.send_datagram(host, port, datagram.slice_ref(data));
                }
            }
            Some(Datagram { host, port, data, .. }) = datagrams.recv() => {
                if let (Some(program), Ok(ip)) = (program, host.parse()) {
                    received += data.len() as u64;
                    let _ = socket.send_to(&wrap_datagram(SocketAddr::new(ip, port), &data), program).await;
                }
            }
            // RFC 1928: the association ends with the TCP connection, on which nothing else is expected.
            _ = stream.read(&mut byte) => break Ok(()),
            end = connection.failure(Direction::Inward) => break Err(end),
        }
    };
    report.tell(&Happened::end(name, &target, &result, (sent, received)));
}

/// The server's end of a client's UDP association.
struct Relay<'a> {
    access: &'a Access,
    v4: UdpSocket,
    /// The IPv6 socket; `None` if the host has no IPv6.
    v6: Option<UdpSocket>,
    /// Addresses that the client has sent to, with the time of the last datagram. Only these may answer.
    peers: BTreeMap<SocketAddr, Instant>,
    names: BTreeMap<String, (Instant, Vec<IpAddr>)>,
    /// When the last datagram passed.
    used: Instant,
    sent: u64,
    received: u64,
}

/// Exchanges a client's datagrams with the targets that the rules allow. Ends with the connection, or after
/// `idle` without a datagram.
pub(super) async fn relay(
    connection: &Connection,
    access: &Access,
    resolver: &Resolver,
    idle: Duration,
    report: &ClientReport,
) {
    let (client, target) = (report.client().to_owned(), Target::Udp.to_string());
    let failed = |target, why: String| report.tell(&Happened::Failed { client: client.clone(), target, why });
    let mut datagrams = connection.datagrams();
    let mut relay = match Relay::new(access).await {
        Ok(relay) => relay,
        Err(error) => {
            let end = End::new(Reason::Unreachable, os_error(&error));
            failed(target, end.to_string());
            return connection.fail(end);
        }
    };
    connection.accept();
    report.tell(&Happened::Opened { client: client.clone(), target: target.clone() });
    let (mut resolving, mut told) = (JoinSet::new(), false);
    let result = loop {
        let outcome = tokio::select! {
            Some(datagram) = datagrams.recv() => relay.forward(datagram, resolver, &mut resolving).await,
            Some(Ok((datagram, found))) = resolving.join_next() => {
                relay.keep(&datagram.host, &found);
                relay.send(&datagram, &found).await
            }
            Ok((data, from)) = receive(connection, Some(&relay.v4)) => {
                relay.answer(connection, from, data);
                Ok(())
            }
            Ok((data, from)) = receive(connection, relay.v6.as_ref()) => {
                relay.answer(connection, from, data);
                Ok(())
            }
            _ = connection.failure(Direction::Inward) => break Ok(()),
            () = tokio::time::sleep_until(relay.used + idle) => {
                let end = End::new(Reason::Limit, format!("{} s without a datagram", idle.as_secs()));
                connection.fail(end.clone());
                break Err(end);
            }
        };
        if let Err(datagram) = outcome
            && !std::mem::replace(&mut told, true)
        {
            let target = format!("UDP {}:{}", datagram.host, datagram.port);
            let why = format!("{}: {}", Reason::Forbidden, Verdict::Denied);
            failed(target, why);
        }
    };
    report.tell(&Happened::end(&client, &target, &result, (relay.sent, relay.received)));
}

/// Receives from a socket, if there is one, into the link's shared buffer. An idle association then uses no
/// memory for a buffer.
async fn receive(connection: &Connection, socket: Option<&UdpSocket>) -> io::Result<(Bytes, SocketAddr)> {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        socket.readable().await?;
        let received = connection.with_scratch(|scratch| {
            let (len, from) = socket.try_recv_from(scratch)?;
            Ok((Bytes::copy_from_slice(&scratch[..len]), from))
        });
        match received {
            Err(error) if io::Error::kind(&error) == io::ErrorKind::WouldBlock => {}
            received => return received,
        }
    }
}

/// Removes the entry with the earliest time.
fn remove_oldest<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, time: impl Fn(&V) -> Instant) {
    let oldest = map.iter().min_by_key(|(_, value)| time(value)).map(|(key, _)| key.clone());
    oldest.and_then(|key| map.remove(&key));
}

impl<'a> Relay<'a> {
    async fn new(access: &'a Access) -> io::Result<Self> {
        let v4 = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
        let v6 = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).await.ok();
        let (peers, names) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { access, v4, v6, peers, names, used: Instant::now(), sent: 0, received: 0 })
    }

    /// Returns the addresses of a datagram's host if it is an address or a cached name.
    fn known(&self, datagram: &Datagram) -> Option<Vec<IpAddr>> {
        if let Ok(address) = datagram.host.parse() {
            return Some(vec![address]);
        }
        let (since, addresses) = self.names.get(&datagram.host)?;
        (since.elapsed() < NAME_KEPT).then(|| addresses.clone())
    }

    /// Caches the addresses of a name.
    fn keep(&mut self, host: &str, addresses: &[IpAddr]) {
        if self.names.len() >= NAMES && !self.names.contains_key(host) {
            remove_oldest(&mut self.names, |(since, _)| *since);
        }
        self.names.insert(host.to_owned(), (Instant::now(), addresses.to_vec()));
    }

    /// Sends a client's datagram, or begins to resolve its host. Returns it if the rules allow no address.
    async fn forward(
        &mut self,
        datagram: Datagram,
        resolver: &Resolver,
        resolving: &mut JoinSet<(Datagram, Vec<IpAddr>)>,
    ) -> Result<(), Datagram> {
        self.used = Instant::now();
        if let Some(addresses) = self.known(&datagram) {
            return self.send(&datagram, &addresses).await;
        }
        if !self.access.rules().may_allow(&datagram.host, datagram.port) {
            return Err(datagram);
        }
        // Without a place it is dropped.
        if let Some(place) = resolver.hold() {
            let resolver = resolver.clone();
            resolving.spawn(async move {
                let found = resolver.resolve(&datagram.host).await.unwrap_or_default();
                drop(place);
                (datagram, found)
            });
        }
        Ok(())
    }

    /// Sends a datagram to the first address that the rules allow. Returns it if they allow none.
    async fn send(&mut self, datagram: &Datagram, addresses: &[IpAddr]) -> Result<(), Datagram> {
        let (host, port) = (datagram.host.as_str(), datagram.port);
        let rules = self.access.rules();
        let allowed =
            |address: &&IpAddr| self.access.check(&rules, host, **address, port) == Verdict::Allowed;
        let Some(address) = addresses.iter().find(allowed) else { return Err(datagram.clone()) };
        let to = SocketAddr::new(address.to_canonical(), port);
        if self.peers.len() >= PEERS && !self.peers.contains_key(&to) {
            remove_oldest(&mut self.peers, |used| *used);
        }
        self.peers.insert(to, Instant::now());
        let socket = if to.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() };
        if let Some(socket) = socket {
            self.sent += datagram.data.len() as u64;
            // Lost, as datagrams may be: unreachable, or too large.
            let _ = socket.send_to(&datagram.data, to).await;
        }
        Ok(())
    }

    /// Passes an answer on to the client, if it has sent to that address.
    fn answer(&mut self, connection: &Connection, from: SocketAddr, data: Bytes) {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        if self.peers.contains_key(&from) {
            self.used = Instant::now();
            self.received += data.len() as u64;
            connection.send_datagram(from.ip().to_string(), from.port(), data);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};
    use msctp_forward::{Limits, Role, Rules};

    use super::super::link::Link;
    use super::super::server::OfSource;
    use super::*;

    #[tokio::test]
    async fn an_association_without_datagrams_ends_after_the_idle_limit() {
        const LIMIT: Duration = Duration::from_secs(3);
        let options = EndpointOptions::new(["127.0.0.1:0".parse().unwrap()]);
        let (here, there) = (Endpoint::bind(&options).unwrap(), Endpoint::bind(&options).unwrap());
        there.listen(7, Security::insecure(), Config::mobile()).unwrap();
        let peer = Peer { port: 7, ..Peer::new(there.local_addresses()[0]) };
        let association = here.connect(peer, Security::insecure(), Config::mobile()).await.unwrap();
        let accepted = there.accept(7).await.unwrap();
        let (client, _) = Link::new(association, Role::Client, Limits::default());
        let (server, mut opens) = Link::new(accepted, Role::Server, Limits::default());
        let target = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = target.local_addr().unwrap().port();
        let mut rules = Rules::default();
        rules.allow("127.0.0.1:*").unwrap();
        let connection = client.open(Target::Udp).unwrap();
        let program = async {
            connection.opened().await.unwrap();
            let (begin, mut longest) = (Instant::now(), Duration::ZERO);
            for _ in 0..15 {
                let sent = Instant::now();
                connection.send_datagram("127.0.0.1".to_owned(), port, Bytes::from_static(b"x"));
                tokio::time::sleep(LIMIT / 8).await;
                longest = longest.max(sent.elapsed());
            }
            let end = connection.failure(Direction::Inward).await;
            assert_eq!((end.reason, end.text.as_str()), (Reason::Limit, "3 s without a datagram"));
            // Unless the machine held the test up for as long.
            let kept = begin.elapsed() > LIMIT * 2;
            assert!(kept || longest > LIMIT / 2, "datagrams keep it");
        };
        let relayed = async {
            let Some(opening) = opens.recv().await else { return };
            let report = Report { json: false, quiet: true };
            let report = ClientReport::new("client".to_owned(), report, Arc::default());
            let access = Access::new(rules);
            let resolver = Resolver::new(Arc::new(OfSource::new(0)));
            relay(&opening.connection, &access, &resolver, LIMIT, &report).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = program => {}
            () = relayed => panic!("the client opens it"),
            result = client.run(|_| Ok(())) => panic!("{result:?}"),
            result = server.run(|_| Ok(())) => panic!("{result:?}"),
            () = tokio::time::sleep(Duration::from_secs(120)) => panic!("it hangs"),
        }
    }
}
