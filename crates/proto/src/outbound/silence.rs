//! Silence (`FailoverConfig::silence`): what a sender does when a path that answered all the time answers no more, long before
//! T3-rtx says so. Ours; off by default. Knows no packets.
//!
//! T3-rtx waits for the RTO after the *last* acknowledgement, never less than RTO.Min. But a path with a stream of data on it
//! shows signs of life all the time: packets that come over it, acknowledgements of what was sent there. How long it was
//! without one lately says what its queues, its jitter and the peer's delayed SACKs do; when it is without one for several times as
//! long, counted from when the answer to the oldest chunk in flight was due (SRTT + RTTVAR after it was sent) or from the last sign
//! if that is later, it is silent. That alone changes nothing: it is asked by a HEARTBEAT, and another path that works by the
//! oldest chunk, sent again there as one packet, which also is what the receiver waits for.
//!
//! Any sign of the silent path ends it. Only when the other path's answer has come, so that the peer is known to be there, and the
//! silent one had a least round trip more to show that it is no worse, what would happen when its T3-rtx expires happens now
//! (RFC 9260 §6.3.3, RFC 7829 §3.2), the way back included: the HEARTBEAT is on its way already.
//!
//! With few packets in flight all of them may be lost on a path that works, and silence tells nothing: T3-rtx alone does.

use msctp_units::{Span, Time};

use super::Outbound;
use super::chunk::{Fate, SendNumber};
use super::flow::Flow;
use crate::long_tsn::LongTsn;
use crate::path::{Path, Paths};
use crate::{PathId, TraceKind};

/// Full packets in flight that make a stream: that so many are lost by chance on a path that works is not to be expected.
const STREAM: u64 = 8;
/// Signs of life in a stream until it is known how often they come.
const SIGNS: u32 = 8;
/// So many times the longest interval between two signs lately is silence.
const PATIENCE: u64 = 3;
/// The most that it becomes.
const MAX_PATIENCE: u64 = 32;
/// A path that failed so long ago has a clean record.
const CALM: Span = Span::from_secs(30);
/// "Lately" is at least so long, and at least two round trips.
const MEMORY: Span = Span::from_secs(1);

/// The option at work.
#[derive(Debug)]
pub(super) struct Silence {
    /// `FailoverConfig::silence`.
    least: Span,
    watches: Vec<Watch>,
}

/// What is known of a path's signs of life.
#[derive(Clone, Copy, Debug)]
struct Watch {
    path: PathId,
    /// The last one.
    heard: Time,
    /// After it a stream was in flight.
    streaming: bool,
    /// It was taken for failed since.
    doubted: bool,
    /// In this period, and the one before.
    recent: [Signs; 2],
    period_until: Time,
    /// Doubles with each failure that follows another one.
    patience: u64,
    calm_from: Time,
    asked: Option<Asked>,
}

/// Signs of life of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    count: u32,
    /// The longest time between two of them.
    longest: Span,
}

/// A chunk of a silent path on its way over another one.
#[derive(Clone, Copy, Debug)]
struct Asked {
    by: PathId,
    tsn: LongTsn,
    /// Sendings up to here were made before.
    before: SendNumber,
    at: Time,
    /// When it was acknowledged.
    answered: Option<Time>,
}

impl Watch {
    fn new(path: PathId, now: Time) -> Self {
        Self {
            path,
            heard: now,
            streaming: false,
            doubted: false,
            recent: [Signs::default(); 2],
            period_until: now,
            patience: PATIENCE,
            calm_from: now,
            asked: None,
        }
    }

    fn sign(&mut self, now: Time, srtt: Option<Span>) {
        let interval = now.since(self.heard);
        self.heard = now;
        self.asked = None;
        if now >= self.calm_from {
            self.patience = PATIENCE;
        }
        // It answers after all: that is how long it may take. And what came together is one sign.
        let counts = core::mem::take(&mut self.doubted) || self.streaming;
        if !counts || interval.is_zero() {
            return;
        }
        if now >= self.period_until {
            self.recent = [Signs::default(), self.recent[0]];
            self.period_until = now + MEMORY.max(srtt.unwrap_or_default() * 2);
        }
        self.recent[0].count = self.recent[0].count.saturating_add(1);
        self.recent[0].longest = self.recent[0].longest.max(interval);
    }

