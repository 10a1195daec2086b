//! Keys of `[sctp.NAME]` and its tables, by the core's own names.

use msctp_lab_schemes::catalogue::classifiers;
use msctp_lab_schemes::policies::policies;
use msctp_proto::schedulers;

use super::{I64, Kind, Table, U16, U32, key, may, need};
use crate::held::controllers_with_held;

pub(super) fn controller_names() -> Vec<&'static str> {
    controllers_with_held().map(|entry| entry.name).collect()
}

pub(super) fn classifier_names() -> Vec<&'static str> {
    classifiers().iter().map(|entry| entry.name).collect()
}

fn policy_names() -> Vec<&'static str> {
    policies().iter().map(|info| info.name).collect()
}

fn scheduler_names() -> Vec<&'static str> {
    schedulers().iter().map(|info| info.name).collect()
}

pub(super) const WINDOW: Kind = Kind::Either(&[Kind::Words(&["rfc9260"]), Kind::Table(&INITIAL_WINDOW)]);

/// A set of SCTP options.
pub(in crate::scenario) const SCTP: Table = Table {
    path: "sctp.NAME",
    help: "A set of SCTP options. The defaults are those of the profile \"rfc9260\"; another `profile` has its own.",
    keys: &[
        key(
            "profile",
            Kind::Words(&["rfc9260", "mobile", "webrtc"]),
            "\"rfc9260\"",
            "\"mobile\"",
            "The set of options that the other keys change.",
        ),
        key("rto_initial", Kind::Time, "\"1s\"", "\"3s\"", "RTO.Initial."),
        key("rto_min", Kind::Time, "\"1s\"", "\"200ms\"", "RTO.Min."),
        key("rto_max", Kind::Time, "\"60s\"", "\"10s\"", "RTO.Max."),
        key(
            "hb_interval",
            Kind::Time,
            "\"30s\"",
            "\"5s\"",
            "HB.interval; 0s: only heartbeats that confirm addresses.",
        ),
        key(
            "path_max_retrans",
            Kind::Integer("errors", 0, U32),
            "5",
            "3",
            "Path.Max.Retrans (RFC 9260 section 8.2).",
        ),
        may(
            "potentially_failed_threshold",
            Kind::Integer("errors", 0, 255),
            "no such state",
            "0",
            "Errors from which new data leaves a path (RFC 7829).",
        ),
        may(
            "primary_switchover_threshold",
            Kind::Integer("errors", 0, 255),
            "the primary returns",
            "5",
            "Errors from which the primary does not return (RFC 7829 section 5).",
        ),
        may(
            "silence",
            Kind::Time,
            "by T3-rtx alone",
            "\"100ms\"",
            "Shortest silence after which a path counts as timed out.",
        ),
        key(
            "moves",
            Kind::Words(&["standard", "fast"]),
            "\"standard\"",
            "\"fast\"",
            "Address changes: by RFC 5061, or with fewer round trips.",
        ),
        key(
            "paths",
            Kind::Words(&["one", "aggregate", "redundant"]),
            "\"one\"",
            "\"aggregate\"",
            "Data on one path at a time, on all paths at once, or with copies of small messages on all.",
        ),
        key(
            "assoc_max_retrans",
            Kind::Integer("errors", 1, U32),
            "10",
            "8",
            "Association.Max.Retrans (RFC 9260 section 8.1).",
        ),
        key("max_init_retransmits", Kind::Integer("attempts", 0, U32), "8", "4", "Max.Init.Retransmits."),
        key(
            "sack_delay",
            Kind::Time,
            "\"200ms\"",
            "\"50ms\"",
            "SACK.Delay, at most 500ms; 0s: every packet is acknowledged at once.",
        ),
        key(
            "sack_frequency",
            Kind::Integer("packets", 1, U32),
            "2",
            "1",
            "Packets with DATA per SACK at most.",
        ),
        key(
            "max_gap_blocks",
            Kind::Integer("blocks", 0, U32),
            "4294967295",
            "4",
            "Gap blocks in a SACK at most; fewer compare with TCP.",
        ),
        key(
            "receive_buffer",
            Kind::Integer("bytes", 1500, U32),
            "1048576",
            "65536",
            "Receive buffer, announced as a_rwnd.",
        ),
        key("send_buffer", Kind::Integer("bytes", 1500, U32), "2097152", "65536", "Send buffer."),
        key(
            "pmtu",
            Kind::Integer("bytes", 576, 65_535),
            "1500",
            "1280",
            "PMTU of each path, or the limit of its discovery.",
        ),
        key("pmtu_discovery", Kind::Flag, "false", "true", "Discover the PMTU of each path (RFC 8899)."),
        key("max_burst", Kind::Integer("packets", 0, U32), "4", "0", "Max.Burst; 0: no limit."),
        key(
            "retransmission_path",
            Kind::Words(&["alternate", "same"]),
            "\"alternate\"",
            "\"same\"",
            "Path on which timed-out chunks are retransmitted.",
        ),
        key(
            "list_addresses",
            Kind::Flag,
            "true",
            "false",
            "List this end's addresses in INIT and INIT ACK, if there are several.",
        ),
        key("dynamic_addresses", Kind::Flag, "true", "false", "Announce ASCONF (RFC 5061)."),
        key(
            "lower_layer_protects",
            Kind::Flag,
            "false",
            "true",
            "Accept packets with a checksum of 0 (RFC 9653).",
        ),
        key(
            "outbound_streams",
            Kind::Integer("streams", 1, U16),
            "10",
            "100",
            "Outbound streams to request.",
        ),
        key(
            "max_inbound_streams",
            Kind::Integer("streams", 1, U16),
            "65535",
            "100",
            "Inbound streams to accept at most.",
        ),
        key(
            "controller",
            Kind::Names(controller_names),
            "\"rfc9260\"",
            "\"cubic\"",
            "Congestion controller.",
        ),
        may(
            "controller_options",
            Kind::Options,
            "the controller's defaults",
            "{}",
            "Options of the controller.",
        ),
        key(
            "initial_window",
            WINDOW,
            "\"rfc9260\"",
            "{ packets = 10 }",
            "Congestion window before the first data.",
        ),
        may(
            "initial_ssthresh",
            Kind::Integer("bytes", 1, I64),
            "arbitrarily high",
            "65536",
            "Slow-start threshold before the first loss.",
        ),
        key(
            "handover_policy",
            Kind::Names(policy_names),
            "\"conservative\"",
            "\"inherit\"",
            "What happens at a path change (docs/handover.md).",
        ),
        may("policy", Kind::Table(&POLICY), "the defaults", "{}", "Options of handover policies."),
        key("authentication", Kind::Flag, "true", "false", "AUTH is enabled (RFC 4895)."),
        key(
            "auth",
            Kind::Words(&["required", "not-required"]),
            "\"required\"",
            "\"not-required\"",
            "Whether chunks that change addresses must be authenticated.",
        ),
        key(
            "protection",
            Kind::Words(&["off", "psk"]),
            "\"off\"",
            "\"psk\"",
            "Encryption by the DTLS chunk under a shared key.",
        ),
        key("ecn", Kind::Flag, "false", "true", "Explicit congestion notification."),
        key(
            "loss_classifier",
            Kind::Names(classifier_names),
            "\"none\"",
            "\"oracle\"",
            "Classifier of losses found by gap blocks.",
        ),
        may(
            "loss_classifier_options",
            Kind::Options,
            "the classifier's defaults",
            "{}",
            "Options of the classifier.",
        ),
        key("frto", Kind::Flag, "false", "true", "Undo spurious timeouts (RFC 5682)."),
        key(
            "scheduler",
            Kind::Names(scheduler_names),
            "\"first-come\"",
            "\"round-robin\"",
            "Stream scheduler (RFC 8260).",
        ),
        key("interleaving", Kind::Flag, "false", "true", "Announce I-DATA (RFC 8260)."),
        key("partial_reliability", Kind::Flag, "true", "false", "Announce partial reliability (RFC 3758)."),
        key(
            "reconfiguration",
            Kind::Words(&["off", "own", "accept"]),
            "\"accept\"",
            "\"own\"",
            "Resetting and adding streams (RFC 6525).",
        ),
        key(
            "restart_rtt_after_spurious",
            Kind::Flag,
            "false",
            "true",
            "With `frto`: the round trip after a spurious timeout restarts the estimator.",
        ),
        key(
            "loss_recovery",
            Kind::Words(&["rfc9260", "prr", "rack", "rack-prr"]),
            "\"rfc9260\"",
            "\"rack\"",
            "Detection of lost chunks (RFC 8985, RFC 9937).",
        ),
    ],
};

