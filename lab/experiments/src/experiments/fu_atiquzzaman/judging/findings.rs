//! Reasons why claims do not reproduce, or only narrowly, from packets and series. Shown only beside such a
//! verdict.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

/// The claim with a narrow verdict, whose finding is shown beside either verdict.
const NARROW: &str = "FA3";

const FINDINGS: [Finding; 4] = [
    Finding {
        id: "FA2",
        text: "Over w throughput saturates as the paper says: beyond 500 kbps the wires behind the agents and 20 segments in a \
               round trip of 0.8 s end the growth. Over r the two TCPs still grow a little too fast beyond 1000 kbps. The \
               wireless rate acts through the losses here, not as a bottleneck: bad periods come in time and not by the packet, \
               a segment is on the air for 8 ms at 1000 and for 4 ms at 2000 kbps, and with w of 500 and more 1.4 and 0.9 % of \
               Reno’s segments are lost. A window that losses limit goes on growing as they fall.",
    },
    Finding {
        id: NARROW,
        text: "The gain falls with r as the paper says, but over TCP SACK it depends on w nearly as much as on r, so that chance \
               can turn the verdict: with 20 seeds the spread is 7.6 points with r and 6.9 with w, in an earlier version it was 7.4 \
               and 7.6. Bad periods come by time, and a few bytes less in SCTP’s set-up (--set sctp.sctp.reconfiguration=off) \
               give most runs other losses. With 40 seeds it is 8.2 and 7.1 (--seeds 40). Behind 28.8 \
               and 54 kbps the slow wire is busy whatever the recovery does, so that all protocols deliver about what it \
               carries and the gain is small in these rows. In the paper’s tables the slow rows keep their gains, and the fast \
               columns have none over TCP SACK, where ours keeps some 15 %: in our runs with w of 500 and more SCTP repairs by \
               fast retransmit what TCP leaves to the timer (at r = 150 36 fast retransmits and 12 timeouts in a run against 15 \
               and 28). The paper’s cells seem to be single runs: its largest gain, 107 % at w = r = 200, stands beside 2 % at \
               w = 500.",
    },
    Finding {
        id: "FA4",
        text: "Three blocks are enough for TCP’s sender, because its scoreboard persists. The most recent block comes first and earlier ones are \
               repeated (RFC 2018 §4), so that over a dozen duplicate acknowledgments each of the five blocks is reported; the \
               scoreboard of RFC 6675 keeps them all. TCP SACK and SCTP retransmit the six in the same two seconds, packet for \
               packet. SCTP’s own sender would suffer: by RFC 9260 §6.2.1 a chunk that a SACK no longer reports is outstanding again, and reports \
               begin with the lowest, so that what lies beyond the last block counts as outstanding. The sweep below shows it: TCP does \
               not depend on the number of blocks at all, SCTP delivers less with three or fewer. What the paper saw of TCP, a flight \
               size that stops falling after three blocks, needs a sender without a scoreboard. Reno’s timeout is there.",
    },
    Finding {
        id: "FA5",
        text: "The timeouts are there, and behind 28.8 kbps the RTO is as large as the paper says (8 s, against 3 s behind fast \
               links) and as long as the handover (8.5 s). Of Reno’s handovers that are shorter than its RTO there all but one \
               time out as well. On the last hundred metres of the cell, ten seconds before the handover, segments and repairs \
               are lost one after the other, and the window falls to 4 segments in the mean (10 before; r = 384). Then there \
               are seldom enough segments behind a loss for three duplicates, and nothing is left but the timer. In the paper’s \
               Figs 3 and 6 the window is full when the handover begins: its channel is good up to the end of the cell, ours \
               fades towards it.",
    },
];

/// Returns the findings about claims that do not reproduce, or only narrowly.
pub(in crate::experiments::fu_atiquzzaman) fn about(ledger: &[Claim]) -> Vec<Finding> {
    let open = |claim: &Claim| claim.verdict == Verdict::NotReproduced || claim.id == NARROW;
    FINDINGS
        .into_iter()
        .filter(|finding| ledger.iter().any(|claim| claim.id == finding.id && open(claim)))
        .collect()
}
