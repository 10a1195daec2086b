//! Packets that belong to no association (RFC 9260 §8.4).

use msctp_units::Time;
use msctp_wire::{Abort, Cause, Causes, Checksum, Chunk, ChunkType, Packet, ShutdownComplete};

use super::{DatagramOutcome, Endpoint, IgnoreReason};
use crate::addr::PathAddr;
use crate::path::pairing::is_endpoint;

/// The answer to a packet according to RFC 9260 §8.4, from its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No answer (rules 2, 6, 7).
    Silent,
    /// Rule 5.
    ShutdownAck,
    /// Rule 8.
    Other,
}

/// Applies the rules in order.
fn kind(packet: &Packet<'_>) -> Kind {
    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
    //# The out of the blue handling MUST be based on the packet without taking the AUTH chunk into account.
    let has = |wanted: ChunkType| {
        let mut chunks = packet.chunks();
        core::iter::from_fn(move || chunks.next_raw()?.ok()).any(|(typ, _)| typ == wanted)
    };
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
    //# an endpoint that receives an ABORT chunk MUST NOT respond to that ABORT chunk by sending an ABORT
    //# chunk
    //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
    //# If the OOTB packet contains an ABORT chunk, the receiver MUST silently discard the OOTB packet and
    //# take no further action.
    if has(ChunkType::ABORT) {
        Kind::Silent
    } else if has(ChunkType::SHUTDOWN_ACK) {
        Kind::ShutdownAck
    } else if has(ChunkType::SHUTDOWN_COMPLETE) || has(ChunkType::COOKIE_ACK) || reports_stale_cookie(packet)
    {
        Kind::Silent
    } else {
        Kind::Other
    }
}

fn reports_stale_cookie(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|chunk| {
        matches!(chunk, Chunk::Error(error)
            if error.causes.iter().flatten().any(|cause| matches!(cause, Cause::StaleCookie(_))))
    })
}

impl Endpoint {
    /// Handles a packet without an association.
    pub(super) fn take_stray(&mut self, now: Time, at: PathAddr, bytes: &mut [u8]) -> DatagramOutcome {
        let checksum = if self.config.checksum_offload { Checksum::Skip } else { Checksum::Verify };
        let packet = match Packet::parse_mut(bytes, checksum) {
            Ok(packet) => packet,
            Err(error) => return DatagramOutcome::Ignored(IgnoreReason::Malformed(error)),
        };
        // Rule 1
        if !is_endpoint(&at.remote) || !is_endpoint(&at.local) {
            return DatagramOutcome::Ignored(IgnoreReason::NotUnicast);
        }
        let ports = (packet.header.dst_port, packet.header.src_port);
        let tag = packet.header.verification_tag.get();
        if tag == 0 {
            // Rule 3; §8.5.1 A: tag 0 is for an INIT alone
            return match packet.chunks().next() {
                Some(Ok(Chunk::Init(init))) if packet.check_bundling().is_ok() => {
                    self.on_init(now, at, &packet, &init)
                }
                //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
                //# it SHOULD verify that the packet contains only an INIT chunk. Otherwise, the receiver MUST
                //# silently discard the packet.
                _ => DatagramOutcome::Ignored(IgnoreReason::ZeroTag),
            };
        }
        let kind = kind(&packet);
        if kind != Kind::Silent
            && let Some(Ok(Chunk::CookieEcho(echo))) = packet.chunks_past_auth().next()
        {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
            //# If the packet contains a COOKIE ECHO chunk as the first chunk, it MUST be processed as
            //# described in Section 5.1.
            // Rule 4
            return self.on_cookie_echo(now, at, &packet, echo.cookie);
        }
        match kind {
            // Its owner may say that it knows no such association, if the address was listed and never
            // confirmed.
            Kind::Silent => match self.demux.by_listed(ports.0, ports.1, at.remote) {
                Some(slot) => self.give(now, at, &packet, slot, None),
                None => DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue),
            },
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
            //# When sending the SHUTDOWN COMPLETE chunk, the receiver of the OOTB packet MUST fill in the
            //# Verification Tag field of the outbound packet with the Verification Tag received in the
            //# SHUTDOWN ACK chunk and set the T bit
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# and MUST set the T bit.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.13
            //# If the Verification Tag is reflected, the T bit MUST be set to 1.
            Kind::ShutdownAck => self.reply(now, at, ports, tag, &ShutdownComplete { tag_reflected: true }),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
            //# When sending the ABORT chunk, the receiver of the OOTB packet MUST fill in the Verification
            //# Tag field of the outbound packet with the value found in the Verification Tag field of the
            //# OOTB packet and set the T bit
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# the endpoint MUST follow the procedure described in Section 8.4.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
            //# If the Verification Tag is reflected, the T bit MUST be set to 1.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
            //# After sending this ABORT chunk, the receiver of the OOTB packet MUST discard the OOTB packet
            //# and MUST NOT take any further action.
            Kind::Other => {
                self.reply(now, at, ports, tag, &Abort { tag_reflected: true, causes: Causes::EMPTY })
            }
        }
    }
}
