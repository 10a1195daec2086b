//! The time series of a sweep's runs, in its report and in the store.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use indicatif::ProgressBar;
use msctp_sim::scenario::Schemes;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;
use crate::metrics::enable_series;
use crate::plan::Execution;
use crate::report::ReportError;
use crate::run_folder::long;
use crate::store::Store;
use crate::world::{Simulator, World};

const SCENARIO: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/walk.toml"));

/// A sweep of four runs over the first seconds of the walk, with an override that differs from seed to seed.
const TEXT: &str = r#"
scenario = "walk.toml"
seeds = "1..2"
series = true
set = { "action.move.at" = "3s", "action.out-of-reach.at" = "4s", "action.fade.loss" = 0.01, "duration" = "5s" }

[axis.policy]
set = "sctp.server.handover_policy"
values = ["conservative", "inherit"]

[[axis.fade.value]]
name = "drawn"
draw = { "action.fade.at" = ["1s", "2s"] }

[metric]
gap.of = "handover.gap"
"#;

fn sweep(text: &str) -> Sweep {
    Sweep::read(text, "try.toml", &|_| Ok(SCENARIO.to_owned())).unwrap()
}

/// Returns a folder of a test.
fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("msctp-series-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    dir
}

/// Executes the first `runs` runs and writes the report into `dir`.
fn report(
    sweep: &Sweep,
    (threads, runs): (usize, usize),
    store: &Store,
    dir: &Path,
) -> Result<(), ReportError> {
    let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
    let execution = Execution {
        threads: NonZeroUsize::new(threads),
        cancel: &cancel,
        progress: &progress,
        store: Some(store),
    };
    let keys = sweep.keys().into_iter().take(runs).collect();
    let outcome = sweep.run_in(&Simulator, keys, &execution).unwrap();
    assert_eq!(outcome.runs.done.len(), runs, "{:?}", outcome.runs.failures());
    let mut report = outcome.report("msctp-lab sweep try.toml", "0.1.0");
    report.series = outcome.series(store);
    report.write(dir).map(drop)
}

/// Returns the series of a report, which is written into a folder of the test `name`.
fn series(name: &str, sweep: &Sweep, extent: (usize, usize), store: &Store) -> Vec<u8> {
    let dir = folder(&format!("{name}-report"));
    report(sweep, extent, store, &dir).unwrap();
    let file = fs::read(dir.join("data/series.parquet")).unwrap();
    fs::remove_dir_all(dir).unwrap();
    file
}

/// Returns the rows of a Parquet file, each a text for every column with its name.
fn rows(file: Vec<u8>) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let texts = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, value)| format!("{name} {value}")).collect()
    };
    reader.get_row_iter(None).unwrap().map(|row| texts(row.unwrap())).collect()
}

#[test]
fn the_series_are_those_of_each_run_alone_whatever_the_threads() {
    let sweep = sweep(TEXT);
    let roots = [folder("one"), folder("two")];
    let [one, two] = roots.map(|root| Store::open(&root, b"tests").unwrap());
    let file = series("alone", &sweep, (1, 4), &one);
    assert!(series("alone", &sweep, (2, 4), &two) == file, "other bytes with two threads");
    one.remove().unwrap();
    two.remove().unwrap();

    let alone = sweep.keys().into_iter().enumerate().flat_map(|(run, key)| {
        let cell = &sweep.cells[key.cell];
        let none = |_: &str| Err("there is no other file".to_owned());
        let overrides = cell.overrides(key.seed);
        let mut scenario =
            Scenario::with_schemes(SCENARIO, &cell.path, &overrides, &none, &Schemes::none()).unwrap();
        enable_series(&mut scenario);
        let (summary, series) = Simulator.carry_out(&scenario, key.seed).unwrap();
        let own = rows(long(&summary, &series).to_parquet(&[]).unwrap());
        assert!(own.len() > 1000, "{} rows", own.len());
        own.into_iter().map(move |row| [vec![format!("run {run}")], row].concat())
    });
    let rows = rows(file);
    assert!(alone.eq(rows.iter().cloned()));
    for quantity in
        ["cwnd_bytes", "rtt_s", "throughput_bps", "link_rate_bps", "queue_packets", "handover_gap_s"]
    {
        let text = format!("quantity \"{quantity}\"");
        assert!(rows.iter().any(|row| row[5] == text), "{quantity}");
    }
}

