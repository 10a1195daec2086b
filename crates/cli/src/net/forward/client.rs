//! The client: listens, and opens connections over an association, which it sets up again when it is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use msctp::{Association, Endpoint};
use msctp_forward::frame::VERSION;
use msctp_forward::{Limits, Reason, Role, Target};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::carry::{carry, carry_tcp, reset};
use super::link::Link;
use super::report::{Happened, Report};
use super::specs::Local;
use super::{Args, Control, tune};
use crate::Failure;
use crate::net::options::NetArgs;
use crate::net::service::{END_TIMEOUT, Service};
use crate::net::{Open, block_on, moves};
use crate::system::os_error;

/// The longest pause between attempts to connect.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Pause of a listener that cannot accept, usually because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The link that is up, if one is.
type Links = watch::Receiver<Option<Arc<Link>>>;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let report = Report { json: args.json, quiet: args.quiet || args.stdio.is_some() };
    let net = args.net.tuned(tune);
    block_on(async |open| match &args.stdio {
        Some(target) => stdio(args, &net, open, target, report).await,
        None => forward(args, &net, open, report).await,
    })
}

/// Connects to the server.
async fn connect(args: &Args, net: &NetArgs, open: &Open) -> Result<(Endpoint, Association), Failure> {
    let (endpoint, association) = args.peer.connect(net, open).await?;
    Service::Forward.send(&association, &Control::Hello { version: VERSION }).await?;
    Ok((endpoint, association))
}

/// Carries connections until the association is over.
async fn carry_all(link: &Arc<Link>, report: Report) -> Result<(), Failure> {
    let association = link.association().clone();
    let watch = tokio::spawn(async move {
        moves::report_moves(&association, |what| report.tell(&Happened::Path { what })).await
    });
    let result =
        link.run(|_| Err(Failure::Run("the server sent an unknown control message".to_owned()))).await;
    watch.abort();
    result
}

async fn forward(args: &Args, net: &NetArgs, open: &Open, report: Report) -> Result<(), Failure> {
    let mut listeners = Vec::new();
    for local in &args.local {
        let bound = TcpListener::bind(local.bind).await;
        let bound = bound.map_err(|e| Failure::Run(format!("{local}: cannot listen: {}", os_error(&e))))?;
        listeners.push((local.clone(), bound));
    }
    // The first attempt shows a wrong address; later ones meet outages.
    let mut connected = connect(args, net, open).await?;
    let (sender, links) = watch::channel(None);
    for (local, listener) in listeners {
        let at = listener.local_addr().unwrap_or(local.bind);
        report.tell(&Happened::Listening { forward: local.to_string(), at });
        tokio::spawn(accept(listener, local, links.clone(), report, args.peer.timeout()));
    }
    loop {
        let (endpoint, association) = connected;
        let servers: Vec<_> = association.remote_addresses().iter().map(ToString::to_string).collect();
        report.tell(&Happened::Connected { server: servers.join(", ") });
        // The server opens no connections: they are refused when the receiver is dropped.
        let (link, _) = Link::new(association, Role::Client, Limits::default());
        sender.send_replace(Some(Arc::clone(&link)));
        let result = carry_all(&link, report).await;
        sender.send_replace(None);
        drop(link);
        let why =
            result.err().map_or("the server ended the association".to_owned(), |failure| failure.to_string());
        report.tell(&Happened::Lost { why: why.clone() });
        // Closes the sockets.
        let _ = tokio::time::timeout(END_TIMEOUT, endpoint.abort(why)).await;
        connected = reconnect(args, net, open, report).await;
    }
}

/// Connects with growing pauses.
async fn reconnect(args: &Args, net: &NetArgs, open: &Open, report: Report) -> (Endpoint, Association) {
    let mut pause = Duration::from_secs(1);
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
        match connect(args, net, open).await {
            Ok(connected) => return connected,
            Err(failure) => report.tell(&Happened::Lost { why: failure.to_string() }),
        }
    }
}

/// Accepts the connections of a listener.
async fn accept(listener: TcpListener, local: Local, links: Links, report: Report, timeout: Duration) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let open = open(stream, from, local.target.clone(), links.clone(), report, timeout);
                tokio::spawn(open);
            }
            Err(error) => {
                let (client, why) = (local.to_string(), format!("cannot accept: {}", os_error(&error)));
                report.tell(&Happened::Failed { client, target: local.target.to_string(), why });
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Carries an accepted connection. Waits for a link if there is none now.
async fn open(
    stream: TcpStream,
    from: SocketAddr,
    target: Target,
    mut links: Links,
    report: Report,
    timeout: Duration,
) {
    let (client, to) = (from.to_string(), target.to_string());
    let link = tokio::time::timeout(timeout, links.wait_for(Option::is_some)).await;
    let link = link.ok().and_then(Result::ok).and_then(|link| link.clone());
    let Some(link) = link else {
        reset(stream);
        let why = "no association with the server".to_owned();
        return report.tell(&Happened::Failed { client, target: to, why });
    };
    let connection = match link.open(target) {
        Ok(connection) => connection,
        Err(end) => {
            reset(stream);
            return report.tell(&Happened::Failed { client, target: to, why: end.to_string() });
        }
    };
    report.tell(&Happened::Opened { client: client.clone(), target: to.clone() });
    let result = carry_tcp(&connection, stream).await;
    report.tell(&Happened::end(&client, &to, &result, connection.counts()));
}

/// Connects standard input and output to a target.
async fn stdio(
    args: &Args,
    net: &NetArgs,
    open: &Open,
    target: &Target,
    report: Report,
) -> Result<(), Failure> {
    let (_endpoint, association) = connect(args, net, open).await?;
    let (link, _) = Link::new(association, Role::Client, Limits::default());
    let work = async {
        let refused = |end| Failure::Run(format!("{target}: {end}"));
        let connection = link.open(target.clone()).map_err(refused)?;
        let result = carry(&connection, tokio::io::stdin(), tokio::io::stdout()).await;
        match result {
            // The association's own failure says more.
            Err(end) if end.reason == Reason::Reset && link.is_lost() => std::future::pending().await,
            result => result.map_err(refused)?,
        }
        drop(connection);
        let end = async {
            link.empty().await;
            let _ = link.association().shutdown().await;
        };
        // Both ends have all data: a lost answer to the shutdown is ignored.
        let _ = tokio::time::timeout(END_TIMEOUT, end).await;
        Ok(())
    };
    tokio::select! {
        biased;
        result = work => result,
        result = carry_all(&link, report) => {
            result?;
            Err(Failure::Run("the server ended the association".to_owned()))
        }
    }
}
