//! Checks of the overrides of a cell: each axis has an effect, and the scenario accepts every seed's draws.

use std::collections::BTreeMap;

use msctp_sim::scenario::{Problem, Scenario, ScenarioError};

use super::axes::fill_known;
use crate::sweep::{Axis, Draw, DrawnValue, Sweep, Value};

/// A function that reads a cell's scenario with overrides.
type Read<'r> = dyn Fn(&[String]) -> Result<Scenario, ScenarioError> + 'r;

/// A function that returns keys and their values, as text, of a value of an axis in a cell.
type Keys = fn(&Sweep, &[usize], &Value) -> BTreeMap<String, String>;

/// Rejects a cell in which an axis replaces a value that another one sets: that one would have no effect. A
/// cell applies the draws of all axes after the sets of all.
pub(super) fn check_keys(sweep: &Sweep, values: &[usize]) -> Result<(), Problem> {
    let mut known: Vec<(&Axis, String, String)> = Vec::new();
    let axes = || sweep.axes.iter().zip(values);
    let sets = axes().map(|of| (of, set as Keys));
    let draws = axes().map(|of| (of, drawn as Keys));
    for ((axis, &value), keys) in sets.chain(draws) {
        let own = keys(sweep, values, &axis.values[value]);
        for (key, text) in &own {
            if key == "seed" {
                let message = "the seed of a scenario has no effect in a sweep: want seeds = \"1..30\"";
                return Err(Problem::new(format!("axis.{}.set", axis.name), message));
            }
            let replaced = |(of, other, its): &&(&Axis, String, String)| {
                let inside = other.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
                of.name != axis.name && (inside || (other == key && its != text))
            };
            if let Some((other, replaced, _)) = known.iter().find(replaced) {
                let message = format!(
                    "with {}: the axes {} and {} both set {replaced}, so that {} has no effect: want it in one of them",
                    sweep.named(values),
                    other.name,
                    axis.name,
                    other.name
                );
                return Err(Problem::new(format!("axis.{}", axis.name), message));
            }
        }
        known.extend(own.into_iter().map(|(key, text)| (axis, key, text)));
    }
    Ok(())
}

/// Returns the keys that a value sets.
fn set(sweep: &Sweep, values: &[usize], value: &Value) -> BTreeMap<String, String> {
    let set = value.set.iter().map(|set| fill_known(set, sweep, values));
    set.filter_map(|set| set.split_once('=').map(|(key, text)| (key.to_owned(), text.to_owned()))).collect()
}

/// Returns the keys that a value draws.
fn drawn(sweep: &Sweep, values: &[usize], value: &Value) -> BTreeMap<String, String> {
    let key = |draw: &Draw| fill_known(&draw.key, sweep, values);
    value.draws.iter().map(|draw| (key(draw), format!("{:?}", draw.value))).collect()
}

/// Returns the key of a value of an axis in the sweep file.
pub(super) fn place(axis: &Axis, value: &Value) -> String {
    if value.listed {
        return format!("axis.{}.values", axis.name);
    }
    format!("axis.{}.value.{}", axis.name, value.name)
}

/// Returns the key of the sweep file that is at fault if a cell's scenario cannot be read with the overrides
/// `all`: that of the one axis without whose overrides it can, else `scenario`.
pub(super) fn culprit(sweep: &Sweep, values: &[usize], read: &Read<'_>, all: &[String]) -> String {
    let helps = |axis: &usize| read(&without(sweep, values, *axis, all)).is_ok();
    let helpful: Vec<usize> = (0..sweep.axes.len()).filter(helps).collect();
    let [axis] = helpful[..] else { return "scenario".to_owned() };
    let Axis { name, values: own, .. } = &sweep.axes[axis];
    let chosen = &own[values[axis]];
    if !chosen.listed {
        return place(&sweep.axes[axis], chosen);
    }
    // If each value is refused, the key is at fault.
    let mut others = (0..own.len()).filter(|value| *value != values[axis]).peekable();
    let accepted = |value: usize| {
        let mut moved = values.to_vec();
        moved[axis] = value;
        let set = own[value].set.iter().map(|set| fill_known(set, sweep, &moved));
        read(&without(sweep, values, axis, all).into_iter().chain(set).collect::<Vec<_>>()).is_ok()
    };
    let key = if others.peek().is_some() && !others.any(accepted) { "set" } else { "values" };
    format!("axis.{name}.{key}")
}

/// Returns overrides of a cell without those of an axis' value, which follow those of the sweep. A draw has
/// another text for each seed.
fn without(sweep: &Sweep, values: &[usize], axis: usize, all: &[String]) -> Vec<String> {
    let value = &sweep.axes[axis].values[values[axis]];
    let fill = |text: &String| fill_known(text, sweep, values);
    let drawn: Vec<String> = value.draws.iter().map(|draw| fill(&draw.key) + "=").collect();
    let set: Vec<String> = value.set.iter().map(fill).collect();
    let mut rest = all.to_vec();
    let places = drawn.iter().map(|key| (key, false)).chain(set.iter().map(|text| (text, true)));
    for (text, whole) in places {
        let is_it = |one: &String| if whole { one == text } else { one.starts_with(text) };
        if let Some(last) = rest.iter().rposition(is_it) {
            rest.remove(last);
        }
    }
    rest
}

/// Checks that the scenario accepts the draws of every seed.
///
/// # Errors
/// It refuses one. The error has its overrides, and a message with the seed.
pub(super) fn check_draws(
    draws: &[Draw],
    overrides: &[String],
    seeds: &[u64],
    read: &Read<'_>,
) -> Result<(), (Vec<String>, String)> {
    if draws.is_empty() {
        return Ok(());
    }
    let of = |seed: u64| draws.iter().map(move |draw| draw.set(seed));
    let with = |drawn: Vec<String>| overrides.iter().cloned().chain(drawn).collect::<Vec<_>>();
    // The extremes decide, if each is accepted together with the others.
    let extreme = |latest: bool| {
        let one = |draw: &Draw| {
            // The time of a cell change takes long to compute.
            if matches!(draw.value, DrawnValue::Handover { .. }) {
                return draw.set(seeds[0]);
            }
            let sets = seeds.iter().map(|&seed| (draw.drawn(seed), seed));
            let seed = match latest {
                true => sets.max_by(|a, b| a.0.order(&b.0)),
                false => sets.min_by(|a, b| a.0.order(&b.0)),
            };
            draw.set(seed.map_or(0, |(_, seed)| seed))
        };
        read(&with(draws.iter().map(one).collect())).is_ok()
    };
    if extreme(false) && extreme(true) {
        return Ok(());
    }
    for &seed in seeds {
        let set = with(of(seed).collect());
        read(&set).map_err(|error| (set, format!("seed {seed}: {error}")))?;
    }
    Ok(())
}
