//! Metrics of one flow, from the events of its sender: the same for an association and a TCP connection.

use std::collections::BTreeMap;

use msctp_congestion::{LossKind, RoundTrips};
use msctp_lab_tcp::TraceKind as Tcp;
use msctp_proto::{Direction, TraceKind as Sctp};
use msctp_sim::series::{TcpTraceSeries, TraceSeries};
use msctp_sim::summary::VerdictSummary;
use msctp_units::{Span, Time};

use super::{Points, Results, Wanted, largest};

/// Counters of a flow, from the summary.
pub(super) struct Totals {
    /// User bytes delivered to the receiver's application.
    pub(super) bytes: u64,
    pub(super) retransmitted: u64,
    /// True if the flow ended before the run did, or was never set up.
    pub(super) ended: bool,
    pub(super) verdicts: Option<VerdictSummary>,
    name: String,
    /// The sending end: `client` or `server`.
    sender: &'static str,
}

/// Returns the counters of the flow that the metric covers. Without a subject, uses the first flow.
pub(super) fn totals(results: &Results<'_>, wanted: &Wanted) -> Result<Totals, String> {
    let side = |to_client: u64, to_server: u64| if to_client > to_server { "server" } else { "client" };
    let summary = results.summary;
    if let Some(found) = summary.associations.iter().find(|association| wanted.covers(&association.name)) {
        let sender = side(found.to_client.bytes, found.to_server.bytes);
        let flow = if sender == "server" { &found.to_client } else { &found.to_server };
        return Ok(Totals {
            bytes: flow.bytes,
            retransmitted: flow.retransmitted,
            ended: found.ended.is_some() || found.established.is_none(),
            verdicts: flow.verdicts,
            name: found.name.clone(),
            sender,
        });
    }
    let found = summary.tcp.iter().find(|connection| wanted.covers(&connection.name));
    let found = found.ok_or("there is no flow")?;
    let sender = side(found.to_client.bytes, found.to_server.bytes);
    let flow = if sender == "server" { &found.to_client } else { &found.to_server };
    Ok(Totals {
        bytes: flow.bytes,
        retransmitted: flow.retransmitted,
        ended: found.ended.is_some() || found.established.is_none(),
        verdicts: flow.verdicts,
        name: found.name.clone(),
        sender,
    })
}

/// Returns a number of the loss classifier's verdicts.
pub(super) fn verdicts(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(&VerdictSummary) -> u64,
) -> Result<f64, String> {
    let verdicts = totals(results, wanted)?.verdicts;
    Ok(verdicts.map_or(0.0, |verdicts| of(&verdicts) as f64))
}

/// A packet of the sender, by the number of its data from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) number: u64,
    pub(super) again: bool,
}

/// An acknowledgment that reached the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ack {
    pub(super) at: Time,
    /// The cumulative acknowledgment: the first number that is not acknowledged.
    pub(super) next: u64,
    pub(super) duplicate: bool,
}

/// The events at a sender, by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flow {
    pub(super) timeouts: Vec<Time>,
    /// Timeouts found to be spurious.
    pub(super) spurious: Vec<Time>,
    pub(super) fast_retransmits: Vec<Time>,
    /// Restarts of the round-trip statistics: the measurement, and the statistics after it.
    pub(super) restarts: Vec<(Span, RoundTrips)>,
    /// Congestion windows.
    pub(super) windows: Vec<(Time, u64)>,
    pub(super) round_trips: Vec<(Time, Span)>,
    /// Transmissions of segments or DATA chunks, if each was recorded.
    pub(super) sent: Vec<Sent>,
    pub(super) acks: Vec<Ack>,
    /// Arrivals of segments or DATA chunks at the receiver, if its end recorded each.
    pub(super) received: Vec<(Time, u64)>,
    /// Retransmission timeouts: times and values of changes.
    pub(super) rtos: Vec<(Time, Span)>,
    /// Maximum number of blocks in an acknowledgment.
    pub(super) most_blocks: u32,
    /// Bytes of a packet in the window.
    pub(super) unit: u64,
}

