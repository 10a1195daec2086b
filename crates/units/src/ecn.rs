//! [`Ecn`]: the two ECN bits of an IP header (RFC 3168 §5).

use core::fmt;

/// The ECN codepoint of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// Not-ECT: the sender does not support ECN, and congestion drops the packet.
    #[default]
    NotEct,
    /// ECT(1): the packet may be marked.
    Ect1,
    /// ECT(0): the packet may be marked.
    Ect0,
    /// Congestion Experienced: the packet was marked.
    Ce,
}

impl Ecn {
    /// Parses the low two bits of the TOS field or the traffic class; the other bits are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the codepoint as the low two bits of the TOS field or the traffic class.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Returns whether the network may mark the packet instead of dropping it, because it is ECT or already
    /// CE.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_rfc_3168_figure_1_and_come_back() {
        let all = [(Ecn::NotEct, 0), (Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::Ce, 3)];
        for (ecn, bits) in all {
            assert_eq!(ecn.bits(), bits);
            assert_eq!(Ecn::from_bits(bits), ecn);
            assert_eq!(Ecn::from_bits(0b1011_1000 | bits), ecn, "DSCP is none of its business");
            assert_eq!(ecn.is_capable(), bits != 0);
        }
    }
}
