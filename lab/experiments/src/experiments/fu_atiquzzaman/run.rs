//! Carries out one run: builds the scenario from its key, simulates it, extracts the measurements.

use msctp_sim::Summary;
use msctp_sim::summary::MobileSummary;

use super::flow::Flow;
use super::grid::{Blocks, BlocksKey, GridKey, MicroscopeKey, PLOTTED, Protocol, Sender};
use super::measure::{GridRun, Handover, Microscope, SEGMENT_BYTES};
use super::parameters::{FILE, Frozen, Parameters};
use crate::again::Ways;
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::world::World;

/// Scenario of the grid, in which a mobile changes its agent twice.
pub const MOBILE_IP: ScenarioFile = scenario_file!("fu-atiquzzaman/mobile-ip.toml");
const MICROSCOPE_TCP: ScenarioFile = scenario_file!("fu-atiquzzaman/microscope-tcp.toml");
const MICROSCOPE_SCTP: ScenarioFile = scenario_file!("fu-atiquzzaman/microscope-sctp.toml");
const BLOCKS_TCP: ScenarioFile = scenario_file!("fu-atiquzzaman/blocks-tcp.toml");
const BLOCKS_SCTP: ScenarioFile = scenario_file!("fu-atiquzzaman/blocks-sctp.toml");

/// All scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 6] =
    [MOBILE_IP, FILE, MICROSCOPE_TCP, MICROSCOPE_SCTP, BLOCKS_TCP, BLOCKS_SCTP];

/// Returns the overrides of the scenario for a run of the grid with these free parameters.
#[must_use]
pub fn grid_overrides(key: &GridKey, parameters: &Parameters) -> Vec<String> {
    let mut overrides = parameters.overrides();
    overrides.push(format!("link.core.rate={}bps", key.wired));
    for cell in ["cell-ha", "cell-fa"] {
        overrides.push(format!("link.{cell}.rate={}bps", key.wireless));
    }
    // SCTP starts by default; start another protocol in its place.
    if key.protocol != Protocol::Sctp {
        overrides.push("association.sctp.start=200s".to_owned());
        overrides.push(format!("tcp.{}.start=0s", key.protocol.slug()));
    }
    overrides
}

/// Returns only the segments delivered in a run of the grid.
///
/// # Errors
/// The scenario is invalid.
pub fn delivered(world: &dyn World, key: &GridKey, parameters: &Parameters) -> Result<u64, String> {
    let (summary, _) = MOBILE_IP.simulate(world, &grid_overrides(key, parameters), key.seed)?;
    segments_of(&summary, key.protocol.slug())
}

/// Returns the segments delivered to the server's application of this connection or association.
fn segments_of(summary: &Summary, name: &str) -> Result<u64, String> {
    let tcp = summary.tcp.iter().find(|it| it.name == name).map(|it| it.to_server.bytes);
    let sctp = || summary.associations.iter().find(|it| it.name == name).map(|it| it.to_server.bytes);
    let bytes = tcp.or_else(sctp).ok_or_else(|| format!("the scenario has nothing called {name}"))?;
    Ok(bytes / u64::from(SEGMENT_BYTES))
}

/// Runs a cell of the grid with the frozen parameters.
///
/// # Errors
/// The scenario is invalid, or the transfer did not last to the end.
pub fn grid(world: &dyn World, key: &GridKey, ways: &Ways) -> Result<GridRun, String> {
    let frozen = Frozen::committed()?;
    let mut overrides = grid_overrides(key, &frozen.parameters);
    overrides.extend(["probes.trace=true".to_owned(), "probes.chunks=true".to_owned()]);
    overrides.extend(ways.overrides(MOBILE_IP.path));
    let (summary, series) = MOBILE_IP.simulate(world, &overrides, key.seed)?;
    let flow = Flow::of(key.protocol.slug(), &summary, &series)?;
    let mobile = summary.mobile_ip.as_ref().and_then(|world| world.mobiles.first());
    let mobile = mobile.ok_or("the scenario has no mobile")?;
    let absences = absences(mobile, f64::from(frozen.parameters.advertisement_lifetime_s));
    Ok(GridRun {
        delivered: flow.delivered,
        retransmitted: flow.retransmitted,
        timeouts: flow.timeouts.len() as u64,
        fast_retransmits: flow.fast_retransmits.len() as u64,
        handovers: absences.iter().filter_map(|&absence| handover(&flow, absence)).collect(),
        losses: flow.lost().iter().map(|sent| sent.at).collect(),
        plot: is_drawn(key).then(|| microscope_of(flow)),
    })
}

/// Returns true for one run of each cell with a plotted handover.
fn is_drawn(key: &GridKey) -> bool {
    key.protocol == Protocol::Reno && key.seed == 1 && PLOTTED.contains(&(key.wired, key.wireless))
}

