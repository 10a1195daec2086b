//! The cases: the scenario file and overrides for each network and transport of the reference.

use std::fmt;

use msctp_sim::scenario::{Scenario, ScenarioError};

use super::metric::Metric;
use super::reference::Row;
use super::tcp;

const DUMBBELL: (&str, &str) =
    ("scenarios/validation/dumbbell.toml", include_str!("../../../../scenarios/validation/dumbbell.toml"));
const TCP: (&str, &str) =
    ("scenarios/validation/tcp.toml", include_str!("../../../../scenarios/validation/tcp.toml"));
const HANDOVER: (&str, &str) =
    ("scenarios/validation/handover.toml", include_str!("../../../../scenarios/validation/handover.toml"));

/// The transport's behaviour where the RFCs and ns-2 differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ways {
    /// Behaviour of the RFCs.
    Rfcs,
    /// Behaviour of ns-2, as far as options can express it.
    Ns2,
}

impl Ways {
    /// Both behaviours, the RFCs' first.
    pub const ALL: [Self; 2] = [Self::Rfcs, Self::Ns2];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Rfcs => "the RFCs",
            Self::Ns2 => "ns-2's ways",
        }
    }
}

/// A network and a transport of the reference, with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Network, such as `c_wlan_loss0.01`.
    pub name: String,
    /// Transport, such as `stock_big`.
    pub parameters: String,
    /// Number of runs, with seeds from 1.
    pub seeds: u64,
    /// Path of the scenario file from the repository's root.
    pub file: &'static str,
    /// Text of the scenario file.
    text: &'static str,
    /// Overrides of the scenario.
    pub overrides: Vec<String>,
    /// Further overrides for ns-2's behaviour.
    pub ns2_overrides: Vec<String>,
    /// The reference's figures.
    pub reference: Vec<Row>,
}

/// The error of a reference with a case that has no scenario.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("ns2.csv has no row for case {case} with {parameters}")]
pub struct UnknownCase {
    case: String,
    parameters: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.parameters)
    }
}

impl Case {
    /// Returns the scenario to run.
    ///
    /// # Errors
    /// The file or an override is invalid.
    pub fn scenario(&self, ways: Ways) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::from_toml(self.text, self.file, &self.overrides(ways))?;
        let chunks = self.reference.iter().any(|row| row.metric.needs_chunks());
        scenario.probes.trace |= chunks;
        scenario.probes.chunks |= chunks;
        Ok(scenario)
    }

    /// Returns all overrides of a run.
    #[must_use]
    pub fn overrides(&self, ways: Ways) -> Vec<String> {
        let mut overrides = self.overrides.clone();
        if ways == Ways::Ns2 {
            overrides.extend_from_slice(&self.ns2_overrides);
        }
        overrides
    }

    /// Returns the command that repeats a run.
    #[must_use]
    pub fn command(&self, ways: Ways) -> String {
        let quoted = |text: &str| {
            if text.contains([' ', '{', '"', '[']) { format!("'{text}'") } else { text.to_owned() }
        };
        let sets = self.overrides(ways).iter().map(|o| format!(" --set {}", quoted(o))).collect::<String>();
        format!("msctp-lab sim {}{sets}", self.file)
    }

    /// Returns the metrics of the reference, in its order.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> + '_ {
        self.reference.iter().map(|row| row.metric)
    }

    /// Returns true if the transport is TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.file == TCP.0
    }

    /// Returns true if `--case NAME` selects this case. A name is a case (`c_wlan_loss0.01`), the letters
    /// before its `_` (`c`, `c_wlan`), a case with parameters (`a stock_big`, `a reno w718`), or a case with
    /// a TCP (`a reno`).
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        let under = |whole: &str| {
            whole.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let whole = self.to_string();
        let of_protocol =
            name.contains(' ') && whole.strip_prefix(name).is_some_and(|rest| rest.starts_with(" w"));
        under(&self.name) || whole == name || of_protocol
    }
}

