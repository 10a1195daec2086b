//! Hosts that follow their links: random scripts of links over random topologies, without an action on an
//! address.
//!
//! The sentence that is tested: if one pair of addresses carries packets both ways for 3 s and two RTOs, data
//! flows within that time; an association ends only if none did for its idle timeout; the same script gives
//! the same bytes.

use std::fmt::Write;

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, random};
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

/// Length of a run.
const END: u64 = 90;
/// A run checks deliveries at this interval (ms).
const BIN: u64 = 500;
/// Resolution of the check (ms).
const STEP: u64 = 50;
/// RTO.Max and RTO.Initial of `Config::mobile` (s).
const RTO_MAX: f64 = 10.0;
const RTO_INITIAL: f64 = 0.5;

/// A network of the mobile: its access link, and the way from there to the server.
#[derive(Clone, Copy, Debug)]
struct Network {
    name: &'static str,
    /// The mobile's address.
    address: &'static str,
    public: Option<&'static str>,
}

const NETWORKS: [Network; 3] = [
    Network { name: "wlan0", address: "192.168.1.2", public: Some("203.0.113.7") },
    Network { name: "wwan0", address: "100.64.0.2", public: Some("203.0.113.9") },
    Network { name: "eth0", address: "198.51.100.2", public: None },
];

/// A part of a network that is up or down: the access link, whose state the host learns, or the way behind
/// it, of whose state nobody tells it.
#[derive(Debug)]
struct Part {
    link: String,
    /// Times of its changes, in milliseconds; it is up at first.
    changes: Vec<u64>,
}

impl Part {
    fn random(rng: &mut ChaCha8Rng, link: String) -> Self {
        let mut changes = Vec::new();
        // A third of the parts never fail.
        let mut at = if rng.next_u32().is_multiple_of(3) { END * 1000 } else { 2000 + below(rng, 20_000) };
        while at < (END - 5) * 1000 {
            changes.push(at);
            at += match rng.next_u32() % 4 {
                0 => 50 + below(rng, 500),
                1 => 500 + below(rng, 3000),
                _ => 3000 + below(rng, 25_000),
            };
        }
        Self { link, changes }
    }

    fn is_up(&self, at: u64) -> bool {
        self.changes.iter().filter(|change| **change <= at).count() % 2 == 0
    }
}

fn below(rng: &mut ChaCha8Rng, most: u64) -> u64 {
    u64::from(rng.next_u32()) % most
}

/// Returns the nodes and links of a network.
fn of(network: &Network, rng: &mut ChaCha8Rng) -> String {
    let Network { name, address, public } = *network;
    let (kind, outside) = match public {
        Some(_) => ("nat", format!("nat = {{ outside = \"{name}-up\" }}")),
        None => ("router", String::new()),
    };
    let own = public.map(|public| format!("address_b = \"{public}\"")).unwrap_or_default();
    let (rate, delay) = (2 + below(rng, 40), 1 + below(rng, 60));
    format!(
        r#"
        [[node]]
        name = "{name}-box"
        kind = "{kind}"
        {outside}
        [[link]]
        name = "{name}-up"
        a = "r"
        b = "{name}-box"
        {own}
        rate = "1Gbps"
        delay = "{delay}ms"
        queue = {{ packets = 1000 }}
        [[link]]
        name = "{name}"
        a = "{name}-box"
        b = "mobile"
        address_b = "{address}"
        rate = "{rate}Mbps"
        delay = "1ms"
        queue = {{ packets = 100 }}
        "#
    )
}

