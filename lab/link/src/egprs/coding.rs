//! [`CodingProcess`]: the times at which a radio link's coding scheme and block error rate change, and at
//! which the mobile changes cell. A table of instants, or a Markov chain with exponential holding times. The
//! caller applies the changes to its link.

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::CodingScheme;
use crate::loss::Probability;

/// Process of the radio conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodingChange {
    /// Channel coding.
    pub scheme: CodingScheme,
    /// Share of blocks lost.
    pub bler: Probability,
    /// True if the mobile changes to another cell, where the new conditions apply.
    pub handover: bool,
}

/// A row of a table, whose `change` applies from `at` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodingStep {
    /// Time of the change.
    pub at: Time,
    /// The change.
    pub change: CodingChange,
}

/// A state of a Markov chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingState {
    /// Channel coding in this state.
    pub scheme: CodingScheme,
    /// Share of blocks lost in this state.
    pub bler: Probability,
    /// Mean of the exponential time until the next transition.
    pub mean_holding: Span,
    /// Probability in millionths that each state is the next, in the order of the states. They add up to a
    /// million. The state itself may be among them, which prolongs it by another holding time. An empty list
    /// makes the state absorbing: its holding time ends with the handover.
    pub next_ppm: Vec<u32>,
}

/// A coding process by its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodingConfig {
    /// These changes, in order of time.
    Table(Vec<CodingStep>),
    /// A chain that begins in its first state at time zero.
    Markov {
        /// The states.
        states: Vec<CodingState>,
        /// Conditions in the new cell, after the absorbing state; `None` ends the process in that state
        /// without a handover.
        new_cell: Option<(CodingScheme, Probability)>,
    },
}

/// Errors of a coding process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCoding {
    /// The table has no row, or the chain has no state.
    #[error("the coding process is empty: want at least one entry")]
    Empty,
    /// A row of the table is earlier than the one above it.
    #[error("entry {row} of the table is at {at} s, before the entry above it; want ascending times")]
    NotInOrder {
        /// Number of the row, from 1.
        row: usize,
        /// Time of the row.
        at: Time,
    },
    /// A state of the chain has no holding time, so that the chain could change endlessly at one instant.
    #[error("the mean holding time of {scheme} is 0s: want more than 0s")]
    NoHolding {
        /// The state.
        scheme: CodingScheme,
    },
    /// A state's probabilities.
    #[error(
        "the {count} probabilities from {scheme} add up to {sum} millionths: want {want} that add up to 1000000, or none"
    )]
    Probabilities {
        /// The state.
        scheme: CodingScheme,
        /// Number of probabilities given.
        count: usize,
        /// Sum of the probabilities.
        sum: u64,
        /// Number of states, with one probability each.
        want: usize,
    },
}

impl CodingConfig {
    /// Returns the deterministic run of Afif, Martins, Tabbane, Godlewski, table 1: CS4 to CS1 in 600 s, a
    /// handover at 700 s.
    pub fn afif_table() -> Self {
        let row = |s, scheme, ppm, handover| CodingStep {
            at: Time::ZERO + Span::from_secs(s),
            change: CodingChange { scheme, bler: Probability::from_ppm(ppm), handover },
        };
        Self::Table(vec![
            row(0, CodingScheme::Cs4, 10_000, false),
            row(200, CodingScheme::Cs3, 15_000, false),
            row(400, CodingScheme::Cs2, 100_000, false),
            row(600, CodingScheme::Cs1, 150_000, false),
            row(700, CodingScheme::Cs3, 15_000, true),
        ])
    }

