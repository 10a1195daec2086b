//! Sockets for SCTP over UDP (RFC 6951), each of which sends from one local address. The crate also watches
//! the host's interfaces. It does not parse packets, and does not know associations.
//!
//! # Source addresses
//!
//! A path is a pair of addresses, so the kernel may never choose the source address of a packet. Each local
//! address has one [`Socket`], bound to it and, for a mobile on Linux, to the address's interface
//! ([`SocketOptions::device`]). The routing table then cannot send a packet with the address of one interface
//! through another, which networks drop (RFC 2827).
//!
//! One socket for all addresses with packet info sets the address as well ([`Outgoing::from`]). It is for
//! hosts that do not list their addresses: one blocked interface blocks the others, and packets to an address
//! that the host lost still arrive. [`source_for`] then returns the kernel's choice for a destination. A
//! server is not bound to interfaces: its packets may arrive through an interface that does not have its
//! address.
//!
//! # Several sockets of one address
//!
//! [`Socket::bind_group`] binds sockets that share an address and port, so that several threads receive. A
//! [`Dispatch`] gives each datagram one of them.

mod change;
mod dispatch;
mod icmp;
mod list;
mod readiness;
mod route;
mod socket;

#[cfg(target_os = "linux")]
mod interfaces;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
#[path = "watch_none.rs"]
mod watch;

pub use change::{Interface, LocalAddress};
pub use dispatch::Dispatch;
pub use icmp::{IcmpError, IcmpKind};
pub use list::list_addresses;
pub use quinn_udp::EcnCodepoint;
pub use readiness::has_io_driver;
pub use route::{check_local, route_from, source_for};
pub use socket::{Batch, Datagram, Fragment, Outgoing, Sent, Socket, SocketError, SocketOptions, UDP_HEADER};
pub use watch::InterfaceWatch;
