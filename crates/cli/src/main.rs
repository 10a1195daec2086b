//! The msctp command.
fn main() {}
