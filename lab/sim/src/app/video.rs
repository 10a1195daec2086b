//! A live source: generates messages at fixed times, independent of the transport, and measures each one's
//! transfer time from its generation to its delivery.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rand_chacha::ChaCha8Rng;

use msctp_units::{Span, Time};

use crate::random;
use crate::scenario::{Frame, LEAST_FRAME, Sending};

/// The times of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) generated: Time,
    /// Time of delivery; [`Time::MAX`] before.
    pub(crate) delivered: Time,
}

/// A source of frames. Frames queue here, without bound, until the association accepts them.
#[derive(Debug)]
pub(crate) struct Video {
    pub(crate) sending: Sending,
    /// Frames to send in a cycle.
    frames: Arc<[Frame]>,
    random_phase: bool,
    phase: ChaCha8Rng,
    running: bool,
    /// Number of starts and stops. Wake-ups requested before the last one are void.
    next: Time,
    waiting: VecDeque<Bytes>,
    /// Largest number of messages queued here.
    pub(crate) longest_wait: usize,
    /// Transfers by message number.
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) generated_bytes: u64,
    pub(crate) delivered: u64,
    /// Time at which the last message was delivered after the source had been stopped.
    pub(crate) completed: Option<Time>,
}

impl Video {
    /// Creates a stopped source, which draws from the stream `app/NAME/phase`. `frames` has at least one.
    pub(crate) fn new(
        frames: Arc<[Frame]>,
        sending: Sending,
        random_phase: bool,
        name: &str,
        seed: u64,
    ) -> Self {
        debug_assert!(!frames.is_empty(), "the scenario was checked");
        Self {
            sending,
            frames,
            random_phase,
            phase: random::stream(seed, &format!("app/{name}/phase")),
            running: false,
            next: Time::ZERO,
            waiting: VecDeque::new(),
            longest_wait: 0,
            transfers: Vec::new(),
            generated_bytes: 0,
            delivered: 0,
            completed: None,
        }
    }

    fn frame(&self) -> Frame {
        self.frames[self.transfers.len() % self.frames.len()]
    }

    /// Starts the source. Returns the time of the first message.
    pub(crate) fn start(&mut self, now: Time) -> Time {
        self.running = true;
        self.completed = None;
        let interval = self.frame().interval;
        let wait = if self.random_phase { random::span_below(&mut self.phase, interval) } else { Span::ZERO };
        self.next = now + wait;
        self.next
    }

    /// Stops generating frames. Frames in the send buffer are still sent.
    pub(crate) fn stop(&mut self, now: Time) {
        self.running = false;
        self.complete(now);
    }

    /// Returns true if the source is stopped and all that it generated was delivered.
    pub(crate) fn is_done(&self) -> bool {
        !self.running && self.delivered == self.transfers.len() as u64
    }

    fn complete(&mut self, now: Time) {
        if self.is_done() {
            self.completed.get_or_insert(now);
        }
    }

    /// Returns the time at which the next message is generated; `None` if stopped.
    pub(crate) fn due(&self) -> Option<Time> {
        self.running.then_some(self.next)
    }

    /// Handles a wake-up: generates a message if one is due, and returns the time of the next one.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Time> {
        if !self.running || now != self.next {
            return None;
        }
        let frame = self.frame();
        let mut message = BytesMut::zeroed(frame.bytes as usize);
        message[..LEAST_FRAME as usize].copy_from_slice(&(self.transfers.len() as u32).to_be_bytes());
        self.waiting.push_back(message.freeze());
        self.longest_wait = self.longest_wait.max(self.waiting.len());
        self.was_generated(now);
        self.next = now + frame.interval;
        Some(self.next)
    }

    /// Records the generation of the next message, in the simulator or on a real stack.
    pub(crate) fn was_generated(&mut self, now: Time) {
        self.generated_bytes += u64::from(self.frame().bytes);
        self.transfers.push(Transfer { generated: now, delivered: Time::MAX });
    }

    /// Returns the next message to offer, if there is one.
    pub(crate) fn next(&self) -> Option<Bytes> {
        self.waiting.front().cloned()
    }

    /// Returns true if there is a next message.
    pub(crate) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Records that the association accepted the offered message.
    pub(crate) fn accepted(&mut self) {
        self.waiting.pop_front();
    }

    /// Records the delivery of this message.
    pub(crate) fn was_delivered(&mut self, now: Time, message: &[u8]) {
        let number = message.first_chunk().map(|&number| u32::from_be_bytes(number));
        let transfer = number.and_then(|number| self.transfers.get_mut(number as usize));
        debug_assert!(transfer.is_some(), "messages carry their numbers");
        if let Some(transfer) = transfer
            && transfer.delivered == Time::MAX
        {
            transfer.delivered = now;
            self.delivered += 1;
            self.complete(now);
        }
    }

    /// Returns the transfer times of delivered messages, in the order of their numbers.
    pub(crate) fn transfer_times(&self) -> impl Iterator<Item = Span> + '_ {
        let done = self.transfers.iter().filter(|transfer| transfer.delivered != Time::MAX);
        done.map(|transfer| transfer.delivered.since(transfer.generated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn video(frames: &[(u32, u64)]) -> Video {
        let frame = |&(bytes, ms)| Frame { bytes, interval: Span::from_millis(ms) };
        Video::new(frames.iter().map(frame).collect(), Sending::default(), false, "v", 1)
    }

    #[test]
    fn frames_are_generated_at_their_times_in_a_cycle() {
        let mut video = video(&[(500, 33), (20, 10)]);
        let mut due = video.start(at(5));
        let mut seen = Vec::new();
        while due < at(100) {
            let now = due;
            due = video.poll(now).unwrap();
            seen.push((now, video.next().unwrap().len()));
            video.accepted();
        }
        assert_eq!(seen, [(at(5), 500), (at(38), 20), (at(48), 500), (at(81), 20), (at(91), 500)]);
        assert_eq!(video.generated_bytes, 1540);
        assert_eq!(video.longest_wait, 1);
    }

    #[test]
    fn a_transfer_time_includes_the_wait_in_the_source() {
        let mut video = video(&[(100, 10)]);
        let mut due = video.start(at(0));
        for _ in 0..3 {
            due = video.poll(due).unwrap();
        }
        assert_eq!(video.longest_wait, 3);
        let messages: Vec<Bytes> = std::iter::from_fn(|| {
            let message = video.next()?;
            video.accepted();
            Some(message)
        })
        .collect();
        assert!(!video.has_more());
        video.was_delivered(at(50), &messages[1]);
        video.was_delivered(at(60), &messages[0]);
        video.was_delivered(at(70), &messages[0]);
        assert_eq!(video.delivered, 2, "a message counts once");
        let times: Vec<u64> = video.transfer_times().map(|t| t.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [60, 40]);
        video.stop(at(75));
        assert_eq!(video.completed, None);
        video.was_delivered(at(80), &messages[2]);
        assert_eq!(video.completed, Some(at(80)));
    }

    #[test]
    fn a_wake_up_scheduled_before_a_restart_is_void_and_a_random_phase_is_less_than_an_interval() {
        let mut video = Video { random_phase: true, ..video(&[(100, 10)]) };
        let first = video.start(at(0));
        assert!(first > at(0) && first < at(10));
        let old = video.poll(first).unwrap();
        video.stop(first);
        let again = video.start(at(15));
        assert_ne!(old, again);
        assert_eq!(video.poll(old), None);
        assert!(video.poll(again).is_some());
    }
}
