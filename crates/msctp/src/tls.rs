//! [`Tls`]: how TLS 1.3 gives the keys of associations.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msctp_protection::{Provider, Ring};
use msctp_proto::{KeyManagement, Protection};
use msctp_security::rustls::pki_types::ServerName;
use msctp_security::{
    CheckPeer, Code, Error, Identity, IdentityError, METHOD, METHOD_FALSE_START, TlsConfig,
};
use msctp_wire::KeyManagementId;
use msctp_wire::param::DtlsRoles;

use crate::secure::Security;

/// Encrypts associations with keys agreed on by TLS 1.3, which also authenticates both ends.
///
/// The same value serves [`Endpoint::connect`](crate::Endpoint::connect), which takes the role of the TLS
/// client, and [`Endpoint::listen`](crate::Endpoint::listen). The association is ready when both directions
/// are protected and each end has checked the other's key; no application data leaves before.
///
/// ```
/// use msctp::security::{Identity, Pinned, Tls, provider};
/// use msctp::{Association, Config, Endpoint};
///
/// # type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
/// async fn connect(endpoint: &Endpoint, key: &[u8]) -> Result<Association> {
///     // The key is in a file: peers know this end by its fingerprint.
///     let identity = Identity::self_signed(provider(), key)?;
///     let server = "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0".parse()?;
///     let tls = Tls::new(&identity, Pinned(vec![server]))?;
///     Ok(endpoint.connect("192.0.2.1:9899".parse::<std::net::SocketAddr>()?, tls, Config::mobile()).await?)
/// }
/// ```
#[derive(Clone)]
pub struct Tls {
    context: Context,
    provider: Arc<dyn Provider>,
    false_start: bool,
    log: Option<Log>,
}

type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A set-up that this end rejected, from [`Endpoint::rejected`](crate::Endpoint::rejected).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rejected {
    /// Source address of the set-up.
    pub remote: SocketAddr,
    /// Reason of the rejection.
    pub error: Rejection,
    /// Number of set-ups that this entry stands for, at least 1. Above 1 their reasons are equal or, if many
    /// entries wait, of one kind; `remote` and `error` are those of the first.
    pub count: u64,
}

/// The reason why this end rejected a set-up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// TLS gave no keys: this end refused the peer's key or code, or the handshake failed.
    #[error(transparent)]
    Security(#[from] Error),
    /// The pre-shared keys of both ends differ, or the set-up was changed on the way.
    #[error("the pre-shared keys of both ends differ, or the set-up was changed on the way")]
    KeysDiffer,
    /// The first keys of both ends differ: the set-up was changed on the way.
    #[error("the set-up was changed on the way: the first keys of both ends differ")]
    SetUpChanged,
    /// One end requires protection that the other does not offer. The address may be forged, and the offer
    /// changed on the way: it is in clear.
    #[error("the ends cannot agree on encryption: the peer offers {0}, unless that was changed on the way")]
    NoCommonProtection(PeerProtection),
    /// Too many peers had not proved their keys, most of them at this source.
    #[error("too many set-ups at a time")]
    TooManySetUps,
    /// The endpoint has as many associations as `EndpointConfig::max_associations` allows.
    #[error("too many associations: EndpointConfig::max_associations")]
    TooManyAssociations,
    /// The peer's address has as many associations as `EndpointConfig::max_associations_per_peer` allows. A
    /// NAT or a tunnel may stand for many peers.
    #[error("too many associations of this address: EndpointConfig::max_associations_per_peer")]
    TooManyOfPeer,
    /// As many associations wait to be accepted as [`EndpointOptions::backlog`](crate::EndpointOptions)
    /// allows.
    #[error("the backlog is full: accept faster, or raise EndpointOptions::backlog")]
    BacklogFull,
    /// Code of this end, such as a controller or a policy, panicked while the association was made.
    #[error("code of this end panicked")]
    Panicked,
}

/// The protection that a peer offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerProtection {
    /// The peer offers none, so that its packets would be in clear.
    None,
    /// A pre-shared key.
    PreShared,
    /// Keys of TLS.
    Tls,
    /// The protection of an earlier version, whose keys depend only on a part of the set-up.
    Earlier,
    /// A method that this version does not know.
    Unknown,
}

impl PeerProtection {
    pub(crate) fn of(methods: &[KeyManagementId]) -> Self {
        let has = |method: KeyManagementId| methods.contains(&method);
        match () {
            () if methods.is_empty() => Self::None,
            () if methods.iter().any(|&method| is_tls(method)) => Self::Tls,
            () if has(KeyManagementId::PRE_SHARED) => Self::PreShared,
            () if methods.iter().all(|method| method.is_unbound()) => Self::Earlier,
            () => Self::Unknown,
        }
    }
}

/// Returns whether TLS gives the keys of this key management method.
pub(crate) fn is_tls(method: KeyManagementId) -> bool {
    [METHOD, METHOD_FALSE_START].contains(&method.get())
}

impl fmt::Display for PeerProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::PreShared => "a pre-shared key",
            Self::Tls => "TLS",
            Self::Earlier => "that of an earlier version of msctp",
            Self::Unknown => "another kind",
        })
    }
}

/// The shared inputs of an association's key manager.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) config: Arc<TlsConfig>,
    pub(crate) server_name: Option<ServerName<'static>>,
    pub(crate) code: Option<Arc<OneTime>>,
}

