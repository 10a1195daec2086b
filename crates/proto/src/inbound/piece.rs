//! [`Piece`]: the common view of DATA and I-DATA chunks. No state.

use msctp_wire::{Data, Fragment, IData, Tsn};

/// A chunk with user data, in the form that the receiving half uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) tsn: Tsn,
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) begin: bool,
    pub(super) end: bool,
    pub(super) immediate: bool,
    /// Stream sequence number, or message identifier.
    pub(super) number: u32,
    /// Payload protocol identifier; 0 in an I-DATA chunk that is not the first of its message, since it has
    /// none.
    pub(super) ppid: u32,
    /// Fragment sequence number; DATA: 0.
    pub(super) fsn: u32,
    pub(super) payload: &'a [u8],
}

impl Piece<'_> {
    /// Returns whether the piece is a whole message.
    pub(super) fn is_whole(&self) -> bool {
        self.begin && self.end
    }
}

impl<'a> From<&Data<'a>> for Piece<'a> {
    #[inline]
    fn from(data: &Data<'a>) -> Self {
        Self {
            tsn: data.tsn,
            stream: data.stream.get(),
            unordered: data.flags.unordered,
            begin: data.flags.begin,
            end: data.flags.end,
            immediate: data.flags.immediate,
            number: u32::from(data.ssn.get()),
            ppid: data.ppid.get(),
            fsn: 0,
            payload: data.payload,
        }
    }
}

impl<'a> From<&IData<'a>> for Piece<'a> {
    fn from(data: &IData<'a>) -> Self {
        let (begin, ppid, fsn) = match data.fragment {
            // RFC 8260 §2.1: "the FSN is implicitly considered to be 0"
            Fragment::First(ppid) => (true, ppid.get(), 0),
            Fragment::Later(fsn) => (false, 0, fsn),
        };
        Self {
            tsn: data.tsn,
            stream: data.stream.get(),
            unordered: data.unordered,
            begin,
            end: data.end,
            immediate: data.immediate,
            number: data.mid.get(),
            ppid,
            fsn,
            payload: data.payload,
        }
    }
}
