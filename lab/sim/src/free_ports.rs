//! [`FreePorts`]: gives the clients without a port a free one.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario::ScenarioError;

/// The first port that a client without one may get.
const FIRST: u16 = 10_000;

/// The ports in use at each host, or in another group that shares them.
#[derive(Debug, Default)]
pub(crate) struct FreePorts<'s> {
    taken: BTreeSet<(&'s str, u16)>,
    /// The port at which to continue the search; `None` after the last one.
    next: BTreeMap<&'s str, Option<u16>>,
}

impl<'s> FreePorts<'s> {
    /// Marks a port of the scenario as taken.
    pub(crate) fn take(&mut self, host: &'s str, port: u16) {
        self.taken.insert((host, port));
    }

    /// Returns the next free port from 10000 on. `key` names the client's port in the error.
    pub(crate) fn next(&mut self, host: &'s str, key: impl Fn() -> String) -> Result<u16, ScenarioError> {
        let next = self.next.entry(host).or_insert(Some(FIRST));
        while let Some(port) = *next {
            *next = port.checked_add(1);
            if !self.taken.contains(&(host, port)) {
                return Ok(port);
            }
        }
        Err(ScenarioError {
            file: None,
            line: None,
            key: key(),
            message: format!(
                "no port from {FIRST} to {} is free: too many associations or connections without client_port; set \
                 client_port or use fewer",
                u16::MAX
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_ascend_past_those_taken_and_end_with_an_error() {
        let mut ports = FreePorts::default();
        ports.take("a", 10_001);
        ports.take("b", 10_000);
        let mut next = |host| ports.next(host, || format!("association.{host}.client_port"));
        assert_eq!([next("a"), next("a"), next("b")], [Ok(10_000), Ok(10_002), Ok(10_001)]);
        let last = (10_003..=u16::MAX).map(|_| next("a")).last();
        assert_eq!(last, Some(Ok(u16::MAX)));
        let none = next("a").unwrap_err().to_string();
        assert!(none.starts_with("association.a.client_port: no port from 10000 to 65535 is free"), "{none}");
        assert_eq!(next("b"), Ok(10_002));
    }
}
