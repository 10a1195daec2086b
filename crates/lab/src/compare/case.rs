//! The ground the policies are compared on: handovers from the papers' scenarios. A new case is an entry of [`CASES`].

use msctp_units::{Rate, Span};

use crate::scenario_file::{ScenarioFile, scenario_file};

/// A handover under one set of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Short and unique, as in tables.
    pub name: &'static str,
    /// The paper whose scenario it is.
    pub paper: &'static str,
    /// The conditions in words.
    pub words: &'static str,
    /// The scenario.
    pub file: ScenarioFile,
    /// What makes the conditions, as `--set` takes it.
    pub conditions: &'static [&'static str],
    /// The SCTP profile whose handover policy is replaced: the sender's.
    pub profile: &'static str,
    /// The address of the new path by which the oracle knows it.
    pub address: &'static str,
    /// What other traffic leaves of the new path. Traffic that gives way counts as sharing equally.
    pub free: Rate,
    /// The new path's round-trip time without queues.
    pub rtt: Span,
}

impl Case {
    /// What replaces values of the scenario file for a policy.
    #[must_use]
    pub fn overrides(&self, policy: &str) -> Vec<String> {
        let mut overrides: Vec<String> = self.conditions.iter().map(|&set| set.to_owned()).collect();
        overrides.push(format!("sctp.{}.handover_policy={policy}", self.profile));
        overrides.push(format!(
            "sctp.{}.policy.truth=[{{ address = \"{}\", available = \"{}\", rtt = \"{}\" }}]",
            self.profile, self.address, self.free, self.rtt
        ));
        overrides
    }
}

const TO_WLAN: ScenarioFile = scenario_file!("kim-koh/3g-to-wlan.toml");
const TO_3G: ScenarioFile = scenario_file!("kim-koh/wlan-to-3g.toml");
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
];
