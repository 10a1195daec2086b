//! Builds a [`Simulation`] from a scenario: resolves names to indexes, and creates the components with their
//! random streams.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use msctp_link::egprs::CodingScheme;
use msctp_link::{Change, Marking, Probability};
use msctp_proto::{ConfigError, Endpoint, EndpointConfig, LocalAddrs};
use msctp_units::{Span, Time};

use crate::action::{Act, Call, Plan, Planned, Trigger};
use crate::air::{Air, between, tracks};
use crate::app::bulk::Bulk;
use crate::app::cbr::{Cbr, CbrOptions};
use crate::app::reader::Reader;
use crate::app::source::Source;
use crate::app::video::Video;
use crate::encapsulation::Encapsulation;
use crate::event::{EventQueue, Target};
use crate::free_ports::FreePorts;
use crate::hop::Hop;
use crate::host::Host;
use crate::index::Index;
use crate::line::{End, Line};
use crate::losses::Lost;
use crate::network::{ALL_HOSTS, Network, Port, Station, Strays};
use crate::nodes::{EVERYBODY, Nodes};
use crate::observer::Observer;
use crate::outside::Outside;
use crate::packet::{AddressId, PacketPool};
use crate::probe::QueueProbe;
use crate::random;
use crate::scenario::{
    ActionSpec, AppKind, AppSpec, AssociationSpec, Configs, Do, Happening, LinkDirection, NO_ROUTE, NodeKind,
    Routes, Scenario, ScenarioError, Side, When,
};
use crate::series::{Bins, Deliveries, DeliverySeries, TraceSeries};
use crate::simulation::coding::codings;
use crate::simulation::watch::Watch;
use crate::simulation::{App, Simulation};
use crate::tcp_line::TcpSource;

/// Resolved names of a scenario.
struct Names<'s> {
    nodes: BTreeMap<&'s str, usize>,
    links: BTreeMap<&'s str, usize>,
    associations: BTreeMap<&'s str, usize>,
    tcp: BTreeMap<&'s str, usize>,
    apps: BTreeMap<&'s str, usize>,
}

/// Panic message of a missing name, which a checked scenario does not have.
const CHECKED: &str = "the scenario was checked";

fn numbered<'s>(names: impl Iterator<Item = &'s str>) -> BTreeMap<&'s str, usize> {
    names.enumerate().map(|(number, name)| (name, number)).collect()
}

