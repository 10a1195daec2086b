//! From a TOML document to a [`Scenario`]: which keys there are and what they mean. Whether the result makes sense
//! is [`check`](super::check)'s business.

use std::net::IpAddr;

use toml::de::DeTable;

use msctp_units::Span;

use super::document::{Document, Section};
use super::error::{Problem, ScenarioError, remedy};
use super::{ActionSpec, Do, Happening, LinkDirection, When};
use super::{
    AppKind, AppSpec, AssociationSpec, DirectionSpec, LinkSpec, LossConfig, NodeKind, NodeSpec, ProbeSpec,
    QueueLimit, Scenario, Side, check, sctp,
};

/// Reads and checks a scenario file.
pub(super) fn scenario(text: &str, file: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    let document = Document::parse(text, file, overrides)?;
    let read = whole(&document.root).and_then(|scenario| {
        check::scenario(&scenario)?;
        Ok(scenario)
    });
    read.map_err(|problem| document.locate(problem))
}

fn whole(root: &DeTable<'_>) -> Result<Scenario, Problem> {
    let keys = [
        "name",
        "description",
        "duration",
        "seed",
        "node",
        "link",
        "sctp",
        "association",
        "app",
        "action",
        "probes",
    ];
    let top = Section::open(root, String::new(), &keys)?;
    let duration = top.required("duration", top.span("duration")?, "\"60s\"")?;
    let mut scenario = Scenario::empty(top.text("name")?.unwrap_or("scenario"), duration, 1);
    top.text("description")?.unwrap_or_default().clone_into(&mut scenario.description);
    if let Some(seed) = top.integer("seed", 0, i128::from(u64::MAX))? {
        scenario.seed = seed;
    }
    for (path, table) in top.items("node")? {
        scenario.nodes.push(node(table, path)?);
    }
    for (path, table) in top.items("link")? {
        scenario.links.push(link(table, path)?);
    }
    for (name, table) in top.named("sctp")? {
        scenario.sctp.push(sctp::read(table, name)?);
    }
    for (path, table) in top.items("association")? {
        scenario.associations.push(association(table, path)?);
    }
    for (path, table) in top.items("app")? {
        scenario.apps.push(app(table, path)?);
    }
    for (path, table) in top.items("action")? {
        scenario.actions.push(action(table, path)?);
    }
    if let Some(section) = top.section("probes", &["throughput", "trace", "chunks", "queues"])? {
        scenario.probes = ProbeSpec {
            throughput: section.span("throughput")?,
            trace: section.flag("trace")?.unwrap_or(false),
            chunks: section.flag("chunks")?.unwrap_or(false),
            queues: section.span("queues")?,
        };
    }
    Ok(scenario)
}

fn name(section: &Section<'_, '_>) -> Result<String, Problem> {
    section.required("name", section.text("name")?, "\"…\"").map(str::to_owned)
}

fn node(table: &DeTable<'_>, path: String) -> Result<NodeSpec, Problem> {
    let section = Section::open(table, path, &["name", "kind"])?;
    let kinds = [("host", NodeKind::Host), ("router", NodeKind::Router)];
    let kind = section.required("kind", section.choice("kind", &kinds)?, "\"host\" or \"router\"")?;
    Ok(NodeSpec { name: name(&section)?, kind })
}

const DIRECTION_KEYS: [&str; 4] = ["rate", "delay", "queue", "loss"];

fn link(table: &DeTable<'_>, path: String) -> Result<LinkSpec, Problem> {
    let keys = [
        "name",
        "a",
        "b",
        "address_a",
        "address_b",
        "mtu",
        "up",
        "rate",
        "delay",
        "queue",
        "loss",
        "forward",
        "reverse",
    ];
    let section = Section::open(table, path, &keys)?;
    let end = |key| section.required(key, section.text(key)?, "\"a node's name\"").map(str::to_owned);
    let forward_section = section.section("forward", &DIRECTION_KEYS)?;
    let reverse_section = section.section("reverse", &DIRECTION_KEYS)?;
    Ok(LinkSpec {
        name: name(&section)?,
        a: end("a")?,
        b: end("b")?,
        address_a: section.address("address_a")?,
        address_b: section.address("address_b")?,
        mtu: section.integer("mtu", 0, i128::from(u32::MAX))?.unwrap_or(1500),
        up: section.flag("up")?.unwrap_or(true),
        forward: direction(&section, forward_section.as_ref())?,
        reverse: direction(&section, reverse_section.as_ref())?,
    })
}

