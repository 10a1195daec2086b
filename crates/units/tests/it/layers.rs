//! Crates depend on what docs/architecture.md says, and only on crates above them there; the modules
//! of a crate do not import each other in a circle, checked in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::common;
mod source;

use common::{crate_folders, root};
use source::{declared_modules, paths, production_code};

/// A row of the table of crates in docs/architecture.md.
#[derive(Debug, PartialEq, Eq)]
struct Layer {
    /// The package's name without `msctp-`.
    name: String,
    /// The crate's folder, relative to the root.
    folder: String,
    /// The crates of this repository on which it depends directly, by their names.
    uses: BTreeSet<String>,
    sans_io: bool,
}

/// Returns the rows of the document's table of crates.
fn layers() -> Vec<Layer> {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the document");
    layers_of(&page)
}

fn layers_of(page: &str) -> Vec<Layer> {
    let rows = page.lines().filter(|line| line.starts_with("| `msctp"));
    let layer = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [krate, folder, _has, uses, sans_io, _must_not] = cells[..] else { panic!("six columns: {row}") };
        let krate = krate.trim_matches('`');
        let name = krate.strip_prefix("msctp-").unwrap_or(krate).to_owned();
        let folder = folder.trim_matches('`').to_owned();
        let uses = uses.split(',').map(|used| used.trim().to_owned()).filter(|used| !used.is_empty());
        let sans_io = match sans_io {
            "yes" => true,
            "" => false,
            other => panic!("{name}: sans-IO is \"yes\" or empty, not {other:?}"),
        };
        Layer { uses: uses.collect(), name, folder, sans_io }
    };
    rows.map(layer).collect()
}

/// Returns the package of a crate.
fn package(name: &str) -> String {
    if name == "msctp" { name.to_owned() } else { format!("msctp-{name}") }
}

/// Dependencies banned from the sans-IO crates: runtimes, sockets, clocks, operating-system randomness.
const NEVER_IN_CORE: &[&str] =
    &["tokio", "mio", "socket2", "rayon", "crossbeam", "getrandom", "rand", "chrono", "time", "libc", "nix"];

/// Reads the manifest in a crate's folder.
fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().expect("a valid manifest")
}

/// Returns the dependencies of a crate, those of some platforms included, without those of its tests.
fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let table = |value: &toml::Table, key: &str| value.get(key).and_then(|v| v.as_table()).cloned();
    let targets = table(manifest, "target").unwrap_or_default();
    let platforms = targets.values().filter_map(|target| target.as_table());
    let all = platforms.chain([manifest]).filter_map(|part| table(part, "dependencies"));
    all.flat_map(|dependencies| dependencies.into_iter().map(|(name, _)| name)).collect()
}

#[test]
fn dependencies_point_one_way() {
    let layers = layers();
    let mut above = BTreeSet::new();
    for Layer { name, folder, uses, sans_io } in &layers {
        let manifest = manifest(folder);
        let named = manifest["package"]["name"].as_str();
        assert_eq!(named, Some(&*package(name)), "{folder}: the package, and the column `crate`");
        let dependencies = dependencies(&manifest);
        let ours: BTreeSet<String> =
            dependencies.iter().filter_map(|package| name_of(package, &layers)).collect();
        assert_eq!(&ours, uses, "{name}: the manifest, and the column `uses` of docs/architecture.md");
        let below: Vec<_> = uses.difference(&above).collect();
        assert!(below.is_empty(), "{name} uses {below:?}, which must be above it in docs/architecture.md");
        if *sans_io {
            let banned: Vec<_> =
                NEVER_IN_CORE.iter().filter(|banned| dependencies.contains(**banned)).collect();
            assert!(banned.is_empty(), "{name} is sans-IO: {banned:?} do not belong there");
        }
        above.insert(name.clone());
    }
    let found: BTreeSet<_> = crate_folders().into_iter().collect();
    let listed: BTreeSet<_> = layers.iter().map(|layer| root().join(&layer.folder)).collect();
    assert_eq!(found, listed, "the crates, and the table of docs/architecture.md");
}

/// The programs for networks can be built and installed without the laboratory.
#[test]
fn the_transport_does_not_use_the_laboratory() {
    let layers = layers();
    let in_lab = |name: &String| {
        let used = layers.iter().find(|layer| layer.name == *name).expect("a crate of the table");
        used.folder.starts_with("lab/")
    };
    for Layer { name, folder, uses, .. } in layers.iter().filter(|layer| layer.folder.starts_with("crates/"))
    {
        let lab: Vec<_> = uses.iter().filter(|used| in_lab(used)).collect();
        assert!(lab.is_empty(), "{name}, in {folder}, uses {lab:?} of the laboratory");
    }
}

/// Returns the name of one of our packages.
fn name_of(dependency: &str, layers: &[Layer]) -> Option<String> {
    layers.iter().map(|layer| &layer.name).find(|name| package(name) == dependency).cloned()
}

#[test]
fn the_table_of_crates_is_read() {
    let page = "text\n| crate | folder |\n| `msctp-wire` | `crates/wire` | packets | units, proto | yes | time |\n\
                | `msctp-lab` | `lab/cli` | tasks |  |  | |\n";
    let layer = |name: &str, folder: &str, uses: &[&str], sans_io| Layer {
        name: name.to_owned(),
        folder: folder.to_owned(),
        uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        sans_io,
    };
    let (wire, lab) =
        (layer("wire", "crates/wire", &["units", "proto"], true), layer("lab", "lab/cli", &[], false));
    assert_eq!(layers_of(page), [wire, lab]);
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
    for Layer { name, folder, .. } in &layers() {
        let imports = imports_of(&root().join(folder).join("src"));
        let few = ["units", "names", "queue", "schemes", "config-file", "tun"].contains(&name.as_str());
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
