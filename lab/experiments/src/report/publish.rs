//! Publishes a report in its folder, without replacing a whole or complete report with less.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ReportError;
use crate::output::{Former, Kind, OutputFolder, remove_results};

/// Subfolder for an incomplete report beside a complete one.
const INCOMPLETE: &str = "incomplete";
/// Subfolder for a report of a part of an experiment beside one of the whole.
const PART: &str = "part";

/// The extent of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// True if every run completed.
    pub complete: bool,
    /// True if seeds or conditions of the experiment were left out, as with `--quick`.
    pub part: bool,
}

impl From<bool> for Extent {
    /// Returns the extent of a report of the whole experiment.
    fn from(complete: bool) -> Self {
        Self { complete, part: false }
    }
}

/// Writes a report into `out` in one step and returns the page. `write` fills a folder; its files replace
/// those of an earlier report when all are written. A report that is not complete (runs failed or were not
/// started) does not replace a complete one: it is written to `out/incomplete`. One of a part of the
/// experiment does not replace a complete one of the whole: it is written to `out/part`. A later complete
/// report of the whole removes both folders.
///
/// # Errors
/// `write` or the file system fails, or `out` has files that are not of a report. Existing files are then
/// unchanged, unless the last step failed.
pub fn publish(
    out: &Path,
    extent: impl Into<Extent>,
    write: impl FnOnce(&Path) -> Result<(), ReportError>,
) -> Result<PathBuf, ReportError> {
    let Extent { complete, part } = extent.into();
    let failed = |source| ReportError::File { path: out.to_owned(), source };
    let folder = OutputFolder::create(out, Kind::Report).map_err(failed)?;
    write(folder.stage())?;
    let replaces_whole = || folder.results().map(|all| all.iter().any(|of| is_whole(&out.join(of))));
    let place = if !complete && has_complete(out) {
        out.join(INCOMPLETE)
    } else if part && replaces_whole().map_err(failed)? {
        out.join(PART)
    } else {
        out.to_owned()
    };
    let failed = |source| ReportError::File { path: place.clone(), source };
    folder.commit_to(&place, part).map_err(failed)?;
    if complete && place == out {
        let old = [INCOMPLETE, PART].into_iter().take(if part { 1 } else { 2 }).map(|name| out.join(name));
        for aside in old.filter(|aside| aside.is_dir()) {
            remove_results(&aside).map_err(|source| ReportError::File { path: aside, source })?;
        }
    }
    Ok(place.join("index.html"))
}

/// Completeness fields of `provenance.json`.
#[derive(Deserialize)]
struct Missing {
    failed: Vec<(String, String)>,
    skipped: usize,
}

/// Returns true if `dir`, or one of its papers' folders, holds a complete report.
fn has_complete(dir: &Path) -> bool {
    let papers = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let aside = |name: &std::ffi::OsStr| name == INCOMPLETE || name == PART;
    let papers = papers.filter(|path| path.file_name().is_some_and(|name| !aside(name)));
    is_complete(dir) || papers.into_iter().any(|paper| is_complete(&paper))
}

/// Returns true if a folder holds a page whose provenance has no missing runs.
fn is_complete(dir: &Path) -> bool {
    let missing = fs::read(dir.join("provenance.json")).ok();
    let missing = missing.and_then(|json| serde_json::from_slice::<Missing>(&json).ok());
    dir.join("index.html").is_file() && missing.is_none_or(|all| all.failed.is_empty() && all.skipped == 0)
}

/// Returns true if a folder holds a complete report of a whole experiment.
fn is_whole(dir: &Path) -> bool {
    is_complete(dir) && Former::of(dir).is_some_and(|former| !former.part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes a page that lacks `skipped` runs.
    fn put(out: &Path, text: &str, skipped: usize) -> PathBuf {
        put_extent(out, text, skipped, (skipped == 0).into())
    }

    fn put_extent(out: &Path, text: &str, skipped: usize, extent: Extent) -> PathBuf {
        let write = |dir: &Path| {
            fs::write(dir.join("index.html"), text).unwrap();
            let extent = format!("{{ \"failed\": [], \"skipped\": {skipped} }}");
            fs::write(dir.join("provenance.json"), extent).unwrap();
            Ok(())
        };
        publish(out, extent, write).unwrap()
    }

    #[test]
    fn a_partial_report_replaces_a_partial_one_only() {
        let out = std::env::temp_dir().join(format!("msctp-publish-{}", std::process::id()));
        let _ = fs::remove_dir_all(&out);
        let page = out.join("index.html");
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(put(&out, "25 rows missing", 25), page);
        assert_eq!(put(&out, "18 rows missing", 18), page);
        assert_eq!(put(&out, "all rows", 0), page);
        let aside = put(&out, "18 rows missing", 18);
        assert_eq!((aside.clone(), read(&page)), (out.join("incomplete/index.html"), "all rows".to_owned()));
        assert_eq!(read(&aside), "18 rows missing");
        // Complete reports of single papers are in folders of the overview's.
        assert_eq!(put(&out.join("all/kim-koh"), "one paper", 0), out.join("all/kim-koh/index.html"));
        assert_eq!(put(&out.join("all"), "partial overview", 3), out.join("all/incomplete/index.html"));
        assert_eq!(put(&out, "all rows again", 0), page);
        assert!(!aside.exists(), "nothing stale is left");
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn a_part_does_not_replace_the_whole() {
        let out = std::env::temp_dir().join(format!("msctp-publish-part-{}", std::process::id()));
        let _ = fs::remove_dir_all(&out);
        let page = out.join("index.html");
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let part = |out: &Path, text: &str| put_extent(out, text, 0, Extent { complete: true, part: true });
        assert_eq!(part(&out, "3 seeds"), page);
        assert_eq!(part(&out, "3 seeds again"), page, "a part replaces a part");
        assert_eq!(put(&out, "30 seeds", 0), page);
        let aside = out.join("part/index.html");
        assert_eq!(part(&out, "3 seeds"), aside);
        assert_eq!((read(&page), read(&aside)), ("30 seeds".to_owned(), "3 seeds".to_owned()));
        fs::write(out.join("part/notes"), "mine").unwrap();
        assert_eq!(put(&out, "60 seeds", 0), page);
        assert!(!aside.exists(), "nothing stale is left");
        assert_eq!(read(&out.join("part/notes")), "mine");
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn a_report_that_cannot_be_written_leaves_the_old_one() {
        let out = std::env::temp_dir().join(format!("msctp-publish-failed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&out);
        put(&out, "old", 0);
        let failed = publish(&out, true, |dir| {
            fs::write(dir.join("index.html"), "half").unwrap();
            let source = std::io::Error::other("disk full");
            Err(ReportError::File { path: dir.join("data"), source })
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "old");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "no stage is left");
        fs::remove_dir_all(out).unwrap();
    }
}
