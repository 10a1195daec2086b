//! Tests each predicate with data that passes, and with data that fails each of its parts.

use super::*;
use crate::claims::Verdict;
use crate::experiments::kim_koh::estimation::Point;
use crate::experiments::kim_koh::measure::Fall;

const SEEDS: u64 = 5;

/// Runs in which each scheme's throughput (kbps after the switch) follows from the load, with a spread common
/// to all schemes and a small one per scheme.
struct SyntheticRuns {
    movement: Movement,
    measured: Measured,
}

impl SyntheticRuns {
    fn new(movement: Movement, throughput: impl Fn(u8, Scheme) -> f64) -> Self {
        let mut measured = Measured::default();
        for load in (0..=90).step_by(10) {
            for scheme in Scheme::ALL {
                for seed in 1..=SEEDS {
                    let shared = 1.0 + 0.05 * (seed as f64 - 3.0);
                    let own = 1.0 + 0.0005 * ((seed + scheme as u64) % 3) as f64;
                    let bytes = throughput(load, scheme) * shared * own * 30.0 * 1000.0 / 8.0;
                    let run = Handover {
                        after_bytes: bytes as u64,
                        total_bytes: bytes as u64,
                        switch_at: 30.0,
                        start_cwnd: 60_000,
                        cwnd: vec![60_000.0; 601],
                        ..Handover::default()
                    };
                    let key = RunKey { windows: WindowSet::Small, movement, load, scheme, seed };
                    measured.handovers.insert(key, run);
                }
            }
        }
        Self { movement, measured }
    }

    fn change(mut self, load: u8, scheme: Scheme, change: impl Fn(u64, &mut Handover)) -> Self {
        for (key, run) in &mut self.measured.handovers {
            if (key.load, key.scheme) == (load, scheme) {
                change(key.seed, run);
            }
        }
        self
    }

    fn scale(self, load: u8, scheme: Scheme, factor: f64) -> Self {
        self.change(load, scheme, |_, run| run.after_bytes = (run.after_bytes as f64 * factor) as u64)
    }

