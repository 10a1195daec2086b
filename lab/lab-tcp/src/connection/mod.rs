//! [`Connection`]: one end of a TCP connection. It joins the two halves: handshake and close, headers to
//! offsets and back, timers.

mod handshake;
mod input;
mod output;

use std::collections::VecDeque;

use msctp_congestion::classifier::LossClassifier;
use msctp_congestion::{RoundTrips, RttEstimator, Window};
use msctp_units::{Span, Time};

use crate::config::{Config, ConfigError};
use crate::event::{Event, Failure};
use crate::header::Block;
use crate::receiver::Receiver;
use crate::sender::{Recorder, Sender};
use crate::stats::Stats;
use crate::trace::{TraceEvent, TraceKind};
use handshake::Handshake;

/// The ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// TCP port of this end.
    pub local: u16,
    /// The peer's port.
    pub remote: u16,
}

/// The state of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Open in both directions.
    Established,
    /// This end closed, and its FIN is not acknowledged.
    FinWait1,
    /// This end's FIN is acknowledged, and the peer still sends.
    FinWait2,
    /// The peer closed, and this end still sends.
    CloseWait,
    /// Both ends closed, and the peer's FIN arrived while this end's was not acknowledged.
    Closing,
    /// The peer closed first, then this end, whose FIN is not acknowledged.
    LastAck,
    /// Both FINs are acknowledged. Late segments are answered for a while.
    TimeWait,
    /// The connection is over.
    Closed,
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Listen,
    SynSent,
    SynReceived,
    Open,
    TimeWait(Time),
    Closed,
}

/// One end of a TCP connection. See the [crate] for the order of calls.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    ports: Ports,
    phase: Phase,
    /// Sequence number of this end's SYN, and of the peer's.
    iss: u32,
    irs: u32,
    handshake: Handshake,
    /// Data written before the connection was open: one past the last offset, and whether FIN follows.
    written: u64,
    fin: bool,
    /// The sending half, once the connection is open.
    sender: Option<Sender>,
    receiver: Receiver,
    /// Window scale is in use.
    scaling: bool,
    /// The peer's window scale; 0 without.
    peer_shift: u8,
    own_shift: u8,
    /// Timestamps are in use.
    timestamps: bool,
    /// True if this end may send SACK blocks.
    sack: bool,
    /// TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: u32,
    last_ack_sent: u64,
    /// True if this end sent its FIN first, so that it waits in TIME-WAIT.
    closed_first: bool,
    stats: Stats,
    trace: Recorder,
    events: VecDeque<Event>,
    /// Room to convert SACK blocks in.
    blocks: Vec<(u64, u64)>,
    wire_blocks: Vec<Block>,
}

impl Connection {
    /// Opens a connection: sends a SYN with sequence number `iss`.
    ///
    /// # Errors
    /// The options are out of range.
    pub fn connect(now: Time, config: Config, ports: Ports, iss: u32) -> Result<Self, ConfigError> {
        Self::new(now, config, ports, iss, Phase::SynSent)
    }

    /// Waits for a SYN from the remote port. `iss` is the sequence number of the SYN that answers it.
    ///
    /// # Errors
    /// The options are out of range.
    pub fn listen(config: Config, ports: Ports, iss: u32) -> Result<Self, ConfigError> {
        Self::new(Time::ZERO, config, ports, iss, Phase::Listen)
    }