impl Simulation {
    /// Prepares a run of the scenario. `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// The error of [`Scenario::check`], or more components than the event queue can address.
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let components = [
            ("link", 2 * scenario.links.len()),
            ("tcp", 2 * scenario.tcp.len()),
            ("app", scenario.apps.len()),
            ("action", scenario.actions.len()),
        ];
        if let Some((key, count)) = components.into_iter().find(|&(_, count)| count > Target::MAX_INDEX) {
            return Err(ScenarioError {
                file: None,
                line: None,
                key: key.to_owned(),
                message: format!("{count} are too many: want at most {}", Target::MAX_INDEX),
            });
        }
        let seed = seed.unwrap_or(scenario.seed);
        let routes = Routes::of(scenario);
        let names = Names {
            nodes: numbered(scenario.nodes.iter().map(|n| n.name.as_str())),
            links: numbered(scenario.links.iter().map(|l| l.name.as_str())),
            associations: numbered(scenario.associations.iter().map(|a| a.name.as_str())),
            tcp: numbered(scenario.tcp.iter().map(|t| t.name.as_str())),
            apps: numbered(scenario.apps.iter().map(|a| a.name.as_str())),
        };
        let configs = Configs::of_profiles(scenario);
        let (ports, lines) = (ports(scenario)?, lines(scenario, &routes));
        let size = (scenario.nodes.len(), scenario.links.len());
        let index = Index::new(size, &lines, &ports, &routes.interfaces);
        let mut simulation = Self {
            seed,
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            events: EventQueue::default(),
            network: network(scenario, &routes, seed),
            addresses: routes.interfaces.iter().map(|i| i.address).collect(),
            hosts: hosts(scenario, &configs, seed)?,
            index,
            configs,
            ports,
            numbers: routes
                .interfaces
                .iter()
                .enumerate()
                .map(|(n, i)| (i.address, AddressId(n as u32)))
                .collect(),
            interfaces: routes.interfaces.clone(),
            lines,
            tcp: Self::tcp_lines(scenario, |a| address(&routes, a))?,
            apps: Vec::new(),
            plan: Plan::default(),
            nodes: Nodes::default(),
            codings: codings(scenario, seed),
            watches: Vec::new(),
            observer: Observer::default(),
            queues: None,
            outside: Outside::default(),
            handled: 0,
            scenario: scenario.clone(),
        };
        simulation.add_nodes(scenario, &routes);
        simulation.report_links();
        simulation.start_tcp();
        simulation.add_apps(scenario, &routes, &names);
        simulation.add_plan(scenario, &routes, &names);
        if let Some(interval) = scenario.probes.queues {
            simulation.queues = Some(QueueProbe::new(interval, simulation.directions()));
            simulation.events.push(Time::ZERO, Target::Probe);
        }
        Ok(simulation)
    }

    /// Adds agents, mobiles and the address to which agents advertise.
    fn add_nodes(&mut self, scenario: &Scenario, routes: &Routes) {
        let everybody = AddressId(self.addresses.len() as u32);
        self.nodes = Nodes::of(scenario, routes, everybody);
        for (node, table) in routes.tables.iter().enumerate().filter(|(_, table)| !table.is_empty()) {
            if let Some(number) = self.nodes.number(node) {
                self.network.stations[node] = Station::Node(number, table.clone());
            }
        }
        if scenario.nodes.iter().any(|node| node.kind.is_agent() || node.mobile.is_some()) {
            self.addresses.push(EVERYBODY.into());
            self.numbers.insert(EVERYBODY.into(), everybody);
            self.network.ports.push(Port { present: true, egress: NO_ROUTE, host: ALL_HOSTS });
        }
        self.with_nodes(Nodes::begin);
    }

    fn add_apps(&mut self, scenario: &Scenario, routes: &Routes, names: &Names<'_>) {
        for (number, spec) in scenario.apps.iter().enumerate() {
            let number = number as u32;
            self.apps.push(match &spec.kind {
                AppKind::Bulk { association, from, .. } | AppKind::Video { association, from, .. } => {
                    let (association, from) = (names.associations[association.as_str()], *from);
                    let sources = &mut self.lines[association].end_mut(from).sources;
                    sources.extend(source(spec, self.seed).map(|source| (number, source)));
                    match spec.kind {
                        AppKind::Bulk { .. } => App::Bulk { association, from },
                        _ => App::Video { association, from },
                    }
                }
                AppKind::Reader { association, at, rate } => {
                    let association = names.associations[association.as_str()];
                    self.lines[association].end_mut(*at).reader = Some((number, Reader::new(*rate)));
                    App::Reader { association, at: *at }
                }
                AppKind::TcpBulk { tcp, from, bytes } => {
                    let connection = names.tcp[tcp.as_str()];
                    self.tcp[connection].end_mut(*from).source = Some(TcpSource::new(number, *bytes));
                    App::Tcp { connection, side: *from }
                }
                AppKind::TcpReader { tcp, at, rate } => {
                    let connection = names.tcp[tcp.as_str()];
                    self.tcp[connection].end_mut(*at).reader = Some((number, Reader::new(*rate)));
                    App::Tcp { connection, side: *at }
                }
                AppKind::Cbr { from, to, rate, packet, jitter, random_phase } => {
                    let options = CbrOptions {
                        source: address(routes, *from),
                        destination: address(routes, *to),
                        rate: *rate,
                        packet: *packet,
                        jitter: *jitter,
                        random_phase: *random_phase,
                    };
                    App::Cbr(Box::new(Cbr::new(options, &spec.name, self.seed)))
                }
            });
        }
    }

    /// Adds the scenario's actions and the implied ones: changes of radio conditions, starts of associations,
    /// starts and stops of applications.
    fn add_plan(&mut self, scenario: &Scenario, routes: &Routes, names: &Names<'_>) {
        let mut plan = Vec::new();
        let mut times = Vec::new();
        for coding in 0..self.codings.len() {
            plan.push(Planned::new(Act::Coding { coding }, None, None));
            times.push(self.on_coding(coding).map(|at| at.since(Time::ZERO)));
        }
        for (association, spec) in scenario.associations.iter().enumerate() {
            let act = Act::Association { association, side: Side::Client, call: Call::Connect };
            plan.push(Planned::new(act, None, None));
            times.push(Some(spec.start));
        }
        for (app, spec) in scenario.apps.iter().enumerate() {
            for (start, at) in [(true, spec.start), (false, spec.stop)] {
                if at.is_some() {
                    plan.push(Planned::new(Act::App { app, start }, None, None));
                    times.push(at);
                }
            }
        }
        for action in &scenario.actions {
            let waits = match &action.when {
                When::At(at) => {
                    times.push(Some(*at));
                    None
                }
                When::After { happening, delay, repeat } => {
                    times.push(None);
                    if let Happening::Level { link, level, below, threshold } = happening {
                        let link = names.links[link.as_str()];
                        self.watches.push(Watch::new(link, *level, *below, *threshold));
                    }
                    let watch = self.watches.len().saturating_sub(1);
                    Some((trigger(happening, names, watch), *delay, *repeat))
                }
            };
            let shown = (action.what.word(), subject(&action.what));
            let waits_for = waits.map(|(trigger, delay, _)| (trigger, delay));
            let act = act(scenario, action, routes, names, &self.nodes);
            let planned = Planned::new(act, Some(shown), waits_for);
            plan.push(planned.repeated(waits.is_some_and(|(.., repeat)| repeat)));
        }
        if !self.watches.is_empty() {
            plan.push(Planned::new(Act::Watch, None, None));
            times.push(Some(Span::ZERO));
        }
        self.plan = Plan::new(plan);
        for (number, at) in times.into_iter().enumerate() {
            if let Some(at) = at {
                self.events.push(Time::ZERO + at, Target::Action(number as u32));
            }
        }
    }
}

