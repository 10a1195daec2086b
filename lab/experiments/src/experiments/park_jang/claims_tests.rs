//! Tests each predicate with data that passes, and with data that fails each of its parts.

use super::super::grid::Network;
use super::super::measure::Reset;
use super::*;
use crate::claims::Verdict;

const SEEDS: u64 = 5;

/// Returns transfers whose throughput (kbps) follows from the cell and the sender, with a spread common to
/// all senders and a small one per sender.
fn transfers(throughput: impl Fn(Cell, Transport, Scheme) -> f64) -> Measured {
    let mut measured = Measured::default();
    for cell in Cell::all() {
        for transport in Transport::ALL {
            for &scheme in transport.schemes() {
                for seed in 1..=SEEDS {
                    let shared = 1.0 + 0.05 * (seed as f64 - 3.0);
                    let own = 1.0 + 0.0005 * ((seed + scheme as u64) % 3) as f64;
                    let bytes = throughput(cell, transport, scheme) * shared * own * 200.0 * 1000.0 / 8.0;
                    let key = TransferKey { air: Air::Plain, cell, transport, scheme, seed };
                    let run = Transfer { delivered: bytes as u64, ..Transfer::default() };
                    measured.transfers.insert(key, run);
                }
            }
        }
    }
    measured
}

/// Returns the throughput in kbps as in the paper.
fn papers(cell: Cell, transport: Transport, scheme: Scheme) -> f64 {
    let base = if cell.network == Network::Lte { 300.0 } else { 2000.0 };
    let gain = if cell.losses == Losses::Congestion { 1.05 } else { 1.3 };
    match (transport, scheme) {
        (_, Standard) => base,
        (_, Previous) => base * gain * 0.9,
        (_, Proposed) => base * gain,
    }
}

