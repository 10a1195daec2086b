//! [`Identity`]: the key by which this end authenticates itself.

use std::sync::Arc;

use rustls::client::{AlwaysResolvesClientRawPublicKeys, ResolvesClientCert, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig};

use crate::config::TlsConfig;
use crate::fingerprint::Fingerprint;
use crate::verify::{CheckPeer, Verifier};

/// A private key cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IdentityError {
    /// rustls rejects the key or its certificates.
    #[error("the private key or its certificate is invalid: {0}")]
    Key(#[from] rustls::Error),
    /// The key has no public key that can be presented alone.
    #[error("the private key has no raw public key: use it with a certificate")]
    NoPublicKey,
    /// The certificate cannot be made.
    #[error("the private key cannot sign its certificate: {0}")]
    Certificate(String),
}

/// The key with which this end authenticates itself, with certificates or as a raw public key.
///
/// It serves keys without a CA. With a CA, create rustls's configurations yourself and pass them to
/// [`TlsConfig::new`].
#[derive(Clone, Debug)]
pub struct Identity {
    key: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
    raw: bool,
}

impl Identity {
    /// Creates an identity from a private key and its certificate chain, the end-entity certificate first.
    ///
    /// # Errors
    /// If rustls rejects them, or they do not match.
    pub fn new(
        provider: Arc<CryptoProvider>,
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, IdentityError> {
        let key = Arc::new(CertifiedKey::from_der(certificates, key, &provider)?);
        key.end_entity_cert()?;
        Ok(Self { key, provider, raw: false })
    }

    /// Creates an identity from a private key whose public key is presented alone (RFC 7250). Both ends must
    /// use raw public keys.
    ///
    /// # Errors
    /// If rustls rejects the key.
    pub fn raw_public_key(
        provider: Arc<CryptoProvider>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, IdentityError> {
        let key = provider.key_provider.load_private_key(key)?;
        let public = key.public_key().ok_or(IdentityError::NoPublicKey)?;
        let public = CertificateDer::from(public.to_vec());
        let key = Arc::new(CertifiedKey::new(vec![public], key));
        Ok(Self { key, provider, raw: true })
    }

    /// Returns the fingerprint of this end's key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.key.cert[0])
    }

    /// Creates the configuration of an end that authenticates itself with this identity, and its peers with
    /// `check`.
    ///
    /// There is no resumption, which would skip `check`.
    ///
    /// # Errors
    /// If the provider has no cipher suite of TLS 1.3.
    pub fn config(&self, check: Arc<dyn CheckPeer>) -> Result<TlsConfig, IdentityError> {
        let algorithms = self.provider.signature_verification_algorithms;
        let verifier = Arc::new(Verifier { check, algorithms, raw: self.raw });
        let versions = &[&rustls::version::TLS13];
        let resolver: Arc<dyn ResolvesClientCert> = if self.raw {
            Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&self.key)))
        } else {
            Arc::new(SingleCertAndKey::from(Arc::clone(&self.key)))
        };
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _)
            .with_client_cert_resolver(resolver);
        let resolver: Arc<dyn ResolvesServerCert> = if self.raw {
            Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&self.key)))
        } else {
            Arc::new(SingleCertAndKey::from(Arc::clone(&self.key)))
        };
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(resolver);
        client.resumption = Resumption::disabled();
        server.send_tls13_tickets = 0;
        TlsConfig::new(client, server).map_err(|error| rustls::Error::General(error.to_string()).into())
    }
}

#[cfg(feature = "self-signed")]
mod self_signed {
    use std::sync::Arc;

    use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ED25519};
    use rustls::crypto::CryptoProvider;
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use zeroize::Zeroizing;

    use super::{Identity, IdentityError};

    impl Identity {
        /// Generates an Ed25519 key, in PKCS #8, from the operating system's random numbers.
        ///
        /// # Errors
        /// If the operating system provides none.
        pub fn generate_key() -> Result<Zeroizing<Vec<u8>>, IdentityError> {
            let key = KeyPair::generate_for(&PKCS_ED25519);
            let key = key.map_err(|error| IdentityError::Certificate(error.to_string()))?;
            Ok(Zeroizing::new(key.serialize_der()))
        }

        /// Creates an identity with a new key, which ends with this value.
        ///
        /// # Errors
        /// If the operating system provides no random numbers.
        pub fn generate(provider: Arc<CryptoProvider>) -> Result<Self, IdentityError> {
            Self::self_signed(provider, &Self::generate_key()?)
        }

        /// Creates an identity from an Ed25519 key in PKCS #8, with a certificate that has no name and does
        /// not expire.
        ///
        /// The certificate is the same each time.
        ///
        /// # Errors
        /// If the key is not an Ed25519 key.
        pub fn self_signed(provider: Arc<CryptoProvider>, key: &[u8]) -> Result<Self, IdentityError> {
            let error = |error: rcgen::Error| IdentityError::Certificate(error.to_string());
            let der = PrivatePkcs8KeyDer::from(key);
            let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ED25519).map_err(error)?;
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "msctp");
            let certificate = params.self_signed(&pair).map_err(error)?.der().clone();
            Self::new(provider, vec![certificate], der.clone_key().into())
        }
    }
}
