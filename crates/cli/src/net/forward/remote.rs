//! Remote forwarding (-R): the server listens for a client, and the client connects to the targets.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msctp::Message;
use msctp_forward::{End, Reason, Target};
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::carry::{carry_tcp, reset_when_dropped};
use super::link::{Link, Opening};
use super::report::{ClientReport, Happened, Report};
use super::server::Access;
use super::specs::Remote;
use super::{Control, Wanted, dial};
use crate::net::listen::ACCEPT_PAUSE;
use crate::net::outage;
use crate::net::service::Service;
use crate::net::status::Monitor;
use crate::net::text::escape;

/// Maximum number of a client's listeners.
const LISTENERS: usize = 64;

/// The server's answer to a request: the listener's number, and its address or the error.
pub(super) type Answer = (u16, Result<SocketAddr, String>);

/// Reads a control message of the server.
pub(super) fn read_answer(
    message: &Message,
    remotes: usize,
    answers: &mpsc::Sender<Answer>,
) -> Result<(), Failure> {
    let answer = match Service::Forward.read(message)? {
        Control::Listening { number, at } => Some((number, Ok(at))),
        Control::Refused { number, why } => Some((number, Err(why))),
        Control::Hello { .. } | Control::Listen { .. } => None,
    };
    // There is room for one answer to each request.
    let unexpected = || Failure::Run("the server sent an unexpected control message".to_owned());
    let answer = answer.filter(|(number, _)| usize::from(*number) < remotes).ok_or_else(unexpected)?;
    answers.try_send(answer).map_err(|_| unexpected())
}

/// Requests the listeners until the server has opened all of them. A lost association of this client may
/// still hold a port.
pub(super) async fn request(
    link: &Link,
    remotes: &[Remote],
    moved: bool,
    mut answers: mpsc::Receiver<Answer>,
    report: Report,
) {
    let mut wanted: Vec<u16> = (0..).take(remotes.len()).collect();
    let (mut pause, mut first) = (outage::FIRST_PAUSE, true);
    while !wanted.is_empty() {
        for &number in &wanted {
            let at = remotes[usize::from(number)].bind;
            if Service::Forward
                .send(link.association(), &Control::Listen { number, at, moved })
                .await
                .is_err()
            {
                // The association is over, as its other tasks report.
                return;
            }
        }
        for _ in 0..wanted.len() {
            let Some((number, answer)) = answers.recv().await else { return };
            let forward = remotes[usize::from(number)].to_string();
            match answer {
                Ok(at) => {
                    wanted.retain(|&other| other != number);
                    report.tell(&Happened::Listening { forward, at });
                }
                Err(why) if first => report.tell(&Happened::Refused { forward, why: escape(&why) }),
                Err(_) => {}
            }
        }
        first = false;
        tokio::time::sleep(pause).await;
        pause = outage::longer(pause);
    }
}

/// Connects to the target of a connection that the server accepted, and carries it.
pub(super) async fn connect_back(opening: Opening, remotes: Arc<[Remote]>, report: Report) {
    let Opening { connection, target } = opening;
    let remote = match target {
        Target::Listener(number) => remotes.get(usize::from(number)),
        Target::Host { .. } | Target::Udp => None,
    };
    let Some(remote) = remote else {
        return connection.fail(End::new(Reason::Forbidden, "no -R has this target"));
    };
    let (client, target) = (remote.to_string(), remote.target().to_string());
    let dialed = tokio::select! {
        dialed = dial((remote.host.as_str(), remote.port)) => dialed,
        end = connection.failure(super::link::Direction::Inward) => Err(end),
    };
    match dialed {
        Ok(stream) => {
            connection.accept();
            report.tell(&Happened::Opened { client: client.clone(), target: target.clone() });
            let result = carry_tcp(&connection, &[], stream).await;
            report.tell(&Happened::end(&client, &target, &result, connection.counts()));
        }
        Err(end) => {
            report.tell(&Happened::Failed { client, target, why: end.to_string() });
            connection.fail(end);
        }
    }
}

/// Time for a listener of an aborted association to close.
const CLOSE: Duration = Duration::from_secs(1);

/// Interval at which to check for a closed listener.
const LOOK: Duration = Duration::from_millis(20);

/// The link that holds a listener, and the means to close that listener alone.
#[derive(Clone)]
struct Holder {
    link: Arc<Link>,
    close: Arc<Notify>,
}

/// The links of all clients that have listeners, by the listeners' addresses.
#[derive(Clone, Default)]
pub(super) struct Holders(Arc<Mutex<BTreeMap<SocketAddr, Holder>>>);

impl Holders {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Holder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the holder of the port at this address.
    fn holder(&self, at: SocketAddr) -> Option<Holder> {
        let conflicts = |held: &SocketAddr| {
            let any = held.ip().is_unspecified() || at.ip().is_unspecified();
            held.port() == at.port() && held.is_ipv4() == at.is_ipv4() && (any || held.ip() == at.ip())
        };
        self.lock().iter().find(|(held, _)| conflicts(held)).map(|(_, holder)| holder.clone())
    }
}

/// A listener's entry among the [`Holders`].
struct Held {
    holders: Holders,
    at: SocketAddr,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.holders.lock().remove(&self.at);
    }
}

/// The listeners of a server for one client.
#[derive(Clone)]
pub(super) struct Listeners {
    link: Arc<Link>,
    holders: Holders,
    access: Access,
    /// Number of listeners that the client may still open.
    free: Arc<Semaphore>,
    /// Number of connections that the listeners may still accept.
    connections: Arc<Semaphore>,
    report: Arc<ClientReport>,
    monitor: Monitor,
}

