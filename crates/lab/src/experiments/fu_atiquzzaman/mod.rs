//! Fu & Atiquzzaman, "Improving End-to-End Throughput of Mobile IP using SCTP": SCTP, TCP Reno and TCP SACK from a mobile
//! that changes its Mobile IP agent and loses several segments of a window each time.

pub mod grid;
pub mod judging;
pub mod measure;
pub mod paper;
