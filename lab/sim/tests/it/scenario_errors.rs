//! Invalid scenario files give one error each, with file, line, key and remedy.

use msctp_congestion::RenoConfig;
use msctp_sim::scenario::Scenario;

const GOOD: &str = r#"name = "small"
duration = "10s"

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
delay = "15ms"
queue = { packets = 50 }

[[link]]
name = "right"
a = "r"
b = "b"
address_b = "10.0.1.2"
rate = "11Mbps"
delay = "20ms"
loss = 0.01
mtu = 1500

[sctp.slow]
rto_min = "500ms"
pmtu = 1500

[[association]]
name = "x"
client = "a"
server = "b"
client_addresses = ["10.0.0.1"]
server_addresses = ["10.0.1.2"]
sctp = "slow"

[[app]]
name = "file"
type = "bulk"
association = "x"
from = "client"

[[app]]
name = "noise"
type = "cbr"
from = "10.0.0.1"
to = "10.0.1.2"
rate = "2Mbps"
packet = 1000

[[action]]
at = "5s"
do = "set-primary"
association = "x"
address = "10.0.1.2"
"#;

/// Returns the error after replacing the first occurrence of `from` by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    let text = GOOD.replacen(from, to, 1);
    Scenario::from_toml(&text, "small.toml", &[]).expect_err(to).to_string()
}

#[test]
fn the_base_scenario_is_valid() {
    let scenario = Scenario::from_toml(GOOD, "small.toml", &[]).expect("right");
    assert_eq!(scenario.links.len(), 2);
    assert_eq!(scenario.apps.len(), 2);
}

#[test]
fn unknown_keys_and_words_name_the_nearest_valid_one() {
    assert_eq!(
        error("rate = \"11Mbps\"", "rat = \"11Mbps\""),
        "small.toml:30: link.right.rat: unknown key; did you mean \"rate\"?"
    );
    assert_eq!(
        error("duration", "colour = \"red\"\nduration"),
        "small.toml:2: colour: unknown key; want one of name, description, duration, seed, node, link, sctp, \
         association, tcp-profile, \
         tcp, app, action, probes"
    );
    assert_eq!(
        error("rto_min", "rto_mim"),
        "small.toml:36: sctp.slow.rto_mim: unknown key; did you mean \"rto_min\"?"
    );
    assert_eq!(
        error("do = \"set-primary\"", "do = \"set-primry\""),
        "small.toml:63: action.0.do: \"set-primry\" is unknown; did you mean \"set-primary\"?"
    );
    assert_eq!(
        error("kind = \"router\"", "kind = \"switch\""),
        "small.toml:10: node.r.kind: \"switch\" is unknown; want one of host, router, home-agent, foreign-agent, \
         nat, firewall, captive-portal"
    );
    assert_eq!(
        error("rate = \"11Mbps\"", "type = \"plane\"\nrate = \"11Mbps\""),
        "small.toml:30: link.right.type: \"plane\" is unknown; did you mean \"plain\"?"
    );
    assert_eq!(
        error("type = \"cbr\"", "type = \"crb\""),
        "small.toml:55: app.noise.type: \"crb\" is unknown; did you mean \"cbr\"?"
    );
}

#[test]
fn a_controller_accepts_its_own_options_only() {
    let with = |text: &str| format!("pmtu = 1500\n{text}");
    let good = with("controller = \"reno\"\ncontroller_options = { count_acks = true, l = 2 }");
    let overrides = ["sctp.slow.controller_options.l=4".to_owned()];
    let scenario = Scenario::from_toml(
        &GOOD.replacen("pmtu = 1500\n\n", &format!("{good}\n\n"), 1),
        "small.toml",
        &overrides,
    )
    .expect("right");
    let expected = RenoConfig { count_acks: true, slow_start_limit: Some(4), ..RenoConfig::default() };
    assert_eq!(scenario.sctp[0].config.controller, expected.into());
    let bad = |text: &str| error("pmtu = 1500\n\n", &format!("{}\n\n", with(text)));
    assert_eq!(
        bad("controller_options = { beta = 0.5 }"),
        "small.toml:38: sctp.slow.controller_options.beta: unknown key; want one of l, hystart"
    );
    assert_eq!(
        bad("controller = \"reno\"\ncontroller_options = { l = -1 }"),
        "small.toml:39: sctp.slow.controller_options.l: -1 is out of range: want a whole number from 0 to 1000000"
    );
}

