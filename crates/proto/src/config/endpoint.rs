//! Options of an endpoint and their validation.

use msctp_units::Span;

use crate::error::{ConfigError, check, within};

/// Options of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointConfig {
    /// Valid.Cookie.Life. Default: 60 s (RFC 9260 §16).
    pub valid_cookie_life: Span,
    /// Time for which a cookie secret signs. Default: 1 h (RFC 9260 §5.1.3: "e.g., hourly"). The previous
    /// secret stays valid for a cookie's lifetime.
    pub cookie_secret_life: Span,
    /// Maximum number of stateless replies in the queue. Default: 256. Further ones are dropped, which bounds
    /// the memory that an attacker can occupy.
    pub max_pending_replies: usize,
    /// Maximum rate of replies without an association, per second. Default: 10,000 INIT ACKs and as many
    /// others (ABORT, SHUTDOWN COMPLETE, ERROR).
    ///
    /// Replies above either limit are dropped, which limits reflection by an attacker with forged sources.
    /// The replies of one second may leave at once. One source gets at most half of them: an IPv4 address, or
    /// an IPv6 prefix of 64 bits.
    pub max_replies_per_second: u32,
    /// Maximum number of associations. Default: 65536. A further COOKIE ECHO is answered by ABORT (Out of
    /// Resource).
    pub max_associations: usize,
    /// Maximum number of associations with one peer, outgoing ones included. Default: 1024. A further COOKIE
    /// ECHO is answered by ABORT (Out of Resource).
    ///
    /// A peer is an IPv4 address or an IPv6 prefix of 64 bits. The limit prevents one address from holding
    /// all ports (camping, RFC 5062); clients behind one NAT share it. An association counts at the address
    /// from which the peer set it up until it ends, and at the peer's current address.
    pub max_associations_per_peer: usize,
    /// Maximum bytes that all associations together hold for peers. Default: 256 MiB; at least 64 KiB.
    ///
    /// The limit counts received data that is unread or waits for other data, its overhead, and the state of
    /// streams. While they hold more than half of it, each association may hold an equal share of the other
    /// half, at least 4 KiB. An association above its share closes its window, and drops new data. Idle
    /// associations take about 4 KiB each in addition.
    pub receive_memory: u64,
    /// Maximum extension of a cookie's lifetime by a Cookie Preservative. Default: 10 s (RFC 9260
    /// §3.3.2.1.3).
    pub max_cookie_preservative: Span,
    /// Leaves CRC32c to the layer below. Default: off.
    ///
    /// As with the checksum offload of a network device, that layer writes the checksum of each sent packet
    /// with [`Transmit::needs_checksum`](crate::Transmit). It passes on only packets whose checksum it
    /// verified: the endpoint does not check them again.
    pub checksum_offload: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            valid_cookie_life: Span::from_secs(60),
            cookie_secret_life: Span::from_secs(3600),
            max_pending_replies: 256,
            max_replies_per_second: 10_000,
            max_associations: 65_536,
            max_associations_per_peer: 1024,
            receive_memory: 256 << 20,
            max_cookie_preservative: Span::from_secs(10),
            checksum_offload: false,
        }
    }
}

impl EndpointConfig {
    /// Checks every option.
    ///
    /// # Errors
    ///
    /// An option is invalid. The error names the first such option, its value and the allowed values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let hour = Span::from_secs(3600);
        within("valid_cookie_life", self.valid_cookie_life, Span::from_millis(1)..=hour, "")?;
        check(
            self.cookie_secret_life >= self.valid_cookie_life,
            "cookie_secret_life",
            self.cookie_secret_life,
            format_args!("at least valid_cookie_life ({})", self.valid_cookie_life),
        )?;
        within("max_pending_replies", self.max_pending_replies, 1.., " packet")?;
        within("max_replies_per_second", self.max_replies_per_second, 1.., "")?;
        within("max_associations", self.max_associations, 1.., "")?;
        within("max_associations_per_peer", self.max_associations_per_peer, 1.., "")?;
        within("receive_memory", self.receive_memory, 64 << 10.., " bytes")?;
        within("max_cookie_preservative", self.max_cookie_preservative, ..=hour, "")
    }
}
