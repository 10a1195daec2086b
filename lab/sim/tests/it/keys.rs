//! The table of scenario keys agrees with the readers: each example and each default is read, a default
//! changes nothing, an example changes something, and the documents are up to date.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use msctp_sim::scenario::Scenario;
use msctp_sim::scenario::keys::{Default, Key, Kind, Table, explain, markdown, schema, tables};

/// A scenario with one item of each kind and only required keys.
const BASE: &str = r#"
    duration = "60s"

    [[node]]
    name = "mobile"
    kind = "host"
    waypoints = [{ at = "1s", to = [1, 1], speed = 1 }]
    follows = {}
    [[node]]
    name = "server"
    kind = "host"
    [[node]]
    name = "r"
    kind = "router"
    [[node]]
    name = "home"
    kind = "nat"
    nat = { outside = "dsl" }
    [[node]]
    name = "wall"
    kind = "firewall"
    firewall = { outside = "wall-dsl" }
    [[node]]
    name = "cafe"
    kind = "captive-portal"
    portal = { outside = "cafe-dsl" }
    [[node]]
    name = "ha"
    kind = "home-agent"
    agent = {}
    [[node]]
    name = "walker"
    kind = "host"
    mobile = { home_agent = "ha" }

    [[link]]
    name = "plain"
    a = "server"
    b = "r"
    address_a = "10.0.0.1"
    rate = "1Mbps"
    delay = "1ms"
    [[link]]
    name = "second"
    a = "r"
    b = "mobile"
    address_b = "10.0.1.2"
    rate = "1Mbps"
    delay = "1ms"
    loss = { share = 0.01, mean_burst = 2 }
    [[link]]
    name = "channel"
    a = "r"
    b = "mobile"
    address_b = "10.0.8.2"
    rate = "1Mbps"
    delay = "1ms"
    loss = { good_to_bad = 0.02, bad_to_good = 0.1 }
    mark = { bytes = 1000 }
    queue = { packets = 10 }
    discipline = "codel"
    reorder = { share = 0.02, by = "1ms" }
    [[link]]
    name = "wlan"
    type = "wlan"
    a = "r"
    b = "mobile"
    address_b = "10.0.2.2"
    rate = "5Mbps"
    radio = { coverage = 100 }
    fading = { slope = 5 }
    [[link]]
    name = "bare"
    type = "wlan"
    a = "r"
    b = "mobile"
    address_b = "10.0.6.2"
    rate = "5Mbps"
    radio = { coverage = 100 }
    fading = { slope = 5, shortest = "1ms", longest = "1s", shape = 1.2 }
    [[link]]
    name = "quiet"
    type = "wlan"
    a = "r"
    b = "mobile"
    address_b = "10.0.10.2"
    rate = "5Mbps"
    radio = { sensitivity = -70 }
    [[link]]
    name = "cellular"
    type = "cellular"
    a = "r"
    b = "mobile"
    address_b = "10.0.12.2"
    rate = "5Mbps"
    [[link]]
    name = "signal"
    type = "cellular"
    a = "r"
    b = "mobile"
    address_b = "10.0.13.2"
    radio = { coverage = 100 }
    bandwidth = 5
    [[link]]
    name = "egprs"
    type = "egprs"
    a = "r"
    b = "mobile"
    address_b = "10.0.3.2"
    scheme = "CS2"
    [[link]]
    name = "coding"
    type = "egprs"
    a = "r"
    b = "mobile"
    address_b = "10.0.4.2"
    coding = { table = [{ at = "0s", scheme = "CS4", bler = 0.01 }, { at = "9s", scheme = "CS4", bler = 0.01 }] }
    [[link]]
    name = "markov"
    type = "egprs"
    a = "r"
    b = "mobile"
    address_b = "10.0.9.2"
    coding = { markov = [{ scheme = "CS4", bler = 0.01, mean = "9s", next = { CS2 = 1 } }, { scheme = "CS2", bler = 0.1, mean = "9s" }] }
    [[link]]
    name = "lte"
    type = "lte"
    a = "r"
    b = "mobile"
    address_b = "10.0.5.2"
    rate = "1Mbps"
    [[link]]
    name = "trace"
    type = "trace"
    a = "r"
    b = "mobile"
    address_b = "10.0.7.2"
    trace = "old"
    delay = "1ms"
    [[link]]
    name = "rates"
    type = "trace"
    a = "r"
    b = "mobile"
    address_b = "10.0.11.2"
    trace = "rates"
    column = "lte"
    delay = "1ms"
    [[link]]
    name = "dsl"
    a = "r"
    b = "home"
    address_b = "192.0.2.1"
    rate = "1Mbps"
    delay = "1ms"
    [[link]]
    name = "wall-dsl"
    a = "r"
    b = "wall"
    rate = "1Mbps"
    delay = "1ms"
    [[link]]
    name = "cafe-dsl"
    a = "r"
    b = "cafe"
    rate = "1Mbps"
    delay = "1ms"
    [[link]]
    name = "ha-wire"
    a = "r"
    b = "ha"
    address_b = "10.1.0.1"
    rate = "1Mbps"
    delay = "1ms"
    [[link]]
    name = "ha-air"
    a = "ha"
    b = "walker"
    address_b = "10.1.0.2"
    rate = "1Mbps"
    delay = "1ms"

    [sctp.x]
    [sctp.y]
    frto = true
    [sctp.rule]
    handover_policy = "adaptive"
    [sctp.rule.policy]
    wbest = {}
    [[sctp.rule.policy.probe_rule]]
    address = "10.9.9.9"
    [[sctp.rule.policy.truth]]
    address = "10.9.9.9"
    available = "1Mbps"
    rtt = "1ms"
    [sctp.packets]
    handover_policy = "conservative"
    initial_window = { packets = 3 }
    [sctp.bytes]
    initial_window = { bytes = 3000 }

    [[association]]
    name = "download"
    client = "mobile"
    server = "server"
    client_addresses = ["10.0.1.2", "10.0.2.2"]
    server_addresses = "10.0.0.1"
    [[association]]
    name = "x"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.1.2"
    server_addresses = "10.0.0.1"
    server_port = 6001
    sctp = "x"
    [[association]]
    name = "y"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.1.2"
    server_addresses = "10.0.0.1"
    server_port = 6002
    sctp = "y"
    [[association]]
    name = "rule"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.1.2"
    server_addresses = "10.0.0.1"
    server_port = 6003
    sctp = "rule"
    [[association]]
    name = "packets"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.1.2"
    server_addresses = "10.0.0.1"
    server_port = 6004
    sctp = "packets"
    [[association]]
    name = "bytes"
    client = "mobile"
    server = "server"
    client_addresses = "10.0.1.2"
    server_addresses = "10.0.0.1"
    server_port = 6005
    sctp = "bytes"

    [tcp-profile.x]
    [tcp-profile.y]
    frto = true

    [[tcp]]
    name = "page"
    client = "mobile"
    server = "server"
    client_address = "10.0.1.2"
    server_address = "10.0.0.1"
    [[tcp]]
    name = "x-tcp"
    client = "mobile"
    server = "server"
    client_address = "10.0.1.2"
    server_address = "10.0.0.1"
    server_port = 91
    profile = "x"
    [[tcp]]
    name = "y-tcp"
    client = "mobile"
    server = "server"
    client_address = "10.0.1.2"
    server_address = "10.0.0.1"
    server_port = 92
    profile = "y"

    [[app]]
    name = "bulk"
    type = "bulk"
    association = "download"
    from = "client"
    [[app]]
    name = "file"
    type = "bulk"
    association = "download"
    from = "client"
    bytes = 10
    [[app]]
    name = "reader"
    type = "reader"
    association = "download"
    at = "server"
    rate = "2Mbps"
    [[app]]
    name = "video"
    type = "video"
    association = "download"
    from = "client"
    size = 100
    interval = "20ms"
    [[app]]
    name = "film"
    type = "video"
    association = "download"
    from = "client"
    trace = "frames"
    interval = "20ms"
    [[app]]
    name = "cbr"
    type = "cbr"
    from = "10.0.1.2"
    to = "10.0.0.1"
    rate = "1Mbps"
    [[app]]
    name = "tcp-bulk"
    type = "bulk"
    tcp = "page"
    from = "client"
    [[app]]
    name = "tcp-reader"
    type = "reader"
    tcp = "page"
    at = "server"
    rate = "2Mbps"
