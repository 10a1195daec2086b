//! Loss classifiers from the literature, and [`Measured`], which compares their verdicts with the truth.

mod measured;
mod park_jang;
mod tally;

pub use measured::{Measured, MeasuredConfig};
pub use park_jang::{ParkJang, ParkJangConfig};
pub use tally::Tally;
