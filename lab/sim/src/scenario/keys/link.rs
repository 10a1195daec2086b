//! Keys of `[[link]]`: those of every link, and those of each type.

use super::{Kind, NAME, Table, U32, key, may, need};

/// Keys of a link of any type.
pub(in crate::scenario) const LINK: Table = Table {
    path: "link",
    help: "A link between two nodes. Each direction may have keys of its own in `forward` (from `a` to `b`) and `reverse`.",
    keys: &[
        NAME,
        key(
            "type",
            Kind::Words(&["plain", "wlan", "cellular", "egprs", "lte", "trace"]),
            "\"plain\"",
            "\"plain\"",
            "The link model, which decides the other keys (docs/models).",
        ),
        need("a", Kind::Name("a node"), "\"r\"", "Node at one end."),
        need("b", Kind::Name("a node"), "\"mobile\"", "Node at the other end."),
        may(
            "address_a",
            Kind::Address,
            "required at a host",
            "\"10.0.1.1\"",
            "Address of the interface at `a`.",
        ),
        may(
            "address_b",
            Kind::Address,
            "required at a host",
            "\"10.0.1.2\"",
            "Address of the interface at `b`.",
        ),
        key(
            "mtu",
            Kind::Integer("bytes", 576, 65_535),
            "1500",
            "9000",
            "MTU; larger packets are dropped and counted. IPv6 needs 1280.",
        ),
        key(
            "loss_means",
            Kind::Words(&["wireless", "congestion"]),
            "\"wireless\"",
            "\"congestion\"",
            "The cause of the link's losses, reported to loss classifiers.",
        ),
        key("up", Kind::Flag, "true", "false", "False: the link is down until an action brings it up."),
        may(
            "mark",
            Kind::Table(&LIMIT),
            "drops only when full",
            "{ packets = 20 }",
            "Queue length from which ECN-capable packets are marked and others dropped (RFC 3168).",
        ),
        may("forward", Kind::Options, "the link's keys", "{}", "Keys of the direction from `a` to `b`."),
        may("reverse", Kind::Options, "the link's keys", "{}", "Keys of the direction from `b` to `a`."),
    ],
};

/// The tables of the types, for the documents.
pub(super) const TYPES: &[&Table] = &[
    &PLAIN,
    &WLAN,
    &WLAN_SHARED,
    &CELLULAR,
    &CELLULAR_SHARED,
    &EGPRS,
    &EGPRS_SHARED,
    &LTE,
    &LTE_SHARED,
    &TRACE,
];

/// A limit of a queue.
pub(in crate::scenario) const LIMIT: Table = Table {
    path: "link.queue",
    help: "A queue limit, in packets or in bytes; the packet in transmission does not count.",
    keys: &[
        may("packets", Kind::Integer("packets", 0, U32), "`bytes`", "50", "Packets that may wait."),
        may("bytes", Kind::Integer("bytes", 0, super::I64), "`packets`", "75000", "Bytes that may wait."),
    ],
};

/// Losses.
pub(in crate::scenario) const LOSS: Table = Table {
    path: "link.loss",
    help: "Losses in bursts: by their share and mean length, by a Gilbert-Elliott channel's probabilities, or a list of packets.",
    keys: &[
        may(
            "good_to_bad",
            Kind::Probability,
            "required for a channel",
            "0.01",
            "Probability of a change to the bad state, per packet.",
        ),
        may(
            "bad_to_good",
            Kind::Probability,
            "required for a channel",
            "0.2",
            "Probability of a change to the good state, per packet.",
        ),
        may("loss_good", Kind::Probability, "0", "0.001", "Probability of a loss in the good state."),
        may("loss_bad", Kind::Probability, "1", "0.5", "Probability of a loss in the bad state."),
        may("share", Kind::Probability, "another form", "0.02", "Share of packets lost."),
        may(
            "mean_burst",
            Kind::Number("packets"),
            "required with `share`",
            "5",
            "Mean number of packets lost in a row.",
        ),
        may("packets", Kind::Numbers, "another form", "[3, 17]", "The packets to lose, counted from 0."),
    ],
};

