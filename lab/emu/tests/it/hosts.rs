//! Real sockets in emulated hosts. As root; without it the tests say so and are left out, unless
//! MSCTP_NEED_EMULATION=1.

use std::net::UdpSocket;
use std::time::Duration;

use msctp_emu::{Clock, Emulation, Options};
use msctp_sim::scenario::Scenario;
use msctp_units::{Span, Time};

/// mn — wlan and lte — r — core — cn. 10 ms and 30 ms one way.
fn start(more: &str) -> Option<Emulation> {
    start_for("60s", more)
}

fn start_for(duration: &str, more: &str) -> Option<Emulation> {
    if let Err(missing) = msctp_emu::need::check() {
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{missing}");
        eprintln!("left out: {missing}");
        return None;
    }
    let text = format!(
        r#"
        duration = "{duration}"
        [[node]]
        name = "mn"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[node]]
        name = "cn"
        kind = "host"
        [[link]]
        name = "wlan"
        a = "mn"
        b = "r"
        address_a = "10.0.1.1"
        rate = "10Mbps"
        delay = "9ms"
        [[link]]
        name = "lte"
        a = "mn"
        b = "r"
        address_a = "10.0.2.1"
        rate = "10Mbps"
        delay = "29ms"
        [[link]]
        name = "core"
        a = "r"
        b = "cn"
        address_b = "10.0.0.1"
        rate = "1Gbps"
        delay = "1ms"
        {more}
        "#
    );
    let read = Scenario::from_toml_with_outside_hosts(&text, "t", &[], &|_| Err(String::new()));
    Some(Emulation::start(&read.expect("right").scenario, Options::default()).expect("set up"))
}

fn socket(emulation: &Emulation, host: &str, address: &'static str) -> UdpSocket {
    let socket = emulation.host(host).expect("there").run(move || UdpSocket::bind(address)).expect("bound");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("set");
    socket
}

/// Returns the time that a packet of 100 bytes takes from one socket to the other; `None` if it is lost.
fn takes(clock: Clock, from: &UdpSocket, to: &UdpSocket) -> Option<Span> {
    let sent = clock.now();
    from.send_to(&[7; 72], to.local_addr().expect("bound")).ok()?;
    let mut buffer = [0; 100];
    let (len, source) = to.recv_from(&mut buffer).ok()?;
    assert_eq!((len, source), (72, from.local_addr().expect("bound")));
    Some(clock.now().since(sent))
}

/// Sends packets until one takes little more than `ms`; none may take less. Returns the number of packets.
/// On a machine that does something else, most can be late.
fn assert_near(clock: Clock, from: &UdpSocket, to: &UdpSocket, ms: u64) -> u64 {
    let (least, most) = (Span::from_millis(ms), Span::from_millis(ms + 15));
    let mut late = Vec::new();
    for packets in 1..=20 {
        let took = takes(clock, from, to).expect("arrived");
        assert!(took >= least, "{took}, want at least {least}");
        if took < most {
            return packets;
        }
        late.push(took);
    }
    panic!("{late:?}, want one of less than {most}")
}

#[test]
fn alone_packets_leave_by_the_interface_of_their_source_and_take_their_links_time() {
    let Some(emulation) = start("") else { return };
    let clock = emulation.clock();
    let cn = socket(&emulation, "cn", "10.0.0.1:7000");
    let wlan = socket(&emulation, "mn", "10.0.1.1:7001");
    let lte = socket(&emulation, "mn", "10.0.2.1:7002");
    let by_wlan = assert_near(clock, &wlan, &cn, 10);
    let to_wlan = assert_near(clock, &cn, &wlan, 10);
    let by_lte = assert_near(clock, &lte, &cn, 30);
    let to_lte = assert_near(clock, &cn, &lte, 30);
    let (summary, _) = emulation.finish().expect("ends well");
    let delivered = |name: &str| summary.links.iter().find(|l| l.name == name).map(|l| l.delivered);
    assert_eq!(delivered("wlan/forward"), Some(by_wlan));
    assert_eq!(delivered("lte/reverse"), Some(to_lte));
    assert_eq!(summary.hosts[0].packets, by_wlan + by_lte);
    assert_eq!(summary.hosts[1].bytes, 72 * (to_wlan + to_lte));
}

#[test]
fn alone_a_link_that_is_down_carries_nothing_and_its_address_leaves_by_no_other() {
    let more = r#"
        [[action]]
        at = "100ms"
        do = "link-down"
        link = "wlan"
        [[action]]
        at = "4s"
        do = "link-up"
        link = "wlan"
    "#;
    let Some(emulation) = start(more) else { return };
    let clock = emulation.clock();
    let cn = socket(&emulation, "cn", "10.0.0.1:7000");
    let wlan = socket(&emulation, "mn", "10.0.1.1:7001");
    let any = socket(&emulation, "mn", "0.0.0.0:7002");
    let until = |ms: u64| clock.until(Time::ZERO + Span::from_millis(ms));
    std::thread::park_timeout(until(200));
    assert_eq!(takes(clock, &wlan, &cn), None);
    // A program that does not choose a source has the other interface's. The kernel stops using a route
    // without a carrier at its next check, which is up to a second away.
    let mut buffer = [0; 100];
    let source = loop {
        any.send_to(&[0; 10], "10.0.0.1:7000").expect("sent");
        match cn.recv_from(&mut buffer) {
            Ok((_, source)) => break source,
            Err(error) => assert!(until(3500) > Duration::ZERO, "{error}"),
        }
    };
    assert_eq!(source.to_string(), "10.0.2.1:7002");
    std::thread::park_timeout(until(4500));
    assert_near(clock, &wlan, &cn, 10);
    assert_eq!(emulation.failures().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn alone_an_address_can_be_removed_and_added_again() {
    let more = r#"
        [[action]]
        at = "100ms"
        do = "address-down"
        address = "10.0.2.1"
        [[action]]
        at = "3s"
        do = "address-up"
        address = "10.0.2.1"
    "#;
    let Some(emulation) = start(more) else { return };
    let clock = emulation.clock();
    let cn = socket(&emulation, "cn", "10.0.0.1:7000");
    let until = |ms: u64| clock.until(Time::ZERO + Span::from_millis(ms));
    std::thread::park_timeout(until(300));
    let bind = || emulation.host("mn").expect("there").run(|| UdpSocket::bind("10.0.2.1:7002"));
    assert!(bind().is_err(), "the address is gone");
    std::thread::park_timeout(until(3200));
    let lte = bind().expect("the address is back");
    lte.set_read_timeout(Some(Duration::from_secs(1))).expect("set");
    assert_near(clock, &lte, &cn, 30);
    assert_eq!(emulation.failures().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn the_emulation_ends_with_the_scenario() {
    let Some(emulation) = start_for("3s", "") else { return };
    assert!(!emulation.is_over());
    let begin = emulation.clock().now();
    while !emulation.is_over() {
        assert!(emulation.clock().now().since(begin) < Span::from_secs(60), "it hangs");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let (summary, _) = emulation.finish().expect("ends well");
    assert_eq!(summary.duration, 3.0);
}
