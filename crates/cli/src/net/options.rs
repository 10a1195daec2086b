//! Shared arguments of the commands for real networks.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use msctp::{
    Association, BindError, Config, ConfigError, ConnectError, DEFAULT_PORT, ENCAPSULATION_PORT, Endpoint,
    EndpointOptions, Mobility, PathUse, Peer, Pmtu, Security, TraceSink, Translation,
};
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use tokio::time::Instant;

use super::devices::{self, Devices};
use super::schemes::{CONTROLLERS, DEFAULT_POLICY, POLICIES, make, names};
use super::security::SecurityArgs;
use super::text::escape;
use super::{Open, tcp};

/// How an association is secured, and its other options.
pub(crate) type Options = (Security, Config);

/// Options of packets and associations.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Network options")]
pub(crate) struct NetArgs {
    /// Local address, such as 192.0.2.1 or [2001:db8::1]:9899; repeatable [default: all of this host, also
    /// later ones].
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_bind)]
    bind: Vec<(IpAddr, Option<u16>)>,
    /// Do not follow this host's interfaces. By default a client moves its association as interfaces come and
    /// go; a server does so with --prefer or --only.
    #[arg(long)]
    fixed: bool,
    /// Prefer interfaces whose names begin with this, the best first [default: wired, WLAN, others].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["bind", "fixed"])]
    prefer: Vec<String>,
    /// Use interfaces whose names begin with this only while no other works well. The server is told
    /// [default: cellular ones (ww, rmnet) that --prefer does not name].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["bind", "fixed"])]
    backup: Option<Vec<String>>,
    /// Interfaces whose names begin with this are paid by the byte: they are measured rarely, and not used
    /// together with others.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["bind", "fixed"])]
    metered: Vec<String>,
    /// Use only interfaces whose names begin with this.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["bind", "fixed"])]
    only: Vec<String>,
    /// Whether this host is behind a NAT, and so announces new addresses as the packet's source address.
    /// auto: if this host's address is private and the server's is not.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Nat::Auto)]
    nat: Nat,
    #[arg(long, value_name = "NAME", help = policies_help())]
    policy: Option<String>,
    #[arg(long, value_name = "NAME", help = controllers_help())]
    controller: Option<String>,
    /// Networks that carry this end's data: one at a time, all at once (aggregate), or one at a time with
    /// copies of small messages on the others (redundant).
    #[arg(long, value_name = "HOW", value_enum, default_value_t = PathsArg::One)]
    paths: PathsArg,
    /// SCTP port of the server, 1 to 65535.
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    sctp_port: u16,
    /// Largest IP packet in bytes, 512 to 65535; each path discovers its own up to that.
    #[arg(long, value_name = "BYTES", default_value_t = Config::default().pmtu.max())]
    mtu: u32,
    #[command(flatten)]
    security: SecurityArgs,
    /// Changes to the association's options that the command needs.
    #[arg(skip)]
    tune: Option<fn(&mut Config)>,
    /// Prefixes of interfaces that the association must not use.
    #[arg(skip)]
    except: Vec<String>,
}

/// Describes `--policy`, with all names.
fn policies_help() -> String {
    let names = names(&POLICIES).join(", ");
    format!(
        "Handover policy, which chooses the data path and its window at a change: {names} [default: {DEFAULT_POLICY}]"
    )
}

/// Describes `--controller`, with all names.
fn controllers_help() -> String {
    format!("Congestion controller: {} [default: delay-bound]", names(&CONTROLLERS).join(", "))
}

/// Command-line form of [`Translation`].
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Nat {
    Auto,
    Always,
    Never,
}

/// Command-line form of [`PathUse`].
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum PathsArg {
    One,
    Aggregate,
    Redundant,
}

impl NetArgs {
    pub(crate) fn sctp_port(&self) -> u16 {
        self.sctp_port
    }

    /// Returns how the command encrypts.
    pub(crate) const fn security(&self) -> &SecurityArgs {
        &self.security
    }