#[test]
fn a_message_has_one_limit_and_each_has_a_range() {
    let bad = |text: &str| error("type = \"bulk\"", &format!("type = \"bulk\"\n{text}"));
    assert_eq!(
        bad("lifetime = \"200ms\"\npriority = 1"),
        "small.toml:51: app.file.priority: a message has one limit: want lifetime or priority"
    );
    assert_eq!(
        bad("lifetime = \"0s\""),
        "small.toml:50: app.file.lifetime: a lifetime of 0s expires before the message is sent: want a longer one, such as \"200ms\""
    );
    assert_eq!(
        bad("max_retransmissions = 65536"),
        "small.toml:50: app.file.max_retransmissions: 65536 is out of range: want a whole number from 0 to 65535"
    );
    assert_eq!(
        bad("lifetme = \"1s\""),
        "small.toml:50: app.file.lifetme: unknown key; did you mean \"lifetime\"?"
    );
}

#[test]
fn invalid_values_name_the_allowed_ones() {
    assert_eq!(
        error("\"11Mbps\"", "\"-11Mbps\""),
        "small.toml:30: link.right.rate: \"-11Mbps\" is not a rate: want a number of at least 0 with a unit, such as \
         384kbps, 11Mbps, 1Gbps or 9600bps"
    );
    assert_eq!(
        error("\"11Mbps\"", "11"),
        "small.toml:30: link.right.rate: 11 is a whole number: want a string, such as \"11Mbps\""
    );
    assert_eq!(
        error("\"11Mbps\"", "\"0bps\""),
        "small.toml:30: link.right.rate: a link of 0bps carries nothing: want a higher rate, or up = false"
    );
    assert_eq!(
        error("\"20ms\"", "\"20\""),
        "small.toml:31: link.right.delay: \"20\" is not a time: want a number of at least 0 with a unit, such as 20ms, \
         1.5s, 200us, 30ns, 5min or 2h"
    );
    assert_eq!(
        error("loss = 0.01", "loss = 1.5"),
        "small.toml:32: link.right.loss: 1.5 is not a probability: want 0 to 1"
    );
    assert_eq!(
        error("loss = 0.01", "loss = { good_to_bad = 0.1, bad_to_good = -1 }"),
        "small.toml:32: link.right.loss.bad_to_good: -1 is not a probability: want 0 to 1"
    );
    assert_eq!(
        error("mtu = 1500", "mtu = 500"),
        "small.toml:33: link.right.mtu: 500 bytes: want 576 to 65535 bytes on an IPv4 link"
    );
    assert_eq!(
        error("pmtu = 1500", "pmtu = 100"),
        "small.toml:37: sctp.slow.pmtu: 100 cannot be used: want 512 to 65535 bytes"
    );
    assert_eq!(
        error("packet = 1000", "packet = 20"),
        "small.toml:59: app.noise.packet: 20 bytes have no room for the IP and UDP headers: want at least 28"
    );
    assert_eq!(
        error("\"10.0.0.1\"", "\"10.0.0.256\""),
        "small.toml:20: link.left.address_a: \"10.0.0.256\" is not an address: want IPv4 or IPv6, such as 10.0.2.1 or \
         fd00::1"
    );
    assert_eq!(
        error("queue = { packets = 50 }", "queue = { packets = 50, bytes = 10 }"),
        "small.toml:23: link.left.queue: want exactly one of packets and bytes, such as { packets = 50 } or { bytes = \
         75000 }"
    );
    assert_eq!(error("duration = \"10s\"\n", ""), "small.toml: duration: missing: want duration = \"60s\"");
    assert_eq!(
        error("delay = \"15ms\"\n", ""),
        "small.toml:16: link.left.delay: missing: want delay = \"20ms\""
    );
    // The rest of the message is the TOML parser's.
    assert!(error("duration = \"10s\"", "duration = 10s").starts_with("small.toml:2: not TOML: "));
}

