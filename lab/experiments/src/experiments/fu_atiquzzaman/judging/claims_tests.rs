//! Tests each predicate with data that passes, and with data that fails each of its parts.

use super::claims::*;
use super::predicted::table;
use crate::claims::{Claim, Grade};
use crate::experiments::fu_atiquzzaman::grid::{Extent, GridKey, MicroscopeKey, Protocol, Sender};
use crate::experiments::fu_atiquzzaman::measure::{GridRun, Handover, Measured, Microscope, Sent};
use crate::experiments::fu_atiquzzaman::paper::{WIRED, cell};
use Protocol::{Reno, Sack, Sctp};

const SEEDS: u64 = 5;

/// Returns runs whose segments follow from the cell, with a spread common to all protocols and a small one
/// for each.
fn grid(delivered: impl Fn(u32, u32, Protocol) -> f64) -> Measured {
    spread(1.0, delivered)
}

/// Returns runs like [`grid`], with this much of the spread.
fn spread(much: f64, delivered: impl Fn(u32, u32, Protocol) -> f64) -> Measured {
    let mut measured = Measured::default();
    for key in (Extent { seeds: SEEDS, first: 1 }).grid() {
        let shared = 1.0 + much * 0.03 * (key.seed as f64 - 3.0);
        let own = 1.0 + much * 0.0005 * ((key.seed + key.protocol as u64) % 3) as f64;
        let segments = delivered(key.wired, key.wireless, key.protocol) * shared * own;
        measured.grid.insert(key, GridRun { delivered: segments.round() as u64, ..GridRun::default() });
    }
    measured
}

/// Returns the values of the paper's own tables.
fn paper(wired: u32, wireless: u32, protocol: Protocol) -> f64 {
    f64::from(cell(table(protocol), wired, wireless).unwrap())
}

/// Returns the values of a smooth model for which all claims about the tables hold.
fn smooth(wired: u32, wireless: u32, protocol: Protocol) -> f64 {
    let bottleneck = 1.0 / (1.0 / f64::from(wired) + 1.0 / f64::from(wireless) + 1.0 / 400_000.0);
    let slowness = 200_000.0 / f64::from(wireless) + 2_000.0 / f64::from(wired);
    let gain = match protocol {
        Reno => 0.0,
        Sack => 0.05,
        Sctp => 0.12,
    };
    bottleneck / 40.0 * (1.0 + gain * slowness)
}

fn claim(measured: &Measured, id: &str) -> Claim {
    ledger(&texts(), measured).into_iter().find(|claim| claim.id == id).unwrap()
}

fn verdict(measured: &Measured, id: &str) -> Grade {
    claim(measured, id).grade
}

/// Asserts that the claim holds for the smooth model, and fails after `change`.
fn fails_after(id: &str, change: impl Fn(u32, u32, Protocol, f64) -> f64) {
    assert_eq!(verdict(&grid(smooth), id), Grade::Reproduced, "{:?}", claim(&grid(smooth), id));
    let changed = grid(|w, r, protocol| change(w, r, protocol, smooth(w, r, protocol)));
    assert_eq!(verdict(&changed, id), Grade::Contradicted, "{:?}", claim(&changed, id));
}

#[test]
fn without_runs_every_claim_is_out_of_reach() {
    let ledger = ledger(&texts(), &Measured::default());
    assert_eq!(ledger.len(), 6);
    for (claim, number) in ledger.iter().zip(1..) {
        assert_eq!(claim.id, format!("FA{number}"));
        assert_eq!(claim.grade, Grade::OutOfReach, "{}", claim.id);
        assert!(!claim.measured.is_empty(), "{}: says what is missing", claim.id);
    }
}

#[test]
fn a_missing_cell_leaves_the_claims_about_tables_open() {
    let mut measured = grid(smooth);
    measured.grid.retain(|key, _| (key.wired, key.wireless, key.protocol) != (54_000, 384_000, Sack));
    for id in ["FA1", "FA2", "FA3", "FA6"] {
        assert_ne!(verdict(&measured, id), Grade::Reproduced, "{id}");
    }
}

/// The paper's claims about its tables hold for those tables.
#[test]
fn the_papers_own_tables_support_its_claims() {
    for id in ["FA1", "FA2", "FA3", "FA6"] {
        let claim = claim(&spread(if id == "FA6" { 0.0 } else { 1.0 }, paper), id);
        assert_eq!(claim.grade, Grade::Reproduced, "{id}: {}", claim.measured);
    }
}

// FA1

#[test]
fn fa1_requires_the_order_in_the_slow_cells() {
    fails_after("FA1", |w, r, protocol, x| if protocol == Sctp && is_slow(w, r) { x * 0.9 } else { x });
    fails_after("FA1", |_, _, protocol, x| if protocol == Reno { x * 1.5 } else { x });
    fails_after(
        "FA1",
        |w, r, protocol, x| if (w, r, protocol) == (54_000, 2_000_000, Sctp) { x * 0.9 } else { x },
    );
}

