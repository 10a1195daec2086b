//! [`LinkChange`]: what a host knows of one of its links, and [`SocketOrder`]: what it must do.

use core::net::IpAddr;

/// The state of one of the host's interfaces, at first and after each change. What is not known keeps its
/// default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkChange {
    /// Number of the interface, by which the host knows it.
    pub interface: u32,
    /// Name of the interface, such as `wlan0`.
    pub name: String,
    /// What the link is.
    pub kind: LinkKind,
    /// The addresses of the interface that can be used (RFC 4862 §5.4: no tentative ones); none if it is
    /// gone.
    pub addresses: Vec<IpAddr>,
    /// True if the link carries packets.
    pub carrier: bool,
    /// True if the host's owner pays for the link by the byte.
    pub metered: bool,
}

impl LinkChange {
    /// Creates the report of an interface without addresses and carrier. Its name tells its kind.
    #[must_use]
    pub fn new(interface: u32, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { interface, kind: LinkKind::of_name(&name), name, ..Self::default() }
    }

    /// Sets [`addresses`](Self::addresses).
    #[must_use]
    pub fn with_addresses(self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self { addresses: addresses.into_iter().collect(), ..self }
    }

    /// Sets [`carrier`](Self::carrier).
    #[must_use]
    pub fn with_carrier(self, carrier: bool) -> Self {
        Self { carrier, ..self }
    }

    /// Sets [`metered`](Self::metered).
    #[must_use]
    pub fn with_metered(self, metered: bool) -> Self {
        Self { metered, ..self }
    }
}

/// What a link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LinkKind {
    /// A cable.
    Wired,
    /// A wireless LAN.
    Wifi,
    /// A cellular network.
    Cellular,
    /// The host itself.
    Loopback,
    /// Something else, such as a tunnel, or unknown.
    #[default]
    Other,
}

impl LinkKind {
    /// Returns what the interface's name says, by the names that Linux gives (systemd.net-naming-scheme) and
    /// Android's `rmnet`.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let begins = |all: &[&str]| all.iter().any(|begin| name.starts_with(begin));
        if begins(&["en", "eth"]) {
            Self::Wired
        } else if begins(&["wl"]) {
            Self::Wifi
        } else if begins(&["ww", "rmnet"]) {
            Self::Cellular
        } else if name == "lo" {
            Self::Loopback
        } else {
            Self::Other
        }
    }
}

/// What the host must do for its sockets, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketOrder {
    /// Send and receive at this address, through this interface. If that cannot be done, call
    /// [`Endpoint::refuse_address`](crate::Endpoint::refuse_address).
    Open {
        /// The address.
        address: IpAddr,
        /// Name of the interface; empty if it is not known.
        interface: String,
    },
    /// Stop sending and receiving at this address.
    Close(IpAddr),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_what_an_interface_is() {
        for (name, kind) in [
            ("eth0", LinkKind::Wired),
            ("enp3s0", LinkKind::Wired),
            ("wlp2s0", LinkKind::Wifi),
            ("wwan0", LinkKind::Cellular),
            ("rmnet_data0", LinkKind::Cellular),
            ("lo", LinkKind::Loopback),
            ("tun0", LinkKind::Other),
        ] {
            assert_eq!(LinkChange::new(1, name).kind, kind, "{name}");
        }
    }
}