#[test]
fn names_and_addresses_must_refer_to_something() {
    assert_eq!(
        error("a = \"r\"\nb = \"b\"", "a = \"r\"\nb = \"bb\""),
        "small.toml:28: link.right.b: there is no node \"bb\"; did you mean \"b\"?"
    );
    assert_eq!(
        error("server = \"b\"", "server = \"mobile\""),
        "small.toml:42: association.x.server: there is no node \"mobile\"; want one of a, b, r"
    );
    assert_eq!(
        error("server = \"b\"", "server = \"r\""),
        "small.toml:42: association.x.server: \"r\" is a router: want a host"
    );
    assert_eq!(
        error("association = \"x\"\nfrom", "association = \"y\"\nfrom"),
        "small.toml:50: app.file.association: there is no association \"y\"; want one of x"
    );
    assert_eq!(
        error("sctp = \"slow\"", "sctp = \"slo\""),
        "small.toml:45: association.x.sctp: there is no sctp profile \"slo\"; did you mean \"slow\"?"
    );
    assert_eq!(
        error("address = \"10.0.1.2\"", "address = \"10.0.9.9\""),
        "small.toml:65: action.0.address: 10.0.9.9 is unknown to association \"x\": want one of 10.0.0.1, 10.0.1.2, \
         or an action do = \"add-address\" for it"
    );
    assert_eq!(
        error("client_addresses = [\"10.0.0.1\"]", "client_addresses = [\"10.0.0.7\"]"),
        "small.toml:43: association.x.client_addresses: \"a\" does not have the address 10.0.0.7: want one of 10.0.0.1"
    );
    assert_eq!(
        error("to = \"10.0.1.2\"", "to = \"10.0.1.3\""),
        "small.toml:57: app.noise.to: no host has the address 10.0.1.3; did you mean \"10.0.1.2\"?"
    );
    assert_eq!(
        error("address_b = \"10.0.1.2\"\n", ""),
        "small.toml:25: link.right.address_b: missing: \"b\" is a host, want address_b = \"10.0.2.1\""
    );
    assert_eq!(
        error("address_b = \"10.0.1.2\"", "address_b = \"10.0.1.2\"\naddress_a = \"10.0.1.1\""),
        "small.toml:30: link.right.address_a: \"r\" is a router and has no addresses: want this key left out"
    );
}

#[test]
fn reports_of_a_link_must_be_valid() {
    let report = |keys: &str| {
        let action = format!("do = \"report-quality\"\nassociation = \"x\"\naddress = \"10.0.1.2\"\n{keys}");
        error("do = \"set-primary\"\nassociation = \"x\"\naddress = \"10.0.1.2\"\n", &action)
    };
    assert_eq!(
        report(""),
        "small.toml:61: action.0: reports nothing: want at least one of coding_scheme, rate, block_error_rate, \
         round_trip, one_way, cell"
    );
    assert_eq!(
        report("coding_scheme = \"CS5\""),
        "small.toml:66: action.0.coding_scheme: \"CS5\" is unknown; did you mean \"CS1\"?"
    );
    assert_eq!(
        report("rate = \"0bps\""),
        "small.toml:66: action.0.rate: out of range: want 1bps to 1000Gbps"
    );
    assert_eq!(
        report("round_trip = \"61s\""),
        "small.toml:66: action.0.round_trip: out of range: want 1us to 60s"
    );
    assert_eq!(report("block_error_rate = 15"), "small.toml:66: action.0.block_error_rate: 15: want 0 to 1");
    let unknown = report("code_scheme = \"CS1\"");
    assert_eq!(unknown, "small.toml:66: action.0.code_scheme: unknown key; did you mean \"coding_scheme\"?");
    let other = error("address = \"10.0.1.2\"\n", "address = \"10.0.1.2\"\nrate = \"9kbps\"\n");
    assert_eq!(other, "small.toml:66: action.0.rate: unknown key; did you mean \"name\"?");
    assert_eq!(
        error("pmtu = 1500\n\n", "pmtu = 1500\npolicy.qos_delay = \"radio\"\n\n"),
        "small.toml:38: sctp.slow.policy.qos_delay: \"radio\" is unknown; want one of path, link"
    );
}

