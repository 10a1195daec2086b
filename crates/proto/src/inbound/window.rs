//! [`ReceiveWindow`]: the value of a_rwnd (RFC 9260 §6.2 A to D). Counts bytes, holds none.

use crate::message::MIN_CHARGE;

/// Multiple of the buffer that may wait for the readers of streams with limits, besides what takes of the
/// window.
pub(super) const LIMITED: u64 = 4;

/// Multiple of the buffer that may be held for chunks that fill holes, and for one message.
pub(super) const STRETCH: u64 = 2;

/// Receive buffer accounting.
///
/// The edge is the byte count since the start up to which the peer may send. It moves only forward, and only
/// in steps worth a packet to avoid the silly window syndrome (RFC 9260 §6.2, RFC 1122 §4.2.3.3).
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    step: u64,
    held_bytes: u64,
    held_chunks: u64,
    received: u64,
    edge: u64,
    /// True if the last SACK announced 0 regardless of the edge, because many small chunks were held.
    closed: bool,
    /// True if the size of the buffer is doubled, because it is full of data that cannot be read before more
    /// arrives.
    stretched: bool,
    /// The edge announced while the window was stretched.
    stretched_edge: u64,
    /// The association's share of `EndpointConfig::receive_memory`.
    share: u64,
    /// Bytes that wait for readers, which limits of their streams bound.
    limited: u64,
    /// As much of them as takes nothing of the window.
    apart: u64,
}

impl ReceiveWindow {
    /// Creates the window. `size` is the receive buffer in bytes, announced in INIT or INIT ACK. `packet` is
    /// the number of user bytes in a full packet.
    pub(super) fn new(size: u32, packet: u32) -> Self {
        let size = u64::from(size);
        Self {
            size,
            // RFC 1122 §4.2.3.3: min(buffer / 2, a segment)
            step: u64::from(packet).min(size / 2).max(1),
            held_bytes: 0,
            held_chunks: 0,
            received: 0,
            edge: size,
            closed: false,
            stretched: false,
            stretched_edge: 0,
            share: u64::MAX,
            limited: 0,
            apart: 0,
        }
    }

    /// Returns the bytes held, including the overhead of small chunks.
    pub(super) fn held(&self) -> u64 {
        self.held_bytes.max(self.held_chunks * MIN_CHARGE)
    }

    /// Returns the bytes held that take of the window: not the unread bytes of streams with limits, up to
    /// [`LIMITED`], unless the endpoint is short of memory.
    #[inline]
    fn charge(&self) -> u64 {
        self.held().saturating_sub(self.apart)
    }

    /// Sets the bytes that wait for the readers of streams with limits.
    pub(super) fn set_limited(&mut self, limited: u64) {
        self.limited = limited;
        self.apart = if self.share == u64::MAX { limited.min(LIMITED * self.size) } else { 0 };
    }

    /// Sets the association's share of the endpoint's memory. A share above the buffer has no effect.
    #[inline]
    pub(super) fn set_share(&mut self, share: u64) {
        if core::mem::replace(&mut self.share, share) != share {
            self.set_limited(self.limited);
        }
    }

    /// Returns the size of the buffer, or the association's share if that is smaller.
    pub(super) fn size(&self) -> u64 {
        self.size.min(self.share)
    }

    /// Returns whether the endpoint is short of memory and this association holds its share. `more` is the
    /// number of bytes held besides user data.
    #[inline]
    pub(super) fn is_squeezed(&self, more: u64) -> bool {
        self.share != u64::MAX && self.held() + more >= self.share
    }

    /// Sets whether the window stretches. `stuck` means that no held data can be read before more arrives.
    /// With a closed window, the sender would send this data chunk by chunk as zero window probes (RFC 9260
    /// §6.1 A).
    pub(super) fn stretch(&mut self, stuck: bool) {
        self.stretched = stuck && self.charge() + self.step > self.size();
    }

    /// Returns the bytes that may be held.
    fn limit(&self) -> u64 {
        if self.stretched { STRETCH * self.size() } else { self.size() }
    }

