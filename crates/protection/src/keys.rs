//! [`KeyMaterial`]: the keys of one epoch and direction, and their derivation.

use zeroize::Zeroizing;

use crate::binding::FirstProtected;
use crate::provider::Provider;
use crate::secret::Secret;
use crate::suite::{CipherSuite, NONCE_LEN};

/// The error of a key or initialization vector whose length is not the suite's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {len} bytes, {suite} needs {expected}")]
pub struct KeyLengthError {
    /// Name of the key or vector.
    pub what: &'static str,
    /// Length of the key or vector in bytes.
    pub len: usize,
    /// The suite.
    pub suite: CipherSuite,
    /// The right length in bytes.
    pub expected: usize,
}

/// The keys of one epoch and direction: record payload key, sequence number key and initialization vector
/// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §2.1).
#[derive(Clone, Debug)]
pub struct KeyMaterial {
    suite: CipherSuite,
    key: Secret,
    sn_key: Secret,
    iv: Secret,
}

impl KeyMaterial {
    /// Creates key material from the keys that a key management method exported.
    ///
    /// # Errors
    /// If a length is not the suite's.
    pub fn new(suite: CipherSuite, key: Secret, sn_key: Secret, iv: Secret) -> Result<Self, KeyLengthError> {
        let lengths = [
            ("the record payload key", &key, suite.key_len()),
            ("the sequence number key", &sn_key, suite.key_len()),
            ("the initialization vector", &iv, NONCE_LEN),
        ];
        for (what, secret, expected) in lengths {
            let len = secret.bytes().len();
            if len != expected {
                return Err(KeyLengthError { what, len, suite, expected });
            }
        }
        Ok(Self { suite, key, sn_key, iv })
    }

    /// Derives key material from a traffic secret (RFC 8446 §7.3; RFC 9147 §4.2.3 for the sequence number).
    #[must_use]
    pub fn from_traffic_secret(provider: &dyn Provider, suite: CipherSuite, secret: &Secret) -> Self {
        let expand = |label, len| expand_label(provider, suite, secret, label, &[], len);
        Self {
            suite,
            key: expand("key", suite.key_len()),
            sn_key: expand("sn", suite.key_len()),
            iv: expand("iv", NONCE_LEN),
        }
    }

    /// Derives the key material that ends use if protection began at these numbers for both of them. Another
    /// number gives other keys.
    ///
    /// The exported keys are the input of HKDF-Extract, with the label as salt. HKDF-Expand-Label gives a
    /// secret for the numbers, and [`from_traffic_secret`](Self::from_traffic_secret) its keys.
    #[must_use]
    pub fn bound(&self, provider: &dyn Provider, client: FirstProtected, server: FirstProtected) -> Self {
        let exported = Zeroizing::new(self.parts().concat());
        let hash = self.suite.hash();
        let key = provider.hkdf_extract(hash, b"msctp DTLS chunk first protected", &exported);
        let context = FirstProtected::context(client, server);
        let secret = expand_label(provider, self.suite, &key, "first prot", &context, hash.len());
        Self::from_traffic_secret(provider, self.suite, &secret)
    }

    /// Returns the cipher suite.
    #[must_use]
    pub const fn suite(&self) -> CipherSuite {
        self.suite
    }

    /// Returns the record payload key, the sequence number key and the initialization vector.
    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        [&self.key, &self.sn_key, &self.iv].map(Secret::bytes)
    }

    /// Builds the cipher state that a direction needs for its records.
    pub(crate) fn build(&self, provider: &dyn Provider) -> RecordKeys {
        let mut iv = Zeroizing::new([0; NONCE_LEN]);
        iv.copy_from_slice(self.iv.bytes());
        let cipher = provider.record_cipher(self.suite, self.key.bytes(), self.sn_key.bytes());
        RecordKeys { cipher, iv }
    }
}

/// The cipher of one epoch and direction with its initialization vector.
pub(crate) struct RecordKeys {
    pub(crate) cipher: Box<dyn crate::provider::RecordCipher>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
}

