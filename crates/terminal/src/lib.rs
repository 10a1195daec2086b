//! What the programs `msctp` and `msctp-lab` share: [`Failure`] with its exit code, input and output files,
//! errors of the operating system in the user's words, manual pages and completions.

mod failure;
pub mod input;
pub mod output;
mod print;
#[cfg(feature = "program")]
pub mod program;
pub mod replace;
pub mod system;

pub use failure::{Failure, exit};
pub use print::{counted, print};
