//! A scenario's associations, TCP connections and applications as real stacks in the emulator's hosts: the
//! same file that `msctp-lab sim` runs in virtual time, in real time with the `msctp` crate's endpoints over
//! UDP and the kernel's TCP.
//!
//! Each host of the scenario is a network namespace ([`msctp_emu`]); a thread in it runs its endpoints, its
//! TCP sockets and its applications, which are the simulator's own. The simulator
//! ([`msctp_sim::RealStackRun`]) records their events and computes summary and series, with the code of a
//! simulation.
//!
//! `docs/emulator.md` lists the differences from a simulation.
#![cfg(target_os = "linux")]

mod alarm;
mod host;
mod run;
mod sctp;
mod stage;
mod tcp;

pub use run::{Error, Live, Options, run};
