//! Park & Jang, "TCP Throughput Improvement over Vertical Handover between 3G LTE and WLAN": losses told apart by the
//! round-trip time, timeouts that were spurious, on the paper's six cells and at a handover, for TCP and for SCTP.

pub mod claims;
pub mod grid;
pub mod measure;
