//! The paper's numbers: the axes of its tables, and the one table used for the fit. The two predicted tables
//! are in [`judging`](super::judging), visible to the verdicts only.

/// Rates between correspondent and router in bit/s: the rows of Tables V to VII.
pub const WIRED: [u32; 6] = [28_800, 54_000, 200_000, 500_000, 1_000_000, 1_500_000];

/// Rates between mobile and agent in bit/s: the columns of Tables V to VII.
pub const WIRELESS: [u32; 5] = [150_000, 200_000, 384_000, 1_000_000, 2_000_000];

/// Numbers of segments that the correspondent received in 200 s, with a row for each of [`WIRED`].
pub type PaperTable = [[u32; 5]; 6];

/// Table V: TCP Reno.
pub const RENO: PaperTable = [
    [287, 316, 451, 544, 566],
    [283, 489, 774, 971, 1010],
    [373, 487, 1205, 2148, 2376],
    [300, 616, 1399, 2492, 2723],
    [419, 680, 1626, 2278, 2695],
    [519, 717, 1224, 2660, 2715],
];

/// Returns the value of `table` for a pair of rates; `None` if the paper does not have it.
#[must_use]
pub fn cell(table: &PaperTable, wired: u32, wireless: u32) -> Option<u32> {
    let row = WIRED.iter().position(|&rate| rate == wired)?;
    let column = WIRELESS.iter().position(|&rate| rate == wireless)?;
    Some(table[row][column])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_by_its_rates() {
        assert_eq!(cell(&RENO, 28_800, 150_000), Some(287));
        assert_eq!(cell(&RENO, 1_500_000, 384_000), Some(1224));
        assert_eq!(cell(&RENO, 28_800, 150_001), None);
    }
}