impl RecordKeys {
    /// Returns the nonce of a record (RFC 8446 §5.3).
    ///
    /// RFC 9147 §4: the epoch is not part of it.
    pub(crate) fn nonce(&self, sequence_number: u64) -> [u8; NONCE_LEN] {
        let mut nonce = *self.iv;
        for (byte, number) in nonce[NONCE_LEN - 8..].iter_mut().zip(sequence_number.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}

/// Computes HKDF-Expand-Label (RFC 8446 §7.1) with the prefix of DTLS 1.3 (RFC 9147 §5.9).
pub(crate) fn expand_label(
    provider: &dyn Provider,
    suite: CipherSuite,
    secret: &Secret,
    label: &str,
    context: &[u8],
    len: usize,
) -> Secret {
    expand_prefixed(provider, suite, secret, &["dtls13", label], context, len)
}

/// Computes HKDF-Expand-Label. The parts of `label` include its prefix.
fn expand_prefixed(
    provider: &dyn Provider,
    suite: CipherSuite,
    secret: &Secret,
    label: &[&str; 2],
    context: &[u8],
    len: usize,
) -> Secret {
    let out_len = u16::try_from(len).expect("at most 65,535 bytes are expanded").to_be_bytes();
    let short = |len: usize| [u8::try_from(len).expect("labels and contexts are at most 255 bytes long")];
    let mut out = Secret::zeros(len);
    let info = [
        &out_len[..],
        &short(label[0].len() + label[1].len()),
        label[0].as_bytes(),
        label[1].as_bytes(),
        &short(context.len()),
        context,
    ];
    provider.hkdf_expand(suite.hash(), secret, &info, out.bytes_mut());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::all;
    use crate::vectors::hex;

    /// Asserts that HKDF-Expand-Label of TLS 1.3 gives `expected`.
    fn check_label(secret: &str, label: &str, expected: &str) {
        for (name, provider) in all() {
            let (suite, secret, expected) =
                (CipherSuite::Aes128GcmSha256, Secret::from(&hex(secret)[..]), hex(expected));
            let out = expand_prefixed(provider, suite, &secret, &["tls13 ", label], &[], expected.len());
            assert_eq!(out.bytes(), expected, "{name}: {label}");
        }
    }

    /// RFC 8448 §3, the server's handshake traffic keys.
    #[test]
    fn traffic_keys_of_rfc_8448() {
        let secret = "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38";
        check_label(secret, "key", "3fce516009c21727d0f2e4e86ee403bc");
        check_label(secret, "iv", "5d313eb2671276ee13000b30");
    }

    /// RFC 8448 §3: the early secret without a pre-shared key.
    #[test]
    fn extract_of_rfc_8448() {
        for (name, provider) in all() {
            let secret = provider.hkdf_extract(crate::suite::Hash::Sha256, &[0], &[0; 32]);
            let expected = hex("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a");
            assert_eq!(secret.bytes(), expected, "{name}");
        }
    }

    /// RFC 9001 §A.5: the same HKDF with other labels.
    #[test]
    fn keys_of_rfc_9001() {
        let secret = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";
        let key = "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8";
        check_label(secret, "quic key", key);
        check_label(secret, "quic iv", "e0459b3474bdd0e44a41c144");
    }

    /// RFC 9001 §A.5 (a packet of ChaCha20-Poly1305) and §A.2 (the mask of AES-128).
    #[test]
    fn aead_and_mask_of_rfc_9001() {
        for (name, provider) in all() {
            let key = hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
            let hp = hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
            let cipher = provider.record_cipher(CipherSuite::Chacha20Poly1305Sha256, &key, &hp);
            let nonce = || hex("e0459b3474bdd0e46d417eb0").try_into().expect("12 bytes");
            let mut text = [1];
            let tag = cipher.seal(nonce(), &hex("4200bff4"), &mut text);
            let whole = [&text[..], &tag].concat();
            assert_eq!(whole, hex("655e5cd55c41f69080575d7999c25a5bfb"), "{name}");
            let mut opened = whole.clone();
            assert!(cipher.open(nonce(), &hex("4200bff4"), &mut opened) && opened[0] == 1, "{name}");
            assert_eq!(cipher.mask(whole[1..].try_into().unwrap()), [0xae, 0xfe], "{name}");

            let key = hex("1f369613dd76d5467730efcbe3b1a22d");
            let hp = hex("9f50449e04a0e810283a1e9933adedd2");
            let cipher = provider.record_cipher(CipherSuite::Aes128GcmSha256, &key, &hp);
            let sample = hex("d1b1c98dd7689fb8ec11d242b123dc9b");
            assert_eq!(cipher.mask(&sample.try_into().unwrap()), [0x43, 0x7b], "{name}");
        }
    }

    #[test]
    fn a_key_of_another_suite_is_rejected() {
        let secret = |len| Secret::zeros(len);
        let suite = CipherSuite::Aes256GcmSha384;
        let error = KeyMaterial::new(suite, secret(32), secret(16), secret(12)).unwrap_err();
        assert_eq!(error.to_string(), "the sequence number key is 16 bytes, TLS_AES_256_GCM_SHA384 needs 32");
        assert!(KeyMaterial::new(suite, secret(32), secret(32), secret(12)).is_ok());
    }

    #[test]
    fn secrets_are_not_in_debug() {
        let keys = KeyMaterial::new(
            CipherSuite::Aes128GcmSha256,
            Secret::from(&[0xab; 16][..]),
            Secret::from(&[0xab; 16][..]),
            Secret::from(&[0xab; 12][..]),
        );
        let text = format!("{keys:?}");
        assert!(text.contains("Secret(16 bytes)"), "{text}");
        assert!(!text.contains("171") && !text.contains("ab,"), "{text}");
    }
}
