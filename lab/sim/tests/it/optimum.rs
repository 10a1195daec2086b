//! The optimum after a switch, against values computed by hand.

use msctp_sim::optimum;
use msctp_sim::scenario::Scenario;
use msctp_units::{Span, Time};

/// A link of 10 Mbps with 20 ms behind one of 1 Gbps with 1 ms. Two TCP transfers and a constant rate may
/// share the slow link.
const TOPOLOGY: &str = include_str!("../../../../scenarios/compare/two-paths.toml");

/// Returns the optimum of the 5 s from 30 s on, in user bytes.
fn after_30(set: &[&str], more: &str) -> Result<u64, String> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::from_toml(&format!("{TOPOLOGY}{more}"), "two-paths.toml", &set)
        .unwrap_or_else(|error| panic!("{error}"));
    let address = |text: &str| text.parse().unwrap();
    let at = Time::ZERO + Span::from_secs(30);
    optimum(&scenario, address("10.0.0.1"), address("10.0.2.2"), at, Span::from_secs(5))
}

/// Returns the user bytes in this many bytes on the wire: 1452 of each 1500.
fn user(wire: f64) -> f64 {
    wire * 1452.0 / 1500.0
}

/// Time of the first packet: 1 ms + 12 µs, and 20 ms + 1.2 ms.
const FIRST: f64 = 0.022_212;

#[track_caller]
fn is(value: Result<u64, String>, bytes: f64) {
    let value = value.unwrap() as f64;
    assert!((value - bytes).abs() <= 2.0, "{value} instead of {bytes}");
}

#[test]
fn an_idle_path_delivers_at_its_slowest_links_rate_after_the_first_flight() {
    is(after_30(&[], ""), user(1.25e6 * (5.0 - FIRST)));
    // The slower of the two is now the first one: 5 Mbps, on which a packet takes 2.4 ms.
    is(after_30(&["link.core.rate=5Mbps"], ""), user(625e3 * (5.0 - 0.0246)));
}

#[test]
fn constant_rates_are_subtracted_while_they_run_and_transfers_share_equally() {
    let noise = "[[app]]\nname = \"noise\"\ntype = \"cbr\"\nfrom = \"10.0.3.1\"\nto = \"10.0.2.2\"\n\
                 rate = \"4Mbps\"\nstart = \"32s\"\nstop = \"34s\"\n";
    is(after_30(&[], noise), user(1.25e6 * (5.0 - FIRST) - 2.0 * 500e3));
    is(after_30(&["app.first-file.start=5s"], ""), user(625e3 * (5.0 - FIRST)));
    // Three flows; during the noise they share 6 Mbps.
    let three = ["app.first-file.start=5s", "app.second-file.start=5s"];
    is(after_30(&three, noise), user(1.25e6 / 3.0 * (3.0 - FIRST) + 250e3 * 2.0));
}

#[test]
fn changes_of_the_link_count_from_their_time_on() {
    let slower = "[[action]]\nat = \"33s\"\ndo = \"set-link\"\nlink = \"new\"\nrate = \"2Mbps\"\n";
    is(after_30(&[], slower), user(1.25e6 * (3.0 - FIRST) + 250e3 * 2.0));
    // The reverse direction carries no data.
    let reverse = slower.replace("rate =", "direction = \"reverse\"\nrate =");
    is(after_30(&[], &reverse), user(1.25e6 * (5.0 - FIRST)));
    let down = "[[action]]\nat = \"31s\"\ndo = \"link-down\"\nlink = \"new\"\n\
                [[action]]\nat = \"34s\"\ndo = \"link-up\"\nlink = \"new\"\n";
    is(after_30(&[], down), user(1.25e6 * (2.0 - FIRST)));
}

#[test]
fn a_path_without_a_constant_rate_or_a_route_has_no_optimum() {
    let scenario = Scenario::from_toml(TOPOLOGY, "two-paths.toml", &[]).unwrap();
    let (here, nowhere) = ("10.0.0.1".parse().unwrap(), "10.9.9.9".parse().unwrap());
    let nothing = optimum(&scenario, here, nowhere, Time::ZERO, Span::from_secs(5));
    assert_eq!(nothing, Err("there is no route from 10.0.0.1 to 10.9.9.9".to_owned()));
}