    /// Returns these options with the command's changes to those of the association.
    pub(crate) fn tuned(&self, tune: fn(&mut Config)) -> Self {
        Self { tune: Some(tune), ..self.clone() }
    }

    /// Returns these options with interfaces excluded whose names begin like this. The addresses of --bind
    /// stay.
    #[cfg(target_os = "linux")]
    pub(crate) fn without_interfaces(&self, prefix: &str) -> Self {
        Self { except: vec![prefix.to_owned()], ..self.clone() }
    }

    /// Returns whether TCP may carry the packets if UDP does not: named addresses are used as they are, and
    /// only Linux binds TCP to interfaces.
    fn falls_back(&self) -> bool {
        self.bind.is_empty() && (cfg!(target_os = "linux") || self.devices().is_any())
    }

    /// Returns `why` this host has no address, or that no interface's name begins like the values of --only.
    pub(super) fn no_address(&self, why: &str) -> String {
        let mut names: Vec<String> = devices::addresses().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let is_only = |name: &String| self.only.iter().any(|prefix| name.starts_with(prefix));
        if self.only.is_empty() || names.iter().any(is_only) {
            return why.to_owned();
        }
        let only = self.only.join(",");
        format!(
            "--only {only}: no interface's name begins with this; those with an address are {}",
            names.join(", ")
        )
    }

    /// Returns the addresses of --bind.
    pub(super) fn bound(&self) -> impl Iterator<Item = IpAddr> {
        self.bind.iter().map(|(ip, _)| *ip)
    }

    /// Returns whether the sockets are bound to interfaces, which the endpoint follows.
    pub(super) fn follows(&self) -> bool {
        self.mobility().is_some()
    }

    /// Returns the interfaces that the options permit.
    pub(super) fn devices(&self) -> Devices {
        let prefer = self.mobility().map_or(Vec::new(), |mobility| mobility.prefer);
        Devices { only: self.only.clone(), prefer, except: self.except.clone() }
    }

    /// Returns these options for an endpoint whose packets a relay on loopback carries.
    fn relayed(&self) -> Self {
        let bind = vec![(Ipv4Addr::LOCALHOST.into(), None)];
        Self { bind, prefer: Vec::new(), only: Vec::new(), except: Vec::new(), ..self.clone() }
    }

    /// Rejects --bind and --fixed: their sockets are not bound to interfaces, so packets take any route.
    #[cfg(target_os = "linux")]
    pub(crate) fn check_follows(&self) -> Result<(), Failure> {
        if self.mobility().is_none() {
            let given = if self.fixed { "--fixed" } else { "--bind" };
            return Err(Failure::Input(format!(
                "{given}: the association's own packets would enter the tunnel; want --only or --prefer, or neither"
            )));
        }
        Ok(())
    }

