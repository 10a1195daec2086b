//! Authentication of chunks (RFC 4895): signs outgoing packets and verifies AUTH chunks.
//!
//! Knows only the signed bytes, no association. Not called for packets whose chunks need no authentication.

mod config;
mod hmac;
mod keys;
mod offer;

pub use config::{AuthConfig, AuthPolicy, SharedKey};
use config::{COVERED, NEVER};
pub use hmac::HmacAlgorithm;
use hmac::MAX_LEN;
pub use keys::MAX_KEYS;
pub(crate) use offer::{AuthFault, AuthOffer, AuthReader, CookieAuth, RANDOM_LEN, Random};

use msctp_wire::{Auth as AuthChunk, AuthPlan, ChunkSet, ChunkType, HmacId, PacketBuilder};

use self::keys::KeyRing;

/// Zeros that stand in for the HMAC field while the HMAC is computed (RFC 4895 §6.2).
static ZEROS: [u8; MAX_LEN] = [0; MAX_LEN];

/// A change of keys (RFC 6458).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthEvent {
    /// The peer signs with this key from now on.
    NewKey {
        /// Identifier of the key.
        key: u16,
    },
    /// The peer does not support AUTH: addresses cannot be changed except with `AuthPolicy::NotRequired`.
    NotSpoken,
    /// No packet in flight is signed with a deactivated key, which may now be deleted.
    FreeKey {
        /// Identifier of the key.
        key: u16,
    },
}

/// Error of a call that changes shared keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key has this identifier.
    #[error("there is no shared key {0}: set it first")]
    Unknown(u16),
    /// The key is active.
    #[error("shared key {0} is active: activate another one first")]
    Active(u16),
    /// The key was deactivated.
    #[error("shared key {0} was deactivated: set it again first")]
    Deactivated(u16),
    /// There are too many keys.
    #[error("there are {MAX_KEYS} shared keys already: delete one first")]
    TooMany,
}

/// Verdict on an AUTH chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The peer signed the chunks after it. `new_key` is set if the peer used another key before.
    Valid { new_key: Option<u16> },
    /// AUTH was not negotiated, so that the chunk type is unknown.
    NotSpoken,
    /// This end did not list the algorithm (RFC 4895 §6.3).
    Unsupported(HmacId),
    /// The key is unknown or the HMAC is wrong. The chunk and the rest of the packet are discarded silently.
    Invalid,
}

/// The negotiated parameters.
#[derive(Debug)]
struct Agreed {
    /// The two key vectors in order (RFC 4895 §6.1).
    material: Vec<u8>,
    /// The algorithm the peer prefers.
    algorithm: HmacAlgorithm,
    plan: AuthPlan,
    /// The key the peer last used.
    peer_key: Option<u16>,
}

/// Authentication in one association.
#[derive(Debug)]
pub(crate) struct Authentication {
    /// This end's Random Number, in INIT or INIT ACK; `None` if AUTH is off.
    random: Option<Random>,
    /// Chunk types that are accepted only with AUTH.
    demanded: ChunkSet,
    pub(crate) keys: KeyRing,
    agreed: Option<Box<Agreed>>,
    /// DATA or SACK is signed.
    signs_data: bool,
    /// True if only the peer can authenticate chunks, because there is a shared key or all packets are
    /// protected.
    excludes_observers: bool,
}

/// Returns this end's AUTH parameters for an INIT or INIT ACK with this Random Number; `None` if AUTH is off.
pub(crate) fn our_offer(config: &AuthConfig, random: Random) -> Option<AuthOffer> {
    config.policy.speaks().then(|| AuthOffer::ours(random, &config.demanded(), &config.algorithms))
}

impl Authentication {
    /// Begins without negotiated parameters.
    pub(crate) fn new(config: &AuthConfig, random: Random) -> Self {
        Self {
            random: config.policy.speaks().then_some(random),
            demanded: config.demanded(),
            keys: KeyRing::new(&config.keys, config.active_key()),
            agreed: None,
            signs_data: false,
            excludes_observers: config.has_secret(),
        }
    }