    /// How long it may be without a sign; `None`: not known.
    fn bearable(&self, least: Span) -> Option<Span> {
        let [now, before] = self.recent;
        let known = now.count.saturating_add(before.count) >= SIGNS;
        known.then(|| (now.longest.max(before.longest) * self.patience).max(least))
    }

    fn failed(&mut self, now: Time) {
        self.asked = None;
        self.patience = (self.patience * 2).min(MAX_PATIENCE);
        self.calm_from = now + CALM;
        self.streaming = false;
        self.doubted = true;
        self.recent = [Signs::default(); 2];
    }
}

impl Silence {
    pub(super) fn new(least: Span) -> Self {
        Self { least, watches: Vec::new() }
    }

    fn of(&mut self, path: PathId, now: Time) -> &mut Watch {
        let index = self.watches.iter().position(|watch| watch.path == path).unwrap_or_else(|| {
            self.watches.push(Watch::new(path, now));
            self.watches.len() - 1
        });
        &mut self.watches[index]
    }

    /// T3-rtx has taken over.
    pub(super) fn on_timeout(&mut self, path: PathId) {
        if let Some(watch) = self.watches.iter_mut().find(|watch| watch.path == path) {
            watch.asked = None;
            watch.streaming = false;
        }
    }

    /// The path is gone.
    pub(super) fn remove(&mut self, path: PathId) {
        self.watches.retain(|watch| watch.path != path);
        for watch in &mut self.watches {
            watch.asked.take_if(|asked| asked.by == path);
        }
    }

    /// Nothing is in flight any more.
    pub(super) fn clear(&mut self) {
        self.watches.clear();
    }
}

/// So much is in flight that it cannot all be lost by chance.
fn has_stream(path: &Path) -> bool {
    path.flight_size >= STREAM * u64::from(path.pmdcs())
}

impl Outbound {
    /// Somebody wants to know of packets that come.
    #[inline]
    pub(crate) fn watches_silence(&self) -> bool {
        self.silence.is_some()
    }

    /// A packet of the peer's came over a path.
    pub fn on_heard(&mut self, now: Time, path: PathId, paths: &Paths) {
        if let Some(silence) = &mut self.silence {
            silence.of(path, now).sign(now, paths.get(path).and_then(|path| path.rtt.srtt()));
        }
    }

    /// When the next path is silent for too long, or another one's answer has told so.
    #[inline]
    pub(super) fn silence_deadline(&self, paths: &Paths) -> Option<Time> {
        let silence = self.silence.as_ref()?;
        if paths.len() < 2 {
            return None;
        }
        silence.watches.iter().filter_map(|watch| self.silent_at(silence.least, watch, paths)).min()
    }

    /// When something is to be done about the silence of a path; `None`: it is for T3-rtx, or nobody else can be asked.
    fn silent_at(&self, least: Span, watch: &Watch, paths: &Paths) -> Option<Time> {
        let path = paths.get(watch.path)?;
        if let Some(asked) = &watch.asked {
            // The peer is there; had it been heard of over this path as well, it would be by now.
            return Some(asked.answered? + path.rtt.rtt_min().unwrap_or(least));
        }
        if !(watch.streaming && has_stream(path) && path.is_usable()) {
            return None;
        }
        let oldest = self.oldest_in_flight(self.flows.of(watch.path)?)?;
        let due = self.sent.at(oldest)?.sent + path.rtt.srtt()? + path.rtt.rttvar()?;
        let at = due.max(watch.heard) + watch.bearable(least)?;
        let first = path.t3_rtx.is_some_and(|t3_rtx| at < t3_rtx);
        (first && self.other_path(watch.path, paths).is_some()).then_some(at)
    }

    /// What was sent first of that which is in flight. What lies before it in the log was acknowledged or sent again.
    fn oldest_in_flight(&self, flow: &Flow) -> Option<LongTsn> {
        let in_flight = |sending: &&super::flow::Sending| {
            let chunk = self.sent.at(sending.tsn);
            chunk.is_some_and(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number)
        };
        flow.log.iter().find(in_flight).map(|sending| sending.tsn)
    }

