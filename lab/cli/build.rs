//! Sets `MSCTP_COMMIT`, the commit that the command is built from, for the records of runs.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success());
        output.and_then(|output| String::from_utf8(output.stdout).ok()).map(|text| text.trim().to_owned())
    };
    // A crate from a registry is in no repository, or in one that is not ours.
    let ours = git(&["ls-files", "build.rs"]).is_some_and(|files| !files.is_empty());
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12", "--match="]).filter(|_| ours);
    println!("cargo::rustc-env=MSCTP_COMMIT={}", commit.unwrap_or_default());
    // Every commit and checkout appends to the log; the index changes with what is staged.
    for path in ["logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]).filter(|_| ours) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}
