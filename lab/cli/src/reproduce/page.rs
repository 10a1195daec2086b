//! `msctp-lab reproduce --page FILE`: the re-examination of all papers from their reports and atlases.

use std::path::{Path, PathBuf};

use msctp_experiments::again::Other;
use msctp_experiments::experiments::EXPERIMENTS;
use msctp_experiments::output::write_file;
use msctp_experiments::reexamination::Page;
use msctp_terminal::Failure;
use msctp_terminal::system::cannot_write;

use super::{Args, again, atlas, report};

/// Creates the missing reports and atlases, then the page and its figures.
pub(super) fn run(args: &Args, page: &Path) -> Result<(), Failure> {
    let root = args.out.clone().unwrap_or_else(|| PathBuf::from("msctp-report"));
    let images = page.parent().unwrap_or(Path::new("")).join("images");
    let results = page.parent().unwrap_or(Path::new("")).join("results");
    // Reported before the runs.
    for folder in [&images, &results] {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::Input(cannot_write(format!("--page: {}", folder.display()), &e)))?;
    }
    for experiment in EXPERIMENTS {
        let one = |folder: String| Args {
            paper: Some(experiment.name.to_owned()),
            out: Some(root.join(folder)),
            page: None,
            ..args.clone()
        };
        let atlas_folder = format!("{}-atlas", experiment.name);
        if !root.join(&atlas_folder).join("atlas.json").is_file() {
            atlas::run(&one(atlas_folder))?;
        }
        for (name, other) in Other::ALL {
            let folder = format!("{}-{name}", experiment.name);
            if other.is_of(experiment.name) && !root.join(&folder).join("grades.json").is_file() {
                again::run(&one(folder), other)?;
            }
        }
        if !root.join(experiment.name).join("claims.json").is_file() {
            report(&one(experiment.name.to_owned()))?;
        }
    }
    let made = Page::of(&root).map_err(|e| Failure::Input(format!("--page: {e}")))?;
    let keep = |path: PathBuf, text: &str| {
        write_file(&path, text.as_bytes()).map_err(|e| Failure::Run(cannot_write(path.display(), &e)))
    };
    for (name, svg) in &made.figures {
        keep(images.join(name), svg)?;
    }
    for (name, text) in &made.tables {
        keep(results.join(name), text)?;
    }
    keep(page.to_owned(), &made.text)?;
    eprintln!("Page: {}", page.display());
    Ok(())
}
