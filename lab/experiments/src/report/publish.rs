//! Publishes a report in its folder, without replacing a complete report with a partial one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ReportError;
use crate::output::OutputFolder;

/// Subfolder for a partial report beside a complete one.
const INCOMPLETE: &str = "incomplete";

/// Writes a report into `out` in one step and returns the page. `write` fills a folder; its files replace
/// those of an earlier report when all are written. A report that is not `complete` (runs failed or were not
/// started) does not replace a complete one: it is written to `out/incomplete`. A later complete report
/// removes that folder.
///
/// # Errors
/// `write` or the file system fails. Existing files are then unchanged, unless the last step failed.
pub fn publish(
    out: &Path,
    complete: bool,
    write: impl FnOnce(&Path) -> Result<(), ReportError>,
) -> Result<PathBuf, ReportError> {
    let aside = out.join(INCOMPLETE);
    let place = if complete || !has_complete(out) { out } else { &aside };
    let failed = |source| ReportError::File { path: place.to_owned(), source };
    let folder = OutputFolder::create(place).map_err(failed)?;
    write(folder.stage())?;
    folder.commit().map_err(failed)?;
    if complete && aside.is_dir() {
        fs::remove_dir_all(&aside).map_err(|source| ReportError::File { path: aside.clone(), source })?;
    }
    Ok(place.join("index.html"))
}

/// Completeness fields of `provenance.json`.
#[derive(Deserialize)]
struct Extent {
    failed: Vec<(String, String)>,
    skipped: usize,
}

/// Returns true if `dir`, or one of its papers' folders, holds a complete report.
fn has_complete(dir: &Path) -> bool {
    let papers = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let papers = papers.filter(|path| path.file_name().is_some_and(|name| name != INCOMPLETE));
    is_complete(dir) || papers.into_iter().any(|paper| is_complete(&paper))
}

/// Returns true if a folder holds a page whose provenance has no missing runs.
fn is_complete(dir: &Path) -> bool {
    let extent = fs::read(dir.join("provenance.json")).ok();
    let extent = extent.and_then(|json| serde_json::from_slice::<Extent>(&json).ok());
    dir.join("index.html").is_file() && extent.is_none_or(|all| all.failed.is_empty() && all.skipped == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes a page that lacks `skipped` runs.
    fn put(out: &Path, text: &str, skipped: usize) -> PathBuf {
        let write = |dir: &Path| {
            fs::write(dir.join("index.html"), text).unwrap();
            let extent = format!("{{ \"failed\": [], \"skipped\": {skipped} }}");
            fs::write(dir.join("provenance.json"), extent).unwrap();
            Ok(())
        };
        publish(out, skipped == 0, write).unwrap()
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
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "no stage is left");
        fs::remove_dir_all(out).unwrap();
    }
}
