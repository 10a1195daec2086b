//! Reasons why claims do not reproduce, from packets and series. Shown only beside such a verdict.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 2] = [
    Finding {
        id: "AF1",
        text: "The timeout is there, but it is rare: 2 of 20 seeds (2 and 16), and none with the chunk. In both a packet is lost \
               on the Gi interface in the seconds around the change. The standard sender repairs it by fast retransmit at 603.3 s and \
               604.4 s, and T3-rtx expires exactly one RTO (7.44 s and 7.28 s) later: that RTO was learnt at CS2, and the 14 or 15 \
               packets in flight ahead of the chunk take 7 s and more at CS1. Without a loss at that moment a SACK about every \
               second restarts T3-rtx, and no RTO of 8 s expires. The paper shows one run, and does not say whether it was \
               repeated.",
    },
    Finding {
        id: "AF2",
        text: "Neither sender ever leaves the radio link idle, so that neither can be ahead for long. In seed 1 the window before the change \
               to CS1 is 22 kB; rate times least round trip is some 4 kB at CS2. The rest waits before the radio. A smaller window \
               makes that queue shorter (in seed 1, 20 s after the change to CS1, a round trip of 7.5 s instead of 10.3 s), but the link carries as much: 4.44 MB \
               in the whole run either way. A lead would need a standard sender that is stopped by timeouts, which the paper's is at least \
               once (AF1) and ours hardly is.",
    },
];

/// Returns the findings about claims that do not reproduce.
pub(super) fn about(ledger: &[Claim]) -> Vec<Finding> {
    let open = |claim: &Claim| claim.verdict == Verdict::NotReproduced;
    FINDINGS
        .into_iter()
        .filter(|finding| ledger.iter().any(|claim| claim.id == finding.id && open(claim)))
        .collect()
}
