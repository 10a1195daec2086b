//! Applications that send and read. Each requests its wake-ups; none sees the network.

pub(crate) mod bulk;
pub(crate) mod cbr;
pub(crate) mod reader;
pub(crate) mod source;
pub(crate) mod video;
