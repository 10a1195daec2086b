//! [`Batch`]: packets for one device that are due together, which one system call writes.

use std::net::IpAddr;

use msctp_tun::{LARGEST, Tun, Writes};
use msctp_units::Time;

/// Packets that one read or write passes at most: `gso_max_segs` of every device.
pub(crate) const SEGMENTS: usize = 64;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 768.
const UDP_HEADER: usize = 8;

/// Packets for one device, which are written together.
#[derive(Default)]
pub(crate) struct Batch {
    /// The interface of the packets.
    pub(crate) interface: usize,
    packets: Writes,
    bytes: usize,
    /// Of each packet: the time at which the model delivers it, and its bytes of user data.
    marks: Vec<(Time, usize)>,
}

impl Batch {
    /// Tells whether a packet may join: it continues the flow of the last one, and there is space.
    pub(crate) fn takes(&self, interface: usize, packet: &[u8]) -> bool {
        let Some(last) = self.packets.last() else { return true };
        interface == self.interface
            && self.marks.len() < SEGMENTS
            && self.bytes + packet.len() <= LARGEST
            && continues(last, packet)
    }

    /// Adds a packet, which the batch takes.
    pub(crate) fn push(&mut self, interface: usize, packet: &[u8], at: Time, payload: usize) {
        self.interface = interface;
        self.packets.push(packet);
        self.bytes += packet.len();
        self.marks.push((at, payload));
    }

    /// Writes the packets to a device. Returns the mark of each, and whether the device has taken them.
    pub(crate) fn write(&mut self, tun: &Tun) -> (bool, impl Iterator<Item = (Time, usize)>) {
        let taken = tun.write(&mut self.packets).is_ok();
        self.bytes = 0;
        (taken, self.marks.drain(..))
    }
}

/// A packet's flow, its TCP sequence number if it has one, and the place of its data.
type Place = ((u8, [IpAddr; 2], [u8; 4]), Option<u32>, usize);

/// Returns that of a TCP or UDP packet; `None` for others and fragments.
fn place(packet: &[u8]) -> Option<Place> {
    let (protocol, addresses, header): (_, [IpAddr; 2], _) = match packet.first()? >> 4 {
        4 => {
            // RFC 791 §3.1: the flag of more fragments, and the offset.
            if u16::from_be_bytes(*packet.get(6..)?.first_chunk()?) & 0x3fff != 0 {
                return None;
            }
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
            (*packet.get(9)?, [address(12)?, address(16)?], usize::from(packet[0] & 15) * 4)
        }
        6 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
            (*packet.get(6)?, [address(8)?, address(24)?], 40)
        }
        _ => return None,
    };
    let transport = packet.get(header..)?;
    let flow = (protocol, addresses, *transport.first_chunk()?);
    match protocol {
        TCP => Some((flow, Some(u32::from_be_bytes(*transport.get(4..)?.first_chunk()?)), header)),
        UDP => Some((flow, None, header + UDP_HEADER)),
        _ => None,
    }
}

/// Tells whether a packet may be written in one call with the one before. The call joins a flow's packets in
/// the order of their sequence numbers: a packet that a link reordered must go alone, or the call would put
/// it back in its place.
fn continues(before: &[u8], packet: &[u8]) -> bool {
    let (Some((flow, sequence, _)), Some((own_flow, own_sequence, data))) = (place(before), place(packet))
    else {
        return false;
    };
    flow == own_flow
        && match (sequence, own_sequence) {
            // RFC 9293 §3.4: modulo 2^32. A pure acknowledgment has the number of the data after it.
            (Some(before), Some(own)) => (own.wrapping_sub(before) as i32) > 0,
            _ => packet.len() <= before.len() && packet.len() > data,
        }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
