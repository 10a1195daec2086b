//! The flow of one sender, in the same form for TCP and SCTP, extracted from the traces of a run. Segments
//! are counted from 0, times in seconds. Does not depend on handovers.

use std::collections::BTreeMap;

use msctp_congestion::LossKind;
use msctp_lab_tcp::TraceKind as Tcp;
use msctp_proto::{Direction, TraceKind as Sctp};
use msctp_sim::series::TraceSeries;
use msctp_sim::{Series, Summary};
use msctp_units::Time;

use super::measure::{SEGMENT_BYTES, Sent};

/// A flow from client to server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Segments delivered to the receiving application.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Segments sent, by time.
    pub sent: Vec<Sent>,
    /// Segments received, by time.
    pub received: Vec<(f64, u64)>,
    /// Acknowledgments that reached the sender: time, and the first segment that they do not acknowledge.
    pub acknowledged: Vec<(f64, u64)>,
    /// Times of retransmission timer expirations.
    pub timeouts: Vec<f64>,
    /// Times at which fast retransmits began.
    pub fast_retransmits: Vec<f64>,
    /// Congestion window in segments: times and values of its changes.
    pub windows: Vec<(f64, f64)>,
    /// Retransmission timeout in seconds: times and values of its changes.
    pub rtos: Vec<(f64, f64)>,
    /// Maximum number of blocks in an acknowledgment that reached the sender.
    pub most_blocks: u32,
}

/// Bytes of a DATA chunk with a segment, the unit of SCTP's window.
const CHUNK_BYTES: f64 = SEGMENT_BYTES as f64 + 16.0;

impl Flow {
    /// Extracts the TCP connection or SCTP association of this name, traced with every segment.
    ///
    /// # Errors
    /// The connection does not exist, was never up, or ended.
    pub fn of(name: &str, summary: &Summary, series: &Series) -> Result<Self, String> {
        if let Some(connection) = summary.tcp.iter().find(|connection| connection.name == name) {
            alive(name, connection.established, connection.ended.as_deref())?;
            let mut flow = Self::tcp(name, series)?;
            flow.delivered = connection.to_server.bytes / u64::from(SEGMENT_BYTES);
            flow.retransmitted = connection.to_server.retransmitted;
            return Ok(flow);
        }
        let association = summary.associations.iter().find(|association| association.name == name);
        let association = association.ok_or_else(|| format!("the scenario has nothing called {name}"))?;
        alive(name, association.established, association.ended.as_deref())?;
        let mut flow = Self::sctp(name, series)?;
        flow.delivered = association.to_server.messages;
        flow.retransmitted = association.to_server.retransmitted;
        Ok(flow)
    }

    fn tcp(name: &str, series: &Series) -> Result<Self, String> {
        let end = |side| {
            let found = series.tcp.iter().find(|trace| trace.connection == name && trace.side == side);
            found.ok_or_else(|| format!("the {side} of {name} has no trace"))
        };
        let (sender, receiver) = (end("client")?, end("server")?);
        // The first byte has offset 1.
        let segment = |offset: u64| offset.saturating_sub(1) / u64::from(SEGMENT_BYTES);
        let mut flow = Self::default();
        for event in &sender.segments {
            let at = seconds(event.at);
            match event.kind {
                Tcp::Sent { offset, len, retransmission } if len > 0 => {
                    flow.sent.push(Sent { at, segment: segment(offset), retransmission });
                }
                Tcp::AckReceived { ack, blocks, .. } => {
                    flow.acknowledged.push((at, segment(ack)));
                    flow.most_blocks = flow.most_blocks.max(blocks);
                }
                _ => {}
            }
        }
        flow.received = receiver
            .segments
            .iter()
            .filter_map(|event| match event.kind {
                Tcp::Received { offset, len } if len > 0 => Some((seconds(event.at), segment(offset))),
                _ => None,
            })
            .collect();
        for mark in &sender.marks {
            match mark.kind {
                Tcp::Timeout { rto } => {
                    flow.timeouts.push(seconds(mark.at));
                    flow.rtos.push((seconds(mark.at), rto.as_secs_f64()));
                }
                Tcp::Loss { kind: LossKind::Gap, .. } => flow.fast_retransmits.push(seconds(mark.at)),
                _ => {}
            }
        }
        let windows = sender.window.iter();
        flow.windows =
            windows.map(|&(at, cwnd, ..)| (seconds(at), cwnd as f64 / f64::from(SEGMENT_BYTES))).collect();
        flow.rtos.extend(sender.rtt.iter().map(|&(at, _, _, rto)| (seconds(at), rto.as_secs_f64())));
        flow.rtos.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(flow)
    }

