//! Requests of this end (RFC 6525 §5.1): one at a time, retransmitted until answered. Does not touch streams
//! or packets.

use std::collections::VecDeque;

use msctp_units::Time;
use msctp_wire::param::{ReconfigResponse, StreamCode};
use msctp_wire::{ReconfigSerial, Tsn};

use super::{ReconfigOutcome, StreamRequest};
use crate::addr::PathId;
use crate::inbound::StreamEnd;
use crate::rare::{Rare, rare_state};

/// Longest queue of requests.
const MAX_WAITING: usize = 16;

/// Progress of the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Not started.
    Queued,
    /// An outgoing reset whose streams must stop sending.
    Quieting,
    /// The request is to be sent or retransmitted now.
    Due,
    /// Sent; the timer is running.
    Sent,
}

/// A queued request, and the number of the peer's request that it answers.
#[derive(Clone, Debug)]
struct Waiting {
    request: StreamRequest,
    /// Codes of streams that are abandoned.
    codes: Vec<StreamCode>,
    response_to: Option<ReconfigSerial>,
    /// The request before the peer ended some of its streams.
    whole: Option<StreamRequest>,
    /// A reset that leaves with the last queued data of its streams.
    after_data: bool,
}

impl Waiting {
    fn resets(&self, stream: u16) -> bool {
        match &self.request {
            StreamRequest::ResetOutgoing(streams) => streams.is_empty() || streams.contains(&stream),
            _ => false,
        }
    }

    fn tells_codes(&self) -> bool {
        matches!(self.request, StreamRequest::ResetOutgoing(_)) && !self.codes.is_empty()
    }
}

/// An answered request, to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) request: StreamRequest,
    pub(crate) outcome: ReconfigOutcome,
}

/// Requests of this end.
#[derive(Debug)]
pub(crate) struct Outgoing {
    serial: ReconfigSerial,
    requests: Rare<Requests>,
}

rare_state! {
    /// Unanswered requests, and the progress of the first one.
    struct Requests {
        waiting: VecDeque<Waiting> = VecDeque::new(),
        step: Step = Step::Queued,
        timer: Option<Time> = None,
        path: Option<PathId> = None,
        /// True if the current request was sent at least once, so that the peer may have applied it.
        asked: bool = false,
        /// The peer has received the current request: it has answered that it is in progress.
        heard: bool = false,
        /// The timer expires before T-reconfig would.
        early: bool = false,
        /// The peer's last request when the current reset began.
        after: Option<ReconfigSerial> = None,
    }
}

