//! [`Streams`]: the streams that this end opens connections on. The lowest free one is used next, so that the
//! association's tables stay small.

use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Streams {
    freed: BTreeSet<u16>,
    /// The lowest stream that was never used.
    next: u32,
}

impl Streams {
    /// Creates an allocator that begins with `first` and uses every second stream.
    pub(super) fn new(first: u16) -> Self {
        Self { freed: BTreeSet::new(), next: first.into() }
    }

    /// Allocates a stream below `limit`.
    pub(super) fn take(&mut self, limit: u16) -> Option<u16> {
        if let Some(stream) = self.freed.pop_first() {
            return Some(stream);
        }
        let stream = u16::try_from(self.next).ok().filter(|&stream| stream < limit)?;
        self.next += 2;
        Some(stream)
    }

    pub(super) fn free(&mut self, stream: u16) {
        self.freed.insert(stream);
    }
}
