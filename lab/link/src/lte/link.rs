//! [`LteLink`]: one direction of an LTE radio bearer: the sending side of RLC in acknowledged mode over HARQ,
//! with its receiver.
//!
//! Section numbers are of 3GPP TS 36.322. Knows neither resource blocks nor modulation: the scheduler's grant
//! is a rate, and [`BlockErrors`] decides which transport blocks are lost.

use std::collections::VecDeque;
use std::fmt;

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::harq::{Harq, TransportBlock};
use super::receiver::{Receiver, Status};
use super::{LteConfig, LteStats, TTI};
use crate::arq::{
    AckState, Agenda, Block, BlockErrors, BlockEvent, BlockEventKind, Gate, InvalidRadio, Part, Trace,
    Window, next_multiple,
};
use crate::fate::{Delivery, LossReason, Offer};
use crate::model::{Carries, Change, Conditions, LinkModel, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::QueueLen;

/// One direction of an LTE radio bearer.
///
/// - Transport blocks begin at whole multiples of [`TTI`], one in each.
/// - A packet is delivered, in order and complete, when every PDU up to its last octet is received or
///   abandoned.
/// - At one instant, transport blocks arrive before status reports, those before timers expire, and all
///   before transport blocks are sent. A packet offered at that instant goes with them if
///   [`deliver`](LinkModel::deliver) has not been called for it; a change holds for the next ones.
pub struct LteLink<P> {
    config: LteConfig,
    errors: BlockErrors,
    statuses_rng: ChaCha8Rng,
    gate: Gate<P>,
    /// PDUs in the window, each with its RETX_COUNT; `None` if not retransmitted.
    window: Window<Option<u32>>,
    harq: Harq,
    receiver: Receiver,
    /// The rest of a PDU that is retransmitted in several transport blocks.
    split: Option<Split>,
    poll: Poll,
    /// Transport blocks in flight that the receiver decodes.
    air: VecDeque<(Time, TransportBlock)>,
    statuses: VecDeque<(Time, Status)>,
    /// Time of the next transport block, if there is something to send.
    next_tti: Option<Time>,
    /// Time before which no transport block is sent.
    free_from: Time,
    radio: LteStats,
    trace: Trace,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    number: u64,
    next: Part,
}

/// The sender's side of polling (§5.2.2).
#[derive(Debug, Default)]
struct Poll {
    /// PDU_WITHOUT_POLL
    pdus: u32,
    /// BYTE_WITHOUT_POLL
    bytes: u64,
    /// POLL_SN, and the time at which t-PollRetransmit expires.
    unanswered: Option<(u64, Time)>,
    /// True if the next PDU polls, because t-PollRetransmit has expired.
    forced: bool,
}

/// Events, in their order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    Arrival,
    Status,
    Receiver,
    PollRetransmit,
    Tti,
}

impl<P> LteLink<P> {
    /// Creates a link that is up and empty. `errors` selects the lost transport blocks. Two streams seeded
    /// with `harq_seed` (combining, misread answers) and `status_seed` (lost status reports) give the other
    /// random events.
    ///
    /// # Errors
    ///
    /// [`InvalidRadio`] for the first parameter out of range.
    pub fn new(
        config: LteConfig,
        errors: BlockErrors,
        harq_seed: [u8; 32],
        status_seed: [u8; 32],
    ) -> Result<Self, InvalidRadio> {
        config.check()?;
        Ok(Self {
            config,
            errors,
            statuses_rng: ChaCha8Rng::from_seed(status_seed),
            gate: Gate::new(config.packet_header, config.queue),
            window: Window::new(config.window.into()),
            harq: Harq::new(config.harq_processes, harq_seed),
            receiver: Receiver::default(),
            split: None,
            poll: Poll::default(),
            air: VecDeque::new(),
            statuses: VecDeque::new(),
            next_tti: None,
            free_from: Time::ZERO,
            radio: LteStats::default(),
            trace: Trace::default(),
        })
    }