/// One direction: its own keys where given, else the link's.
fn direction(both: &Section<'_, '_>, own: Option<&Section<'_, '_>>) -> Result<DirectionSpec, Problem> {
    let section = |key: &str| own.filter(|own| own.has(key)).unwrap_or(both);
    let rate = both.required("rate", section("rate").rate("rate")?, "\"11Mbps\"")?;
    let delay = both.required("delay", section("delay").span("delay")?, "\"20ms\"")?;
    Ok(DirectionSpec {
        rate,
        delay,
        queue: queue(section("queue"))?,
        loss: loss(section("loss"))?.unwrap_or(LossConfig::None),
    })
}

fn queue(section: &Section<'_, '_>) -> Result<QueueLimit, Problem> {
    if !section.has("queue") {
        return Ok(QueueLimit::Packets(50));
    }
    if !section.is_table("queue") {
        let unlimited = section.choice("queue", &[("unlimited", QueueLimit::Unbounded)])?;
        return section.required("queue", unlimited, "{ packets = 50 }");
    }
    let inner = section.section("queue", &["packets", "bytes"])?;
    let inner = section.required("queue", inner, "{ packets = 50 }")?;
    let packets = inner.integer("packets", 0, i128::from(u32::MAX))?.map(QueueLimit::Packets);
    let bytes = inner.integer("bytes", 0, i128::from(i64::MAX))?.map(QueueLimit::Bytes);
    match (packets, bytes) {
        (Some(queue), None) | (None, Some(queue)) => Ok(queue),
        _ => Err(Problem::new(
            section.key("queue"),
            "want exactly one of packets and bytes, as { packets = 50 } or { bytes = 75000 }",
        )),
    }
}

/// `loss = 0.01`, a Gilbert–Elliott channel by its four probabilities or by share and mean length of its bursts, or a
/// list of packets.
fn loss(section: &Section<'_, '_>) -> Result<Option<LossConfig>, Problem> {
    if !section.has("loss") {
        return Ok(None);
    }
    if !section.is_table("loss") {
        return Ok(section
            .number("loss")?
            .map(|p| if p == 0.0 { LossConfig::None } else { LossConfig::Uniform { probability: p } }));
    }
    let keys = ["good_to_bad", "bad_to_good", "loss_good", "loss_bad", "share", "mean_burst", "packets"];
    let inner = section.section("loss", &keys)?;
    let inner = section.required("loss", inner, "0.01")?;
    if let Some(packets) = inner.integers("packets")? {
        return Ok(Some(LossConfig::Scripted { packets }));
    }
    if let Some(share) = inner.number("share")? {
        let mean_burst = inner.required("mean_burst", inner.number("mean_burst")?, "5")?;
        return LossConfig::bursts(share, mean_burst).map(Some).map_err(|e| {
            let key = if e.what == "mean_burst" { "mean_burst" } else { "share" };
            Problem::new(inner.key(key), format!("{} cannot be: want {}", e.value, e.want))
        });
    }
    let chance = |key, default: Option<f64>| inner.required(key, inner.number(key)?.or(default), "0.1");
    Ok(Some(LossConfig::GilbertElliott {
        good_to_bad: chance("good_to_bad", None)?,
        bad_to_good: chance("bad_to_good", None)?,
        loss_good: chance("loss_good", Some(0.0))?,
        loss_bad: chance("loss_bad", Some(1.0))?,
    }))
}

fn association(table: &DeTable<'_>, path: String) -> Result<AssociationSpec, Problem> {
    let keys = [
        "name",
        "client",
        "server",
        "client_addresses",
        "server_addresses",
        "client_port",
        "server_port",
        "start",
        "sctp",
        "client_sctp",
        "server_sctp",
    ];
    let section = Section::open(table, path, &keys)?;
    let host = |key| section.required(key, section.text(key)?, "\"a host's name\"").map(str::to_owned);
    let addresses = |key| section.required(key, section.addresses(key)?, "[\"10.0.1.1\"]");
    let profile = |key| -> Result<Option<String>, Problem> {
        Ok(section.text(key)?.or(section.text("sctp")?).map(str::to_owned))
    };
    Ok(AssociationSpec {
        name: name(&section)?,
        client: host("client")?,
        server: host("server")?,
        client_addresses: addresses("client_addresses")?,
        server_addresses: addresses("server_addresses")?,
        client_port: section.integer("client_port", 1, 65_535)?.unwrap_or(0),
        server_port: section.integer("server_port", 1, 65_535)?.unwrap_or(5000),
        start: section.span("start")?.unwrap_or(Span::ZERO),
        client_profile: profile("client_sctp")?,
        server_profile: profile("server_sctp")?,
    })
}

