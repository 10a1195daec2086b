//! The TCP cases: the overrides for a transport of the reference, and the figures of a run.

use msctp_lab_tcp::TraceKind;
use msctp_sim::Series;
use msctp_sim::scenario::Scenario;
use msctp_sim::series::TcpTraceSeries;
use msctp_sim::summary::Summary;

use super::measure::Figures;
use super::metric::Metric;

const PROFILE: &str = "tcp-profile.default";

/// Returns the overrides for a transport such as `reno w718_minrto1` in a case; `None` if it is not TCP or
/// unknown.
pub(super) fn transport(case: &str, parameters: &str) -> Option<Vec<String>> {
    let (protocol, parameters) = parameters.split_once(' ')?;
    let recovery = match protocol {
        "reno" | "newreno" => protocol,
        "sack1" => "sack",
        _ => return None,
    };
    let mut overrides = vec![format!("{PROFILE}.recovery={recovery}")];
    let mut set = |key: &str, value: &str| overrides.push(format!("{PROFILE}.{key}={value}"));
    let mut words = parameters.split('_');
    match words.next()? {
        "w44" => {}
        // 718 segments of 1460 bytes.
        "w718" => {
            set("receive_buffer", "1048280");
            set("initial_ssthresh", "1048280");
        }
        // ns-2's defaults: 20 segments of 1000 bytes.
        "ns2default" => {
            set("mss", "1000");
            set("receive_buffer", "20000");
            set("initial_ssthresh", "20000");
            set("initial_window", "{packets=2}");
        }
        _ => return None,
    }
    for word in words {
        match word {
            "minrto1" => set("rto_min", "1s"),
            "iw1" => set("initial_window", "{packets=1}"),
            "nodelack" => set("ack_every", "1"),
            _ => return None,
        }
    }
    // The reference's receiver in case g acknowledges each packet.
    if case.starts_with("g_") {
        overrides.push(format!("{PROFILE}.ack_every=1"));
    }
    Some(overrides)
}

/// Returns the overrides for ns-2's behaviour, as far as options can express it.
///
/// - The window grows by acknowledgments, not by the bytes that they cover, even if it is not fully used.
/// - A fast retransmit restarts the retransmission timer.
/// - Reno enters fast recovery once per window of data.
/// - A loss halves the window, not the flight size.
/// - Reno and NewReno open the window at the ACK that ends fast recovery.
/// - Sack1 counts the packets in the network ACK by ACK.
pub(super) fn ns2_ways() -> Vec<String> {
    [
        "controller_options={count_acks=true, grow_unused=true}",
        "restart_timer_on_fast_retransmit=true",
        "once_per_window=true",
        "halve_window=true",
        "grow_at_exit=true",
        "counted_pipe=true",
    ]
    .map(|option| format!("{PROFILE}.{option}"))
    .to_vec()
}

/// Returns the user bytes delivered to the server.
pub(super) fn delivered(summary: &Summary) -> Result<u64, String> {
    let connection = summary.tcp.first().ok_or("the scenario has no connection")?;
    match &connection.ended {
        Some(why) => Err(format!("the connection ended: {why}")),
        None => Ok(connection.to_server.bytes),
    }
}

/// Returns the counters of the transport.
pub(super) fn counters(summary: &Summary) -> Figures {
    let Some(connection) = summary.tcp.first() else { return Figures::new() };
    let flow = &connection.to_server;
    Figures::from([
        (Metric::Rtx, flow.retransmitted as f64),
        (Metric::AckPackets, flow.acks as f64),
        (Metric::Timeouts, flow.timeouts as f64),
        (Metric::FastRtxEvents, flow.fast_retransmits as f64),
    ])
}

/// Extracts the figures that need the trace of single segments.
pub(super) fn from_series(series: &Series, scenario: &Scenario, figures: &mut Figures) -> Result<(), String> {
    let side = |side: &str| {
        series.tcp.iter().find(|trace| trace.side == side).ok_or(format!("no trace of the {side}"))
    };
    let Some((first_sent, bytes)) = first_data(side("client")?) else { return Ok(()) };
    let access = scenario.links[0].forward.plain().ok_or("the access link is not plain")?;
    // IP and TCP headers without options.
    let at_router = first_sent + access.rate.time_for(40 + u64::from(bytes)) + access.delay;
    figures.insert(Metric::FirstData, at_router.as_secs_f64());
    for metric in Metric::ALL {
        if let Metric::TCum(packets) = metric
            && let Some(at) = acknowledged(side("server")?, u64::from(packets) * u64::from(bytes))
        {
            figures.insert(metric, at.as_secs_f64());
        }
    }
    Ok(())
}

/// Returns the time of the first segment with data, and its bytes.
fn first_data(sender: &TcpTraceSeries) -> Option<(msctp_units::Time, u32)> {
    sender.segments.iter().find_map(|event| match event.kind {
        TraceKind::Sent { len, .. } if len > 0 => Some((event.at, len)),
        _ => None,
    })
}

/// Returns the time at which the receiver acknowledged this many bytes.
fn acknowledged(receiver: &TcpTraceSeries, bytes: u64) -> Option<msctp_units::Time> {
    receiver.segments.iter().find_map(|event| match event.kind {
        // The first byte has offset 1.
        TraceKind::AckSent { ack, .. } if ack > bytes => Some(event.at),
        _ => None,
    })
}
