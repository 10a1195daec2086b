//! The cases: topologies that are described once and written for both simulators.

use std::fmt::Write;

/// The ns-2 scripts of both topologies.
pub(super) const DUMBBELL: (&str, &str) =
    ("dumbbell.tcl", include_str!("../../../../bench/ns2/dumbbell.tcl"));
pub(super) const CELL: (&str, &str) = ("cell.tcl", include_str!("../../../../bench/ns2/cell.tcl"));

/// The scenario of a cell, with [`MOBILES`] mobiles.
const MOBILES_SCENARIO: &str = include_str!("../../../../scenarios/mobiles.toml");
const MOBILES: u32 = 10_000;

/// A case, the same for msctp and ns-2.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    topology: Topology,
    /// Target of data packets per CPU second, as a multiple of ns-2's.
    pub(super) aim: Option<f64>,
}

enum Topology {
    Dumbbell(Dumbbell),
    /// Mobiles with two interfaces that download a file each and hand over.
    Cell {
        mobiles: u32,
        /// Whether ns-2 can run the case: its time grows with the square of the number of mobiles.
        ns2: bool,
    },
}

/// SCTP bulk transfers through one bottleneck. Each flow has its own sender host.
struct Dumbbell {
    flows: u32,
    /// Gives each flow its own receiver host too, behind an access link of 1 ms. Otherwise one receiver sits
    /// at the far end of the bottleneck.
    own_sinks: bool,
    access: &'static str,
    rate: &'static str,
    /// ns-2's queue-limit in packets: one more than the queue holds.
    queue: u32,
    /// Receive window and initial slow-start threshold, bytes.
    window: u32,
    seconds: u32,
}

const ACCESS_DELAY_MS: u32 = 15;
const DELAY_MS: u32 = 20;

/// The plain cases, and the flow counts over which the cost per packet must stay flat.
pub(super) const CASES: [Case; 8] = [
    Case {
        name: "bulk",
        what: "one flow, 11 Mbps, 1 MiB windows, 600 s",
        topology: Topology::Dumbbell(Dumbbell {
            flows: 1,
            own_sinks: false,
            access: "100Mb",
            rate: "11Mb",
            queue: 50,
            window: 1 << 20,
            seconds: 600,
        }),
        aim: Some(3.0),
    },
    Case {
        name: "fast",
        what: "one flow, 1 Gbps, 8 MiB windows, 5 s",
        topology: Topology::Dumbbell(Dumbbell {
            flows: 1,
            own_sinks: false,
            access: "10Gb",
            rate: "1Gb",
            queue: 10_000,
            window: 8 << 20,
            seconds: 5,
        }),
        aim: Some(50.0),
    },
    own_hosts("flows-1", "1 flow with own hosts over 100 Mbps, 20 s", 1, None),
    own_hosts("flows-10", "10 flows with own hosts over 100 Mbps, 20 s", 10, None),
    own_hosts("flows-100", "100 flows with own hosts over 100 Mbps, 20 s", 100, None),
    own_hosts("flows-1000", "1000 flows with own hosts over 100 Mbps, 20 s", 1000, Some(50.0)),
    Case {
        name: "cell-1000",
        what: "1000 mobiles, 500 kB and a handover each",
        topology: Topology::Cell { mobiles: 1000, ns2: true },
        aim: None,
    },
    Case {
        name: "cell-10000",
        what: "10,000 mobiles, 500 kB and a handover each",
        topology: Topology::Cell { mobiles: MOBILES, ns2: false },
        aim: None,
    },
];

const fn own_hosts(name: &'static str, what: &'static str, flows: u32, aim: Option<f64>) -> Case {
    let dumbbell = Dumbbell {
        flows,
        own_sinks: true,
        access: "100Mb",
        rate: "100Mb",
        queue: 50,
        window: 65_536,
        seconds: 20,
    };
    Case { name, what, topology: Topology::Dumbbell(dumbbell), aim }
}

impl Case {
    /// Returns the name of the ns-2 script and its arguments; `None` if ns-2 cannot run it in a useful time.
    pub(super) fn ns2(&self) -> Option<(&'static str, Vec<String>)> {
        match &self.topology {
            Topology::Dumbbell(dumbbell) => Some((DUMBBELL.0, dumbbell.ns2_arguments())),
            Topology::Cell { mobiles, ns2 } => ns2.then(|| (CELL.0, vec![format!("mobiles={mobiles}")])),
        }
    }

    /// Returns the same topology as a scenario file.
    pub(super) fn scenario(&self) -> String {
        match &self.topology {
            Topology::Dumbbell(dumbbell) => dumbbell.scenario(self.name),
            Topology::Cell { mobiles, .. } => {
                MOBILES_SCENARIO.replace(&format!("count = {MOBILES}"), &format!("count = {mobiles}"))
            }
        }
    }
}

