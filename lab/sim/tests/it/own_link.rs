//! A link model of the caller's, by its name in a scenario.

use msctp_link::{Link, LinkConfig, LinkModel, WhenDown};
use msctp_sim::scenario::{LinkFactory, OwnLink, Scenario, Schemes};
use msctp_sim::{PacketId, Simulation, Summary};
use msctp_units::Rate;

fn plain(from: OwnLink) -> Box<dyn LinkModel<PacketId>> {
    let config = LinkConfig {
        rate: from.rate.unwrap_or(Rate::from_bps(1_000_000)),
        delay: from.delay.unwrap_or_default(),
        queue: from.queue,
        when_down: WhenDown::Drop,
    };
    Box::new(Link::new(config, from.loss))
}

fn read(overrides: &[&str]) -> Result<Scenario, String> {
    let schemes = Schemes::none().with_link("mine:plain", LinkFactory::new(plain));
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let text = include_str!("../../../../scenarios/handover.toml");
    let open = |_: &str| Err("no files".to_owned());
    Scenario::with_schemes(text, "handover.toml", &overrides, &open, &schemes)
        .map_err(|error| error.to_string())
}

fn run(overrides: &[&str]) -> Summary {
    let mut simulation = Simulation::new(&read(overrides).expect("valid"), None).expect("valid");
    simulation.hash_trace();
    simulation.run();
    simulation.summary()
}

#[test]
fn the_same_model_under_an_own_name_has_the_same_packets_losses_and_counters() {
    let losses = ["link.wlan.loss=0.01", "link.3g.loss={ share = 0.02, mean_burst = 3 }"];
    let own = ["link.wlan.type=mine:plain", "link.3g.type=mine:plain"];
    let [compiled, own] = [losses.to_vec(), [losses, own].concat()].map(|overrides| run(&overrides));
    assert!(compiled.links.iter().any(|link| link.losses > 0));
    assert_eq!(own.trace_hash, compiled.trace_hash);
    let counters = |summary: &Summary| serde_json::to_string(&summary.links).expect("JSON");
    assert_eq!(counters(&own), counters(&compiled));
}

#[test]
fn rate_and_delay_are_optional_and_the_other_keys_those_of_a_plain_link() {
    read(&["link.wlan.type=mine:plain"]).unwrap();
    let error = read(&["link.wlan.type=mine:plane"]).unwrap_err();
    assert!(error.contains("did you mean \"mine:plain\""), "{error}");
    let error = read(&["link.wlan.type=mine:plain", "link.wlan.bler=0.1"]).unwrap_err();
    assert!(error.contains("links of type mine:plain have no bler"), "{error}");
    let error = read(&["link.wlan.type=mine:plain", "link.wlan.loss=2"]).unwrap_err();
    assert!(error.contains("link.wlan.loss"), "{error}");
}