const QUEUE: super::Key = key(
    "queue",
    Kind::Either(&[Kind::Table(&LIMIT), Kind::Words(&["unlimited"])]),
    "{ packets = 50 }",
    "{ packets = 100 }",
    "Packets or bytes that may wait.",
);
const LOSSES: super::Key = key(
    "loss",
    Kind::Either(&[Kind::Probability, Kind::Table(&LOSS)]),
    "0",
    "0.01",
    "Losses after transmission: a probability, bursts, or a list of packets.",
);
const REPORT_QUALITY: super::Key = key(
    "report_quality",
    Kind::Flag,
    "true",
    "false",
    "Hosts learn the conditions of their radio link and report them to policies.",
);

/// The plain link.
pub(in crate::scenario) const PLAIN: Table = Table {
    path: "link[type=plain]",
    help: "Rate, delay, queue and losses (docs/models/link.md).",
    keys: &[
        need("rate", Kind::Rate, "\"11Mbps\"", "Transmission rate."),
        need("delay", Kind::Time, "\"20ms\"", "Propagation delay, one way."),
        QUEUE,
        LOSSES,
        key(
            "discipline",
            Kind::Words(&["drop-tail", "codel", "fq-codel"]),
            "\"drop-tail\"",
            "\"fq-codel\"",
            "Order and drops of the packets that wait: first in, first out; with CoDel (RFC 8289); FQ-CoDel (RFC 8290).",
        ),
        may(
            "target",
            Kind::Time,
            "\"5ms\"",
            "\"20ms\"",
            "CoDel's target: the accepted standing queue delay.",
        ),
        may(
            "interval",
            Kind::Time,
            "\"100ms\"",
            "\"300ms\"",
            "CoDel's interval: how long the delay may exceed the target.",
        ),
        key(
            "jitter",
            Kind::Time,
            "\"0s\"",
            "\"4ms\"",
            "Variation of the delay, uniform from zero; packets stay in order.",
        ),
        may(
            "reorder",
            Kind::Table(&REORDER),
            "none",
            "{ share = 0.01, by = \"5ms\" }",
            "Packets that take longer and are overtaken.",
        ),
    ],
};

/// Packets that others overtake.
pub(in crate::scenario) const REORDER: Table = Table {
    path: "link.reorder",
    help: "A share of packets takes longer than the others, which overtake it.",
    keys: &[
        need("share", Kind::Probability, "0.01", "Share of packets."),
        need("by", Kind::Time, "\"5ms\"", "Their additional delay."),
    ],
};

/// Keys of a wireless link that may differ between its directions.
pub(in crate::scenario) const WLAN: Table = Table {
    path: "link[type=wlan]",
    help: "An 802.11-like hop; its directions may have queues of their own (docs/models/wlan.md).",
    keys: &[QUEUE],
};

/// Keys of a wireless link.
pub(in crate::scenario) const WLAN_SHARED: Table = Table {
    path: "link[type=wlan]",
    help: "An 802.11-like hop: airtime, retransmission, losses by receive power (docs/models/wlan.md).",
    keys: &[
        may("cell", Kind::Text, "a cell of its own", "\"office\"", "Links of one cell share its airtime."),
        key("shared", Kind::Flag, "true", "false", "False: its two directions do not share airtime."),
        need("rate", Kind::Rate, "\"11Mbps\"", "Rate of data frames, at least 1kbps."),
        key(
            "basic_rate",
            Kind::Rate,
            "\"1Mbps\"",
            "\"2Mbps\"",
            "Rate of control frames and acknowledgements.",
        ),
        key(
            "retries",
            Kind::Integer("attempts", 0, 255),
            "6",
            "3",
            "Retransmissions of a frame before it is lost.",
        ),
        key("rts", Kind::Flag, "false", "true", "RTS and CTS before each data frame."),
        key(
            "backoff",
            Kind::Words(&["drawn", "mean"]),
            "\"drawn\"",
            "\"mean\"",
            "Backoff: drawn at random, or always the mean.",
        ),
        key(
            "collisions",
            Kind::Flag,
            "true",
            "false",
            "Stations of a cell may send at the same time and collide.",
        ),
        key(
            "adaptation",
            Kind::Words(&["fixed", "arf", "aarf"]),
            "\"fixed\"",
            "\"aarf\"",
            "Rate of data frames: `rate`, or the rates of 802.11b up to it, by ARF or AARF.",
        ),
        key("delay", Kind::Time, "\"0s\"", "\"1ms\"", "Delay in addition to the propagation time."),
        key(
            "loss",
            Kind::Either(&[Kind::Probability, Kind::Table(&LOSS)]),
            "0",
            "0.01",
            "Losses of single attempts, whatever the receive power.",
        ),
        may(
            "radio",
            Kind::Table(&RADIO),
            "all distances are in coverage",
            "{ coverage = 250 }",
            "Receive power by distance.",
        ),
        may(
            "fading",
            Kind::Table(&FADING),
            "none",
            "{ slope = 10 }",
            "Losses by receive power; needs `radio`.",
        ),
    ],
};