impl Dumbbell {
    /// Returns the arguments of bench/ns2/dumbbell.tcl.
    fn ns2_arguments(&self) -> Vec<String> {
        vec![
            format!("flows={}", self.flows),
            format!("access={}", self.access),
            format!("access_delay={ACCESS_DELAY_MS}ms"),
            format!("rate={}", self.rate),
            format!("delay={DELAY_MS}ms"),
            format!("queue={}", self.queue),
            format!("window={}", self.window),
            format!("seconds={}", self.seconds),
            format!("sinks={}", if self.own_sinks { "own" } else { "far" }),
        ]
    }

    /// Returns the same topology as a scenario file.
    fn scenario(&self, name: &str) -> String {
        let mut text = format!(
            "name = \"{}\"\nduration = \"{}s\"\nseed = 1\n\n\
             [sctp.bulk]\nreceive_buffer = {window}\nsend_buffer = {}\ninitial_ssthresh = {window}\n\n",
            name,
            self.seconds,
            2 * self.window,
            window = self.window,
        );
        let far_kind = if self.own_sinks { "router" } else { "host" };
        node(&mut text, "near", "router");
        node(&mut text, "far", far_kind);
        let far_address = (!self.own_sinks).then(|| address(2, 0));
        link(
            &mut text,
            &Line {
                name: "bottleneck",
                a: "near",
                b: "far",
                rate: self.rate,
                delay_ms: DELAY_MS,
                queue: self.queue,
                address_a: None,
                address_b: far_address,
            },
        );
        for i in 0..self.flows {
            self.flow(&mut text, i);
        }
        text
    }

    fn flow(&self, text: &mut String, i: u32) {
        let (source, sink) = (format!("s{i}"), if self.own_sinks { format!("d{i}") } else { "far".into() });
        node(text, &source, "host");
        link(
            text,
            &Line {
                name: &format!("access-s{i}"),
                a: &source,
                b: "near",
                rate: self.access,
                delay_ms: ACCESS_DELAY_MS,
                queue: self.queue,
                address_a: Some(address(1, i)),
                address_b: None,
            },
        );
        if self.own_sinks {
            node(text, &sink, "host");
            link(
                text,
                &Line {
                    name: &format!("access-d{i}"),
                    a: "far",
                    b: &sink,
                    rate: self.access,
                    delay_ms: 1,
                    queue: self.queue,
                    address_a: None,
                    address_b: Some(address(2, i)),
                },
            );
        }
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "[[association]]\nname = \"a{i}\"\nclient = \"{source}\"\nserver = \"{sink}\"\n\
             client_addresses = [\"{}\"]\nserver_addresses = [\"{}\"]\nsctp = \"bulk\"\n\n\
             [[app]]\nname = \"file{i}\"\ntype = \"bulk\"\nassociation = \"a{i}\"\nfrom = \"client\"\n\n",
            address(1, i),
            address(2, i),
        );
    }
}

struct Line<'a> {
    name: &'a str,
    a: &'a str,
    b: &'a str,
    rate: &'a str,
    delay_ms: u32,
    queue: u32,
    address_a: Option<String>,
    address_b: Option<String>,
}

fn address(net: u32, i: u32) -> String {
    format!("10.{net}.{}.{}", i / 250, i % 250 + 1)
}

fn node(text: &mut String, name: &str, kind: &str) {
    let _ = write!(text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n\n");
}

fn link(text: &mut String, line: &Line<'_>) {
    // ns-2's Mb and Gb are our Mbps and Gbps; its queue-limit q holds q − 1 waiting packets.
    let _ = write!(
        text,
        "[[link]]\nname = \"{}\"\na = \"{}\"\nb = \"{}\"\nrate = \"{}ps\"\ndelay = \"{}ms\"\nqueue = {{ packets = {} }}\n",
        line.name,
        line.a,
        line.b,
        line.rate,
        line.delay_ms,
        line.queue - 1,
    );
    for (key, address) in [("address_a", &line.address_a), ("address_b", &line.address_b)] {
        if let Some(address) = address {
            let _ = writeln!(text, "{key} = \"{address}\"");
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use msctp_sim::scenario::Scenario;

    use super::*;

    #[test]
    fn every_case_is_a_valid_scenario() {
        for case in &CASES {
            let scenario =
                Scenario::from_toml(&case.scenario(), case.name, &[]).unwrap_or_else(|e| panic!("{e}"));
            let flows = match case.topology {
                Topology::Dumbbell(Dumbbell { flows, .. }) => flows,
                Topology::Cell { mobiles, .. } => mobiles,
            };
            assert_eq!(scenario.associations.len(), flows as usize);
        }
    }
}
