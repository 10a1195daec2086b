//! Handles FORWARD TSN and I-FORWARD-TSN (RFC 3758 §3.6, RFC 8260 §2.3.1). Does not touch messages that the
//! application has read.
//!
//! The work is bounded by the bytes of the chunk and what it releases: how far the TSN moves does not matter.

use msctp_wire::{ForwardTsn, IForwardTsn};

use super::ordering::Ordering;
use super::reassembly::GIVEN_UP;
use super::{DataFault, Inbound};

impl Inbound {
    /// Handles a FORWARD TSN. Call [`end_packet`](Self::end_packet) after the last chunk of the packet.
    ///
    /// # Errors
    ///
    /// [`DataFault::WrongChunk`]: I-FORWARD-TSN was negotiated; abort.
    pub(crate) fn handle_forward_tsn(&mut self, forward: &ForwardTsn<'_>) -> Result<(), DataFault> {
        if self.interleaving {
            return Err(DataFault::WrongChunk);
        }
        if !self.may_skip(forward.skipped.iter().map(|skipped| skipped.stream.get()), 0) {
            return Ok(());
        }
        let new_cum_tsn = self.map.extend(forward.new_cum_tsn);
        if !self.advance(new_cum_tsn) {
            return Ok(());
        }
        let discarded = self.reassembly.forward(new_cum_tsn);
        self.discard(discarded);
        let streams = self.streams;
        for skipped in forward.skipped.iter().filter(|skipped| skipped.stream.get() < streams) {
            self.ordering.skip(skipped.stream.get(), u32::from(skipped.ssn.get()));
        }
        Ok(())
    }

    /// Handles an I-FORWARD-TSN, like [`handle_forward_tsn`](Self::handle_forward_tsn).
    ///
    /// # Errors
    ///
    /// [`DataFault::WrongChunk`]: FORWARD TSN was negotiated; abort.
    pub(crate) fn handle_i_forward_tsn(&mut self, forward: &IForwardTsn<'_>) -> Result<(), DataFault> {
        if !self.interleaving {
            return Err(DataFault::WrongChunk);
        }
        if !self.may_skip(forward.skipped.iter().map(|skipped| skipped.stream.get()), GIVEN_UP) {
            return Ok(());
        }
        let new_cum_tsn = self.map.extend(forward.new_cum_tsn);
        if !self.advance(new_cum_tsn) {
            return Ok(());
        }
        let streams = self.streams;
        for skipped in forward.skipped.iter().filter(|skipped| skipped.stream.get() < streams) {
            let (stream, mid) = (skipped.stream.get(), skipped.mid.get());
            let discarded = self.reassembly.skip(stream, skipped.unordered, mid);
            self.discard(discarded);
            if !skipped.unordered {
                self.ordering.skip(stream, mid);
            }
        }
        Ok(())
    }

    /// Returns whether there is memory for the new streams of which a chunk skips messages, and for `each` of
    /// them. Otherwise the chunk is dropped, as DATA on a new stream is: the peer repeats it.
    fn may_skip(&self, streams: impl Iterator<Item = u16>, each: u64) -> bool {
        let new =
            streams.filter(|stream| *stream < self.streams && !self.ordering.has_begun(*stream)).count();
        let more = Ordering::memory_of(new) + each * new as u64;
        new == 0 || !self.window.is_squeezed(self.other_memory() + more)
    }

    /// Advances the Cumulative TSN Ack. Returns false if `new_cum_tsn` is out of date.
    fn advance(&mut self, new_cum_tsn: crate::long_tsn::LongTsn) -> bool {
        let advanced = self.map.forward(new_cum_tsn);
        // RFC 3758 §3.6: "the receiver MUST follow the same rules as if a DATA chunk had been received"; one
        // that is out of date means that a SACK was lost
        self.clock.on_data(!advanced || self.map.has_gap());
        advanced
    }
}
