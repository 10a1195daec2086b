//! Options of the DTLS chunk: whether packets are protected, and where the keys come from.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use msctp_protection::{CipherSuite, NegotiationError, Provider, PskError, Secret};
use msctp_wire::param::{DtlsKeyManagement, DtlsRoles};
use msctp_wire::{KeyManagementId, List};

/// The use of the DTLS chunk, which protects the packets of an association
/// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// Packets are sent in clear. The default.
    #[default]
    Insecure,
    /// Packets are protected if the peer supports the chunk ("loose DTLS mode"). An attacker on the path can
    /// prevent that.
    OrInsecure(Arc<KeyManagement>),
    /// A peer that does not support the chunk is refused ("strict DTLS mode").
    Required(Arc<KeyManagement>),
}

impl Protection {
    /// Returns the key management, unless protection is off.
    pub fn keys(&self) -> Option<&Arc<KeyManagement>> {
        match self {
            Self::Insecure => None,
            Self::OrInsecure(keys) | Self::Required(keys) => Some(keys),
        }
    }

    pub(crate) fn is_required(&self) -> bool {
        matches!(self, Self::Required(_))
    }

    /// Returns whether a peer with which there is no agreement is refused, and not left in clear. A peer of
    /// an earlier version has keys, and must not lose them silently.
    pub(crate) fn refuses(&self, error: NegotiationError) -> bool {
        self.is_required() || error == NegotiationError::EarlierVersion && !matches!(self, Self::Insecure)
    }
}

/// Source of the keys of associations, and the cryptography that uses them.
///
/// Compared by identity: clones of one `Arc` are equal.
#[derive(Clone)]
pub struct KeyManagement {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) method: Method,
    pub(super) log: Option<KeyLog>,
    context: Option<Arc<dyn Any + Send + Sync>>,
}

/// A function that receives a line for the key material of each direction and epoch.
pub(super) type KeyLog = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone)]
pub(super) enum Method {
    PreShared { suite: CipherSuite, key: Secret },
    External { methods: Vec<KeyManagementId>, roles: DtlsRoles },
}

impl KeyManagement {
    /// Derives the keys of each association from a key that both ends have (method 224).
    ///
    /// Packets are protected from the first one after the COOKIE ECHO. Anyone who learns the key can read
    /// recorded traffic.
    ///
    /// # Errors
    ///
    /// The key has less than 16 bytes.
    pub fn pre_shared(
        provider: Arc<dyn Provider>,
        suite: CipherSuite,
        key: Secret,
    ) -> Result<Self, PskError> {
        msctp_protection::PreShared::check(&key)?;
        Ok(Self::new(provider, Method::PreShared { suite, key }))
    }

    /// Leaves the keys to a key management method outside of the core, which installs them by
    /// [`establish_receive_keys`](crate::Association::establish_receive_keys) and
    /// [`establish_send_keys`](crate::Association::establish_send_keys).
    ///
    /// `methods` lists at least one method, in order of preference. `roles` lists at least one role that this
    /// end can take in all of them.
    pub fn external(provider: Arc<dyn Provider>, methods: Vec<KeyManagementId>, roles: DtlsRoles) -> Self {
        Self::new(provider, Method::External { methods, roles })
    }

    const fn new(provider: Arc<dyn Provider>, method: Method) -> Self {
        Self { provider, method, log: None, context: None }
    }

    /// Passes a line for the key material of each direction and epoch to `log`. Captures are decrypted with
    /// these lines (`msctp_protection::KeyLogEntry`). Anyone who has them can read and forge packets.
    #[must_use]
    pub fn with_log(self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { log: Some(Arc::new(log)), ..self }
    }

    /// Attaches data for the key management method outside of the core. The core does not read it.
    #[must_use]
    pub fn with_context(self, context: Arc<dyn Any + Send + Sync>) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Returns the data attached by [`with_context`](Self::with_context).
    pub fn context(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.context.as_ref()
    }

    /// Returns whether a key management method outside of the core must establish the keys.
    pub const fn is_external(&self) -> bool {
        matches!(self.method, Method::External { .. })
    }

    /// Returns the key management for associations in which this end takes these roles. Pre-shared keys do
    /// not change.
    #[must_use]
    pub fn with_roles(mut self, taken: DtlsRoles) -> Self {
        if let Method::External { roles, .. } = &mut self.method {
            *roles = taken;
        }
        self
    }

    /// Returns this end's DTLS Key Management parameter. The R bit is clear: restarts are refused.
    pub(super) fn param(&self, tie_breaker: u32) -> DtlsKeyManagement<'_> {
        const BOTH: DtlsRoles = DtlsRoles { client: true, server: true };
        let (methods, roles) = match &self.method {
            Method::PreShared { .. } => (&[KeyManagementId::PRE_SHARED][..], BOTH),
            Method::External { methods, roles } => (&methods[..], *roles),
        };
        DtlsKeyManagement { tie_breaker, restart: false, roles, methods: List::from(methods) }
    }

    /// Returns whether there is at least one method and one role.
    pub(crate) fn is_usable(&self) -> bool {
        let param = self.param(0);
        !param.methods.is_empty()
            && param.methods.len() <= super::offer::MAX_METHODS
            && (param.roles.client || param.roles.server)
    }
}

impl fmt::Debug for KeyManagement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.method {
            Method::PreShared { suite, key } => write!(f, "PreShared({suite}, {key:?})"),
            Method::External { methods, roles } => write!(f, "External({methods:?}, {roles:?})"),
        }
    }
}

impl PartialEq for KeyManagement {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for KeyManagement {}
