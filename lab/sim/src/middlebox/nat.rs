//! Network address and port translation for UDP and TCP, with the behaviours that RFC 4787 names.
//!
//! A mapping binds an inside transport address to a port of the NAT's public address. `mapping` says which
//! packets share one (§4.1); `filtering` says which packets from outside pass to it (§5). Ports are assigned
//! in order from the pool, without port preservation (§4.2.1), so that a new mapping never has its old port
//! until the pool has been used up.

use std::collections::BTreeMap;

use msctp_units::{Span, Time};

use super::{Change, End, Flow, Middlebox, Protocol};

/// The part of the remote transport address on which mapping or filtering depends (RFC 4787 §4.1, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// Neither address nor port.
    Endpoint,
    /// The address.
    Address,
    /// Address and port.
    AddressAndPort,
}

impl Dependence {
    /// Returns the part of a remote transport address that counts.
    fn part(self, remote: End) -> Option<(u32, Option<u16>)> {
        match self {
            Self::Endpoint => None,
            Self::Address => Some((remote.address, None)),
            Self::AddressAndPort => Some((remote.address, Some(remote.port))),
        }
    }
}

/// Options of a NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatOptions {
    /// Packets from one inside transport address share a port if they also share this part of the
    /// destination. `AddressAndPort` is a symmetric NAT.
    pub mapping: Dependence,
    /// Packets from outside pass if the inside has sent to this part of their source.
    pub filtering: Dependence,
    /// Lifetime of a mapping, and of what its filter lets in, after the last packet from inside (RFC 4787
    /// §4.3: packets from outside do not refresh it).
    pub timeout: Span,
    /// The first and the last port of the pool.
    pub ports: (u16, u16),
}

impl Default for NatOptions {
    /// Returns endpoint-independent mapping (RFC 4787 REQ-1), the strictest filtering, 120 s (REQ-5) and
    /// every port from 1024.
    fn default() -> Self {
        Self {
            mapping: Dependence::Endpoint,
            filtering: Dependence::AddressAndPort,
            timeout: Span::from_secs(120),
            ports: (1024, u16::MAX),
        }
    }
}

/// Identifies the packets that share a mapping.
type Key = (Protocol, End, Option<(u32, Option<u16>)>);

/// The mapping of a port.
#[derive(Clone, Debug)]
struct Mapping {
    key: Key,
    /// Time of the last packet from inside.
    last: Time,
    /// The remote ends to which the inside has sent, each with the last time.
    remotes: BTreeMap<End, Time>,
}

/// A NAT.
#[derive(Clone, Debug)]
pub(super) struct Nat {
    options: NatOptions,
    public: u32,
    /// Mappings by port, expired ones included until their port is needed.
    mappings: BTreeMap<(Protocol, u16), Mapping>,
    /// Ports by key.
    ports: BTreeMap<Key, u16>,
    /// The port to try next.
    next: u16,
    created: u64,
}

impl Nat {
    pub(super) fn new(options: NatOptions, public: u32) -> Self {
        let next = options.ports.0;
        Self { options, public, mappings: BTreeMap::new(), ports: BTreeMap::new(), next, created: 0 }
    }

    fn is_alive(&self, now: Time, last: Time) -> bool {
        now.since(last) <= self.options.timeout
    }

    /// Returns the port of the live mapping of these packets.
    fn port_of(&self, now: Time, key: &Key) -> Option<u16> {
        let port = *self.ports.get(key)?;
        let mapping = self.mappings.get(&(key.0, port))?;
        self.is_alive(now, mapping.last).then_some(port)
    }

    /// Creates a mapping; `None` if every port of the pool has one.
    fn map(&mut self, now: Time, key: Key) -> Option<u16> {
        let (first, last) = self.options.ports;
        for _ in first..=last {
            let port = self.next;
            self.next = if port == last { first } else { port + 1 };
            let taken = self.mappings.get(&(key.0, port)).is_some_and(|old| self.is_alive(now, old.last));
            if !taken {
                let mapping = Mapping { key, last: now, remotes: BTreeMap::new() };
                if let Some(old) = self.mappings.insert((key.0, port), mapping)
                    && self.ports.get(&old.key) == Some(&port)
                {
                    self.ports.remove(&old.key);
                }
                self.ports.insert(key, port);
                self.created += 1;
                return Some(port);
            }
        }
        None
    }
}

impl Middlebox for Nat {
    fn outward(&mut self, now: Time, flow: &mut Flow) -> bool {
        let key = (flow.protocol, flow.source, self.options.mapping.part(flow.destination));
        let Some(port) = self.port_of(now, &key).or_else(|| self.map(now, key)) else { return false };
        if let Some(mapping) = self.mappings.get_mut(&(flow.protocol, port)) {
            mapping.last = now;
            mapping.remotes.insert(flow.destination, now);
        }
        flow.source = End { address: self.public, port };
        true
    }

    fn inward(&mut self, now: Time, flow: &mut Flow) -> bool {
        let Some(mapping) = self.mappings.get(&(flow.protocol, flow.destination.port)) else { return false };
        let wanted = self.options.filtering.part(flow.source);
        let passes = |(&remote, &last): (&End, &Time)| {
            self.options.filtering.part(remote) == wanted && self.is_alive(now, last)
        };
        if flow.destination.address != self.public
            || !self.is_alive(now, mapping.last)
            || !mapping.remotes.iter().any(passes)
        {
            return false;
        }
        flow.destination = mapping.key.1;
        true
    }

    fn change(&mut self, change: Change) {
        if change == Change::Rebind {
            self.mappings.clear();
            self.ports.clear();
        }
    }

    fn created(&self) -> u64 {
        self.created
    }
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;
