//! The state cookie (RFC 9260 §5.1.3): a signed and dated description of an association, kept by the peer.
//!
//! Between INIT and COOKIE ECHO the endpoint keeps only its secrets. It remembers used cookies until they
//! expire.

mod used;

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, KeyInit, Mac};
use msctp_protection::Binding;
use msctp_units::{Span, Time};
use msctp_wire::{ChunkType, HmacId, Tsn};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use sha2::Sha256;
use smallvec::SmallVec;
use zeroize::Zeroize;

use self::used::UsedCookies;
use crate::addr::PathAddr;
use crate::auth::{AuthOffer, CookieAuth};
use crate::config::EndpointConfig;
use crate::extensions::Extensions;
use crate::protection::{CookieProtection, ProtectionOffer};
use crate::rate::RateLimit;
use crate::tags::Tags;

/// Length of the MAC in bytes: HMAC-SHA256 truncated to 128 bits, as in IPsec. An INIT ACK may not be much
/// larger than the INIT.
const MAC_LEN: usize = 16;
/// A list of the peer's addresses.
pub(crate) type Addresses = SmallVec<[IpAddr; 4]>;

/// Contents of a state cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Time,
    pub(crate) life: Span,
    /// Tags of the association that the cookie sets up, except for the Tie-Tags.
    pub(crate) tags: Tags,
    pub(crate) peer_initial_tsn: u32,
    pub(crate) peer_a_rwnd: u32,
    /// Parameters of AUTH of both ends, if both announced it (RFC 4895 §6.3). No shared keys: a cookie MUST
    /// NOT contain any.
    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
    //# the cookie contained in an INIT-ACK chunk and in a COOKIE-ECHO chunk MUST NOT contain any endpoint
    //# pair shared keys
    pub(crate) auth: Option<CookieAuth>,
    /// DTLS Key Management parameters of both ends, if both sent one.
    pub(crate) protection: Option<CookieProtection>,
    /// Destination of the INIT ACK: the one address that is confirmed from the start (RFC 9260 §5.4 rule 2).
    pub(crate) at: PathAddr,
    /// Other addresses of the peer.
    pub(crate) addresses: Addresses,
    /// True if the INIT ACK lists all addresses of this end; false if only the one in `at`.
    pub(crate) lists_addresses: bool,
    /// True if an association in set-up made the cookie, with the tag, TSN and parameters of its own INIT.
    pub(crate) collision: bool,
}

impl CookieAuth {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { random, peer } = self;
        out.extend_from_slice(random);
        out.extend_from_slice(&peer.random);
        // At most 256 types and 16 identifiers; one more than the number of types, so that 0 means no such
        // parameter.
        let count = peer.chunks.as_ref().map_or(0, |types| types.len() as u16 + 1);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend(peer.chunks.iter().flatten().map(|typ| typ.0));
        out.push(peer.hmacs.len() as u8);
        peer.hmacs.iter().for_each(|id| out.extend_from_slice(&id.get().to_be_bytes()));
    }

    fn len(&self) -> usize {
        let Self { random, peer } = self;
        let chunks = peer.chunks.as_ref().map_or(0, SmallVec::len);
        random.len() + peer.random.len() + 2 + chunks + 1 + 2 * peer.hmacs.len()
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (random, theirs) = (reader.take()?, reader.take()?);
        let chunks = match reader.u16()?.checked_sub(1) {
            None => None,
            Some(count) => Some(reader.bytes(count.into())?.iter().map(|typ| ChunkType(*typ)).collect()),
        };
        let [count] = reader.take()?;
        let hmacs = (0..count).map(|_| reader.u16().map(HmacId::new)).collect::<Option<_>>()?;
        Some(Self { random, peer: AuthOffer { random: theirs, chunks, hmacs } })
    }
}

impl Cookie {
    /// Returns the time since the cookie expired; `None` while it is valid.
    pub(crate) fn staleness(&self, now: Time) -> Option<Span> {
        let expiry = self.created + self.life;
        (now > expiry).then(|| now.since(expiry))
    }

