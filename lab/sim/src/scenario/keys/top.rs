//! Keys at the top of a scenario file, and the probes.

use super::node::NODE;
use super::sctp::SCTP;
use super::{ACTION, APP, Kind, LINK, Table, key, may, need};
use super::{ASSOCIATION, TCP, TCP_PROFILE};

/// The whole file.
pub(in crate::scenario) const SCENARIO: Table = Table {
    path: "",
    help: "The whole scenario.",
    keys: &[
        key("name", Kind::Text, "\"scenario\"", "\"walk\"", "Short name, for reports."),
        key("description", Kind::Text, "\"\"", "\"A download moves to LTE\"", "Purpose, in one sentence."),
        need("duration", Kind::Time, "\"60s\"", "Virtual time after which the run ends."),
        key(
            "seed",
            Kind::Integer("", 0, u64::MAX),
            "1",
            "7",
            "Seed of every random stream; the command's --seed replaces it.",
        ),
        may("node", Kind::Tables(&NODE), "none", "[]", "Hosts, routers, agents and middleboxes."),
        may("link", Kind::Tables(&LINK), "none", "[]", "Links between nodes."),
        may("sctp", Kind::Named(&SCTP), "none", "{}", "Named sets of SCTP options."),
        may("association", Kind::Tables(&ASSOCIATION), "none", "[]", "SCTP associations."),
        may("tcp-profile", Kind::Named(&TCP_PROFILE), "none", "{}", "Named sets of TCP options."),
        may("tcp", Kind::Tables(&TCP), "none", "[]", "TCP connections."),
        may("app", Kind::Tables(&APP), "none", "[]", "Traffic sources and readers."),
        may("action", Kind::Tables(&ACTION), "none", "[]", "Changes of links, addresses and associations."),
        may("probes", Kind::Table(&PROBES), "none", "{}", "Time series to record."),
    ],
};

/// Time series.
pub(in crate::scenario) const PROBES: Table = Table {
    path: "probes",
    help: "Time series to record; those left out cost nothing.",
    keys: &[
        may(
            "throughput",
            Kind::Time,
            "not recorded",
            "\"100ms\"",
            "Length of the intervals over which delivered bytes are summed; at least 100us.",
        ),
        key(
            "trace",
            Kind::Flag,
            "false",
            "true",
            "The associations' events: windows, round trips, estimates, states.",
        ),
        key("chunks", Kind::Flag, "false", "true", "Also record every DATA and SACK chunk (large files)."),
        may(
            "queues",
            Kind::Time,
            "not recorded",
            "\"10ms\"",
            "Interval between samples of queue lengths; at least 100us.",
        ),
        key("messages", Kind::Flag, "false", "true", "The times of every message of the video applications."),
    ],
};
