//! [`StreamTable`]: per-stream state that costs nothing for streams never used. No state of its own.

/// Streams per page. Access to one stream allocates its page.
const PAGE: usize = 64;

/// A table from stream number to `T`, where every stream begins as `T::default()`.
///
/// Pages are allocated when first touched: 65,535 streams cost nothing at set-up, and one message on a high
/// stream costs one page and at most 8 KiB of page pointers.
#[derive(Debug, Default)]
pub(crate) struct StreamTable<T> {
    pages: Vec<Option<Box<[T]>>>,
    touched: usize,
}

impl<T: Default> StreamTable<T> {
    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), touched: 0 }
    }

    /// Returns the state of `stream`. The caller must check that the stream exists.
    #[inline]
    pub(crate) fn entry(&mut self, stream: u16) -> &mut T {
        let (page, slot) = (usize::from(stream) / PAGE, usize::from(stream) % PAGE);
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.touch(page);
        }
        let page = self.pages[page].get_or_insert_default();
        &mut page[slot]
    }

    #[cold]
    fn touch(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some((0..PAGE).map(|_| T::default()).collect());
        self.touched += 1;
    }

    /// Visits the states of all streams whose pages were touched.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(u16, &mut T)) {
        for (page, states) in self.pages.iter_mut().enumerate() {
            for (slot, state) in states.iter_mut().flatten().enumerate() {
                each((page * PAGE + slot) as u16, state);
            }
        }
    }

    /// Returns the bytes of memory of the pages.
    pub(crate) fn memory(&self) -> u64 {
        let pages = self.pages.len() * size_of::<Option<Box<[T]>>>();
        (pages + self.touched * PAGE * size_of::<T>()) as u64
    }

    /// Returns the most bytes of memory that the first access to `streams` further streams takes.
    pub(crate) fn memory_of(streams: usize) -> u64 {
        let pages = streams.min(usize::from(u16::MAX) / PAGE + 1);
        (pages * PAGE * size_of::<T>()) as u64
    }

    /// Returns the state of `stream` if its page was touched.
    #[inline]
    pub(crate) fn get(&self, stream: u16) -> Option<&T> {
        let page = self.pages.get(usize::from(stream) / PAGE)?.as_deref()?;
        page.get(usize::from(stream) % PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_and_pages_come_when_touched() {
        let mut table = StreamTable::<u16>::new();
        *table.entry(65_534) = 7;
        *table.entry(3) = 9;
        assert_eq!((*table.entry(65_534), *table.entry(3), *table.entry(4)), (7, 9, 0));
        assert_eq!(table.pages.iter().flatten().count(), 2);
        assert_eq!(table.memory(), 1024 * 16 + 2 * 64 * 2);
    }
}
