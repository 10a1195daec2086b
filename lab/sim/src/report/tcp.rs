//! Builds the summary of TCP connections from their counters.

use msctp_units::{Rate, Time};

use crate::losses::tally;
use crate::scenario::Side;
use crate::simulation::Simulation;
use crate::summary::{TcpFlowSummary, TcpSummary, VerdictSummary};
use crate::tcp_line::TcpLine;

impl Simulation {
    pub(crate) fn tcp_summaries(&self) -> Vec<TcpSummary> {
        let named = self.scenario.tcp.iter().zip(&self.tcp);
        named
            .map(|(spec, line)| TcpSummary {
                name: spec.name.clone(),
                established: line.end(Side::Client).established.map(Time::as_secs_f64),
                ended: [Side::Client, Side::Server].into_iter().find_map(|side| line.end(side).ended.clone()),
                to_server: self.tcp_flow(line, Side::Server),
                to_client: self.tcp_flow(line, Side::Client),
            })
            .collect()
    }

    /// Summarizes the deliveries at this end.
    fn tcp_flow(&self, line: &TcpLine, to: Side) -> TcpFlowSummary {
        let (end, peer) = (line.end(to), line.end(to.other()));
        let received = end.received;
        let stats = |side| line.end(side).connection.as_ref().map(|c| c.stats()).unwrap_or_default();
        let (receiver, sender) = (stats(to), stats(to.other()));
        let tally = tally(peer.connection.as_ref().and_then(|connection| connection.loss_classifier()));
        let completed = peer.source.as_ref().and_then(|source| source.completed);
        // A gap that lasts until the end of the run counts too.
        let silent = received.last.map(|last| (self.now.since(last), last));
        let gap = (received.longest_gap, received.longest_gap_at);
        let gap = silent.filter(|silent| !peer.is_done(received.bytes) && silent.0 > gap.0).unwrap_or(gap);
        TcpFlowSummary {
            bytes: received.bytes,
            goodput: Rate::of(received.bytes, self.now.since(Time::ZERO)).unwrap_or_default().as_bps(),
            first: received.first.map(Time::as_secs_f64),
            last: received.last.map(Time::as_secs_f64),
            longest_gap: gap.0.as_secs_f64(),
            longest_gap_at: gap.1.as_secs_f64(),
            completed: completed.map(Time::as_secs_f64),
            segments: sender.data_segments,
            retransmitted: sender.retransmitted,
            timeouts: sender.timeouts,
            spurious_timeouts: sender.spurious_timeouts,
            fast_retransmits: sender.fast_retransmits,
            duplicate_acks: sender.duplicate_acks,
            verdicts: VerdictSummary::of(&tally),
            window_probes: sender.window_probes,
            acks: receiver.acks_sent,
        }
    }
}
