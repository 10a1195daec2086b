//! [`negotiate`]: the key management role and method that both ends choose alike.

use msctp_wire::param::DtlsKeyManagement;
use msctp_wire::{Cause, KeyManagementId};

/// A key management role (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// The result of a negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// This end's role.
    pub end: End,
    /// The key management method.
    pub method: KeyManagementId,
    /// Both ends support the protected restart.
    pub restart: bool,
}

/// The reason why two ends cannot agree. An end that requires protection aborts with [`cause`](Self::cause).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// The peer's INIT or INIT ACK has no DTLS Key Management parameter.
    #[error("the peer does not support the DTLS chunk")]
    MissingSupport,
    /// No method is on both lists.
    #[error("no key management method is common to both ends")]
    NoCommonMethod,
    /// The peer offers only methods whose keys do not depend on the whole set-up, as earlier versions of
    /// msctp and the drafts have them.
    #[error(
        "the peer offers only key management methods of an earlier version (0, 192 or 254), and this end wants \
         224, 225 or 226: update the peer"
    )]
    EarlierVersion,
    /// Both ends can take only the same role.
    #[error("the key management roles of both ends are incompatible")]
    IncompatibleRoles,
    /// Both ends can take both roles and chose the same tie breaker; another attempt may succeed.
    #[error("both ends chose the same tie breaker")]
    TieBreakerCollision,
}

impl NegotiationError {
    /// Returns the error cause of the ABORT (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3).
    #[must_use]
    pub const fn cause(self) -> Cause<'static> {
        match self {
            Self::MissingSupport => Cause::MissingDtlsSupport,
            Self::NoCommonMethod | Self::EarlierVersion => Cause::NoCommonKeyManagement,
            Self::IncompatibleRoles => Cause::IncompatibleKeyManagementRoles,
            Self::TieBreakerCollision => Cause::TieBreakerCollision,
        }
    }
}

/// Chooses role and method from the parameters of this end and the peer (draft-ietf-tsvwg-sctp-dtls-chunk-04
/// §5.1). `peer` is `None` if the peer sent none.
///
/// # Errors
///
/// If the parameters are not compatible, or the peer sent none.
pub fn negotiate(
    ours: &DtlsKeyManagement<'_>,
    theirs: Option<&DtlsKeyManagement<'_>>,
) -> Result<Negotiated, NegotiationError> {
    let theirs = theirs.ok_or(NegotiationError::MissingSupport)?;
    let may_be_client = ours.roles.client && theirs.roles.server;
    let may_be_server = ours.roles.server && theirs.roles.client;
    let end = match (may_be_client, may_be_server) {
        (false, false) => return Err(NegotiationError::IncompatibleRoles),
        // Case 1: an end with a single role takes it.
        (true, false) => End::Client,
        (false, true) => End::Server,
        // Case 2: both can be both, and the larger tie breaker is the server's.
        (true, true) if ours.tie_breaker > theirs.tie_breaker => End::Server,
        (true, true) if ours.tie_breaker < theirs.tie_breaker => End::Client,
        (true, true) => return Err(NegotiationError::TieBreakerCollision),
    };
    // The server's list is in its order of preference; the first method that the client has is taken.
    let (server, client) = if end == End::Server { (ours, theirs) } else { (theirs, ours) };
    let common = |id: &KeyManagementId| client.methods.iter().any(|method| method == *id);
    let method = server.methods.iter().find(common).ok_or_else(|| {
        let earlier = theirs.methods.iter().all(|method| method.is_unbound());
        if earlier { NegotiationError::EarlierVersion } else { NegotiationError::NoCommonMethod }
    })?;
    Ok(Negotiated { end, method, restart: ours.restart && theirs.restart })
}

#[cfg(test)]
mod tests {
    use msctp_wire::List;
    use msctp_wire::param::DtlsRoles;
    use proptest::prelude::*;

    use super::*;

    const BOTH: DtlsRoles = DtlsRoles { client: true, server: true };
    const CLIENT: DtlsRoles = DtlsRoles { client: true, server: false };
    const SERVER: DtlsRoles = DtlsRoles { client: false, server: true };
    const TLS: KeyManagementId = KeyManagementId::TLS;
    const PRE_SHARED: KeyManagementId = KeyManagementId::PRE_SHARED;
    const UNBOUND: [KeyManagementId; 3] =
        [KeyManagementId::new(0), KeyManagementId::new(192), KeyManagementId::new(254)];

