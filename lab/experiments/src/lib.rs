//! The laboratory: experiments of papers as plans of simulator runs, statistics, claims as predicates over
//! the results, and the report that shows them.
//!
//! Depends on the simulator and may use files and threads; the core below may not.

pub mod again;
pub mod agreement;
pub mod atlas;
pub mod claims;
pub mod experiments;
pub mod figure;
pub mod fit;
pub mod input;
pub mod leaderboard;
pub mod metrics;
pub mod output;
pub mod paper;
pub mod plan;
pub mod reexamination;
pub mod report;
pub mod reproduce;
pub mod run_folder;
pub mod scenario_file;
pub mod stats;
pub mod store;
pub mod sweep;
pub mod table;
pub mod topology;
pub mod validation;
pub mod words;
pub mod world;

mod xml;
