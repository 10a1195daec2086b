//! One run: from a key over the scenario file and the simulator to the numbers that are measured.

use msctp_lab_tcp::{TraceEvent, TraceKind};
use msctp_sim::Summary;
use msctp_sim::series::TcpTraceSeries;
use msctp_sim::summary::{LinkSummary, TcpFlowSummary, VerdictSummary};

use super::grid::{Cell, Losses, MicroscopeKey, Network, Scheme, TransferKey, Transport};
use super::measure::{Confusion, Event, EventKind, Microscope, Transfer};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// All scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 3] = [
    scenario_file!("park-jang/plain.toml"),
    scenario_file!("park-jang/microscope.toml"),
    scenario_file!("park-jang/handover.toml"),
];

/// User bytes of a TCP segment.
const SEGMENT: u64 = super::grid::SEGMENT_BYTES as u64;

/// What makes the sender of a scenario this one: profile keys of TCP and SCTP.
#[must_use]
pub fn sender_overrides(transport: Transport, scheme: Scheme, end: &str) -> Vec<String> {
    let told = scheme != Scheme::Standard;
    let mut overrides = Vec::new();
    let profile = match transport {
        Transport::Sctp => "sctp.sender",
        Transport::Reno | Transport::Sack => "tcp-profile.sender",
    };
    if transport != Transport::Sctp {
        overrides.push(format!("{profile}.recovery={}", transport.slug()));
    } else {
        overrides.push(format!("tcp.transfer.start={end}"));
        overrides.push("association.sctp-transfer.start=0s".to_owned());
    }
    if told {
        overrides.push(format!("{profile}.loss_classifier=park-jang"));
        overrides.push(format!("{profile}.frto=true"));
        overrides.push(format!("{profile}.restart_rtt_after_spurious=true"));
    }
    if scheme == Scheme::Previous {
        overrides.push(format!("{profile}.delay_response=true"));
    }
    overrides
}

/// The wireless network and the losses of a cell, for `plain.toml`.
#[must_use]
pub fn cell_overrides(cell: Cell) -> Vec<String> {
    let (wire, air) = match (cell.losses, cell.network) {
        (Losses::Congestion, _) => (0.01, 0.0),
        (Losses::Wireless, Network::Wlan) => (0.0, 0.01),
        (Losses::Wireless, Network::Lte) => (0.0, 0.05),
        // A fifth of 1 % is the radio's.
        (Losses::Mixed, _) => (0.008, 0.002),
    };
    vec![
        format!("link.radio.rate={}", cell.network.rate()),
        format!("link.radio.delay={}", cell.network.delay()),
        format!("link.wire.forward.loss={wire:?}"),
        format!("link.radio.forward.loss={air:?}"),
    ]
}

/// Runs one transfer of Fig. 3.
///
/// # Errors
/// What is wrong with the scenario, or that the transfer did not come to be.
pub fn transfer(key: &TransferKey) -> Result<Transfer, String> {
    let mut overrides = cell_overrides(key.cell);
    overrides.extend(sender_overrides(key.transport, key.scheme, "200s"));
    let (summary, _) = SCENARIOS[0].simulate(&overrides, key.seed)?;
    of_summary(&summary, key.transport)
}

/// The numbers of a transfer from the summary of its run.
fn of_summary(summary: &Summary, transport: Transport) -> Result<Transfer, String> {
    let queue_drops = data_links(summary).map(|link| link.queue_drops).sum();
    let transfer = match transport {
        Transport::Reno | Transport::Sack => {
            let flow = tcp_flow(summary, "transfer")?;
            Transfer {
                delivered: flow.bytes,
                gap_losses: flow.fast_retransmits + flow.verdicts.map_or(0, wireless),
                confusion: flow.verdicts.map(confusion).unwrap_or_default(),
                timeouts: flow.timeouts,
                spurious: flow.spurious_timeouts,
                retransmitted: flow.retransmitted,
                queue_drops,
                competitor: None,
            }
        }
        Transport::Sctp => {
            let line = summary.associations.first().ok_or("the scenario has no association")?;
            if let Some(reason) = &line.ended {
                return Err(format!("the association ended: {reason}"));
            }
            let flow = &line.to_client;
            Transfer {
                delivered: flow.bytes,
                gap_losses: flow.fast_retransmits,
                timeouts: flow.timeouts,
                retransmitted: flow.retransmitted,
                queue_drops,
                ..Transfer::default()
            }
        }
    };
    let competitor = summary.tcp.iter().find(|tcp| tcp.name == "competitor");
    let competitor = competitor.map(|tcp| tcp.to_client.bytes).filter(|&bytes| bytes > 0);
    Ok(Transfer { competitor, ..transfer })
}

