//! Texts of the report: the question, the set-up, values that the paper leaves open, terms of the verdicts.

use crate::report::SetUp;

/// The paper.
pub(super) const CITATION: &str = "S. Park and J.-W. Jang, “TCP Throughput Improvement over Vertical Handover between 3G \
     LTE and WLAN”.";

/// The question.
pub(super) const QUESTION: &str = "TCP treats every lost packet as a sign of congestion and halves its window. A radio link \
     loses packets for other reasons, and then halving is a mistake. Park and Jang let the sender judge each loss by the \
     round-trip time just before it: long, then a queue was full; short, then the radio lost it, and the window stays. A \
     handover that only delays acknowledgements is distinguished from a lost window by F-RTO. Below, TCP Reno, TCP SACK and an SCTP \
     path do this under the paper’s conditions. The simulator knows why it lost each packet, so each judgement is \
     compared with the truth: how often is it right, and what does an error cost?";

/// Explanations of the verdicts' terms.
pub(super) const TERMS: [(&str, &str); 6] = [
    (
        "Above, better",
        "The mean over the seeds of the paired differences is above zero, its 95 % confidence interval (Student’s t) does \
         not contain zero, and it is at least one segment of 1460 bytes. “At least”: not below in this sense. Paired: two \
         senders with the same seed meet the same random numbers on each link, one for each packet.",
    ),
    (
        "Precision, recall",
        "Precision: of the losses judged wireless, the share that were. Recall: of the judged wireless losses, the \
         share recognised. A loss is judged at its third duplicate acknowledgement, in congestion avoidance.",
    ),
    (
        "The truth",
        "A loss on the wire counts as congestion, because the paper’s random losses there stand for it; so does a packet that \
         finds a queue full, on any link. A loss on the air is the radio’s. The simulator records causes outside the protocol; \
         no byte on a link depends on them, except with the oracle.",
    ),
    (
        "Two models of the air",
        "“Losses on the air reach the transport” is what the paper simulated, and decides. “The link layer recovers” is what \
         its text describes: LTE with HARQ and RLC AM, WLAN with retries; the same shares are then lost of transport blocks \
         and frames, not of packets.",
    ),
    (
        "Spurious, needless",
        "A timeout is spurious when nothing had been lost. Slow start after it is needless.",
    ),
    ("Out of reach", "The runs do not suffice."),
];

/// The set-up.
pub(super) const SET_UP: [SetUp; 25] = [
    SetUp::stated("Wired network", "20 Mbps", "the same, see below for its delay"),
    SetUp::stated("LTE", "1 Mbps, 200 ms", "the same, both directions"),
    SetUp::stated("WLAN", "10 Mbps, 20 ms", "the same, both directions"),
    SetUp::stated("Congestion losses", "1 % uniform, wired part", "the same, towards the mobile"),
    SetUp::stated("Wireless losses", "5 % on LTE, 1 % on WLAN", "the same, towards the mobile"),
    SetUp::stated(
        "Mixed losses",
        "1 % in all, a fifth of it wireless",
        "0.8 % on the wire, 0.2 % on the air",
    ),
    SetUp::stated("Duration", "200 s", "the same"),
    SetUp::stated(
        "Senders",
        "TCP Reno, TCP SACK (ns-2)",
        "Reno (RFC 5681), SACK (RFC 6675); also SCTP (RFC 9260)",
    ),
    SetUp::stated(
        "The test of a loss",
        "(Tcur − Tavg)/Tdev > 2 (Tmin/Tcur)^k − 1: congestion",
        "the same in integers, asked at the third duplicate ACK or miss indication",
    ),
    SetUp::explained(
        "When it is asked",
        "“only in congestion avoidance phases”",
        "not in slow start, where a loss is congestion",
        "So the first loss of a transfer always cuts the window.",
    ),
    SetUp::stated(
        "LD recovery",
        "retransmit; one new packet for each of three duplicate ACKs; wait for a new ACK; keep the window",
        "the same",
    ),
    SetUp::explained(
        "LD recovery on SCTP",
        "–",
        "fast retransmit without the cut; new data as gap blocks make room (RFC 9260 §6.1)",
        "SCTP removes chunks acknowledged by gap blocks from the flight: the one-for-one rule holds already.",
    ),
    SetUp::stated(
        "Previous scheme",
        "answers one RTT after the first duplicate ACK",
        "the same, with SRTT, for both verdicts",
    ),
    SetUp::stated(
        "F-RTO",
        "two new ACKs: spurious, window kept",
        "RFC 5682 §2.1, also for T3-rtx; not in LD recovery",
    ),
    SetUp::stated(
        "After a spurious timeout",
        "Tmin = Tavg = RTT, Tdev = RTT/2 at the first new packet’s ACK",
        "the same",
    ),
    SetUp::open("k", "1, and 0.5 to 3 in a sweep", "The paper does not state it."),
    SetUp::open("Delay of the wired network", "10 ms", "Short compared with both radio links."),
    SetUp::open("Queues", "drop-tail, 50 packets, every link", "ns-2’s default; swept for WLAN."),
    SetUp::open(
        "Receive window",
        "1 MiB; 65,536 bytes at handovers and for PJ3",
        "The receive window must not limit the congestion window; \
         where no loss is allowed it fits the queue.",
    ),
    SetUp::open(
        "Timestamps, delayed ACKs",
        "none, each segment acknowledged",
        "As ns-2’s agents: one round trip timed at a time. \
         SCTP as RFC 9260: a SACK for two packets.",
    ),
    SetUp::open(
        "LTE link layer",
        "HARQ 4 attempts, RLC AM 4 retransmissions, PDUs of 1 ms",
        "3GPP’s usual values; the rest of the \
         200 ms lies before the radio link.",
    ),
    SetUp::open(
        "WLAN link layer",
        "stop and wait, 7 retries, airtime shared by both directions",
        "802.11’s; less than 10 Mbps is left \
         for data.",
    ),
    SetUp::open(
        "Handover",
        "the radio link is silent for 0.5 to 3 s, keeps its queue, then becomes the other network",
        "LTE forwards \
         undelivered packets in order. Nothing is lost, so that every timeout is spurious.",
    ),
    SetUp::open(
        "Seeds at handovers",
        "time 30 s + 137 ms × seed, silence 0.5 to 3 s in turn",
        "Some silences are shorter than the RTO \
         of at least one second.",
    ),
    SetUp::open(
        "Microscope",
        "RTT 200.9 ms, a packet every 10 ms, congestion window of 17 packets",
        "Fig. 2’s T20, with its unit of time 10 ms.",
    ),
];
