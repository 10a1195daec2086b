//! The server: connects to the targets that its rules allow.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use msctp::Incoming;
use msctp_forward::{End, INITIAL_WINDOW, Limits, Reason, Role, Rules, Target, Verdict, WindowBudget, nat64};
use msctp_terminal::Failure;
use msctp_terminal::system::read_text;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::carry::carry_tcp;
use super::link::{Link, Opening};
use super::remote::{Holders, Listeners};
use super::report::{ClientReport, Counts, Happened, Report};
use super::resolve::{NAMES_OF_SOURCE, RESOLVERS, Resolver};
use super::udp::{ASSOCIATIONS, IDLE, relay};
use super::{dial, greet, tune};
use crate::net::block_on_with;
use crate::net::drain::DrainArgs;
use crate::net::options::NetArgs;
use crate::net::reload::{self, Hangups};
use crate::net::security::{ClientsArgs, Secured, SecurityArgs};
use crate::net::server::Server;
use crate::net::service::{FIRST_TIMEOUT, Service};
use crate::net::sources::{Full, Interfaces, Place, Sources};
use crate::net::status::{Monitor, StatusArgs};

/// Maximum number of clients, and of those from one IPv4 address or IPv6 /64 prefix.
const CLIENTS: usize = 1024;
const CLIENTS_OF_SOURCE: usize = CLIENTS / 4;

/// Minimum bytes of receive windows of one source, and the number of such shares of all clients together.
const MEMORY_OF_SOURCE: u64 = 256 << 20;
const SHARES: u64 = 4;

/// Returns the bytes of receive windows of one source: at least those of one client.
fn memory_of_source(limits: &Limits) -> u64 {
    let client = limits.connections as u64 * u64::from(INITIAL_WINDOW) + limits.memory;
    client.max(MEMORY_OF_SOURCE)
}

/// Maximum number of a client's unanswered requests for listeners.
const REQUESTS: usize = 64;

/// Options of `msctp serve` for forwarding.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Forwarding options")]
pub(crate) struct ServerArgs {
    /// Let `msctp forward` connect to these hosts and ports from here; repeatable.
    #[arg(long, value_name = "HOST:PORTS")]
    allow: Vec<String>,
    /// File with rules, which precede those of --allow.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[arg(long, value_name = "N", value_parser = parse_connections, help = max_connections_help())]
    max_connections: Option<usize>,
    /// Print the events of forwarding as JSON, one a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    drain: DrainArgs,
}

/// Describes `--max-connections`, with its default.
fn max_connections_help() -> String {
    format!("Connections that a client may have at a time [default: {}]", Limits::default().connections)
}

fn parse_connections(text: &str) -> Result<usize, String> {
    let most = usize::from(super::STREAMS / 2 - 1);
    text.parse().ok().filter(|n| (1..=most).contains(n)).ok_or_else(|| format!("want 1 to {most}"))
}

impl ServerArgs {
    /// Returns whether the server forwards connections.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.allow.is_empty() || self.rules.is_some()
    }

    /// Rejects options for connections if the server forwards none. Accepts --drain if `drains`.
    ///
    /// # Errors
    ///
    /// One was given.
    pub(crate) fn check_unused(&self, drains: bool) -> Result<(), Failure> {
        let unused = match (self.max_connections, self.json) {
            (Some(most), _) => format!("--max-connections {most}"),
            (None, true) => "--json".to_owned(),
            (None, false) if drains => return Ok(()),
            (None, false) => return self.drain.check_unused("--allow or --rules"),
        };
        Err(Failure::Input(format!("{unused}: want it with --allow or --rules")))
    }

    fn rules(&self) -> Result<Rules, Failure> {
        let mut rules = Rules::default();
        if let Some(path) = &self.rules {
            let place = format!("--rules {}", path.display());
            let text = read_text(&place, path)?;
            rules = Rules::parse(&text)
                .map_err(|(line, error)| Failure::Input(format!("{}:{line}: {error}", path.display())))?;
        }
        for text in &self.allow {
            rules.allow(text).map_err(|error| Failure::Input(format!("--allow {error}")))?;
        }
        Ok(rules)
    }
}

/// The access rules in force, which a reload replaces.
#[derive(Clone)]
pub(super) struct Access {
    rules: Arc<Mutex<Arc<Rules>>>,
    interfaces: Interfaces,
}

impl Access {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules: Arc::new(Mutex::new(Arc::new(rules))), interfaces: Interfaces::default() }
    }

    /// Returns the rules.
    pub(super) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, rules: Rules) {
        *self.rules.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    /// Checks a target against these rules, and whether it is an address of this host's interfaces.
    pub(super) fn check(&self, rules: &Rules, host: &str, address: IpAddr, port: u16) -> Verdict {
        let (verdict, own) = (rules.check(host, address, port), rules.check_interface(host, address, port));
        let is_interface = || {
            self.interfaces.have(address) || nat64(address).is_some_and(|v4| self.interfaces.have(v4.into()))
        };
        if verdict != own && is_interface() { own } else { verdict }
    }
}

