//! EGPRS: the radio interface of GPRS and EDGE, as far as a packet notices it.

mod scheme;

pub use scheme::{Again, BLOCK_PERIOD, CodingScheme, ParseCodingSchemeError};
