//! Benchmarks of the parts of msctp; the programs are in `benches`.
