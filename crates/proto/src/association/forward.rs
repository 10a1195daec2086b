//! Partial reliability (RFC 3758): sends and receives FORWARD TSN, and reports abandoned messages. The two
//! halves of data transfer do the rest.

use msctp_units::Time;
use msctp_wire::ChunkType;

use super::Association;
use super::chunks::Seen;
use super::output::packet_room;
use crate::event::Event;
use crate::extensions::Extensions;
use crate::inbound::{DataFault, Inbound};
use crate::message::Transmit;
use crate::path::Path;
use crate::stats::AssociationState as State;
use crate::trace::{Direction, TraceKind};

impl Association {
    /// Reports abandoned messages.
    #[inline]
    pub(super) fn report_abandoned(&mut self) {
        if self.outbound.has_failures() {
            let failures = self.outbound.take_failures();
            self.events.extend(failures.into_iter().map(Event::SendFailed));
            self.notify_writable();
        }
    }

    /// Returns whether this end announced this chunk type, which [`take_agreed`](Self::take_agreed) handles.
    /// Any other is an unknown chunk (RFC 3758 §3.3.1: "MUST instead act as if it does NOT support the
    /// FORWARD TSN chunk"). The receiving half aborts on a type that the peer did not announce (RFC 8260
    /// §2.2.3, §2.3.1).
    pub(super) fn knows(&self, chunk: ChunkType) -> bool {
        let wanted = match chunk {
            ChunkType::FORWARD_TSN => Extensions::FORWARD_TSN,
            ChunkType::I_FORWARD_TSN => Extensions::I_FORWARD_TSN,
            ChunkType::RE_CONFIG => Extensions::RE_CONFIG,
            // Without ECN no packet is marked, so there is nothing to echo.
            ChunkType::ECNE | ChunkType::CWR => return self.speaks_ecn(),
            ChunkType::I_DATA => Extensions::I_DATA,
            ChunkType::STREAM_CREDIT | ChunkType::STREAM_BLOCKED => return self.uses_credit(),
            _ => return false,
        };
        self.config.extensions().has(wanted)
    }

    /// Returns whether user data is accepted in this state (RFC 9260 §6).
    #[inline]
    pub(super) fn takes_data(&self) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6
        //# DATA chunks MUST only be received according to the rules below in ESTABLISHED, SHUTDOWN-PENDING,
        //# and SHUTDOWN-SENT states.
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownSent)
    }

    /// Handles a FORWARD TSN or I-FORWARD-TSN: `handle` passes it to the receiving half. Returns false if
    /// that aborted the association.
    pub(super) fn take_forward(
        &mut self,
        now: Time,
        seen: &mut Seen,
        handle: impl FnOnce(&mut Inbound) -> Result<(), DataFault>,
    ) -> bool {
        if !self.takes_data() {
            self.faults.unexpected_chunks += 1;
            return true;
        }
        seen.data = true;
        if let Err(fault) = handle(&mut self.inbound) {
            let text = fault.to_string();
            self.violated(now, fault.cause(), "FORWARD TSN against what was agreed", text.as_bytes());
            return false;
        }
        self.report_partial_aborts();
        true
    }

    /// Reports partly delivered messages that will not be completed.
    pub(super) fn report_partial_aborts(&mut self) {
        while let Some(abort) = self.inbound.take_abort() {
            self.events.push(Event::PartialDeliveryAborted(abort));
        }
    }

    /// Sends a FORWARD TSN if one is due, with SACK and DATA for the same path (RFC 3758 §3.5 F2).
    pub(super) fn send_forward_tsn(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.may_send_data() {
            return None;
        }
        let path = self.outbound.forward_path(now, &mut self.paths)?;
        let entry = self.paths.get(path)?;
        let (at, room) = (entry.addr(), packet_room(entry));
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        let summary = self.outbound.encode_forward_tsn(now, &mut self.paths, &mut builder)?;
        if self.tracer.is_on() {
            let kind = TraceKind::Control {
                direction: Direction::Out,
                path: Some(path),
                chunk_type: summary.chunk_type,
                len: summary.len,
            };
            self.tracer.push(now, kind);
        }
        if self.sack_path() == Some(path) {
            self.push_sack(now, path, &mut builder);
        }
        if self.outbound.next_path(now, &mut self.paths) == Some(path) {
            self.fill_data(now, path, &mut builder);
        }
        debug_assert_eq!(self.paths.get(path).map(Path::addr), Some(at));
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }
}
