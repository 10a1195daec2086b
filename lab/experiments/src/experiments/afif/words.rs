//! Texts of the report: the question, the set-up, values that the paper leaves open, terms of the verdicts.

use crate::report::SetUp;

/// The paper.
pub(super) const CITATION: &str = "M. Afif, P. Martins, S. Tabbane and P. Godlewski, “SCTP-Cross Layer Mechanism Performance For EGPRS Data \
     Handover in Variable Radio Transmission Conditions”.";

/// The question.
pub(super) const QUESTION: &str = "A mobile downloads a file over EGPRS. The radio link gets worse, its coding scheme falls step by step, and in the end the \
     mobile changes to another cell. The sender, far behind the radio, knows nothing of it: its window suits the link as it \
     was. Afif and others let the mobile report it, in a chunk QoS_Measurement with the radio parameters, and the sender sets window \
     and threshold by the radio link’s bandwidth-delay product. Does that avoid the timeout at the worst change, is it faster, and does \
     the flow go on over the handover? Below, both senders run on one SCTP implementation over a model of the radio link.";

/// Explanations of the verdicts' terms.
pub(super) const TERMS: [(&str, &str); 5] = [
    (
        "One run or many",
        "The paper shows one run of each kind. Ours are repeated over seeds, which change which packets the Gi interface and which \
         blocks the radio loses; both senders see the same. Events that the paper reports must occur in the majority of the seeds; \
         events that it excludes may occur in at most a tenth of them: one packet in a hundred is lost whatever the radio does.",
    ),
    (
        "A timeout at the change",
        "T3-rtx expires within 30 s of it: a full queue of 50 packets takes 25 s at CS1.",
    ),
    (
        "Ahead, behind",
        "The mean of the paired differences is at least one TSN from zero and its 95 % interval (Student’s t) does not contain zero.",
    ),
    (
        "A cut in the flow",
        "Nothing new for more than 20 s: 1 % of the width of the paper’s figures, which show some 2000 s.",
    ),
    (
        "As standard SCTP",
        "As many bytes within 2 %, and no more timeouts; the reports themselves shift the times of SACKs.",
    ),
];

/// The set-up.
pub(super) const SET_UP: [SetUp; 24] = [
    SetUp::stated("Server to GGSN", "5 Mbps, 100 ms", "the same"),
    SetUp::explained(
        "Gi",
        "5 Mbps, 100 ms, 1 % of packets in error, uniformly",
        "the same, the errors on the way down",
        "“Only downlink transmission is considered.”",
    ),
    SetUp::stated("Gb", "64 kbps, 100 ms", "the same, one to each cell"),
    SetUp::stated(
        "Radio",
        "RLC with selective repeat, 20 ms blocks, 3 PDCHs down and 1 up",
        "the same (docs/models/egprs.md)",
    ),
    SetUp::explained("RLC window", "64 to 384 blocks", "384", "The largest for a mobile with three PDCHs."),
    SetUp::stated(
        "Deterministic run",
        "table 1: CS4, CS3 at 200 s, CS2 at 400 s, CS1 at 600 s, handover at 700 s",
        "the same",
    ),
    SetUp::explained(
        "Random run",
        "a Markov chain, P21 = 0.4, P22 = 0.6, …; mean holding times 200 to 800 s",
        "the same with state n = CSn",
        "The reading under which quality only degrades and CS1 is absorbing, as the text says. CS1’s holding time ends with the \
         handover.",
    ),
    SetUp::stated(
        "Block error rates",
        "0.01, 0.015, 0.1, 0.15 for CS4 to CS1",
        "the same, in the random run too",
    ),
    SetUp::stated(
        "Addresses",
        "server multihomed, mobile with one address",
        "the same: one path through each SGSN",
    ),
    SetUp::stated("Traffic", "FTP, one stream", "a file without end, messages of 1452 bytes"),
    SetUp::stated(
        "Chunk",
        "from the mobile, at set-up, at each change of the coding scheme, at the handover",
        "the same",
    ),
    SetUp::open(
        "Window formula",
        "cwnd · BDPnew / BDPold at a change of the coding scheme; min(BDPnew, cwnd) at the handover; at least 1 MTU",
        "It is in a paper cited there. The radio link’s delay does not change, so that the ratio is that of the rates; \
         at the handover the BDP is the new rate times the least round trip measured on the path.",
    ),
    SetUp::open(
        "Threshold",
        "kept; below the window where the sender is in congestion avoidance",
        "“If the mobile is in congestion avoidance phase […] it will stay in this phase.”",
    ),
    SetUp::open(
        "Raising the window",
        "at most to the rate carried since the last loss",
        "A report is the peer’s word (crates/proto/src/quality).",
    ),
    SetUp::open("RTO", "RFC 9260’s, untouched by reports", "The paper does not state it."),
    SetUp::open(
        "How the server learns of the handover",
        "its primary path changes two seconds after it, in both variants",
        "A network would notify it; by then a report from the new cell has come.",
    ),
    SetUp::open(
        "Interruption at the handover",
        "500 ms; the new cell gets what the old one had not delivered",
        "As in the radio model.",
    ),
    SetUp::open(
        "Standard SCTP",
        "RFC 9260; on the new path its initial window, 4404 bytes",
        "The paper’s RFC 2960 has two MTUs.",
    ),
    SetUp::open("Queues", "drop-tail, 50 packets, every link", "ns-2’s default; the paper used ns-2"),
    SetUp::open("Receive window, initial threshold", "65,536 bytes both", "ns-2’s default"),
    SetUp::open(
        "Length",
        "900 s; random runs until 200 s after their handover",
        "The paper’s figures are illegible.",
    ),
    SetUp::open("Chunk type", "0xBE", "From the range that peers without it skip silently (RFC 9260 §3.2)."),
    SetUp::open("User rates per PDCH", "CS1 8, CS2 12, CS3 14.4, CS4 20 kbps", "RLC payload of the schemes"),
    SetUp::open(
        "Timers, delayed SACK, Max.Burst",
        "RFC 9260: RTO 1 s at least, SACK after 2 packets or 200 ms, 4 packets",
        "Its defaults",
    ),
];
