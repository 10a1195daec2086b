//! Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two movements, loads
//! from 0 to 90 %, and the accuracy of the estimator.

pub mod claims;
pub mod estimation;
pub mod grid;
pub mod measure;
