//! The leaderboard of handover policies on measured drives: every policy with both networks, each network
//! alone, and what the drive's rates would have allowed.
//!
//! A drive has two networks on one clock ([`Drive`]). A mobile downloads as fast as it can. The yardstick of
//! a drive is the better single network, under the better of the mobile profile's controller and CUBIC.

mod drive;
mod page;
mod run;
mod show;

use std::collections::BTreeMap;
use std::fmt;

use msctp_lab_schemes::policies::{needs_truth, policies};
use msctp_sim::nearest_rank;
use serde::Serialize;

pub use drive::{Drive, DrivesError, load};
use run::{Run, Sender, run};

use crate::plan::{Execution, Outcomes, ThreadsError, execute};

/// Share of the reference below which a drive counts as a loss.
const TOLERATED: f64 = 0.97;

/// Identifies one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    sender: Sender,
    drive: usize,
    name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?}", self.name, self.sender)
    }
}

/// Returns the policies that decide by themselves: all except those that are given the available bandwidth.
pub fn candidates() -> impl Iterator<Item = &'static str> {
    policies().iter().map(|policy| policy.name).filter(|name| !needs_truth(name))
}

/// The drives and senders to rank.
#[derive(Clone, Copy, Debug)]
pub struct Ranking<'a> {
    /// The drives, with the same two networks.
    pub drives: &'a [Drive],
    /// The handover policies, by name.
    pub policies: &'a [&'a str],
    /// Name of the senders' congestion controller; `None` for that of the mobile profile.
    pub controller: Option<&'a str>,
}

/// Returns the runs that a leaderboard needs.
#[must_use]
pub fn keys(ranking: &Ranking<'_>) -> Vec<Key> {
    let Ranking { drives, policies: names, .. } = ranking;
    let chosen = policies().iter().enumerate().filter(|(_, policy)| names.contains(&policy.name));
    let mut senders: Vec<Sender> = Vec::new();
    for network in 0..2 {
        senders.extend([Sender::Single { network }, Sender::SingleCubic { network }]);
        senders.extend(chosen.clone().map(|(policy, _)| Sender::Both { policy, first: network }));
    }
    senders.push(Sender::Aggregate);
    let of =
        |(drive, name): (usize, String)| senders.iter().map(move |&sender| (sender, drive, name.clone()));
    let names = drives.iter().map(|drive| drive.name.clone()).enumerate();
    names.flat_map(of).map(|(sender, drive, name)| Key { sender, drive, name }).collect()
}

/// A line of the leaderboard. Ratios are of total bytes, over all drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The sender: a policy, a single network with its controller, or a rule computed from the rates.
    pub sender: String,
    /// Name of the network on which the sender begins.
    pub first: Option<String>,
    /// Goodput as a ratio to the better single network of each drive.
    pub of_better: f64,
    /// Goodput as a ratio to the optimum: always the better network, at no cost.
    pub of_optimum: f64,
    /// Share of the drives that carry less than 0.97 of the better single network.
    pub worse: f64,
    /// The longest gap between deliveries, as the median over all drives, in s.
    pub gap_median: Option<f64>,
    /// The longest gap of all drives, in s.
    pub gap_max: Option<f64>,
    /// Share of the time below 1 Mbps, in intervals of 0.5 s.
    pub below_1mbps: f64,
    /// Bytes of IP packets towards the mobile over each network.
    pub bytes: [u64; 2],
    /// The 95th percentile of the queueing delay of a drive, as the median over all drives, in s.
    pub queueing_p95: Option<f64>,
    /// The 95th percentile of the message delay of a video of 20 Mbps, as the median over all drives, in s.
    pub video_p95: Option<f64>,
    /// The 95th percentile of the message delay of a video of 20 Mbps, as the 90th percentile over all
    /// drives, in s.
    pub video_p95_of_nine_tenths: Option<f64>,
    /// Goodput of each drive as a ratio to the better single network.
    pub drives: Vec<f64>,
}

/// The leaderboard.
#[derive(Clone, Debug)]
pub struct Leaderboard {
    /// The networks' names.
    pub networks: [String; 2],
    /// Number of complete drives.
    pub drives: usize,
    /// Rows: single networks, policies, rules.
    pub rows: Vec<Row>,
    /// Rates of each drive's networks and senders over time.
    courses: Vec<page::Course>,
    /// The runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Runs that were not started.
    pub skipped: usize,
}

/// Runs the leaderboard. A drive counts if all its runs are complete.
///
/// # Errors
/// A [`ThreadsError`]. [`Leaderboard::failed`] lists the runs that fail.
pub fn leaderboard(ranking: &Ranking<'_>, execution: &Execution<'_>) -> Result<Leaderboard, ThreadsError> {
    let plan = format!("leaderboard {}", ranking.controller.unwrap_or_default());
    let work = |key: &Key| run(&ranking.drives[key.drive], key.sender, ranking.controller);
    let outcomes = execute(&plan, keys(ranking), execution, work)?;
    Ok(board(ranking.drives, &outcomes))
}

/// The results of all senders on one drive.
struct Complete<'a> {
    drive: &'a Drive,
    runs: BTreeMap<Sender, &'a Run>,
    /// User bytes of the better single network.
    better: f64,
    optimum: f64,
}

