//! The claims of Kim and Koh's paper, from given values.

use super::*;
use crate::claims::{Claim, Grade};

/// Kim and Koh's values: windows and throughputs in the order that the paper says.
fn kim_koh(names: &[&str], metric: &str, seed: u64) -> f64 {
    let (movement, load, scheme) = (names[1], names[2].parse::<u32>().unwrap_or(0), names[3]);
    let rate = match (movement, scheme) {
        (_, "conservative") => 1.0,
        ("3g-to-wlan", "inherit") if load <= 40 => 1.05,
        ("3g-to-wlan", "inherit") => 0.9,
        ("3g-to-wlan", _) if load <= 40 => 1.051,
        ("3g-to-wlan", _) => 1.02,
        (_, "inherit") => 0.95,
        _ if load <= 70 => 1.05,
        _ => 1.0,
    };
    match metric {
        "throughput" => 1e6 * rate + 10.0 * seed as f64,
        "window_5s" | "window_30s" => 2e4 * rate,
        "start_cwnd" => {
            if scheme == "inherit" {
                4e4
            } else {
                3e4
            }
        }
        "depth" => 0.2,
        "timeouts_8s" | "fall_timeouts" => 1.0,
        "fall" => 32.0,
        "idle_error" => 0.01,
        "phases_below" => 4.0,
        _ if metric.ends_with("_error") => 0.03,
        _ => 0.0,
    }
}

/// Judges Kim and Koh's claims by these values, with windows whose minimum is at `at`.
fn kim_koh_ledger(sweep: &Sweep, at: f64, value: &dyn Fn(&[&str], &str, u64) -> f64) -> Vec<Claim> {
    let mut outcome = synthetic(sweep, value);
    let place = |name: &str| sweep.curves.iter().position(|curve| curve.name == name).unwrap();
    let curves = [place("half_seconds"), place("from_32")];
    for (_, values) in &mut outcome.runs.done {
        let point = |n: u32| (30.2 + 0.5 * f64::from(n), 1e4 + 1e3 * (30.2 + 0.5 * f64::from(n) - at).abs());
        for curve in curves {
            values.curves[curve] = (0..30).map(point).collect();
        }
    }
    outcome.ledger()
}

/// In the null model, the assignment of values to schemes changes from seed to seed, and the estimate equals
/// the capacity for any background traffic.
#[test]
fn no_claim_of_kim_and_koh_is_reproduced_with_permuted_labels() {
    let schemes = ["conservative", "inherit", "adaptive"];
    let permuted = |names: &[&str], metric: &str, seed: u64| {
        let own = schemes.iter().position(|scheme| *scheme == names[3]).unwrap();
        let other = schemes[(own + seed as usize) % 3];
        match metric {
            "idle_error" | "phases_below" => 0.0,
            "one_error" | "again_error" => -0.2,
            "two_error" | "busy_error" => -0.4,
            "three_error" => -0.6,
            _ => kim_koh(&[names[0], names[1], names[2], other], metric, seed),
        }
    };
    let sweep = bundled("scenarios/kim-koh/paper.toml").unwrap();
    for claim in kim_koh_ledger(&sweep, 35.2, &permuted) {
        assert_ne!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert!(claim.is_judged(), "{}", claim.id);
    }
}

#[test]
fn kim_kohs_claims_hold_for_the_papers_values_and_each_fails_for_its_contrary() {
    claims_hold(6);
}

#[test]
#[ignore = "judges the values of thirty seeds twenty times"]
fn slow_kim_kohs_claims_hold_for_the_papers_values_and_each_fails_for_its_contrary() {
    claims_hold(30);
}

fn claims_hold(seeds: u64) {
    let sweep = bundled("scenarios/kim-koh/paper.toml").unwrap();
    assert_eq!(sweep.keys().len(), (2 * 2 * 10 * 3 + 2 + 16) * 30, "16: what the findings compare with");
    let sweep = sweep.reduced(&Effort { quick: false, seeds: Some(seeds), claims: false });
    let lowest_at = |at: f64, value: &dyn Fn(&[&str], &str, u64) -> f64| kim_koh_ledger(&sweep, at, value);
    let papers = lowest_at(35.2, &kim_koh);
    assert_eq!(papers.len(), 9);
    for claim in &papers {
        assert_eq!(claim.grade, Grade::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert_eq!(claim.judgements.len(), if claim.id == "KK1" { 1 } else { 2 }, "{}", claim.id);
    }
    assert_eq!(lowest_at(39.2, &kim_koh)[6].grade, Grade::Contradicted, "KK7: the low comes too late");
    assert_eq!(lowest_at(30.2, &kim_koh)[6].grade, Grade::Contradicted, "KK7: it does not fall");
    // The change of a metric of a scheme in a movement at a load, and the claims that then fail.
    type Change = (&'static str, &'static str, &'static str, &'static str, f64, &'static [&'static str]);
    let changes: [Change; 16] = [
        ("estimate-3g", "steps", "adaptive", "idle_error", 0.05, &["KK1"]),
        ("estimate-3g", "steps", "adaptive", "idle_error", -0.07, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "two_error", 0.08, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "phases_below", -2.0, &["KK1"]),
        ("estimate-wlan", "steps", "adaptive", "busy_error", -0.03, &["KK1"]),
        ("3g-to-wlan", "0", "adaptive", "window_5s", -1e4, &["KK2"]),
        ("3g-to-wlan", "0", "adaptive", "throughput", -0.03e6, &["KK2"]),
        ("3g-to-wlan", "40", "adaptive", "start_cwnd", -1.5e4, &["KK3"]),
        ("3g-to-wlan", "40", "adaptive", "start_cwnd", 2e4, &["KK3"]),
        ("3g-to-wlan", "80", "inherit", "depth", 0.1, &["KK4"]),
        ("3g-to-wlan", "80", "inherit", "timeouts_8s", -1.0, &["KK4"]),
        ("3g-to-wlan", "50", "adaptive", "throughput", -0.2e6, &["KK5"]),
        ("wlan-to-3g", "0", "inherit", "fall", 3.0, &["KK6"]),
        ("wlan-to-3g", "40", "adaptive", "window_30s", -1e4, &["KK7"]),
        ("wlan-to-3g", "80", "adaptive", "throughput", -0.06e6, &["KK8"]),
        ("wlan-to-3g", "20", "adaptive", "throughput", -0.2e6, &["KK9"]),
    ];
    for (movement, load, scheme, metric, by, fail) in changes {
        let changed = |names: &[&str], of: &str, seed: u64| {
            let is_it = (names[1], names[2], names[3], of) == (movement, load, scheme, metric);
            kim_koh(names, of, seed) + if is_it { by } else { 0.0 }
        };
        let ledger = lowest_at(35.2, &changed);
        let failed = ledger.iter().filter(|claim| claim.grade != Grade::Reproduced);
        let failed: Vec<&str> = failed.map(|claim| &*claim.id).collect();
        assert_eq!(failed, fail, "{metric} of {scheme}, {movement} at {load} %");
    }
}
