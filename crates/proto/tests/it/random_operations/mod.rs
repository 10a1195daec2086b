//! Random operations on two endpoints over a hostile network, in virtual time. Every accepted message arrives
//! exactly once, intact and in its stream's order, or is reported as failed. After the network has recovered,
//! everything arrives and the association closes gracefully. Nothing hangs, spins or grows.
//!
//! A sequence follows from its seed. `MSCTP_SEED=17` (or `MSCTP_SEED=1000..5000`) with the test
//! `sequences_of_the_requested_seeds` runs exactly that one (these). A failing sequence is shrunk and printed
//! as Rust code for `regressions.rs`; with `MSCTP_TRACE=1` every packet is printed.

mod coverage;
mod generate;
mod host;
mod ledger;
mod network;
mod plan;
mod regressions;
mod rng;
mod shrink;
mod watch;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use coverage::Meetings;
use plan::{Op, Plan, Setup};
use world::Outcome;

/// Runs a sequence; on a failure, panics with the shrunk sequence.
fn check_plan(plan: Plan) -> Outcome {
    match shrink::attempt(&plan) {
        Ok(outcome) => outcome,
        Err(message) => {
            let seed = plan.setup.seed;
            let (plan, shortened) = shrink::shrink(plan, message.clone());
            panic!(
                "MSCTP_SEED={seed}: {message}\n\nshortened ({} operations): {shortened}\n\n{plan}",
                plan.ops.len()
            );
        }
    }
}

/// Runs a printed sequence.
fn check(setup: Setup, ops: &[Op]) -> Outcome {
    check_plan(Plan { setup, ops: ops.to_vec() })
}

/// Sums over many runs, to check that they cover enough.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    runs: u64,
    packets: u64,
    data_chunks: u64,
    sent_again: u64,
    gap_sacks: u64,
    zero_windows: u64,
    delivered: u64,
    closed: u64,
    unreachable: u64,
    ghosts: u64,
    writable: u64,
    stream_writable: u64,
    primary_changes: u64,
    paths_failed: u64,
    address_changes: u64,
    reports: u64,
    failures: u64,
    restarts: u64,
    abandoned: u64,
    partial_aborts: u64,
    streams_reset: u64,
    streams_added: u64,
    forwards: u64,
    interleaved: u64,
    meetings: Meetings,
}

impl Summary {
    fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.packets += outcome.seen.packets;
        self.data_chunks += outcome.seen.data_chunks;
        self.sent_again += outcome.seen.sent_again;
        self.gap_sacks += outcome.seen.gap_sacks;
        self.zero_windows += outcome.seen.zero_windows;
        self.reports += outcome.seen.reports;
        self.forwards += outcome.seen.forwards;
        self.interleaved += outcome.seen.interleaved;
        self.meetings.add(&outcome.meetings);
        self.delivered += outcome.delivered as u64;
        self.closed += u64::from(outcome.closed);
        self.unreachable += u64::from(outcome.unreachable);
        self.ghosts += u64::from(outcome.ghosts);
        for counts in &outcome.counts {
            self.writable += u64::from(counts.writable);
            self.stream_writable += u64::from(counts.stream_writable);
            self.primary_changes += u64::from(counts.primary_changes);
            self.paths_failed += u64::from(counts.paths_failed);
            self.address_changes += u64::from(counts.address_answers);
            self.restarts += u64::from(counts.restarts);
            self.failures += u64::from(counts.failures);
            self.abandoned += u64::from(counts.abandoned);
            self.partial_aborts += u64::from(counts.partial_aborts);
            self.streams_reset += u64::from(counts.streams_reset);
            self.streams_added += u64::from(counts.streams_added);
        }
    }

    /// Checks that every pair of features occurred, on average once in this many sequences.
    fn check_pairs(&self, sequences: u64) {
        for (first, second, count) in self.meetings.pairs() {
            assert!(
                count * sequences >= self.runs,
                "{first:?} and {second:?} met {count} times in {} sequences",
                self.runs
            );
        }
    }

    /// Checks that the sequences covered their purpose.
    fn check(&self) {
        let Self { runs, .. } = *self;
        assert!(self.closed * 2 > runs, "most end in good order: {self:?}");
        assert!(self.delivered > runs * 20, "messages arrive: {self:?}");
        assert!(self.sent_again > runs && self.gap_sacks > runs, "packets are lost: {self:?}");
        for (what, count) in [
            ("closed windows", self.zero_windows),
            ("full send buffers", self.writable),
            ("streams without credit", self.stream_writable),
            ("other primaries", self.primary_changes),
            ("dead paths", self.paths_failed),
            ("changes of addresses", self.address_changes),
            // Only an end with the policy qos-measurement sends reports.
            ("reports of a link's quality", self.reports * 6),
            ("reported messages", self.failures),
            ("restarts", self.restarts * 4),
            ("messages abandoned", self.abandoned),
            ("FORWARD TSNs", self.forwards),
            ("I-DATA chunks", self.interleaved),
            ("resets of streams", self.streams_reset),
            ("added streams", self.streams_added),
        ] {
            assert!(count * 10 >= runs, "{what}: {self:?}");
        }
    }
}