/// An initial window.
pub(in crate::scenario) const INITIAL_WINDOW: Table = Table {
    path: "sctp.NAME.initial_window",
    help: "A window in packets or in bytes.",
    keys: &[
        may("packets", Kind::Integer("packets", 1, 1 << 32), "`bytes`", "10", "Packets of the path's size."),
        may("bytes", Kind::Integer("bytes", 1, 1 << 40), "`packets`", "50000", "Bytes."),
    ],
};

/// Options of handover policies.
pub(in crate::scenario) const POLICY: Table = Table {
    path: "sctp.NAME.policy",
    help: "Options of handover policies; each policy uses some (docs/handover.md).",
    keys: &[
        may(
            "initial_window",
            WINDOW,
            "the policy's",
            "{ packets = 1 }",
            "Congestion window with which a path starts after a switch.",
        ),
        key(
            "ssthresh",
            Kind::Either(&[
                Kind::Words(&["controller", "estimated-half-bdp"]),
                Kind::Integer("bytes", 0, I64),
            ]),
            "\"controller\"",
            "65536",
            "The new path's slow-start threshold.",
        ),
        key("bicast", Kind::Flag, "false", "true", "inherit: copies of the data on both paths (C-SCTP)."),
        key(
            "pace_start",
            Kind::Flag,
            "false",
            "true",
            "Spread the new path's first window over a round trip.",
        ),
        key(
            "switch_on_link_down",
            Kind::Flag,
            "true",
            "false",
            "Switch when the primary's link is reported down.",
        ),
        may("wbest", Kind::Table(&WBEST), "the defaults", "{}", "Parameters of the bandwidth estimator."),
        may(
            "probe_rule",
            Kind::Tables(&PROBE_RULE),
            "none",
            "[]",
            "Estimator parameters for the paths of an address.",
        ),
        key(
            "qos_delay",
            Kind::Words(&["path", "link"]),
            "\"path\"",
            "\"link\"",
            "qos-measurement: the delay that gives the new cell's window.",
        ),
        key(
            "probe_budget",
            Kind::Integer("bytes per minute", 0, U32),
            "1000000",
            "300000",
            "anticipate: bytes that may measure each idle path; 0: none.",
        ),
        may(
            "truth",
            Kind::Tables(&TRUTH),
            "none",
            "[]",
            "oracle, clairvoyant: the true rate and round trip of paths.",
        ),
    ],
};