fn microscope_of(flow: Flow) -> Microscope {
    Microscope {
        lost: flow.lost().iter().filter(|sent| !sent.retransmission).map(|sent| sent.segment).collect(),
        sent: flow.sent,
        acknowledged: flow.acknowledged,
        timeouts: flow.timeouts,
        fast_retransmits: flow.fast_retransmits,
        most_blocks: flow.most_blocks,
    }
}

/// Returns two times for each change of agent: the old agent's last advertisement, and the registration with
/// the new agent. The mobile drops an agent when its advertisement has expired after `valid` seconds. It may
/// then receive none for a while.
fn absences(mobile: &MobileSummary, valid: f64) -> Vec<(f64, f64)> {
    let mut earlier = 0.0;
    let mut absences = Vec::new();
    for change in &mobile.handovers {
        let alone = mobile.lost.iter().copied().find(|&at| at > earlier && at <= change.at);
        let begins = alone.unwrap_or(change.at) - valid;
        earlier = change.at;
        absences.extend(change.registered.map(|registered| (begins, registered)));
    }
    absences
}

/// Measures the effect of a handover on a sender.
fn handover(flow: &Flow, (from, registered): (f64, f64)) -> Option<Handover> {
    let before = flow.acknowledged.partition_point(|&(at, _)| at < registered);
    let (_, next) = *flow.acknowledged.get(before.checked_sub(1)?)?;
    let to = flow.acknowledged[before..].iter().find(|&&(_, later)| later > next)?.0;
    let within = |times: &[f64], end: f64| times.iter().filter(|&&at| at >= from && at <= end).count() as u64;
    let rto = flow.rto_at(from)?;
    let lost: Vec<_> = flow.lost().into_iter().filter(|sent| sent.at >= from && sent.at <= to).collect();
    let highest = lost.iter().map(|sent| sent.segment).max();
    let repaired = highest.and_then(|highest| flow.acknowledged.iter().find(|&&(_, later)| later > highest));
    let end = repaired.map_or(to, |&(at, _)| at.max(to));
    let first_timeout = flow.timeouts.iter().find(|&&at| at >= from && at <= end);
    let after = |at: f64| flow.windows.iter().find(|&&(time, _)| time >= at).map(|&(_, window)| window);
    Some(Handover {
        from,
        to,
        outage: registered - from,
        rto,
        lost: lost.len() as u64,
        timeouts: within(&flow.timeouts, end),
        fast_retransmits: within(&flow.fast_retransmits, end),
        window_after_timeout: first_timeout.and_then(|&at| after(at)),
    })
}

/// Number of the first lost segment of the microscope, from 0: late enough for a full window.
const FIRST_LOST: u64 = 200;

/// Number of packets without data before the first data: SYN and ACK, or INIT and COOKIE ECHO.
const HANDSHAKE: u64 = 2;

/// Returns the scenario of a run of the microscope, and its overrides.
#[must_use]
pub fn microscope_scenario(key: &MicroscopeKey) -> (ScenarioFile, Vec<String>) {
    let packets: Vec<String> =
        key.offsets().iter().map(|offset| (HANDSHAKE + FIRST_LOST + offset).to_string()).collect();
    let mut overrides = vec![format!("link.radio.forward.loss={{ packets = [{}] }}", packets.join(", "))];
    if key.protocol == Protocol::Reno {
        let reno = ["recovery=reno", "timestamps=false", "mss=948"];
        overrides.extend(reno.map(|set| format!("tcp-profile.sender.{set}")));
    }
    if key.sender != Sender::Rfc6675 {
        overrides.push("tcp-profile.sender.counted_pipe=true".to_owned());
    }
    if key.sender == Sender::FallFloydUnlimited {
        overrides.push("tcp-profile.receiver.sack_limit=unlimited".to_owned());
    }
    let file = if key.protocol == Protocol::Sctp { MICROSCOPE_SCTP } else { MICROSCOPE_TCP };
    (file, overrides)
}

/// Runs the microscope.
///
/// # Errors
/// Same as [`grid`].
pub fn microscope(world: &dyn World, key: &MicroscopeKey, ways: &Ways) -> Result<Microscope, String> {
    let (file, mut overrides) = microscope_scenario(key);
    overrides.extend(ways.overrides(file.path));
    let (summary, series) = file.simulate(world, &overrides, 1)?;
    Ok(microscope_of(Flow::of("upload", &summary, &series)?))
}

/// Returns the scenario of a run of the sweep, and its overrides.
#[must_use]
pub fn blocks_scenario(key: &BlocksKey) -> (ScenarioFile, Vec<String>) {
    let (file, limit) = match key.protocol {
        Protocol::Sctp => (BLOCKS_SCTP, "sctp.receiver.max_gap_blocks"),
        Protocol::Reno | Protocol::Sack => (BLOCKS_TCP, "tcp-profile.receiver.sack_limit"),
    };
    // Both files have no limit.
    let overrides = match key.blocks {
        Blocks::AtMost(blocks) => vec![format!("{limit}={blocks}")],
        Blocks::Unlimited => Vec::new(),
    };
    (file, overrides)
}

