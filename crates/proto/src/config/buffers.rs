//! What small messages are charged in the buffers.

/// What a message or a chunk is charged at least in either buffer, in bytes: about what keeping it takes beside its data. Else a
/// million one-byte messages, which take some 200 MB, would fit a buffer of 1 MiB.
pub(crate) const MIN_CHARGE: u64 = 256;
