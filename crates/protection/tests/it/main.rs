//! All integration tests of `protection` in one program: what they share is compiled and linked once.

mod arbitrary_bytes;
mod support;