/// Creates the source of an application that sends over an association, in the state stopped.
pub(crate) fn source(spec: &AppSpec, seed: u64) -> Option<Source> {
    match &spec.kind {
        &AppKind::Bulk { bytes, message, sending, .. } => {
            Some(Source::Bulk(Bulk::new(message, bytes, sending)))
        }
        AppKind::Video { frames, sending, random_phase, .. } => {
            let video = Video::new(frames.clone(), *sending, *random_phase, &spec.name, seed);
            Some(Source::Video(Box::new(video)))
        }
        _ => None,
    }
}

fn address(routes: &Routes, address: IpAddr) -> AddressId {
    AddressId(routes.number_of(address).expect(CHECKED) as u32)
}

fn network(scenario: &Scenario, routes: &Routes, seed: u64) -> Network {
    let tracks = tracks(scenario);
    let air = Air::new(scenario, &tracks, seed);
    let hops = scenario
        .links
        .iter()
        .enumerate()
        .flat_map(|(number, link)| {
            [(LinkDirection::Forward, &link.forward), (LinkDirection::Reverse, &link.reverse)].map(
                |(way, direction)| {
                    let hop = 2 * number + usize::from(way == LinkDirection::Reverse);
                    let label = format_args!("link/{}/{}", link.name, way.word());
                    let end = (routes.leads_to[hop] as u32, link.mtu, link.loss_means);
                    let marking = link.mark[hop % 2].map(|threshold| Marking { threshold });
                    Hop::new(direction, air.port(hop), between(link, &tracks), end, marking, label, seed)
                },
            )
        })
        .collect();
    let stations = scenario
        .nodes
        .iter()
        .enumerate()
        .map(|(number, node)| match node.kind {
            NodeKind::Host => Station::Host(number as u32),
            NodeKind::Router | NodeKind::HomeAgent | NodeKind::ForeignAgent | NodeKind::Middlebox => {
                Station::Router(routes.tables[number].clone())
            }
        })
        .collect();
    let ports = routes
        .interfaces
        .iter()
        .map(|interface| Port { present: true, egress: interface.egress as u32, host: interface.node as u32 })
        .collect();
    let (pool, strays) = (PacketPool::default(), Strays::default());
    let mut network = Network { hops, air, stations, ports, pool, strays, lost: Lost::of(scenario) };
    for (number, _) in scenario.links.iter().enumerate().filter(|(_, link)| !link.up) {
        for hop in [2 * number, 2 * number + 1] {
            network.hops[hop].set_up(Time::ZERO, &mut network.air, false);
        }
    }
    network
}

