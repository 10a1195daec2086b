//! The whole table: rounds of all stacks in turn, so that other load on the machine affects all alike.

use std::fmt::Write;
use std::time::Duration;

use crate::children::{Process, Transfer};
use crate::document::{self, spread};
use crate::stacks::STACKS;

/// Bytes of the messages.
const LENGTHS: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];
/// The stack that the others are compared with.
const MEASURE: &str = "quinn";
/// Stacks whose packets do not depend on the messages are measured once a round.
const PACKETS: &str = "udp";
/// Time for which an end may continue after the transfer's time.
const GRACE: Duration = Duration::from_secs(5);
/// A row: a stack to be measured.
struct Row {
    name: String,
    title: String,
    /// The program and its arguments before the address.
    server: Vec<String>,
    client: Vec<String>,
    /// Results of the rounds, by message length.
    results: [Vec<Transfer>; LENGTHS.len()],
    failures: Vec<String>,
}

struct Options {
    seconds: f64,
    rounds: usize,
    only: Option<String>,
    out: Option<String>,
    programs: Vec<(String, String)>,
}

fn read(words: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: 3.0, rounds: 3, only: None, out: None, programs: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value =
            || words.next().map(|value| (*value).to_owned()).ok_or(format!("{word}: want a value"));
        match word {
            "--seconds" => options.seconds = value()?.parse().map_err(|e| format!("{word}: {e}"))?,
            "--rounds" => options.rounds = value()?.parse().map_err(|e| format!("{word}: {e}"))?,
            "--only" => options.only = Some(value()?),
            "--out" => options.out = Some(value()?),
            _ => {
                let (title, program) = word.split_once('=').ok_or(format!("{word}: want TITLE=PROGRAM"))?;
                options.programs.push((title.to_owned(), program.to_owned()));
            }
        }
    }
    Ok(options)
}

fn rows(options: &Options) -> Result<Vec<Row>, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?.to_string_lossy().into_owned();
    let row = |name: &str, title: &str, program: &[&str], stack: Option<&str>| {
        let end = |end: &str| {
            let words = program.iter().copied().chain([end]).chain(stack);
            words.map(str::to_owned).collect()
        };
        Row {
            name: name.to_owned(),
            title: title.to_owned(),
            server: end("server"),
            client: end("client"),
            results: Default::default(),
            failures: Vec::new(),
        }
    };
    let mut rows: Vec<Row> =
        STACKS.iter().map(|stack| row(stack.name, &titled(stack.title), &[&own], Some(stack.name))).collect();
    for (place, (title, program)) in (1..).zip(&options.programs) {
        let words: Vec<&str> = program.split_whitespace().collect();
        rows.insert(place, row(title, title, &words, None));
    }
    if let Some(only) = &options.only {
        rows.retain(|row| only.split(',').any(|name| row.name.starts_with(name)));
    }
    Ok(rows)
}

/// Returns the title with the version that was built.
pub fn titled(title: &str) -> String {
    const LOCK: &str = include_str!("../Cargo.lock");
    let package = title.split([' ', ',']).next().unwrap_or_default();
    let version = LOCK.split("[[package]]").find_map(|entry| {
        let rest = entry.strip_prefix(&format!("\nname = \"{package}\"\nversion = \""))?;
        Some(rest.split('"').next()?.to_owned())
    });
    version.map_or(title.to_owned(), |version| title.replacen(package, &format!("{package} {version}"), 1))
}

pub fn run(words: &[&str]) -> Result<(), String> {
    let options = read(words)?;
    let mut rows = rows(&options)?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    let mut port = 20_000;
    for round in 0..options.rounds {
        for (index, &len) in LENGTHS.iter().enumerate() {
            for row in &mut rows {
                if row.name.starts_with(PACKETS) && index > 0 {
                    continue;
                }
                port += 1;
                match transfer(row, port, len, options.seconds) {
                    Ok(result) => {
                        eprintln!("round {} {len} {}: {result:.2?}", round + 1, row.name);
                        row.results[index].push(result);
                    }
                    Err(why) => {
                        eprintln!("round {} {len} {}: {why}", round + 1, row.name);
                        row.failures.push(why);
                    }
                }
            }
        }
    }
    document::put(options.out.as_deref(), "throughput", &written(&rows, &options, &load))
}

fn transfer(row: &Row, port: u16, len: usize, seconds: f64) -> Result<Transfer, String> {
    let common = [format!("127.0.0.1:{port}"), len.to_string()];
    let mut server = Process::start(&row.server, &common, 0)?;
    server.expect("ready")?;
    let [address, len] = common;
    let client = Process::start(&row.client, &[address, len, seconds.to_string()], 1)?;
    let sender = client.end(Duration::from_secs_f64(seconds) + GRACE)?;
    let received = server.expect("received")?;
    let receiver = server.end(GRACE)?;
    let numbers: Vec<u64> = received.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [bytes, nanos] = numbers[..] else { return Err(format!("it said: received {received}")) };
    if bytes == 0 || nanos == 0 {
        return Err("nothing was received".to_owned());
    }
    Ok(Transfer { bytes, seconds: nanos as f64 / 1e9, sender, receiver })
}

fn mbps(result: &Transfer) -> f64 {
    result.bytes as f64 * 8.0 / result.seconds / 1e6
}

fn written(rows: &[Row], options: &Options, load: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "Medians of {} rounds of {} s, all stacks in turn in each; least and most in brackets. CPU seconds per GB (10⁹ bytes) of user data: sender + receiver. The load of the machine before was {load}.",
        options.rounds, options.seconds
    );
    for (index, len) in LENGTHS.iter().enumerate() {
        let measure = rows.iter().find(|row| row.name == MEASURE);
        let measure = measure.and_then(|row| spread(&row.results[index], mbps)).map(|(median, ..)| median);
        let _ = write!(
            text,
            "\n| messages of {} KiB | Mbps | {MEASURE} = 1 | CPU s/GB, sender + receiver | both |\n|---|---|---|---|---|\n",
            len >> 10
        );
        for row in rows {
            let results = &row.results[index];
            let Some((median, least, most)) = spread(results, mbps) else {
                if let (Some(why), 0) = (row.failures.last(), index) {
                    let _ = writeln!(text, "| {} | – | | {why} | |", row.title);
                }
                continue;
            };
            let per_gb = |value: fn(&Transfer) -> f64| {
                spread(results, |result| value(result) / (result.bytes as f64 / 1e9)).map_or(0.0, |(m, ..)| m)
            };
            let (sender, receiver) = (per_gb(|r| r.sender), per_gb(|r| r.receiver));
            let both = per_gb(|r| r.sender + r.receiver);
            let ratio = measure.map_or(String::new(), |measure| format!("{:.2}", median / measure));
            let _ = writeln!(
                text,
                "| {} | {median:.0} ({least:.0}–{most:.0}) | {ratio} | {sender:.2} + {receiver:.2} | {both:.2} |",
                row.title
            );
        }
    }
    text
}
