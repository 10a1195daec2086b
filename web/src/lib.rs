//! The simulator in WebAssembly: the functions that the playground's page calls.
//!
//! A call has one argument and one result, both JSON text in this module's memory: [`input`] makes room for
//! the argument, [`call`] answers it, [`output`] is where the answer is. A module runs one call at a time.

mod edit;
mod journeys;
mod run;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic;

use serde::{Deserialize, Serialize};
use serde_json::Value;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for an argument of `len` bytes. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(len, 0);
        bytes.as_mut_ptr()
    })
}

/// Executes the request in the argument. Returns the length of the answer. After a panic, which ends in a
/// trap, the output is its message.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    panic::set_hook(Box::new(|info| OUTPUT.with_borrow_mut(|bytes| *bytes = info.to_string().into_bytes())));
    let request = INPUT.take();
    let answer = answer(&request);
    let len = answer.len();
    OUTPUT.set(answer);
    len
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|bytes| bytes.as_ptr())
}

/// Returns the length of the output, for the message of a panic.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// A call's argument.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case")]
enum Request {
    /// Runs a scenario. `files` are the texts of the files that it names.
    Run {
        text: String,
        file: String,
        #[serde(default)]
        files: BTreeMap<String, String>,
        seed: Option<u64>,
    },
    /// Sets values in a scenario's text, such as `["link.wifi.rate", "\"5Mbps\""]`, or removes them with
    /// `null`.
    Edit { text: String, values: Vec<(String, Option<String>)> },
    /// Reads values from a scenario's text, as TOML.
    Read { text: String, keys: Vec<String> },
}

/// A call's result.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done(Value),
    Error(String),
}

/// Answers a request.
fn answer(request: &[u8]) -> Vec<u8> {
    let done = serde_json::from_slice(request).map_err(|e| format!("invalid request: {e}")).and_then(perform);
    let answer = done.map_or_else(Answer::Error, Answer::Done);
    serde_json::to_vec(&answer).unwrap_or_default()
}

fn perform(request: Request) -> Result<Value, String> {
    match request {
        Request::Run { text, file, files, seed } => {
            let outcome = run::run(&text, &file, &files, seed)?;
            serde_json::to_value(outcome).map_err(|e| e.to_string())
        }
        Request::Edit { text, values } => edit::edit(&text, &values).map(Value::from),
        Request::Read { text, keys } => edit::read(&text, &keys).map(Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: &str = include_str!("../../scenarios/walk.toml");

    fn ask(request: &Value) -> Value {
        serde_json::from_slice(&answer(request.to_string().as_bytes())).expect("JSON")
    }

    #[test]
    fn a_run_has_series_of_both_networks_and_the_switch() {
        let answer = ask(&serde_json::json!({"call": "run", "text": WALK, "file": "walk.toml", "seed": 1}));
        let done = &answer["done"];
        let paths = done["delivery"][0]["paths"].as_array().expect("paths");
        assert_eq!(paths.len(), 2, "{answer}");
        for path in paths {
            let bytes: u64 = path["bytes"].as_array().expect("bins").iter().filter_map(Value::as_u64).sum();
            assert!(bytes > 1_000_000, "{path}");
        }
        assert_eq!(done["summary"]["trace_hash"].as_str().map(str::len), Some(64));
        let marks = done["traces"][1]["marks"].as_array().expect("marks");
        assert!(
            marks.iter().any(|mark| mark["event"] == "primary" && mark["remote"] == "10.0.2.2"),
            "{marks:?}"
        );
        assert!(done["traces"][1]["paths"][0]["cwnd"].as_array().is_some_and(|cwnd| cwnd.len() == 1000));
    }

    #[test]
    fn every_delivered_data_chunk_has_a_journey_and_losses_end_on_the_way() {
        let lossy = edit::edit(WALK, &[("link.wifi.loss".to_owned(), Some("0.02".to_owned()))])
            .expect("a link's key");
        let answer = ask(&serde_json::json!({"call": "run", "text": lossy, "file": "walk.toml", "seed": 1}));
        let done = &answer["done"];
        let downlink = |address: &str| {
            let found = done["journeys"].as_array().expect("journeys").iter();
            found.clone().find(|path| path["side"] == "server" && path["remote"] == address).expect("a path")
        };
        let took = |path: &Value| -> Vec<i64> {
            path["took"].as_array().expect("times").iter().filter_map(Value::as_i64).collect()
        };
        let wifi = downlink("10.0.1.2");
        let data = wifi["kinds"].as_str().expect("letters").chars();
        let of_data: Vec<_> = data.zip(took(wifi)).filter(|(kind, _)| "dr".contains(*kind)).collect();
        let arrived: Vec<_> = of_data.iter().map(|&(_, took)| took).filter(|&took| took >= 0).collect();
        let lost = of_data.iter().filter(|&&(_, took)| took == -1).count();
        // Two links of 5 ms each, and the queue of 100 packets at 20 Mbps: 60 ms.
        assert!(arrived.iter().all(|took| (10_000..72_000).contains(took)), "{:?}", arrived.iter().max());
        let links = done["summary"]["links"].as_array().expect("links");
        let forward = links.iter().find(|link| link["name"] == "wifi/forward").expect("a direction");
        let drops: u64 =
            ["losses", "queue_drops", "down_drops"].iter().filter_map(|key| forward[key].as_u64()).sum();
        assert!(drops > 30, "{forward}");
        assert!(
            lost.abs_diff(drops as usize) <= 3,
            "{lost} journeys end on the way, {drops} packets are dropped"
        );
        let letters: std::collections::BTreeSet<_> = done["journeys"]
            .as_array()
            .expect("journeys")
            .iter()
            .flat_map(|path| path["kinds"].as_str().expect("letters").chars())
            .collect();
        assert!("drsha".chars().all(|letter| letters.contains(&letter)), "{letters:?}");
    }

    #[test]
    fn faults_are_answers() {
        let fault = |request: &Value| ask(request)["error"].as_str().expect("an error").to_owned();
        let broken = fault(&serde_json::json!({"call": "run", "text": "name = 1", "file": "x.toml"}));
        assert!(broken.starts_with("x.toml: duration: missing"), "{broken}");
        let unknown = fault(&serde_json::json!({"call": "fly"}));
        assert!(unknown.starts_with("invalid request: "), "{unknown}");
    }
}
