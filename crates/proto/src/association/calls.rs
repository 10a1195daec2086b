//! Calls of the application to send and to read statistics.

use std::collections::BTreeSet;

use msctp_congestion::classifier::LossClassifier;
use msctp_units::{Span, Time};

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::call_error::CallError;
use crate::error::SendError;
use crate::message::{OutMessage, is_key_management};
use crate::path::Path;
use crate::stats::{AssociationState as State, AssociationStats, PathStats};

impl Association {
    /// Queues a message to send (RFC 9260 §11.1.5). May be called before the association is up.
    ///
    /// # Errors
    ///
    /// An empty message, an invalid stream, a full buffer, missing keys, or an association that is closing.
    pub fn send(&mut self, now: Time, message: OutMessage) -> Result<(), SendError> {
        self.queue(now, message, 0)
    }

    /// Queues a message as [`send`](Self::send) does, for a sender that can wait: it leaves an eighth of the
    /// send buffer to those that cannot, such as live media beside a file, unless the message is larger than
    /// the rest.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_patiently(&mut self, now: Time, message: OutMessage) -> Result<(), SendError> {
        self.queue(now, message, self.outbound.reserve())
    }

    /// Queues a message if so many bytes of the send buffer stay free.
    #[inline(always)]
    fn queue(&mut self, now: Time, message: OutMessage, reserve: u64) -> Result<(), SendError> {
        self.check_open()?;
        if is_key_management(message.stream, message.unordered, message.ppid) && self.has_external_keys() {
            return Err(SendError::KeyManagement);
        }
        if self.awaits_keys() {
            return Err(SendError::NoKeys);
        }
        let result = self.outbound.enqueue_leaving(now, message, reserve, &mut self.paths);
        if result.is_err() && self.outbound.credit_timeout().is_some() {
            // The timer of a question for a limit may have begun.
            self.output.upkeep_due = true;
        }
        self.after_enqueue();
        result
    }

    /// Returns an error if the association takes no messages.
    pub(super) fn check_open(&self) -> Result<(), SendError> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
        //# the SHUTDOWN chunk receiver MUST NOT accept new data from its SCTP user.
        // RFC 9260 §9.2: SHOULD reject any new data request once the shutdown began
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# In the SHUTDOWN-RECEIVED state, the endpoint MUST NOT accept any new send requests from its SCTP
        //# user.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# In the SHUTDOWN-ACK-SENT state, the endpoint MUST NOT accept any new send requests from its SCTP
        //# user.
        if self.is_open() && !self.closing.is_wanted() { Ok(()) } else { Err(SendError::Closed) }
    }

    /// Returns whether the state allows new messages.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::CookieWait | State::CookieEchoed | State::Established)
    }

    /// Handles the effects of a new message in the send buffer.
    pub(super) fn after_enqueue(&mut self) {
        if self.paths.is_pmtu_of_use(self.outbound.unsent()) {
            self.output.upkeep_due = true;
        }
        self.report_abandoned();
    }

    /// Returns the bytes of messages in the send buffer: queued, or not cumulatively acknowledged.
    /// `Config::send_buffer` is the limit; small messages reach it sooner.
    pub fn buffered(&self) -> u64 {
        self.outbound.buffered()
    }

    /// Requests an immediate SACK of the last message that is not sent yet (RFC 7053 §5.1), for an
    /// application that waits for its acknowledgement. RFC 9260 §6.2 delays that of a single packet.
    pub fn expedite(&mut self) {
        self.outbound.expedite();
    }

    /// Returns the bytes of queued messages that were not sent completely.
    pub fn unsent(&self) -> u64 {
        self.outbound.unsent()
    }

    /// Returns the number of queued messages on this stream that were not sent completely. A reset of an
    /// outgoing stream ([`StreamRequest::ResetOutgoing`](crate::StreamRequest)) follows the sent messages:
    /// queued ones are sent after it.
    pub fn unsent_on(&self, stream: u16) -> usize {
        self.outbound.unsent_on(stream)
    }

    /// Returns those of these streams of whose first message since their last reset a part is queued or not
    /// acknowledged: the peer may not know that they are in use.
    pub fn undelivered(&self, mut streams: BTreeSet<u16>) -> BTreeSet<u16> {
        self.outbound.retain_undelivered(&mut streams);
        streams
    }

    /// Sends a HEARTBEAT on this path now, even if it is not idle (RFC 9260 §8.3 D, §11.1.8). The HEARTBEAT
    /// is deferred while the path's link is down.
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

    /// Turns the heartbeats of a confirmed path on or off (RFC 9260 §8.3 A and C, §11.1.9). Default: on. The
    /// verification of a path continues in either case.
    ///
    /// # Errors
    ///
    /// There is no such path.
    pub fn enable_heartbeats(&mut self, now: Time, path: PathId, enabled: bool) -> Result<(), CallError> {
        if self.paths.get(path).is_none() {
            return Err(CallError::UnknownPath(path));
        }
        self.paths.enable_heartbeats(path, enabled, now);
        self.after_change(now);
        Ok(())
    }

    /// Sets HB.interval of all paths (RFC 9260 §8.3 B, §11.1.9): the time between heartbeats on an idle path,
    /// beyond its RTO. [`Span::ZERO`] disables the heartbeats of confirmed paths. Default:
    /// [`Config::hb_interval`](crate::Config::hb_interval).
    pub fn set_hb_interval(&mut self, now: Time, interval: Span) {
        self.paths.set_hb_interval(interval, now);
        self.after_change(now);
    }

    /// Returns the path between these addresses, if there is one.
    pub fn path_between(&self, at: PathAddr) -> Option<PathId> {
        self.paths.by_addr(at)
    }

    /// Handles the interface's rejection of a packet of `len` bytes ("message too long"). With
    /// [`Pmtu::UpTo`](crate::Pmtu::UpTo) the PMTU decreases and is probed again. Returns whether it changed.
    /// Existing chunks keep their size (RFC 9260 §6.9): their packets have
    /// [`Transmit::may_fragment`](crate::Transmit).
    pub fn packet_refused(&mut self, now: Time, at: PathAddr, len: usize) -> bool {
        let Some(path) = self.paths.by_addr(at) else { return false };
        let size = u32::try_from(len).unwrap_or(u32::MAX).saturating_add(crate::path::ip_header(&at.remote));
        let news = self.paths.on_packet_refused(path, size, now);
        if news {
            self.after_change(now);
        }
        news
    }

    /// Handles an ICMP Packet Too Big: packets of more than `mtu` bytes, IP header included, do not pass.
    /// `quoted` is the beginning of the quoted SCTP packet. Returns whether the PMTU changed. ¶ The message
    /// has an effect only with [`Pmtu::UpTo`](crate::Pmtu::UpTo) and within its bounds. Probes verify it
    /// (RFC 8899 §4.6, §6.2.1.4).
    ///
    /// # Errors
    ///
    /// There is no such path, or the ports and verification tag of the quotation are not those of this
    /// association (RFC 8899 §4.6.1): no effect.
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

    /// Returns the loss classifier, mutable. A simulator reports the causes of its losses to its own
    /// classifier.
    pub fn loss_classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        self.outbound.loss_classifier_mut()
    }

    /// Returns all paths in the order of their creation.
    pub fn paths(&self) -> impl Iterator<Item = PathStats> {
        let primary = self.paths.primary();
        self.paths.iter().map(move |path| PathStats {
            udp_port: self.udp_port(path.addr()),
            ..stats_of(path, Some(path.id()) == primary)
        })
    }

    /// Returns the counters since the association began.
    pub fn stats(&self) -> AssociationStats {
        let (traffic, faults) = (&self.stats, &*self.faults);
        AssociationStats {
            packets_sent: traffic.packets_sent,
            packets_received: traffic.packets_received,
            data_chunks_sent: traffic.data_chunks_sent,
            data_chunks_retransmitted: traffic.data_chunks_retransmitted,
            data_chunks_copied: traffic.data_chunks_copied,
            data_chunks_received: traffic.data_chunks_received,
            duplicate_tsns_received: traffic.duplicate_tsns_received,
            sacks_sent: traffic.sacks_sent,
            sacks_received: traffic.sacks_received,
            bytes_acked: traffic.bytes_acked,
            bytes_delivered: traffic.bytes_delivered,
            malformed_packets: faults.malformed_packets,
            wrong_tag_packets: faults.wrong_tag_packets,
            replies_withheld: faults.replies_withheld,
            chunks_held_off: faults.chunks_held_off,
            malformed_chunks: faults.malformed_chunks,
            unexpected_chunks: faults.unexpected_chunks,
            unauthenticated_chunks: faults.unauthenticated_chunks,
            unprotected_packets: faults.unprotected_packets,
            undecryptable_packets: faults.undecryptable_packets,
            unknown_chunks: faults.unknown_chunks,
            abandoned: self.outbound.abandoned(),
            verdicts: self.outbound.verdicts(),
            error_count: self.paths.assoc_error_count(),
        }
    }
}

fn stats_of(path: &Path, primary: bool) -> PathStats {
    let window = path.controller.window();
    let estimate = path.estimate();
    PathStats {
        id: path.id(),
        at: path.addr(),
        udp_port: None,
        state: path.state(),
        primary,
        cost: path.cost(),
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