#[test]
fn fa1_ignores_the_fast_cells() {
    let measured = grid(|w, r, protocol| {
        let lost = if protocol == Sctp && !is_slow(w, r) { 0.5 } else { 1.0 };
        smooth(w, r, protocol) * lost
    });
    assert_eq!(verdict(&measured, "FA1"), Grade::Reproduced);
    let slow = WIRED.into_iter().flat_map(|w| [150_000, 1_000_000].map(|r| is_slow(w, r)));
    assert_eq!(slow.filter(|&slow| slow).count(), 8);
}

// FA2

#[test]
fn fa2_requires_a_rise_that_saturates() {
    fails_after("FA2", |_, r, _, x| if r >= 384_000 { x * 0.3 } else { x });
    fails_after("FA2", |_, r, protocol, x| if r == 2_000_000 && protocol == Sack { x * 1.3 } else { x });
    fails_after("FA2", |w, _, protocol, x| if w == 1_500_000 && protocol == Sctp { x * 1.5 } else { x });
}

// FA3

#[test]
fn fa3_requires_a_gain_that_falls_with_r_and_depends_less_on_w() {
    fails_after("FA3", |_, r, protocol, x| if r >= 1_000_000 && protocol == Sctp { x * 1.5 } else { x });
    fails_after("FA3", |_, r, protocol, x| if r == 384_000 && protocol == Sack { x * 1.5 } else { x });
    fails_after("FA3", |w, _, protocol, x| if w == 28_800 && protocol == Reno { x * 0.5 } else { x });
}

// FA4

/// Returns a sender that sends 20 segments, and retransmits the six of the key at these times.
fn microscope(key: &MicroscopeKey, again: [f64; 6], timeouts: &[f64]) -> Microscope {
    let lost: Vec<u64> = key.offsets().iter().map(|offset| offset + 40).collect();
    let first =
        (35..60).map(|segment| Sent { at: 170.0 + segment as f64 / 100.0, segment, retransmission: false });
    let later = lost.iter().zip(again).map(|(&segment, at)| Sent { at, segment, retransmission: true });
    Microscope {
        sent: first.chain(later).collect(),
        acknowledged: vec![(171.0, 40), (again[5] + 3.0, 60)],
        timeouts: timeouts.to_vec(),
        lost,
        ..Microscope::default()
    }
}

/// Returns runs as in the paper, for twenty draws of the six segments.
fn six_losses(change: impl Fn(&MicroscopeKey, &mut Microscope)) -> Measured {
    let mut measured = Measured::default();
    for key in (Extent { seeds: 20, first: 1 }).microscope() {
        let mut run = match key.protocol {
            Reno => microscope(&key, [172.5, 178.0, 181.0, 182.0, 183.0, 184.0], &[178.0]),
            Sack => microscope(&key, [172.5, 173.0, 174.0, 176.0, 183.0, 183.5], &[]),
            Sctp => microscope(&key, [172.5, 173.0, 174.0, 175.0, 175.5, 176.0], &[]),
        };
        change(&key, &mut run);
        measured.microscope.insert(key, run);
    }
    measured
}

#[test]
fn fa4_requires_sctp_in_half_the_time_and_a_timeout_of_reno_only() {
    let verdict = |measured: &Measured| verdict(measured, "FA4");
    assert_eq!(verdict(&six_losses(|_, _| ())), Grade::Reproduced);
    let only = |wanted: Protocol, change: fn(&mut Microscope)| {
        six_losses(|key, run| {
            if (key.protocol, key.sender) == (wanted, Sender::Rfc6675) {
                change(run);
            }
        })
    };
    type Change = fn(&mut Microscope);
    let worse: [(Protocol, Change); 6] = [
        (Sctp, |run| run.timeouts.push(175.0)),
        (Sack, |run| run.timeouts.push(175.0)),
        (Reno, |run| run.timeouts.clear()),
        (Sack, |run| {
            run.sent
                .iter_mut()
                .filter(|sent| sent.retransmission)
                .for_each(|sent| sent.at = 170.0 + 0.1 * sent.segment as f64);
        }),
        (Sctp, |run| run.lost = vec![40, 41, 42, 43, 44, 45]),
        (Sack, |run| run.acknowledged.truncate(1)),
    ];
    for (number, (protocol, change)) in worse.into_iter().enumerate() {
        assert_eq!(verdict(&only(protocol, change)), Grade::Contradicted, "{number}");
    }
    let effect = claim(&six_losses(|_, _| ()), "FA4").effect.unwrap();
    assert!(effect.seeds == 20 && effect.text.contains("31.8 %"), "{}", effect.text);
    // A timeout before or after the repair does not count.
    assert_eq!(verdict(&only(Sctp, |run| run.timeouts = vec![100.0, 190.0])), Grade::Reproduced);
}

// FA5

