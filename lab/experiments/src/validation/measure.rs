//! Runs a case and extracts its figures.

use std::collections::BTreeMap;

use msctp_proto::{Direction, TraceKind};
use msctp_sim::scenario::Scenario;
use msctp_sim::series::TraceSeries;
use msctp_sim::summary::FlowSummary;
use msctp_sim::{Series, Simulation, Summary};
use msctp_units::Time;

use super::metric::Metric;
use super::tcp;

/// Time of the handover in case e.
const HANDOVER: Time = Time::from_nanos(30_000_000_000);

/// The figures of a run. A time that was not reached is absent.
pub type Figures = BTreeMap<Metric, f64>;

/// Runs a scenario with one association or TCP connection and extracts its figures.
///
/// # Errors
/// The scenario cannot be run, or the association or connection ended early.
pub(super) fn run(scenario: &Scenario, seed: u64) -> Result<Figures, String> {
    let mut simulation = Simulation::new(scenario, Some(seed)).map_err(|e| e.to_string())?;
    simulation.run_until(HANDOVER.min(simulation.end()));
    let before = delivered(&simulation.summary())?;
    simulation.run();
    let summary = simulation.summary();
    let mut figures = from_summary(&summary, before)?;
    if scenario.probes.chunks {
        let series = simulation.into_series();
        match scenario.tcp.is_empty() {
            true => from_series(&series, scenario, &mut figures)?,
            false => tcp::from_series(&series, scenario, &mut figures)?,
        }
    }
    Ok(figures)
}

fn delivered(summary: &Summary) -> Result<u64, String> {
    if !summary.tcp.is_empty() {
        return tcp::delivered(summary);
    }
    let association = summary.associations.first().ok_or("the scenario has no association")?;
    match &association.ended {
        Some(why) => Err(format!("the association ended: {why}")),
        None => Ok(association.to_server.bytes),
    }
}

fn from_summary(summary: &Summary, before: u64) -> Result<Figures, String> {
    let bytes = delivered(summary)?;
    let seconds_after = summary.duration - HANDOVER.as_secs_f64();
    let drops = summary.links.iter().filter(|link| link.name.ends_with("/forward")).map(|l| l.queue_drops);
    let mut figures = Figures::from([
        (Metric::Goodput, bytes as f64 * 8.0 / summary.duration / 1e3),
        (Metric::GoodputAfter30, (bytes - before) as f64 * 8.0 / seconds_after / 1e3),
        (Metric::DeliveredBytes, bytes as f64),
        (Metric::QueueDrops, drops.sum::<u64>() as f64),
    ]);
    figures.extend(match summary.associations.first() {
        Some(association) => counters(&association.to_server),
        None => tcp::counters(summary),
    });
    Ok(figures)
}

fn counters(flow: &FlowSummary) -> Figures {
    Figures::from([
        (Metric::Rtx, flow.retransmitted as f64),
        (Metric::AckPackets, flow.sacks as f64),
        (Metric::Timeouts, flow.timeouts as f64),
        (Metric::FastRtxEvents, flow.fast_retransmits as f64),
    ])
}

/// Extracts the figures that need the trace of single chunks.
fn from_series(series: &Series, scenario: &Scenario, figures: &mut Figures) -> Result<(), String> {
    let side = |side: &str| {
        series.traces.iter().find(|trace| trace.side == side).ok_or(format!("no trace of the {side}"))
    };
    let Some((first_sent, first_tsn, bytes)) = first_data(side("client")?) else { return Ok(()) };
    let access = scenario.links[0].forward.plain().ok_or("the access link is not plain")?;
    let at_router = first_sent + access.rate.time_for(wire_len(bytes)) + access.delay;
    figures.insert(Metric::FirstData, at_router.as_secs_f64());
    let acked = acknowledged(side("server")?, first_tsn);
    for metric in Metric::ALL {
        if let Metric::TCum(packets) = metric
            && let Some(&(at, _)) = acked.iter().find(|&&(_, acked)| acked >= packets)
        {
            figures.insert(metric, at.as_secs_f64());
        }
    }
    Ok(())
}

/// Returns the bytes of an IPv4 packet with one DATA chunk and this much user data (RFC 791, RFC 9260 §3,
/// §3.3.1).
fn wire_len(user: u32) -> u64 {
    20 + 12 + 16 + u64::from(user).next_multiple_of(4)
}

/// Returns the time of the first DATA chunk, its TSN and its user bytes.
fn first_data(sender: &TraceSeries) -> Option<(Time, u32, u32)> {
    sender.chunks.iter().find_map(|event| match event.kind {
        TraceKind::Data { direction: Direction::Out, tsn, len, .. } => Some((event.at, tsn, len)),
        _ => None,
    })
}

/// Returns the time of each SACK sent, and the number of packets that it acknowledges in order.
fn acknowledged(receiver: &TraceSeries, first_tsn: u32) -> Vec<(Time, u32)> {
    let sacks = receiver.chunks.iter().filter_map(|event| match event.kind {
        TraceKind::Sack { direction: Direction::Out, cum_tsn_ack, .. } => {
            Some((event.at, cum_tsn_ack.wrapping_sub(first_tsn).wrapping_add(1)))
        }
        _ => None,
    });
    sacks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::{case, reference};

    fn scenario(overrides: &[&str]) -> Scenario {
        let cases = case::cases(reference::committed().unwrap()).unwrap();
        let mut a = cases[0].clone();
        a.overrides.extend(overrides.iter().map(|&o| o.to_owned()));
        a.scenario(case::Ways::Rfcs).unwrap()
    }

    #[test]
    fn figures_agree_with_each_other_and_with_arithmetic() {
        let figures = run(&scenario(&["duration=2s", "app.file.start=500ms"]), 1).unwrap();
        let of = |metric| figures[&metric];
        let bytes = of(Metric::DeliveredBytes);
        assert!(bytes > 1e6 && bytes % 1452.0 == 0.0);
        assert!((of(Metric::Goodput) - bytes * 8.0 / 2.0 / 1e3).abs() < 1e-6);
        // 1500 bytes at 100 Mbps, then 15 ms.
        assert!((of(Metric::FirstData) - 0.515_12).abs() < 1e-9);
        // 1500 bytes at 11 Mbps and 20 ms more, then nine packets in at least one round trip of 70 ms.
        assert!(of(Metric::TCum(10)) > of(Metric::FirstData) + 0.02 + 0.07);
        assert!(of(Metric::TCum(10)) < of(Metric::TCum(100)));
        assert!(!figures.contains_key(&Metric::TCum(10_000)), "not reached in 2 s");
        assert_eq!(of(Metric::Rtx) + of(Metric::QueueDrops) + of(Metric::Timeouts), 0.0);
        assert!(of(Metric::AckPackets) >= bytes / 1452.0 / 2.0);
    }

    #[test]
    fn losses_appear_in_the_counters() {
        let figures = run(&scenario(&["duration=10s", "link.bottleneck.forward.loss=0.01"]), 1).unwrap();
        let rtx = figures[&Metric::Rtx];
        assert!(rtx > 0.0 && figures[&Metric::FastRtxEvents] > 0.0);
        assert!(rtx <= figures[&Metric::DeliveredBytes] / 1452.0 * 0.05);
    }

    #[test]
    fn goodput_after_the_handover_is_computed_separately() {
        let figures = run(&scenario(&["duration=40s", "app.file.start=30s"]), 1).unwrap();
        let (all, after) = (figures[&Metric::Goodput], figures[&Metric::GoodputAfter30]);
        assert!((all * 40.0 - after * 10.0).abs() < 1e-6, "{all} {after}");
    }
}
