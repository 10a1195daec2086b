//! The cases of the comparison: handovers from the papers' scenarios. A new case is an entry of [`CASES`].

use msctp_schemes::policies::LargeInitialWindow;
use msctp_units::{Rate, Span};

use crate::scenario_file::{ScenarioFile, scenario_file};

/// A handover under one set of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Short unique name, for tables.
    pub name: &'static str,
    /// The paper whose scenario it is.
    pub paper: &'static str,
    /// The conditions in words.
    pub words: &'static str,
    /// The scenario.
    pub file: ScenarioFile,
    /// The overrides for the conditions, in the form of `--set`.
    pub conditions: &'static [&'static str],
    /// The SCTP profile whose handover policy is replaced: the sender's.
    pub profile: &'static str,
    /// The new path's address, by which the oracle identifies it.
    pub address: &'static str,
    /// The new path's capacity that other traffic leaves free. Responsive traffic counts as sharing equally.
    pub free: Rate,
    /// The new path's round-trip time without queues.
    pub rtt: Span,
}

/// Options that make a policy its paper's in every case. Kim & Koh's scenarios set the initial window.
const OPTIONS: &[(&str, &str)] = &[(LargeInitialWindow::NAME, "initial_window={ packets = 10 }")];

impl Case {
    /// Returns the overrides of the scenario file for a policy.
    #[must_use]
    pub fn overrides(&self, policy: &str) -> Vec<String> {
        let mut overrides: Vec<String> = self.conditions.iter().map(|&set| set.to_owned()).collect();
        overrides.push(format!("sctp.{}.handover_policy={policy}", self.profile));
        for (_, option) in OPTIONS.iter().filter(|(of, _)| *of == policy) {
            overrides.push(format!("sctp.{}.policy.{option}", self.profile));
        }
        overrides.push(format!(
            "sctp.{}.policy.truth=[{{ address = \"{}\", available = \"{}\", rtt = \"{}\" }}]",
            self.profile, self.address, self.free, self.rtt
        ));
        overrides
    }
}

const TO_WLAN: ScenarioFile = scenario_file!("kim-koh/3g-to-wlan.toml");
const TO_3G: ScenarioFile = scenario_file!("kim-koh/wlan-to-3g.toml");
/// The other papers' links, between two addresses of one association.
const TWO_PATHS: ScenarioFile = scenario_file!("compare/two-paths.toml");
/// Both directions of Kim & Koh: 11 Mbps and 70 ms, 384 kbps and 230 ms.
const WLAN_RTT: Span = Span::from_millis(70);
const CELL_RTT: Span = Span::from_millis(230);

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        name: "3G → WLAN, idle",
        paper: "kim-koh",
        words: "384 kbps to 11 Mbps, no background",
        file: TO_WLAN,
        conditions: &["app.background.start=action"],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(11_000),
        rtt: WLAN_RTT,
    },
    Case {
        name: "3G → WLAN, 40 %",
        paper: "kim-koh",
        words: "384 kbps to 11 Mbps, 40 % of it taken by UDP",
        file: TO_WLAN,
        conditions: &["app.background.rate=4400kbps"],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(6_600),
        rtt: WLAN_RTT,
    },
    Case {
        name: "3G → WLAN, 80 %",
        paper: "kim-koh",
        words: "384 kbps to 11 Mbps, 80 % of it taken by UDP",
        file: TO_WLAN,
        conditions: &["app.background.rate=8800kbps"],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(2_200),
        rtt: WLAN_RTT,
    },
    Case {
        name: "WLAN → 3G, idle",
        paper: "kim-koh",
        words: "11 Mbps to 384 kbps, no background",
        file: TO_3G,
        conditions: &["app.background.start=action"],
        profile: "cn",
        address: "10.0.1.2",
        free: Rate::from_kbps(384),
        rtt: CELL_RTT,
    },
    Case {
        name: "WLAN → 3G, 40 %",
        paper: "kim-koh",
        words: "11 Mbps to 384 kbps, 40 % of it taken by UDP",
        file: TO_3G,
        conditions: &["app.background.rate=153600bps"],
        profile: "cn",
        address: "10.0.1.2",
        free: Rate::from_bps(230_400),
        rtt: CELL_RTT,
    },
    Case {
        name: "WLAN → 3G, 80 %",
        paper: "kim-koh",
        words: "11 Mbps to 384 kbps, 80 % of it taken by UDP",
        file: TO_3G,
        conditions: &["app.background.rate=307200bps"],
        profile: "cn",
        address: "10.0.1.2",
        free: Rate::from_bps(76_800),
        rtt: CELL_RTT,
    },
    // One hop of 500 kbps and 200 ms to either agent, and 200 ms to the correspondent: 802 ms and more.
    Case {
        name: "agent → agent",
        paper: "fu-atiquzzaman",
        words: "500 kbps to 500 kbps, a round trip of 802 ms",
        file: TWO_PATHS,
        conditions: &[
            "link.old.rate=500kbps",
            "link.old.delay=400ms",
            "link.new.rate=500kbps",
            "link.new.delay=400ms",
        ],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(500),
        rtt: Span::from_millis(802),
    },
    Case {
        name: "CS1 → CS3",
        paper: "afif",
        words: "3 PDCHs of an EGPRS cell, from CS1 to CS3 in the next, a round trip of 602 ms",
        file: TWO_PATHS,
        conditions: &[
            "link.old.rate=24kbps",
            "link.old.delay=300ms",
            "link.old.queue={ packets = 10 }",
            "link.new.rate=43200bps",
            "link.new.delay=300ms",
            "link.new.queue={ packets = 10 }",
        ],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_bps(43_200),
        rtt: Span::from_millis(602),
    },
    Case {
        name: "LTE → WLAN",
        paper: "park-jang",
        words: "1 Mbps and 200 ms to 10 Mbps and 20 ms with 1 % wireless losses",
        file: TWO_PATHS,
        conditions: &["link.new.forward.loss=0.01"],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(10_000),
        rtt: Span::from_millis(42),
    },
    Case {
        name: "WLAN → LTE",
        paper: "park-jang",
        words: "10 Mbps and 20 ms to 1 Mbps and 200 ms",
        file: TWO_PATHS,
        conditions: &[
            "link.old.rate=10Mbps",
            "link.old.delay=20ms",
            "link.new.rate=1Mbps",
            "link.new.delay=200ms",
        ],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(1_000),
        rtt: Span::from_millis(402),
    },
    Case {
        name: "to lc, 1 TCP",
        paper: "eklund",
        words: "1 Mbps to 6 Mbps with a round trip of 302 ms, where a TCP transfer runs",
        file: TWO_PATHS,
        conditions: &[
            "link.old.delay=50ms",
            "link.new.rate=6Mbps",
            "link.new.delay=150ms",
            "link.new.queue={ bytes = 225000 }",
            "app.first-file.start=5s",
        ],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(3_000),
        rtt: Span::from_millis(302),
    },
    Case {
        name: "to hc, 2 TCP",
        paper: "eklund",
        words: "1 Mbps to 45 Mbps with a round trip of 42 ms, where two TCP transfers run",
        file: TWO_PATHS,
        conditions: &[
            "link.old.delay=50ms",
            "link.new.rate=45Mbps",
            "link.new.delay=20ms",
            "link.new.queue={ bytes = 225000 }",
            "app.first-file.start=5s",
            "app.second-file.start=5s",
        ],
        profile: "cn",
        address: "10.0.2.2",
        free: Rate::from_kbps(15_000),
        rtt: Span::from_millis(42),
    },
];
