//! Small messages on every network (`paths = "redundant"`): they take the time of the better network at each
//! moment, whatever the other one does.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// Sends 1,000 bytes every 20 ms for 20 s over two networks of 5 Mbps, with one-way delays of 20 and 40 ms.
fn scenario(paths: &str, loss: [f64; 2], more: &str) -> String {
    let mut text = String::from("duration = \"22s\"\n[probes]\nmessages = true\n");
    for (name, kind) in [("mobile", "host"), ("server", "host"), ("r", "router")] {
        text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    text += "[[link]]\nname = \"core\"\na = \"server\"\nb = \"r\"\naddress_a = \"10.0.0.1\"\n\
             rate = \"1Gbps\"\ndelay = \"100us\"\n";
    for (n, (delay, loss)) in [20, 40].into_iter().zip(loss).enumerate() {
        text += &format!(
            "[[link]]\nname = \"net{n}\"\na = \"r\"\nb = \"mobile\"\naddress_b = \"10.0.{}.2\"\n\
             rate = \"5Mbps\"\ndelay = \"{delay}ms\"\nqueue = {{ packets = 200 }}\nloss = {loss:?}\n",
            n + 1,
        );
    }
    text += &format!(
        "[sctp.x]\nprofile = \"mobile\"\npmtu_discovery = false\npaths = \"{paths}\"\n\
         [[association]]\nname = \"call\"\nclient = \"mobile\"\nserver = \"server\"\nsctp = \"x\"\n\
         client_addresses = [\"10.0.1.2\", \"10.0.2.2\"]\nserver_addresses = [\"10.0.0.1\"]\n\
         [[app]]\nname = \"clip\"\ntype = \"video\"\nassociation = \"call\"\nfrom = \"server\"\nsize = 1000\n\
         interval = \"20ms\"\nstart = \"1s\"\nstop = \"21s\"\nrandom_phase = false\n{more}"
    );
    text
}

/// Returns the times of all messages in ms, sorted.
fn times(paths: &str, loss: [f64; 2], more: &str) -> Vec<f64> {
    let scenario = Scenario::from_toml(&scenario(paths, loss, more), "redundant.toml", &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, Some(1)).unwrap_or_else(|error| panic!("{error}"));
    simulation.run();
    let series = simulation.into_series();
    let [messages] = &series.messages[..] else { panic!("one series") };
    assert_eq!(messages.generated.len(), 1000);
    let pairs = messages.generated.iter().zip(&messages.delivered);
    let mut times: Vec<f64> =
        pairs.map(|(&from, &to)| to.map_or(f64::INFINITY, |to| to.since(from).as_secs_f64() * 1e3)).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn p95(times: &[f64]) -> f64 {
    times[times.len() * 95 / 100]
}

/// A fifth of the packets is lost on one network, in both directions. The other one's delay is the bound.
#[test]
fn one_lossy_network_delays_no_message_beyond_the_other() {
    for (loss, bound) in [([0.2, 0.0], 45.0), ([0.0, 0.2], 25.0)] {
        let (one, redundant) = (times("one", loss, ""), times("redundant", loss, ""));
        println!("loss {loss:?}: p95 {:.0} ms on one, {:.0} ms redundant", p95(&one), p95(&redundant));
        assert!(p95(&redundant) <= bound, "loss {loss:?}: {} ms", p95(&redundant));
        assert!(p95(&redundant) <= p95(&one), "loss {loss:?}");
    }
    let one = times("one", [0.2, 0.0], "");
    assert!(p95(&one) > 60.0, "one network alone is late: {} ms", p95(&one));
}

/// Each network in turn delivers nothing for 400 ms of every second, so that messages arrive over the other
/// one.
#[test]
fn networks_that_stall_in_turn_delay_no_message_beyond_the_slower_one() {
    let mut more = String::new();
    for second in 2..20u32 {
        for (net, from) in [(0, 0.0), (1, 0.5)] {
            for (at, loss) in [(from, "1.0"), (from + 0.4, "0.0")] {
                let at = f64::from(second) + at;
                more += &format!(
                    "[[action]]\nat = \"{at}s\"\ndo = \"set-link\"\nlink = \"net{net}\"\nloss = {loss}\n"
                );
            }
        }
    }
    let (one, redundant) = (times("one", [0.0; 2], &more), times("redundant", [0.0; 2], &more));
    println!("p95 {:.0} ms on one, {:.0} ms redundant", p95(&one), p95(&redundant));
    assert!(p95(&redundant) <= 45.0, "{} ms", p95(&redundant));
    assert!(p95(&one) > 2.0 * p95(&redundant), "{} ms", p95(&one));
}
