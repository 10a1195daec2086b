//! The journeys of chunks and TCP segments from one end to the other. Each DATA, SACK or control chunk,
//! segment or ACK that one end reports as sent is matched with the one that the other end reports as received.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use msctp_lab_tcp::TraceKind as TcpKind;
use msctp_proto::{Direction, PathAddr, PathId, TraceEvent, TraceKind};
use msctp_sim::series::{TcpTraceSeries, TraceSeries};
use msctp_units::{Span, Time};
use msctp_wire::ChunkType;
use serde::Serialize;

/// The chunks or segments that one end sent on one path, in the order of sending.
#[derive(Debug, Serialize)]
pub(crate) struct Journeys {
    /// The association or TCP connection.
    association: String,
    /// The sending end: `client` or `server`.
    side: &'static str,
    local: String,
    remote: String,
    /// Microseconds between departures; the first since the start of the run.
    sent: Vec<u64>,
    /// Microseconds from departure to arrival; -1 if it did not arrive, -2 if the run ended before.
    took: Vec<i64>,
    /// A letter for each chunk: [`letter`].
    kinds: String,
}

/// The fields of a chunk that both ends report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Data(u32),
    Sack { cum_tsn_ack: u32, a_rwnd: u32, gap_blocks: u16, duplicates: u16 },
    Control { chunk_type: u8, len: u16 },
    Segment(u64),
    Ack { ack: u64, blocks: u32 },
}

/// A chunk that one end reports.
#[derive(Clone, Copy, Debug)]
struct Report {
    at: Time,
    key: Key,
    letter: char,
    arrived: Option<Time>,
}

/// Returns the letter of a kind: `d`ata, data `r`etransmitted, `s`ack, `h`eartbeat, `a`sconf, `o`ther. A TCP
/// segment is `d` or `r`, an ACK `s`.
fn letter(key: Key, again: bool) -> char {
    match key {
        Key::Data(_) | Key::Segment(_) if again => 'r',
        Key::Data(_) | Key::Segment(_) => 'd',
        Key::Sack { .. } | Key::Ack { .. } => 's',
        Key::Control { chunk_type, .. } => match ChunkType(chunk_type) {
            ChunkType::HEARTBEAT | ChunkType::HEARTBEAT_ACK => 'h',
            ChunkType::ASCONF | ChunkType::ASCONF_ACK => 'a',
            _ => 'o',
        },
    }
}

/// Returns the chunks of this event with its direction and path; none for other events and unknown paths.
fn report(event: &TraceEvent) -> Option<(Direction, PathId, Report)> {
    let (direction, path, key, again) = match event.kind {
        TraceKind::Data { direction, path, tsn, again, .. } => (direction, path, Key::Data(tsn), again),
        TraceKind::Sack { direction, path, cum_tsn_ack, a_rwnd, gap_blocks, duplicates } => {
            (direction, path, Key::Sack { cum_tsn_ack, a_rwnd, gap_blocks, duplicates }, false)
        }
        TraceKind::Control { direction, path, chunk_type, len } => {
            (direction, path, Key::Control { chunk_type, len }, false)
        }
        _ => return None,
    };
    let report = Report { at: event.at, key, letter: letter(key, again), arrived: None };
    Some((direction, path?, report))
}

/// The chunks of one direction, by the path's addresses as the sender sees them.
type ByPath = BTreeMap<(IpAddr, IpAddr), Vec<Report>>;

/// Collects the chunks that an end sent or received.
fn collect(series: &TraceSeries, wanted: Direction) -> ByPath {
    let mut paths = BTreeMap::new();
    for mark in &series.marks {
        if let TraceKind::PathAdded { path, at } = mark.kind {
            paths.insert(path, at);
        }
    }
    let mut reports = ByPath::new();
    for (direction, path, report) in series.chunks.iter().filter_map(report) {
        let Some(at) = paths.get(&path).filter(|_| direction == wanted) else { continue };
        let ends = match direction {
            Direction::Out => (at.local, at.remote),
            Direction::In => (at.remote, at.local),
        };
        reports.entry(ends).or_default().push(report);
    }
    reports
}

/// Matches every received chunk with a sent one. A path delivers in order, so that the copy of a
/// retransmitted chunk that arrived is the first one after the last chunk that arrived.
fn match_up(sent: &mut [Report], received: &[Report]) {
    let mut unmatched: BTreeMap<Key, VecDeque<usize>> = BTreeMap::new();
    for (number, report) in sent.iter().enumerate() {
        unmatched.entry(report.key).or_default().push_back(number);
    }
    let mut next = 0;
    for arrival in received {
        let Some(numbers) = unmatched.get_mut(&arrival.key) else { continue };
        while numbers.len() > 1 && numbers[0] < next && sent[numbers[1]].at <= arrival.at {
            numbers.pop_front();
        }
        if let Some(number) = numbers.front().copied().filter(|&number| sent[number].at <= arrival.at) {
            numbers.pop_front();
            sent[number].arrived = Some(arrival.at);
            next = next.max(number);
        }
    }
}

