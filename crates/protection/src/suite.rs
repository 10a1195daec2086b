//! [`CipherSuite`]: the TLS 1.3 cipher suites that protect records, with their sizes and limits.

use core::fmt;

/// Bytes of a record's nonce, and of the initialization vector it is made from.
pub const NONCE_LEN: usize = 12;
/// Bytes of an authentication tag.
pub const TAG_LEN: usize = 16;

/// The longest plaintext of a record in bytes (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.1).
pub const MAX_PLAINTEXT: usize = 1 << 14;

/// Blocks of 16 bytes in a record of [`MAX_PLAINTEXT`] bytes, its content type and its tag included.
const FULL_SIZE_BLOCKS: u64 = (MAX_PLAINTEXT as u64 / 16) + 2;

/// A TLS 1.3 cipher suite (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CipherSuite {
    /// `TLS_AES_128_GCM_SHA256`: mandatory.
    Aes128GcmSha256,
    /// `TLS_AES_256_GCM_SHA384`.
    Aes256GcmSha384,
    /// `TLS_CHACHA20_POLY1305_SHA256`.
    Chacha20Poly1305Sha256,
}

impl CipherSuite {
    /// All suites, the mandatory one first.
    pub const ALL: [Self; 3] = [Self::Aes128GcmSha256, Self::Aes256GcmSha384, Self::Chacha20Poly1305Sha256];

    /// Returns the suite's number in IANA's registry.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Aes128GcmSha256 => 0x1301,
            Self::Aes256GcmSha384 => 0x1302,
            Self::Chacha20Poly1305Sha256 => 0x1303,
        }
    }

    /// Returns the suite with this number in IANA's registry, or `None` if it is not supported.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.code() == code)
    }

    /// Returns the length in bytes of the record payload key, and of the sequence number key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128GcmSha256 => 16,
            Self::Aes256GcmSha384 | Self::Chacha20Poly1305Sha256 => 32,
        }
    }

    /// Returns the hash of the suite's key schedule.
    #[must_use]
    pub const fn hash(self) -> Hash {
        match self {
            Self::Aes128GcmSha256 | Self::Chacha20Poly1305Sha256 => Hash::Sha256,
            Self::Aes256GcmSha384 => Hash::Sha384,
        }
    }

    /// Returns the number of 16-byte blocks that one key may encrypt.
    ///
    /// RFC 8446 §5.5 allows AES-GCM 2^24.5 full-size records. The underlying bound grows with the number of
    /// blocks, so that short records count by their blocks. ChaCha20-Poly1305 runs out of sequence numbers
    /// first.
    #[must_use]
    pub const fn block_limit(self) -> u64 {
        /// 2^24.5, rounded down.
        const FULL_SIZE_RECORDS: u64 = 23_726_566;
        match self {
            Self::Aes128GcmSha256 | Self::Aes256GcmSha384 => FULL_SIZE_RECORDS * FULL_SIZE_BLOCKS,
            Self::Chacha20Poly1305Sha256 => u64::MAX,
        }
    }

    /// Returns the number of records that may fail authentication under one key: 2^36 for all suites
    /// (RFC 9147 §4.5.3).
    #[must_use]
    pub const fn failure_limit(self) -> u64 {
        1 << 36
    }
}

impl fmt::Display for CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aes128GcmSha256 => "TLS_AES_128_GCM_SHA256",
            Self::Aes256GcmSha384 => "TLS_AES_256_GCM_SHA384",
            Self::Chacha20Poly1305Sha256 => "TLS_CHACHA20_POLY1305_SHA256",
        })
    }
}

/// The hash of a key schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
}

impl Hash {
    /// Returns the length of a digest in bytes, which is also that of a secret.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a size, not a container")]
    pub const fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_found_by_their_number() {
        for suite in CipherSuite::ALL {
            assert_eq!(CipherSuite::from_code(suite.code()), Some(suite));
        }
        // TLS_AES_128_CCM_8_SHA256: must not be used in DTLS without further safeguards (RFC 9147 §4.5.3).
        assert_eq!(CipherSuite::from_code(0x1305), None);
    }
}