#[test]
fn removed_keys_name_their_replacement() {
    assert_eq!(
        error("pmtu = 1500\n\n", "quality_growth = 50\n\n"),
        "small.toml:37: sctp.slow.quality_growth: removed: a report raises a window at most to what the path \
         carried since its last loss"
    );
    let reports = error("pmtu = 1500\n\n", "quality_reports = true\n\n");
    assert!(
        reports.contains("removed: set `handover_policy = \"qos-measurement\"` at both ends"),
        "{reports}"
    );
}

#[test]
fn radio_links_are_checked() {
    // The link "right" becomes a radio link.
    let plain = "rate = \"11Mbps\"\ndelay = \"20ms\"\nloss = 0.01\n";
    let egprs = |keys: &str| error(plain, &format!("type = \"egprs\"\n{keys}\n"));
    let lte = |keys: &str| error(plain, &format!("type = \"lte\"\n{keys}\n"));
    assert_eq!(
        egprs(""),
        "small.toml:25: link.right.scheme: missing: want scheme = \"CS4\", or coding = { … }"
    );
    assert_eq!(
        egprs("scheme = \"CS5\""),
        "small.toml:31: link.right.scheme: \"CS5\" is not a coding scheme: want CS1 to CS4 or MCS1 to MCS9"
    );
    assert_eq!(
        egprs("scheme = \"CS4\"\nbler = 10"),
        "small.toml:32: link.right.bler: 10 is not a probability: want 0 to 1"
    );
    assert_eq!(
        egprs("scheme = \"CS4\"\npdchs = 9"),
        "small.toml:32: link.right.pdchs: 9 is out of range: want a whole number from 1 to 8"
    );
    assert_eq!(
        egprs("scheme = \"CS4\"\nrate = \"1Mbps\""),
        "small.toml:32: link.right.rate: links of type egprs have no rate: scheme and pdchs, or coding, set it, or use type = \"plain\" or \"wlan\" or \"cellular\" or \"lte\""
    );
    assert_eq!(
        egprs("scheme = \"CS4\"\nrrbp = \"10ms\""),
        "small.toml:32: link.right.rrbp: 10000000 is not allowed: want at least 20000000 ns, one block period"
    );
    assert_eq!(lte(""), "small.toml:25: link.right.rate: missing: want rate = \"1Mbps\"");
    assert_eq!(
        lte("rate = \"16kbps\""),
        "small.toml:31: link.right.rate: 16kbps is 2 octets in a millisecond, of which 3 are header: want at least 32kbps"
    );
    assert_eq!(
        lte("rate = \"1Mbps\"\nbler = 0.9\nmean_burst = 2"),
        "small.toml:33: link.right.mean_burst: 2 is not allowed: want at least loss / (1 − loss) packets, or less loss"
    );
    assert_eq!(
        lte("rate = \"1Mbps\"\ncoding = { table = [] }"),
        "small.toml:32: link.right.coding: links of type lte have no coding: remove it, or use type = \"egprs\""
    );
}

#[test]
fn changing_conditions_are_checked() {
    let plain = "rate = \"11Mbps\"\ndelay = \"20ms\"\nloss = 0.01\n";
    let coding = |coding: &str| error(plain, &format!("type = \"egprs\"\ncoding = {{ {coding} }}\n"));
    let cs4 = "at = \"0s\", scheme = \"CS4\", bler = 0.01";
    assert!(coding("").starts_with("small.toml:31: link.right.coding: want exactly one of table = ["));
    assert_eq!(
        coding(&format!("table = [ {{ {cs4} }}, {{ scheme = \"CS3\", bler = 0.1 }} ]")),
        "small.toml:31: link.right.coding.table.1.at: missing: want at = \"200s\""
    );
    let late = cs4.replace("0s", "5s");
    assert_eq!(
        coding(&format!("table = [ {{ {late} }}, {{ {cs4} }} ]")),
        "small.toml:31: link.right.coding.table.1.at: entry 2 of the table is at 0.000000000 s, before the entry above it; want ascending times"
    );
    assert_eq!(
        coding(&format!("table = [ {{ {late} }} ]")),
        "small.toml:31: link.right.coding.table.0.at: the first entry sets the initial conditions: want at = \"0s\""
    );
    assert_eq!(
        error(
            plain,
            &format!("type = \"egprs\"\nscheme = \"CS4\"\ncoding = {{ table = [ {{ {cs4} }} ] }}\n")
        ),
        "small.toml:31: link.right.scheme: coding sets the initial conditions: remove this key"
    );
    let state =
        |scheme: &str, rest: &str| format!("{{ scheme = \"{scheme}\", bler = 0.1, mean = \"2s\", {rest} }}");
    let markov = |a: &str, b: &str| coding(&format!("markov = [ {a}, {b} ]"));
    let last = state("CS1", "");
    assert_eq!(
        markov(&state("CS2", "next = { CS2 = 0.5, CS1 = 0.6 }"), &last),
        "small.toml:31: link.right.coding.markov.0.next: the probabilities add up to 1.1: want 1"
    );
    assert_eq!(
        markov(&state("CS2", "next = { CS3 = 1 }"), &last),
        "small.toml:31: link.right.coding.markov.0.next.CS3: unknown key; did you mean \"CS2\"?"
    );
    assert_eq!(
        markov(&last, &last),
        "small.toml:31: link.right.coding.markov.1.scheme: CS1 has a state already: want one each"
    );
}

