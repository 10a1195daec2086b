//! All integration tests of `emu` in one program: what they share is compiled and linked once.

mod fast;
mod hosts;
