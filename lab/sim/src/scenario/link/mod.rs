//! Links of a scenario: the parts common to all types. Each type has a file with its specification, its keys,
//! and how they are read and checked.

mod cellular;
mod coding;
mod egprs;
mod lte;
mod own;
mod plain;
mod radio;
mod trace;
mod wlan;

use std::net::IpAddr;

use msctp_congestion::classifier::Cause;
use msctp_link::QueueLimit;
use msctp_units::Span;

use toml::de::DeTable;

use super::Schemes;
use super::document::Section;
use super::error::{Problem, suggest};
use super::keys;
use super::read::Open;

pub(super) use cellular::check_cells as check_cellular;
pub use cellular::{CellularChannel, CellularSpec};
pub use coding::CodingSpec;
pub(super) use coding::{CARRIES, INTERRUPTION};
pub use egprs::EgprsSpec;
pub use lte::LteSpec;
pub use own::{LinkFactory, OwnLink, OwnSpec};
pub use plain::PlainSpec;
pub(super) use plain::{check_loss, loss};
pub(super) use radio::probability;
pub use trace::TraceSpec;
pub(super) use wlan::check_cells;
pub use wlan::{Fading, WlanSpec};

/// A link between two nodes. Each end at a host is an interface of that host, with one address.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Unique among links.
    pub name: String,
    /// Node at one end.
    pub a: String,
    /// Node at the other end.
    pub b: String,
    /// Address of the interface at `a`; required if `a` is a host.
    pub address_a: Option<IpAddr>,
    /// Address of the interface at `b`; required if `b` is a host.
    pub address_b: Option<IpAddr>,
    /// MTU in bytes. Larger packets are dropped and counted.
    pub mtu: u32,
    /// The cause of its losses, reported to loss classifiers: a radio, or queues that are not modelled.
    pub loss_means: Cause,
    /// True if the link is up at the start; otherwise it is down until an action brings it up.
    pub up: bool,
    /// Queue length from which each direction's queue marks ECN-capable packets (RFC 3168 §5) and drops
    /// others, forward and reverse. With `None` it drops only when full.
    pub mark: [Option<QueueLimit>; 2],
    /// Changes of an EGPRS link's conditions.
    pub coding: Option<CodingSpec>,
    /// True if the hosts at a radio link's ends are notified of its conditions, and report them to their
    /// peers.
    pub report_quality: bool,
    /// From `a` to `b`.
    pub forward: DirectionSpec,
    /// From `b` to `a`.
    pub reverse: DirectionSpec,
}

/// A direction over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// From `a` to `b`.
    Forward,
    /// From `b` to `a`.
    Reverse,
}

impl LinkDirection {
    /// Returns the word used in files and labels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum DirectionSpec {
    /// A plain link with rate, delay, queue and losses.
    Plain(PlainSpec),
    /// A wireless hop.
    Wlan(Box<WlanSpec>),
    /// A user of a cell with a scheduler.
    Cellular(Box<CellularSpec>),
    /// An EGPRS link, whose radio blocks are retransmitted until they arrive.
    Egprs(Box<EgprsSpec>),
    /// RLC in acknowledged mode over HARQ.
    Lte(Box<LteSpec>),
    /// Transmission opportunities from a trace.
    Trace(Box<TraceSpec>),
    /// A model of the caller's.
    Own(Box<OwnSpec>),
}

impl DirectionSpec {
    /// Returns the specification of a plain direction; `None` for other types.
    #[must_use]
    pub fn plain(&self) -> Option<&PlainSpec> {
        match self {
            Self::Plain(plain) => Some(plain),
            Self::Wlan(_)
            | Self::Cellular(_)
            | Self::Egprs(_)
            | Self::Lte(_)
            | Self::Trace(_)
            | Self::Own(_) => None,
        }
    }

    /// Returns the specification of a plain direction, mutable; `None` for other types.
    pub fn plain_mut(&mut self) -> Option<&mut PlainSpec> {
        match self {
            Self::Plain(plain) => Some(plain),
            Self::Wlan(_)
            | Self::Cellular(_)
            | Self::Egprs(_)
            | Self::Lte(_)
            | Self::Trace(_)
            | Self::Own(_) => None,
        }
    }