#[test]
fn actions_fit_the_links_type() {
    let action =
        |keys: &str| error("do = \"set-primary\"\nassociation = \"x\"\naddress = \"10.0.1.2\"\n", keys);
    assert_eq!(
        action("do = \"set-link\"\nlink = \"right\"\nscheme = \"CS1\"\n"),
        "small.toml:65: action.0.scheme: \"right\" is of type plain: only rate, delay, loss can be set"
    );
    assert_eq!(
        action("do = \"radio-handover\"\nlink = \"right\"\n"),
        "small.toml:64: action.0.link: \"right\" is of type plain and has no cells: want an egprs or lte link"
    );
    assert_eq!(
        action("do = \"radio-handover\"\nlink = \"right\"\ncarries = \"all\"\n"),
        "small.toml:65: action.0.carries: \"all\" is unknown; want one of everything, unsent, nothing"
    );
}

#[test]
fn duplicates_and_late_times_are_rejected() {
    assert_eq!(
        error("name = \"right\"", "name = \"left\""),
        "small.toml:25: link.left: two items have this name: want unique names"
    );
    assert_eq!(
        error("address_b = \"10.0.1.2\"", "address_b = \"10.0.0.1\""),
        "small.toml:29: link.right.address_b: 10.0.0.1 is already used by link.left.address_a: want addresses that \
         differ"
    );
    assert_eq!(
        error("at = \"5s\"", "at = \"11s\""),
        "small.toml:62: action.0.at: 11s is after the end: want at most the duration, 10s"
    );
    assert_eq!(
        error("at = \"5s\"\n", ""),
        "small.toml:61: action.0: want exactly one of at = \"20s\" and after = { event = \"established\", association \
         = \"…\" }"
    );
    assert_eq!(
        error("packet = 1000", "packet = 1000\nstart = \"4s\"\nstop = \"3s\""),
        "small.toml:61: app.noise.stop: 3s is not after the start, 4s: want a later time"
    );
}

#[test]
fn a_missing_route_names_the_node_without_it() {
    let second = "[[node]]\nname = \"r2\"\nkind = \"router\"\n\n[[link]]\nname = \"right\"\na = \"r2\"";
    assert_eq!(
        error("[[link]]\nname = \"right\"\na = \"r\"", second),
        "small.toml:48: association.x.server_addresses: there is no route from 10.0.0.1 to 10.0.1.2: \"r\" \
         has no next hop; want links between routers that connect them"
    );
}

