//! Keys of `[[app]]`: those of every application, and those of each type.

use super::{I64, Kind, NAME, Table, U16, key, may, need};

/// An application of any type.
pub(in crate::scenario) const APP: Table = Table {
    path: "app",
    help: "A source or a reader of data; its type decides the other keys.",
    keys: &[
        NAME,
        need(
            "type",
            Kind::Words(&["bulk", "reader", "video", "cbr"]),
            "\"bulk\"",
            "The kind of application.",
        ),
        key(
            "start",
            Kind::Either(&[Kind::Time, Kind::Words(&["action"])]),
            "\"0s\"",
            "\"2s\"",
            "When it starts; \"action\": an action starts it.",
        ),
        may("stop", Kind::Time, "the end of the run", "\"9s\"", "When it stops."),
    ],
};

const SIDE: Kind = Kind::Words(&["client", "server"]);
const ASSOCIATION: super::Key =
    need("association", Kind::Name("an association"), "\"download\"", "The association.");
const CONNECTION: super::Key = need("tcp", Kind::Name("a tcp connection"), "\"page\"", "The TCP connection.");
const FROM: super::Key = need("from", SIDE, "\"server\"", "The end that sends.");
const AT: super::Key = need("at", SIDE, "\"client\"", "The end that reads.");
const BYTES: super::Key =
    may("bytes", Kind::Integer("bytes", 1, I64), "it never ends", "1000000", "Bytes to send in all.");
const READ_RATE: super::Key = need("rate", Kind::Rate, "\"1Mbps\"", "The rate at which it reads.");
const PHASE: super::Key =
    key("random_phase", Kind::Flag, "true", "false", "A random time before the first message.");

/// Options of applications that send messages.
pub(in crate::scenario) const SENDING: Table = Table {
    path: "app[type=bulk, video]",
    help: "How an application sends its messages; at most one of `lifetime`, `max_retransmissions` and `priority`.",
    keys: &[
        key("stream", Kind::Integer("", 0, 65_534), "0", "3", "Stream identifier."),
        key("unordered", Kind::Flag, "false", "true", "Messages are delivered in any order."),
        may(
            "lifetime",
            Kind::Time,
            "reliable",
            "\"200ms\"",
            "Messages are abandoned after this time (RFC 3758).",
        ),
        may(
            "max_retransmissions",
            Kind::Integer("retransmissions", 0, U16),
            "reliable",
            "2",
            "Messages are abandoned after this many retransmissions (RFC 7496).",
        ),
        may(
            "priority",
            Kind::Integer("", 0, U16),
            "reliable",
            "1",
            "Messages give way to those of a lower number (RFC 7496).",
        ),
    ],
};

const BULK: Table = Table {
    path: "app[type=bulk]",
    help: "Sends as much as the association takes.",
    keys: &[
        ASSOCIATION,
        FROM,
        BYTES,
        may(
            "message",
            Kind::Integer("bytes", 1, 1 << 30),
            "1452, a packet of 1500; 1444 over UDP",
            "500",
            "Length of a message.",
        ),
    ],
};

const READER: Table = Table {
    path: "app[type=reader]",
    help: "Reads slowly; an end without a reader reads at once.",
    keys: &[ASSOCIATION, AT, READ_RATE],
};

const VIDEO: Table = Table {
    path: "app[type=video]",
    help: "Sends frames at intervals, of one size or from a trace.",
    keys: &[
        ASSOCIATION,
        FROM,
        may("size", Kind::Integer("bytes", 8, 1 << 30), "by `trace`", "6395", "Length of a frame."),
        need(
            "interval",
            Kind::Time,
            "\"33ms\"",
            "Time between frames; with a trace, of its frames without a time.",
        ),
        may("trace", Kind::File, "by `size`", "\"frames.txt\"", "File of frame sizes."),
        PHASE,
    ],
};

const CBR: Table = Table {
    path: "app[type=cbr]",
    help: "Sends UDP packets at a constant rate, as ns-2's CBR.",
    keys: &[
        need("from", Kind::Address, "\"10.0.0.1\"", "Source address."),
        need("to", Kind::Address, "\"10.0.1.2\"", "Destination address."),
        need("rate", Kind::Rate, "\"2Mbps\"", "Rate, headers included."),
        key(
            "packet",
            Kind::Integer("bytes", 28, 65_535),
            "1000",
            "500",
            "Length of a packet with its headers.",
        ),
        key("jitter", Kind::Flag, "true", "false", "Intervals vary by up to a half."),
        PHASE,
    ],
};

const TCP_BULK: Table = Table {
    path: "app[type=bulk, tcp]",
    help: "Sends as much as a TCP connection takes.",
    keys: &[CONNECTION, FROM, BYTES],
};

const TCP_READER: Table = Table {
    path: "app[type=reader, tcp]",
    help: "Reads slowly from a TCP connection.",
    keys: &[CONNECTION, AT, READ_RATE],
};

/// Each type with its own keys, over an association or UDP, and over TCP.
pub(in crate::scenario) const APPS: [(&str, bool, &Table); 6] = [
    ("bulk", false, &BULK),
    ("reader", false, &READER),
    ("video", false, &VIDEO),
    ("cbr", false, &CBR),
    ("bulk", true, &TCP_BULK),
    ("reader", true, &TCP_READER),
];

/// The tables of the types, for the documents.
pub(super) const TABLES: &[&Table] = &[&BULK, &VIDEO, &SENDING, &READER, &CBR, &TCP_BULK, &TCP_READER];