/// Creates an endpoint on each host with associations, which listens if the host is a server. It draws from
/// the stream `host/NAME/sctp`.
fn hosts(scenario: &Scenario, configs: &Configs, seed: u64) -> Result<Vec<Option<Box<Host>>>, ScenarioError> {
    let mut hosts: Vec<Option<Box<Host>>> = Vec::new();
    let mut listening = BTreeSet::new();
    let ends = |spec: &'_ AssociationSpec| [spec.client.clone(), spec.server.clone()];
    let used: BTreeSet<String> = scenario.associations.iter().flat_map(ends).collect();
    let mut served: BTreeMap<&str, Vec<&AssociationSpec>> = BTreeMap::new();
    for spec in &scenario.associations {
        served.entry(&spec.server).or_default().push(spec);
    }
    let encapsulated = scenario.is_encapsulated();
    // Packets get their checksum where somebody looks at them.
    let options = EndpointConfig { checksum_offload: true, ..EndpointConfig::default() };
    for node in &scenario.nodes {
        if !used.contains(&node.name) {
            hosts.push(None);
            continue;
        }
        let stream = random::component_seed(seed, &format!("host/{}/sctp", node.name));
        let mut endpoint =
            Endpoint::new(options.clone(), stream).map_err(|e| refused("node", &node.name, &e))?;
        for spec in served.get(node.name.as_str()).into_iter().flatten() {
            if listening.insert((&node.name, spec.server_port)) {
                let local = LocalAddrs { port: spec.server_port, addresses: spec.server_addresses.clone() };
                let config = configs.of(spec.server_profile.as_deref());
                endpoint.listen(local, config).map_err(|e| refused("association", &spec.name, &e))?;
            }
        }
        if let Some(mobility) = &node.follows {
            endpoint.follow_links(mobility.clone(), &[]);
        }
        let udp = encapsulated.then(Encapsulation::default);
        hosts.push(Some(Box::new(Host::new(endpoint, udp))));
    }
    Ok(hosts)
}

fn refused(kind: &str, name: &str, error: &ConfigError) -> ScenarioError {
    ScenarioError { file: None, line: None, key: format!("{kind}.{name}"), message: error.to_string() }
}

/// Returns the ports of client and server of each association. A client without a port gets a free one from
/// 10000 on. Behind a NAT no two clients have the same port.
fn ports(scenario: &Scenario) -> Result<Vec<(u16, u16)>, ScenarioError> {
    let shared = scenario.has_nat();
    let mut free = FreePorts::default();
    for spec in &scenario.associations {
        for (host, port) in [(&spec.client, spec.client_port), (&spec.server, spec.server_port)] {
            free.take(if shared { "" } else { host }, port);
        }
    }
    let mut ports = Vec::with_capacity(scenario.associations.len());
    for spec in &scenario.associations {
        let key = || format!("association.{}.client_port", spec.name);
        let client = match spec.client_port {
            0 => free.next(if shared { "" } else { &spec.client }, key)?,
            port => port,
        };
        ports.push((client, spec.server_port));
    }
    Ok(ports)
}

