//! The simulator's links in real time: hosts of a scenario as network namespaces, real programs in them, and
//! between their devices the same links, queues, routers, losses and mobility as in virtual time.
//!
//! An [`Emulation`] builds one network namespace per host, with a TUN device for each of its link ends. A
//! single thread, the pump, takes what the hosts send into the simulator ([`msctp_sim::OutsideHosts`]) and
//! hands out what arrives, each packet when the monotonic clock has reached the time the model gave it.
//! Nothing remains afterwards: the namespaces have no name and end with the threads and processes in them,
//! and [`contain`] makes all processes end with the command, however it ends.
//!
//! Needs Linux, `CAP_NET_ADMIN` and `CAP_SYS_ADMIN` (see [`need`]), `/dev/net/tun` and iproute2. Scope,
//! limits, and how time is kept: `docs/emulator.md`.
#![cfg(target_os = "linux")]

mod arrivals;
mod batch;
mod clock;
pub mod contain;

mod emulation;
mod host;
mod lateness;
pub mod need;
mod payload;
mod plan;
mod pump;
pub mod self_test;
pub mod session;
pub mod summary;

pub use clock::Clock;
pub use emulation::{Done, Emulation, Error, Options};
pub use host::Host;
pub use lateness::Lateness;
pub use plan::Mptcp;
pub use pump::take_priority;
pub use summary::Summary;