/// The estimator's parameters.
pub(in crate::scenario) const WBEST: Table = Table {
    path: "sctp.NAME.policy.wbest",
    help: "Parameters of the WBest bandwidth estimator.",
    keys: WBEST_KEYS,
};

const WBEST_KEYS: &[super::Key] = &[
    key("pairs", Kind::Integer("pairs", 1, 1000), "6", "4", "Pairs per iteration."),
    key("train", Kind::Integer("probes", 2, 1000), "30", "12", "Probes per train."),
    key(
        "probe_bytes",
        Kind::Integer("bytes", 1, 65_535),
        "700",
        "500",
        "Length of a probe with its IP header.",
    ),
    may("smoothing", Kind::Number("0 to 1"), "0.7", "0.5", "Weight of a new estimate."),
    may("initial_capacity", Kind::Rate, "not known", "\"11Mbps\"", "The new link's own rate."),
    key("interval", Kind::Time, "\"0s\"", "\"100ms\"", "Pause between two iterations."),
    key("response_timeout", Kind::Time, "\"2s\"", "\"1s\"", "Longest wait for an answer."),
    key(
        "max_outstanding",
        Kind::Integer("probes", 2, U16),
        "1000",
        "100",
        "Probes without an answer at a time.",
    ),
];

/// Parameters for the paths of an address.
pub(in crate::scenario) const PROBE_RULE: Table = Table {
    path: "sctp.NAME.policy.probe_rule",
    help: "Estimator parameters for the paths of one address; the first rule that matches a path counts.",
    keys: &[
        need("address", Kind::Address, "\"10.0.2.2\"", "The local or remote address."),
        WBEST_KEYS[0],
        WBEST_KEYS[1],
        WBEST_KEYS[2],
        WBEST_KEYS[3],
        WBEST_KEYS[4],
        WBEST_KEYS[5],
        WBEST_KEYS[6],
        WBEST_KEYS[7],
    ],
};

/// The true capacity and delay of the paths of an address.
pub(in crate::scenario) const TRUTH: Table = Table {
    path: "sctp.NAME.policy.truth",
    help: "The true rate and round trip of the paths of one address, for the policies oracle and clairvoyant, which need it.",
    keys: &[
        need("address", Kind::Address, "\"10.0.2.2\"", "The local or remote address."),
        need("available", Kind::Rate, "\"4400kbps\"", "Its rate less the other traffic's."),
        need("rtt", Kind::Time, "\"70ms\"", "Its round trip without queues."),
    ],
};
