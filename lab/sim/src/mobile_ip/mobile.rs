//! [`Mobile`]: a mobile's agent selection and registrations (RFC 5944 §2.4 and §3.6). Uses messages, times
//! and the current cells; sends nothing itself.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use msctp_units::{Span, Time};

use super::home_agent::time_stamp;
use super::message::advertisement::Advertisement;
use super::message::registration::{Reply, Request};
use super::message::seconds;
use super::{Datagram, MobileOptions, PORT, Switching};

/// An agent whose advertisement was received.
#[derive(Clone, Debug)]
struct Heard {
    /// `None`: the home agent.
    care_of: Option<Ipv4Addr>,
    registration_lifetime: u16,
    sequence: u16,
    at: Time,
    expires: Time,
}

/// A request without a reply.
#[derive(Clone, Copy, Debug)]
struct Pending {
    agent: Ipv4Addr,
    care_of: Ipv4Addr,
    lifetime: u16,
    identification: u64,
    /// Times of the first and the last request of this series.
    began: Time,
    sent: Time,
    /// Time of the next retransmission.
    again: Time,
    wait: Span,
    attempts: u32,
    renewal: bool,
}

/// An event of the mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The mobile changed to this agent.
    Switched { to: Ipv4Addr },
    /// The mobile lost its last agent.
    Lost,
    /// The home agent accepted a registration (lifetime in seconds; 0 for a deregistration at home).
    Registered { lifetime: u16, after: Span, attempts: u32, renewal: bool },
    /// A registration was denied, with the reply's code.
    Denied { code: u8 },
}

/// A mobile.
#[derive(Clone, Debug)]
pub(crate) struct Mobile {
    home_address: Ipv4Addr,
    home_agent: Ipv4Addr,
    options: MobileOptions,
    /// Advertisements by the agent's address.
    heard: BTreeMap<Ipv4Addr, Heard>,
    /// Agents in whose cells the mobile is, the strongest first.
    covered: Vec<Ipv4Addr>,
    /// The agent in use.
    agent: Option<Ipv4Addr>,
    pending: Option<Pending>,
    /// Time of the next renewal.
    renew: Option<Time>,
    /// True while the home agent may have a binding.
    away: bool,
    /// Number of requests sent.
    requests: u64,
    out: VecDeque<Datagram>,
    notes: VecDeque<Note>,
}

impl Mobile {
    /// Creates a mobile without agents.
    pub(crate) fn new(home_address: Ipv4Addr, home_agent: Ipv4Addr, options: MobileOptions) -> Self {
        Self {
            home_address,
            home_agent,
            options,
            heard: BTreeMap::new(),
            covered: Vec::new(),
            agent: None,
            pending: None,
            renew: None,
            away: false,
            requests: 0,
            out: VecDeque::new(),
            notes: VecDeque::new(),
        }
    }

    /// Returns the agent whose base station receives the mobile's frames: the agent in use or, outside that
    /// one's cell, the strongest. `None` without an agent and outside all cells.
    pub(crate) fn attached(&self) -> Option<Ipv4Addr> {
        match self.agent {
            Some(agent) if self.covered.contains(&agent) => Some(agent),
            agent => self.covered.first().copied().or(agent),
        }
    }

    /// Sets the agents in whose cells the mobile is, the strongest first.
    pub(crate) fn set_covered(&mut self, covered: Vec<Ipv4Addr>) {
        self.covered = covered;
    }

    /// Handles an agent advertisement.
    pub(crate) fn handle_advertisement(&mut self, now: Time, it: &Advertisement) {
        let home = it.router == self.home_agent;
        let care_of = it.care_of.first().copied().filter(|_| !home);
        // An agent of another network without a care-of address is useless.
        if !home && care_of.is_none() {
            return;
        }
        let before = self.heard.get(&it.router).filter(|heard| heard.expires > now);
        let known = before.is_some();
        // RFC 5944 §2.4.4: a number that fell below 256 reveals a restart, after which the agent has no
        // registrations.
        let restarted = before.is_some_and(|heard| it.sequence < heard.sequence && it.sequence < 256);
        let expires = now + Span::from_secs(u64::from(it.lifetime));
        let heard = Heard {
            care_of,
            registration_lifetime: it.registration_lifetime,
            sequence: it.sequence,
            at: now,
            expires,
        };
        self.heard.insert(it.router, heard);
        match self.agent {
            Some(agent) if agent == it.router => {
                if restarted && !home {
                    self.register(now, it.router, false);
                }
            }
            None => self.switch(now, it.router),
            Some(_) if self.options.switching == Switching::Eager && !known => self.switch(now, it.router),
            Some(_) => {}
        }
    }

    /// Changes to this agent.
    fn switch(&mut self, now: Time, to: Ipv4Addr) {
        self.agent = Some(to);
        self.notes.push_back(Note::Switched { to });
        (self.pending, self.renew) = (None, None);
        if to != self.home_agent || self.away {
            self.register(now, to, false);
        }
    }