    /// Returns this end's AUTH parameters for INIT and INIT ACK.
    pub(crate) fn ours(&self, config: &AuthConfig) -> Option<AuthOffer> {
        our_offer(config, self.random?)
    }

    /// Returns this end's Random Number.
    pub(crate) fn random(&self) -> Option<Random> {
        self.random
    }

    /// Replaces this end's Random Number, since a cookie's differs from the association's (RFC 4895 §6.1).
    pub(crate) fn set_random(&mut self, random: Random) {
        self.random = self.random.map(|_| random);
    }

    /// Applies the peer's AUTH parameters. The shared keys stay.
    pub(crate) fn agree(&mut self, config: &AuthConfig, peer: Option<&AuthOffer>) {
        self.keys.forget_schedules();
        self.agreed = self.ours(config).zip(peer).and_then(|(ours, peer)| {
            let algorithm = peer.algorithm()?;
            // RFC 4895 §6.2: the types that the peer lists; RFC 5061 §4.1.1, §4.1.2: these always
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
            //# Endpoints MUST send all requested chunks that have been authenticated where this has been
            //# requested by the peer.
            let mut types = peer.demanded();
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
            //# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
            //# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
            types.extend(COVERED);
            Some(Box::new(Agreed {
                material: offer::material(&ours, peer),
                algorithm,
                plan: plan(algorithm, types, self.keys.active()),
                peer_key: None,
            }))
        });
        self.signs_data = self.agreed.as_ref().is_some_and(|agreed| signs_whole_packets(&agreed.plan.types));
    }

    /// Returns whether AUTH was negotiated.
    pub(crate) fn is_spoken(&self) -> bool {
        self.agreed.is_some()
    }

    /// Returns how to sign packets to the peer; `None` if they are not signed.
    #[inline]
    pub(crate) fn plan(&self) -> Option<&AuthPlan> {
        self.agreed.as_ref().map(|agreed| &agreed.plan)
    }

    /// Returns the length in bytes of AUTH in every packet with DATA or SACK; 0 if the peer lists neither.
    #[inline]
    pub(crate) fn packet_overhead(&self) -> usize {
        if !self.signs_data {
            return 0;
        }
        self.plan().map_or(0, AuthPlan::chunk_len)
    }

    /// Returns whether only the peer can authenticate chunks. An observer can compute the null key.
    #[inline]
    pub(crate) fn excludes_observers(&self) -> bool {
        self.excludes_observers
    }

    /// Resets the requirements to those of the options.
    pub(crate) fn begin_demands(&mut self, config: &AuthConfig) {
        self.demanded = config.demanded();
        self.excludes_observers = config.has_secret();
    }

    /// Requires that chunks that change addresses be authenticated or protected.
    pub(crate) fn demand_for_addresses(&mut self) {
        self.demanded.extend(COVERED);
    }

    /// Requires protection of all chunks, except those of a set-up and of the refusal of a restart.
    pub(crate) fn demand_protection(&mut self) {
        const CLEAR: [ChunkType; 3] = [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::COOKIE_ECHO];
        let all = (0..=u8::MAX).map(ChunkType);
        self.demanded.extend(all.filter(|typ| !CLEAR.contains(typ)));
        self.excludes_observers = true;
    }

    /// Returns the chunk types that are accepted only with AUTH.
    pub(crate) fn demanded(&self) -> &ChunkSet {
        &self.demanded
    }

    /// Returns the chunk types that are sent with AUTH.
    #[cfg(test)]
    pub(crate) fn signed(&self) -> ChunkSet {
        self.agreed.as_ref().map_or(ChunkSet::EMPTY, |agreed| agreed.plan.types)
    }

    /// Returns whether a chunk of this type lacks the AUTH chunk that it requires (RFC 4895 §6.3).
    #[inline]
    pub(crate) fn lacks(&self, typ: ChunkType, authenticated: bool) -> bool {
        !authenticated && self.demanded.has(typ)
    }