    /// Another path that works.
    fn other_path(&self, silent: PathId, paths: &Paths) -> Option<PathId> {
        let other = paths.retransmission_path(silent).filter(|&other| other != silent)?;
        paths.get(other).is_some_and(Path::is_usable).then_some(other)
    }

    /// Does what is due by now.
    pub(super) fn silence_timeout(&mut self, now: Time, paths: &mut Paths) {
        if paths.len() < 2 {
            return;
        }
        let watches = self.silence.as_ref().map_or(0, |silence| silence.watches.len());
        for index in 0..watches {
            let Some(silence) = &self.silence else { return };
            let watch = silence.watches[index];
            if self.silent_at(silence.least, &watch, paths).is_none_or(|at| at > now) {
                continue;
            }
            match watch.asked {
                Some(asked) => self.take_for_failed(now, watch.path, asked.by, paths),
                None => self.ask(now, watch.path, paths),
            }
        }
    }

    fn ask(&mut self, now: Time, id: PathId, paths: &mut Paths) {
        let oldest = self.flows.of(id).and_then(|flow| self.oldest_in_flight(flow));
        let (Some(tsn), Some(by)) = (oldest, self.other_path(id, paths)) else { return };
        let wire_len = self.sent.at(tsn).map_or(0, super::chunk::Chunk::wire_len);
        if let Some(path) = paths.get_mut(id) {
            path.flight_size -= wire_len;
        }
        paths.request_heartbeat(id);
        self.mark(tsn, by);
        if let Some(chunk) = self.sent.at_mut(tsn) {
            // RFC 7053 §5.1: a single packet would be acknowledged late.
            chunk.flags.immediate = true;
        }
        let to = self.flows.index(by);
        // One packet, whatever the window there says: nothing was heard of that path either.
        self.flows[to].forced = true;
        let before = self.next_number - 1;
        if let Some(silence) = &mut self.silence {
            silence.of(id, now).asked = Some(Asked { by, tsn, before, at: now, answered: None });
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::LossProbe { path: by, tsn: Some(tsn.tsn().get()) });
        }
    }

    /// A SACK was taken in: signs of life, and answers to questions.
    pub(super) fn settle_silence(&mut self, now: Time, paths: &Paths) {
        let Some(silence) = &mut self.silence else { return };
        for flow in self.flows.iter() {
            let Some(path) = paths.get(flow.id) else { continue };
            let watch = silence.of(flow.id, now);
            let answered =
                watch.asked.filter(|asked| asked.answered.is_none() && self.sent.is_acked(asked.tsn));
            match answered {
                // Sooner than a round trip (RFC 8985 §6.2) it was the first sending that arrived: the path is not silent. What
                // else this SACK tells of the path is old: the peer says it as soon as it is asked.
                Some(asked) => {
                    let least = paths.get(asked.by).and_then(|path| path.rtt.rtt_min()).unwrap_or_default();
                    if now.since(asked.at) >= least {
                        watch.asked = Some(Asked { answered: Some(now), ..asked });
                    } else {
                        watch.sign(now, path.rtt.srtt());
                    }
                }
                None if flow.ack.bytes > 0 => watch.sign(now, path.rtt.srtt()),
                None => {}
            }
            // What was to be sent once more, or elsewhere, is no answer of anybody.
            watch.asked.take_if(|asked| {
                let chunk = self.sent.at(asked.tsn);
                asked.answered.is_none()
                    && chunk.is_some_and(|chunk| chunk.path != asked.by && chunk.number > asked.before)
            });
            watch.streaming = has_stream(path);
        }
    }

    /// The peer answers elsewhere, and not here.
    fn take_for_failed(&mut self, now: Time, id: PathId, by: PathId, paths: &mut Paths) {
        if let Some(silence) = &mut self.silence {
            silence.of(id, now).failed(now);
        }
        if !paths.get(id).is_some_and(Path::is_usable) {
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::Silence { path: id, by });
        }
        self.t3_rtx_expired(now, id, paths);
        self.forward_after_timeout();
    }
}
