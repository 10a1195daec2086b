//! Keys of `[[node]]`.

use super::{Kind, NAME, Table, U16, key, may, need};

/// A node.
pub(in crate::scenario) const NODE: Table = Table {
    path: "node",
    help: "A host, a router, a mobility agent or a middlebox.",
    keys: &[
        NAME,
        need(
            "kind",
            Kind::Words(&[
                "host",
                "router",
                "home-agent",
                "foreign-agent",
                "nat",
                "firewall",
                "captive-portal",
            ]),
            "\"host\"",
            "A host sends and receives, and leaves through the interface of the source address. All others forward on the \
             shortest path.",
        ),
        key(
            "position",
            Kind::Numbers,
            "[0, 0]",
            "[400, 0]",
            "Place at the start: metres eastwards and northwards.",
        ),
        may(
            "waypoints",
            Kind::Tables(&WAYPOINT),
            "it stays",
            "[]",
            "Movements in straight lines, in order of time.",
        ),
        may(
            "agent",
            Kind::Table(&AGENT),
            "the defaults",
            "{}",
            "Options of a home agent or foreign agent (RFC 5944).",
        ),
        may(
            "mobile",
            Kind::Table(&MOBILE),
            "no Mobile IP",
            "{ home_agent = \"ha\" }",
            "Makes a host a mobile of Mobile IP (RFC 5944).",
        ),
        may(
            "follows",
            Kind::Table(&FOLLOWS),
            "only actions change addresses",
            "{ prefer = [\"wlan\"] }",
            "Has a host use the addresses of its links that are up, without actions, as a mobile endpoint does.",
        ),
        may(
            "nat",
            Kind::Table(&NAT),
            "required with kind = \"nat\"",
            "{ outside = \"dsl\" }",
            "Behaviour of a NAT.",
        ),
        may(
            "firewall",
            Kind::Table(&FIREWALL),
            "required with kind = \"firewall\"",
            "{ outside = \"dsl\" }",
            "Behaviour of a stateful firewall.",
        ),
        may(
            "portal",
            Kind::Table(&PORTAL),
            "required with kind = \"captive-portal\"",
            "{ outside = \"dsl\" }",
            "Behaviour of a captive portal.",
        ),
    ],
};

/// A host that follows its links.
pub(in crate::scenario) const FOLLOWS: Table = Table {
    path: "node.follows",
    help: "How a host follows its links. The name of a link is that of its interface.",
    keys: &[
        key(
            "prefer",
            Kind::Texts,
            "[\"en\", \"eth\", \"wl\"]",
            "[\"wlan\", \"lte\"]",
            "Beginnings of names of links, the best first; the others rank equally after them.",
        ),
        may(
            "backup",
            Kind::Texts,
            "cellular ones (`ww…`, `rmnet…`) that `prefer` does not name",
            "[\"lte\"]",
            "Beginnings of names of links that carry data only while no other works well.",
        ),
        key(
            "metered",
            Kind::Texts,
            "[]",
            "[\"lte\"]",
            "Beginnings of names of links that are paid by the byte: measured rarely, and not used together with others.",
        ),
        key(
            "only",
            Kind::Texts,
            "[]",
            "[\"wlan\"]",
            "Beginnings of names of the links that are used; none: all.",
        ),
        may(
            "probe",
            Kind::Time,
            "300ms with a policy that measures, else none",
            "\"500ms\"",
            "Time to measure a new path before data moves to it, while the old one works.",
        ),
        key(
            "hold",
            Kind::Time,
            "\"1s\"",
            "\"2s\"",
            "Time that a link which came up again waits while another works; it doubles, up to 32 times, while it flaps.",
        ),
        key("calm", Kind::Time, "\"30s\"", "\"60s\"", "Uptime after which a link's failures are forgotten."),
        key(
            "delete_after",
            Kind::Time,
            "\"0s\"",
            "\"3s\"",
            "Downtime of a link after which its address is deleted from associations with another one.",
        ),
        key(
            "translation",
            Kind::Words(&["auto", "always", "never"]),
            "\"auto\"",
            "\"always\"",
            "Whether a NAT translates the host's addresses: auto expects one before private addresses if the peer's are not.",
        ),
    ],
};

/// A movement.
pub(in crate::scenario) const WAYPOINT: Table = Table {
    path: "node.waypoints",
    help: "A movement in a straight line.",
    keys: &[
        need("at", Kind::Time, "\"50s\"", "Its start."),
        need("to", Kind::Numbers, "[400, 0]", "Its destination: metres eastwards and northwards."),
        need("speed", Kind::Number("metres per second"), "20", "Its speed, 0.001 to 1000000."),
    ],
};

/// A mobility agent.
pub(in crate::scenario) const AGENT: Table = Table {
    path: "node.agent",
    help: "Options of a mobility agent (docs/models/mobile-ip.md).",
    keys: &[
        key("interval", Kind::Time, "\"1s\"", "\"500ms\"", "Time between two advertisements, at least 1ms."),
        key("offset", Kind::Time, "\"0s\"", "\"300ms\"", "Time of the first advertisement."),
        key("lifetime", Kind::Time, "\"3s\"", "\"9s\"", "Lifetime of an advertisement, in whole seconds."),
        key(
            "registration_lifetime",
            Kind::Time,
            "\"300s\"",
            "\"30s\"",
            "The longest registration granted, in whole seconds.",
        ),
    ],
};