/// Builds the cases of a reference, in its order.
///
/// # Errors
/// A case has no scenario. The error names the first.
pub(super) fn cases(rows: Vec<Row>) -> Result<Vec<Case>, UnknownCase> {
    let mut cases: Vec<Case> = Vec::new();
    for row in rows {
        let known = cases.iter_mut().find(|c| c.name == row.case && c.parameters == row.parameters);
        if let Some(case) = known {
            case.reference.push(row);
            continue;
        }
        let unknown = || UnknownCase { case: row.case.clone(), parameters: row.parameters.clone() };
        let network = network(&row.case, &row.parameters).ok_or_else(unknown)?;
        let tcp = tcp::transport(&row.case, &row.parameters);
        let is_tcp = tcp.is_some();
        let transport = tcp.or_else(|| transport(&row.parameters)).ok_or_else(unknown)?;
        let file = if is_tcp { TCP } else { network.file };
        let sctp_ways = || ns2_ways(network.data_from, &row.parameters);
        cases.push(Case {
            name: row.case.clone(),
            parameters: row.parameters.clone(),
            seeds: row.seeds,
            file: file.0,
            text: file.1,
            overrides: [network.overrides, transport].concat(),
            ns2_overrides: if is_tcp { tcp::ns2_ways() } else { sctp_ways() },
            reference: vec![row],
        });
    }
    Ok(cases)
}

struct Network {
    file: (&'static str, &'static str),
    overrides: Vec<String>,
    /// Time at which ns-2's sender begins to send data: the first packet's time in its trace, less the delay
    /// of the first link.
    data_from: &'static str,
}

fn owned(overrides: &[&str]) -> Vec<String> {
    overrides.iter().map(|&o| o.to_owned()).collect()
}

const NARROW: [&str; 2] = ["link.bottleneck.rate=384kbps", "link.bottleneck.delay=100ms"];

fn network(case: &str, parameters: &str) -> Option<Network> {
    let dumbbell = |data_from, overrides: &[&str]| {
        Some(Network { file: DUMBBELL, overrides: owned(overrides), data_from })
    };
    let [rate, delay] = NARROW;
    let first_hop = |rate, delay| {
        [
            "link.access.rate=20Mbps",
            "link.access.delay=10ms",
            "link.access.forward.loss=0.01",
            rate,
            delay,
            "duration=200s",
        ]
    };
    match case {
        "a" => dumbbell("210239us", &[]),
        "b" => dumbbell("696190us", &NARROW),
        "c_wlan_loss0.001" => dumbbell("210239us", &["link.bottleneck.forward.loss=0.001"]),
        "c_wlan_loss0.01" => dumbbell("210239us", &["link.bottleneck.forward.loss=0.01"]),
        "c_3g_loss0.001" => dumbbell("696190us", &[rate, delay, "link.bottleneck.forward.loss=0.001"]),
        "c_3g_loss0.01" => dumbbell("696190us", &[rate, delay, "link.bottleneck.forward.loss=0.01"]),
        "g_wlan_cong1" => {
            dumbbell("180355us", &first_hop("link.bottleneck.rate=10Mbps", "link.bottleneck.delay=20ms"))
        }
        "g_lte_cong1" => {
            dumbbell("1262486us", &first_hop("link.bottleneck.rate=1Mbps", "link.bottleneck.delay=200ms"))
        }
        "e_3g2w" => {
            let (_, load) = parameters.split_once(" load=")?;
            let overrides = match load.parse::<f64>().ok()? {
                0.0 => vec!["app.load.start=action".to_owned()],
                load => vec![format!("app.load.rate={}bps", (load * 11e6).round())],
            };
            Some(Network { file: HANDOVER, overrides, data_from: "696190us" })
        }
        _ => None,
    }
}

fn transport(parameters: &str) -> Option<Vec<String>> {
    let big = ["sctp.default.receive_buffer=1048576", "sctp.default.initial_ssthresh=1048576"];
    let each = "sctp.default.sack_frequency=1";
    let (transport, _) = parameters.split_once(' ').unwrap_or((parameters, ""));
    match transport {
        "stock" | "cons_stock" => Some(Vec::new()),
        "stock_big" => Some(owned(&big)),
        "stock_nodelack" => Some(owned(&[each])),
        "stock_big_nodelack" => Some([owned(&big), owned(&[each])].concat()),
        _ => None,
    }
}

