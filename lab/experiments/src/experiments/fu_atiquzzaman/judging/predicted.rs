//! The paper's predicted tables, which must not influence the fit. Private to `judging`, so that the compiler
//! prevents the fit from reading them.

use crate::experiments::fu_atiquzzaman::grid::Protocol;
use crate::experiments::fu_atiquzzaman::paper::{PaperTable, RENO};

/// Table VI: TCP with SACK.
const SACK: PaperTable = [
    [323, 391, 455, 563, 598],
    [431, 560, 934, 973, 1046],
    [478, 717, 1262, 2528, 2501],
    [430, 793, 1472, 2614, 2826],
    [468, 625, 1643, 2672, 2957],
    [567, 727, 1816, 2750, 2796],
];

/// Table VII: SCTP.
const SCTP: PaperTable = [
    [423, 432, 545, 609, 589],
    [544, 796, 955, 1028, 1077],
    [716, 1485, 1446, 2629, 2681],
    [623, 806, 1502, 2657, 2812],
    [605, 1030, 1672, 2676, 2963],
    [685, 1168, 1892, 2768, 2793],
];

/// Returns the paper's table for a protocol.
pub(super) const fn table(protocol: Protocol) -> &'static PaperTable {
    match protocol {
        Protocol::Reno => &RENO,
        Protocol::Sack => &SACK,
        Protocol::Sctp => &SCTP,
    }
}
