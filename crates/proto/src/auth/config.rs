//! Options of authentication (RFC 4895): which chunks, which algorithms, which keys.

use core::fmt;

use msctp_wire::{ChunkSet, ChunkType};
use zeroize::Zeroize;

use super::HmacAlgorithm;
use crate::error::{ConfigError, check};

/// Chunk types that cannot be authenticated (RFC 4895 §3.2).
pub(crate) const NEVER: [ChunkType; 4] =
    [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::AUTH];

/// The chunks with which an attacker could move an association (RFC 5061 §4.1.1, §4.1.2).
pub(crate) const COVERED: [ChunkType; 2] = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];

/// The chunks that shared keys protect besides those in `COVERED`. If any of them were left out, an observer
/// without the key could restart, end, stall or feed the association.
pub(crate) const KEYED: [ChunkType; 16] = [
    ChunkType::DATA,
    ChunkType::SACK,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::ABORT,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::ERROR,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::ECNE,
    ChunkType::CWR,
    ChunkType::I_DATA,
    ChunkType::RE_CONFIG,
    ChunkType::FORWARD_TSN,
    ChunkType::I_FORWARD_TSN,
];

/// Whether AUTH (RFC 4895) is used, and whether ASCONF and ASCONF-ACK must be authenticated.
///
/// RFC 5061 §4.1.1, §4.1.2 and §5.2 D5 require authentication. Where it is not required, anyone who knows the
/// verification tag can move the association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthPolicy {
    /// Uses AUTH, and silently discards unauthenticated ASCONFs. Addresses do not change if the peer does not
    /// support AUTH. The default.
    #[default]
    Required,
    /// Uses AUTH and accepts unauthenticated ASCONFs, as Linux does with `addip_noauth_enable`.
    NotRequired,
    /// Does not use AUTH; addresses cannot change.
    Off,
    /// Does not use AUTH, and accepts unauthenticated ASCONFs, as SCTP did before RFC 4895.
    Unprotected,
}

impl AuthPolicy {
    /// Returns whether AUTH is used.
    pub fn speaks(self) -> bool {
        matches!(self, Self::Required | Self::NotRequired)
    }

    /// Returns whether chunks that change addresses must be authenticated.
    pub fn protects_addresses(self) -> bool {
        matches!(self, Self::Required | Self::Off)
    }
}

/// A key that both ends know (RFC 4895 §6.1: endpoint pair shared key). SCTP does not distribute it.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey {
    /// Shared Key Identifier, equal at both ends.
    pub id: u16,
    /// Bytes of the key. An empty key is the null key. Overwritten with zeros when dropped.
    pub secret: Vec<u8>,
}

impl Drop for SharedKey {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret is in no log.
        f.debug_struct("SharedKey").field("id", &self.id).field("bytes", &self.secret.len()).finish()
    }
}

/// Options of authentication.
///
/// By default, AUTH with SHA-256 or SHA-1 and the null key protects the chunks that change addresses. This
/// excludes attackers who did not observe the handshake.
///
/// Shared keys also exclude those who observed it. With at least one key that is not empty, the peer must
/// authenticate every chunk type that RFC 4895 §3.2 allows and that could harm the association (see `keys`).
/// A peer that does not support AUTH is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthConfig {
    /// Whether AUTH is used, and whether chunks that change addresses must be authenticated. Default:
    /// `Required`.
    pub policy: AuthPolicy,
    /// More chunk types that the peer must authenticate (RFC 4895 §3.2); default: none. Unauthenticated ones
    /// are discarded, whether the peer supports AUTH or not. INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH
    /// cannot be among them.
    pub chunks: Vec<u8>,
    /// Algorithms that the peer may use, in order of preference. Default: SHA-256, SHA-1. SHA-1 must be among
    /// them (RFC 4895 §6.1).
    pub algorithms: Vec<HmacAlgorithm>,
    /// Shared keys, of which the first is active at the start. An empty list stands for the null key with
    /// identifier 0 (RFC 4895 §6.1). If keys are listed, the null key is valid only if it is among them.
    ///
    /// A key that is not empty implies a list of chunks besides `chunks`: DATA, I-DATA, SACK, FORWARD TSN,
    /// I-FORWARD-TSN, HEARTBEAT, HEARTBEAT ACK, ABORT, SHUTDOWN, SHUTDOWN ACK, ERROR, COOKIE ECHO, COOKIE
    /// ACK, ECNE, CWR, RE-CONFIG, ASCONF and ASCONF-ACK. Every packet is then signed. A rebooted peer is
    /// detected later, because its ABORT is not signed.
    pub keys: Vec<SharedKey>,
    /// Whether a peer may restart the association (RFC 9260 §5.2.4 A). Default: true. Without shared keys
    /// anyone who receives packets at the peer's address can restart it. False refuses the INIT with an
    /// ABORT. A rebooted peer can then connect from the same address and port only when this association is
    /// over.
    pub accept_restarts: bool,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            policy: AuthPolicy::default(),
            chunks: Vec::new(),
            algorithms: vec![HmacAlgorithm::Sha256, HmacAlgorithm::Sha1],
            keys: Vec::new(),
            accept_restarts: true,
        }
    }
}

impl AuthConfig {
    /// Returns options without AUTH under which addresses change unprotected, as in SCTP before RFC 4895 and
    /// in the papers.
    pub fn without() -> Self {
        Self { policy: AuthPolicy::Unprotected, ..Self::default() }
    }

    /// Returns the identifier of the key that signs at the start: that of the first of `keys`, or 0.
    pub(crate) fn active_key(&self) -> u16 {
        self.keys.first().map_or(0, |key| key.id)
    }

