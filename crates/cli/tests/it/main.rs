//! All integration tests of `cli` in one program: what they share is compiled and linked once.

mod client;
mod decrypt;
mod doctor;
mod forward;
mod help;
mod identity;
mod library;
mod moves;
mod net;
mod net_faults;
mod net_security;
mod process;
mod readme;
mod recv_disk;
mod renamed;
mod scale;
mod service;
mod sources;
mod status;
mod targets;
mod tcp;
#[path = "tshark/dissect.rs"]
mod tshark;
mod watch;

/// Path of the program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_msctp");
