//! DTLS Key Management parameters as they are on the wire: the keys depend on their bytes
//! (draft-ietf-tsvwg-sctp-dtls-chunk-04 §6).

use msctp_protection::{Binding, Negotiated, NegotiationError, negotiate};
use msctp_wire::param::DtlsKeyManagement;
use msctp_wire::{KeyManagementId, Param, Tlv};
use smallvec::SmallVec;

use super::config::KeyManagement;

/// Maximum number of key management methods of a parameter, because the state cookie stores it.
pub(super) const MAX_METHODS: usize = 32;
/// Bytes of a parameter before its methods: header, Tie Breaker, flags.
const FIXED: usize = 9;

/// A DTLS Key Management parameter, with its header and without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProtectionOffer(SmallVec<[u8; FIXED + 7]>);

impl ProtectionOffer {
    /// Creates this end's parameter.
    pub(crate) fn ours(keys: &KeyManagement, tie_breaker: u32) -> Self {
        let mut bytes = Vec::with_capacity(FIXED + MAX_METHODS);
        Param::DtlsKeyManagement(keys.param(tie_breaker)).encode(&mut bytes);
        Self(SmallVec::from_vec(bytes))
    }

    /// Parses the parameter at the front of `bytes`. Returns `None` if there is no valid one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let len = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
        let offer = Self(SmallVec::from_slice(bytes.get(..len)?));
        offer.param().is_some().then_some(offer)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the content of the parameter. Never `None` for a parameter that was parsed.
    fn param(&self) -> Option<DtlsKeyManagement<'_>> {
        match Param::parse(&self.0) {
            Ok(Param::DtlsKeyManagement(param)) => Some(param),
            _ => None,
        }
    }

    /// Returns the value as a parameter of INIT or INIT ACK.
    pub(crate) fn as_param(&self) -> Option<Param<'_>> {
        self.param().map(Param::DtlsKeyManagement)
    }

    /// Returns its key management methods.
    pub(crate) fn methods(&self) -> Vec<KeyManagementId> {
        self.param().map_or_else(Vec::new, |param| param.methods.iter().collect())
    }

    /// Returns whether a cookie can store the parameter. With more methods, none counts as common.
    pub(crate) fn fits_cookie(&self) -> bool {
        self.0.len() <= FIXED + MAX_METHODS
    }

    /// Chooses role and method (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.1).
    pub(crate) fn negotiate(&self, theirs: Option<&Self>) -> Result<Negotiated, NegotiationError> {
        let usable = theirs.is_none_or(Self::fits_cookie);
        let ours = self.param().filter(|_| usable).ok_or(NegotiationError::NoCommonMethod)?;
        negotiate(&ours, theirs.and_then(Self::param).as_ref())
    }

    /// Returns whether this end can agree with the peer's parameter. Its tie breaker is chosen last.
    pub(crate) fn check(keys: &KeyManagement, theirs: Option<&Self>) -> Result<(), NegotiationError> {
        Self::ours(keys, Self::other_tie_breaker(theirs, 0)).negotiate(theirs).map(|_| ())
    }

    /// Returns a tie breaker that differs from this parameter's: `drawn`, if it does.
    pub(crate) fn other_tie_breaker(theirs: Option<&Self>, drawn: u32) -> u32 {
        let equal = theirs.and_then(Self::param).is_some_and(|param| param.tie_breaker == drawn);
        if equal { drawn ^ 1 } else { drawn }
    }
}

/// The parameters of both ends, which a state cookie stores between INIT and COOKIE ECHO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CookieProtection {
    /// Parameter of this end's INIT ACK.
    pub(crate) ours: ProtectionOffer,
    /// Offer of the INIT.
    pub(crate) theirs: ProtectionOffer,
    /// Hash of INIT and INIT ACK.
    pub(crate) binding: Binding,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use msctp_protection::Ring;
    use msctp_wire::param::DtlsRoles;

    use super::*;

    const BOTH: DtlsRoles = DtlsRoles { client: true, server: true };

    #[test]
    fn the_bytes_are_those_on_the_wire() {
        let keys = KeyManagement::external(Arc::new(Ring), vec![KeyManagementId::TLS], BOTH);
        let ours = ProtectionOffer::ours(&keys, 0x0102_0304);
        assert_eq!(ours.bytes(), [0x80, 6, 0, 10, 1, 2, 3, 4, 3, 225]);
        // Reserved bits and what follows: the bits are kept, as keys are derived from them.
        let theirs = ProtectionOffer::read(&[0x80, 6, 0, 10, 9, 9, 9, 9, 0xf3, 225, 0, 0, 1]).unwrap();
        assert_eq!(theirs.bytes(), [0x80, 6, 0, 10, 9, 9, 9, 9, 0xf3, 225]);
        assert!(ours.negotiate(Some(&theirs)).is_ok());
        assert_eq!(ours.negotiate(None), Err(NegotiationError::MissingSupport));
        for wrong in [&[0x80, 6, 0, 9, 1, 2, 3, 4, 3][..], &[0x80, 6, 0, 10, 1], &[0x80], &[0; 12]] {
            assert_eq!(ProtectionOffer::read(wrong), None, "{wrong:?}");
        }
        let mut long = vec![0x80, 6, 0, 42, 0, 0, 0, 0, 1];
        long.resize(42, 0);
        let long = ProtectionOffer::read(&long).unwrap();
        assert_eq!(ours.negotiate(Some(&long)), Err(NegotiationError::NoCommonMethod));
        assert!(!long.fits_cookie() && theirs.fits_cookie());
        assert_eq!(ProtectionOffer::other_tie_breaker(Some(&ours), 0x0102_0304), 0x0102_0305);
        assert_eq!(ProtectionOffer::other_tie_breaker(Some(&ours), 7), 7);
    }
}