    /// Returns the random run of the same paper (§III): from CS4 the quality only degrades; CS1 is absorbing
    /// and leads to the handover. The paper's P₂₁, P₃₁, … are read with state n = CSn. Under this reading the
    /// chain degrades and CS1 is absorbing. The block error rates are those of table 1.
    pub fn afif_markov() -> Self {
        let state = |scheme, ppm, mean_s, next: &[u32]| CodingState {
            scheme,
            bler: Probability::from_ppm(ppm),
            mean_holding: Span::from_secs(mean_s),
            next_ppm: next.to_vec(),
        };
        Self::Markov {
            // next: CS4, CS3, CS2, CS1
            states: vec![
                state(CodingScheme::Cs4, 10_000, 200, &[200_000, 400_000, 300_000, 100_000]),
                state(CodingScheme::Cs3, 15_000, 400, &[0, 300_000, 500_000, 200_000]),
                state(CodingScheme::Cs2, 100_000, 600, &[0, 0, 600_000, 400_000]),
                state(CodingScheme::Cs1, 150_000, 800, &[]),
            ],
            new_cell: Some((CodingScheme::Cs3, Probability::from_ppm(15_000))),
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`InvalidCoding`] for the first invalid parameter.
    pub fn check(&self) -> Result<(), InvalidCoding> {
        match self {
            Self::Table(steps) => {
                if steps.is_empty() {
                    return Err(InvalidCoding::Empty);
                }
                match (1..steps.len()).find(|&row| steps[row].at < steps[row - 1].at) {
                    Some(row) => Err(InvalidCoding::NotInOrder { row: row + 1, at: steps[row].at }),
                    None => Ok(()),
                }
            }
            Self::Markov { states, .. } => {
                if states.is_empty() {
                    return Err(InvalidCoding::Empty);
                }
                if let Some(state) = states.iter().find(|state| state.mean_holding.is_zero()) {
                    return Err(InvalidCoding::NoHolding { scheme: state.scheme });
                }
                for state in states.iter().filter(|state| !state.next_ppm.is_empty()) {
                    let (count, want) = (state.next_ppm.len(), states.len());
                    let sum = state.next_ppm.iter().map(|&ppm| u64::from(ppm)).sum();
                    if count != want || sum != 1_000_000 {
                        return Err(InvalidCoding::Probabilities { scheme: state.scheme, count, sum, want });
                    }
                }
                Ok(())
            }
        }
    }
}

/// A running coding process. Its first change, at time zero or in the table's first row, gives the link's
/// initial state.
///
/// A chain's holding times are −mean · ln(u) with u = (n + 1) · 2⁻⁵³, n uniform over 53 bits, and `ln` from
/// the `libm` crate: plain IEEE 754 operations in a fixed order give the same result on every machine. Times
/// are rounded to whole nanoseconds. Transitions compare integers.
#[derive(Clone, Debug)]
pub struct CodingProcess {
    config: CodingConfig,
    rng: ChaCha8Rng,
    /// The next row or state.
    next: Next,
    at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Row of the table, or state of the chain.
    Entry(usize),
    NewCell,
}

impl CodingProcess {
    /// Creates the process, which draws from a stream seeded with `seed`.
    ///
    /// # Errors
    /// [`InvalidCoding`] if a parameter is invalid.
    pub fn new(config: CodingConfig, seed: [u8; 32]) -> Result<Self, InvalidCoding> {
        config.check()?;
        let at = match &config {
            CodingConfig::Table(steps) => steps.first().map(|step| step.at),
            CodingConfig::Markov { .. } => Some(Time::ZERO),
        };
        Ok(Self { config, rng: ChaCha8Rng::from_seed(seed), next: Next::Entry(0), at })
    }

    /// Returns when something changes next; `None` if nothing will.
    pub fn next_change(&self) -> Option<Time> {
        self.at
    }

