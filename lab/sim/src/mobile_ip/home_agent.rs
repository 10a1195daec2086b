//! [`HomeAgent`]: the bindings of mobiles (RFC 5944 §3.8). Sees messages and times; forwards nothing itself.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use msctp_units::{Span, Time};

use super::advertiser::Advertiser;
use super::message::advertisement::Advertisement;
use super::message::registration::{Reply, Request, code};
use super::message::seconds;
use super::{AgentOptions, Datagram, PORT};

/// The registration of a mobile that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Binding {
    care_of: Ipv4Addr,
    expires: Time,
}

/// A home agent.
#[derive(Clone, Debug)]
pub(crate) struct HomeAgent {
    address: Ipv4Addr,
    options: AgentOptions,
    advertiser: Advertiser,
    /// Mobiles with this home agent, each with the identification of its last accepted request.
    mobiles: BTreeMap<Ipv4Addr, u64>,
    bindings: BTreeMap<Ipv4Addr, Binding>,
    pub(crate) accepted: u64,
    pub(crate) denied: u64,
    pub(crate) expired: u64,
}

impl HomeAgent {
    pub(crate) fn new(address: Ipv4Addr, options: AgentOptions, mobiles: &[Ipv4Addr]) -> Self {
        Self {
            address,
            options,
            advertiser: Advertiser::new(options),
            mobiles: mobiles.iter().map(|&mobile| (mobile, 0)).collect(),
            bindings: BTreeMap::new(),
            accepted: 0,
            denied: 0,
            expired: 0,
        }
    }

    /// Returns the care-of address to which packets for a home address are tunnelled; `None` if the mobile is
    /// at home or not registered.
    pub(crate) fn care_of(&self, now: Time, home_address: Ipv4Addr) -> Option<Ipv4Addr> {
        let binding = self.bindings.get(&home_address).filter(|binding| binding.expires > now)?;
        Some(binding.care_of)
    }

    /// Handles a datagram for the registration port. Returns the reply.
    pub(crate) fn handle_datagram(&mut self, now: Time, datagram: &Datagram) -> Option<Datagram> {
        let request = Request::parse(&datagram.payload)?;
        let reply = self.register(now, &request);
        if reply.code == code::ACCEPTED {
            self.accepted += 1;
        } else {
            self.denied += 1;
        }
        // The reply goes to the source of the request (RFC 5944 §3.8.3.1).
        Some(Datagram {
            source: self.address,
            source_port: PORT,
            destination: datagram.source,
            destination_port: datagram.source_port,
            payload: reply.encode(),
        })
    }

    fn register(&mut self, now: Time, request: &Request) -> Reply {
        // RFC 5944 §3.8.2.1: a request for another agent or mobile.
        let (Some(last), true) =
            (self.mobiles.get_mut(&request.home_address), request.home_agent == self.address)
        else {
            return request.reply(code::UNKNOWN_HOME_AGENT, 0);
        };
        // §5.7.1: a time stamp must be greater than earlier ones; the reply has our time.
        if request.identification <= *last {
            let identification = time_stamp(now) & !0xffff_ffff | request.identification & 0xffff_ffff;
            return Reply { identification, ..request.reply(code::IDENTIFICATION_MISMATCH, 0) };
        }
        *last = request.identification;
        if request.lifetime == 0 {
            // §3.8.2.1: with the home address as care-of address all bindings are removed, otherwise that
            // one. There is at most one.
            let binding = self.bindings.get(&request.home_address);
            if request.care_of == request.home_address
                || binding.is_some_and(|binding| binding.care_of == request.care_of)
            {
                self.bindings.remove(&request.home_address);
            }
            return request.reply(code::ACCEPTED, 0);
        }
        // §3.8.3.2: not more than requested.
        let lifetime = request.lifetime.min(seconds(self.options.registration_lifetime));
        let expires = now + Span::from_secs(u64::from(lifetime));
        self.bindings.insert(request.home_address, Binding { care_of: request.care_of, expires });
        request.reply(code::ACCEPTED, lifetime)
    }

    pub(crate) fn poll_timeout(&self) -> Time {
        let expiry = self.bindings.values().map(|binding| binding.expires).min();
        expiry.unwrap_or(Time::MAX).min(self.advertiser.timeout())
    }

