//! Applications: what sends and reads. Each decides when it wants to be woken; none sees the network.

pub(crate) mod bulk;
pub(crate) mod cbr;
pub(crate) mod reader;
pub(crate) mod source;
pub(crate) mod video;
