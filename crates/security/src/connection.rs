//! A TLS connection of rustls, fed with records, and the export of key material.

use std::sync::Arc;

use msctp_protection::{CipherSuite, End, KeyContext, KeyMaterial, NONCE_LEN, Secret};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, ServerConfig, ServerConnection};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::message::{Hello, MAX_HANDSHAKE_BYTES, hello};

/// The label of all exports (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §5.3).
pub const EXPORTER_LABEL: &str = "EXPORTER_TLS_FOR_DTLS_IN_SCTP";
/// The label of the secret that binds a one-time code to a connection. RFC 5705 §4 leaves labels that begin
/// with `EXPERIMENTAL` to everyone.
const CODE_LABEL: &str = "EXPERIMENTAL_msctp_code";

/// The label of the channel binding (RFC 9266).
const CHANNEL_BINDING_LABEL: &[u8] = b"EXPORTER-Channel-Binding";

/// A peer that TLS has authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Hash of the peer's public key.
    pub fingerprint: Fingerprint,
    /// The peer's certificate chain, or its raw public key.
    pub certificates: Vec<CertificateDer<'static>>,
    /// The channel binding `tls-exporter` (RFC 9266) of the connection with which the association began:
    /// equal at both ends, and at no others. An authentication of the application that depends on it holds
    /// for this association only.
    pub channel_binding: [u8; 32],
}

/// A TLS connection.
pub(crate) struct Connection {
    tls: rustls::Connection,
    /// Bytes of records received.
    received: usize,
    /// True if this end, the server, has requested another ClientHello.
    retrying: bool,
}

impl Connection {
    pub(crate) fn client(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        Ok(Self::new(ClientConnection::new(Arc::clone(config), name)?.into()))
    }

    pub(crate) fn server(config: &Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self::new(ServerConnection::new(Arc::clone(config))?.into()))
    }

    const fn new(tls: rustls::Connection) -> Self {
        Self { tls, received: 0, retrying: false }
    }

    /// Processes records. Returns whether the peer has closed the connection.
    pub(crate) fn receive(&mut self, mut records: &[u8]) -> Result<bool, Error> {
        self.received += records.len();
        if self.received > MAX_HANDSHAKE_BYTES {
            return Err(Error::TooLong { limit: MAX_HANDSHAKE_BYTES });
        }
        loop {
            let taken = self.tls.read_tls(&mut records);
            let state = self.tls.process_new_packets()?;
            // §3: application data is never sent over TLS. Nothing reads it here.
            if state.plaintext_bytes_to_read() > 0 {
                return Err(Error::Unexpected("TLS application data"));
            }
            if records.is_empty() || state.peer_has_closed() {
                return Ok(state.peer_has_closed());
            }
            if !taken.is_ok_and(|taken| taken > 0) {
                return Err(Error::Unexpected("unlimited TLS records"));
            }
        }
    }

    /// Takes the records to send, if there are any.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.tls.wants_write() {
            // Writing to a vector does not fail.
            if !self.tls.write_tls(&mut records).is_ok_and(|written| written > 0) {
                break;
            }
        }
        self.retrying = hello(&records) == Hello::Retry;
        records
    }

    /// Returns whether this end, the server, has requested another ClientHello.
    pub(crate) const fn is_retrying(&self) -> bool {
        self.retrying
    }

    /// Returns whether the handshake is complete and its keys can be exported.
    pub(crate) fn is_complete(&self) -> bool {
        !self.tls.is_handshaking()
    }

    /// Ends this end's direction.
    pub(crate) fn close(&mut self) {
        self.tls.send_close_notify();
    }

    /// Returns the peer. The handshake must be complete.
    pub(crate) fn peer(&self) -> Result<PeerIdentity, Error> {
        // §3.1: no earlier version of TLS; another feature of rustls may have brought one.
        if self.tls.protocol_version() != Some(ProtocolVersion::TLSv1_3) {
            return Err(Error::Unsupported(format!("{:?}", self.tls.protocol_version())));
        }
        // §3.3: authentication is mutual.
        let certificates = self.tls.peer_certificates().unwrap_or_default();
        let first = certificates.first().ok_or(Error::NoCertificate)?;
        let certificates = certificates.iter().map(|one| one.clone().into_owned()).collect();
        let mut channel_binding = [0; 32];
        self.tls.export_keying_material(&mut channel_binding[..], CHANNEL_BINDING_LABEL, Some(&[]))?;
        Ok(PeerIdentity { fingerprint: Fingerprint::of(first), certificates, channel_binding })
    }

    /// Exports the key material of one direction, from the TLS client or the server
    /// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §5.2, §5.3).
    ///
    /// `agreement` holds both ends' DTLS Key Management parameters, of which the first is that of the key
    /// management client, which §5.1 calls the initiator. Behind them is the hash of INIT and INIT ACK, which
    /// the draft does not have.
    pub(crate) fn export_keys(
        &self,
        sender: End,
        context: KeyContext,
        agreement: &[u8],
    ) -> Result<KeyMaterial, Error> {
        let suite = self.tls.negotiated_cipher_suite().map(|suite| suite.suite());
        let suite = suite
            .and_then(|suite| CipherSuite::from_code(suite.into()))
            .ok_or_else(|| Error::Unsupported(format!("{suite:?}")))?;
        let export = |key_type: u8, len: usize| {
            let direction = match sender {
                End::Client => 0,
                End::Server => 1,
            };
            let role = match context {
                KeyContext::Primary => 0,
                KeyContext::Restart => 1,
            };
            let context = [&[direction, role, key_type], agreement].concat();
            self.export(EXPORTER_LABEL, &context, len)
        };
        let key_len = suite.key_len();
        let keys = KeyMaterial::new(suite, export(0, key_len)?, export(1, key_len)?, export(2, NONCE_LEN)?);
        Ok(keys.expect("the lengths of the suite"))
    }

    /// Exports the secret that binds a one-time code to this connection (RFC 8446 §7.5).
    pub(crate) fn export_binding(&self) -> Result<Secret, Error> {
        self.export(CODE_LABEL, &[], 32)
    }

    fn export(&self, label: &str, context: &[u8], len: usize) -> Result<Secret, Error> {
        let mut out = Zeroizing::new(vec![0; len]);
        self.tls.export_keying_material(&mut out[..], label.as_bytes(), Some(context))?;
        Ok(Secret::from(&out[..]))
    }
}
