//! [`SetUps`]: TLS handshakes of peers that have not proved their keys. Each costs this end a signature for a
//! few hundred bytes, so they wait for the packets of other associations, and sources take turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use msctp_proto::Handle;
use msctp_units::{Span, Time};

/// Period of [`max_handshakes_per_second`](crate::EndpointOptions::max_handshakes_per_second). A source may
/// begin the handshakes of one period at once.
const PERIOD: Span = Span::from_secs(1);

/// Number of sources with counted handshakes from which on those without are removed.
const FEW_SOURCES: usize = 64;

/// The set-ups of a shard whose peers have not proved their keys, and which of them have messages to handle.
///
/// A set-up stays queued until it is taken or ends: the limit of unproven associations bounds the queue.
/// Handshakes in progress precede new ones. A new one counts against the rate of its source until the peer
/// has proved its keys, so that peers that complete their handshakes are never held up by the rate.
#[derive(Debug)]
pub(crate) struct SetUps {
    /// Time for which a handshake counts if the peer does not complete it.
    each: Span,
    all: BTreeMap<Handle, SetUp>,
    in_progress: Turns,
    new: Turns,
    /// Sources in `new` whose rate is used up, by the time of their next handshake.
    held_up: BTreeSet<(Time, IpAddr)>,
    /// Time at which no handshake of a source counts any more.
    full_at: BTreeMap<IpAddr, Time>,
    /// Number of entries of `full_at` at which those in the past are removed.
    purge_at: usize,
    /// Number of set-ups queued so far.
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct SetUp {
    source: IpAddr,
    /// True if its handshake counts against the rate of its source.
    counted: bool,
    /// Its position among those of its source, if it is queued.
    queued: Option<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    in_progress: bool,
    arrival: u64,
}

/// A set-up whose messages are to be handled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) handle: Handle,
    /// False for a new handshake.
    pub(crate) in_progress: bool,
}

/// Queued set-ups by source. The sources take turns; those of a source have the order of their arrival.
#[derive(Debug, Default)]
struct Turns {
    of: BTreeMap<IpAddr, BTreeMap<u64, Handle>>,
    /// Sources of `of`, except those that are held up. Some may have no set-up left.
    order: VecDeque<IpAddr>,
}

impl Turns {
    fn insert(&mut self, source: IpAddr, arrival: u64, handle: Handle) {
        let order = &mut self.order;
        let queue = self.of.entry(source).or_insert_with(|| {
            order.push_back(source);
            BTreeMap::new()
        });
        queue.insert(arrival, handle);
    }

    fn remove(&mut self, source: IpAddr, arrival: u64) {
        if let Some(queue) = self.of.get_mut(&source) {
            queue.remove(&arrival);
        }
    }

    /// Returns the next source with a set-up, and takes its turn.
    fn next_source(&mut self) -> Option<IpAddr> {
        loop {
            let source = self.order.pop_front()?;
            if self.of.get(&source).is_some_and(|queue| !queue.is_empty()) {
                return Some(source);
            }
            self.of.remove(&source);
        }
    }

    /// Takes the oldest set-up of a source whose turn it is.
    fn take(&mut self, source: IpAddr) -> Option<Handle> {
        let queue = self.of.get_mut(&source)?;
        let (_, handle) = queue.pop_first()?;
        if queue.is_empty() {
            self.of.remove(&source);
        } else {
            self.order.push_back(source);
        }
        Some(handle)
    }
}

