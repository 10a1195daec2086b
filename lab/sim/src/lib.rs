//! A deterministic network simulator around the msctp core.
//!
//! A [`Scenario`](scenario::Scenario) describes hosts, routers, links, associations, applications and
//! actions. A [`Simulation`] runs it in virtual time: the same scenario and seed put the same bytes on every
//! link at the same nanosecond, on any machine and in any number of threads. A run returns a [`Summary`] and,
//! on request, time [`Series`], captures of links and a hash of all delivered packets.
//!
//! ```
//! use msctp_sim::{Simulation, scenario::Scenario};
//!
//! let text = r#"
//!     duration = "1s"
//!     [[node]]
//!     name = "a"
//!     kind = "host"
//!     [[node]]
//!     name = "b"
//!     kind = "host"
//!     [[link]]
//!     name = "wire"
//!     a = "a"
//!     b = "b"
//!     address_a = "10.0.0.1"
//!     address_b = "10.0.0.2"
//!     rate = "10Mbps"
//!     delay = "5ms"
//!     [[app]]
//!     name = "noise"
//!     type = "cbr"
//!     from = "10.0.0.1"
//!     to = "10.0.0.2"
//!     rate = "1Mbps"
//! "#;
//! let scenario = Scenario::from_toml(text, "noise.toml", &[])?;
//! let mut simulation = Simulation::new(&scenario, None)?;
//! simulation.run();
//! let summary = simulation.summary();
//! assert!(summary.cbr[0].sent >= 100);
//! # Ok::<(), msctp_sim::scenario::ScenarioError>(())
//! ```
//!
//! May not touch clocks, threads or files: a capture goes to a `Write` of the caller.

mod action;
mod air;
mod app;
mod capture;
mod construct;
mod encapsulation;
mod event;
mod event_lines;
mod free_ports;
mod held;
mod hop;
mod host;
mod index;
mod ip_ecn;
mod line;
mod link_models;
mod losses;
mod middlebox;
mod mobile_ip;
mod mobility;
mod network;
mod nodes;
mod observer;
mod optimum;
mod outside;
mod outside_hosts;
mod packet;
mod packet_id;
mod percentile;
mod probe;
pub mod random;
pub mod real_stacks;
mod report;
pub mod scenario;
pub mod series;
mod simulation;
pub mod summary;
mod tcp_line;
mod trace_hash;

pub use optimum::optimum;
pub use outside::{Heard, News};
pub use outside_hosts::{OutsideHosts, OutsideInterface, Stray};
pub use packet_id::PacketId;
pub use percentile::nearest_rank;
pub use real_stacks::RealStackRun;
pub use series::Series;
pub use simulation::Simulation;
pub use summary::Summary;
