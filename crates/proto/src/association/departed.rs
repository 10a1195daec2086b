//! Addresses that are no longer part of the association (RFC 5061 §5.3): those that the peer deleted, and our own.
//! Knows nothing of how they were deleted.

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::{ChunkType, Packet};

use super::Association;
use crate::PathAddr;
use crate::path::Path;
use crate::path::pairing::MAX_ADDRESSES;
use crate::rare::Untouched;

/// Addresses of both ends that were deleted: the last [`MAX_ADDRESSES`] of each end. An older one is as good as unknown.
#[derive(Debug, Default)]
pub(super) struct Departed {
    remotes: Vec<IpAddr>,
    /// With the time until which packets that were on their way are taken.
    locals: Vec<(IpAddr, Time)>,
}

impl Untouched for Departed {
    const UNTOUCHED: &'static Self = &Self { remotes: Vec::new(), locals: Vec::new() };
}

fn keep_last<T>(list: &mut Vec<T>, item: T) {
    if list.len() == MAX_ADDRESSES {
        list.remove(0);
    }
    list.push(item);
}

impl Association {
    /// The peer deleted this address: nothing goes there any more, not even what waits (F13).
    pub(super) fn note_departed_remote(&mut self, address: IpAddr) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# It MUST NOT send SCTP packets for the association to that address
        self.control.forget(&address);
        let remotes = &mut self.readdressing.departed.remotes;
        remotes.retain(|known| *known != address);
        keep_last(remotes, address);
    }

    /// These paths went away: with the last one of an address of ours, that address. Packets on their way are taken for 2 RTO.
    pub(super) fn note_departed_locals(&mut self, now: Time, removed: &[Path]) {
        for path in removed {
            let address = path.addr().local;
            if !self.paths.has_local(&address) {
                let locals = &mut self.readdressing.departed.locals;
                locals.retain(|(known, _)| *known != address);
                keep_last(locals, (address, now + path.rtt.rto() * 2));
            }
        }
    }

    /// A packet with a valid tag came from or to an address that was deleted and not added again. An address that was never
    /// listed is taken: a translator may have changed it (RFC 5061 §5.3.2 finds the association by other means).
    ///
    /// Such packets are dropped silently. RFC 9260 §8.4 (8) only recommends an ABORT, and a peer behind a translator may still
    /// use the address that this end calls deleted.
    #[cold]
    pub(super) fn is_departed(&self, now: Time, at: PathAddr, packet: &Packet<'_>) -> bool {
        let departed = &self.readdressing.departed;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# If the endpoint elects to hold the IP address valid for a period of time, it MUST NOT hold it valid
        //# longer than 2 RTO intervals for the destination being removed.
        let late = |(address, until): &(IpAddr, Time)| *address == at.local && now > *until;
        if departed.locals.iter().any(late) && !self.paths.has_local(&at.local) {
            return true;
        }
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# it MUST treat subsequent packets received from that address as Out Of The Blue.
        let deleted = departed.remotes.contains(&at.remote) && !self.paths.has_remote(&at.remote);
        // §5.3.2: a peer that moves back asks from there, and its request names the association
        let first = || packet.chunks_past_auth().next_raw().and_then(|chunk| Some(chunk.ok()?.0));
        deleted && first() != Some(ChunkType::ASCONF)
    }
}
