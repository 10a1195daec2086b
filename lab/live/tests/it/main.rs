//! All integration tests of `live` in one program: what they share is compiled and linked once.

mod both_ways;
