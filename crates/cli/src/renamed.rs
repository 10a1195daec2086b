//! Commands of earlier versions, and the commands that took their place.

/// The old name of each command and the new one, with its program.
pub(crate) const RENAMED: [(&str, &str); 12] = [
    ("sim", "msctp-lab sim"),
    ("sweep", "msctp-lab sweep"),
    ("rerun", "msctp-lab rerun"),
    ("scenario", "msctp-lab scenario"),
    ("reproduce", "msctp-lab reproduce"),
    ("emulate", "msctp-lab emulate"),
    ("validate", "msctp-lab validate"),
    ("bench", "msctp-lab bench"),
    ("compare", "msctp-lab bench policies"),
    ("metrics", "msctp-lab scenario metrics"),
    ("fit", "msctp-lab reproduce fit"),
    ("top", "msctp status --watch"),
];

/// Returns the error about a command that has another name now.
pub(crate) fn error(name: &str) -> Option<String> {
    let (old, new) = RENAMED.iter().find(|(old, _)| *old == name)?;
    Some(match new.split_once(' ') {
        Some(("msctp-lab", _)) => format!("'{old}' is a command of msctp-lab: {new} …"),
        _ => format!("'{old}' has another name: {new}"),
    })
}