/// Returns the overrides for ns-2's behaviour, as far as options can express it.
///
/// - Data waits for a HEARTBEAT round trip to every destination: the source starts at the time of ns-2's.
/// - The peer's window is charged with whole chunks (1468 bytes) instead of user data (1452 bytes): the
///   buffer is scaled to take as many packets.
/// - Only a SACK that advances the Cumulative TSN Ack Point opens the congestion window (RFC 4960 §7.2).
/// - RTO.Initial 3 s and an initial window of 4380 bytes (RFC 4960); Max.Burst only after a fast retransmit.
fn ns2_ways(data_from: &str, parameters: &str) -> Vec<String> {
    let window: u32 = if parameters.starts_with("stock_big") { 1 << 20 } else { 1 << 16 };
    vec![
        format!("app.file.start={data_from}"),
        format!("sctp.default.receive_buffer={}", window / 1468 * 1452),
        "sctp.default.rto_initial=3s".to_owned(),
        "sctp.default.initial_window={bytes=4380}".to_owned(),
        "sctp.default.max_burst=0".to_owned(),
        "sctp.default.controller=rfc4960".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;

    fn committed() -> Vec<Case> {
        cases(reference::committed().unwrap()).unwrap()
    }

    #[test]
    fn every_case_of_the_reference_is_a_valid_scenario_both_ways() {
        let cases = committed();
        assert_eq!(cases.len(), 22 + 72);
        for case in &cases {
            for ways in Ways::ALL {
                let scenario = case.scenario(ways).unwrap_or_else(|e| panic!("{case}: {e}"));
                let name = match (case.is_tcp(), case.name.as_str()) {
                    (true, _) => "tcp",
                    (false, "e_3g2w") => "handover",
                    (false, _) => "dumbbell",
                };
                assert_eq!(scenario.name, name);
            }
        }
    }

    #[test]
    fn overrides_change_the_options_they_name() {
        let cases = committed();
        let find = |text: &str| {
            let case = cases.iter().find(|case| case.to_string() == text).unwrap();
            case.scenario(Ways::Rfcs).unwrap()
        };
        let lossy = find("c_3g_loss0.01 stock_big_nodelack");
        let link = lossy.links.iter().find(|link| link.name == "bottleneck").unwrap();
        assert_eq!(link.forward.plain().unwrap().rate.as_bps(), 384_000);
        assert_eq!(
            link.forward.plain().unwrap().loss,
            msctp_sim::scenario::LossConfig::Uniform { probability: 0.01 }
        );
        assert_eq!(link.reverse.plain().unwrap().loss, msctp_sim::scenario::LossConfig::None);
        let config = &lossy.sctp[0].config;
        assert_eq!((config.receive_buffer, config.sack_frequency), (1 << 20, 1));
        let idle = find("e_3g2w cons_stock load=0");
        assert!(idle.apps.iter().any(|app| app.name == "load" && app.start.is_none()));
    }

    #[test]
    fn a_name_selects_a_case_a_family_or_one_transport() {
        let cases = committed();
        let matching = |name: &str| cases.iter().filter(|case| case.matches_name(name)).count();
        assert_eq!(matching("a"), 4 + 18);
        assert_eq!(matching("a reno"), 6);
        assert_eq!(matching("a reno w718"), 1);
        assert_eq!(matching("c"), 6 + 24);
        assert_eq!(matching("c_3g"), 3 + 12);
        assert_eq!(matching("c_3g_loss0.01"), 2 + 9);
        assert_eq!(matching("a stock_big"), 1);
        assert_eq!(matching("e"), 4);
        assert_eq!(matching("c_3"), 0);
        assert_eq!(matching(""), 0);
    }

    #[test]
    fn a_case_without_a_scenario_is_named() {
        let text = "case,protocol,parameters,seeds,metric,mean,ci95\nz,sctp,stock,1,rtx,0,\n";
        let error = cases(reference::parse(text).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "ns2.csv has no row for case z with stock");
    }
}