    /// Returns the properties now.
    pub fn config(&self) -> &LteConfig {
        &self.config
    }

    /// Returns the counters of the radio side.
    pub fn radio_stats(&self) -> &LteStats {
        &self.radio
    }

    /// Starts or stops recording PDUs' numbers. Recorded events stay until they are polled.
    pub fn set_trace(&mut self, on: bool) {
        self.trace.switch(on);
    }

    /// Returns the oldest recorded event.
    pub fn poll_trace(&mut self) -> Option<BlockEvent> {
        self.trace.poll()
    }

    /// Computes the time of the next transport block.
    fn plan(&mut self, now: Time) {
        while self.poll.forced && !self.has_old() && !self.has_new() {
            self.poll_with_an_old_pdu(now);
        }
        let from = next_multiple(now.max(self.free_from), TTI);
        let granted = self.config.data_octets() > 0;
        self.next_tti = match granted && (self.has_old() || self.has_new()) {
            true => Some(from),
            false => self.harq.next_taken(from),
        };
    }

    /// Returns whether the retransmission buffer holds a PDU.
    fn has_old(&mut self) -> bool {
        let window = &self.window;
        self.split
            .take_if(|split| window.get(split.number).is_none_or(|pdu| pdu.ack_state == AckState::Acked));
        self.split.is_some() || self.window.next_missing().is_some()
    }

    /// Returns whether a new PDU can be sent.
    fn has_new(&self) -> bool {
        !self.window.is_full() && self.gate.sdus.unsent() > 0
    }

    fn send(&mut self, at: Time) {
        let new = if self.harq.is_taken(at) { None } else { self.assemble(at) };
        if (new.is_some() || self.harq.is_taken(at))
            && let Some(block) = self.harq.send(at, new, &self.config, &mut self.errors, &mut self.radio)
        {
            let last = self.air.back().map_or(Time::ZERO, |&(at, _)| at);
            self.air.push_back(((at + TTI + self.config.delay).max(last), block));
        }
        self.free_from = at + TTI;
    }

    /// Assembles a transport block; retransmissions come before new PDUs (§5.1.3.1, §5.2.1).
    fn assemble(&mut self, at: Time) -> Option<TransportBlock> {
        let room = self.config.data_octets();
        if room == 0 {
            return None;
        }
        if let Some(split) = self.split.take() {
            return Some(self.put(at, split.number, split.next, room, 0));
        }
        if let Some(number) = self.window.next_missing() {
            let pdu = self.window.get_mut(number)?;
            let octets = pdu.octets.end - pdu.octets.start;
            // Re-segmentation, into 128 parts at most: a smaller grant counts as if it were that large.
            let parts = octets.div_ceil(room).clamp(1, 128) as u8;
            pdu.note_sent(at, parts);
            self.radio.retransmitted += 1;
            self.trace.record(at, number, BlockEventKind::Retransmitted);
            return Some(self.put(at, number, Part { index: 0, of: parts }, octets.min(room), 0));
        }
        if self.window.is_full() {
            return None;
        }
        let range = self.gate.sdus.take(room)?;
        let octets = range.end - range.start;
        let mut pdu = Block::new(range, None);
        pdu.note_sent(at, 1);
        let number = self.window.push(pdu);
        self.radio.pdus += 1;
        self.trace.record(at, number, BlockEventKind::Sent);
        Some(self.put(at, number, Part::WHOLE, octets, octets))
    }

    /// Puts a PDU's part into a transport block. `new` octets of a new PDU count for polling.
    fn put(&mut self, at: Time, number: u64, part: Part, octets: u64, new: u64) -> TransportBlock {
        let next = Part { index: part.index + 1, ..part };
        self.split = (next.index < part.of).then_some(Split { number, next });
        let poll = self.split.is_none() && self.polls(at, new);
        TransportBlock { number, part, poll, octets: octets as u32 + self.config.pdu_header }
    }