    /// Builds the association's options.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut config = Config { pmtu: Pmtu::UpTo(self.mtu), ..Config::mobile() };
        if let Some(tune) = self.tune {
            tune(&mut config);
        }
        config.auth = self.security.authentication()?;
        // Reports what cannot be used.
        self.security.without_tls()?;
        let name = self.policy.as_deref().unwrap_or(DEFAULT_POLICY);
        config.handover_policy = make(&POLICIES, "handover policy", name)
            .map_err(|unknown| Failure::Input(format!("--policy {name}: want {}", unknown.want())))?;
        if let Some(name) = &self.controller {
            config.controller = make(&CONTROLLERS, "congestion controller", name)
                .map_err(|unknown| Failure::Input(format!("--controller {name}: want {}", unknown.want())))?;
        }
        config.paths = match self.paths {
            PathsArg::One => PathUse::One,
            PathsArg::Aggregate => PathUse::Aggregate,
            PathsArg::Redundant => PathUse::Redundant,
        };
        config.validate().map_err(|error| refused(&error))?;
        Ok(config)
    }

    fn mobility(&self) -> Option<Mobility> {
        // Named addresses are used as they are.
        if self.fixed || !self.bind.is_empty() {
            return None;
        }
        let translation = match self.nat {
            Nat::Auto => Translation::Auto,
            Nat::Always => Translation::Always,
            Nat::Never => Translation::Never,
        };
        let (backup, metered) = (self.backup.clone(), self.metered.clone());
        let only = self.only.clone();
        let mut mobility = Mobility { backup, metered, only, translation, ..Mobility::default() };
        if !self.prefer.is_empty() {
            mobility.prefer.clone_from(&self.prefer);
        }
        Some(mobility)
    }

    /// Binds the endpoint of a server. With `relays`, clients that use TCP are relayed to it on loopback.
    pub(crate) fn server_endpoint(
        &self,
        open: &Open,
        idle_timeout: Option<Duration>,
        relays: bool,
    ) -> Result<Endpoint, Failure> {
        let mut every = vec![EVERY];
        if relays && !self.only.is_empty() {
            // Sockets of the other interfaces receive nothing from this host.
            every.push(Ipv4Addr::LOCALHOST.into());
        }
        let bind = self.bind_or(&every, ENCAPSULATION_PORT);
        let mut options = EndpointOptions::new(bind);
        // A server's associations do not move unless the options name interfaces to follow.
        options.except.clone_from(&self.except);
        options.mobility = self.mobility().filter(|_| !self.prefer.is_empty() || !self.only.is_empty());
        options.idle_timeout = idle_timeout.or(options.idle_timeout);
        options.trace = open.trace();
        let endpoint = Endpoint::bind(&options).map_err(|error| self.unbound(error))?;
        note_unfollowed(&options, &endpoint);
        open.add(&endpoint);
        Ok(endpoint)
    }

    /// Binds an endpoint for connections, in both families: the networks to come may have only the other.
    pub(crate) fn client(
        &self,
        idle_timeout: Option<Duration>,
        trace: Option<TraceSink>,
    ) -> Result<Endpoint, BindError> {
        let mut options = EndpointOptions::new(self.bind_or(&[EVERY], 0));
        options.except.clone_from(&self.except);
        options.mobility = self.mobility();
        options.idle_timeout = idle_timeout.or(options.idle_timeout);
        // --timeout covers the name, the wait for a network, and TCP as well.
        options.connect_timeout = None;
        options.trace = trace;
        Endpoint::bind(&options).inspect(|endpoint| note_unfollowed(&options, endpoint))
    }

    /// Reports why an endpoint could not be bound.
    fn unbound(&self, error: BindError) -> Failure {
        match error {
            BindError::Config(error) => refused(&error),
            error @ BindError::NoAddress if !self.only.is_empty() => {
                Failure::Run(self.no_address(&error.to_string()))
            }
            error if self.bind.is_empty() => Failure::Run(format!("{error}; --bind names another")),
            error => Failure::Run(format!("--bind: {error}")),
        }
    }

    fn bind_or(&self, every: &[IpAddr], port: u16) -> Vec<SocketAddr> {
        if self.bind.is_empty() {
            return every.iter().map(|&ip| SocketAddr::new(ip, port)).collect();
        }
        self.bind.iter().map(|(ip, named)| SocketAddr::new(*ip, named.unwrap_or(port))).collect()
    }
}

/// Every address of the host, of both families ([`EndpointOptions::bind`]).
const EVERY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// Says once that associations keep their addresses although the options let them move.
fn note_unfollowed(options: &EndpointOptions, endpoint: &Endpoint) {
    static SAID: Once = Once::new();
    if options.mobility.is_some() && !endpoint.follows_interfaces() {
        let text = "this system does not report its interfaces: associations keep their addresses";
        SAID.call_once(|| eprintln!("{text}"));
    }
}

