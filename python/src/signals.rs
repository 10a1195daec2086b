//! Ctrl-C during work without the interpreter's lock.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Minimum time between two checks. A check takes the interpreter's lock, for which another Python thread may
/// make it wait.
const BETWEEN: Duration = Duration::from_millis(50);

/// Checks for signals at most every 50 ms.
pub(crate) struct Signals {
    checked: Instant,
}

impl Signals {
    // Real time, not the run's: how long a user waits for Ctrl-C.
    #[expect(clippy::disallowed_methods)]
    pub(crate) fn new() -> Self {
        Self { checked: Instant::now() }
    }

    /// Runs Python's signal handlers if a check is due.
    ///
    /// # Errors
    /// The exception of a handler, such as KeyboardInterrupt.
    pub(crate) fn check(&mut self) -> PyResult<()> {
        if self.checked.elapsed() < BETWEEN {
            return Ok(());
        }
        *self = Self::new();
        Python::attach(|py| py.check_signals())
    }
}