/// A scenario, and the parts of each of the mobile's networks.
fn world(seed: u64) -> (String, Vec<[Part; 2]>) {
    let mut rng = random::stream(seed, "test/follows");
    let count = 2 + below(&mut rng, 2) as usize;
    let first = below(&mut rng, 3) as usize;
    let from = if rng.next_u32().is_multiple_of(2) { "server" } else { "client" };
    let mut text = format!(
        r#"
        duration = "{END}s"
        seed = {seed}
        [probes]
        throughput = "{BIN}ms"
        [sctp.both]
        profile = "mobile"
        handover_policy = "{}"
        protection = "{}"
        [[node]]
        name = "mobile"
        kind = "host"
        follows = {{}}
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
        address_a = "192.0.2.1"
        rate = "1Gbps"
        delay = "5ms"
        queue = {{ packets = 1000 }}
        [[app]]
        name = "file"
        type = "bulk"
        association = "a"
        from = "{from}"
        "#,
        if rng.next_u32().is_multiple_of(2) { "anticipate" } else { "conservative" },
        if seed.is_multiple_of(2) { "off" } else { "psk" },
    );
    let networks: Vec<Network> = (0..count).map(|n| NETWORKS[(first + n) % 3]).collect();
    let mut parts = Vec::new();
    for network in &networks {
        let name = network.name;
        text += &of(network, &mut rng);
        let of_network = [name.to_owned(), format!("{name}-up")].map(|link| Part::random(&mut rng, link));
        for part in &of_network {
            for (n, at) in part.changes.iter().enumerate() {
                let what = if n % 2 == 0 { "link-down" } else { "link-up" };
                write!(text, "\n[[action]]\nat = \"{at}ms\"\ndo = \"{what}\"\nlink = \"{}\"\n", part.link)
                    .unwrap();
            }
        }
        parts.push(of_network);
    }
    write!(
        text,
        "\n[[association]]\nname = \"a\"\nclient = \"mobile\"\nserver = \"server\"\nclient_addresses = \"{}\"\n\
         server_addresses = \"192.0.2.1\"\nsctp = \"both\"\n",
        networks[0].address
    )
    .unwrap();
    (text, parts)
}

