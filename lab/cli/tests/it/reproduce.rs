//! `msctp-lab reproduce` from outside: what it prints, what it writes, and that its runs can be repeated by
//! hand.

use crate::PROGRAM;
use crate::points;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn lab(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).current_dir(dir).output().expect("msctp-lab starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The options of the smallest whole run of a paper, but the last: the report's folder.
fn quick<'a>(paper: &'a str, seeds: &'a str, threads: &'a str) -> [&'a str; 8] {
    ["reproduce", paper, "--quick", "--seeds", seeds, "--threads", threads, "--out"]
}

/// Makes the report of these options into `dir`.
fn report(dir: &Path, options: [&str; 8]) {
    let done = lab(dir, &[&options[..], &["report"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains(" claims: "), "{}", text(&done.stdout));
    assert!(text(&done.stderr).contains("index.html"), "{}", text(&done.stderr));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What a paper's report has.
struct Expected<'a> {
    paper: &'a str,
    /// The ids of the claims begin with it.
    claims: (&'a str, usize),
    figures: std::ops::RangeInclusive<u32>,
    /// A row of the table of runs, and the column of the bytes delivered.
    run: (usize, &'a str),
    /// Texts of commands behind points.
    points: &'a [&'a str],
}

/// Checks that the report of a paper is whole, and that it repeats on another number of threads.
fn is_whole_and_repeats(expected: &Expected<'_>) {
    let dir = tempfile::tempdir().unwrap();
    self::report(dir.path(), quick(expected.paper, "2", "2"));
    let report = dir.path().join("report");

    let claims: Value = serde_json::from_str(&read(&report.join("claims.json"))).unwrap();
    let claims = claims.as_array().unwrap();
    let (prefix, len) = expected.claims;
    assert_eq!(claims.len(), len);
    for (claim, number) in claims.iter().zip(1..) {
        assert_eq!(claim["id"], format!("{prefix}{number}"));
        assert_eq!(claim["paper"], expected.paper);
        assert!(claim["box"].is_null(), "there is no atlas beside the report");
        for key in ["statement", "measured", "grade"] {
            assert!(!claim[key].as_str().unwrap().is_empty(), "{key} of {}", claim["id"]);
        }
        let effects =
            claim["judgements"][0]["checks"].as_array().unwrap().iter().map(|check| &check["effect"]);
        for effect in effects.filter(|effect| !effect.is_null()) {
            assert!(effect["interval"][0].as_f64() <= effect["effect"].as_f64(), "{effect}");
            assert!(effect["seeds"].as_u64() > Some(1), "{effect}");
            let power = effect["power"].as_f64();
            assert_eq!(power.is_some(), effect["relevant"].is_number(), "{effect}");
            assert!(power.is_none_or(|power| (0.0..=1.0).contains(&power)), "{effect}");
        }
    }

    let page = read(&report.join("index.html"));
    for number in expected.figures.clone() {
        assert!(page.contains(&format!("id=\"fig-{number}\"")), "figure {number} is missing");
    }
    for outside in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!page.contains(outside), "the page reaches outside: {outside}");
    }
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match link.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "no place called {id}"),
            None => assert!(report.join(link).is_file(), "no file {link}"),
        }
    }

    // The same bytes in every file, from one thread and from two.
    let again = lab(dir.path(), &["rerun", "report", "--threads", "1"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("files are the same"), "{}", text(&again.stdout));

    repeat_by_hand(&report, expected.run);
    points::repeat(&report, &report, expected.points);
}

/// The other kinds of points are in `sweep::a_point_of_a_figure_opens_as_the_command_that_prints_its_value`.
#[test]
fn the_report_is_whole_repeats_and_does_not_depend_on_threads() {
    is_whole_and_repeats(&Expected {
        paper: "afif",
        claims: ("AF", 5),
        figures: 5..=10,
        run: (4, "delivered_bytes"),
        // A mean of each second of a curve, a difference of two curves.
        points: &["NR == 1", "sed 's/^/-,/'"],
    });
}

#[test]
#[ignore = "simulates a paper twice, for half a minute of CPU time"]
fn slow_the_report_is_whole_repeats_and_does_not_depend_on_threads() {
    is_whole_and_repeats(&Expected {
        paper: "kim-koh",
        claims: ("KK", 9),
        figures: 5..=13,
        run: (20, "user_bytes"),
        // A mean, a paired difference, a mean of each second of a curve, a difference of two curves.
        points: &["END { printf", "echo $(msctp-lab", "NR == 1", "sed 's/^/-,/'"],
    });
}

#[test]
fn a_run_killed_at_any_moment_resumes_to_the_same_report() {
    resumes_to_the_same_report("1");
}

#[test]
#[ignore = "simulates a paper twice, for ten seconds of CPU time"]
fn slow_a_run_killed_at_any_moment_resumes_to_the_same_report() {
    resumes_to_the_same_report("2");
}