    /// Returns whether the PDU polls. `new` of its octets are sent for the first time (§5.2.2.1).
    fn polls(&mut self, at: Time, new: u64) -> bool {
        self.poll.pdus = self.poll.pdus.saturating_add(u32::from(new > 0));
        self.poll.bytes = self.poll.bytes.saturating_add(new);
        let counted = self.poll.pdus >= self.config.poll_pdus || self.poll.bytes >= self.config.poll_bytes;
        let last = self.window.is_full() || !(self.has_new() || self.has_old());
        if !(counted || last || self.poll.forced) {
            return false;
        }
        self.radio.polls += 1;
        let unanswered = Some((self.window.vs().saturating_sub(1), at + self.config.poll_retransmit));
        self.poll = Poll { unanswered, ..Poll::default() };
        true
    }

    /// Makes the next PDU poll (§5.2.2.3).
    fn poll_times_out(&mut self) {
        self.poll.unanswered = None;
        self.poll.forced = true;
        self.radio.poll_timeouts += 1;
    }

    /// Retransmits a PDU with a poll when nothing else can be sent (§5.2.2.3). The standard leaves the choice
    /// to the sender, which takes the newest PDU without a report.
    fn poll_with_an_old_pdu(&mut self, at: Time) {
        let newest = (self.window.va()..self.window.vs())
            .rev()
            .find(|&number| self.window.get(number).is_some_and(|pdu| pdu.ack_state == AckState::Pending));
        match newest {
            Some(number) => self.retransmit(at, number),
            None => self.poll.forced = false,
        }
    }

    fn arrive(&mut self, at: Time, block: TransportBlock) {
        if self.window.part_arrives(block.number, block.part, at) {
            self.trace.record(at, block.number, BlockEventKind::Received);
            self.release();
        }
        self.receiver.received(at, &self.window, self.config.reordering);
        if block.poll {
            self.receiver.polled(block.number);
        }
    }

    /// Releases the packets before VR(R).
    fn release(&mut self) {
        if let Some(end) = self.window.in_order_end() {
            self.gate.sdus.arrived_up_to(end);
        }
    }

    fn send_status(&mut self, at: Time) {
        let Some(status) = self.receiver.report(at, self.config.status_prohibit) else { return };
        self.radio.statuses += 1;
        if self.config.status_loss.draw(&mut self.statuses_rng) {
            self.radio.statuses_lost += 1;
        } else {
            self.statuses.push_back((at + self.config.status_delay, status));
        }
    }

    /// Applies a STATUS PDU (§5.2.1, §5.2.2.2).
    fn read_status(&mut self, at: Time, status: Status) {
        for number in self.window.va()..status.ack_sn {
            match self.window.get(number) {
                Some(pdu) if pdu.received <= status.made => self.window.is_there(number),
                Some(pdu) if pdu.ack_state == AckState::Pending => self.retransmit(at, number),
                _ => {}
            }
        }
        self.poll.unanswered.take_if(|(poll_sn, _)| *poll_sn < status.ack_sn);
        self.move_window(at);
    }

    fn move_window(&mut self, at: Time) {
        if self.window.advance() {
            self.trace.record(at, self.window.va() - 1, BlockEventKind::Acknowledged);
        }
    }

    /// Considers the PDU for retransmission (§5.2.1). With RETX_COUNT at maxRetxThreshold the standard
    /// notifies the upper layers, which set the bearer up again. In the model, the PDU's packets are lost and
    /// the bearer continues.
    fn retransmit(&mut self, at: Time, number: u64) {
        let Some(pdu) = self.window.get_mut(number) else { return };
        let count = pdu.extra.map_or(0, |count| count + 1);
        if count < self.config.max_retx {
            pdu.extra = Some(count);
            self.window.is_missing(number);
            return;
        }
        if !pdu.is_received() {
            let octets = pdu.octets.clone();
            self.gate.sdus.lose(&octets, LossReason::Channel);
            self.window.receive(number, at);
            self.release();
            self.receiver.received(at, &self.window, self.config.reordering);
        }
        self.radio.discarded_pdus += 1;
        self.window.is_there(number);
        if number == self.window.va() {
            self.move_window(at);
        }
    }

