//! What comes in, from sockets and from the peer's process, through one channel.

use std::net::SocketAddr;

/// Something came.
pub enum Input {
    /// A datagram, to a socket of ours.
    Datagram { to: SocketAddr, from: SocketAddr, bytes: Vec<u8> },
    /// The peer said something.
    Line(String),
    /// The peer's process ended.
    PeerGone,
}
