//! The qlog of a simulated handover: the main schema's mandatory fields, the order of time, and the move.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_units::{Span, Time};
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const PATHS: [&str; 2] = ["10.0.0.1→10.0.1.2", "10.0.0.1→10.0.2.2"];

/// A file in memory.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the qlog of 33 s of scenarios/handover.toml.
fn handover() -> String {
    let text =
        std::fs::read_to_string(Path::new(ROOT).join("scenarios/handover.toml")).expect("the scenario");
    let set = ["sctp.default.handover_policy=adaptive".to_owned()];
    let mut scenario = Scenario::from_toml(&text, "handover.toml", &set).expect("valid");
    scenario.probes.trace = true;
    let mut simulation = Simulation::new(&scenario, None).expect("valid");
    let file = Buffer::default();
    simulation.write_qlog("handover", Box::new(file.clone()));
    simulation.run_until(Time::ZERO + Span::from_secs(33));
    simulation.finish_qlog().expect("memory takes everything");
    let bytes = file.0.lock().expect("one thread").clone();
    String::from_utf8(bytes).expect("UTF-8")
}

/// Parses a JSON text sequence (RFC 7464): each record begins with RS and ends with LF.
fn records(text: &str) -> Vec<Value> {
    let mut parts = text.split('\u{1e}');
    assert_eq!(parts.next(), Some(""), "the file begins with a record separator");
    let record = |part: &str| {
        assert!(part.ends_with('\n') && part.matches('\n').count() == 1, "{part}");
        serde_json::from_str(part).expect(part)
    };
    parts.map(record).collect()
}

#[test]
fn the_file_has_the_main_schemas_fields() {
    let text = handover();
    let records = records(&text);
    let (header, events) = records.split_first().expect("a header");
    // QlogFileSeq, TraceSeq, VantagePoint and ReferenceTime of draft-ietf-quic-qlog-main-schema.
    assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(header["serialization_format"], "application/qlog+json-seq");
    let begin = text.get(..256).expect("ASCII");
    assert!(begin.contains("\"file_schema\"") && begin.contains("\"serialization_format\":\""), "{begin}");
    let trace = &header["trace"];
    let schemas = trace["event_schemas"].as_array().expect("an array");
    assert!(!schemas.is_empty() && schemas.iter().all(|uri| uri.as_str().is_some_and(|u| u.contains(':'))));
    let vantage = trace["vantage_point"]["type"].as_str().expect("a type");
    assert!(["client", "server", "network", "unknown"].contains(&vantage), "{vantage}");
    let common = &trace["common_fields"];
    assert_eq!(common["time_format"], "relative_to_epoch");
    assert_eq!(common["reference_time"]["clock_type"], "monotonic");
    // Required of a monotonic clock.
    assert_eq!(common["reference_time"]["epoch"], "unknown");
    assert!(events.len() > 1000, "{} events", events.len());
    let (mut last, mut groups) = (0.0, BTreeSet::new());
    for event in events {
        let time = event["time"].as_f64().expect("a number");
        assert!(time >= last, "in order: {event}");
        last = time;
        let name = event["name"].as_str().expect("a string");
        assert_eq!(name.split(':').count(), 2, "{name}");
        assert!(event["data"].is_object(), "{event}");
        assert!(event.get("tuple").is_none_or(Value::is_string), "{event}");
        groups.insert(event["group_id"].as_str().expect("a string").to_owned());
    }
    assert!(last > 30_000.0 && last <= 33_000.0, "milliseconds: {last}");
    assert_eq!(groups.iter().collect::<Vec<_>>(), ["download/client", "download/server"]);
}

