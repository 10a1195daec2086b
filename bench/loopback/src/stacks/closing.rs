//! The datagram that closes a transfer over a plain socket.

use std::net::SocketAddr;

use msctp_udp::{Fragment, Outgoing};

/// Its bytes: no data packet is that short.
pub const CLOSING: usize = 1;

/// Returns the closing datagram to this address.
pub fn closing(to: SocketAddr) -> Outgoing<'static> {
    Outgoing { from: None, to, bytes: &[0; CLOSING], segment_size: None, ecn: None, fragment: Fragment::Here }
}