#[test]
fn overrides_replace_values_and_are_named_in_errors() {
    let with = |pairs: &[&str]| {
        let pairs: Vec<String> = pairs.iter().map(|&p| p.to_owned()).collect();
        Scenario::from_toml(GOOD, "small.toml", &pairs).map_err(|e| e.to_string())
    };
    let scenario = with(&["duration=20s", "link.right.rate=5Mbps", "sctp.slow.rto_min=\"2s\"", "seed=9"]);
    // RTO.Min above RTO.Initial is rejected by the core's own check.
    assert_eq!(
        scenario.unwrap_err(),
        "small.toml:35: sctp.slow.rto_initial: 1s cannot be used: want between rto_min (2s) and rto_max (60s)"
    );
    let scenario = with(&["duration=20s", "link.right.rate=5Mbps", "seed=9", "action.0.at=19s"]).unwrap();
    assert_eq!(scenario.duration.to_string(), "20s");
    assert_eq!(scenario.links[1].forward.plain().unwrap().rate.to_string(), "5Mbps");
    assert_eq!(scenario.seed, 9);
    assert_eq!(
        with(&["link.rigth.rate=5Mbps"]).unwrap_err(),
        "override link.rigth.rate=5Mbps: there is no link \"rigth\"; did you mean \"right\"?"
    );
    assert_eq!(
        with(&["link.right.rate=fast"]).unwrap_err(),
        "small.toml: link.right.rate: \"fast\" is not a rate: want a number of at least 0 with a unit, such as 384kbps, \
         11Mbps, 1Gbps or 9600bps"
    );
    assert_eq!(
        with(&["duration"]).unwrap_err(),
        "override duration: want KEY=VALUE, such as duration=10s or link.wlan.rate=5Mbps"
    );
}

#[test]
fn a_key_of_another_link_type_names_the_types_that_have_it() {
    assert_eq!(
        error("loss = 0.01", "bler = 0.01"),
        "small.toml:32: link.right.bler: links of type plain have no bler: remove it, or use type = \"egprs\" or \"lte\""
    );
    assert_eq!(
        error("loss = 0.01", "type = \"trace\""),
        "small.toml:30: link.right.rate: links of type trace have no rate: trace and column set it, or use type = \"plain\" or \"wlan\" or \"cellular\" or \"lte\""
    );
}

#[test]
fn a_queue_that_is_a_number_names_the_allowed_forms() {
    assert_eq!(
        error("queue = { packets = 50 }", "queue = 50"),
        "small.toml:23: link.left.queue: 50 is not a queue limit: want { packets = 50 }, { bytes = 75000 } or the string \"unlimited\""
    );
}

#[test]
fn too_many_decimals_are_rejected() {
    assert_eq!(
        error("\"20ms\"", "\"15.649999999999999ms\""),
        "small.toml:31: link.right.delay: \"15.649999999999999ms\" is more precise than 1 ns: want at most 3 decimals of \
         us, 6 of ms, 9 of s"
    );
}

#[test]
fn an_override_of_a_profile_that_nothing_uses_names_those_in_use() {
    let error =
        |pair: &str| Scenario::from_toml(GOOD, "small.toml", &[pair.to_owned()]).expect_err(pair).to_string();
    assert_eq!(
        error("sctp.default.pmtu=1400"),
        "override sctp.default.pmtu=1400: there is no sctp profile \"default\"; want one of slow"
    );
    assert_eq!(
        error("tcp-profile.default.timestamps=true"),
        "override tcp-profile.default.timestamps=true: there is no tcp-profile \"default\"; there are none"
    );
    assert_eq!(
        error("sctp.slwo.x=1"),
        "override sctp.slwo.x=1: there is no sctp profile \"slwo\"; did you mean \"slow\"?"
    );
    let spare = GOOD.to_owned() + "\n[sctp.spare]\npmtu = 1400\n";
    let changes_nothing = Scenario::from_toml(&spare, "small.toml", &["sctp.spare.pmtu=1300".to_owned()]);
    assert_eq!(
        changes_nothing.expect_err("not used").to_string(),
        "override sctp.spare.pmtu=1300: changes nothing: no association uses the profile \"spare\"; want one of slow"
    );
    assert_eq!(
        error("tcp.bulk.profile=default"),
        "small.toml: tcp.bulk: there is no tcp \"bulk\": the file has no [[tcp]]"
    );
    assert_eq!(error("action.9.at=2s"), "override action.9.at=2s: there is no action \"9\"; want one of 0");
    Scenario::from_toml(GOOD, "small.toml", &["sctp.slow.pmtu=1400".to_owned()]).expect("in use");
}