#[test]
fn actions_follow_their_times_and_not_their_order_in_the_file() {
    let down = "[[action]]\nat = \"34s\"\ndo = \"link-up\"\nlink = \"new\"\n\
                [[action]]\nat = \"31s\"\ndo = \"link-down\"\nlink = \"new\"\n";
    is(after_30(&[], down), user(1.25e6 * (2.0 - FIRST)));
}

#[test]
fn actions_before_a_connection_starts_follow_their_times() {
    // The connection starts at 5 s.
    let early = "[[action]]\nat = \"3s\"\ndo = \"start-app\"\napp = \"first-file\"\n\
                 [[action]]\nat = \"1s\"\ndo = \"stop-app\"\napp = \"first-file\"\n";
    is(after_30(&[], early), user(625e3 * (5.0 - FIRST)));
}

#[test]
fn a_finite_transfer_shares_the_link_until_its_bytes_are_delivered() {
    let long_ago = ["app.first-file.start=5s", "app.first-file.bytes=100000"];
    is(after_30(&long_ago, ""), user(1.25e6 * (5.0 - FIRST)));
    // 1000 packets of 1500 bytes with 1460 each: alone on the link from 29 s until the first flight arrives,
    // then with half of it.
    let set = ["app.first-file.start=29s", "app.first-file.bytes=1460000"];
    let left = 1.5e6 - 1.25e6 * (1.0 + FIRST);
    is(after_30(&set, ""), user(1.25e6 * (5.0 - FIRST) - left));
    // It has not ended when the window does.
    let long = ["app.first-file.start=29s", "app.first-file.bytes=146000000"];
    is(after_30(&long, ""), user(625e3 * (5.0 - FIRST)));
}

/// An association of the mobile with the other host, which has an application from there.
fn second(addresses: &str, app: &str) -> String {
    format!(
        "[[association]]\nname = \"second-one\"\nclient = \"mn\"\nserver = \"others\"\nclient_addresses = [{addresses}]\n\
         server_addresses = [\"10.0.3.1\"]\n[[app]]\nname = \"more\"\nassociation = \"second-one\"\nfrom = \"server\"\n{app}\n"
    )
}

#[test]
fn other_associations_share_the_link() {
    let new = "\"10.0.2.2\"";
    is(after_30(&[], &second(new, "type = \"bulk\"")), user(625e3 * (5.0 - FIRST)));
    is(after_30(&[], &second("\"10.0.1.2\"", "type = \"bulk\"")), user(1.25e6 * (5.0 - FIRST)));
    // Ten packets of 1452 user bytes every 60 ms: 2 Mbps.
    let video = second(new, "type = \"video\"\nsize = 14520\ninterval = \"60ms\"");
    is(after_30(&[], &video), user(1e6 * (5.0 - FIRST)));
    // Between the same hosts.
    let same = second(new, "type = \"bulk\"")
        .replace("server = \"others\"", "server = \"cn\"\nserver_port = 5001")
        .replace("10.0.3.1", "10.0.0.1");
    is(after_30(&[], &same), user(625e3 * (5.0 - FIRST)));
}

#[test]
fn an_association_with_several_paths_leaves_no_optimum_where_its_path_matters() {
    let both = second("\"10.0.1.2\", \"10.0.2.2\"", "type = \"bulk\"");
    let error = after_30(&[], &both).unwrap_err();
    assert!(
        error.ends_with("associations with several paths share this path's links: \"second-one\""),
        "{error}"
    );
    // Half of the core is more than the access link takes.
    let neighbour = "[[node]]\nname = \"n\"\nkind = \"host\"\n\
        [[link]]\nname = \"n1\"\na = \"r\"\nb = \"n\"\naddress_b = \"10.0.4.2\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
        [[link]]\nname = \"n2\"\na = \"r\"\nb = \"n\"\naddress_b = \"10.0.5.2\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
    let theirs = second("\"10.0.4.2\", \"10.0.5.2\"", "type = \"bulk\"")
        .replace("client = \"mn\"", "client = \"n\"")
        .replace("server = \"others\"", "server = \"cn\"\nserver_port = 5001")
        .replace("10.0.3.1", "10.0.0.1");
    is(after_30(&[], &format!("{neighbour}{theirs}")), user(1.25e6 * (5.0 - FIRST)));
}
