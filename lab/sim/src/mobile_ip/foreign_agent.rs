//! [`ForeignAgent`]: relays registrations between visitors and their home agents, and keeps the list of
//! visitors (RFC 5944 §3.7). Sees messages and times; forwards nothing itself.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use msctp_units::{Span, Time};

use super::advertiser::Advertiser;
use super::message::advertisement::Advertisement;
use super::message::registration::{Reply, Request, code};
use super::message::seconds;
use super::{AgentOptions, Datagram, PORT};

/// Lifetime of a request without a reply.
const PENDING: Span = Span::from_secs(7);

/// A relayed request.
#[derive(Clone, Copy, Debug)]
struct Pending {
    home_agent: Ipv4Addr,
    /// The mobile's UDP port.
    port: u16,
    identification: u64,
    forgotten: Time,
}

/// A foreign agent, whose address is the care-of address.
#[derive(Clone, Debug)]
pub(crate) struct ForeignAgent {
    address: Ipv4Addr,
    options: AgentOptions,
    advertiser: Advertiser,
    pending: BTreeMap<Ipv4Addr, Pending>,
    /// Registered mobiles by home address, each with the end of its registration.
    visitors: BTreeMap<Ipv4Addr, Time>,
    pub(crate) relayed: u64,
    pub(crate) denied: u64,
}

impl ForeignAgent {
    pub(crate) fn new(address: Ipv4Addr, options: AgentOptions) -> Self {
        Self {
            address,
            options,
            advertiser: Advertiser::new(options),
            pending: BTreeMap::new(),
            visitors: BTreeMap::new(),
            relayed: 0,
            denied: 0,
        }
    }

    /// Returns true if this is the home address of a registered visitor.
    pub(crate) fn is_visitor(&self, now: Time, home_address: Ipv4Addr) -> bool {
        self.visitors.get(&home_address).is_some_and(|&until| until > now)
    }

    /// Handles a datagram for one of the agent's ports. Returns the datagram to send.
    pub(crate) fn handle_datagram(&mut self, now: Time, datagram: &Datagram) -> Option<Datagram> {
        if let Some(request) = Request::parse(&datagram.payload) {
            return Some(self.handle_request(now, datagram, &request));
        }
        let reply = Reply::parse(&datagram.payload)?;
        self.handle_reply(now, &reply, &datagram.payload)
    }

    fn handle_request(&mut self, now: Time, datagram: &Datagram, request: &Request) -> Datagram {
        // RFC 5944 §3.7.2.1: denied without asking the home agent.
        let denied = if request.care_of != self.address {
            Some(code::INVALID_CARE_OF)
        } else if request.lifetime > seconds(self.options.registration_lifetime) {
            Some(code::LIFETIME_TOO_LONG)
        } else {
            None
        };
        if let Some(code) = denied {
            self.denied += 1;
            let reply = request.reply(code, seconds(self.options.registration_lifetime));
            return Datagram {
                source: self.address,
                source_port: PORT,
                destination: datagram.source,
                destination_port: datagram.source_port,
                payload: reply.encode(),
            };
        }
        let pending = Pending {
            home_agent: request.home_agent,
            port: datagram.source_port,
            identification: request.identification,
            forgotten: now + PENDING,
        };
        self.pending.insert(request.home_address, pending);
        self.relayed += 1;
        // §3.7.2.2: from the agent itself, with the message unchanged.
        Datagram {
            source: self.address,
            source_port: PORT,
            destination: request.home_agent,
            destination_port: PORT,
            payload: datagram.payload.clone(),
        }
    }

    fn handle_reply(&mut self, now: Time, reply: &Reply, payload: &[u8]) -> Option<Datagram> {
        // §3.7.3.1: it must answer a relayed request: same home address, same lower half of the
        // identification.
        let pending = self.pending.get(&reply.home_address).copied()?;
        if pending.home_agent != reply.home_agent
            || pending.identification as u32 != reply.identification as u32
            || pending.forgotten <= now
        {
            return None;
        }
        self.pending.remove(&reply.home_address);
        if reply.code <= 1 {
            if reply.lifetime == 0 {
                self.visitors.remove(&reply.home_address);
            } else {
                let until = now + Span::from_secs(u64::from(reply.lifetime));
                self.visitors.insert(reply.home_address, until);
            }
        }
        self.relayed += 1;
        Some(Datagram {
            source: self.address,
            source_port: PORT,
            destination: reply.home_address,
            destination_port: pending.port,
            payload: payload.to_vec(),
        })
    }