/// Returns handovers of Reno at a slow and at a fast bottleneck, and of SCTP, which the claim ignores.
fn handovers(slow: &Handover, fast: &Handover) -> Measured {
    let mut measured = Measured::default();
    for seed in 1..=SEEDS {
        for (wired, wireless, handover) in [(28_800, 384_000, slow), (1_000_000, 2_000_000, fast)] {
            for (protocol, times) in [(Reno, 2), (Sctp, 0)] {
                let handovers = vec![handover.clone(); times];
                let key = GridKey { wired, wireless, protocol, seed };
                measured.grid.insert(key, GridRun { handovers, ..GridRun::default() });
            }
        }
    }
    measured
}

#[test]
fn fa5_requires_timeouts_where_the_rto_is_short_and_fast_retransmits_where_it_is_long() {
    let slow = Handover { outage: 3.0, rto: 8.0, lost: 6, fast_retransmits: 1, ..Handover::default() };
    let fast = Handover {
        outage: 3.0,
        rto: 1.2,
        lost: 10,
        timeouts: 1,
        window_after_timeout: Some(1.0),
        ..Handover::default()
    };
    let verdict = |slow: Handover, fast: Handover| verdict(&handovers(&slow, &fast), "FA5");
    assert_eq!(verdict(slow.clone(), fast.clone()), Grade::Reproduced);
    let timed_out = Handover { timeouts: 1, ..slow.clone() };
    assert_eq!(verdict(timed_out, fast.clone()), Grade::Contradicted, "a timeout behind the slow bottleneck");
    let lucky = Handover { timeouts: 0, window_after_timeout: None, ..fast.clone() };
    assert_eq!(verdict(slow.clone(), lucky), Grade::Contradicted, "longer than the RTO without a timeout");
    let kept = Handover { window_after_timeout: Some(10.0), ..fast.clone() };
    assert_eq!(verdict(slow.clone(), kept), Grade::Contradicted, "no slow start");
    let same = Handover { rto: 7.0, outage: 8.0, ..fast.clone() };
    assert_eq!(verdict(slow.clone(), same), Grade::Contradicted, "the RTO is as large");
    let short = Handover { outage: 1.0, ..fast };
    assert_eq!(verdict(slow, short), Grade::OutOfReach, "no handover was longer than the RTO");
}

// FA6

#[test]
fn fa6_requires_predictions_about_as_good_as_the_fit() {
    let off = |much: f64, factor: fn(Protocol) -> f64| {
        spread(much, move |w, r, protocol| paper(w, r, protocol) * factor(protocol))
    };
    let verdict = |measured: &Measured| verdict(measured, "FA6");
    let good = |protocol| if protocol == Reno { 1.06 } else { 0.93 };
    assert_eq!(verdict(&off(0.0, good)), Grade::Reproduced);
    assert_eq!(verdict(&off(1.0, good)), Grade::Unresolved, "the seeds differ by more than the room");
    let no_skill = claim(&off(0.0, |protocol| if protocol == Reno { 1.2 } else { 0.75 }), "FA6");
    assert_eq!(no_skill.judgements[0].checks[0].grade, Grade::Reproduced);
    assert_eq!(no_skill.grade, Grade::Contradicted);
    let said = "no skill: median relative error 25.0 % of the 60 cells, 11.3 % with Table V";
    assert!(no_skill.measured.contains(said), "{}", no_skill.measured);
    assert_eq!(verdict(&off(0.0, |protocol| if protocol == Reno { 1.1 } else { 0.8 })), Grade::Contradicted);
    let text = claim(&off(0.0, good), "FA6").measured;
    assert!(text.contains("6.0 % of 30 fitted") && text.contains("; skill: "), "{text}");
}

// Null models

/// In the null model, no protocol, rate or handover differs from another.
#[test]
fn no_claim_is_reproduced_by_its_null_model() {
    let alike = grid(|w, r, _| smooth(w, r, Reno));
    let flat = grid(|_, _, _| 2_000.0);
    let table_v = grid(|w, r, _| paper(w, r, Reno));
    let same = six_losses(|key, run| *run = microscope(key, [172.5, 173.0, 174.0, 175.0, 175.5, 176.0], &[]));
    let handover = Handover { outage: 3.0, rto: 2.0, lost: 6, timeouts: 1, ..Handover::default() };
    let handovers = handovers(&handover, &handover);
    let nulls = [
        ("FA1", alike.clone()),
        ("FA2", flat),
        ("FA3", alike),
        ("FA4", same),
        ("FA5", handovers),
        ("FA6", table_v),
    ];
    for (id, null) in &nulls {
        let claim = claim(null, id);
        assert_ne!(claim.grade, Grade::Reproduced, "{id}: {}", claim.measured);
        assert!(claim.is_judged(), "{id}: {}", claim.measured);
    }
}

fn texts() -> crate::paper::Texts {
    crate::paper::Texts::read(&crate::experiments::fu_atiquzzaman::TEXTS).unwrap()
}
