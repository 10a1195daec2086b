//! The registry: every metric with its unit, its meaning and its function.

use msctp_lab_schemes::policies::note;
use msctp_proto::TraceKind;

use super::{
    Compute, Metric, Probe, Subject, Unit, When, associations, curves, flow, handovers, network, optimum,
    paths, repair,
};

/// Defines a metric of associations that sums a counter over both directions.
macro_rules! counter {
    ($name:literal, $unit:expr, $meaning:literal, $subject:ident, $module:ident :: $sum:ident, $of:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            meaning: $meaning,
            subject: Subject::$subject,
            when: When::Never,
            probe: Probe::None,
            compute: Compute::Value(|results, wanted| Ok($module::$sum(results, wanted, $of))),
        }
    };
}

/// Returns any other metric.
macro_rules! metric {
    ($name:literal, $unit:expr, $meaning:literal, $subject:ident, $when:ident, $probe:ident, $compute:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            meaning: $meaning,
            subject: Subject::$subject,
            when: When::$when,
            probe: Probe::$probe,
            compute: Compute::Value($compute),
        }
    };
}

/// Returns a curve.
macro_rules! curve {
    ($name:literal, $unit:expr, $meaning:literal, $subject:ident, $probe:ident, $x:literal, $compute:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            meaning: $meaning,
            subject: Subject::$subject,
            when: When::Range,
            probe: Probe::$probe,
            compute: Compute::Curve($x, $compute),
        }
    };
}

const CHUNKS: Unit = Unit::Count("chunks");
const PACKETS: Unit = Unit::Count("packets");
const SEGMENTS: Unit = Unit::Count("segments");
const TIMES: Unit = Unit::Count("times");