    /// Returns whether the window announced while stretched leaves room for `len` more bytes.
    pub(super) fn was_granted(&self, len: usize) -> bool {
        self.received + len as u64 <= self.stretched_edge && !self.holds_buffers(STRETCH)
    }

    /// Returns the window edge that could be announced now.
    fn next_edge(&self) -> u64 {
        let reachable = self.received + self.limit().saturating_sub(self.charge());
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# The receiver MUST also have an algorithm for advertising its receive window to avoid receiver
        //# silly window syndrome (SWS)
        // With nothing held there is no small window to give away: the whole buffer is free.
        if self.held_chunks == 0 || reachable >= self.edge + self.step {
            self.edge.max(reachable)
        } else {
            self.edge
        }
    }

    /// Returns the a_rwnd of a SACK sent now. With zero, new data is dropped.
    #[inline]
    pub(super) fn a_rwnd(&self) -> u32 {
        // Reached before the edge only by chunks smaller than MIN_CHARGE.
        if self.charge() >= self.limit() {
            return 0;
        }
        let promised = self.next_edge().saturating_sub(self.received).min(self.size);
        // A promised window shrinks only if the endpoint has no room for it.
        let room = if self.share < self.size { self.limit() - self.charge() } else { promised };
        // never above `size`, which is 32 bits
        promised.min(room) as u32
    }

    /// Returns whether a window has no room for a full packet.
    pub(super) fn is_small(&self, a_rwnd: u32) -> bool {
        u64::from(a_rwnd) < self.step
    }

    /// Returns whether a window is three quarters of the buffer.
    #[inline]
    pub(super) fn is_mostly_free(&self, a_rwnd: u32) -> bool {
        u64::from(a_rwnd) >= self.size - self.size / 4
    }

