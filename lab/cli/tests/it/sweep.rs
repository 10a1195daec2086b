//! `msctp-lab sweep` from outside: the tutorial's experiment, what is refused, interruption, and what is
//! kept.

use crate::PROGRAM;
use crate::points;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("sweep").args(arguments).current_dir(dir);
    command
}

fn sweep(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).output().expect("msctp-lab starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Creates a folder with the scenario of the tutorial and the sweep `text`.
fn folder(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    fs::copy(root().join("scenarios/walk.toml"), dir.path().join("scenarios/walk.toml")).unwrap();
    fs::write(dir.path().join("walk-policies.toml"), text).unwrap();
    dir
}

/// Returns the experiment of docs/tutorial.md.
fn tutorial() -> String {
    let page = fs::read_to_string(root().join("docs/tutorial.md")).expect("docs/tutorial.md");
    let block = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("a block of TOML").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_experiment_of_the_tutorial_prints_what_it_shows_and_writes_a_whole_report() {
    let experiment = tutorial();
    assert!(experiment.lines().count() <= 40, "{} lines", experiment.lines().count());
    let dir = folder(&experiment);
    let done = sweep(dir.path(), &["walk-policies.toml"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let shown = read(&root().join("docs/tutorial.md"));
    let shown = shown.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(text(&done.stdout), shown.expect("the result"), "copy the output into docs/tutorial.md");

    let report = dir.path().join("msctp-report/walk-policies");
    let claims: Value = serde_json::from_str(&read(&report.join("claims.json"))).unwrap();
    assert_eq!(claims.as_array().unwrap().len(), 2);
    let record: Value = serde_json::from_str(&read(&report.join("run.json"))).unwrap();
    assert_eq!(record["seeds"].as_array().unwrap().len(), 20);
    assert_eq!(record["files"][1]["path"], "scenarios/walk.toml");
    assert!(record["commit"].as_str().unwrap().len() != 1, "{}", record["commit"]);
    let page = read(&report.join("index.html"));
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match link.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "no place called {id}"),
            None => assert!(report.join(link).is_file(), "no file {link}"),
        }
    }
    // A row repeats its run by hand.
    let csv = read(&report.join("data/runs.csv"));
    let row = csv.lines().nth(1).unwrap();
    let (values, run) = row.rsplit_once(",msctp-lab ").unwrap();
    let again = Command::new(PROGRAM)
        .args(run.split(' '))
        .args(["--metric", "handover.after"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(text(&again.stdout).trim(), values.split(',').nth(3).unwrap());
    assert!(values.contains(",scenarios/walk.toml,"), "{values}");

    // The runs are kept: another title repeats none.
    fs::write(dir.path().join("walk-policies.toml"), experiment.replace("Which window", "What window"))
        .unwrap();
    let again = sweep(dir.path(), &["walk-policies.toml", "--json"]);
    assert!(text(&again.stderr).contains("0 runs in "), "{}", text(&again.stderr));
    let json: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(json["cells"][5]["policy"], "inherit");
    assert_eq!(json["cells"][5]["after"]["n"], 20);
}

#[test]
fn a_point_of_a_figure_opens_as_the_command_that_prints_its_value() {
    let dir = folder(
        r#"
        title = "Points"
        scenario = "scenarios/walk.toml"
        seeds = "1..2"
        set = { duration = "20s" }
        [[axis.when.value]]
        name = "fixed"
        [[axis.when.value]]
        name = "drawn"
        draw = { "duration" = ["15s", "20s"] }
        [metric]
        bytes = { of = "association.bytes", unit = "kB" }
        rate = { is = "8 * bytes / 20s", unit = "kbps" }
        [curve.goodput]
        of = "association.goodput.curve"
        [[figure]]
        label = "Fig. 1"
        title = "One"
        x = "when"
        y = "rate"
        [[figure]]
        label = "Fig. 2"
        title = "Two"
        y = "goodput"
        seed = 1
        "#,
    );
    let done = sweep(dir.path(), &["walk-policies.toml", "--out", "report"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    // A formula over seeds, overrides that differ from seed to seed, a curve of one run.
    let texts =
        ["--metric '(8 * {association.bytes}) / 20'", "--seed $run", "--metric association.goodput.curve"];
    points::repeat(&dir.path().join("report"), dir.path(), &texts);
}

#[test]
fn a_faulty_file_is_refused_with_its_place_before_anything_is_written() {
    let dir = folder(&tutorial().replace("[0, 0.01, 0.03]", "[0, 1.5]"));
    let done = sweep(dir.path(), &["walk-policies.toml"]);
    assert_eq!(done.status.code(), Some(2));
    let error = text(&done.stderr);
    assert!(
        error.starts_with(
            "msctp-lab: walk-policies.toml:11: axis.loss.values: with policy conservative, loss 1.5: "
        ),
        "{error}"
    );
    assert!(!dir.path().join("msctp-report").exists());
    let none = sweep(dir.path(), &["none.toml"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("cannot read none.toml"), "{}", text(&none.stderr));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "waits for another process")]
fn an_interrupted_sweep_exits_with_130_and_resumes() {
    // So many seeds that it cannot end before the signal; --quick takes three of them.
    let with_series = format!("series = true\n{}", small(&["bytes"]).replace("1..4", "1..200"));
    let dir = folder(&with_series);
    let mut started = command(dir.path(), &["walk-policies.toml", "--threads", "1"])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let runs = dir.path().join("msctp-report/walk-policies/.runs");
    let kept = || {
        let program = fs::read_dir(&runs).ok().and_then(|mut entries| entries.next());
        program.map_or(0, |program| fs::read_dir(program.unwrap().path()).map_or(0, Iterator::count))
    };
    while kept() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &started.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    assert_eq!(started.wait().unwrap().code(), Some(130));
    let page = read(&dir.path().join("msctp-report/walk-policies/index.html"));
    assert!(page.contains("Interrupted: "), "the page says what is missing");
    let series = |dir: &Path| fs::read(dir.join("msctp-report/walk-policies/data/series.parquet")).unwrap();
    assert!(series(dir.path()).ends_with(b"PAR1"), "a whole file");
    let done = sweep(dir.path(), &["walk-policies.toml", "--quick"]);
    assert!(done.status.success());
    assert!(text(&done.stderr).contains("more from an earlier run"), "{}", text(&done.stderr));
    let fresh = folder(&with_series);
    assert!(sweep(fresh.path(), &["walk-policies.toml", "--quick"]).status.success());
    assert!(series(dir.path()) == series(fresh.path()), "the series are those of a fresh sweep");
}

#[test]
fn rerun_finds_the_same_files_and_names_those_that_differ() {
    // Four runs: each rerun makes all of them.
    let dir = folder(&format!("series = true\n{}", small(&["bytes"]).replace("1..4", "1..2")));
    let first = sweep(dir.path(), &["walk-policies.toml", "--out", "first"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let temporary = dir.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let rerun = |threads: &str| {
        let mut command = Command::new(PROGRAM);
        command.env("TMPDIR", &temporary);
        command.args(["rerun", "first", "--threads", threads]).current_dir(dir.path()).output().unwrap()
    };
    // The scenario is taken from the record.
    fs::remove_dir_all(dir.path().join("scenarios")).unwrap();
    let again = rerun("1");
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("files are the same"), "{}", text(&again.stdout));
    let runs = dir.path().join("first/data/runs.csv");
    fs::write(&runs, read(&runs).replacen('1', "2", 1)).unwrap();
    fs::remove_file(dir.path().join("first/claims.json")).unwrap();
    let series = dir.path().join("first/data/series.parquet");
    let mut bytes = fs::read(&series).unwrap();
    bytes[1000] ^= 1;
    fs::write(&series, bytes).unwrap();
    let again = rerun("2");
    assert_eq!(again.status.code(), Some(1));
    let error = text(&again.stderr);
    let differ = "differ: claims.json, data/runs.csv, data/series.parquet";
    assert!(error.contains("3 of ") && error.contains(differ), "{error}");
    fs::rename(dir.path().join("first/run.json"), dir.path().join("run.json")).unwrap();
    let error = text(&rerun("1").stderr);
    assert!(error.contains("first/run.json: no such file: want a folder of msctp-lab sim --out"), "{error}");
    fs::write(dir.path().join("first/run.json"), "{}").unwrap();
    let again = rerun("1");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("first/run.json: missing field"), "{}", text(&again.stderr));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
}

/// A sweep of six short runs with a figure for each metric that `figures` names.
fn small(figures: &[&str]) -> String {
    let figure = |y: &&str| format!("[[figure]]\nx = \"loss\"\ny = \"{y}\"\nslug = \"{y}\"\n");
    let figures: String = figures.iter().map(figure).collect();
    format!(
        "title = \"Small\"\nscenario = \"scenarios/walk.toml\"\nseeds = \"1..4\"\nset = {{ duration = \"13s\" }}\n\
         [axis.loss]\nset = \"action.fade.loss\"\nvalues = [0, 0.01]\n\
         [metric]\nbytes = {{ of = \"association.bytes\" }}\npackets = {{ of = \"run.packets\" }}\n{figures}"
    )
}

#[test]
fn bench_handover_checks_its_folder_before_the_runs() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    fs::write(dir.path().join("out/data"), "mine").unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["bench", "handover", "--traces", "none", "--out", "out"]).current_dir(dir.path());
    let refused = command.output().expect("msctp-lab starts");
    assert_eq!(refused.status.code(), Some(2));
    let error = text(&refused.stderr);
    assert!(
        error.contains("--out out: out/data is not an output of msctp: want a new or empty folder"),
        "{error}"
    );
}

#[test]
fn a_report_replaces_an_earlier_one_and_no_files_of_the_user() {
    let dir = folder(&small(&["bytes", "packets"]));
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("data"), "mine").unwrap();
    let refused = sweep(dir.path(), &["walk-policies.toml", "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2));
    let error = text(&refused.stderr);
    assert!(
        error.contains("--out out: out/data is not an output of msctp: want a new or empty folder"),
        "{error}"
    );
    assert!(!error.contains("runs"), "refused before the first: {error}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "nothing is written");

    let made = sweep(dir.path(), &["walk-policies.toml", "--out", "report"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(!text(&made.stderr).contains("run before"), "the first run: {}", text(&made.stderr));
    let report = dir.path().join("report");
    assert!(report.join("figures/packets.svg").is_file());
    fs::write(report.join("figures/notes"), "mine").unwrap();
    fs::write(dir.path().join("walk-policies.toml"), small(&["bytes"])).unwrap();
    let made = sweep(dir.path(), &["walk-policies.toml", "--out", "report"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(report.join("figures/bytes.svg").is_file() && report.join("figures/notes").is_file());
    assert!(!report.join("figures/packets.svg").exists(), "its figure was removed");

    // A part does not replace the whole.
    let part = sweep(dir.path(), &["walk-policies.toml", "--out", "report", "--quick"]);
    assert!(part.status.success(), "{}", text(&part.stderr));
    let said = text(&part.stderr);
    assert!(
        said.contains(
            "report has a report of all seeds and cells, which stays.\nReport: report/part/index.html"
        ),
        "{said}"
    );
    let rows = |report: &Path| read(&report.join("data/runs.csv")).lines().count() - 1;
    assert_eq!((rows(&report), rows(&report.join("part"))), (8, 6));
}
