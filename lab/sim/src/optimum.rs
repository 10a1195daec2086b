//! [`optimum`]: the user bytes that a path could deliver after a switch, computed from its links and from the
//! other traffic.

use std::net::IpAddr;

use msctp_units::{Rate, Span, Time};

use crate::scenario::{
    AppKind, AppSpec, DirectionIndex, Do, LinkDirection, PlainSpec, Routes, Scenario, Side, When,
};

/// Length of a full packet on the wire, in bytes.
const PACKET: u64 = 1500;
/// Length of its headers: IPv4 or IPv6, SCTP's common header, DATA chunk header.
const HEADERS: [u64; 2] = [20 + 12 + 16, 40 + 12 + 16];

/// Returns the user bytes that a flow from address `from` to `to` could deliver in `window` after `at`.
///
/// At each instant the slowest link limits the flow. Its rate, less that of constant-rate traffic, is divided
/// equally by its TCP transfers and this flow. Nothing arrives before the delays and transmission times of a
/// first packet have passed. Losses count as delivered. Follows actions with a time that change links and
/// applications, not those that wait for an event.
///
/// # Errors
/// There is no route, or a link on it has no constant rate.
pub fn optimum(scenario: &Scenario, from: IpAddr, to: IpAddr, at: Time, window: Span) -> Result<u64, String> {
    let routes = Routes::of(scenario);
    let path = route(&routes, from, to).ok_or_else(|| format!("there is no route from {from} to {to}"))?;
    let mut arrives = at;
    for &direction in &path {
        let (rate, delay) = link(scenario, direction, at)?;
        if !rate.is_zero() {
            arrives += rate.time_for(PACKET);
        }
        arrives += delay;
    }
    let others = Others::of(scenario, &routes);
    let end = at + window;
    let mut changes: Vec<Time> =
        changes(scenario).filter(|change| *change > arrives && *change < end).collect();
    changes.push(end);
    changes.sort_unstable();
    let mut bytes = 0;
    let mut now = arrives;
    for next in changes {
        let mut free = Rate::from_bps(u64::MAX);
        for &direction in &path {
            let (rate, _) = link(scenario, direction, now)?;
            free = free.min(others.left(scenario, direction, now, rate));
        }
        bytes += free.bytes_in(next.since(now));
        now = now.max(next);
    }
    let user = PACKET - HEADERS[usize::from(from.is_ipv6())];
    Ok(u64::try_from(u128::from(bytes) * u128::from(user) / u128::from(PACKET)).unwrap_or(u64::MAX))
}

fn route(routes: &Routes, from: IpAddr, to: IpAddr) -> Option<Vec<DirectionIndex>> {
    routes.path(routes.interface(from)?, routes.interface(to)?).ok()
}

/// Returns the time of an action; `None` if it waits for an event.
fn time(when: &When) -> Option<Time> {
    match when {
        When::At(at) => Some(Time::ZERO + *at),
        When::After { .. } => None,
    }
}

/// Returns the times at which links or applications change.
fn changes(scenario: &Scenario) -> impl Iterator<Item = Time> {
    let apps = scenario.apps.iter().flat_map(|app| [app.start, app.stop]).flatten();
    let actions = scenario.actions.iter().filter_map(|action| time(&action.when));
    apps.map(|at| Time::ZERO + at).chain(actions)
}

/// Returns rate and delay of a link direction at a time. The rate of a link that is down is zero.
fn link(scenario: &Scenario, direction: DirectionIndex, now: Time) -> Result<(Rate, Span), String> {
    let spec = &scenario.links[direction / 2];
    let (way, own) = match direction % 2 {
        0 => (LinkDirection::Forward, &spec.forward),
        _ => (LinkDirection::Reverse, &spec.reverse),
    };
    let &PlainSpec { mut rate, mut delay, .. } =
        own.plain().ok_or_else(|| format!("link {} has no constant rate", spec.name))?;
    let mut up = spec.up;
    for action in &scenario.actions {
        if time(&action.when).is_some_and(|at| at > now) {
            continue;
        }
        match &action.what {
            Do::LinkUp { link } if *link == spec.name => up = true,
            Do::LinkDown { link } if *link == spec.name && time(&action.when).is_some() => up = false,
            Do::SetLink { link, direction, rate: new_rate, delay: new_delay, .. }
                if *link == spec.name && direction.is_none_or(|only| only == way) =>
            {
                rate = new_rate.unwrap_or(rate);
                delay = new_delay.unwrap_or(delay);
            }
            _ => {}
        }
    }
    Ok((if up { rate } else { Rate::default() }, delay))
}

/// Traffic of other flows: each application with the link directions that it loads.
struct Others<'s> {
    apps: Vec<(&'s AppSpec, Vec<DirectionIndex>)>,
}

impl<'s> Others<'s> {
    fn of(scenario: &'s Scenario, routes: &Routes) -> Self {
        let ends = |app: &AppSpec| match &app.kind {
            AppKind::Cbr { from, to, .. } => Some((*from, *to)),
            AppKind::TcpBulk { tcp, from, .. } => {
                let tcp = scenario.tcp.iter().find(|spec| spec.name == *tcp)?;
                Some(match from {
                    Side::Client => (tcp.client_address, tcp.server_address),
                    Side::Server => (tcp.server_address, tcp.client_address),
                })
            }
            _ => None,
        };
        let loads = |app: &'s AppSpec| ends(app).and_then(|(from, to)| Some((app, route(routes, from, to)?)));
        Self { apps: scenario.apps.iter().filter_map(loads).collect() }
    }

    /// Returns the rate that a link direction of this rate leaves for one more flow.
    fn left(&self, scenario: &Scenario, direction: DirectionIndex, now: Time, rate: Rate) -> Rate {
        let (mut free, mut flows) = (rate, 1);
        for (app, path) in &self.apps {
            if !path.contains(&direction) || !runs(scenario, app, now) {
                continue;
            }
            match app.kind {
                AppKind::Cbr { rate, .. } => free = free.saturating_sub(rate),
                _ => flows += 1,
            }
        }
        free.mul_ratio(1, flows)
    }
}

/// Returns true if an application runs at a time.
fn runs(scenario: &Scenario, app: &AppSpec, now: Time) -> bool {
    let mut runs = app.start.is_some_and(|start| Time::ZERO + start <= now);
    for action in &scenario.actions {
        if time(&action.when).is_none_or(|at| at > now) {
            continue;
        }
        match &action.what {
            Do::StartApp { app: name } if *name == app.name => runs = true,
            Do::StopApp { app: name } if *name == app.name => runs = false,
            _ => {}
        }
    }
    runs && app.stop.is_none_or(|stop| Time::ZERO + stop > now)
}
