//! Links that lose packets at random: the rate that `delay-bound` carries, and the path that data takes.

use msctp_sim::scenario::Scenario;
use msctp_sim::{Simulation, Summary};

fn run(text: &str) -> Summary {
    let scenario = Scenario::from_toml(text, "lossy.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, Some(1)).unwrap_or_else(|e| panic!("{e}"));
    simulation.run();
    simulation.summary()
}

/// A download over 20 Mbit/s and 20 ms each way, of which `loss` is lost towards the mobile.
fn download(loss: f64, queue: u32, seconds: u32) -> String {
    format!(
        r#"
duration = "{seconds}s"
node = [{{ name = "mobile", kind = "host" }}, {{ name = "server", kind = "host" }}]
[[link]]
name = "air"
a = "server"
b = "mobile"
address_a = "10.0.0.1"
address_b = "10.0.1.2"
rate = "20Mbps"
delay = "20ms"
queue = {{ packets = {queue} }}
[link.forward]
loss = {loss}
[sctp.x]
profile = "mobile"
[[association]]
name = "download"
sctp = "x"
client = "mobile"
server = "server"
client_addresses = ["10.0.1.2"]
server_addresses = ["10.0.0.1"]
[[app]]
name = "file"
type = "bulk"
association = "download"
from = "server"
"#
    )
}

/// A transfer over two links of 20 Mbit/s and 20 ms each way between a mobile and a router. `losses` are
/// those of the links `a` and `b`, in both directions.
fn two_links(losses: [f64; 2], seconds: u32, from: &str, actions: &str) -> String {
    let [a, b] = losses;
    format!(
        r#"
duration = "{seconds}s"
node = [{{ name = "mobile", kind = "host" }}, {{ name = "server", kind = "host" }}, {{ name = "r", kind = "router" }}]
[probes]
throughput = "100ms"
[[link]]
name = "core"
a = "server"
b = "r"
address_a = "10.0.0.1"
rate = "1Gbps"
delay = "1ms"
[[link]]
name = "a"
a = "r"
b = "mobile"
address_b = "10.0.1.2"
rate = "20Mbps"
delay = "20ms"
queue = {{ packets = 100 }}
loss = {a}
[[link]]
name = "b"
a = "r"
b = "mobile"
address_b = "10.0.2.2"
rate = "20Mbps"
delay = "20ms"
queue = {{ packets = 100 }}
loss = {b}
[sctp.x]
profile = "mobile"
handover_policy = "anticipate"
[[association]]
name = "transfer"
sctp = "x"
client = "mobile"
server = "server"
client_addresses = ["10.0.1.2", "10.0.2.2"]
server_addresses = ["10.0.0.1"]
[[app]]
name = "file"
type = "bulk"
association = "transfer"
from = "{from}"
{actions}
"#
    )
}

#[test]
fn delay_bound_carries_what_a_lossy_link_does_not_lose() {
    for queue in [25, 100] {
        for loss in [0.0, 0.01, 0.02, 0.05, 0.1, 0.15] {
            let summary = run(&download(loss, queue, 20));
            let flow = &summary.associations[0].to_client;
            let rate = flow.bytes as f64 * 8.0 / 20e6;
            println!(
                "{queue} packets, {:.0} % lost: {rate:.2} Mbps, {} timeouts",
                loss * 100.0,
                flow.timeouts
            );
            // 1452 of 1500 bytes are user data: 19.4 Mbps at most.
            assert!(rate >= 19.4 * (1.0 - loss) * 0.8, "{loss}: {rate}");
        }
    }
}

/// Link `a` is down from 5 to 20 s, as the mobile knows, and `b` loses 40 % both ways from 4 s on, so that
/// its path is potentially failed at times. Returns the mobile's moves to `a` after 5 s, and the bytes
/// delivered to the server.
fn with_a_link_down(from: &str, seconds: u32) -> (Vec<f64>, u64) {
    let action = |at: u32, what: &str| format!("[[action]]\nat = \"{at}s\"\n{what}\n");
    let actions = [
        action(4, "do = \"set-link\"\nlink = \"b\"\nloss = 0.4"),
        action(5, "do = \"link-down\"\nlink = \"a\""),
        action(20, "do = \"link-up\"\nlink = \"a\""),
    ];
    let summary = run(&two_links([0.0, 0.0], seconds, from, &actions.concat()));
    let association = &summary.associations[0];
    let to_a = association.handovers.iter().filter(|handover| {
        handover.side == "client" && handover.at > 5.0 && handover.to.contains("10.0.1.2")
    });
    let moves: Vec<f64> = to_a.map(|handover| handover.at).collect();
    println!("{from}: {moves:?}, {} bytes", association.to_server.bytes);
    (moves, association.to_server.bytes)
}

#[test]
fn no_data_moves_to_a_link_that_is_down_whatever_the_other_loses() {
    let (moves, bytes) = with_a_link_down("client", 40);
    let back = moves.first().expect("data returns to the link that loses nothing");
    assert!((20.0..25.0).contains(back), "{moves:?}");
    // 5 s before and 20 s after of 20 Mbps are 62 MB.
    assert!(bytes > 40_000_000, "{bytes}");
    // The mobile receives, and measures its paths by heartbeats only.
    let (moves, _) = with_a_link_down("server", 20);
    assert!(moves.iter().all(|at| *at >= 20.0), "{moves:?}");
}