/// Serves `msctp forward` until a signal comes.
pub(crate) fn serve(
    args: &ServerArgs,
    accepted: &ClientsArgs,
    status: &StatusArgs,
    net: &NetArgs,
) -> Result<(), Failure> {
    let access = Access::new(args.rules()?);
    let report = Report { json: args.json, quiet: false };
    let mut limits = Limits::default();
    limits.connections = args.max_connections.unwrap_or(limits.connections);
    let net = net.tuned(tune);
    block_on_with(RESOLVERS, async |open| {
        status.serve(open, "serve", net.security()).await?;
        let mut hangups = Hangups::register(open)?;
        open.drain_within(args.drain.limit());
        let server = Server::start(&net, accepted, open, None, "connect to what the rules allow")?;
        let (mut clients, holders) = (JoinSet::new(), Holders::default());
        let sources = Sources::new(CLIENTS, CLIENTS_OF_SOURCE);
        let memory = memory_of_source(&limits);
        let windows = WindowBudget::new(SHARES * memory);
        loop {
            let incoming = tokio::select! {
                incoming = server.incoming() => incoming?,
                again = hangups.next() => {
                    let again = again?;
                    reload::report(again.and_then(|again| {
                        let rules = again.forward.rules()?;
                        server.reload(again.net.security(), &again.clients)?;
                        access.replace(rules);
                        Ok(())
                    }));
                    continue;
                }
                () = server.monitor().draining() => {
                    server.stop();
                    // The connections end in their own tasks.
                    while clients.join_next().await.is_some() {}
                    return std::future::pending().await;
                }
            };
            while clients.try_join_next().is_some() {}
            let place = match take_place(&sources, &server, &incoming, memory) {
                Ok(place) => place,
                Err(why) => {
                    server.monitor().note_refused("too many clients");
                    incoming.refuse(why);
                    continue;
                }
            };
            let security = net.security().clone();
            let (access, holders) = (access.clone(), holders.clone());
            let monitor = server.monitor().clone();
            let budgets = vec![windows.clone(), place.shared().windows.clone()];
            let (link, opens) = Link::with_budgets(incoming.accept(), Role::Server, limits, budgets);
            let limit = limits.connections;
            let tell = (report, monitor);
            clients.spawn(client((link, opens), place, security, access, holders, limit, tell));
        }
    })
}

/// What the clients of one source share.
pub(super) struct OfSource {
    /// Permits to resolve names.
    pub(super) names: Arc<Semaphore>,
    /// Memory for receive windows.
    windows: WindowBudget,
    counts: Arc<Counts>,
}

impl OfSource {
    /// `memory`: bytes of receive windows.
    pub(super) fn new(memory: u64) -> Self {
        Self {
            names: Arc::new(Semaphore::new(NAMES_OF_SOURCE)),
            windows: WindowBudget::new(memory),
            counts: Arc::default(),
        }
    }
}

/// Takes a client's place among those of its source.
///
/// # Errors
///
/// All places are taken, or the source has its share. The text is for the client.
fn take_place(
    sources: &Sources<OfSource>,
    server: &Server,
    incoming: &Incoming,
    memory: u64,
) -> Result<Place<OfSource>, String> {
    let from = server.source(incoming.remote_addresses().first());
    sources.take(from, || OfSource::new(memory)).map_err(|full| match full {
        Full::All => format!("this server has {CLIENTS} clients, the maximum"),
        Full::Source => {
            format!("this server has {CLIENTS_OF_SOURCE} clients from your address, the maximum")
        }
    })
}

