//! Options of the buffers beyond their sizes.

/// Buffers that follow the path; by default they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferConfig {
    /// The receive buffer may grow up to so many bytes, when the application read more than half of it in a round trip: the
    /// window never holds a sender back that the path would not (dynamic right-sizing). `Config::receive_buffer` is where it
    /// begins; at least that. `None`, the default: it stays there.
    pub max_receive_buffer: Option<u32>,
}

/// What a message or a chunk is charged at least in either buffer, in bytes: about what keeping it takes beside its data. Else a
/// million one-byte messages, which take some 200 MB, would fit a buffer of 1 MiB.
pub(crate) const MIN_CHARGE: u64 = 256;
