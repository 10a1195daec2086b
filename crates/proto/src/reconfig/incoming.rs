//! Requests of the peer (RFC 6525 §5.2): applied once, and answered again if retransmitted. Does not touch
//! streams or packets.

use std::collections::VecDeque;

use msctp_units::Time;
use msctp_wire::param::StreamCode;
use msctp_wire::{ReconfigSerial, Tsn};

use super::outgoing::Settled;
use crate::addr::PathAddr;
use crate::inbound::StreamEnd;
use crate::rare::{Rare, rare_state};

/// Number of answers kept, since a chunk has at most two requests (RFC 6525 §3.1).
const KEPT: usize = 2;

/// Maximum number of streams of a request that have codes. Each takes the place of [`NAMES_PER_CODE`]
/// streams of [`MAX_NAMED_STREAMS`](crate::MAX_NAMED_STREAMS), so that they fit a packet of any path beside
/// the names.
pub const MAX_RESET_CODES: usize = 48;

/// Number of named streams whose place in a packet a code takes.
pub const NAMES_PER_CODE: usize = 3;

/// The handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The request is new: apply it.
    New,
    /// The request was answered before, with this Result.
    Again(u32),
    /// The request's number is not the next one (RFC 6525 §5.2.1).
    BadSequenceNumber,
}

/// An Outgoing SSN Reset Request that is deferred until the data sent before it arrives (RFC 6525 §5.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deferred {
    pub(crate) serial: ReconfigSerial,
    pub(crate) last_tsn: Tsn,
    pub(crate) ends: Vec<StreamEnd>,
    /// The request of this end that it answers.
    pub(crate) answered: Option<Settled>,
    /// Addresses of the packet with the request, until the peer knows that it is in progress.
    pub(crate) unanswered: Option<PathAddr>,
}

/// A response that waits for a packet with DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) at: PathAddr,
    pub(crate) serial: ReconfigSerial,
    pub(crate) result: u32,
    /// The time at which it leaves alone.
    pub(crate) until: Time,
}

/// The peer's requests.
#[derive(Debug)]
pub(crate) struct Incoming {
    next: ReconfigSerial,
    past: Rare<Past>,
}

rare_state! {
    /// The state of received requests.
    struct Past {
        /// The last answered requests: number and Result.
        answered: VecDeque<(ReconfigSerial, u32)> = VecDeque::new(),
        deferred: Option<Deferred> = None,
        /// Codes of the streams of a request, which follows.
        codes: Option<(ReconfigSerial, Vec<StreamCode>)> = None,
        held: Option<Held> = None,
    }
}

