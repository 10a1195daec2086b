//! Traffic of other flows: the link directions that they load, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use msctp_units::{Rate, Span, Time};

use super::links::time;
use super::{HEADERS, PACKET, UNLIMITED, route};
use crate::scenario::{
    AppKind, AppSpec, AssociationSpec, DirectionIndex, Do, Routes, Scenario, Side, TcpSpec,
};

/// Length of the headers of TCP's full packets: IPv4 or IPv6, TCP without options.
const TCP_HEADERS: [u64; 2] = [20 + 20, 40 + 20];

/// Times at which an application starts (true) and stops, ascending.
type Runs = Vec<(Time, bool)>;

/// The data that an application sends.
struct Traffic {
    runs: Runs,
    /// Its rate; [`UNLIMITED`] for one that sends all it can.
    rate: Rate,
    /// Bytes on the wire, if they are limited.
    bytes: Option<u64>,
}

impl Traffic {
    fn runs(&self, now: Time) -> bool {
        self.runs.iter().take_while(|(at, _)| *at <= now).last().is_some_and(|&(_, runs)| runs)
    }
}

/// A sender's end of a connection or association, or a constant-rate source.
pub(super) struct Flow<'s> {
    /// The link directions that the flow loads, or may load.
    pub(super) path: Vec<DirectionIndex>,
    /// False if the flow may also use other paths than these.
    pub(super) path_is_known: bool,
    /// True if the flow adapts its rate to that of others.
    pub(super) yields: bool,
    /// Name of the association.
    pub(super) association: Option<&'s str>,
    traffic: Vec<Traffic>,
}

impl Flow<'_> {
    /// Returns the bytes of each application on the wire. Those of a flow without a known path never end.
    pub(super) fn bytes(&self) -> Vec<Option<u64>> {
        self.traffic.iter().map(|traffic| traffic.bytes.filter(|_| self.path_is_known)).collect()
    }

    /// Returns the times at which applications start and stop.
    pub(super) fn changes(&self) -> impl Iterator<Item = Time> {
        self.traffic.iter().flat_map(|traffic| traffic.runs.iter().map(|&(at, _)| at))
    }

    /// Returns the rate that the flow needs. `left` are the bytes that each application has yet to send.
    pub(super) fn demand(&self, now: Time, left: &[Option<u64>]) -> Rate {
        let running = self.traffic.iter().zip(left);
        let running = running.filter(|(traffic, left)| **left != Some(0) && traffic.runs(now));
        Rate::from_bps(running.fold(0, |sum, (traffic, _)| sum.saturating_add(traffic.rate.as_bps())))
    }

    /// Returns the first application whose bytes are limited and not yet sent: its number, the bytes, and
    /// what it gets of the flow's rate.
    pub(super) fn finite(&self, now: Time, left: &[Option<u64>], rate: Rate) -> Option<(usize, u64, Rate)> {
        let mut running = self.traffic.iter().zip(left).enumerate();
        let (number, bytes) = running.find_map(|(number, (traffic, left))| {
            Some((number, left.filter(|&left| left > 0 && traffic.runs(now))?))
        })?;
        let videos = self.traffic.iter().filter(|traffic| traffic.rate < UNLIMITED && traffic.runs(now));
        let rate = videos.fold(rate, |rate, video| rate.saturating_sub(video.rate));
        (!rate.is_zero()).then_some((number, bytes, rate))
    }
}

/// The flows of a scenario.
pub(super) struct Others<'s> {
    pub(super) flows: Vec<Flow<'s>>,
    /// The associations to which the flow in question may belong; `None` if it belongs to none. Their own
    /// flows are in the list.
    pub(super) own: Vec<Option<&'s str>>,
}