/// Runs the sequences of these seeds on all cores. Of sequences that fail for the same reason, only the first
/// is shrunk, and all are named.
fn run_seeds(seeds: Range<u64>) -> Summary {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut results = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return results;
            }
            results.push((seed, shrink::attempt(&generate::plan(seed))));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let mut results = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            results.extend(thread.join().expect("panics of a run are caught"));
        }
    });
    results.sort_by_key(|(seed, _)| *seed);
    let mut summary = Summary::default();
    let mut failures: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for (seed, result) in results {
        match result {
            Ok(outcome) => summary.add(&outcome),
            Err(message) => {
                let place = shrink::place(&message).unwrap_or_default().to_owned();
                failures.entry(place).or_default().push((seed, message));
            }
        }
    }
    let mut report = String::new();
    for (place, seeds) in &failures {
        let (seed, message) = &seeds[0];
        let (plan, shortened) = shrink::shrink(generate::plan(*seed), message.clone());
        let all: Vec<u64> = seeds.iter().map(|(seed, _)| *seed).collect();
        report += &format!("\n== {place}: MSCTP_SEED={seed} (of {}: {all:?})\n{message}\n", all.len());
        report += &format!("\nshortened ({} operations): {shortened}\n\n{plan}", plan.ops.len());
    }
    assert!(failures.is_empty(), "{report}");
    summary
}

/// Number of sequences in which a pair of features must occur once.
const PAIRS_IN: u64 = 10;

/// The sequences of every test run reveal no fault.
#[test]
fn two_hundred_random_sequences() {
    run_seeds(0..200).check();
}

#[test]
#[ignore = "minutes; scripts/test random runs it"]
fn nightly_ten_thousand_random_sequences() {
    let summary = run_seeds(200..11_000);
    summary.check();
    summary.check_pairs(PAIRS_IN);
}

/// Sends this many messages of one byte on one stream, from a TSN near the end of the range.
fn wraps(messages: u32, seeds: std::ops::Range<u64>) {
    // Messages of World::probe: the mobile's on its stream and its last one, the server's on its last one.
    const PROBES: usize = 3;
    let setup = |seed| Setup { seed, ..regressions::PLAIN };
    let is_high = |seed: &u64| host::initial_tsn(&setup(*seed)) > u32::MAX - messages / 2;
    let seed = seeds.clone().find(is_high).unwrap_or_else(|| panic!("none of {seeds:?} is high"));
    println!("seed {seed}");
    let rough = plan::Quality { jitter_ms: 10, loss: 3, duplicate: 3, corrupt: 1, ..plan::Quality::GOOD };
    let path = Op::Path { mobile: 0, server: 0, to_server: rough, to_mobile: rough };
    let send = Op::Send { side: plan::Side::Mobile, stream: 0, len: 1, count: messages, unordered: false };
    let outcome = check(setup(seed), &[path, send, Op::Run { ms: 60_000 }]);
    assert_eq!((outcome.delivered, outcome.seen.tsn_wraps), (messages as usize + PROBES, 1));
}

/// Both TSN and SSN wrap. Of 122,000 seeds one has a TSN so high.
#[test]
#[ignore = "looks for a seed with a high first TSN; takes seconds in a release build; scripts/test slow runs it"]
fn slow_tsn_and_ssn_wrap() {
    wraps(70_000, 0..2_000_000);
}

/// Runs `MSCTP_SEED=17` or `MSCTP_SEED=1000..5000`; nothing without it.
#[test]
fn sequences_of_the_requested_seeds() {
    let Ok(text) = std::env::var("MSCTP_SEED") else { return };
    let number = |text: &str| -> u64 {
        text.parse().unwrap_or_else(|_| panic!("MSCTP_SEED={text}: want a number, or two as 10..20"))
    };
    let seeds = match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&text)..number(&text) + 1,
    };
    if seeds.clone().count() == 1 {
        println!("{}", generate::plan(seeds.start));
    }
    let summary = run_seeds(seeds);
    println!("{summary:#?}");
    for (first, second, count) in summary.meetings.pairs() {
        println!("{first:?} and {second:?} met {count} times");
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let mut hashes = BTreeSet::new();
    for seed in 0..8 {
        let plan = generate::plan(seed);
        let [first, second] = [check_plan(plan.clone()), check_plan(plan)];
        assert_eq!(first.hash, second.hash, "seed {seed}");
        hashes.insert(first.hash);
    }
    assert_eq!(hashes.len(), 8, "other seeds, other packets");
}
