//! Reads the quality of a `report-quality` action.

use msctp_proto::handover::{CodingScheme, LinkQuality};

use crate::scenario::document::Section;
use crate::scenario::error::Problem;

/// The schemes of GPRS and EGPRS by name.
const SCHEMES: [(&str, CodingScheme); 13] = [
    ("CS1", scheme(CodingScheme::GPRS, 1)),
    ("CS2", scheme(CodingScheme::GPRS, 2)),
    ("CS3", scheme(CodingScheme::GPRS, 3)),
    ("CS4", scheme(CodingScheme::GPRS, 4)),
    ("MCS1", scheme(CodingScheme::EGPRS, 1)),
    ("MCS2", scheme(CodingScheme::EGPRS, 2)),
    ("MCS3", scheme(CodingScheme::EGPRS, 3)),
    ("MCS4", scheme(CodingScheme::EGPRS, 4)),
    ("MCS5", scheme(CodingScheme::EGPRS, 5)),
    ("MCS6", scheme(CodingScheme::EGPRS, 6)),
    ("MCS7", scheme(CodingScheme::EGPRS, 7)),
    ("MCS8", scheme(CodingScheme::EGPRS, 8)),
    ("MCS9", scheme(CodingScheme::EGPRS, 9)),
];

const fn scheme(technology: u16, down: u8) -> CodingScheme {
    CodingScheme { technology, down, up: 0 }
}

/// Reads the quality; at least one key is required.
pub(super) fn read(section: &Section<'_, '_>) -> Result<LinkQuality, Problem> {
    let quality = LinkQuality {
        coding_scheme: section.choice("coding_scheme", &SCHEMES)?,
        rate: section.rate("rate")?,
        block_error_ppm: block_error_ppm(section)?,
        round_trip: section.span("round_trip")?,
        one_way: section.span("one_way")?,
        cell: section.integer("cell", 0, i128::from(i64::MAX))?,
    };
    if quality == LinkQuality::default() {
        let want = "reports nothing: want at least one of coding_scheme, rate, block_error_rate, round_trip, one_way, cell";
        return Err(Problem::new(section.path(), want));
    }
    quality
        .validate()
        .map_err(|e| Problem::new(section.key(e.field), format!("out of range: want {}", e.want)))?;
    Ok(quality)
}

fn block_error_ppm(section: &Section<'_, '_>) -> Result<Option<u32>, Problem> {
    let Some(rate) = section.number("block_error_rate")? else { return Ok(None) };
    if !(0.0..=1.0).contains(&rate) {
        return Err(Problem::new(section.key("block_error_rate"), format!("{rate}: want 0 to 1")));
    }
    Ok(Some((rate * 1e6).round() as u32))
}
