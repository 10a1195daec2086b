//! Why claims do not reproduce, as far as packets and series tell. Shown only beside a verdict that needs it.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 4] = [
    Finding {
        id: "FA2",
        text: "Over w throughput saturates as the paper says: the wires behind the agents (500 kbps) and 20 segments in 0.8 s end the \
               growth. Over r Reno is not there yet at 1000 kbps. A segment is on the air for 8 ms then, for 4 ms at 2000: bad \
               periods, which come in time and not by the packet, hit it half as often, and a window that losses limit grows with \
               the root of that. The wireless rate acts through the losses, not as a bottleneck, and that goes on beyond 1000 kbps.",
    },
    Finding {
        id: "FA3",
        text: "The gain is largest where r is small, but the wired rate has its say: behind 28.8 and 54 kbps the slow wire is busy \
               whatever the recovery does, so that all three protocols deliver about what it carries, and the gain falls in these \
               rows too. In the paper’s tables the two slow rows keep their gains. A cell of the paper seems to be one run; its \
               largest gain, 107 % over TCP SACK at w = r = 200, stands beside 2 % at w = 500.",
    },
    Finding {
        id: "FA4",
        text: "Three blocks are enough for TCP’s sender, because it remembers. The most recent block comes first and earlier ones are \
               repeated (RFC 2018 §4), so that over a dozen duplicate acknowledgments each of the five blocks is reported; the \
               scoreboard of RFC 6675 keeps them all. TCP SACK and SCTP send the six again in the same two seconds, packet for \
               packet. SCTP’s own sender would suffer: RFC 9260 §6.2.1 takes a chunk back that a SACK no longer reports, and reports \
               begin with the lowest, so that what lies beyond the last block counts as outstanding. The sweep below shows it: TCP does \
               not depend on the number of blocks at all, SCTP delivers less with three or fewer. What the paper saw of TCP, a flight \
               size that stops falling after three blocks, needs a sender that forgets. Reno’s timeout is there.",
    },
    Finding {
        id: "FA5",
        text: "The timeouts behind fast links are there, and the RTO behind 28.8 kbps is as large as the paper says: 7 s, twice the \
               handover. It times out all the same. On the last hundred metres of the cell, ten seconds before the handover, segments \
               and repairs are lost one after the other, and the window falls to one to four segments (6 to 21 before). Then there \
               are not enough segments behind a loss for three duplicates, and nothing is left but the timer. In the paper’s \
               Figs 3 and 6 the window is full when the handover begins: its channel is good up to the end of the cell, ours \
               fades towards it, as Rayleigh’s law and the receive power have it.",
    },
];

/// The findings about those of `ledger` that are not reproduced.
pub(in crate::experiments::fu_atiquzzaman) fn about(ledger: &[Claim]) -> Vec<Finding> {
    let open = |claim: &Claim| claim.verdict == Verdict::NotReproduced;
    FINDINGS
        .into_iter()
        .filter(|finding| ledger.iter().any(|claim| claim.id == finding.id && open(claim)))
        .collect()
}
