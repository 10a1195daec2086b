//! One folder per paper: its plan of runs, what is measured in a run, its claims, its figures.

pub mod kim_koh;
