//! [`Outstanding`]: the sender's position in the stream, and the segment that could be cut from it next. It
//! only keeps offsets; the recovery and the window decide when to send.

/// Positions of the sending half (RFC 9293 §3.3.1), as offsets: 0 is the SYN, 1 the first byte, and the FIN
/// follows the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    /// First offset that is not acknowledged: SND.UNA.
    pub(crate) una: u64,
    /// Next offset to send: SND.NXT. After a timeout it returns to `una`.
    pub(crate) nxt: u64,
    /// One past the highest offset ever sent.
    pub(crate) max: u64,
    /// One past the highest offset that the peer's window allows.
    pub(crate) edge: u64,
    /// Maximum window that the peer has offered, in bytes.
    pub(crate) largest_window: u64,
    /// One past the last byte that the application wrote.
    pub(crate) written: u64,
    /// A FIN follows the last byte.
    pub(crate) fin: bool,
    /// Maximum segment size, in bytes of user data.
    pub(crate) smss: u64,
    /// True if small segments wait while data is outstanding (RFC 9293 §3.7.4).
    pub(crate) nagle: bool,
}

/// A segment to send, as a range of offsets that includes the FIN's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) role: Role,
}

/// Reason for sending a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Data in order from `nxt`: new, or retransmitted after a timeout.
    InOrder,
    /// The first segment outstanding, declared lost.
    First,
    /// A hole detected by SACK.
    Hole,
    /// The last segment outstanding, to trigger an ACK (RFC 6675, NextSeg rule 4).
    Rescue,
    /// One byte into a closed window, or a small segment into one that is nearly closed.
    Probe,
}

impl Outstanding {
    /// Returns one past the last offset to send.
    pub(crate) fn end(&self) -> u64 {
        self.written.saturating_add(u64::from(self.fin))
    }

    /// Returns the bytes of user data in a segment.
    pub(crate) fn payload(&self, segment: &Segment) -> u64 {
        segment.end.min(self.written).saturating_sub(segment.start)
    }

    /// Returns one past the last offset of a segment from `start` that stays below `limit`. The FIN is
    /// included.
    pub(crate) fn cut(&self, start: u64, limit: u64) -> u64 {
        let end = start.saturating_add(self.smss).min(limit).min(self.written).max(start);
        if self.fin && end == self.written && limit > end { end + 1 } else { end }
    }

    /// Returns the segment from `nxt`, if the congestion window ends at `window_end`.
    pub(crate) fn in_order(&self, window_end: u64) -> Option<Segment> {
        let segment = |end| Segment { start: self.nxt, end, role: Role::InOrder };
        if self.nxt < self.max {
            // Again after a timeout: as it was cut before, and on into new data where the windows allow it.
            let full = self.cut(self.nxt, window_end.min(self.edge));
            let end = full.max(self.cut(self.nxt, self.max));
            let fits = end <= window_end || self.una == self.nxt;
            // A FIN takes no room in the peer's window.
            let room = self.edge.saturating_add(u64::from(end > self.written));
            return (fits && end <= room).then_some(segment(end));
        }
        let right = window_end.min(self.edge);
        // A FIN takes no room in either window.
        let limit = if self.fin && right >= self.written { u64::MAX } else { right };
        let end = self.cut(self.nxt, limit);
        if end <= self.nxt {
            return None;
        }
        let payload = self.payload(&segment(end));
        let idle = self.una == self.nxt;
        // RFC 9293 §3.8.6.2.1: a full segment; or all there is; or half the largest window ever offered.
        let full = payload >= self.smss;
        let all = end == self.end() && (!self.nagle || idle || self.fin);
        let half = idle && payload > 0 && payload >= self.largest_window / 2;
        (full || all || half).then_some(segment(end))
    }

    /// Returns whether only the peer's window stops the sender, because data is queued and at most a probe is
    /// outstanding.
    pub(crate) fn is_stopped_by_window(&self, window_end: u64) -> bool {
        self.una == self.nxt && self.nxt < self.end() && self.in_order(window_end).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outstanding() -> Outstanding {
        Outstanding {
            una: 1,
            nxt: 1,
            max: 1,
            edge: 100_001,
            largest_window: 100_000,
            written: 2501,
            fin: false,
            smss: 1000,
            nagle: false,
        }
    }

    fn sent(o: &mut Outstanding, window_end: u64) -> Option<(u64, u64)> {
        let segment = o.in_order(window_end)?;
        o.nxt = segment.end;
        o.max = o.max.max(o.nxt);
        Some((segment.start, segment.end))
    }

    #[test]
    fn segments_are_full_but_for_the_last_and_the_fin_rides_along() {
        let mut o = Outstanding { fin: true, ..outstanding() };
        assert_eq!(sent(&mut o, 99_999), Some((1, 1001)));
        assert_eq!(sent(&mut o, 99_999), Some((1001, 2001)));
        let last = o.in_order(2501).unwrap();
        assert_eq!((last.start, last.end, o.payload(&last)), (2001, 2502, 500), "a FIN needs no window");
        assert_eq!(sent(&mut o, 2501), Some((2001, 2502)));
        assert_eq!(sent(&mut o, 99_999), None);
    }

    #[test]
    fn no_silly_segments_into_either_window() {
        let mut o = outstanding();
        assert_eq!(o.in_order(1000), None, "999 bytes of window are no segment");
        sent(&mut o, 1001);
        assert_eq!(o.in_order(1500), None);
        let small = Outstanding { edge: 401, largest_window: 800, ..outstanding() };
        assert_eq!(small.in_order(9999).map(|s| s.end), Some(401), "half the largest window");
        let tiny = Outstanding { edge: 301, largest_window: 800, ..outstanding() };
        assert_eq!(tiny.in_order(9999), None);
        assert!(tiny.is_stopped_by_window(9999));
    }

    #[test]
    fn nagle_keeps_the_last_piece_back() {
        let mut o = Outstanding { nagle: true, ..outstanding() };
        sent(&mut o, 99_999);
        sent(&mut o, 99_999);
        assert_eq!(o.in_order(99_999), None);
        o.una = 2001;
        assert_eq!(sent(&mut o, 99_999), Some((2001, 2501)));
    }
}
