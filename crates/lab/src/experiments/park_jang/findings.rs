//! Why claims do not reproduce, as far as packets and series tell. Shown only beside a verdict that needs it.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 0] = [];

/// The findings about those of `ledger` that some set of conditions does not reproduce.
pub(super) fn about(ledger: &[Claim]) -> Vec<Finding> {
    let open =
        |claim: &Claim| claim.judgements.iter().any(|judgement| judgement.verdict == Verdict::NotReproduced);
    FINDINGS
        .into_iter()
        .filter(|finding| ledger.iter().any(|claim| claim.id == finding.id && open(claim)))
        .collect()
}
