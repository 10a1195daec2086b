//! Reads `[[action]]`.

use std::net::IpAddr;

use msctp_units::Span;
use toml::de::DeTable;

use super::{SIDES, association_of, quality};
use crate::scenario::document::Section;
use crate::scenario::error::{Problem, suggest};
use crate::scenario::link::{CARRIES, INTERRUPTION, loss, probability};
use crate::scenario::{ActionSpec, Do, Happening, Level, LinkDirection, MiddleboxChange, Side, When, keys};

const DIRECTIONS: [(&str, LinkDirection); 2] =
    [("forward", LinkDirection::Forward), ("reverse", LinkDirection::Reverse)];

pub(super) fn read(table: &DeTable<'_>, path: String) -> Result<ActionSpec, Problem> {
    let word = table.get("do").and_then(|value| value.get_ref().as_str());
    let Some((_, own)) = keys::ACTIONS.iter().find(|(known, _)| Some(*known) == word) else {
        let section = Section::open(table, path, &table.keys().map(|k| &**k.get_ref()).collect::<Vec<_>>())?;
        let given = section.required("do", section.text("do")?, "\"link-up\" or another action")?;
        let known = keys::ACTIONS.iter().map(|&(known, _)| known);
        return Err(Problem::new(
            section.key("do"),
            format!("\"{given}\" is unknown{}", suggest(given, known)),
        ));
    };
    let section = Section::open(table, path, &keys::names(&[&keys::ACTION, own]))?;
    Ok(ActionSpec { when: when(&section)?, what: what(&section, word.unwrap_or_default())? })
}

/// Reads `at = "20s"` or `after = { event = "established", association = "a", delay = "1s" }`.
fn when(section: &Section<'_, '_>) -> Result<When, Problem> {
    match (section.has("at"), section.has("after")) {
        (true, false) => section.required("at", section.span("at")?, "\"20s\"").map(When::At),
        (false, true) => {
            let own = keys::EVENTS.map(|(_, own)| own);
            let all = keys::names(&own);
            let inner = section.section("after", &[&keys::AFTER.names()[..], &all].concat())?;
            let example = "{ event = \"established\", association = \"…\", delay = \"1s\" }";
            let inner = section.required("after", inner, example)?;
            let events = keys::EVENTS.map(|event| (event.0, event));
            let (event, own) = inner.required("event", inner.choice("event", &events)?, "\"established\"")?;
            if let Some(other) = all.into_iter().find(|key| inner.has(key) && !own.has(key)) {
                let message = format!("\"{event}\" has no {other}: want {}", own.names().join(", "));
                return Err(Problem::new(inner.key(other), message));
            }
            let delay = inner.span("delay")?.unwrap_or(Span::ZERO);
            let repeat = inner.flag("repeat")?.unwrap_or(false);
            Ok(When::After { happening: happening(&inner, event)?, delay, repeat })
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
    if let Some((level, side)) = event.split_once('-').filter(|(_, side)| ["below", "above"].contains(side)) {
        return self::level(section, level, side == "below");
    }
    let association = association_of(section)?;
    Ok(match event {
        "established" => Happening::Established { association },
        "address-added" => Happening::AddressAdded { association, address: address_of(section)? },
        "address-deleted" => Happening::AddressDeleted { association, address: address_of(section)? },
        _ => Happening::PrimaryChanged { association, address: address_of(section)? },
    })
}

/// Reads the threshold of a link's level.
fn level(section: &Section<'_, '_>, level: &str, below: bool) -> Result<Happening, Problem> {
    let link = section.required("link", section.text("link")?, "\"a link's name\"")?.to_owned();
    let direction = || {
        let given = section.choice("direction", &DIRECTIONS)?;
        section.required("direction", given, "\"forward\" or \"reverse\"")
    };
    let (level, threshold) = match level {
        "signal" => {
            let dbm = section.required("dbm", section.number("dbm")?, "-80")?;
            if !(-1000.0..=1000.0).contains(&dbm) {
                return Err(Problem::new(section.key("dbm"), format!("{dbm}: want -1000 to 1000 (dBm)")));
            }
            (Level::Signal, (dbm * 1000.0).round() as i64)
        }
        "queue" => {
            let packets = section.integer("packets", 0, i128::from(u32::MAX))?;
            (Level::Queue(direction()?), section.required("packets", packets, "50")?)
        }
        _ => {
            let rate = section.required("rate", section.rate("rate")?, "\"2Mbps\"")?;
            (Level::Rate(direction()?), i64::try_from(rate.as_bps()).unwrap_or(i64::MAX))
        }
    };
    Ok(Happening::Level { link, level, below, threshold })
}

fn what(section: &Section<'_, '_>, word: &str) -> Result<Do, Problem> {
    let link = || section.required("link", section.text("link")?, "\"a link's name\"").map(str::to_owned);
    let app =
        || section.required("app", section.text("app")?, "\"an application's name\"").map(str::to_owned);
    let association = || association_of(section);
    let address = || address_of(section);
    let scheme = || section.parsed("scheme", "\"CS4\"");
    let middlebox = |change| -> Result<Do, Problem> {
        let node = section.required("node", section.text("node")?, "\"a node's name\"")?.to_owned();
        Ok(Do::ChangeMiddlebox { node, change })
    };
    Ok(match word {
        "link-up" => Do::LinkUp { link: link()? },
        "link-down" => Do::LinkDown { link: link()? },
        "set-link" => Do::SetLink {
            link: link()?,
            direction: section.choice("direction", &DIRECTIONS)?,
            rate: section.rate("rate")?,
            delay: section.span("delay")?,
            loss: loss(section)?,
            scheme: scheme()?,
            bler: probability(section, "bler")?,
        },
        "radio-handover" => Do::RadioHandover {
            link: link()?,
            interruption: section.span("interruption")?.unwrap_or(INTERRUPTION),
            carries: section.choice("carries", &CARRIES)?.unwrap_or_default(),
            scheme: scheme()?,
            bler: probability(section, "bler")?,
        },
        "address-up" => Do::AddressUp { address: address()? },
        "address-down" => Do::AddressDown { address: address()? },
        "add-address" => Do::AddAddress { association: association()?, address: address()? },
        "delete-address" => Do::DeleteAddress { association: association()?, address: address()? },
        "request-primary" => Do::RequestPrimary { association: association()?, address: address()? },
        "set-primary" => Do::SetPrimary {
            association: association()?,
            address: address()?,
            from: section.address("from")?,
        },
        "heartbeat" => Do::Heartbeat { association: association()?, address: address()? },
        "report-quality" => Do::ReportQuality {
            association: association()?,
            address: address()?,
            quality: quality::read(section)?,
        },
        "shutdown" => Do::Shutdown {
            association: association()?,
            side: section.choice("side", &SIDES)?.unwrap_or(Side::Client),
        },
        "rebind" => middlebox(MiddleboxChange::Rebind)?,
        "open-portal" => middlebox(MiddleboxChange::Open)?,
        "close-portal" => middlebox(MiddleboxChange::Close)?,
        "start-app" => Do::StartApp { app: app()? },
        _ => Do::StopApp { app: app()? },
    })
}
