//! Builds the lines for `ip -batch` that configure a host's namespace: addresses, routes by source address,
//! carriers, MPTCP endpoints. Builds text only; runs nothing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;

use msctp_sim::{Heard, OutsideHosts};

use crate::batch::SEGMENTS;

/// How the kernel's MPTCP path manager is configured. As with a network manager, an interface is an endpoint
/// while its link is up and it has its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mptcp {
    /// All interfaces carry data together.
    Aggregate,
    /// Each host's first interface carries the data; the others are backups (`backup`).
    Handover,
}

/// A host's end of a link as a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Number of the interface.
    pub(crate) interface: usize,
    /// The device's name.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) mtu: u32,
    /// TCP's initial window in packets; `None`: the kernel's own.
    pub(crate) initial_window: Option<u32>,
    /// Destinations whose route has a smaller MTU, and that MTU.
    narrow: Vec<(IpAddr, u32)>,
    /// Place among the host's devices.
    rank: u32,
    /// The link is up.
    up: bool,
    /// The interface has its address.
    present: bool,
    /// Flags of its MPTCP endpoint, which exists while the interface is up.
    mptcp: Option<&'static str>,
}

/// Longest name of a device (IFNAMSIZ − 1).
const NAME_LEN: usize = 15;

/// Queue length of a device in packets: larger than any window, so that no packet is lost before the link.
const DEVICE_QUEUE: u32 = 10_000;

/// Routing table of a host's first device; those of the next devices follow.
const FIRST_TABLE: u32 = 1000;

/// Returns the devices of a host, in the order of its interfaces.
pub(crate) fn devices(all: &OutsideHosts, host: &str, mptcp: Option<Mptcp>) -> Vec<Device> {
    let own = || all.interfaces().iter().enumerate().filter(|(_, i)| i.host == host);
    let several = own().count() > 1;
    let mut names = BTreeSet::from(["lo".to_owned()]);
    let device = |(rank, (interface, spec)): (usize, (usize, &msctp_sim::OutsideInterface))| {
        let fits = spec.link.len() <= NAME_LEN
            && spec.link.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let name = if fits { spec.link.clone() } else { format!("if{rank}") };
        let name = if names.insert(name.clone()) { name } else { format!("dev{rank}") };
        let others = all.interfaces().iter().enumerate().filter(|(_, other)| other.host != host);
        let narrow = others
            .filter_map(|(to, other)| Some((other.address, all.path_mtu(interface, to)?)))
            .filter(|&(other, mtu)| mtu < spec.mtu && other.is_ipv4() == spec.address.is_ipv4());
        Device {
            interface,
            name,
            address: spec.address,
            mtu: spec.mtu,
            initial_window: None,
            narrow: narrow.collect(),
            rank: rank as u32,
            up: spec.up,
            present: true,
            mptcp: mptcp.filter(|_| several).map(|mode| match mode {
                Mptcp::Handover if rank > 0 => "subflow backup",
                Mptcp::Handover | Mptcp::Aggregate => "subflow",
            }),
        }
    };
    own().enumerate().map(device).collect()
}

/// Builds a host's network from its devices, which exist already.
pub(crate) fn set_up(devices: &[Device], mptcp: Option<Mptcp>) -> String {
    let mut lines = String::from("link set dev lo up\n");
    if mptcp.is_some() {
        lines.push_str("mptcp limits set subflow 8 add_addr_accepted 8\n");
    }
    for device in devices {
        let Device { name, mtu, .. } = device;
        let limits = format!("txqueuelen {DEVICE_QUEUE} gso_max_segs {SEGMENTS}");
        let _ = writeln!(lines, "link set dev {name} mtu {mtu} {limits} up");
        if !device.up {
            let _ = writeln!(lines, "link set dev {name} carrier off");
        }
        device.add_address(&mut lines);
        let (table, everywhere) = (FIRST_TABLE + device.rank, device.everywhere());
        let _ = writeln!(lines, "rule add from {} table {table} priority {table}", device.address);
        // Without it packets would leave over another interface while this one's link is down.
        let _ = writeln!(lines, "route add unreachable {everywhere} table {table} metric 4096");
        device.add_endpoint(&mut lines);
    }
    lines
}