#[expect(clippy::disallowed_methods, reason = "waits for another process")]
fn resumes_to_the_same_report(seeds: &str) {
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = quick("fu-atiquzzaman", seeds, "2");
    report(whole.path(), arguments);
    let out = broken.path().join("report");
    let mut started = Command::new(PROGRAM)
        .args(arguments)
        .arg(&out)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Some runs are done, two are in progress, the others have not started.
    let done = |out: &Path| {
        let of_this_program = std::fs::read_dir(out.join(".runs")).ok()?.next()?.ok()?.path();
        std::fs::read_dir(of_this_program).ok().map(Iterator::count)
    };
    while done(&out).unwrap_or(0) < 30 {
        assert!(started.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    started.kill().unwrap();
    started.wait().unwrap();
    assert!(!out.join("index.html").exists());

    let again = lab(broken.path(), &[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("runs are done already"), "{}", text(&again.stderr));
    assert!(!out.join(".runs").exists(), "nothing is kept after the report");
    for name in ["index.html", "claims.json", "provenance.json", "data/runs.csv", "data/curves.parquet"] {
        let files = [&whole, &broken].map(|dir| std::fs::read(dir.path().join("report").join(name)).unwrap());
        assert!(files[0] == files[1], "{name} differs after the interruption");
    }
}

/// An interrupted re-run leaves the complete report unchanged, reports that, and resumes.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "waits for another process")]
fn an_interrupted_rerun_leaves_the_complete_report() {
    let dir = tempfile::tempdir().unwrap();
    report(dir.path(), quick("fu-atiquzzaman", "1", "2"));
    let out = dir.path().join("report");
    let files = ["index.html", "claims.json", "provenance.json", "data/runs.csv"];
    let complete = files.map(|name| read(&out.join(name)));
    let started = Command::new(PROGRAM)
        .args(quick("fu-atiquzzaman", "2", "1"))
        .arg(&out)
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let kept = |out: &Path| {
        let of_this_program = std::fs::read_dir(out.join(".runs")).ok()?.next()?.ok()?.path();
        std::fs::read_dir(of_this_program).ok().map(Iterator::count)
    };
    while kept(&out).unwrap_or(0) < 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-TERM", &started.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = started.wait_with_output().unwrap();
    let stderr = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(143), "{stderr}");
    assert!(stderr.contains("interrupted with ") && stderr.contains("incomplete/index.html"), "{stderr}");
    assert!(complete == files.map(|name| read(&out.join(name))), "the complete report is as it was");
    assert!(read(&out.join("incomplete/index.html")).contains("Interrupted"));

    let again = lab(dir.path(), &[&quick("fu-atiquzzaman", "2", "2")[..], &["report"]].concat());
    let stderr = text(&again.stderr);
    assert!(again.status.success(), "{stderr}");
    assert!(stderr.contains(" more from an earlier run"), "{stderr}");
    assert!(read(&out.join("data/runs.csv")) != complete[3] && !out.join("incomplete").exists());
}

/// The short form is each paper's own report, above; only all together make the page of all.
#[test]
#[ignore = "simulates all papers, for a minute and a half of CPU time; scripts/test slow runs it"]
fn slow_all_papers_come_in_one_report() {
    let dir = tempfile::tempdir().unwrap();
    let done = lab(dir.path(), &["reproduce", "--quick", "--seeds", "1", "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let printed: Value = serde_json::from_slice(&done.stdout).unwrap();
    let report = dir.path().join("msctp-report");
    let written: Value = serde_json::from_str(&read(&report.join("claims.json"))).unwrap();
    assert_eq!(printed, written);
    let page = read(&report.join("index.html"));
    let mut claims = 0;
    for paper in std::fs::read_dir(&report)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().join("claims.json").is_file())
    {
        let own: Value = serde_json::from_str(&read(&paper.path().join("claims.json"))).unwrap();
        let record: Value = serde_json::from_str(&read(&paper.path().join("run.json"))).unwrap();
        assert!(!record["files"][0]["text"].as_str().unwrap().is_empty(), "{}", record["title"]);
        assert_eq!(record["seeds"], serde_json::json!([1]), "{}", record["title"]);
        claims += own.as_array().unwrap().len();
    }
    assert!(claims >= 9);
    let again = lab(&report, &["rerun", "fu-atiquzzaman"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("files are the same"), "{}", text(&again.stdout));
    assert_eq!(written.as_array().unwrap().len(), claims);
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let (file, id) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { page.clone() } else { read(&report.join(file)) };
        assert!(id.is_empty() || target.contains(&format!("id=\"{id}\"")), "no place {link}");
    }
}

/// Runs the command of a run in the table, in the report's folder. Checks that it gives the table's bytes.
fn repeat_by_hand(report: &Path, (row, bytes_column): (usize, &str)) {
    let runs = read(&report.join("data/runs.csv"));
    let mut lines = runs.lines();
    let column =
        |name: &str| runs.lines().next().unwrap().split(',').position(|known| known == name).unwrap();
    let row: Vec<&str> = lines.nth(row).unwrap().split(',').collect();
    let mut words = row[column("command")].split(' ');
    assert_eq!(words.next(), Some("msctp-lab"));
    let arguments: Vec<&str> = words.chain(["--json"]).collect();
    let done = lab(report, &arguments);
    assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    let summary: Value = serde_json::from_slice(&done.stdout).unwrap();
    let bytes = &summary["associations"][0]["to_client"]["bytes"];
    assert_eq!(bytes.to_string(), row[column(bytes_column)], "{arguments:?}");
}

#[test]
fn wrong_arguments_are_refused_with_code_2() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [
        &["reproduce", "nobody"][..],
        &["reproduce", "kim-koh", "--seeds", "0"],
        &["reproduce", "kim-koh", "--threads", "0"],
        &["reproduce", "kim-koh", "--quick", "--out", "/dev/null/report"],
    ] {
        let done = lab(dir.path(), arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stderr));
        assert!(!done.stderr.is_empty());
    }
}

#[test]
fn a_page_of_a_faulty_atlas_says_which_one_and_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let report = |paper: &str| {
        let others = ["atlas", "seeds", "period"].map(|other| format!("{paper}-{other}"));
        for folder in [paper.to_owned()].into_iter().chain(others) {
            let dir = dir.path().join("msctp-report").join(folder);
            std::fs::create_dir_all(&dir).unwrap();
            for (file, text) in [
                ("claims.json", "[]"),
                ("provenance.json", r#"{"command": "", "runs": 0}"#),
                ("atlas.json", "[]"),
                ("grades.json", "[]"),
            ] {
                std::fs::write(dir.join(file), text).unwrap();
            }
        }
    };
    for paper in ["kim-koh", "fu-atiquzzaman", "afif", "eklund", "park-jang"] {
        report(paper);
    }
    let done = lab(dir.path(), &["reproduce", "--page", "docs/page.md", "--quick"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    let said = text(&done.stderr);
    assert!(
        said.contains("kim-koh-atlas/atlas.json") && said.contains("is not of this version of msctp"),
        "{said}"
    );
    assert!(!dir.path().join("docs/page.md").exists());
}

#[test]
fn an_atlas_says_the_share_and_repeats_on_any_number_of_threads() {
    let atlas = |threads: &str| {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("atlas");
        let done = lab(
            dir.path(),
            &[
                "reproduce",
                "fu-atiquzzaman",
                "--atlas",
                "--quick",
                "--threads",
                threads,
                "--out",
                out.to_str().unwrap(),
            ],
        );
        assert!(done.status.success(), "{}", text(&done.stderr));
        let said = text(&done.stdout);
        assert!(said.contains("FA4 is reproduced at "), "{said}");
        assert!(out.join("fa4.svg").exists(), "no map of FA4");
        read(&out.join("atlas.json"))
    };
    let once = atlas("1");
    assert_eq!(once, atlas("2"));

    let charted: Value = serde_json::from_str(&once).unwrap();
    assert_eq!((&charted["paper"], &charted["quick"]), (&"fu-atiquzzaman".into(), &true.into()));
    let claims = charted["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 1);
    for claim in claims {
        let share = claim["share_of_box"].as_f64().expect("a share");
        assert!(claim["interval"][0].as_f64().unwrap() <= share, "{claim}");
        assert!(share <= claim["interval"][1].as_f64().unwrap(), "{claim}");
    }
}

#[test]
fn other_seeds_and_the_stacks_of_the_papers_time_give_grades_that_a_report_shows() {
    let dir = tempfile::tempdir().unwrap();
    let again = |other: &str, more: &[&str]| {
        let args = [&["reproduce", "afif", "--quick", "--seeds", "2", "--again", other][..], more].concat();
        lab(dir.path(), &args)
    };
    let done = again("seeds", &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).ends_with("Seeds 3 to 4.\n"), "{}", text(&done.stdout));
    let grades = |other: &str| {
        let path = dir.path().join(format!("msctp-report/afif-{other}/grades.json"));
        serde_json::from_str::<Value>(&read(&path)).unwrap()
    };
    assert_eq!(grades("seeds")["seeds"], serde_json::json!([3, 4]));
    assert_eq!(grades("seeds")["command"], "msctp-lab reproduce afif --quick --seeds 2 --again seeds");
    let done = again("period", &["--threads", "1"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(grades("period")["seeds"], serde_json::json!([1, 2]), "the report's");
    assert_eq!(grades("period")["claims"].as_array().unwrap().len(), 5);

    let done = lab(dir.path(), &["reproduce", "afif", "--quick", "--seeds", "2", "--claims", "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let claims: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    for claim in claims.as_array().unwrap() {
        let (own, other) = (&claim["judgements"][0]["grade"], &claim["again"]["grade"]);
        let expected = if own == other { own.clone() } else { "unresolved".into() };
        assert_eq!(claim["grade"], expected, "{claim}");
        assert!(claim["period"]["grade"].is_string(), "{claim}");
    }

    let done = lab(dir.path(), &["reproduce", "eklund", "--again", "period"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("ran on real stacks"), "{}", text(&done.stderr));
}
