//! The associations' events as JSON lines match docs/events.md.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_units::{Span, Time};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the documented fields by event, from the page's tables.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/events.md")).expect("docs/events.md");
    let rows =
        page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').collect::<Vec<_>>());
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    rows.filter(|cells| cells.len() == 6)
        .map(|cells| (names(cells[1]).pop_first().expect("a name"), names(cells[3])))
        .collect()
}

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

#[test]
fn every_line_is_an_object_with_the_fields_of_its_kind() {
    let text =
        std::fs::read_to_string(Path::new(ROOT).join("scenarios/handover.toml")).expect("the scenario");
    let set = ["sctp.default.handover_policy=adaptive".to_owned()];
    let mut scenario = Scenario::from_toml(&text, "handover.toml", &set).expect("valid");
    scenario.probes.trace = true;
    let mut simulation = Simulation::new(&scenario, None).expect("valid");
    let file = Buffer::default();
    simulation.write_events(Box::new(file.clone()));
    simulation.run_until(Time::ZERO + Span::from_secs(33));
    simulation.finish_events().expect("memory takes everything");
    let written = String::from_utf8(file.0.lock().expect("one thread").clone()).expect("UTF-8");
    let known = documented();
    assert!(known["window"].contains("ssthresh") && known["data"].contains("tsn"), "{known:?}");
    let (mut seen, mut last) = (BTreeSet::new(), 0);
    for line in written.lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect(line);
        let object = object.as_object().expect("an object");
        let event = object["event"].as_str().expect("a name");
        let fields: BTreeSet<String> = object.keys().cloned().collect();
        let common = ["time_ns", "association", "side", "event"].map(str::to_owned);
        let expected: BTreeSet<String> =
            known.get(event).expect(event).iter().cloned().chain(common).collect();
        assert_eq!(fields, expected, "{line}");
        let time = object["time_ns"].as_u64().expect("a number");
        assert!(time >= last, "in order: {line}");
        last = time;
        if let Some(path) = object.get("path").and_then(serde_json::Value::as_str) {
            assert!(path.contains('→'), "{line}");
        }
        seen.insert(event.to_owned());
    }
    for event in [
        "state",
        "window",
        "rtt",
        "path-added",
        "path-state",
        "primary",
        "start-state",
        "probing",
        "estimate",
        "data",
        "sack",
        "control",
    ] {
        assert!(seen.contains(event), "no {event} in {seen:?}");
    }
}
