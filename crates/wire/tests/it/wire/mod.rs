//! Properties of whole packets with any content.

mod inputs;
mod replay;
mod round_trip;
mod support;
mod total;
