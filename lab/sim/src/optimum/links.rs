//! The rates and delays of links over time, as the scenario's actions with a time set them.

use std::collections::{BTreeMap, BTreeSet};

use msctp_units::{Rate, Span, Time};

use super::UNLIMITED;
use crate::scenario::{DirectionIndex, Do, LinkDirection, LinkSpec, PlainSpec, Scenario, When};

/// Rate and delay of a link direction from each time on, the first at the start. The rate of a link that is
/// down is zero.
pub(super) struct Steps(Vec<(Time, Rate, Span)>);

impl Steps {
    /// Returns rate and delay at a time.
    pub(super) fn at(&self, now: Time) -> (Rate, Span) {
        let (_, rate, delay) = self.0[self.0.partition_point(|step| step.0 <= now) - 1];
        (rate, delay)
    }
}

/// Link directions over time.
pub(super) struct Links<'s> {
    scenario: &'s Scenario,
    /// The directions with a constant rate.
    steps: BTreeMap<DirectionIndex, Steps>,
}

impl<'s> Links<'s> {
    pub(super) fn of(scenario: &'s Scenario, directions: BTreeSet<DirectionIndex>) -> Self {
        let actions = actions(scenario);
        let steps = directions.into_iter().filter_map(|direction| {
            let link = &scenario.links[direction / 2];
            let own = actions.get(link.name.as_str()).map_or(&[][..], Vec::as_slice);
            Some((direction, steps(link, direction, own)?))
        });
        Self { scenario, steps: steps.collect() }
    }

    /// Returns rate and delay of a direction over time; an error unless it has a constant rate.
    pub(super) fn constant(&self, direction: DirectionIndex) -> Result<&Steps, String> {
        let name = || &self.scenario.links[direction / 2].name;
        self.steps.get(&direction).ok_or_else(|| format!("link {} has no constant rate", name()))
    }

    /// Returns the rate of a direction, which limits nothing if it has no constant rate.
    pub(super) fn rate(&self, direction: DirectionIndex, now: Time) -> Rate {
        self.steps.get(&direction).map_or(UNLIMITED, |steps| steps.at(now).0)
    }

    /// Returns the times at which links change.
    pub(super) fn changes(&self) -> impl Iterator<Item = Time> {
        self.steps.values().flat_map(|steps| steps.0.iter().map(|step| step.0))
    }
}

/// Returns the time of an action; `None` if it waits for an event.
pub(super) fn time(when: &When) -> Option<Time> {
    match when {
        When::At(at) => Some(Time::ZERO + *at),
        When::After { .. } => None,
    }
}

/// Returns the actions on each link, by time. A link that an event brings up is up from the start.
fn actions(scenario: &Scenario) -> BTreeMap<&str, Vec<(Time, &Do)>> {
    let mut actions: BTreeMap<&str, Vec<(Time, &Do)>> = BTreeMap::new();
    for action in &scenario.actions {
        let (Do::LinkUp { link } | Do::LinkDown { link } | Do::SetLink { link, .. }) = &action.what else {
            continue;
        };
        let at = match (time(&action.when), &action.what) {
            (Some(at), _) => at,
            (None, Do::LinkUp { .. }) => Time::ZERO,
            (None, _) => continue,
        };
        actions.entry(link).or_default().push((at, &action.what));
    }
    for own in actions.values_mut() {
        own.sort_by_key(|&(at, _)| at);
    }
    actions
}

/// Returns a direction over time; `None` if it has no constant rate.
fn steps(link: &LinkSpec, direction: DirectionIndex, actions: &[(Time, &Do)]) -> Option<Steps> {
    let (way, own) = match direction % 2 {
        0 => (LinkDirection::Forward, &link.forward),
        _ => (LinkDirection::Reverse, &link.reverse),
    };
    let &PlainSpec { mut rate, mut delay, .. } = own.plain()?;
    let mut up = link.up;
    let mut steps = vec![(Time::ZERO, if up { rate } else { Rate::ZERO }, delay)];
    for &(at, what) in actions {
        match what {
            Do::LinkUp { .. } => up = true,
            Do::LinkDown { .. } => up = false,
            Do::SetLink { direction, rate: new_rate, delay: new_delay, .. }
                if direction.is_none_or(|only| only == way) =>
            {
                rate = new_rate.unwrap_or(rate);
                delay = new_delay.unwrap_or(delay);
            }
            _ => {}
        }
        steps.push((at, if up { rate } else { Rate::ZERO }, delay));
    }
    Some(Steps(steps))
}