impl Incoming {
    /// Creates the state with the peer's initial TSN as the first number (RFC 6525 §4.1).
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        Self { next: ReconfigSerial::new(initial_tsn.get()), past: Rare::default() }
    }

    /// Returns the number of the last request received in order. An Outgoing SSN Reset Request names it if it
    /// answers none.
    pub(crate) fn last(&self) -> ReconfigSerial {
        self.next.prev()
    }

    /// Classifies a request by its number.
    pub(crate) fn look(&self, serial: ReconfigSerial) -> Answer {
        if serial == self.next {
            return Answer::New;
        }
        let known = self.past.answered.iter().find(|(number, _)| *number == serial);
        known.map_or(Answer::BadSequenceNumber, |&(_, result)| Answer::Again(result))
    }

    /// Records the Result of the new request.
    pub(crate) fn answer(&mut self, serial: ReconfigSerial, result: u32) {
        if serial == self.next {
            self.next = serial.next();
            self.past.answered.push_back((serial, result));
            if self.past.answered.len() > KEPT {
                self.past.answered.pop_front();
            }
        } else if let Some(answered) = self.past.answered.iter_mut().find(|(number, _)| *number == serial) {
            answered.1 = result;
        }
    }

    /// Keeps the codes of the request that follows, if it is the next one.
    pub(crate) fn keep_codes(&mut self, serial: ReconfigSerial, codes: impl Iterator<Item = StreamCode>) {
        if serial == self.next {
            self.past.codes = Some((serial, codes.take(MAX_RESET_CODES).collect()));
        }
    }

    /// Returns the streams of a request with their codes, each once.
    pub(crate) fn ends(
        &mut self,
        serial: ReconfigSerial,
        streams: impl Iterator<Item = u16>,
    ) -> Vec<StreamEnd> {
        let codes = match self.past.is_touched() {
            true => self.past.codes.take().filter(|(of, _)| *of == serial),
            false => None,
        };
        let codes = codes.map_or(Vec::new(), |(_, codes)| codes);
        let code_of = |stream| codes.iter().find(|one| one.stream == stream).map(|one| one.code);
        // A bit for each stream: a peer may name all in one request.
        let mut seen: Vec<u64> = Vec::new();
        let streams = streams.filter(|&stream| {
            let (word, bit) = (usize::from(stream / 64), 1 << (stream % 64));
            if seen.len() <= word {
                seen.resize(word + 1, 0);
            }
            let is_new = seen[word] & bit == 0;
            seen[word] |= bit;
            is_new
        });
        streams.map(|stream| StreamEnd { stream, code: code_of(stream) }).collect()
    }

    /// Defers a reset until the data sent before it arrives.
    pub(crate) fn defer(&mut self, deferred: Deferred) {
        self.past.deferred = Some(deferred);
    }

    /// Forgets the deferred reset: the peer restarted.
    pub(crate) fn cancel_deferred(&mut self) -> Option<Deferred> {
        if self.has_deferred() { self.past.deferred.take() } else { None }
    }

    /// Returns whether this request is deferred, and the peer does not know that it is in progress.
    pub(crate) fn is_unanswered(&self, serial: ReconfigSerial) -> bool {
        let deferred = self.past.deferred.as_ref();
        deferred.is_some_and(|deferred| deferred.serial == serial && deferred.unanswered.is_some())
    }

    /// Returns the number of the deferred reset and the addresses of the packet with it, once, if the peer
    /// does not know that it is in progress.
    pub(crate) fn take_unanswered(&mut self) -> Option<(PathAddr, ReconfigSerial)> {
        if self.past.deferred.as_ref().is_none_or(|deferred| deferred.unanswered.is_none()) {
            return None;
        }
        let deferred = self.past.deferred.as_mut()?;
        Some((deferred.unanswered.take()?, deferred.serial))
    }

    /// Holds a response back. Returns the one held before.
    pub(crate) fn hold(&mut self, held: Held) -> Option<Held> {
        self.past.held.replace(held)
    }

    /// Returns the response that is held back.
    #[inline]
    pub(crate) fn held(&self) -> Option<&Held> {
        self.past.held.as_ref()
    }

    /// Takes the response that is held back, if `may`.
    pub(crate) fn take_held(&mut self, may: impl FnOnce(&Held) -> bool) -> Option<Held> {
        if self.past.held.as_ref().is_some_and(may) { self.past.held.take() } else { None }
    }

    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        self.past.deferred.is_some()
    }

    /// Returns the deferred reset once all data up to its last TSN has arrived and its ends may be kept.
    pub(crate) fn take_deferred(
        &mut self,
        cum_tsn_ack: Tsn,
        may_end: impl FnOnce(&[StreamEnd]) -> bool,
    ) -> Option<Deferred> {
        if !self.has_deferred() {
            return None;
        }
        let is_due = |due: &mut Deferred| due.last_tsn.precedes_or_is(cum_tsn_ack) && may_end(&due.ends);
        self.past.deferred.take_if(is_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_once_then_gets_its_answer_again_and_other_numbers_are_bad() {
        let serial = ReconfigSerial::new;
        let mut theirs = Incoming::new(Tsn::new(5));
        assert_eq!(theirs.look(serial(4)), Answer::BadSequenceNumber);
        assert_eq!(theirs.look(serial(6)), Answer::BadSequenceNumber);
        assert_eq!(theirs.look(serial(5)), Answer::New);
        theirs.answer(serial(5), 6);
        assert_eq!(theirs.look(serial(5)), Answer::Again(6));
        theirs.answer(serial(5), 1);
        assert_eq!((theirs.look(serial(5)), theirs.look(serial(6))), (Answer::Again(1), Answer::New));
        theirs.answer(serial(6), 2);
        theirs.answer(serial(7), 2);
        assert_eq!(theirs.look(serial(5)), Answer::BadSequenceNumber, "long ago");
        assert_eq!(theirs.last(), serial(7));
    }

    #[test]
    fn a_reset_waits_for_the_data_before_it() {
        let mut theirs = Incoming::new(Tsn::new(5));
        let ends = vec![StreamEnd { stream: 3, code: None }];
        let serial = ReconfigSerial::new(5);
        let last_tsn = Tsn::new(0);
        let at = PathAddr { local: [10, 0, 0, 1].into(), remote: [10, 0, 0, 2].into() };
        let unanswered = Some(at);
        theirs.defer(Deferred { serial, last_tsn, ends: ends.clone(), answered: None, unanswered });
        assert_eq!((theirs.take_unanswered(), theirs.take_unanswered()), (Some((at, serial)), None));
        assert_eq!(theirs.take_deferred(Tsn::new(u32::MAX), |_| true), None);
        assert_eq!(theirs.take_deferred(Tsn::new(0), |_| false), None);
        assert!(theirs.take_deferred(Tsn::new(0), |_| true).is_some_and(|deferred| deferred.ends == ends));
        assert!(!theirs.has_deferred());
    }

    #[test]
    fn codes_are_those_of_the_request_that_follows() {
        let (mut theirs, one) = (Incoming::new(Tsn::new(5)), StreamCode { stream: 3, code: 7 });
        let ends = |theirs: &mut Incoming, serial| {
            let ends = theirs.ends(ReconfigSerial::new(serial), [2, 3].into_iter());
            ends.iter().map(|end| end.code).collect::<Vec<_>>()
        };
        assert_eq!(ends(&mut theirs, 5), [None, None]);
        theirs.keep_codes(ReconfigSerial::new(6), [one].into_iter());
        assert_eq!(ends(&mut theirs, 6), [None, None], "not the next");
        theirs.keep_codes(ReconfigSerial::new(5), [one].into_iter());
        assert_eq!(ends(&mut theirs, 5), [None, Some(7)]);
        assert_eq!(ends(&mut theirs, 5), [None, None], "once");
    }
}
