//! Identifiers: numbers on the wire, distinct types in code.

use core::fmt;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($int:ty), $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($int);

        impl $name {
            /// Returns the identifier with this value on the wire.
            #[inline]
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the value on the wire.
            #[inline]
            pub const fn get(self) -> $int {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(", $format, ")"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }
    };
}

identifier! {
    /// Stream Identifier (RFC 9260 §3.3.1).
    StreamId(u16), "{}"
}
identifier! {
    /// Payload Protocol Identifier (RFC 9260 §3.3.1): opaque to SCTP, 0 means unspecified.
    Ppid(u32), "{}"
}
identifier! {
    /// Verification Tag of a packet, and the Initiate Tag that announces it (RFC 9260 §3.1, §3.3.2).
    VerificationTag(u32), "{:#010x}"
}
identifier! {
    /// ASCONF-Request and ASCONF-Response Correlation ID (RFC 5061 §4.2): opaque, and returned unchanged.
    CorrelationId(u32), "{:#010x}"
}
identifier! {
    /// HMAC Identifier (RFC 4895 §3.3, table 2).
    HmacId(u16), "{}"
}
identifier! {
    /// DTLS Key Management Identifier (draft-ietf-tsvwg-sctp-dtls-chunk-04 §8.1).
    KeyManagementId(u8), "{}"
}

impl KeyManagementId {
    /// A pre-shared key; keys depend on the whole set-up. msctp defines it, and IANA has not assigned it.
    pub const PRE_SHARED: Self = Self::new(224);
    /// TLS 1.3 in user messages as in draft-porfiri-tsvwg-sctp-dtls-handshake-01; keys depend on the whole
    /// set-up. msctp defines it, and IANA has not assigned it.
    pub const TLS: Self = Self::new(225);
    /// [`TLS`](Self::TLS) with False Start.
    pub const TLS_FALSE_START: Self = Self::new(226);

    /// Returns whether the keys of the method depend on the DTLS Key Management parameters only: the drafts'
    /// methods 0 (pre-shared) and 192 (TLS), and 254, which earlier versions of msctp had for False Start.
    pub const fn is_unbound(self) -> bool {
        matches!(self.get(), 0 | 192 | 254)
    }
}

impl Ppid {
    /// DTLS Key Management Messages (draft-ietf-tsvwg-sctp-dtls-chunk-04 §8.5).
    pub const DTLS_KEY_MANAGEMENT: Self = Self::new(4242);
}

impl VerificationTag {
    /// The tag of a packet with an INIT (RFC 9260 §3.1).
    pub const ZERO: Self = Self::new(0);
}

impl HmacId {
    /// SHA-1, whose support is mandatory (RFC 4895 §3.3).
    pub const SHA1: Self = Self::new(1);
    /// SHA-256.
    pub const SHA256: Self = Self::new(3);
}