impl Listeners {
    pub(super) fn new(
        link: &Arc<Link>,
        holders: Holders,
        access: Access,
        connections: usize,
        report: &Arc<ClientReport>,
        monitor: &Monitor,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(connections));
        let (link, free) = (Arc::clone(link), Arc::new(Semaphore::new(LISTENERS)));
        Self {
            link,
            holders,
            access,
            free,
            connections,
            report: Arc::clone(report),
            monitor: monitor.clone(),
        }
    }

    /// Answers a request, and holds its place until then. Accepts connections until the association is over,
    /// if the rules allow the address.
    pub(super) async fn listen(self, wanted: Wanted, request: OwnedSemaphorePermit) {
        let number = wanted.number;
        let place = Arc::clone(&self.free).try_acquire_owned();
        let bound = match &place {
            Ok(_) => self.bind(wanted).await,
            Err(_) => Err(format!("the client has {LISTENERS} listeners, the maximum; use fewer -R")),
        };
        let answer = match &bound {
            Ok((_, at)) => Control::Listening { number, at: *at },
            Err(why) => {
                self.monitor.note_refused("listener");
                Control::Refused { number, why: why.clone() }
            }
        };
        // An association that is over ends this task.
        let _ = Service::Forward.send(self.link.association(), &answer).await;
        drop(request);
        let Ok((listener, at)) = bound else { return };
        let held = Held { holders: self.holders.clone(), at };
        let close = Arc::<Notify>::default();
        held.holders.lock().insert(at, Holder { link: Arc::clone(&self.link), close: Arc::clone(&close) });
        let forward = format!("-R of {}", self.report.client());
        self.report.tell(&Happened::Listening { forward, at });
        self.accept(number, held, listener, &close).await;
    }

    async fn bind(&self, wanted: Wanted) -> Result<(TcpListener, SocketAddr), String> {
        let at = SocketAddr::new(wanted.at.ip().to_canonical(), wanted.at.port());
        if !self.access.rules().may_listen(at.ip(), at.port()) {
            return Err(format!("no rule of the server's --rules file allows `listen {at}`"));
        }
        let listener = match listen_at(at) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && self.replace_holder(at, wanted.moved).await =>
            {
                listen_at(at)
            }
            result => result,
        };
        let listener = listener.map_err(|error| format!("{at}: {}", os_error(&error)))?;
        let at = listener.local_addr().unwrap_or(at);
        Ok((listener, at))
    }

    /// Takes the address from an earlier association of the same client. Returns whether the address is free.
    ///
    /// An association that does not answer ends: the client was killed and has reconnected. One that was
    /// `moved` loses only the listener, if the client's key proves that it is the same client.
    async fn replace_holder(&self, at: SocketAddr, moved: bool) -> bool {
        let key = |of: &Link| of.association().peer_identity().map(|peer| peer.fingerprint);
        let Some(Holder { link, close }) = self.holders.holder(at) else { return false };
        let own = key(&self.link);
        if Arc::ptr_eq(&link, &self.link) || key(&link) != own {
            return false;
        }
        if moved && own.is_some() {
            close.notify_one();
        } else if outage::is_silent(link.association()).await {
            link.association().abort("the same client connected again");
        } else {
            return false;
        }
        let closed = async {
            while self.holders.holder(at).is_some() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(CLOSE, closed).await.is_ok()
    }

    /// Accepts a connection, and takes its place. One connection beyond the limit waits here, further ones in
    /// the system's queue. A listener without connections takes no place.
    async fn accept_one(
        &self,
        listener: &TcpListener,
    ) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let (stream, from) = listener.accept().await?;
        reset_when_dropped(&stream);
        let place = Arc::clone(&self.connections).acquire_owned().await.map_err(io::Error::other)?;
        Ok((stream, from, place))
    }

    /// Accepts connections until the server drains, or `close` is notified.
    async fn accept(&self, number: u16, held: Held, listener: TcpListener, close: &Notify) {
        let at = held.at;
        let target = format!("{} through {at}", self.report.client());
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = self.accept_one(&listener) => accepted,
                () = async { tokio::select! { () = self.monitor.draining() => {}, () = close.notified() => {} } } => {
                    drop(listener);
                    drop(held);
                    while tasks.join_next().await.is_some() {}
                    return;
                }
            };
            let (stream, from, place) = match accepted {
                Ok((stream, from, place)) => (stream, from.to_string(), place),
                Err(error) => {
                    let (client, why) = (at.to_string(), format!("cannot accept: {}", os_error(&error)));
                    self.report.tell(&Happened::Failed { client, target: target.clone(), why });
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let (report, target) = (Arc::clone(&self.report), target.clone());
            match self.link.open(Target::Listener(number)) {
                Ok(connection) => {
                    report.tell(&Happened::Opened { client: from.clone(), target: target.clone() });
                    tasks.spawn(async move {
                        let result = carry_tcp(&connection, &[], stream).await;
                        report.tell(&Happened::end(&from, &target, &result, connection.counts()));
                        drop(place);
                    });
                }
                Err(end) => report.tell(&Happened::Failed { client: from, target, why: end.to_string() }),
            }
        }
    }
}

/// Listens at an address. `[::]` accepts IPv6 only, since no rule was checked for an IPv4 address.
fn listen_at(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = if at.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    if at.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    // As `TcpListener::bind` does.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(1024)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[tokio::test]
    async fn a_listener_at_every_ipv6_address_takes_no_ipv4_address() {
        let Ok(listener) = listen_at((Ipv6Addr::UNSPECIFIED, 0).into()) else {
            assert!(TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_err(), "this host has no IPv6");
            return;
        };
        let port = listener.local_addr().unwrap().port();
        assert!(tokio::net::TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.is_ok());
        assert!(listen_at((Ipv4Addr::LOCALHOST, port).into()).is_ok(), "the port of IPv4 is free");
    }
}