    /// Returns the chunk types of the CHUNKS parameter, which are not accepted without AUTH.
    pub(crate) fn demanded(&self) -> ChunkSet {
        let mut set = ChunkSet::EMPTY;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //= type=exception
        //= reason=option `auth.policy`, held by default: `NotRequired` takes what comes, for peers without
        //= reason=AUTH
        //# If this chunk is received unauthenticated it MUST be silently discarded as described in [RFC4895].
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
        //= type=exception
        //= reason=option `auth.policy`, held by default: `NotRequired` takes what comes, for peers without
        //= reason=AUTH
        //# If this chunk is received unauthenticated it MUST be silently discarded as described in [RFC4895].
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //= type=exception
        //= reason=option `auth.policy`, held by default: `NotRequired` takes what comes, for peers without
        //= reason=AUTH
        //# the receiver MUST encounter an AUTH chunk
        if self.policy.protects_addresses() {
            set.extend(COVERED);
        }
        if self.has_secret() {
            set.extend(COVERED);
            set.extend(KEYED);
        }
        if self.policy.speaks() {
            set.extend(self.chunks.iter().copied().map(ChunkType));
        }
        set
    }

    /// Returns whether there is a secret shared key. The null key does not count.
    pub(crate) fn has_secret(&self) -> bool {
        self.policy.speaks() && self.keys.iter().any(|key| !key.secret.is_empty())
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check(
            self.policy.speaks() || self.keys.is_empty(),
            "auth.keys",
            self.keys.len(),
            "none while auth.policy leaves AUTH off: set it to Required or NotRequired",
        )?;
        for &typ in &self.chunks {
            let can = !NEVER.contains(&ChunkType(typ));
            check(can, "auth.chunks", typ, "no INIT, INIT ACK, SHUTDOWN COMPLETE or AUTH")?;
        }
        for (i, algorithm) in self.algorithms.iter().enumerate() {
            let once = !self.algorithms[..i].contains(algorithm);
            check(once, "auth.algorithms", algorithm.id(), "each algorithm once")?;
        }
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# The HMAC algorithm based on SHA-1 MUST be supported and included in the HMAC-ALGO parameter.
        let sha1 = self.algorithms.contains(&HmacAlgorithm::Sha1);
        check(sha1, "auth.algorithms", self.algorithms.len(), "SHA-1 among them (RFC 4895 §6.1)")?;
        for (i, key) in self.keys.iter().enumerate() {
            let once = self.keys[..i].iter().all(|other| other.id != key.id);
            check(once, "auth.keys", key.id, "each identifier once")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
    //= type=test
    //# The HMAC algorithm based on SHA-1 MUST be supported and included in the HMAC-ALGO parameter.
    #[test]
    fn each_error_names_the_option() {
        let wrong = |change: fn(&mut AuthConfig)| {
            let mut config = AuthConfig::default();
            assert_eq!(config.validate(), Ok(()));
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(wrong(|c| c.chunks.push(ChunkType::INIT.0)), "auth.chunks");
        assert_eq!(wrong(|c| c.algorithms.push(HmacAlgorithm::Sha1)), "auth.algorithms");
        assert_eq!(wrong(|c| c.algorithms.retain(|a| *a != HmacAlgorithm::Sha1)), "auth.algorithms");
        let unused = |c: &mut AuthConfig| {
            (c.policy, c.keys) = (AuthPolicy::Off, vec![SharedKey { id: 1, secret: vec![1] }]);
        };
        assert_eq!(wrong(unused), "auth.keys");
        let key = || SharedKey { id: 1, secret: vec![1] };
        assert_eq!(format!("{:?}", key()), "SharedKey { id: 1, bytes: 1 }", "no secret in a log");
        assert_eq!(
            AuthConfig { keys: vec![key(), key()], ..AuthConfig::default() }.validate().unwrap_err().field,
            "auth.keys"
        );
        let one = AuthConfig { keys: vec![key()], ..AuthConfig::default() };
        assert_eq!((one.validate(), one.active_key()), (Ok(()), 1));
        assert_eq!(AuthConfig::default().active_key(), 0);
    }

    #[test]
    fn policy_and_application_choose_the_authenticated_chunks() {
        let demanded = |config: AuthConfig| config.demanded().iter().map(|typ| typ.0).collect::<Vec<u8>>();
        assert_eq!(demanded(AuthConfig::default()), [0x80, 0xc1]);
        assert_eq!(demanded(AuthConfig::without()), []);
        let more = AuthConfig { chunks: vec![0, 10], ..AuthConfig::default() };
        assert_eq!(demanded(more.clone()), [0, 10, 0x80, 0xc1]);
        assert_eq!(demanded(AuthConfig { policy: AuthPolicy::Off, ..more }), [0x80, 0xc1]);
        let key = |secret: &[u8]| SharedKey { id: 1, secret: secret.to_vec() };
        let keyed = |secret| AuthConfig { keys: vec![key(secret)], ..AuthConfig::default() };
        assert_eq!(
            demanded(keyed(b"secret")),
            [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 0x80, 130, 192, 0xc1, 194]
        );
        assert_eq!(demanded(keyed(b"")), [0x80, 0xc1], "the null key is no secret");
        assert!(KEYED.iter().chain(&COVERED).all(|typ| !NEVER.contains(typ)));
        let lenient = AuthConfig { policy: AuthPolicy::NotRequired, ..keyed(b"secret") };
        assert!(demanded(lenient).contains(&0xc1), "keys imply the list whatever the policy");
    }
}
