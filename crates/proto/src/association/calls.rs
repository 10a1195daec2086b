//! What the application calls to send, to receive and to look.

use msctp_congestion::classifier::LossClassifier;
use msctp_units::Time;

use super::{Association, Saved};
use crate::path::Path;
use crate::rare::Rare;
use crate::{
    AssociationState as State, AssociationStats, CallError, Message, OutMessage, PathAddr, PathId, PathStats,
    Restarted, SendError,
};

impl Association {
    /// Takes a message to send (RFC 9260 §11.1.5). May be called before the association is up.
    ///
    /// # Errors
    ///
    /// It is empty, its stream does not exist, there is no room for it, or the association is closing.
    pub fn send(&mut self, now: Time, message: OutMessage) -> Result<(), SendError> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# the SHUTDOWN chunk receiver MUST NOT accept new data from its SCTP user.
        let open = matches!(self.state, State::CookieWait | State::CookieEchoed | State::Established);
        // RFC 9260 §9.2: SHOULD reject any new data request once the shutdown began
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# In the SHUTDOWN-RECEIVED state, the endpoint MUST NOT accept any new send requests from its SCTP
        //# user.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# In the SHUTDOWN-ACK-SENT state, the endpoint MUST NOT accept any new send requests from its SCTP
        //# user.
        if !open || self.closing.is_wanted() {
            return Err(SendError::Closed);
        }
        let result = self.outbound.enqueue(now, message, &mut self.paths);
        if self.paths.is_pmtu_of_use(self.outbound.unsent()) {
            self.output.upkeep_due = true;
        }
        self.report_abandoned();
        result
    }

    /// The next message received, in the order of its stream. May be called after the association is closed.
    ///
    /// # Errors
    ///
    /// The peer restarted (RFC 9260 §5.2.4 A), said once: all messages of before were given, and those that
    /// follow come from whoever holds the peer's address now. Without shared keys that may be somebody else:
    /// close the association, or go on.
    pub fn recv(&mut self) -> Result<Option<Message>, Restarted> {
        let saved = if self.unread.is_touched() { self.next_saved() } else { None };
        let message = match saved {
            Some(Saved::Restarted) => return Err(Restarted),
            Some(Saved::Message(message)) => Some(message),
            None => self.inbound.read(),
        };
        match &message {
            Some(message) => self.stats.bytes_delivered += message.data.len() as u64,
            None => self.readable_told = false,
        }
        Ok(message)
    }

    /// The next one of before the peer restarted.
    #[cold]
    fn next_saved(&mut self) -> Option<Saved> {
        let Some(saved) = self.unread.saved.pop_front() else {
            self.unread = Rare::default();
            return None;
        };
        if let Saved::Message(message) = &saved {
            self.unread.bytes -= message.data.len() as u64;
        }
        Some(saved)
    }

    /// True when [`recv`](Self::recv) has something: a message, or that the peer restarted.
    pub fn readable(&self) -> bool {
        !self.unread.saved.is_empty() || self.inbound.is_readable()
    }

    /// How many messages [`recv`](Self::recv) would give now.
    pub fn unread(&self) -> usize {
        self.unread.messages() + self.inbound.readable()
    }

    /// Bytes of messages that wait to be sent or are not yet cumulatively acknowledged; `Config::send_buffer`
    /// is the most. Small messages fill the buffer sooner: see there.
    pub fn buffered(&self) -> u64 {
        self.outbound.buffered()
    }

    /// Bytes of messages that wait and of which nothing was sent yet, or not the whole.
    pub fn unsent(&self) -> u64 {
        self.outbound.unsent()
    }

    /// Messages that wait on this stream and of which nothing was sent yet, or not the whole. An outgoing
    /// stream is reset ([`StreamRequest::ResetOutgoing`](crate::StreamRequest)) behind what was sent: what
    /// waits here goes after the reset.
    pub fn unsent_on(&self, stream: u16) -> usize {
        self.outbound.unsent_on(stream)
    }

    /// Sends a HEARTBEAT on this path now, idle or not (RFC 9260 §8.3 D, §11.1.8). It waits while the path's
    /// link is down.
    ///
    /// # Errors
    ///
    /// There is no such path, or the association is not up.
    pub fn request_heartbeat(&mut self, now: Time, path: PathId) -> Result<(), CallError> {
        if self.state != State::Established {
            return Err(CallError::WrongState { state: self.state });
        }
        if self.paths.get(path).is_none() {
            return Err(CallError::UnknownPath(path));
        }
        self.paths.request_heartbeat(path);
        self.after_change(now);
        Ok(())
    }

    /// The path between these addresses, if there is one.
    pub fn path_between(&self, at: PathAddr) -> Option<PathId> {
        self.paths.by_addr(at)
    }

    /// The interface did not take an SCTP packet of `len` bytes that this end gave out for a path ("message
    /// too long"): with `Config::pmtu_discovery`, the PMTU is less from now on, and found out anew. Chunks
    /// that were cut already keep their size (RFC 9260 §6.9): their packets come with
    /// [`Transmit::may_fragment`](crate::Transmit). True if it was news.
    pub fn packet_refused(&mut self, now: Time, at: PathAddr, len: usize) -> bool {
        let Some(path) = self.paths.by_addr(at) else { return false };
        let size = u32::try_from(len).unwrap_or(u32::MAX).saturating_add(crate::path::ip_header(&at.remote));
        let news = self.paths.on_packet_refused(path, size, now);
        if news {
            self.after_change(now);
        }
        news
    }

    /// A Packet Too Big message says that of the packets this end sends on a path those of more than `mtu`
    /// bytes, IP header included, do not pass. `quoted`: the beginning of the SCTP packet that the message
    /// quotes. Believed within bounds, and only with `Config::pmtu_discovery`; the path is probed all the
    /// same (RFC 8899 §4.6, §6.2.1.4). True if it was news.
    ///
    /// # Errors
    ///
    /// There is no such path, or the quotation is none of a packet of ours: its ports and verification tag
    /// have to be there and right (RFC 8899 §4.6.1), and it changes nothing.
    pub fn packet_too_big(
        &mut self,
        now: Time,
        path: PathId,
        mtu: u32,
        quoted: &[u8],
    ) -> Result<bool, CallError> {
        if self.paths.get(path).is_none() {
            return Err(CallError::UnknownPath(path));
        }
        let tags = self.tags();
        let ours =
            [&tags.local_port.to_be_bytes()[..], &tags.peer_port.to_be_bytes(), &tags.peer_tag.to_be_bytes()];
        if !quoted.starts_with(&ours.concat()) || tags.peer_tag == 0 {
            return Err(CallError::NotQuoted);
        }
        let news = self.paths.on_packet_too_big(path, mtu, now);
        self.after_change(now);
        Ok(news)
    }

    /// Returns the association's loss classifier, if it has one ([`Config::loss_classifier`](crate::Config)).
    pub fn loss_classifier(&self) -> Option<&dyn LossClassifier> {
        self.outbound.loss_classifier()
    }

    /// As [`loss_classifier`](Self::loss_classifier), mutable: a simulator reports to its own classifier what it lost.
    pub fn loss_classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        self.outbound.loss_classifier_mut()
    }

    /// All paths as they are now, in the order in which they appeared.
    pub fn paths(&self) -> impl Iterator<Item = PathStats> {
        let primary = self.paths.primary();
        self.paths.iter().map(move |path| stats_of(path, Some(path.id()) == primary))
    }

    /// Counters since the beginning.
    pub fn stats(&self) -> AssociationStats {
        AssociationStats {
            error_count: self.paths.assoc_error_count(),
            verdicts: self.outbound.verdicts(),
            abandoned: self.outbound.abandoned(),
            ..self.stats
        }
    }
}

