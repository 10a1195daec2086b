//! [`Device`]: a TUN device. iproute2 sets its addresses and routes; the kernel removes them with it.

use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ipnet::IpNet;
use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use msctp_tun::{Reads, Tun, Writes};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::MTU;

/// Maximum number of segments of a large packet. TCP reaches it only with an MSS below 128 bytes.
const SEGMENTS: usize = 512;

/// Maximum number of packets in one write.
pub(super) const BATCH: usize = 128;

/// Prefix of the devices' names. No association of a tunnel uses such an interface, of whichever process:
/// its own packets must not enter a tunnel.
pub(super) const PREFIX: &str = "msctp";

pub(super) struct Device {
    device: AsyncFd<Tun>,
    name: String,
    writes: Mutex<Writes>,
    setup: Mutex<Setup>,
}

/// The addresses and routes that the device was given.
#[derive(Default)]
struct Setup {
    addresses: Vec<IpNet>,
    routes: Vec<IpNet>,
}

/// Returns buffers for packets of the device.
pub(super) fn reads() -> Reads {
    Reads::new(SEGMENTS, usize::from(MTU))
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
        let device = Tun::create(&format!("{PREFIX}%d")).map_err(failed)?;
        let name = device.name().map_err(failed)?;
        #[expect(deprecated, reason = "its successor is unsafe; this device keeps its descriptor to the end")]
        let device = AsyncFd::with_interest(device, Interest::READABLE).map_err(failed)?;
        Ok(Self { device, name, writes: Mutex::default(), setup: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn setup(&self) -> MutexGuard<'_, Setup> {
        self.setup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Routes further networks through the device, which must be up. Fails if another device has such a
    /// route: a second tunnel would take it from the first, and remove it at its end.
    pub(super) fn add_routes(&self, routes: &[IpNet]) -> Result<(), Failure> {
        let (name, mut setup) = (&self.name, self.setup());
        for route in routes {
            if setup.routes.contains(route) {
                continue;
            }
            self.batch(&format!("route add {route} dev {name}\n")).map_err(|failure| match failure {
                Failure::Run(why) if why.contains("File exists") => Failure::Run(format!(
                    "{why}; end the other tunnel or VPN, or give other networks with --route"
                )),
                failure => failure,
            })?;
            setup.routes.push(*route);
        }
        Ok(())
    }

    /// Sets the addresses. Each replaces the earlier one of its family. The routes stay: without an IPv4
    /// address the device would lose its IPv4 routes, so a family without a new address keeps its old one.
    pub(super) fn configure(&self, addresses: &[IpNet]) -> Result<(), Failure> {
        let (name, mut setup) = (&self.name, self.setup());
        let mut lines = format!("link set {name} mtu {MTU} up\n");
        for address in addresses {
            // No other host is on this link, so duplicate address detection is not needed.
            let nodad = if address.addr().is_ipv6() { " nodad" } else { "" };
            lines += &format!("address replace {address} dev {name}{nodad}\n");
        }
        // Somebody else may have removed one.
        for route in &setup.routes {
            lines += &format!("route replace {route} dev {name}\n");
        }
        let old = setup.addresses.clone();
        setup.addresses.extend(addresses.iter().filter(|address| !old.contains(address)));
        self.batch(&lines)?;
        let is_replaced = |old: &IpNet| {
            let family = |new: &IpNet| new.addr().is_ipv4() == old.addr().is_ipv4();
            addresses.iter().any(family) && !addresses.contains(old)
        };
        for address in setup.addresses.extract_if(.., |old| is_replaced(old)) {
            // An attempt that failed may not have set it.
            let _ = self.batch(&format!("address del {address} dev {name}\n"));
        }
        Ok(())
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
            match ready.try_io(|device| device.get_ref().read(reads)) {
                Ok(Err(error)) if error.kind() != ErrorKind::InvalidData => return Err(failed(error)),
                Ok(_) => break,
                Err(_) => {}
            }
        }
        if reads.packets().len() > 1 {
            // A sender of large packets must not keep the association from sending them.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Writes packets. Drops those that the kernel rejects, as a router does.
    pub(super) fn write(&self, packets: &[Bytes]) {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        packets.iter().for_each(|packet| writes.push(packet));
        let _ = self.device.get_ref().write(&mut writes);
    }
}
