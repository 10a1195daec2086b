//! Folders of results: staged, moved into place when they are complete, and replaced file by file.
//!
//! A folder lists its files in [`MANIFEST`]. A later result replaces these files, removes those that it does
//! not write again, and touches no other file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use msctp_terminal::input::os_error;
use msctp_terminal::replace::{beside, is_part, write_file};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// File that lists the files of a folder of results.
const MANIFEST: &str = ".msctp-files";

/// Folder of stored runs, which may exist before the first result.
pub const STORE: &str = ".runs";

/// Files and folders of a result of a version without [`MANIFEST`].
const LEGACY: [&str; 9] = [
    "index.html",
    "run.json",
    "provenance.json",
    "claims.json",
    "atlas.json",
    "grades.json",
    "data",
    "figures",
    "files",
];

/// The kind of a result. A folder of one kind does not replace one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A run of `msctp-lab sim`.
    Run,
    /// A report.
    Report,
    /// An atlas of a paper's claims.
    Atlas,
    /// Grades of a paper's claims under other conditions.
    Grades,
}

impl Kind {
    /// Returns the text for errors.
    fn words(self) -> &'static str {
        match self {
            Self::Run => "a run of msctp-lab sim",
            Self::Report => "a report",
            Self::Atlas => "an atlas of msctp-lab reproduce --atlas",
            Self::Grades => "grades of msctp-lab reproduce --again",
        }
    }
}

/// The content of [`MANIFEST`].
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    kind: Kind,
    /// True for a part of an experiment, as of `--quick`.
    part: bool,
    /// Paths of the files relative to the folder, with `/`.
    files: BTreeSet<String>,
}

/// An earlier result in a folder.
#[derive(Debug)]
pub(crate) struct Former {
    kind: Kind,
    /// True for a part of an experiment, as of `--quick`.
    pub(crate) part: bool,
    /// Its files; `None` if it was written by a version without [`MANIFEST`].
    files: Option<BTreeSet<String>>,
}

impl Former {
    /// Returns the earlier result in a folder; `None` if there is none.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        if let Some(found) = read_json::<Manifest>(&dir.join(MANIFEST)) {
            return Some(Self { kind: found.kind, part: found.part, files: Some(found.files) });
        }
        // Versions without a manifest wrote one of these, each with the command.
        let records = [
            ("run.json", Kind::Report),
            ("provenance.json", Kind::Report),
            ("atlas.json", Kind::Atlas),
            ("grades.json", Kind::Grades),
        ];
        records.into_iter().find_map(|(name, kind)| {
            let record = read_json::<Value>(&dir.join(name))?;
            let command = record["command"].as_str().filter(|command| command.starts_with("msctp "))?;
            let kind = if record["kind"] == "sim" { Kind::Run } else { kind };
            Some(Self { kind, part: command.contains(" --quick"), files: None })
        })
    }

    /// Returns true if the file belongs to the result.
    fn has(&self, file: &str) -> bool {
        self.files.as_ref().is_none_or(|files| files.contains(file))
    }
}

fn read_json<T: for<'j> Deserialize<'j>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Checks that a folder can take a result: it does not exist, is empty, or has an earlier result of the kind.
///
/// # Errors
/// It has other files, or another result; or the file system fails.
pub fn check(dir: &Path, kind: Kind) -> io::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    let want = "want a new or empty folder, or one with";
    match Former::of(dir) {
        Some(former) if former.kind == kind => Ok(()),
        Some(former) => {
            let (found, kind) = (former.kind.words(), kind.words());
            Err(io::Error::other(format!("the folder has {found}: {want} {kind}")))
        }
        None => match other_file(dir)? {
            Some(file) => {
                let (file, kind) = (file.display(), kind.words());
                Err(io::Error::other(format!("{file} is not an output of msctp: {want} {kind}")))
            }
            None => Ok(()),
        },
    }
}