fn data_links(summary: &Summary) -> impl Iterator<Item = &LinkSummary> {
    summary.links.iter().filter(|link| link.name.ends_with("/forward"))
}

/// What the mobile received over a connection, which must have lasted.
fn tcp_flow<'s>(summary: &'s Summary, name: &str) -> Result<&'s TcpFlowSummary, String> {
    let tcp = summary.tcp.iter().find(|tcp| tcp.name == name);
    let tcp = tcp.ok_or_else(|| format!("the scenario has no connection {name}"))?;
    match &tcp.ended {
        Some(reason) => Err(format!("the connection {name} ended: {reason}")),
        None if tcp.established.is_none() => Err(format!("the connection {name} was never up")),
        None => Ok(&tcp.to_client),
    }
}

fn wireless(verdicts: VerdictSummary) -> u64 {
    verdicts.wireless_as_wireless + verdicts.congestion_as_wireless + verdicts.unknown_as_wireless
}

fn confusion(verdicts: VerdictSummary) -> Confusion {
    Confusion {
        wireless_as_wireless: verdicts.wireless_as_wireless,
        wireless_as_congestion: verdicts.wireless_as_congestion,
        congestion_as_wireless: verdicts.congestion_as_wireless,
        congestion_as_congestion: verdicts.congestion_as_congestion,
        not_lost: verdicts.unknown_as_wireless + verdicts.unknown_as_congestion,
    }
}

/// Looks at one loss through the microscope.
///
/// # Errors
/// As [`transfer`], and a run whose loss did not show as the paper's does.
pub fn microscope(key: &MicroscopeKey) -> Result<Microscope, String> {
    let overrides = sender_overrides(key.transport, key.scheme, "10s");
    let (summary, series) = SCENARIOS[1].simulate(&overrides, 1)?;
    tcp_flow(&summary, "transfer")?;
    let trace = series.tcp.iter().find(|trace| trace.connection == "transfer" && trace.side == "server");
    looked_at(trace.ok_or("the sender has no trace")?)
}

fn looked_at(trace: &TcpTraceSeries) -> Result<Microscope, String> {
    let duplicates: Vec<f64> = trace
        .segments
        .iter()
        .filter(|event| matches!(event.kind, TraceKind::AckReceived { duplicate: true, .. }))
        .map(|event| event.at.as_secs_f64())
        .collect();
    let (Some(&first), Some(&third)) = (duplicates.first(), duplicates.get(2)) else {
        return Err(format!("{} duplicate ACKs: want at least 3", duplicates.len()));
    };
    let again = trace
        .segments
        .iter()
        .find(|event| matches!(event.kind, TraceKind::Sent { retransmission: true, .. }))
        .ok_or("nothing was sent again")?;
    let before = trace.rtt.iter().rfind(|(at, ..)| at.as_secs_f64() <= first);
    let rtt = before.ok_or("no round trip was measured")?.1.as_secs_f64();
    let (from, to) = (first - 1.5 * rtt, first + 2.5 * rtt);
    let inside = |event: &&TraceEvent| (from..to).contains(&event.at.as_secs_f64());
    Ok(Microscope {
        slot: (third - first) / 2.0,
        rtt,
        first_duplicate: first,
        third_duplicate: third,
        retransmission: again.at.as_secs_f64(),
        events: trace.segments.iter().filter(inside).filter_map(event).collect(),
    })
}

/// An event by the number of its segment.
fn event(event: &TraceEvent) -> Option<Event> {
    let number = |offset: u64| (offset - 1) / SEGMENT + 1;
    let (number, kind) = match event.kind {
        TraceKind::Sent { offset, retransmission: false, .. } => (number(offset), EventKind::Sent),
        TraceKind::Sent { offset, retransmission: true, .. } => (number(offset), EventKind::SentAgain),
        TraceKind::AckReceived { ack, .. } => (number(ack), EventKind::Acked),
        _ => return None,
    };
    Some(Event { at: event.at.as_secs_f64(), number, kind })
}
