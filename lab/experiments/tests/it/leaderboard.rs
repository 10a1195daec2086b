//! The leaderboard of two short drives.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use indicatif::ProgressBar;
use msctp_experiments::leaderboard::{Leaderboard, Ranking, candidates, leaderboard, load};
use msctp_experiments::plan::Execution;

/// Creates a folder with two drives of six seconds. In the first, `east` degrades when `west` improves; in
/// the second, `west` is always the better one.
fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("msctp-leaderboard-{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let index = "file,ping_east_ms,ping_west_ms\ncross.csv,40,60\nsteady.csv,40,60\n";
    fs::write(dir.join("index.csv"), index).unwrap();
    let table = |rows: &str| format!("# made up\ntime,east,west\n{rows}");
    fs::write(dir.join("cross.csv"), table("0,8,2\n3,0.5,8\n6,0,0\n")).unwrap();
    fs::write(dir.join("steady.csv"), table("0,2,6\n6,0,0\n")).unwrap();
    dir
}

fn board(dir: &Path, threads: usize) -> Leaderboard {
    let drives = load(dir, None).unwrap();
    let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
    let execution =
        Execution { threads: NonZeroUsize::new(threads), cancel: &cancel, progress: &progress, store: None };
    let ranking = Ranking { drives: &drives, policies: &["conservative"], controller: None };
    leaderboard(&ranking, &execution).unwrap()
}

#[test]
fn two_drives_are_ranked_alike_on_any_number_of_threads() {
    let dir = folder("ranked");
    let board = board(&dir, 2);
    assert_eq!(board.failed, []);
    assert_eq!(self::board(&dir, 1).rows, board.rows);
    fs::remove_dir_all(&dir).unwrap();

    let row = |sender: &str, first: Option<&str>| {
        let found = |row: &&msctp_experiments::leaderboard::Row| {
            row.sender == sender && row.first.as_deref() == first
        };
        board.rows.iter().find(found).unwrap_or_else(|| panic!("{sender}: {}", board.text()))
    };
    // Of 6 s: 8 Mbps for 3 s over east; 8 Mbps for 3 s and 6 Mbps for 6 s over west, as in simulated rows.
    let optimum = row("optimum", None);
    assert_eq!(optimum.bytes, [3_000_000, 3_000_000 + 4_500_000]);
    assert_eq!((optimum.of_optimum, optimum.below_1mbps), (1.0, 0.0));
    // The better single networks carry 3.75 MB and 4.5 MB at most.
    assert!((1.22..1.5).contains(&optimum.of_better), "{}", board.text());
    let follower = row("five-second follower", Some("east"));
    // It looks at each line of the table: east has carried more until 3 s. (24 + 1.5 + 12) / (24 + 24 + 36)
    assert!((follower.of_optimum - 37.5 / 84.0).abs() < 1e-9, "{}", board.text());
    let east = row("east alone", None);
    assert_eq!(east.bytes[1], 0);
    assert!(east.bytes[0] > 3_000_000, "{}", board.text());
    assert!((0.2..0.3).contains(&east.below_1mbps), "3 of 12 s: {}", board.text());
    assert_eq!(east.worse, 1.0, "{}", board.text());
    let west = row("west alone", None);
    let better = row("west alone, cubic", None);
    assert!(west.of_better > 0.7 && west.of_better.max(better.of_better) <= 1.0, "{}", board.text());
    // Neither path fails, so the default policy stays where it begins.
    let stays = row("conservative", Some("west"));
    assert!(stays.bytes[0] * 20 < stays.bytes[1] && stays.gap_max < Some(1.0), "{}", board.text());
    // 6 of 20 Mbps for six seconds: what has not arrived at the end has waited for most of them.
    assert!(west.video_p95.is_some_and(|p95| (3.0..6.0).contains(&p95)), "{}", board.text());
    assert_eq!((optimum.video_p95, optimum.gap_median), (None, None));

    let markdown = board.markdown();
    let columns = |line: &str| line.matches('|').count();
    let table: Vec<&str> = markdown.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 2 + board.rows.len(), "{markdown}");
    assert!(table.iter().all(|line| columns(line) == columns(table[0])), "{markdown}");
}

/// Every plot shows each network's capacity and the goodput of each policy, in steps of two seconds.
#[test]
fn every_drive_has_a_plot_of_the_networks_and_of_what_was_carried() {
    let dir = folder("plots");
    let board = board(&dir, 2);
    fs::remove_dir_all(&dir).unwrap();
    let figures = board.figures();
    let panels: Vec<_> = figures.iter().flat_map(|f| &f.groups).flat_map(|(_, panels)| panels).collect();
    let slugs: Vec<&str> = panels.iter().map(|panel| panel.slug.as_str()).collect();
    assert_eq!(slugs, ["ordered", "cross", "steady"]);
    let chart = &panels[2].chart;
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["east", "west", "conservative"]);
    let rates: Vec<f64> = chart.series[1].points.iter().map(|point| point.y).collect();
    // 6 Mbps of IP packets, 1452 of 1500 bytes of them user data.
    assert!(rates.len() == 3 && rates.iter().all(|rate| (rate - 5.808).abs() < 1e-9), "{rates:?}");
    // It stays on the worse network, where the run begins.
    let carried = chart.series[2].points[2].y;
    assert!((1.0..2.0).contains(&carried), "{carried}");
    for panel in panels {
        panel.chart.to_svg().unwrap();
    }
}

#[test]
fn drives_that_cannot_be_read_are_named() {
    let dir = folder("unreadable");
    let error = |dir: &Path| load(dir, None).unwrap_err().to_string();
    fs::write(dir.join("steady.csv"), "time,east,north,south\n0,1,2,3\n").unwrap();
    assert!(error(&dir).contains("steady.csv:1: want the columns time and two networks"), "{}", error(&dir));
    fs::write(dir.join("steady.csv"), "time,east,west\n0,1,2\n").unwrap();
    assert!(error(&dir).contains("want at least two lines"), "{}", error(&dir));
    fs::write(dir.join("index.csv"), "file,ping_east_ms,ping_west_ms\ncross.csv,40,\n").unwrap();
    let said = error(&dir);
    assert!(said.contains("index.csv:2: ping_west_ms is \"\": want 0 to 60000"), "{said}");
    fs::remove_file(dir.join("index.csv")).unwrap();
    assert!(error(&dir).starts_with("cannot read"), "{}", error(&dir));
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn all_policies_but_those_that_are_given_the_truth_are_ranked() {
    let names: Vec<&str> = candidates().collect();
    assert!(names.contains(&"conservative") && names.contains(&"adaptive"));
    assert!(!names.contains(&"oracle") && !names.contains(&"clairvoyant"));
}
