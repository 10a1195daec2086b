//! All integration tests of msctp-lab in one program: what they share is compiled and linked once.

mod compare;
mod emulate;
mod emulate_ecn;
mod emulate_fast;
mod handover_pcap;
#[path = "../../../../crates/cli/tests/it/help.rs"]
mod help;
mod middleboxes_pcap;
mod mobile_ip_pcap;
mod packaging;
mod points;
#[path = "../../../../crates/cli/tests/it/process/mod.rs"]
mod process;
mod readme;
mod renamed;
mod reproduce;
mod sim_command;
mod sweep;
mod tcp_pcap;
mod tshark;

/// Path of the program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_msctp-lab");