/// Returns the segments delivered with a limit of blocks.
///
/// # Errors
/// Same as [`grid`].
pub fn blocks(world: &dyn World, key: &BlocksKey, ways: &Ways) -> Result<u64, String> {
    let (file, mut overrides) = blocks_scenario(key);
    overrides.extend(ways.overrides(file.path));
    let (summary, _) = file.simulate(world, &overrides, key.seed)?;
    segments_of(&summary, "upload")
}

#[cfg(test)]
mod tests {
    use msctp_sim::scenario::Scenario;
    use msctp_sim::summary::MobileHandoverSummary;

    use super::super::grid::{Extent, LossSet};
    use super::*;
    use crate::metrics::{Results, Wanted};
    use crate::world::Simulator;

    #[test]
    fn all_protocols_of_a_cell_have_the_parameters_of_the_fit() {
        let frozen = Frozen::committed().unwrap().parameters;
        let fitted = GridKey { wired: 54_000, wireless: 384_000, protocol: Protocol::Reno, seed: 1 };
        let is_transport = |set: &String| set.contains(".start=");
        let network = |key: &GridKey| -> Vec<String> {
            grid_overrides(key, &frozen).into_iter().filter(|set| !is_transport(set)).collect()
        };
        for protocol in Protocol::ALL {
            assert_eq!(network(&GridKey { protocol, ..fitted }), network(&fitted), "{}", protocol.words());
        }
        assert!(frozen.overrides().iter().all(|set| network(&fitted).contains(set)));
    }

    #[test]
    fn a_cell_runs_under_every_protocol_and_changes_the_agent_twice() {
        for protocol in Protocol::ALL {
            let key = GridKey { wired: 54_000, wireless: 1_000_000, protocol, seed: 1 };
            let run = grid(&Simulator, &key, &Ways::default()).unwrap();
            assert!(run.delivered > 100, "{key}: {run:?}");
            assert_eq!(
                delivered(&Simulator, &key, &Frozen::committed().unwrap().parameters).unwrap(),
                run.delivered,
                "{key}"
            );
            assert!(run.handovers.len() >= 2, "{key}: {:?}", run.handovers);
        }
    }

    #[test]
    fn the_microscope_loses_exactly_the_six() {
        for key in Extent::QUICK.microscope() {
            let run = microscope(&Simulator, &key, &Ways::default()).unwrap();
            let wanted = key.offsets().map(|offset| FIRST_LOST + offset);
            assert_eq!(run.lost, wanted, "{key}");
            assert!(run.repair().is_some(), "{key}");
        }
    }

    /// RFC 6675's rescue retransmission, of a segment that arrived, does not count as a repair.
    #[test]
    fn the_metric_of_the_atlas_is_the_repair_of_the_report() {
        for protocol in [Protocol::Sack, Protocol::Sctp] {
            let key = MicroscopeKey::drawn(LossSet::Same, protocol);
            let (file, overrides) = microscope_scenario(&key);
            let scenario = Scenario::from_toml(file.text, file.path, &overrides).unwrap();
            let (summary, series) = file.simulate(&Simulator, &overrides, 1).unwrap();
            let results = Results { scenario: &scenario, summary: &summary, series: &series };
            let found = Wanted::parse("flow.repair:upload").unwrap().value(&results).unwrap();
            let report = microscope(&Simulator, &key, &Ways::default()).unwrap().repair().unwrap().span();
            assert!((found - report).abs() < 1e-9, "{key}: {found} and {report}");
        }
    }

    #[test]
    fn a_handover_starts_at_the_last_advertisement_of_the_old_agent() {
        let change = |at, registered| MobileHandoverSummary {
            at,
            registered,
            to: String::new(),
            requests: None,
            gap: None,
        };
        let mobile = MobileSummary {
            name: String::new(),
            handovers: vec![change(71.0, Some(72.0)), change(100.0, None), change(173.0, Some(174.0))],
            renewals: 0,
            denied: 0,
            lost: vec![172.0],
        };
        assert_eq!(absences(&mobile, 3.0), [(68.0, 72.0), (169.0, 174.0)]);
    }

    #[test]
    fn acknowledgments_obey_the_limit_of_blocks() {
        for (protocol, most) in [(Protocol::Sack, 3), (Protocol::Sctp, 5)] {
            let key = MicroscopeKey::drawn(LossSet::Same, protocol);
            assert_eq!(microscope(&Simulator, &key, &Ways::default()).unwrap().most_blocks, most, "{key}");
        }
    }
}
