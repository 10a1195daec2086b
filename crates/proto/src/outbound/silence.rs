//! Silence (`FailoverConfig::silence`): what a sender does when a path that answered all the time answers no more, long before
//! T3-rtx says so. Ours; off by default. Knows no packets.
//!
//! T3-rtx waits for the RTO after the *last* acknowledgement, never less than RTO.Min. But a path with a stream of data on it
//! shows signs of life all the time: packets that come over it, acknowledgements of what was sent there. How long it was
//! without one lately, once it was watched for a second, says what its queues, its jitter and the peer's delayed SACKs do. When it is without one for somewhat longer,
//! counted from when the answer to the oldest chunk in flight was due (as long after the last answer as it was sent after what that
//! acknowledged, at most SRTT + RTTVAR after it was sent) or from the last sign if that is later, questions are asked: the path's by a
//! HEARTBEAT, and another one's, that works, by the oldest chunks, sent again there, as many as a path begins with. They are what
//! the receiver waits for, and when they are answered more follow, as the window there allows: the application is given data before it is known what has become of the path. A question in vain costs those
//! packets, and the next one is asked later.
//!
//! Any sign of the silent path ends it. Only when it was without one for several times as long as lately, the other path's answer has
//! come, so that the peer is known to be there, and the silent one had a least round trip more to show that it is no worse, what would
//! happen when its T3-rtx expires happens now (RFC 9260 §6.3.3, RFC 7829 §3.2), the way back included: the HEARTBEAT is on its way
//! already.
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
const STREAM: u64 = 4;
/// Signs of life in a stream until it is known how often they come.
const SIGNS: u32 = 8;
/// After so many halves of the longest interval between two signs lately questions are asked; a half more after each that was in vain.
const PROBE_HALVES: u64 = 3;
/// And after this part of the least time that is silence.
const PROBE_LEAST_PART: u64 = 4;
/// Packets of a question at most: what a path begins with, as with TCP (RFC 6928).
const QUESTION: u64 = 10;
/// So many times the longest interval between two signs lately is silence.
const PATIENCE: u64 = 3;
/// The most that it becomes.
const MAX_PATIENCE: u64 = 32;
/// A path that failed, or was asked in vain, so long ago has a clean record.
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
    /// When the latest chunk that was acknowledged was sent, and when that was heard of.
    clock: Option<(Time, Time)>,
    /// After it a stream was in flight.
    streaming: bool,
    /// It was taken for failed since.
    doubted: bool,
    /// What is usual is not known before: it was watched for too short a time.
    known_from: Time,
    /// In this period, and the one before.
    recent: [Signs; 2],
    period_until: Time,
    /// Doubles with each failure that follows another one.
    patience: u64,
    /// Halves of the longest interval after which it is asked.
    probe_halves: u64,
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

/// Chunks of a silent path on their way over another one.
#[derive(Clone, Copy, Debug)]
struct Asked {
    by: PathId,
    /// The first of them.
    tsn: LongTsn,
    /// Sendings up to here were made before.
    before: SendNumber,
    at: Time,
    /// Before, nothing is done but asking.
    patient_until: Time,
    /// When it was acknowledged.
    answered: Option<Time>,
}

impl Watch {
    fn new(path: PathId, now: Time) -> Self {
        Self {
            path,
            heard: now,
            clock: None,
            streaming: false,
            doubted: false,
            known_from: now,
            recent: [Signs::default(); 2],
            period_until: now,
            patience: PATIENCE,
            probe_halves: PROBE_HALVES,
            calm_from: now,
            asked: None,
        }
    }

    fn sign(&mut self, now: Time, srtt: Option<Span>) {
        let interval = now.since(self.heard);
        self.heard = now;
        if now >= self.calm_from {
            self.patience = PATIENCE;
            self.probe_halves = PROBE_HALVES;
        }
        let asked = self.asked.take().is_some();
        if asked {
            self.probe_halves = (self.probe_halves + 1).min(2 * PATIENCE);
            self.calm_from = now + CALM;
        }
        // It answers after all: that is how long it may take. And what came together is one sign.
        let counts = core::mem::take(&mut self.doubted) || self.streaming || asked;
        if !counts || interval.is_zero() {
            return;
        }
        if now >= self.period_until {
            self.recent = [Signs::default(), self.recent[0]];
            self.period_until = now + MEMORY.max(srtt.unwrap_or_default() * 2);
        }
        if self.recent.iter().all(|signs| signs.count == 0) {
            self.known_from = now + MEMORY;
        }
        self.recent[0].count = self.recent[0].count.saturating_add(1);
        self.recent[0].longest = self.recent[0].longest.max(interval);
    }

    /// How long it may be without a sign before it is asked, and before it is silent; `None`: not known.
    fn bearable(&self, least: Span) -> Option<[Span; 2]> {
        let [now, before] = self.recent;
        let longest = now.longest.max(before.longest);
        let known = now.count.saturating_add(before.count) >= SIGNS;
        let probe_after = (longest * self.probe_halves / 2).max(least / PROBE_LEAST_PART);
        known.then(|| [probe_after, (longest * self.patience).max(least)])
    }

