//! [`CheckPeer`]: decides by its key who the peer may be.

use core::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, OtherError, PeerIncompatible, SignatureScheme,
};

use crate::fingerprint::Fingerprint;

/// The reason for which a peer was rejected, to be shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Decides by its key whether a peer is accepted.
///
/// The peer has not yet proved that it has the key: note it down when the association is up (`accept` and
/// `connect` of the crate `msctp`, [`Output::Protected`](crate::Output::Protected) here).
pub trait CheckPeer: fmt::Debug + Send + Sync {
    /// Accepts or refuses a key.
    ///
    /// The crate `msctp` calls this under the lock of an endpoint. It must not block, must not call the
    /// endpoint or its associations, and must not drop one.
    ///
    /// # Errors
    /// If the key is refused.
    fn check(&self, fingerprint: &Fingerprint) -> Result<(), Refused>;
}

/// Accepts every peer that has the key it presents. Anyone can be that peer: authenticate it by other means.
#[derive(Clone, Copy, Debug)]
pub struct AnyPeer;

impl CheckPeer for AnyPeer {
    fn check(&self, _fingerprint: &Fingerprint) -> Result<(), Refused> {
        Ok(())
    }
}

/// Accepts the peers with these keys.
#[derive(Clone, Debug)]
pub struct Pinned(pub Vec<Fingerprint>);

impl CheckPeer for Pinned {
    fn check(&self, fingerprint: &Fingerprint) -> Result<(), Refused> {
        if self.0.contains(fingerprint) {
            return Ok(());
        }
        let pinned: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        Err(Refused(format!("the peer's key is {fingerprint}, must be {}", pinned.join(" or "))))
    }
}

/// Verifies the peer's signature, and passes the key to a [`CheckPeer`].
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) check: Arc<dyn CheckPeer>,
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
    /// True for raw public keys (RFC 7250) instead of certificates.
    pub(crate) raw: bool,
}

impl Verifier {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        self.check.check(&Fingerprint::of(certificate)).map_err(|refused| {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refused))))
        })
    }

    fn verify_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.raw {
            let key = SubjectPublicKeyInfoDer::from(certificate.as_ref());
            verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
        } else {
            verify_tls13_signature(message, certificate, signature, &self.algorithms)
        }
    }
}

/// The error of the methods for TLS 1.2, which is never negotiated.
const TLS12: rustls::Error = rustls::Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered);

/// The methods that both verifiers of rustls require.
macro_rules! signature_methods {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Err(TLS12)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            self.verify_signature(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }

        fn requires_raw_public_keys(&self) -> bool {
            self.raw
        }
    };
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    signature_methods!();
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    signature_methods!();
}
