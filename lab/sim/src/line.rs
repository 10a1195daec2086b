//! The associations of the scenario: both ends with their applications and counters. May not touch links or
//! events.

use std::net::IpAddr;

use msctp_lab_schemes::classifiers::Tally;
use msctp_proto::{Association, AssociationStats, Handle, PathAddr, PathId, PathStats, PrimaryCause};
use msctp_units::{Span, Time};

use crate::app::reader::Reader;
use crate::app::source::Source;
use crate::app::video::Video;
use crate::losses::tally;
use crate::scenario::Side;
use crate::series::{Deliveries, DeliverySeries, TraceSeries};
use crate::summary::HandoverSummary;

/// The deliveries at one end of an association.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Option<Time>,
    pub(crate) longest_gap: Span,
    /// Start of the longest gap.
    pub(crate) longest_gap_at: Time,
}

impl Received {
    #[inline]
    pub(crate) fn add(&mut self, now: Time, bytes: u64, messages: u64) {
        self.bytes += bytes;
        self.messages += messages;
        self.first.get_or_insert(now);
        let since = self.last.replace(now).unwrap_or(now);
        let gap = now.since(since);
        if gap > self.longest_gap {
            self.longest_gap = gap;
            self.longest_gap_at = since;
        }
    }
}

/// A change of the primary path at one end.
#[derive(Clone, Debug)]
pub(crate) struct Handover {
    pub(crate) at: Time,
    pub(crate) to: PathAddr,
    pub(crate) cause: PrimaryCause,
    /// Longest gap so far in the peer's deliveries that overlaps the [`HandoverSummary::WATCH`] after the
    /// change.
    pub(crate) gap: Span,
}

impl Handover {
    /// Returns true if a gap that begins at `last`, and ends after the change, overlaps the
    /// [`HandoverSummary::WATCH`] after it.
    #[inline]
    pub(crate) fn watches(&self, last: Time) -> bool {
        last <= self.at + HandoverSummary::WATCH
    }
}

/// The record of an association that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Last {
    pub(crate) stats: AssociationStats,
    pub(crate) paths: Vec<PathStats>,
    pub(crate) verdicts: Tally,
    /// Reason of the end; `None` if the run ended first.
    pub(crate) why: Option<String>,
}

impl Last {
    /// Returns the counters of an association as they are now.
    pub(crate) fn of(association: &Association, why: Option<String>) -> Self {
        Self {
            stats: association.stats(),
            paths: association.paths().collect(),
            verdicts: tally(association.loss_classifier()),
            why,
        }
    }
}

/// One end of an association.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Number of the node.
    pub(crate) host: u32,
    pub(crate) handle: Option<Handle>,
    /// Sources, each with the number of its application.
    pub(crate) sources: Vec<(u32, Source)>,
    pub(crate) reader: Option<(u32, Reader)>,
    pub(crate) received: Received,
    pub(crate) handovers: Vec<Handover>,
    pub(crate) ended: Option<Last>,
    pub(crate) delivery: Option<DeliverySeries>,
    pub(crate) deliveries: Option<Deliveries>,
    pub(crate) trace: Option<TraceSeries>,
}

/// An association of the scenario.
#[derive(Debug)]
pub(crate) struct Line {
    client: End,
    server: End,
    pub(crate) established: Option<Time>,
    /// Addresses that a NAT translates on the way to the other end: the local one, and the one that the peer
    /// sees.
    translated: Vec<(IpAddr, IpAddr)>,
}

impl Line {
    pub(crate) fn new(client: End, server: End, translated: Vec<(IpAddr, IpAddr)>) -> Self {
        Self { client, server, established: None, translated }
    }

    /// Returns true if a NAT translates some address.
    pub(crate) fn has_translations(&self) -> bool {
        !self.translated.is_empty()
    }

    /// Returns true if a NAT translates this address.
    pub(crate) fn is_translated(&self, address: IpAddr) -> bool {
        self.translated.iter().any(|(own, _)| *own == address)
    }

    /// Returns the address that the other end sees in place of this one.
    pub(crate) fn seen_as(&self, address: IpAddr) -> IpAddr {
        self.translated.iter().find(|(own, _)| *own == address).map_or(address, |(_, seen)| *seen)
    }

    /// Returns true if the other end sees this address in place of a local one.
    pub(crate) fn knows_as(&self, address: IpAddr) -> bool {
        self.translated.iter().any(|(_, seen)| *seen == address)
    }

    /// Returns the local address for one that the other end sees.
    pub(crate) fn own_name(&self, seen: IpAddr) -> IpAddr {
        self.translated.iter().find(|(_, known)| *known == seen).map_or(seen, |(own, _)| *own)
    }

