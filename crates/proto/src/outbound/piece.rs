//! [`Piece`]: the data and header fields of a DATA or I-DATA chunk.

use bytes::Bytes;
use msctp_wire::{Data, DataFlags, Fragment, Full, IData, Mid, PacketBuilder, Ppid, Ssn, StreamId};

use crate::long_tsn::LongTsn;
use crate::message::is_key_management;

/// The data and header fields of a chunk, except its TSN.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) data: Bytes,
    pub(super) context: u64,
    /// Number of its message in [`PartialStore`](super::partial::PartialStore); 0 if that is fully reliable.
    pub(super) partial: u64,
    pub(super) ppid: u32,
    /// Message identifier; its low 16 bits are the stream sequence number of ordered messages.
    pub(super) mid: u32,
    /// Fragment sequence number.
    pub(super) fsn: u32,
    pub(super) stream: u16,
    /// It is an I-DATA chunk (RFC 8260).
    pub(super) interleaved: bool,
    /// It is sent in copy on the other networks.
    pub(super) redundant: bool,
    pub(super) flags: DataFlags,
}

/// Returns the bytes of a chunk that are not user data.
#[inline]
pub(super) const fn overhead(interleaved: bool) -> usize {
    if interleaved { IData::OVERHEAD } else { Data::OVERHEAD }
}

/// Returns the bytes of a chunk with `len` user bytes, header and padding included (RFC 9260 §7.2).
#[inline]
pub(super) const fn wire_len(len: usize, interleaved: bool) -> u64 {
    (overhead(interleaved) + len).next_multiple_of(4) as u64
}

impl Piece {
    /// Returns its user bytes.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.data.len() as u64
    }

    /// Returns its bytes as congestion control counts them.
    #[inline]
    pub(super) fn wire_len(&self) -> u64 {
        wire_len(self.data.len(), self.interleaved)
    }

    /// Returns whether it is a part of a key management message.
    pub(super) fn is_key_management(&self) -> bool {
        is_key_management(self.stream, self.flags.unordered, self.ppid)
    }

    /// Writes the piece into a packet.
    #[inline]
    pub(super) fn push(&self, tsn: LongTsn, builder: &mut PacketBuilder<'_>) -> Result<(), Full> {
        let (stream, ppid) = (StreamId::new(self.stream), Ppid::new(self.ppid));
        if self.interleaved {
            return self.push_interleaved(tsn, builder);
        }
        builder.push(&Data {
            tsn: tsn.tsn(),
            stream,
            // RFC 9260 §6.6: an unordered message has no stream sequence number.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
            //# when the Stream Sequence Number reaches the value 65535, the next Stream Sequence Number MUST
            //# be set to 0.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# the same Stream Sequence Number MUST be carried in each of the fragments of the message.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.1
            //# This field MUST be sent even in fragmented DATA chunks
            ssn: Ssn::new(if self.flags.unordered { 0 } else { self.mid as u16 }),
            ppid,
            flags: self.flags,
            payload: &self.data,
        })
    }

    #[inline(never)]
    fn push_interleaved(&self, tsn: LongTsn, builder: &mut PacketBuilder<'_>) -> Result<(), Full> {
        let DataFlags { unordered, begin, end, immediate } = self.flags;
        let first = Fragment::First(Ppid::new(self.ppid));
        builder.push(&IData {
            tsn: tsn.tsn(),
            stream: StreamId::new(self.stream),
            mid: Mid::new(self.mid),
            fragment: if begin { first } else { Fragment::Later(self.fsn) },
            unordered,
            end,
            immediate,
            payload: &self.data,
        })
    }
}