    /// Returns a copy with the Random Numbers of a cookie and the same shared keys.
    pub(crate) fn for_cookie(&self, config: &AuthConfig, cookie: Option<&CookieAuth>) -> Self {
        let mut other = Self {
            random: self.random.and(cookie).map(|cookie| cookie.random),
            demanded: self.demanded,
            keys: self.keys.clone(),
            agreed: None,
            signs_data: false,
            excludes_observers: self.excludes_observers,
        };
        other.agree(config, cookie.map(|cookie| &cookie.peer));
        other
    }

    /// Writes the HMAC of a complete packet into its AUTH chunk, if it has one.
    #[cold]
    pub(crate) fn sign_packet(&mut self, builder: &mut PacketBuilder<'_>) {
        if let Some(slot) = builder.take_auth() {
            let mut hmac = [0; MAX_LEN];
            let len = self.sign(builder.auth_input(&slot), &mut hmac);
            builder.set_hmac(slot, &hmac[..len]);
        }
    }

    /// Writes the HMAC of `message`, which begins with the planned AUTH chunk. Returns its length.
    fn sign(&mut self, message: &[u8], out: &mut [u8; MAX_LEN]) -> usize {
        let Some(agreed) = &self.agreed else { return 0 };
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
        //# The sender MUST calculate the Message Authentication Code (MAC)
        let schedule = self.keys.schedule(agreed.plan.shared_key_id, agreed.algorithm, &agreed.material);
        debug_assert!(schedule.is_some(), "the active key is always there");
        schedule.map_or(0, |schedule| schedule.sign(message, out))
    }

    /// Verifies an AUTH chunk. `from_auth` is the packet from that chunk on.
    pub(crate) fn verify(&mut self, config: &AuthConfig, chunk: &AuthChunk<'_>, from_auth: &[u8]) -> Verdict {
        let Some(agreed) = &mut self.agreed else { return Verdict::NotSpoken };
        // RFC 4895 §6.3: only what our HMAC-ALGO listed
        let Some(algorithm) =
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
            //# The receiver MUST use the HMAC algorithm indicated in the HMAC Identifier field.
            HmacAlgorithm::of_id(chunk.hmac_id).filter(|algorithm| config.algorithms.contains(algorithm))
        else {
            return Verdict::Unsupported(chunk.hmac_id);
        };
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# it MUST use the key specified by the Shared Key Identifier
        let Some(schedule) = self.keys.schedule(chunk.shared_key_id, algorithm, &agreed.material) else {
            return Verdict::Invalid;
        };
        let Some((head, zeros, tail)) = chunk.hmac_input(from_auth) else { return Verdict::Invalid };
        // An HMAC of another length than its algorithm's is rejected.
        let zeros = ZEROS.get(..zeros).unwrap_or(&ZEROS);
        if !schedule.verify([head, zeros, tail], chunk.hmac) {
            return Verdict::Invalid;
        }
        let before = agreed.peer_key.replace(chunk.shared_key_id);
        let new_key =
            (before.unwrap_or(self.keys.active()) != chunk.shared_key_id).then_some(chunk.shared_key_id);
        Verdict::Valid { new_key }
    }

    /// Activates a key, which signs from now on.
    pub(crate) fn activate_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.keys.activate(id)?;
        if let Some(agreed) = &mut self.agreed {
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
            //# If endpoint pair shared keys are used, one of them MUST be selected for authentication.
            agreed.plan.shared_key_id = id;
        }
        Ok(())
    }
}

/// Returns whether DATA or SACK is among the types. These fill packets to the last byte, so that AUTH is
/// planned for all packets.
pub(crate) fn signs_whole_packets(types: &ChunkSet) -> bool {
    [ChunkType::DATA, ChunkType::I_DATA, ChunkType::SACK].into_iter().any(|typ| types.has(typ))
}

fn plan(algorithm: HmacAlgorithm, types: ChunkSet, key: u16) -> AuthPlan {
    AuthPlan { types, shared_key_id: key, hmac_id: algorithm.id(), hmac_len: algorithm.len() as u16 }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
