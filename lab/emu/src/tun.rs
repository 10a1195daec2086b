//! [`Tun`]: a host's device. With segmentation offload a system call passes several packets; links still see
//! single ones.
//!
//! The kernel passes TCP's and UDP's large segments whole. [`Tun::read`] splits them into packets of the
//! route's MTU, with their checksums. [`Batch`] joins neighbouring packets of a flow that are due together,
//! as the receive offload of a network card does.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use msctp_units::Time;
use tun_rs::{DeviceBuilder, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

/// Packets that one read passes at most: `gso_max_segs` of every device.
pub(crate) const SEGMENTS: usize = 64;

/// The largest IP packet.
const LARGEST: usize = u16::MAX as usize;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 768.
const UDP_HEADER: usize = 8;

/// A device of whole IP packets, which does not block.
pub(crate) struct Tun(SyncDevice);

/// The packets of one read.
pub(crate) struct Reads {
    whole: Vec<u8>,
    packets: Vec<Vec<u8>>,
    lens: Vec<usize>,
    count: usize,
}

impl Tun {
    /// Creates a device in this thread's namespace, with segmentation offload where the kernel has it.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let build = |offload| {
            let builder = DeviceBuilder::new().name(name).enable(false);
            let builder = builder.with(|options| {
                options.offload(offload);
            });
            builder.build_sync()
        };
        let device = build(true).or_else(|_| build(false))?;
        device.set_nonblocking(true)?;
        Ok(Self(device))
    }

    /// Reads a packet, or the segments of a large one. Fails with [`ErrorKind::InvalidData`] if the kernel's
    /// packet cannot be split, and with other errors if there is none.
    pub(crate) fn read(&self, reads: &mut Reads) -> io::Result<()> {
        let Reads { whole, packets, lens, count } = reads;
        *count = 0;
        match self.0.recv_multiple(whole, packets, lens, 0) {
            Ok(number) => *count = number,
            Err(error) if error.raw_os_error().is_none() && error.kind() != ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            Err(error) => return Err(error),
        }
        if self.0.tcp_gso()
            && *count == 1
            && let Some((header, packet)) = whole.split_first_chunk().zip(packets.first_mut())
        {
            nonzero_udp_checksum(header.0, packet);
        }
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Replaces a computed UDP checksum of zero, which would mean that there is none (RFC 768; RFC 8200 §8.1).
/// `header` is the virtio header that the device read before `packet`. The library does so for segments
/// only.
pub fn nonzero_udp_checksum(header: &[u8; VIRTIO_NET_HDR_LEN], packet: &mut [u8]) {
    // struct virtio_net_hdr: flags, gso_type, hdr_len, gso_size, csum_start, csum_offset.
    const NEEDS_CSUM: u8 = 1;
    let &[flags, gso_type, _, _, _, _, start_0, start_1, offset_0, offset_1] = header;
    let (start, offset) = (u16::from_ne_bytes([start_0, start_1]), u16::from_ne_bytes([offset_0, offset_1]));
    if flags & NEEDS_CSUM == 0 || gso_type != 0 || offset != 6 {
        return;
    }
    let at = usize::from(start) + usize::from(offset);
    if let Some(checksum) = packet.get_mut(at..at + 2).filter(|checksum| *checksum == [0, 0]) {
        checksum.fill(0xff);
    }
}

impl Reads {
    /// Creates buffers for devices of at most this MTU.
    pub(crate) fn new(mtu: usize) -> Self {
        // Only the first takes packets that are not segments.
        let packets = (0..SEGMENTS).map(|place| vec![0; if place == 0 { LARGEST } else { mtu }]);
        Self {
            whole: vec![0; VIRTIO_NET_HDR_LEN + LARGEST],
            packets: packets.collect(),
            lens: vec![0; SEGMENTS],
            count: 0,
        }
    }

    /// Returns the packets of the last read.
    pub(crate) fn packets(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.packets.iter().zip(&self.lens).take(self.count).map(|(packet, &len)| &packet[..len])
    }
}

/// Packets for one device, which are written together.
pub(crate) struct Batch {
    interface: usize,
    /// Each with space for the header of the device.
    packets: Vec<Vec<u8>>,
    bytes: usize,
    /// Of each packet: the time at which the model delivers it, and its bytes of user data.
    marks: Vec<(Time, usize)>,
    table: GROTable,
}

impl Batch {
    pub(crate) fn new() -> Self {
        // Packets are joined in the first one's buffer if it has the capacity.
        let buffer = || Vec::with_capacity(2 * VIRTIO_NET_HDR_LEN + LARGEST);
        let packets = std::iter::repeat_with(buffer).take(SEGMENTS).collect();
        Self { interface: 0, packets, bytes: 0, marks: Vec::new(), table: GROTable::new() }
    }

    /// Returns the interface of the packets.
    pub(crate) fn interface(&self) -> usize {
        self.interface
    }

    /// Tells whether a packet may join: it continues the flow of the last one, and there is space.
    pub(crate) fn takes(&self, interface: usize, packet: &[u8]) -> bool {
        let Some(last) = self.marks.len().checked_sub(1) else { return true };
        let last = &self.packets[last][VIRTIO_NET_HDR_LEN..];
        interface == self.interface
            && self.marks.len() < SEGMENTS
            && self.bytes + packet.len() <= LARGEST
            && continues(last, packet)
    }

    /// Adds a packet, which the batch takes.
    pub(crate) fn push(&mut self, interface: usize, packet: &[u8], at: Time, payload: usize) {
        self.interface = interface;
        let buffer = &mut self.packets[self.marks.len()];
        buffer.clear();
        buffer.resize(VIRTIO_NET_HDR_LEN, 0);
        buffer.extend_from_slice(packet);
        self.bytes += packet.len();
        self.marks.push((at, payload));
    }

    /// Writes the packets to a device. Returns the mark of each, and whether the device has taken them.
    pub(crate) fn write(&mut self, tun: &Tun) -> (bool, impl Iterator<Item = (Time, usize)>) {
        let packets = &mut self.packets[..self.marks.len()];
        let taken = match packets {
            [] => true,
            [one] => {
                let header = if tun.0.tcp_gso() { 0 } else { VIRTIO_NET_HDR_LEN };
                tun.0.send(&one[header..]).is_ok()
            }
            several => tun.0.send_multiple(&mut self.table, several, VIRTIO_NET_HDR_LEN).is_ok(),
        };
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
#[path = "tun_tests.rs"]
mod tests;
