//! A deterministic network simulator around the msctp core.

mod event;
mod packet;
pub mod random;
pub mod scenario;