#[test]
fn a_handover_has_both_paths_the_switch_and_the_window_of_each_path() {
    let records = records(&handover());
    let sender: Vec<&Value> =
        records.iter().filter(|record| record["group_id"] == "download/server").collect();
    let named = |name: &'static str| sender.iter().copied().filter(move |event| event["name"] == name);
    let assigned: Vec<_> = named("connectivity:tuple_assigned").collect();
    assert_eq!(assigned.iter().map(|event| &event["data"]["tuple_id"]).collect::<Vec<_>>(), PATHS);
    assert_eq!(assigned[1]["data"]["tuple_remote"]["ip_v4"], "10.0.2.2");
    let switches: Vec<_> = named("msctp:primary").collect();
    assert_eq!(switches.len(), 1, "{switches:?}");
    let switch = &switches[0]["data"];
    assert_eq!([&switch["from"], &switch["to"], &switch["cause"]], [PATHS[0], PATHS[1], "peer"]);
    let at = switches[0]["time"].as_f64().expect("a number");
    assert!((30_000.0..31_000.0).contains(&at), "Set Primary is requested at 30 s: {at}");
    for (path, data_before) in PATHS.iter().zip([true, false]) {
        let windows: Vec<_> =
            named("recovery:metrics_updated").filter(|event| event["tuple"] == *path).collect();
        assert!(
            windows.iter().any(|event| event["data"]["congestion_window"].as_u64() > Some(4000)),
            "{path}"
        );
        assert!(windows.iter().any(|event| event["data"]["bytes_in_flight"].as_u64() > Some(0)), "{path}");
        assert!(windows.iter().any(|event| event["data"]["smoothed_rtt"].as_f64() > Some(1.0)), "{path}");
        // The transfer follows the primary path.
        let data: Vec<f64> = named("transport:packet_sent")
            .filter(|event| event["tuple"] == *path && event["data"]["frames"][0]["frame_type"] == "data")
            .map(|event| event["time"].as_f64().expect("a number"))
            .collect();
        assert!(data.len() > 10, "{path}: {} chunks", data.len());
        assert_eq!(data.iter().filter(|time| **time < at).count() > 0, data_before, "{path}");
    }
}

/// Every acknowledgement covers the number of a packet sent before it, as viewers require.
#[test]
fn acknowledgements_cover_the_numbers_of_packets_that_were_sent() {
    let records = records(&handover());
    let mut sent: BTreeMap<u64, bool> = BTreeMap::new();
    for event in records.iter().filter(|record| record["group_id"] == "download/server") {
        let data = &event["data"];
        match event["name"].as_str() {
            Some("transport:packet_sent") => {
                if let Some(number) = data["header"]["packet_number"].as_u64() {
                    assert!(data["raw"]["length"].as_u64() > Some(0), "{event}");
                    sent.insert(number, false);
                }
            }
            Some("transport:packet_received") => {
                for range in data["frames"][0]["acked_ranges"].as_array().into_iter().flatten() {
                    let (first, last) = (range[0].as_u64(), range[1].as_u64());
                    for number in first.expect("a number")..=last.expect("a number") {
                        assert_eq!(sent.insert(number, true), Some(false), "sent and new: {event}");
                    }
                }
            }
            Some("recovery:packet_lost") => {
                let number = data["header"]["packet_number"].as_u64().expect("a number");
                assert!(sent.contains_key(&number), "{event}");
            }
            _ => {}
        }
    }
    let acknowledged = sent.values().filter(|acknowledged| **acknowledged).count();
    assert!(acknowledged > 500 && acknowledged * 10 > sent.len() * 9, "{acknowledged} of {}", sent.len());
}

/// The names in docs/events.md for events that QUIC also has are those in the file.
#[test]
fn the_document_lists_the_names() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/events.md")).expect("docs/events.md");
    let (_, section) = page.split_once("## qlog").expect("a section");
    let names: BTreeSet<String> = records(&handover())
        .iter()
        .filter_map(|record| record["name"].as_str().map(str::to_owned))
        .filter(|name| !name.starts_with("msctp:"))
        .collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        assert!(section.contains(&format!("`{name}`")), "{name} is missing in docs/events.md");
    }
}
