//! Keys of `[[tcp]]` and `[tcp-profile.NAME]`.

use msctp_lab_schemes::catalogue::window_controllers;

use super::sctp::{WINDOW, classifier_names};
use super::{I64, Kind, NAME, Table, U16, U32, key, may, need};

/// A connection.
pub(in crate::scenario) const TCP: Table = Table {
    path: "tcp",
    help: "A connection of the laboratory's TCP between two hosts (docs/models/lab-tcp.md).",
    keys: &[
        NAME,
        need("client", Kind::Name("a node"), "\"mobile\"", "The host that sends the SYN."),
        need("server", Kind::Name("a node"), "\"server\"", "The host that listens."),
        need("client_address", Kind::Address, "\"10.0.1.2\"", "The client's address."),
        need("server_address", Kind::Address, "\"10.0.0.1\"", "The server's address."),
        may("client_port", Kind::Integer("TCP port", 1, U16), "a free one", "7000", "The client's port."),
        key("server_port", Kind::Integer("TCP port", 1, U16), "80", "8080", "The server's port."),
        key("start", Kind::Time, "\"0s\"", "\"2s\"", "When the client sends the SYN."),
        may(
            "profile",
            Kind::Name("a tcp-profile"),
            "RFC 9293 with SACK",
            "\"old\"",
            "The options of both ends.",
        ),
        may("client_profile", Kind::Name("a tcp-profile"), "`profile`", "\"old\"", "The client's options."),
        may("server_profile", Kind::Name("a tcp-profile"), "`profile`", "\"old\"", "The server's options."),
    ],
};

fn controller_names() -> Vec<&'static str> {
    window_controllers().map(|entry| entry.name).collect()
}

/// A set of options.
pub(in crate::scenario) const PROFILE: Table = Table {
    path: "tcp-profile.NAME",
    help: "A set of the laboratory TCP's options (docs/models/lab-tcp.md).",
    keys: &[
        may(
            "mss",
            Kind::Integer("bytes", 88, 65_495),
            "1460 over IPv4, 1440 over IPv6",
            "1000",
            "Maximum segment size, options included.",
        ),
        key("mss_option", Kind::Flag, "true", "false", "Send the MSS option."),
        key("timestamps", Kind::Flag, "true", "false", "Offer timestamps (RFC 7323)."),
        key("window_scale", Kind::Flag, "true", "false", "Offer window scale (RFC 7323)."),
        key("recovery", Kind::Words(&["reno", "newreno", "sack"]), "\"sack\"", "\"reno\"", "Loss recovery."),
        key(
            "sack_limit",
            Kind::Either(&[Kind::Words(&["fits", "unlimited"]), Kind::Integer("blocks", 0, 65_536)]),
            "\"fits\"",
            "3",
            "SACK blocks in an ACK at most; 0: SACK is not offered.",
        ),
        key("receive_buffer", Kind::Integer("bytes", 88, U32), "1048576", "65535", "Receive buffer."),
        key("controller", Kind::Names(controller_names), "\"reno\"", "\"cubic\"", "Congestion controller."),
        may(
            "controller_options",
            Kind::Options,
            "the controller's defaults",
            "{}",
            "Options of the controller.",
        ),
        may(
            "initial_window",
            WINDOW,
            "2 to 4 segments (RFC 5681)",
            "{ packets = 10 }",
            "Window before the first ACK.",
        ),
        may(
            "initial_ssthresh",
            Kind::Integer("bytes", 1, I64),
            "arbitrarily high",
            "65536",
            "Slow-start threshold before the first loss.",
        ),
        key("ack_every", Kind::Integer("segments", 1, U32), "2", "1", "Segments per ACK at most."),
        key("ack_delay", Kind::Time, "\"200ms\"", "\"40ms\"", "Longest delay of an ACK."),
        key(
            "limited_transmit",
            Kind::Flag,
            "true",
            "false",
            "New data on the first two duplicate ACKs (RFC 3042).",
        ),
        key("nagle", Kind::Flag, "false", "true", "Nagle's algorithm."),
        key("rto_initial", Kind::Time, "\"1s\"", "\"3s\"", "Initial retransmission timeout."),
        key("rto_min", Kind::Time, "\"1s\"", "\"200ms\"", "Least retransmission timeout."),
        key("rto_max", Kind::Time, "\"60s\"", "\"120s\"", "Greatest retransmission timeout."),
        key("rto_granularity", Kind::Time, "\"1ms\"", "\"10ms\"", "Granularity of the clock (RFC 6298)."),
        key(
            "restart_timer_on_fast_retransmit",
            Kind::Flag,
            "false",
            "true",
            "A fast retransmit restarts the timer, as in ns-2.",
        ),
        key(
            "once_per_window",
            Kind::Flag,
            "false",
            "true",
            "Reno enters fast recovery once per window of data, as in ns-2.",
        ),
        key(
            "slow_but_steady",
            Kind::Flag,
            "false",
            "true",
            "NewReno restarts the timer at each partial ACK.",
        ),
        key(
            "ack_heuristic",
            Kind::Flag,
            "false",
            "true",
            "NewReno's heuristic for a second fast retransmit (RFC 6582 section 4.1).",
        ),
        key("halve_window", Kind::Flag, "false", "true", "A loss halves cwnd, not FlightSize, as in ns-2."),
        key(
            "grow_at_exit",
            Kind::Flag,
            "false",
            "true",
            "The ACK that ends recovery opens the window, as in ns-2.",
        ),
        key("counted_pipe", Kind::Flag, "false", "true", "SACK counts segments in flight as ns-2's Sack1."),
        key("frto", Kind::Flag, "false", "true", "Undo spurious timeouts (RFC 5682)."),
        key(
            "restart_rtt_after_spurious",
            Kind::Flag,
            "false",
            "true",
            "With `frto`: the round trip after a spurious timeout restarts the estimator.",
        ),
        key(
            "loss_classifier",
            Kind::Names(classifier_names),
            "\"none\"",
            "\"oracle\"",
            "Classifier of losses detected by duplicate ACKs.",
        ),
        may(
            "loss_classifier_options",
            Kind::Options,
            "the classifier's defaults",
            "{}",
            "Options of the classifier.",
        ),
        key("delay_response", Kind::Flag, "false", "true", "Answer a classified loss a round trip later."),
        key("timestamp_tick", Kind::Time, "\"1ms\"", "\"10ms\"", "Unit of the timestamp clock."),
        key(
            "max_retransmits",
            Kind::Integer("retransmissions", 0, U32),
            "15",
            "8",
            "Retransmissions of a segment before the connection is lost.",
        ),
        key(
            "time_wait",
            Kind::Time,
            "\"60s\"",
            "\"1s\"",
            "TIME-WAIT: how long the end that closed first keeps its state.",
        ),
    ],
};
