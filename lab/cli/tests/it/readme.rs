//! docs/tour.md agrees with what it shows: the demo's rows with the script, the summary with the command's
//! output.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::PROGRAM;

#[test]
fn the_demo_of_the_tour_has_the_rows_of_the_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("a file of the repository");
    let (page, script) = (read("docs/tour.md"), read("scripts/demo-handover"));
    let rows: Vec<&str> =
        script.lines().filter_map(|line| line.strip_prefix("run ")?.split(' ').next()).collect();
    assert_eq!(rows, ["TCP", "MPTCP", "msctp"]);
    for row in rows {
        let shown = format!("{row:<6} 10.000 s: link-down wifi: ");
        assert!(page.lines().any(|line| line.starts_with(&shown)), "{shown}");
    }
}

#[test]
fn the_handover_summary_of_the_tour_is_what_sim_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/tour.md")).expect("docs/tour.md");
    let run = Command::new(PROGRAM)
        .args(["sim", "scenarios/handover.toml"])
        .current_dir(&root)
        .output()
        .expect("msctp-lab runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let printed = String::from_utf8(run.stdout).expect("UTF-8");
    let shown = page
        .split("sim scenarios/handover.toml\n\n```text\n")
        .nth(1)
        .and_then(|rest| rest.split("…\n").next())
        .expect("the summary ends with an ellipsis");
    let lines = shown.lines().count();
    let start: String = printed.split_inclusive('\n').take(lines).collect();
    assert_eq!(start, shown, "copy the first {lines} lines of the summary into docs/tour.md");
}
