//! Deleted addresses of both ends (RFC 5061 §5.3): packets from or to them are out of the blue.

use core::net::IpAddr;

use msctp_units::{Span, Time};
use msctp_wire::{ChunkType, Packet};

use super::Association;
use crate::addr::PathAddr;
use crate::path::Path;
use crate::path::pairing::MAX_ADDRESSES;
use crate::rare::rare_state;

rare_state! {
    /// Deleted addresses: the last [`MAX_ADDRESSES`] of each end. An older one counts as never listed.
    pub(super) struct Departed {
        remotes: Vec<IpAddr> = Vec::new(),
        /// Local addresses, each with the time until which packets in flight to it are accepted.
        locals: Vec<(IpAddr, Time)> = Vec::new(),
    }
}

/// Returns the time for which packets in flight to a deleted local address are accepted: 2 RTO of its path.
///
/// The RTO is taken without back-off: a path that stopped answering has backed off up to RTO.Max, but its
/// last packets do not travel longer.
fn grace(path: &Path) -> Span {
    path.rto_without_back_off() * 2
}

fn keep_last<T>(list: &mut Vec<T>, item: T) {
    if list.len() == MAX_ADDRESSES {
        list.remove(0);
    }
    list.push(item);
}

impl Association {
    /// Records that the peer deleted this address, and drops the control chunks queued for it (F13).
    pub(super) fn note_departed_remote(&mut self, address: IpAddr) {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# It MUST NOT send SCTP packets for the association to that address
        self.control.forget(&address);
        let remotes = &mut self.readdressing.departed.remotes;
        remotes.retain(|known| *known != address);
        keep_last(remotes, address);
    }

    /// Returns whether the peer deleted this address, and has not added it again.
    pub(super) fn has_departed(&self, remote: &IpAddr) -> bool {
        self.readdressing.departed.remotes.contains(remote)
    }

    /// Records the local addresses whose last path was among the `removed` ones.
    pub(super) fn note_departed_locals(&mut self, now: Time, removed: &[Path]) {
        for path in removed {
            let address = path.addr().local;
            if self.paths.has_local(&address) {
                continue;
            }
            // Several remote addresses: the shortest of their times keeps the limit of RFC 5061 §5.3 for each
            // of them.
            let of_address = removed.iter().filter(|other| other.addr().local == address);
            let until = now + of_address.map(grace).min().unwrap_or(Span::ZERO);
            let locals = &mut self.readdressing.departed.locals;
            locals.retain(|(known, _)| *known != address);
            keep_last(locals, (address, until));
        }
    }

    /// Returns whether the source or destination of a packet with a valid tag was deleted and not added
    /// again.
    ///
    /// The caller drops it silently. RFC 9260 §8.4 (8) only recommends an ABORT, and a peer behind a NAT may
    /// still use the address that this end treats as deleted. Addresses that were never listed are accepted:
    /// a NAT may have changed them (RFC 5061 §5.3.2).
    #[cold]
    pub(super) fn is_departed(&self, now: Time, at: PathAddr, packet: &Packet<'_>) -> bool {
        let departed = &self.readdressing.departed;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# If the endpoint elects to hold the IP address valid for a period of time, it MUST NOT hold it
        //# valid longer than 2 RTO intervals for the destination being removed.
        let late = |(address, until): &(IpAddr, Time)| *address == at.local && now > *until;
        if departed.locals.iter().any(late) && !self.paths.has_local(&at.local) {
            return true;
        }
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# it MUST treat subsequent packets received from that address as Out Of The Blue.
        let deleted = departed.remotes.contains(&at.remote) && !self.paths.has_remote(&at.remote);
        // §5.3.2: a peer that moves back sends its ASCONF from the deleted address
        let first = || packet.chunks_past_auth().next_raw().and_then(|chunk| Some(chunk.ok()?.0));
        deleted && first() != Some(ChunkType::ASCONF)
    }
}
