//! TCP of a scenario: `[[tcp]]` connections and `[tcp-profile.NAME]`, named sets of the laboratory TCP's
//! options by its own names. Reads and checks them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use toml::de::DeTable;

use msctp_lab_schemes::catalogue::window_controllers;
use msctp_lab_tcp::{Algorithm, Config, SackLimit};
use msctp_units::Span;

use super::check::{Check, Context, fail, known};
use super::document::Section;
use super::error::{Problem, suggest};
use super::read::SIDES;
use super::{AppKind, NodeKind, Schemes, Side, keys, options, policy};

/// A named set of TCP options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpProfile {
    /// Unique among profiles.
    pub name: String,
    /// The options, whose `mss` applies only if it is set below.
    pub config: Config,
    /// Maximum segment size in bytes; `None` for 1460 over IPv4 and 1440 over IPv6.
    pub mss: Option<u16>,
}

/// A TCP connection between two hosts.
///
/// An end with a bulk application closes when it has sent all bytes; an end without one closes when the peer
/// has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// Name, unique among connections, associations and applications.
    pub name: String,
    /// Host that sends the SYN.
    pub client: String,
    /// Host that accepts it.
    pub server: String,
    /// The client's address.
    pub client_address: IpAddr,
    /// The server's address.
    pub server_address: IpAddr,
    /// TCP port of the client; 0 for a free one.
    pub client_port: u16,
    /// TCP port of the server.
    pub server_port: u16,
    /// Time at which the client sends the SYN, since the start of the run.
    pub start: Span,
    /// The TCP profile of the client; `None` for the defaults of the laboratory's TCP.
    pub client_profile: Option<String>,
    /// The TCP profile of the server; `None` for the defaults of the laboratory's TCP.
    pub server_profile: Option<String>,
}