    fn parameter(tie_breaker: u32, roles: DtlsRoles, methods: &[KeyManagementId]) -> DtlsKeyManagement<'_> {
        DtlsKeyManagement { tie_breaker, restart: true, roles, methods: List::from(methods) }
    }

    #[test]
    fn an_end_with_a_single_role_takes_it() {
        let methods = [TLS];
        for (ours, theirs, end) in [
            (CLIENT, SERVER, End::Client),
            (CLIENT, BOTH, End::Client),
            (BOTH, SERVER, End::Client),
            (SERVER, BOTH, End::Server),
            (BOTH, CLIENT, End::Server),
        ] {
            // The tie breakers are equal and do not matter.
            let negotiated = negotiate(&parameter(5, ours, &methods), Some(&parameter(5, theirs, &methods)));
            assert_eq!(negotiated, Ok(Negotiated { end, method: TLS, restart: true }), "{ours:?} {theirs:?}");
        }
        for role in [CLIENT, SERVER] {
            let refused = negotiate(&parameter(1, role, &methods), Some(&parameter(2, role, &methods)));
            assert_eq!(refused, Err(NegotiationError::IncompatibleRoles));
        }
    }

    #[test]
    fn the_larger_tie_breaker_is_the_server_and_its_list_counts() {
        let (mine, theirs) = ([TLS, PRE_SHARED], [PRE_SHARED, TLS]);
        let end = |ours, peers| {
            let negotiated = negotiate(&parameter(ours, BOTH, &mine), Some(&parameter(peers, BOTH, &theirs)));
            negotiated.map(|negotiated| (negotiated.end, negotiated.method))
        };
        assert_eq!(end(2, 1), Ok((End::Server, TLS)));
        assert_eq!(end(1, u32::MAX), Ok((End::Client, PRE_SHARED)));
        assert_eq!(end(7, 7), Err(NegotiationError::TieBreakerCollision));
    }

    #[test]
    fn each_failure_has_its_cause() {
        let ours = parameter(1, BOTH, &[TLS]);
        let missing = negotiate(&ours, None).unwrap_err();
        assert_eq!(missing.cause(), Cause::MissingDtlsSupport);
        let other = negotiate(&ours, Some(&parameter(2, BOTH, &[PRE_SHARED]))).unwrap_err();
        assert_eq!(other.cause(), Cause::NoCommonKeyManagement);
        let earlier = negotiate(&ours, Some(&parameter(2, BOTH, &UNBOUND))).unwrap_err();
        assert_eq!(
            (earlier, earlier.cause()),
            (NegotiationError::EarlierVersion, Cause::NoCommonKeyManagement)
        );
        let (text, wanted) = (earlier.to_string(), [PRE_SHARED, TLS, KeyManagementId::TLS_FALSE_START]);
        assert!(UNBOUND.iter().chain(&wanted).all(|id| text.contains(&id.to_string())), "{text}");
        let newer = negotiate(&parameter(2, BOTH, &UNBOUND), Some(&ours)).unwrap_err();
        assert_eq!(newer, NegotiationError::NoCommonMethod);
        assert_eq!(NegotiationError::IncompatibleRoles.cause(), Cause::IncompatibleKeyManagementRoles);
        assert_eq!(NegotiationError::TieBreakerCollision.cause(), Cause::TieBreakerCollision);
    }

    proptest! {
        #[test]
        fn both_ends_choose_alike(
            ties in (0u32..3, 0u32..3),
            roles in any::<[bool; 4]>(),
            restart in any::<[bool; 2]>(),
            methods in prop::collection::vec(prop::collection::vec(1u8..5, 1..4), 2),
        ) {
            let methods: Vec<Vec<KeyManagementId>> =
                methods.iter().map(|ids| ids.iter().map(|&id| KeyManagementId::new(id)).collect()).collect();
            let [a, b, c, d] = roles;
            let mut one = parameter(ties.0, DtlsRoles { client: a, server: b }, &methods[0]);
            let mut two = parameter(ties.1, DtlsRoles { client: c, server: d }, &methods[1]);
            (one.restart, two.restart) = (restart[0], restart[1]);
            match (negotiate(&one, Some(&two)), negotiate(&two, Some(&one))) {
                (Ok(here), Ok(there)) => {
                    prop_assert_ne!(here.end, there.end);
                    prop_assert_eq!((here.method, here.restart), (there.method, there.restart));
                }
                (here, there) => prop_assert_eq!(here, there),
            }
        }
    }
}
