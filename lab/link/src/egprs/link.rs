//! [`EgprsLink`]: one direction of an EGPRS radio link: RLC in acknowledged mode over packet data channels.
//!
//! Section numbers are of 3GPP TS 44.060. Knows neither bursts nor power:
//! [`BlockErrors`] decides which blocks are lost.

use std::collections::VecDeque;
use std::fmt;

use msctp_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::{BLOCK_PERIOD, CodingScheme, EgprsConfig, EgprsStats};
use crate::arq::{
    AckState, Agenda, Block, BlockErrors, BlockEvent, BlockEventKind, Gate, InvalidRadio, Part, Trace,
    Window, next_multiple,
};
use crate::fate::{Delivery, Offer};
use crate::model::{Carries, Change, Conditions, LinkModel, Unsupported};
use crate::stats::LinkStats;
use msctp_queue::QueueLen;

/// One direction of an EGPRS radio link.
///
/// - Radio blocks begin at whole multiples of [`BLOCK_PERIOD`], one on each PDCH.
/// - A packet is delivered, in order and complete, when the receiver has every block up to its last.
/// - At one instant, blocks arrive before reports, and both before blocks are sent. A packet offered at that
///   instant goes with them if [`deliver`](LinkModel::deliver) has not been called for it; a change holds for
///   the next ones.
pub struct EgprsLink<P> {
    config: EgprsConfig,
    errors: BlockErrors,
    reports_rng: ChaCha8Rng,
    gate: Gate<P>,
    /// Blocks in the window, each with the coding of its first transmission.
    window: Window<CodingScheme>,
    flow: Flow,
    /// Time before which no block is sent.
    free_from: Time,
    /// The second half of a block that is sent in two radio blocks.
    half: Option<Half>,
    /// Blocks in flight that the receiver will decode.
    air: VecDeque<Flying>,
    reports: VecDeque<Report>,
    blocks_since_poll: u32,
    /// Time at which the latest poll's report is due.
    report_due: Time,
    radio: EgprsStats,
    trace: Trace,
}

/// The temporary block flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    None,
    /// The connection exists or is being set up; the next radio blocks begin at this instant.
    Sending(Time),
    /// Everything is acknowledged; the connection is released at this instant (§9.3.1a).
    Releasing(Time),
}

/// Events, in their order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    Arrival,
    Report,
    Flow,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    number: u64,
    scheme: CodingScheme,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    arrives: Time,
    number: u64,
    part: Part,
}

/// A report in flight (PACKET DOWNLINK or UPLINK ACK/NACK), with the receiver's V(N) at `made`.
#[derive(Clone, Copy, Debug)]
struct Report {
    made: Time,
    arrives: Time,
}

/// The block to send next, and the reason.
#[derive(Clone, Copy, Debug)]
struct Choice {
    number: u64,
    scheme: CodingScheme,
    parts: u8,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    New,
    Missing,
    NothingBetter,
}

impl<P> EgprsLink<P> {
    /// Creates a link that is up and empty. `errors` selects the lost blocks. Lost reports are drawn from a
    /// stream seeded with `seed`.
    ///
    /// # Errors
    ///
    /// [`InvalidRadio`] for the first parameter out of range.
    pub fn new(config: EgprsConfig, errors: BlockErrors, seed: [u8; 32]) -> Result<Self, InvalidRadio> {
        config.check()?;
        Ok(Self {
            config,
            errors,
            reports_rng: ChaCha8Rng::from_seed(seed),
            // The length indicator that names the packet's end (§10.4.14).
            gate: Gate::new(config.frame_overhead.saturating_add(1), config.queue),
            window: Window::new(config.window.into()),
            flow: Flow::None,
            free_from: Time::ZERO,
            half: None,
            air: VecDeque::new(),
            reports: VecDeque::new(),
            blocks_since_poll: 0,
            report_due: Time::ZERO,
            radio: EgprsStats::default(),
            trace: Trace::default(),
        })
    }

    /// Returns the properties now.
    pub fn config(&self) -> &EgprsConfig {
        &self.config
    }