fn lines(scenario: &Scenario, routes: &Routes) -> Vec<Line> {
    let hosts = numbered(scenario.nodes.iter().map(|n| n.name.as_str()));
    let has_nat = scenario.has_nat();
    scenario
        .associations
        .iter()
        .map(|spec| {
            let end = |host: &str, side: Side| End {
                host: hosts[host] as u32,
                delivery: scenario.probes.throughput.map(|interval| DeliverySeries {
                    association: spec.name.clone(),
                    side: side.word(),
                    total: Bins::new(interval),
                    per_path: Vec::new(),
                }),
                deliveries: scenario.probes.deliveries.then(|| Deliveries::new(&spec.name, side.word())),
                trace: scenario.probes.trace.then(|| TraceSeries::new(&spec.name, side.word())),
                ..End::default()
            };
            let translated = if has_nat { translated(&hosts, spec, routes) } else { Vec::new() };
            Line::new(end(&spec.client, Side::Client), end(&spec.server, Side::Server), translated)
        })
        .collect()
}

/// Returns the client's addresses that a NAT translates on the way to the server, each with the NAT's.
fn translated(
    nodes: &BTreeMap<&str, usize>,
    spec: &AssociationSpec,
    routes: &Routes,
) -> Vec<(IpAddr, IpAddr)> {
    let own = routes.interfaces_of(nodes[spec.client.as_str()]);
    own.filter_map(|(_, own)| {
        let server = |address: &&IpAddr| address.is_ipv4() == own.address.is_ipv4();
        let server = routes.interface(*spec.server_addresses.iter().find(server)?)?;
        Some((own.address, routes.translation(own, server)?.1))
    })
    .collect()
}

fn trigger(happening: &Happening, names: &Names<'_>, watch: usize) -> Trigger {
    let association = |name: &String| names.associations[name.as_str()];
    match happening {
        Happening::Established { association: a } => Trigger::Established { association: association(a) },
        Happening::AddressAdded { association: a, address } => {
            Trigger::AddressAdded { association: association(a), address: *address }
        }
        Happening::AddressDeleted { association: a, address } => {
            Trigger::AddressDeleted { association: association(a), address: *address }
        }
        Happening::PrimaryChanged { association: a, address } => {
            Trigger::PrimaryChanged { association: association(a), address: *address }
        }
        Happening::Delivered { app } => Trigger::Delivered { app: names.apps[app.as_str()] },
        Happening::Level { .. } => Trigger::Level { watch },
    }
}

