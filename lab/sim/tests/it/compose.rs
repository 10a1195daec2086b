//! Scenarios of several files, templates and counted items.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_units::{Rate, Span};

const BASE: &str = r#"
name = "base"
duration = "5s"

[[node]]
name = "server"
kind = "host"

[[node]]
name = "r"
kind = "router"

[[link]]
name = "core"
a = "server"
b = "r"
address_a = "10.0.0.1"
rate = "1Gbps"
delay = "5ms"

[sctp.default]
receive_buffer = 65536
pmtu = 1500
"#;

/// Twenty mobiles of a cell, on the base's network.
const CELL: &str = r#"
extends = "base.toml"
name = "cell"
duration = "0.1min"

[template.bearer]
type = "lte"
a = "r"
rate = "5Mbps"
delay = "15ms"

[[node]]
name = "m{i}"
kind = "host"
count = 20

[[link]]
template = "bearer"
name = "cell{i}"
b = "m{i}"
address_b = "10.1.{i+10}.2"
count = 20

[[link]]
name = "core"
delay = "7ms"

[sctp.default]
pmtu = 1400

[[association]]
name = "download{i}"
client = "m{i}"
server = "server"
client_addresses = ["10.1.{i+10}.2"]
server_addresses = ["10.0.0.1"]
server_port = 5000
sctp = "default"
start = "{i}ms"
count = 20

[[app]]
name = "file{i}"
type = "bulk"
association = "download{i}"
from = "server"
bytes = 20000
count = 20
"#;

fn open(path: &str) -> Result<String, String> {
    match path {
        "base.toml" => Ok(BASE.to_owned()),
        "folder/circle.toml" => Ok("extends = \"../cell.toml\"".to_owned()),
        "cell.toml" => Ok("extends = \"folder/circle.toml\"".to_owned()),
        "folder/faulty.toml" => Ok("description = 3".to_owned()),
        _ => Err(format!("there is no {path}")),
    }
}

fn read(text: &str, set: &[&str]) -> Result<Scenario, String> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    Scenario::from_toml_and_files(text, "scenarios/cell.toml", &set, &open).map_err(|error| error.to_string())
}

#[test]
fn a_scenario_extends_another_with_templates_and_counts() {
    let cell = read(CELL, &[]).unwrap();
    assert_eq!((cell.name.as_str(), cell.duration), ("cell", Span::from_secs(6)));
    assert_eq!((cell.nodes.len(), cell.links.len()), (22, 21));
    let core = cell.links[0].forward.plain().unwrap();
    assert_eq!((core.rate, core.delay), (Rate::from_kbps(1_000_000), Span::from_millis(7)));
    let bearer = cell.links.iter().find(|link| link.name == "cell20").unwrap();
    assert_eq!(bearer.address_b.unwrap().to_string(), "10.1.30.2");
    assert_eq!(cell.sctp[0].config.receive_buffer, 65_536, "a key that only the base has");
    assert_eq!(cell.associations[19].start, Span::from_millis(20));
    let mut simulation = Simulation::new(&cell, None).unwrap();
    simulation.run();
    let summary = simulation.summary();
    assert!(
        summary.associations.iter().all(|a| a.to_client.completed.is_some()),
        "every mobile has its file"
    );
}

#[test]
fn overrides_reach_the_template_the_copies_before_and_each_copy() {
    let set = ["template.bearer.rate=2Mbps", "link.cell7.rate=1Mbps", "app.file{i}.bytes=3000"];
    let cell = read(CELL, &set).unwrap();
    let of = |name: &str| format!("{:?}", cell.links.iter().find(|link| link.name == name).unwrap());
    assert!(
        of("cell6").contains("2Mbps") && of("cell7").contains("1Mbps"),
        "{} {}",
        of("cell6"),
        of("cell7")
    );
    assert!(format!("{:?}", cell.apps[4]).contains("3000"), "{:?}", cell.apps[4]);
}

#[test]
fn faults_are_shown_in_the_file_they_are_in() {
    let fault = |from: &str, to: &str| {
        assert!(CELL.contains(from), "{from}");
        read(&CELL.replacen(from, to, 1), &[]).unwrap_err()
    };
    assert_eq!(
        fault("template = \"bearer\"", "template = \"baerer\""),
        "scenarios/cell.toml:18: link.cell{i}.template: there is no [template.baerer]; did you mean \"bearer\"?"
    );
    assert_eq!(
        fault("rate = \"5Mbps\"", "rtae = \"5Mbps\""),
        "scenarios/cell.toml:9: link.cell1.rtae: unknown key; did you mean \"rate\"?"
    );
    assert_eq!(
        fault("name = \"m{i}\"", "name = \"m\""),
        "scenarios/cell.toml:13: node.m.name: gives all copies the same name: want {i} in it, such as \"mobile-{i}\""
    );
    assert_eq!(
        fault("count = 20", "count = 0"),
        "scenarios/cell.toml:15: node.m{i}.count: want a whole number from 1 to 100000"
    );
    assert_eq!(
        fault("extends = \"base.toml\"", "extends = \"bsae.toml\""),
        "scenarios/cell.toml:2: extends: there is no bsae.toml"
    );
    assert_eq!(
        fault("extends = \"base.toml\"", "extends = \"folder/faulty.toml\""),
        "scenarios/folder/faulty.toml:1: description: 3 is a whole number: want a string in quotes"
    );
    assert!(
        fault("extends = \"base.toml\"", "extends = \"folder/circle.toml\"")
            .contains("remove one of the two extends")
    );
    let base = fault("duration = \"0.1min\"", "duration = \"6s\"\n[probes]\nthroughput = 3");
    assert!(base.starts_with("scenarios/cell.toml:6: probes.throughput: "), "{base}");
}
