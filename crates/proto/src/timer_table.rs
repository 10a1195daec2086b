//! [`timer_table!`]: the timers of one part of an association, and [`earlier`].

use msctp_units::Time;

/// Returns the earlier of two optional deadlines.
#[inline]
pub(crate) fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Declares a table of timers as an enum, in the order in which timers due together are handled.
macro_rules! timer_table {
    ($(#[$doc:meta])* $table:ident { $($(#[$timer_doc:meta])* $timer:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        enum $table {
            $($(#[$timer_doc])* $timer,)*
        }

        impl $table {
            /// Calls `handle` for each timer. Like `earliest` it is not a loop, since most timers take a load
            /// and a branch.
            #[inline(always)]
            fn for_each(mut handle: impl FnMut(Self)) {
                $(handle(Self::$timer);)*
            }

            /// Returns the earliest of the deadlines.
            #[inline(always)]
            fn earliest(deadline: impl Fn(Self) -> Option<Time>) -> Option<Time> {
                let mut next = None;
                $(next = $crate::timer_table::earlier(next, deadline(Self::$timer));)*
                next
            }
        }
    };
}
pub(crate) use timer_table;
