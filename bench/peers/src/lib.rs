//! SCTP stacks behind one interface, to be measured in the same run: two ends in memory, joined by wires
//! without delay and loss. No sockets; virtual time.

pub mod msctp;
pub mod pair;
pub mod peers;
