//! A stateful firewall: packets from the outside pass only as answers to packets from the inside.

use std::collections::BTreeMap;

use msctp_units::{Span, Time};

use super::{End, Flow, Middlebox, Protocol};

/// Options of a firewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirewallOptions {
    /// Lifetime of a state after its last packet, in either direction.
    pub timeout: Span,
}

impl Default for FirewallOptions {
    /// Returns 120 s, the default of Linux's conntrack for UDP that was answered.
    fn default() -> Self {
        Self { timeout: Span::from_secs(120) }
    }
}

/// A firewall. A state is one flow: addresses, ports and protocol.
#[derive(Clone, Debug)]
pub(super) struct Firewall {
    timeout: Span,
    /// Flows by their ends inside and outside, each with the time of its last packet.
    states: BTreeMap<(Protocol, End, End), Time>,
    created: u64,
}

impl Firewall {
    pub(super) fn new(options: FirewallOptions) -> Self {
        Self { timeout: options.timeout, states: BTreeMap::new(), created: 0 }
    }
}

impl Middlebox for Firewall {
    fn outward(&mut self, now: Time, flow: &mut Flow) -> bool {
        let state = (flow.protocol, flow.source, flow.destination);
        let before = self.states.insert(state, now);
        if before.is_none_or(|last| now.since(last) > self.timeout) {
            self.created += 1;
        }
        true
    }

    fn inward(&mut self, now: Time, flow: &mut Flow) -> bool {
        let state = (flow.protocol, flow.destination, flow.source);
        match self.states.get_mut(&state) {
            Some(last) if now.since(*last) <= self.timeout => {
                *last = now;
                true
            }
            _ => false,
        }
    }

    fn created(&self) -> u64 {
        self.created
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_pass_until_the_state_times_out_and_nothing_else_does() {
        let mut firewall = Firewall::new(FirewallOptions { timeout: Span::from_secs(30) });
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        let end = |address, port| End { address, port };
        let (client, server, stranger) = (end(1, 9899), end(2, 9899), end(3, 9899));
        let flow = |source, destination| Flow { protocol: Protocol::Udp, source, destination };
        assert!(!firewall.inward(at(0), &mut flow(server, client)), "not asked for");
        assert!(firewall.outward(at(1), &mut flow(client, server)));
        assert!(firewall.inward(at(20), &mut flow(server, client)));
        assert!(!firewall.inward(at(20), &mut flow(stranger, client)));
        assert!(!firewall.inward(at(20), &mut flow(end(2, 53), client)), "another port");
        let tcp = Flow { protocol: Protocol::Tcp, ..flow(server, client) };
        assert!(!firewall.inward(at(20), &mut tcp.clone()));
        assert!(firewall.inward(at(50), &mut flow(server, client)), "the answer at 20 s refreshed it");
        assert!(!firewall.inward(at(81), &mut flow(server, client)));
        assert!(firewall.outward(at(82), &mut flow(client, server)));
        assert_eq!(firewall.created(), 2);
    }
}