/// A mobile.
pub(in crate::scenario) const MOBILE: Table = Table {
    path: "node.mobile",
    help: "Options of a mobile of Mobile IP (docs/models/mobile-ip.md).",
    keys: &[
        need(
            "home_agent",
            Kind::Name("a home agent"),
            "\"ha\"",
            "Its home agent; its one address is that of its link there.",
        ),
        key(
            "switching",
            Kind::Words(&["lazy", "eager"]),
            "\"lazy\"",
            "\"eager\"",
            "Lazy: changes the agent when its advertisement has expired. Eager: at a new agent's first advertisement.",
        ),
        key("lifetime", Kind::Time, "\"60s\"", "\"30s\"", "The lifetime that it requests, in whole seconds."),
        key(
            "retry",
            Kind::Time,
            "\"1s\"",
            "\"2s\"",
            "Retransmission timeout of the first request, doubled for each later one.",
        ),
        key(
            "scan",
            Kind::Time,
            "\"100ms\"",
            "\"50ms\"",
            "Interval between checks of the cells that it is in.",
        ),
    ],
};

const DEPENDENCES: Kind =
    Kind::Words(&["endpoint-independent", "address-dependent", "address-and-port-dependent"]);

/// A NAT.
pub(in crate::scenario) const NAT: Table = Table {
    path: "node.nat",
    help: "Behaviour of a NAT (RFC 4787, docs/models/middleboxes.md).",
    keys: &[
        need(
            "outside",
            Kind::Name("a link"),
            "\"dsl\"",
            "The link to the outside, at whose end the NAT has its address.",
        ),
        key(
            "mapping",
            DEPENDENCES,
            "\"endpoint-independent\"",
            "\"address-and-port-dependent\"",
            "The part of the destination that gets a port of its own (RFC 4787 section 4.1); both: a symmetric NAT.",
        ),
        key(
            "filtering",
            DEPENDENCES,
            "\"address-and-port-dependent\"",
            "\"address-dependent\"",
            "The part of the source to which the inside must have sent (RFC 4787 section 5).",
        ),
        key(
            "timeout",
            Kind::Time,
            "\"120s\"",
            "\"30s\"",
            "Lifetime of a mapping after the last packet from inside.",
        ),
        key("ports", Kind::Numbers, "[1024, 65535]", "[20000, 20999]", "First and last port of the pool."),
    ],
};

/// A firewall.
pub(in crate::scenario) const FIREWALL: Table = Table {
    path: "node.firewall",
    help: "Behaviour of a stateful firewall (docs/models/middleboxes.md).",
    keys: &[
        need("outside", Kind::Name("a link"), "\"dsl\"", "The link to the outside."),
        key(
            "timeout",
            Kind::Time,
            "\"120s\"",
            "\"30s\"",
            "Lifetime of a flow's state after its last packet.",
        ),
    ],
};

/// A captive portal.
pub(in crate::scenario) const PORTAL: Table = Table {
    path: "node.portal",
    help: "Behaviour of a captive portal (docs/models/middleboxes.md).",
    keys: &[
        need("outside", Kind::Name("a link"), "\"dsl\"", "The link to the outside."),
        key("open", Kind::Flag, "false", "true", "Everything passes from the start."),
    ],
};

/// SCTP associations; their nodes and addresses.
pub(in crate::scenario) const ASSOCIATION: Table = Table {
    path: "association",
    help: "An SCTP association between two hosts.",
    keys: &[
        NAME,
        need("client", Kind::Name("a node"), "\"mobile\"", "The host that sends the INIT."),
        need("server", Kind::Name("a node"), "\"server\"", "The host that listens."),
        need(
            "client_addresses",
            Kind::Addresses,
            "[\"10.0.1.2\"]",
            "The client's addresses at the start; one behind a NAT.",
        ),
        need("server_addresses", Kind::Addresses, "[\"10.0.0.1\"]", "The server's addresses at the start."),
        may(
            "client_port",
            Kind::Integer("SCTP port", 1, U16),
            "a free one",
            "7000",
            "The client's SCTP port.",
        ),
        key("server_port", Kind::Integer("SCTP port", 1, U16), "5000", "9000", "The server's SCTP port."),
        key("start", Kind::Time, "\"0s\"", "\"2s\"", "When the client sends the INIT."),
        may(
            "sctp",
            Kind::Name("an sctp profile"),
            "RFC 9260's defaults",
            "\"fast\"",
            "The options of both ends.",
        ),
        may("client_sctp", Kind::Name("an sctp profile"), "`sctp`", "\"fast\"", "The client's options."),
        may("server_sctp", Kind::Name("an sctp profile"), "`sctp`", "\"fast\"", "The server's options."),
    ],
};
