//! [`nearest_rank`]: percentiles of a run's figures.

/// Returns the percentile of sorted values by the nearest rank, the ceil(`percent` / 100 × n)-th; `None`
/// without values. `percent` is from 0, the smallest value, to 100.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_rounded_up() {
        let values: Vec<u32> = (1..=21).collect();
        for (percent, value) in [(0, 1), (50, 11), (95, 20), (96, 21), (100, 21)] {
            assert_eq!(nearest_rank(&values, percent), Some(value), "{percent}");
        }
        assert_eq!(nearest_rank(&values[..20], 95), Some(19));
        assert_eq!(nearest_rank(&values[..0], 95), None);
    }
}
