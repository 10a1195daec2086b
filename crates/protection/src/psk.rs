//! [`PreShared`]: key management method 224, pre-shared cryptographic parameters.

use crate::binding::Binding;
use crate::keys::{KeyMaterial, expand_label};
use crate::negotiation::End;
use crate::provider::Provider;
use crate::record::{FIRST_EPOCH, KeyContext};
use crate::secret::Secret;
use crate::suite::{CipherSuite, NONCE_LEN};

/// Minimum length of a pre-shared key in bytes: the security of the mandatory suite.
const MIN_KEY: usize = 16;

/// A direction of an association, as one end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the peer.
    Send,
    /// From the peer.
    Receive,
}

/// The set-up parameters of one end, which make an association's keys unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUp<'a> {
    /// DTLS Key Management parameter as on the wire, with its header and without padding
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §6).
    pub parameter: &'a [u8],
    /// Initiate Tag of the end.
    pub tag: u32,
    /// Initial TSN of the end.
    pub initial_tsn: u32,
}

/// A pre-shared key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pre-shared key is {len} bytes, must be at least {MIN_KEY}")]
pub struct PskError {
    /// Length of the key in bytes.
    pub len: usize,
}

/// The keys of one association from a pre-shared key (as method 0 of draft-ietf-tsvwg-sctp-dtls-chunk-04
/// §8.1).
///
/// The draft leaves the derivation open. This one takes both DTLS Key Management parameters, as §6 demands
/// against downgrades. It also takes both ends' tags and initial TSNs, which with the tie breakers are 96
/// random bits of each end, and the [`Binding`] of all that INIT and INIT ACK said. The binding covers the
/// others too; they stay, because the drafts want the parameters and other inputs give other keys. So the
/// keys of two associations differ as long as the server accepts each set-up **once**: a COOKIE ECHO that is
/// replayed after its association ended must not begin another with the same tags, or nonces repeat.
/// HKDF-Expand-Label (RFC 9147 §5.9) then derives key material as the exporter of
/// draft-porfiri-tsvwg-sctp-dtls-handshake-01 §5.2 does, with the bytes Direction, Key role and Key type as
/// context.
///
/// The key of an association is as secret as the pre-shared key: anyone who learns that key can read recorded
/// traffic.
#[derive(Clone, Debug)]
pub struct PreShared {
    suite: CipherSuite,
    end: End,
    /// The secret of the current epoch. Those of earlier epochs cannot be computed from it.
    secret: Secret,
    epoch: u64,
}

impl PreShared {
    /// Checks that a key is long enough.
    ///
    /// # Errors
    /// If the key is shorter than 16 bytes.
    pub fn check(key: &Secret) -> Result<(), PskError> {
        let len = key.bytes().len();
        if len < MIN_KEY { Err(PskError { len }) } else { Ok(()) }
    }

    /// Derives the secret of an association's first epoch. `end` is this end's role.
    ///
    /// No DATA is in clear: protection begins at the initial TSNs, which are inputs.
    ///
    /// # Errors
    /// If the key is shorter than 16 bytes.
    pub fn new(
        provider: &dyn Provider,
        suite: CipherSuite,
        key: &Secret,
        end: End,
        client: SetUp<'_>,
        server: SetUp<'_>,
        binding: Binding,
    ) -> Result<Self, PskError> {
        Self::check(key)?;
        // A parameter's Length field delimits it, the rest has fixed sizes: no two set-ups give these bytes.
        let mut said = Vec::new();
        for SetUp { parameter, tag, initial_tsn } in [client, server] {
            said.extend_from_slice(parameter);
            said.extend_from_slice(&tag.to_be_bytes());
            said.extend_from_slice(&initial_tsn.to_be_bytes());
        }
        said.extend_from_slice(binding.bytes());
        let extract = |salt: &[u8], input: &[u8]| provider.hkdf_extract(suite.hash(), salt, input);
        let key = extract(b"msctp DTLS chunk pre-shared", key.bytes());
        let secret = extract(key.bytes(), &said);
        Ok(Self { suite, end, secret, epoch: FIRST_EPOCH })
    }

    /// Returns the current epoch.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Derives the key material of the current epoch.
    #[must_use]
    pub fn keys(&self, provider: &dyn Provider, context: KeyContext, direction: Direction) -> KeyMaterial {
        let from_client = (self.end == End::Client) == (direction == Direction::Send);
        let restart = context == KeyContext::Restart;
        let expand = |key_type: u8, len| {
            let context = [u8::from(!from_client), restart.into(), key_type];
            expand_label(provider, self.suite, &self.secret, "dtls chunk", &context, len)
        };
        let key_len = self.suite.key_len();
        let keys = KeyMaterial::new(self.suite, expand(0, key_len), expand(1, key_len), expand(2, NONCE_LEN));
        keys.expect("the lengths of the suite")
    }

    /// Advances to the next epoch, and overwrites the secret of this one.
    pub fn advance(&mut self, provider: &dyn Provider) {
        let len = self.suite.hash().len();
        self.secret = expand_label(provider, self.suite, &self.secret, "traffic upd", &[], len);
        self.epoch += 1;
    }
}
