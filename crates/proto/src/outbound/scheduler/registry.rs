//! Stream schedulers by name. A new scheduler adds one file and one line here.

use core::fmt;

use super::{FirstCome, Priority, RoundRobin, Scheduler, WeightedFair};

/// A registered scheduler.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerInfo {
    /// Its name in options and scenario files.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    make: fn() -> Box<dyn Scheduler>,
}

/// Name of the default.
pub(crate) const DEFAULT: &str = "first-come";

/// The registry.
#[rustfmt::skip]
const SCHEDULERS: &[SchedulerInfo] = &[
    SchedulerInfo { name: DEFAULT, summary: "in the order given (RFC 8260 §3.1)", make: || Box::new(FirstCome) },
    SchedulerInfo { name: "round-robin", summary: "streams take turns (§3.2)", make: || Box::<RoundRobin>::default() },
    SchedulerInfo { name: "round-robin-packet", summary: "streams take turns, a packet each (§3.3)", make: || Box::new(RoundRobin { by_packet: true, ..RoundRobin::default() }) },
    SchedulerInfo { name: "priority", summary: "the stream of the lowest value first (§3.4)", make: || Box::<Priority>::default() },
    SchedulerInfo { name: "fair", summary: "as many bytes for each stream (§3.5)", make: || Box::new(WeightedFair { equal: true, ..WeightedFair::default() }) },
    SchedulerInfo { name: "weighted-fair", summary: "bytes in proportion to the streams' values (§3.6)", make: || Box::<WeightedFair>::default() },
];

/// Returns all schedulers, in a fixed order, the default first.
pub fn schedulers() -> &'static [SchedulerInfo] {
    SCHEDULERS
}

/// Creates the scheduler called `name`.
///
/// # Errors
///
/// No scheduler has that name.
pub(crate) fn create(name: &str) -> Result<Box<dyn Scheduler>, UnknownScheduler> {
    let info = SCHEDULERS.iter().find(|info| info.name == name);
    info.map(|info| (info.make)()).ok_or_else(|| UnknownScheduler { name: name.to_owned() })
}

/// No scheduler has this name; the message lists the valid names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScheduler {
    /// The name requested.
    pub name: String,
}

impl core::error::Error for UnknownScheduler {}

impl UnknownScheduler {
    /// Describes the allowed names, to follow "want".
    pub fn want(&self) -> String {
        let names: Vec<&str> = SCHEDULERS.iter().map(|info| info.name).collect();
        format!("one of {}", names.join(", "))
    }
}

impl fmt::Display for UnknownScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no stream scheduler is called {:?}; want {}", self.name, self.want())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_scheduler_can_be_made_and_an_unknown_name_gets_the_list() {
        for info in schedulers() {
            assert!(create(info.name).is_ok(), "{}", info.name);
        }
        let error = create("round-robbin").unwrap_err().to_string();
        let start = format!("no stream scheduler is called {:?}; want one of first-come, ", "round-robbin");
        assert!(error.starts_with(&start) && error.ends_with(", weighted-fair"), "{error}");
    }
}
