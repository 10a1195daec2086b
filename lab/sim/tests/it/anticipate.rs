//! The policy `anticipate` on difficult networks, each with a bound.

use msctp_sim::scenario::Scenario;
use msctp_sim::{Series, Simulation, Summary};

/// A download by a mobile with the networks `a` (10.0.1.2), where it begins, and `b` (10.0.2.2).
struct Download {
    /// Keys of the links, as TOML.
    links: [String; 2],
    /// More keys of the SCTP profile.
    options: String,
    actions: &'static str,
    /// The contents of the file of `trace = "table"`.
    table: String,
    seconds: u32,
    /// The end that sends.
    from: &'static str,
    /// True to put each network behind its own symmetric NAT. The mobile's second address joins after 1 s.
    behind_nats: bool,
}

impl Download {
    fn new(a: &str, b: &str) -> Self {
        let links = [a, b].map(str::to_owned);
        Self {
            links,
            options: String::new(),
            actions: "",
            table: String::new(),
            seconds: 30,
            from: "server",
            behind_nats: false,
        }
    }

    /// Makes both networks follow a table with the columns a and b.
    fn over(table: &str) -> Self {
        let [a, b] = ["a", "b"].map(|column| {
            format!(
                "type = \"trace\"\ntrace = \"table\"\ncolumn = \"{column}\"\ndelay = \"20ms\"\nqueue = {{ packets = 200 }}"
            )
        });
        Self { table: format!("time,a,b\n{table}"), ..Self::new(&a, &b) }
    }

