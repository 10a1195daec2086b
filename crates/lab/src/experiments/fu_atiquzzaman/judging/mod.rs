//! The verdicts and what is drawn beside the paper's tables. The only place that sees the tables to be
//! predicted.

pub mod claims;
#[cfg(test)]
mod claims_tests;
pub mod figures;
pub(super) mod findings;
mod predicted;
mod segments;