    /// Sends the first request of a series: a registration through a foreign agent, a deregistration at home.
    fn register(&mut self, now: Time, agent: Ipv4Addr, renewal: bool) {
        let Some(heard) = self.heard.get(&agent) else { return };
        let (care_of, lifetime) = match heard.care_of {
            // RFC 5944 §3.6.1.2: at home, lifetime 0 and the home address as care-of address.
            None => (self.home_address, 0),
            Some(care_of) => (care_of, seconds(self.options.lifetime).min(heard.registration_lifetime)),
        };
        self.away |= lifetime > 0;
        let wait = self.options.retry;
        self.pending = Some(Pending {
            agent,
            care_of,
            lifetime,
            identification: 0,
            began: now,
            sent: now,
            again: now,
            wait,
            attempts: 0,
            renewal,
        });
        self.request(now);
    }

    /// Sends the pending request, each time with a new identification (RFC 5944 §5.7).
    fn request(&mut self, now: Time) {
        let Some(pending) = &mut self.pending else { return };
        // The bits of the fraction below a nanosecond count the requests: a reply is matched by the lower
        // half alone, and waits of whole seconds would otherwise repeat it.
        let identification = time_stamp(now) + self.requests;
        self.requests += 1;
        pending.identification = identification;
        pending.sent = now;
        pending.attempts += 1;
        pending.again = now + pending.wait;
        // §3.6.3: each wait is at least twice the previous one, up to the lifetime.
        pending.wait = (pending.wait * 2).min(self.options.lifetime.max(self.options.retry));
        let request = Request {
            lifetime: pending.lifetime,
            home_address: self.home_address,
            home_agent: self.home_agent,
            care_of: pending.care_of,
            identification,
        };
        self.out.push_back(Datagram {
            source: self.home_address,
            source_port: PORT,
            destination: pending.agent,
            destination_port: PORT,
            payload: request.encode(),
        });
    }

    /// Handles a datagram for the registration port.
    pub(crate) fn handle_datagram(&mut self, now: Time, datagram: &Datagram) {
        let Some(reply) = Reply::parse(&datagram.payload) else { return };
        // RFC 5944 §3.6.2: a reply to an earlier request is dropped.
        let Some(pending) = self.pending else { return };
        if pending.identification as u32 != reply.identification as u32
            || reply.home_address != self.home_address
        {
            return;
        }
        if reply.code > 1 {
            // The retransmission timer stays armed.
            self.notes.push_back(Note::Denied { code: reply.code });
            return;
        }
        self.pending = None;
        self.away = reply.lifetime > 0;
        // Counted from the request. Renewed at a quarter of the lifetime left, so that several requests may
        // be lost.
        let lifetime = Span::from_secs(u64::from(reply.lifetime));
        self.renew = (reply.lifetime > 0).then(|| pending.sent + lifetime.mul_ratio(3, 4));
        self.notes.push_back(Note::Registered {
            lifetime: reply.lifetime,
            after: now.since(pending.began),
            attempts: pending.attempts,
            renewal: pending.renewal,
        });
    }

    /// Returns the next deadline.
    pub(crate) fn poll_timeout(&self) -> Time {
        let silent = self.agent.and_then(|agent| self.heard.get(&agent)).map(|heard| heard.expires);
        let again = self.pending.map(|pending| pending.again);
        [silent, again, self.renew].into_iter().flatten().min().unwrap_or(Time::MAX)
    }

    /// Expires agents, retransmits requests and renews registrations.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.heard.retain(|_, heard| heard.expires > now);
        if let Some(agent) = self.agent
            && !self.heard.contains_key(&agent)
        {
            // RFC 5944 §2.4.2.1: the agent is lost; select the latest advertised one that is still valid.
            self.agent = None;
            (self.pending, self.renew) = (None, None);
            match self.heard.iter().max_by_key(|(_, heard)| heard.at).map(|(&address, _)| address) {
                Some(next) => self.switch(now, next),
                None => self.notes.push_back(Note::Lost),
            }
        }
        if self.pending.is_some_and(|pending| pending.again <= now) {
            self.request(now);
        }
        if self.renew.is_some_and(|renew| renew <= now) {
            self.renew = None;
            if let (Some(agent), None) = (self.agent, self.pending) {
                self.register(now, agent, true);
            }
        }
    }

    /// Returns the next datagram to send, and its agent.
    pub(crate) fn poll_transmit(&mut self) -> Option<Datagram> {
        self.out.pop_front()
    }

    /// Returns the next event.
    pub(crate) fn poll_note(&mut self) -> Option<Note> {
        self.notes.pop_front()
    }
}

#[cfg(test)]
#[path = "mobile_tests.rs"]
mod tests;
