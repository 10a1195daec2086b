//! Runs a plan on all cores. Each run is single-threaded and depends on its key alone. Results are sorted by
//! key, so that they do not depend on the number of threads.
//!
//! Does not depend on the content of runs. No other module of the laboratory uses threads.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::Store;

/// Options of a plan's execution.
#[derive(Debug)]
pub struct Execution<'a> {
    /// Number of threads, limited to that of the runs and to 256; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
    /// Flag that cancels the plan: no further run starts. Running ones complete, or stop and count as not
    /// started.
    pub cancel: &'a AtomicBool,
    /// Advances by one with each run.
    pub progress: &'a ProgressBar,
    /// Store of results until the experiment is complete; `None` for no store.
    pub store: Option<&'a Store>,
}

/// The outcomes of a plan. Every run is in exactly one of the three lists, each sorted by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcomes<K, T> {
    /// Runs that completed, with their results.
    pub done: Vec<(K, T)>,
    /// Runs that failed, with the reason.
    pub failed: Vec<(K, String)>,
    /// Runs that were not started because the plan was cancelled.
    pub skipped: Vec<K>,
}

impl<K, T> Outcomes<K, T> {
    /// Returns true if every run completed.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.failed.is_empty() && self.skipped.is_empty()
    }
}

impl<K: Display, T> Outcomes<K, T> {
    /// Returns the runs that failed, by name, with the reason.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, String)> {
        self.failed.iter().map(|(key, reason)| (key.to_string(), reason.clone())).collect()
    }
}

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the threads of the plan: {0}")]
pub struct ThreadsError(#[from] rayon::ThreadPoolBuildError);

/// Runs `work` for every key without a stored result. `plan` separates the keys in the store from those of
/// other plans. A run that returns an error or panics is listed under `failed`; the others continue.
///
/// # Errors
/// [`ThreadsError`] if the operating system cannot start threads.
pub fn execute<K, T>(
    plan: &str,
    keys: Vec<K>,
    execution: &Execution<'_>,
    work: impl Fn(&K) -> Result<T, String> + Sync,
) -> Result<Outcomes<K, T>, ThreadsError>
where
    K: Ord + Send + Sync + Display,
    T: Send + Serialize + DeserializeOwned,
{
    execute_stored(keys, execution, |key| format!("{plan}: {key}"), |key| Ok((work(key)?, Vec::new())))
}

/// Executes a plan like [`execute`], with a name for each key's result in the store. The name must include
/// everything on which the result depends, except the program. `work` also returns the attachment of the
/// stored result, which is not kept in memory.
///
/// # Errors
/// Same as [`execute`].
pub fn execute_stored<K, T>(
    keys: Vec<K>,
    execution: &Execution<'_>,
    stored: impl Fn(&K) -> String + Sync,
    work: impl Fn(&K) -> Result<(T, Vec<u8>), String> + Sync,
) -> Result<Outcomes<K, T>, ThreadsError>
where
    K: Ord + Send + Sync + Display,
    T: Send + Serialize + DeserializeOwned,
{
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = execution.threads {
        pool = pool.num_threads(useful(threads, keys.len()));
    }
    let one = |key: K| {
        if execution.cancel.load(Ordering::Relaxed) {
            return (key, None);
        }
        let name = stored(&key);
        if let Some(kept) = execution.store.and_then(|store| store.load(&name)) {
            execution.progress.inc(1);
            return (key, Some(Ok(kept)));
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(&key)))
            .unwrap_or_else(|panic| Err(format!("panicked: {}", panic_text(panic.as_ref()))));
        // A run that stopped because the plan was cancelled has not failed.
        if result.is_err() && execution.cancel.load(Ordering::Relaxed) {
            return (key, None);
        }
        // A result that could not be stored is still a result.
        if let (Some(store), Ok((result, attachment))) = (execution.store, &result)
            && let Err(error) = store.keep(&name, result, attachment)
        {
            execution.progress.println(format!("not kept for resuming: {key}: {error}"));
        }
        if let Err(reason) = &result {
            execution.progress.println(format!("failed: {key}: {reason}"));
        }
        execution.progress.inc(1);
        (key, Some(result.map(|(result, _)| result)))
    };
    // Threads take one run at a time: runs differ in length by a factor of ten.
    let mut results: Vec<_> =
        pool.build()?.install(|| keys.into_par_iter().with_max_len(1).map(one).collect());
    results.sort_by(|(a, _), (b, _)| a.cmp(b));

    let mut outcomes = Outcomes { done: Vec::new(), failed: Vec::new(), skipped: Vec::new() };
    for (key, result) in results {
        match result {
            Some(Ok(result)) => outcomes.done.push((key, result)),
            Some(Err(reason)) => outcomes.failed.push((key, reason)),
            None => outcomes.skipped.push(key),
        }
    }
    Ok(outcomes)
}

