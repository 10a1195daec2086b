//! All integration tests of `wire` in one program: what they share is compiled and linked once.

mod wire;
