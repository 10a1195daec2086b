//! [`CodingScheme`]: the channel codings of GPRS and EGPRS as data: octets per block, and the scheme of a
//! block's retransmission.

use core::fmt;
use core::str::FromStr;

use msctp_units::{Rate, Span};

/// Duration of a radio block on one PDCH: four bursts, one in each of four TDMA frames. Twelve blocks fill a
/// 52-multiframe of 240 ms (3GPP TS 45.002), which is 20 ms on average. The model uses exactly 20 ms.
pub const BLOCK_PERIOD: Span = Span::from_millis(20);

/// A channel coding of the packet data channel: CS-1 to CS-4 of GPRS, MCS-1 to MCS-9 of EGPRS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the standard's own names")]
pub enum CodingScheme {
    Cs1,
    Cs2,
    Cs3,
    Cs4,
    Mcs1,
    Mcs2,
    Mcs3,
    Mcs4,
    Mcs5,
    Mcs6,
    Mcs7,
    Mcs8,
    Mcs9,
}

/// Family of schemes that carry each other's blocks (3GPP TS 44.060 §8.1.1). A block's octets are a whole
/// number of the family's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Units of 37 octets: MCS-3, MCS-6, MCS-9.
    A,
    /// Units of 34 octets: MCS-8, and padded MCS-3 and MCS-6.
    APadded,
    /// Units of 28 octets: MCS-2, MCS-5, MCS-7.
    B,
    /// Units of 22 octets: MCS-1, MCS-4.
    C,
    /// GPRS, where each scheme carries only its own blocks.
    None,
}

/// Name, octets of LLC data in an RLC data block, RLC data blocks in a radio block, family (3GPP TS 44.060
/// §10.2, §10.3a).
const TABLE: [(CodingScheme, &str, u32, u32, Family); 13] = [
    (CodingScheme::Cs1, "CS1", 20, 1, Family::None),
    (CodingScheme::Cs2, "CS2", 30, 1, Family::None),
    (CodingScheme::Cs3, "CS3", 36, 1, Family::None),
    (CodingScheme::Cs4, "CS4", 50, 1, Family::None),
    (CodingScheme::Mcs1, "MCS1", 22, 1, Family::C),
    (CodingScheme::Mcs2, "MCS2", 28, 1, Family::B),
    (CodingScheme::Mcs3, "MCS3", 37, 1, Family::A),
    (CodingScheme::Mcs4, "MCS4", 44, 1, Family::C),
    (CodingScheme::Mcs5, "MCS5", 56, 1, Family::B),
    (CodingScheme::Mcs6, "MCS6", 74, 1, Family::A),
    (CodingScheme::Mcs7, "MCS7", 56, 2, Family::B),
    (CodingScheme::Mcs8, "MCS8", 68, 2, Family::APadded),
    (CodingScheme::Mcs9, "MCS9", 74, 2, Family::A),
];

/// Form of a retransmitted block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// Coding of the block.
    pub scheme: CodingScheme,
    /// Number of radio blocks, which is 2 for a split block.
    pub parts: u8,
}

impl CodingScheme {
    /// Returns all schemes, GPRS first, each family by rising rate.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the standard's name, without the hyphen: `CS4`, `MCS9`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns the octets of LLC data in one RLC data block.
    pub fn block_octets(self) -> u32 {
        TABLE[self as usize].2
    }

    /// Returns the number of RLC data blocks in one radio block, each with its own block sequence number and
    /// checksum.
    pub fn blocks_per_radio_block(self) -> u32 {
        TABLE[self as usize].3
    }

    /// Returns the rate of LLC octets on one PDCH without errors: 8 to 20 kbps for CS1 to CS4.
    pub fn user_rate(self) -> Rate {
        let octets = u64::from(self.block_octets() * self.blocks_per_radio_block());
        Rate::of(octets, BLOCK_PERIOD).unwrap_or(Rate::ZERO)
    }

    fn family(self) -> Family {
        TABLE[self as usize].4
    }

    /// Returns whether the block's header has its own code, so that it can be decoded when the data cannot
    /// (EGPRS). In GPRS one checksum covers both.
    pub fn has_robust_header(self) -> bool {
        self.family() != Family::None
    }