/// All metrics, grouped by subject.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric!("handover.gap", Unit::Seconds, "longest time between two deliveries, or from the last one to the end, that overlaps \
        the 5 s after the first change of the sender's primary path later than 2 s (or in the range); the worst association's", Association, Range, None, handovers::gap),
    metric!("handover.after", Unit::Rate, "user bytes delivered in the 5 s after that change; mean of the associations that \
        handed over", Association, Range, Deliveries, handovers::after),
    metric!("handover.before", Unit::Rate, "user bytes delivered in the 5 s before that change; mean of the associations that \
        handed over", Association, Range, Deliveries, handovers::before),
    metric!("handover.share", Unit::Ratio, "handover.after divided by handover.before", Association, Range, Deliveries,
        handovers::share),
    metric!("handover.optimum", Unit::Rate, "user bytes that the new path could deliver in the 5 s after that change: the slowest \
        link's rate, minus constant-rate traffic, divided equally with other transfers, from the arrival of a first packet on; mean \
        of the associations that handed over", Association, Range, Deliveries,
        |results, wanted| optimum::rate(results, wanted, 5)),
    metric!("handover.used", Unit::Ratio, "share of handover.optimum that was delivered in those 5 s; data from the old path counts \
        too", Association, Range, Deliveries, |results, wanted| optimum::used(results, wanted, 5)),
    metric!("handover.optimum.30s", Unit::Rate, "as handover.optimum, in the 30 s after that change", Association, Range,
        Deliveries, |results, wanted| optimum::rate(results, wanted, 30)),
    metric!("handover.used.30s", Unit::Ratio, "share of handover.optimum.30s that was delivered in those 30 s", Association, Range,
        Deliveries, |results, wanted| optimum::used(results, wanted, 30)),
    metric!("handover.at", Unit::Seconds, "time of that change; the earliest association's", Association, Range, None,
        handovers::at),
    metric!("handover.cwnd", Unit::Bytes, "congestion window of the new path at that change, as the handover policy set it or as the path has it; mean \
        of the associations that handed over", Association, Range, Trace, paths::start_cwnd),
    metric!("handover.fall", Unit::Seconds, "time at which the new path's window first falls below three quarters of its highest since \
        that change; the end of the run if it never does; mean of the associations", Association, Range, Trace,
        |results, wanted| paths::fall(results, wanted, |fall| fall.at)),
    metric!("handover.fall_timeouts", TIMES, "T3-rtx expirations at the time of handover.fall", Association, Range, Trace,
        |results, wanted| paths::fall(results, wanted, |fall| f64::from(u8::from(fall.by_timeout)))),
    metric!("handover.slow_start", TIMES, "1 if the new path begins in slow start (cwnd at most ssthresh); mean of the associations",
        Association, Range, Trace, paths::slow_start),
    metric!("handover.old.cwnd", Unit::Bytes, "congestion window of the old path just before that change; mean of the associations",
        Association, Range, Trace, |results, wanted| paths::left(results, wanted, |cwnd, _| cwnd as f64)),
    metric!("handover.old.slow_start", TIMES, "1 if the old path was in slow start just before that change", Association, Range,
        Trace, |results, wanted| paths::left(results, wanted, |cwnd, ssthresh| f64::from(u8::from(cwnd <= ssthresh)))),
    metric!("handover.reported_bdp", Unit::Bytes, "rate of the last report of the radio link (policy qos-measurement) before that \
        change, times the least round trip measured by then", Association, Range, Trace, paths::reported_bdp),
    metric!("handover.count", TIMES, "changes of the sender's primary path later than 2 s (or in the range)",
        Association, Range, None, handovers::count),

    metric!("association.goodput", Unit::Rate, "user bytes delivered since the start of the run (or in the range), both directions",
        Association, Range, None, associations::goodput),
    counter!("association.bytes", Unit::Bytes, "user bytes delivered, both directions", Association, associations::sum,
        |flow| flow.bytes),
    metric!("association.gap", Unit::Seconds, "longest time between two deliveries, or from the last one to the end; the worst \
        direction's", Association, Never, None, associations::gap),
    metric!("association.completed", Unit::Seconds, "time at which all data of finite applications had been delivered; the latest \
        association's", Association, Never, None, associations::completed),
    metric!("association.established", Unit::Seconds, "time at which the client considered the association up; the latest one's",
        Association, Never, None, associations::established),
    metric!("association.ended", TIMES, "associations that ended before the run did", Association, Never, None,
        associations::ended),
    counter!("association.data_chunks", CHUNKS, "DATA chunks sent for the first time", Association, associations::sum,
        |flow| flow.data_chunks),
    counter!("association.retransmitted", CHUNKS, "DATA chunks retransmitted", Association, associations::sum,
        |flow| flow.retransmitted),
    counter!("association.timeouts", TIMES, "T3-rtx expirations, on the paths that exist at the end", Association,
        associations::sum, |flow| flow.timeouts),
    counter!("association.spurious_timeouts", TIMES, "T3-rtx expirations detected as spurious", Association, associations::sum,
        |flow| flow.spurious_timeouts),
    counter!("association.fast_retransmits", TIMES, "fast retransmits, on the paths that exist at the end", Association,
        associations::sum, |flow| flow.fast_retransmits),
    metric!("association.reports_sent", TIMES, "reports of the radio link that the policy qos-measurement sent", Association, Never,
        Trace, |results, wanted| Ok(paths::notes(results, wanted, note::SENT))),
    metric!("association.reports_accepted", TIMES, "reports of the radio link that the policy qos-measurement accepted",
        Association, Never, Trace, |results, wanted| Ok(paths::notes(results, wanted, note::RECEIVED))),
    metric!("association.errors", CHUNKS, "ERROR chunks sent by both ends", Association, Never, Chunks,
        |results, wanted| Ok(paths::errors(results, wanted))),
    counter!("association.sacks", CHUNKS, "SACK chunks sent", Association, associations::sum, |flow| flow.sacks),

    metric!("path.cwnd", Unit::Bytes, "congestion window of the sender's primary path at the instant; mean of the associations",
        Association, Instant, Trace, paths::cwnd),
    metric!("path.cwnd.mean", Unit::Bytes, "mean of path.cwnd.curve", Association, Range, Trace, curves::mean_cwnd),
    metric!("path.cwnd.min", Unit::Bytes, "least value of path.cwnd.curve", Association, Range, Trace, curves::least_cwnd),
    metric!("path.estimate", Unit::Rate, "mean of the estimates of the available bandwidth made in the range, all paths of the first \
        association's sender", Association, Range, Trace, curves::mean_estimate),
    metric!("path.ssthresh", Unit::Bytes, "slow-start threshold of the sender's primary path at the instant; mean of the \
        associations that have one", Association, Instant, Trace, paths::ssthresh),
    metric!("path.flight", Unit::Bytes, "bytes in flight on the sender's primary path at the instant; mean of the associations",
        Association, Instant, Trace, paths::flight),
    metric!("path.srtt", Unit::Seconds, "smoothed round-trip time of the sender's primary path at the instant; mean of the \
        associations", Association, Instant, Trace, paths::srtt),
    metric!("path.timeouts", TIMES, "T3-rtx expirations on the sender's primary path (in the range)", Association, Range, Trace,
        |results, wanted| Ok(paths::marks(results, wanted, |kind| matches!(kind, TraceKind::T3Timeout { .. })))),
    metric!("path.fast_retransmits", TIMES, "fast retransmits on the sender's primary path (in the range)", Association, Range, Trace,
        |results, wanted| Ok(paths::marks(results, wanted, |kind| matches!(kind, TraceKind::FastRetransmit { .. })))),
    metric!("path.rtt.p95", Unit::Seconds, "the round-trip time that 95 % of the sender's samples did not exceed (nearest rank), \
        all paths", Association, Range, Trace, paths::rtt_p95),

    metric!("tcp.goodput", Unit::Rate, "user bytes delivered since the start of the run (or in the range), both directions",
        Tcp, Range, None, associations::tcp_goodput),
    counter!("tcp.bytes", Unit::Bytes, "user bytes delivered, both directions", Tcp, associations::tcp_sum, |flow| flow.bytes),
    metric!("tcp.gap", Unit::Seconds, "longest time between two deliveries, or from the last one to the end; the worst direction's",
        Tcp, Never, None, associations::tcp_gap),
    metric!("tcp.completed", Unit::Seconds, "time at which all data of finite applications had been delivered; the latest \
        connection's", Tcp, Never, None, associations::tcp_completed),
    counter!("tcp.segments", SEGMENTS, "segments sent for the first time", Tcp, associations::tcp_sum, |flow| flow.segments),
    counter!("tcp.retransmitted", SEGMENTS, "segments retransmitted", Tcp, associations::tcp_sum, |flow| flow.retransmitted),
    counter!("tcp.timeouts", TIMES, "expirations of the retransmission timer", Tcp, associations::tcp_sum, |flow| flow.timeouts),
    counter!("tcp.fast_retransmits", TIMES, "times fast recovery was entered", Tcp, associations::tcp_sum,
        |flow| flow.fast_retransmits),

    counter!("tcp.duplicate_acks", Unit::Count("acks"), "duplicate acknowledgments received", Tcp, associations::tcp_sum,
        |flow| flow.duplicate_acks),

    metric!("flow.bytes", Unit::Bytes, "user bytes delivered in the direction that carries more", Flow, Never, None,
        |results, wanted| Ok(flow::totals(results, wanted)?.bytes as f64)),
    metric!("flow.ended", TIMES, "1 if the flow ended before the run did, or was never up", Flow, Never, None,
        |results, wanted| Ok(f64::from(u8::from(flow::totals(results, wanted)?.ended)))),
    metric!("flow.retransmitted", PACKETS, "segments or DATA chunks retransmitted", Flow, Never, None,
        |results, wanted| Ok(flow::totals(results, wanted)?.retransmitted as f64)),
    metric!("flow.timeouts", TIMES, "expirations of the sender's retransmission timer (in the range), all paths", Flow, Range,
        Trace, |results, wanted| flow::count(results, wanted, |flow| &flow.timeouts)),
    metric!("flow.spurious_timeouts", TIMES, "expirations that the sender found to be spurious (in the range)", Flow, Range,
        Trace, |results, wanted| flow::count(results, wanted, |flow| &flow.spurious)),
    metric!("flow.fast_retransmits", TIMES, "fast retransmits (begun in the range), all paths", Flow, Range, Trace,
        |results, wanted| flow::count(results, wanted, |flow| &flow.fast_retransmits)),
    metric!("flow.stall", Unit::Seconds, "longest time between two packets sent for the first time, or from the last one to the \
        end", Flow, Never, Chunks, flow::stall),
    metric!("flow.acknowledged", PACKETS, "packets acknowledged without a gap by the instant", Flow, Instant, Chunks,
        flow::acknowledged_at),
    metric!("flow.rtt.max", Unit::Seconds, "longest round trip that the sender measured (in the range)", Flow, Range, Trace,
        flow::longest_rtt),
    metric!("flow.cwnd.before_timeout", Unit::Bytes, "congestion window before the first expiration of the retransmission timer",
        Flow, Never, Trace, flow::window_before_timeout),
    metric!("flow.cwnd.after_timeouts", Unit::Bytes, "congestion window when the last expiration was found to be spurious, else \
        after the last one", Flow, Never, Trace, flow::window_after_timeouts),
    metric!("flow.restarts", TIMES, "restarts of the sender's round-trip statistics after a spurious timeout", Flow, Never, Trace,
        flow::restarts),
    metric!("flow.restart.rtt", Unit::Seconds, "round trip measured at the last of these restarts", Flow, Never, Trace,
        |results, wanted| flow::restart(results, wanted, |sample, _| sample)),
    metric!("flow.restart.least", Unit::Seconds, "least round trip of the statistics after it", Flow, Never, Trace,
        |results, wanted| flow::restart(results, wanted, |_, times| times.least)),
    metric!("flow.restart.average", Unit::Seconds, "average round trip of the statistics after it", Flow, Never, Trace,
        |results, wanted| flow::restart(results, wanted, |_, times| times.average)),
    metric!("flow.restart.deviation", Unit::Seconds, "deviation of the statistics after it", Flow, Never, Trace,
        |results, wanted| flow::restart(results, wanted, |_, times| times.deviation)),
    metric!("flow.duplicate.first", Unit::Seconds, "time of the first duplicate acknowledgment", Flow, Never, Chunks,
        |results, wanted| flow::duplicate(results, wanted, 0)),
    metric!("flow.duplicate.third", Unit::Seconds, "time of the third duplicate acknowledgment", Flow, Never, Chunks,
        |results, wanted| flow::duplicate(results, wanted, 2)),
    metric!("flow.duplicate.rtt", Unit::Seconds, "round trip measured last before the first duplicate acknowledgment", Flow, Never,
        Chunks, flow::rtt_before_duplicate),
    metric!("flow.retransmission", Unit::Seconds, "time of the first retransmission", Flow, Never, Chunks,
        flow::first_retransmission),
    metric!("flow.lost", PACKETS, "packets whose first transmission was lost (in the range)", Flow, Range, Chunks, repair::lost),
    metric!("flow.repair", Unit::Seconds, "time from the first retransmission of these packets to the first one of the packet \
        that was retransmitted last", Flow, Range, Chunks,
        |results, wanted| repair::repair(results, wanted, |repair| repair.last - repair.first)),
    metric!("flow.repair.wait", Unit::Seconds, "time from the first transmission of the first of these packets to the first \
        retransmission of one", Flow, Range, Chunks,
        |results, wanted| repair::repair(results, wanted, |repair| repair.first - repair.begins)),
    metric!("flow.repair.done", Unit::Seconds, "time from that first transmission until all of these packets are acknowledged", Flow,
        Range, Chunks, |results, wanted| repair::repair(results, wanted, |repair| repair.done - repair.begins)),
    metric!("flow.repair.timeouts", TIMES, "expirations of the retransmission timer in that time", Flow, Range, Chunks,
        repair::timeouts),
    metric!("flow.blocks.max", Unit::Count("blocks"), "most SACK or gap blocks in an acknowledgment that reached the sender", Flow,
        Never, Chunks, |results, wanted| Ok(f64::from(flow::Flow::of(results, wanted)?.most_blocks))),
    metric!("flow.wireless_as_wireless", PACKETS, "packets lost on a radio link that the loss classifier called wireless", Flow,
        Never, None, |results, wanted| flow::verdicts(results, wanted, |verdicts| verdicts.wireless_as_wireless)),
    metric!("flow.wireless_as_congestion", PACKETS, "packets lost on a radio link that the loss classifier called congestion",
        Flow, Never, None, |results, wanted| flow::verdicts(results, wanted, |verdicts| verdicts.wireless_as_congestion)),
    metric!("flow.congestion_as_wireless", PACKETS, "packets lost to congestion that the loss classifier called wireless", Flow,
        Never, None, |results, wanted| flow::verdicts(results, wanted, |verdicts| verdicts.congestion_as_wireless)),
    metric!("flow.congestion_as_congestion", PACKETS, "packets lost to congestion that the loss classifier called congestion",
        Flow, Never, None, |results, wanted| flow::verdicts(results, wanted, |verdicts| verdicts.congestion_as_congestion)),
    metric!("flow.misjudged", PACKETS, "packets that the loss classifier judged and that were not lost", Flow, Never, None,
        |results, wanted| flow::verdicts(results, wanted, |v| v.unknown_as_wireless + v.unknown_as_congestion)),
    curve!("flow.sent_count.curve", PACKETS, "packets sent for the first time so far, second by second", Flow, Chunks, "time (s)",
        flow::sent_count),
    curve!("flow.acknowledged_count.curve", PACKETS, "packets acknowledged without a gap so far, second by second", Flow, Chunks,
        "time (s)", flow::acknowledged_count),
    curve!("flow.timeouts.curve", TIMES, "expirations of the sender's retransmission timer, a point at zero each", Flow, Trace,
        "time (s)", flow::timeouts),
    curve!("flow.sent.curve", PACKETS, "packets sent for the first time, as the number of their data; a point each", Flow, Chunks,
        "time (s)", |results, wanted| flow::sent(results, wanted, |sent| !sent.again)),
    curve!("flow.retransmitted.curve", PACKETS, "packets retransmitted, as the number of their data; a point each", Flow, Chunks,
        "time (s)", |results, wanted| flow::sent(results, wanted, |sent| sent.again)),
    curve!("flow.acknowledged.curve", PACKETS, "acknowledgments that reached the sender, as the first number that they do not \
        acknowledge", Flow, Chunks, "time (s)", flow::acknowledged),

    curve!("flow.arrived.curve", PACKETS, "packets whose first transmission was not lost, as the number of their data; a point each", Flow,
        Chunks, "time (s)", |results, wanted| repair::sent(results, wanted, false)),
    curve!("flow.lost.curve", PACKETS, "packets whose first transmission was lost, as the number of their data; a point each", Flow,
        Chunks, "time (s)", |results, wanted| repair::sent(results, wanted, true)),
    curve!("flow.losses.curve", PACKETS, "transmissions lost in each second that has any", Flow, Chunks, "time (s)", repair::losses),
    curve!("flow.repair.arrived.curve", PACKETS, "flow.arrived.curve round the repair of the lost packets, by the time since the \
        first of them was sent, and counted from it", Flow, Chunks, "time (s)",
        |results, wanted| repair::since_loss(results, wanted, |r, w| repair::sent(r, w, false), true)),
    curve!("flow.repair.lost.curve", PACKETS, "flow.lost.curve, likewise", Flow, Chunks, "time (s)",
        |results, wanted| repair::since_loss(results, wanted, |r, w| repair::sent(r, w, true), true)),
    curve!("flow.repair.retransmitted.curve", PACKETS, "flow.retransmitted.curve, likewise", Flow, Chunks, "time (s)",
        |results, wanted| repair::since_loss(results, wanted, |r, w| flow::sent(r, w, |sent| sent.again), true)),
    curve!("flow.repair.acknowledged.curve", PACKETS, "flow.acknowledged.curve, likewise", Flow, Chunks, "time (s)",
        |results, wanted| repair::since_loss(results, wanted, flow::acknowledged, true)),
    curve!("flow.repair.timeouts.curve", TIMES, "flow.timeouts.curve, likewise", Flow, Chunks, "time (s)",
        |results, wanted| repair::since_loss(results, wanted, flow::timeouts, false)),
    curve!("mobile-ip.outage.curve", Unit::Seconds, "duration of each Mobile IP handover in which the flow lost packets, from the old \
        agent's last advertisement to the registration with the new one; by its begin", Flow, Chunks, "time (s)",
        |results, wanted| repair::outages(results, wanted, |outage| Some(outage.outage))),
    curve!("mobile-ip.registered.curve", Unit::Seconds, "that duration by the time of the registration instead of the begin", Flow,
        Chunks, "time (s)", |results, wanted| {
            let outages = repair::outages(results, wanted, |outage| Some(outage.outage))?;
            Ok(outages.into_iter().map(|(from, outage)| (from + outage, outage)).collect())
        }),
    curve!("mobile-ip.outage.rto.curve", Unit::Seconds, "retransmission timeout of the sender at the begin of each of these \
        handovers", Flow, Chunks, "time (s)", |results, wanted| repair::outages(results, wanted, |outage| Some(outage.rto))),
    curve!("mobile-ip.outage.lost.curve", PACKETS, "transmissions lost in each of these handovers", Flow, Chunks, "time (s)",
        |results, wanted| repair::outages(results, wanted, |outage| Some(outage.lost as f64))),
    curve!("mobile-ip.outage.timed_out.curve", TIMES, "1 for each of these handovers with an expiration of the retransmission timer", Flow,
        Chunks, "time (s)",
        |results, wanted| repair::outages(results, wanted, |outage| Some(f64::from(u8::from(outage.timeouts > 0))))),
    curve!("mobile-ip.outage.fast_retransmit.curve", TIMES, "1 for each of these handovers with a fast retransmit and no such expiration",
        Flow, Chunks, "time (s)", |results, wanted| repair::outages(results, wanted, |outage| {
            Some(f64::from(u8::from(outage.timeouts == 0 && outage.fast_retransmits > 0)))
        })),
    curve!("mobile-ip.outage.slow_start.curve", TIMES, "1 for each of these handovers longer than the retransmission timeout with an \
        expiration and a window of one packet after it, 0 for others longer than it", Flow, Chunks, "time (s)",
        |results, wanted| repair::outages(results, wanted, |outage| {
            let slow = outage.timeouts > 0 && outage.window.is_some_and(|window| window < 1.5);
            (outage.outage > outage.rto).then_some(f64::from(u8::from(slow)))
        })),

    metric!("others.goodput", Unit::Rate, "bytes of cbr applications on the wire and user bytes of TCP connections delivered since \
        the start of the run", Other, Never, None, network::others_goodput),
    metric!("others.loss", Unit::Ratio, "share of the packets of cbr applications that were lost and of TCP segments to the server \
        that were retransmitted", Other, Never, None, network::others_loss),

    metric!("app.transfer.mean", Unit::Seconds, "mean time from a video message's generation (in the range) to its delivery; the \
        worst application's", Video, Range, Messages, network::mean_transfer),
    metric!("app.transfer.p95", Unit::Seconds, "the transfer time that 95 % of a video's delivered messages did not exceed (nearest \
        rank); the worst application's", Video, Never, None,
        |results, wanted| network::transfer(results, wanted, |video| video.p95_transfer)),
    metric!("app.transfer.max", Unit::Seconds, "longest transfer time of a video message (generated in the range)", Video, Range,
        Messages, network::longest_transfer),
    metric!("app.undelivered", Unit::Count("messages"), "video messages not delivered by the end of the run", Video, Never, None,
        network::undelivered),

    curve!("app.transfer.curve", Unit::Seconds, "transfer time of each video message generated in the range, up to the first that \
        was not delivered; of the first application", Video, Messages, "message", curves::transfer),
    curve!("association.goodput.curve", Unit::Rate, "user bytes delivered in each interval of the throughput series, both \
        directions; the sum", Association, Throughput, "time (s)", curves::goodput),
    curve!("tcp.goodput.curve", Unit::Rate, "user bytes delivered in each interval of the throughput series, both directions; \
        the sum", Tcp, Throughput, "time (s)", curves::tcp_goodput),
    curve!("association.delivered.curve", Unit::Bytes, "user bytes delivered since the begin of the range, both directions, second \
        by second", Association, Throughput, "time (s)", curves::delivered),
    curve!("path.estimate.curve", Unit::Rate, "latest estimate of the available bandwidth, twice a second; of the first association's \
        sender", Association, Trace, "time (s)", curves::estimate),
    curve!("path.cwnd.curve", Unit::Bytes, "congestion window of the sender's primary path, ten times a second; of the first \
        association", Association, Trace, "time (s)", curves::cwnd),

    curve!("path.ssthresh.curve", Unit::Bytes, "slow-start threshold of the sender's primary path, ten times a second; of the first \
        association", Association, Trace, "time (s)", curves::ssthresh),
    curve!("link.blocks.curve", Unit::Count("blocks"), "radio data blocks sent for the first time so far, at each sample of the \
        queue", Link, Queues, "time (s)", network::blocks),
    metric!("link.blocks.stall", Unit::Seconds, "longest time without a new radio data block after the set-up, by samples of the \
        queue", Link, Never, Queues, network::block_stall),

    counter!("link.offered", PACKETS, "packets offered to the link", Link, network::sum, |link| link.offered),
    counter!("link.delivered", PACKETS, "packets delivered", Link, network::sum, |link| link.delivered),
    counter!("link.bytes", Unit::Bytes, "bytes delivered, IP headers included", Link, network::sum, |link| link.delivered_bytes),
    counter!("link.drops", PACKETS, "packets dropped by the queue", Link, network::sum, |link| link.queue_drops),
    counter!("link.marked", PACKETS, "packets marked with Congestion Experienced", Link, network::sum, |link| link.marked),
    counter!("link.losses", PACKETS, "packets lost by the loss process", Link, network::sum, |link| link.losses),
    counter!("link.lost", PACKETS, "packets lost for any reason", Link, network::sum,
        |link| link.queue_drops + link.losses + link.down_drops + link.too_big),
    counter!("link.down_drops", PACKETS, "packets lost because the link was down", Link, network::sum, |link| link.down_drops),
    counter!("link.resent", Unit::Count("blocks"), "blocks or frames that the link layer retransmitted", Link, network::sum,
        |link| link.resent),
    metric!("link.queue.max", PACKETS, "longest queue; the worst direction's", Link, Never, None, network::longest_queue),
    metric!("link.queue.mean", PACKETS, "mean of the sampled queue lengths; the worst direction's", Link, Never, Queues,
        network::mean_queue),

    metric!("run.fairness", Unit::Ratio, "Jain's index over the associations and TCP connections that delivered in the range, each \
        one's rate taken as a share of its max-min fair one of the link; a video wants its own rate, others all they get",
        OneLink, Range, Throughput, curves::fairness),
    metric!("run.packets", PACKETS, "packets that links delivered, over all directions", Run, Never, None,
        |results, _| Ok(results.summary.packets as f64)),
    metric!("run.events", TIMES, "wake-ups that the simulator handled", Run, Never, None,
        |results, _| Ok(results.summary.events as f64)),
];