    /// Returns the next change, if it is due by `now`. Call it until it returns `None`: the last change
    /// applies.
    pub fn change(&mut self, now: Time) -> Option<CodingChange> {
        let at = self.at.filter(|&at| at <= now)?;
        match (&self.config, self.next) {
            (CodingConfig::Table(steps), Next::Entry(row)) => {
                let change = steps[row].change;
                self.next = Next::Entry(row + 1);
                self.at = steps.get(row + 1).map(|step| step.at);
                Some(change)
            }
            (CodingConfig::Markov { states, new_cell }, Next::Entry(index)) => {
                let state = &states[index];
                let change = CodingChange { scheme: state.scheme, bler: state.bler, handover: false };
                (self.at, self.next) = leave(&mut self.rng, states, index, new_cell.is_some(), at);
                Some(change)
            }
            (CodingConfig::Markov { new_cell, .. }, Next::NewCell) => {
                self.at = None;
                new_cell.map(|(scheme, bler)| CodingChange { scheme, bler, handover: true })
            }
            (CodingConfig::Table(_), Next::NewCell) => None,
        }
    }
}

/// Returns the time at which a chain that enters state `index` at `at` leaves it, and the next state.
fn leave(
    rng: &mut ChaCha8Rng,
    states: &[CodingState],
    index: usize,
    has_new_cell: bool,
    mut at: Time,
) -> (Option<Time>, Next) {
    let state = &states[index];
    let stays_for_good = |next: &[u32]| next.get(index) == Some(&1_000_000);
    if stays_for_good(&state.next_ppm) || (state.next_ppm.is_empty() && !has_new_cell) {
        return (None, Next::NewCell);
    }
    loop {
        at += exponential(rng, state.mean_holding);
        if state.next_ppm.is_empty() {
            return (Some(at), Next::NewCell);
        }
        let mut draw = (u128::from(rng.next_u64()) * 1_000_000) >> 64;
        for (next, &ppm) in state.next_ppm.iter().enumerate() {
            if draw < u128::from(ppm) {
                if next != index {
                    return (Some(at), Next::Entry(next));
                }
                break;
            }
            draw -= u128::from(ppm);
        }
    }
}

/// Returns an exponentially distributed span. One draw.
fn exponential(rng: &mut ChaCha8Rng, mean: Span) -> Span {
    // 53 bits fit a double exactly, and u is never 0.
    let u = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let ns = mean.as_nanos() as f64 * -libm::log(u);
    Span::from_nanos((ns + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(config: CodingConfig, seed: u8) -> CodingProcess {
        CodingProcess::new(config, [seed; 32]).unwrap()
    }

    fn run(process: &mut CodingProcess) -> Vec<(Time, CodingChange)> {
        core::iter::from_fn(|| process.next_change().and_then(|at| Some((at, process.change(at)?)))).collect()
    }

    #[test]
    fn the_table_sets_scheme_and_bler_at_its_times() {
        let mut table = process(CodingConfig::afif_table(), 0);
        assert_eq!(table.next_change(), Some(Time::ZERO));
        let changes = run(&mut table);
        let seconds: Vec<f64> = changes.iter().map(|(at, _)| at.as_secs_f64()).collect();
        assert_eq!(seconds, [0.0, 200.0, 400.0, 600.0, 700.0]);
        assert!(changes.iter().map(|(_, change)| change.handover).eq([false, false, false, false, true]));
        let last = changes[4].1;
        assert_eq!((last.scheme, last.bler), (CodingScheme::Cs3, Probability::from_ppm(15_000)));
        assert_eq!((table.next_change(), table.change(Time::MAX)), (None, None));
        let mut table = process(CodingConfig::afif_table(), 0);
        assert!(
            table.change(Time::ZERO).is_some() && table.change(Time::ZERO).is_none(),
            "not before it is due"
        );
    }

    #[test]
    fn the_chain_only_degrades_and_ends_with_the_handover() {
        for seed in 0..100 {
            let changes = run(&mut process(CodingConfig::afif_markov(), seed));
            assert_eq!((changes[0].0, changes[0].1.scheme), (Time::ZERO, CodingScheme::Cs4));
            let (handover, before) = changes.split_last().unwrap();
            assert!(handover.1.handover && handover.1.scheme == CodingScheme::Cs3);
            assert!(before.windows(2).all(|two| two[1].1.scheme < two[0].1.scheme && two[0].0 < two[1].0));
            assert_eq!(before.last().unwrap().1.scheme, CodingScheme::Cs1);
        }
    }

    /// Over many runs, the time in CS4 has the mean 200 s / (1 − 0.2), as a geometric number of holding
    /// times. The first scheme after it is CS3, CS2, CS1 in the proportion 4 : 3 : 1. CS1 lasts 800 s.
    #[test]
    fn holding_times_and_transitions_have_their_means() {
        let runs = 4000u32;
        let (mut first, mut last, mut squared, mut to) = (0.0, 0.0, 0.0, [0u32; 4]);
        for n in 0..runs {
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&n.to_le_bytes());
            let changes = run(&mut CodingProcess::new(CodingConfig::afif_markov(), seed).unwrap());
            let [.., cs1, handover] = &changes[..] else { panic!("too short") };
            first += changes[1].0.as_secs_f64();
            let held = handover.0.since(cs1.0).as_secs_f64();
            last += held;
            squared += held * held;
            to[changes[1].1.scheme as usize] += 1;
        }
        let mean = |sum: f64| sum / f64::from(runs);
        // an exponential's deviation is its mean: four standard errors
        let tolerance = 4.0 / f64::from(runs).sqrt();
        assert!((mean(first) / 250.0 - 1.0).abs() < tolerance, "{}", mean(first));
        assert!((mean(last) / 800.0 - 1.0).abs() < tolerance, "{}", mean(last));
        // E[x²] = 2·mean²
        assert!(
            (mean(squared) / (2.0 * 800.0 * 800.0) - 1.0).abs() < 4.0 * 5f64.sqrt() / f64::from(runs).sqrt()
        );
        for (scheme, share) in [(2, 0.5), (1, 0.375), (0, 0.125)] {
            assert!((f64::from(to[scheme]) / f64::from(runs) - share).abs() < 0.032, "{to:?}");
        }
    }

    /// The history is pinned to the nanosecond, so that a machine or a version with other results is
    /// detected.
    #[test]
    fn one_seed_one_history_on_every_machine() {
        let history: Vec<(u64, &str)> = run(&mut process(CodingConfig::afif_markov(), 7))
            .into_iter()
            .map(|(at, change)| (at.as_nanos(), change.scheme.name()))
            .collect();
        let expected =
            [(0, "CS4"), (300_004_415_457, "CS2"), (1_831_608_043_317, "CS1"), (2_954_964_352_215, "CS3")];
        assert_eq!(history, expected);
    }

    #[test]
    fn invalid_coding_processes_are_rejected() {
        let steps = |config| match config {
            CodingConfig::Table(steps) => steps,
            CodingConfig::Markov { .. } => unreachable!("a table"),
        };
        let mut swapped = steps(CodingConfig::afif_table());
        swapped.swap(1, 2);
        let error = CodingConfig::Table(swapped).check().unwrap_err();
        assert_eq!(error, InvalidCoding::NotInOrder { row: 3, at: Time::ZERO + Span::from_secs(200) });
        assert_eq!(CodingConfig::Table(Vec::new()).check(), Err(InvalidCoding::Empty));
        let CodingConfig::Markov { mut states, new_cell } = CodingConfig::afif_markov() else {
            unreachable!()
        };
        states[1].next_ppm = vec![0, 300_000, 500_000];
        let error = CodingConfig::Markov { states, new_cell }.check().unwrap_err();
        assert!(error.to_string().contains("the 3 probabilities from CS3 add up to 800000"), "{error}");
        let CodingConfig::Markov { mut states, new_cell } = CodingConfig::afif_markov() else {
            unreachable!()
        };
        states[2].mean_holding = Span::ZERO;
        let error = CodingConfig::Markov { states, new_cell }.check().unwrap_err();
        assert_eq!(error, InvalidCoding::NoHolding { scheme: CodingScheme::Cs2 });
        let alone = CodingState {
            scheme: CodingScheme::Cs2,
            bler: Probability::ZERO,
            mean_holding: Span::from_secs(1),
            next_ppm: vec![1_000_000],
        };
        let config = CodingConfig::Markov { states: vec![alone], new_cell: None };
        assert_eq!(run(&mut process(config, 0)).len(), 1, "it stays for good");
    }
}
