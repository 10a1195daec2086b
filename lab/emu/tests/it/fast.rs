//! The kernel's TCP over a fast link, apart from the tests of times, which it would disturb. As root; without
//! it the test says so and is left out, unless MSCTP_NEED_EMULATION=1.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use msctp_emu::{Emulation, Options};
use msctp_sim::scenario::Scenario;

/// Sends data over the kernel's TCP, whose large segments cross a fast link, and expects the same data.
fn crosses_in_packets(a: &'static str, b: &'static str) {
    let text = format!(
        r#"
        duration = "60s"
        [[node]]
        name = "a"
        kind = "host"
        [[node]]
        name = "b"
        kind = "host"
        [[link]]
        name = "fast"
        a = "a"
        b = "b"
        address_a = "{a}"
        address_b = "{b}"
        rate = "1Gbps"
        delay = "1ms"
        mtu = 1400
        queue = {{ packets = 2000 }}
        "#
    );
    let read = Scenario::from_toml_with_outside_hosts(&text, "t", &[], &|_| Err(String::new()));
    let emulation = Emulation::start(&read.expect("right").scenario, Options::default()).expect("set up");
    let at = move |address: &str| (address.parse::<std::net::IpAddr>().expect("an address"), 7000);
    let host = |name: &str| emulation.host(name).expect("there");
    let listener = host("b").run(move || TcpListener::bind(at(b)).expect("bound"));
    let mut from = host("a").run(move || TcpStream::connect(at(b)).expect("connected"));
    let (mut to, _) = listener.accept().expect("accepted");
    let data: Vec<u8> = (0..4_000_000u32).flat_map(u32::to_be_bytes).collect();
    let mut received = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            from.write_all(&data).expect("sent");
            from.shutdown(std::net::Shutdown::Write).expect("ended");
        });
        to.read_to_end(&mut received).expect("received");
    });
    assert!(received == data, "{} bytes of {}", received.len(), data.len());
    let (summary, _) = emulation.finish().expect("ends well");
    let link = summary.links.iter().find(|l| l.name == "fast/forward").expect("there");
    assert_eq!(link.too_big, 0, "{link:?}");
    assert!(link.delivered >= data.len() as u64 / 1360, "{link:?}");
    assert_eq!(summary.strays, Default::default());
}

#[test]
fn large_segments_cross_a_link_as_packets_of_its_mtu() {
    if let Err(missing) = msctp_emu::need::check() {
        assert!(std::env::var_os("MSCTP_NEED_EMULATION").is_none(), "{missing}");
        eprintln!("left out: {missing}");
        return;
    }
    crosses_in_packets("10.0.0.1", "10.0.0.2");
    crosses_in_packets("fd00::1", "fd00::2");
}
