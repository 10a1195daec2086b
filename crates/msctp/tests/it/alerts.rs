//! A TLS handshake that fails ends with an alert that the other end reports.
#![cfg(feature = "tls")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{bind, options, run};
use msctp::security::rustls::crypto::CryptoProvider;
use msctp::security::rustls::{AlertDescription, CipherSuite};
use msctp::security::{AnyPeer, Error, Identity, Rejection, Tls, provider};
use msctp::{Config, ConnectError, Endpoint, Peer};
use tokio::time::timeout;

const PORT: u16 = 9;

/// Returns an end with one cipher suite.
fn only(suite: CipherSuite) -> Tls {
    let mut provider = CryptoProvider::clone(&provider());
    provider.cipher_suites.retain(|one| one.suite() == suite);
    let identity = Identity::generate(Arc::new(provider)).unwrap();
    Tls::new(&identity, AnyPeer).unwrap()
}

#[test]
fn both_ends_report_that_there_is_no_common_cipher_suite() {
    run(async {
        let server = Endpoint::bind(&options()).unwrap();
        server.listen(PORT, only(CipherSuite::TLS13_AES_256_GCM_SHA384), Config::default()).unwrap();
        let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
        let client = bind();
        let failed = client
            .connect(peer.clone(), only(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256), Config::default())
            .await;
        let Err(ConnectError::Security(error)) = failed else { panic!("{failed:?}") };
        assert_eq!(*error, Error::Alert(AlertDescription::HandshakeFailure));
        assert_eq!(error.to_string(), "the peer ended the TLS handshake with the alert HandshakeFailure");
        let rejected = server.rejected(PORT).await.unwrap();
        assert!(matches!(rejected.error, Rejection::Security(Error::Tls(_))), "{rejected:?}");
        assert!(timeout(Duration::from_millis(100), server.accept(PORT)).await.is_err());
        // The place is free again.
        let client = bind();
        client.connect(peer, only(CipherSuite::TLS13_AES_256_GCM_SHA384), Config::default()).await.unwrap();
        server.accept(PORT).await.unwrap();
    });
}