    fn failed(&mut self, now: Time) {
        self.asked = None;
        self.clock = None;
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
            watch.clock = None;
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
            // And it waits as long as if it had been asked when it was silent: no longer stall than then is taken for it.
            let answered = asked.answered?;
            let silent = answered.max(asked.patient_until + answered.since(asked.at));
            return Some(silent + path.rtt.rtt_min().unwrap_or(least));
        }
        if !(watch.streaming && has_stream(path) && path.is_usable()) {
            return None;
        }
        let [probe_after, _] = watch.bearable(least)?;
        let at = (self.answer_due(watch, path)? + probe_after).max(watch.known_from);
        let first = path.t3_rtx.is_some_and(|t3_rtx| at < t3_rtx);
        (first && self.other_path(watch.path, paths).is_some()).then_some(at)
    }

    /// Until then a path that works need not have shown a sign.
    fn answer_due(&self, watch: &Watch, path: &Path) -> Option<Time> {
        let oldest = self.in_flight(self.flows.of(watch.path)?).next()?;
        let sent = self.sent.at(oldest)?.sent;
        let usual = sent + path.rtt.srtt()? + path.rtt.rttvar()?;
        let clocked = watch.clock.map(|(before, answered)| answered + sent.since(before));
        Some(clocked.map_or(usual, |clocked| clocked.min(usual)).max(watch.heard))
    }

    /// What is in flight, as it was sent. What else is in the log was acknowledged or sent again.
    fn in_flight(&self, flow: &Flow) -> impl Iterator<Item = LongTsn> {
        let in_flight = |sending: &&super::flow::Sending| {
            let chunk = self.sent.at(sending.tsn);
            chunk.is_some_and(|chunk| chunk.fate == Fate::InFlight && chunk.number == sending.number)
        };
        flow.log.iter().filter(in_flight).map(|sending| sending.tsn)
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
        let Some(by) = self.other_path(id, paths) else { return };
        let Some(silence) = &mut self.silence else { return };
        let (least, watch) = (silence.least, *silence.of(id, now));
        let patience = watch.bearable(least).map_or(least, |[_, patience]| patience);
        let due = paths.get(id).and_then(|path| self.answer_due(&watch, path)).unwrap_or(now);
        let most = paths.get(by).map_or(0, |path| QUESTION * u64::from(path.pmdcs()));
        let before = self.next_number - 1;
        let Some(tsn) = self.send_elsewhere(id, by, most, paths) else { return };
        paths.request_heartbeat(id);
        // One packet, whatever the window there says: nothing was heard of that path either.
        let to = self.flows.index(by);
        self.flows[to].forced = true;
        if let Some(silence) = &mut self.silence {
            let asked = Asked { by, tsn, before, at: now, patient_until: due + patience, answered: None };
            silence.of(id, now).asked = Some(asked);
        }
        if let Some(trace) = &mut self.trace {
            trace.push_back(TraceKind::LossProbe { path: by, tsn: Some(tsn.tsn().get()) });
        }
    }

    /// Sends chunks of a silent path over another one: the oldest ones, as many as the window there allows, but at least one, and no
    /// more than `most` bytes. Gives the first.
    fn send_elsewhere(&mut self, id: PathId, by: PathId, most: u64, paths: &mut Paths) -> Option<LongTsn> {
        let (other, flow) = (paths.get(by)?, self.flows.of(id)?);
        let waiting = self.flows.of(by).map_or(0, |flow| u64::from(flow.marked) * u64::from(other.pmdcs()));
        let window = other.controller.window().cwnd.saturating_sub(other.flight_size + waiting);
        let (mut bytes, room) = (0, window.min(most));
        let chunk_len = |&tsn: &LongTsn| self.sent.at(tsn).map_or(0, super::chunk::Chunk::wire_len);
        let chosen: Vec<_> = self
            .in_flight(flow)
            .take_while(|tsn| {
                let fits = bytes == 0 || bytes < room;
                bytes += chunk_len(tsn);
                fits
            })
            .collect();
        let moved = chosen.iter().map(chunk_len).sum::<u64>();
        paths.get_mut(id)?.flight_size -= moved;
        for &tsn in &chosen {
            self.mark(tsn, by);
        }
        // RFC 7053 §5.1: a single packet, and the last one, would be acknowledged late.
        for &tsn in [chosen.first()?, chosen.last()?] {
            if let Some(chunk) = self.sent.at_mut(tsn) {
                chunk.flags.immediate = true;
            }
        }
        chosen.first().copied()
    }

    /// A SACK was taken in: signs of life, and answers to questions.
    pub(super) fn settle_silence(&mut self, now: Time, paths: &mut Paths) {
        let Some(silence) = &mut self.silence else { return };
        let mut answered_by = None;
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
                None if flow.ack.bytes > 0 => {
                    watch.sign(now, path.rtt.srtt());
                    watch.clock = flow.ack.latest_sent.map(|sent| (sent, now)).or(watch.clock);
                }
                None => {}
            }
            // What was to be sent once more, or elsewhere, is no answer of anybody.
            watch.asked.take_if(|asked| {
                let chunk = self.sent.at(asked.tsn);
                asked.answered.is_none()
                    && chunk.is_some_and(|chunk| chunk.path != asked.by && chunk.number > asked.before)
            });
            watch.streaming = has_stream(path);
            let by = watch.asked.and_then(|asked| asked.answered.map(|_| asked.by));
            answered_by = answered_by.or(by.map(|by| (flow.id, by)));
        }
        if let Some((id, by)) = answered_by
            && paths.get(by).is_some_and(|path| path.flight_size < path.controller.window().cwnd)
        {
            self.send_elsewhere(id, by, u64::MAX, paths);
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
