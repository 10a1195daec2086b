//! TUN devices with segmentation offload: a system call passes several packets.
//!
//! The kernel passes large TCP and UDP segments whole. [`Tun::read`] splits them into packets of the route's
//! MTU, with their checksums. [`Tun::write`] joins packets of a flow, as the receive offload of a network
//! card does.
#![cfg(target_os = "linux")]

use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use tun_rs::{DeviceBuilder, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

/// Bytes of the largest IP packet.
pub const LARGEST: usize = u16::MAX as usize;

/// A device of whole IP packets, which does not block.
pub struct Tun(SyncDevice);

/// Buffers of packets that were read: one packet, or the segments of a large one.
pub struct Reads {
    whole: Vec<u8>,
    packets: Vec<Vec<u8>>,
    lens: Vec<usize>,
    count: usize,
}

/// Packets that are written together.
#[derive(Default)]
pub struct Writes {
    /// Buffers, each with space for the kernel's header. The first `count` have packets.
    packets: Vec<Vec<u8>>,
    count: usize,
    table: GROTable,
}

impl Tun {
    /// Creates a device in this thread's network namespace, without addresses and down. It has segmentation
    /// offload if the kernel supports that. The kernel replaces `%d` in `name` by the next free number.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without `CAP_NET_ADMIN`, [`ErrorKind::NotFound`] without
    /// `/dev/net/tun`, and the kernel's other errors.
    pub fn create(name: &str) -> io::Result<Self> {
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

    /// Returns the device's name. Fails with the kernel's errors.
    pub fn name(&self) -> io::Result<String> {
        self.0.name()
    }

    /// Reads a packet, or the segments of a large one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if the kernel's packet cannot be split, [`ErrorKind::WouldBlock`] if there
    /// is none, and the kernel's other errors. `reads` then has no packets.
    pub fn read(&self, reads: &mut Reads) -> io::Result<()> {
        let Reads { whole, packets, lens, count } = reads;
        *count = 0;
        *count = self.0.recv_multiple(whole, packets, lens, 0).map_err(|error| {
            let kernels = error.raw_os_error().is_some() || error.kind() == ErrorKind::WouldBlock;
            if kernels { error } else { io::Error::new(ErrorKind::InvalidData, error) }
        })?;
        if self.0.tcp_gso() && *count == 1 {
            nonzero_udp_checksum(whole, &mut packets[0]);
        }
        Ok(())
    }

    /// Writes the packets, and empties `writes`.
    ///
    /// # Errors
    /// Those of the kernel, if it rejects a packet. It may have taken others.
    pub fn write(&self, writes: &mut Writes) -> io::Result<()> {
        let count = mem::take(&mut writes.count);
        match &mut writes.packets[..count] {
            [] => Ok(()),
            [one] if self.0.tcp_gso() => self.0.send(one).map(drop),
            [one] => self.0.send(&one[VIRTIO_NET_HDR_LEN..]).map(drop),
            several => self.0.send_multiple(&mut writes.table, several, VIRTIO_NET_HDR_LEN).map(drop),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Reads {
    /// Creates buffers for devices of at most `mtu` bytes, and for at most `segments` of a large packet.
    #[must_use]
    pub fn new(segments: usize, mtu: usize) -> Self {
        // Only the first takes packets that are not segments.
        let packets = (0..segments).map(|place| vec![0; if place == 0 { LARGEST } else { mtu }]).collect();
        Self { whole: vec![0; VIRTIO_NET_HDR_LEN + LARGEST], packets, lens: vec![0; segments], count: 0 }
    }

    /// Returns the packets of the last read.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.packets.iter().zip(&self.lens).take(self.count).map(|(packet, &len)| &packet[..len])
    }
}

impl Writes {
    /// Adds a packet, of at most [`LARGEST`] bytes.
    pub fn push(&mut self, packet: &[u8]) {
        if self.count == self.packets.len() {
            // Packets are joined in the first one's buffer if it has the capacity.
            self.packets.push(Vec::with_capacity(2 * VIRTIO_NET_HDR_LEN + LARGEST));
        }
        let buffer = &mut self.packets[self.count];
        buffer.clear();
        buffer.resize(VIRTIO_NET_HDR_LEN, 0);
        buffer.extend_from_slice(packet);
        self.count += 1;
    }

    /// Returns the packet that was added last.
    #[must_use]
    pub fn last(&self) -> Option<&[u8]> {
        self.packets[..self.count].last().map(|packet| &packet[VIRTIO_NET_HDR_LEN..])
    }
}

/// Replaces a computed UDP checksum of zero, which would mean that there is none (RFC 768; RFC 8200 §8.1).
/// `whole` begins with the virtio header of `packet`. The library does so for segments only.
fn nonzero_udp_checksum(whole: &[u8], packet: &mut [u8]) {
    // struct virtio_net_hdr: flags, gso_type, hdr_len, gso_size, csum_start, csum_offset.
    const NEEDS_CSUM: u8 = 1;
    let &[flags, gso_type, _, _, _, _, start_0, start_1, offset_0, offset_1, ..] = whole else { return };
    let (start, offset) = (u16::from_ne_bytes([start_0, start_1]), u16::from_ne_bytes([offset_0, offset_1]));
    if flags & NEEDS_CSUM == 0 || gso_type != 0 || offset != 6 {
        return;
    }
    let at = usize::from(start) + usize::from(offset);
    if let Some(checksum) = packet.get_mut(at..at + 2).filter(|checksum| *checksum == [0, 0]) {
        checksum.fill(0xff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computed_udp_checksum_is_not_zero() {
        let checksum = |flags, gso_type, offset: u16, before: [u8; 2]| {
            let (start, offset) = (20u16.to_ne_bytes(), offset.to_ne_bytes());
            let mut packet = [7; 38];
            packet[26..28].copy_from_slice(&before);
            nonzero_udp_checksum(&[[flags, gso_type], [0; 2], [0; 2], start, offset].concat(), &mut packet);
            [packet[26], packet[27]]
        };
        assert_eq!(checksum(1, 0, 6, [0, 0]), [0xff, 0xff]);
        assert_eq!(checksum(1, 0, 6, [0, 1]), [0, 1]);
        assert_eq!(checksum(0, 0, 6, [0, 0]), [0, 0], "the sender computes none");
        assert_eq!(checksum(1, 1, 6, [0, 0]), [0, 0], "a large packet: the library's business");
        assert_eq!(checksum(1, 0, 16, [0, 0]), [0, 0], "TCP");
        nonzero_udp_checksum(&[[1, 0], [0; 2], [0; 2], [0; 2], 6u16.to_ne_bytes()].concat(), &mut []);
    }
}
