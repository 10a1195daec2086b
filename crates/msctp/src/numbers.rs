//! [`Numbers`]: which numbers of streams are in use, and the ends of their two directions (RFC 6525 §5.1.2,
//! §5.1.3). Keeps state; `stream_calls` calls the core.
//!
//! A number is free when both directions have ended. Until then it belongs to one use of it, whose handles
//! may be dropped: nothing of one use can reach the next.

mod openers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::{Context, Waker};

use msctp_proto::{ReconfigOutcome, StreamCode, StreamEnd};

use self::openers::Openers;
use crate::error::FinishError;

/// The direction from this end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Out {
    /// Nothing was sent.
    Unused,
    /// Data was sent.
    Open,
    /// The end is to be requested: when everything was sent, or with a code at once, and the rest is dropped.
    Ending(Option<u32>),
    /// The reset was requested.
    Asked(Option<u32>),
    /// The peer asked for the reset with this code, which is under way.
    Stopping(Option<u32>),
    /// The peer has answered, or could not be notified.
    Over(Result<(), FinishError>),
}

/// The direction from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum In {
    Open,
    /// The peer is to be asked for the end, with this code.
    Stop(Option<u32>),
    /// It was asked.
    Asked(Option<u32>),
    /// It was asked, and has ended since. The answer is under way.
    Late,
    Ended,
}

/// How a use of a number began at this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This end chose the number: the peer learns of the use by what this end sends.
    Opened,
    /// The peer did, and has sent, or ended its direction.
    Accepted,
    /// Both ends know the number.
    Named,
}

/// A use of a number.
#[derive(Debug)]
struct Number {
    out: Out,
    from_peer: In,
    origin: Origin,
    /// Data was written.
    written: bool,
    /// There is a handle to it.
    held: bool,
    reader: Option<Waker>,
    /// The task that waits for the end of this end's direction, or to write.
    watcher: Option<Waker>,
}

impl Number {
    /// Wakes the task that waits for the end of this end's direction.
    fn wake_watcher(&mut self) {
        self.watcher.take().into_iter().for_each(Waker::wake);
    }

    /// Returns whether the peer knows nothing of this use.
    fn is_secret(&self) -> bool {
        self.origin == Origin::Opened && self.out == Out::Unused
    }

    /// Returns whether the peer may be asked for its end: it must know of this use, or the request would be
    /// for no use, or for the next one. `undelivered`: it may not have received the first data.
    fn may_stop(&self, undelivered: bool) -> bool {
        if matches!(self.out, Out::Stopping(_) | Out::Over(_)) {
            return true;
        }
        match self.origin {
            Origin::Accepted => true,
            // What is reset may not have been sent at all: the end tells the peer.
            Origin::Opened => {
                self.written
                    && !undelivered
                    && !matches!(self.out, Out::Ending(Some(_)) | Out::Asked(Some(_)))
            }
            Origin::Named => !undelivered,
        }
    }
}

/// The numbers in use.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    of: BTreeMap<u16, Number>,
    /// Those that are [`Out::Ending`].
    ending: BTreeSet<u16>,
    /// Those that are [`In::Stop`].
    stopping: BTreeSet<u16>,
    /// The peer's requests for the end of uses that nobody has taken yet, with their codes, the first use
    /// first.
    early: BTreeMap<u16, VecDeque<Option<u32>>>,
    /// Requests under way, of either kind.
    asked_ends: Vec<u16>,
    asked_stops: Vec<u16>,
    /// Resets of this end's streams under way, the first first: the peer answers them in this order.
    resets: BTreeMap<u16, VecDeque<Reset>>,
    pub(crate) openers: Openers,
}

/// A reset of a stream of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reset {
    /// It ends the use of the number.
    Use,
    /// The peer asked for it, of a use that has ended or that nobody has taken.
    Other,
}

/// Streams of a request, and the codes of some.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Batch {
    pub(crate) streams: Vec<u16>,
    pub(crate) codes: Vec<StreamCode>,
}

impl Batch {
    fn add(&mut self, stream: u16, code: Option<u32>) {
        self.streams.push(stream);
        self.codes.extend(code.map(|code| StreamCode { stream, code }));
    }