#[test]
fn a_resumed_sweep_repeats_a_run_whose_series_are_missing_or_damaged() {
    let sweep = sweep(TEXT);
    let root = folder("whole");
    let store = Store::open(&root, b"tests").unwrap();
    let whole = series("resumed", &sweep, (2, 4), &store);
    store.remove().unwrap();

    let store = Store::open(&root, b"tests").unwrap();
    let part = rows(series("resumed", &sweep, (2, 3), &store));
    assert!(part[..] == rows(whole.clone())[..part.len()]);
    assert_eq!(part.last().unwrap()[0], "run 2");
    drop(store);
    let program = fs::read_dir(&root).unwrap().next().unwrap().unwrap().path();
    let kept: Vec<PathBuf> = fs::read_dir(program).unwrap().map(|entry| entry.unwrap().path()).collect();
    fs::remove_file(&kept[0]).unwrap();
    let mut damaged = fs::read(&kept[1]).unwrap();
    damaged[1000] ^= 1;
    fs::write(&kept[1], damaged).unwrap();
    let store = Store::open(&root, b"tests").unwrap();
    assert!(series("resumed", &sweep, (2, 4), &store) == whole, "other bytes than a fresh sweep");
    assert_eq!(store.reused(), 1);

    let (cancel, progress) = (AtomicBool::new(false), ProgressBar::hidden());
    let execution = Execution { threads: None, cancel: &cancel, progress: &progress, store: Some(&store) };
    let outcome = sweep.run(&execution).unwrap();
    fs::remove_file(&kept[0]).unwrap();
    let mut report = outcome.report("msctp-lab sweep try.toml", "0.1.0");
    report.series = outcome.series(&store);
    let dir = folder("missing");
    let error = report.write(&dir).unwrap_err().to_string();
    assert!(error.contains("; run the same command again"), "{error}");
    assert!(!dir.join("data/series.parquet").exists());
    fs::remove_dir_all(dir).unwrap();
    store.remove().unwrap();
}

#[test]
fn without_the_key_there_are_no_series_and_the_other_files_are_the_same() {
    let (with, without) = (sweep(TEXT), sweep(&TEXT.replace("series = true", "series = false")));
    assert!(!sweep(&TEXT.replace("series = true", "")).series);
    assert!(with.cells.iter().zip(&without.cells).all(|(a, b)| a.hash != b.hash), "no result is reused");
    let root = folder("off");
    let store = Store::open(&root, b"tests").unwrap();
    let dirs = [folder("with"), folder("without")];
    for (sweep, dir) in [&with, &without].into_iter().zip(&dirs) {
        report(sweep, (2, 4), &store, dir).unwrap();
    }
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir.join("data")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&dirs[1]), ["cells.csv", "cells.parquet", "runs.csv", "runs.parquet"]);
    assert_eq!(names(&dirs[0])[4], "series.parquet");
    for name in names(&dirs[1]) {
        let [a, b] = dirs.each_ref().map(|dir| fs::read(dir.join("data").join(&name)).unwrap());
        assert!(a == b, "{name}");
    }
    let [a, b] = dirs.each_ref().map(|dir| fs::read_to_string(dir.join("index.html")).unwrap());
    assert!(a.contains("data/series.parquet") && !b.contains("series.parquet"));
    dirs.iter().for_each(|dir| fs::remove_dir_all(dir).unwrap());
    store.remove().unwrap();
}