    /// Returns whether [`a_rwnd`](Self::a_rwnd) is above zero.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.charge() < self.limit() && (self.edge > self.received || self.next_edge() > self.received)
    }

    /// Records that a SACK with this [`a_rwnd`](Self::a_rwnd) was sent.
    pub(super) fn announce(&mut self, a_rwnd: u32) {
        self.closed = a_rwnd == 0;
        self.edge = self.next_edge();
        if self.stretched {
            self.stretched_edge = self.edge;
        }
    }

    /// Returns whether the window grew by a quarter of the buffer, which justifies a separate SACK (RFC 9260
    /// §6.2).
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
    //# The receiver MUST avoid sending a large number of window updates -- in particular, large bursts of
    //# them.
    pub(super) fn update_due(&self) -> bool {
        let announced = if self.closed { 0 } else { self.edge.saturating_sub(self.received) };
        let due_at = announced + self.size.div_ceil(4);
        // No window is above the size of the buffer.
        due_at <= self.size && u64::from(self.a_rwnd()) >= due_at
    }

    /// Records a kept DATA chunk with `len` user bytes.
    pub(super) fn hold(&mut self, len: usize) {
        self.held_bytes += len as u64;
        self.held_chunks += 1;
        self.received += len as u64;
    }

    /// Records a discarded DATA chunk with `len` user bytes (invalid stream).
    pub(super) fn pass(&mut self, len: usize) {
        self.received += len as u64;
    }

    /// Records that the application read `len` bytes of `chunks` chunks.
    pub(super) fn release(&mut self, len: usize, chunks: u32) {
        debug_assert!(self.held_bytes >= len as u64 && self.held_chunks >= u64::from(chunks));
        self.held_bytes = self.held_bytes.saturating_sub(len as u64);
        self.held_chunks = self.held_chunks.saturating_sub(u64::from(chunks));
    }

    /// Returns whether at least `times` the size of the buffer is held.
    pub(super) fn holds_buffers(&self, times: u64) -> bool {
        self.charge() >= self.size() * times
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.held_bytes, self.held_chunks)
    }

    /// Returns the user bytes held: out of order, in reassembly, or not read yet.
    #[cfg(any(test, fuzzing))]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9260_6_2_b_and_c() {
        let mut window = ReceiveWindow::new(65_536, 1432);
        assert_eq!(window.a_rwnd(), 65_536);
        window.hold(1452);
        assert_eq!(window.a_rwnd(), 65_536 - 1452);
        window.announce(window.a_rwnd());
        window.release(1452, 1);
        assert_eq!(window.a_rwnd(), 65_536, "empty again");
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
    //= type=test
    //# The receiver MUST also have an algorithm for advertising its receive window to avoid receiver silly
    //# window syndrome (SWS)
    #[test]
    fn rfc9260_6_2_silly_window_syndrome() {
        let mut window = ReceiveWindow::new(4000, 1000);
        for _ in 0..4 {
            window.hold(1000);
        }
        window.announce(window.a_rwnd());
        assert_eq!(window.a_rwnd(), 0);
        window.release(999, 1);
        assert_eq!(window.a_rwnd(), 0, "less than a packet is not announced");
        window.release(1, 0);
        assert_eq!(window.a_rwnd(), 1000);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
    //= type=test
    //# The receiver MUST avoid sending a large number of window updates -- in particular, large bursts of
    //# them.
    #[test]
    fn rfc9260_6_2_update_after_a_quarter() {
        let mut window = ReceiveWindow::new(8000, 1000);
        for _ in 0..8 {
            window.hold(1000);
        }
        window.announce(window.a_rwnd());
        window.release(1000, 1);
        assert!(!window.update_due());
        window.release(1000, 1);
        assert!(window.update_due());
        window.announce(window.a_rwnd());
        assert!(!window.update_due());
    }

    #[test]
    fn a_buffer_full_of_one_message_is_stretched_and_granted_data_is_accepted() {
        let mut window = ReceiveWindow::new(8000, 1000);
        for _ in 0..7 {
            window.hold(1000);
            window.stretch(true);
        }
        assert_eq!(window.a_rwnd(), 1000, "not closed yet");
        window.hold(1000);
        window.announce(window.a_rwnd());
        assert_eq!(window.a_rwnd(), 0);
        window.stretch(true);
        window.announce(window.a_rwnd());
        assert_eq!(window.a_rwnd(), 8000);
        // The message is complete and not read: no more is granted, and what was is kept.
        window.hold(1000);
        window.stretch(false);
        assert_eq!(window.a_rwnd(), 0);
        assert!(window.was_granted(7000) && !window.was_granted(7001));
        for _ in 0..7 {
            window.hold(1000);
        }
        assert!(window.holds_buffers(STRETCH) && !window.was_granted(0));
    }

    #[test]
    fn many_tiny_chunks_close_the_window() {
        let size = 100 * MIN_CHARGE;
        let mut window = ReceiveWindow::new(size as u32, 1000);
        for _ in 0..99 {
            window.hold(1);
        }
        assert_eq!(u64::from(window.a_rwnd()), size - 99);
        window.hold(1);
        assert_eq!(window.a_rwnd(), 0);
        assert!(!window.holds_buffers(2));
    }

    #[test]
    fn a_window_that_tiny_chunks_closed_is_opened_by_a_sack_of_its_own() {
        let mut window = ReceiveWindow::new(20 * MIN_CHARGE as u32, 1000);
        for _ in 0..20 {
            window.hold(1);
        }
        window.announce(window.a_rwnd());
        assert_eq!(window.a_rwnd(), 0, "20 bytes, and the peer may send no more");
        window.release(1, 1);
        assert!(window.a_rwnd() > 0 && window.update_due());
        window.announce(window.a_rwnd());
        assert!(!window.update_due());
    }

    #[test]
    fn the_edge_never_moves_back() {
        let size = 200 * MIN_CHARGE as u32;
        let mut window = ReceiveWindow::new(size, 1000);
        // 100 chunks of 1 byte are charged half the buffer
        for _ in 0..100 {
            window.hold(1);
        }
        assert_eq!(window.a_rwnd(), size - 100, "already granted");
        for _ in 0..50 {
            window.hold(1);
        }
        window.announce(window.a_rwnd());
        assert_eq!(window.a_rwnd(), size - 150);
        window.release(1, 1);
        assert_eq!(window.a_rwnd(), size - 150);
    }
}