    fn new(now: Time, config: Config, ports: Ports, iss: u32, phase: Phase) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            ports,
            phase,
            iss,
            irs: 0,
            handshake: Handshake::new(now, RttEstimator::new(config.rto), phase == Phase::SynSent),
            written: 1,
            fin: false,
            sender: None,
            receiver: Receiver::new(&config),
            scaling: false,
            peer_shift: 0,
            own_shift: 0,
            timestamps: false,
            sack: false,
            ts_recent: 0,
            last_ack_sent: 0,
            closed_first: false,
            stats: Stats::default(),
            trace: Recorder::new(config.trace),
            events: VecDeque::new(),
            blocks: Vec::new(),
            wire_blocks: Vec::new(),
            config,
        })
    }

    /// Queues `bytes` more bytes; `u64::MAX` stands for an endless source. Does nothing after
    /// [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        if !self.fin {
            self.written = self.written.saturating_add(bytes);
            self.update_sender();
        }
    }

    /// Discards unsent data, and a [`close`](Self::close) whose FIN was not sent. More data may be written
    /// later.
    pub fn stop_writing(&mut self) {
        if !self.sender.as_ref().is_some_and(Sender::fin_is_sent) {
            self.fin = false;
            self.written = self.sender.as_ref().map_or(1, |sender| sender.at().max);
            self.update_sender();
        }
    }

    /// Returns the total number of bytes written; `u64::MAX - 1` with an endless source.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written - 1
    }

    /// Closes the stream. A FIN follows the written data or, with an endless source, the data sent so far.
    pub fn close(&mut self) {
        if self.written == u64::MAX {
            self.stop_writing();
        }
        self.fin = true;
        self.update_sender();
    }

    fn update_sender(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.set_written(self.written, self.fin);
        }
    }

    /// Returns the number of bytes delivered to the application, in order, each counted once.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Returns the number of bytes in order that wait for [`read`](Self::read).
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Sets whether data waits in the receive buffer until [`read`](Self::read). By default the application
    /// gets it as soon as it is in order.
    pub fn hold(&mut self, held: bool) {
        self.receiver.hold(held);
        self.note_reading();
    }

    /// Reads at most `most` bytes from the receive buffer. Returns their number.
    pub fn read(&mut self, most: u64) -> u64 {
        let taken = self.receiver.read(most);
        if taken > 0 {
            self.note_reading();
        }
        taken
    }

    fn note_reading(&mut self) {
        if self.phase == Phase::Open && !self.receiver.is_finished() {
            let smss = self.smss();
            self.receiver.note_reading(smss);
        }
    }

    fn smss(&self) -> u64 {
        self.sender.as_ref().map_or(u64::from(self.config.mss), |sender| sender.at().smss)
    }

    /// Returns the bytes written that the peer has acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.at().una.min(sender.at().written) - 1)
    }

    /// Returns the bytes written and never sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        let sent = self.sender.as_ref().map_or(1, |sender| sender.at().max);
        self.written.saturating_sub(sent)
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Listen => State::Listen,
            Phase::SynSent => State::SynSent,
            Phase::SynReceived => State::SynReceived,
            Phase::TimeWait(_) => State::TimeWait,
            Phase::Closed => State::Closed,
            Phase::Open => {
                let sender = self.sender.as_ref();
                let sent = sender.is_some_and(Sender::fin_is_sent);
                let acknowledged = sender.is_some_and(Sender::fin_is_acknowledged);
                match (self.receiver.is_finished(), sent, acknowledged) {
                    (false, false, _) => State::Established,
                    (false, true, false) => State::FinWait1,
                    (false, true, true) => State::FinWait2,
                    (true, false, _) => State::CloseWait,
                    (true, true, _) if self.closed_first => State::Closing,
                    (true, true, _) => State::LastAck,
                }
            }
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the control variables; `None` before the handshake is done.
    #[must_use]
    pub fn window(&self) -> Option<Window> {
        self.sender.as_ref().map(|sender| sender.controller().window())
    }

    /// Returns whether fast recovery is in progress.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.sender.as_ref().is_some_and(Sender::is_recovering)
    }

    /// Returns the round-trip statistics; `None` before the first measurement.
    #[must_use]
    pub fn round_trips(&self) -> Option<RoundTrips> {
        self.sender.as_ref().and_then(|sender| sender.rtt.round_trips())
    }

    /// Returns the loss classifier of this end's sender; `None` before the handshake or without one.
    #[must_use]
    pub fn loss_classifier(&self) -> Option<&dyn LossClassifier> {
        self.sender.as_ref()?.loss_classifier()
    }

    /// Returns the loss classifier like [`loss_classifier`](Self::loss_classifier), but mutable.
    pub fn loss_classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        self.sender.as_mut()?.loss_classifier_mut()
    }

    /// Returns the retransmission timeout now.
    #[must_use]
    pub fn rto(&self) -> Span {
        self.sender.as_ref().map_or(self.handshake.rtt.rto(), |sender| sender.rtt.rto())
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the next trace event, when they are recorded.
    pub fn poll_trace(&mut self) -> Option<TraceEvent> {
        self.trace.take()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called. Valid after
    /// everything was transmitted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let handshake = match self.phase {
            Phase::SynSent | Phase::SynReceived => self.handshake.deadline(),
            _ => None,
        };
        let (sender, ack) = match self.phase {
            Phase::Open => (self.sender.as_ref().and_then(Sender::deadline), self.receiver.ack_deadline()),
            _ => (None, None),
        };
        let wait = if let Phase::TimeWait(until) = self.phase { Some(until) } else { None };
        [handshake, sender, ack, wait].into_iter().flatten().min()
    }

    /// Runs the timers that are due by `now`; early calls have no effect.
    pub fn handle_timeout(&mut self, now: Time) {
        match self.phase {
            Phase::SynSent | Phase::SynReceived => {
                let tried = self.handshake.on_timeout(now, self.config.max_retransmits);
                if tried.is_err() {
                    self.end(now, Event::Lost(Failure::TimedOut));
                }
            }
            Phase::TimeWait(until) if until <= now => self.phase = Phase::Closed,
            Phase::Open => {
                if let Some(sender) = &mut self.sender
                    && sender.on_timeout(now, &mut self.stats, &mut self.trace).is_err()
                {
                    self.end(now, Event::Lost(Failure::TimedOut));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, now: Time, event: Event) {
        let waits = event == Event::Closed && self.closed_first;
        self.phase = if waits { Phase::TimeWait(now + self.config.time_wait) } else { Phase::Closed };
        self.events.push_back(event);
        self.trace.add(now, TraceKind::Ended);
    }
}
