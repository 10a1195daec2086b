//! Validates scenarios from files and from code.

use std::collections::BTreeMap;
use std::net::IpAddr;

use msctp_proto::{Config, Pmtu};
use msctp_units::Span;

use super::error::{Problem, suggest};
use super::link::check_loss;
use super::routes::Routes;
use super::{
    ActionSpec, AppKind, AssociationSpec, DirectionSpec, Do, Frame, Happening, LEAST_FRAME, Level,
    LinkDirection, LinkSpec, MOST_FRAME, MiddleboxChange, NodeKind, NodeSpec, Scenario, Sending, Side,
    TcpSpec, When, tcp,
};

/// Maximum number of intervals of a time series. Each takes 8 bytes for every path of every receiver, and 48
/// bytes for every direction of a link.
const MOST_INTERVALS: u64 = 10_000_000;

pub(super) type Check = Result<(), Problem>;

pub(super) fn fail<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(key, message))
}

/// Returns the first error, in the order of the file's sections.
pub(super) fn scenario(scenario: &Scenario) -> Check {
    if scenario.duration.is_zero() {
        return fail("duration", "a run of 0s simulates nothing: want more than 0s");
    }
    let context = Context::new(scenario)?;
    for link in &scenario.links {
        context.link(link).map_err(|p| p.within(&format!("link.{}", link.name)))?;
    }
    super::link::check_cells(&scenario.links)?;
    super::link::check_cellular(&scenario.links)?;
    context.addresses()?;
    super::node::check(scenario)?;
    for profile in &scenario.sctp {
        super::sctp::check(profile)?;
    }
    let routes = Routes::of(scenario);
    let context = Context { routes: Some(routes), ..context };
    for association in &scenario.associations {
        context
            .association(association)
            .map_err(|p| p.within(&format!("association.{}", association.name)))?;
    }
    context.ports()?;
    for profile in &scenario.tcp_profiles {
        tcp::check_profile(profile)?;
    }
    for spec in &scenario.tcp {
        tcp::check(&context, spec).map_err(|p| p.within(&format!("tcp.{}", spec.name)))?;
    }
    tcp::check_together(&context)?;
    for app in &scenario.apps {
        let checked = context.app_times(app.start, app.stop).and_then(|()| context.app(&app.kind));
        checked.map_err(|p| p.within(&format!("app.{}", app.name)))?;
    }
    for (number, action) in scenario.actions.iter().enumerate() {
        context.action(action).map_err(|p| p.within(&format!("action.{number}")))?;
    }
    let intervals =
        [("probes.throughput", scenario.probes.throughput), ("probes.queues", scenario.probes.queues)];
    for (key, interval) in intervals {
        let Some(interval) = interval else { continue };
        if interval < Span::from_micros(100) {
            return fail(key, "the interval is too short: want at least 100us");
        }
        let number = scenario.duration.as_nanos() / interval.as_nanos();
        if number > MOST_INTERVALS {
            let least = Span::from_nanos(scenario.duration.as_nanos().div_ceil(MOST_INTERVALS));
            let message = format!(
                "{interval} needs {number} intervals in the duration of {}; at most {MOST_INTERVALS} are allowed: use at least \
                 {least}",
                scenario.duration
            );
            return fail(key, message);
        }
    }
    Ok(())
}

/// A scenario and its names.
pub(super) struct Context<'s> {
    pub(super) scenario: &'s Scenario,
    nodes: BTreeMap<&'s str, &'s NodeSpec>,
    links: BTreeMap<&'s str, &'s LinkSpec>,
    pub(super) associations: BTreeMap<&'s str, &'s AssociationSpec>,
    pub(super) tcp: BTreeMap<&'s str, &'s TcpSpec>,
    apps: BTreeMap<&'s str, &'s AppKind>,
    /// The node to which each address belongs.
    owners: BTreeMap<IpAddr, &'s str>,
    /// The addresses that actions add to each association.
    added: BTreeMap<&'s str, Vec<IpAddr>>,
    routes: Option<Routes>,
}

