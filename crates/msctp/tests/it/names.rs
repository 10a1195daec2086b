//! `msctp` names every type of the crates below that its signatures use, and no other item of them. Reads the
//! lists of public items that `scripts/public-api` writes and `scripts/public-api --check` compares with the
//! code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// An item: its crate and its name, without the modules between.
type Item = (String, String);

/// Items that no signature uses, each with the reason for its export.
const ALONE: &[(&str, &str)] = &[
    ("msctp_congestion::BbrConfig", "options of a controller, for `Config::controller`"),
    ("msctp_congestion::CubicConfig", "the same"),
    ("msctp_congestion::DelayBoundConfig", "the same"),
    ("msctp_congestion::LiaConfig", "the same"),
    ("msctp_congestion::RenoConfig", "the same"),
    ("msctp_congestion::Rfc9260Config", "the same"),
    ("msctp_congestion::Make", "makes a controller from these options"),
    ("msctp_proto::Conservative", "RFC 9260's handover policy, for one that extends it"),
    ("msctp_schemes::Anticipate", "the default handover policy, for one that extends it"),
    ("msctp_proto::MAX_PRIVATE_CHUNKS", "the limit that `Action::SendChunk` names"),
    ("msctp_proto::MIN_TIMER", "the limit that `Action::SetTimer` names"),
    ("msctp_protection::AwsLcRs", "the same as `Ring`, with the feature `aws-lc-rs`"),
    ("msctp_protection::Ring", "the provider that `protection::KeyManagement` takes"),
    ("msctp_proto::ENCAPSULATION_PORT", "RFC 6951's UDP port, for `Peer` and `EndpointOptions::bind`"),
    ("msctp_security::Identity", "makes the configuration that `security::Tls` takes"),
    ("msctp_security::AnyPeer", "how `Identity::config` checks the peer"),
    ("msctp_security::Pinned", "the same"),
];

/// Items of features for which `scripts/public-api` makes no list.
const UNLISTED: &[&str] = &["msctp_protection::AwsLcRs"];

/// Returns the lines of a crate's list, without re-exports.
fn lines(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("public-api.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.starts_with("pub use ")).map(str::to_owned).collect()
}

/// Returns the items of our crates that a line names, in order. The first is the item that the line defines.
/// A function outside any type has an empty name.
fn items(line: &str) -> Vec<Item> {
    let paths = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let ours = paths.filter(|path| path.starts_with("msctp"));
    ours.filter_map(|path| {
        let mut segments = path.split("::");
        let of = segments.next()?;
        let name = segments.find(|segment| segment.starts_with(char::is_uppercase)).unwrap_or_default();
        Some((of.to_owned(), name.trim_end_matches(':').to_owned()))
    })
    .collect()
}

/// Returns the items of our other crates that `lib.rs` exports.
fn exported() -> BTreeSet<Item> {
    let source = include_str!("../../src/lib.rs");
    let mut found = BTreeSet::new();
    for statement in source.split("pub use msctp_").skip(1) {
        let statement = statement.split(';').next().unwrap();
        let of = format!("msctp_{}", statement.split("::").next().unwrap());
        let (path, names) = statement.split_once('{').unwrap_or(statement.rsplit_once("::").unwrap());
        assert!(!path.contains('*') && !names.contains('*'), "name each item: {statement}");
        for name in names.trim_end_matches([' ', '\n', '}']).split(',') {
            let name = name.split(" as ").next().unwrap().trim();
            if !name.is_empty() {
                assert!(found.insert((of.clone(), name.to_owned())), "{of}::{name} is exported twice");
            }
        }
    }
    found
}

#[test]
fn every_type_in_a_signature_is_exported_and_nothing_else() {
    // What the signatures of each item use.
    let mut uses: BTreeMap<Item, BTreeSet<Item>> = BTreeMap::new();
    for folder in
        ["units", "wire", "congestion", "protection", "proto", "schemes", "security", "udp", "msctp"]
    {
        for line in lines(folder) {
            let items = items(&line);
            // `impl Trait for Type` is about the type; its methods have lines of their own.
            if let Some((about, used)) = items.split_first()
                && !line.starts_with("impl")
            {
                uses.entry(about.clone()).or_default().extend(used.iter().cloned());
            }
        }
    }
    let exported = exported();
    let alone: BTreeSet<Item> = ALONE.iter().flat_map(|(path, _)| items(path)).collect();
    let mut wrong = Vec::new();
    let mut used: BTreeSet<Item> = alone.clone();
    for (about, all) in uses.iter().filter(|(about, _)| about.0 == "msctp" || exported.contains(about)) {
        for item in all.iter().filter(|item| *item != about) {
            used.insert(item.clone());
            if item.0 != "msctp" && !exported.contains(item) {
                wrong.push(format!("{}::{} uses {}::{}: export it", about.0, about.1, item.0, item.1));
            }
        }
    }
    for item in exported.iter().chain(&alone) {
        if !uses.contains_key(item) && !UNLISTED.contains(&&*format!("{}::{}", item.0, item.1)) {
            wrong.push(format!("{}::{} is in no list: run scripts/public-api", item.0, item.1));
        }
        if !used.contains(item) || !exported.contains(item) {
            wrong.push(format!("{}::{}: export what signatures use, or list it in ALONE", item.0, item.1));
        }
    }
    assert!(exported.len() > 80, "{} items found in lib.rs", exported.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn items_of_a_line_are_found() {
    let line = "pub fn msctp_proto::Config::f(&self) -> core::Option<msctp_units::span::Span>";
    let item = |of: &str, name: &str| (of.to_owned(), name.to_owned());
    assert_eq!(items(line), [item("msctp_proto", "Config"), item("msctp_units", "Span")]);
    assert_eq!(items("pub const msctp_proto::MAX_PMTU: u32"), [item("msctp_proto", "MAX_PMTU")]);
    assert_eq!(items("pub mod msctp_proto::path"), [item("msctp_proto", "")]);
}