fn stats_of(path: &Path, primary: bool) -> PathStats {
    let window = path.controller.window();
    let estimate = path.estimate();
    PathStats {
        id: path.id(),
        at: path.addr(),
        state: path.state(),
        primary,
        cwnd: window.cwnd,
        ssthresh: window.ssthresh,
        flight_size: path.flight_size,
        partial_bytes_acked: window.partial_bytes_acked,
        srtt: path.rtt.srtt(),
        rttvar: path.rtt.rttvar(),
        rto: path.rtt.rto(),
        min_rtt: path.rtt.rtt_min(),
        pmtu: path.pmtu(),
        error_count: path.error_count(),
        available: estimate.map(|estimate| estimate.available),
        capacity: estimate.map(|estimate| estimate.capacity),
        packets_sent: path.packets_sent,
        bytes_sent: path.bytes_sent,
        packets_received: path.packets_received,
        bytes_received: path.bytes_received,
        chunks_retransmitted: path.flow.resent,
        chunks_lost: path.flow.lost,
        pacing_rate: path.controller.pacing_rate(),
        timeouts: path.timeouts.into(),
        fast_retransmits: path.fast_retransmits.into(),
        loss_probes: path.loss_probes.into(),
        spurious_timeouts: path.spurious_timeouts.into(),
        ld_recoveries: path.ld_recoveries.into(),
    }
}