/// The server to connect to, and the time to try.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PeerArgs {
    /// Server, such as 192.0.2.1, [2001:db8::1]:9899 or example.net; UDP port 9899 by default.
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// Time to wait for a network, and for the server's answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = parse_timeout)]
    timeout: u64,
    /// The addresses of the first association.
    #[arg(skip)]
    reached: OnceLock<Vec<SocketAddr>>,
    /// The addresses to use instead of resolving the name.
    #[arg(skip)]
    resolved: OnceLock<Vec<SocketAddr>>,
}

/// The suggested fix in errors about a server that does not answer.
const SERVERS: &str = "want `msctp serve`, `msctp recv` or `msctp perf --server` there";

/// The longest `--timeout` in seconds: a day.
pub(crate) const MAX_TIMEOUT: u64 = 86_400;

/// Parses the value of --timeout.
pub(crate) fn parse_timeout(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=MAX_TIMEOUT).contains(seconds));
    seconds.ok_or_else(|| format!("want 1 to {MAX_TIMEOUT} seconds, without a fraction"))
}

/// Interval at which to check for a network.
const LOOK: Duration = Duration::from_millis(200);

/// Why an attempt to connect failed.
enum Unconnected {
    /// This host has no network yet; the message says what is missing.
    NoNetwork(String),
    /// The host has a new address since the attempt began.
    NewAddress,
    /// The host reports that nobody listens.
    Unreachable(Failure),
    Failed(Failure),
}

impl PeerArgs {
    /// Creates the arguments for a command with flags of its own.
    pub(crate) fn new(host: &str, timeout: u64) -> Self {
        Self { host: host.to_owned(), timeout, reached: OnceLock::new(), resolved: OnceLock::new() }
    }