    fn run(&self, policy: &str) -> (Summary, Series) {
        let [a, b] = &self.links;
        let (ends, nats, addresses, added) = if self.behind_nats {
            (["nat-a", "nat-b"], NATS, r#""10.0.1.2""#, ADDED)
        } else {
            (["r", "r"], "", r#""10.0.1.2", "10.0.2.2""#, "")
        };
        let text = format!(
            r#"
duration = "{}s"
[probes]
throughput = "100ms"
[sctp.x]
profile = "mobile"
pmtu_discovery = false
handover_policy = "{policy}"
{}
[[node]]
name = "mobile"
kind = "host"
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
address_a = "10.0.0.1"
rate = "1Gbps"
delay = "1ms"
[[link]]
name = "a"
a = "{}"
b = "mobile"
address_b = "10.0.1.2"
{a}
[[link]]
name = "b"
a = "{}"
b = "mobile"
address_b = "10.0.2.2"
{b}
[[association]]
name = "download"
client = "mobile"
server = "server"
sctp = "x"
client_addresses = [{addresses}]
server_addresses = ["10.0.0.1"]
[[app]]
name = "file"
type = "bulk"
association = "download"
from = "{}"
{nats}
{added}
{}
"#,
            self.seconds, self.options, ends[0], ends[1], self.from, self.actions
        );
        let open = |_: &str| Ok(self.table.clone());
        let scenario = Scenario::from_toml_and_files(&text, "download.toml", &[], &open);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(&scenario, Some(1)).unwrap_or_else(|error| panic!("{error}"));
        simulation.run();
        (simulation.summary(), simulation.into_series())
    }
}

const NATS: &str = r#"
[[node]]
name = "nat-a"
kind = "nat"
nat = { outside = "outside-a", mapping = "address-and-port-dependent", timeout = "30s" }
[[node]]
name = "nat-b"
kind = "nat"
nat = { outside = "outside-b", mapping = "address-and-port-dependent", timeout = "30s" }
[[link]]
name = "outside-a"
a = "r"
b = "nat-a"
address_b = "203.0.113.7"
rate = "1Gbps"
delay = "1ms"
[[link]]
name = "outside-b"
a = "r"
b = "nat-b"
address_b = "203.0.113.9"
rate = "1Gbps"
delay = "1ms"
"#;

const ADDED: &str = r#"
[[action]]
after = { event = "established", association = "download", delay = "1s" }
do = "add-address"
association = "download"
address = "10.0.2.2"
"#;

fn delivered(summary: &Summary) -> f64 {
    summary.associations[0].to_client.bytes as f64
}

/// Returns the times at which the server, which sends, changed its primary path.
fn moves(summary: &Summary) -> Vec<f64> {
    summary.associations[0].handovers.iter().filter(|h| h.side == "server").map(|h| h.at).collect()
}

fn on(summary: &Summary, link: &str) -> u64 {
    summary.links.iter().find(|l| l.name == link).map_or(0, |l| l.delivered_bytes)
}

const PLAIN: &str = "rate = \"20Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 200 }";

#[test]
fn a_better_network_is_found_and_taken() {
    let download = Download::over("0,5,40\n30,5,40\n");
    let (with, _) = download.run("anticipate");
    assert_eq!(moves(&with).len(), 1, "{:?}", moves(&with));
    assert!(moves(&with)[0] < 3.0, "{:?}", moves(&with));
    // 27 s of 40 Mbps are 135 MB; 5 Mbps for 30 s are 19 MB.
    let (without, _) = download.run("conservative");
    assert!(delivered(&with) > 115e6, "{}", delivered(&with));
    assert!(delivered(&without) < 19e6, "{}", delivered(&without));
}

/// The mobile sends: its own policy measures both networks and moves.
#[test]
fn an_upload_takes_the_better_network_too() {
    let (summary, _) = Download { from: "client", ..Download::over("0,5,40\n30,5,40\n") }.run("anticipate");
    let association = &summary.associations[0];
    let moves: Vec<f64> = association.handovers.iter().filter(|h| h.side == "client").map(|h| h.at).collect();
    assert!(moves.len() == 1 && moves[0] < 3.0, "{moves:?}");
    // 27 s of 40 Mbps are 135 MB.
    assert!(association.to_server.bytes > 115_000_000, "{}", association.to_server.bytes);
}

/// The server sees the mobile's addresses only as its NATs translate them.
#[test]
fn a_better_network_behind_a_nat_is_taken() {
    let download = Download { behind_nats: true, ..Download::over("0,5,40\n30,5,40\n") };
    let (summary, _) = download.run("anticipate");
    assert!(moves(&summary).len() == 1 && moves(&summary)[0] < 5.0, "{:?}", moves(&summary));
    // 25 s of 40 Mbps are 125 MB.
    assert!(delivered(&summary) > 105e6, "{}", delivered(&summary));
}

/// A better network is found although both lose 1 % in both directions, including trains and their answers.
#[test]
fn a_better_network_is_found_under_loss() {
    let links = ["5Mbps", "40Mbps"].map(|rate| format!("{PLAIN}\nloss = 0.01").replace("20Mbps", rate));
    let (summary, _) = Download::new(&links[0], &links[1]).run("anticipate");
    assert!(moves(&summary).len() == 1 && moves(&summary)[0] < 5.0, "{:?}", moves(&summary));
    // 99 % of 25 s of 40 Mbps are 124 MB.
    assert!(delivered(&summary) > 100e6, "{}", delivered(&summary));
}

/// The networks swap places. At one swap a second, following still pays. Faster swaps make each move late.
#[test]
fn flapping_links_cost_little() {
    for (period, least) in [(1.0, 1.0), (0.3, 0.7)] {
        let rows = (0..=(30.0 / period) as u32).map(|n| {
            let (a, b) = if n.is_multiple_of(2) { (20, 1) } else { (1, 20) };
            format!("{},{a},{b}\n", f64::from(n) * period)
        });
        let download = Download::over(&rows.collect::<String>());
        let ((with, _), (without, _)) = (download.run("anticipate"), download.run("conservative"));
        let ratio = delivered(&with) / delivered(&without);
        assert!(ratio >= least, "{period} s: {ratio}, {:?}", moves(&with));
        assert!(moves(&with).len() <= 40, "{:?}", moves(&with));
    }
}

/// Two equal networks, and the mobile asks for the other one.
#[test]
fn a_move_over_a_long_round_trip_is_not_taken_back() {
    let far = "rate = \"500kbps\"\ndelay = \"400ms\"\nqueue = { packets = 50 }";
    let asked = "[[action]]\nat = \"10s\"\ndo = \"request-primary\"\nassociation = \"download\"\n\
                 address = \"10.0.2.2\"\n";
    let (summary, _) = Download { actions: asked, ..Download::new(far, far) }.run("anticipate");
    assert_eq!(moves(&summary).len(), 1, "{:?}", moves(&summary));
    // 30 s of 500 kbps are 1.9 MB, of which the start takes some.
    assert!(delivered(&summary) > 1.5e6, "{}", delivered(&summary));
}

/// The carrier stays up and no packet passes, as behind a captive portal.
#[test]
fn a_network_that_lies_is_left_and_not_entered() {
    let lies = "[[action]]\nat = \"10s\"\ndo = \"set-link\"\nlink = \"a\"\nloss = 1.0\n";
    let (left, _) = Download { actions: lies, ..Download::new(PLAIN, PLAIN) }.run("anticipate");
    // Two of three thirds of 20 Mbps are on b.
    assert!(delivered(&left) > 65e6, "{}", delivered(&left));
    assert!(left.associations[0].to_client.longest_gap < 0.5, "{:?}", left.associations[0]);
    let back = moves(&left).into_iter().filter(|at| *at > 11.0).count();
    assert_eq!(back, 0, "{:?}", moves(&left));

    let liar = "rate = \"90Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 200 }";
    let lies = "[[action]]\nat = \"1s\"\ndo = \"set-link\"\nlink = \"b\"\nloss = 1.0\n";
    let slow = PLAIN.replace("20Mbps", "5Mbps");
    let (never, _) = Download { actions: lies, ..Download::new(&slow, liar) }.run("anticipate");
    assert!(moves(&never).into_iter().all(|at| at < 1.5), "{:?}", moves(&never));
    assert!(delivered(&never) > 16e6, "{}", delivered(&never));
}

/// HARQ holds packets back and releases a train at once, so that trains measure up to 22 Gbps.
#[test]
fn an_lte_cell_that_releases_trains_at_once_is_seldom_entered() {
    let lte = "type = \"lte\"\nrate = \"10Mbps\"\ndelay = \"15ms\"\nbler = 0.1\nqueue = { packets = 200 }";
    let (summary, _) = Download::new(PLAIN, lte).run("anticipate");
    // Once in and out again in 30 s.
    assert!(moves(&summary).len() <= 2, "{:?}", moves(&summary));
    // 30 s of 20 Mbps are 75 MB.
    assert!(delivered(&summary) > 66e6, "{}", delivered(&summary));
}

/// An idle network that costs money carries the budget's bytes and HEARTBEATs.
#[test]
fn measuring_stays_within_the_budget() {
    for (budget, most) in [(0, 3_000), (300_000, 360_000)] {
        let options = format!("[sctp.x.policy]\nprobe_budget = {budget}\n");
        let download = Download { options, seconds: 60, ..Download::new(PLAIN, PLAIN) };
        let (summary, _) = download.run("anticipate");
        assert_eq!(moves(&summary).len(), 0);
        let bytes = on(&summary, "b/forward");
        assert!(bytes <= most, "{budget}: {bytes}");
        assert!(bytes * 3 >= budget * 2, "{budget}: {bytes}");
    }
}

/// Measuring takes at most one per cent of a slow network, for any budget.
#[test]
fn measuring_a_slow_network_takes_little_of_it() {
    let slow = PLAIN.replace("20Mbps", "2Mbps");
    let (summary, _) = Download { seconds: 60, ..Download::new(PLAIN, &slow) }.run("anticipate");
    // 2 Mbps carry 15 MB a minute.
    assert!(on(&summary, "b/forward") < 250_000, "{}", on(&summary, "b/forward"));
}

/// CUBIC fills a queue of 30 s; then the other network becomes good.
#[test]
fn a_standing_queue_does_not_hold_up_the_new_path() {
    let bloated = "rate = \"1Mbps\"\ndelay = \"20ms\"\nqueue = { bytes = 3750000 }";
    let better = "[[action]]\nat = \"20s\"\ndo = \"set-link\"\nlink = \"b\"\nrate = \"20Mbps\"\n";
    let poor = PLAIN.replace("20Mbps", "200kbps");
    let download = Download {
        options: "controller = \"cubic\"\n".to_owned(),
        actions: better,
        seconds: 40,
        ..Download::new(bloated, &poor)
    };
    let (with, series) = download.run("anticipate");
    assert!(delivered(&with) > 30e6, "{}, {:?}", delivered(&with), moves(&with));
    let client = series.delivery.iter().find(|delivery| delivery.side == "client").unwrap();
    let silent = client.total.sums.split(|&bytes| bytes > 0).map(<[u64]>::len).max().unwrap();
    assert!(silent <= 15, "{silent} intervals of 0.1 s, {:?}", moves(&with));
}

/// A thin uplink spreads the answers of trains, so that the network looks slower than it is, and nothing is
/// lost.
#[test]
fn an_asymmetric_network_is_never_worse_than_staying() {
    let thin = format!("{PLAIN}\nreverse = {{ rate = \"200kbps\" }}").replace("20Mbps", "50Mbps");
    let download = Download::new(PLAIN, &thin);
    let ((with, _), (without, _)) = (download.run("anticipate"), download.run("conservative"));
    assert!(delivered(&with) >= 0.97 * delivered(&without), "{:?}", moves(&with));
}
