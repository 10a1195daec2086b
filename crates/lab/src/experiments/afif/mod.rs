//! Afif, Martins, Tabbane, Godlewski, "SCTP-Cross Layer Mechanism Performance For EGPRS Data Handover in Variable Radio
//! Transmission Conditions": a download over EGPRS while the coding scheme falls and the mobile changes its cell, with and
//! without QoS_Measurement.

pub mod claims;
pub mod measure;
pub mod plan;
