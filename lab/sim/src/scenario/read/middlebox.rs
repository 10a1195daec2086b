//! Reads the table of a middlebox in `[[node]]`: `nat`, `firewall` or `portal`.

use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::{
    Dependence, FirewallOptions, MiddleboxOptions, MiddleboxSpec, NatOptions, PortalOptions, keys,
};

/// RFC 4787's terms for mappings and filters.
const DEPENDENCES: [(&str, Dependence); 3] = [
    ("endpoint-independent", Dependence::Endpoint),
    ("address-dependent", Dependence::Address),
    ("address-and-port-dependent", Dependence::AddressAndPort),
];

/// Each kind of middlebox with its table.
const TABLES: [(&str, &str, keys::Table); 3] = [
    ("nat", "nat", keys::NAT),
    ("firewall", "firewall", keys::FIREWALL),
    ("captive-portal", "portal", keys::PORTAL),
];

/// Reads the options of a node that is a middlebox, and rejects the table of another kind.
pub(super) fn read(node: &Section<'_, '_>) -> Result<Option<MiddleboxSpec>, Problem> {
    let kind = node.text("kind")?.unwrap_or_default();
    if let Some((other, key, _)) = TABLES.iter().find(|(other, key, _)| *other != kind && node.has(key)) {
        let message =
            format!("the node is of kind \"{kind}\": want this table left out, or kind = \"{other}\"");
        return Err(Problem::new(node.key(key), message));
    }
    let Some((_, key, table)) = TABLES.iter().find(|(known, ..)| *known == kind) else { return Ok(None) };
    let section = node.section(key, &table.names())?;
    let section = node.required(key, section, "{ outside = \"the link to the outside\" }")?;
    let outside = section.required("outside", section.text("outside")?, "\"a link's name\"")?.to_owned();
    let options = match *key {
        "nat" => MiddleboxOptions::Nat(nat(&section)?),
        "firewall" => {
            let default = FirewallOptions::default();
            let timeout = section.span("timeout")?.unwrap_or(default.timeout);
            MiddleboxOptions::Firewall(FirewallOptions { timeout })
        }
        _ => MiddleboxOptions::CaptivePortal(PortalOptions { open: section.flag("open")?.unwrap_or(false) }),
    };
    Ok(Some(MiddleboxSpec { outside, options }))
}

fn nat(section: &Section<'_, '_>) -> Result<NatOptions, Problem> {
    let default = NatOptions::default();
    let ports = match section.integers("ports")?.as_deref() {
        None => default.ports,
        Some(&[first, last]) if first.max(last) <= u64::from(u16::MAX) => (first as u16, last as u16),
        Some(_) => {
            let message = "want the first and the last port of the pool, up to 65535, such as [1024, 65535]";
            return Err(Problem::new(section.key("ports"), message));
        }
    };
    Ok(NatOptions {
        mapping: section.choice("mapping", &DEPENDENCES)?.unwrap_or(default.mapping),
        filtering: section.choice("filtering", &DEPENDENCES)?.unwrap_or(default.filtering),
        timeout: section.span("timeout")?.unwrap_or(default.timeout),
        ports,
    })
}
