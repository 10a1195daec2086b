//! Faults of parameters: Missing Mandatory Parameter (RFC 9260 §3.3.10.2), Invalid Mandatory Parameter
//! (§3.3.10.7), Unrecognized Parameters (§3.3.10.8).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 2        |    Cause Length = 8 + N * 2   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Number of missing params = N                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Missing Param Type #1     |     Missing Param Type #2     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Missing Param Type #N-1    |     Missing Param Type #N     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 7        |        Cause Length = 4       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 8        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Unrecognized Parameters                    /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::codes::ParamType;
use crate::error::Malformed;
use crate::layout::Value;
use crate::list::{Item, List};
use crate::read::{at_least, be32};

/// Bytes of the count.
const FIXED: usize = 4;

/// Value of Missing Mandatory Parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingParams<'a> {
    /// Types of the missing parameters.
    pub types: List<'a, ParamType>,
}

impl<'a> Value<'a> for MissingParams<'a> {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let (count, types) = at_least(value, FIXED)?.split_at(FIXED);
        let announced = (be32(count, 0) as usize).saturating_mul(ParamType::SIZE).saturating_add(FIXED);
        if announced != value.len() {
            return Err(Malformed::CountMismatch { len: value.len(), announced });
        }
        Ok(Self { types: List::from_wire(types)? })
    }
    fn encoded_len(&self) -> usize {
        FIXED + self.types.encoded_len()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        (self.types.len() as u32).write(out);
        self.types.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let cause = |types| Cause::MissingMandatoryParameter(MissingParams { types });
        check(&[0, 2, 0, 10, 0, 0, 0, 1, 0, 7, 0, 0], cause(List::from(&[ParamType::STATE_COOKIE])));
        check(&[0, 2, 0, 8, 0, 0, 0, 0], cause(List::EMPTY));
        check(&[0, 7, 0, 4], Cause::InvalidMandatoryParameter);
        check(
            &[0, 8, 0, 9, 0xc9, 0x99, 0, 5, 1, 0, 0, 0],
            Cause::UnrecognizedParameters(&[0xc9, 0x99, 0, 5, 1]),
        );
    }

    #[test]
    fn the_count_must_agree_with_the_length() {
        assert_eq!(fault(&[0, 2, 0, 7, 0, 0, 0, 0]), Malformed::TooShort { len: 3, min: 4 });
        let bytes = [0, 2, 0, 10, 0, 0, 0, 2, 0, 7, 0, 0];
        assert_eq!(fault(&bytes), Malformed::CountMismatch { len: 6, announced: 8 });
        let bytes = [0, 2, 0, 10, 0xff, 0xff, 0xff, 0xff, 0, 7, 0, 0];
        assert!(matches!(fault(&bytes), Malformed::CountMismatch { len: 6, .. }));
        assert_eq!(fault(&[0, 7, 0, 8, 0, 0, 0, 0]), Malformed::WrongLength { len: 4, expected: 0 });
    }
}