impl Flow {
    /// Extracts the flow that the metric covers.
    pub(super) fn of(results: &Results<'_>, wanted: &Wanted) -> Result<Self, String> {
        let Totals { name, sender, .. } = totals(results, wanted)?;
        let series = results.series;
        let receiver = if sender == "client" { "server" } else { "client" };
        let sctp = |side| series.traces.iter().find(|trace| trace.association == name && trace.side == side);
        let tcp = |side| series.tcp.iter().find(|trace| trace.connection == name && trace.side == side);
        match sctp(sender) {
            Some(trace) => Ok(Self::of_sctp(trace, sctp(receiver))),
            None => {
                let trace = tcp(sender).ok_or_else(|| format!("{name} has no trace"))?;
                Ok(Self::of_tcp(trace, tcp(receiver)))
            }
        }
    }

    /// Returns the lost transmissions. Each arrival is matched with the latest unmatched transmission before
    /// it. Transmissions after that of the last arrival may still be in flight and are not counted.
    pub(super) fn lost(&self) -> Vec<Sent> {
        let mut sendings: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, sent) in self.sent.iter().enumerate() {
            sendings.entry(sent.number).or_default().push(number);
        }
        let mut arrived = vec![false; self.sent.len()];
        for &(at, packet) in &self.received {
            let numbers = sendings.get(&packet).map_or(&[][..], Vec::as_slice);
            let found = numbers.iter().rev().find(|&&number| self.sent[number].at < at && !arrived[number]);
            if let Some(&number) = found {
                arrived[number] = true;
            }
        }
        let known = arrived.iter().rposition(|&arrived| arrived).unwrap_or(0);
        let sent = self.sent[..known].iter().zip(&arrived);
        sent.filter(|&(_, &arrived)| !arrived).map(|(sent, _)| *sent).collect()
    }

    /// Returns the retransmission timeout at a time; `None` before the first round trip.
    pub(super) fn rto_at(&self, at: f64) -> Option<f64> {
        let before = self.rtos.partition_point(|(time, _)| time.as_secs_f64() <= at);
        Some(self.rtos[before.checked_sub(1)?].1.as_secs_f64())
    }

    fn of_sctp(trace: &TraceSeries, receiver: Option<&TraceSeries>) -> Self {
        let mut flow = Self {
            windows: trace.window.at.iter().copied().zip(trace.window.cwnd.iter().copied()).collect(),
            round_trips: trace.rtt.at.iter().copied().zip(trace.rtt.sample.iter().copied()).collect(),
            rtos: trace.rtt.at.iter().copied().zip(trace.rtt.rto.iter().copied()).collect(),
            ..Self::default()
        };
        for mark in &trace.marks {
            match &mark.kind {
                Sctp::T3Timeout { rto, .. } => {
                    flow.timeouts.push(mark.at);
                    flow.rtos.push((mark.at, *rto));
                }
                Sctp::SpuriousTimeout { .. } => flow.spurious.push(mark.at),
                Sctp::FastRetransmit { .. } => flow.fast_retransmits.push(mark.at),
                Sctp::RttStartedOver { sample, times, .. } => flow.restarts.push((*sample, *times)),
                _ => {}
            }
        }
        let mut first = None;
        for event in &trace.chunks {
            match event.kind {
                Sctp::Data { direction: Direction::Out, tsn, again, len, .. } => {
                    let number = u64::from(tsn.wrapping_sub(*first.get_or_insert(tsn)));
                    // With the header of the DATA chunk.
                    flow.unit = flow.unit.max(u64::from(len) + 16);
                    flow.sent.push(Sent { at: event.at, number, again });
                }
                Sctp::Sack { direction: Direction::In, cum_tsn_ack, gap_blocks, .. } => {
                    let next = cum_tsn_ack.wrapping_sub(first.unwrap_or(cum_tsn_ack)).wrapping_add(1);
                    let before = flow.acks.last().map(|ack| ack.next);
                    flow.most_blocks = flow.most_blocks.max(u32::from(gap_blocks));
                    let duplicate = gap_blocks > 0 && before == Some(u64::from(next));
                    flow.acks.push(Ack { at: event.at, next: u64::from(next), duplicate });
                }
                _ => {}
            }
        }
        for event in receiver.map_or(&[][..], |receiver| &receiver.chunks) {
            if let (Sctp::Data { direction: Direction::In, tsn, .. }, Some(first)) = (&event.kind, first) {
                flow.received.push((event.at, u64::from(tsn.wrapping_sub(first))));
            }
        }
        flow.rtos.sort_by_key(|(at, _)| *at);
        flow
    }

    fn of_tcp(trace: &TcpTraceSeries, receiver: Option<&TcpTraceSeries>) -> Self {
        let mut flow = Self {
            windows: trace.window.iter().map(|&(at, cwnd, ..)| (at, cwnd)).collect(),
            round_trips: trace.rtt.iter().map(|&(at, sample, ..)| (at, sample)).collect(),
            rtos: trace.rtt.iter().map(|&(at, .., rto)| (at, rto)).collect(),
            ..Self::default()
        };
        for mark in &trace.marks {
            match &mark.kind {
                Tcp::Timeout { rto } => {
                    flow.timeouts.push(mark.at);
                    flow.rtos.push((mark.at, *rto));
                }
                Tcp::SpuriousTimeout => flow.spurious.push(mark.at),
                Tcp::Loss { kind: LossKind::Gap, .. } => flow.fast_retransmits.push(mark.at),
                Tcp::RttStartedOver { sample, times } => flow.restarts.push((*sample, *times)),
                _ => {}
            }
        }
        let length = |event: &msctp_lab_tcp::TraceEvent| match event.kind {
            Tcp::Sent { len, .. } => u64::from(len),
            _ => 0,
        };
        // A full segment is the unit of the numbers. The first byte has offset 1.
        let unit = trace.segments.iter().map(length).max().unwrap_or_default().max(1);
        let number = |offset: u64| offset.saturating_sub(1) / unit;
        flow.unit = unit;
        for event in &trace.segments {
            match event.kind {
                Tcp::Sent { offset, len, retransmission } if len > 0 => {
                    flow.sent.push(Sent { at: event.at, number: number(offset), again: retransmission });
                }
                Tcp::AckReceived { ack, duplicate, blocks } => {
                    flow.most_blocks = flow.most_blocks.max(blocks);
                    flow.acks.push(Ack { at: event.at, next: number(ack), duplicate });
                }
                _ => {}
            }
        }
        for event in receiver.map_or(&[][..], |receiver| &receiver.segments) {
            match event.kind {
                Tcp::Received { offset, len } if len > 0 => flow.received.push((event.at, number(offset))),
                _ => {}
            }
        }
        flow.rtos.sort_by_key(|(at, _)| *at);
        flow
    }

    /// Returns the window after the last change up to an instant.
    fn window(&self, at: Time, included: bool) -> Option<f64> {
        let before = |&&(time, _): &&(Time, u64)| if included { time <= at } else { time < at };
        self.windows.iter().rfind(before).map(|&(_, cwnd)| cwnd as f64)
    }

    /// Returns the time of a duplicate acknowledgment, counted from 0.
    fn duplicate(&self, number: usize) -> Result<Time, String> {
        let all = || self.acks.iter().filter(|ack| ack.duplicate);
        let count = all().count();
        all().nth(number).map(|ack| ack.at).ok_or_else(|| format!("{count} duplicate acknowledgments"))
    }
}

