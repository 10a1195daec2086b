//! Counters of a connection.

/// Counters of a connection; in segments unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments with data or FIN sent for the first time.
    pub data_segments: u64,
    /// Segments retransmitted, with data or FIN.
    pub retransmitted: u64,
    /// Bytes of user data sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments sent with an acknowledgment but without data, SYN and FIN.
    pub acks_sent: u64,
    /// SYNs sent, retransmissions included.
    pub syns_sent: u64,
    /// Expirations of the retransmission timer with data or FIN outstanding.
    pub timeouts: u64,
    /// Timeouts that proved spurious.
    pub spurious_timeouts: u64,
    /// Times the sender entered fast recovery.
    pub fast_retransmits: u64,
    /// Times that the sender entered LD recovery, after a loss classified as wireless.
    pub ld_recoveries: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Duplicate ACKs received, as the recovery algorithm counts them.
    pub duplicate_acks: u64,
    /// Segments received whose data had all been received before.
    pub duplicates_received: u64,
    /// Segments received whose data was not next in order.
    pub out_of_order_received: u64,
    /// Segments dropped because of an invalid header, another port, or a position outside the window.
    pub refused: u64,
}
