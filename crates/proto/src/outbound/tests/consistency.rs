//! Recomputes all counters from the chunks.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Outbound;
use super::super::chunk::{Chunk, Fate};
use crate::addr::PathId;
use crate::long_tsn::LongTsn;
use crate::path::Paths;

impl Outbound {
    /// Asserts that every counter, cursor and timer agrees with the chunks. Costs O(outstanding).
    pub(crate) fn assert_consistent(&self, paths: &Paths) {
        let in_flight = |chunk: &&Chunk| chunk.fate == Fate::InFlight;
        let chunks: BTreeMap<LongTsn, &Chunk> = self.sent.iter().collect();
        assert_eq!(self.sent_bytes, chunks.values().map(|chunk| chunk.len()).sum::<u64>());
        assert_eq!(
            self.in_flight,
            chunks.values().copied().filter(in_flight).map(|chunk| chunk.len()).sum::<u64>()
        );
        assert_eq!(self.rwnd(), self.a_rwnd as i64 - self.in_flight as i64, "RFC 9260 §6.2.1");
        for path in paths.iter() {
            let flight_size: u64 = chunks
                .values()
                .copied()
                .filter(in_flight)
                .filter(|chunk| chunk.path == path.id())
                .map(|chunk| chunk.wire_len())
                .sum();
            assert_eq!(path.flight_size, flight_size, "flight_size of {}", path.id());
            let timed = flight_size > 0 || self.forward.runs_t3_rtx_on(path.id());
            assert_eq!(path.t3_rtx.is_some(), timed, "T3-rtx of {}", path.id());
        }
        self.assert_flows_consistent(&chunks, paths);
        let acked: Vec<_> = self.gaps.ranges().iter().flat_map(|range| range.iter()).collect();
        let expected: Vec<_> =
            chunks.iter().filter(|(_, c)| c.fate == Fate::GapAcked).map(|(&tsn, _)| tsn).collect();
        let acked: Vec<_> = acked.into_iter().filter(|tsn| chunks[tsn].fate != Fate::Abandoned).collect();
        assert_eq!(acked, expected, "gap acks");
        for (number, partial) in self.partial.iter() {
            let own: Vec<_> = chunks.iter().filter(|(_, chunk)| chunk.piece.partial == number).collect();
            assert_eq!(partial.chunks as usize, own.len(), "chunks of message {number}");
            assert!(own.iter().all(|(_, chunk)| chunk.fate != Fate::Abandoned), "partly abandoned: {number}");
            assert!(partial.queued || !own.is_empty(), "message {number} is finished");
        }
        assert!(
            self.losses.newly_lost.is_empty()
                && self.losses.coverage.unreported.is_empty()
                && self.reneged_without_path.is_empty()
        );
    }

    fn assert_flows_consistent(&self, chunks: &BTreeMap<LongTsn, &Chunk>, paths: &Paths) {
        let mut marked: BTreeMap<PathId, u32> = BTreeMap::new();
        for chunk in chunks.values().filter(|chunk| chunk.fate == Fate::Marked) {
            *marked.entry(chunk.target).or_default() += 1;
        }
        for path in paths.iter() {
            let (id, flow) = (path.id(), &path.flow);
            assert_eq!(flow.marked, marked.remove(&id).unwrap_or(0), "marked for {id}");
            let unacked: Vec<_> = chunks
                .iter()
                .filter(|(_, chunk)| chunk.path == id && chunk.fate.is_outstanding())
                .map(|(&tsn, _)| tsn)
                .collect();
            assert_eq!(flow.unacked as usize, unacked.len(), "unacked on {id}");
            assert_eq!(flow.earliest, unacked.first().copied(), "earliest on {id}");
            assert!(flow.log.iter().is_sorted_by_key(|sending| sending.number));
            let logged: BTreeSet<_> = flow.log.iter().map(|sending| (sending.tsn, sending.number)).collect();
            for (&tsn, chunk) in chunks {
                let countable = chunk.path == id && chunk.fate == Fate::InFlight && !chunk.fast_retransmitted;
                let logged = logged.contains(&(tsn, chunk.number));
                assert!(!countable || logged, "{tsn:?} cannot get a miss indication");
            }
        }
        assert!(marked.is_empty(), "marked for removed paths: {marked:?}");
    }
}
