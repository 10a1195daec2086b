//! [`OfferConfig`]: what INIT and INIT ACK tell the peer of this end.

/// What INIT and INIT ACK tell beyond what they must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferConfig {
    /// List this end's addresses, where there is more than one; a single one is never listed (RFC 9260 §3.3.2.1). True. False:
    /// the association begins with the address that the INIT leaves from or arrives at, and no other; more are added
    /// when it is up (RFC 5061). Stacks that know one address only refuse an INIT that lists some, and behind an address
    /// translator a list is wrong. An INIT ACK leaves the list out where it would have more than three times
    /// the bytes of the INIT, IP headers included; the INITs of this crate are long enough for any list.
    pub list_addresses: bool,
    /// Announce ASCONF, so that addresses can be added and deleted while the association is up (RFC 5061 §4.2.7). True.
    pub dynamic_addresses: bool,
    /// What is below SCTP lets no damaged packet through: DTLS, or a network that is emulated. Then packets with a checksum of 0
    /// are taken, and sent once the peer has said that it takes them, but for INIT and COOKIE ECHO (RFC 9653 §5.2, §5.3).
    /// False: every packet has its CRC32c.
    pub lower_layer_protects: bool,
}

impl Default for OfferConfig {
    fn default() -> Self {
        Self { list_addresses: true, dynamic_addresses: true, lower_layer_protects: false }
    }
}