fn act(scenario: &Scenario, action: &ActionSpec, routes: &Routes, names: &Names<'_>, nodes: &Nodes) -> Act {
    // Find the end to which the address belongs.
    let owner = |association: usize, address: IpAddr| {
        let node = routes.interface(address).expect(CHECKED).node;
        if scenario.nodes[node].name == scenario.associations[association].client {
            Side::Client
        } else {
            Side::Server
        }
    };
    let own = |name: &String, address: IpAddr, call: Call| {
        let association = names.associations[name.as_str()];
        Act::Association { association, side: owner(association, address), call }
    };
    let peer = |name: &String, address: IpAddr, call: Call| {
        let association = names.associations[name.as_str()];
        Act::Association { association, side: owner(association, address).other(), call }
    };
    match &action.what {
        Do::LinkUp { link } => Act::LinkState { link: names.links[link.as_str()], up: true },
        Do::LinkDown { link } => Act::LinkState { link: names.links[link.as_str()], up: false },
        Do::SetLink { link, direction, rate, delay, loss, scheme, bler } => {
            let link = names.links[link.as_str()];
            let directions = match direction {
                None => vec![2 * link, 2 * link + 1],
                Some(LinkDirection::Forward) => vec![2 * link],
                Some(LinkDirection::Reverse) => vec![2 * link + 1],
            };
            let changes = rate.map(Change::Rate).into_iter().chain(delay.map(Change::Delay));
            let changes = changes.chain(conditions(*scheme, *bler)).collect();
            Act::SetLink { directions, changes, loss: loss.clone() }
        }
        &Do::RadioHandover { ref link, interruption, carries, scheme, bler } => {
            let link = names.links[link.as_str()];
            let handover = Change::Handover { interruption, carries };
            let changes = [handover].into_iter().chain(conditions(scheme, bler)).collect();
            Act::SetLink { directions: vec![2 * link, 2 * link + 1], changes, loss: None }
        }
        Do::AddressUp { address: a } => Act::Address { address: address(routes, *a), present: true },
        Do::AddressDown { address: a } => Act::Address { address: address(routes, *a), present: false },
        Do::AddAddress { association, address } => own(association, *address, Call::AddAddress(*address)),
        Do::DeleteAddress { association, address } => {
            own(association, *address, Call::DeleteAddress(*address))
        }
        Do::RequestPrimary { association, address } => {
            own(association, *address, Call::RequestPrimary(*address))
        }
        Do::SetPrimary { association, address, from } => {
            peer(association, *address, Call::SetPrimary { to: *address, from: *from })
        }
        Do::Heartbeat { association, address } => peer(association, *address, Call::Heartbeat(*address)),
        Do::ReportQuality { association, address, quality } => {
            own(association, *address, Call::ReportQuality(*address, *quality))
        }
        Do::Shutdown { association, side } => Act::Association {
            association: names.associations[association.as_str()],
            side: *side,
            call: Call::Shutdown,
        },
        Do::ChangeMiddlebox { node, change } => {
            let node = nodes.number(names.nodes[node.as_str()]).expect(CHECKED);
            Act::Middlebox { node, change: *change }
        }
        Do::StartApp { app } => Act::App { app: names.apps[app.as_str()], start: true },
        Do::StopApp { app } => Act::App { app: names.apps[app.as_str()], start: false },
    }
}

/// Returns the changes that set a radio link's conditions.
fn conditions(scheme: Option<CodingScheme>, bler: Option<Probability>) -> impl Iterator<Item = Change> {
    scheme.map(Change::Coding).into_iter().chain(bler.map(Change::BlockErrors))
}

fn conditions_text(scheme: Option<CodingScheme>, bler: Option<Probability>) -> String {
    let scheme = scheme.map(|scheme| format!(" scheme {scheme}"));
    let bler = bler.map(|bler| format!(" bler {}", bler.as_f64()));
    [scheme, bler].into_iter().flatten().collect()
}

/// Describes the subject of an action.
fn subject(what: &Do) -> String {
    match what {
        Do::LinkUp { link } | Do::LinkDown { link } => link.clone(),
        Do::SetLink { link, direction, rate, delay, loss, scheme, bler } => {
            let mut text = link.clone();
            if let Some(direction) = direction {
                text.push('/');
                text.push_str(direction.word());
            }
            let rate = rate.map(|rate| format!(" rate {rate}"));
            let delay = delay.map(|delay| format!(" delay {delay}"));
            let loss = loss.as_ref().map(|loss| format!(" loss {loss}"));
            text.extend([rate, delay, loss].into_iter().flatten());
            text + &conditions_text(*scheme, *bler)
        }
        Do::RadioHandover { link, scheme, bler, .. } => link.clone() + &conditions_text(*scheme, *bler),
        Do::AddressUp { address } | Do::AddressDown { address } => address.to_string(),
        Do::AddAddress { association, address }
        | Do::DeleteAddress { association, address }
        | Do::RequestPrimary { association, address }
        | Do::SetPrimary { association, address, .. }
        | Do::Heartbeat { association, address }
        | Do::ReportQuality { association, address, .. } => format!("{association} {address}"),
        Do::Shutdown { association, side } => format!("{association} {}", side.word()),
        Do::ChangeMiddlebox { node, .. } => node.clone(),
        Do::StartApp { app } | Do::StopApp { app } => app.clone(),
    }
}