    /// Returns whether another stream with a code may not fit.
    fn is_full(&self) -> bool {
        let names = |streams, codes| streams + msctp_proto::NAMES_PER_CODE * codes;
        names(self.streams.len() + 1, self.codes.len() + 1) > msctp_proto::MAX_NAMED_STREAMS
    }
}

impl Numbers {
    /// Begins a use of a number. Returns false if it is in use.
    pub(crate) fn begin(&mut self, stream: u16, origin: Origin) -> bool {
        if self.of.contains_key(&stream) {
            return false;
        }
        let early = match self.early.get_mut(&stream) {
            Some(codes) if origin != Origin::Opened => codes.pop_front(),
            _ => None,
        };
        if self.early.get(&stream).is_some_and(VecDeque::is_empty) {
            self.early.remove(&stream);
        }
        let out = early.map_or(Out::Unused, |code| Out::Over(Err(FinishError::Stopped(code))));
        let number = Number {
            out,
            from_peer: In::Open,
            origin,
            written: false,
            held: true,
            reader: None,
            watcher: None,
        };
        self.of.insert(stream, number);
        true
    }

    /// Returns the number of numbers in use.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    pub(crate) fn is_used(&self, stream: u16) -> bool {
        self.of.contains_key(&stream)
    }

    /// Returns the state of the direction from this end; `None` if the number is not in use.
    pub(crate) fn out(&self, stream: u16) -> Option<&Out> {
        self.of.get(&stream).map(|number| &number.out)
    }

    /// Records that data was sent.
    pub(crate) fn on_sent(&mut self, stream: u16) {
        if let Some(number) = self.of.get_mut(&stream) {
            number.written = true;
            if number.out == Out::Unused {
                number.out = Out::Open;
            }
        }
    }

    /// Ends the direction from this end, unless it has ended or is about to. With a code what is queued is
    /// dropped.
    pub(crate) fn end(&mut self, stream: u16, code: Option<u32>) {
        let Some(number) = self.of.get_mut(&stream) else { return };
        match number.out {
            Out::Unused | Out::Open => {}
            // It may still change its mind about what is queued.
            Out::Ending(None) if code.is_some() => {}
            _ => return,
        }
        number.out = Out::Ending(code);
        self.ending.insert(stream);
    }

    /// The sending handle is gone: ends the direction from this end, unless the peer knows nothing of this
    /// use and nobody can read an answer.
    pub(crate) fn end_used(&mut self, stream: u16) {
        if self.of.get(&stream).is_some_and(|number| !number.is_secret() || number.from_peer == In::Open) {
            self.end(stream, None);
        }
    }

    /// Asks the peer to end its direction, unless it has. `ended`: the core knows that it has.
    pub(crate) fn stop(&mut self, stream: u16, code: Option<u32>, ended: bool) {
        let Some(number) = self.of.get_mut(&stream) else { return };
        if ended {
            number.from_peer = In::Ended;
        }
        if number.from_peer == In::Open {
            number.from_peer = In::Stop(code);
            self.stopping.insert(stream);
        }
    }

    /// The last handle is gone: ends what has not ended. Returns true if the peer knows nothing of this use,
    /// so that nothing is to end.
    pub(crate) fn drop_handle(&mut self, stream: u16) -> bool {
        let Some(number) = self.of.get_mut(&stream) else { return false };
        (number.held, number.reader) = (false, None);
        if number.is_secret() {
            self.leave(stream);
            return true;
        }
        self.end(stream, None);
        self.forget_if_over(stream);
        false
    }

    /// Gives a number up without ending its directions.
    pub(crate) fn leave(&mut self, stream: u16) {
        self.of.remove(&stream);
        self.ending.remove(&stream);
        self.stopping.remove(&stream);
    }

    fn forget_if_over(&mut self, stream: u16) {
        let over = |number: &Number| {
            // A peer that could not be told of the end does not know that the next use is another one.
            let told = matches!(
                number.out,
                Out::Over(Ok(()) | Err(FinishError::Stopped(_) | FinishError::Association(_)))
            );
            !number.held && told && number.from_peer == In::Ended
        };
        if self.of.get(&stream).is_some_and(over) {
            self.of.remove(&stream);
        }
    }

    /// Returns whether a request is to be made.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.ending.is_empty() || !self.stopping.is_empty()
    }

    /// Returns the streams of this end to reset next, out of those that `may`. One request at a time names
    /// all that are ready.
    pub(crate) fn next_ends(&self, may: impl Fn(u16, Option<u32>) -> bool) -> Batch {
        if !self.asked_ends.is_empty() {
            return Batch::default();
        }
        self.due_ends(|stream, code, number| {
            // The peer opens its own numbers again when both directions have ended: by then it must have been
            // asked for its end, or the request would meet the next use.
            let asks = matches!(number.from_peer, In::Stop(_) | In::Asked(_) | In::Late);
            let first_stop = number.origin != Origin::Opened && asks;
            !first_stop && may(stream, code)
        })
    }

    /// Returns streams of this end to end with a code, out of those that `may`, before the association shuts
    /// down: no further use follows, so that no other request must come first.
    pub(crate) fn next_given_up(&self, may: impl Fn(u16) -> bool) -> Batch {
        self.due_ends(|stream, code, _| code.is_some() && may(stream))
    }

    fn due_ends(&self, may: impl Fn(u16, Option<u32>, &Number) -> bool) -> Batch {
        let mut batch = Batch::default();
        for &stream in &self.ending {
            let Some(number) = self.of.get(&stream) else { continue };
            let Out::Ending(code) = number.out else { continue };
            if may(stream, code, number) {
                batch.add(stream, code);
                if batch.is_full() {
                    break;
                }
            }
        }
        batch
    }

    /// Records that the reset of these streams was requested.
    pub(crate) fn on_ends_asked(&mut self, streams: &[u16]) {
        self.asked_ends = streams.to_vec();
        for &stream in streams {
            self.ending.remove(&stream);
            if let Some(Number { out, .. }) = self.of.get_mut(&stream)
                && let Out::Ending(code) = *out
            {
                *out = Out::Asked(code);
            }
            self.resets.entry(stream).or_default().push_back(Reset::Use);
        }
    }

    /// Returns the streams whose stops may have to wait until their first data is delivered.
    pub(crate) fn unsure_stops(&self) -> BTreeSet<u16> {
        if !self.asked_stops.is_empty() {
            return BTreeSet::new();
        }
        let is_unsure = |stream: &u16| self.of.get(stream).is_some_and(|number| !number.may_stop(true));
        self.stopping.iter().copied().filter(is_unsure).collect()
    }

    /// Returns the streams of the peer to ask the end of next. `undelivered`: those of the
    /// [unsure](Self::unsure_stops) whose first data is not delivered.
    pub(crate) fn next_stops(&self, undelivered: &BTreeSet<u16>) -> Batch {
        let mut batch = Batch::default();
        if !self.asked_stops.is_empty() {
            return batch;
        }
        for &stream in &self.stopping {
            let may = |number: &&Number| number.may_stop(undelivered.contains(&stream));
            if let Some(number) = self.of.get(&stream).filter(may)
                && let In::Stop(code) = number.from_peer
            {
                batch.add(stream, code);
                if batch.is_full() {
                    break;
                }
            }
        }
        batch
    }

    /// Records that the peer was asked for the end of these streams.
    pub(crate) fn on_stops_asked(&mut self, streams: &[u16]) {
        self.asked_stops = streams.to_vec();
        for &stream in streams {
            self.stopping.remove(&stream);
            if let Some(number) = self.of.get_mut(&stream)
                && let In::Stop(code) = number.from_peer
            {
                number.from_peer = In::Asked(code);
            }
        }
    }

    /// Records that these streams cannot be reset.
    pub(crate) fn refuse_ends(&mut self, streams: &[u16], error: &FinishError) {
        for &stream in streams {
            self.ending.remove(&stream);
            self.settle(stream, Err(error.clone()));
        }
    }

    /// Records that the peer cannot be asked for the end of these streams. Their numbers are not used again.
    pub(crate) fn refuse_stops(&mut self, streams: &[u16]) {
        for stream in streams {
            self.stopping.remove(stream);
        }
    }

    fn settle(&mut self, stream: u16, result: Result<(), FinishError>) {
        if let Some(number) = self.of.get_mut(&stream) {
            number.out = Out::Over(result);
            number.wake_watcher();
            self.forget_if_over(stream);
        }
    }

    /// Handles the answer to a reset of streams of this end, which this end or the peer wanted.
    pub(crate) fn on_ends_answered(&mut self, streams: &[u16], outcome: ReconfigOutcome) {
        if self.asked_ends == streams {
            self.asked_ends.clear();
        }
        // RFC 6525 §4.1: without stream numbers it was for all streams.
        let all: Vec<u16> = self.resets.keys().copied().filter(|_| streams.is_empty()).collect();
        for &stream in streams.iter().chain(&all) {
            // A late answer does not concern the use that has begun since.
            if self.take_reset(stream) != Some(Reset::Use) {
                continue;
            }
            let Some(number) = self.of.get_mut(&stream) else { continue };
            if !matches!(number.out, Out::Asked(_) | Out::Stopping(_)) {
                continue;
            }
            let result = match (&number.out, outcome) {
                (Out::Stopping(code), ReconfigOutcome::Performed) => Err(FinishError::Stopped(*code)),
                (_, ReconfigOutcome::Performed) => Ok(()),
                // The request was not sent, or another is in progress: repeat it. A shutdown of the
                // association ends the stream as well.
                (
                    Out::Asked(code),
                    ReconfigOutcome::GivenUp | ReconfigOutcome::Failed(IN_PROGRESS_ALREADY),
                ) => {
                    number.out = Out::Ending(*code);
                    self.ending.insert(stream);
                    continue;
                }
                (_, outcome) => Err(FinishError::Denied(outcome)),
            };
            self.ending.remove(&stream);
            self.settle(stream, result);
        }
    }

    /// Takes the first reset of a stream that is under way.
    fn take_reset(&mut self, stream: u16) -> Option<Reset> {
        let resets = self.resets.get_mut(&stream)?;
        let first = resets.pop_front();
        if resets.is_empty() {
            self.resets.remove(&stream);
        }
        first
    }

    /// Handles the answer to a request for the peer's ends. A request that was not applied is repeated.
    pub(crate) fn on_stops_answered(&mut self, streams: &[u16], outcome: ReconfigOutcome) {
        if self.asked_stops == streams {
            self.asked_stops.clear();
        }
        for &stream in streams {
            let Some(number) = self.of.get_mut(&stream) else { continue };
            let code = match number.from_peer {
                In::Asked(code) => code,
                // To ask again would be for the next use.
                In::Late => {
                    number.from_peer = In::Ended;
                    self.forget_if_over(stream);
                    continue;
                }
                _ => continue,
            };
            match outcome {
                // The core knows whether the end has come.
                ReconfigOutcome::Performed => number.from_peer = In::Ended,
                ReconfigOutcome::GivenUp | ReconfigOutcome::Failed(IN_PROGRESS_ALREADY) => {
                    number.from_peer = In::Stop(code);
                    self.stopping.insert(stream);
                }
                _ => {}
            }
            self.forget_if_over(stream);
        }
    }

    /// Handles the peer's request for the end of these streams of this end: its readers are gone. `waiting`
    /// says how many uses of a stream wait for somebody to take it: each is stopped once. Returns the streams
    /// in use.
    pub(crate) fn on_stop_requested(
        &mut self,
        ends: &[StreamEnd],
        waiting: &BTreeMap<u16, usize>,
    ) -> Vec<u16> {
        let all: Vec<StreamEnd>;
        let ends = if ends.is_empty() {
            // RFC 6525 §4.2: without stream numbers it is for all streams.
            let streams: BTreeSet<u16> = self.of.keys().chain(waiting.keys()).copied().collect();
            all = streams.into_iter().map(|stream| StreamEnd { stream, code: None }).collect();
            &all[..]
        } else {
            ends
        };
        for &StreamEnd { stream, code } in ends {
            // A use of which this end's direction is over may still have handles: the request is for the
            // next.
            let uses = waiting.get(&stream).copied().unwrap_or(0);
            let reset = self.resets.entry(stream).or_default();
            match self.of.get_mut(&stream).filter(|number| !matches!(number.out, Out::Over(_))) {
                // The end has been requested. If the peer has begun another use, it knows that.
                Some(Number { out: Out::Asked(_) | Out::Stopping(_), .. }) if uses == 0 => {
                    reset.push_back(Reset::Other);
                }
                Some(number) if !matches!(number.out, Out::Asked(_) | Out::Stopping(_)) => {
                    number.out = Out::Stopping(code);
                    number.wake_watcher();
                    self.ending.remove(&stream);
                    reset.push_back(Reset::Use);
                }
                _ => {
                    reset.push_back(Reset::Other);
                    // With none, this end's direction has ended by itself meanwhile.
                    if self.early.get(&stream).map_or(0, VecDeque::len) < uses {
                        self.early.entry(stream).or_default().push_back(code);
                    }
                }
            }
        }
        ends.iter().map(|end| end.stream).filter(|&stream| self.is_used(stream)).collect()
    }

    /// Handles the peer's ends of these streams, or of all if none is named.
    pub(crate) fn on_peer_ended(&mut self, streams: &[u16]) {
        let all: Vec<u16> = match streams {
            [] => self.of.keys().copied().collect(),
            named => named.to_vec(),
        };
        for stream in all {
            // A use of which the peer's direction has ended may still have handles.
            if let Some(number) = self.of.get_mut(&stream).filter(|number| number.from_peer != In::Ended) {
                // A request for it that is under way must be answered before the number is used again.
                if matches!(number.from_peer, In::Asked(_) | In::Late) {
                    number.from_peer = In::Late;
                } else {
                    number.from_peer = In::Ended;
                    self.stopping.remove(&stream);
                }
                self.forget_if_over(stream);
            }
        }
    }

    /// The peer restarted: every use has ended, and those with handles stay until they are dropped.
    pub(crate) fn on_restart(&mut self) {
        self.of.retain(|_, number| number.held);
        for number in self.of.values_mut() {
            number.out = Out::Over(Err(FinishError::Association(crate::AssociationError::Restarted)));
            number.from_peer = In::Ended;
            number.reader.take().into_iter().for_each(Waker::wake);
            number.wake_watcher();
        }
        self.ending.clear();
        self.stopping.clear();
        self.early.clear();
        self.resets.clear();
        self.asked_ends.clear();
        self.asked_stops.clear();
        self.openers.wake_first();
    }

    /// Keeps the waker of the stream's reader.
    pub(crate) fn wait(&mut self, stream: u16, cx: &Context<'_>) {
        if let Some(number) = self.of.get_mut(&stream) {
            match &mut number.reader {
                Some(reader) => reader.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
    }

    /// Keeps the waker of the task that waits for the end of this end's direction.
    pub(crate) fn watch(&mut self, stream: u16, cx: &Context<'_>) {
        if let Some(number) = self.of.get_mut(&stream) {
            number.watcher = Some(cx.waker().clone());
        }
    }

    /// Wakes the stream's reader.
    pub(crate) fn wake(&mut self, stream: u16) {
        if let Some(reader) = self.of.get_mut(&stream).and_then(|number| number.reader.take()) {
            reader.wake();
        }
    }

    /// Wakes every reader, and every task that waits for a number.
    pub(crate) fn wake_all(&mut self) {
        self.openers.wake_all();
        let wakers = |number: &mut Number| [number.reader.take(), number.watcher.take()];
        self.of.values_mut().flat_map(wakers).flatten().for_each(Waker::wake);
    }
}

/// RFC 6525 §4.4: "Error - Request already in progress".
const IN_PROGRESS_ALREADY: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Batch = Batch { streams: Vec::new(), codes: Vec::new() };

    fn batch(streams: &[u16]) -> Batch {
        Batch { streams: streams.to_vec(), codes: Vec::new() }
    }

    fn used(numbers: &mut Numbers, stream: u16, origin: Origin) {
        assert!(numbers.begin(stream, origin));
        numbers.on_sent(stream);
    }

    /// Returns the stops that are due when everything is delivered.
    fn stops(numbers: &Numbers) -> Batch {
        numbers.next_stops(&BTreeSet::new())
    }

    /// A code takes the place of three names.
    #[test]
    fn a_batch_holds_what_one_request_may_name() {
        for coded in [0, 1, 20, 200] {
            let mut batch = Batch::default();
            let mut streams = 0..;
            while !batch.is_full() {
                let stream = streams.next().unwrap();
                batch.add(stream, (stream < coded).then_some(7));
            }
            let (names, codes) = (batch.streams.len(), batch.codes.len());
            let room = msctp_proto::MAX_NAMED_STREAMS.checked_sub(names + 3 * codes);
            assert!(room.is_some_and(|room| room < 4), "{names} names, {codes} codes");
            assert!(codes <= msctp_proto::MAX_RESET_CODES);
        }
    }

    #[test]
    fn a_number_is_free_when_both_directions_have_ended() {
        let mut numbers = Numbers::default();
        used(&mut numbers, 4, Origin::Opened);
        assert!(!numbers.begin(4, Origin::Opened));
        assert!(!numbers.drop_handle(4));
        assert_eq!(numbers.next_ends(|_, _| false), NOTHING, "it is not sent yet");
        assert_eq!(numbers.next_ends(|_, _| true), batch(&[4]));
        numbers.on_ends_asked(&[4]);
        numbers.on_ends_answered(&[4], ReconfigOutcome::Performed);
        assert!(numbers.is_used(4), "the peer may still send");
        numbers.on_peer_ended(&[4]);
        assert!(!numbers.is_used(4));
    }

    #[test]
    fn one_request_at_a_time_names_all_that_are_ready() {
        let mut numbers = Numbers::default();
        for stream in [7, 2, 5] {
            used(&mut numbers, stream, Origin::Opened);
            numbers.end(stream, None);
        }
        assert_eq!(numbers.next_ends(|stream, _| stream != 5), batch(&[2, 7]));
        numbers.on_ends_asked(&[2, 7]);
        assert_eq!(numbers.next_ends(|_, _| true), NOTHING, "one is under way");
        numbers.on_ends_answered(&[9], ReconfigOutcome::Performed);
        assert_eq!(numbers.next_ends(|_, _| true), NOTHING, "another's answer");
        numbers.on_ends_answered(&[2, 7], ReconfigOutcome::Performed);
        assert_eq!(numbers.out(2), Some(&Out::Over(Ok(()))));
        assert_eq!(numbers.next_ends(|_, _| true), batch(&[5]));
    }

    #[test]
    fn what_was_not_applied_is_asked_again_and_a_refusal_is_kept() {
        let mut numbers = Numbers::default();
        used(&mut numbers, 1, Origin::Opened);
        numbers.end(1, Some(7));
        let coded = Batch { streams: vec![1], codes: vec![StreamCode { stream: 1, code: 7 }] };
        for outcome in [ReconfigOutcome::GivenUp, ReconfigOutcome::Failed(4)] {
            assert_eq!(numbers.next_ends(|_, _| true), coded);
            numbers.on_ends_asked(&[1]);
            numbers.on_ends_answered(&[1], outcome);
        }
        numbers.on_ends_asked(&[1]);
        numbers.on_ends_answered(&[1], ReconfigOutcome::Denied);
        let denied = Out::Over(Err(FinishError::Denied(ReconfigOutcome::Denied)));
        assert_eq!(numbers.out(1), Some(&denied));
        numbers.on_peer_ended(&[1]);
        numbers.drop_handle(1);
        assert!(numbers.is_used(1), "the peer does not know where this use ends");
    }

    #[test]
    fn the_peer_is_asked_for_its_end_before_it_learns_of_ours_on_its_numbers() {
        for (origin, first) in [(Origin::Opened, batch(&[3])), (Origin::Accepted, NOTHING)] {
            let mut numbers = Numbers::default();
            used(&mut numbers, 3, origin);
            numbers.stop(3, None, false);
            numbers.drop_handle(3);
            assert_eq!(numbers.next_ends(|_, _| true), first);
            assert_eq!(stops(&numbers), batch(&[3]));
            numbers.on_stops_asked(&[3]);
            assert_eq!((stops(&numbers), numbers.next_ends(|_, _| true)), (NOTHING, first));
            // Its end comes with the answer, or before it by itself: the request is under way until then.
            numbers.on_peer_ended(&[3]);
            numbers.on_stops_answered(&[3], ReconfigOutcome::Performed);
            assert_eq!(numbers.next_ends(|_, _| true), batch(&[3]));
            numbers.on_ends_asked(&[3]);
            numbers.on_ends_answered(&[3], ReconfigOutcome::Performed);
            assert!(!numbers.is_used(3));
        }
    }

    #[test]
    fn nothing_is_asked_of_a_peer_that_knows_nothing() {
        let mut numbers = Numbers::default();
        assert!(numbers.begin(2, Origin::Opened));
        numbers.stop(2, None, false);
        numbers.end_used(2);
        assert_eq!((stops(&numbers), numbers.next_ends(|_, _| true)), (NOTHING, NOTHING));
        assert!(numbers.drop_handle(2) && !numbers.is_used(2) && !numbers.is_waiting());
        // The peer opened this one.
        assert!(numbers.begin(3, Origin::Accepted));
        assert!(!numbers.drop_handle(3) && numbers.is_waiting());
    }

    #[test]
    fn a_peer_that_stopped_reading_ends_the_direction_whatever_its_state() {
        for asked in [false, true] {
            let mut numbers = Numbers::default();
            used(&mut numbers, 6, Origin::Opened);
            if asked {
                numbers.end(6, None);
            }
            numbers.on_stop_requested(&[StreamEnd { stream: 6, code: Some(9) }], &BTreeMap::new());
            assert_eq!(numbers.out(6), Some(&Out::Stopping(Some(9))));
            assert_eq!(numbers.next_ends(|_, _| true), NOTHING, "the core resets it");
            numbers.on_ends_answered(&[6], ReconfigOutcome::Performed);
            assert_eq!(numbers.out(6), Some(&Out::Over(Err(FinishError::Stopped(Some(9))))));
            numbers.on_peer_ended(&[]);
            numbers.drop_handle(6);
            assert!(!numbers.is_used(6));
        }
    }

    #[test]
    fn a_restart_ends_every_use() {
        let mut numbers = Numbers::default();
        for stream in [2, 4] {
            used(&mut numbers, stream, Origin::Opened);
        }
        numbers.drop_handle(4);
        numbers.on_ends_asked(&[4]);
        numbers.on_restart();
        assert!(numbers.is_used(2) && !numbers.is_used(4) && !numbers.is_waiting());
        numbers.drop_handle(2);
        assert!(!numbers.is_used(2));
    }

    #[test]
    fn a_use_that_was_stopped_before_it_is_taken_sends_nothing() {
        let stop = |code| [StreamEnd { stream: 2, code: Some(code) }];
        let mut numbers = Numbers::default();
        // Two uses that nobody took in time; then one that goes on.
        for code in [7, 8] {
            numbers.on_stop_requested(&stop(code), &BTreeMap::from([(2, code as usize - 6)]));
            numbers.on_stop_requested(&stop(99), &BTreeMap::from([(2, code as usize - 6)]));
            numbers.on_peer_ended(&[2]);
            numbers.on_ends_answered(&[2], ReconfigOutcome::Performed);
        }
        for code in [7, 8] {
            assert!(numbers.begin(2, Origin::Accepted));
            assert_eq!(numbers.out(2), Some(&Out::Over(Err(FinishError::Stopped(Some(code))))));
            numbers.stop(2, None, true);
            numbers.drop_handle(2);
        }
        // The request crossed the end of a use: it concerns no other.
        numbers.on_stop_requested(&stop(9), &BTreeMap::new());
        assert!(numbers.begin(2, Origin::Accepted));
        assert_eq!((numbers.out(2), numbers.early.len()), (Some(&Out::Unused), 0));
    }

    #[test]
    fn a_stop_waits_until_the_peer_knows_of_the_use() {
        let undelivered = BTreeSet::from([2]);
        for origin in [Origin::Opened, Origin::Named, Origin::Accepted] {
            let mut numbers = Numbers::default();
            used(&mut numbers, 2, origin);
            numbers.stop(2, None, false);
            let knows = origin == Origin::Accepted;
            assert_eq!(numbers.unsure_stops().is_empty(), knows, "{origin:?}");
            assert_eq!(numbers.next_stops(&undelivered) == NOTHING, !knows, "{origin:?}");
            assert_eq!(stops(&numbers), batch(&[2]));
        }
        // Nothing was sent before the end, or all was dropped: the end tells the peer.
        for code in [None, Some(7)] {
            let mut numbers = Numbers::default();
            assert!(numbers.begin(2, Origin::Opened));
            if code.is_some() {
                numbers.on_sent(2);
            }
            numbers.end(2, code);
            numbers.stop(2, None, false);
            assert_eq!((stops(&numbers), numbers.next_ends(|_, _| true).streams), (NOTHING, vec![2]));
            numbers.on_ends_asked(&[2]);
            assert_eq!(stops(&numbers), NOTHING);
            numbers.on_ends_answered(&[2], ReconfigOutcome::Performed);
            assert_eq!(stops(&numbers), batch(&[2]));
        }
    }

    #[test]
    fn a_stop_without_numbers_is_for_all_streams() {
        let mut numbers = Numbers::default();
        for stream in [2, 4] {
            used(&mut numbers, stream, Origin::Opened);
        }
        numbers.end(4, None);
        numbers.on_ends_asked(&[4]);
        assert_eq!(numbers.on_stop_requested(&[], &BTreeMap::from([(3, 1)])), [2, 4]);
        assert_eq!(numbers.out(2), Some(&Out::Stopping(None)));
        numbers.on_ends_answered(&[4], ReconfigOutcome::Performed);
        used(&mut numbers, 6, Origin::Opened);
        numbers.on_ends_answered(&[], ReconfigOutcome::Performed);
        assert_eq!(numbers.out(2), Some(&Out::Over(Err(FinishError::Stopped(None)))));
        assert_eq!((numbers.out(4), numbers.out(6)), (Some(&Out::Over(Ok(()))), Some(&Out::Open)));
        assert!(numbers.begin(3, Origin::Accepted));
        assert_eq!(numbers.out(3), Some(&Out::Over(Err(FinishError::Stopped(None)))));
        assert!(numbers.resets.is_empty());
    }

    #[test]
    fn a_stop_is_not_repeated_after_the_end() {
        let mut numbers = Numbers::default();
        used(&mut numbers, 3, Origin::Accepted);
        numbers.stop(3, None, false);
        numbers.on_stops_asked(&[3]);
        numbers.on_peer_ended(&[3]);
        numbers.on_stops_answered(&[3], ReconfigOutcome::Failed(IN_PROGRESS_ALREADY));
        assert_eq!(stops(&numbers), NOTHING);
        numbers.end(3, None);
        assert_eq!(numbers.next_ends(|_, _| true), batch(&[3]));
    }

    #[test]
    fn a_late_answer_does_not_end_the_next_use() {
        let mut numbers = Numbers::default();
        used(&mut numbers, 3, Origin::Accepted);
        numbers.end(3, None);
        numbers.on_ends_asked(&[3]);
        numbers.on_ends_answered(&[3], ReconfigOutcome::Performed);
        // The peer's request has crossed the end.
        numbers.on_stop_requested(&[StreamEnd { stream: 3, code: None }], &BTreeMap::new());
        numbers.on_peer_ended(&[3]);
        numbers.drop_handle(3);
        used(&mut numbers, 3, Origin::Accepted);
        numbers.end(3, None);
        numbers.on_ends_answered(&[3], ReconfigOutcome::Performed);
        assert_eq!((numbers.out(3), numbers.next_ends(|_, _| true)), (Some(&Out::Ending(None)), batch(&[3])));
    }
}
