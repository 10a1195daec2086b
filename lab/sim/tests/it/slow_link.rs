//! A link of 384 kbps beside a fast one that stays idle: the mobile profile fills the slow link, and does not
//! take its own pauses for a silent path.

use msctp_proto::TraceKind;
use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// Rate of the slow link in bit/s.
const RATE: f64 = 384e3;

/// Returns a download that begins on the fast link at `start` ms. The mobile adds the slow link at `added`
/// ms, and requests data there at `moved` ms.
fn scenario(start: u32, added: u32, moved: u32) -> Scenario {
    let mut text = "duration = \"20s\"\n[probes]\nthroughput = \"1s\"\ntrace = true\n\
         [sctp.x]\nprofile = \"mobile\"\npmtu_discovery = true\nprotection = \"psk\"\n"
        .to_owned();
    for (name, kind) in [("mobile", "host"), ("server", "host"), ("r", "router")] {
        text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    text += "[[link]]\nname = \"core\"\na = \"server\"\nb = \"r\"\naddress_a = \"10.0.0.1\"\n\
             rate = \"1Gbps\"\ndelay = \"100us\"\nqueue = { packets = 10000 }\n";
    for (address, rate, delay) in [("10.0.1.2", "384kbps", 100), ("10.0.2.2", "11Mbps", 20)] {
        text += &format!(
            "[[link]]\nname = \"{rate}\"\na = \"r\"\nb = \"mobile\"\naddress_b = \"{address}\"\n\
             rate = \"{rate}\"\ndelay = \"{delay}ms\"\nqueue = {{ packets = 50 }}\n"
        );
    }
    text += &format!(
        "[[association]]\nname = \"download\"\nclient = \"mobile\"\nserver = \"server\"\nsctp = \"x\"\n\
         client_addresses = [\"10.0.2.2\"]\nserver_addresses = [\"10.0.0.1\"]\n\
         [[app]]\nname = \"file\"\ntype = \"bulk\"\nassociation = \"download\"\nfrom = \"server\"\n\
         start = \"{start}ms\"\n"
    );
    for (at, what) in [(added, "add-address"), (moved, "request-primary")] {
        text += &format!(
            "[[action]]\nat = \"{at}ms\"\ndo = \"{what}\"\nassociation = \"download\"\naddress = \"10.0.1.2\"\n"
        );
    }
    Scenario::from_toml(&text, "slow.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A drain of the queue is a pause of the sender, and the peer delays the SACK of the single packet before
/// it. That silence must not cause a silence probe. Its packets would count as an overflow of the slow link's
/// queue, and halve the rate for two seconds.
#[test]
fn a_drain_of_the_queue_is_no_silence_and_costs_no_more_than_itself() {
    let mut missed = Vec::new();
    for (added, moved) in [(300, 400), (1000, 1600), (1500, 1600), (2500, 3000)] {
        for start in [0, 317, 600] {
            let mut simulation = Simulation::new(&scenario(start, added, moved), Some(1))
                .unwrap_or_else(|error| panic!("{error}"));
            simulation.run();
            let series = simulation.into_series();
            let delivery = series.delivery.iter().find(|delivery| delivery.side == "client").expect("there");
            // The fast link still delivers after the move, and the slow one starts.
            let settled = 7;
            let seconds: Vec<f64> =
                delivery.total.sums.iter().map(|&bytes| bytes as f64 * 8.0 / RATE).collect();
            let least = seconds[settled..].windows(2).map(|two| (two[0] + two[1]) / 2.0).fold(1.0, f64::min);
            let server = series.traces.iter().find(|trace| trace.side == "server").expect("there");
            let probes = server.marks.iter().filter(|mark| {
                mark.at.as_nanos() >= settled as u64 * 1_000_000_000
                    && matches!(mark.kind, TraceKind::LossProbe { .. } | TraceKind::Silence { .. })
            });
            let probes = probes.count();
            println!("start {start} ms, added {added}, moved {moved}: least {least:.2}, {probes} probes");
            if least < 0.72 || probes > 0 {
                missed.push(format!(
                    "{start} {added} {moved}: {least:.2} of the rate in two seconds, {probes} probes"
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