/// Counts the events of a kind in the metric's range.
pub(super) fn count(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(&Flow) -> &Vec<Time>,
) -> Result<f64, String> {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    Ok(of(&flow).iter().filter(|at| range.contains(at)).count() as f64)
}

pub(super) fn longest_rtt(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    let samples = flow.round_trips.iter().filter(|(at, _)| range.contains(at));
    largest(samples.map(|(_, sample)| sample.as_secs_f64()), "no round trip was measured")
}

pub(super) fn window_before_timeout(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let first = *flow.timeouts.first().ok_or("no timer expired")?;
    flow.window(first, false).ok_or_else(|| "there was no window before".to_owned())
}

pub(super) fn window_after_timeouts(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let last = *flow.timeouts.last().ok_or("no timer expired")?;
    let at = flow.spurious.last().copied().unwrap_or(last);
    flow.window(at, true).ok_or_else(|| "there was no window after".to_owned())
}

/// Returns a value of the last restart of the round-trip statistics.
pub(super) fn restart(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(Span, &RoundTrips) -> Span,
) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let (sample, times) = flow.restarts.last().ok_or("the statistics did not restart")?;
    Ok(of(*sample, times).as_secs_f64())
}

pub(super) fn restarts(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    Ok(Flow::of(results, wanted)?.restarts.len() as f64)
}

/// Returns the time of a duplicate acknowledgment, counted from 0.
pub(super) fn duplicate(results: &Results<'_>, wanted: &Wanted, number: usize) -> Result<f64, String> {
    Ok(Flow::of(results, wanted)?.duplicate(number)?.as_secs_f64())
}

pub(super) fn rtt_before_duplicate(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let first = flow.duplicate(0)?;
    let before = flow.round_trips.iter().rfind(|(at, _)| *at <= first);
    before.map(|(_, sample)| sample.as_secs_f64()).ok_or_else(|| "no round trip was measured".to_owned())
}