    pub(crate) fn into_ends(self) -> [End; 2] {
        [self.client, self.server]
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Returns the end on this side and the other one.
    fn pair_mut(&mut self, side: Side) -> (&mut End, &mut End) {
        match side {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        }
    }

    /// Reads messages at one end. `at` has the addresses of the packet that completed them. Returns true if a
    /// source of the other end may be delivered completely.
    #[inline]
    pub(crate) fn read(
        &mut self,
        now: Time,
        side: Side,
        association: &mut Association,
        at: Option<PathAddr>,
    ) -> bool {
        let (end, peer) = self.pair_mut(side);
        let (mut bytes, mut messages) = (0, 0);
        let mut ending = false;
        while end.reader.as_ref().is_none_or(|(_, reader)| reader.may_read(now))
            // Ends of a scenario do not restart.
            && let Ok(Some(message)) = association.recv()
        {
            let len = message.data.len();
            bytes += len as u64;
            messages += 1;
            if let Some((_, reader)) = &mut end.reader {
                reader.has_read(len);
            }
            // The payload protocol identifier is the number of the application.
            if let Some((_, source)) = peer.sources.iter_mut().find(|(app, _)| *app == message.ppid) {
                ending |= source.was_delivered(now, &message.data, len);
            }
        }
        if messages > 0 {
            end.account(now, peer, bytes, messages, at);
        }
        ending
    }

    /// Records a delivery on a real stack ([`crate::RealStackRun`]): a message of application `app`, of `len`
    /// bytes that begin with `head`.
    pub(crate) fn was_given(&mut self, now: Time, side: Side, app: u32, head: &[u8], len: usize) {
        let (end, peer) = self.pair_mut(side);
        if let Some((_, source)) = peer.sources.iter_mut().find(|(number, _)| *number == app) {
            source.was_delivered(now, head, len);
        }
        end.account(now, peer, len as u64, 1, None);
    }
}

/// Limit of unsent bytes in the send buffer up to which sources pass messages. It is enough to fill every
/// packet, and small enough that a thousand associations stay in the cache.
const AHEAD: u64 = 32 * 1024;

impl End {
    /// Assigns the gap that ends with the delivery at `now` to each of the peer's handovers whose
    /// [`HandoverSummary::WATCH`] it overlaps. Call it before the delivery is counted.
    #[inline]
    fn watch(&self, now: Time, peer: &mut End) {
        let Some(last) = self.received.last else { return };
        for handover in peer.handovers.iter_mut().rev() {
            if !handover.watches(last) {
                break;
            }
            handover.gap = handover.gap.max(now.since(last));
        }
    }

    /// Counts a delivery at this end. `at` has the addresses of the packet that completed it.
    #[inline]
    fn account(&mut self, now: Time, peer: &mut End, bytes: u64, messages: u64, at: Option<PathAddr>) {
        self.watch(now, peer);
        self.received.add(now, bytes, messages);
        if let Some(series) = &mut self.delivery {
            series.add(now, bytes, at);
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.add(now, bytes);
        }
    }

    /// Passes messages of the sources to the association. Returns whether it accepted some.
    #[inline]
    pub(crate) fn fill(&mut self, now: Time, association: &mut Association) -> bool {
        let mut took = false;
        for (app, source) in &mut self.sources {
            while association.unsent() < AHEAD
                && let Some(message) = source.next(*app)
            {
                let len = message.data.len();
                if association.send(now, message).is_err() {
                    break;
                }
                source.accepted(len);
                took = true;
            }
        }
        took
    }

    /// Returns true if everything that the sources have to send was delivered.
    pub(crate) fn has_completed(&self) -> bool {
        self.sources.iter().all(|(_, source)| source.completed().is_some())
    }

    /// Returns true if the sources have nothing to send now, because they have ended or are stopped, and all
    /// that they sent was delivered. A time without deliveries is then no gap.
    pub(crate) fn is_done(&self) -> bool {
        self.sources.iter().all(|(_, source)| source.is_done())
    }

    /// Returns true if a source has a message to pass.
    #[inline]
    pub(crate) fn is_hungry(&self, association: &Association) -> bool {
        self.sources.iter().any(|(_, source)| source.has_more()) && association.unsent() == 0
    }

    /// Returns the video source of application `number`.
    pub(crate) fn video(&self, number: u32) -> Option<&Video> {
        self.sources.iter().find_map(|(app, source)| match source {
            Source::Video(video) if *app == number => Some(&**video),
            _ => None,
        })
    }

    /// Returns the video source of application `number`, mutable.
    pub(crate) fn video_mut(&mut self, number: u32) -> Option<&mut Video> {
        self.sources.iter_mut().find_map(|(app, source)| match source {
            Source::Video(video) if *app == number => Some(&mut **video),
            _ => None,
        })
    }
}

/// Returns the path to an address: from the requested address, else from the primary's local address, else
/// the first.
#[must_use]
pub fn path_to(paths: &[PathStats], address: IpAddr, from: Option<IpAddr>) -> Option<PathId> {
    let primary = paths.iter().find(|path| path.primary).map(|path| path.at.local);
    let from_it = |local| from.is_none_or(|from| from == local);
    let to = || paths.iter().filter(|path| path.at.remote == address && from_it(path.at.local));
    to().find(|path| Some(path.at.local) == primary).or_else(|| to().next()).map(|path| path.id)
}