/// Returns the journeys of an association's chunks, given its two ends.
pub(crate) fn journeys(ends: &[&TraceSeries; 2], end: Time) -> Vec<Journeys> {
    let mut all = Vec::new();
    for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
        let received = collect(to, Direction::In);
        for ((local, remote), mut sent) in collect(from, Direction::Out) {
            match_up(&mut sent, received.get(&(local, remote)).map_or(&[], Vec::as_slice));
            all.push(Journeys::new(&from.association, from.side, (local, remote), &sent, end));
        }
    }
    all
}

/// Returns the journeys of a TCP connection's segments and ACKs, given its two ends. `path` is as the first
/// end sees it.
pub(crate) fn tcp_journeys(ends: &[&TcpTraceSeries; 2], path: PathAddr, end: Time) -> Vec<Journeys> {
    let at = [(path.local, path.remote), (path.remote, path.local)];
    let directions = [(ends[0], ends[1], at[0]), (ends[1], ends[0], at[1])];
    let journeys = directions.map(|(from, to, at)| {
        let mut sent = segments(from, Direction::Out);
        match_up(&mut sent, &segments(to, Direction::In));
        Journeys::new(&from.connection, from.side, at, &sent, end)
    });
    journeys.into_iter().filter(|journeys| !journeys.sent.is_empty()).collect()
}

/// Collects the segments and ACKs that an end sent or received.
fn segments(series: &TcpTraceSeries, wanted: Direction) -> Vec<Report> {
    let report = |event: &msctp_lab_tcp::TraceEvent| {
        let (direction, key, again) = match event.kind {
            TcpKind::Sent { offset, retransmission, .. } => {
                (Direction::Out, Key::Segment(offset), retransmission)
            }
            TcpKind::Received { offset, .. } => (Direction::In, Key::Segment(offset), false),
            TcpKind::AckSent { ack, blocks } => (Direction::Out, Key::Ack { ack, blocks }, false),
            TcpKind::AckReceived { ack, blocks, .. } => (Direction::In, Key::Ack { ack, blocks }, false),
            _ => return None,
        };
        (direction == wanted).then(|| Report { at: event.at, key, letter: letter(key, again), arrived: None })
    };
    series.segments.iter().filter_map(report).collect()
}

impl Journeys {
    fn new(name: &str, side: &'static str, at: (IpAddr, IpAddr), sent: &[Report], end: Time) -> Self {
        Self {
            association: name.to_owned(),
            side,
            local: at.0.to_string(),
            remote: at.1.to_string(),
            sent: departures(sent),
            took: durations(sent, end),
            kinds: sent.iter().map(|report| report.letter).collect(),
        }
    }
}

fn departures(sent: &[Report]) -> Vec<u64> {
    let times = sent.iter().map(|report| report.at.as_nanos() / 1000);
    let mut before = 0;
    times.map(|at| at - std::mem::replace(&mut before, at)).collect()
}

fn durations(sent: &[Report], end: Time) -> Vec<i64> {
    let took = |report: &Report| report.arrived.map(|at| at.since(report.at));
    let longest = sent.iter().filter_map(took).max().unwrap_or(Span::ZERO);
    let last = sent.iter().rposition(|report| report.arrived.is_some());
    let duration = |(number, report): (usize, &Report)| match took(report) {
        Some(took) => (took.as_nanos() / 1000) as i64,
        None if last < Some(number) && end.since(report.at) < longest => -2,
        None => -1,
    };
    sent.iter().enumerate().map(duration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn data(ms: u64, tsn: u32) -> Report {
        Report { at: at(ms), key: Key::Data(tsn), letter: 'd', arrived: None }
    }

    #[test]
    fn the_copy_that_arrived_is_the_one_after_the_last_arrival() {
        // TSN 1 is lost, 2 arrives, then the second copy of 1; 3 is lost, 4 under way at the end.
        let mut sent = [data(0, 1), data(1, 2), data(30, 1), data(31, 3), data(80, 4)];
        match_up(&mut sent, &[data(11, 2), data(40, 1)]);
        assert_eq!(durations(&sent, at(85)), [-1, 10_000, 10_000, -1, -2]);
        assert_eq!(departures(&sent), [0, 1000, 29_000, 1000, 49_000]);
    }

    #[test]
    fn equal_chunks_arrive_in_order_of_sending() {
        let mut sent = [data(0, 7), data(5, 7)];
        match_up(&mut sent, &[data(10, 7), data(15, 7)]);
        assert_eq!(durations(&sent, at(20)), [10_000, 10_000]);
    }

    #[test]
    fn an_arrival_before_the_departure_is_no_match() {
        let mut sent = [data(20, 7)];
        match_up(&mut sent, &[data(10, 7), data(15, 8)]);
        assert_eq!(durations(&sent, at(500)), [-1]);
    }
}