    pub(crate) fn poll_timeout(&self) -> Time {
        self.advertiser.timeout()
    }

    /// Removes expired entries. Returns an advertisement if one is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<Advertisement> {
        self.pending.retain(|_, pending| pending.forgotten > now);
        self.visitors.retain(|_, until| *until > now);
        self.advertiser.poll(now, self.address, false, vec![self.address])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
    const MOBILE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
    const CARE_OF: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    fn request(lifetime: u16) -> Request {
        Request {
            lifetime,
            home_address: MOBILE,
            home_agent: HOME,
            care_of: CARE_OF,
            identification: 5 << 32 | 77,
        }
    }

    fn datagram(source: Ipv4Addr, source_port: u16, payload: Vec<u8>) -> Datagram {
        Datagram { source, source_port, destination: CARE_OF, destination_port: PORT, payload }
    }

    fn agent() -> ForeignAgent {
        ForeignAgent::new(CARE_OF, AgentOptions::default())
    }

    #[test]
    fn a_registration_is_relayed_to_the_home_agent_and_back() {
        let mut agent = agent();
        let asked = datagram(MOBILE, 5000, request(60).encode());
        let passed = agent.handle_datagram(at(1), &asked).expect("passed on");
        assert_eq!((passed.source, passed.destination, passed.destination_port), (CARE_OF, HOME, PORT));
        assert_eq!(passed.payload, asked.payload);
        assert!(!agent.is_visitor(at(1), MOBILE));
        let reply = request(60).reply(code::ACCEPTED, 40).encode();
        let back = agent.handle_datagram(at(2), &datagram(HOME, PORT, reply.clone())).expect("passed on");
        assert_eq!((back.destination, back.destination_port), (MOBILE, 5000));
        assert_eq!(back.payload, reply);
        assert!(agent.is_visitor(at(41), MOBILE) && !agent.is_visitor(at(42), MOBILE));
        assert_eq!(agent.handle_datagram(at(3), &datagram(HOME, PORT, reply)), None, "answered already");
    }

    #[test]
    fn a_denial_adds_no_visitor_and_a_late_or_wrong_reply_is_dropped() {
        let mut agent = agent();
        let asked = datagram(MOBILE, 5000, request(60).encode());
        let reply = |code| datagram(HOME, PORT, request(60).reply(code, 60).encode());
        agent.handle_datagram(at(1), &asked);
        assert!(agent.handle_datagram(at(2), &reply(code::IDENTIFICATION_MISMATCH)).is_some());
        assert!(!agent.is_visitor(at(2), MOBILE));
        agent.handle_datagram(at(3), &asked);
        assert_eq!(agent.handle_datagram(at(10), &reply(code::ACCEPTED)), None, "forgotten after 7 s");
        agent.handle_datagram(at(11), &asked);
        let other = Request { identification: 78, ..request(60) };
        let wrong = datagram(HOME, PORT, other.reply(code::ACCEPTED, 60).encode());
        assert_eq!(agent.handle_datagram(at(12), &wrong), None);
        assert!(!agent.is_visitor(at(12), MOBILE));
    }

    #[test]
    fn requests_that_it_cannot_serve_are_denied() {
        let mut agent = agent();
        for (asked, code) in [
            (request(301), code::LIFETIME_TOO_LONG),
            (Request { care_of: HOME, ..request(60) }, code::INVALID_CARE_OF),
        ] {
            let answer = agent.handle_datagram(at(1), &datagram(MOBILE, 5000, asked.encode())).unwrap();
            assert_eq!((answer.destination, answer.destination_port), (MOBILE, 5000));
            assert_eq!(Reply::parse(&answer.payload).map(|r| r.code), Some(code));
        }
        assert_eq!((agent.relayed, agent.denied), (0, 2));
    }

    #[test]
    fn it_advertises_its_care_of_address() {
        let mut agent = agent();
        let it = agent.handle_timeout(agent.poll_timeout()).expect("due");
        assert_eq!((it.home, it.care_of), (false, vec![CARE_OF]));
        assert_eq!(agent.poll_timeout(), at(1));
    }
}
