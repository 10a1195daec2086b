//! TSNs as packet numbers, which do not wrap.

/// The TSNs of one direction.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The highest number so far.
    highest: Option<u64>,
}

impl Numbers {
    /// Returns the number of a TSN: the TSN until it wraps, then 2^32 more. Returns `None` for a TSN below
    /// the first.
    pub(crate) fn of(&mut self, tsn: u32) -> Option<u64> {
        let highest = self.highest.unwrap_or(u64::from(tsn));
        // The nearest number with these low 32 bits (RFC 1982).
        let ahead = tsn.wrapping_sub(highest as u32).cast_signed();
        let number = highest.checked_add_signed(i64::from(ahead))?;
        self.highest = Some(highest.max(number));
        Some(number)
    }
}

/// The chunks that this end sent and the peer acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The lowest number that is not acknowledged.
    next: Option<u64>,
}

impl Acknowledged {
    /// Records a sent chunk.
    pub(crate) fn sent(&mut self, number: u64) {
        self.next.get_or_insert(number);
    }

    /// Returns the first and last number that a cumulative TSN ack newly acknowledges.
    pub(crate) fn advance(&mut self, cumulative: u64) -> Option<(u64, u64)> {
        let first = self.next.filter(|first| *first <= cumulative)?;
        self.next = Some(cumulative + 1);
        Some((first, cumulative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_past_a_wrap_of_the_tsns() {
        let mut numbers = Numbers::default();
        let tsns = [u32::MAX - 1, u32::MAX, 0, u32::MAX, 5];
        let wrapped = 1 << 32;
        let expected = [wrapped - 2, wrapped - 1, wrapped, wrapped - 1, wrapped + 5].map(Some);
        assert_eq!(tsns.map(|tsn| numbers.of(tsn)), expected);
    }

    #[test]
    fn a_tsn_below_the_first_has_no_number() {
        let mut numbers = Numbers::default();
        assert_eq!([0, u32::MAX, 1].map(|tsn| numbers.of(tsn)), [Some(0), None, Some(1)]);
    }

    #[test]
    fn each_number_is_acknowledged_once() {
        let mut acknowledged = Acknowledged::default();
        assert_eq!(acknowledged.advance(9), None, "nothing was sent");
        (10..=14).for_each(|number| acknowledged.sent(number));
        let ranges = [9, 11, 11, 14].map(|cumulative| acknowledged.advance(cumulative));
        assert_eq!(ranges, [None, Some((10, 11)), None, Some((12, 14))]);
    }
}
