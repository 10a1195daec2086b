//! Reads a [`Scenario`] from a TOML document: the keys and their meaning. [`check`](super::check) validates
//! the result.

mod action;
mod app;
mod association;
mod middlebox;
mod node;
mod quality;

use toml::de::DeTable;

use super::compose;
use super::document::{Document, Section};
use super::error::{Problem, ScenarioError};
use super::{ProbeSpec, Scenario, Schemes, Side, UDP_HEADER, check, keys, link, sctp, tcp};

/// A function that returns the text of another file that a scenario names, or the reason why it cannot be
/// read.
pub(super) type Open<'f> = dyn Fn(&str) -> Result<String, String> + 'f;

/// Reads and checks a scenario file that may name `schemes`, and converts it with `then`.
pub(super) fn scenario<T>(
    text: &str,
    file: &str,
    overrides: &[String],
    (open, schemes): (&Open<'_>, &Schemes),
    then: impl FnOnce(Scenario) -> Result<T, Problem>,
) -> Result<T, ScenarioError> {
    let texts = compose::texts(text, file, open)?;
    let document = Document::compose(&texts, overrides)?;
    let located = |problem| document.locate(problem);
    let mut scenario = without_profiles(&document.root, open, schemes).map_err(located)?;
    // Before the profiles: an override of a mistyped one would be reported as an unknown key of a new
    // profile.
    scenario.check_overrides(overrides, |key| document.is_written(key))?;
    profiles(&document.root, schemes, &mut scenario).map_err(located)?;
    check::scenario(&scenario).map_err(located)?;
    then(scenario).map_err(located)
}

/// Reads the profiles into the scenario.
fn profiles(root: &DeTable<'_>, schemes: &Schemes, scenario: &mut Scenario) -> Result<(), Problem> {
    let top = Section::open(root, String::new(), &keys::SCENARIO.names())?;
    for (name, table) in top.named("sctp")? {
        scenario.sctp.push(sctp::read(table, name, schemes)?);
    }
    for (name, table) in top.named("tcp-profile")? {
        scenario.tcp_profiles.push(tcp::profile(table, name)?);
    }
    Ok(())
}

/// Default length of a bulk application's messages in bytes. With headers, it fills an IPv4 packet of 1500
/// bytes.
const MESSAGE: u32 = 1452;

/// Reads a scenario except its profiles.
fn without_profiles(root: &DeTable<'_>, open: &Open<'_>, schemes: &Schemes) -> Result<Scenario, Problem> {
    let top = Section::open(root, String::new(), &keys::SCENARIO.names())?;
    let duration = top.required("duration", top.span("duration")?, "\"60s\"")?;
    let mut scenario = Scenario::empty(top.text("name")?.unwrap_or("scenario"), duration, 1);
    top.text("description")?.unwrap_or_default().clone_into(&mut scenario.description);
    if let Some(seed) = top.integer("seed", 0, i128::from(u64::MAX))? {
        scenario.seed = seed;
    }
    for (path, table) in top.items("node")? {
        scenario.nodes.push(node::read(table, path)?);
    }
    for (path, table) in top.items("link")? {
        scenario.links.push(link::read(table, path, (open, schemes))?);
    }
    for (path, table) in top.items("association")? {
        scenario.associations.push(association::read(table, path)?);
    }
    for (path, table) in top.items("tcp")? {
        scenario.tcp.push(tcp::connection(table, path)?);
    }
    let message = if scenario.is_encapsulated() { MESSAGE - UDP_HEADER } else { MESSAGE };
    for (path, table) in top.items("app")? {
        scenario.apps.push(app::read(table, path, open, message)?);
    }
    for (path, table) in top.items("action")? {
        scenario.actions.push(action::read(table, path)?);
    }
    if let Some(section) = top.section("probes", &keys::PROBES.names())? {
        scenario.probes = ProbeSpec {
            throughput: section.span("throughput")?,
            deliveries: section.has("throughput"),
            trace: section.flag("trace")?.unwrap_or(false),
            chunks: section.flag("chunks")?.unwrap_or(false),
            queues: section.span("queues")?,
            messages: section.flag("messages")?.unwrap_or(false),
        };
    }
    Ok(scenario)
}

pub(super) fn name(section: &Section<'_, '_>) -> Result<String, Problem> {
    section.required("name", section.text("name")?, "\"…\"").map(str::to_owned)
}

pub(in crate::scenario) const SIDES: [(&str, Side); 2] = [("client", Side::Client), ("server", Side::Server)];

pub(super) fn association_of(section: &Section<'_, '_>) -> Result<String, Problem> {
    section
        .required("association", section.text("association")?, "\"an association's name\"")
        .map(str::to_owned)
}