impl SetUps {
    /// Creates an empty set with this rate for each source, which is not 0.
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            each: Span::from_nanos(PERIOD.as_nanos() / u64::from(per_second)),
            all: BTreeMap::new(),
            in_progress: Turns::default(),
            new: Turns::default(),
            held_up: BTreeSet::new(),
            full_at: BTreeMap::new(),
            purge_at: FEW_SOURCES,
            arrivals: 0,
        }
    }

    /// Adds a set-up, which has no messages yet.
    pub(crate) fn enter(&mut self, handle: Handle, source: IpAddr) {
        self.all.insert(handle, SetUp { source, counted: false, queued: None });
    }

    /// Queues a set-up, because it has messages to handle.
    pub(crate) fn queue(&mut self, handle: Handle, in_progress: bool) {
        let Some(set_up) = self.all.get_mut(&handle) else { return };
        match set_up.queued {
            Some(position) if position.in_progress == in_progress => return,
            // The peer began again.
            Some(position) => {
                let turns = if position.in_progress { &mut self.in_progress } else { &mut self.new };
                turns.remove(set_up.source, position.arrival);
            }
            None => {}
        }
        self.arrivals += 1;
        set_up.queued = Some(Position { in_progress, arrival: self.arrivals });
        let turns = if in_progress { &mut self.in_progress } else { &mut self.new };
        turns.insert(set_up.source, self.arrivals, handle);
    }

    /// Returns whether messages of a handshake in progress are queued.
    pub(crate) fn is_queued_in_progress(&self, handle: Handle) -> bool {
        let set_up = self.all.get(&handle);
        set_up.is_some_and(|set_up| set_up.queued.is_some_and(|position| position.in_progress))
    }

    /// Takes the next set-up whose messages are to be handled: of those in progress, then of the new ones
    /// whose source has not used up its rate.
    pub(crate) fn take(&mut self, now: Time) -> Option<Next> {
        if let Some(source) = self.in_progress.next_source() {
            let handle = self.in_progress.take(source)?;
            self.all.get_mut(&handle)?.queued = None;
            return Some(Next { handle, in_progress: true });
        }
        while let Some(&(at, source)) = self.held_up.first()
            && at <= now
        {
            self.held_up.pop_first();
            self.new.order.push_back(source);
        }
        while let Some(source) = self.new.next_source() {
            if let Err(at) = self.count(now, source) {
                self.held_up.insert((at, source));
                continue;
            }
            let handle = self.new.take(source)?;
            let set_up = self.all.get_mut(&handle)?;
            (set_up.queued, set_up.counted) = (None, true);
            return Some(Next { handle, in_progress: false });
        }
        None
    }

    /// Returns the time at which [`take`](Self::take) may return a set-up, which is in the past if it may do
    /// so now. `None` if nothing is queued.
    pub(crate) fn next(&self) -> Option<Time> {
        if self.in_progress.order.is_empty() && self.new.order.is_empty() {
            return self.held_up.first().map(|(at, _)| *at);
        }
        Some(Time::ZERO)
    }

    /// Removes a set-up, because the peer has proved its keys or the association ends.
    pub(crate) fn leave(&mut self, handle: Handle, proved: bool) {
        let Some(set_up) = self.all.remove(&handle) else { return };
        if let Some(Position { in_progress, arrival }) = set_up.queued {
            let turns = if in_progress { &mut self.in_progress } else { &mut self.new };
            turns.remove(set_up.source, arrival);
        }
        if proved && set_up.counted {
            self.discount(set_up.source);
        }
    }

    /// Counts a handshake. Returns the time of the source's next one if it has used up its rate.
    fn count(&mut self, now: Time, source: IpAddr) -> Result<(), Time> {
        let full_at = self.full_at.get(&source).copied().unwrap_or_default().max(now) + self.each;
        if full_at > now + PERIOD {
            return Err(full_at - PERIOD);
        }
        if self.full_at.insert(source, full_at).is_none() && self.full_at.len() > self.purge_at {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.purge_at = FEW_SOURCES.max(2 * self.full_at.len());
        }
        Ok(())
    }

    /// Stops counting a handshake that the peer has completed.
    fn discount(&mut self, source: IpAddr) {
        let Some(full_at) = self.full_at.get_mut(&source) else { return };
        let next = *full_at + self.each - PERIOD;
        *full_at = *full_at - self.each;
        if self.held_up.remove(&(next, source)) {
            self.new.order.push_back(source);
        }
    }
}

#[cfg(test)]
#[path = "set_ups_tests.rs"]
mod tests;
