//! [`Rare`]: state that most associations never need, allocated at its first write.

use core::ops::{Deref, DerefMut};

/// Value of a [`Rare`] before its first write, equal to the value of `Default`.
pub(crate) trait Untouched: Default + 'static {
    /// The value.
    const UNTOUCHED: &'static Self;
}

/// Declares a struct for a [`Rare`], with the value of each field before the first write.
macro_rules! rare_state {
    ($(#[$doc:meta])* $vis:vis struct $state:ident {
        $($(#[$field_doc:meta])* $field_vis:vis $field:ident: $type:ty = $initial:expr,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        $vis struct $state {
            $($(#[$field_doc])* $field_vis $field: $type,)*
        }

        impl $crate::rare::Untouched for $state {
            const UNTOUCHED: &'static Self = &Self { $($field: $initial,)* };
        }

        impl Default for $state {
            fn default() -> Self {
                Self { $($field: $initial,)* }
            }
        }
    };
}
pub(crate) use rare_state;

/// A `T` that is allocated at its first write.
///
/// Reading never allocates, and any `&mut T` does. Code that runs for each packet must first check whether
/// there is anything to change.
#[derive(Debug)]
pub(crate) struct Rare<T>(Option<Box<T>>);

impl<T> Rare<T> {
    /// Returns whether the value was written.
    #[inline]
    pub(crate) fn is_touched(&self) -> bool {
        self.0.is_some()
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<T> for Rare<T> {
    fn from(value: T) -> Self {
        Self(Some(Box::new(value)))
    }
}

impl<T: Untouched> Deref for Rare<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::UNTOUCHED)
    }
}

impl<T: Untouched> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct State {
        number: u32,
        list: Vec<u8>,
    }

    impl Untouched for State {
        const UNTOUCHED: &'static Self = &Self { number: 0, list: Vec::new() };
    }

    #[test]
    fn reading_takes_no_memory_and_writing_keeps() {
        let mut rare = Rare::<State>::default();
        assert!(rare.list.is_empty() && rare.number == 0 && !rare.is_touched());
        rare.number = 3;
        rare.list.push(1);
        assert_eq!(*rare, State { number: 3, list: vec![1] });
        assert!(rare.is_touched());
        assert_eq!(*State::UNTOUCHED, State::default());
        assert_eq!(core::mem::size_of_val(&rare), core::mem::size_of::<usize>());
    }
}
