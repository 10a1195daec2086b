//! Reasons why claims do not reproduce, from packets and series. Shown only beside such a verdict.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 2] = [
    Finding {
        id: "EK2",
        text: "Only the first five seconds differ. Against NewReno and over 40 runs the TCP flow delivers 3.4 % less there with 10 \
               and 20 MSS than with 3, and 5.2 % less with NR: a little more than the 5 % taken for no effect. It is what the \
               video gains. The link is full either way, and with NR the video delivers 1.06 Mbps in these seconds, with 3 MSS \
               0.65 (20 runs): a window that gives the video its share at once takes it from the flow that had it. While the \
               video is on as a whole the windows differ by 1.3 % at most. In a figure of five-second samples with intervals, \
               as the paper’s, the difference would hardly be seen.",
    },
    Finding {
        id: "EK6",
        text: "Losses there are, twelve in the first five seconds of one video, but most come too late to hide the start-up. With \
               3 MSS the window needs two to three tenths of a second to grow to what the video takes, and in 8 of 12 runs \
               looked into against NewReno the longest transfer is one of the first dozen messages, on average some 380 ms in \
               the first second. The first loss comes after 0.25 s at the earliest, in the median after 0.4 s. With NR no start-up \
               is seen: the longest transfers are those of later losses, some 200 ms. The queue stands between 120 and 225 \
               KB, and ten TCP flows that are not in step fill it only from time to time; the paper’s losses must have hit \
               the first messages themselves.",
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
