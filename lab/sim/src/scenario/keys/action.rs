//! Keys of `[[action]]`: those of every action, those of each kind, and those of events.

use super::link::{CARRIES, LOSS, SCHEMES};
use super::{I64, Key, Kind, Table, U32, key, may, need};

/// An action of any kind.
pub(in crate::scenario) const ACTION: Table = Table {
    path: "action",
    help: "A change at a time or after an event: exactly one of `at` and `after`. Its `do` decides the other keys.",
    keys: &[
        may("name", Kind::Text, "its number", "\"move\"", "Name for overrides."),
        need(
            "do",
            Kind::Words(&[
                "link-up",
                "link-down",
                "set-link",
                "radio-handover",
                "address-up",
                "address-down",
                "add-address",
                "delete-address",
                "request-primary",
                "set-primary",
                "heartbeat",
                "report-quality",
                "shutdown",
                "rebind",
                "open-portal",
                "close-portal",
                "start-app",
                "stop-app",
            ]),
            "\"link-down\"",
            "The action.",
        ),
        may("at", Kind::Time, "`after`", "\"20s\"", "When it is executed."),
        may(
            "after",
            Kind::Table(&AFTER),
            "`at`",
            "{ event = \"established\", association = \"x\" }",
            "The event that triggers it.",
        ),
    ],
};

/// Keys of an event.
pub(in crate::scenario) const AFTER: Table = Table {
    path: "action.after",
    help: "An event that triggers an action, and when.",
    keys: &[
        need(
            "event",
            Kind::Words(&[
                "established",
                "address-added",
                "address-deleted",
                "primary-changed",
                "delivered",
                "signal-below",
                "signal-above",
                "queue-below",
                "queue-above",
                "rate-below",
                "rate-above",
            ]),
            "\"established\"",
            "The event.",
        ),
        key("delay", Kind::Time, "\"0s\"", "\"1s\"", "Time from the event to the action."),
        key(
            "repeat",
            Kind::Flag,
            "false",
            "true",
            "Every occurrence triggers the action, not only the first.",
        ),
    ],
};

const LINK: Key = need("link", Kind::Name("a link"), "\"wlan\"", "The link.");
const NODE: Key = need("node", Kind::Name("a node"), "\"home\"", "The middlebox.");
const APP: Key = need("app", Kind::Name("an application"), "\"file\"", "The application.");
const ASSOCIATION: Key =
    need("association", Kind::Name("an association"), "\"download\"", "The association.");
const ADDRESS: Key = need("address", Kind::Address, "\"10.0.2.2\"", "The address.");
const SCHEME: Key =
    may("scheme", Kind::Words(SCHEMES), "unchanged", "\"CS3\"", "Coding scheme of an EGPRS link.");
const BLER: Key = may("bler", Kind::Probability, "unchanged", "0.1", "Share of radio blocks lost.");
const WAY: Kind = Kind::Words(&["forward", "reverse"]);
const DIRECTION: Key = need("direction", WAY, "\"forward\"", "The direction of the link.");

const OF_LINK: Table = Table {
    path: "action[do=link-up, link-down]",
    help: "Brings a link up, or takes it down with what is on it.",
    keys: &[LINK],
};
const SET_LINK: Table = Table {
    path: "action[do=set-link]",
    help: "Changes a link; its type decides which keys.",
    keys: &[
        LINK,
        may("direction", WAY, "both", "\"forward\"", "One direction alone."),
        may("rate", Kind::Rate, "unchanged", "\"2Mbps\"", "Transmission rate."),
        may("delay", Kind::Time, "unchanged", "\"50ms\"", "Propagation delay."),
        may("loss", Kind::Either(&[Kind::Probability, Kind::Table(&LOSS)]), "unchanged", "0.05", "Losses."),
        SCHEME,
        BLER,
    ],
};
const RADIO_HANDOVER: Table = Table {
    path: "action[do=radio-handover]",
    help: "Changes the cell of an egprs or lte link; the link and its addresses stay.",
    keys: &[
        LINK,
        key("interruption", Kind::Time, "\"500ms\"", "\"200ms\"", "How long the link is interrupted."),
        key("carries", CARRIES, "\"everything\"", "\"unsent\"", "Packets that the old cell forwards."),
        SCHEME,
        BLER,
    ],
};
const OF_ADDRESS: Table = Table {
    path: "action[do=address-up, address-down]",
    help: "Gives an interface its address, or takes it away.",
    keys: &[ADDRESS],
};
const OF_ASSOCIATION: Table = Table {
    path: "action[do=add-address, delete-address, request-primary, heartbeat]",
    help: "Adds or deletes an own address (ASCONF), asks the peer to send there, or sends it a HEARTBEAT.",
    keys: &[ASSOCIATION, ADDRESS],
};
const SET_PRIMARY: Table = Table {
    path: "action[do=set-primary]",
    help: "Sets the primary path of an address's peer.",
    keys: &[
        ASSOCIATION,
        ADDRESS,
        may("from", Kind::Address, "the present one if possible", "\"10.0.0.1\"", "The source address."),
    ],
};
const REPORT_QUALITY: Table = Table {
    path: "action[do=report-quality]",
    help: "Reports the quality of the link below an address to its host, as a modem does; at least one value.",
    keys: &[
        ASSOCIATION,
        ADDRESS,
        may("coding_scheme", Kind::Words(SCHEMES), "not reported", "\"CS4\"", "Coding scheme."),
        may("rate", Kind::Rate, "not reported", "\"40kbps\"", "Rate."),
        may("block_error_rate", Kind::Probability, "not reported", "0.1", "Share of blocks lost."),
        may("round_trip", Kind::Time, "not reported", "\"600ms\"", "Round trip."),
        may("one_way", Kind::Time, "not reported", "\"300ms\"", "One-way delay."),
        may("cell", Kind::Integer("", 0, I64), "not reported", "7", "Identifier of the cell."),
    ],
};
const SHUTDOWN: Table = Table {
    path: "action[do=shutdown]",
    help: "Shuts an association down.",
    keys: &[
        ASSOCIATION,
        key(
            "side",
            Kind::Words(&["client", "server"]),
            "\"client\"",
            "\"server\"",
            "The end that starts it.",
        ),
    ],
};
const OF_NODE: Table = Table {
    path: "action[do=rebind, open-portal, close-portal]",
    help: "Makes a NAT forget its mappings, or opens or closes a captive portal.",
    keys: &[NODE],
};
const OF_APP: Table =
    Table { path: "action[do=start-app, stop-app]", help: "Starts or stops an application.", keys: &[APP] };

