//! SCTP on the hosts: one endpoint per host, and the two ends of every association with their applications and
//! counters.

use msctp_units::{Span, Time};

use crate::app::bulk::Bulk;
use crate::app::reader::Reader;
use crate::scenario::{Scenario, Side};
use crate::series::{DeliverySeries, TraceSeries};

/// What one end of an association has been given by the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Option<Time>,
    pub(crate) longest_gap: Span,
    /// When the longest gap began.
    pub(crate) longest_gap_at: Time,
    /// When `bytes` reached what the other end's applications were to send.
    pub(crate) completed: Option<Time>,
}

impl Received {
    #[inline]
    pub(crate) fn add(&mut self, now: Time, bytes: u64, messages: u64) {
        self.bytes += bytes;
        self.messages += messages;
        let since = *self.last.get_or_insert(now);
        self.first.get_or_insert(now);
        let gap = now.since(since);
        if gap > self.longest_gap {
            self.longest_gap = gap;
            self.longest_gap_at = since;
        }
        self.last = Some(now);
    }
}

/// A change of the primary path at one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handover {
    pub(crate) at: Time,
    pub(crate) to: msctp_proto::PathAddr,
    pub(crate) cause: msctp_proto::PrimaryCause,
    /// Longest gap in what the other end received that ends within [`Handover::WATCH`] after it.
    pub(crate) gap: Span,
}

impl Handover {
    /// How long the deliveries after a handover are watched, and the ones before are summed.
    pub(crate) const WATCH: Span = Span::from_secs(5);
}

/// One end of an association.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) host: u32,
    pub(crate) sources: Vec<(u32, Bulk)>,
    pub(crate) reader: Option<(u32, Reader)>,
    pub(crate) received: Received,
    pub(crate) delivery: Option<DeliverySeries>,
    pub(crate) trace: Option<TraceSeries>,
}

/// An association of the scenario.
#[derive(Debug)]
pub(crate) struct Line {
    client: End,
    server: End,
}

impl Line {
    pub(crate) fn new(client: End, server: End) -> Self {
        Self { client, server }
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
}

/// All hosts' endpoints.
#[derive(Debug)]
pub(crate) struct Hosts {}

impl Hosts {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let _ = (scenario, seed);
        Self {}
    }
}