    /// Returns the length of the signed cookie in bytes.
    pub(crate) fn signed_len(&self) -> usize {
        // The generation of the secret, then the fields in the order of `write`
        let fixed = 1 + 8 + 4 + 4 * 2 + 7 * 4 + 2 + 1;
        let auth = self.auth.as_ref().map_or(0, CookieAuth::len);
        let protection = self
            .protection
            .as_ref()
            .map_or(0, |p| p.ours.bytes().len() + p.theirs.bytes().len() + Binding::LEN);
        let addresses = [self.at.local, self.at.remote];
        let addresses = addresses.iter().chain(&self.addresses).map(|ip| if ip.is_ipv4() { 5 } else { 17 });
        fixed + auth + protection + addresses.sum::<usize>() + MAC_LEN
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.3
    //# If the State Cookie is not encrypted, it MUST NOT contain information that is not being envisioned to
    //# be shared.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(&(self.life.as_millis() as u32).to_be_bytes());
        let tags = &self.tags;
        for port in [tags.local_port, tags.peer_port, tags.outbound_streams, tags.inbound_streams] {
            out.extend_from_slice(&port.to_be_bytes());
        }
        for word in [
            tags.local_tag,
            tags.peer_tag,
            tags.local_tie_tag,
            tags.peer_tie_tag,
            tags.local_initial_tsn.get(),
            self.peer_initial_tsn,
            self.peer_a_rwnd,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&tags.extensions.bits().to_be_bytes());
        let flags = [self.auth.is_some(), self.lists_addresses, self.protection.is_some(), self.collision];
        out.push(flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u8::from(flag)));
        if let Some(auth) = &self.auth {
            auth.write(out);
        }
        if let Some(CookieProtection { ours, theirs, binding }) = &self.protection {
            out.extend_from_slice(ours.bytes());
            out.extend_from_slice(theirs.bytes());
            out.extend_from_slice(binding.bytes());
        }
        for address in [self.at.local, self.at.remote].iter().chain(&self.addresses) {
            match address {
                IpAddr::V4(v4) => {
                    out.push(4);
                    out.extend_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    out.push(6);
                    out.extend_from_slice(&v6.octets());
                }
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let created = Time::from_nanos(u64::from_be_bytes(reader.take()?));
        let life = Span::from_millis(u64::from(reader.u32()?));
        let [local_port, peer_port, outbound_streams, inbound_streams] =
            [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
        let (local_tag, peer_tag) = (reader.u32()?, reader.u32()?);
        let (local_tie_tag, peer_tie_tag) = (reader.u32()?, reader.u32()?);
        let local_initial_tsn = Tsn::new(reader.u32()?);
        let (peer_initial_tsn, peer_a_rwnd) = (reader.u32()?, reader.u32()?);
        let tags = Tags {
            peer_tag,
            local_tie_tag,
            peer_tie_tag,
            outbound_streams,
            inbound_streams,
            extensions: Extensions::from_bits(reader.u16()?),
            ..Tags::new(local_port, peer_port, local_tag, local_initial_tsn)
        };
        let [flags] = reader.take()?;
        let (lists_addresses, collision) = (flags & 2 != 0, flags & 8 != 0);
        let auth = match flags & 1 {
            0 => None,
            _ => Some(CookieAuth::read(&mut reader)?),
        };
        let protection = match flags & 4 {
            0 => None,
            _ => Some(CookieProtection {
                ours: reader.offer()?,
                theirs: reader.offer()?,
                binding: Binding::from_bytes(reader.take()?),
            }),
        };
        let at = PathAddr { local: reader.address()?, remote: reader.address()? };
        let mut addresses = Addresses::new();
        while !reader.0.is_empty() {
            addresses.push(reader.address()?);
        }
        Some(Self {
            created,
            life,
            tags,
            peer_initial_tsn,
            peer_a_rwnd,
            auth,
            protection,
            at,
            addresses,
            lists_addresses,
            collision,
        })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn bytes(&mut self, len: usize) -> Option<&[u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn offer(&mut self) -> Option<ProtectionOffer> {
        let offer = ProtectionOffer::read(self.0)?;
        self.0 = &self.0[offer.bytes().len()..];
        Some(offer)
    }

    fn address(&mut self) -> Option<IpAddr> {
        match self.take()? {
            [4] => self.take().map(|octets: [u8; 4]| Ipv4Addr::from(octets).into()),
            [6] => self.take().map(|octets: [u8; 16]| Ipv6Addr::from(octets).into()),
            _ => None,
        }
    }
}

/// Signs and verifies cookies, and rejects used ones. Holds two secrets, regardless of the number of peers.
pub(crate) struct CookieJar {
    rng: ChaCha8Rng,
    cookie_life: Span,
    max_preservative: Span,
    secret_life: Span,
    current: Secret,
    previous: Option<Secret>,
    used: UsedCookies,
    /// Limits the endpoint's INIT ACKs, and its associations' answers to INITs and stale cookies.
    set_up_answers: RateLimit,
}

impl fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secrets and their generator
        f.debug_struct("CookieJar").field("used", &self.used).finish_non_exhaustive()
    }
}

struct Secret {
    generation: u8,
    since: Time,
    mac: Hmac<Sha256>,
}

impl CookieJar {
    /// Creates a jar that draws its secrets from `seed`.
    pub(crate) fn new(config: &EndpointConfig, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed);
        // A separate seed: other random numbers do not depend on it.
        let mut rate_key = [0; 32];
        ChaCha8Rng::from_seed(seed.map(|byte| byte ^ 0x5c)).fill_bytes(&mut rate_key);
        let current = Secret { generation: 0, since: Time::ZERO, mac: fresh_mac(&mut rng) };
        Self {
            rng,
            cookie_life: config.valid_cookie_life,
            max_preservative: config.max_cookie_preservative,
            secret_life: config.cookie_secret_life,
            current,
            previous: None,
            used: UsedCookies::new(config.valid_cookie_life + config.max_cookie_preservative),
            set_up_answers: RateLimit::new(config.max_replies_per_second, rate_key),
        }
    }

    /// Returns a jar with separate secrets that shares this one's limit on answers.
    pub(crate) fn sharing_rate(&self, config: &EndpointConfig, seed: [u8; 32]) -> Self {
        Self { set_up_answers: self.set_up_answers.clone(), ..Self::new(config, seed) }
    }

    /// Returns whether the cookie has set up an association, or may have.
    pub(crate) fn is_used(&self, cookie: &Cookie) -> bool {
        self.used.has(cookie)
    }

    /// Marks a cookie as used, so that it sets up no other association.
    pub(crate) fn use_up(&mut self, now: Time, cookie: &Cookie) {
        self.used.insert(now, cookie);
    }

    /// Returns the time since the cookie expired; `None` while it is valid. A cookie that is only presumed
    /// used is stale with a measure of 0 (RFC 9260 §3.3.10.3), so that an honest peer sends a new INIT
    /// (§5.2.6).
    pub(crate) fn staleness(&self, now: Time, cookie: &Cookie) -> Option<Span> {
        cookie.staleness(now).or_else(|| self.used.presumes(cookie).then_some(Span::ZERO))
    }

    /// Counts one answer to an INIT or stale cookie from `source`. Returns false when
    /// `EndpointConfig::max_replies_per_second` is reached.
    pub(crate) fn may_answer_set_up(&self, now: Time, source: IpAddr) -> bool {
        self.set_up_answers.take(now, source)
    }

    #[cfg(test)]
    pub(super) fn remember_at_most(&mut self, most: usize) {
        self.used.remember_at_most(most);
    }

    /// Returns the lifetime of a new cookie with the peer's Cookie Preservative (RFC 9260 §3.3.2.1.3).
    pub(crate) fn life(&self, preservative: Span) -> Span {
        self.cookie_life + preservative.min(self.max_preservative)
    }

    /// Appends the signed cookie to `out`.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.3
    //# Inside this State Cookie, the sender MUST include a MAC
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1.1
    //# This parameter value MUST contain all the necessary state and parameter information
    pub(crate) fn sign(&mut self, cookie: &Cookie, out: &mut Vec<u8>) {
        self.rotate_if_due(cookie.created);
        let start = out.len();
        out.push(self.current.generation);
        cookie.write(out);
        let mut mac = self.current.mac.clone();
        mac.update(&out[start..]);
        out.extend_from_slice(&mac.finalize().into_bytes()[..MAC_LEN]);
        debug_assert_eq!(out.len() - start, cookie.signed_len());
    }

    /// Returns the cookie if this jar signed it. Compares the MAC before it reads anything else (RFC 9260
    /// §5.1.5 steps 1 and 2).
    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
    //# If secrets are kept only for a limited amount of time and the secret key to use is not available
    //# anymore, the packet containing the COOKIE ECHO chunk MUST be silently discarded.
    pub(crate) fn open(&self, bytes: &[u8]) -> Option<Cookie> {
        let (content, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_LEN)?)?;
        let (&generation, body) = content.split_first()?;
        let secret = [Some(&self.current), self.previous.as_ref()]
            .into_iter()
            .flatten()
            .find(|secret| secret.generation == generation)?;
        secret.mac.clone().chain_update(content).verify_truncated_left(mac).ok()?;
        Cookie::read(body)
    }

