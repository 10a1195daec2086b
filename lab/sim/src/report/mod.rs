//! Builds the [`Summary`] from a run's counters.

mod tcp;

use msctp_units::{Rate, Span, Time};

use crate::action::{Act, Call};
use crate::app::video::Video;
use crate::line::{End, Handover, Last, Line};
use crate::nodes::Names;
use crate::percentile::nearest_rank;
use crate::scenario::Side;
use crate::series::{MessageSeries, Series};
use crate::simulation::{App, Simulation};
use crate::summary::{
    ActionSummary, AssociationSummary, CbrSummary, FlowSummary, HandoverSummary, LinkSummary, Summary,
    VerdictSummary, VideoSummary,
};
use crate::tcp_line::TcpLine;

impl Simulation {
    /// Returns the summary of the run so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let links = self.links();
        let mut summary = Summary {
            scenario: self.scenario.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            duration: self.now.as_secs_f64(),
            events: self.handled,
            packets: links.iter().map(|link| link.delivered).sum(),
            trace_hash: self.observer.hash_so_far(),
            associations: self.associations(),
            tcp: self.tcp_summaries(),
            cbr: self.cbr(),
            video: self.video(),
            links,
            no_address: self.network.strays.no_address,
            no_route: self.network.strays.no_route,
            actions: self.actions(),
            mobile_ip: None,
            middleboxes: Vec::new(),
        };
        self.nodes.summarize(&Names { scenario: &self.scenario, interfaces: &self.interfaces }, &mut summary);
        summary
    }

    /// Returns the time series.
    #[must_use]
    pub fn into_series(self) -> Series {
        let mut series =
            Series { queues: self.queues.map(|probe| probe.series).unwrap_or_default(), ..Series::default() };
        let recorded = self.scenario.probes.messages;
        for (spec, (number, app)) in self.scenario.apps.iter().zip(self.apps.iter().enumerate()) {
            if let &App::Video { association, from } = app
                && recorded
                && let Some(video) = self.lines[association].end(from).video(number as u32)
            {
                series.messages.push(message_series(&spec.name, video));
            }
        }
        for line in self.lines {
            for end in line.into_ends() {
                if let Some(mut delivery) = end.delivery {
                    delivery.finish(self.now);
                    series.delivery.push(delivery);
                }
                series.deliveries.extend(end.deliveries);
                series.traces.extend(end.trace);
            }
        }
        for end in self.tcp.into_iter().flat_map(TcpLine::into_ends) {
            if let Some(mut delivery) = end.delivery {
                delivery.finish(self.now);
                series.delivery.push(delivery);
            }
            series.deliveries.extend(end.deliveries);
            series.tcp.extend(end.trace);
        }
        series
    }

    fn associations(&self) -> Vec<AssociationSummary> {
        let named = self.scenario.associations.iter().zip(&self.lines).enumerate();
        named
            .map(|(number, (spec, line))| AssociationSummary {
                name: spec.name.clone(),
                established: line.established.map(Time::as_secs_f64),
                ended: self.how_it_ended(number, line),
                to_server: self.flow(line, Side::Server),
                to_client: self.flow(line, Side::Client),
                handovers: self.handovers(line),
            })
            .collect()
    }

    fn how_it_ended(&self, number: usize, line: &Line) -> Option<String> {
        let starts = |act: &Act| {
            let connect = Call::Connect;
            matches!(act, Act::Association { association, call, .. } if *association == number && *call == connect)
        };
        // The starts come after the changes of radio conditions, in the order of the associations.
        let mut starts_on = self.plan.actions.iter().skip(self.codings.len() + number);
        let start = starts_on.find(|planned| starts(&planned.act));
        let refused =
            start.and_then(|start| start.refused.as_ref()).map(|why| format!("could not begin: {why}"));
        let end = |side: Side| line.end(side).ended.as_ref().and_then(|last| last.why.clone());
        refused.or_else(|| end(Side::Client)).or_else(|| end(Side::Server))
    }

    /// Returns counters and paths of one end, present or final.
    fn counters(&self, end: &End) -> Last {
        if let Some(last) = &end.ended {
            return last.clone();
        }
        let host = self.hosts[end.host as usize].as_ref();
        let association = end.handle.and_then(|handle| host?.endpoint.association(handle));
        association.map(|a| Last::of(a, None)).unwrap_or_default()
    }

    /// Summarizes the deliveries at this end.
    fn flow(&self, line: &Line, to: Side) -> FlowSummary {
        let (end, peer) = (line.end(to), line.end(to.other()));
        let received = end.received;
        let (receiver, sender) = (self.counters(end).stats, self.counters(peer));
        let (paths, verdicts, sender) = (sender.paths, sender.verdicts, sender.stats);
        // A gap that lasts until the end of the run counts too.
        let silent = received.last.map(|last| (self.now.since(last), last));
        let gap = (received.longest_gap, received.longest_gap_at);
        let gap = silent.filter(|silent| !peer.is_done() && silent.0 > gap.0).unwrap_or(gap);
        let finite = !peer.sources.is_empty() && peer.has_completed();
        FlowSummary {
            bytes: received.bytes,
            messages: received.messages,
            goodput: Rate::of(received.bytes, self.now.since(Time::ZERO)).unwrap_or_default().as_bps(),
            first: received.first.map(Time::as_secs_f64),
            last: received.last.map(Time::as_secs_f64),
            longest_gap: gap.0.as_secs_f64(),
            longest_gap_at: gap.1.as_secs_f64(),
            completed: received.last.filter(|_| finite).map(Time::as_secs_f64),
            data_chunks: sender.data_chunks_sent,
            retransmitted: sender.data_chunks_retransmitted,
            timeouts: paths.iter().map(|path| path.timeouts).sum(),
            fast_retransmits: paths.iter().map(|path| path.fast_retransmits).sum(),
            spurious_timeouts: paths.iter().map(|path| path.spurious_timeouts).sum(),
            verdicts: VerdictSummary::of(&verdicts),
            sacks: receiver.sacks_sent,
        }
    }

    fn handovers(&self, line: &Line) -> Vec<HandoverSummary> {
        let mut all: Vec<(&Handover, Side)> = [Side::Client, Side::Server]
            .into_iter()
            .flat_map(|side| line.end(side).handovers.iter().map(move |handover| (handover, side)))
            .collect();
        all.sort_by_key(|(handover, _)| handover.at);
        all.into_iter()
            .map(|(handover, side)| {
                let (end, other) = (line.end(side), line.end(side.other()));
                let receives = other.received.messages > 0;
                // A gap that lasts until the end of the run counts too.
                let open = other.received.last.filter(|&last| !end.is_done() && handover.watches(last));
                let gap = handover.gap.max(open.map_or(Span::ZERO, |last| self.now.since(last)));
                let rate = |from: Time| {
                    let deliveries = other.deliveries.as_ref().filter(|_| receives)?;
                    let bytes = deliveries.within(from, HandoverSummary::WATCH, self.now)?;
                    Some(Rate::of(bytes, HandoverSummary::WATCH)?.as_bps())
                };
                HandoverSummary {
                    side: side.word(),
                    at: handover.at.as_secs_f64(),
                    to: handover.to.to_string(),
                    cause: handover.cause.word().to_owned(),
                    before: (handover.at >= Time::ZERO + HandoverSummary::WATCH)
                        .then(|| handover.at - HandoverSummary::WATCH)
                        .and_then(rate),
                    after: rate(handover.at),
                    gap: receives.then(|| gap.as_secs_f64()),
                }
            })
            .collect()
    }

    fn cbr(&self) -> Vec<CbrSummary> {
        let named = self.scenario.apps.iter().zip(&self.apps);
        named
            .filter_map(|(spec, app)| match app {
                App::Cbr(cbr) => Some(CbrSummary {
                    name: spec.name.clone(),
                    sent: cbr.sent,
                    received: cbr.received,
                    received_bytes: cbr.received_bytes,
                }),
                App::Bulk { .. } | App::Video { .. } | App::Reader { .. } | App::Tcp { .. } => None,
            })
            .collect()
    }

    fn video(&self) -> Vec<VideoSummary> {
        let named = self.scenario.apps.iter().zip(&self.apps).enumerate();
        named
            .filter_map(|(number, (spec, app))| match app {
                &App::Video { association, from } => {
                    let video = self.lines[association].end(from).video(number as u32)?;
                    Some(video_summary(&spec.name, video))
                }
                App::Bulk { .. } | App::Cbr(_) | App::Reader { .. } | App::Tcp { .. } => None,
            })
            .collect()
    }

    fn links(&self) -> Vec<LinkSummary> {
        let names = self.directions();
        let ends = self.scenario.links.iter().flat_map(|l| [(&l.a, &l.b), (&l.b, &l.a)]);
        let named = self.network.hops.iter().zip(names).zip(ends);
        named
            .map(|((hop, name), (from, to))| hop.summary(&self.network.air, name, from.clone(), to.clone()))
            .collect()
    }

    fn actions(&self) -> Vec<ActionSummary> {
        let shown =
            self.plan.actions.iter().filter_map(|action| action.shown.as_ref().map(|shown| (action, shown)));
        shown
            .map(|(action, (word, subject))| ActionSummary {
                action: (*word).to_owned(),
                subject: subject.clone(),
                at: action.done.map(|at| at.as_secs_f64()),
                refused: action.refused.clone(),
            })
            .collect()
    }
}

