//! Reads `[[action]]`.

use std::net::IpAddr;

use msctp_units::Span;
use toml::de::DeTable;

use super::{SIDES, association_of, quality};
use crate::scenario::document::Section;
use crate::scenario::error::{Problem, suggest};
use crate::scenario::link::{CARRIES, INTERRUPTION, loss, probability};
use crate::scenario::{ActionSpec, Do, Happening, LinkDirection, Side, When};

const HAPPENINGS: [&str; 5] =
    ["established", "address-added", "address-deleted", "primary-changed", "delivered"];

/// The actions and their keys, besides `do`, `at`, `after`, `delay_after` and `name`.
const ACTIONS: [(&str, &[&str]); 15] = [
    ("link-up", &["link"]),
    ("link-down", &["link"]),
    ("set-link", &["link", "direction", "rate", "delay", "loss", "scheme", "bler"]),
    ("radio-handover", &["link", "interruption", "carries", "scheme", "bler"]),
    ("address-up", &["address"]),
    ("address-down", &["address"]),
    ("add-address", &["association", "address"]),
    ("delete-address", &["association", "address"]),
    ("request-primary", &["association", "address"]),
    ("set-primary", &["association", "address", "from"]),
    ("heartbeat", &["association", "address"]),
    ("report-quality", &quality::KEYS),
    ("shutdown", &["association", "side"]),
    ("start-app", &["app"]),
    ("stop-app", &["app"]),
];

pub(super) fn read(table: &DeTable<'_>, path: String) -> Result<ActionSpec, Problem> {
    let word = table.get("do").and_then(|value| value.get_ref().as_str());
    let Some((_, own)) = ACTIONS.iter().find(|(known, _)| Some(*known) == word) else {
        let section = Section::open(table, path, &table.keys().map(|k| &**k.get_ref()).collect::<Vec<_>>())?;
        let given = section.required("do", section.text("do")?, "\"link-up\" or another action")?;
        let known = ACTIONS.iter().map(|&(known, _)| known);
        return Err(Problem::new(
            section.key("do"),
            format!("\"{given}\" is unknown{}", suggest(given, known)),
        ));
    };
    let mut keys = vec!["name", "do", "at", "after"];
    keys.extend_from_slice(own);
    let section = Section::open(table, path, &keys)?;
    Ok(ActionSpec { when: when(&section)?, what: what(&section, word.unwrap_or_default())? })
}

/// Reads `at = "20s"` or `after = { event = "established", association = "a", delay = "1s" }`.
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
    let scheme = || section.parsed("scheme", "\"CS4\"");
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
        "start-app" => Do::StartApp { app: app()? },
        _ => Do::StopApp { app: app()? },
    })
}
