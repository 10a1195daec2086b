//! Both networks at once (`paths = "aggregate"`): the rates of two links add up, and neither the order of
//! the data nor a small buffer makes two links slower than the better one.

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::Summary;

/// Seconds per bin of the deliveries.
const BIN: f64 = 0.001;

/// A link to the mobile: bit/s, one-way delay in ms, packets queued, share of packets lost.
#[derive(Clone, Copy, Debug)]
struct Network {
    rate: f64,
    delay: f64,
    queue: u32,
    loss: f64,
}

const fn network(rate: f64, delay: f64) -> Network {
    Network { rate, delay, queue: 200, loss: 0.0 }
}

/// A download over one or two networks from a server with one address.
#[derive(Clone, Debug)]
struct Download {
    networks: Vec<Network>,
    /// Lines of the SCTP profile.
    options: String,
    /// Duration of the run in seconds.
    duration: f64,
    /// Further lines of the scenario, such as actions.
    more: String,
}

impl Download {
    fn over(networks: &[Network], options: &str) -> Self {
        let (networks, options) = (networks.to_vec(), options.to_owned());
        Self { networks, options, duration: 20.0, more: String::new() }
    }

    fn scenario(&self) -> String {
        let mut text = format!(
            "duration = \"{}s\"\n[probes]\nthroughput = \"1ms\"\n\
             [sctp.x]\nprofile = \"mobile\"\npmtu_discovery = false\n{}\n",
            self.duration, self.options
        );
        for (name, kind) in [("mobile", "host"), ("server", "host"), ("r", "router")] {
            text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
        }
        text += "[[link]]\nname = \"core\"\na = \"server\"\nb = \"r\"\naddress_a = \"10.0.0.1\"\n\
                 rate = \"1Gbps\"\ndelay = \"100us\"\nqueue = { packets = 10000 }\n";
        let mut addresses = Vec::new();
        for (n, Network { rate, delay, queue, loss }) in self.networks.iter().enumerate() {
            text += &format!(
                "[[link]]\nname = \"net{n}\"\na = \"r\"\nb = \"mobile\"\naddress_b = \"10.0.{}.2\"\n\
                 rate = \"{}bps\"\ndelay = \"{delay}ms\"\nqueue = {{ packets = {queue} }}\nloss = {loss:?}\n",
                n + 1,
                *rate as u64
            );
            addresses.push(format!("\"10.0.{}.2\"", n + 1));
        }
        text += &format!(
            "[[association]]\nname = \"download\"\nclient = \"mobile\"\nserver = \"server\"\nsctp = \"x\"\n\
             client_addresses = [{}]\nserver_addresses = [\"10.0.0.1\"]\n\
             [[app]]\nname = \"file\"\ntype = \"bulk\"\nassociation = \"download\"\nfrom = \"server\"\n{}",
            addresses.join(", "),
            self.more
        );
        text
    }