/// The actions with their own keys.
pub(in crate::scenario) const ACTIONS: [(&str, &Table); 18] = [
    ("link-up", &OF_LINK),
    ("link-down", &OF_LINK),
    ("set-link", &SET_LINK),
    ("radio-handover", &RADIO_HANDOVER),
    ("address-up", &OF_ADDRESS),
    ("address-down", &OF_ADDRESS),
    ("add-address", &OF_ASSOCIATION),
    ("delete-address", &OF_ASSOCIATION),
    ("request-primary", &OF_ASSOCIATION),
    ("set-primary", &SET_PRIMARY),
    ("heartbeat", &OF_ASSOCIATION),
    ("report-quality", &REPORT_QUALITY),
    ("shutdown", &SHUTDOWN),
    ("rebind", &OF_NODE),
    ("open-portal", &OF_NODE),
    ("close-portal", &OF_NODE),
    ("start-app", &OF_APP),
    ("stop-app", &OF_APP),
];

const E_ASSOCIATION: Table = Table {
    path: "action.after[event=established]",
    help: "The client considers the association up.",
    keys: &[ASSOCIATION],
};
const E_ADDRESS: Table = Table {
    path: "action.after[event=address-added, address-deleted, primary-changed]",
    help: "The peer acknowledged the change of an address, or the address became a primary path's destination.",
    keys: &[ASSOCIATION, ADDRESS],
};
const E_APP: Table = Table {
    path: "action.after[event=delivered]",
    help: "All bytes of a bulk application were delivered.",
    keys: &[APP],
};
const E_SIGNAL: Table = Table {
    path: "action.after[event=signal-below, signal-above]",
    help: "The receive power of a wlan or cellular link's radio, or of a trace link, crossed a threshold.",
    keys: &[LINK, need("dbm", Kind::Number("dBm"), "-80", "The threshold.")],
};
const E_QUEUE: Table = Table {
    path: "action.after[event=queue-below, queue-above]",
    help: "The queue of a link's direction crossed a threshold.",
    keys: &[LINK, DIRECTION, need("packets", Kind::Integer("packets", 0, U32), "50", "The threshold.")],
};
const E_RATE: Table = Table {
    path: "action.after[event=rate-below, rate-above]",
    help: "The rate that a link's direction delivered over the last second crossed a threshold.",
    keys: &[LINK, DIRECTION, need("rate", Kind::Rate, "\"2Mbps\"", "The threshold.")],
};

/// The events with their own keys.
pub(in crate::scenario) const EVENTS: [(&str, &Table); 11] = [
    ("established", &E_ASSOCIATION),
    ("address-added", &E_ADDRESS),
    ("address-deleted", &E_ADDRESS),
    ("primary-changed", &E_ADDRESS),
    ("delivered", &E_APP),
    ("signal-below", &E_SIGNAL),
    ("signal-above", &E_SIGNAL),
    ("queue-below", &E_QUEUE),
    ("queue-above", &E_QUEUE),
    ("rate-below", &E_RATE),
    ("rate-above", &E_RATE),
];

/// The tables of the actions and events, for the documents.
pub(super) const TABLES: &[&Table] = &[
    &OF_LINK,
    &SET_LINK,
    &RADIO_HANDOVER,
    &OF_ADDRESS,
    &OF_ASSOCIATION,
    &SET_PRIMARY,
    &REPORT_QUALITY,
    &SHUTDOWN,
    &OF_NODE,
    &OF_APP,
    &E_ASSOCIATION,
    &E_ADDRESS,
    &E_APP,
    &E_SIGNAL,
    &E_QUEUE,
    &E_RATE,
];
