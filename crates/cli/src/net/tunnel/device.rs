//! [`Device`]: a TUN device. iproute2 sets its addresses and routes; the kernel removes them with it.

use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};

use ipnet::IpNet;
use tokio::io::unix::AsyncFd;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::MTU;
use crate::Failure;
use crate::system::os_error;

pub(super) struct Device {
    device: AsyncFd<SyncDevice>,
    name: String,
}

impl Device {
    /// Creates the device, without addresses.
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
        let device = DeviceBuilder::new().name("msctp%d").enable(false).build_sync().map_err(failed)?;
        device.set_nonblocking(true).map_err(failed)?;
        let name = device.name().map_err(failed)?;
        #[expect(deprecated, reason = "its successor is unsafe; this device keeps its descriptor to the end")]
        let device = AsyncFd::new(device).map_err(failed)?;
        Ok(Self { device, name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Routes networks through the device, which must be up. Fails if another device has such a route: a
    /// second tunnel would take it from the first one, and remove it at its end.
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

    /// Sets the addresses in place of those `before`.
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

    /// Reads a packet.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let failed = |error: io::Error| Failure::Run(format!("{}: {}", self.name, os_error(&error)));
        loop {
            let mut ready = self.device.readable().await.map_err(failed)?;
            if let Ok(result) = ready.try_io(|device| device.get_ref().recv(buffer)) {
                return result.map_err(failed);
            }
        }
    }

    /// Writes a packet. Drops it if the kernel rejects it, as a router does.
    pub(super) fn write(&self, packet: &[u8]) {
        let _ = self.device.get_ref().send(packet);
    }
}
