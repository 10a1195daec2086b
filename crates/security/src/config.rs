//! [`TlsConfig`]: how the ends of associations authenticate each other, and how often keys are replaced.

use std::sync::Arc;

use msctp_protection::CipherSuite;
use msctp_units::Span;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, ServerConfig};

use crate::verify::{AnyPeer, Verifier};

/// Limits after which keys are replaced (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rekey {
    /// Time after which keys are replaced. At twice this time the association fails.
    ///
    /// The key management server waits an eighth longer, so that both ends seldom begin at once.
    pub after: Span,
    /// Number of bytes sent after which keys are replaced.
    pub bytes: u64,
}

impl Default for Rekey {
    /// Returns an hour and 100 GB, as §3.4 recommends.
    fn default() -> Self {
        Self { after: Span::from_secs(3600), bytes: 100_000_000_000 }
    }
}

/// A rustls configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsConfigError {
    /// The client configuration presents no certificate.
    #[error("the client configuration has no certificate: both ends must be authenticated")]
    NoClientCertificate,
    /// A configuration has no cipher suite of the DTLS chunk.
    #[error("the {end} configuration has no cipher suite of TLS 1.3: enable AES-GCM or ChaCha20-Poly1305")]
    NoCipherSuite {
        /// Which of the two.
        end: &'static str,
    },
    /// The client configuration allows early data.
    #[error("the client configuration enables early data, which must be off")]
    EarlyData,
}

/// How the ends of associations authenticate each other, and when keys are replaced. Associations share it.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    /// TLS configuration of the end with the key management role client.
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    /// TLS configuration of the end with the role server when it begins to rekey, as the TLS client. It has
    /// no name for its peer, which must have the same key as before.
    pub(crate) rekeying_server: Arc<ClientConfig>,
    /// Limits after which keys are replaced.
    pub rekey: Rekey,
    /// Timeout of a handshake.
    pub timeout: Span,
    /// Time after which the association declares its peer unreachable: 303 s with RFC 9260's defaults. The
    /// old keys stay at least for this time while the peer may lack the new ones
    /// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §6.2.3).
    pub failure_time: Span,
}

impl TlsConfig {
    /// Creates the configuration from rustls's. Each end needs both, because either may begin to rekey.
    ///
    /// The client must present a certificate and the server must demand one. An end that only takes the role
    /// of the client may accept any client in `server`. That configuration serves for rekeying, in which the
    /// peer must have the key of the set-up. Such an end must not offer the role of the server: its peer
    /// could take that of the client, and no name would be verified.
    ///
    /// With a verifier whose answer changes, such as a list of revoked certificates, disable resumption in
    /// both (`resumption`, `send_tls13_tickets`): rustls does not verify certificates again.
    ///
    /// # Errors
    /// If a configuration contradicts the draft.
    pub fn new(client: ClientConfig, server: ServerConfig) -> Result<Self, TlsConfigError> {
        if !client.client_auth_cert_resolver.has_certs() {
            return Err(TlsConfigError::NoClientCertificate);
        }
        if client.enable_early_data {
            return Err(TlsConfigError::EarlyData);
        }
        for (end, provider) in [("client", client.crypto_provider()), ("server", server.crypto_provider())] {
            if !has_suite(provider) {
                return Err(TlsConfigError::NoCipherSuite { end });
            }
        }
        let mut rekeying_server = client.clone();
        rekeying_server.resumption = Resumption::disabled();
        let algorithms = client.crypto_provider().signature_verification_algorithms;
        let raw = client.client_auth_cert_resolver.only_raw_public_keys();
        let verifier = Verifier { check: Arc::new(AnyPeer), algorithms, raw };
        rekeying_server.dangerous().set_certificate_verifier(Arc::new(verifier));
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            rekeying_server: Arc::new(rekeying_server),
            rekey: Rekey::default(),
            timeout: Span::from_secs(60),
            failure_time: Span::from_secs(303),
        })
    }
}

impl TlsConfig {
    /// Passes the secrets of TLS to `log`. rustls's `KeyLogFile` writes them to the file that the environment
    /// variable `SSLKEYLOGFILE` names.
    pub fn log_secrets(&mut self, log: &Arc<dyn rustls::KeyLog>) {
        for config in [&mut self.client, &mut self.rekeying_server] {
            Arc::make_mut(config).key_log = Arc::clone(log);
        }
        Arc::make_mut(&mut self.server).key_log = Arc::clone(log);
    }
}

/// Returns whether a provider has a cipher suite that the DTLS chunk supports.
fn has_suite(provider: &CryptoProvider) -> bool {
    provider.cipher_suites.iter().any(|suite| CipherSuite::from_code(suite.suite().into()).is_some())
}
