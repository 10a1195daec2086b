//! A link whose rate is that of a recorded network: packets leave at the instants of a trace.
//!
//! [`Schedule`] is the trace, read from Mahimahi's format or made of rates over time; [`TraceLink`] one
//! direction of a link that follows it. Parameters, limits and where they come from: `docs/models/trace.md`.

mod link;
mod schedule;
mod signal;

pub use link::{TraceConfig, TraceLink};
pub use schedule::{InvalidTrace, OPPORTUNITY_BYTES, Schedule};
pub use signal::SignalTrace;