    /// Returns the counters of the radio side.
    pub fn radio_stats(&self) -> &EgprsStats {
        &self.radio
    }

    /// Starts or stops recording block numbers. Recorded events stay until they are polled.
    pub fn set_trace(&mut self, on: bool) {
        self.trace.switch(on);
    }

    /// Returns the oldest recorded event.
    pub fn poll_trace(&mut self) -> Option<BlockEvent> {
        self.trace.poll()
    }

    fn arrive(&mut self, flying: Flying) {
        if !self.window.part_arrives(flying.number, flying.part, flying.arrives) {
            return;
        }
        self.trace.record(flying.arrives, flying.number, BlockEventKind::Received);
        if let Some(end) = self.window.in_order_end() {
            self.gate.sdus.arrived_up_to(end);
        }
    }

    /// Applies a report (§9.1.8), which covers blocks before V(R). A block sent too late to be in it stays
    /// pending (§9.1.3).
    fn read_report(&mut self, report: Report) {
        let has = |block: &Block<CodingScheme>| block.received <= report.made;
        let newest = (self.window.va()..self.window.vr())
            .rev()
            .find(|&number| self.window.get(number).is_some_and(has));
        for number in self.window.va()..newest.map_or(0, |newest| newest + 1) {
            let Some(block) = self.window.get(number) else { break };
            if has(block) {
                self.window.is_there(number);
            } else if block.ack_state == AckState::Pending && block.sent <= report.made {
                self.window.is_missing(number);
            }
        }
        if self.window.advance() {
            self.trace.record(report.arrives, self.window.va() - 1, BlockEventKind::Acknowledged);
        }
        if self.window.is_empty() && self.gate.sdus.unsent() == 0 && matches!(self.flow, Flow::Sending(_)) {
            self.flow = match self.config.release.is_zero() {
                true => Flow::None,
                false => Flow::Releasing(report.arrives + self.config.release),
            };
        }
    }

    /// Sends one radio block on each PDCH.
    fn send_blocks(&mut self, at: Time) {
        for _ in 0..self.config.pdchs {
            if !self.send_radio_block(at) {
                break;
            }
        }
        if self.window.is_full() && self.gate.sdus.unsent() > 0 {
            self.radio.stalled += BLOCK_PERIOD;
        }
        self.free_from = at + BLOCK_PERIOD;
        self.flow = Flow::Sending(self.free_from);
    }

    fn send_radio_block(&mut self, at: Time) -> bool {
        let mut blocks = 1;
        let window = &self.window;
        let needed =
            |half: &Half| window.get(half.number).is_some_and(|block| block.ack_state != AckState::Acked);
        let (scheme, mut read);
        if let Some(half) = self.half.take().filter(needed) {
            scheme = half.scheme;
            read = self.send_part(at, half.number, scheme, Part { index: 1, of: 2 });
        } else {
            let Some(first) = self.choose(None) else { return false };
            scheme = first.scheme;
            read = self.send(at, first);
            if first.parts > 1 {
                self.half = Some(Half { number: first.number, scheme });
            }
            while blocks < scheme.blocks_per_radio_block()
                && let Some(other) = self.choose(Some(first))
            {
                read |= self.send(at, other);
                blocks += 1;
            }
        }
        // The header says whether there is a poll; in EGPRS it has a code of its own.
        read |= scheme.has_robust_header();
        self.radio.radio_blocks += 1;
        self.poll_if_due(at, blocks, read);
        true
    }

    /// Chooses the next block (§9.1.3): the oldest that is known to be missing, else a new one. If the window
    /// is full or there is no new data, chooses the oldest without a report, then the next. As `companion`'s
    /// other half, the block must have the same coding.
    fn choose(&mut self, companion: Option<Choice>) -> Option<Choice> {
        let fits = |choice: &Choice| {
            companion.is_none_or(|first| {
                choice.scheme == first.scheme && choice.parts == 1 && choice.number != first.number
            })
        };
        if let Some(number) = self.window.next_missing()
            && let Some(choice) = self.again(number, Why::Missing).filter(fits)
        {
            return Some(choice);
        }
        let scheme = self.config.scheme;
        if companion.is_none_or(|first| first.scheme == scheme)
            && !self.window.is_full()
            && let Some(octets) = self.gate.sdus.take(scheme.block_octets().into())
        {
            let number = self.window.push(Block::new(octets, scheme));
            return Some(Choice { number, scheme, parts: 1, why: Why::New });
        }
        let number = self.window.next_pending()?;
        self.again(number, Why::NothingBetter).filter(fits)
    }