/// Returns the bytes delivered in each interval, how the association ended, and the hash of the run.
fn run(text: &str) -> (Vec<u64>, Option<String>, Option<String>) {
    let scenario = Scenario::from_toml(text, "t.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.hash_trace();
    simulation.run();
    let summary = simulation.summary();
    let ended = summary.associations[0].ended.clone();
    let series = simulation.into_series();
    let most = series.delivery.iter().max_by_key(|delivery| delivery.total.sums.iter().sum::<u64>());
    (most.expect("a series").total.sums.clone(), ended, summary.trace_hash)
}

/// Returns whether a network carries packets at this time (ms).
fn carries(of_network: &[Part; 2], at: u64) -> bool {
    of_network.iter().all(|part| part.is_up(at))
}

/// Checks one world. Returns the longest time, in seconds, that data took, and why the sentence does not
/// hold.
fn check(seed: u64) -> (f64, Option<String>) {
    let (text, parts) = world(seed);
    let (delivered, ended, hash) = run(&text);
    let fails = |why: String| -> ! { panic!("seed {seed}: {why}\n{text}") };
    if seed.is_multiple_of(6) && run(&text) != (delivered.clone(), ended.clone(), hash) {
        fails("two runs differ".to_owned());
    }
    if let Some(why) = ended {
        fails(why);
    }
    let (mut longest, mut broken): (f64, Option<String>) = (0.0, None);
    for network in &parts {
        // For how long this network carries packets and data does not flow, and none had flowed before.
        let (mut quiet, mut before, mut silent) = (0.0, 0.0, 0.0);
        for step in 0..(END * 1000 / STEP) {
            let flows = delivered.get((step * STEP / BIN) as usize).is_some_and(|bytes| *bytes > 0);
            silent = if flows { 0.0 } else { silent + STEP as f64 / 1000.0 };
            if flows || !carries(network, step * STEP) {
                (quiet, before) = (0.0, silent);
            } else {
                quiet += STEP as f64 / 1000.0;
            }
            longest = longest.max(quiet);
            // The RTO doubles while nothing is answered: it is as long as that time, at most.
            let rto = before.clamp(RTO_INITIAL, RTO_MAX);
            let at = (step * STEP) as f64 / 1000.0;
            let why = || format!("seed {seed}: no data for {quiet:.2} s until {at:.2} s over {network:?}");
            if quiet > 3.0 + 2.0 * rto + BIN as f64 / 1000.0 {
                broken.get_or_insert_with(why);
            }
            // Whatever happened before.
            if quiet > 3.0 + 2.0 * RTO_MAX {
                fails(why());
            }
        }
    }
    (longest, broken)
}

/// Checks the worlds of these seeds, and prints the scenario if it is one. Returns why the sentence does not
/// hold in some.
fn check_all(seeds: std::ops::Range<u64>) -> Vec<String> {
    if seeds.end - seeds.start == 1 {
        println!("{}", world(seeds.start).0);
    }
    let (mut longest, broken): (Vec<f64>, Vec<_>) = seeds.map(check).unzip();
    longest.sort_by(f64::total_cmp);
    let at = |share: f64| longest[((longest.len() - 1) as f64 * share) as usize];
    let broken: Vec<String> = broken.into_iter().flatten().collect();
    println!("{} worlds: longest time without data {:.2} s, median {:.2} s", longest.len(), at(1.0), at(0.5));
    println!("{} do not keep the sentence:\n{}", broken.len(), broken.join("\n"));
    broken
}

#[test]
fn data_flows_wherever_one_pair_of_addresses_carries_packets() {
    assert_eq!(check_all(1..7), [] as [String; 0]);
}

/// The sentence does not hold in all worlds yet: a request that one dead network has sent may hold up the one
/// that adds the working network's address. In none is data stopped for longer than 3 s and two RTO.Max.
/// `MSCTP_SEED=FROM..TO` runs others.
#[test]
#[ignore = "takes minutes"]
fn slow_data_flows_in_nearly_all_worlds_and_stops_for_ever_in_none() {
    let seeds = std::env::var("MSCTP_SEED").map_or(1..151, |range| {
        let (from, to) = range.split_once("..").expect("FROM..TO");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let (count, broken) = (seeds.end - seeds.start, check_all(seeds).len() as u64);
    assert!(broken * 50 <= count, "{broken} of {count}");
}

/// Two networks, the better one down from 10 s to 20 s.
const TWO: &str = r#"
    duration = "40s"
    [probes]
    throughput = "500ms"
    [sctp.both]
    profile = "mobile"
    [[node]]
    name = "mobile"
    kind = "host"
    follows = { prefer = ["wlan", "wwan"] }
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
    address_a = "192.0.2.1"
    rate = "1Gbps"
    delay = "5ms"
    queue = { packets = 1000 }
    [[link]]
    name = "wlan0"
    a = "r"
    b = "mobile"
    address_b = "198.51.100.2"
    rate = "50Mbps"
    delay = "2ms"
    queue = { packets = 100 }
    [[link]]
    name = "wwan0"
    a = "r"
    b = "mobile"
    address_b = "203.0.113.2"
    rate = "20Mbps"
    delay = "20ms"
    queue = { packets = 100 }
    [[association]]
    name = "a"
    client = "mobile"
    server = "server"
    client_addresses = "198.51.100.2"
    server_addresses = "192.0.2.1"
    sctp = "both"
    [[app]]
    name = "file"
    type = "bulk"
    association = "a"
    from = "client"
    [[action]]
    at = "10s"
    do = "link-down"
    link = "wlan0"
    [[action]]
    at = "20s"
    do = "link-up"
    link = "wlan0"
"#;

/// The host's report of its links is enough: no action names an address.
#[test]
fn data_leaves_a_link_that_is_down_and_returns_to_the_preferred_one() {
    let scenario = Scenario::from_toml(TWO, "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let association = &simulation.summary().associations[0];
    assert_eq!(association.ended, None);
    let moves: Vec<(u64, bool)> = association
        .handovers
        .iter()
        .filter(|handover| handover.side == "client")
        .map(|handover| (handover.at as u64, handover.gap.is_some_and(|gap| gap < 0.5)))
        .collect();
    // Once away at 10 s, once back: the link came up at 20 s, and waits a second for it may flap.
    assert_eq!(moves, [(10, true), (21, true)], "{:?}", association.handovers);
    // 10 s at 50 Mbps, 11 s at 20, 19 s at 50: 208 MB on the wire.
    assert!(association.to_server.bytes > 180_000_000, "{}", association.to_server.bytes);
}
