//! The repair of lost packets, and what a handover of Mobile IP does to a sender.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::MobileSummary;
use msctp_units::Time;

use super::flow::{Flow, Sent};
use super::{Points, Results, Wanted};

/// The repair of the packets whose first transmission was lost. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repair {
    /// First transmission of the first lost packet.
    pub(super) begins: f64,
    /// First retransmission of a lost packet.
    pub(super) first: f64,
    /// First retransmission of the lost packet that was retransmitted last.
    pub(super) last: f64,
    /// Acknowledgment of all lost packets.
    pub(super) done: f64,
    /// Number of the first lost packet.
    number: u64,
}

fn seconds(at: Time) -> f64 {
    at.as_secs_f64()
}

/// Returns the lost first transmissions of a flow in the metric's range.
fn first_losses(flow: &Flow, wanted: &Wanted) -> Vec<Sent> {
    let range = wanted.range();
    flow.lost().into_iter().filter(|sent| !sent.again && range.contains(&sent.at)).collect()
}

impl Repair {
    fn of(flow: &Flow, wanted: &Wanted) -> Result<Self, String> {
        let lost = first_losses(flow, wanted);
        // RFC 6675's rescue retransmission, of a packet that arrived, is no repair.
        let again = |lost: &Sent| {
            let mut sent = flow.sent.iter();
            sent.find(|sent| sent.number == lost.number && sent.again).map(|sent| seconds(sent.at))
        };
        let times: Option<Vec<f64>> = lost.iter().map(again).collect();
        let times = times.ok_or("a lost packet was not retransmitted")?;
        let begins = lost.first().ok_or("no packet was lost")?;
        let highest = lost.iter().map(|sent| sent.number).max().unwrap_or_default();
        let done = flow.acks.iter().find(|ack| ack.next > highest);
        Ok(Self {
            begins: seconds(begins.at),
            first: times.iter().copied().fold(f64::INFINITY, f64::min),
            last: times.iter().copied().fold(0.0, f64::max),
            done: seconds(done.ok_or("a lost packet was not acknowledged")?.at),
            number: begins.number,
        })
    }
}

/// Counts the packets whose first transmission was lost.
pub(super) fn lost(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    Ok(first_losses(&Flow::of(results, wanted)?, wanted).len() as f64)
}

/// Returns a value of the repair.
pub(super) fn repair(results: &Results<'_>, wanted: &Wanted, of: fn(&Repair) -> f64) -> Result<f64, String> {
    Ok(of(&Repair::of(&Flow::of(results, wanted)?, wanted)?))
}

/// Counts the expirations of the retransmission timer from the first loss to the end of the repair.
pub(super) fn timeouts(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let Repair { begins, done, .. } = Repair::of(&flow, wanted)?;
    Ok(flow.timeouts.iter().filter(|at| (begins..=done).contains(&seconds(**at))).count() as f64)
}