    /// Removes the PDUs of a released connection.
    fn forget_pdus(&mut self) {
        self.window.clear();
        self.receiver.restart(self.window.vs());
        self.harq.clear();
        self.split = None;
        self.poll = Poll::default();
        self.air.clear();
        self.statuses.clear();
    }

    fn hand_over(&mut self, now: Time, interruption: Span, carries: Carries) {
        self.radio.handovers += 1;
        self.forget_pdus();
        self.gate.hand_over(carries);
        self.free_from = now + interruption;
    }
}

impl<P> Agenda for LteLink<P> {
    type Packet = P;
    type Due = Due;

    fn due(&self) -> Option<(Time, Due)> {
        let air = self.air.front().map(|&(at, _)| (at, Due::Arrival));
        let status = self.statuses.front().map(|&(at, _)| (at, Due::Status));
        let receiver = self.receiver.next_timeout().map(|at| (at, Due::Receiver));
        let poll = self.poll.unanswered.map(|(_, at)| (at, Due::PollRetransmit));
        let tti = self.next_tti.map(|at| (at, Due::Tti));
        [air, status, receiver, poll, tti].into_iter().flatten().min()
    }

    fn step(&mut self, at: Time, due: Due) {
        match due {
            Due::Arrival => {
                if let Some((_, block)) = self.air.pop_front() {
                    self.arrive(at, block);
                }
            }
            Due::Status => {
                if let Some((_, status)) = self.statuses.pop_front() {
                    self.read_status(at, status);
                }
            }
            Due::Receiver => self.receiver.timeout(at, &self.window, self.config.reordering),
            Due::PollRetransmit => self.poll_times_out(),
            Due::Tti => self.send(at),
        }
        self.plan(at);
        self.send_status(at);
    }

    fn gate(&self) -> &Gate<P> {
        &self.gate
    }

    fn gate_mut(&mut self) -> &mut Gate<P> {
        &mut self.gate
    }
}

impl<P: Send> LinkModel<P> for LteLink<P> {
    fn resent(&self) -> u64 {
        // by HARQ, and by RLC
        self.radio_stats().attempts - self.radio_stats().transport_blocks + self.radio_stats().retransmitted
    }

    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.catch_up(now, Due::PollRetransmit);
        let offer = self.gate.offer(packet, wire_len);
        self.plan(now);
        offer
    }

    fn next_delivery(&self) -> Option<Time> {
        self.next()
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.take(now)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        self.catch_up(now, Due::Tti);
        match change {
            Change::Rate(rate) => self.config.rate = rate,
            Change::Delay(delay) => self.config.delay = delay,
            Change::BlockErrors(share) => self.errors.set_share(share).map_err(|_| Unsupported { change })?,
            Change::Handover { interruption, carries } => self.hand_over(now, interruption, carries),
            Change::Up => self.gate.go_up(),
            Change::Down => {
                self.forget_pdus();
                self.gate.go_down();
            }
            Change::Coding(_) => return Err(Unsupported { change }),
        }
        self.plan(now);
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.gate.is_up()
    }

    /// Returns the number of packets whose transmission has not begun, as of the last call with a time.
    fn queue_len(&self, _now: Time) -> QueueLen {
        self.gate.sdus.waiting()
    }

    fn stats(&self) -> &LinkStats {
        self.gate.stats()
    }

    fn conditions(&self) -> Option<Conditions> {
        Some(Conditions {
            coding: None,
            rate: self.config.rate,
            block_errors: self.errors.share(),
            one_way: TTI + self.config.delay,
            handovers: self.radio.handovers,
        })
    }
}

impl<P> fmt::Debug for LteLink<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LteLink")
            .field("config", &self.config)
            .field("errors", &self.errors)
            .field("up", &self.gate.is_up())
            .field("vt_a", &self.window.va())
            .field("vt_s", &self.window.vs())
            .field("receiver", &self.receiver)
            .field("radio", &self.radio)
            .field("stats", self.gate.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
