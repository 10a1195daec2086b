//! What the findings about the claims rest on: their checks and numbers.

use super::claims::{Runs, WELL_BEFORE, null_error, percentage, share_of_time, spans};
use crate::claims::{Check, Comparison, Effect, Test};
use crate::experiments::fu_atiquzzaman::grid::{Protocol, Sender};
use crate::experiments::fu_atiquzzaman::measure::Measured;
use crate::paper::Evidence;
use crate::stats::Mean;
use crate::words::interval;
use Protocol::{Sack, Sctp};
use Sender::{FallFloyd, FallFloydUnlimited, Rfc6675};

/// Maximum change of the time of the paper's sender by unlimited blocks for which the blocks do not matter.
const ALIKE: f64 = 0.05;

/// Returns the evidence of every finding.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Evidence> {
    vec![sender(measured), null_model(measured)]
}

/// Returns the finding about FA4: with the paper's sender TCP SACK takes longer than with RFC 6675, also with
/// unlimited blocks. SCTP still takes more than half of that time.
fn sender(measured: &Measured) -> Evidence {
    let of = |sender| spans(measured, Sack, sender);
    let (rfc, paper, unlimited) = (of(Rfc6675), of(FallFloyd), of(FallFloydUnlimited));
    let compared = |a: &Option<Vec<f64>>, b: &Option<Vec<f64>>| Comparison::of(a.as_ref()?, b.as_ref()?);
    let check = |want: &str, found: Option<Comparison>, test: fn(&Comparison) -> Test| match found {
        None => Check::missing(want, "not every run repaired the six"),
        Some(found) => {
            let text = format!("{} s", interval(&found.difference));
            let effect = Effect::new(&found.difference, "s", text.clone());
            Check::tested(want, text, test(&found), Some(effect))
        }
    };
    let longer = check("TCP SACK takes longer with the paper’s sender", compared(&paper, &rfc), |found| {
        Test::above(&found.difference, 0.0, 0.0)
    });
    let alike = check(
        "unlimited blocks change the time of the paper’s sender by less than a twentieth",
        compared(&unlimited, &paper),
        |found| Test::equivalent(&found.difference, ALIKE * found.base, 0.0),
    );
    let want = "SCTP takes more than half of the time of the paper’s sender";
    let half = share_of_time(measured, FallFloyd).map_or_else(
        || Check::missing(want, "not every run repaired the six"),
        |share| {
            let beyond = Mean { mean: share.mean - WELL_BEFORE, ..share };
            Check::tested(want, percentage(&share), Test::above(&beyond, 0.0, 0.0), None)
        },
    );
    let seconds = |times: Option<Vec<f64>>| {
        times
            .and_then(|times| Mean::of(&times))
            .map_or("–".to_owned(), |mean| format!("{:.2} s", mean.mean))
    };
    let share = |sender| share_of_time(measured, sender).map_or("–".to_owned(), |share| percentage(&share));
    let numbers = vec![
        ("sctp", seconds(spans(measured, Sctp, Rfc6675))),
        ("rfc", seconds(rfc)),
        ("paper", seconds(paper)),
        ("unlimited", seconds(unlimited)),
        ("rfc_share", share(Rfc6675)),
        ("paper_share", share(FallFloyd)),
    ];
    Evidence { claim: "FA4", checks: vec![longer, alike, half], numbers }
}

/// Returns the finding about FA6: in the paper, the protocols differ less from each other than msctp's cells
/// differ from the paper's.
fn null_model(measured: &Measured) -> Evidence {
    let want = "Table V predicts Tables VI and VII better than our cells do";
    let ours = Runs::new(measured).median_error(&[Sack, Sctp]);
    let check = match (null_error(), ours) {
        (Some(null), Some(ours)) => {
            let text = format!("{:.1} % against {:.1} %", null * 100.0, ours * 100.0);
            Check::new(want, text, null < ours)
        }
        _ => Check::missing(want, "not every cell was run"),
    };
    Evidence { claim: "FA6", checks: vec![check], numbers: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::fu_atiquzzaman::TEXTS;
    use crate::paper::Texts;

    #[test]
    fn every_finding_has_a_check_and_every_number_its_value() {
        let texts = Texts::read(&TEXTS).unwrap();
        let evidence = all(&Measured::default());
        for note in &texts.paper.findings {
            let own = evidence.iter().find(|own| own.claim == note.claim).expect("a finding without a check");
            assert!(!own.checks.is_empty(), "{}", note.claim);
            let filled = own.filled(&note.text);
            assert!(!filled.contains(['{', '}']), "{filled}");
        }
        assert_eq!(evidence.len(), texts.paper.findings.len());
    }
}
