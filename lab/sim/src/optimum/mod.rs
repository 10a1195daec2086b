//! [`optimum`]: the user bytes that a path could deliver after a switch, computed from its links and from the
//! other traffic.

mod links;
mod others;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use msctp_units::{Rate, Span, Time};

use crate::scenario::{DirectionIndex, Routes, Scenario};
use links::Links;
use others::{Flow, Others};

/// Length of a full packet on the wire, in bytes.
const PACKET: u64 = 1500;
/// Length of its headers: IPv4 or IPv6, SCTP's common header, DATA chunk header.
const HEADERS: [u64; 2] = [20 + 12 + 16, 40 + 12 + 16];

/// Returns the user bytes that a flow from address `from` to `to` could deliver in `window` after `at`.
///
/// At each instant the slowest link limits the flow. Its rate, less that of constant-rate traffic, is divided
/// equally by this flow and the transfers over TCP and other associations: a finite transfer until its bytes
/// are delivered, a video at most its mean rate. Nothing arrives before the delays and transmission times of
/// a first packet have passed. Losses count as delivered. Follows actions with a time that change links and
/// applications, not those that wait for an event.
///
/// # Errors
/// There is no route, a link on it has no constant rate, or an end is the address of a NAT, which does not
/// tell the links behind it. Other associations have several paths, and those that they use decide the value.
pub fn optimum(scenario: &Scenario, from: IpAddr, to: IpAddr, at: Time, window: Span) -> Result<u64, String> {
    let routes = Routes::of(scenario);
    if let Some(nat) = [from, to].into_iter().find(|&end| routes.is_nat(end)) {
        return Err(format!("{nat} is the address of a NAT: the links behind it are not known"));
    }
    let path = route(&routes, from, to).ok_or_else(|| format!("there is no route from {from} to {to}"))?;
    let others = Others::of(scenario, &routes, (from, to));
    let loaded = others.flows.iter().flat_map(|flow| &flow.path);
    let links = Links::of(scenario, loaded.chain(&path).copied().collect());
    let mut arrives = at;
    for &direction in &path {
        let (rate, delay) = links.constant(direction)?.at(at);
        if !rate.is_zero() {
            arrives += rate.time_for(PACKET);
        }
        arrives += delay;
    }
    let course = Course { links: &links, path: &path, arrives, end: at + window };
    let bytes = course.certain(&others)?;
    let user = PACKET - HEADERS[usize::from(from.is_ipv6())];
    Ok(u64::try_from(u128::from(bytes) * u128::from(user) / u128::from(PACKET)).unwrap_or(u64::MAX))
}

fn route(routes: &Routes, from: IpAddr, to: IpAddr) -> Option<Vec<DirectionIndex>> {
    routes.path(routes.interface(from)?, routes.interface(to)?).ok()
}

/// The links over time, and the flow whose optimum is computed.
struct Course<'c> {
    links: &'c Links<'c>,
    path: &'c [DirectionIndex],
    /// Time at which its first packet arrives.
    arrives: Time,
    end: Time,
}

