//! [`ReplayWindow`]: which records of an epoch have been received.

/// A sliding window over the sequence numbers of one epoch (RFC 9147 §4.5.1).
///
/// A ring of bits, cleared a word at a time as the window advances (RFC 6479).
#[derive(Debug)]
pub(crate) struct ReplayWindow {
    /// Bits of the window, empty until the first record, so that the keys of the next epoch take no memory.
    words: Box<[u64]>,
    /// Sequence numbers below `next - size` are too old.
    size: u64,
    /// One plus the highest sequence number received; 0 before the first record.
    next: u64,
}

impl ReplayWindow {
    /// Creates a window of `size` records.
    pub(crate) fn new(size: u16) -> Self {
        Self { words: Box::default(), size: size.into(), next: 0 }
    }

    /// Returns one plus the highest sequence number received; 0 before the first record.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether the record is neither a duplicate nor older than the window.
    pub(crate) fn is_new(&self, sequence_number: u64) -> bool {
        if sequence_number >= self.next {
            return true;
        }
        self.next - sequence_number <= self.size
            && self.words[self.word(sequence_number)] & bit(sequence_number) == 0
    }

    /// Marks a new record as received.
    pub(crate) fn insert(&mut self, sequence_number: u64) {
        if self.words.is_empty() {
            // One word more than the window: the words of both ends are whole.
            self.words = vec![0; self.size.div_ceil(64) as usize + 1].into_boxed_slice();
        }
        if sequence_number >= self.next {
            let (last, new) = (self.next.saturating_sub(1) / 64, sequence_number / 64);
            let len = self.words.len() as u64;
            for word in (last + 1..=new).rev().take(self.words.len()) {
                self.words[(word % len) as usize] = 0;
            }
            self.next = sequence_number + 1;
        }
        let word = self.word(sequence_number);
        self.words[word] |= bit(sequence_number);
    }

    /// Marks a record of the window as not received.
    pub(crate) fn remove(&mut self, sequence_number: u64) {
        if !self.words.is_empty() && self.next.saturating_sub(sequence_number) <= self.size {
            let word = self.word(sequence_number);
            self.words[word] &= !bit(sequence_number);
        }
    }

    fn word(&self, sequence_number: u64) -> usize {
        (sequence_number / 64 % self.words.len() as u64) as usize
    }
}

const fn bit(sequence_number: u64) -> u64 {
    1 << (sequence_number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_is_new_once_and_too_old_beyond_the_window() {
        let mut window = ReplayWindow::new(64);
        assert!(window.is_new(0));
        window.insert(0);
        assert!(!window.is_new(0));
        window.insert(64);
        assert!(window.is_new(1), "the oldest number of the window");
        assert!(!window.is_new(0));
        window.insert(65);
        assert!(!window.is_new(1), "just left the window");
        window.remove(65);
        window.remove(1);
        assert!(window.is_new(65) && !window.is_new(64) && !window.is_new(1));
        window.insert(1 << 40);
        assert!(!window.is_new(65) && window.is_new((1 << 40) - 63) && !window.is_new((1 << 40) - 64));
    }

    proptest! {
        /// The window agrees with a set of all numbers received.
        #[test]
        fn agrees_with_a_set(
            size in prop_oneof![Just(64u16), Just(100), Just(1000)],
            steps in prop::collection::vec((0u64..1200, any::<bool>()), 1..300),
        ) {
            let (mut window, mut received) = (ReplayWindow::new(size), BTreeSet::new());
            for (step, back) in steps {
                let number = if back { window.next().saturating_sub(step) } else { window.next() + step };
                let old = window.next().saturating_sub(number) > u64::from(size);
                prop_assert_eq!(window.is_new(number), !old && !received.contains(&number));
                if window.is_new(number) {
                    window.insert(number);
                    received.insert(number);
                }
            }
        }
    }
}
