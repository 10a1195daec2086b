//! The verdicts, and the figures shown beside the paper's tables. Only this module can read the predicted
//! tables.

pub mod claims;
#[cfg(test)]
mod claims_tests;
pub mod figures;
pub mod findings;
mod predicted;
mod segments;