#[test]
fn unused_declarations_are_listed() {
    let unused = |more: &str| {
        let text = GOOD.to_owned() + more;
        Scenario::from_toml(&text, "small.toml", &[]).unwrap_or_else(|e| panic!("{e}")).unused()
    };
    assert_eq!(unused(""), [""; 0]);
    assert_eq!(
        unused("[tcp-profile.spare]\ntimestamps = true\n"),
        ["tcp-profile.spare is not used: no TCP connection names it"]
    );
    let second = "[[link]]\nname = \"spare\"\na = \"a\"\nb = \"r\"\naddress_a = \"10.0.2.1\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
    assert_eq!(unused(second), ["link.spare is not used: no traffic is routed over it"]);
    let added =
        "[[action]]\nat = \"6s\"\ndo = \"add-address\"\nassociation = \"x\"\naddress = \"10.0.2.1\"\n";
    assert_eq!(unused(&format!("{second}{added}")), [""; 0], "an address that is added is used");
}

#[test]
fn a_series_with_too_many_intervals_is_refused() {
    let error = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        Scenario::from_toml(GOOD, "small.toml", &set).expect_err("too many").to_string()
    };
    for key in ["probes.throughput", "probes.queues"] {
        let text = error(&["duration=2000h", &format!("{key}=100ms")]);
        assert!(text.contains(key) && text.contains("needs 72000000 intervals"), "{text}");
        assert!(text.ends_with("are allowed: use at least 720ms"), "{text}");
        let fits = ["duration=2000h".to_owned(), format!("{key}=720ms")];
        Scenario::from_toml(GOOD, "small.toml", &fits).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_yardstick_needs_the_truth() {
    for policy in ["oracle", "clairvoyant"] {
        let said = error("rto_min", &format!("handover_policy = \"{policy}\"\nrto_min"));
        let want = format!(
            "sctp.slow.policy.truth: missing: the policy \"{policy}\" starts a path at its true rate: "
        );
        assert!(said.contains(&want) && said.contains("available = \"4400kbps\""), "{said}");
    }
}

#[test]
fn an_error_in_a_named_table_has_its_line_and_name() {
    let named = "[[action]]\nat = \"1s\"\ndo = \"link-down\"\nlink = \"right\"\n\n[[action]]\nname = \"move\"\nat = \"11s\"";
    let said = error("[[action]]\nat = \"5s\"", named);
    let line = 1 + GOOD
        .replacen("[[action]]\nat = \"5s\"", named, 1)
        .lines()
        .position(|l| l == "at = \"11s\"")
        .unwrap();
    assert!(said.starts_with(&format!("small.toml:{line}: action.move.at: 11s is after the end")), "{said}");
}

#[test]
fn an_association_that_could_send_nothing_is_rejected() {
    for (from, to, want) in [
        (
            "[\"10.0.0.1\"]",
            "[\"10.0.0.1\", \"10.0.0.1\"]",
            "association.x.client_addresses: 10.0.0.1 is listed twice: want each address once",
        ),
        (
            "pmtu = 1500",
            "pmtu = 9000",
            "association.x.sctp: packets of pmtu = 9000 bytes exceed the mtu of link",
        ),
        (
            "from = \"client\"",
            "from = \"client\"\nstream = 10",
            "app.file.stream: 10: the association has 10 streams: want 0 to 9",
        ),
        (
            "from = \"client\"",
            "from = \"client\"\nmessage = 3000000",
            "app.file.message: 3000000 bytes do not fit the send buffer of 2097152: want at most 2097152",
        ),
        (
            "\"15ms\"",
            "\"1000000h\"",
            "link.left.delay: at a delay of 3600000000s no packet arrives within the duration, 10s",
        ),
    ] {
        let said = error(from, to);
        assert!(said.contains(&format!(": {want}")), "{said}");
    }
    let one = GOOD.replacen("sctp = \"slow\"", "client_sctp = \"slow\"", 1);
    let one = one.replacen("pmtu = 1500", "protection = \"psk\"", 1);
    let said = Scenario::from_toml(&one, "small.toml", &[]).expect_err("one end").to_string();
    let want = "association.x.server_sctp: the default has protection = \"off\", and the other end \"psk\": want the same";
    assert!(said.contains(want), "{said}");
}
