//! [`Advertiser`]: times and content of an agent's advertisements.

use std::net::Ipv4Addr;

use msctp_units::Time;

use super::AgentOptions;
use super::message::advertisement::{Advertisement, next_sequence};
use super::message::seconds;

/// Sends advertisements at a fixed interval (RFC 5944 §2.3).
#[derive(Clone, Debug)]
pub(crate) struct Advertiser {
    options: AgentOptions,
    next: Time,
    sequence: u16,
}

impl Advertiser {
    pub(crate) fn new(options: AgentOptions) -> Self {
        Self { options, next: Time::ZERO + options.offset, sequence: 0 }
    }

    pub(crate) fn timeout(&self) -> Time {
        self.next
    }

    /// Returns an advertisement if one is due.
    pub(crate) fn poll(
        &mut self,
        now: Time,
        router: Ipv4Addr,
        home: bool,
        care_of: Vec<Ipv4Addr>,
    ) -> Option<Advertisement> {
        if now < self.next {
            return None;
        }
        self.next = now + self.options.interval;
        let sequence = self.sequence;
        self.sequence = next_sequence(sequence);
        Some(Advertisement {
            router,
            // At least a second: 0 would mean that the agent has shut down.
            lifetime: seconds(self.options.lifetime).max(1),
            sequence,
            registration_lifetime: seconds(self.options.registration_lifetime),
            home,
            care_of,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use msctp_units::Span;

    #[test]
    fn advertisements_come_at_the_interval_and_are_counted() {
        let options = AgentOptions { offset: Span::from_millis(300), ..AgentOptions::default() };
        let mut advertiser = Advertiser::new(options);
        let router = Ipv4Addr::new(10, 0, 1, 1);
        assert_eq!(advertiser.poll(Time::ZERO, router, true, Vec::new()), None);
        let mut sent = Vec::new();
        for _ in 0..3 {
            let now = advertiser.timeout();
            let it = advertiser.poll(now, router, true, Vec::new()).unwrap();
            sent.push((now.as_nanos() / 1_000_000, it.sequence, it.lifetime));
        }
        assert_eq!(sent, [(300, 0, 3), (1300, 1, 3), (2300, 2, 3)]);
    }
}
