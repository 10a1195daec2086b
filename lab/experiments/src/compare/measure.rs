//! Measures one handover under one policy.

use msctp_sim::Summary;
use serde::{Deserialize, Serialize};

/// The results of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// User bytes delivered in the 5 s after the switch, as bit/s; the mean of the associations that
    /// switched.
    pub after: f64,
    /// User bytes delivered over the whole run, as bit/s; all associations together.
    pub whole: f64,
    /// Longest delivery gap that overlaps the 5 s after the switch, in seconds; the worst association's.
    pub gap: f64,
    /// Share of the other traffic's packets that were lost, 0 to 1; `None` without other traffic.
    pub cross_loss: Option<f64>,
}

/// Time in seconds before which a change of the primary path is part of the set-up.
const SETTLED: f64 = 2.0;

/// Computes the results from a run's summary.
///
/// # Errors
/// An association ended or did not switch, so that the run cannot be compared.
pub(super) fn run(summary: &Summary) -> Result<Run, String> {
    let (mut after, mut gap, mut whole) = (Vec::new(), 0.0_f64, 0.0);
    for association in &summary.associations {
        if let Some(why) = &association.ended {
            return Err(format!("{}: the association ended: {why}", association.name));
        }
        whole += (association.to_server.goodput + association.to_client.goodput) as f64;
        let Some(handover) =
            association.handovers.iter().find(|handover| handover.at > SETTLED && handover.after.is_some())
        else {
            continue;
        };
        after.extend(handover.after.map(|rate| rate as f64));
        gap = gap.max(handover.gap.unwrap_or(0.0));
    }
    if after.is_empty() {
        return Err("no association handed over".to_owned());
    }
    let udp = summary.cbr.iter().map(|cbr| (cbr.sent, cbr.sent - cbr.received));
    // Each retransmitted segment was lost, except for the few after timeouts that had arrived.
    let tcp = summary.tcp.iter().map(|tcp| (tcp.to_server.segments, tcp.to_server.retransmitted));
    let (sent, lost) = udp.chain(tcp).fold((0, 0), |(sent, lost), one| (sent + one.0, lost + one.1));
    Ok(Run {
        after: after.iter().sum::<f64>() / after.len() as f64,
        whole,
        gap,
        cross_loss: (sent > 0).then(|| lost as f64 / sent as f64),
    })
}