    /// Returns the word of the key `type`, and the properties that an action can set.
    pub(super) fn can_set(&self) -> (&str, &'static [&'static str]) {
        match self {
            Self::Plain(_) => ("plain", &["rate", "delay", "loss"]),
            Self::Wlan(_) => ("wlan", &[]),
            Self::Cellular(spec) if matches!(spec.channel, CellularChannel::Rate(_)) => {
                ("cellular", &["rate", "delay", "loss"])
            }
            Self::Cellular(_) => ("cellular", &["delay", "loss"]),
            Self::Egprs(_) => ("egprs", &["scheme", "bler", "delay"]),
            Self::Lte(_) => ("lte", &["rate", "bler", "delay"]),
            Self::Trace(_) => ("trace", &["delay"]),
            Self::Own(own) => (&own.name, &["rate", "delay"]),
        }
    }

    /// Returns true if the link has a receive power.
    pub(super) fn has_signal(&self) -> bool {
        match self {
            Self::Wlan(wlan) => wlan.radio.is_some(),
            Self::Cellular(spec) => matches!(spec.channel, CellularChannel::Signal { .. }),
            Self::Trace(trace) => trace.config.signal.is_some(),
            Self::Plain(_) | Self::Egprs(_) | Self::Lte(_) | Self::Own(_) => false,
        }
    }

    /// Returns the propagation delay; zero if a caller's model has none.
    pub(super) fn delay(&self) -> Span {
        match self {
            Self::Plain(plain) => plain.delay,
            Self::Wlan(wlan) => wlan.delay,
            Self::Cellular(cellular) => cellular.delay,
            Self::Egprs(egprs) => egprs.config.delay,
            Self::Lte(lte) => lte.config.delay,
            Self::Trace(trace) => trace.config.delay,
            Self::Own(own) => own.delay.unwrap_or(Span::ZERO),
        }
    }

    /// Returns true if its cell can be changed.
    pub(super) fn has_cells(&self) -> bool {
        matches!(self, Self::Egprs(_) | Self::Lte(_))
    }

    /// Checks the ranges of the values. Keys are relative to the direction.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self {
            Self::Plain(plain) => plain.check(),
            Self::Wlan(wlan) => wlan.check(),
            Self::Cellular(cellular) => cellular.check(),
            Self::Egprs(egprs) => egprs.check(),
            Self::Lte(lte) => lte.check(),
            Self::Trace(trace) => trace.check(),
            Self::Own(own) => own.check(),
        }
    }
}

/// A type of link in scenario files.
struct LinkType {
    /// The word of the key `type`.
    word: &'static str,
    /// The type's own keys, each for both directions or in `forward` and `reverse`.
    keys: keys::Table,
    /// The type's own keys that apply to both directions.
    shared: keys::Table,
    /// The keys that set the rate, if there is no key `rate`.
    rate_by: Option<&'static str>,
    read: fn(&Layers<'_, '_, '_>) -> Result<DirectionSpec, Problem>,
}

/// The types of links, the default first.
const TYPES: &[LinkType] = &[
    LinkType {
        word: "plain",
        keys: keys::PLAIN,
        shared: keys::NONE,
        rate_by: None,
        read: |layers| plain::read(layers).map(DirectionSpec::Plain),
    },
    LinkType {
        word: "wlan",
        keys: keys::WLAN,
        shared: keys::WLAN_SHARED,
        rate_by: None,
        read: |layers| wlan::read(layers).map(|spec| DirectionSpec::Wlan(Box::new(spec))),
    },
    LinkType {
        word: "cellular",
        keys: keys::CELLULAR,
        shared: keys::CELLULAR_SHARED,
        rate_by: None,
        read: |layers| cellular::read(layers).map(|spec| DirectionSpec::Cellular(Box::new(spec))),
    },
    LinkType {
        word: "egprs",
        keys: keys::EGPRS,
        shared: keys::EGPRS_SHARED,
        rate_by: Some("scheme and pdchs, or coding,"),
        read: |layers| egprs::read(layers).map(|spec| DirectionSpec::Egprs(Box::new(spec))),
    },
    LinkType {
        word: "lte",
        keys: keys::LTE,
        shared: keys::LTE_SHARED,
        rate_by: None,
        read: |layers| lte::read(layers).map(|spec| DirectionSpec::Lte(Box::new(spec))),
    },
    LinkType {
        word: "trace",
        keys: keys::TRACE,
        shared: keys::NONE,
        rate_by: Some("trace and column"),
        read: |layers| trace::read(layers).map(|spec| DirectionSpec::Trace(Box::new(spec))),
    },
];

/// Causes of losses.
const CAUSES: [(&str, Cause); 2] = [("wireless", Cause::Wireless), ("congestion", Cause::Congestion)];

/// The keys of one direction, which replace those of the link.
struct Layers<'l, 'd, 't> {
    link: &'l Section<'d, 't>,
    own: Option<&'l Section<'d, 't>>,
    /// Returns the text of another file.
    open: &'l Open<'l>,
}

