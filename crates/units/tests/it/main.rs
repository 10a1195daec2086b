//! All integration tests of `units` in one program: what they share is compiled and linked once.

mod citations;
mod common;
mod documents;
mod layers;
mod requirements;
mod security_page;
mod what_hurts;
mod words;
