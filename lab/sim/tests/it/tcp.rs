//! TCP connections in the simulator.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::Summary;

/// One connection through a bottleneck. Further parts replace `%`.
const BASE: &str = r#"
duration = "20s"
[[node]]
name = "a"
kind = "host"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
kind = "host"
[[link]]
name = "left"
a = "a"
b = "r"
address_a = "10.0.0.1"
rate = "100Mbps"
delay = "10ms"
[[link]]
name = "right"
a = "r"
b = "b"
address_b = "10.0.1.2"
rate = "8Mbps"
delay = "15ms"
[tcp-profile.p]
recovery = "sack"
[[tcp]]
name = "t"
client = "a"
server = "b"
client_address = "10.0.0.1"
server_address = "10.0.1.2"
profile = "p"
"#;

const BULK: &str = "[[app]]\nname = \"file\"\ntype = \"bulk\"\ntcp = \"t\"\nfrom = \"client\"\n";

fn scenario(more: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    Scenario::from_toml(&format!("{BASE}{more}"), "tcp.toml", &overrides).unwrap()
}

fn run(more: &str, overrides: &[&str]) -> Summary {
    let mut simulation = Simulation::new(&scenario(more, overrides), Some(1)).unwrap();
    simulation.hash_trace();
    simulation.run();
    simulation.summary()
}

#[test]
fn an_endless_transfer_fills_the_bottleneck() {
    let summary = run(BULK, &[]);
    let tcp = &summary.tcp[0];
    assert_eq!((tcp.established.map(|at| (at * 1e3).round()), tcp.ended.as_ref()), (Some(50.0), None));
    // 1448 of 1500 bytes are user data.
    let full = 8e6 * 1448.0 / 1500.0;
    let goodput = tcp.to_server.goodput as f64;
    assert!(goodput > 0.9 * full && goodput <= full, "{goodput} of {full}");
    assert_eq!((tcp.to_client.bytes, tcp.to_server.completed), (0, None));
    assert!(tcp.to_server.fast_retransmits > 0 && tcp.to_server.timeouts == 0);
}

#[test]
fn a_file_is_delivered_the_connection_closes_and_actions_are_triggered() {
    let bulk = format!("{BULK}bytes = 1000000\n");
    let action = "[[action]]\ndo = \"link-down\"\nlink = \"right\"\nafter = { event = \"delivered\", app = \"file\", delay = \"1s\" }\n";
    let summary = run(&format!("{bulk}{action}"), &[]);
    let flow = &summary.tcp[0].to_server;
    assert_eq!(flow.bytes, 1_000_000);
    let completed = flow.completed.unwrap();
    assert!(completed > 1.0 && completed < 3.0, "{completed}");
    assert_eq!(flow.last, flow.completed);
    assert_eq!(summary.tcp[0].ended.as_deref(), Some("closed in good order"));
    assert!((summary.actions[0].at.unwrap() - completed - 1.0).abs() < 1e-9);
}

#[test]
fn losses_are_repaired_by_every_recovery_and_the_same_seed_gives_the_same_bytes() {
    let mut hashes = Vec::new();
    for recovery in ["reno", "newreno", "sack"] {
        let overrides = [
            "link.right.forward.loss=0.02",
            "link.right.reverse.loss=0.02",
            "duration=60s",
            &format!("tcp-profile.p.recovery={recovery}"),
        ];
        let bulk = format!("{BULK}bytes = 3000000\n");
        let summary = run(&bulk, &overrides);
        let flow = &summary.tcp[0].to_server;
        assert_eq!(flow.bytes, 3_000_000, "{recovery}");
        assert!(flow.completed.is_some() && flow.retransmitted > 20, "{recovery}");
        assert_eq!(run(&bulk, &overrides), summary);
        hashes.push(summary.trace_hash);
    }
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2]);
}