/// Limit of threads. Each holds a run in memory and does not wait for anything but a core.
const MOST_THREADS: usize = 256;

/// Returns the number of threads for some runs: as many as wanted, but no more than there are runs.
fn useful(wanted: NonZeroUsize, runs: usize) -> usize {
    wanted.get().min(runs.max(1)).min(MOST_THREADS)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Send + Serialize + DeserializeOwned>(
        threads: usize,
        cancel: &AtomicBool,
        work: impl Fn(&u32) -> Result<T, String> + Sync,
    ) -> Outcomes<u32, T> {
        let progress = ProgressBar::hidden();
        let execution =
            Execution { threads: NonZeroUsize::new(threads), cancel, progress: &progress, store: None };
        execute("test", (0..50).rev().collect(), &execution, work).unwrap()
    }

    #[test]
    fn results_are_sorted_by_key_whatever_the_number_of_threads() {
        let go = AtomicBool::new(false);
        let one = run(1, &go, |key| Ok(key * 2));
        assert_eq!(one, run(4, &go, |key| Ok(key * 2)));
        assert!(one.complete());
        assert_eq!(one.done[..2], [(0, 0), (1, 2)]);
    }

    #[test]
    fn no_more_threads_start_than_there_are_runs() {
        let useful = |wanted, runs| useful(NonZeroUsize::new(wanted).unwrap(), runs);
        assert_eq!([useful(100_000, 50), useful(100_000, 1_000_000), useful(3, 50)], [50, 256, 3]);
        assert_eq!(useful(2, 0), 1);
        assert!(run(100_000, &AtomicBool::new(false), |key| Ok(*key)).complete());
    }

    #[test]
    fn a_run_that_fails_or_panics_is_named_and_the_others_continue() {
        let outcomes = run(2, &AtomicBool::new(false), |key| match key {
            7 => Err("no route".to_owned()),
            9 => panic!("broken at {key}"),
            _ => Ok(()),
        });
        assert_eq!(outcomes.done.len(), 48);
        assert_eq!(outcomes.failed, [(7, "no route".to_owned()), (9, "panicked: broken at 9".to_owned())]);
        assert!(!outcomes.complete());
    }

    #[test]
    fn a_resumed_plan_does_not_repeat_completed_runs() {
        let root = std::env::temp_dir().join(format!("msctp-plan-{}", std::process::id()));
        let store = Store::open(&root, b"tests").unwrap();
        let progress = ProgressBar::hidden();
        let cancel = AtomicBool::new(false);
        let execution = Execution {
            threads: NonZeroUsize::new(1),
            cancel: &cancel,
            progress: &progress,
            store: Some(&store),
        };
        let first = execute("test", (0..50_u32).collect(), &execution, |&key| {
            cancel.store(key == 20, Ordering::Relaxed);
            Ok(f64::from(key).sqrt())
        });
        let first = first.unwrap();
        assert!(!first.skipped.is_empty());
        cancel.store(false, Ordering::Relaxed);
        let done: Vec<u32> = first.done.iter().map(|(key, _)| *key).collect();
        let again = execute("test", (0..50_u32).collect(), &execution, |&key| {
            assert!(!done.contains(&key), "{key} is done");
            Ok(f64::from(key).sqrt())
        });
        let again = again.unwrap();
        assert!(again.complete());
        assert!(again.done.iter().all(|&(key, root)| root.to_bits() == f64::from(key).sqrt().to_bits()));
        // Keys of another plan are distinct.
        let other = execute("other", vec![1_u32], &execution, |_| Ok(7.0)).unwrap();
        assert_eq!(other.done, [(1, 7.0)]);
        store.remove().unwrap();
    }

    #[test]
    fn cancelling_skips_runs_that_have_not_started_and_keeps_completed_ones() {
        let cancel = AtomicBool::new(false);
        let outcomes = run(1, &cancel, |&key| {
            // With one thread the keys are taken in the order given, 49 first.
            if key == 45 {
                cancel.store(true, Ordering::Relaxed);
            }
            Ok(key)
        });
        assert_eq!(outcomes.done.len() + outcomes.skipped.len(), 50);
        assert!(outcomes.done.iter().any(|(key, _)| *key == 45), "the run under way is finished");
        assert!(!outcomes.skipped.is_empty());
    }
}