    /// Removes expired bindings. Returns an advertisement if one is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<Advertisement> {
        let before = self.bindings.len();
        self.bindings.retain(|_, binding| binding.expires > now);
        self.expired += (before - self.bindings.len()) as u64;
        self.advertiser.poll(now, self.address, true, Vec::new())
    }
}

/// Converts a time to NTP's format: seconds in the upper half, 2⁻³² seconds in the lower (RFC 5944 §5.7.1).
pub(crate) fn time_stamp(now: Time) -> u64 {
    let wide = u128::from(now.as_nanos()) << 32;
    (wide / 1_000_000_000) as u64
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

    fn agent() -> HomeAgent {
        HomeAgent::new(HOME, AgentOptions::default(), &[MOBILE])
    }

    fn ask(agent: &mut HomeAgent, now: Time, lifetime: u16, care_of: Ipv4Addr) -> Reply {
        let request = Request {
            lifetime,
            home_address: MOBILE,
            home_agent: HOME,
            care_of,
            identification: time_stamp(now),
        };
        send(agent, now, &request)
    }

    fn send(agent: &mut HomeAgent, now: Time, request: &Request) -> Reply {
        let datagram = Datagram {
            source: CARE_OF,
            source_port: 1234,
            destination: HOME,
            destination_port: PORT,
            payload: request.encode(),
        };
        let reply = agent.handle_datagram(now, &datagram).expect("a request has a reply");
        assert_eq!((reply.source, reply.source_port), (HOME, PORT));
        assert_eq!((reply.destination, reply.destination_port), (CARE_OF, 1234));
        Reply::parse(&reply.payload).expect("a reply")
    }

    #[test]
    fn a_binding_lasts_until_it_expires_or_the_mobile_returns_home() {
        let mut agent = agent();
        assert_eq!(agent.care_of(at(1), MOBILE), None);
        let reply = ask(&mut agent, at(1), 60, CARE_OF);
        assert_eq!((reply.code, reply.lifetime), (code::ACCEPTED, 60));
        assert_eq!(reply.identification, time_stamp(at(1)));
        assert_eq!(agent.care_of(at(60), MOBILE), Some(CARE_OF));
        assert_eq!(agent.care_of(at(61), MOBILE), None, "expired");
        ask(&mut agent, at(50), 60, CARE_OF);
        assert_eq!(agent.care_of(at(109), MOBILE), Some(CARE_OF), "renewed");
        let reply = ask(&mut agent, at(100), 0, MOBILE);
        assert_eq!((reply.code, reply.lifetime), (code::ACCEPTED, 0));
        assert_eq!(agent.care_of(at(101), MOBILE), None);
    }

    #[test]
    fn a_lifetime_is_limited_to_the_longest_granted() {
        let mut agent = agent();
        assert_eq!(ask(&mut agent, at(1), 1000, CARE_OF).lifetime, 300);
    }

    #[test]
    fn old_requests_and_those_of_unknown_mobiles_are_denied() {
        let mut agent = agent();
        ask(&mut agent, at(5), 60, CARE_OF);
        let again = ask(&mut agent, at(5), 60, CARE_OF);
        assert_eq!(again.code, code::IDENTIFICATION_MISMATCH);
        let stranger = Request {
            lifetime: 60,
            home_address: Ipv4Addr::new(10, 9, 9, 9),
            home_agent: HOME,
            care_of: CARE_OF,
            identification: time_stamp(at(6)),
        };
        assert_eq!(send(&mut agent, at(6), &stranger).code, code::UNKNOWN_HOME_AGENT);
        assert_eq!((agent.accepted, agent.denied), (1, 2));
        assert_eq!(agent.care_of(at(7), stranger.home_address), None);
    }

    #[test]
    fn timeouts_cover_advertisements_and_expiries() {
        let mut agent = agent();
        assert_eq!(agent.poll_timeout(), at(0));
        assert_eq!(agent.handle_timeout(at(0)).map(|a| (a.home, a.sequence)), Some((true, 0)));
        assert_eq!(agent.poll_timeout(), at(1));
        ask(&mut agent, at(1), 1, CARE_OF);
        assert!(agent.handle_timeout(at(1)).is_some());
        assert_eq!(agent.expired, 0);
        agent.handle_timeout(at(2));
        assert_eq!(agent.expired, 1);
    }

    #[test]
    fn a_time_stamp_has_ntps_format() {
        assert_eq!(time_stamp(at(3)), 3 << 32);
        assert_eq!(time_stamp(Time::from_nanos(500_000_000)), 1 << 31);
    }
}