    /// Returns the summary, and the bytes delivered to the client in each bin.
    fn run(&self) -> (Summary, Vec<u64>) {
        let scenario = Scenario::from_toml(&self.scenario(), "aggregate.toml", &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(&scenario, Some(1)).unwrap_or_else(|error| panic!("{error}"));
        simulation.run();
        let summary = simulation.summary();
        let series = simulation.into_series();
        let delivery = series.delivery.iter().find(|delivery| delivery.side == "client").expect("there");
        (summary, delivery.total.sums.clone())
    }

    /// Returns the goodput in bit/s from `from` seconds on.
    fn goodput(&self, from: f64) -> f64 {
        let (_, bins) = self.run();
        let bytes: u64 = bins.iter().skip((from / BIN) as usize).sum();
        bytes as f64 * 8.0 / (self.duration - from)
    }
}

/// Returns the goodput of each network alone.
fn alone(networks: &[Network], options: &str) -> Vec<f64> {
    networks.iter().map(|network| Download::over(&[*network], options).goodput(5.0)).collect()
}

/// Returns the goodput of all networks at once.
fn together(networks: &[Network], options: &str) -> f64 {
    Download::over(networks, &format!("{options}paths = \"aggregate\"\n")).goodput(5.0)
}

fn better(singles: &[f64]) -> f64 {
    singles.iter().copied().fold(0.0, f64::max)
}

/// Networks of 20 Mbps with a round trip of 40 ms, and of 30 Mbps with one of 200 ms.
const PAIR: [Network; 2] = [network(20e6, 20.0), network(30e6, 100.0)];

/// User bytes of a full packet as a share of its bytes on the IP wire.
const PAYLOAD: f64 = 1452.0 / 1500.0;

#[test]
fn the_rates_of_two_networks_add_up() {
    rates_add_up(&["bbr", "cubic"]);
}

#[test]
#[ignore = "the other controllers of the test without slow_"]
fn slow_the_rates_of_two_networks_add_up() {
    rates_add_up(&["delay-bound", "rfc9260"]);
}

fn rates_add_up(controllers: &[&str]) {
    for controller in controllers {
        let options = format!("controller = \"{controller}\"\n");
        let singles = alone(&PAIR, &options);
        let both = together(&PAIR, &options);
        println!("{controller}: {both:.0} of {singles:.0?}");
        assert!(both >= 0.95 * singles.iter().sum::<f64>(), "{controller}: {both} of {singles:?}");
        assert!(both >= 0.95 * 50e6 * PAYLOAD, "{controller}: {both}");
    }
}

#[test]
fn the_order_of_two_networks_is_no_loss() {
    // No queue overflows: whatever is retransmitted was not lost.
    let pair = PAIR.map(|network| Network { queue: 5000, ..network });
    for recovery in ["rack", "rfc9260"] {
        let options =
            format!("controller = \"bbr\"\nloss_recovery = \"{recovery}\"\npaths = \"aggregate\"\n");
        let (summary, _) = Download::over(&pair, &options).run();
        let flow = &summary.associations[0].to_client;
        assert_eq!((flow.retransmitted, flow.timeouts), (0, 0), "{recovery}");
        assert!(flow.bytes > 100_000_000, "{recovery}: {flow:?}");
    }
}

#[test]
fn a_slow_network_costs_a_fast_one_nothing() {
    costs_nothing(&[network(384e3, 100.0)]);
}

#[test]
#[ignore = "the other networks of the test without slow_"]
fn slow_a_slow_network_costs_a_fast_one_nothing() {
    costs_nothing(&[network(1e6, 20.0), network(1e6, 200.0)]);
}

fn costs_nothing(slow: &[Network]) {
    for &slow in slow {
        for controller in ["bbr", "cubic"] {
            let networks = [network(50e6, 20.0), slow];
            let options = format!("controller = \"{controller}\"\n");
            let (better, both) = (better(&alone(&networks, &options)), together(&networks, &options));
            println!("{controller} with {slow:?}: {both:.0} of {better:.0}");
            assert!(both >= 0.97 * better, "{controller} with {slow:?}: {both} of {better}");
        }
    }
}

#[test]
fn a_small_buffer_is_no_slower_with_two_networks() {
    for buffer in [32 << 10, 64 << 10, 256 << 10, 1 << 20] {
        let options = format!("receive_buffer = {buffer}\n");
        let (better, both) = (better(&alone(&PAIR, &options)), together(&PAIR, &options));
        println!("{buffer} bytes: {both:.0} of {better:.0}");
        assert!(both >= 0.9 * better, "{buffer} bytes: {both} of {better}");
    }
}

/// Data in flight on the network that dies arrives without an RTO: within the silence that fails a path, 100
/// ms, and two round trips of the other network.
#[test]
fn a_network_that_dies_costs_two_round_trips_of_the_other() {
    for (what, more) in [("link-down", ""), ("set-link", "loss = 1.0\n")] {
        for (dead, left) in [(0, 1), (1, 0)] {
            let mut download = Download::over(&PAIR, "paths = \"aggregate\"\n");
            download.more =
                format!("[[action]]\nat = \"10s\"\ndo = \"{what}\"\nlink = \"net{dead}\"\n{more}");
            let (_, bins) = download.run();
            let gap = bins[9_500..15_000].split(|&bytes| bytes > 0).map(<[u64]>::len).max().unwrap_or(0);
            let after = bins[12_000..].iter().sum::<u64>() as f64; // of 8 seconds: in bit/s
            println!("{what} net{dead}: gap {gap} ms, then {after:.0} bit/s");
            assert!(gap as f64 <= 100.0 + 4.0 * PAIR[left].delay, "{what} net{dead}: {gap} ms");
            assert!(after >= 0.85 * PAIR[left].rate * PAYLOAD, "{what} net{dead}: {after}");
        }
    }
}

/// With both networks, `delay-bound` reduces the window of the longer one at a loss of 2 %, and the scheduler
/// holds nothing back.
///
/// `delay-bound` takes 2 % for an overflow, and judges each round. With both networks, a round of the longer
/// one is shorter, because its SACKs return over the other. A round then has fewer packets, and more rounds
/// exceed 2 % by chance.
#[test]
fn loss_on_one_network_does_not_slow_the_other() {
    for (lossy, least) in [(0, 0.93), (1, 0.83)] {
        let mut networks = PAIR;
        networks[lossy].loss = 0.02;
        let (singles, both) = (alone(&networks, ""), together(&networks, ""));
        println!("loss on net{lossy}: {both:.0} of {singles:.0?}");
        assert!(both >= least * singles.iter().sum::<f64>(), "net{lossy}: {both} of {singles:?}");
    }
}

#[test]
fn with_one_network_nothing_changes() {
    for network in PAIR {
        let lossy = Network { loss: 0.001, ..network };
        let [one, aggregate] =
            ["", "paths = \"aggregate\"\n"].map(|options| Download::over(&[lossy], options).run());
        assert_eq!(one.1, aggregate.1);
        assert_eq!(format!("{:?}", one.0.associations), format!("{:?}", aggregate.0.associations));
    }
}