"#;

fn open(name: &str) -> Result<String, String> {
    match name {
        "old" => Ok("1\n2\n3\n".to_owned()),
        "traces/lte.trace" => Ok("1\n5\n9\n".to_owned()),
        "rates" => Ok("time,wifi,lte,wifi_dbm\n0,1,2,-50\n1,3,4,-60\n2,0,0,-70\n".to_owned()),
        "frames" => Ok("700\n".to_owned()),
        "frames.txt" => Ok("900\n800\n".to_owned()),
        _ => Err(format!("{name} is not there")),
    }
}

fn read(more: &str, overrides: &[String]) -> Result<String, String> {
    let text = format!("{BASE}\n{more}");
    let read = Scenario::from_toml_and_files(&text, "base.toml", overrides, &open);
    read.map(|scenario| format!("{scenario:?}")).map_err(|e| e.to_string())
}

/// Returns the items of the base that have the keys of a table.
fn places(table: &Table) -> Vec<&'static str> {
    match table.path {
        "" => vec![""],
        "probes" => vec!["probes."],
        "node" => vec!["node.r.", "node.ha.", "node.mobile.", "node.home.", "node.wall.", "node.cafe."],
        "node.waypoints" => vec!["node.mobile.waypoints.0."],
        "node.agent" => vec!["node.ha.agent."],
        "node.mobile" => vec!["node.walker.mobile."],
        "node.follows" => vec!["node.mobile.follows."],
        "node.nat" => vec!["node.home.nat."],
        "node.firewall" => vec!["node.wall.firewall."],
        "node.portal" => vec!["node.cafe.portal."],
        "link" => vec!["link.second.", "link.plain."],
        "link.queue" => vec!["link.channel.queue.", "link.channel.mark."],
        "link.loss" => vec!["link.second.loss.", "link.channel.loss."],
        "link[type=plain]" => vec!["link.plain.", "link.channel."],
        "link.reorder" => vec!["link.channel.reorder."],
        "link[type=wlan]" => vec!["link.wlan.", "link.quiet."],
        "link.radio" => vec!["link.wlan.radio.", "link.quiet.radio."],
        "link.fading" => vec!["link.wlan.fading.", "link.bare.fading."],
        "link[type=cellular]" => vec!["link.cellular.", "link.signal."],
        "link[type=egprs]" => vec!["link.egprs.", "link.coding."],
        "link.coding" => vec!["link.coding.coding.", "link.markov.coding."],
        "link.coding.table" => vec!["link.coding.coding.table.1."],
        "link.coding.markov" => vec!["link.markov.coding.markov.0.", "link.markov.coding.markov.1."],
        "link[type=lte]" => vec!["link.lte."],
        "link[type=trace]" => vec!["link.trace.", "link.rates."],
        "sctp.NAME" => vec!["sctp.x.", "sctp.y.", "sctp.packets."],
        "sctp.NAME.initial_window" => vec!["sctp.packets.initial_window.", "sctp.bytes.initial_window."],
        "sctp.NAME.policy" => vec!["sctp.rule.policy."],
        "sctp.NAME.policy.wbest" => vec!["sctp.rule.policy.wbest."],
        "sctp.NAME.policy.probe_rule" => vec!["sctp.rule.policy.probe_rule.0."],
        "sctp.NAME.policy.truth" => vec!["sctp.rule.policy.truth.0."],
        "association" => vec!["association.download."],
        "tcp" => vec!["tcp.page."],
        "tcp-profile.NAME" => vec!["tcp-profile.x.", "tcp-profile.y."],
        "app" => vec!["app.bulk."],
        "app[type=bulk]" => vec!["app.bulk."],
        "app[type=bulk, video]" => vec!["app.bulk."],
        "app[type=reader]" => vec!["app.reader."],
        "app[type=video]" => vec!["app.video.", "app.film."],
        "app[type=cbr]" => vec!["app.cbr."],
        "app[type=bulk, tcp]" => vec!["app.tcp-bulk."],
        "app[type=reader, tcp]" => vec!["app.tcp-reader."],
        path if path.starts_with("action") => Vec::new(),
        path => panic!("{path} is in no place of the base: add it"),
    }
}

