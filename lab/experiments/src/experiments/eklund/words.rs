//! Texts of the report: the question, the set-up, values that the paper leaves open, terms of the verdicts.

use crate::report::SetUp;

/// The paper.
pub(super) const CITATION: &str = "J. Eklund, K.-J. Grinnemo and A. Brunstrom, “Implications of using a Large Initial \
     Congestion Window to Improve mSCTP Handover Delay”, 2012.";

/// The question.
pub(super) const QUESTION: &str = "A live video is sent to a mobile that changes its network. After the handover the sender starts over with a small \
     congestion window on the new path, and until it has grown, messages, generated 30 times a second, wait at \
     the sender. Eklund, Grinnemo and Brunstrom start with a larger window instead: 10 or 20 packets rather than 3. Do the \
     messages arrive sooner, and what does it cost the TCP flows that are there already? Below, the videos move within \
     one SCTP implementation to the paper’s two networks, with four initial windows, and each of the paper’s claims is \
     compared with the measurements.";

/// Explanations of the verdicts' terms.
pub(super) const TERMS: [(&str, &str); 7] = [
    (
        "Transfer time (MTT), MMTT",
        "From the generation of a message at the sender to its delivery to the mobile’s application, the wait above \
         the transport included. MMTT is the longest of the start-up: the 150 messages (5 s) from the handover on. Curves and \
         claims are about the first video, as in the paper.",
    ),
    (
        "Shorter, longer",
        "The mean over the seeds of the paired differences, its 95 % confidence interval (Student’s t) does not contain zero, and \
         it is at least 1 ms. Paired: two windows with the same seed see the same TCP flows, packet for packet, until the \
         handover.",
    ),
    ("Major reduction", "By at least 20 %."),
    (
        "No effect on competing traffic",
        "Mean throughput of all TCP flows within 5 % of that with 3 MSS, in the first five seconds and while the videos are on.",
    ),
    (
        "Start-up delay",
        "The longest transfer time of the first second less that of the same run without restriction (NR). Clear: \
         at least 20 ms, half a round trip. Almost gone: at most 25 % left. Close to zero: at most 15 % left.",
    ),
    (
        "Which TCP decides",
        "The verdict is that against TCP with NewReno’s window. The paper names no controller; the same claims are judged \
         against CUBIC too.",
    ),
    ("Out of reach", "The runs do not suffice, for instance because combinations were left out."),
];

/// The set-up.
pub(super) const SET_UP: [SetUp; 21] = [
    SetUp::stated(
        "Video",
        "6395-byte messages every 33 ms (“1.53 MBps”)",
        "the same: 1.55 Mbps of user data",
    ),
    SetUp::stated("Low-capacity network (lc)", "6 Mbps, RTT 300 ms", "the same"),
    SetUp::stated("High-capacity network (hc)", "45 Mbps, RTT 40 ms", "the same"),
    SetUp::stated("Flows on lc", "1 and 2 videos, 1 and 2 TCP", "the same, every combination"),
    SetUp::stated("Flows on hc", "1, 2 and 5 videos, 2, 5 and 10 TCP", "the same, every combination"),
    SetUp::explained(
        "Initial window of the videos",
        "3, 10, 20 MSS of 1500 bytes, NR (50 KB)",
        "3, 10, 20 full packets of 1500 bytes, 50,000 bytes",
        "In the bytes that windows count: 1468 of a DATA chunk to a packet.",
    ),
    SetUp::stated("Initial window of TCP", "3 MSS", "the same"),
    SetUp::stated("Router buffer", "one BDP, 225 KB", "225,000 bytes, drop-tail, both ways"),
    SetUp::stated(
        "Send and receive buffers, ssthresh",
        "large, no restriction",
        "4 MiB; ssthresh arbitrarily high",
    ),
    SetUp::stated(
        "Repetitions",
        "40, mean and 95 % interval",
        "40 seeds (or as said above), mean and 95 % interval",
    ),
    SetUp::explained(
        "Stacks and network",
        "real stacks over KauNet",
        "our SCTP core and the laboratory’s TCP in virtual time",
        "Runs of real stacks never repeat exactly; these do, bit by bit.",
    ),
    SetUp::explained(
        "When",
        "videos from about 20 s (point 4) to 85 s (point 17)",
        "lc: 60 s to 125 s; hc: 20 s to 50 s",
        "TCP’s stationary phase takes longer to reach on lc; on hc the rest of the paper’s time adds nothing.",
    ),
    SetUp::open(
        "What differs between repetitions",
        "start of each TCP flow drawn over 30 s (lc) or 5 s (hc), phase of each video over 33 ms",
        "Real stacks differ by themselves; a simulator does not.",
    ),
    SetUp::open(
        "TCP’s congestion control",
        "NewReno’s window with SACK (decides); CUBIC with SACK (also judged)",
        "The usual ones of FreeBSD and of Linux at the time.",
    ),
    SetUp::open(
        "Old path",
        "20 Mbps, RTT 40 ms, idle",
        "Its traffic ends with the handover; it only has to be fast enough.",
    ),
    SetUp::open(
        "Handover",
        "new address announced 8 s before, primary path set at the sender, both paths up",
        "The paper assumes an optimized mechanism that contributes marginally.",
    ),
    SetUp::open(
        "Window of the new path until then",
        "never used; set by the policy large-initial-window at the switch",
        "Slow start follows from there.",
    ),
    SetUp::open(
        "Max.Burst (RFC 9260 §6.1 D)",
        "no limit",
        "With a limit of 4 packets the compared windows could not be sent.",
    ),
    SetUp::open("SACKs", "every second packet or after 200 ms", "RFC 9260 §6.2."),
    SetUp::open(
        "Video’s delivery",
        "ordered, one stream",
        "“In default mode, data is delivered to the application in ordered mode.”",
    ),
    SetUp::open(
        "Bytes in a packet",
        "a message is 4 chunks of 1452 bytes and one of 587",
        "Packets of 1500 bytes and one of 635; small remainders are bundled if the window lets two messages meet.",
    ),
];