impl<'l, 'd, 't> Layers<'l, 'd, 't> {
    /// Returns the table that has this key.
    fn at(&self, key: &str) -> &'l Section<'d, 't> {
        self.own.filter(|own| own.has(key)).unwrap_or(self.link)
    }

    /// Returns the value of a required key.
    fn required<T>(&self, key: &str, value: Option<T>, example: &str) -> Result<T, Problem> {
        self.link.required(key, value, example)
    }
}

/// Reads one `[[link]]`.
pub(super) fn read(
    table: &DeTable<'_>,
    path: String,
    (open, schemes): (&Open<'_>, &Schemes),
) -> Result<LinkSpec, Problem> {
    let word = table.get("type").and_then(|value| value.get_ref().as_str());
    let kind = TYPES.iter().find(|kind| word.is_none_or(|word| word == kind.word));
    let own = schemes.links().find(|&(name, _)| kind.is_none() && word == Some(name));
    // A model of the caller's has the keys of a plain link.
    let Some(kind) = kind.or_else(|| own.map(|_| &TYPES[0])) else {
        return Err(unknown_type(table, &path, schemes));
    };
    not_of_another_type(table, &path, kind, own.map_or(kind.word, |(name, _)| name))?;
    let section = Section::open(table, path, &keys::names(&[&keys::LINK, &kind.keys, &kind.shared]))?;
    section.text("type")?;
    let end = |key| section.required(key, section.text(key)?, "\"a node's name\"").map(str::to_owned);
    let of_direction = [kind.keys.names(), vec!["mark"]].concat();
    let forward = section.section("forward", &of_direction)?;
    let reverse = section.section("reverse", &of_direction)?;
    let mark = |own: &Option<Section<'_, '_>>| {
        let layers = Layers { link: &section, own: own.as_ref(), open };
        plain::limit(layers.at("mark"), "mark", "{ packets = 20 }")
    };
    let direction = |keys: &Option<Section<'_, '_>>| {
        let layers = Layers { link: &section, own: keys.as_ref(), open };
        match own {
            Some(own) => own::read(&layers, own).map(|spec| DirectionSpec::Own(Box::new(spec))),
            None => (kind.read)(&layers),
        }
    };
    Ok(LinkSpec {
        name: section.required("name", section.text("name")?, "\"…\"")?.to_owned(),
        a: end("a")?,
        b: end("b")?,
        address_a: section.address("address_a")?,
        address_b: section.address("address_b")?,
        mtu: section.integer("mtu", 0, i128::from(u32::MAX))?.unwrap_or(1500),
        loss_means: section.choice("loss_means", &CAUSES)?.unwrap_or(Cause::Wireless),
        up: section.flag("up")?.unwrap_or(true),
        mark: [mark(&forward)?, mark(&reverse)?],
        coding: CodingSpec::read(&section)?,
        report_quality: section.flag("report_quality")?.unwrap_or(true),
        forward: direction(&forward)?,
        reverse: direction(&reverse)?,
    })
}

/// Rejects a key that only links of other types have. The error names those types.
fn not_of_another_type(table: &DeTable<'_>, path: &str, kind: &LinkType, word: &str) -> Result<(), Problem> {
    let has = |kind: &LinkType, key: &str| kind.keys.has(key) || kind.shared.has(key);
    let inner = |way: &str| Some((format!("{path}.{way}"), table.get(way)?.get_ref().as_table()?));
    let tables = [Some((path.to_owned(), table)), inner("forward"), inner("reverse")];
    for (path, table) in tables.into_iter().flatten() {
        for key in table.keys().map(|key| &**key.get_ref()) {
            let others: Vec<_> =
                TYPES.iter().filter(|other| has(other, key)).map(|other| other.word).collect();
            if !keys::LINK.has(key) && !has(kind, key) && !others.is_empty() {
                let others = others.join("\" or \"");
                let own = match (key, kind.rate_by) {
                    ("rate", Some(by)) => format!("{by} set it"),
                    _ => "remove it".to_owned(),
                };
                let message =
                    format!("links of type {word} have no {key}: {own}, or use type = \"{others}\"");
                return Err(Problem::new(format!("{path}.{key}"), message));
            }
        }
    }
    Ok(())
}

fn unknown_type(table: &DeTable<'_>, path: &str, schemes: &Schemes) -> Problem {
    let given = table.get("type").and_then(|value| value.get_ref().as_str()).unwrap_or_default();
    let own = schemes.links().map(|(name, _)| name);
    let known = TYPES.iter().map(|kind| kind.word).chain(own);
    Problem::new(format!("{path}.type"), format!("\"{given}\" is unknown{}", suggest(given, known)))
}