    /// Returns the scheme in which a block first sent with `self` is retransmitted while `commanded` is in
    /// use.
    ///
    /// GPRS uses the scheme of the first transmission. EGPRS with re-segmentation (3GPP TS 44.060 §8.1.1,
    /// table 8.1.1.1): the fastest scheme of its family that is not faster than the one commanded, or the
    /// family's slowest; a block of MCS-8 counts as padded MCS-6 and MCS-3. A scheme with half its octets
    /// takes two radio blocks.
    pub fn again(self, commanded: Self) -> Again {
        if self.family() == Family::None || !commanded.has_robust_header() {
            return Again { scheme: self, parts: 1 };
        }
        let carries = |&scheme: &Self| match (self.family(), scheme.family()) {
            (Family::APadded, Family::A) => scheme <= Self::Mcs6,
            (own, other) => own == other && scheme.block_octets() <= self.block_octets(),
        };
        let mut scheme = self;
        for (n, candidate) in Self::all().filter(carries).enumerate() {
            if n == 0 || candidate <= commanded {
                scheme = candidate;
            }
        }
        let parts = if scheme.block_octets() < self.block_octets() { 2 } else { 1 };
        Again { scheme, parts }
    }
}

impl fmt::Display for CodingScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a text that names no coding scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a coding scheme: want CS1 to CS4 or MCS1 to MCS9")]
pub struct ParseCodingSchemeError;

impl FromStr for CodingScheme {
    type Err = ParseCodingSchemeError;

    /// Parses `CS4` or `MCS9`, also in lower case and with a hyphen.
    fn from_str(text: &str) -> Result<Self, ParseCodingSchemeError> {
        let plain = text.to_ascii_uppercase().replace('-', "");
        Self::all().find(|scheme| scheme.name() == plain).ok_or(ParseCodingSchemeError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_rates_are_the_papers() {
        let rates: Vec<u64> = CodingScheme::all().map(|scheme| scheme.user_rate().as_bps()).collect();
        assert_eq!(rates[..4], [8_000, 12_000, 14_400, 20_000]);
        // 3GPP TS 43.064: 8.8 to 59.2 kbit/s
        assert_eq!(rates[4..], [8_800, 11_200, 14_800, 17_600, 22_400, 29_600, 44_800, 54_400, 59_200]);
        assert!(CodingScheme::all().enumerate().all(|(n, scheme)| scheme as usize == n), "the table's order");
    }

    #[test]
    fn names_parse_back() {
        for scheme in CodingScheme::all() {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        assert_eq!("mcs-9".parse(), Ok(CodingScheme::Mcs9));
        for bad in ["", "CS0", "CS5", "MCS10", "CS"] {
            assert_eq!(bad.parse::<CodingScheme>(), Err(ParseCodingSchemeError), "{bad}");
        }
    }

    /// Retransmissions follow 3GPP TS 44.060 table 8.1.1.1, with rows by the scheme of the first
    /// transmission, columns by the commanded one, and MCS-9 first.
    #[test]
    fn blocks_are_retransmitted_as_the_standards_table_says() {
        let table: [(u32, [u32; 9]); 9] = [
            (9, [9, 6, 6, 6, 3, 3, 3, 3, 3]),
            (8, [8, 8, 6, 6, 3, 3, 3, 3, 3]),
            (7, [7, 7, 7, 5, 5, 2, 2, 2, 2]),
            (6, [9, 6, 6, 6, 3, 3, 3, 3, 3]),
            (5, [7, 7, 7, 5, 5, 2, 2, 2, 2]),
            (4, [4, 4, 4, 4, 4, 4, 1, 1, 1]),
            (3, [3; 9]),
            (2, [2; 9]),
            (1, [1; 9]),
        ];
        let mcs = |n: u32| format!("MCS{n}").parse::<CodingScheme>().unwrap();
        for (first, row) in table {
            for (column, want) in row.into_iter().enumerate() {
                let commanded = mcs(9 - column as u32);
                let again = mcs(first).again(commanded);
                assert_eq!(again.scheme, mcs(want), "MCS{first} under {commanded}");
                let halves = matches!((first, want), (6 | 8 | 9, 3) | (5 | 7, 2) | (4, 1));
                assert_eq!(again.parts, 1 + u8::from(halves), "MCS{first} under {commanded}");
            }
        }
        for commanded in CodingScheme::all() {
            assert_eq!(CodingScheme::Cs4.again(commanded), Again { scheme: CodingScheme::Cs4, parts: 1 });
        }
    }
}
