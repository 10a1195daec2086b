//! Standard output, and words in it.

use std::io::{self, BufWriter, Write};

use crate::Failure;
use crate::system::cannot_write;

/// Writes to standard output. A reader that closes the pipe early, such as head, causes no failure.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Run(cannot_write("standard output", &e)))
        }
        _ => Ok(()),
    }
}

/// Formats a count with its noun: `1 run`, `2 runs`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "seed")), ["0 seeds", "1 seed", "2 seeds"]);
    }
}
