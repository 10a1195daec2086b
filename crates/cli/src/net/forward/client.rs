//! The client: listens, and opens connections over an association, which it sets up again when it is lost.

use std::sync::Arc;
use std::time::Duration;

use msctp::{Association, Endpoint};
use msctp_forward::frame::VERSION;
use msctp_forward::proxy::{
    Greeting, MAX_REQUEST, Parsed, SOCKS_NO_AUTHENTICATION, SocksRequest, parse_greeting, parse_socks,
};
use msctp_forward::{End, Limits, Reason, Role, Target};
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::carry::{carry, carry_tcp, reset_when_dropped};
use super::link::{Connection, Link, Opening};
use super::remote::{connect_back, read_answer, request};
use super::report::{Happened, Report};
use super::specs::{Local, Remote};
use super::udp::associate;
use super::{Args, Control, tune};
use crate::net::listen::ACCEPT_PAUSE;
use crate::net::options::{Carrier, NetArgs};
use crate::net::security::Secured;
use crate::net::service::{END_TIMEOUT, Service};
use crate::net::status::Monitor;
use crate::net::text::escape;
use crate::net::{Open, block_on, failed, moves, notify, outage};

/// Time for a client of the proxy to send its request.
const REQUEST: Duration = Duration::from_secs(30);

/// The current link, if there is one.
pub(super) type Links = watch::Receiver<Option<Arc<Link>>>;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let report = Report { json: args.json, quiet: args.quiet || args.stdio.is_some() };
    let net = args.net.tuned(tune);
    block_on(async |open| {
        args.status.serve(open, "forward", net.security()).await?;
        open.drain_within(args.drain.limit());
        match &args.stdio {
            Some(target) => stdio(args, &net, open, target, report).await,
            None => forward(args, &net, open, report).await,
        }
    })
}

/// An association with the server.
struct Connected {
    endpoint: Endpoint,
    association: Association,
    carrier: Carrier,
    /// True if the association replaces one over TCP that is still up.
    moved: bool,
}

/// Connects to the server.
async fn connect(args: &Args, net: &NetArgs, open: &Open) -> Result<Connected, Failure> {
    let (endpoint, association, carrier) = args.peer.connect_by(net, open, None).await?;
    Service::Forward.send(&association, &Control::Hello { version: VERSION }).await?;
    Ok(Connected { endpoint, association, carrier, moved: false })
}

/// Connects over UDP, to replace an association over TCP.
async fn connect_by_udp(args: &Args, net: &NetArgs, open: &Open) -> Option<Connected> {
    let (endpoint, association) = args.peer.connect_by_udp(net, open).await?;
    Service::Forward.send(&association, &Control::Hello { version: VERSION }).await.ok()?;
    Some(Connected { endpoint, association, carrier: Carrier::Udp, moved: true })
}

/// Ends an association over TCP when its last connection has ended.
async fn retire(link: Arc<Link>, endpoint: Endpoint, carried: JoinHandle<Result<(), Failure>>) {
    let mut carried = AbortOnDropHandle(carried);
    tokio::select! {
        () = link.empty() => {
            // The association's own failure limits the time.
            let _ = link.association().shutdown().await;
        }
        _ = &mut carried.0 => {}
    }
    let _ = tokio::time::timeout(END_TIMEOUT, endpoint.abort("replaced by another association")).await;
}

/// Aborts a task when it is dropped.
struct AbortOnDropHandle(JoinHandle<Result<(), Failure>>);

