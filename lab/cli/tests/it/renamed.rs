//! The commands that msctp names for those of earlier versions.

use crate::process::{run, stderr};

#[path = "../../../../crates/cli/src/renamed.rs"]
mod table;

#[test]
fn every_new_name_is_a_command() {
    let mut checked = 0;
    for (old, new) in table::RENAMED {
        assert!(table::error(old).is_some_and(|error| error.contains(new)), "{old}");
        let Some(words) = new.strip_prefix("msctp-lab ") else { continue };
        let mut args: Vec<&str> = words.split(' ').collect();
        args.push("--help");
        let output = run(&args);
        assert!(output.status.success(), "{new}: {}", stderr(&output));
        checked += 1;
    }
    assert_eq!(checked, 11);
}
