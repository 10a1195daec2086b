//! Remote forwarding (-R): the server listens for a client, and the client connects to the targets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use msctp::Message;
use msctp_forward::{End, Reason, Rules, Target};
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::carry::{carry_tcp, reset_when_dropped};
use super::client::{ACCEPT_PAUSE, MAX_PAUSE};
use super::link::{Link, Opening};
use super::report::{Happened, Report};
use super::specs::Remote;
use super::{Control, dial};
use crate::Failure;
use crate::net::service::Service;
use crate::net::text::escape;
use crate::system::os_error;

/// Listeners that a client may have at a time.
const LISTENERS: usize = 64;

/// The server's answer to a request: the listener's number, and where it listens or why it does not.
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

/// Requests the listeners until the server has all of them: a lost association of this client may still hold
/// a port.
pub(super) async fn request(
    link: &Link,
    remotes: &[Remote],
    mut answers: mpsc::Receiver<Answer>,
    report: Report,
) {
    let mut wanted: Vec<u16> = (0..).take(remotes.len()).collect();
    let (mut pause, mut first) = (Duration::from_secs(1), true);
    while !wanted.is_empty() {
        for &number in &wanted {
            let at = remotes[usize::from(number)].bind;
            if Service::Forward.send(link.association(), &Control::Listen { number, at }).await.is_err() {
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
        pause = (pause * 2).min(MAX_PAUSE);
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

/// The listeners of a server for one client.
#[derive(Clone)]
pub(super) struct Listeners {
    link: Arc<Link>,
    rules: Arc<Rules>,
    /// Listeners that the client may still have.
    free: Arc<Semaphore>,
    /// Accepted connections that it may still have.
    connections: Arc<Semaphore>,
    /// The client, for the reports.
    name: String,
    report: Report,
}

impl Listeners {
    pub(super) fn new(
        link: &Arc<Link>,
        rules: Arc<Rules>,
        connections: usize,
        name: &str,
        report: Report,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(connections));
        let (link, free) = (Arc::clone(link), Arc::new(Semaphore::new(LISTENERS)));
        Self { link, rules, free, connections, name: name.to_owned(), report }
    }

    /// Answers a request, which has its place until then. If the rules allow it, accepts connections until
    /// the association is over.
    pub(super) async fn listen(self, number: u16, at: SocketAddr, request: OwnedSemaphorePermit) {
        let place = Arc::clone(&self.free).try_acquire_owned();
        let bound = match &place {
            Ok(_) => self.bind(at).await,
            Err(_) => Err(format!("the client has {LISTENERS} listeners, the maximum; want fewer -R")),
        };
        let answer = match &bound {
            Ok((_, at)) => Control::Listening { number, at: *at },
            Err(why) => Control::Refused { number, why: why.clone() },
        };
        // An association that is over ends this task.
        let _ = Service::Forward.send(self.link.association(), &answer).await;
        drop(request);
        let Ok((listener, at)) = bound else { return };
        let forward = format!("-R of {}", self.name);
        self.report.tell(&Happened::Listening { forward, at });
        self.accept(number, at, listener).await;
    }

    async fn bind(&self, at: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
        let at = SocketAddr::new(at.ip().to_canonical(), at.port());
        if !self.rules.may_listen(at.ip(), at.port()) {
            return Err(format!("no rule of the server's --rules file allows `listen {at}`"));
        }
        let listener = listen_at(at).map_err(|error| format!("{at}: {}", os_error(&error)))?;
        let at = listener.local_addr().unwrap_or(at);
        Ok((listener, at))
    }

    async fn accept(&self, number: u16, at: SocketAddr, listener: TcpListener) {
        let target = format!("{} through {at}", self.name);
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let (stream, from) = match listener.accept().await {
                Ok((stream, from)) => (stream, from.to_string()),
                Err(error) => {
                    let (client, why) = (at.to_string(), format!("cannot accept: {}", os_error(&error)));
                    self.report.tell(&Happened::Failed { client, target: target.clone(), why });
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            reset_when_dropped(&stream);
            // One connection beyond the limit waits here, further ones in the system's queue. A listener
            // without connections takes no place.
            let Ok(place) = Arc::clone(&self.connections).acquire_owned().await else { return };
            let (report, target) = (self.report, target.clone());
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

/// Listens at an address: at `[::]` for IPv6 only, since the rules were asked for no IPv4 address.
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