    fn again(&self, number: u64, why: Why) -> Option<Choice> {
        let again = self.window.get(number)?.extra.again(self.config.scheme);
        Some(Choice { number, scheme: again.scheme, parts: again.parts, why })
    }

    /// Sends a block or its first half. Returns true if it will be decoded.
    fn send(&mut self, at: Time, choice: Choice) -> bool {
        // At the latest: the second half goes in the next radio block.
        let arrives = self.arrival(at + BLOCK_PERIOD * u64::from(choice.parts));
        if let Some(block) = self.window.get_mut(choice.number) {
            block.note_sent(arrives, choice.parts);
        }
        let (count, event) = match choice.why {
            Why::New => (&mut self.radio.blocks, BlockEventKind::Sent),
            Why::Missing => (&mut self.radio.retransmitted, BlockEventKind::Retransmitted),
            Why::NothingBetter => (&mut self.radio.sent_early, BlockEventKind::Retransmitted),
        };
        *count += 1;
        self.trace.record(at, choice.number, event);
        self.send_part(at, choice.number, choice.scheme, Part { index: 0, of: choice.parts })
    }

    fn send_part(&mut self, at: Time, number: u64, scheme: CodingScheme, part: Part) -> bool {
        let end = at + BLOCK_PERIOD;
        let arrives = self.arrival(end);
        if self.errors.takes(end, scheme.block_octets()) {
            self.radio.block_errors += 1;
            return false;
        }
        self.air.push_back(Flying { arrives, number, part });
        true
    }

    /// Returns the time at which a block that ends at `end` arrives, which is never before that of one sent
    /// earlier.
    fn arrival(&self, end: Time) -> Time {
        let last = self.air.back().map_or(Time::ZERO, |flying| flying.arrives);
        (end + self.config.delay).max(last)
    }

    /// Polls if it is time. The network chooses the time, and the report comes in the block that the poll
    /// reserves (§10.4.5).
    fn poll_if_due(&mut self, at: Time, blocks: u32, read: bool) {
        self.blocks_since_poll = self.blocks_since_poll.saturating_add(blocks);
        let nothing_new = self.window.is_full() || self.gate.sdus.unsent() == 0;
        if self.blocks_since_poll < self.config.poll_period && !(nothing_new && at >= self.report_due) {
            return;
        }
        self.blocks_since_poll = 0;
        self.radio.polls += 1;
        let made = at + self.config.delay + self.config.rrbp;
        let last = self.reports.back().map_or(Time::ZERO, |report| report.arrives);
        let arrives = (made + BLOCK_PERIOD + self.config.delay).max(last);
        self.report_due = arrives;
        if !read {
            self.radio.polls_lost += 1;
        } else if self.config.report_loss.draw(&mut self.reports_rng) {
            self.radio.reports_lost += 1;
        } else {
            self.reports.push_back(Report { made, arrives });
        }
    }

    /// Continues the flow, or sets it up.
    fn wake(&mut self, now: Time) {
        let earliest = match self.flow {
            Flow::Sending(_) => return,
            Flow::Releasing(_) => now,
            Flow::None => {
                self.radio.flows += 1;
                now + self.config.establishment
            }
        };
        self.flow = Flow::Sending(next_multiple(earliest.max(self.free_from), BLOCK_PERIOD));
    }

    /// Removes the blocks of a released connection.
    fn forget_blocks(&mut self) {
        self.window.clear();
        self.air.clear();
        self.reports.clear();
        self.half = None;
        self.blocks_since_poll = 0;
        self.report_due = Time::ZERO;
        self.flow = Flow::None;
    }

