//! [`Provider`]: the cryptography that the crate itself does not have.

use crate::secret::Secret;
use crate::suite::{CipherSuite, Hash, NONCE_LEN, TAG_LEN};

/// Makes record ciphers, and computes HKDF (RFC 5869).
///
/// The crate's features have two: `Ring` and `AwsLcRs`.
pub trait Provider: Send + Sync {
    /// Returns the cipher of one epoch and direction. Both keys have [`CipherSuite::key_len`] bytes.
    fn record_cipher(&self, suite: CipherSuite, key: &[u8], sn_key: &[u8]) -> Box<dyn RecordCipher>;

    /// Computes HKDF-Extract.
    fn hkdf_extract(&self, hash: Hash, salt: &[u8], input: &[u8]) -> Secret;

    /// Computes HKDF-Expand into `out`, which is at most 255 digests long. `info` is the concatenation of its
    /// parts.
    fn hkdf_expand(&self, hash: Hash, secret: &Secret, info: &[&[u8]], out: &mut [u8]);
}

/// The AEAD and the sequence number encryption of one epoch and direction.
pub trait RecordCipher: Send + Sync {
    /// Encrypts `text` in place and returns its tag.
    fn seal(&self, nonce: [u8; NONCE_LEN], aad: &[u8], text: &mut [u8]) -> [u8; TAG_LEN];

    /// Decrypts `text`, which ends with its tag, in place. Returns false if it is not authentic.
    ///
    /// If the text is not authentic, its bytes are unspecified afterwards.
    #[must_use]
    fn open(&self, nonce: [u8; NONCE_LEN], aad: &[u8], text: &mut [u8]) -> bool;

    /// Returns the mask of the sequence number for the first 16 bytes of a ciphertext (RFC 9147 §4.2.3).
    fn mask(&self, sample: &[u8; 16]) -> [u8; 2];
}

/// Implements [`Provider`] over ring, or over aws-lc-rs, which has the same interface.
#[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
macro_rules! provider {
    ($(#[$doc:meta])* $name:ident, $module:ident, $library:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        mod $module {
            use $library::{aead, hkdf, hmac};

            use super::{NONCE_LEN, Provider, RecordCipher, TAG_LEN};
            use crate::secret::Secret;
            use crate::suite::{CipherSuite, Hash};

            struct Cipher {
                payload: aead::LessSafeKey,
                sequence_number: aead::quic::HeaderProtectionKey,
            }

            impl RecordCipher for Cipher {
                fn seal(&self, nonce: [u8; NONCE_LEN], aad: &[u8], text: &mut [u8]) -> [u8; TAG_LEN] {
                    let nonce = aead::Nonce::assume_unique_for_key(nonce);
                    let tag = self.payload.seal_in_place_separate_tag(nonce, aead::Aad::from(aad), text);
                    let tag = tag.expect("a record is shorter than the AEAD's limit");
                    tag.as_ref().try_into().expect("a tag of 16 bytes")
                }

                fn open(&self, nonce: [u8; NONCE_LEN], aad: &[u8], text: &mut [u8]) -> bool {
                    let nonce = aead::Nonce::assume_unique_for_key(nonce);
                    self.payload.open_in_place(nonce, aead::Aad::from(aad), text).is_ok()
                }

                fn mask(&self, sample: &[u8; 16]) -> [u8; 2] {
                    let [a, b, ..] = self.sequence_number.new_mask(sample).expect("a sample of 16 bytes");
                    [a, b]
                }
            }

            const RIGHT_LENGTH: &str = "key material has the lengths of its suite";

            impl Provider for super::$name {
                fn record_cipher(&self, suite: CipherSuite, key: &[u8], sn_key: &[u8]) -> Box<dyn RecordCipher> {
                    let (payload, sequence_number) = match suite {
                        CipherSuite::Aes128GcmSha256 => (&aead::AES_128_GCM, &aead::quic::AES_128),
                        CipherSuite::Aes256GcmSha384 => (&aead::AES_256_GCM, &aead::quic::AES_256),
                        CipherSuite::Chacha20Poly1305Sha256 => (&aead::CHACHA20_POLY1305, &aead::quic::CHACHA20),
                    };
                    let payload = aead::UnboundKey::new(payload, key).expect(RIGHT_LENGTH);
                    let sequence_number = aead::quic::HeaderProtectionKey::new(sequence_number, sn_key);
                    Box::new(Cipher {
                        payload: aead::LessSafeKey::new(payload),
                        sequence_number: sequence_number.expect(RIGHT_LENGTH),
                    })
                }

                fn hkdf_extract(&self, hash: Hash, salt: &[u8], input: &[u8]) -> Secret {
                    let algorithm = match hash {
                        Hash::Sha256 => hmac::HMAC_SHA256,
                        Hash::Sha384 => hmac::HMAC_SHA384,
                    };
                    Secret::from(hmac::sign(&hmac::Key::new(algorithm, salt), input).as_ref())
                }

                fn hkdf_expand(&self, hash: Hash, secret: &Secret, info: &[&[u8]], out: &mut [u8]) {
                    struct Len(usize);
                    impl hkdf::KeyType for Len {
                        fn len(&self) -> usize {
                            self.0
                        }
                    }
                    let algorithm = match hash {
                        Hash::Sha256 => hkdf::HKDF_SHA256,
                        Hash::Sha384 => hkdf::HKDF_SHA384,
                    };
                    let secret = hkdf::Prk::new_less_safe(algorithm, secret.bytes());
                    let expanded = secret.expand(info, Len(out.len()));
                    expanded.and_then(|key| key.fill(out)).expect("at most 255 digests are expanded");
                }
            }
        }
    };
}

#[cfg(feature = "aws-lc-rs")]
provider! {
    /// The [`Provider`] over aws-lc-rs (feature `aws-lc-rs`).
    AwsLcRs, over_aws_lc_rs, aws_lc_rs
}
#[cfg(feature = "ring")]
provider! {
    /// The [`Provider`] over ring (feature `ring`).
    Ring, over_ring, ring
}

/// Returns the providers of this build, with their names.
#[cfg(test)]
pub(crate) fn all() -> Vec<(&'static str, &'static dyn Provider)> {
    vec![
        #[cfg(feature = "aws-lc-rs")]
        ("aws-lc-rs", &AwsLcRs),
        #[cfg(feature = "ring")]
        ("ring", &Ring),
    ]
}