/// Serves a client until its association is over.
async fn client(
    (link, mut opens): (Arc<Link>, mpsc::UnboundedReceiver<Opening>),
    place: Place<OfSource>,
    security: SecurityArgs,
    access: Access,
    holders: Holders,
    connections: usize,
    (report, monitor): (Report, Monitor),
) {
    let association = link.association();
    let name = association.remote_addresses().first().map_or("client".to_owned(), SocketAddr::to_string);
    let of_client = Arc::new(ClientReport::new(name.clone(), report, Arc::clone(&place.shared().counts)));
    of_client.tell(&Happened::Client { client: name.clone(), secured: Secured::of(&security, association) });
    link.show(&monitor);
    let listeners = Listeners::new(&link, holders, access.clone(), connections, &of_client, &monitor);
    let (requests, mut requested) = mpsc::channel(REQUESTS);
    let places = Arc::new(Semaphore::new(REQUESTS));
    let resolver = Resolver::new(Arc::clone(place.shared()));
    let associations = Arc::new(Semaphore::new(ASSOCIATIONS));
    let greeted = AtomicBool::new(false);
    let mut run = std::pin::pin!(link.run(|message| {
        greeted.store(true, Ordering::Relaxed);
        let Some(request) = greet(message)? else { return Ok(()) };
        // A request keeps its place until its answer is in the send buffer: a client that reads no answers
        // must not make tasks wait without limit.
        let place = Arc::clone(&places).try_acquire_owned().ok();
        let taken = place.is_some_and(|place| requests.try_send((request, place)).is_ok());
        let many = || Failure::Run(format!("more than {REQUESTS} requests for listeners at a time"));
        taken.then_some(()).ok_or_else(many)
    }));
    let mut late = std::pin::pin!(tokio::time::sleep(FIRST_TIMEOUT));
    // Dropped with the association: connections still being made are abandoned.
    let mut connections = JoinSet::new();
    let result = loop {
        tokio::select! {
            result = &mut run => break result,
            Some(opening) = opens.recv() => {
                if monitor.is_draining() {
                    opening.connection.fail(End::new(Reason::Limit, "the server is shutting down"));
                    continue;
                }
                let place = (opening.target == Target::Udp).then(|| Arc::clone(&associations).try_acquire_owned());
                if let Some(Err(_)) = place {
                    monitor.note_refused("too many UDP associations");
                    let limit = format!("{ASSOCIATIONS} UDP associations");
                    opening.connection.fail(End::new(Reason::Limit, limit));
                    continue;
                }
                let connect = connect(opening, access.clone(), resolver.clone(), Arc::clone(&of_client), monitor.clone());
                connections.spawn(async move {
                    connect.await;
                    drop(place);
                });
            }
            Some((wanted, place)) = requested.recv() => {
                connections.spawn(listeners.clone().listen(wanted, place));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            // `select!` evaluates a condition once per turn, and a hello completes no branch: a condition of
            // this branch would be stale.
            () = &mut late, if !late.is_elapsed() => {
                if !greeted.load(Ordering::Relaxed) {
                    Service::Forward.abort_silent(link.association());
                }
            }
        }
    };
    let why =
        result.err().map_or("the client ended the association".to_owned(), |failure| failure.to_string());
    of_client.tell(&Happened::Lost { why: format!("{name}: {why}") });
    place.end().await;
}

/// Connects to the target of a client's connection, and carries it.
async fn connect(
    opening: Opening,
    access: Access,
    resolver: Resolver,
    report: Arc<ClientReport>,
    monitor: Monitor,
) {
    let Opening { connection, target } = opening;
    if target == Target::Udp {
        return relay(&connection, &access, &resolver, IDLE, &report).await;
    }
    let (client, to) = (report.client().to_owned(), target.to_string());
    let reached = tokio::select! {
        reached = reach(&access, &resolver, &target) => reached,
        end = connection.failure(super::link::Direction::Inward) => Err(end),
    };
    let stream = match reached {
        Ok(stream) => stream,
        Err(end) => {
            if end.reason == Reason::Forbidden {
                monitor.note_refused("target not allowed");
            }
            report.tell(&Happened::Failed { client, target: to, why: end.to_string() });
            return connection.fail(end);
        }
    };
    connection.accept();
    report.tell(&Happened::Opened { client: client.clone(), target: to.clone() });
    let result = carry_tcp(&connection, &[], stream).await;
    report.tell(&Happened::end(&client, &to, &result, connection.counts()));
}

/// Connects to an address of the target that the rules allow. It uses the checked address and does not
/// resolve the name again.
async fn reach(access: &Access, resolver: &Resolver, target: &Target) -> Result<TcpStream, End> {
    let Target::Host { host, port } = target else {
        return Err(End::new(Reason::Forbidden, "the server has no such target"));
    };
    let rules = access.rules();
    let (mut verdict, mut allowed) = (Verdict::Denied, Vec::new());
    if !rules.may_allow(host, *port) {
        return Err(End::new(Reason::Forbidden, verdict.to_string()));
    }
    for address in resolver.resolve(host).await? {
        match access.check(&rules, host, address, *port) {
            Verdict::Allowed => allowed.push(SocketAddr::new(address.to_canonical(), *port)),
            refused => verdict = refused,
        }
    }
    if allowed.is_empty() {
        return Err(End::new(Reason::Forbidden, verdict.to_string()));
    }
    let mut end = End::new(Reason::Unreachable, "");
    for address in allowed {
        match dial(address).await {
            Ok(stream) => return Ok(stream),
            Err(failed) => end = failed,
        }
    }
    Err(end)
}
