//! Reads `[[node]]`.

use core::time::Duration;

use msctp_proto::{Mobility, Translation};
use toml::de::DeTable;

use super::{middlebox, name};
use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::{
    AgentOptions, MobileOptions, MobileSpec, NodeKind, NodeSpec, Position, Switching, Waypoint, keys,
};

const KINDS: [(&str, NodeKind); 7] = [
    ("host", NodeKind::Host),
    ("router", NodeKind::Router),
    ("home-agent", NodeKind::HomeAgent),
    ("foreign-agent", NodeKind::ForeignAgent),
    ("nat", NodeKind::Middlebox),
    ("firewall", NodeKind::Middlebox),
    ("captive-portal", NodeKind::Middlebox),
];

pub(super) fn read(table: &DeTable<'_>, path: String) -> Result<NodeSpec, Problem> {
    let section = Section::open(table, path, &keys::NODE.names())?;
    let kind =
        section.required("kind", section.choice("kind", &KINDS)?, "\"host\", \"router\" or another kind")?;
    let waypoints = section.items("waypoints")?;
    Ok(NodeSpec {
        name: name(&section)?,
        kind,
        position: position(&section, "position")?.unwrap_or_default(),
        agent: agent(&section)?,
        mobile: mobile(&section)?,
        follows: follows(&section)?,
        middlebox: middlebox::read(&section)?,
        waypoints: waypoints
            .into_iter()
            .map(|(path, table)| waypoint(table, path))
            .collect::<Result<_, _>>()?,
    })
}

/// Reads `agent = { interval = "1s", lifetime = "3s" }`.
fn agent(node: &Section<'_, '_>) -> Result<Option<AgentOptions>, Problem> {
    let Some(section) = node.section("agent", &keys::AGENT.names())? else { return Ok(None) };
    let mut agent = AgentOptions::default();
    for (key, field) in [
        ("interval", &mut agent.interval),
        ("offset", &mut agent.offset),
        ("lifetime", &mut agent.lifetime),
        ("registration_lifetime", &mut agent.registration_lifetime),
    ] {
        if let Some(span) = section.span(key)? {
            *field = span;
        }
    }
    Ok(Some(agent))
}

/// Reads `mobile = { home_agent = "ha", switching = "lazy" }`.
fn mobile(node: &Section<'_, '_>) -> Result<Option<MobileSpec>, Problem> {
    let Some(section) = node.section("mobile", &keys::MOBILE.names())? else { return Ok(None) };
    let mut options = MobileOptions::default();
    if let Some(switching) =
        section.choice("switching", &[("lazy", Switching::Lazy), ("eager", Switching::Eager)])?
    {
        options.switching = switching;
    }
    for (key, field) in
        [("lifetime", &mut options.lifetime), ("retry", &mut options.retry), ("scan", &mut options.scan)]
    {
        if let Some(span) = section.span(key)? {
            *field = span;
        }
    }
    let home_agent =
        section.required("home_agent", section.text("home_agent")?, "\"a home agent's name\"")?;
    Ok(Some(MobileSpec { home_agent: home_agent.to_owned(), options }))
}

/// Reads `follows = { prefer = ["wlan"], hold = "2s" }`.
fn follows(node: &Section<'_, '_>) -> Result<Option<Mobility>, Problem> {
    let Some(section) = node.section("follows", &keys::FOLLOWS.names())? else { return Ok(None) };
    let mut mobility = Mobility::default();
    if let Some(prefer) = section.texts("prefer")? {
        mobility.prefer = prefer;
    }
    mobility.backup = section.texts("backup")?;
    if let Some(metered) = section.texts("metered")? {
        mobility.metered = metered;
    }
    if let Some(only) = section.texts("only")? {
        mobility.only = only;
    }
    for (key, field) in [
        ("hold", &mut mobility.hold),
        ("calm", &mut mobility.calm),
        ("delete_after", &mut mobility.delete_after),
    ] {
        if let Some(span) = section.span(key)? {
            *field = span.into();
        }
    }
    mobility.probe = section.span("probe")?.map(Duration::from);
    let translations =
        [("auto", Translation::Auto), ("always", Translation::Always), ("never", Translation::Never)];
    if let Some(translation) = section.choice("translation", &translations)? {
        mobility.translation = translation;
    }
    Ok(Some(mobility))
}

/// Reads `{ at = "50s", to = [400, 0], speed = 20 }`.
fn waypoint(table: &DeTable<'_>, path: String) -> Result<Waypoint, Problem> {
    let section = Section::open(table, path, &keys::WAYPOINT.names())?;
    let speed = section.required("speed", section.number("speed")?, "20 (metres per second)")?;
    if !(0.001..=1e6).contains(&speed) {
        return Err(Problem::new(
            section.key("speed"),
            format!("{speed}: want 0.001 to 1000000 (metres per second)"),
        ));
    }
    Ok(Waypoint {
        at: section.required("at", section.span("at")?, "\"50s\"")?,
        to: section.required("to", position(&section, "to")?, "[400, 0] (metres)")?,
        speed_mm_s: (speed * 1000.0).round() as u64,
    })
}

/// Reads `[400, 0]`: metres eastwards and northwards.
fn position(section: &Section<'_, '_>, key: &str) -> Result<Option<Position>, Problem> {
    let Some(numbers) = section.numbers(key)? else { return Ok(None) };
    let millimetres = |metres: f64| (metres * 1000.0).round() as i64;
    match numbers[..] {
        [x, y] if x.abs() <= 1e9 && y.abs() <= 1e9 => {
            Ok(Some(Position { x_mm: millimetres(x), y_mm: millimetres(y) }))
        }
        _ => Err(Problem::new(
            section.key(key),
            "want two numbers, metres eastwards and northwards, up to 1e9, such as [400, 0]",
        )),
    }
}
