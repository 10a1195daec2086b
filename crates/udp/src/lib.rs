//! SCTP over UDP (RFC 6951): sockets that send from one address and no other, the port that each peer's
//! address is reached at, and what the host's interfaces do. Knows nothing of associations; may not look into
//! a packet.
//!
//! # Where a packet leaves
//!
//! A path is a pair of addresses, so the source address of a packet is never for the kernel to choose. There
//! is one [`Socket`] for each local address, bound to it and, for a mobile on Linux, to the address's
//! interface ([`SocketOptions::device`]): the routing table then cannot send a packet with the address of one
//! interface out of another, which networks drop (RFC 2827). One socket for all with packet info would set
//! the address as well, but one interface that blocks would block the others, and what arrives for an address
//! that the host lost would still come in. A server is not bound to interfaces: its address may be on none of
//! those that packets come through.
//!
//! # Where it goes
//!
//! RFC 6951 §5.1 wants a remote port kept for each destination address of each association: [`RemotePorts`].
//! It is learnt from packets whose verification tag was checked (§5.4), which only the association can do:
//! this crate is told.

mod change;
mod ports;
mod refusals;
mod socket;

#[cfg(target_os = "linux")]
mod interfaces;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(not(target_os = "linux"))]
#[path = "watch_none.rs"]
mod watch;

pub use change::{Change, LocalAddress};
pub use ports::{ENCAPSULATION_PORT, RemotePorts};
pub use quinn_udp::EcnCodepoint;
pub use refusals::PortUnreachable;
pub use socket::{Batch, Datagram, Fragment, Outgoing, Sent, Socket, SocketError, SocketOptions, UDP_HEADER};
pub use watch::InterfaceWatch;