/// Returns a curve from 2 s before the first loss to 3 s after the repair, over the time since the loss and
/// with numbers counted from the first lost packet.
pub(super) fn since_loss(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(&Results<'_>, &Wanted) -> Points,
    numbers: bool,
) -> Points {
    let Repair { begins, done, number, .. } = Repair::of(&Flow::of(results, wanted)?, wanted)?;
    let first = if numbers { number as f64 } else { 0.0 };
    let shown = of(results, wanted)?.into_iter().filter(|(at, _)| (begins - 2.0..=done + 3.0).contains(at));
    Ok(shown.map(|(at, value)| (at - begins, value - first)).collect())
}

/// Returns the packets sent for the first time that were lost or not, as the numbers of their data.
pub(super) fn sent(results: &Results<'_>, wanted: &Wanted, lost: bool) -> Points {
    let flow = Flow::of(results, wanted)?;
    let losses = first_losses(&flow, wanted);
    let is_lost = |sent: &&Sent| losses.iter().any(|lost| lost.number == sent.number);
    let range = wanted.range();
    let first = flow.sent.iter().filter(|sent| !sent.again && range.contains(&sent.at));
    let chosen = first.filter(|sent| is_lost(sent) == lost);
    Ok(chosen.map(|sent| (seconds(sent.at), sent.number as f64)).collect())
}

/// Returns the number of lost transmissions in each second that has any, at its middle.
pub(super) fn losses(results: &Results<'_>, wanted: &Wanted) -> Points {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    let lost: Vec<f64> = flow
        .lost()
        .iter()
        .filter(|sent| range.contains(&sent.at))
        .map(|sent| seconds(sent.at).floor())
        .collect();
    Ok(lost.chunk_by(|a, b| a == b).map(|second| (second[0] + 0.5, second.len() as f64)).collect())
}

/// The effect of a handover on a sender that lost packets in it. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outage {
    /// Time of the old agent's last advertisement.
    pub(super) from: f64,
    /// Duration from then to the registration with the new agent.
    pub(super) outage: f64,
    /// Retransmission timeout when it began.
    pub(super) rto: f64,
    /// Number of lost packets.
    pub(super) lost: usize,
    /// Number of expirations of the retransmission timer until the lost packets were acknowledged.
    pub(super) timeouts: usize,
    /// Number of fast retransmits until then.
    pub(super) fast_retransmits: usize,
    /// Window in packets after the first timeout.
    pub(super) window: Option<f64>,
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

impl Outage {
    fn of(flow: &Flow, lost: &[Sent], (from, registered): (f64, f64)) -> Option<Self> {
        let before = flow.acks.partition_point(|ack| seconds(ack.at) < registered);
        let next = flow.acks.get(before.checked_sub(1)?)?.next;
        let to = seconds(flow.acks[before..].iter().find(|ack| ack.next > next)?.at);
        let rto = flow.rto_at(from)?;
        let lost: Vec<_> = lost.iter().filter(|sent| (from..=to).contains(&seconds(sent.at))).collect();
        let highest = lost.iter().map(|sent| sent.number).max()?;
        let repaired = flow.acks.iter().find(|ack| ack.next > highest);
        let end = repaired.map_or(to, |ack| seconds(ack.at).max(to));
        let within = |times: &[Time]| times.iter().filter(|at| (from..=end).contains(&seconds(**at))).count();
        let expired = flow.timeouts.iter().find(|at| (from..=end).contains(&seconds(**at)));
        let after = |at: &Time| flow.windows.iter().find(|(time, _)| time >= at).map(|(_, window)| *window);
        Some(Self {
            from,
            outage: registered - from,
            rto,
            lost: lost.len(),
            timeouts: within(&flow.timeouts),
            fast_retransmits: within(&flow.fast_retransmits),
            window: expired.and_then(after).map(|window| window as f64 / flow.unit as f64),
        })
    }
}

/// Returns the lifetime of an advertisement, the longest of all agents', in seconds.
fn lifetime(scenario: &Scenario) -> f64 {
    let agents = scenario.nodes.iter().filter_map(|node| node.agent.as_ref());
    agents.map(|agent| agent.lifetime.as_secs_f64()).fold(0.0, f64::max)
}

/// Returns a value of each handover of the first mobile in which the flow lost packets, by its begin.
pub(super) fn outages(results: &Results<'_>, wanted: &Wanted, of: fn(&Outage) -> Option<f64>) -> Points {
    let mobile = results.summary.mobile_ip.as_ref().and_then(|world| world.mobiles.first());
    let mobile = mobile.ok_or("the scenario has no mobile of Mobile IP")?;
    let flow = Flow::of(results, wanted)?;
    let lost = flow.lost();
    let absences = absences(mobile, lifetime(results.scenario));
    let all = absences.into_iter().filter_map(|absence| Outage::of(&flow, &lost, absence));
    let range = wanted.range();
    let all = all.filter(|outage| {
        let at = outage.from;
        at >= seconds(range.start) && at < seconds(range.end)
    });
    Ok(all.filter_map(|outage| Some((outage.from, of(&outage)?))).collect())
}

#[cfg(test)]
mod tests {
    use msctp_sim::summary::MobileHandoverSummary;
    use msctp_units::Span;

    use super::super::flow::Ack;
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_nanos((seconds * 1e9) as u64)
    }

    fn sent(seconds: f64, number: u64, again: bool) -> Sent {
        Sent { at: at(seconds), number, again }
    }

    #[test]
    fn an_arrival_matches_the_latest_transmission_before_it() {
        let flow = Flow {
            sent: vec![
                sent(1.0, 0, false),
                sent(1.1, 1, false),
                sent(1.2, 2, false),
                sent(3.0, 1, true),
                sent(3.1, 3, false),
                sent(4.0, 4, false),
            ],
            received: vec![(at(1.5), 0), (at(1.7), 2), (at(3.5), 1), (at(3.6), 3)],
            rtos: vec![(at(1.5), Span::from_secs(3)), (at(2.0), Span::from_secs(1))],
            ..Flow::default()
        };
        assert_eq!(flow.lost(), [sent(1.1, 1, false)], "4 is on its way");
        assert_eq!((flow.rto_at(1.0), flow.rto_at(1.9), flow.rto_at(2.0)), (None, Some(3.0), Some(1.0)));
    }

    #[test]
    fn a_repair_spans_the_first_to_the_last_first_retransmission() {
        let ack = |seconds, next| Ack { at: at(seconds), next, duplicate: false };
        let mut flow = Flow {
            sent: vec![
                sent(1.0, 3, false),
                sent(1.1, 4, false),
                sent(1.2, 5, false),
                sent(2.0, 3, true),
                sent(2.5, 5, true),
                sent(9.0, 4, true),
                sent(9.1, 6, false),
            ],
            received: vec![(at(1.4), 4), (at(2.2), 3), (at(2.7), 5), (at(9.2), 4), (at(9.3), 6)],
            acks: vec![ack(1.5, 3), ack(2.8, 5), ack(3.0, 6)],
            ..Flow::default()
        };
        let wanted = Wanted::parse("flow.repair").unwrap();
        let repair = Repair { begins: 1.0, first: 2.0, last: 2.5, done: 3.0, number: 3 };
        assert_eq!(Repair::of(&flow, &wanted), Ok(repair));
        flow.acks.pop();
        assert_eq!(Repair::of(&flow, &wanted).unwrap_err(), "a lost packet was not acknowledged");
        flow.acks.push(ack(3.0, 6));
        flow.sent.remove(4);
        flow.received.remove(2);
        assert_eq!(Repair::of(&flow, &wanted).unwrap_err(), "a lost packet was not retransmitted");
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
}