/// The radio of a wireless link.
pub(in crate::scenario) const RADIO: Table = Table {
    path: "link.radio",
    help: "Log-distance path loss of a wireless link. Exactly one of `coverage` and `sensitivity`.",
    keys: &[
        may(
            "coverage",
            Kind::Number("metres"),
            "by `sensitivity`",
            "250",
            "Distance up to which frames are received.",
        ),
        may("sensitivity", Kind::Number("dBm"), "by `coverage`", "-64.4", "Least receive power."),
        key("tx_power", Kind::Number("dBm"), "24.5", "20", "Transmit power."),
        key("reference_loss", Kind::Number("dB"), "31.7", "40", "Path loss at one metre."),
        key("exponent", Kind::Number(""), "2.8", "3", "Path loss exponent, 1 to 10."),
    ],
};

/// The fading of a wireless link.
pub(in crate::scenario) const FADING: Table = Table {
    path: "link.fading",
    help: "Losses near the edge of coverage: of each frame alone, or in periods of bad reception.",
    keys: &[
        need("slope", Kind::Number("dB"), "10", "Margin that reduces losses to a tenth."),
        may("shortest", Kind::Time, "no periods", "\"20ms\"", "Shortest period of bad reception."),
        may("longest", Kind::Time, "required with `shortest`", "\"2s\"", "Longest period."),
        may(
            "shape",
            Kind::Number(""),
            "required with `shortest`",
            "1.5",
            "Shape of the Pareto distribution; not 1.",
        ),
    ],
};

/// Keys of a cellular link that may differ between its directions.
pub(in crate::scenario) const CELLULAR: Table = Table {
    path: "link[type=cellular]",
    help: "A user of a cell whose scheduler shares the resource; `forward` is the downlink (docs/models/cellular.md).",
    keys: &[
        may(
            "rate",
            Kind::Rate,
            "by `radio`",
            "\"20Mbps\"",
            "Rate of this user with the whole resource; the mean of a fading one.",
        ),
        may("bandwidth", Kind::Number("MHz"), "by `rate`", "10", "Bandwidth; required with `radio`."),
        key(
            "delay",
            Kind::Time,
            "\"5ms\"",
            "\"20ms\"",
            "Delay from the end of the interval that carries a packet's last byte.",
        ),
        QUEUE,
        LOSSES,
    ],
};

/// Keys of a cellular link for both directions.
pub(in crate::scenario) const CELLULAR_SHARED: Table = Table {
    path: "link[type=cellular]",
    help: "The cell of a cellular link, and its channel; `a` is the base station (docs/models/cellular.md).",
    keys: &[
        may("cell", Kind::Text, "a cell of its own", "\"macro\"", "Links of one cell share its resource."),
        key(
            "scheduler",
            Kind::Words(&["proportional-fair", "round-robin", "max-rate"]),
            "\"proportional-fair\"",
            "\"round-robin\"",
            "Order in which users are served.",
        ),
        key(
            "average",
            Kind::Time,
            "\"1s\"",
            "\"100ms\"",
            "Time constant of the average throughput of proportional fairness.",
        ),
        may(
            "radio",
            Kind::Table(&RADIO),
            "by `rate`",
            "{ coverage = 500 }",
            "Rate by receive power; at the end of coverage the signal is 10 dB below the noise.",
        ),
        may(
            "coherence",
            Kind::Time,
            "no fading",
            "\"10ms\"",
            "Rayleigh fading that is constant for this time.",
        ),
    ],
};

const MEAN_BURST: super::Key = may(
    "mean_burst",
    Kind::Number("blocks"),
    "independent losses",
    "4",
    "Mean number of blocks lost in a row.",
);

