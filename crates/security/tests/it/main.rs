//! All integration tests of `security` in one program: what they share is compiled and linked once.

mod arbitrary_messages;
mod association;
mod false_start;
mod handshake;
mod joint;
mod on_path;
mod other_stacks;
mod prefix_truncation;
mod secured;
mod support;
mod vectors;
