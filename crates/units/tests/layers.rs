//! Crates depend only on the layers below them (docs/architecture.md); checked in the manifests.

use std::fs;
use std::path::Path;

/// Each crate with the crates of ours it may depend on. Adding a layer means adding a line here.
const LAYERS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("wire", &[]),
    ("congestion", &["units"]),
    ("proto", &["units", "wire", "congestion"]),
    ("schemes", &["units", "wire", "congestion", "proto"]),
    ("lab-tcp", &["units", "congestion"]),
    ("link", &["units"]),
    ("sim", &["units", "wire", "congestion", "proto", "schemes", "lab-tcp", "link"]),
    ("emu", &["units", "link", "sim"]),
    ("lab", &["units", "congestion", "proto", "schemes", "lab-tcp", "link", "sim"]),
    ("udp", &[]),
    ("msctp", &["units", "wire", "congestion", "proto", "udp"]),
    ("live", &["units", "schemes", "lab-tcp", "sim", "emu", "msctp"]),
    (
        "cli",
        &["units", "wire", "congestion", "proto", "schemes", "link", "sim", "emu", "lab", "msctp", "live"],
    ),
];

/// Dependencies banned from the sans-IO crates: runtimes, sockets, clocks, operating-system randomness.
const NEVER_IN_CORE: &[&str] =
    &["tokio", "mio", "socket2", "rayon", "crossbeam", "getrandom", "rand", "chrono", "time", "libc", "nix"];
const CORE: &[&str] = &["units", "wire", "congestion", "proto", "schemes", "lab-tcp", "link"];

fn dependencies(manifest: &Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    let manifest: toml::Table = text.parse().expect("a valid manifest");
    let names = |key: &str| manifest.get(key).and_then(|v| v.as_table()).map(|t| t.keys().cloned().collect());
    names("dependencies").unwrap_or_default()
}

#[test]
fn dependencies_point_one_way() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates folder");
    let mut found: Vec<String> = fs::read_dir(crates)
        .expect("the crates folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    found.sort();
    for name in &found {
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == name) else {
            panic!("crates/{name} is in no layer: add it to LAYERS and to docs/architecture.md");
        };
        for dependency in dependencies(&crates.join(name).join("Cargo.toml")) {
            if let Some(ours) = dependency.strip_prefix("msctp-") {
                assert!(
                    allowed.contains(&ours),
                    "crates/{name} must not depend on {dependency}; it may use {allowed:?}"
                );
            }
            if CORE.contains(&name.as_str()) {
                let banned = NEVER_IN_CORE.contains(&dependency.as_str());
                assert!(!banned, "crates/{name} is sans-IO: {dependency} does not belong there");
            }
        }
    }
    assert_eq!(found.len(), LAYERS.len(), "LAYERS names a crate that is gone");
}
