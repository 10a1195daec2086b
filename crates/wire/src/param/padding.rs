//! Padding (RFC 4820 §4): enlarges an INIT; the receiver discards it.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8005   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                          Padding Data                         /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::error::Malformed;
use crate::layout::Value;

/// Value of the Padding parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding {
    /// Bytes of Padding Data, at most 65,531. They are zero when sent, and ignored when received.
    pub len: u16,
}

impl Value<'_> for Padding {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        // A Parameter Length has 16 bits, so its value's length has no more.
        Ok(Self { len: value.len() as u16 })
    }
    fn encoded_len(&self) -> usize {
        self.len.into()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.encoded_len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Param;
    use crate::param::testing::check;
    use crate::tlv::Tlv;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0x80, 0x05, 0, 7, 0, 0, 0, 0], Param::Padding(Padding { len: 3 }));
        assert_eq!(Param::parse(&[0x80, 0x05, 0, 8, 1, 2, 3, 4]), Ok(Param::Padding(Padding { len: 4 })));
    }
}
