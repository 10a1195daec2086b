//! Tests each predicate with data that passes, and with data that fails each of its parts.

use super::*;
use crate::claims::Verdict;
use crate::experiments::afif::measure::{Stall, Switch};

const SEEDS: u64 = 10;

/// Returns runs as in the paper.
fn world() -> Measured {
    let mut measured = Measured::default();
    for seed in 1..=SEEDS {
        for variant in [Variant::Standard, Variant::Extended, Variant::Ignorant] {
            let extended = variant == Variant::Extended;
            let lead = if extended { 0.1 } else { 0.0 };
            let tsn = |t: usize| {
                let t = t as f64;
                4.0 * t + 0.01 * seed as f64 + lead * (t - 200.0).max(0.0)
            };
            let switch = if extended {
                Switch {
                    old_cwnd: 9000,
                    old_ssthresh: 5000,
                    cwnd: 7000,
                    ssthresh: 5000,
                    formula: Some(7000),
                    at: 700.0,
                }
            } else {
                Switch {
                    old_cwnd: 9000,
                    old_ssthresh: 5000,
                    cwnd: 4404,
                    ssthresh: u64::MAX,
                    formula: None,
                    at: 700.0,
                }
            };
            let run = Run {
                total_bytes: 1_000_000 + seed,
                in_order: true,
                reports_sent: if variant == Variant::Standard { 0 } else { 6 },
                reports_taken: if extended { 6 } else { 0 },
                cum_tsn: (0..900).map(tsn).collect(),
                timeouts: if extended { vec![] } else { vec![605.0] },
                switch,
                ..Run::default()
            };
            measured.runs.insert(RunKey { course: Course::Deterministic, variant, seed }, run);
        }
        let key = RunKey { course: Course::Random, variant: Variant::Extended, seed };
        let short = Stall { from: 1.0, length: 3.0 };
        measured.runs.insert(key, Run { tsn_stall: short, block_stall: short, ..Run::default() });
    }
    measured
}

fn changed(variant: Variant, change: impl Fn(u64, &mut Run)) -> Measured {
    let mut measured = world();
    for (key, run) in &mut measured.runs {
        if key.variant == variant {
            change(key.seed, run);
        }
    }
    measured
}

fn verdict(predicate: fn(&Measured) -> Vec<Check>, measured: &Measured) -> Verdict {
    judge("", predicate(measured)).verdict
}

const PREDICATES: [fn(&Measured) -> Vec<Check>; 5] = [af1, af2, af3, af4, af5];

#[test]
fn the_papers_values_reproduce_and_no_runs_are_out_of_reach() {
    for predicate in PREDICATES {
        assert_eq!(verdict(predicate, &world()), Verdict::Reproduced);
        assert_eq!(verdict(predicate, &Measured::default()), Verdict::OutOfReach);
    }
    assert_eq!(
        ledger(&texts(), &world()).iter().map(|claim| claim.id.clone()).collect::<Vec<_>>(),
        ["AF1", "AF2", "AF3", "AF4", "AF5"]
    );
}

#[test]
fn af1_fails_without_a_standard_timeout_and_with_an_extended_one() {
    let never = changed(Variant::Standard, |seed, run| {
        if seed > 5 {
            run.timeouts = vec![640.0, 599.0];
        }
    });
    assert_eq!(verdict(af1, &never), Verdict::NotReproduced, "half is no majority");
    let often = changed(Variant::Extended, |seed, run| {
        if seed <= 2 {
            run.timeouts = vec![629.0];
        }
    });
    assert_eq!(verdict(af1, &often), Verdict::NotReproduced);
    let once = changed(Variant::Extended, |seed, run| {
        if seed == 1 {
            run.timeouts = vec![629.0, 300.0];
        }
    });
    assert_eq!(verdict(af1, &once), Verdict::Reproduced, "one of ten");
}

#[test]
fn af2_fails_when_it_is_not_ahead_in_time_or_once_behind() {
    let level = changed(Variant::Extended, |seed, run| {
        for (t, tsn) in run.cum_tsn.iter_mut().enumerate().take(450) {
            *tsn = 4.0 * t as f64 + 0.01 * seed as f64;
        }
    });
    assert_eq!(verdict(af2, &level), Verdict::NotReproduced, "not ahead at 399 s");
    let behind = changed(Variant::Extended, |_, run| {
        if let Some(tsn) = run.cum_tsn.get_mut(500) {
            *tsn -= 100.0;
        }
    });
    assert_eq!(verdict(af2, &behind), Verdict::NotReproduced);
}

#[test]
fn af3_fails_for_each_of_its_parts() {
    let one = |change: fn(&mut Switch)| {
        move |seed: u64, run: &mut Run| {
            if seed == 3 {
                change(&mut run.switch);
            }
        }
    };
    for (variant, change) in [
        (Variant::Standard, (|s| s.cwnd = 9000) as fn(&mut Switch)),
        (Variant::Standard, |s| s.ssthresh = 4000),
        (Variant::Extended, |s| s.cwnd = 7001),
        (Variant::Extended, |s| s.formula = None),
        (Variant::Extended, |s| s.ssthresh = 7000),
    ] {
        assert_eq!(verdict(af3, &changed(variant, one(change))), Verdict::NotReproduced);
    }
    let slow = changed(Variant::Extended, |_, run| {
        run.switch.old_ssthresh = u64::MAX;
        run.switch.ssthresh = u64::MAX;
    });
    assert_eq!(verdict(af3, &slow), Verdict::Reproduced, "slow start stays slow start");
}

#[test]
fn af4_fails_with_cuts_on_either_level() {
    let long = Stall { from: 0.0, length: 20.5 };
    for change in [(|run, s| run.tsn_stall = s) as fn(&mut Run, Stall), |run, s| run.block_stall = s] {
        let cut = |seeds| {
            changed(Variant::Extended, move |seed, run| {
                if seed <= seeds {
                    change(run, long);
                }
            })
        };
        assert_eq!(verdict(af4, &cut(1)), Verdict::Reproduced);
        assert_eq!(verdict(af4, &cut(2)), Verdict::NotReproduced);
    }
}

#[test]
fn af5_fails_for_each_of_its_parts() {
    for change in [
        (|run| run.in_order = false) as fn(&mut Run),
        |run| run.reports_taken = 1,
        |run| run.reports_sent = 4,
        |run| run.total_bytes = run.total_bytes * 103 / 100,
        |run| run.timeouts = vec![300.0, 605.0],
    ] {
        assert_eq!(verdict(af5, &changed(Variant::Ignorant, |_, run| change(run))), Verdict::NotReproduced);
    }
}

fn texts() -> Texts {
    Texts::read(&super::super::TEXTS).unwrap()
}