/// The EGPRS link.
pub(in crate::scenario) const EGPRS: Table = Table {
    path: "link[type=egprs]",
    help: "An EGPRS radio link with RLC retransmission (docs/models/egprs.md).",
    keys: &[
        may(
            "scheme",
            Kind::Words(SCHEMES),
            "required without `coding`",
            "\"CS4\"",
            "Coding scheme of new blocks.",
        ),
        may("bler", Kind::Probability, "0, or by `coding`", "0.1", "Share of radio blocks lost."),
        MEAN_BURST,
        key("pdchs", Kind::Integer("timeslots", 1, 8), "3", "4", "Packet data channels."),
        key("delay", Kind::Time, "\"0s\"", "\"30ms\"", "Delay of a block behind the air interface, one way."),
        key("window", Kind::Integer("blocks", 1, 1024), "384", "64", "RLC window."),
        key("poll_period", Kind::Integer("blocks", 1, U32), "20", "12", "Blocks from one poll to the next."),
        key("rrbp", Kind::Time, "\"60ms\"", "\"40ms\"", "Time from a poll to its report, at least 20ms."),
        key("report_loss", Kind::Probability, "0", "0.05", "Probability that a report is lost."),
        key(
            "frame_overhead",
            Kind::Integer("octets", 0, 10_000),
            "10",
            "7",
            "LLC and SNDCP octets with each packet.",
        ),
        key("establishment", Kind::Time, "\"200ms\"", "\"100ms\"", "Time to set up a temporary block flow."),
        key(
            "release",
            Kind::Time,
            "\"1s\"",
            "\"500ms\"",
            "Time from the last acknowledgement to the end of the flow.",
        ),
        QUEUE,
    ],
};

/// Coding schemes of GPRS and EGPRS.
pub(super) const SCHEMES: &[&str] =
    &["CS1", "CS2", "CS3", "CS4", "MCS1", "MCS2", "MCS3", "MCS4", "MCS5", "MCS6", "MCS7", "MCS8", "MCS9"];

/// Keys of an EGPRS link for both directions.
pub(in crate::scenario) const EGPRS_SHARED: Table = Table {
    path: "link[type=egprs]",
    help: "Conditions of an EGPRS link in both directions (docs/models/egprs.md).",
    keys: &[
        may(
            "coding",
            Kind::Table(&CODING),
            "`scheme` and `bler`",
            "{ table = [{ at = \"0s\", scheme = \"CS3\", bler = 0.01 }] }",
            "Changes of coding scheme and block errors over time.",
        ),
        REPORT_QUALITY,
    ],
};

/// Changing conditions.
pub(in crate::scenario) const CODING: Table = Table {
    path: "link.coding",
    help: "Conditions of an EGPRS link over time: exactly one of `table` and `markov`.",
    keys: &[
        may(
            "table",
            Kind::Tables(&CODING_STEP),
            "`markov`",
            "[{ at = \"0s\", scheme = \"CS4\", bler = 0.01 }]",
            "Conditions by time, the first at 0s.",
        ),
        may(
            "markov",
            Kind::Tables(&CODING_STATE),
            "`table`",
            "[{ scheme = \"CS4\", bler = 0.01, mean = \"200s\" }]",
            "States of a Markov chain; the first one is the start.",
        ),
        may(
            "new_cell",
            Kind::Options,
            "as before",
            "{ scheme = \"CS3\", bler = 0.015 }",
            "Conditions after a handover of the chain: `scheme` and `bler`.",
        ),
        key("interruption", Kind::Time, "\"500ms\"", "\"200ms\"", "Interruption by a handover."),
        key(
            "carries",
            CARRIES,
            "\"everything\"",
            "\"unsent\"",
            "Packets that the old cell forwards at a handover.",
        ),
    ],
};

/// What an old cell forwards.
pub(super) const CARRIES: Kind = Kind::Words(&["everything", "unsent", "nothing"]);

/// A row of `coding.table`.
pub(in crate::scenario) const CODING_STEP: Table = Table {
    path: "link.coding.table",
    help: "Conditions from a time on.",
    keys: &[
        need("at", Kind::Time, "\"200s\"", "When they begin."),
        need("scheme", Kind::Words(SCHEMES), "\"CS3\"", "Coding scheme."),
        need("bler", Kind::Probability, "0.02", "Share of blocks lost."),
        key("handover", Kind::Flag, "false", "true", "They begin with a change of the cell."),
    ],
};

/// A state of `coding.markov`.
pub(in crate::scenario) const CODING_STATE: Table = Table {
    path: "link.coding.markov",
    help: "A state of a Markov chain of conditions.",
    keys: &[
        need("scheme", Kind::Words(SCHEMES), "\"CS3\"", "Coding scheme; one state each."),
        need("bler", Kind::Probability, "0.02", "Share of blocks lost."),
        need("mean", Kind::Time, "\"100s\"", "Mean time in the state."),
        may(
            "next",
            Kind::Options,
            "it stays",
            "{ CS4 = 1 }",
            "Probabilities of the next states, by scheme; they add up to 1.",
        ),
    ],
};