fn message_series(app: &str, video: &Video) -> MessageSeries {
    MessageSeries {
        app: app.to_owned(),
        generated: video.transfers.iter().map(|transfer| transfer.generated).collect(),
        delivered: video
            .transfers
            .iter()
            .map(|transfer| Some(transfer.delivered).filter(|&at| at != Time::MAX))
            .collect(),
    }
}

fn video_summary(name: &str, video: &Video) -> VideoSummary {
    let mut times: Vec<Span> = video.transfer_times().collect();
    times.sort_unstable();
    let count = times.len() as u64;
    let sum: u128 = times.iter().map(|time| u128::from(time.as_nanos())).sum();
    let mean = sum.checked_div(u128::from(count)).map(|mean| Span::from_nanos(mean as u64));
    let seconds = |span: Span| span.as_secs_f64();
    VideoSummary {
        name: name.to_owned(),
        generated: video.transfers.len() as u64,
        generated_bytes: video.generated_bytes,
        delivered: video.delivered,
        undelivered: video.transfers.len() as u64 - video.delivered,
        mean_transfer: mean.map(seconds),
        p95_transfer: nearest_rank(&times, 95).map(seconds),
        max_transfer: times.last().copied().map(seconds),
        longest_wait: video.longest_wait as u64,
    }
}
