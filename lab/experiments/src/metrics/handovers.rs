//! Metrics of the changes of the primary path.

use msctp_sim::summary::{AssociationSummary, HandoverSummary};
use msctp_units::Time;

use super::{Results, Wanted, associations, largest, mean};

/// Time in seconds before which a change of the primary path is part of the set-up.
const SETTLED: f64 = 2.0;

pub(super) const NONE: &str = "no association handed over in this time";

/// Returns the sender's handovers of an association in the metric's range.
fn handovers<'r>(
    association: &'r AssociationSummary,
    wanted: &Wanted,
) -> impl Iterator<Item = &'r HandoverSummary> {
    let from = wanted.from.map_or(SETTLED, Time::as_secs_f64);
    let to = wanted.to.map_or(f64::INFINITY, Time::as_secs_f64);
    let in_range = move |at: f64| at > from && at < to;
    association.handovers.iter().filter(move |handover| in_range(handover.at) && handover.gap.is_some())
}

/// Returns the first handover of each association that the metric covers and that handed over.
fn firsts<'r>(results: &Results<'r>, wanted: &Wanted) -> Result<Vec<&'r HandoverSummary>, String> {
    let mut firsts = Vec::new();
    for association in associations(results, wanted) {
        firsts.extend(first(association, wanted)?);
    }
    Ok(firsts)
}

/// Returns the first handover of an association; an error if the association ended.
pub(super) fn first<'r>(
    association: &'r AssociationSummary,
    wanted: &Wanted,
) -> Result<Option<&'r HandoverSummary>, String> {
    match &association.ended {
        Some(why) => Err(format!("{}: the association ended: {why}", association.name)),
        None => Ok(handovers(association, wanted).next()),
    }
}

fn rates(
    results: &Results<'_>,
    wanted: &Wanted,
    rate: fn(&HandoverSummary) -> Option<u64>,
) -> Result<f64, String> {
    let rates: Vec<f64> =
        firsts(results, wanted)?.into_iter().filter_map(rate).map(|rate| rate as f64).collect();
    mean(&rates, NONE)
}

pub(super) fn after(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    rates(results, wanted, |handover| handover.after)
}

pub(super) fn before(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    rates(results, wanted, |handover| handover.before)
}

pub(super) fn share(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    match before(results, wanted)? {
        0.0 => Err("nothing was delivered before the handover".to_owned()),
        before => Ok(after(results, wanted)? / before),
    }
}

pub(super) fn gap(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    largest(firsts(results, wanted)?.into_iter().filter_map(|handover| handover.gap), NONE)
}

pub(super) fn at(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let times = firsts(results, wanted)?.into_iter().map(|handover| handover.at);
    times.reduce(f64::min).ok_or_else(|| NONE.to_owned())
}

pub(super) fn count(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let covered = associations(results, wanted);
    Ok(covered.map(|association| handovers(association, wanted).count()).sum::<usize>() as f64)
}
