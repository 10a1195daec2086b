//! Common keys of radio links: probabilities, block errors, ranges of parameters.

use msctp_link::arq::InvalidRadio;
use msctp_link::{InvalidLoss, Probability};

use crate::scenario::document::Section;
use crate::scenario::error::Problem;

/// Reads a probability from 0 to 1.
pub(in crate::scenario) fn probability(
    section: &Section<'_, '_>,
    key: &'static str,
) -> Result<Option<Probability>, Problem> {
    let Some(p) = section.number(key)? else { return Ok(None) };
    Probability::new(key, p)
        .map(Some)
        .map_err(|e| Problem::new(section.key(key), format!("{p} is not a probability: want {}", e.want)))
}

/// Returns the problem of a share of blocks that cannot be lost in bursts of this length.
pub(super) fn impossible(error: &InvalidLoss) -> Problem {
    let key = if error.what == "mean_burst" { "mean_burst" } else { "bler" };
    Problem::new(key, format!("{} is not allowed: want {}", error.value, error.want))
}

/// Returns the problem of an invalid parameter. The keys have the parameters' names.
pub(super) fn invalid(error: InvalidRadio) -> Problem {
    Problem::new(error.what, format!("{} is not allowed: want {}", error.value, error.want))
}
