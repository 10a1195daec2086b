//! [`PathUse`]: how many paths carry new data at once.

/// The paths that carry new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathUse {
    /// One path: the primary, or an alternate while it does not work (RFC 9260 §6.4). The default.
    #[default]
    One,
    /// Every path that works, one per network: concurrent multipath transfer. Their rates add up.
    ///
    /// Each packet leaves on the path with the shortest round trip that has room in its window. A slower path
    /// takes it only if the data behind it cannot overtake it there: otherwise the receiver's buffer would
    /// fill (BLEST), or the end of the data would wait for the slower path (ECF). Retransmissions take the
    /// path that delivers them first. It concerns the end that sends; the peer needs no option.
    Aggregate,
    /// One path, and a copy of each message that fits one packet on one path of every other network. The
    /// message arrives when the faster network delivers it, and the receiver drops the later copy by its TSN.
    ///
    /// Another path carries at most an initial window of copies per round trip (RFC 9260 §7.2.1). Messages
    /// beyond this limit are not copied there. [`OutMessage::redundant`](crate::OutMessage::redundant) asks
    /// for copies of single messages.
    Redundant,
}
