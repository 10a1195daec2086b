//! `msctp doctor HOST` tells what is in the way on each interface.

use std::fs;

use serde_json::Value;

use super::net::{self, Host, Net, SERVER};
use super::{folder, serve};
use crate::process::{self, Server, finish, stderr};

/// Long enough for what works on a busy machine; a probe without an answer takes as long.
const PATIENCE: [&str; 2] = ["--timeout", "6"];

/// Both networks, up.
fn networks() -> Net {
    let net = Net::new();
    for name in ["wlan0", "cell0"] {
        net.carrier(name, true);
        net::wait_for_carrier(&net.mobile, name);
    }
    // The relay over TCP uses it.
    net.mobile.run("ip link set lo up");
    // Others inherit it from the machine.
    net.mobile.run("sysctl -qw net.ipv4.conf.all.rp_filter=0");
    net
}

/// Makes a host drop packets like this, in `input` or `output`.
fn drop_packets(host: &Host, hook: &str, rule: &str) {
    host.run("nft add table ip t");
    host.run(&format!("nft add chain ip t c {{ type filter hook {hook} priority 0 ; }}"));
    host.run(&format!("nft add rule ip t c {rule} drop"));
}

fn server(net: &Net, options: &[&str]) -> Server {
    serve(&net.server, &[&["serve", "--keep", "--bind", SERVER], options].concat())
}

/// The checks of a `msctp doctor --json` and its exit code.
struct Checks(Vec<Value>, Option<i32>);

impl Checks {
    fn of(mut command: std::process::Command) -> Self {
        let output = finish(command.spawn().expect("it runs"));
        let checks = serde_json::from_slice(&output.stdout);
        Self(checks.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))), output.status.code())
    }

    fn on(host: &Host, args: &[&str]) -> Self {
        Self::of(host.msctp(&[&["doctor", "--json"], args].concat()))
    }

    /// Returns the check with this name, and checks its state.
    fn is(&self, name: &str, state: &str) -> &Value {
        let check = self.0.iter().find(|check| check["check"] == name);
        let check = check.unwrap_or_else(|| panic!("{name}: no such check in {:#?}", self.0));
        assert_eq!(check["state"], state, "{check:#}");
        check
    }

    /// Returns the sentence of a check, and checks its state.
    fn says(&self, name: &str, state: &str) -> &str {
        self.is(name, state)["what"].as_str().expect("a string")
    }
}

#[test]
fn the_doctor_names_the_one_network_that_drops_udp() {
    if net::missing_or_filter().is_some() {
        return;
    }
    let net = networks();
    drop_packets(&net.server, "input", "iifname cell0 meta l4proto udp");
    let mut server = server(&net, &["--tcp", "10.9.0.1:9899"]);
    let checks = Checks::on(&net.mobile, &[&[SERVER][..], &PATIENCE].concat());
    assert_eq!(checks.1, Some(0));
    let wlan = checks.is("wlan0, IPv4", "ok");
    assert!(wlan["udp"] == "answers" && wlan["round_trip_ms"].as_f64() > Some(0.0), "{wlan:#}");
    assert!(wlan["address"] == SERVER && wlan["family"] == "IPv4" && wlan["why"].is_null(), "{wlan:#}");
    let cell = checks.is("cell0, IPv4", "note");
    assert!(cell["udp"] == "silent" && cell["tcp"] == "answers" && cell["interface"] == "cell0", "{cell:#}");
    assert_eq!(
        cell["what"],
        "no answer over UDP from 10.9.0.1, which answers over TCP: a firewall on the way drops UDP; the commands \
         use TCP if the server has --tcp"
    );
    assert!(checks.says("server", "ok").starts_with("10.9.0.1 answers over UDP: connected in "));
    // The server keeps no trace of the probes.
    server.end_input();
    process::signal(&server.child, "TERM");
    let (_, _, errors) = server.output();
    assert!(!errors.contains("rejected"), "{errors}");
    // --only names the networks to probe.
    let one = Checks::on(&net.mobile, &[SERVER, "--only", "wlan0", "--timeout", "1"]);
    assert!(!one.0.iter().any(|check| check["interface"] == "cell0"), "{:#?}", one.0);
}