    /// Caches the server's addresses for later attempts, when its name may no longer resolve.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep_addresses(&self) {
        if let Some(addresses) = self.reached.get() {
            let _ = self.resolved.set(addresses.clone());
        }
    }

    /// Returns the server's addresses, and caches them. Without an answer within the timeout or with an error
    /// returns none: connecting reports it.
    pub(crate) async fn resolve(&self) -> &[SocketAddr] {
        let found = async { self.addresses(&Target::of(&self.host).ok()?).await.ok() };
        if let Ok(Some(found)) = tokio::time::timeout(self.timeout(), found).await {
            let _ = self.resolved.set(found);
        }
        self.resolved.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the cached addresses of the server, or resolves its name.
    async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Unconnected> {
        match self.resolved.get() {
            Some(addresses) => Ok(addresses.clone()),
            None => target.addresses().await,
        }
    }

    /// Returns the time to wait for an answer.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Binds and connects. A host that follows its interfaces and has no network waits for one. A server that
    /// is silent for `idle_timeout` is lost; the endpoint's own timeout applies if there is none.
    pub(crate) async fn connect(
        &self,
        net: &NetArgs,
        open: &Open,
        idle_timeout: Option<Duration>,
    ) -> Result<(Endpoint, Association), Failure> {
        let (endpoint, association, _) = self.connect_by(net, open, idle_timeout).await?;
        Ok((endpoint, association))
    }

    /// Connects over UDP alone, without the fallback of [`connect`](Self::connect) to TCP. Returns `None`
    /// without an answer within [`UDP_ALONE`].
    pub(crate) async fn connect_by_udp(&self, net: &NetArgs, open: &Open) -> Option<(Endpoint, Association)> {
        let target = Target::of(&self.host).ok()?;
        let name = target.known_name();
        let attempt = async {
            let options = (net.security.for_client(&name).ok()?, net.config().ok()?);
            let addresses = self.addresses(&target).await.ok()?;
            let connected = connect_once(&self.host, &addresses, net, &options, open, None).await.ok()?;
            net.security.note_server(&name, &connected.1).ok()?;
            Some(connected)
        };
        tokio::time::timeout(UDP_ALONE, attempt).await.ok().flatten()
    }

    /// Connects like [`connect`](Self::connect), and also returns the carrier of the packets.
    pub(crate) async fn connect_by(
        &self,
        net: &NetArgs,
        open: &Open,
        idle_timeout: Option<Duration>,
    ) -> Result<Carried, Failure> {
        let target = Target::of(&self.host)?;
        let name = target.known_name();
        let options = (net.security.for_client(&name)?, net.config()?);
        let deadline = Instant::now() + self.timeout();
        let mut reported = false;
        loop {
            let resolved = Cell::new(false);
            let attempt = async {
                let addresses = self.addresses(&target).await?;
                resolved.set(true);
                let of_udp = (self.timeout() / 3).min(UDP_ALONE);
                let connected =
                    connect_by_any(&self.host, &addresses, net, &options, open, (idle_timeout, of_udp))
                        .await?;
                let _ = self.reached.set(addresses);
                Ok(connected)
            };
            let why = match tokio::time::timeout_at(deadline, attempt).await {
                Ok(Ok(connected)) => {
                    net.security.note_server(&name, &connected.1)?;
                    return Ok(connected);
                }
                Ok(Err(Unconnected::Failed(failure) | Unconnected::Unreachable(failure))) => {
                    return Err(failure);
                }
                Ok(Err(Unconnected::NewAddress)) => continue,
                Ok(Err(Unconnected::NoNetwork(why))) => why,
                Err(_) if resolved.get() => return Err(self.no_answer(net)),
                Err(_) => return Err(self.unresolved()),
            };
            if net.mobility().is_none() || Instant::now() + LOOK >= deadline {
                return Err(Failure::Run(why));
            }
            if !std::mem::replace(&mut reported, true) {
                eprintln!("{why}; waiting for a network for up to {} s", self.timeout);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn unresolved(&self) -> Failure {
        let Self { host, timeout, .. } = self;
        Failure::Run(format!(
            "{host}: the name was not resolved within {timeout} s: this host's name servers do not answer; want a network \
             whose name servers do, or the server's address in place of its name"
        ))
    }

    fn no_answer(&self, net: &NetArgs) -> Failure {
        let key = net.security.key_remedy();
        Failure::Run(format!("{}: no answer for {} s; {key}{SERVERS}", self.host, self.timeout))
    }
}

/// Maximum time to wait for an answer over UDP before TCP is tried as well.
const UDP_ALONE: Duration = Duration::from_secs(5);

/// Time between attempts to connect.
const AGAIN: Duration = Duration::from_secs(1);

/// The transport below an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Udp,
    /// A relay over TCP.
    Tcp,
}

/// An association with its endpoint and its carrier.
type Carried = (Endpoint, Association, Carrier);

/// Connects over UDP, or over TCP if UDP gives no answer within `of_udp`.
async fn connect_by_any(
    host: &str,
    addresses: &[SocketAddr],
    net: &NetArgs,
    options: &Options,
    open: &Open,
    (idle_timeout, of_udp): (Option<Duration>, Duration),
) -> Result<Carried, Unconnected> {
    let over = |carrier| move |(endpoint, association)| (endpoint, association, carrier);
    let udp = connect_once(host, addresses, net, options, open, idle_timeout);
    let mut udp = std::pin::pin!(async { udp.await.map(over(Carrier::Udp)) });
    if !net.falls_back() {
        return udp.await;
    }
    let failed = tokio::select! {
        result = &mut udp => match result {
            Err(Unconnected::Unreachable(failure)) => Some(failure),
            result => return result,
        },
        () = tokio::time::sleep(of_udp) => None,
    };
    let (devices, net) = (net.devices(), net.relayed());
    // A network may come while UDP waits for an answer.
    let again = Cell::new(failed.is_none());
    let tcp = async {
        let at = loop {
            match tcp::relay(addresses, devices.clone(), open.add_relay()).await {
                Ok(at) => break at,
                Err(_) if again.get() => tokio::time::sleep(AGAIN).await,
                Err(_) => return None,
            }
        };
        Some(connect_once(host, &[at], &net, options, open, idle_timeout).await.map(over(Carrier::Tcp)))
    };
    let mut tcp = std::pin::pin!(tcp);
    let why = if failed.is_some() { "the UDP port is closed" } else { "no answer over UDP" };
    let connected = match failed {
        Some(failure) => tcp.await.unwrap_or(Err(Unconnected::Unreachable(failure))),
        None => tokio::select! {
            result = &mut udp => match result {
                // Hosts limit how often they say so: it may come late.
                Err(Unconnected::Unreachable(failure)) => {
                    again.set(false);
                    tcp.await.unwrap_or(Err(Unconnected::Unreachable(failure)))
                }
                result => return result,
            },
            Some(result) = &mut tcp => result,
        },
    };
    connected.inspect(|_| eprintln!("{host}: {why}; connected over TCP"))
}

/// Tries to connect from the addresses that this host has now, until the server answers, refuses or cannot be
/// reached: the caller limits the time.
async fn connect_once(
    host: &str,
    addresses: &[SocketAddr],
    net: &NetArgs,
    options: &Options,
    open: &Open,
    idle_timeout: Option<Duration>,
) -> Result<(Endpoint, Association), Unconnected> {
    let endpoint = net.client(idle_timeout, open.trace()).map_err(|error| match error {
        BindError::NoAddress => Unconnected::NoNetwork(net.no_address("this host has no address")),
        error => Unconnected::Failed(net.unbound(error)),
    })?;
    let Some(&first) = addresses.first() else {
        return Err(Unconnected::Failed(Failure::Run(format!("{host}: it has no address"))));
    };
    let ips = addresses.iter().map(SocketAddr::ip).collect();
    let peer = Peer { port: net.sctp_port(), addresses: ips, ..Peer::new(first) };
    let address = if addresses.len() > 1 { host.to_owned() } else { first.to_string() };
    let (security, config) = options;
    let answer = async {
        loop {
            // Max.Init.Retransmits is no limit of the caller's time.
            match endpoint.connect(peer.clone(), security.clone(), config.clone()).await {
                Err(ConnectError::Timeout) => tokio::time::sleep(AGAIN).await,
                ended => break ended,
            }
        }
    };
    let association = tokio::select! {
        connected = answer => connected.map_err(|error| match error {
            ConnectError::Config(error) => Unconnected::Failed(refused(&error)),
            ConnectError::NoLocalAddress(at) if !net.bind.is_empty() => {
                let family = if at.is_ipv4() { "an IPv4" } else { "an IPv6" };
                Unconnected::NoNetwork(format!("--bind: no local address reaches {at}; name {family} address"))
            }
            error @ (ConnectError::NoLocalAddress(_) | ConnectError::NoNetwork) => {
                Unconnected::NoNetwork(net.no_address(&error.to_string()))
            }
            // The error names the address.
            error @ ConnectError::PortUnreachable(_) => Unconnected::Unreachable(Failure::Run(format!("{error}; {SERVERS}"))),
            ConnectError::NoCommonProtection(mismatch) => Unconnected::Failed(Failure::Run(format!(
                "{address}: the ends cannot agree on encryption: {}, or an offer was changed on the way; want the same \
                 of --psk, --code or none of them at both ends",
                net.security.describe_both(mismatch)
            ))),
            ConnectError::KeysDiffer => Unconnected::Failed(Failure::Run(format!(
                "{address}: the keys of --psk differ at both ends, or the set-up was changed on the way; want files \
                 of the same content"
            ))),
            error @ ConnectError::Refused(_) if net.security.is_code_used() => {
                let why = "the first association used the code of --code; if the server has a new code, \
                           start this command again with that";
                Unconnected::Failed(Failure::Run(escape(&format!("{address}: {error}; {why}"))))
            }
            ConnectError::Security(error) => Unconnected::Failed(Failure::Run(escape(&of_host(host, &error)))),
            error => Unconnected::Failed(Failure::Run(escape(&format!("{address}: {error}")))),
        })?,
        () = new_address(&endpoint, addresses), if net.mobility().is_some() => return Err(Unconnected::NewAddress),
    };
    open.add(&endpoint);
    open.monitor().note_association();
    Ok((endpoint, association))
}

/// Describes why key management failed. A rejected key's error already names its host.
fn of_host(host: &str, error: &msctp::security::Error) -> String {
    match error {
        msctp::security::Error::Refused(refused) => refused.to_string(),
        error => format!("{host}: {error}"),
    }
}

/// Waits until the endpoint has a new address towards one of `remotes`: a set-up in progress uses only the
/// addresses from its start.
async fn new_address(endpoint: &Endpoint, remotes: &[SocketAddr]) {
    let before = endpoint.local_addresses();
    let reaches = |address: &SocketAddr| remotes.iter().any(|remote| remote.is_ipv4() == address.is_ipv4());
    let is_new = |address: &SocketAddr| reaches(address) && !before.contains(address);
    while !endpoint.local_addresses().iter().any(is_new) {
        tokio::time::sleep(LOOK).await;
    }
}

/// The server that a command connects to.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Address(SocketAddr),
    Name { name: String, port: u16 },
}

impl Target {
    fn of(host: &str) -> Result<Self, Failure> {
        let unusable = |why: &str| Failure::Input(format!("{host}: {why}; want HOST or HOST:PORT"));
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Self::Address(SocketAddr::new(ip, ENCAPSULATION_PORT)));
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => match port.parse::<u16>() {
                Ok(port) if port > 0 => (name, port),
                _ if host.ends_with(']') => (host, ENCAPSULATION_PORT),
                _ => return Err(unusable(&format!("{port:?} is not a port: want 1 to 65535"))),
            },
            None => (host, ENCAPSULATION_PORT),
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(ip) => Ok(Self::Address(SocketAddr::new(ip, port))),
            Err(_) if bare.is_some() || name.is_empty() || name.contains([':', ' ']) => {
                Err(unusable("no address and no name"))
            }
            Err(_) => Ok(Self::Name { name: name.to_owned(), port }),
        }
    }

    /// Returns the server's name among the known hosts, without the default port.
    fn known_name(&self) -> String {
        match self {
            Self::Address(at) if at.port() == ENCAPSULATION_PORT => at.ip().to_string(),
            Self::Address(at) => at.to_string(),
            Self::Name { name, port } if *port == ENCAPSULATION_PORT => name.to_lowercase(),
            Self::Name { name, port } => format!("{}:{port}", name.to_lowercase()),
        }
    }

    /// Returns the address, or those of a name: the first INIT ACK decides among them.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Unconnected> {
        let (name, port) = match self {
            Self::Address(address) => return Ok(vec![*address]),
            Self::Name { name, port } => (name, *port),
        };
        let unknown = |why: &str| {
            Unconnected::Failed(Failure::Run(format!(
                "{name}: {why}; want a name that resolves, or an address"
            )))
        };
        match tokio::net::lookup_host((name.as_str(), port)).await {
            Ok(found) => {
                let found = by_turns(found);
                if found.is_empty() { Err(unknown("this name has no address")) } else { Ok(found) }
            }
            // No name server answers: perhaps there is no network.
            Err(error) if error.to_string().contains("Temporary failure") => {
                Err(Unconnected::NoNetwork(format!("{name}: {}", os_error(&error))))
            }
            Err(error) => Err(unknown(&os_error(&error))),
        }
    }
}