/// Returns whether a key's example cannot be put into the base, because it names other items or is a whole
/// list.
fn is_apart(table: &Table, key: &Key) -> bool {
    let list = matches!(key.kind, Kind::Tables(_) | Kind::Named(_)) && table.path.is_empty();
    let other = table.path == "node" && ["mobile", "firewall", "portal"].contains(&key.name);
    list || other
        || key.name == "name" && !table.path.is_empty()
        || table.path == "link" && key.name.starts_with("address_")
        || matches!(key.kind, Kind::Name(_))
}

/// Returns the results of setting a key at every place of its table.
fn set(table: &Table, key: &str, value: &str) -> Vec<Result<String, String>> {
    places(table).iter().map(|place| read("", &[format!("{place}{key}={value}")])).collect()
}

#[test]
fn every_example_is_read_and_changes_something() {
    let base = read("", &[]).expect("the base");
    let mut wrong = String::new();
    for table in tables().into_iter().filter(|table| !table.path.starts_with("action")) {
        for key in table.keys.iter().filter(|key| !is_apart(table, key)) {
            let results = set(table, key.name, key.example);
            let inner = matches!(key.kind, Kind::Table(_) | Kind::Tables(_) | Kind::Options);
            if !results.iter().any(Result::is_ok) {
                writeln!(wrong, "{} {} = {}: {results:?}", table.path, key.name, key.example)
                    .expect("a string");
            } else if key.default != Default::Required
                && key.default != Default::Is(key.example)
                && !inner
                && results.iter().flatten().all(|read| *read == base)
            {
                writeln!(wrong, "{} {} = {} changes nothing", table.path, key.name, key.example)
                    .expect("a string");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_default_is_the_readers() {
    let base = read("", &[]).expect("the base");
    let mut wrong = String::new();
    for table in tables().into_iter().filter(|table| !table.path.starts_with("action")) {
        for key in table.keys.iter().filter(|key| !is_apart(table, key)) {
            let Default::Is(value) = key.default else { continue };
            let results = set(table, key.name, value);
            if results.iter().flatten().all(|read| *read != base) {
                let errors: Vec<_> = results.iter().filter_map(|read| read.as_ref().err()).collect();
                writeln!(wrong, "{} {} = {value}: {errors:?}", table.path, key.name).expect("a string");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_word_is_known_to_the_readers() {
    let mut wrong = String::new();
    for table in tables().into_iter().filter(|table| !table.path.starts_with("action")) {
        for key in table.keys.iter().filter(|key| !is_apart(table, key)) {
            let words = match key.kind {
                Kind::Words(words) => words.to_vec(),
                Kind::Names(names) => names(),
                _ => continue,
            };
            for word in words {
                let results = set(table, key.name, &format!("\"{word}\""));
                if results.iter().flat_map(|read| read.as_ref().err()).any(|e| e.contains("is unknown")) {
                    writeln!(wrong, "{} {} = {word}: {results:?}", table.path, key.name).expect("a string");
                }
            }
            let unknown = set(table, key.name, "\"no-such-word\"");
            assert!(unknown.iter().all(Result::is_err), "{} {}", table.path, key.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the words of a table's condition, such as `do=link-up, link-down`.
fn words(table: &Table) -> Vec<&'static str> {
    let (_, condition) = table.path.split_once('=').expect("a condition");
    condition.trim_end_matches(']').split(", ").collect()
}

/// Returns whether the keys are accepted with one of these links, and the portal or the NAT.
fn accepted(before: &str, keys: &[&Key], after: &str, separator: &str) -> Result<String, String> {
    let mut last = Err("nothing was tried".to_owned());
    for (link, node) in [("wlan", "home"), ("plain", "cafe"), ("egprs", "home"), ("lte", "home")] {
        let value = |key: &Key| match key.name {
            "link" => format!("\"{link}\""),
            "node" => format!("\"{node}\""),
            _ => key.example.to_owned(),
        };
        let written: Vec<String> = keys.iter().map(|key| format!("{} = {}", key.name, value(key))).collect();
        last = read(&format!("{before}{}{after}", written.join(separator)), &[]);
        if last.is_ok() {
            break;
        }
    }
    last
}

#[test]
fn every_action_and_event_is_read_with_each_of_its_keys() {
    let mut wrong = String::new();
    let mut seen = 0;
    for table in
        tables().into_iter().filter(|table| table.path.starts_with("action") && table.path.contains('['))
    {
        for word in words(table) {
            seen += 1;
            let event = table.path.starts_with("action.after");
            let required: Vec<&Key> =
                table.keys.iter().filter(|key| key.default == Default::Required).collect();
            let rest = table.keys.iter().filter(|key| key.default != Default::Required);
            for key in rest.map(Some).chain([None]) {
                let keys = [&required[..], &Vec::from_iter(key)].concat();
                let result = if event {
                    let before = format!(
                        "[[action]]\ndo = \"link-up\"\nlink = \"wlan\"\nafter = {{ event = \"{word}\", "
                    );
                    accepted(&before, &keys, " }\n", ", ")
                } else {
                    accepted(&format!("[[action]]\nat = \"1s\"\ndo = \"{word}\"\n"), &keys, "\n", "\n")
                };
                // These need one of their keys.
                let alone = key.is_none_or(|key| key.name == "direction")
                    && ["set-link", "report-quality"].contains(&word);
                match result {
                    Err(error) if !alone => {
                        writeln!(wrong, "{word} {:?}: {error}", key.map(|key| key.name)).expect("a string");
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(seen, 18 + 11, "each action and each event");
}

#[test]
fn a_key_is_explained_by_its_path_with_or_without_a_name() {
    let lte = explain("link.lte.rate").expect("a key");
    assert_eq!(lte, explain("link.rate").expect("the same"));
    assert!(lte.contains("link.rate (type=lte)\n  Rate that the scheduler grants"), "{lte}");
    assert!(lte.contains("link.rate (type=plain)"), "{lte}");
    assert_eq!(
        explain("sctp.fast.rto_min").expect("a key"),
        "sctp.NAME.rto_min\n  RTO.Min.\n  type:    time\n  default: \"1s\"\n  example: rto_min = \"200ms\"\n"
    );
    // A value that selects keys.
    for asked in ["rebind", "action.rebind"] {
        let text = explain(asked).expect("a value");
        assert!(
            text.starts_with("action with do=rebind, open-portal, close-portal\n") && text.contains("keys:"),
            "{text}"
        );
    }
    assert!(explain("link.rebind").is_err());
    assert!(explain("mapping").expect("a key").starts_with("node.nat.mapping\n"));
    assert_eq!(
        explain("rto_mim").expect_err("no key"),
        "there is no key \"rto_mim\"; did you mean \"rto_min\"?"
    );
    assert_eq!(
        explain("link.wlan.raido").expect_err("no key"),
        "there is no key \"link.wlan.raido\"; did you mean \"link.radio\"?"
    );
    assert_eq!(
        explain("xyzzy").expect_err("no key"),
        "there is no key \"xyzzy\"; want a key, such as link.rate, or no key for all of them"
    );
}

#[test]
fn the_schema_has_every_key() {
    let schema = schema();
    let nat = &schema["properties"]["node"]["items"]["properties"]["nat"]["properties"];
    assert_eq!(nat["timeout"]["pattern"], "^[0-9.]+ ?(ns|us|ms|s|min|h)$|[{]i");
    let link = &schema["properties"]["link"]["items"];
    assert_eq!(link["additionalProperties"], false);
    assert_eq!(link["properties"]["pdchs"]["maximum"], 8);
    assert!(link["properties"]["rate"]["anyOf"].as_array().is_some_and(|kinds| kinds.len() == 4), "{link}");
    let text = schema.to_string();
    for key in tables().iter().flat_map(|table| table.keys) {
        assert!(text.contains(&format!("\"{}\":", key.name)), "{}", key.name);
    }
}

#[test]
fn the_document_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-keys.md");
    if std::env::var_os("MSCTP_WRITE").is_some() {
        fs::write(&path, markdown()).expect("written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == markdown(),
        "docs/scenario-keys.md is old: MSCTP_WRITE=1 cargo test -p msctp-sim --test it keys"
    );
}
