//! Crates depend only on the layers below them (docs/architecture.md), checked in the manifests; the modules
//! of a crate do not import each other in a circle, checked in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::common;
mod source;

use common::{crate_folder, crate_folders};
use source::{declared_modules, paths, production_code};

/// Each crate with those of our crates on which it may depend. Add a line for a new layer.
const LAYERS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("wire", &[]),
    ("congestion", &["units"]),
    ("protection", &["units", "wire"]),
    ("security", &["units", "protection"]),
    ("proto", &["units", "wire", "protection", "congestion"]),
    ("qlog", &["units", "wire", "congestion", "proto"]),
    ("forward", &["units"]),
    ("schemes", &["units", "wire", "congestion", "proto"]),
    ("config-file", &["schemes"]),
    ("lab-tcp", &["units", "congestion"]),
    ("link", &["units"]),
    ("sim", &["units", "wire", "congestion", "protection", "proto", "qlog", "schemes", "lab-tcp", "link"]),
    ("tun", &[]),
    ("emu", &["units", "link", "sim", "tun"]),
    ("experiments", &["units", "congestion", "proto", "schemes", "lab-tcp", "link", "sim"]),
    ("udp", &[]),
    ("msctp", &["units", "wire", "congestion", "protection", "security", "proto", "udp"]),
    ("live", &["units", "schemes", "lab-tcp", "sim", "emu", "msctp"]),
    (
        "cli",
        &[
            "units",
            "wire",
            "protection",
            "security",
            "congestion",
            "proto",
            "qlog",
            "forward",
            "config-file",
            "schemes",
            "link",
            "sim",
            "tun",
            "emu",
            "experiments",
            "msctp",
            "live",
        ],
    ),
];

/// Dependencies banned from the sans-IO crates: runtimes, sockets, clocks, operating-system randomness.
const NEVER_IN_CORE: &[&str] =
    &["tokio", "mio", "socket2", "rayon", "crossbeam", "getrandom", "rand", "chrono", "time", "libc", "nix"];
const CORE: &[&str] = &[
    "units",
    "wire",
    "protection",
    "security",
    "congestion",
    "proto",
    "qlog",
    "forward",
    "schemes",
    "lab-tcp",
    "link",
];

fn dependencies(manifest: &Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    let manifest: toml::Table = text.parse().expect("a valid manifest");
    let names = |key: &str| manifest.get(key).and_then(|v| v.as_table()).map(|t| t.keys().cloned().collect());
    names("dependencies").unwrap_or_default()
}

#[test]
fn dependencies_point_one_way() {
    let found = crate_folders();
    for folder in &found {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| layer == &name) else {
            panic!("{name} is in no layer: add it to LAYERS and to docs/architecture.md");
        };
        for dependency in dependencies(&folder.join("Cargo.toml")) {
            if let Some(ours) = dependency.strip_prefix("msctp-") {
                assert!(
                    allowed.contains(&ours),
                    "{name} must not depend on {dependency}; it may use {allowed:?}"
                );
            }
            if CORE.contains(&name) {
                let banned = NEVER_IN_CORE.contains(&dependency.as_str());
                assert!(!banned, "{name} is sans-IO: {dependency} does not belong there");
            }
        }
    }
    assert_eq!(found.len(), LAYERS.len(), "LAYERS names a crate that does not exist");
}

/// Imports between the top-level modules of a crate: importer and imported module, to the path imported.
type Imports = BTreeMap<(String, String), String>;

/// A crate's top-level modules, and the names that its root re-exports from them.
#[derive(Default)]
struct Root {
    modules: Vec<String>,
    exports: BTreeMap<String, String>,
}

/// Name of the crate root, for modules that import its own definitions.
const ROOT: &str = "the crate root";

impl Root {
    fn new(code: &str) -> Self {
        let modules = declared_modules(code);
        let names: Vec<&str> = modules.iter().map(String::as_str).collect();
        let mut exports = BTreeMap::new();
        for path in paths(code, &names) {
            if let [module, .., name] = &path[..] {
                exports.entry((*name).to_owned()).or_insert_with(|| (*module).to_owned());
            }
        }
        Self { modules, exports }
    }

    /// Returns the module that owns the item that the root exports as `name`.
    fn owner(&self, name: &str) -> String {
        if self.modules.iter().any(|module| module == name) {
            return name.to_owned();
        }
        self.exports.get(name).cloned().unwrap_or_else(|| ROOT.to_owned())
    }

