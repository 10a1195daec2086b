//! Moves between IPv4 and IPv6: each network of the mobile has one family, the server has both. And between
//! interfaces that share one family, router and public address.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// A network of the mobile: its interface, its address, and the public address behind which a NAT hides it.
type Network = (&'static str, &'static str, Option<&'static str>);

const V4: Network = ("wlan0", "192.168.1.2", Some("203.0.113.7"));
const V4_PUBLIC: Network = ("wlan0", "203.0.113.7", None);
const V6: Network = ("wwan0", "2001:db8:20::2", None);
const V6_PRIVATE: Network = ("wwan0", "fd20::2", Some("2001:db8:20::2"));

fn of((name, address, public): Network) -> String {
    let (kind, outside, own) = match public {
        Some(public) => {
            ("nat", format!("nat = {{ outside = \"{name}-up\" }}"), format!("address_b = \"{public}\""))
        }
        None => ("router", String::new(), String::new()),
    };
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
        delay = "10ms"
        queue = {{ packets = 1000 }}
        [[link]]
        name = "{name}"
        a = "{name}-box"
        b = "mobile"
        address_b = "{address}"
        rate = "20Mbps"
        delay = "1ms"
        queue = {{ packets = 100 }}
        "#
    )
}

/// A mobile that begins at the first network, which goes down at 5 s. The second comes up at `up`.
fn world(first: Network, second: Network, protection: &str, from: &str, up: &str) -> String {
    let server = if first.1.contains(':') { "2001:db8::1" } else { "192.0.2.1" };
    let mut text = format!(
        r#"
        duration = "15s"
        [probes]
        throughput = "500ms"
        [sctp.both]
        profile = "mobile"
        protection = "{protection}"
        [[node]]
        name = "mobile"
        kind = "host"
        follows = {{ prefer = ["wlan", "wwan"] }}
        [[node]]
        name = "server"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[link]]
        name = "core4"
        a = "server"
        b = "r"
        address_a = "192.0.2.1"
        rate = "1Gbps"
        delay = "5ms"
        queue = {{ packets = 1000 }}
        [[link]]
        name = "core6"
        a = "server"
        b = "r"
        address_a = "2001:db8::1"
        rate = "1Gbps"
        delay = "5ms"
        queue = {{ packets = 1000 }}
        [[association]]
        name = "a"
        client = "mobile"
        server = "server"
        client_addresses = "{}"
        server_addresses = ["{server}", "{}"]
        sctp = "both"
        [[app]]
        name = "file"
        type = "bulk"
        association = "a"
        from = "{from}"
        [[action]]
        at = "0s"
        do = "link-down"
        link = "{second}"
        [[action]]
        at = "{up}"
        do = "link-up"
        link = "{second}"
        [[action]]
        at = "5s"
        do = "link-down"
        link = "{}"
        "#,
        first.1,
        if server.contains(':') { "192.0.2.1" } else { "2001:db8::1" },
        first.0,
        second = second.0,
    );
    text += &of(first);
    text += &of(second);
    text
}

/// Returns how long no data was delivered from 5.5 s on, in units of 0.5 s, and how the association ended.
fn stop(text: &str) -> (usize, Option<String>) {
    let scenario = Scenario::from_toml(text, "t.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let ended = simulation.summary().associations[0].ended.clone();
    let series = simulation.into_series();
    let most = series.delivery.iter().max_by_key(|delivery| delivery.total.sums.iter().sum::<u64>());
    let sums = &most.expect("a series").total.sums;
    // What was on its way then arrives in the first of them.
    ((11..30).take_while(|bin| sums.get(*bin).is_none_or(|bytes| *bytes == 0)).count(), ended)
}

#[test]
fn data_moves_between_the_families() {
    for (first, second) in
        [(V4, V6), (V6, V4), (V4_PUBLIC, V6_PRIVATE), (V6_PRIVATE, V4_PUBLIC), (V6_PRIVATE, V4)]
    {
        for from in ["client", "server"] {
            let stopped = stop(&world(first, second, "psk", from, "2s"));
            assert_eq!(stopped, (0, None), "{} to {}, from the {from}", first.1, second.1);
        }
    }
}

/// No network works for a second: data flows again within two.
#[test]
fn data_moves_between_the_families_after_a_hole() {
    for (first, second) in
        [(V4, V6), (V6, V4), (V4_PUBLIC, V6_PRIVATE), (V6_PRIVATE, V4_PUBLIC), (V6_PRIVATE, V4)]
    {
        for from in ["client", "server"] {
            let (stopped, ended) = stop(&world(first, second, "psk", from, "6s"));
            assert!(
                stopped <= 5 && ended.is_none(),
                "{} to {}, from the {from}: {stopped} {ended:?}",
                first.1,
                second.1
            );
        }
    }
}

/// In clear, nothing proves a source that a NAT made: the network is not used, and the association waits for
/// the other.
#[test]
fn in_clear_a_translated_address_of_the_other_family_is_not_used() {
    assert_eq!(
        stop(&world(V4, V6, "off", "client", "2s")),
        (0, None),
        "the request leaves from the old network"
    );
    let (stopped, ended) = stop(&world(V6, V4, "off", "client", "2s"));
    assert!(stopped > 15 && ended.is_none(), "{stopped} {ended:?}");
}

/// A mobile with two interfaces behind one router, whose public address both have: the first goes down at 5
/// s, and the second comes up at `up`. The router keeps the first one's translation.
fn one_router(protection: &str, from: &str, up: &str) -> String {
    format!(
        r#"
        duration = "15s"
        [probes]
        throughput = "500ms"
        [sctp.both]
        profile = "mobile"
        protection = "{protection}"
        [[node]]
        name = "mobile"
        kind = "host"
        follows = {{ prefer = ["eth", "wlan"] }}
        [[node]]
        name = "server"
        kind = "host"
        [[node]]
        name = "box"
        kind = "nat"
        nat = {{ outside = "up" }}
        [[link]]
        name = "up"
        a = "server"
        b = "box"
        address_a = "192.0.2.1"
        address_b = "203.0.113.7"
        rate = "1Gbps"
        delay = "10ms"
        queue = {{ packets = 1000 }}
        [[link]]
        name = "eth0"
        a = "box"
        b = "mobile"
        address_b = "192.168.1.2"
        rate = "20Mbps"
        delay = "1ms"
        queue = {{ packets = 100 }}
        [[link]]
        name = "wlan0"
        a = "box"
        b = "mobile"
        address_b = "192.168.2.2"
        rate = "20Mbps"
        delay = "1ms"
        queue = {{ packets = 100 }}
        [[association]]
        name = "a"
        client = "mobile"
        server = "server"
        client_addresses = "192.168.1.2"
        server_addresses = "192.0.2.1"
        sctp = "both"
        [[app]]
        name = "file"
        type = "bulk"
        association = "a"
        from = "{from}"
        [[action]]
        at = "0s"
        do = "link-down"
        link = "wlan0"
        [[action]]
        at = "{up}"
        do = "link-up"
        link = "wlan0"
        [[action]]
        at = "5s"
        do = "link-down"
        link = "eth0"
        "#
    )
}

#[test]
fn data_moves_between_interfaces_behind_one_router() {
    for protection in ["psk", "off"] {
        for from in ["client", "server"] {
            for up in ["2s", "5500ms", "6s"] {
                let (stopped, ended) = stop(&one_router(protection, from, up));
                assert!(
                    stopped <= 4 && ended.is_none(),
                    "{protection}, from the {from}, up at {up}: {stopped} {ended:?}"
                );
            }
        }
    }
}