    fn hand_over(&mut self, now: Time, interruption: Span, carries: Carries) {
        self.radio.handovers += 1;
        self.forget_blocks();
        self.gate.hand_over(carries);
        self.free_from = now + interruption;
        if self.gate.sdus.unsent() > 0 {
            // The interruption includes the set-up of the flow in the new cell.
            self.radio.flows += 1;
            self.flow = Flow::Sending(next_multiple(self.free_from, BLOCK_PERIOD));
        }
    }
}

impl<P> Agenda for EgprsLink<P> {
    type Packet = P;
    type Due = Due;

    fn due(&self) -> Option<(Time, Due)> {
        let air = self.air.front().map(|flying| (flying.arrives, Due::Arrival));
        let report = self.reports.front().map(|report| (report.arrives, Due::Report));
        let flow = match self.flow {
            Flow::None => None,
            Flow::Sending(at) | Flow::Releasing(at) => Some((at, Due::Flow)),
        };
        [air, report, flow].into_iter().flatten().min()
    }

    fn step(&mut self, at: Time, due: Due) {
        match (due, self.flow) {
            (Due::Arrival, _) => {
                if let Some(flying) = self.air.pop_front() {
                    self.arrive(flying);
                }
            }
            (Due::Report, _) => {
                if let Some(report) = self.reports.pop_front() {
                    self.read_report(report);
                }
            }
            (Due::Flow, Flow::Sending(_)) => self.send_blocks(at),
            (Due::Flow, Flow::Releasing(_) | Flow::None) => self.flow = Flow::None,
        }
    }

    fn gate(&self) -> &Gate<P> {
        &self.gate
    }

    fn gate_mut(&mut self) -> &mut Gate<P> {
        &mut self.gate
    }
}

impl<P: Send> LinkModel<P> for EgprsLink<P> {
    fn offer(&mut self, now: Time, packet: P, wire_len: u32) -> Offer<P> {
        self.catch_up(now, Due::Report);
        let offer = self.gate.offer(packet, wire_len);
        if matches!(offer, Offer::Queued) {
            self.wake(now);
        }
        offer
    }

    fn next_delivery(&self) -> Option<Time> {
        self.next()
    }

    fn deliver(&mut self, now: Time) -> Option<Delivery<P>> {
        self.take(now)
    }

    fn change(&mut self, now: Time, change: Change) -> Result<(), Unsupported> {
        self.catch_up(now, Due::Flow);
        match change {
            Change::Coding(scheme) => self.config.scheme = scheme,
            Change::BlockErrors(share) => self.errors.set_share(share).map_err(|_| Unsupported { change })?,
            Change::Delay(delay) => self.config.delay = delay,
            Change::Handover { interruption, carries } => self.hand_over(now, interruption, carries),
            Change::Up => self.gate.go_up(),
            Change::Down => {
                self.forget_blocks();
                self.gate.go_down();
            }
            Change::Rate(_) => return Err(Unsupported { change }),
        }
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.gate.is_up()
    }

    /// Returns the number of packets whose transmission has not begun, as of the last call with a time.
    fn queue_len(&self, _now: Time) -> QueueLen {
        self.gate.sdus.waiting()
    }

    fn blocks_sent(&self) -> Option<u64> {
        Some(self.radio.blocks)
    }

    fn stats(&self) -> &LinkStats {
        self.gate.stats()
    }

    fn conditions(&self) -> Option<Conditions> {
        Some(Conditions {
            coding: Some(self.config.scheme),
            rate: self.config.scheme.user_rate().mul_ratio(self.config.pdchs.into(), 1),
            block_errors: self.errors.share(),
            one_way: BLOCK_PERIOD + self.config.delay,
            handovers: self.radio.handovers,
        })
    }
}

impl<P> fmt::Debug for EgprsLink<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgprsLink")
            .field("config", &self.config)
            .field("errors", &self.errors)
            .field("up", &self.gate.is_up())
            .field("flow", &self.flow)
            .field("va", &self.window.va())
            .field("vs", &self.window.vs())
            .field("vq", &self.window.vq())
            .field("radio", &self.radio)
            .field("stats", self.gate.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