    /// Rotates the secret key if it is due.
    ///
    /// RFC 9260 §5.1.3: "The secret key SHOULD be changed reasonably frequently". Only signing rotates the
    /// key, so the previous one stays valid for at least a `secret_life`.
    fn rotate_if_due(&mut self, now: Time) {
        if now.since(self.current.since) < self.secret_life {
            return;
        }
        let next = Secret {
            generation: self.current.generation.wrapping_add(1),
            since: now,
            mac: fresh_mac(&mut self.rng),
        };
        self.previous = Some(core::mem::replace(&mut self.current, next));
    }
}

fn fresh_mac(rng: &mut ChaCha8Rng) -> Hmac<Sha256> {
    let mut key = hmac::digest::Key::<Hmac<Sha256>>::default();
    rng.fill_bytes(&mut key);
    let mac = Hmac::new(&key);
    key.as_mut_slice().zeroize();
    mac
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(crate) fn cookie(created: Time) -> Cookie {
        Cookie {
            created,
            life: Span::from_secs(60),
            tags: Tags {
                peer_tag: 2,
                local_tie_tag: 3,
                peer_tie_tag: 4,
                outbound_streams: 8,
                inbound_streams: 9,
                extensions: Extensions::ASCONF,
                ..Tags::new(5000, 5001, 1, Tsn::new(5))
            },
            peer_initial_tsn: 6,
            peer_a_rwnd: 7,
            auth: Some(CookieAuth {
                random: [1; 32],
                peer: AuthOffer {
                    random: [2; 32],
                    chunks: Some([ChunkType(3), ChunkType(1)].into_iter().collect()),
                    hmacs: [HmacId::SHA256, HmacId::SHA1].into_iter().collect(),
                },
            }),
            protection: None,
            at: PathAddr { local: "10.0.0.1".parse().unwrap(), remote: "2001:db8::1".parse().unwrap() },
            addresses: ["10.0.0.2".parse().unwrap(), "2001:db8::2".parse().unwrap()].into_iter().collect(),
            lists_addresses: true,
            collision: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::cookie;
    use super::*;

    fn jar() -> CookieJar {
        CookieJar::new(&EndpointConfig::default(), [7; 32])
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1.1
    //= type=test
    //# This parameter value MUST contain all the necessary state and parameter information
    #[test]
    fn a_signed_cookie_is_read_back() {
        let mut jar = jar();
        let whole = cookie(Time::ZERO);
        let with = |chunks: Option<&[ChunkType]>| {
            let auth = whole.auth.clone().unwrap();
            let peer = AuthOffer { chunks: chunks.map(|types| types.iter().copied().collect()), ..auth.peer };
            Cookie { auth: Some(CookieAuth { peer, ..auth }), ..whole.clone() }
        };
        let offer = |methods: u8| {
            let mut bytes = vec![0x80, 6, 0, 9 + methods, 1, 2, 3, 4, 3];
            bytes.extend(0..methods);
            ProtectionOffer::read(&bytes).unwrap()
        };
        for cookie in [
            whole.clone(),
            Cookie { auth: None, ..whole.clone() },
            Cookie {
                protection: Some(CookieProtection {
                    ours: offer(1),
                    theirs: offer(30),
                    binding: Binding::from_bytes([9; Binding::LEN]),
                }),
                ..whole.clone()
            },
            Cookie { lists_addresses: false, ..whole.clone() },
            Cookie { collision: true, ..whole.clone() },
            with(None),
            with(Some(&[])),
            with(Some(&[ChunkType(7); 256])),
        ] {
            let mut bytes = Vec::new();
            jar.sign(&cookie, &mut bytes);
            assert_eq!(jar.open(&bytes), Some(cookie));
        }
    }

    #[test]
    fn a_cookie_with_sixteen_addresses_fits_the_minimum_pmtu() {
        let addresses = (1..16).map(|n| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n).into()).collect();
        let at = PathAddr { local: "2001:db8::1".parse().unwrap(), remote: "2001:db8::2".parse().unwrap() };
        let mut largest = Cookie { addresses, at, ..cookie(Time::ZERO) };
        largest.auth.as_mut().unwrap().peer.chunks = Some([ChunkType(3); 3].into_iter().collect());
        let mut bytes = Vec::new();
        jar().sign(&largest, &mut bytes);
        assert!(40 + 12 + 4 + bytes.len() <= crate::path::MIN_PMTU as usize, "{}", bytes.len());
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.3
    //= type=test
    //# Inside this State Cookie, the sender MUST include a MAC
    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let mut jar = jar();
        let mut bytes = Vec::new();
        jar.sign(&cookie(Time::ZERO), &mut bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(jar.open(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..bytes.len() {
            assert_eq!(jar.open(&bytes[..len]), None, "length {len}");
        }
    }

    #[test]
    fn another_jar_does_not_open_the_cookie() {
        let mut bytes = Vec::new();
        jar().sign(&cookie(Time::ZERO), &mut bytes);
        assert_eq!(CookieJar::new(&EndpointConfig::default(), [8; 32]).open(&bytes), None);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
    //= type=test
    //# If secrets are kept only for a limited amount of time and the secret key to use is not available
    //# anymore, the packet containing the COOKIE ECHO chunk MUST be silently discarded.
    #[test]
    fn the_last_secret_still_opens_and_the_one_before_it_does_not() {
        let mut jar = jar();
        let mut bytes = Vec::new();
        let at = |hours: u64| Time::ZERO + Span::from_secs(3600) * hours;
        jar.sign(&cookie(at(0)), &mut bytes);
        jar.sign(&cookie(at(1)), &mut Vec::new());
        assert!(jar.open(&bytes).is_some());
        jar.sign(&cookie(at(2)), &mut Vec::new());
        assert!(jar.open(&bytes).is_none());
    }

    #[test]
    fn a_cookie_expires_after_its_life() {
        let cookie = cookie(Time::ZERO + Span::from_secs(1));
        assert_eq!(cookie.staleness(Time::ZERO + Span::from_secs(61)), None);
        let late = Time::ZERO + Span::from_millis(61_500);
        assert_eq!(cookie.staleness(late), Some(Span::from_millis(500)));
    }
}
