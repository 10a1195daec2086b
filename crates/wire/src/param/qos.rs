//! Parameters of QoS_Measurement, a private chunk. They describe the link below one address of the chunk's
//! sender; where the direction matters, towards that sender.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Type = 0xBE02         |           Length = 8          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Technology           |  Scheme down  |   Scheme up   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 0xBE01, 0xBE04 to 06   |           Length = 8          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Report Number, Block Error Rate (ppm), Delay (µs)          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type = 0xBE03, 0xBE07     |          Length = 12          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                                                               |
//! |           Nominal Rate (bit/s), Cell Identity                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::layout::layout;

/// Value of Coding Scheme: the modulation and coding in use, by the number the technology gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodingScheme {
    /// Radio technology: 0 unknown, 1 GPRS (CS1 to CS4 are 1 to 4), 2 EGPRS (MCS1 to MCS9 are 1 to 9).
    pub technology: u16,
    /// Scheme towards the sender of the report, 0 if unknown.
    pub down: u8,
    /// Scheme away from it, 0 if unknown.
    pub up: u8,
}

impl CodingScheme {
    /// Technology GPRS.
    pub const GPRS: u16 = 1;
    /// Technology EGPRS.
    pub const EGPRS: u16 = 2;
}

layout!(CodingScheme { technology: u16, down: u8, up: u8 });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Malformed;
    use crate::param::testing::{check, fault};
    use crate::param::{Param, ParamType};

    #[test]
    fn bytes_of_the_layout() {
        let scheme = CodingScheme { technology: CodingScheme::EGPRS, down: 9, up: 3 };
        check(&[0xbe, 2, 0, 8, 0, 2, 9, 3], Param::CodingScheme(scheme));
        check(&[0xbe, 1, 0, 8, 1, 2, 3, 4], Param::ReportNumber(0x0102_0304));
        check(&[0xbe, 3, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8], Param::NominalRate(0x0102_0304_0506_0708));
        check(&[0xbe, 4, 0, 8, 0, 1, 0x86, 0xa0], Param::BlockErrorRate(100_000));
        check(&[0xbe, 5, 0, 8, 0, 0, 0, 1], Param::LinkRoundTrip(1));
        check(&[0xbe, 6, 0, 8, 0, 0, 0, 2], Param::LinkOneWay(2));
        check(&[0xbe, 7, 0, 12, 0, 0, 0, 0, 0, 0, 1, 0], Param::CellIdentity(256));
        assert_eq!(ParamType::NOMINAL_RATE.to_string(), "Nominal Rate");
    }

    #[test]
    fn sizes_are_fixed() {
        let wrong = |len, expected| Malformed::WrongLength { len, expected };
        for typ in [1, 2, 4, 5, 6] {
            assert_eq!(fault(&[0xbe, typ, 0, 7, 1, 2, 3, 0]), wrong(3, 4), "{typ}");
            assert_eq!(fault(&[0xbe, typ, 0, 4]), wrong(0, 4), "{typ}");
        }
        for typ in [3, 7] {
            assert_eq!(fault(&[0xbe, typ, 0, 8, 1, 2, 3, 4]), wrong(4, 8), "{typ}");
        }
    }
}