impl<'s> Others<'s> {
    /// Finds the flows. `ends` are the addresses of the flow in question.
    pub(super) fn of(scenario: &'s Scenario, routes: &Routes, ends: (IpAddr, IpAddr)) -> Self {
        let mut switches: BTreeMap<&str, Runs> = BTreeMap::new();
        let added = scenario.added_addresses();
        for action in &scenario.actions {
            match (&action.what, time(&action.when)) {
                (Do::StartApp { app }, Some(at)) => switches.entry(app).or_default().push((at, true)),
                (Do::StopApp { app }, Some(at)) => switches.entry(app).or_default().push((at, false)),
                _ => {}
            }
        }
        let runs = |app: &AppSpec, from: Time| {
            let implied = [(app.start, true), (app.stop, false)];
            let implied = implied.into_iter().filter_map(|(at, runs)| Some((Time::ZERO + at?, runs)));
            let own = switches.get(app.name.as_str()).into_iter().flatten().copied();
            let mut runs: Vec<_> = implied.chain(own).collect();
            // Sorted before the times are clipped, so that the last action before `from` counts.
            runs.sort_by_key(|&(at, _)| at);
            runs.iter_mut().for_each(|(at, _)| *at = (*at).max(from));
            runs
        };
        let mut flows = independent(scenario, routes, &runs);
        let associations: BTreeMap<&str, &AssociationSpec> =
            scenario.associations.iter().map(|spec| (spec.name.as_str(), spec)).collect();
        let mut sending: BTreeMap<(&str, bool), Vec<Traffic>> = BTreeMap::new();
        for app in &scenario.apps {
            let (AppKind::Bulk { association, from, .. } | AppKind::Video { association, from, .. }) =
                &app.kind
            else {
                continue;
            };
            let Some(spec) = associations.get(association.as_str()) else { continue };
            let v6 = spec.client_addresses.first().is_some_and(IpAddr::is_ipv6);
            let (rate, bytes) = load(&app.kind, HEADERS[usize::from(v6)]);
            let runs = runs(app, Time::ZERO + spec.start);
            let end = (association.as_str(), *from == Side::Client);
            sending.entry(end).or_default().push(Traffic { runs, rate, bytes });
        }
        let pairs = |spec: &AssociationSpec, by_client: bool| {
            pairs(spec, added.get(spec.name.as_str()).map_or(&[][..], Vec::as_slice), routes, by_client)
        };
        for ((association, by_client), traffic) in sending {
            let paths: BTreeSet<_> = pairs(associations[association], by_client)
                .into_iter()
                .filter_map(|(from, to)| route(routes, from, to))
                .collect();
            flows.push(Flow {
                path_is_known: paths.len() == 1,
                path: paths.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect(),
                yields: true,
                association: Some(association),
                traffic,
            });
        }
        // An association with one path does not switch.
        let mut own: Vec<(&str, bool)> = Vec::new();
        for spec in &scenario.associations {
            let either = [pairs(spec, true), pairs(spec, false)];
            if either.iter().any(|pairs| pairs.contains(&ends)) {
                own.push((&spec.name, either[0].len() > 1));
            }
        }
        if own.iter().any(|(_, switches)| *switches) {
            own.retain(|(_, switches)| *switches);
        }
        let mut own: Vec<_> = own.into_iter().map(|(name, _)| Some(name)).collect();
        if own.is_empty() {
            own.push(None);
        }
        Self { flows, own }
    }
}

/// Returns the constant-rate sources and TCP transfers.
fn independent<'s>(
    scenario: &'s Scenario,
    routes: &Routes,
    runs: &dyn Fn(&AppSpec, Time) -> Runs,
) -> Vec<Flow<'s>> {
    let connections: BTreeMap<&str, &TcpSpec> =
        scenario.tcp.iter().map(|spec| (spec.name.as_str(), spec)).collect();
    let flow = |app: &AppSpec| {
        let (from, to, begins) = match &app.kind {
            AppKind::Cbr { from, to, .. } => (*from, *to, Time::ZERO),
            AppKind::TcpBulk { tcp, from, .. } => {
                let spec = connections.get(tcp.as_str())?;
                (spec.address(*from), spec.address(from.other()), Time::ZERO + spec.start)
            }
            _ => return None,
        };
        let (rate, bytes) = load(&app.kind, TCP_HEADERS[usize::from(from.is_ipv6())]);
        Some(Flow {
            path: route(routes, from, to)?,
            path_is_known: true,
            yields: !matches!(app.kind, AppKind::Cbr { .. }),
            association: None,
            traffic: vec![Traffic { runs: runs(app, begins), rate, bytes }],
        })
    };
    scenario.apps.iter().filter_map(flow).collect()
}

/// Returns the rate of an application and its bytes on the wire, with headers of this length in each full
/// packet.
fn load(kind: &AppKind, headers: u64) -> (Rate, Option<u64>) {
    let wire = |bytes: u64| bytes.saturating_add(bytes.div_ceil(PACKET - headers).saturating_mul(headers));
    match kind {
        AppKind::Cbr { rate, .. } => (*rate, None),
        AppKind::Video { frames, .. } => {
            let bytes = frames.iter().map(|frame| wire(u64::from(frame.bytes))).sum();
            let time = frames.iter().fold(Span::ZERO, |sum, frame| sum + frame.interval);
            (Rate::of(bytes, time).unwrap_or(UNLIMITED), None)
        }
        AppKind::Bulk { bytes, .. } | AppKind::TcpBulk { bytes, .. } => (UNLIMITED, bytes.map(wire)),
        AppKind::Reader { .. } | AppKind::TcpReader { .. } => (Rate::ZERO, None),
    }
}

/// Returns the pairs of addresses between which one end of an association may send.
fn pairs(
    spec: &AssociationSpec,
    added: &[IpAddr],
    routes: &Routes,
    by_client: bool,
) -> Vec<(IpAddr, IpAddr)> {
    let own = |named: &[IpAddr]| -> Vec<IpAddr> {
        let node_of = |address: &IpAddr| routes.interface(*address).map(|interface| interface.node);
        let node = named.first().and_then(node_of);
        let is_own = |address: &&IpAddr| node_of(address) == node;
        let new = added.iter().filter(is_own).filter(|address| !named.contains(address));
        named.iter().chain(new).copied().collect()
    };
    let (client, server) = (own(&spec.client_addresses), own(&spec.server_addresses));
    let (from, to) = if by_client { (client, server) } else { (server, client) };
    let all = from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| from.is_ipv4() == to.is_ipv4()).collect()
}