fn verdict(measured: &Measured, predicate: fn(&Runs<'_>) -> Vec<Check>) -> Verdict {
    judge("", predicate(&Runs::of(measured, Air::Plain))).verdict
}

const LTE_MIXED: Cell = Cell { network: Network::Lte, losses: Losses::Mixed };

#[test]
fn without_runs_every_claim_is_out_of_reach() {
    let ledger = ledger(&texts(), &Measured::default());
    assert_eq!(ledger.len(), 5);
    for (claim, number) in ledger.iter().zip(1..) {
        assert_eq!(claim.id, format!("PJ{number}"));
        assert_eq!(claim.verdict, Verdict::OutOfReach, "{}", claim.id);
        assert!(!claim.measured.is_empty(), "{}: says what is missing", claim.id);
    }
}

#[test]
fn pj1_requires_no_cell_below_and_the_mean_above() {
    assert_eq!(verdict(&transfers(papers), pj1), Verdict::Reproduced);
    for transport in Transport::TCP {
        let one_below = transfers(|cell, who, scheme| {
            let bent = (cell, who, scheme) == (LTE_MIXED, transport, Proposed);
            papers(cell, who, scheme) * if bent { 0.8 } else { 1.0 }
        });
        assert_eq!(verdict(&one_below, pj1), Verdict::NotReproduced);
        let all_the_same =
            transfers(|cell, who, scheme| if who == transport { 500.0 } else { papers(cell, who, scheme) });
        assert_eq!(verdict(&all_the_same, pj1), Verdict::NotReproduced, "no better anywhere");
    }
    let sctp_does_not_matter =
        transfers(|cell, who, scheme| if who == Transport::Sctp { 1.0 } else { papers(cell, who, scheme) });
    assert_eq!(verdict(&sctp_does_not_matter, pj1), Verdict::Reproduced);
}

#[test]
fn pj1_needs_every_cell() {
    let mut measured = transfers(papers);
    measured.transfers.retain(|key, _| key.cell != LTE_MIXED);
    assert_eq!(verdict(&measured, pj1), Verdict::OutOfReach);
}

// PJ2

/// Returns microscope runs with a round trip of 200 ms and a packet every 10 ms, retransmitted this many
/// seconds after the first duplicate ACK.
fn microscope_runs(proposed: f64, previous: f64) -> Measured {
    let mut measured = Measured::default();
    for transport in Transport::TCP {
        for (scheme, after) in [(Proposed, proposed), (Previous, previous)] {
            let run = Microscope {
                slot: 0.01,
                rtt: 0.2,
                first_duplicate: 5.0,
                third_duplicate: 5.02,
                retransmission: 5.0 + after,
                events: Vec::new(),
            };
            measured.microscope.insert(MicroscopeKey { transport, scheme }, run);
        }
    }
    measured
}

#[test]
fn pj2_requires_the_third_duplicate_and_a_round_trip_after_the_first() {
    let verdict = |proposed, previous| judge("", pj2(&microscope_runs(proposed, previous))).verdict;
    assert_eq!(verdict(0.02, 0.2), Verdict::Reproduced);
    assert_eq!(verdict(0.05, 0.2), Verdict::NotReproduced, "later than the third");
    assert_eq!(verdict(0.01, 0.2), Verdict::NotReproduced, "before the third");
    assert_eq!(verdict(0.02, 0.1), Verdict::NotReproduced, "less than a round trip");
    assert_eq!(verdict(0.02, 0.25), Verdict::NotReproduced, "more than a round trip");
    let mut one = microscope_runs(0.02, 0.2);
    one.microscope.retain(|key, _| key.transport == Transport::Reno);
    assert_eq!(judge("", pj2(&one)).verdict, Verdict::OutOfReach);
}

// PJ3

fn recoveries(with_errors: Recovery) -> Measured {
    let mut measured = Measured::default();
    for transport in Transport::TCP {
        for seed in 1..=SEEDS {
            let key = RecoveryKey { transport, errors: true, seed };
            measured.recoveries.insert(key, with_errors);
            let quiet = Recovery { longest_rtt: 0.5, ..Recovery::default() };
            measured.recoveries.insert(RecoveryKey { errors: false, ..key }, quiet);
        }
    }
    measured
}

#[test]
fn pj3_requires_no_detected_loss_and_a_delay() {
    let verdict = |run| judge("", pj3(&recoveries(run))).verdict;
    let good = Recovery { retransmitted_blocks: 100, longest_rtt: 0.6, ..Recovery::default() };
    assert_eq!(verdict(good), Verdict::Reproduced);
    assert_eq!(verdict(Recovery { duplicate_acks: 1, ..good }), Verdict::NotReproduced);
    assert_eq!(verdict(Recovery { gap_losses: 1, ..good }), Verdict::NotReproduced);
    assert_eq!(verdict(Recovery { longest_rtt: 0.5, ..good }), Verdict::NotReproduced, "no delay");
    assert_eq!(
        verdict(Recovery { retransmitted_blocks: 0, ..good }),
        Verdict::OutOfReach,
        "nothing to recover"
    );
    assert_eq!(verdict(Recovery { lost: 1, ..good }), Verdict::OutOfReach, "not all was recovered");
}

// PJ4

fn handovers(bend: impl Fn(&HandoverKey, &mut Handover)) -> Measured {
    let mut measured = Measured::default();
    for from in Network::ALL {
        for transport in Transport::ALL {
            for frto in [true, false] {
                for seed in 1..=SEEDS {
                    let key = HandoverKey { from, transport, frto, seed };
                    let rtt = 2.2 * key.to().delay().as_secs_f64();
                    let reset = Reset { rtt, min: rtt, avg: rtt, dev: rtt / 2.0 };
                    let mut run = Handover {
                        timeouts: 1,
                        recognised: u64::from(frto),
                        window_before: 30_000,
                        window_after: if frto { 30_000 } else { 1460 },
                        slow_start: !frto,
                        reset: frto.then_some(reset),
                        ..Handover::default()
                    };
                    bend(&key, &mut run);
                    measured.handovers.insert(key, run);
                }
            }
        }
    }
    measured
}

#[test]
fn pj4_requires_recognition_the_window_and_the_reset() {
    let verdict = |bend: fn(&mut Handover)| {
        let one = |key: &HandoverKey, run: &mut Handover| {
            if (key.frto, key.seed, key.transport) == (true, 2, Transport::Sack) {
                bend(run);
            }
        };
        judge("", pj4(&handovers(one))).verdict
    };
    assert_eq!(verdict(|_| {}), Verdict::Reproduced);
    assert_eq!(verdict(|run| run.recognised = 0), Verdict::NotReproduced);
    assert_eq!(verdict(|run| run.window_after = 15_000), Verdict::NotReproduced);
    assert_eq!(verdict(|run| run.reset = None), Verdict::NotReproduced);
    let spoil = |change: fn(&mut Reset)| {
        let one = |key: &HandoverKey, run: &mut Handover| {
            if let (2, Some(reset)) = (key.seed, &mut run.reset) {
                change(reset);
            }
        };
        judge("", pj4(&handovers(one))).verdict
    };
    assert_eq!(spoil(|reset| reset.min *= 0.5), Verdict::NotReproduced);
    assert_eq!(spoil(|reset| reset.avg *= 0.5), Verdict::NotReproduced);
    assert_eq!(spoil(|reset| reset.dev *= 0.5), Verdict::NotReproduced);
    let old = |reset: &mut Reset| *reset = Reset { rtt: 0.01, min: 0.01, avg: 0.01, dev: 0.005 };
    assert_eq!(spoil(old), Verdict::NotReproduced, "no network of the experiment is that fast");
}

#[test]
fn pj4_counts_only_timeouts_without_a_loss() {
    let lossy = handovers(|_, run| {
        run.lost = 1;
        run.recognised = 0;
        run.reset = None;
    });
    assert_eq!(judge("", pj4(&lossy)).verdict, Verdict::OutOfReach);
    let no_gain = handovers(|_, run| run.slow_start = true);
    assert_eq!(judge("", pj4(&no_gain)).verdict, Verdict::NotReproduced, "slow start all the same");
}

// PJ5

#[test]
fn pj5_requires_a_gain_with_wireless_losses_and_the_sign_of_tcp_sack() {
    assert_eq!(verdict(&transfers(papers), pj5), Verdict::Reproduced);
    let no_gain = transfers(|cell, who, scheme| {
        let bent = who == Transport::Sctp && cell.losses == Losses::Wireless;
        if bent { 300.0 } else { papers(cell, who, scheme) }
    });
    assert_eq!(verdict(&no_gain, pj5), Verdict::NotReproduced);
    let opposite = transfers(|cell, who, scheme| {
        let bent = (cell, who, scheme) == (LTE_MIXED, Transport::Sctp, Proposed);
        papers(cell, who, scheme) * if bent { 0.5 } else { 1.0 }
    });
    assert_eq!(verdict(&opposite, pj5), Verdict::NotReproduced);
    let handover = |bend: fn(&mut Handover)| {
        let one = |key: &HandoverKey, run: &mut Handover| {
            if key.frto && key.transport == Transport::Sctp {
                bend(run);
            }
        };
        judge("", recognised(&handovers(one), Transport::Sctp)).verdict
    };
    assert_eq!(handover(|_| {}), Verdict::Reproduced);
    assert_eq!(handover(|run| run.recognised = 0), Verdict::NotReproduced);
}

#[test]
fn both_loss_models_are_judged_and_the_plain_one_decides() {
    let mut measured = transfers(papers);
    let plain: Vec<_> = measured.transfers.iter().map(|(key, run)| (*key, run.clone())).collect();
    for (key, run) in plain {
        let turned = if key.scheme == Proposed { 0.5 } else { 1.0 };
        let run = Transfer { delivered: (run.delivered as f64 * turned) as u64, ..run };
        measured.transfers.insert(TransferKey { air: Air::Recovering, ..key }, run);
    }
    let ledger = ledger(&texts(), &measured);
    let verdicts: Vec<Verdict> = ledger[0].judgements.iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(verdicts, [Verdict::Reproduced, Verdict::NotReproduced]);
    assert_eq!(ledger[0].verdict, Verdict::Reproduced);
}

fn texts() -> Texts {
    Texts::read(&super::super::TEXTS).unwrap()
}