fn board(drives: &[Drive], outcomes: &Outcomes<Key, Run>) -> Leaderboard {
    let missing: Vec<usize> =
        outcomes.failed.iter().map(|(key, _)| key).chain(&outcomes.skipped).map(|key| key.drive).collect();
    let complete: Vec<Complete<'_>> = (0..drives.len())
        .filter(|drive| !missing.contains(drive))
        .map(|number| {
            let mine = outcomes.done.iter().filter(|(key, _)| key.drive == number);
            let runs: BTreeMap<Sender, &Run> = mine.map(|(key, run)| (key.sender, run)).collect();
            let single = |(sender, run): (&Sender, &&Run)| {
                matches!(sender, Sender::Single { .. } | Sender::SingleCubic { .. })
                    .then_some(run.bytes as f64)
            };
            let better = runs.iter().filter_map(single).fold(1.0, f64::max);
            Complete { drive: &drives[number], better, optimum: drives[number].optimum().bytes, runs }
        })
        .collect();
    let networks = drives.first().map(|drive| drive.networks.clone()).unwrap_or_default();
    let senders: Vec<Sender> =
        complete.first().map(|one| one.runs.keys().copied().collect()).unwrap_or_default();
    let mut rows: Vec<Row> =
        senders.into_iter().map(|sender| measured(&complete, sender, &networks)).collect();
    if !complete.is_empty() {
        for (first, network) in networks.iter().enumerate() {
            let ideal = |one: &Complete<'_>| one.drive.follower(first);
            rows.push(computed(&complete, "five-second follower", Some(network.clone()), ideal));
        }
        rows.push(computed(&complete, "optimum", None, |one| one.drive.optimum()));
    }
    Leaderboard {
        networks,
        drives: complete.len(),
        courses: complete.iter().map(page::Course::of).collect(),
        rows,
        failed: outcomes.failures(),
        skipped: outcomes.skipped.len(),
    }
}

/// Returns the ratios that all rows have.
fn ratios(complete: &[Complete<'_>], bytes: &[f64]) -> (f64, f64, f64, Vec<f64>) {
    let total: f64 = bytes.iter().sum();
    let drives: Vec<f64> = complete.iter().zip(bytes).map(|(one, bytes)| bytes / one.better).collect();
    let worse = drives.iter().filter(|&&ratio| ratio < TOLERATED).count() as f64 / drives.len() as f64;
    let better: f64 = complete.iter().map(|one| one.better).sum();
    let optimum: f64 = complete.iter().map(|one| one.optimum).sum();
    (total / better, total / optimum, worse, drives)
}

fn measured(complete: &[Complete<'_>], sender: Sender, networks: &[String; 2]) -> Row {
    let runs: Vec<&Run> = complete.iter().map(|one| one.runs[&sender]).collect();
    let bytes: Vec<f64> = runs.iter().map(|run| run.bytes as f64).collect();
    let (of_better, of_optimum, worse, drives) = ratios(complete, &bytes);
    let mut gaps: Vec<f64> = runs.iter().map(|run| run.gap).collect();
    let mut queueing: Vec<f64> = runs.iter().map(|run| run.queueing).collect();
    let mut video: Vec<f64> = runs.iter().map(|run| run.video).collect();
    let (name, first) = match sender {
        Sender::Single { network } => (format!("{} alone", networks[network]), None),
        Sender::SingleCubic { network } => (format!("{} alone, cubic", networks[network]), None),
        Sender::Both { policy, first } => (policies()[policy].name.to_owned(), Some(networks[first].clone())),
        Sender::Aggregate => ("both at once".to_owned(), None),
    };
    Row {
        sender: name,
        first,
        of_better,
        of_optimum,
        worse,
        gap_median: Some(percentile(&mut gaps, 50)),
        gap_max: Some(percentile(&mut gaps, 100)),
        below_1mbps: of_time(complete, runs.iter().map(|run| run.below)),
        bytes: [0, 1].map(|network| runs.iter().map(|run| run.on[network]).sum()),
        queueing_p95: Some(percentile(&mut queueing, 50)),
        video_p95: Some(percentile(&mut video, 50)),
        video_p95_of_nine_tenths: Some(percentile(&mut video, 90)),
        drives,
    }
}

fn computed(
    complete: &[Complete<'_>],
    name: &str,
    first: Option<String>,
    ideal: impl Fn(&Complete<'_>) -> drive::Ideal,
) -> Row {
    let ideals: Vec<_> = complete.iter().map(ideal).collect();
    let bytes: Vec<f64> = ideals.iter().map(|ideal| ideal.bytes).collect();
    let (of_better, of_optimum, worse, drives) = ratios(complete, &bytes);
    Row {
        sender: name.to_owned(),
        first,
        of_better,
        of_optimum,
        worse,
        gap_median: None,
        gap_max: None,
        below_1mbps: of_time(complete, ideals.iter().map(|ideal| ideal.below)),
        bytes: [0, 1].map(|network| ideals.iter().map(|ideal| ideal.on[network]).sum::<f64>().round() as u64),
        queueing_p95: None,
        video_p95: None,
        video_p95_of_nine_tenths: None,
        drives,
    }
}

/// Returns the mean of each drive's share, weighted by the drives' durations.
fn of_time(complete: &[Complete<'_>], shares: impl Iterator<Item = f64>) -> f64 {
    let durations = complete.iter().map(|one| one.drive.duration());
    let (sum, time) =
        durations.zip(shares).fold((0.0, 0.0), |(sum, time), (d, share)| (sum + d * share, time + d));
    sum / time
}

/// Sorts the values and returns a percentile by the nearest rank; 0 without values.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    nearest_rank(values, percent).unwrap_or(0.0)
}
