//! Integer time, spans, rates, and the ECN codepoint: the quantities every layer shares.
//!
//! Nothing here reads a clock. [`Time`] is nanoseconds since an origin the caller chooses (the start of a
//! simulation, the start of a process), [`Span`] a length of time in nanoseconds, [`Rate`] bits per second.
//! All arithmetic is integer, so that the same inputs give the same results on every machine.
#![no_std]

mod decimal;
mod ecn;
mod rate;
mod time;

pub use ecn::Ecn;
pub use rate::{ParseRateError, Rate};
pub use time::{ParseSpanError, Span, Time};
