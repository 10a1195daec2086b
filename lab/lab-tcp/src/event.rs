//! Events for the application.

/// An event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The three-way handshake is done.
    Connected,
    /// The peer has sent everything: its FIN arrived in order.
    PeerFinished,
    /// Both FINs were acknowledged, so that the connection is closed.
    Closed,
    /// The connection failed.
    Lost(Failure),
}

/// Reason for a lost connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer sent a RST.
    Reset,
    /// A segment was retransmitted too often (RFC 9293 §3.8.3, threshold R2).
    TimedOut,
}