impl Outgoing {
    /// Creates the state with this end's initial TSN as the first number (RFC 6525 §4.1).
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        Self { serial: ReconfigSerial::new(initial_tsn.get()), requests: Rare::default() }
    }

    /// Queues a request. Returns false if the queue is full.
    pub(crate) fn push(&mut self, request: StreamRequest, response_to: Option<ReconfigSerial>) -> bool {
        self.push_with(request, Vec::new(), response_to)
    }

    /// Queues a request with codes of some of its streams. Returns false if the queue is full.
    pub(crate) fn push_with(
        &mut self,
        request: StreamRequest,
        codes: Vec<StreamCode>,
        response_to: Option<ReconfigSerial>,
    ) -> bool {
        if self.requests.waiting.len() >= MAX_WAITING {
            return false;
        }
        // RFC 6525 §5.2.3: an answer to the peer precedes our own requests that were not begun
        let Requests { waiting, step, .. } = &mut *self.requests;
        let index = if response_to.is_some() { usize::from(*step != Step::Queued) } else { waiting.len() };
        let one = Waiting { request, codes, response_to, whole: None, after_data: false };
        waiting.insert(index.min(waiting.len()), one);
        true
    }

    /// Queues a reset that leaves with the last queued data of its streams, except those with a code. Returns
    /// false if the queue is full.
    pub(crate) fn push_end(&mut self, request: StreamRequest, codes: Vec<StreamCode>) -> bool {
        let pushed = self.push_with(request, codes, None);
        if pushed && let Some(last) = self.requests.waiting.back_mut() {
            last.after_data = true;
        }
        pushed
    }

    /// Returns the streams whose queued data the current request waits for; `None` if it waits for none.
    pub(crate) fn awaited_data(&self) -> Option<&[u16]> {
        let first = self.requests.waiting.front()?;
        match &first.request {
            StreamRequest::ResetOutgoing(streams) if first.after_data => Some(streams),
            _ => None,
        }
    }

    /// Records that the data that the current request waits for was sent.
    pub(crate) fn on_data_sent(&mut self) {
        if let Some(first) = self.requests.waiting.front_mut() {
            first.after_data = false;
        }
    }

    /// Lets the next request pass the current one, which waits for data. Returns false if there is none that
    /// waits for nothing.
    pub(crate) fn let_pass(&mut self) -> bool {
        let passes = self.requests.waiting.iter().position(|waiting| !waiting.after_data);
        if let Some(index) = passes {
            self.requests.waiting.rotate_left(index);
        }
        passes.is_some()
    }

    /// Returns the current request and its progress.
    pub(crate) fn current(&self) -> Option<(&StreamRequest, Step)> {
        self.requests.waiting.front().map(|waiting| (&waiting.request, self.requests.step))
    }

    /// Returns whether a request resets this stream of this end.
    pub(crate) fn resets(&self, stream: u16) -> bool {
        self.requests.waiting.iter().any(|waiting| waiting.resets(stream))
    }

    /// Returns whether a request that was not sent yet resets this stream of this end.
    pub(crate) fn will_reset(&self, stream: u16) -> bool {
        let unsent = self.requests.waiting.iter().skip(usize::from(self.requests.asked));
        unsent.into_iter().any(|waiting| waiting.resets(stream))
    }

    /// Returns the codes of the current request.
    pub(crate) fn codes(&self) -> &[StreamCode] {
        self.requests.waiting.front().map_or(&[], |waiting| &waiting.codes)
    }

    pub(crate) fn set_step(&mut self, step: Step) {
        self.requests.step = step;
    }

    /// Returns the number of the current request, and of the peer's request that it answers.
    pub(crate) fn numbers(&self) -> (ReconfigSerial, Option<ReconfigSerial>) {
        (self.serial, self.requests.waiting.front().and_then(|waiting| waiting.response_to))
    }

    /// Records that the request was sent on this path. It is retransmitted at `until`; `early`: before
    /// T-reconfig would expire.
    pub(crate) fn on_sent(&mut self, path: PathId, until: Time, early: bool) {
        let requests = &mut *self.requests;
        (requests.step, requests.path, requests.timer) = (Step::Sent, Some(path), Some(until));
        requests.early = early;
        requests.asked = true;
    }

    /// Returns the path on which the request was sent last; `None` once the peer has answered that it is in
    /// progress.
    pub(crate) fn last_path(&self) -> Option<PathId> {
        self.requests.path
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.requests.timer
    }

    /// Expires the timer at `until` at the latest if `works` does not hold for the path on which the request
    /// was last sent.
    pub(crate) fn shorten_timer(&mut self, until: Time, works: impl FnOnce(PathId) -> bool) {
        if self.requests.timer.is_some_and(|at| at > until) && !self.requests.path.is_some_and(works) {
            self.requests.timer = Some(until);
        }
    }

    /// Handles the timer (RFC 6525 §5.1.1). Returns the path whose error counter grows.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<PathId> {
        if self.requests.timer.is_none_or(|at| at > now) {
            return None;
        }
        let requests = &mut *self.requests;
        (requests.timer, requests.step) = (None, Step::Due);
        requests.path.filter(|_| !core::mem::take(&mut requests.early))
    }

    /// Handles the peer's answer. Returns `None` if it answers another request, or the request is still in
    /// progress (§5.2.7).
    pub(crate) fn on_response(&mut self, response: &ReconfigResponse) -> Option<Settled> {
        if response.serial != self.serial || !matches!(self.requests.step, Step::Sent | Step::Due) {
            return None;
        }
        let outcome = match response.result {
            ReconfigResponse::NOTHING_TO_DO | ReconfigResponse::PERFORMED => ReconfigOutcome::Performed,
            ReconfigResponse::DENIED => ReconfigOutcome::Denied,
            // Retransmitted when the timer expires, without an error of the path
            ReconfigResponse::IN_PROGRESS => {
                (self.requests.path, self.requests.heard) = (None, true);
                return None;
            }
            // §4.4: both ends asked for each other's resets, and the peer goes first
            ReconfigResponse::ALREADY_IN_PROGRESS if self.has_yielded() => {
                if let Some(own) = self.requests.waiting.pop_front() {
                    self.requests.waiting.push_back(own);
                    self.begin_next();
                }
                return None;
            }
            result => ReconfigOutcome::Failed(result),
        };
        self.settle(outcome)
    }

    /// Handles the peer's Outgoing SSN Reset Request, which may answer an Incoming one of this end (§5.2.2).
    /// One that answers none names the last request as well (§4.1): the streams must be those asked for.
    pub(crate) fn on_reset(
        &mut self,
        response_to: ReconfigSerial,
        mut streams: impl ExactSizeIterator<Item = u16>,
    ) -> Option<Settled> {
        let (StreamRequest::ResetIncoming(asked), Step::Sent | Step::Due) = self.current()? else {
            return None;
        };
        let answers = match &asked[..] {
            [] => streams.len() == 0,
            asked => streams.len() > 0 && streams.all(|stream| asked.contains(&stream)),
        };
        if answers && response_to == self.serial { self.settle(ReconfigOutcome::Performed) } else { None }
    }

    /// Returns whether this end has asked for the ends of some of these streams of the peer (all, if there is
    /// none), and the peer may not have received that. If the peer's own end of them were applied before, it
    /// would take the request for one of the next use.
    pub(crate) fn crosses(&self, ends: &[StreamEnd]) -> bool {
        let Some((StreamRequest::ResetIncoming(asked), _)) = self.current() else { return false };
        let names = ends.is_empty() || asked.is_empty() || ends.iter().any(|end| asked.contains(&end.stream));
        self.requests.asked && !self.requests.heard && names
    }

    /// The peer has ended these streams: removes them from the requests for their ends that were not sent.
    /// Returns those of which nothing is left.
    pub(crate) fn on_peer_ended(&mut self, ends: &[StreamEnd]) -> Vec<Settled> {
        let sent = usize::from(self.requests.asked);
        let is_due = |waiting: &Waiting| match &waiting.request {
            StreamRequest::ResetIncoming(asked) => ends.iter().any(|end| asked.contains(&end.stream)),
            _ => false,
        };
        if !self.requests.waiting.iter().skip(sent).any(is_due) {
            return Vec::new();
        }
        let requests = &mut *self.requests;
        let mut over = Vec::new();
        for (index, mut waiting) in core::mem::take(&mut requests.waiting).into_iter().enumerate() {
            if index >= sent && is_due(&waiting) {
                let whole = waiting.whole.take().unwrap_or_else(|| waiting.request.clone());
                if let StreamRequest::ResetIncoming(asked) = &mut waiting.request {
                    asked.retain(|stream| !ends.iter().any(|end| end.stream == *stream));
                    waiting.codes.retain(|code| asked.contains(&code.stream));
                    if asked.is_empty() {
                        if index == 0 {
                            requests.step = Step::Queued;
                        }
                        over.push(Settled { request: whole, outcome: ReconfigOutcome::Performed });
                        continue;
                    }
                }
                waiting.whole = Some(whole);
            }
            requests.waiting.push_back(waiting);
        }
        over
    }

    /// Begins an outgoing reset. `last`: the peer's last request. Requests that arrive later have answers of
    /// their own.
    pub(crate) fn begin_reset(&mut self, last: ReconfigSerial) {
        (self.requests.step, self.requests.after) = (Step::Quieting, Some(last));
    }

    /// Returns the Re-configuration Response Sequence Number of the current reset (RFC 6525 §4.1), the same
    /// in each retransmission.
    pub(crate) fn response_to(&self) -> Option<ReconfigSerial> {
        self.numbers().1.or(self.requests.after)
    }

    /// Returns whether a reset of the peer's streams answers the current request.
    pub(crate) fn awaits_reset(&self) -> bool {
        matches!(self.current(), Some((StreamRequest::ResetIncoming(_), Step::Sent | Step::Due)))
    }

    /// Returns whether the answer to a request of the peer waits for the peer's reset.
    fn has_yielded(&self) -> bool {
        self.awaits_reset() && self.requests.waiting.get(1).is_some_and(|next| next.response_to.is_some())
    }

    /// Returns whether the current request was sent, so that the peer may have applied it.
    pub(crate) fn is_asked(&self) -> bool {
        self.requests.asked
    }

    /// Returns the number of streams that this end has asked the peer to add to its own, and that are not
    /// answered yet (§5.1.6).
    pub(crate) fn incoming_in_flight(&self) -> u16 {
        match self.current() {
            Some((StreamRequest::AddIncoming(more), _)) if self.requests.asked => *more,
            _ => 0,
        }
    }

    /// Returns whether a request tells the peer of streams that were abandoned, so that what the peer has of
    /// them is not all.
    pub(crate) fn tells_codes(&self) -> bool {
        self.requests.waiting.iter().any(Waiting::tells_codes)
    }

    /// Cancels the last request that was not sent and tells no [codes](Self::tells_codes); with `all` any
    /// one. Returns it, and whether it was the current one. Call it until it returns `None`.
    ///
    /// A request that the peer may have applied must normally complete, because both ends must agree on the
    /// numbers.
    pub(crate) fn give_up(&mut self, all: bool) -> Option<(Settled, bool)> {
        let (waiting, asked) = (&self.requests.waiting, self.requests.asked);
        let kept = usize::from(asked && !all);
        let mut others = kept..waiting.len();
        let index = others.rfind(|&index| all || !waiting[index].tells_codes())?;
        if index == 0 {
            let serial = self.serial;
            let settled = self.settle(ReconfigOutcome::GivenUp)?;
            if !asked {
                // The peer expects this number.
                self.serial = serial;
            }
            return Some((settled, true));
        }
        let Waiting { request, whole, .. } = self.requests.waiting.remove(index)?;
        let settled = Settled { request: whole.unwrap_or(request), outcome: ReconfigOutcome::GivenUp };
        Some((settled, false))
    }

    fn settle(&mut self, outcome: ReconfigOutcome) -> Option<Settled> {
        let Waiting { request, whole, .. } = self.requests.waiting.pop_front()?;
        self.begin_next();
        Some(Settled { request: whole.unwrap_or(request), outcome })
    }

    /// Gives the next request the next number.
    fn begin_next(&mut self) {
        self.serial = self.serial.next();
        let requests = &mut *self.requests;
        (requests.step, requests.timer, requests.path, requests.asked) = (Step::Queued, None, None, false);
        (requests.after, requests.heard) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(serial: u32, result: u32) -> ReconfigResponse {
        ReconfigResponse { serial: ReconfigSerial::new(serial), result, next_tsns: None }
    }

    #[test]
    fn one_request_is_outstanding_until_its_own_response_arrives() {
        let mut ours = Outgoing::new(Tsn::new(u32::MAX));
        assert!(ours.push(StreamRequest::AddOutgoing(2), None));
        assert!(ours.push(StreamRequest::AddIncoming(3), None));
        assert_eq!(ours.on_response(&response(u32::MAX, 1)), None, "not sent yet");
        let at = Time::from_nanos(1000);
        ours.on_sent(PathId::new(0), at, false);
        assert_eq!(ours.on_response(&response(0, 1)), None, "another number");
        assert_eq!(ours.handle_timeout(Time::from_nanos(999)), None);
        assert_eq!(ours.handle_timeout(at), Some(PathId::new(0)));
        assert_eq!(ours.current(), Some((&StreamRequest::AddOutgoing(2), Step::Due)));
        ours.on_sent(PathId::new(0), at, false);
        assert_eq!(ours.on_response(&response(u32::MAX, ReconfigResponse::IN_PROGRESS)), None);
        assert_eq!(ours.handle_timeout(at), None, "repeated, and nobody's error");
        assert_eq!(ours.current().map(|(_, step)| step), Some(Step::Due));
        let settled = ours.on_response(&response(u32::MAX, 2)).unwrap();
        assert_eq!(settled.outcome, ReconfigOutcome::Denied);
        assert_eq!(ours.numbers().0, ReconfigSerial::new(0));
        assert_eq!(ours.current(), Some((&StreamRequest::AddIncoming(3), Step::Queued)));
    }

    #[test]
    fn requests_pass_ends_that_wait_for_data() {
        let mut ours = Outgoing::new(Tsn::new(1));
        for stream in [1, 2] {
            assert!(ours.push_end(StreamRequest::ResetOutgoing(vec![stream]), Vec::new()));
        }
        assert_eq!(ours.awaited_data(), Some(&[1][..]));
        assert!(!ours.let_pass());
        ours.push(StreamRequest::AddOutgoing(1), None);
        assert!(ours.let_pass());
        assert_eq!(
            (ours.current().map(|(request, _)| request.clone()), ours.awaited_data()),
            (Some(StreamRequest::AddOutgoing(1)), None)
        );
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        assert!(ours.on_response(&response(1, 1)).is_some());
        assert_eq!(ours.awaited_data(), Some(&[1][..]), "in their order");
        ours.on_data_sent();
        assert_eq!((ours.awaited_data(), ours.resets(1), ours.will_reset(2)), (None, true, true));
    }

    /// Otherwise a peer would take what it has of the streams for all.
    #[test]
    fn requests_that_tell_codes_are_not_given_up() {
        let mut ours = Outgoing::new(Tsn::new(7));
        ours.push(StreamRequest::ResetOutgoing(vec![1]), None);
        ours.push_end(StreamRequest::ResetOutgoing(vec![2, 3]), vec![StreamCode { stream: 2, code: 9 }]);
        ours.push(StreamRequest::AddOutgoing(1), None);
        ours.begin_reset(ReconfigSerial::new(30));
        let given_up = |ours: &mut Outgoing, all| {
            ours.give_up(all).map(|(settled, is_current)| (settled.request, is_current))
        };
        assert_eq!(given_up(&mut ours, false), Some((StreamRequest::AddOutgoing(1), false)));
        assert_eq!(given_up(&mut ours, false), Some((StreamRequest::ResetOutgoing(vec![1]), true)));
        assert_eq!((given_up(&mut ours, false), ours.tells_codes()), (None, true));
        assert_eq!(ours.current(), Some((&StreamRequest::ResetOutgoing(vec![2, 3]), Step::Queued)));
        assert_eq!(ours.numbers().0, ReconfigSerial::new(7), "the peer expects it");
        assert_eq!(given_up(&mut ours, true), Some((StreamRequest::ResetOutgoing(vec![2, 3]), true)));
        assert!(!ours.tells_codes());
    }

    #[test]
    fn a_response_to_the_peer_precedes_requests_not_yet_sent() {
        let mut ours = Outgoing::new(Tsn::new(1));
        for count in 0..16 {
            assert!(ours.push(StreamRequest::AddOutgoing(count), None));
        }
        assert!(!ours.push(StreamRequest::AddOutgoing(99), None));
        let mut ours = Outgoing::new(Tsn::new(1));
        ours.push(StreamRequest::AddOutgoing(1), None);
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        ours.push(StreamRequest::AddOutgoing(2), None);
        ours.push(StreamRequest::ResetOutgoing(vec![4]), Some(ReconfigSerial::new(9)));
        ours.on_response(&response(1, 0)).unwrap();
        assert_eq!(ours.numbers(), (ReconfigSerial::new(2), Some(ReconfigSerial::new(9))));
    }

    #[test]
    fn an_outgoing_reset_of_the_peer_answers_an_incoming_one_of_ours() {
        let mut ours = Outgoing::new(Tsn::new(7));
        ours.push(StreamRequest::ResetIncoming(vec![1]), None);
        let answer = |ours: &mut Outgoing, to, streams: &[u16]| {
            ours.on_reset(ReconfigSerial::new(to), streams.iter().copied()).is_some()
        };
        assert!(!answer(&mut ours, 7, &[1]), "not asked yet");
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        for (to, streams) in [(6, &[1][..]), (7, &[2]), (7, &[1, 2]), (7, &[])] {
            assert!(!answer(&mut ours, to, streams), "{to} {streams:?}");
        }
        assert!(answer(&mut ours, 7, &[1]));
        ours.push(StreamRequest::ResetIncoming(vec![]), None);
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        assert!(!answer(&mut ours, 8, &[1]) && answer(&mut ours, 8, &[]));
    }

    #[test]
    fn a_request_that_the_peer_rejects_for_its_own_follows_the_answer() {
        let at = ReconfigSerial::new;
        let mut ours = Outgoing::new(Tsn::new(7));
        ours.push(StreamRequest::ResetIncoming(vec![1]), None);
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        ours.push(StreamRequest::ResetOutgoing(vec![2]), Some(at(30)));
        assert_eq!(ours.on_response(&response(7, ReconfigResponse::ALREADY_IN_PROGRESS)), None);
        assert_eq!(ours.numbers(), (at(8), Some(at(30))));
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        assert!(ours.on_response(&response(8, ReconfigResponse::PERFORMED)).is_some());
        assert_eq!(ours.current(), Some((&StreamRequest::ResetIncoming(vec![1]), Step::Queued)));
        // Without a request of the peer it is the caller's to repeat.
        ours.on_sent(PathId::new(0), Time::ZERO, false);
        let settled = ours.on_response(&response(9, ReconfigResponse::ALREADY_IN_PROGRESS)).unwrap();
        assert_eq!(settled.outcome, ReconfigOutcome::Failed(4));
    }

    /// RFC 6525 §4.1: "the next expected Re-configuration Request Sequence Number of the peer minus 1", at
    /// the time of the request: a retransmission must not seem to answer what the peer asked since.
    #[test]
    fn a_retransmitted_reset_answers_no_later_request() {
        let mut ours = Outgoing::new(Tsn::new(7));
        ours.push(StreamRequest::ResetOutgoing(vec![1]), None);
        ours.begin_reset(ReconfigSerial::new(30));
        assert!(ours.will_reset(1));
        ours.on_sent(PathId::new(0), Time::from_nanos(10), true);
        assert!(ours.resets(1) && !ours.will_reset(1), "the peer may have applied it");
        assert_eq!(ours.handle_timeout(Time::from_nanos(10)), None, "early: no error of the path");
        assert_eq!(ours.response_to(), Some(ReconfigSerial::new(30)));
        ours.on_sent(PathId::new(0), Time::from_nanos(20), false);
        assert_eq!(ours.handle_timeout(Time::from_nanos(20)), Some(PathId::new(0)));
        assert_eq!(ours.response_to(), Some(ReconfigSerial::new(30)));
    }
}