const SIDES: [(&str, Side); 2] = [("client", Side::Client), ("server", Side::Server)];

fn app(table: &DeTable<'_>, path: String) -> Result<AppSpec, Problem> {
    let types = ["bulk", "reader", "cbr"];
    let kind = table.get("type").and_then(|value| value.get_ref().as_str()).unwrap_or_default();
    let mut keys = vec!["name", "type", "start", "stop"];
    keys.extend_from_slice(match kind {
        "bulk" => &["association", "from", "bytes", "message", "stream", "unordered"],
        "reader" => &["association", "at", "rate"],
        "cbr" => &["from", "to", "rate", "packet", "jitter", "random_phase"],
        _ => &[],
    });
    if !types.contains(&kind) {
        let section = Section::open(table, path, &table.keys().map(|k| &**k.get_ref()).collect::<Vec<_>>())?;
        let given = section.required("type", section.text("type")?, "\"bulk\", \"reader\" or \"cbr\"")?;
        return Err(Problem::new(
            section.key("type"),
            format!("\"{given}\" is unknown{}", remedy(given, types)),
        ));
    }
    let section = Section::open(table, path, &keys)?;
    let start = match section.text("start")? {
        Some("action") => None,
        _ => Some(section.span("start")?.unwrap_or(Span::ZERO)),
    };
    Ok(AppSpec {
        name: name(&section)?,
        start,
        stop: section.span("stop")?,
        kind: match kind {
            "bulk" => bulk(&section)?,
            "reader" => AppKind::Reader {
                association: association_of(&section)?,
                at: section.required("at", section.choice("at", &SIDES)?, "\"client\" or \"server\"")?,
                rate: section.required("rate", section.rate("rate")?, "\"1Mbps\"")?,
            },
            _ => cbr(&section)?,
        },
    })
}

fn association_of(section: &Section<'_, '_>) -> Result<String, Problem> {
    section
        .required("association", section.text("association")?, "\"an association's name\"")
        .map(str::to_owned)
}

fn bulk(section: &Section<'_, '_>) -> Result<AppKind, Problem> {
    Ok(AppKind::Bulk {
        association: association_of(section)?,
        from: section.required("from", section.choice("from", &SIDES)?, "\"client\" or \"server\"")?,
        bytes: section.integer("bytes", 1, i128::from(i64::MAX))?,
        message: section.integer("message", 1, 1 << 30)?.unwrap_or(1452),
        stream: section.integer("stream", 0, 65_534)?.unwrap_or(0),
        unordered: section.flag("unordered")?.unwrap_or(false),
    })
}

fn cbr(section: &Section<'_, '_>) -> Result<AppKind, Problem> {
    let end = |key| section.required(key, section.address(key)?, "\"10.0.2.1\"");
    Ok(AppKind::Cbr {
        from: end("from")?,
        to: end("to")?,
        rate: section.required("rate", section.rate("rate")?, "\"2Mbps\"")?,
        packet: section.integer("packet", 0, 65_535)?.unwrap_or(1000),
        jitter: section.flag("jitter")?.unwrap_or(true),
        random_phase: section.flag("random_phase")?.unwrap_or(true),
    })
}

const HAPPENINGS: [&str; 5] =
    ["established", "address-added", "address-deleted", "primary-changed", "delivered"];

/// The actions and the keys each takes beside `do`, `at`, `after`, `delay_after` and `name`.
const ACTIONS: [(&str, &[&str]); 13] = [
    ("link-up", &["link"]),
    ("link-down", &["link"]),
    ("set-link", &["link", "direction", "rate", "delay", "loss"]),
    ("address-up", &["address"]),
    ("address-down", &["address"]),
    ("add-address", &["association", "address"]),
    ("delete-address", &["association", "address"]),
    ("request-primary", &["association", "address"]),
    ("set-primary", &["association", "address"]),
    ("heartbeat", &["association", "address"]),
    ("shutdown", &["association", "side"]),
    ("start-app", &["app"]),
    ("stop-app", &["app"]),
];

