//! Reads `[[app]]`.

use msctp_proto::Reliability;
use msctp_units::Span;
use toml::de::DeTable;

use super::{Open, SIDES, association_of, name};
use crate::scenario::document::Section;
use crate::scenario::error::{Problem, suggest};
use crate::scenario::{AppKind, AppSpec, Frame, LEAST_FRAME, MOST_FRAME, Sending, keys, read_frames, tcp};

/// Reads an application. `message` is the default length of a bulk application's messages.
pub(super) fn read(
    table: &DeTable<'_>,
    path: String,
    open: &Open<'_>,
    message: u32,
) -> Result<AppSpec, Problem> {
    let kind = table.get("type").and_then(|value| value.get_ref().as_str()).unwrap_or_default();
    let over_tcp = table.contains_key("tcp");
    let of_kind = || keys::APPS.iter().filter(|(word, ..)| *word == kind);
    let exact = of_kind().find(|(_, tcp, _)| *tcp == over_tcp);
    let Some(&(_, over_tcp, own)) = exact.or_else(|| of_kind().next()) else {
        let section = Section::open(table, path, &table.keys().map(|k| &**k.get_ref()).collect::<Vec<_>>())?;
        let given =
            section.required("type", section.text("type")?, "\"bulk\", \"reader\", \"video\" or \"cbr\"")?;
        return Err(Problem::new(
            section.key("type"),
            format!("\"{given}\" is unknown{}", suggest(given, ["bulk", "reader", "video", "cbr"])),
        ));
    };
    let mut known = keys::names(&[&keys::APP, own]);
    if kind == "video" || kind == "bulk" && !over_tcp {
        known.extend(keys::SENDING.names());
    }
    let section = Section::open(table, path, &known)?;
    let start = match section.text("start")? {
        Some("action") => None,
        _ => Some(section.span("start")?.unwrap_or(Span::ZERO)),
    };
    Ok(AppSpec {
        name: name(&section)?,
        start,
        stop: section.span("stop")?,
        kind: match kind {
            "bulk" if over_tcp => tcp::bulk(&section)?,
            "reader" if over_tcp => tcp::reader(&section)?,
            "bulk" => bulk(&section, message)?,
            "video" => video(&section, open)?,
            "reader" => AppKind::Reader {
                association: association_of(&section)?,
                at: section.required("at", section.choice("at", &SIDES)?, "\"client\" or \"server\"")?,
                rate: section.required("rate", section.rate("rate")?, "\"1Mbps\"")?,
            },
            _ => cbr(&section)?,
        },
    })
}

fn bulk(section: &Section<'_, '_>, message: u32) -> Result<AppKind, Problem> {
    Ok(AppKind::Bulk {
        association: association_of(section)?,
        from: section.required("from", section.choice("from", &SIDES)?, "\"client\" or \"server\"")?,
        bytes: section.integer("bytes", 1, i128::from(i64::MAX))?,
        message: section.integer("message", 1, 1 << 30)?.unwrap_or(message),
        sending: sending(section)?,
    })
}

fn sending(section: &Section<'_, '_>) -> Result<Sending, Problem> {
    let limits = [
        ("lifetime", section.span("lifetime")?.map(Reliability::Lifetime)),
        (
            "max_retransmissions",
            section.integer("max_retransmissions", 0, 65_535)?.map(Reliability::Retransmissions),
        ),
        ("priority", section.integer("priority", 0, 65_535)?.map(Reliability::Priority)),
    ];
    let mut given = limits.into_iter().filter_map(|(key, limit)| Some((key, limit?)));
    let (first, second) = (given.next(), given.next());
    if let (Some((first, _)), Some((second, _))) = (first, second) {
        return Err(Problem::new(
            section.key(second),
            format!("a message has one limit: want {first} or {second}"),
        ));
    }
    let reliability = first.map_or(Reliability::Full, |(_, limit)| limit);
    if reliability == Reliability::Lifetime(Span::ZERO) {
        return Err(Problem::new(
            section.key("lifetime"),
            "a lifetime of 0s expires before the message is sent: want a longer one, such as \"200ms\"",
        ));
    }
    Ok(Sending {
        stream: section.integer("stream", 0, 65_534)?.unwrap_or(0),
        unordered: section.flag("unordered")?.unwrap_or(false),
        reliability,
    })
}

fn video(section: &Section<'_, '_>, open: &Open<'_>) -> Result<AppKind, Problem> {
    let interval = section.span("interval")?;
    if interval.is_some_and(Span::is_zero) {
        return Err(Problem::new(section.key("interval"), "0s: want more, such as \"33ms\""));
    }
    let size = section.integer("size", i128::from(LEAST_FRAME), i128::from(MOST_FRAME))?;
    let frames = match (section.text("trace")?, size) {
        (None, _) => {
            let bytes = section.required("size", size, "6395, or trace = \"a file\"")?;
            vec![Frame { bytes, interval: section.required("interval", interval, "\"33ms\"")? }]
        }
        (Some(_), Some(_)) => {
            return Err(Problem::new(
                section.key("size"),
                "the trace has the frames' sizes: want either size or trace",
            ));
        }
        (Some(file), None) => {
            let fail =
                |why: &dyn std::fmt::Display| Problem::new(section.key("trace"), format!("{file}:{why}"));
            let interval = section.required("interval", interval, "\"33ms\"")?;
            let text = open(file).map_err(|why| fail(&format_args!(" {why}")))?;
            read_frames(&text, interval).map_err(|error| fail(&error))?
        }
    };
    Ok(AppKind::Video {
        association: association_of(section)?,
        from: section.required("from", section.choice("from", &SIDES)?, "\"client\" or \"server\"")?,
        frames: frames.into(),
        sending: sending(section)?,
        random_phase: section.flag("random_phase")?.unwrap_or(true),
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