impl Drop for AbortOnDropHandle {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Carries connections until the association is over. `moved`: an earlier association of this process may
/// still hold the listeners.
async fn carry_all(
    link: Arc<Link>,
    mut opens: mpsc::UnboundedReceiver<Opening>,
    (remotes, moved): (Arc<[Remote]>, bool),
    (report, monitor): (Report, Monitor),
) -> Result<(), Failure> {
    let association = link.association().clone();
    let watch = tokio::spawn(async move {
        moves::report_moves(&association, |what| report.tell(&Happened::Path { what })).await
    });
    let (answers, answered) = mpsc::channel(remotes.len().max(1));
    let mut run = std::pin::pin!(link.run(|message| read_answer(message, remotes.len(), &answers)));
    let mut request = std::pin::pin!(request(&link, &remotes, moved, answered, report));
    let (mut requesting, mut connections) = (!remotes.is_empty(), JoinSet::new());
    let result = loop {
        tokio::select! {
            result = &mut run => break result,
            () = &mut request, if requesting => requesting = false,
            Some(opening) = opens.recv() => {
                if monitor.is_draining() {
                    opening.connection.fail(End::new(Reason::Limit, "the client is shutting down"));
                    continue;
                }
                connections.spawn(connect_back(opening, Arc::clone(&remotes), report));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    };
    watch.abort();
    result
}

async fn forward(args: &Args, net: &NetArgs, open: &Open, report: Report) -> Result<(), Failure> {
    let mut listeners = Vec::new();
    for local in args.local.iter().chain(&args.dynamic) {
        let bound = TcpListener::bind(local.bind).await;
        let bound = bound.map_err(|e| Failure::Run(format!("{local}: cannot listen: {}", os_error(&e))))?;
        listeners.push((local.clone(), bound));
    }
    let remotes: Arc<[Remote]> = args.remote.clone().into();
    // The first attempt shows a wrong address; later ones meet outages.
    let mut connected = connect(args, net, open).await?;
    let (sender, links) = watch::channel(None);
    for (local, listener) in listeners {
        let at = listener.local_addr().unwrap_or(local.bind);
        report.tell(&Happened::Listening { forward: local.to_string(), at });
        tokio::spawn(accept(
            listener,
            local,
            links.clone(),
            (report, open.monitor().clone()),
            args.peer.timeout(),
        ));
    }
    notify::ready();
    loop {
        let Connected { endpoint, association, carrier, moved } = connected;
        let servers: Vec<_> = association.remote_addresses().iter().map(ToString::to_string).collect();
        let secured = Secured::of(net.security(), &association);
        report.tell(&Happened::Connected { server: servers.join(", "), secured });
        let (link, opens) = Link::new(association, Role::Client, Limits::default());
        link.show(open.monitor());
        sender.send_replace(Some(Arc::clone(&link)));
        let (remotes, monitor) = (Arc::clone(&remotes), open.monitor().clone());
        let carried = carry_all(Arc::clone(&link), opens, (remotes, moved), (report, monitor));
        let mut carried = tokio::spawn(carried);
        let result = tokio::select! {
            result = &mut carried => result.unwrap_or_else(|error| Err(Failure::Run(error.to_string()))),
            next = outage::return_to_udp(async || connect_by_udp(args, net, open).await), if carrier == Carrier::Tcp => {
                let what = "UDP works: new connections use it, open ones go on over TCP".to_owned();
                report.tell(&Happened::Path { what });
                tokio::spawn(retire(link, endpoint, carried));
                connected = next;
                continue;
            }
        };
        sender.send_replace(None);
        drop(link);
        let why =
            result.err().map_or("the server ended the association".to_owned(), |failure| failure.to_string());
        report.tell(&Happened::Lost { why: why.clone() });
        // Closes the sockets.
        let _ = tokio::time::timeout(END_TIMEOUT, endpoint.abort(why)).await;
        connected = outage::reconnect(
            async || connect(args, net, open).await,
            |failure, seconds| report.tell(&Happened::Retrying { why: failure.to_string(), seconds }),
        )
        .await;
    }
}

/// Accepts the connections of a listener until the process drains.
async fn accept(
    listener: TcpListener,
    local: Local,
    links: Links,
    (report, monitor): (Report, Monitor),
    timeout: Duration,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = monitor.draining() => return,
        };
        match accepted {
            Ok((stream, from)) => {
                let (target, links) = (local.target.clone(), links.clone());
                let client = Client { stream, name: from.to_string(), report };
                tokio::spawn(async move {
                    match target {
                        Some(target) => client.open(target, links, timeout).await,
                        None => client.proxy(links, timeout).await,
                    }
                });
            }
            Err(error) => {
                let why = format!("cannot accept: {}", os_error(&error));
                report.tell(&Happened::Failed { client: local.to_string(), target: String::new(), why });
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Waits for a link and opens a connection.
pub(super) async fn open(target: &Target, mut links: Links, timeout: Duration) -> Result<Connection, End> {
    let link = tokio::time::timeout(timeout, links.wait_for(Option::is_some)).await;
    let link = link.ok().and_then(Result::ok).and_then(|link| link.clone());
    link.ok_or_else(|| End::new(Reason::Reset, "no association with the server"))?.open(target.clone())
}

/// An accepted connection.
struct Client {
    stream: TcpStream,
    name: String,
    report: Report,
}

impl Client {
    fn tell_opened(&self, target: &Target) {
        self.report.tell(&Happened::Opened { client: self.name.clone(), target: target.to_string() });
    }

    fn tell_failed(&self, target: &str, end: &End) {
        let (client, target, why) = (self.name.clone(), target.to_owned(), end.to_string());
        self.report.tell(&Happened::Failed { client, target, why });
    }

    /// Carries the connection to a target. Sends data without waiting for the answer.
    async fn open(self, target: Target, links: Links, timeout: Duration) {
        reset_when_dropped(&self.stream);
        match open(&target, links, timeout).await {
            Ok(connection) => {
                self.tell_opened(&target);
                self.carry(&connection, &[], &target).await;
            }
            Err(end) => {
                self.tell_failed(&target.to_string(), &end);
            }
        }
    }

    async fn carry(self, connection: &Connection, ahead: &[u8], target: &Target) {
        let result = carry_tcp(connection, ahead, self.stream).await;
        self.report.tell(&Happened::end(&self.name, &target.to_string(), &result, connection.counts()));
    }

    /// Serves a client of the proxy, and answers it when the server has connected.
    async fn proxy(mut self, links: Links, timeout: Duration) {
        let mut received = Vec::new();
        let request = tokio::time::timeout(REQUEST, self.request(&mut received)).await;
        let Ok(Some((greeting, target))) = request else {
            let end = End::new(Reason::Reset, "no valid SOCKS5 or CONNECT request");
            return self.tell_failed("the proxy", &end);
        };
        if target == Target::Udp {
            return associate(self.stream, &greeting, links, timeout, &self.name, self.report).await;
        }
        let opened = async {
            let connection = open(&target, links, timeout).await?;
            connection.opened().await.map(|()| connection)
        };
        match opened.await {
            Ok(connection) => {
                self.tell_opened(&target);
                // A client that is gone is noticed below.
                let _ = self.stream.write_all(&greeting.success()).await;
                self.carry(&connection, &received, &target).await;
            }
            Err(end) => {
                self.tell_failed(&target.to_string(), &end);
                let _ = self.stream.write_all(&greeting.failure(end.reason)).await;
                let _ = self.stream.shutdown().await;
            }
        }
    }

    /// Reads a request to the proxy, and leaves the bytes after it in `received`. Returns `None` after it has
    /// rejected an invalid request.
    async fn request(&mut self, received: &mut Vec<u8>) -> Option<(Greeting, Target)> {
        let greeting = self.gather(received, parse_greeting).await?;
        let target = match &greeting {
            Greeting::Connect(target) => target.clone(),
            Greeting::Socks => {
                self.stream.write_all(SOCKS_NO_AUTHENTICATION).await.ok()?;
                match self.gather(received, parse_socks).await? {
                    SocksRequest::Connect(target) => target,
                    SocksRequest::Associate => Target::Udp,
                }
            }
        };
        Some((greeting, target))
    }

    async fn gather<T>(&mut self, received: &mut Vec<u8>, parse: fn(&[u8]) -> Parsed<T>) -> Option<T> {
        loop {
            match parse(received) {
                Parsed::Complete(parsed, len) => {
                    received.drain(..len);
                    return Some(parsed);
                }
                Parsed::Invalid(answer) => {
                    self.stream.write_all(answer).await.ok()?;
                    return None;
                }
                Parsed::Incomplete if received.len() >= MAX_REQUEST => return None,
                Parsed::Incomplete => {
                    let read = self.stream.read_buf(received).await.ok()?;
                    if read == 0 {
                        return None;
                    }
                }
            }
        }
    }
}

/// Connects standard input and output to a target.
async fn stdio(
    args: &Args,
    net: &NetArgs,
    open: &Open,
    target: &Target,
    report: Report,
) -> Result<(), Failure> {
    let connected = connect(args, net, open).await?;
    let (link, opens) = Link::new(connected.association.clone(), Role::Client, Limits::default());
    link.show(open.monitor());
    let work = async {
        let refused = |end: End| Failure::Run(format!("{target}: {}", escape(&end.to_string())));
        let connection = link.open(target.clone()).map_err(refused)?;
        let result = carry(&connection, tokio::io::stdin(), tokio::io::stdout()).await;
        match result {
            // The association's own failure says more.
            Err(end) if end.reason == Reason::Reset && link.is_lost() => std::future::pending().await,
            result => result.map_err(refused)?,
        }
        drop(connection);
        link.empty().await;
        // Only the association's own failure limits the time until the server has all data.
        link.association().flush().await.map_err(|e| failed("sending")(&e))?;
        // A lost answer to the shutdown is ignored.
        let _ = tokio::time::timeout(END_TIMEOUT, link.association().shutdown()).await;
        Ok(())
    };
    tokio::select! {
        biased;
        result = work => result,
        result = carry_all(Arc::clone(&link), opens, (Arc::default(), false), (report, open.monitor().clone())) => {
            result?;
            Err(Failure::Run("the server ended the association".to_owned()))
        }
    }
}
