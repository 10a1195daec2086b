//! [`Security`]: how the packets of associations are encrypted, and whom this end accepts.

use std::sync::Arc;

use msctp_proto::{Config, ConfigError, KeyManagement, Protection};

/// How the packets of associations are encrypted, and whom this end accepts. [`Endpoint`](crate::Endpoint)'s
/// `listen` and `connect` take it; there is no default.
///
/// - [`Tls`](crate::security::Tls): keys from TLS 1.3. Each end knows the other by its key, by a certificate
///   or by a one-time code.
/// - [`pre_shared`](Self::pre_shared): keys from a secret that both ends have.
/// - [`insecure`](Self::insecure): clear text.
///
/// Peers that do not encrypt alike are refused, except with
/// [`Tls::or_insecure`](crate::security::Tls::or_insecure).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security(Protection);

impl Security {
    /// Sends everything in clear, to peers that do so too. Anyone can connect; whoever is on the way can
    /// read, change and end the association.
    #[must_use]
    pub const fn insecure() -> Self {
        Self(Protection::Insecure)
    }

    /// Encrypts with keys from this secret, which both ends have: at least 32 random bytes.
    ///
    /// The cryptography is ring's, or without the feature `ring` that of aws-lc-rs. Whoever learns the secret
    /// can read recorded traffic. Another provider, cipher suite or a log of the
    /// keys: [`KeyManagement`](crate::protection::KeyManagement), which converts into this type.
    ///
    /// # Errors
    ///
    /// The secret has less than 16 bytes.
    #[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
    pub fn pre_shared(secret: &[u8]) -> Result<Self, msctp_protection::PskError> {
        #[cfg(not(feature = "ring"))]
        use msctp_protection::AwsLcRs as Default;
        #[cfg(feature = "ring")]
        use msctp_protection::Ring as Default;
        use msctp_protection::{CipherSuite, Secret};
        let secret = Secret::from(secret);
        KeyManagement::pre_shared(Arc::new(Default), CipherSuite::Aes128GcmSha256, secret).map(Self::from)
    }

    /// Leaves associations with peers that do not encrypt in clear.
    #[cfg(feature = "tls")]
    pub(crate) const fn or_insecure(keys: Arc<KeyManagement>) -> Self {
        Self(Protection::OrInsecure(keys))
    }

    pub(crate) fn encrypts(&self) -> bool {
        self.0.keys().is_some()
    }

    /// Returns an association's options with this security.
    ///
    /// # Errors
    ///
    /// The options say it too.
    pub(crate) fn over(self, config: Config) -> Result<Config, ConfigError> {
        if config.protection != Protection::Insecure {
            let want = "nothing here: the argument `security` says how to encrypt".to_owned();
            return Err(ConfigError { field: "protection", value: format!("{:?}", config.protection), want });
        }
        Ok(Config { protection: self.0, ..config })
    }
}

impl From<Protection> for Security {
    fn from(protection: Protection) -> Self {
        Self(protection)
    }
}

/// Peers without these keys are refused.
impl From<KeyManagement> for Security {
    fn from(keys: KeyManagement) -> Self {
        Self(Protection::Required(Arc::new(keys)))
    }
}