#[test]
fn sources_can_be_stopped_and_restarted() {
    let app = format!("{BULK}start = \"2s\"\nstop = \"4s\"\n");
    let again = "[[action]]\ndo = \"start-app\"\napp = \"file\"\nat = \"10s\"\n";
    let summary = run(&format!("{app}{again}"), &["probes.throughput=1s"]);
    let flow = &summary.tcp[0].to_server;
    assert!(flow.first.unwrap() > 2.0);
    assert!(flow.longest_gap > 5.9 && flow.longest_gap_at > 4.0 && flow.longest_gap_at < 4.2);
    assert!(flow.last.unwrap() > 19.9);
    // Not restarted: the time after the last delivery is no gap.
    let flow = run(&app, &[]).tcp.remove(0).to_server;
    assert!(flow.last.unwrap() < 4.2 && flow.longest_gap < 0.5, "{}", flow.longest_gap);
    assert_eq!(flow.completed, None);
}

#[test]
fn a_slow_reader_closes_the_window() {
    let reader =
        "[[app]]\nname = \"slow\"\ntype = \"reader\"\ntcp = \"t\"\nat = \"server\"\nrate = \"400kbps\"\n";
    let summary = run(&format!("{BULK}{reader}"), &["tcp-profile.p.receive_buffer=65536"]);
    let flow = &summary.tcp[0].to_server;
    let goodput = flow.goodput as f64;
    assert!((goodput / 400e3 - 1.0).abs() < 0.02, "{goodput}");
    assert_eq!((flow.retransmitted, flow.timeouts), (0, 0));
}

#[test]
fn both_ends_send_and_ipv6_has_longer_headers() {
    let back = "[[app]]\nname = \"back\"\ntype = \"bulk\"\ntcp = \"t\"\nfrom = \"server\"\nbytes = 500000\n";
    let text = format!("{BASE}{BULK}bytes = 500000\n{back}")
        .replace("10.0.0.1", "fd00::1")
        .replace("10.0.1.2", "fd00::2");
    let mut simulation = Simulation::new(&Scenario::from_toml(&text, "t", &[]).unwrap(), None).unwrap();
    simulation.run();
    let summary = simulation.summary();
    assert_eq!((summary.tcp[0].to_server.bytes, summary.tcp[0].to_client.bytes), (500_000, 500_000));
    assert!(summary.links.iter().all(|link| link.too_big == 0), "packets of 1500 bytes");
    assert_eq!(summary.tcp[0].ended.as_deref(), Some("closed in good order"));
}