impl TcpSpec {
    /// Returns the node at this end.
    #[must_use]
    pub fn node(&self, side: Side) -> &str {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Returns the address at this end.
    #[must_use]
    pub fn address(&self, side: Side) -> IpAddr {
        match side {
            Side::Client => self.client_address,
            Side::Server => self.server_address,
        }
    }
}

/// Reads `[tcp-profile.NAME]`. An omitted key has the default of the laboratory's TCP.
pub(super) fn profile(table: &DeTable<'_>, name: String) -> Result<TcpProfile, Problem> {
    let section = Section::open(table, format!("tcp-profile.{name}"), &keys::TCP_PROFILE.names())?;
    let mut config = Config::default();
    values(&section, &mut config)?;
    if let Some(recovery) = section.choice("recovery", &Algorithm::ALL)? {
        config.recovery = recovery;
    }
    if let Some(limit) = sack_limit(&section)? {
        config.sack_limit = limit;
    }
    config.controller = options::controller(&section, window_controllers(), ("reno", &[]), &Schemes::none())?;
    config.loss_classifier = options::classifier(&section)?;
    config.initial_window = policy::initial_window(&section, "initial_window")?;
    config.initial_ssthresh = section.integer("initial_ssthresh", 1, i128::from(i64::MAX))?;
    Ok(TcpProfile { name, mss: section.integer("mss", 0, 65_535)?, config })
}

fn values(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    for (key, field) in [
        ("mss_option", &mut config.mss_option),
        ("timestamps", &mut config.timestamps),
        ("window_scale", &mut config.window_scale),
        ("limited_transmit", &mut config.limited_transmit),
        ("nagle", &mut config.nagle),
        ("restart_timer_on_fast_retransmit", &mut config.restart_timer_on_fast_retransmit),
        ("once_per_window", &mut config.once_per_window),
        ("slow_but_steady", &mut config.slow_but_steady),
        ("ack_heuristic", &mut config.ack_heuristic),
        ("halve_window", &mut config.halve_window),
        ("grow_at_exit", &mut config.grow_at_exit),
        ("counted_pipe", &mut config.counted_pipe),
        ("frto", &mut config.frto),
        ("restart_rtt_after_spurious", &mut config.restart_rtt_after_spurious),
        ("delay_response", &mut config.delay_response),
    ] {
        if let Some(flag) = section.flag(key)? {
            *field = flag;
        }
    }
    for (key, field) in [
        ("ack_delay", &mut config.ack_delay),
        ("rto_initial", &mut config.rto.initial),
        ("rto_min", &mut config.rto.min),
        ("rto_max", &mut config.rto.max),
        ("rto_granularity", &mut config.rto.granularity),
        ("timestamp_tick", &mut config.timestamp_tick),
        ("time_wait", &mut config.time_wait),
    ] {
        if let Some(span) = section.span(key)? {
            *field = span;
        }
    }
    for (key, field) in
        [("ack_every", &mut config.ack_every), ("max_retransmits", &mut config.max_retransmits)]
    {
        if let Some(number) = section.integer(key, 0, i128::from(u32::MAX))? {
            *field = number;
        }
    }
    if let Some(bytes) = section.integer("receive_buffer", 0, i128::from(u32::MAX))? {
        config.receive_buffer = bytes;
    }
    Ok(())
}

/// Reads `"fits"`, `"unlimited"` or a number of blocks.
fn sack_limit(section: &Section<'_, '_>) -> Result<Option<SackLimit>, Problem> {
    let key = "sack_limit";
    if section.is_integer(key) {
        return Ok(section.integer(key, 0, 1 << 16)?.map(SackLimit::Blocks));
    }
    section.choice(key, &[("fits", SackLimit::Fits), ("unlimited", SackLimit::Unlimited)])
}

/// Reads `[[tcp]]`.
pub(super) fn connection(table: &DeTable<'_>, path: String) -> Result<TcpSpec, Problem> {
    let section = Section::open(table, path, &keys::TCP.names())?;
    let text = |key, example| section.required(key, section.text(key)?, example).map(str::to_owned);
    let address = |key| section.required(key, section.address(key)?, "\"10.0.1.1\"");
    let profile = |key| -> Result<Option<String>, Problem> {
        Ok(section.text(key)?.or(section.text("profile")?).map(str::to_owned))
    };
    Ok(TcpSpec {
        name: text("name", "\"…\"")?,
        client: text("client", "\"a host's name\"")?,
        server: text("server", "\"a host's name\"")?,
        client_address: address("client_address")?,
        server_address: address("server_address")?,
        client_port: section.integer("client_port", 1, 65_535)?.unwrap_or(0),
        server_port: section.integer("server_port", 1, 65_535)?.unwrap_or(80),
        start: section.span("start")?.unwrap_or(Span::ZERO),
        client_profile: profile("client_profile")?,
        server_profile: profile("server_profile")?,
    })
}

/// Reads a `bulk` application that has a key `tcp`.
pub(super) fn bulk(section: &Section<'_, '_>) -> Result<AppKind, Problem> {
    Ok(AppKind::TcpBulk {
        tcp: section.required("tcp", section.text("tcp")?, "\"a connection's name\"")?.to_owned(),
        from: section.required("from", section.choice("from", &SIDES)?, "\"client\" or \"server\"")?,
        bytes: section.integer("bytes", 1, i128::from(i64::MAX))?,
    })
}

/// Reads a `reader` application that has a key `tcp`.
pub(super) fn reader(section: &Section<'_, '_>) -> Result<AppKind, Problem> {
    Ok(AppKind::TcpReader {
        tcp: section.required("tcp", section.text("tcp")?, "\"a connection's name\"")?.to_owned(),
        at: section.required("at", section.choice("at", &SIDES)?, "\"client\" or \"server\"")?,
        rate: section.required("rate", section.rate("rate")?, "\"1Mbps\"")?,
    })
}

/// Checks a profile by the laboratory TCP's own rules.
pub(super) fn check_profile(profile: &TcpProfile) -> Check {
    let mut config = profile.config.clone();
    config.mss = profile.mss.unwrap_or(config.mss);
    config.validate().map_err(|e| {
        Problem::new(
            format!("tcp-profile.{}.{}", profile.name, e.field),
            format!("{} cannot be used: want {}", e.value, e.want),
        )
    })
}

/// Checks a connection.
pub(super) fn check(context: &Context<'_>, spec: &TcpSpec) -> Check {
    for (part, key, side) in
        [("client", "client_address", Side::Client), ("server", "server_address", Side::Server)]
    {
        let node = spec.node(side);
        if context.node(part, node)? != NodeKind::Host {
            return fail(part, format!("\"{node}\" is a router: want a host"));
        }
        context.address_of(key, node, spec.address(side))?;
    }
    if spec.client == spec.server {
        return fail("server", format!("both ends are \"{}\": want two hosts", spec.client));
    }
    let profiles = &context.scenario.tcp_profiles;
    for (part, profile) in
        [("client_profile", &spec.client_profile), ("server_profile", &spec.server_profile)]
    {
        if let Some(name) = profile
            && !profiles.iter().any(|p| p.name == *name)
        {
            let names = profiles.iter().map(|p| p.name.as_str());
            return fail(part, format!("there is no tcp-profile \"{name}\"{}", suggest(name, names)));
        }
    }
    if spec.server_port == 0 {
        return fail("server_port", "0 is not a port: want 1 to 65535");
    }
    context.within("start", spec.start)?;
    context.route("server_address", spec.client_address, spec.server_address)?;
    context.route("client_address", spec.server_address, spec.client_address)
}

/// Checks the connections together. Their addresses and ports differ, each end has one application of a kind,
/// and names differ from those of associations.
pub(super) fn check_together(context: &Context<'_>) -> Check {
    let scenario = context.scenario;
    let mut taken = BTreeMap::new();
    for spec in &scenario.tcp {
        if context.associations.contains_key(spec.name.as_str()) {
            return fail(
                format!("tcp.{}", spec.name),
                "an association has this name: want names that differ",
            );
        }
        let ends = (spec.client_address, spec.client_port, spec.server_address, spec.server_port);
        if spec.client_port != 0
            && let Some(other) = taken.insert(ends, &spec.name)
        {
            return fail(
                format!("tcp.{}.client_port", spec.name),
                format!("\"{other}\" has the same addresses and ports: want another port"),
            );
        }
    }
    let mut used = BTreeMap::new();
    for app in &scenario.apps {
        let (tcp, side, kind, key) = match &app.kind {
            AppKind::TcpBulk { tcp, from, .. } => (tcp, *from, "bulk", "from"),
            AppKind::TcpReader { tcp, at, .. } => (tcp, *at, "reader", "at"),
            _ => continue,
        };
        if let Some(other) = used.insert((tcp, side.word(), kind), &app.name) {
            return fail(
                format!("app.{}.{key}", app.name),
                format!("\"{other}\" is already the {kind} of that end: want one of each at each end"),
            );
        }
    }
    Ok(())
}

/// Checks the names of a TCP application.
pub(super) fn check_app(context: &Context<'_>, tcp: &str) -> Check {
    known(&context.tcp, "tcp connection", "tcp", tcp).map(drop)
}