/// The LTE bearer.
pub(in crate::scenario) const LTE: Table = Table {
    path: "link[type=lte]",
    help: "An LTE radio bearer: a grant, HARQ, RLC in acknowledged mode (docs/models/lte-rlc-am.md).",
    keys: &[
        need("rate", Kind::Rate, "\"10Mbps\"", "Rate that the scheduler grants, headers included."),
        key(
            "delay",
            Kind::Time,
            "\"3ms\"",
            "\"15ms\"",
            "Delay from the end of a transport block to its use, one way.",
        ),
        key("bler", Kind::Probability, "0", "0.1", "Share of transmissions of transport blocks lost."),
        MEAN_BURST,
        key(
            "harq_processes",
            Kind::Integer("processes", 1, 16),
            "8",
            "4",
            "HARQ processes; the HARQ round trip in ms.",
        ),
        key(
            "max_attempts",
            Kind::Integer("transmissions", 1, 28),
            "4",
            "8",
            "Transmissions before HARQ gives up.",
        ),
        key(
            "combining",
            Kind::Probability,
            "1",
            "0.5",
            "Soft combining: the k-th retransmission is lost with this to the power k.",
        ),
        key("nack_as_ack", Kind::Probability, "0", "0.001", "Probability that a NACK is received as an ACK."),
        key(
            "pdu_header",
            Kind::Integer("octets", 0, 10_000),
            "3",
            "4",
            "RLC and MAC header of a transport block.",
        ),
        key(
            "packet_header",
            Kind::Integer("octets", 0, 10_000),
            "4",
            "5",
            "PDCP header and length indicator of a packet.",
        ),
        key("window", Kind::Integer("PDUs", 1, 512), "512", "256", "RLC window."),
        key("poll_pdus", Kind::Integer("PDUs", 1, U32), "32", "16", "New PDUs from one poll to the next."),
        key(
            "poll_bytes",
            Kind::Integer("octets", 1, super::I64),
            "25000",
            "10000",
            "New octets from one poll to the next.",
        ),
        key("poll_retransmit", Kind::Time, "\"45ms\"", "\"60ms\"", "Wait for the answer to a poll."),
        key("status_prohibit", Kind::Time, "\"45ms\"", "\"60ms\"", "Least time between status reports."),
        key("reordering", Kind::Time, "\"35ms\"", "\"50ms\"", "How long HARQ may still fill a gap."),
        key(
            "max_retx",
            Kind::Integer("retransmissions", 1, U32),
            "4",
            "8",
            "Retransmissions of a PDU before its packets are lost.",
        ),
        key("status_delay", Kind::Time, "\"8ms\"", "\"10ms\"", "Delay of a status report."),
        key("status_loss", Kind::Probability, "0", "0.01", "Probability that a status report is lost."),
        QUEUE,
    ],
};

/// The key of an LTE link for both directions.
pub(in crate::scenario) const LTE_SHARED: Table = Table {
    path: "link[type=lte]",
    help: "Conditions of an LTE bearer in both directions (docs/models/lte-rlc-am.md).",
    keys: &[REPORT_QUALITY],
};

/// The link that follows a trace.
pub(in crate::scenario) const TRACE: Table = Table {
    path: "link[type=trace]",
    help: "A link whose rate follows a recorded trace (docs/models/trace.md).",
    keys: &[
        need(
            "trace",
            Kind::File,
            "\"traces/lte.trace\"",
            "A Mahimahi trace, or a table of rates, relative to the scenario.",
        ),
        may("column", Kind::Text, "a Mahimahi trace", "\"wifi\"", "The column of a table of rates."),
        may(
            "period",
            Kind::Time,
            "that of the last line",
            "\"60s\"",
            "Time after which a Mahimahi trace repeats.",
        ),
        may(
            "signal",
            Kind::Text,
            "no receive power",
            "\"wifi_dbm\"",
            "The column of a table of rates with the receive power in dBm, for events.",
        ),
        need("delay", Kind::Time, "\"20ms\"", "Propagation delay, one way."),
        QUEUE,
        LOSSES,
    ],
};

/// The types of a scenario without keys of both directions.
pub(in crate::scenario) const NONE: Table = Table { path: "link", help: "", keys: &[] };