fn action(table: &DeTable<'_>, path: String) -> Result<ActionSpec, Problem> {
    let word = table.get("do").and_then(|value| value.get_ref().as_str());
    let Some((_, own)) = ACTIONS.iter().find(|(known, _)| Some(*known) == word) else {
        let section = Section::open(table, path, &table.keys().map(|k| &**k.get_ref()).collect::<Vec<_>>())?;
        let given = section.required("do", section.text("do")?, "\"link-up\" or another action")?;
        let known = ACTIONS.iter().map(|&(known, _)| known);
        return Err(Problem::new(
            section.key("do"),
            format!("\"{given}\" is unknown{}", remedy(given, known)),
        ));
    };
    let mut keys = vec!["name", "do", "at", "after"];
    keys.extend_from_slice(own);
    let section = Section::open(table, path, &keys)?;
    Ok(ActionSpec { when: when(&section)?, what: what(&section, word.unwrap_or_default())? })
}

/// `at = "20s"` or `after = { event = "established", association = "a", delay = "1s" }`.
fn when(section: &Section<'_, '_>) -> Result<When, Problem> {
    match (section.has("at"), section.has("after")) {
        (true, false) => section.required("at", section.span("at")?, "\"20s\"").map(When::At),
        (false, true) => {
            let keys = ["event", "association", "address", "app", "delay"];
            let inner = section.section("after", &keys)?;
            let example = "{ event = \"established\", association = \"…\", delay = \"1s\" }";
            let inner = section.required("after", inner, example)?;
            let events = HAPPENINGS.map(|word| (word, word));
            let event = inner.required("event", inner.choice("event", &events)?, "\"established\"")?;
            let delay = inner.span("delay")?.unwrap_or(Span::ZERO);
            Ok(When::After { happening: happening(&inner, event)?, delay })
        }
        _ => Err(Problem::new(
            section.path(),
            "want exactly one of at = \"20s\" and after = { event = \"established\", association = \"…\" }",
        )),
    }
}

fn address_of(section: &Section<'_, '_>) -> Result<IpAddr, Problem> {
    section.required("address", section.address("address")?, "\"10.0.2.1\"")
}

fn happening(section: &Section<'_, '_>, event: &str) -> Result<Happening, Problem> {
    if event == "delivered" {
        let app = section.required("app", section.text("app")?, "\"an application's name\"")?.to_owned();
        return Ok(Happening::Delivered { app });
    }
    let association = association_of(section)?;
    Ok(match event {
        "established" => Happening::Established { association },
        "address-added" => Happening::AddressAdded { association, address: address_of(section)? },
        "address-deleted" => Happening::AddressDeleted { association, address: address_of(section)? },
        _ => Happening::PrimaryChanged { association, address: address_of(section)? },
    })
}

fn what(section: &Section<'_, '_>, word: &str) -> Result<Do, Problem> {
    let link = || section.required("link", section.text("link")?, "\"a link's name\"").map(str::to_owned);
    let app =
        || section.required("app", section.text("app")?, "\"an application's name\"").map(str::to_owned);
    let association = || association_of(section);
    let address = || address_of(section);
    let directions = [("forward", LinkDirection::Forward), ("reverse", LinkDirection::Reverse)];
    Ok(match word {
        "link-up" => Do::LinkUp { link: link()? },
        "link-down" => Do::LinkDown { link: link()? },
        "set-link" => Do::SetLink {
            link: link()?,
            direction: section.choice("direction", &directions)?,
            rate: section.rate("rate")?,
            delay: section.span("delay")?,
            loss: loss(section)?,
        },
        "address-up" => Do::AddressUp { address: address()? },
        "address-down" => Do::AddressDown { address: address()? },
        "add-address" => Do::AddAddress { association: association()?, address: address()? },
        "delete-address" => Do::DeleteAddress { association: association()?, address: address()? },
        "request-primary" => Do::RequestPrimary { association: association()?, address: address()? },
        "set-primary" => Do::SetPrimary { association: association()?, address: address()? },
        "heartbeat" => Do::Heartbeat { association: association()?, address: address()? },
        "shutdown" => Do::Shutdown {
            association: association()?,
            side: section.choice("side", &SIDES)?.unwrap_or(Side::Client),
        },
        "start-app" => Do::StartApp { app: app()? },
        _ => Do::StopApp { app: app()? },
    })
}