pub(super) fn first_retransmission(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let first = flow.sent.iter().find(|sent| sent.again);
    first.map(|sent| sent.at.as_secs_f64()).ok_or_else(|| "nothing was retransmitted".to_owned())
}

/// Returns the longest time between two packets sent for the first time, or from the last one to the end.
pub(super) fn stall(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let flow = Flow::of(results, wanted)?;
    let sent = flow.sent.iter().filter(|sent| !sent.again).map(|sent| sent.at.as_secs_f64());
    Ok(longest_pause(sent, results.summary.duration))
}

/// Returns the longest time between two of the ascending instants, or from the last one to the end.
pub(super) fn longest_pause(instants: impl Iterator<Item = f64>, end: f64) -> f64 {
    let mut instants = instants.peekable();
    let mut longest = 0.0_f64;
    while let Some(at) = instants.next() {
        longest = longest.max(instants.peek().copied().unwrap_or(end) - at);
    }
    longest
}

impl Flow {
    /// Returns the number of packets sent for the first time, by time.
    fn counts_sent(&self) -> Vec<(Time, f64)> {
        let first = self.sent.iter().filter(|sent| !sent.again);
        first.map(|sent| (sent.at, sent.number as f64 + 1.0)).collect()
    }

    /// Returns the number of cumulatively acknowledged packets, by time. Skips acknowledgments out of order.
    fn counts_acknowledged(&self) -> Vec<(Time, f64)> {
        let all = self.sent.iter().map(|sent| sent.number + 1).max().unwrap_or_default();
        let mut counts: Vec<(Time, f64)> = Vec::new();
        for ack in &self.acks {
            let before = counts.last().map_or(0.0, |&(_, count)| count);
            if (1..=all).contains(&ack.next) && ack.next as f64 > before {
                counts.push((ack.at, ack.next as f64));
            }
        }
        counts
    }
}

/// Returns a step function's value at each second of the metric's range.
fn by_second(results: &Results<'_>, wanted: &Wanted, steps: &[(Time, f64)]) -> Vec<(f64, f64)> {
    let range = wanted.range();
    let seconds = (0..results.summary.duration as u64).map(|second| Time::ZERO + Span::from_secs(second));
    let value =
        |now: Time| steps[..steps.partition_point(|&(at, _)| at <= now)].last().map_or(0.0, |step| step.1);
    seconds.filter(|at| range.contains(at)).map(|at| (at.as_secs_f64(), value(at))).collect()
}

pub(super) fn sent_count(results: &Results<'_>, wanted: &Wanted) -> Points {
    Ok(by_second(results, wanted, &Flow::of(results, wanted)?.counts_sent()))
}

pub(super) fn acknowledged_count(results: &Results<'_>, wanted: &Wanted) -> Points {
    Ok(by_second(results, wanted, &Flow::of(results, wanted)?.counts_acknowledged()))
}

/// Returns the number of cumulatively acknowledged packets at the metric's instant.
pub(super) fn acknowledged_at(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let at = wanted.from.unwrap_or_default();
    let counts = Flow::of(results, wanted)?.counts_acknowledged();
    Ok(counts[..counts.partition_point(|&(time, _)| time <= at)].last().map_or(0.0, |count| count.1))
}

/// Returns the expirations of the retransmission timer, each with the value zero.
pub(super) fn timeouts(results: &Results<'_>, wanted: &Wanted) -> Points {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    Ok(flow.timeouts.iter().filter(|at| range.contains(at)).map(|at| (at.as_secs_f64(), 0.0)).collect())
}

/// Returns the packets that `of` selects, by time, as the numbers of their data.
pub(super) fn sent(results: &Results<'_>, wanted: &Wanted, of: fn(&Sent) -> bool) -> Points {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    let chosen = flow.sent.iter().filter(|sent| range.contains(&sent.at) && of(sent));
    Ok(chosen.map(|sent| (sent.at.as_secs_f64(), sent.number as f64)).collect())
}

pub(super) fn acknowledged(results: &Results<'_>, wanted: &Wanted) -> Points {
    let (flow, range) = (Flow::of(results, wanted)?, wanted.range());
    let chosen = flow.acks.iter().filter(|ack| range.contains(&ack.at));
    Ok(chosen.map(|ack| (ack.at.as_secs_f64(), ack.next as f64)).collect())
}