    /// Adds the imports of the file of the module at `place`, whose first part is a top-level module.
    fn add_imports(&self, place: &[String], code: &str, imports: &mut Imports) {
        for path in paths(code, &["crate", "super"]) {
            let ups = path.iter().take_while(|&&part| part == "super").count();
            if path[0] == "super" && ups < place.len() {
                continue;
            }
            let Some(name) = path.get(ups.max(1)) else { continue };
            let owner = self.owner(name);
            if owner != place[0] && owner != ROOT {
                let example = format!("{}: {}", place.join("/"), path.join("::"));
                imports.entry((place[0].clone(), owner)).or_insert(example);
            }
        }
    }
}

/// Returns the imports between the modules of the crate in `src`.
fn imports_of(src: &Path) -> Imports {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|path| path.exists());
    let root = read(&root.expect("a crate root"));
    let (root, mut imports) = (Root::new(&root), Imports::new());
    let mut open: Vec<Vec<String>> = root.modules.iter().map(|module| vec![module.clone()]).collect();
    while let Some(place) = open.pop() {
        let base = place.iter().fold(src.to_path_buf(), |path, part| path.join(part));
        let file = [base.with_extension("rs"), base.join("mod.rs")].into_iter().find(|path| path.exists());
        let code = read(&file.unwrap_or_else(|| panic!("no file of module {}", place.join("::"))));
        open.extend(declared_modules(&code).into_iter().map(|module| [&place[..], &[module]].concat()));
        root.add_imports(&place, &code, &mut imports);
    }
    imports
}

fn read(path: &Path) -> String {
    production_code(&fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Returns the sets of modules that import each other, directly or through others.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            let next = imports.keys().filter(|(who, _)| who == at).map(|(_, whom)| whom);
            open.extend(next.filter(|&whom| seen.insert(whom.clone())));
        }
        seen
    };
    let modules: BTreeSet<&String> = imports.keys().map(|(who, _)| who).collect();
    let reach: BTreeMap<&String, BTreeSet<String>> =
        modules.into_iter().map(|module| (module, reached(module))).collect();
    let within = reach.iter().filter(|(module, seen)| seen.contains(**module));
    within
        .map(|(module, seen)| {
            let back = |other: &&String| reach.get(other).is_some_and(|seen| seen.contains(*module));
            seen.iter().filter(back).cloned().collect()
        })
        .collect()
}

#[test]
fn modules_import_one_way() {
    let mut wrong = Vec::new();
    for (name, _) in LAYERS {
        let imports = imports_of(&crate_folder(name).join("src"));
        let few = ["units", "config-file", "tun"].contains(name);
        assert!(few || imports.len() > 1, "{name}: {} imports found", imports.len());
        for circle in circles(&imports) {
            let inside = |(who, whom): &(String, String)| circle.contains(who) && circle.contains(whom);
            let examples: Vec<&str> = imports
                .iter()
                .filter(|(pair, _)| inside(pair))
                .map(|(_, example)| example.as_str())
                .collect();
            wrong.push(format!("(\"{name}\", &{circle:?}) is a circle; let one of these go: {examples:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_super_re_exports_and_trees() {
    let root = Root::new(&production_code(
        "mod a; mod b; mod c; mod d; #[cfg(test)] mod e; pub use b::inner::{Thing, Other as Renamed}; use c::C;",
    ));
    assert_eq!(root.modules, ["a", "b", "c", "d"]);
    let mut imports = Imports::new();
    let mut add = |place: &[&str], code: &str| {
        let place: Vec<String> = place.iter().map(|&part| part.to_owned()).collect();
        root.add_imports(&place, &production_code(code), &mut imports);
    };
    add(&["a"], "use crate::Thing; // crate::d\n const TEXT: &str = \"crate::d\"; use std::mem;");
    add(&["b", "inner"], "use super::super::{c::{self, C}, d}; use super::sibling;");
    add(
        &["c"],
        "fn f(x: &super::a::A, c: char) { if c == '\"' {} } #[cfg(test)] mod tests { use crate::d; }",
    );
    add(&["d"], "use crate::{d::x, Own}; #[cfg(test)] use crate::a;");
    let pairs: Vec<(&str, &str)> = imports.keys().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(pairs, [("a", "b"), ("b", "c"), ("b", "d"), ("c", "a")]);
    assert_eq!(circles(&imports), BTreeSet::from([["a", "b", "c"].map(str::to_owned).to_vec()]));
    imports.remove(&("c".to_owned(), "a".to_owned()));
    assert_eq!(circles(&imports), BTreeSet::new());
}