impl Course<'_> {
    /// Returns the bytes on the wire that the flow delivers. Compares the run in which the associations whose
    /// paths are not known load every link that they may use with the one in which they load none.
    ///
    /// # Errors
    /// The two differ.
    fn certain(&self, others: &Others<'_>) -> Result<u64, String> {
        let mut values = BTreeSet::new();
        for &own in &others.own {
            let all: Vec<&Flow<'_>> =
                others.flows.iter().filter(|flow| own.is_none() || flow.association != own).collect();
            let known: Vec<&Flow<'_>> = all.iter().copied().filter(|flow| flow.path_is_known).collect();
            values.insert(self.carried(&known));
            if known.len() < all.len() {
                values.insert(self.carried(&all));
            }
        }
        if let (Some(&value), 1) = (values.first(), values.len()) {
            return Ok(value);
        }
        let shares = |flow: &&Flow<'_>| flow.path.iter().any(|direction| self.path.contains(direction));
        let is_own = |flow: &&Flow<'_>| others.own == [flow.association];
        let unknown = others.flows.iter().filter(|flow| !flow.path_is_known && !is_own(flow)).filter(shares);
        let names: BTreeSet<&str> = unknown.filter_map(|flow| flow.association).collect();
        let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
        Err(format!(
            "cannot compute the capacity that is left: associations with several paths share this path's \
             links: {}",
            names.join(", ")
        ))
    }

    /// Returns the bytes on the wire that the flow delivers beside others.
    fn carried(&self, others: &[&Flow<'_>]) -> u64 {
        let mut left: Vec<Vec<Option<u64>>> = others.iter().map(|flow| flow.bytes()).collect();
        let finite = left.iter().flatten().any(Option::is_some);
        let mut now = if finite { Time::ZERO } else { self.arrives };
        let mut times: BTreeSet<Time> = others.iter().flat_map(|flow| flow.changes()).collect();
        times.extend(self.links.changes());
        times.extend([self.arrives, self.end]);
        let loaded = others.iter().flat_map(|flow| &flow.path).chain(self.path);
        let directions: BTreeSet<DirectionIndex> = loaded.copied().collect();
        let mut bytes = 0;
        while now < self.end {
            let demands: Vec<Rate> =
                others.iter().zip(&left).map(|(flow, left)| flow.demand(now, left)).collect();
            let levels = self.levels(now, &directions, others, &demands);
            let least = |path: &[DirectionIndex]| {
                path.iter().map(|direction| levels[direction]).min().unwrap_or(UNLIMITED)
            };
            let rates: Vec<Rate> =
                others.iter().zip(&demands).map(|(flow, demand)| least(&flow.path).min(*demand)).collect();
            let next = times.range(now + TICK..).next().copied().unwrap_or(self.end);
            let flows = others.iter().zip(&left).zip(&rates);
            let finite: Vec<Option<(usize, u64, Rate)>> =
                flows.map(|((flow, left), rate)| flow.finite(now, left, *rate)).collect();
            let ends = finite.iter().flatten().map(|(_, bytes, rate)| rate.time_for(*bytes).max(TICK));
            let step = ends.fold(next.since(now), Span::min);
            for (left, finite) in left.iter_mut().zip(finite) {
                if let Some((number, bytes, rate)) = finite {
                    // The last byte may be due within the nanosecond to which its time was rounded.
                    let done = rate.time_for(bytes) <= step;
                    left[number] = Some(if done { 0 } else { bytes.saturating_sub(rate.bytes_in(step)) });
                }
            }
            if now >= self.arrives {
                bytes += least(self.path).bytes_in(step);
            }
            now += step;
        }
        bytes
    }

    /// Returns the rate of each of these link directions for a flow that takes all it can.
    fn levels(
        &self,
        now: Time,
        directions: &BTreeSet<DirectionIndex>,
        others: &[&Flow<'_>],
        demands: &[Rate],
    ) -> BTreeMap<DirectionIndex, Rate> {
        let mut constant: BTreeMap<DirectionIndex, Rate> = BTreeMap::new();
        let mut elastic: BTreeMap<DirectionIndex, Vec<Rate>> = BTreeMap::new();
        for (flow, &demand) in others.iter().zip(demands).filter(|(_, demand)| !demand.is_zero()) {
            for &direction in &flow.path {
                match flow.yields {
                    true => elastic.entry(direction).or_default().push(demand),
                    false => {
                        let sum = constant.entry(direction).or_default();
                        *sum = Rate::from_bps(sum.as_bps().saturating_add(demand.as_bps()));
                    }
                }
            }
        }
        if now >= self.arrives {
            for &direction in self.path {
                elastic.entry(direction).or_default().push(UNLIMITED);
            }
        }
        let of = |&direction: &DirectionIndex| {
            let rate = self.links.rate(direction, now);
            let free = rate.saturating_sub(constant.get(&direction).copied().unwrap_or_default());
            (direction, level(free, elastic.remove(&direction).unwrap_or_default()))
        };
        directions.iter().map(of).collect()
    }
}

/// The shortest step.
const TICK: Span = Span::from_nanos(1);

/// The demand of a flow that takes all it can.
const UNLIMITED: Rate = Rate::from_bps(u64::MAX);

/// Returns the rate that a flow gets at most, if flows with these demands share a link equally and leave to
/// the others what they do not need.
fn level(mut free: Rate, mut demands: Vec<Rate>) -> Rate {
    demands.sort_unstable();
    for (number, &demand) in demands.iter().enumerate() {
        let equal = free.mul_ratio(1, (demands.len() - number) as u64);
        if demand > equal {
            return equal;
        }
        free = free.saturating_sub(demand);
    }
    UNLIMITED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_equally_what_smaller_demands_leave() {
        let mbps = Rate::from_mbps;
        assert_eq!(level(mbps(9), vec![UNLIMITED, UNLIMITED, UNLIMITED]), mbps(3));
        assert_eq!(level(mbps(9), vec![UNLIMITED, mbps(1), UNLIMITED]), mbps(4));
        assert_eq!(level(mbps(9), vec![mbps(8), mbps(8)]), Rate::from_kbps(4500));
        assert_eq!(level(mbps(9), vec![mbps(2), mbps(3)]), UNLIMITED);
        assert_eq!(level(Rate::ZERO, vec![UNLIMITED]), Rate::ZERO);
    }
}