/// Maps names to indexes. Each name must be unique.
fn unique<'s, T>(
    kind: &str,
    names: impl Iterator<Item = (&'s str, T)>,
) -> Result<BTreeMap<&'s str, T>, Problem> {
    let mut map = BTreeMap::new();
    for (name, value) in names {
        if name.is_empty() || name.contains(['.', '/']) {
            return fail(
                format!("{kind}.{name}"),
                format!("\"{name}\" cannot be a name: want a string without . and /"),
            );
        }
        if map.insert(name, value).is_some() {
            return fail(format!("{kind}.{name}"), "two items have this name: want unique names");
        }
    }
    Ok(map)
}

pub(super) fn known<'m, T>(
    map: &'m BTreeMap<&str, T>,
    kind: &str,
    key: &str,
    name: &str,
) -> Result<&'m T, Problem> {
    map.get(name).ok_or_else(|| {
        Problem::new(key, format!("there is no {kind} \"{name}\"{}", suggest(name, map.keys().copied())))
    })
}

/// Checks that an action sets at least one property of a link, and only properties that the link has.
fn settable(link: &str, way: &DirectionSpec, given: &[(&str, bool)]) -> Check {
    let (kind, can_set) = way.can_set();
    if can_set.is_empty() {
        return fail("link", format!("\"{link}\" is of type {kind}, which has no settable keys"));
    }
    let want = can_set.join(", ");
    match given.iter().find(|&&(key, given)| given && !can_set.contains(&key)) {
        Some((key, _)) => fail(*key, format!("\"{link}\" is of type {kind}: only {want} can be set")),
        None if given.iter().any(|&(_, given)| given) => Ok(()),
        None => fail("", format!("sets no key of the link: want at least one of {want}")),
    }
}

impl<'s> Context<'s> {
    fn new(scenario: &'s Scenario) -> Result<Self, Problem> {
        let tcp = unique("tcp", scenario.tcp.iter().map(|t| (t.name.as_str(), t)))?;
        Ok(Self {
            scenario,
            tcp,
            nodes: unique("node", scenario.nodes.iter().map(|n| (n.name.as_str(), n)))?,
            links: unique("link", scenario.links.iter().map(|l| (l.name.as_str(), l)))?,
            associations: unique("association", scenario.associations.iter().map(|a| (a.name.as_str(), a)))?,
            apps: unique("app", scenario.apps.iter().map(|a| (a.name.as_str(), &a.kind)))?,
            owners: scenario
                .links
                .iter()
                .flat_map(|l| [(l.address_a, l.a.as_str()), (l.address_b, l.b.as_str())])
                .filter_map(|(address, node)| Some((address?, node)))
                .collect(),
            added: scenario.added_addresses(),
            routes: None,
        })
    }

    /// Returns the kind of the node with this name.
    pub(super) fn node(&self, key: &str, name: &str) -> Result<NodeKind, Problem> {
        Ok(known(&self.nodes, "node", key, name)?.kind)
    }

    fn routes(&self) -> &Routes {
        self.routes.as_ref().expect("computed before anything asks for them")
    }

    fn link(&self, link: &LinkSpec) -> Check {
        for (part, node, address_part, address) in
            [("a", &link.a, "address_a", link.address_a), ("b", &link.b, "address_b", link.address_b)]
        {
            match (self.node(part, node)?, address) {
                // A mobile keeps its home address.
                (NodeKind::Host, None) if self.is_visit(node, link) => {}
                (NodeKind::Host, None) => {
                    return fail(
                        address_part,
                        format!("missing: \"{node}\" is a host, want {address_part} = \"10.0.2.1\""),
                    );
                }
                (NodeKind::Router, Some(_)) => {
                    return fail(
                        address_part,
                        format!("\"{node}\" is a router and has no addresses: want this key left out"),
                    );
                }
                _ => {}
            }
        }
        if link.a == link.b {
            return fail("b", format!("both ends are \"{}\": want two nodes", link.a));
        }
        // RFC 791: every host takes 576 bytes. RFC 8200 §5: every IPv6 link carries 1280.
        let v6 = [link.address_a, link.address_b].iter().flatten().any(IpAddr::is_ipv6);
        let least = if v6 { 1280 } else { 576 };
        if link.mtu < least || link.mtu > 65_535 {
            return fail(
                "mtu",
                format!(
                    "{} bytes: want {least} to 65535 bytes on {} link",
                    link.mtu,
                    if v6 { "an IPv6" } else { "an IPv4" }
                ),
            );
        }
        if let Some(coding) = &link.coding {
            coding.check([&link.forward, &link.reverse])?;
        }
        for (part, way) in [("forward", &link.forward), ("reverse", &link.reverse)] {
            way.check().and_then(|()| self.delay(way.delay())).map_err(|p| p.within(part))?;
        }
        Ok(())
    }

