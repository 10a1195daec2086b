//! A mobile with Wi-Fi and a cellular network, which spares the second (docs/internals/path-cost.md): both
//! ends send where the mobile wants it.

use std::fmt::Write;

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

/// A network: its rate in Mbit/s, its delay to the server in ms, and the packets of its queue.
#[derive(Clone, Copy, Debug)]
struct Network {
    mbps: u64,
    delay: u64,
    queue: u64,
}

const WIFI: Network = Network { mbps: 20, delay: 15, queue: 80 };
const CELLULAR: Network = Network { mbps: 20, delay: 30, queue: 200 };

/// A download or an upload by a mobile behind two NATs, with these further lines.
fn world(from: &str, networks: &[(&str, Network)], seconds: u64, more: &str) -> String {
    let mut text = format!(
        r#"
        duration = "{seconds}s"
        seed = 1
        [sctp.both]
        profile = "mobile"
        handover_policy = "anticipate"
        protection = "psk"
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
        delay = "1ms"
        queue = {{ packets = 1000 }}
        [[app]]
        name = "file"
        type = "bulk"
        association = "a"
        from = "{from}"
        [[association]]
        name = "a"
        client = "mobile"
        server = "server"
        client_addresses = "192.168.1.2"
        server_addresses = "192.0.2.1"
        sctp = "both"
        {more}
        "#
    );
    for (n, (name, Network { mbps, delay, queue })) in (1..).zip(networks) {
        write!(
            text,
            r#"
            [[node]]
            name = "{name}-box"
            kind = "nat"
            nat = {{ outside = "{name}-up" }}
            [[link]]
            name = "{name}-up"
            a = "r"
            b = "{name}-box"
            address_b = "203.0.113.{n}"
            rate = "1Gbps"
            delay = "{delay}ms"
            queue = {{ packets = 1000 }}
            [[link]]
            name = "{name}"
            a = "{name}-box"
            b = "mobile"
            address_b = "192.168.{n}.2"
            rate = "{mbps}Mbps"
            delay = "1ms"
            queue = {{ packets = {queue} }}
            "#
        )
        .unwrap();
    }
    text
}

fn run(text: &str) -> Summary {
    let scenario = Scenario::from_toml(text, "t.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    simulation.summary()
}

/// The bytes of the file that arrived.
fn delivered(summary: &Summary) -> u64 {
    summary.associations[0].to_server.bytes + summary.associations[0].to_client.bytes
}

/// The bytes that a link carried, both ways.
fn carried(summary: &Summary, link: &str) -> u64 {
    let of = |name: &str| name.split('/').next() == Some(link);
    summary
        .links
        .iter()
        .filter(|direction| of(&direction.name))
        .map(|direction| direction.delivered_bytes)
        .sum()
}

/// The times at which the data of an end moved, and to which of the mobile's networks.
fn moves(summary: &Summary, side: &str) -> Vec<(f64, String)> {
    let of = |to: &str| ["192.168.1.2", "203.0.113.1"].iter().any(|wifi| to.contains(wifi));
    let handovers = summary.associations[0].handovers.iter().filter(|handover| handover.side == side);
    handovers.map(|to| (to.at, if of(&to.to) { "wifi" } else { "cellular" }.to_owned())).collect()
}

/// Checks that two healthy networks give at least 0.99 of the better one alone, and that the cellular one
/// carries at most one per cent.
fn check_spared(from: &str, wifi: Network, delay: u64, seconds: u64) {
    // Not so fast that the Wi-Fi carries less than a third of it.
    let cellular = Network { mbps: CELLULAR.mbps.min(wifi.mbps * 2), delay, ..CELLULAR };
    let alone = run(&world(from, &[("wlan0", wifi)], seconds, ""));
    let both = run(&world(from, &[("wlan0", wifi), ("wwan0", cellular)], seconds, ""));
    let share = delivered(&both) as f64 / delivered(&alone) as f64;
    let spared = carried(&both, "wwan0") as f64 / delivered(&both) as f64;
    let what = format!("{from}: {wifi:?}, {cellular:?}: {share:.4} of alone, {spared:.4} cellular");
    println!("{what}");
    assert!(share >= 0.99 && spared <= 0.01, "{what}");
}

#[test]
fn a_cellular_network_is_spared_while_the_wifi_is_healthy() {
    for from in ["server", "client"] {
        check_spared(from, Network { mbps: 6, ..WIFI }, 5, 20);
    }
}

#[test]
#[ignore = "takes a minute"]
fn slow_a_cellular_network_is_spared_while_the_wifi_is_healthy() {
    let wifis = [
        WIFI,
        Network { mbps: 6, ..WIFI },
        Network { mbps: 60, ..WIFI },
        Network { queue: 500, ..WIFI },
        Network { delay: 80, ..WIFI },
    ];
    for from in ["server", "client"] {
        for wifi in wifis {
            for delay in [5, 30] {
                check_spared(from, wifi, delay, 60);
            }
        }
    }
}

/// Data takes the cellular network when the Wi-Fi carries little, and returns when that is over.
#[test]
fn a_cellular_network_carries_data_while_the_wifi_carries_little() {
    let weak = |mbps: &str| {
        format!(
            r#"
            [[action]]
            at = "20s"
            do = "set-link"
            link = "wlan0"
            rate = "{mbps}"
            [[action]]
            at = "40s"
            do = "set-link"
            link = "wlan0"
            rate = "20Mbps"
            "#
        )
    };
    for (from, side) in [("server", "server"), ("client", "client")] {
        for little in ["1Mbps", "4Mbps"] {
            let summary = run(&world(from, &[("wlan0", WIFI), ("wwan0", CELLULAR)], 60, &weak(little)));
            let moves = moves(&summary, side);
            println!("{from} {little}: {moves:?}");
            let [(there, to), (back, home)] = &moves[..] else { panic!("{from}, {little}: {moves:?}") };
            assert!(to == "cellular" && (22.0..27.0).contains(there), "{moves:?}");
            assert!(home == "wifi" && (40.0..46.0).contains(back), "{moves:?}");
        }
        // More than a third.
        let summary = run(&world(from, &[("wlan0", WIFI), ("wwan0", CELLULAR)], 60, &weak("8Mbps")));
        assert_eq!(moves(&summary, side), [], "{from}");
    }
}

/// Two networks of one rank, alike or nearly so: data stays where it is.
#[test]
fn two_equal_networks_change_at_most_once_in_30_s() {
    for (from, queue, delay) in
        [("server", 20, 15), ("client", 20, 18), ("server", 80, 30), ("client", 200, 15)]
    {
        let [first, second] = [15, delay].map(|delay| Network { mbps: 20, delay, queue });
        let summary = run(&world(from, &[("wlan0", first), ("wlan1", second)], 40, ""));
        for side in ["server", "client"] {
            let times: Vec<f64> = moves(&summary, side).into_iter().map(|(at, _)| at).collect();
            assert!(
                times.windows(2).all(|two| two[1] - two[0] >= 30.0),
                "{from}, {queue}, {delay}: {times:?}"
            );
        }
    }
}
