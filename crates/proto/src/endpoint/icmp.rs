//! ICMP messages about packets (RFC 9260 §10, RFC 8899 §4.6.1): which association sent them.

use core::net::IpAddr;

use msctp_units::Time;

use super::{Endpoint, Handle};
use crate::addr::PathAddr;
use crate::association::Association;

impl Endpoint {
    /// Handles ICMP "port unreachable" from this address of the peer. Returns the association whose INIT it
    /// quotes, after ending its set-up or trying the next address ([`Association::port_unreachable`]).
    /// Ignores any other message (RFC 9260 §10 ICMP5, ICMP6).
    pub fn handle_port_unreachable(&mut self, now: Time, remote: IpAddr, quoted: &[u8]) -> Option<Handle> {
        let (slot, association) = self.quoted(remote, quoted)?;
        association.port_unreachable(now, remote, quoted).ok()?;
        self.mark_dirty(slot);
        Some(self.handle(slot))
    }

    /// Handles ICMP Packet Too Big about a packet between these addresses, which reports that packets of more
    /// than `mtu` bytes, IP header included, do not pass. Returns the association that sent the packet and
    /// whose PMTU or search for it changed ([`Association::packet_too_big`]). Ignores any other message
    /// (RFC 8899 §4.6.1). An unspecified local address stands for that of the first path to the peer's.
    pub fn handle_packet_too_big(
        &mut self,
        now: Time,
        at: PathAddr,
        mtu: u32,
        quoted: &[u8],
    ) -> Option<Handle> {
        let (slot, association) = self.quoted(at.remote, quoted)?;
        let path = match at.local.is_unspecified() {
            true => association.paths().find(|path| path.at.remote == at.remote)?.id,
            false => association.path_between(at)?,
        };
        let changed = association.packet_too_big(now, path, mtu, quoted).ok()?;
        self.mark_dirty(slot);
        changed.then(|| self.handle(slot))
    }

    /// Finds the association that sent a packet to this address of the peer, by the ports that an ICMP
    /// message quotes.
    fn quoted(&mut self, remote: IpAddr, quoted: &[u8]) -> Option<(u32, &mut Association)> {
        let header: &[u8; 4] = quoted.first_chunk()?;
        let local_port = u16::from_be_bytes([header[0], header[1]]);
        let peer_port = u16::from_be_bytes([header[2], header[3]]);
        let slot = self.demux.by_address(local_port, peer_port, remote)?;
        let entry = self.slots[slot as usize].entry.as_mut()?;
        Some((slot, &mut entry.association))
    }
}
