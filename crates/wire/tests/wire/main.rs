//! What holds for whole packets, whatever is in them.

mod inputs;
mod replay;
mod round_trip;
mod support;
mod total;
