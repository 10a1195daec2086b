//! [`Fingerprint`]: the hash of a public key, by which people compare keys.

use core::fmt;
use core::str::FromStr;

use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use sha2::{Digest, Sha256};

/// The SHA-256 hash of a public key (its DER SubjectPublicKeyInfo).
///
/// It is the same for a certificate, a renewed certificate of the same key, and the raw public key. Its text
/// is `SHA256:` and unpadded base64, as ssh prints fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

/// A text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a fingerprint: want SHA256: and 43 characters of base64")]
pub struct FingerprintError(String);

const PREFIX: &str = "SHA256:";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Fingerprint {
    /// Hashes the public key of a certificate, or a raw public key (RFC 7250).
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        // A SubjectPublicKeyInfo never parses as a certificate, whose first element is a sequence of more.
        match ParsedCertificate::try_from(certificate) {
            Ok(parsed) => Self::of_key(&parsed.subject_public_key_info()),
            Err(_) => Self::of_key(certificate),
        }
    }

    /// Hashes a SubjectPublicKeyInfo.
    fn of_key(spki: &[u8]) -> Self {
        Self(Sha256::digest(spki).into())
    }

    /// The hash.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from(PREFIX);
        for bytes in self.0.chunks(3) {
            let group = bytes.iter().fold(0, |group, byte| group << 8 | u32::from(*byte));
            let group = group << (8 * (3 - bytes.len()));
            for i in 0..=bytes.len() {
                text.push(char::from(ALPHABET[(group >> (18 - 6 * i)) as usize & 63]));
            }
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let error = || FingerprintError(text.to_owned());
        let digits = text.strip_prefix(PREFIX).ok_or_else(error)?;
        let mut hash = [0; 32];
        let (mut group, mut bits, mut filled) = (0u32, 0, 0);
        for digit in digits.bytes() {
            let value = ALPHABET.iter().position(|&known| known == digit).ok_or_else(error)?;
            (group, bits) = (group << 6 | value as u32, bits + 6);
            if bits >= 8 {
                bits -= 8;
                *hash.get_mut(filled).ok_or_else(error)? = (group >> bits) as u8;
                (group, filled) = (group & ((1 << bits) - 1), filled + 1);
            }
        }
        // The bits after the last byte are zero, so that each hash has one text.
        if filled != hash.len() || bits != 2 || group != 0 { Err(error()) } else { Ok(Self(hash)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the output of `printf abc | openssl dgst -sha256 -binary | base64`.
    #[test]
    fn the_text_is_unpadded_base64() {
        let fingerprint = Fingerprint::of_key(b"abc");
        let text = "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0";
        assert_eq!(fingerprint.to_string(), text);
        assert_eq!(text.parse(), Ok(fingerprint));
    }

    #[test]
    fn other_texts_are_rejected() {
        let good = Fingerprint([0xff; 32]).to_string();
        for bad in ["", "SHA256:", &good[7..], &format!("{good}A"), &good[..49], &good.replace('8', "9")] {
            let error = bad.parse::<Fingerprint>().expect_err(bad);
            assert!(error.to_string().ends_with("43 characters of base64"), "{error}");
        }
    }
}