    fn verdict(&self, predicate: fn(&Runs<'_>) -> Vec<Check>) -> Verdict {
        judge("", predicate(&Runs::of(&self.measured, WindowSet::Small))).verdict
    }

    /// Asserts that the predicate holds for these runs, and fails after `change`.
    fn fails_after(self, predicate: fn(&Runs<'_>) -> Vec<Check>, change: impl Fn(Self) -> Self) {
        assert_eq!(self.verdict(predicate), Verdict::Reproduced);
        let movement = self.movement;
        let changed = change(self);
        assert_eq!(changed.verdict(predicate), Verdict::NotReproduced, "{}", movement.words());
    }
}

#[test]
fn without_runs_every_claim_is_out_of_reach() {
    let ledger = ledger(&texts(), &Measured::default());
    assert_eq!(ledger.len(), 9);
    for (claim, number) in ledger.iter().zip(1..) {
        assert_eq!(claim.id, format!("KK{number}"));
        assert_eq!(claim.verdict, Verdict::OutOfReach, "{}", claim.id);
        assert!(!claim.measured.is_empty(), "{}: says what is missing", claim.id);
    }
}

// KK1

fn estimates(idle: f64, loaded: f64) -> Measured {
    let mut measured = Measured::default();
    for movement in Movement::ALL {
        for seed in 1..=SEEDS {
            let capacity = movement.target_rate().as_bps() as f64;
            let points = (0..300).map(|step| {
                let at = f64::from(step) * 0.5;
                let phase = PHASES.iter().find(|phase| at < phase.to).unwrap_or(&PHASES[5]);
                let error = if phase.sources == 0 { idle } else { loaded };
                let available = truth(movement, phase) + capacity * (error + 0.001 * seed as f64);
                Point { at, capacity, available, loss: 0.0 }
            });
            let run = Estimation { points: points.collect() };
            measured.estimations.insert(EstimationKey { movement, seed }, run);
        }
    }
    measured
}

#[test]
fn kk1_requires_a_match_when_idle_and_slightly_less_under_load() {
    let verdict = |idle, loaded| judge("", kk1(&estimates(idle, loaded))).verdict;
    assert_eq!(verdict(0.0, -0.04), Verdict::Reproduced);
    assert_eq!(verdict(-0.08, -0.04), Verdict::NotReproduced, "too low when idle");
    assert_eq!(verdict(0.08, -0.04), Verdict::NotReproduced, "too high when idle");
    assert_eq!(verdict(0.0, 0.02), Verdict::NotReproduced, "above the truth under load");
    assert_eq!(verdict(0.0, -0.003), Verdict::NotReproduced, "not told apart from the truth");
    assert_eq!(verdict(0.0, -0.15), Verdict::NotReproduced, "more than slightly below");
}

#[test]
fn kk1_needs_both_links() {
    let mut measured = estimates(0.0, -0.04);
    measured.estimations.retain(|key, _| key.movement == ToWlan);
    assert_eq!(judge("", kk1(&measured)).verdict, Verdict::OutOfReach);
}

// KK2 to KK5: 3G to WLAN

/// As in the paper's Fig. 9: adaptive and C-SCTP ahead up to 45 %; beyond, C-SCTP collapses and adaptive
/// approaches mSCTP.
fn to_wlan() -> SyntheticRuns {
    let world = SyntheticRuns::new(ToWlan, |load, scheme| {
        let left = 7000.0 * (1.0 - f64::from(load) / 100.0);
        match scheme {
            Conservative => left,
            Inherit if load <= 45 => left * 1.05,
            Inherit => left * 0.8,
            Adaptive if load < 80 => left * 1.045,
            Adaptive => left * 1.02,
        }
    });
    let grown_slowly = |_, run: &mut Handover| {
        run.start_cwnd = 1468;
        run.cwnd[300..320].fill(10_000.0);
    };
    let collapsed = |seed, run: &mut Handover| {
        run.cwnd[340..360].fill(1468.0);
        run.timeouts = vec![34.0 + seed as f64 * 0.1];
    };
    (0..=90)
        .step_by(10)
        .fold(world, |world, load| world.change(load, Conservative, grown_slowly))
        .change(40, Adaptive, |seed, run| run.start_cwnd = 34_000 + seed * 100)
        .change(80, Inherit, collapsed)
}

#[test]
fn kk2_fails_when_a_part_fails() {
    to_wlan().fails_after(kk2, |w| w.change(0, Conservative, |_, run| run.cwnd.fill(60_000.0)));
    to_wlan().fails_after(kk2, |w| w.scale(0, Adaptive, 0.95));
    to_wlan().fails_after(kk2, |w| w.scale(0, Adaptive, 1.03));
    // Keep adaptive above mSCTP and within 2 % of C-SCTP, but nearer to mSCTP.
    to_wlan().fails_after(kk2, |w| w.scale(0, Inherit, 1.015 / 1.05).scale(0, Adaptive, 1.004 / 1.045));
}

#[test]
fn kk3_fails_when_a_part_fails() {
    to_wlan().fails_after(kk3, |w| w.scale(40, Adaptive, 0.9));
    to_wlan().fails_after(kk3, |w| w.change(40, Adaptive, |_, run| run.start_cwnd = 60_000));
    to_wlan().fails_after(kk3, |w| w.change(40, Adaptive, |_, run| run.start_cwnd = 20_000));
}

#[test]
fn kk4_fails_when_a_part_fails() {
    to_wlan().fails_after(kk4, |w| w.change(80, Inherit, |_, run| run.cwnd.fill(30_000.0)));
    to_wlan().fails_after(kk4, |w| w.change(80, Inherit, |_, run| run.timeouts.clear()));
    to_wlan().fails_after(kk4, |w| w.change(80, Inherit, |_, run| run.timeouts = vec![50.0]));
    to_wlan().fails_after(kk4, |w| w.scale(80, Inherit, 1.4));
    to_wlan().fails_after(kk4, |w| w.scale(80, Conservative, 1.1));
}

#[test]
fn kk5_fails_when_a_part_fails() {
    to_wlan().fails_after(kk5, |w| w.scale(20, Inherit, 0.9));
    to_wlan().fails_after(kk5, |w| w.scale(30, Adaptive, 0.9));
    to_wlan().fails_after(kk5, |w| w.scale(60, Inherit, 1.6));
    to_wlan().fails_after(kk5, |w| w.scale(50, Adaptive, 0.8));
    to_wlan().fails_after(kk5, |w| w.scale(90, Adaptive, 1.2));
}

#[test]
fn a_difference_within_the_spread_is_none() {
    let noisy = to_wlan().change(40, Adaptive, |seed, run| {
        let factor = if seed % 2 == 0 { 1.3 } else { 0.8 };
        run.after_bytes = (run.after_bytes as f64 * factor) as u64;
    });
    assert_eq!(noisy.verdict(kk3), Verdict::NotReproduced);
}

// KK6 to KK9: WLAN to 3G

/// As in the paper's Fig. 13: adaptive ahead up to 70 %, then all equal; at 80 % C-SCTP a little below both.
fn to_3g() -> SyntheticRuns {
    let fallen = |_, run: &mut Handover| {
        run.first_fall = Some(Fall { at: 32.2, by_timeout: true });
        run.cwnd[320..350].fill(20_000.0);
        run.cwnd[350..360].fill(1468.0);
    };
    SyntheticRuns::new(To3g, |load, scheme| {
        let left = 370.0 * (1.0 - f64::from(load) / 100.0);
        match (scheme, load) {
            (Adaptive, 0..=70) => left * 1.06,
            (Inherit, 80..) => left * 0.96,
            _ => left,
        }
    })
    .change(0, Inherit, fallen)
    .change(40, Inherit, fallen)
    .change(40, Conservative, |_, run| run.cwnd[300..600].fill(4000.0))
}

#[test]
fn kk6_fails_when_a_part_fails() {
    to_3g().fails_after(kk6, |w| w.change(0, Inherit, |_, run| run.first_fall = None));
    to_3g().fails_after(kk6, |w| {
        w.change(0, Inherit, |_, run| run.first_fall = Some(Fall { at: 32.2, by_timeout: false }))
    });
    to_3g().fails_after(kk6, |w| {
        w.change(0, Inherit, |_, run| run.first_fall = Some(Fall { at: 38.0, by_timeout: true }))
    });
    to_3g().fails_after(kk6, |w| w.scale(0, Conservative, 1.2));
    // Equal schemes have no best one.
    to_3g().fails_after(kk6, |w| w.scale(0, Adaptive, 1.0 / 1.06));
}

#[test]
fn kk7_fails_when_a_part_fails() {
    to_3g().fails_after(kk7, |w| w.change(40, Inherit, |_, run| run.cwnd[350..360].fill(50_000.0)));
    to_3g().fails_after(kk7, |w| w.change(40, Inherit, |_, run| run.cwnd[400..410].fill(1000.0)));
    to_3g().fails_after(kk7, |w| w.change(40, Conservative, |_, run| run.cwnd.fill(60_000.0)));
    to_3g().fails_after(kk7, |w| w.scale(40, Adaptive, 0.9));
}

#[test]
fn kk8_fails_when_a_part_fails() {
    to_3g().fails_after(kk8, |w| w.scale(80, Adaptive, 1.08));
    to_3g().fails_after(kk8, |w| w.scale(80, Inherit, 1.1));
    to_3g().fails_after(kk8, |w| w.scale(80, Conservative, 0.955));
}

#[test]
fn kk9_fails_when_a_part_fails() {
    to_3g().fails_after(kk9, |w| w.scale(30, Conservative, 1.1));
    to_3g().fails_after(kk9, |w| w.scale(70, Inherit, 1.1));
    to_3g().fails_after(kk9, |w| w.scale(90, Adaptive, 1.15));
    to_3g().fails_after(kk9, |w| w.scale(80, Inherit, 0.9));
}

#[test]
fn runs_are_paired_by_seed() {
    let mut world = to_3g();
    world.measured.handovers.retain(|key, _| key.scheme != Adaptive || key.seed != 2);
    let runs = Runs::of(&world.measured, WindowSet::Small);
    let (a, b) = runs.paired(To3g, 0, (Adaptive, Conservative), |run| Some(run.after_bytes as f64));
    assert_eq!(a.len(), 4);
    assert!(a.iter().zip(&b).all(|(a, b)| (a / b - 1.06).abs() < 0.002), "{a:?} {b:?}");
    assert_eq!(runs.loads(To3g), (0..=90).step_by(10).collect::<Vec<u8>>());
}

#[test]
fn comparisons_are_formatted_with_interval_and_percent() {
    let world = to_wlan();
    let claim = ledger(&texts(), &world.measured).remove(2);
    assert_eq!(claim.id, "KK3");
    assert!(claim.measured.contains("kbps"), "{}", claim.measured);
    assert!(claim.measured.contains("adaptive 34,300 vs C-SCTP 60,000 B"), "{}", claim.measured);
    assert_eq!(number(1_234_567.8), "1,234,568");
    assert_eq!(number(12.34), "12.3");
    assert_eq!(["0.0", "+5.2", "−18,813"], [-0.01, 5.2, -18_813.4].map(signed));
}

fn texts() -> Texts {
    Texts::read(&super::super::TEXTS).unwrap()
}
