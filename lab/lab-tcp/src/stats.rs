//! Counters of a connection.

/// Counters of a connection; of segments unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sent with data or FIN for the first time.
    pub data_segments: u64,
    /// Segments retransmitted, with data or FIN.
    pub retransmitted: u64,
    /// Bytes of user data sent, again or not.
    pub bytes_sent: u64,
    /// Sent with neither data, SYN nor FIN, but an acknowledgment.
    pub acks_sent: u64,
    /// SYNs sent, again or not.
    pub syns_sent: u64,
    /// Expirations of the retransmission timer with data or FIN outstanding.
    pub timeouts: u64,
    /// Timeouts that proved spurious.
    pub spurious_timeouts: u64,
    /// Times the sender entered fast recovery.
    pub fast_retransmits: u64,
    /// Times the sender entered LD recovery, after a loss classified as wireless.
    pub ld_recoveries: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Duplicate ACKs received, as the recovery algorithm counts them.
    pub duplicate_acks: u64,
    /// Received with data that was all known already.
    pub duplicates_received: u64,
    /// Received with data that was not next in order.
    pub out_of_order_received: u64,
    /// Dropped: no header, another port, outside the window.
    pub refused: u64,
}
