//! Tests each predicate with data that passes, and with data that fails each of its parts.

use super::*;
use crate::claims::Verdict;

const SEEDS: u64 = 6;

type Predicate = fn(Runs<'_>) -> Vec<Check>;

/// Returns runs as in the paper, with a spread common to all windows and a small one per window.
fn papers() -> Measured {
    let mut measured = Measured::default();
    for mix in Mix::all() {
        for window in Window::ALL {
            for seed in 1..=SEEDS {
                let key = RunKey { tcp: Tcp::NewReno, mix, paced: false, window, seed };
                measured.insert(key, synthetic_run(mix, window, seed));
            }
        }
    }
    measured
}

/// Returns a run as in the paper, with noise that depends on the seed and partly on the window.
fn synthetic_run(mix: Mix, window: Window, seed: u64) -> Run {
    let own = ((seed * 7 + window as u64 * 3) % 5) as f32 - 2.0;
    let noise = 10.0 * (seed % 3) as f32 + 0.5 * own;
    let crowded = mix.tcps == 10;
    // Delay of the first second.
    let delay: f32 = match window {
        _ if crowded => 200.0 + 3.0 * own,
        Window::Three => 700.0,
        Window::Ten => 20.0,
        Window::Twenty => 5.0,
        Window::Nr => 0.0,
    };
    let low = mix.network == Network::Low;
    let delay = if low { delay * 2.0 + if window == Window::Ten { 260.0 } else { 0.0 } } else { delay };
    let slope = if mix == LC_2_1 { 4.0 } else { 0.0 };
    let way = if low { 300.0 } else { 40.0 };
    let transfer: Vec<f32> = (0..CURVE)
        .map(|n| {
            let start = if mix == LC_2_1 { delay * 0.05 } else { delay };
            let start = if n < FIRST { start * (1.0 - n as f32 / 60.0) } else { 0.0 };
            way + noise + start + slope * n as f32
        })
        .collect();
    let startup_max = transfer[..START_UP].iter().copied().fold(0.0, f32::max);
    let (switch, end, last) = mix.network.times();
    let on = f64::from(end - switch);
    let wanted = video_rate() * on / 8.0;
    let video = if mix == LC_2_1 { wanted * 0.8 } else { wanted * 0.995 };
    let tcp = if mix == LC_2_1 { 3.5e6 } else { mix.fair_shares().1 * f64::from(mix.tcps) };
    let sample = tcp * 5.0 / 8.0 * (1.0 + 0.01 * f64::from(own));
    Run {
        startup_max: vec![startup_max; usize::from(mix.videos)],
        whole_max: vec![startup_max; usize::from(mix.videos)],
        transfer,
        video_bytes: vec![video as u64; usize::from(mix.videos)],
        tcp_bytes: vec![(tcp * on / 8.0) as u64 / u64::from(mix.tcps); usize::from(mix.tcps)],
        tcp_samples: vec![sample as u64; last as usize / 5],
        startup_losses: if crowded { 2 + (seed % 2) as u32 } else { 0 },
        ..Run::default()
    }
}

fn verdict(measured: &Measured, predicate: Predicate) -> Verdict {
    judge("", predicate(Runs::of(measured, Tcp::NewReno))).verdict
}

/// Asserts that the predicate holds for the paper's runs, and fails after `change` to those of `mix` and
/// `window`.
fn fails_after(predicate: Predicate, mix: Mix, window: Window, change: impl Fn(u64, &mut Run)) {
    let mut measured = papers();
    assert_eq!(verdict(&measured, predicate), Verdict::Reproduced);
    for (key, run) in &mut measured {
        if (key.mix, key.window) == (mix, window) {
            change(key.seed, run);
        }
    }
    assert_eq!(verdict(&measured, predicate), Verdict::NotReproduced);
}

/// Replaces the runs of one window by those of another.
fn like(other: Window, mix: Mix) -> impl Fn(u64, &mut Run) {
    move |seed, run| *run = synthetic_run(mix, other, seed)
}

#[test]
fn without_runs_every_claim_is_out_of_reach() {
    let ledger = ledger(&Measured::default());
    assert_eq!(ledger.len(), 7);
    for (claim, number) in ledger.iter().zip(1..) {
        assert_eq!(claim.id, format!("EK{number}"));
        assert_eq!(claim.verdict, Verdict::OutOfReach, "{}", claim.id);
        assert!(!claim.measured.is_empty(), "{}: says what is missing", claim.id);
    }
}

#[test]
fn the_papers_values_pass_and_every_competitor_with_runs_is_judged() {
    let mut measured = papers();
    assert!(ledger(&measured).iter().all(|claim| claim.judgements.len() == 1));
    let key = *measured.keys().next().unwrap();
    measured.insert(RunKey { tcp: Tcp::Cubic, ..key }, Run::default());
    for claim in ledger(&measured) {
        assert_eq!(claim.verdict, Verdict::Reproduced, "{}: {:#?}", claim.id, claim.judgements[0].checks);
        assert_eq!(claim.judgements[1].verdict, Verdict::OutOfReach, "{}", claim.id);
    }
}

#[test]
fn ek1_requires_a_major_then_a_smaller_reduction() {
    fails_after(ek1, LC_1_1, Window::Ten, like(Window::Three, LC_1_1));
    fails_after(ek1, LC_1_1, Window::Twenty, like(Window::Ten, LC_1_1));
    // Make the fall from 10 to 20 as large as that from 3 to 10.
    fails_after(ek1, LC_1_1, Window::Ten, |_, run| run.startup_max[0] += 700.0);
    // Keep the longest as in the paper, but not the mean.
    fails_after(ek1, LC_1_1, Window::Ten, |_, run| run.transfer.iter_mut().for_each(|time| *time += 400.0));
}

#[test]
fn ek2_requires_the_same_throughput_and_a_delivered_video() {
    fails_after(ek2, LC_1_1, Window::Twenty, |_, run| {
        run.tcp_samples[12] = run.tcp_samples[12] * 9 / 10;
    });
    fails_after(ek2, LC_1_1, Window::Nr, |_, run| {
        run.tcp_samples.iter_mut().for_each(|sample| *sample = *sample * 9 / 10);
    });
    fails_after(ek2, LC_1_1, Window::Ten, |_, run| run.video_bytes[0] = run.video_bytes[0] * 9 / 10);
}

#[test]
fn ek3_requires_linear_growth_a_greedy_flow_and_shorter_first_messages() {
    let each = |change: fn(usize, f32) -> f32| {
        move |_: u64, run: &mut Run| {
            run.transfer.iter_mut().enumerate().for_each(|(n, time)| *time = change(n, *time));
        }
    };
    fails_after(ek3, LC_2_1, Window::Ten, each(|_, _| 400.0));
    fails_after(ek3, LC_2_1, Window::Ten, each(|n, time| time - 8.0 * n as f32 + 3000.0));
    fails_after(ek3, LC_2_1, Window::Nr, each(|n, time| if n % 2 == 0 { time } else { time + 3000.0 }));
    fails_after(ek3, LC_2_1, Window::Three, |_, run| {
        run.tcp_samples.iter_mut().for_each(|sample| *sample = *sample * 8 / 10);
    });
    fails_after(ek3, LC_2_1, Window::Twenty, like(Window::Three, LC_2_1));
}

#[test]
fn ek4_and_ek5_require_a_clear_delay_that_disappears() {
    for (predicate, mix) in [(ek4 as Predicate, HC_1_2), (ek5, HC_5_2)] {
        fails_after(predicate, mix, Window::Three, like(Window::Ten, mix));
        fails_after(predicate, mix, Window::Ten, like(Window::Three, mix));
        fails_after(predicate, mix, Window::Ten, |_, run| run.transfer[3] += 220.0);
    }
    let left = |share: f32| {
        let mut measured = papers();
        for (key, run) in &mut measured {
            if key.window == Window::Ten && [HC_1_2, HC_5_2].contains(&key.mix) {
                run.transfer[0] += 700.0 * share - 20.0;
            }
        }
        [verdict(&measured, ek4), verdict(&measured, ek5)]
    };
    assert_eq!(left(0.10), [Verdict::Reproduced; 2]);
    assert_eq!(left(0.20), [Verdict::Reproduced, Verdict::NotReproduced], "close to zero is less");
    assert_eq!(left(0.30), [Verdict::NotReproduced; 2]);
}

#[test]
fn ek6_requires_losses_and_no_difference() {
    let mix = Mix::new(Network::High, 2, 10);
    fails_after(ek6, mix, Window::Three, |_, run| run.startup_losses = 0);
    fails_after(ek6, mix, Window::Twenty, |_, run| run.startup_max[0] -= 50.0);
    fails_after(ek6, mix, Window::Nr, |_, run| run.startup_max[0] += 50.0);
}

#[test]
fn ek7_requires_the_same_throughput_everywhere() {
    for mix in [Mix::new(Network::High, 1, 5), Mix::new(Network::High, 5, 10)] {
        fails_after(ek7, mix, Window::Ten, |_, run| run.tcp_samples[4] = run.tcp_samples[4] * 9 / 10);
        fails_after(ek7, mix, Window::Nr, |_, run| {
            run.tcp_samples.iter_mut().for_each(|sample| *sample = *sample * 11 / 10);
        });
    }
}

#[test]
fn the_line_is_fitted_with_its_explained_variance() {
    let straight: Vec<(f64, f64)> = (0..10).map(|n| (f64::from(n), 3.0 + 2.0 * f64::from(n))).collect();
    let (slope, explained) = line(&straight).unwrap();
    assert!((slope - 2.0).abs() < 1e-9 && (explained - 1.0).abs() < 1e-9);
    assert_eq!(line(&[(0.0, 1.0), (1.0, 1.0)]), Some((0.0, 0.0)));
    assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
    assert_eq!(line(&[]), None);
}
