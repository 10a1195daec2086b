//! Traces of associations as qlog files (draft-ietf-quic-qlog-main-schema), for qvis and other viewers.
//!
//! [`Writer`] converts [`TraceEvent`](msctp_proto::TraceEvent)s into the records of a `.sqlog` file. The
//! names of chunks, windows, losses and states are QUIC's, so that viewers draw them; all other events have
//! the fields that [`fields`] lists, under names of our own. docs/events.md describes the schema.
//!
//! ```
//! use msctp_proto::{AssociationState, TraceEvent, TraceKind};
//! use msctp_qlog::{Vantage, Writer};
//! use msctp_units::Time;
//!
//! let mut file = Vec::new();
//! let mut log = Writer::new(&mut file, "a set-up", Vantage::Client);
//! let kind = TraceKind::State { from: AssociationState::Closed, to: AssociationState::CookieWait };
//! log.write("1", &TraceEvent { at: Time::ZERO, kind });
//! log.finish()?;
//! assert!(String::from_utf8_lossy(&file).contains("connectivity:connection_state_updated"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! May not touch clocks, threads or files: a log goes to a `Write` of the caller.

mod event;
pub mod fields;
mod numbers;
mod writer;

pub use writer::{EVENT_SCHEMA, Vantage, Writer};
