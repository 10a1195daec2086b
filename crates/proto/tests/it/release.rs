//! Builds of this repository in release mode, for tests that count instructions.

use std::process::Command;

/// Builds what these words of `cargo` name in release mode, and returns the path of the program `name`.
pub(crate) fn build(words: &[&str], name: &str) -> String {
    let built = Command::new(env!("CARGO"))
        .args(words)
        .args(["--release", "--quiet", "--message-format=json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let messages = String::from_utf8(built.stdout).expect("JSON");
    let executable = messages.lines().find_map(|line| {
        let (_, rest) = line.split_once(r#""executable":""#)?;
        let path = rest.split_once('"')?.0;
        path.rsplit('/').next().is_some_and(|file| file.starts_with(name)).then(|| path.to_owned())
    });
    executable.unwrap_or_else(|| panic!("{name}: {}", String::from_utf8_lossy(&built.stderr)))
}
