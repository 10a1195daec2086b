//! Texts of the report: the question, the set-up, values that the paper leaves open, terms of the verdicts.

use crate::report::SetUp;

/// The paper.
pub(super) const CITATION: &str = "D. P. Kim and S. J. Koh, “Adaptive Congestion Control of mSCTP for Vertical Handover \
     Based on Bandwidth Estimation in Heterogeneous Wireless Networks”, Wireless Personal Communications, 2009.";

/// The question.
pub(super) const QUESTION: &str = "A mobile downloads a file and changes its network in the middle of it, from 3G to WLAN or back. With mobile SCTP the \
     transfer goes on over the new path, but with which congestion window? Plain mSCTP starts over with one packet, C-SCTP \
     keeps the old path’s window, and Kim and Koh propose to measure the new path before the switch and to start with what \
     the estimate allows. Is theirs better, and when? Below, all three run on one SCTP implementation under the paper’s \
     conditions, and each of the paper’s claims is compared with the measurements.";

/// Explanations of the verdicts' terms.
pub(super) const TERMS: [(&str, &str); 6] = [
    (
        "Above, higher, better",
        "The mean over the seeds of the paired differences is above zero, its 95 % confidence interval (Student’s t) does \
         not contain zero, and it is at least one message of 1452 bytes. Paired: two schemes with the same seed see the same \
         background, packet for packet. Over a range of loads: so in the mean over the loads, and at none below.",
    ),
    ("Best", "Above at least one of the others and below none."),
    (
        "Almost identical, nearly the same, similar",
        "Means within 2 %, 5 % and 10 %: indistinguishable in a printed figure; distinguishable, but less than anything \
         the paper calls better; the scatter of ten runs on a highly loaded link.",
    ),
    (
        "Throughput",
        "User data delivered to the mobile from the switch at 30 s to the end at 60 s. The first 30 s are the same for all \
         schemes; towards 3G they carry nearly all bytes and would hide any difference.",
    ),
    (
        "Which window decides",
        "The verdict holds for a receive window of 65,536 bytes, ns-2’s default. The paper does not state its window; \
         the same claims are judged under 1 MiB too.",
    ),
    ("Out of reach", "The runs do not suffice, for instance because the loads in question were left out."),
];

/// The set-up.
pub(super) const SET_UP: [SetUp; 30] = [
    SetUp::stated("Correspondent to access routers", "100 Mbps, 15 ms", "the same, one wire to each"),
    SetUp::stated("3G link", "384 kbps, 100 ms", "the same, both directions"),
    SetUp::stated("WLAN link", "11 Mbps, 20 ms", "the same, both directions"),
    SetUp::stated("MTU", "1500 bytes", "the same; messages of 1452 bytes fill it"),
    SetUp::stated("Traffic", "file transfer from correspondent to mobile", "the same, without end"),
    SetUp::stated("Primary switch", "30 s of 60 s", "the mobile requests it (ASCONF Set Primary) at 30 s"),
    SetUp::stated(
        "Conservative scheme (mSCTP)",
        "initial window 1 MTU",
        "the same, instead of RFC 9260’s 4380 bytes",
    ),
    SetUp::stated("Aggressive scheme (C-SCTP)", "window of the old path, no bicasting", "the same"),
    SetUp::stated("Adaptive scheme", "min(cwnd old, C · RTTmin) · B / C", "the same, at least 1 MTU"),
    SetUp::explained(
        "Slow-start threshold at the switch",
        "B · RTTmin / 2L packets, for all schemes",
        "B · RTTmin / 2 bytes, for all schemes",
        "All three probe the new path, which costs them the same.",
    ),
    SetUp::stated("Probes", "HEARTBEAT of 700 bytes, ACK of 40", "the same sizes on the wire, see below"),
    SetUp::stated("Pairs n and train m", "6 and 30 to WLAN, 4 and 12 to 3G", "the same"),
    SetUp::stated("Smoothing α, B(0)", "0.7, the capacity of the new link", "the same"),
    SetUp::explained(
        "Background",
        "UDP at constant rate, 0 to 90 % of the target link",
        "the same, to the mobile, from a separate node behind 100 Mbps and 15 ms",
        "All through the run.",
    ),
    SetUp::stated(
        "Estimation test (Fig. 5)",
        "three UDP sources of 2 Mbps or 100 kbps, on and off",
        "the same",
    ),
    SetUp::stated(
        "Repetitions",
        "10 runs, their mean",
        "10 seeds (or as said above), mean and 95 % interval",
    ),
    SetUp::open("Queues", "drop-tail, 50 packets, every link", "ns-2’s default; the paper used ns-2"),
    SetUp::open(
        "Receive window, initial threshold",
        "65,536 bytes both (decides); 1 MiB both (also judged)",
        "ns-2’s default. It caps a path of 70 ms at 7.5 Mbps, so that the WLAN is never full without background; \
         hence the second set.",
    ),
    SetUp::open(
        "Add-IP",
        "at 20 s",
        "Leaves the estimator ten seconds: some 20 iterations to WLAN, 6 to 3G.",
    ),
    SetUp::open(
        "Delete-IP",
        "at 40 s",
        "Ten seconds after the switch: later than anything queued on the old path (1.6 s for a full queue at 384 kbps) or \
         timing out there, so that the deletion itself costs nothing.",
    ),
    SetUp::open(
        "Link-up and link-down",
        "both links stay up",
        "The paper’s mobile has both networks during the handover.",
    ),
    SetUp::open(
        "Background packets",
        "1000 bytes on the wire",
        "As in the ns-2 cases that validate this simulator.",
    ),
    SetUp::open(
        "Background phase",
        "random start, each interval times U(0.5, 1.5)",
        "“Irregularly”, said of Fig. 5. A strictly periodic source would keep in step with the probes.",
    ),
    SetUp::open(
        "Max.Burst (RFC 9260 §6.1 D)",
        "no limit",
        "ns-2’s SCTP limits bursts after a fast retransmit only. With a limit of 4 packets the schemes could not send the \
         compared windows.",
    ),
    SetUp::open(
        "How a 700-byte HEARTBEAT has a 40-byte ACK",
        "a small HEARTBEAT bundled with a PAD chunk (RFC 4820)",
        "The receiver echoes the HEARTBEAT’s information, not the padding.",
    ),
    SetUp::open("B when R < C/2", "0, and the window then 1 MTU", "2 − C/R would be negative."),
    SetUp::open(
        "Pairs that are disturbed",
        "left to the median",
        "As WBest; a pair counts if both ACKs came in order.",
    ),
    SetUp::open(
        "Where retransmissions go",
        "after a timeout to the other active path, else where the data went",
        "RFC 9260 §6.4. ns-2 sends fast retransmissions to the other path too.",
    ),
    SetUp::open(
        "Timers, delayed SACK",
        "RFC 9260: RTO 1 s at first and at least, SACK after 2 packets or 200 ms",
        "The paper names RFC 4960; ns-2’s first RTO is 3 s.",
    ),
    SetUp::open(
        "Window counting",
        "bytes of DATA chunks; at most 1468 to a packet",
        "RFC 9260 §7.2: 1 MTU of window is one full DATA chunk.",
    ),
];