/// Maximum number of a name's addresses that are tried.
const MAX_TRIED: usize = 8;

/// Sorts addresses so that the families take turns (RFC 8305), each in the given order.
fn by_turns(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in addresses {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    let Some(first) = found.first().map(SocketAddr::is_ipv4) else { return found };
    let mut turns = [0, 0];
    found.sort_by_cached_key(|address| {
        let other = address.is_ipv4() != first;
        turns[usize::from(other)] += 1;
        (turns[usize::from(other)], other)
    });
    found.truncate(MAX_TRIED);
    found
}

/// The fields of options and addresses that the command line sets, each with its argument.
const FLAGS: [(&str, &str); 7] = [
    ("controller", "--controller"),
    ("pmtu", "--mtu"),
    ("auth.keys", "--key"),
    ("port", "--sctp-port"),
    ("local.port", "--sctp-port"),
    ("remote.port", "--sctp-port"),
    ("local.addresses", "--bind"),
];

/// Reports an invalid option by the name of its flag.
pub(crate) fn refused(error: &ConfigError) -> Failure {
    let flag = FLAGS.iter().find(|(field, _)| *field == error.field).map_or(error.field, |(_, flag)| flag);
    Failure::Input(format!("{flag} {}: want {}", error.value, error.want))
}

/// Parses an address with or without a port.
fn parse_bind(text: &str) -> Result<(IpAddr, Option<u16>), String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((address.ip(), Some(address.port())));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok((ip, None));
    }
    Err(match text.rsplit_once(':') {
        Some((ip, port)) if ip.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() => {
            format!("{port:?} is not a port: want 0 to 65535")
        }
        _ => "want an IP address, with :PORT or without".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(parse_bind("192.0.2.1"), Ok((ip("192.0.2.1"), None)));
        assert_eq!(parse_bind("192.0.2.1:80"), Ok((ip("192.0.2.1"), Some(80))));
        assert_eq!(parse_bind("2001:db8::1"), Ok((ip("2001:db8::1"), None)));
        assert_eq!(parse_bind("[2001:db8::1]"), Ok((ip("2001:db8::1"), None)));
        assert_eq!(parse_bind("[2001:db8::1]:80"), Ok((ip("2001:db8::1"), Some(80))));
        assert!(parse_bind("192.0.2.1:x").is_err() && parse_bind("example.net").is_err());
    }

    #[test]
    fn the_families_of_a_name_take_turns() {
        let addresses = |texts: &[&str]| {
            texts.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 1)).collect::<Vec<_>>()
        };
        for (found, tried) in [
            (
                &["::1", "::2", "192.0.2.1", "::1", "192.0.2.2"][..],
                &["::1", "192.0.2.1", "::2", "192.0.2.2"][..],
            ),
            (&["192.0.2.1", "192.0.2.2", "::1"], &["192.0.2.1", "::1", "192.0.2.2"]),
            (&["192.0.2.1"], &["192.0.2.1"]),
            (&[], &[]),
        ] {
            assert_eq!(by_turns(addresses(found).into_iter()), addresses(tried));
        }
    }

    #[test]
    fn hosts_with_and_without_ports() {
        let address = |text: &str| Target::Address(text.parse().unwrap());
        let name = |name: &str, port| Target::Name { name: name.to_owned(), port };
        for (host, target) in [
            ("192.0.2.1", address("192.0.2.1:9899")),
            ("192.0.2.1:80", address("192.0.2.1:80")),
            ("2001:db8::1", address("[2001:db8::1]:9899")),
            ("[2001:db8::1]", address("[2001:db8::1]:9899")),
            ("[2001:db8::1]:80", address("[2001:db8::1]:80")),
            ("example.net", name("example.net", 9899)),
            ("example.net:80", name("example.net", 80)),
        ] {
            assert_eq!(Target::of(host).unwrap(), target, "{host}");
        }
        for host in ["127.0.0.1:99999", "example.net:0", "[::1]:65536", "example.net:http"] {
            let error = Target::of(host).unwrap_err().to_string();
            assert!(error.contains("is not a port: want 1 to 65535"), "{error}");
        }
        assert!(Target::of("").is_err() && Target::of(":80").is_err() && Target::of("[x]:80").is_err());
    }
}
