//! The algorithms of AUTH (RFC 4895 §3.3, table 2) over RustCrypto's HMAC (RFC 2104). The comparison takes
//! constant time.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use msctp_wire::HmacId;
use sha1::Sha1;
use sha2::Sha256;

/// Bytes of the longest result.
pub(crate) const MAX_LEN: usize = 32;

/// A message digest algorithm of RFC 4895 §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HmacAlgorithm {
    /// SHA-1, which every implementation supports.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl HmacAlgorithm {
    /// Returns its HMAC Identifier.
    pub(crate) const fn id(self) -> HmacId {
        match self {
            Self::Sha1 => HmacId::SHA1,
            Self::Sha256 => HmacId::SHA256,
        }
    }

    /// Returns the algorithm with this identifier, if it is supported.
    pub(crate) fn of_id(id: HmacId) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// Returns the length of its result in bytes.
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => MAX_LEN,
        }
    }
}

/// A key prepared for one algorithm.
#[derive(Clone)]
pub(super) enum Schedule {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({:?})", self.algorithm())
    }
}

/// Evaluates `$then` with a new HMAC of either kind.
macro_rules! each {
    ($schedule:expr, $mac:ident => $then:expr) => {
        match $schedule {
            Schedule::Sha1($mac) => $then,
            Schedule::Sha256($mac) => $then,
        }
    };
}

impl Schedule {
    /// Creates an HMAC. Never returns `None`, since HMAC accepts keys of any length.
    pub(super) fn new(algorithm: HmacAlgorithm, key: &[u8]) -> Option<Self> {
        match algorithm {
            HmacAlgorithm::Sha1 => Hmac::new_from_slice(key).ok().map(Self::Sha1),
            HmacAlgorithm::Sha256 => Hmac::new_from_slice(key).ok().map(Self::Sha256),
        }
    }

    pub(super) fn algorithm(&self) -> HmacAlgorithm {
        match self {
            Self::Sha1(_) => HmacAlgorithm::Sha1,
            Self::Sha256(_) => HmacAlgorithm::Sha256,
        }
    }

    /// Writes the HMAC of `message` to the front of `out`. Returns its length.
    pub(super) fn sign(&self, message: &[u8], out: &mut [u8; MAX_LEN]) -> usize {
        let len = self.algorithm().len();
        each!(self, mac => out[..len].copy_from_slice(&mac.clone().chain_update(message).finalize().into_bytes()));
        len
    }

    /// Returns whether `hmac` is exactly the HMAC of the concatenated parts.
    pub(super) fn verify(&self, parts: [&[u8]; 3], hmac: &[u8]) -> bool {
        let [a, b, c] = parts;
        each!(self, mac => mac.clone().chain_update(a).chain_update(b).chain_update(c).verify_slice(hmac).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }

    fn check(algorithm: HmacAlgorithm, key: &[u8], message: &[u8], expected: &str) {
        let schedule = Schedule::new(algorithm, key).unwrap();
        let (expected, mut out) = (unhex(expected), [0; MAX_LEN]);
        assert_eq!(schedule.sign(message, &mut out), algorithm.len());
        assert_eq!(out[..algorithm.len()], expected);
        for cut in [0, message.len() / 2, message.len()] {
            let (head, tail) = message.split_at(cut);
            assert!(schedule.verify([head, &[], tail], &expected));
        }
        for bit in 0..expected.len() * 8 {
            let mut flipped = expected.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!schedule.verify([message, &[], &[]], &flipped), "bit {bit}");
        }
        for len in 0..expected.len() {
            assert!(!schedule.verify([message, &[], &[]], &expected[..len]), "cut to {len}");
        }
        assert!(!schedule.verify([message, &[], &[]], &[&expected[..], &[0]].concat()), "longer");
    }

    /// RFC 2202: keys of 20 bytes, of text, of one block and longer.
    #[test]
    fn hmac_sha1_of_rfc_2202() {
        for (key, message, expected) in [
            (vec![0x0b; 20], b"Hi There".to_vec(), "b617318655057264e28bc0b6fb378c8ef146be00"),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
            ),
            (vec![0xaa; 20], vec![0xdd; 50], "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
            (
                vec![0xaa; 80],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "aa4ae5e15272d00e95705637ce8a3b55ed402112",
            ),
            (
                vec![0xaa; 80],
                b"Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data".to_vec(),
                "e8e99d0f45237d786d6bbaa7965c7808bbff1a91",
            ),
        ] {
            check(HmacAlgorithm::Sha1, &key, &message, expected);
        }
    }

    /// The test cases of RFC 4231.
    #[test]
    fn hmac_sha256_of_rfc_4231() {
        for (key, message, expected) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                vec![0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to be \
                  hashed before being used by the HMAC algorithm."
                    .to_vec(),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ] {
            check(HmacAlgorithm::Sha256, &key, &message, expected);
        }
    }

    #[test]
    fn an_empty_key_is_a_key() {
        // The HMAC of an empty message with an empty key.
        check(HmacAlgorithm::Sha1, &[], &[], "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d");
        check(
            HmacAlgorithm::Sha256,
            &[],
            &[],
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad",
        );
    }
}