/// A one-time code. One attempt at proving it uses it up, regardless of the result.
#[derive(Debug)]
pub(crate) struct OneTime {
    pub(crate) code: Code,
    used: Mutex<bool>,
}

impl OneTime {
    /// Locks the record of whether the code is used up. The lock is held while a peer's proof is verified, so
    /// that only one attempt happens even if several endpoints share the code.
    pub(crate) fn lock(&self) -> MutexGuard<'_, bool> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tls {
    /// Authenticates this end with `identity`, and its peers with `check`:
    /// [`Pinned`](crate::security::Pinned) keys, [`AnyPeer`](crate::security::AnyPeer) together with a
    /// [`code`](Self::code), or a check of your own.
    ///
    /// # Errors
    ///
    /// The identity's provider has no cipher suite of TLS 1.3.
    pub fn new(identity: &Identity, check: impl CheckPeer + 'static) -> Result<Self, IdentityError> {
        identity.config(Arc::new(check)).map(Self::with_config)
    }

    /// Authenticates both ends as rustls's configurations say: certificates of a CA
    /// ([`TlsConfig::new`](crate::security::TlsConfig::new)).
    pub fn with_config(config: TlsConfig) -> Self {
        let context = Context { config: Arc::new(config), server_name: None, code: None };
        Self { context, provider: Arc::new(Ring), false_start: true, log: None }
    }

    /// Sets the server's name, against which certificates of a CA are verified when this end connects.
    #[must_use]
    pub fn server_name(mut self, name: ServerName<'static>) -> Self {
        self.context.server_name = Some(name);
        self
    }

    /// Makes both ends prove that they have this one-time code, besides what the configuration checks.
    ///
    /// The first proof uses it up, whether right or wrong: set-ups that come later fail with
    /// [`Error::WrongCode`]. A peer that proves nothing leaves it as it is.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.context.code = Some(Arc::new(OneTime { code, used: Mutex::new(false) }));
        self
    }

    /// Enables or disables False Start, which is enabled by default.
    ///
    /// If both ends offer it, the end that connects may send data two round trips after the INIT instead of
    /// three. It sends as soon as the listener is authenticated, together with the last message of the
    /// handshake ([`Connecting::false_start`](crate::Connecting::false_start)). The listener delivers nothing
    /// before it has authenticated the client. With a [`code`](Self::code) there is no False Start.
    #[must_use]
    pub fn false_start(mut self, offered: bool) -> Self {
        self.false_start = offered;
        self
    }

    /// Passes a line with the keys of each direction and epoch to `log`. `msctp decrypt` reads a capture with
    /// a file of these lines. Anyone who has them can read and forge packets.
    ///
    /// `log` runs under the endpoint's lock: it must neither block nor call the endpoint or its associations.
    #[must_use]
    pub fn key_log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// Sets the AEAD provider for packets. Default: ring. Another one: `protection::AwsLcRs`, with the
    /// feature `aws-lc-rs`.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = provider;
        self
    }

    /// Leaves associations with peers without the DTLS chunk in clear, instead of refusing them. An attacker
    /// on the path can make every peer appear so.
    #[must_use]
    pub fn or_insecure(&self) -> Security {
        Security::or_insecure(Arc::new(self.keys()))
    }

    fn keys(&self) -> KeyManagement {
        // The listener's preference decides.
        let methods = [self.false_start.then_some(METHOD_FALSE_START), Some(METHOD)];
        let methods = methods.into_iter().flatten().map(KeyManagementId::new).collect();
        let both = DtlsRoles { client: true, server: true };
        let keys = KeyManagement::external(Arc::clone(&self.provider), methods, both)
            .with_context(Arc::new(self.context.clone()));
        match self.log.clone() {
            Some(log) => keys.with_log(move |line| log(line)),
            None => keys,
        }
    }
}

/// Peers without the DTLS chunk are refused.
impl From<&Tls> for Security {
    fn from(tls: &Tls) -> Self {
        tls.keys().into()
    }
}

/// Peers without the DTLS chunk are refused.
impl From<Tls> for Security {
    fn from(tls: Tls) -> Self {
        (&tls).into()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.context.server_name)
            .field("code", &self.context.code)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Returns the context in an association's options, if TLS gives its keys.
    pub(crate) fn of(protection: &Protection) -> Option<Arc<Self>> {
        let context = protection.keys()?.context()?;
        Arc::clone(context).downcast().ok()
    }
}

/// Returns the protection of a listener, or of an end that connects.
///
/// The end that connects is the TLS client. It then waits for no tie breaker, and verifies the other's name.
/// It offers no other role, so that the peer cannot choose to be verified as a client.
pub(crate) fn for_role(protection: Protection, listens: bool) -> Protection {
    if Context::of(&protection).is_none() {
        return protection;
    }
    let roles = DtlsRoles { client: !listens, server: listens };
    let narrowed = |keys: Arc<KeyManagement>| Arc::new(Arc::unwrap_or_clone(keys).with_roles(roles));
    match protection {
        Protection::Insecure => Protection::Insecure,
        Protection::OrInsecure(keys) => Protection::OrInsecure(narrowed(keys)),
        Protection::Required(keys) => Protection::Required(narrowed(keys)),
    }
}
