//! Input from sockets and from the peer's process, through one channel.

use std::net::SocketAddr;

/// One input.
pub enum Input {
    /// A datagram to one of our sockets.
    Datagram { to: SocketAddr, from: SocketAddr, bytes: Vec<u8> },
    /// A line from the peer.
    Line(String),
    /// The peer's process ended.
    PeerGone,
}