#[test]
fn the_trace_and_the_throughput_are_recorded_on_request() {
    let wanted = ["probes.throughput=100ms", "probes.trace=true", "probes.chunks=true", "duration=3s"];
    let mut simulation = Simulation::new(&scenario(BULK, &wanted), None).unwrap();
    simulation.run();
    let bytes = simulation.summary().tcp[0].to_server.bytes;
    let series = simulation.into_series();
    assert_eq!(series.delivery.iter().map(|d| d.total.sums.iter().sum::<u64>()).sum::<u64>(), bytes);
    let client = series.tcp.iter().find(|trace| trace.side == "client").unwrap();
    assert!(!client.window.is_empty() && !client.rtt.is_empty());
    assert!(client.segments.len() as u64 > bytes / 1448);
    let mut csv = Vec::new();
    series.write_window_csv(&mut csv).unwrap();
    assert!(String::from_utf8(csv).unwrap().contains(",t,client,10.0.0.1→10.0.1.2,"));
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn captured(overrides: &[&str]) -> Vec<u8> {
    let out = Shared::default();
    let bulk = format!("{BULK}bytes = 400000\n");
    let mut simulation = Simulation::new(&scenario(&bulk, overrides), None).unwrap();
    simulation.capture(&[], Box::new(out.clone())).unwrap();
    simulation.run();
    simulation.finish().unwrap();
    std::mem::take(&mut *out.0.lock().unwrap())
}

#[test]
fn captured_segments_are_complete_with_valid_checksums() {
    use pcap_file::pcapng::{Block, PcapNgReader};
    let lost = "link.right.forward.loss={ packets = [60, 62, 64, 66, 68, 70, 72] }";
    let losses = [lost];
    let unlimited = [lost, "tcp-profile.p.sack_limit=\"unlimited\""];
    for (overrides, extended) in [(&losses[..], false), (&unlimited[..], true)] {
        let bytes = captured(overrides);
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let (mut segments, mut comments) = (0, 0);
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
            let sliced = etherparse::SlicedPacket::from_ip(&packet.data).unwrap();
            let Some(etherparse::TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
            let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4") };
            let ip = ip.header();
            let sum = tcp.calc_checksum_ipv4(ip.source(), ip.destination()).unwrap();
            assert_eq!(tcp.checksum(), sum);
            assert!(tcp.payload().iter().all(|&byte| byte == 0));
            segments += 1;
            comments += packet.options.len();
        }
        assert!(segments > 500);
        assert_eq!(comments > 0, extended, "omitted bytes are reported");
    }
}

/// Returns the error after replacing the first occurrence of `from` by `to`.
fn error(from: &str, to: &str) -> String {
    let good = format!("{BASE}{BULK}");
    assert!(good.contains(from), "{from} is not in the scenario");
    Scenario::from_toml(&good.replacen(from, to, 1), "tcp.toml", &[]).expect_err(to).to_string()
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    assert_eq!(
        error("recovery = \"sack\"", "recovrey = \"sack\""),
        "tcp.toml:27: tcp-profile.p.recovrey: unknown key; did you mean \"recovery\"?"
    );
    assert_eq!(
        error("recovery = \"sack\"", "recovery = \"tahoe\""),
        "tcp.toml:27: tcp-profile.p.recovery: \"tahoe\" is unknown; want one of reno, newreno, sack"
    );
    assert_eq!(
        error("recovery = \"sack\"", "ack_delay = \"500ms\""),
        "tcp.toml:27: tcp-profile.p.ack_delay: 500ms cannot be used: want less than 500ms (RFC 9293)"
    );
    assert_eq!(
        error("recovery = \"sack\"", "sack_limit = \"all\""),
        "tcp.toml:27: tcp-profile.p.sack_limit: \"all\" is unknown; want one of fits, unlimited"
    );
    assert_eq!(
        error("recovery = \"sack\"", "controller_options = { count_ack = true }"),
        "tcp.toml:27: tcp-profile.p.controller_options.count_ack: unknown key; did you mean \"count_acks\"?"
    );
    assert_eq!(
        error("profile = \"p\"", "profile = \"q\""),
        "tcp.toml:34: tcp.t.profile: there is no tcp-profile \"q\"; want one of p"
    );
    assert_eq!(
        error("client_address = \"10.0.0.1\"", "client_address = \"10.0.0.2\""),
        "tcp.toml:32: tcp.t.client_address: \"a\" does not have the address 10.0.0.2: want one of 10.0.0.1"
    );
    assert_eq!(
        error("server = \"b\"", "server = \"r\""),
        "tcp.toml:31: tcp.t.server: \"r\" is a router: want a host"
    );
    assert_eq!(
        error("tcp = \"t\"", "tcp = \"u\""),
        "tcp.toml:38: app.file.tcp: there is no tcp connection \"u\"; want one of t"
    );
    assert_eq!(
        error("tcp = \"t\"", "tcp = \"t\"\nmessage = 100"),
        "tcp.toml:39: app.file.message: unknown key; want one of name, type, start, stop, tcp, from, bytes"
    );
    let second = "[[app]]\nname = \"other\"\ntype = \"bulk\"\ntcp = \"t\"\nfrom = \"client\"\n[[app]]";
    assert_eq!(
        error("[[app]]", second),
        "tcp.toml:44: app.file.from: \"other\" is already the bulk of that end: want one of each at each end"
    );
}
