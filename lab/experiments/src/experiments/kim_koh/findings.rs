//! Reasons why claims do not reproduce, from packets and series. Shown only beside such a verdict.

use crate::claims::{Claim, Verdict};
use crate::report::Finding;

const FINDINGS: [Finding; 7] = [
    Finding {
        id: "KK1",
        text: "The estimate has no bias to speak of, in either direction. The paper explains its own shortfall by lost \
               probes, for which B is multiplied by 1 − p. Here not one probe is lost on either link: at rate C beside \
               the background, a train of 30 probes (12 to 3G) does not fill a queue of 50. And without \
               loss C·(2 − C/R) is exact for a background that does not yield: the train leaves the link at \
               R = C²/(C + X), so that B = C − X. The median of the pairs is the capacity to the last bit throughout. \
               The shortfall would need a queue shorter than a train, or a background in bursts.",
    },
    Finding {
        id: "KK2",
        text: "Under 1 MiB the old path’s window at the switch is 85,878 bytes: 58 packets, more than a queue of 50 holds. \
               C-SCTP and adaptive (B = C, so that it starts with the same window) send them in one burst; the first \
               queue on the way, that of the 100 Mbps wire, drops 8, and 0.15 s after the switch a fast retransmit halves \
               the window. mSCTP rises through slow start without a loss and passes both. Under 65,536 bytes the window \
               is 46 packets, fits, and the claim holds. With Max.Burst 4 (--set sctp.cn.max_burst=4) there is no such \
               loss, but the throughputs then do not differ significantly.",
    },
    Finding {
        id: "KK4",
        text: "The collapse is there, and C-SCTP has the least throughput in the mean; but of its two distances under each \
               receive window only one is larger than its interval. What a handover can gain or lose is about one \
               window: 67 kB of the 7.3 MB delivered in the 30 s, or 1 %. After some five seconds all three schemes are in \
               congestion avoidance from the same threshold, and the losses of the loaded queue decide about the other \
               25: they scatter the paired differences by several percent from seed to seed. A mean of ten runs without \
               an interval, which is what the paper shows, puts one of the three last by chance.",
    },
    Finding {
        id: "KK5",
        text: "Up to 40 % the order is the paper’s under 65,536 bytes; beyond 45 % the advantage over C-SCTP is missing for \
               the reason given at KK4: a window’s worth of difference under the scatter of 25 s of congestion avoidance. \
               Under 1 MiB C-SCTP and adaptive are below mSCTP without background because of the burst described at KK2.",
    },
    Finding {
        id: "KK6",
        text: "A timeout needs a silence of RTO, at least one second. C-SCTP’s window under 65,536 bytes is 46 packets: on \
               the 3G link they wait up to 1.4 s, but in a queue of 50 none is lost, and an acknowledgement every 62 ms \
               restarts T3-rtx, so that the window never falls. Under 1 MiB the queue overflows; the loss shows when the \
               packets before it have drained, 1.9 s after the switch, which is the paper’s time, but those behind it \
               report it three times and it is repaired by fast retransmit. The paper’s timeout would follow from a \
               shorter queue, which loses most of the window, or from an RTO without the minimum of a second.",
    },
    Finding {
        id: "KK8",
        text: "C-SCTP is ahead of both, for two reasons that the packets show. Its burst of 46 packets takes the places of \
               the 3G link’s queue, and a background that never yields loses the packets that find none: C-SCTP gains most \
               of a window in the first seven seconds and nothing later. And when it does time out, what was outstanding is \
               retransmitted over the other path (RFC 9260 §6.4), the idle WLAN, which stays up until the old address is \
               deleted. Kept on the 3G path (--set sctp.cn.retransmission_path=same) its lead shrinks to about half and \
               does not turn round.",
    },
    Finding {
        id: "KK9",
        text: "Adaptive is above mSCTP up to 70 % as the paper says. It is not above C-SCTP, which the paper has below: the \
               burst into a queue that holds it, and what timed out and went over the WLAN gain C-SCTP about a window (see KK8), \
               and with the load that window becomes a growing share of the little the 3G link still delivers.",
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