impl Device {
    fn everywhere(&self) -> &'static str {
        if self.address.is_ipv4() { "0.0.0.0/0" } else { "::/0" }
    }

    /// Adds the address and its routes, in the device's own table and in the main one. Programs that choose
    /// no source use the main table, where the host's first interface that is up has priority.
    fn add_address(&self, lines: &mut String) {
        let Self { name, address, .. } = self;
        let (prefix, nodad) = if address.is_ipv4() { (32, "") } else { (128, " nodad") };
        let _ = writeln!(lines, "address replace {address}/{prefix} dev {name}{nodad}");
        let table = FIRST_TABLE + self.rank;
        for place in [format!("table {table}"), format!("metric {}", 100 + self.rank)] {
            let window =
                self.initial_window.map(|packets| format!(" initcwnd {packets}")).unwrap_or_default();
            let via = format!("dev {name} src {address} {place}{window}");
            let _ = writeln!(lines, "route replace {} {via}", self.everywhere());
            for (destination, mtu) in &self.narrow {
                let _ = writeln!(lines, "route replace {destination} {via} mtu {mtu}");
            }
        }
    }

    fn is_endpoint(&self) -> bool {
        self.mptcp.is_some() && self.up && self.present
    }

    fn endpoint_id(&self) -> u32 {
        self.rank + 1
    }

    fn add_endpoint(&self, lines: &mut String) {
        if let Some(flags) = self.mptcp.filter(|_| self.is_endpoint()) {
            let (Self { name, address, .. }, id) = (self, self.endpoint_id());
            let _ = writeln!(lines, "mptcp endpoint add {address} dev {name} id {id} {flags}");
        }
    }

    /// Returns the lines for a change of the interface that the host is notified of.
    pub(crate) fn heard(&mut self, what: Heard) -> String {
        let was_endpoint = self.is_endpoint();
        let mut lines = String::new();
        match what {
            Heard::Link { up } => {
                self.up = up;
                let _ =
                    writeln!(lines, "link set dev {} carrier {}", self.name, if up { "on" } else { "off" });
            }
            Heard::Address { present: true } => {
                self.present = true;
                self.add_address(&mut lines);
            }
            Heard::Address { present: false } if self.present => {
                self.present = false;
                let prefix = if self.address.is_ipv4() { 32 } else { 128 };
                let _ = writeln!(lines, "address delete {}/{prefix} dev {}", self.address, self.name);
            }
            Heard::Address { present: false } => {}
        }
        match (was_endpoint, self.is_endpoint()) {
            (false, true) => self.add_endpoint(&mut lines),
            (true, false) => {
                let _ = writeln!(lines, "mptcp endpoint delete id {}", self.endpoint_id());
            }
            _ => {}
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use msctp_sim::scenario::Scenario;

    fn world() -> OutsideHosts {
        let text = r#"
            duration = "1s"
            [[node]]
            name = "mn"
            kind = "host"
            [[node]]
            name = "cn"
            kind = "host"
            [[node]]
            name = "r"
            kind = "router"
            [[link]]
            name = "wlan"
            a = "mn"
            b = "r"
            address_a = "10.0.1.1"
            rate = "1Mbps"
            delay = "1ms"
            [[link]]
            name = "a link with a long name"
            a = "mn"
            b = "r"
            address_a = "10.0.2.1"
            rate = "1Mbps"
            delay = "1ms"
            up = false
            [[link]]
            name = "core"
            a = "r"
            b = "cn"
            address_b = "10.0.0.1"
            rate = "1Mbps"
            delay = "1ms"
            mtu = 1400
        "#;
        let scenario = Scenario::from_toml(text, "t", &[]).expect("right");
        OutsideHosts::new(&scenario, None).expect("right")
    }

    #[test]
    fn a_host_leaves_by_the_interface_of_its_source_address() {
        let devices = devices(&world(), "mn", Some(Mptcp::Handover));
        let names: Vec<_> = devices.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["wlan", "if1"]);
        let lines = set_up(&devices, Some(Mptcp::Handover));
        for line in [
            "link set dev wlan mtu 1500 txqueuelen 10000 gso_max_segs 64 up",
            "link set dev if1 carrier off",
            "rule add from 10.0.2.1 table 1001 priority 1001",
            "route replace 0.0.0.0/0 dev if1 src 10.0.2.1 table 1001",
            "route replace 10.0.0.1 dev wlan src 10.0.1.1 table 1000 mtu 1400",
            "route replace 10.0.0.1 dev wlan src 10.0.1.1 metric 100 mtu 1400",
            "mptcp endpoint add 10.0.1.1 dev wlan id 1 subflow",
        ] {
            assert!(lines.lines().any(|l| l == line), "{line} is not in\n{lines}");
        }
        assert!(!lines.contains("endpoint add 10.0.2.1"), "its link is down");
    }

    #[test]
    fn an_interface_is_an_endpoint_while_its_link_is_up_and_it_has_its_address() {
        let mut devices = devices(&world(), "mn", Some(Mptcp::Handover));
        let lte = &mut devices[1];
        assert_eq!(
            lte.heard(Heard::Link { up: true }),
            "link set dev if1 carrier on\nmptcp endpoint add 10.0.2.1 dev if1 id 2 subflow backup\n"
        );
        let gone = lte.heard(Heard::Address { present: false });
        assert_eq!(gone, "address delete 10.0.2.1/32 dev if1\nmptcp endpoint delete id 2\n");
        assert_eq!(lte.heard(Heard::Address { present: false }), "");
        assert_eq!(lte.heard(Heard::Link { up: false }), "link set dev if1 carrier off\n");
        assert!(!lte.heard(Heard::Address { present: true }).contains("endpoint"));
        assert!(lte.heard(Heard::Link { up: true }).contains("endpoint add"));
    }

    #[test]
    fn a_host_with_one_interface_is_no_endpoint() {
        let devices = devices(&world(), "cn", Some(Mptcp::Aggregate));
        assert!(!set_up(&devices, Some(Mptcp::Aggregate)).contains("endpoint"));
    }
}
