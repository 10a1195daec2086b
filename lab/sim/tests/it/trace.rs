//! Links that follow traces, in scenario files: they deliver what the trace allows, and errors name the
//! place.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

fn open(name: &str) -> Result<String, String> {
    std::fs::read_to_string(format!("{DIR}/{name}")).map_err(|e| e.to_string())
}

fn read(overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<String> = overrides.iter().map(|&pair| pair.to_owned()).collect();
    let text = open("trace.toml").expect("there");
    Scenario::from_toml_and_files(&text, "trace.toml", &overrides, &open).map_err(|e| e.to_string())
}

/// Returns the bytes that each column of the sample allows over its 60 s.
fn allowed(column: usize) -> f64 {
    let text = open("traces/sample-two-networks.csv").expect("there");
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.split(',').map(|word| word.parse().expect("a number")).collect()).collect();
    rows.windows(2).map(|pair| pair[0][column] * 1e6 / 8.0 * (pair[1][0] - pair[0][0])).sum()
}

#[test]
fn overloaded_links_deliver_what_the_recording_allows() {
    let mut scenario = read(&["association=[]", "app=[]", "action=[]"]).expect("right");
    for (name, to) in [("over wifi", [10, 0, 1, 2]), ("over lte", [10, 0, 2, 2])] {
        scenario.apps.push(msctp_sim::scenario::AppSpec {
            name: name.to_owned(),
            start: Some(msctp_units::Span::ZERO),
            stop: None,
            kind: msctp_sim::scenario::AppKind::Cbr {
                from: [10, 0, 0, 1].into(),
                to: to.into(),
                rate: msctp_units::Rate::from_mbps(40),
                packet: 1500,
                jitter: false,
                random_phase: false,
            },
        });
    }
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let links = simulation.summary().links;
    for (link, column) in [("wifi/forward", 1), ("lte/forward", 2)] {
        let delivered = links.iter().find(|l| l.name == link).expect("there").delivered_bytes as f64;
        let share = delivered / allowed(column);
        assert!((0.998..=1.0).contains(&share), "{link}: {share}");
    }
}

#[test]
fn errors_of_a_trace_name_the_line() {
    let error = |overrides: &[&str]| read(overrides).expect_err("refused");
    let missing = error(&["link.wifi.trace=nowhere.csv"]);
    assert!(missing.contains("link.wifi.trace: nowhere.csv:"), "{missing}");
    let column = error(&["link.wifi.column=wlan"]);
    assert!(
        column.contains("sample-two-networks.csv:2: there is no column \"wlan\"; want one of wifi, lte"),
        "{column}"
    );
    let video = error(&["link.lte.reverse.trace=traces/sample-video.txt"]);
    assert!(video.contains("link.lte.reverse.trace: traces/sample-video.txt:"), "{video}");
    let both = error(&["link.wifi.period=10s"]);
    assert!(both.contains("either column or period"), "{both}");
    let rate = error(&[r#"action=[{ at = "1s", do = "set-link", link = "wifi", rate = "1Mbps" }]"#]);
    assert!(rate.contains("\"wifi\" is of type trace: only delay can be set"), "{rate}");
}