/// Returns the first file of a folder that belongs to no result, in the order of names.
fn other_file(dir: &Path) -> io::Result<Option<PathBuf>> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name() == STORE || is_part(&path) {
            continue;
        }
        if !entry.file_type()?.is_dir() {
            return Ok(Some(path));
        }
        if Former::of(&path).is_none()
            && let Some(file) = other_file(&path)?
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Removes a folder's results and the folders that are then empty.
///
/// # Errors
/// The file system fails.
pub(crate) fn remove_results(dir: &Path) -> io::Result<()> {
    match Former::of(dir) {
        Some(Former { files: Some(files), .. }) => {
            remove_files(dir, files.iter().map(String::as_str))?;
            fs::remove_file(dir.join(MANIFEST))?;
        }
        Some(Former { files: None, .. }) => remove_legacy(dir)?,
        None => {}
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_results(&entry.path())?;
        }
    }
    // A folder with files of the user stays.
    let _ = fs::remove_dir(dir);
    Ok(())
}

/// Removes the [`LEGACY`] files and folders of a folder.
fn remove_legacy(dir: &Path) -> io::Result<()> {
    for path in LEGACY.map(|name| dir.join(name)) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(named(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Removes files of a folder, and the folders below it that are then empty.
fn remove_files<'f>(dir: &Path, files: impl Iterator<Item = &'f str>) -> io::Result<()> {
    for file in files {
        // A manifest cannot name a file elsewhere.
        if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
            continue;
        }
        let path = dir.join(file);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(named(&path, &error)),
            _ => {}
        }
        let above = path.ancestors().skip(1).take_while(|above| *above != dir);
        for above in above {
            if fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Names the file of an error.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {}", path.display(), os_error(error)))
}

/// An output folder. Dropping it without [`commit`](Self::commit) removes its staged files.
#[derive(Debug)]
pub struct OutputFolder {
    dir: PathBuf,
    stage: PathBuf,
    kind: Kind,
}

impl OutputFolder {
    /// Creates a stage for the files of `dir`, and the folder if it does not exist.
    ///
    /// # Errors
    /// Same as [`check`].
    pub fn create(dir: &Path, kind: Kind) -> io::Result<Self> {
        check(dir, kind)?;
        fs::create_dir_all(dir)?;
        let stage = beside(&dir.join("stage"));
        fs::create_dir_all(&stage)?;
        Ok(Self { dir: dir.to_owned(), stage, kind })
    }

    /// Returns the folder to write the files into.
    #[must_use]
    pub fn stage(&self) -> &Path {
        &self.stage
    }

    /// Renames every file into place. Pages (`index.html`) follow the files that they link to. Files of an
    /// earlier result that are not among them are removed, other files of the folder stay.
    ///
    /// # Errors
    /// A file cannot be moved, or would replace one that belongs to no earlier result. Nothing is replaced
    /// then, unless the file system fails. The error names the first.
    pub fn commit(self) -> io::Result<()> {
        let dir = self.dir.clone();
        self.commit_to(&dir, false)
    }

    /// Returns the folders of the staged results, relative to the stage: its own, and those with a page.
    pub(crate) fn results(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        collect(&self.stage, &mut files)?;
        let pages = files.iter().filter(|file| is_page(file)).filter_map(|file| file.parent());
        let below = pages.filter_map(|page| page.strip_prefix(&self.stage).ok()).map(Path::to_owned);
        let all: BTreeSet<PathBuf> = below.chain([PathBuf::new()]).collect();
        Ok(all.into_iter().collect())
    }

    /// Renames every file into `dir` like [`commit`](Self::commit). `part` is true for a part of an
    /// experiment.
    pub(crate) fn commit_to(self, dir: &Path, part: bool) -> io::Result<()> {
        let results = self.results()?;
        let mut files = Vec::new();
        collect(&self.stage, &mut files)?;
        files.sort();
        let mut parts: Vec<Replaced> =
            results.iter().map(|result| Replaced::of(dir, result, self.kind, part)).collect();
        for file in &files {
            let inside = file.strip_prefix(&self.stage).map_err(io::Error::other)?;
            // The folder's own result is the first, those below it follow.
            let own = parts.iter_mut().rfind(|of| inside.starts_with(&of.below));
            own.map_or(Ok(()), |own| own.add(dir, inside))?;
        }
        for of in &parts {
            of.write_manifest(dir, true)?;
        }
        let (pages, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_page(file));
        // The folder's own page is the last.
        for file in others.iter().chain(pages.iter().rev()) {
            let target = dir.join(file.strip_prefix(&self.stage).map_err(io::Error::other)?);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(|error| named(parent, &error))?;
            }
            fs::rename(file, &target).map_err(|error| named(&target, &error))?;
        }
        for of in &parts {
            let stale = of.stale().map(String::as_str);
            remove_files(&dir.join(&of.below), stale)?;
            of.write_manifest(dir, false)?;
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.stage);
    }
}

/// A result that replaces an earlier one.
struct Replaced {
    /// Its folder, relative to the output folder.
    below: PathBuf,
    former: Option<Former>,
    manifest: Manifest,
}

impl Replaced {
    fn of(dir: &Path, below: &Path, kind: Kind, part: bool) -> Self {
        let manifest = Manifest { kind, part, files: BTreeSet::new() };
        Self { former: Former::of(&dir.join(below)), below: below.to_owned(), manifest }
    }

    /// Adds a file by its path in the output folder.
    ///
    /// # Errors
    /// Its place is taken by a file that belongs to no earlier result.
    fn add(&mut self, dir: &Path, inside: &Path) -> io::Result<()> {
        let own = inside.strip_prefix(&self.below).map_err(io::Error::other)?;
        let parts = own.components().map(|part| part.as_os_str().to_string_lossy());
        let own = parts.collect::<Vec<_>>().join("/");
        let target = dir.join(inside);
        let known = self.former.as_ref().is_some_and(|former| former.has(&own));
        let above = target.ancestors().skip(1).take_while(|above| *above != dir);
        let taken = above.filter(|above| above.exists() && !above.is_dir()).last();
        let taken = taken.or((target.is_dir() || (target.exists() && !known)).then_some(target.as_path()));
        if let Some(taken) = taken {
            let message = format!(
                "{} is not part of an earlier result: move it, or name another folder",
                taken.display()
            );
            return Err(io::Error::other(message));
        }
        self.manifest.files.insert(own);
        Ok(())
    }

    /// Returns the files of the earlier result that this one does not have.
    fn stale(&self) -> impl Iterator<Item = &String> {
        let former = self.former.as_ref().and_then(|former| former.files.as_ref());
        former.into_iter().flatten().filter(|file| !self.manifest.files.contains(*file))
    }

    /// Writes the manifest; with `stale`, also with the files of the earlier result that are still there.
    fn write_manifest(&self, dir: &Path, stale: bool) -> io::Result<()> {
        let folder = dir.join(&self.below);
        fs::create_dir_all(&folder).map_err(|error| named(&folder, &error))?;
        let old = self.stale().filter(|_| stale).cloned();
        let files = self.manifest.files.iter().cloned().chain(old).collect();
        let manifest = Manifest { files, ..self.manifest };
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(&manifest).map_err(io::Error::other)?;
        write_file(&path, (text + "\n").as_bytes()).map_err(|error| named(&path, &error))
    }
}

fn is_page(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == "index.html")
}

