//! Texts of the report: the question, terms of the verdicts, the set-up, values that the paper leaves open.

use crate::report::SetUp;

/// The paper.
pub(super) const CITATION: &str = "S. Fu and M. Atiquzzaman, “Improving End-to-End Throughput of Mobile IP using SCTP”, University of Oklahoma.";

/// The question.
pub(super) const QUESTION: &str = "A mobile uploads through its home agent, walks into the cell of a foreign agent and comes back. Each time Mobile IP \
     needs seconds to follow, and several segments of one window are lost, not in a row. TCP’s acknowledgments can report \
     three blocks of what has arrived, SCTP’s any number. Does that repair such losses faster, and what is it worth in \
     throughput? The few parameters that the paper leaves open are fitted once, to its table of TCP Reno; its tables of TCP SACK and \
     SCTP are then predicted with the same numbers.";

/// Explanations of the verdicts' terms.
pub(super) const TERMS: [(&str, &str); 6] = [
    (
        "Above, below",
        "The mean over the seeds of the paired differences is above (below) zero, its 95 % confidence interval (Student’s t) does \
         not contain zero, and it is at least one segment. Paired: the same seed is the same radio channel for all protocols.",
    ),
    (
        "Slow cells",
        "w ≤ 54 or r ≤ 200 kbps: 18 of the 30 cells. Where the paper finds SACK to be worth most.",
    ),
    (
        "Usually increases, saturates",
        "Three quarters of the steps from a rate to the next go up; beyond w = 500 and r = 1000 kbps throughput grows by less than the \
         fourth root of the bandwidth, and by less than before.",
    ),
    (
        "Well before",
        "In at most half the time. The time is the paper’s: from the first to the last retransmission of the six lost segments.",
    ),
    (
        "About as well",
        "The median relative error of the predicted cells is at most one and a half times that of the fitted ones.",
    ),
    ("Out of reach", "The runs do not suffice."),
];

/// The set-up.
pub(super) const SET_UP: [SetUp; 24] = [
    SetUp::stated("Correspondent to router", "28.8 to 1500 kbps, 200 ms", "the same (w)"),
    SetUp::stated("Router to either agent", "500 kbps, 200 ms", "the same"),
    SetUp::stated("Mobile to agent", "150 to 2000 kbps, delay by distance", "the same (r)"),
    SetUp::stated(
        "MAC",
        "802.11",
        "802.11’s: contention, RTS where it is on, an acknowledgement for each frame",
    ),
    SetUp::stated("Sender", "the mobile", "the same, without end"),
    SetUp::stated("Movement", "leaves at 50 s, comes back at 150 s, 200 s in all", "the same"),
    SetUp::stated("Payload", "948 bytes", "the same"),
    SetUp::explained(
        "Headers",
        "40 bytes (Reno), 52 (TCP SACK with timestamps), 52 (SCTP)",
        "40, 52, 48",
        "SCTP with one DATA chunk: 20 IP, 12 common header, 16 chunk header.",
    ),
    SetUp::stated("Receive window, initial window, initial threshold", "20, 2 and 20 segments", "the same"),
    SetUp::stated("SACK blocks of TCP", "three", "three"),
    SetUp::stated("Result", "segments received in 200 s", "segments delivered to the application"),
    SetUp::explained(
        "Wireless errors",
        "by receive power, Pareto-distributed",
        "bad periods of Pareto lengths; their share of the time by the receive power’s margin (Rayleigh)",
        "The paper gives no parameters: slope, shortest period and shape are fitted.",
    ),
    SetUp::open(
        "Repetitions",
        "20 seeds (or as said above), mean and 95 % interval",
        "The paper seems to show single runs.",
    ),
    SetUp::open(
        "Fitted parameters",
        "fading slope, shortest bad period, Pareto shape, lifetime of an advertisement",
        "On Table V alone, by msctp fit fu-atiquzzaman; frozen in scenarios/fu-atiquzzaman/parameters.toml with the fit’s error.",
    ),
    SetUp::open(
        "Coverage",
        "250 m, agents 400 m apart",
        "The range of ns-2’s default radio; the circles overlap.",
    ),
    SetUp::open(
        "Speed and place",
        "10 m/s from 60 m off the agent",
        "The mobile passes the end of its cell 19 s after it set out, as in the paper’s Figs 2 and 6 to 8.",
    ),
    SetUp::open(
        "Agent advertisements",
        "every second; the lifetime is fitted, from three intervals on",
        "RFC 5944 §2.3 requires at least three intervals.",
    ),
    SetUp::open(
        "Change of agent",
        "when the old one’s advertisement has expired (lazy)",
        "The method that RFC 2002 describes first; registration then takes a round trip to the home agent.",
    ),
    SetUp::open(
        "MAC retransmissions",
        "none",
        "The paper’s errors occur in the physical layer and reach TCP, about one in a window.",
    ),
    SetUp::open("Queues", "drop-tail, 50 packets", "ns-2’s default. A window of 20 never fills them."),
    SetUp::open(
        "Acknowledgments",
        "of every segment at once, for all three",
        "ns-2’s TCPSink, which the paper names; “the values of the parameters were the same for all three protocols”.",
    ),
    SetUp::open(
        "Timers",
        "RTO 3 s at first, at least 1 s",
        "RFC 2960 and RFC 2988, of the paper’s time. The first round trip over 28.8 kbps takes more than a second.",
    ),
    SetUp::open(
        "TCP SACK’s recovery",
        "RFC 6675: a scoreboard of everything reported",
        "The paper cites Fall and Floyd (1996), whose sender counts duplicates; RFC 2018 and 6675 remember what was reported.",
    ),
    SetUp::open(
        "Microscope and blocks",
        "plain links with the paper’s rates and delays, scripted or clustered losses",
        "No handover: only the number of blocks has an effect.",
    ),
];