    fn sctp(name: &str, series: &Series) -> Result<Self, String> {
        let end = |side| -> Result<&TraceSeries, String> {
            let found = series.traces.iter().find(|trace| trace.association == name && trace.side == side);
            found.ok_or_else(|| format!("the {side} of {name} has no trace"))
        };
        let (sender, receiver) = (end("client")?, end("server")?);
        let mut flow = Self::default();
        let mut first = None;
        for event in &sender.chunks {
            let at = seconds(event.at);
            match event.kind {
                Sctp::Data { direction: Direction::Out, tsn, again, .. } => {
                    let segment = tsn.wrapping_sub(*first.get_or_insert(tsn));
                    flow.sent.push(Sent { at, segment: u64::from(segment), retransmission: again });
                }
                Sctp::Sack { direction: Direction::In, cum_tsn_ack, gap_blocks, .. } => {
                    let next = cum_tsn_ack.wrapping_sub(first.unwrap_or(cum_tsn_ack)).wrapping_add(1);
                    flow.acknowledged.push((at, u64::from(next)));
                    flow.most_blocks = flow.most_blocks.max(u32::from(gap_blocks));
                }
                _ => {}
            }
        }
        let first = first.ok_or_else(|| format!("{name} sent no data"))?;
        flow.received = receiver
            .chunks
            .iter()
            .filter_map(|event| match event.kind {
                Sctp::Data { direction: Direction::In, tsn, .. } => {
                    Some((seconds(event.at), u64::from(tsn.wrapping_sub(first))))
                }
                _ => None,
            })
            .collect();
        for mark in &sender.marks {
            match mark.kind {
                Sctp::T3Timeout { rto, .. } => {
                    flow.timeouts.push(seconds(mark.at));
                    flow.rtos.push((seconds(mark.at), rto.as_secs_f64()));
                }
                Sctp::FastRetransmit { .. } => flow.fast_retransmits.push(seconds(mark.at)),
                _ => {}
            }
        }
        let (window, rtt) = (&sender.window, &sender.rtt);
        flow.windows = window
            .at
            .iter()
            .zip(&window.cwnd)
            .map(|(&at, &cwnd)| (seconds(at), cwnd as f64 / CHUNK_BYTES))
            .collect();
        flow.rtos.extend(rtt.at.iter().zip(&rtt.rto).map(|(&at, rto)| (seconds(at), rto.as_secs_f64())));
        flow.rtos.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(flow)
    }

    /// Returns the lost segments. Each arrival is matched with the latest unmatched transmission before it.
    /// Transmissions after that of the last arrival may still be in flight and are not counted.
    #[must_use]
    pub fn lost(&self) -> Vec<Sent> {
        let mut sendings: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, sent) in self.sent.iter().enumerate() {
            sendings.entry(sent.segment).or_default().push(number);
        }
        let mut arrived = vec![false; self.sent.len()];
        for &(at, segment) in &self.received {
            let numbers = sendings.get(&segment).map_or(&[][..], Vec::as_slice);
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
    #[must_use]
    pub fn rto_at(&self, at: f64) -> Option<f64> {
        let before = self.rtos.partition_point(|&(time, _)| time <= at);
        Some(self.rtos[before.checked_sub(1)?].1)
    }
}

fn seconds(at: Time) -> f64 {
    at.as_secs_f64()
}

fn alive(name: &str, established: Option<f64>, ended: Option<&str>) -> Result<(), String> {
    match (established, ended) {
        (_, Some(reason)) => Err(format!("{name} ended: {reason}")),
        (None, None) => Err(format!("{name} was never up")),
        (Some(_), None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_matches_the_latest_transmission_before_it() {
        let sent = |at, segment, retransmission| Sent { at, segment, retransmission };
        let flow = Flow {
            sent: vec![
                sent(1.0, 0, false),
                sent(1.1, 1, false),
                sent(1.2, 2, false),
                sent(3.0, 1, true),
                sent(3.1, 3, false),
                sent(4.0, 4, false),
            ],
            received: vec![(1.5, 0), (1.7, 2), (3.5, 1), (3.6, 3)],
            rtos: vec![(1.5, 3.0), (2.0, 1.0)],
            ..Flow::default()
        };
        assert_eq!(flow.lost(), [sent(1.1, 1, false)], "4 is on its way");
        assert_eq!((flow.rto_at(1.0), flow.rto_at(1.9), flow.rto_at(2.0)), (None, Some(3.0), Some(1.0)));
    }
}
