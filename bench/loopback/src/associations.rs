//! Many associations between two endpoints: set-ups per second, cost of each association, and cost of a
//! message over many of them.

use std::fmt::Write;
use std::time::Duration;

use crate::children::Process;
use crate::document::{put, rounds_and_file, spread};
use crate::job::{MESSAGES, SMALL};
use crate::stacks::{MANY, title};
use crate::table::titled;

/// Numbers of associations.
const COUNTS: [usize; 2] = [1_000, 10_000];
/// Time for work in progress to finish.
const SETTLE: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_secs(10);

/// Results; of two values the second is that of the end that opens the associations.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Set-ups per second.
    set_ups: f64,
    /// CPU microseconds per set-up.
    set_up_cpu: [f64; 2],
    /// Bytes of memory per association.
    memory: [f64; 2],
    /// CPU microseconds per message, if messages are sent.
    message_cpu: Option<[f64; 2]>,
    /// Associations ended per second.
    ended: Option<f64>,
}

pub fn run(words: &[&str]) -> Result<(), String> {
    let (rounds, out) = rounds_and_file(words)?;
    let mut rows: Vec<(&str, usize, Vec<Found>)> =
        COUNTS.iter().flat_map(|&count| MANY.map(|stack| (stack, count, Vec::new()))).collect();
    let mut port = 18_000;
    for round in 0..rounds {
        for (stack, count, found) in &mut rows {
            port += 1;
            match measure(stack, port, *count) {
                Ok(one) => {
                    eprintln!("round {} {stack} {count}: {one:.1?}", round + 1);
                    found.push(one);
                }
                Err(why) => eprintln!("round {} {stack} {count}: {why}", round + 1),
            }
        }
    }
    put(out, "associations", &written(&rows, rounds))
}

fn measure(stack: &str, port: u16, count: usize) -> Result<Found, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?.to_string_lossy().into_owned();
    let program = |end: &str| [own.clone(), end.to_owned(), stack.to_owned()];
    let arguments = [format!("127.0.0.1:{port}"), count.to_string()];
    let mut holder = Process::start(&program("holder"), &arguments, 0)?;
    holder.expect("ready")?;
    let mut opener = Process::start(&program("opener"), &arguments, 1)?;
    opener.expect("begin")?;
    let number = |text: String| text.parse::<f64>().map_err(|e| format!("{text}: {e}"));
    let memory = |holder: &Process, opener: &Process| Ok::<_, String>([holder.memory()?, opener.memory()?]);
    let cpu = |holder: &Process, opener: &Process| Ok::<_, String>([holder.cpu()?, opener.cpu()?]);
    let per =
        |after: [f64; 2], before: [f64; 2], count: f64| [0, 1].map(|end| (after[end] - before[end]) / count);

    let (memory_before, cpu_before) = (memory(&holder, &opener)?, cpu(&holder, &opener)?);
    opener.go_on()?;
    let seconds = number(opener.expect("opened")?)? / 1e9;
    std::thread::sleep(SETTLE);
    let (memory_after, cpu_after) = (memory(&holder, &opener)?, cpu(&holder, &opener)?);
    opener.go_on()?;
    let sent = number(opener.expect("sent")?)?;
    std::thread::sleep(SETTLE);
    let cpu_sent = cpu(&holder, &opener)?;
    opener.go_on()?;
    let ended = number(opener.expect("closed")?)? / 1e9;
    opener.go_on()?;
    opener.end(GRACE)?;
    holder.end(GRACE)?;
    Ok(Found {
        set_ups: count as f64 / seconds,
        set_up_cpu: per(cpu_after, cpu_before, count as f64 / 1e6),
        memory: per(
            memory_after.map(|bytes| bytes as f64),
            memory_before.map(|bytes| bytes as f64),
            count as f64,
        ),
        message_cpu: (sent > 0.0).then(|| per(cpu_sent, cpu_after, sent / 1e6)),
        ended: (ended > 0.0).then(|| count as f64 / ended),
    })
}

fn written(rows: &[(&str, usize, Vec<Found>)], rounds: usize) -> String {
    let mut text = format!(
        "One endpoint at each end, both in a process of their own; medians of {rounds} rounds in turn, least and most in brackets. Messages of {SMALL} bytes, {MESSAGES} a second over all associations in turn, each acknowledged. Where there are two values the first is the end that accepts.\n\n\
         | associations | | set-ups/s | CPU µs per set-up | KB each | CPU µs per message | ended/s |\n|---|---|---|---|---|---|---|\n"
    );
    for (stack, count, found) in rows {
        let title = titled(title(stack));
        let Some((rate, least, most)) = spread(found, |one| one.set_ups) else {
            let _ = writeln!(text, "| {count} | {title} | failed | | | | |");
            continue;
        };
        let pair = |value: fn(&Found) -> [f64; 2]| {
            [0, 1].map(|end| spread(found, |one| value(one)[end]).map_or(0.0, |(median, ..)| median))
        };
        let [accepts, opens] = pair(|one| one.set_up_cpu);
        let [held, made] = pair(|one| one.memory.map(|bytes| bytes / 1e3));
        let message = found.iter().all(|one| one.message_cpu.is_some()).then(|| {
            let [receiver, sender] = pair(|one| one.message_cpu.unwrap_or_default());
            format!("{receiver:.1} + {sender:.1}")
        });
        let ended = spread(found, |one| one.ended.unwrap_or_default()).map(|(median, ..)| median);
        let _ = writeln!(
            text,
            "| {count} | {title} | {rate:.0} ({least:.0}–{most:.0}) | {accepts:.1} + {opens:.1} | {held:.1}, {made:.1} | {} | {} |",
            message.unwrap_or_default(),
            ended.filter(|&rate| rate > 0.0).map_or(String::new(), |rate| format!("{rate:.0}"))
        );
    }
    text
}
