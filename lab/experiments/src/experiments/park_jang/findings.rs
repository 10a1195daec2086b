//! Reasons why claims do not reproduce, from packets and series. Shown only beside such a verdict.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 2] = [
    Finding {
        id: "PJ4",
        text: "Every timeout but those of one handover is recognised: from WLAN to LTE with 3 s of silence (seed 6). In it the \
               timer expires twice, after one second and, backed off, two seconds later. RFC 5682 §2.1 (1) does not look \
               into a timeout while an earlier one is being repaired, and the paper says nothing of a second one: slow start. \
               From LTE to WLAN the same silence holds one expiration, because acknowledgements on their way go on \
               arriving for 0.4 s. So it is the silence in units of the RTO that decides, not the networks.",
    },
    Finding {
        id: "PJ5",
        text: "On the air without recovery every part on throughput holds; what fails is the handover with two expirations of \
               T3-rtx in one silence, for the reason given at PJ4. Behind HARQ and RLC AM, and behind a WLAN’s retries, the air \
               takes nothing from the transport. What is lost is lost in the queue, SCTP’s test says so, and LD changes next to \
               nothing. TCP SACK, which times one round trip at a time, falls behind there on WLAN: after an LD recovery it \
               sends a burst, the queue overflows again, and the loss is judged by a round trip timed before the burst (seed \
               1: 966 of 971 verdicts wrong, 2.6 Mbps). With timestamps (--set tcp-profile.sender.timestamps=true --set \
               tcp-profile.receiver.timestamps=true) 16 of 40 are wrong and it has 4.0 Mbps, the standard’s.",
    },
];

/// Returns the findings about claims that do not reproduce under some set of conditions.
pub(super) fn about(ledger: &[Claim]) -> Vec<Finding> {
    let open =
        |claim: &Claim| claim.judgements.iter().any(|judgement| judgement.verdict == Verdict::NotReproduced);
    FINDINGS
        .into_iter()
        .filter(|finding| ledger.iter().any(|claim| claim.id == finding.id && open(claim)))
        .collect()
}
