//! Reads `[[association]]`.

use msctp_units::Span;
use toml::de::DeTable;

use super::name;
use crate::scenario::AssociationSpec;
use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::keys;

pub(super) fn read(table: &DeTable<'_>, path: String) -> Result<AssociationSpec, Problem> {
    let section = Section::open(table, path, &keys::ASSOCIATION.names())?;
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
