//! Reads the reports and atlases that the re-examination rests on.

use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::again::Grades;
use crate::atlas::Charted;
use crate::claims::{Grade, Repeated};
use crate::report::ReportError;

/// The reports and atlases of all papers.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) papers: Vec<Paper>,
}

/// The report and the atlas of a paper.
#[derive(Debug)]
pub(super) struct Paper {
    pub(super) name: String,
    /// The command that judged the claims, and its runs.
    pub(super) command: String,
    pub(super) runs: usize,
    /// The commit of the program that made the report, with a mark if sources were uncommitted.
    pub(super) commit: String,
    pub(super) claims: Vec<Judged>,
    pub(super) atlas: Charted,
    /// The grades with other seeds; `None` if the claims were not judged with them.
    pub(super) again: Option<Other>,
}

/// A claim of `claims.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Judged {
    pub(super) id: String,
    pub(super) statement: String,
    pub(super) grade: Grade,
    pub(super) effect: Option<Shown>,
    pub(super) findings: Vec<String>,
    #[serde(default)]
    pub(super) judgements: Vec<Judgement>,
    #[serde(default)]
    pub(super) again: Option<Repeated>,
    #[serde(default)]
    pub(super) period: Option<Repeated>,
}

/// A claim under one set of conditions.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Judgement {
    pub(super) grade: Grade,
    #[serde(default)]
    pub(super) direction_agrees: Option<bool>,
}

/// The runs with other seeds.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) command: String,
    pub(super) seeds: [u64; 2],
    pub(super) runs: usize,
}

/// The effect of a claim, as shown.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) seeds: usize,
    pub(super) power: Option<f64>,
}

/// The part of `provenance.json` that is shown.
#[derive(Deserialize)]
struct Origin {
    command: String,
    runs: usize,
    /// Empty in reports of programs that did not know it.
    #[serde(default)]
    commit: String,
}

impl Paper {
    /// Returns the place of the report's program in the repository's history, such as ` at commit 0a1b2c3d`.
    pub(super) fn at_commit(&self) -> String {
        match self.commit.as_str() {
            "" => " at an unknown commit".to_owned(),
            commit => format!(" at commit `{commit}`"),
        }
    }
}

impl Sources {
    /// Reads `DIR/PAPER` and `DIR/PAPER-atlas` of each paper.
    pub(super) fn read(dir: &Path, papers: &[&str]) -> Result<Self, ReportError> {
        let paper = |name: &&str| {
            let at = dir.join(name);
            let claims: Vec<Judged> = json(&at.join("claims.json"), &format!("msctp-lab reproduce {name}"))?;
            let origin: Origin = json(&at.join("provenance.json"), &format!("msctp-lab reproduce {name}"))?;
            let place = dir.join(format!("{name}-atlas"));
            let atlas = Charted::read(&place)?.ok_or_else(|| {
                let why = format!("there is no atlas: make it with msctp-lab reproduce {name} --atlas");
                ReportError::File { path: place, source: io::Error::new(io::ErrorKind::NotFound, why) }
            })?;
            let Origin { command, runs, commit } = origin;
            let again = Grades::read(&dir.join(format!("{name}-seeds")))?;
            let again = again.map(|Grades { command, seeds, runs, .. }| Other { command, seeds, runs });
            Ok(Paper { name: (*name).to_owned(), command, runs, commit, claims, atlas, again })
        };
        papers.iter().map(paper).collect::<Result<_, ReportError>>().map(|papers| Self { papers })
    }
}

/// Reads a JSON file that `command` writes.
fn json<T: DeserializeOwned>(path: &Path, command: &str) -> Result<T, ReportError> {
    let failed = |source| ReportError::File { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(|source| {
        failed(io::Error::new(source.kind(), format!("{source}: make it with {command}")))
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let why = format!("is from another version of msctp: {error}; repeat {command}");
        failed(io::Error::new(io::ErrorKind::InvalidData, why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_report_and_a_missing_atlas_name_the_command_that_makes_them() {
        let dir = std::env::temp_dir().join(format!("msctp-reexamination-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let error = Sources::read(&dir, &["afif"]).unwrap_err().to_string();
        assert!(error.contains("afif/claims.json") && error.contains("msctp-lab reproduce afif"), "{error}");
        fs::create_dir_all(dir.join("afif")).unwrap();
        fs::write(dir.join("afif/claims.json"), "[]").unwrap();
        fs::write(dir.join("afif/provenance.json"), "{\"command\": \"c\", \"runs\": 3}").unwrap();
        let error = Sources::read(&dir, &["afif"]).unwrap_err().to_string();
        assert!(
            error.contains("afif-atlas") && error.contains("msctp-lab reproduce afif --atlas"),
            "{error}"
        );
        fs::create_dir_all(dir.join("afif-atlas")).unwrap();
        fs::write(dir.join("afif-atlas/atlas.json"), "[]").unwrap();
        let error = Sources::read(&dir, &["afif"]).unwrap_err().to_string();
        assert!(error.contains("is not of this version of msctp"), "{error}");
        fs::remove_dir_all(dir).unwrap();
    }
}