    /// Rejects a propagation delay of the run's length: nothing would arrive.
    fn delay(&self, delay: Span) -> Check {
        let end = self.scenario.duration;
        if delay < end {
            return Ok(());
        }
        let message =
            format!("at a delay of {delay} no packet arrives within the duration, {end}: want less");
        fail("delay", message)
    }

    /// Returns true if this is the link of a mobile to a foreign agent.
    fn is_visit(&self, node: &str, link: &LinkSpec) -> bool {
        let mobile = self.nodes.get(node).is_some_and(|n| n.mobile.is_some());
        let other = if link.a == node { &link.b } else { &link.a };
        mobile && self.nodes.get(other.as_str()).is_some_and(|n| n.kind == NodeKind::ForeignAgent)
    }

    fn addresses(&self) -> Check {
        let mut seen: BTreeMap<IpAddr, String> = BTreeMap::new();
        for link in &self.scenario.links {
            for (part, address) in [("address_a", link.address_a), ("address_b", link.address_b)] {
                let Some(address) = address else { continue };
                let key = format!("link.{}.{part}", link.name);
                if address.is_unspecified() || address.is_multicast() {
                    return fail(
                        key,
                        format!("{address} cannot be a host's address: want a unicast address"),
                    );
                }
                if let Some(first) = seen.insert(address, key.clone()) {
                    return fail(
                        key,
                        format!("{address} is already used by {first}: want addresses that differ"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Checks that the address is one of the node's interfaces.
    pub(super) fn address_of(&self, key: &str, node: &str, address: IpAddr) -> Check {
        if self.owners.get(&address) == Some(&node) {
            return Ok(());
        }
        let own = self.owners.iter().filter(|(_, owner)| **owner == node);
        let list: Vec<String> = own.map(|(address, _)| address.to_string()).collect();
        let want = match list[..] {
            [] => ": want a link to it with that address".to_owned(),
            _ => format!(": want one of {}", list.join(", ")),
        };
        fail(key, format!("\"{node}\" does not have the address {address}{want}"))
    }

    fn association(&self, association: &AssociationSpec) -> Check {
        for (part, addresses_part, node, addresses) in [
            ("client", "client_addresses", &association.client, &association.client_addresses),
            ("server", "server_addresses", &association.server, &association.server_addresses),
        ] {
            if self.node(part, node)? != NodeKind::Host {
                return fail(part, format!("\"{node}\" is a router: want a host"));
            }
            if addresses.is_empty() {
                return fail(addresses_part, "empty: want at least one address");
            }
            for (number, &address) in addresses.iter().enumerate() {
                self.address_of(addresses_part, node, address)?;
                if addresses[..number].contains(&address) {
                    return fail(
                        addresses_part,
                        format!("{address} is listed twice: want each address once"),
                    );
                }
            }
        }
        if association.client == association.server {
            return fail("server", format!("both ends are \"{}\": want two hosts", association.client));
        }
        for (part, profile) in
            [("client_sctp", &association.client_profile), ("server_sctp", &association.server_profile)]
        {
            if let Some(name) = profile
                && !self.scenario.sctp.iter().any(|p| p.name == *name)
            {
                let profiles = self.scenario.sctp.iter().map(|p| p.name.as_str());
                return fail(part, format!("there is no sctp profile \"{name}\"{}", suggest(name, profiles)));
            }
        }
        if association.server_port == 0 {
            return fail("server_port", "0 is not a port: want 1 to 65535");
        }
        self.within("start", association.start)?;
        self.route("server_addresses", association.client_addresses[0], association.server_addresses[0])?;
        self.route("client_addresses", association.server_addresses[0], association.client_addresses[0])?;
        self.protections(association)?;
        self.packet_sizes(association)?;
        self.behind_nats(association)
    }

    /// Rejects a pre-shared key at one end only: the ends refuse each other.
    fn protections(&self, association: &AssociationSpec) -> Check {
        let protected =
            |profile: &Option<String>| self.scenario.config(profile.as_deref()).protection.keys().is_some();
        let (client, server) = (&association.client_profile, &association.server_profile);
        let (key, without) = match (protected(client), protected(server)) {
            (true, false) => ("server_sctp", server),
            (false, true) => ("client_sctp", client),
            _ => return Ok(()),
        };
        let without = without.as_deref().map_or("the default".to_owned(), |name| format!("\"{name}\""));
        let want = "want the same at both ends";
        fail(key, format!("{without} has protection = \"off\", and the other end \"psk\": {want}"))
    }

    /// Rejects packets of a fixed size that a link between the addresses drops.
    fn packet_sizes(&self, association: &AssociationSpec) -> Check {
        let AssociationSpec { client_addresses, server_addresses, .. } = association;
        for (part, profile, own, peer) in [
            ("client_sctp", &association.client_profile, client_addresses, server_addresses),
            ("server_sctp", &association.server_profile, server_addresses, client_addresses),
        ] {
            let named = self.scenario.sctp.iter().find(|p| Some(&p.name) == profile.as_ref());
            let Pmtu::Fixed(pmtu) = named.map_or(Config::default().pmtu, |p| p.config.pmtu) else { continue };
            let pairs = own.iter().flat_map(|from| peer.iter().map(move |to| (*from, *to)));
            let links = pairs.flat_map(|(from, to)| self.links_between(from, to));
            if let Some(link) = links.filter(|link| link.mtu < pmtu).min_by_key(|link| link.mtu) {
                let LinkSpec { name, mtu, .. } = link;
                let want = format!("want pmtu = {mtu} or less, or pmtu_discovery = true");
                return fail(
                    part,
                    format!(
                        "packets of pmtu = {pmtu} bytes exceed the mtu of link \"{name}\", {mtu}: {want}"
                    ),
                );
            }
        }
        Ok(())
    }

    /// Returns the links that packets take between two addresses, none without a route.
    fn links_between(&self, from: IpAddr, to: IpAddr) -> Vec<&'s LinkSpec> {
        let routes = self.routes();
        let ends = routes.interface(from).zip(routes.interface(to));
        let path = ends.filter(|_| from.is_ipv4() == to.is_ipv4()).and_then(|(a, b)| routes.path(a, b).ok());
        path.into_iter().flatten().map(|way| &self.scenario.links[way / 2]).collect()
    }

    /// Rejects messages that an end of an association can never send.
    fn messages(&self, association: &str, from: Side, sending: &Sending, (key, len): (&str, u32)) -> Check {
        let spec = *known(&self.associations, "association", "association", association)?;
        let (own, peer) = match from {
            Side::Client => (&spec.client_profile, &spec.server_profile),
            Side::Server => (&spec.server_profile, &spec.client_profile),
        };
        let [own, peer] = [own, peer].map(|profile| self.scenario.config(profile.as_deref()));
        let streams = own.outbound_streams.min(peer.max_inbound_streams);
        if sending.stream >= streams {
            let (stream, last) = (sending.stream, streams - 1);
            let more = "more outbound_streams of the sender and max_inbound_streams of the receiver";
            return fail(
                "stream",
                format!("{stream}: the association has {streams} streams: want 0 to {last}, or {more}"),
            );
        }
        if len > own.send_buffer {
            let buffer = own.send_buffer;
            let want = format!("want at most {buffer} bytes, or a larger send_buffer of the sender");
            return fail(key, format!("{len} bytes do not fit the send buffer of {buffer}: {want}"));
        }
        Ok(())
    }

    /// Rejects what a NAT cannot translate: addresses listed in an INIT, and a server behind the NAT.
    fn behind_nats(&self, association: &AssociationSpec) -> Check {
        let (client, server) = (&association.client_addresses, &association.server_addresses);
        let nat_of = |from: &[IpAddr], to: &[IpAddr]| {
            let routes = self.routes();
            let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (from, to)));
            let ends = pairs.filter_map(|(from, to)| {
                Some((*from, routes.translation(routes.interface(*from)?, routes.interface(*to)?)?))
            });
            ends.map(|(from, (nat, _))| (from, &self.scenario.nodes[nat].name)).next()
        };
        if let Some((address, nat)) = nat_of(server, client) {
            let message = format!("{address} is behind the nat \"{nat}\": want a server outside of it");
            return fail("server_addresses", message);
        }
        match nat_of(client, server) {
            Some((address, nat)) if client.len() > 1 => fail(
                "client_addresses",
                format!(
                    "{address} is behind the nat \"{nat}\", so the server cannot use it: want one address, and an action do = \"add-address\" for each other one"
                ),
            ),
            _ => Ok(()),
        }
    }

    /// Checks ports. A client's port has one association to a server's port, and a server's port has one set
    /// of addresses and options.
    fn ports(&self) -> Check {
        let mut servers: BTreeMap<(&str, u16), &AssociationSpec> = BTreeMap::new();
        for association in &self.scenario.associations {
            let end = (association.server.as_str(), association.server_port);
            let first = *servers.entry(end).or_insert(association);
            for (key, same) in [
                ("server_addresses", first.server_addresses == association.server_addresses),
                ("server_sctp", first.server_profile == association.server_profile),
            ] {
                if !same {
                    return fail(
                        format!("association.{}.{key}", association.name),
                        format!(
                            "differs from association \"{}\" at the same port {} of \"{}\": want the same, or another server_port",
                            first.name, end.1, end.0
                        ),
                    );
                }
            }
        }
        let mut taken: BTreeMap<(&str, u16), &str> = BTreeMap::new();
        for association in self.scenario.associations.iter().filter(|a| a.client_port != 0) {
            let end = (association.client.as_str(), association.client_port);
            if let Some(other) = taken.insert(end, &association.name) {
                return fail(
                    format!("association.{}.client_port", association.name),
                    format!(
                        "port {} of \"{}\" is already used by association \"{other}\": want another port",
                        end.1, end.0
                    ),
                );
            }
        }
        Ok(())
    }

    pub(super) fn within(&self, key: &str, at: Span) -> Check {
        if at > self.scenario.duration {
            return fail(
                key,
                format!("{at} is after the end: want at most the duration, {}", self.scenario.duration),
            );
        }
        Ok(())
    }

    pub(super) fn route(&self, key: &str, from: IpAddr, to: IpAddr) -> Check {
        let routes = self.routes();
        let (Some(source), Some(destination)) = (routes.interface(from), routes.interface(to)) else {
            return Ok(());
        };
        if from.is_ipv4() != to.is_ipv4() {
            return fail(key, format!("{from} and {to} are of different IP versions: want one version"));
        }
        match routes.path(source, destination) {
            Ok(_) => Ok(()),
            Err(stuck) => fail(
                key,
                format!(
                    "there is no route from {from} to {to}: \"{}\" has no next hop; want links between routers that \
                     connect them",
                    self.scenario.nodes[stuck].name
                ),
            ),
        }
    }

    fn app_times(&self, start: Option<Span>, stop: Option<Span>) -> Check {
        if let Some(start) = start {
            self.within("start", start)?;
        }
        if let Some(stop) = stop {
            self.within("stop", stop)?;
            let start = start.unwrap_or(Span::ZERO);
            if stop <= start {
                return fail("stop", format!("{stop} is not after the start, {start}: want a later time"));
            }
        }
        Ok(())
    }

    fn app(&self, kind: &AppKind) -> Check {
        match kind {
            AppKind::Bulk { association, from, message, sending, .. } => {
                self.messages(association, *from, sending, ("message", *message))
            }
            AppKind::Reader { association, .. } => {
                known(&self.associations, "association", "association", association).map(drop)
            }
            AppKind::TcpBulk { tcp, .. } | AppKind::TcpReader { tcp, .. } => tcp::check_app(self, tcp),
            AppKind::Video { association, from, frames, sending, .. } => {
                known(&self.associations, "association", "association", association)?;
                let wrong = |frame: &Frame| {
                    frame.interval.is_zero() || !(LEAST_FRAME..=MOST_FRAME).contains(&frame.bytes)
                };
                if frames.is_empty() || frames.iter().any(wrong) {
                    let want =
                        format!("want at least one frame, each of {LEAST_FRAME} to {MOST_FRAME} bytes");
                    return fail("frames", format!("{want} and with time before the next"));
                }
                let largest = frames.iter().map(|frame| frame.bytes).max().unwrap_or(0);
                self.messages(association, *from, sending, ("frames", largest))
            }
            AppKind::Cbr { from, to, rate, packet, .. } => {
                for (part, address) in [("from", from), ("to", to)] {
                    if self.routes().interface(*address).is_none() {
                        let text = address.to_string();
                        let known = self.routes().interfaces.iter().map(|i| i.address.to_string());
                        let known: Vec<String> = known.collect();
                        let remedy = suggest(&text, known.iter().map(String::as_str));
                        return fail(part, format!("no host has the address {text}{remedy}"));
                    }
                }
                if rate.is_zero() {
                    let message = "a source of 0bps sends nothing: want a higher rate, or stop = \"…\"";
                    return fail("rate", message);
                }
                // IPv4 or IPv6 header and UDP header.
                let least = if from.is_ipv4() { 28 } else { 48 };
                if *packet < least {
                    return fail(
                        "packet",
                        format!(
                            "{packet} bytes have no room for the IP and UDP headers: want at least {least}"
                        ),
                    );
                }
                self.route("to", *from, *to)
            }
        }
    }

    fn action(&self, action: &ActionSpec) -> Check {
        match &action.when {
            When::At(at) => self.within("at", *at)?,
            When::After { happening, delay, .. } => {
                self.within("after.delay", *delay)?;
                self.happening(happening).map_err(|p| p.within("after"))?;
            }
        }
        match &action.what {
            Do::LinkUp { link } | Do::LinkDown { link } => known(&self.links, "link", "link", link).map(drop),
            Do::SetLink { link, direction, rate, delay, loss, scheme, bler } => {
                let given = [
                    ("rate", rate.is_some()),
                    ("delay", delay.is_some()),
                    ("loss", loss.is_some()),
                    ("scheme", scheme.is_some()),
                    ("bler", bler.is_some()),
                ];
                self.set_link(link, *direction, &given)?;
                if rate.is_some_and(|rate| rate.is_zero()) {
                    let message = "a link of 0bps carries nothing: want a higher rate, or do = \"link-down\"";
                    return fail("rate", message);
                }
                delay.map_or(Ok(()), |delay| self.delay(delay))?;
                loss.as_ref().map_or(Ok(()), check_loss)
            }
            Do::RadioHandover { link, scheme, bler, .. } => {
                self.radio_handover(link, &[("scheme", scheme.is_some()), ("bler", bler.is_some())])
            }
            Do::AddressUp { address } | Do::AddressDown { address } => {
                if self.routes().interface(*address).is_some() {
                    return Ok(());
                }
                let message =
                    format!("no host has the address {address}: want address_a or address_b of a link");
                fail("address", message)
            }
            Do::AddAddress { association, address } => self.end_of(association, *address).map(drop),
            Do::DeleteAddress { association, address }
            | Do::RequestPrimary { association, address }
            | Do::Heartbeat { association, address }
            | Do::ReportQuality { association, address, .. } => self.used_by(association, *address),
            Do::SetPrimary { association, address, from } => {
                self.used_by(association, *address)?;
                match from {
                    None => Ok(()),
                    Some(from) => {
                        self.used_by(association, *from).map_err(|p| Problem::new("from", p.message))
                    }
                }
            }
            Do::Shutdown { association, .. } => {
                known(&self.associations, "association", "association", association).map(drop)
            }
            Do::ChangeMiddlebox { node, change } => self.middlebox(node, *change),
            Do::StartApp { app } | Do::StopApp { app } => known(&self.apps, "app", "app", app).map(drop),
        }
    }

    /// Checks that an action can set these keys of a link, in one direction or in both.
    fn set_link(&self, link: &str, direction: Option<LinkDirection>, given: &[(&str, bool)]) -> Check {
        let target = known(&self.links, "link", "link", link)?;
        let ways = [(LinkDirection::Forward, &target.forward), (LinkDirection::Reverse, &target.reverse)];
        let mut chosen = ways.iter().filter(|(way, _)| direction.is_none_or(|only| only == *way));
        chosen.try_for_each(|(_, way)| settable(link, way, given))
    }

    /// Checks that a link has cells, and that a handover can set these keys of it.
    fn radio_handover(&self, link: &str, given: &[(&str, bool)]) -> Check {
        let target = known(&self.links, "link", "link", link)?;
        for way in [&target.forward, &target.reverse] {
            if !way.has_cells() {
                let kind = way.can_set().0;
                let message =
                    format!("\"{link}\" is of type {kind} and has no cells: want an egprs or lte link");
                return fail("link", message);
            }
            if given.iter().any(|&(_, given)| given) {
                settable(link, way, given)?;
            }
        }
        Ok(())
    }

    /// Checks that a node is a middlebox to which a change applies.
    fn middlebox(&self, node: &str, change: MiddleboxChange) -> Check {
        let spec = known(&self.nodes, "node", "node", node)?;
        let options = spec.middlebox.as_ref().map(|middlebox| middlebox.options);
        if options.is_some_and(|options| options.supports(change)) {
            return Ok(());
        }
        let want = if change == MiddleboxChange::Rebind { "nat" } else { "captive-portal" };
        fail("node", format!("\"{node}\" is not a {want}: want a node with kind = \"{want}\""))
    }

    fn happening(&self, happening: &Happening) -> Check {
        match happening {
            Happening::Level { link, level, .. } => {
                let target = known(&self.links, "link", "link", link)?;
                if *level == Level::Signal && !target.forward.has_signal() {
                    let message = "has no receive power: want a link of type wlan or cellular with radio = { coverage = \
                                   250 }, or a trace with a column signal";
                    return fail("link", format!("\"{link}\" {message}"));
                }
                Ok(())
            }
            Happening::Established { association } => {
                known(&self.associations, "association", "association", association).map(drop)
            }
            Happening::AddressAdded { association, address }
            | Happening::AddressDeleted { association, address }
            | Happening::PrimaryChanged { association, address } => self.used_by(association, *address),
            Happening::Delivered { app } => match known(&self.apps, "app", "app", app)? {
                AppKind::Bulk { bytes: Some(_), .. } | AppKind::TcpBulk { bytes: Some(_), .. } => Ok(()),
                _ => fail("app", format!("\"{app}\" never ends: want a bulk application with bytes = …")),
            },
        }
    }

    /// Returns the association if the address belongs to one of its hosts.
    fn end_of(&self, association: &str, address: IpAddr) -> Result<&'s AssociationSpec, Problem> {
        let spec = *known(&self.associations, "association", "association", association)?;
        let owner = self.owners.get(&address);
        if owner.is_some_and(|owner| *owner == spec.client || *owner == spec.server) {
            return Ok(spec);
        }
        fail(
            "address",
            format!(
                "neither \"{}\" nor \"{}\" has the address {address}: want an address of one of them",
                spec.client, spec.server
            ),
        )
    }

    /// Checks that the association has the address from the start, or an action adds it.
    fn used_by(&self, association: &str, address: IpAddr) -> Check {
        let spec = *known(&self.associations, "association", "association", association)?;
        let mut used: Vec<IpAddr> = spec.client_addresses.clone();
        used.extend(&spec.server_addresses);
        used.extend(self.added.get(association).into_iter().flatten());
        if used.contains(&address) {
            return Ok(());
        }
        let list: Vec<String> = used.iter().map(IpAddr::to_string).collect();
        fail(
            "address",
            format!(
                "{address} is unknown to association \"{association}\": want one of {}, or an action do = \"add-address\" for it",
                list.join(", ")
            ),
        )
    }
}
