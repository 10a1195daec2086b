//! All runs, each in its own process, some at a time.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::case::{Case, Kind, Move, Stack};
use crate::one::Run;
use crate::report;

#[derive(clap::Args)]
pub struct Args {
    /// Runs of each stack in each case.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Emulations of slow links at a time; those of fast links run alone.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// These moves only.
    #[arg(long, value_delimiter = ',')]
    routes: Vec<Move>,
    /// These kinds only.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// These stacks only.
    #[arg(long, value_delimiter = ',')]
    stacks: Vec<Stack>,
    /// msctp's handover policy, by its name in scenario files; else that of its mobile profile.
    #[arg(long)]
    policy: Option<String>,
    /// Folder for a qlog capture of each run of msctp, ROUTE-KIND-ROUND.sqlog. Captures slow the programs down:
    /// do not compare the results with others.
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// File for the results.
    #[arg(long, default_value = "results.json")]
    results: PathBuf,
    #[command(flatten)]
    into: report::Into,
}

/// Contents of the results file.
#[derive(Serialize, Deserialize)]
struct Results {
    runs: Vec<Run>,
}

/// Reads the runs of a file.
pub fn read(path: &Path) -> Result<Vec<Run>, Failure> {
    Ok(serde_json::from_slice::<Results>(&fs::read(path)?)?.runs)
}

/// Executes the runs; the stacks take turns, so that other load on the machine affects all alike.
pub fn run(args: &Args) -> Result<(), Failure> {
    let wanted = |case: &Case| {
        (args.routes.is_empty() || args.routes.contains(&case.route))
            && (args.kinds.is_empty() || args.kinds.contains(&case.kind))
    };
    let stacks: Vec<Stack> = Stack::value_variants()
        .iter()
        .copied()
        .filter(|stack| args.stacks.is_empty() || args.stacks.contains(stack))
        .collect();
    let folder = std::env::temp_dir().join(format!("handover-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    if let Some(folder) = &args.qlog {
        fs::create_dir_all(folder).map_err(|error| format!("--qlog {}: {error}", folder.display()))?;
    }
    let (mut slow, mut fast) = (VecDeque::new(), VecDeque::new());
    for round in 0..args.rounds {
        for case in Case::all().filter(wanted) {
            let todo = if case.route.is_slow() { &mut slow } else { &mut fast };
            let concerned = stacks.iter().filter(|&&stack| case.concerns(stack));
            todo.extend(concerned.map(|&stack| (case, stack, round)));
        }
    }
    let all = slow.len() + fast.len();
    let runs = Mutex::new(Vec::new());
    for (todo, jobs) in [(slow, args.jobs.max(1)), (fast, 1)] {
        work(&Mutex::new(todo), jobs, |job, (case, stack, round)| {
            let result = folder.join(format!("{job}.json"));
            match one(args, case, stack, round, &result) {
                Ok(run) => {
                    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.push(run.clone());
                    say(&run, runs.len(), all);
                }
                Err(error) => eprintln!("{} {} {stack}: {error}", case.route, case.kind),
            }
        });
    }
    fs::remove_dir_all(folder)?;
    let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.sort_by_key(|run| (run.case, run.stack, run.round));
    let failed = all - runs.len();
    let results = Results { runs };
    fs::write(&args.results, serde_json::to_vec(&results)?)?;
    args.into.write(&results.runs)?;
    if failed > 0 {
        return Err(format!("{failed} of {all} runs failed").into());
    }
    Ok(())
}

/// Runs `jobs` threads that take items from the front of `todo`; `do_it` receives the thread's number.
fn work<T: Send>(todo: &Mutex<VecDeque<T>>, jobs: usize, do_it: impl Fn(usize, T) + Sync) {
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let do_it = &do_it;
            scope.spawn(move || {
                let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(task) = next() {
                    do_it(job, task);
                }
            });
        }
    });
}

fn one(args: &Args, case: Case, stack: Stack, round: u32, result: &Path) -> Result<Run, Failure> {
    let word = |value: &dyn erased::Word| value.word();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["one", "--round", &round.to_string(), "--route", &word(&case.route)]);
    command.args(["--kind", &word(&case.kind), "--stack", &word(&stack), "--result"]).arg(result);
    command.args(args.policy.iter().flat_map(|policy| ["--policy", policy]));
    if let Some(folder) = args.qlog.as_ref().filter(|_| stack == Stack::Msctp) {
        let name = format!("{}-{}-{round}.sqlog", word(&case.route), word(&case.kind));
        command.arg("--qlog").arg(folder.join(name));
    }
    let status = command.status()?;
    if !status.success() {
        return Err(format!("the run ended with {status}").into());
    }
    Ok(serde_json::from_slice(&fs::read(result)?)?)
}

/// Serializes values as on the command line.
mod erased {
    pub trait Word {
        fn word(&self) -> String;
    }

    impl<T: clap::ValueEnum> Word for T {
        fn word(&self) -> String {
            self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
        }
    }
}

fn say(run: &Run, done: usize, all: usize) {
    let (case, measured) = (run.case, &run.measured);
    eprintln!(
        "{done:3}/{all} {:12} {:18} {:6} gap {:7.1} ms from {:+.3} s, share {:.3} (before {:.3}), late {:.2} ms",
        case.route.to_string(),
        case.kind.to_string(),
        run.stack.to_string(),
        measured.gap_ms,
        measured.gap_from,
        measured.share,
        measured.share_before,
        run.late_ms,
    );
}
