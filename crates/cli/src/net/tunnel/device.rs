//! [`Device`]: a TUN device. iproute2 sets its addresses and routes; the kernel removes them with it.

use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use ipnet::IpNet;
use msctp_emu::nonzero_udp_checksum;
use tokio::io::unix::AsyncFd;
use tun_rs::{DeviceBuilder, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

use super::MTU;
use crate::Failure;
use crate::system::os_error;

/// Bytes of the largest packet, plus the kernel's header.
const LARGEST: usize = VIRTIO_NET_HDR_LEN + (1 << 16);

/// Capacity in bytes at which the library joins packets in a buffer.
const JOINED: usize = VIRTIO_NET_HDR_LEN + LARGEST;

/// Maximum number of segments of a large packet. TCP reaches it only with an MSS below 128 bytes.
const SEGMENTS: usize = 512;

/// Maximum number of packets in one write.
pub(super) const BATCH: usize = 128;

pub(super) struct Device {
    device: AsyncFd<SyncDevice>,
    name: String,
    writes: Mutex<Writes>,
}

/// Buffers of packets to write. In a batch, consecutive segments of a TCP connection become one packet.
#[derive(Default)]
struct Writes {
    packets: Vec<Vec<u8>>,
    table: GROTable,
}

/// Buffers of packets that were read: one packet, or the segments of a large one.
pub(super) struct Reads {
    whole: Vec<u8>,
    packets: Vec<Vec<u8>>,
    lens: Vec<usize>,
    count: usize,
}

impl Reads {
    pub(super) fn new() -> Self {
        // Only the first takes packets that are not segments.
        let len = |place| if place == 0 { LARGEST } else { usize::from(MTU) };
        let packets = (0..SEGMENTS).map(|place| vec![0; len(place)]).collect();
        Self { whole: vec![0; LARGEST], packets, lens: vec![0; SEGMENTS], count: 0 }
    }

    /// Returns the packets of the last read.
    pub(super) fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.packets.iter().zip(&self.lens).take(self.count).filter_map(|(packet, &len)| packet.get(..len))
    }
}

impl Device {
    /// Creates the tunnel device, without addresses.
    pub(super) fn create() -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => "; run it as root, or with the capability CAP_NET_ADMIN",
                ErrorKind::NotFound => {
                    "; load the module (modprobe tun), or pass /dev/net/tun into the container"
                }
                _ => "",
            };
            Failure::Run(format!("cannot make a TUN device: {}{remedy}", os_error(&error)))
        };
        // The kernel replaces %d by the next free number.
        let build = |offload| {
            let builder = DeviceBuilder::new().name("msctp%d").enable(false);
            let builder = builder.with(|options| {
                options.offload(offload);
            });
            builder.build_sync()
        };
        // Not every system that has TUN devices offloads segmentation to them.
        let device = build(true).or_else(|_| build(false)).map_err(failed)?;
        device.set_nonblocking(true).map_err(failed)?;
        let name = device.name().map_err(failed)?;
        #[expect(deprecated, reason = "its successor is unsafe; this device keeps its descriptor to the end")]
        let device = AsyncFd::new(device).map_err(failed)?;
        Ok(Self { device, name, writes: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Routes networks through the device, which must be up. Fails if another device has such a route: a
    /// second tunnel would take it from the first, and remove it at its end.
    pub(super) fn add_routes(&self, routes: &[IpNet]) -> Result<(), Failure> {
        let name = &self.name;
        let lines: String = routes.iter().map(|route| format!("route add {route} dev {name}\n")).collect();
        self.batch(&lines).map_err(|failure| match failure {
            Failure::Run(why) if why.contains("File exists") => Failure::Run(format!(
                "{why}; end the other tunnel or VPN, or give other networks with --route"
            )),
            failure => failure,
        })
    }

    /// Replaces the addresses `before` with new ones.
    pub(super) fn configure(&self, addresses: &[IpNet], before: &[IpNet]) -> Result<(), Failure> {
        let name = &self.name;
        let mut lines = format!("link set {name} mtu {MTU} up\n");
        for address in addresses {
            // No other host is on this link, so duplicate address detection is not needed.
            let nodad = if address.addr().is_ipv6() { " nodad" } else { "" };
            lines += &format!("address replace {address} dev {name}{nodad}\n");
        }
        // Last: the kernel deletes the routes of a device without addresses.
        for old in before.iter().filter(|old| !addresses.contains(old)) {
            lines += &format!("address del {old} dev {name}\n");
        }
        self.batch(&lines)
    }

    /// Runs commands of `ip`, one per line.
    fn batch(&self, lines: &str) -> Result<(), Failure> {
        let name = &self.name;
        let failed = |why: &str| Failure::Run(format!("cannot configure {name} with `ip -batch`: {why}"));
        let started = Command::new("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut ip = started.map_err(|error| failed(&format!("{}; install iproute2", os_error(&error))))?;
        if let Some(mut input) = ip.stdin.take() {
            // If it has ended, its own error says why.
            let _ = input.write_all(lines.as_bytes());
        }
        let output = ip.wait_with_output().map_err(|error| failed(&os_error(&error)))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// Reads a packet, or the segments of a large one. Drops a packet that cannot be split.
    pub(super) async fn read(&self, reads: &mut Reads) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::Run(format!("{}: {}", self.name, os_error(&error)));
        loop {
            let mut ready = self.device.readable().await.map_err(failed)?;
            let Reads { whole, packets, lens, .. } = reads;
            let read = ready.try_io(|device| {
                let device = device.get_ref();
                let count = match device.recv_multiple(whole, packets, lens, 0) {
                    Err(error) if error.raw_os_error().is_none() && error.kind() != ErrorKind::WouldBlock => {
                        0
                    }
                    read => read?,
                };
                if device.tcp_gso()
                    && count == 1
                    && let Some((header, packet)) = whole.split_first_chunk().zip(packets.first_mut())
                {
                    nonzero_udp_checksum(header.0, packet);
                }
                Ok(count)
            });
            if let Ok(count) = read {
                reads.count = count.map_err(failed)?;
                break;
            }
        }
        if reads.count > 1 {
            // A sender of large packets must not keep the association from sending them.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Writes packets. Drops those that the kernel rejects, as a router does.
    pub(super) fn write(&self, packets: &[Bytes]) {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let Writes { packets: buffers, table } = &mut *writes;
        // Packets are joined in the first one's buffer if it has the capacity.
        buffers.resize_with(buffers.len().max(packets.len()), || Vec::with_capacity(JOINED));
        for (buffer, packet) in buffers.iter_mut().zip(packets) {
            buffer.clear();
            buffer.resize(VIRTIO_NET_HDR_LEN, 0);
            buffer.extend_from_slice(packet);
        }
        let _ = self.device.get_ref().send_multiple(table, &mut buffers[..packets.len()], VIRTIO_NET_HDR_LEN);
    }
}