/// Collects all files below a folder.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder, names};
    use super::*;

    /// Replaces the result in `out` by files with their own names as content.
    fn put(out: &Path, files: &[&str]) -> io::Result<()> {
        let output = OutputFolder::create(out, Kind::Report)?;
        for file in files {
            let path = output.stage().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        output.commit()
    }

    #[test]
    fn a_result_replaces_its_own_files_and_no_others() {
        let dir = folder("replaced");
        let out = dir.join("report");
        put(&out, &["index.html", "data/runs.csv", "figures/a.svg"]).unwrap();
        fs::write(out.join("notes"), "mine").unwrap();
        put(&out, &["index.html", "data/cells.csv"]).unwrap();
        assert_eq!(names(&out), [MANIFEST, "data", "index.html", "notes"]);
        assert_eq!(names(&out.join("data")), ["cells.csv"], "nothing stale is left");
        // A file of the user at a place of the new result.
        fs::write(out.join("claims.json"), "mine").unwrap();
        let taken = put(&out, &["claims.json", "index.html", "run.json"]).unwrap_err().to_string();
        assert!(taken.contains("report/claims.json is not part of an earlier result"), "{taken}");
        assert_eq!(names(&out), [MANIFEST, "claims.json", "data", "index.html", "notes"]);
        assert_eq!(fs::read(out.join("claims.json")).unwrap(), b"mine");
        // A file where a folder is wanted.
        fs::write(out.join("figures"), "mine").unwrap();
        let taken = put(&out, &["index.html", "figures/a.svg"]).unwrap_err().to_string();
        assert!(taken.contains("report/figures is not part of"), "{taken}");
        let dropped = OutputFolder::create(&out, Kind::Report).unwrap();
        fs::write(dropped.stage().join("index.html"), "half").unwrap();
        drop(dropped);
        assert_eq!(fs::read(out.join("index.html")).unwrap(), b"index.html");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_folder_with_other_files_is_refused() {
        let dir = folder("foreign");
        let refused = |kind| check(&dir, kind).map_err(|error| error.to_string());
        assert_eq!(refused(Kind::Report), Ok(()), "it is empty");
        fs::create_dir_all(dir.join(".runs/0123")).unwrap();
        fs::write(dir.join(".runs/0123/4567"), "").unwrap();
        put(&dir.join("walk"), &["index.html"]).unwrap();
        assert_eq!(refused(Kind::Report), Ok(()), "it has stored runs, and a report in a folder");
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join("src/main.rs"), "").unwrap();
        let why = refused(Kind::Report).unwrap_err();
        assert!(why.contains("src/main.rs is not an output of msctp: want a new or empty folder"), "{why}");
        fs::remove_dir_all(dir.join("src")).unwrap();
        // Only the records of results count.
        fs::write(dir.join("run.json"), "{ \"command\": \"make\" }").unwrap();
        assert!(refused(Kind::Run).unwrap_err().contains("run.json is not an output of msctp"));
        fs::write(dir.join("run.json"), "{ \"kind\": \"sim\", \"command\": \"msctp sim a.toml\" }").unwrap();
        assert_eq!(refused(Kind::Run), Ok(()));
        let why = refused(Kind::Report).unwrap_err();
        assert!(why.starts_with("the folder has a run of msctp-lab sim: want"), "{why}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn results_below_a_result_keep_their_own_files() {
        let dir = folder("nested");
        put(&dir.join("kim-koh"), &["index.html", "figures/a.svg"]).unwrap();
        put(&dir, &["index.html", "kim-koh/index.html", "kim-koh/figures/b.svg"]).unwrap();
        assert_eq!(names(&dir.join("kim-koh/figures")), ["b.svg"]);
        put(&dir.join("kim-koh"), &["index.html"]).unwrap();
        assert_eq!(names(&dir.join("kim-koh")), [MANIFEST, "index.html"]);
        fs::write(dir.join("kim-koh/notes"), "mine").unwrap();
        remove_results(&dir).unwrap();
        assert_eq!(names(&dir), ["kim-koh"]);
        assert_eq!(names(&dir.join("kim-koh")), ["notes"]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn of_a_result_without_a_manifest_the_known_files_are_removed() {
        let dir = folder("legacy");
        let out = dir.join("part");
        fs::create_dir_all(out.join("data")).unwrap();
        fs::create_dir_all(out.join("kim-koh/figures")).unwrap();
        for place in [out.clone(), out.join("kim-koh")] {
            fs::write(place.join("index.html"), "").unwrap();
            fs::write(place.join("provenance.json"), "{ \"command\": \"msctp reproduce\" }").unwrap();
        }
        fs::write(out.join("data/runs.csv"), "").unwrap();
        fs::write(out.join("notes"), "mine").unwrap();
        remove_results(&out).unwrap();
        assert_eq!(names(&out), ["notes"]);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_manifest_names_no_file_elsewhere() {
        let dir = folder("elsewhere");
        let out = dir.join("report");
        put(&out, &["index.html"]).unwrap();
        fs::write(dir.join("mine"), "").unwrap();
        let manifest = fs::read_to_string(out.join(MANIFEST)).unwrap();
        fs::write(out.join(MANIFEST), manifest.replace("index.html", "../mine")).unwrap();
        fs::remove_file(out.join("index.html")).unwrap();
        put(&out, &["index.html"]).unwrap();
        assert_eq!(names(&dir), ["mine", "report"]);
        fs::remove_dir_all(dir).unwrap();
    }
}