#[test]
fn the_doctor_says_that_a_server_answers_over_tcp_alone() {
    if net::missing_or_filter().is_some() {
        return;
    }
    let net = networks();
    // Over loopback the server relays what came over TCP.
    drop_packets(&net.server, "input", "iifname != lo meta l4proto udp");
    let _server = server(&net, &["--tcp", "10.9.0.1:9899"]);
    // TCP is tried after a third of the time.
    let output = finish(net.mobile.msctp(&["doctor", SERVER, "--timeout", "6"]).spawn().expect("it runs"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in [
        "note    wlan0, IPv4: no answer over UDP from 10.9.0.1, which answers over TCP: ",
        "note    cell0, IPv4: no answer over UDP from 10.9.0.1, which answers over TCP: ",
        "ok      server: 10.9.0.1 answers over TCP, not over UDP: connected in ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// A closed port, a card without a route and this host's own firewall: none needs an answer to be recognized.
#[test]
fn the_doctor_names_a_closed_port_a_missing_route_and_the_own_firewall() {
    if net::missing_or_filter().is_some() {
        return;
    }
    let net = networks();
    net.mobile.run("ip link add eth0 type veth peer name nowhere");
    net.mobile.run("ip address add 10.0.0.5/24 dev eth0");
    for name in ["nowhere", "eth0"] {
        net.mobile.run(&format!("ip link set {name} up"));
    }
    let checks = Checks::on(&net.mobile, &[&[SERVER][..], &PATIENCE].concat());
    assert_eq!(checks.1, Some(1));
    assert_eq!(checks.says("eth0, IPv4", "note"), "no route to 10.9.0.1");
    assert_eq!(checks.is("eth0, IPv4", "note")["udp"], "no-route");
    assert_eq!(checks.is("wlan0, IPv4", "failed")["udp"], "closed");
    let said = checks.says("cell0, IPv4", "failed");
    assert!(said.starts_with("nobody listens at UDP port 9899 of 10.9.0.1: "), "{said}");
    drop_packets(&net.mobile, "output", "udp dport 9899");
    let checks = Checks::on(&net.mobile, &[SERVER, "--timeout", "1"]);
    assert_eq!(checks.is("wlan0, IPv4", "failed")["udp"], "forbidden");
    let said = checks.says("cell0, IPv4", "failed");
    assert!(said.starts_with("this host's firewall forbids UDP to 10.9.0.1: let its output"), "{said}");
    assert_eq!(checks.says("eth0, IPv4", "note"), "no route to 10.9.0.1");
}

#[test]
fn the_doctor_tells_the_dead_address_of_a_name_from_the_other() {
    if net::missing().is_some() {
        return;
    }
    let (net, hosts) = (networks(), folder("moves-doctor").join("hosts"));
    net.mobile.run("ip -6 address add fd01::2/64 dev wlan0 nodad");
    net.server.run("ip -6 address add fd01::1/64 dev wlan0 nodad");
    net.mobile.run("ip -6 route add fd09::/16 via fd01::1 dev wlan0");
    fs::write(&hosts, format!("fd09::9 server.test\n{SERVER} server.test\n")).expect("written");
    let _server = server(&net, &[]);
    let hosts = hosts.to_str().expect("UTF-8");
    let renamed = ["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\"", hosts];
    let mobile = net.mobile.id().to_string();
    let before = [&["nsenter", "--net", "--target", &mobile][..], &renamed].concat();
    let doctor = ["doctor", "--json", "server.test", PATIENCE[0], PATIENCE[1]];
    let checks = Checks::of(process::by(&before, &process::msctp(&doctor)));
    assert_eq!(checks.1, Some(0), "{:#?}", checks.0);
    assert_eq!(checks.is("wlan0, IPv4", "ok")["address"], SERVER);
    assert_eq!(checks.is("cell0, IPv4", "ok")["udp"], "answers");
    let dead = checks.is("wlan0, IPv6", "note");
    assert!(dead["address"] == "fd09::9" && dead["udp"] == "unreachable", "{dead:#}");
    assert_eq!(dead["what"], "fd09::9 is unreachable, as fd01::1 reports");
    assert_eq!(checks.says("cell0, IPv6", "note"), "this host has no IPv6 address there");
}

#[test]
fn the_doctor_names_a_strict_reverse_path_filter() {
    if net::missing().is_some() {
        return;
    }
    let net = networks();
    net.mobile.run("sysctl -qw net.ipv4.conf.cell0.rp_filter=1 net.ipv4.conf.wlan0.rp_filter=1");
    let _server = server(&net, &[]);
    let checks = Checks::on(&net.mobile, &[&[SERVER][..], &PATIENCE].concat());
    assert_eq!(checks.1, Some(0), "{:#?}", checks.0);
    assert_eq!(checks.is("wlan0, IPv4", "ok")["udp"], "answers");
    let said = checks.says("cell0, IPv4", "note");
    assert!(said.contains("strict reverse-path filter") && said.contains("leads over wlan0"), "{said}");
    assert!(said.ends_with("set net.ipv4.conf.cell0.rp_filter to 2"), "{said}");
    // The remedy is one.
    net.mobile.run("sysctl -qw net.ipv4.conf.cell0.rp_filter=2");
    Checks::on(&net.mobile, &[&[SERVER][..], &PATIENCE].concat()).is("cell0, IPv4", "ok");
}
