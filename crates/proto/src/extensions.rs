//! [`Extensions`]: what an end can do beyond RFC 9260, as INIT and INIT ACK announce it (RFC 5061 §4.2.7).
//! Keeps no state.
//!
//! An extension is one bit here and one row of [`CHUNKS`] or [`PARAMS`]; the offer, the reading of the peer's
//! offer, and the state cookie follow from that. Both ends may use what both announced: [`Extensions::both`].

use msctp_wire::{ChunkType, List, Param};
use smallvec::SmallVec;

use crate::auth::AuthPolicy;
use crate::protection::Protection;
use crate::reconfig::Reconfiguration;
use crate::streams::StreamsConfig;

/// The options that the two ends of an association agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreed {
    /// Number of streams on which this end may send.
    pub outbound_streams: u16,
    /// Number of streams on which the peer may send.
    pub inbound_streams: u16,
    /// True if both ends may change their addresses (RFC 5061).
    pub dynamic_addresses: bool,
    /// Both ends sign chunks (RFC 4895).
    pub authentication: bool,
    /// Both ends protect packets (`Config::protection`).
    pub protection: bool,
    /// True if a message can be abandoned after parts of it were sent (RFC 3758).
    pub partial_reliability: bool,
    /// True if messages of different streams are interleaved (RFC 8260).
    pub interleaving: bool,
    /// True if streams can be reset and added (RFC 6525).
    pub reconfiguration: bool,
    /// True if explicit congestion notification is used (RFC 4960 Appendix A).
    pub ecn: bool,
    /// True if both ends limit what is sent on each stream, so that one that nobody reads does not stop the
    /// others. Two ends of this crate agree on it under protection.
    pub stream_credit: bool,
}

/// Options for the optional contents of INIT and INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferConfig {
    /// Lists this end's addresses, if there are several (RFC 9260 §3.3.2.1). Default: true.
    ///
    /// If false, the association begins with only the address that the INIT leaves from or arrives at; others
    /// are added later (RFC 5061). With [`Moves::Fast`](crate::Moves) INITs leave from several, and the first
    /// answer decides. Stacks that support one address reject an INIT that lists some, and behind
    /// a NAT a list is wrong. An INIT ACK omits the list if it would have more than three times the bytes of
    /// the INIT, IP headers included. This crate's INITs are long enough for any list.
    pub list_addresses: bool,
    /// Announces ASCONF, so that addresses can be added and deleted while the association is up (RFC 5061
    /// §4.2.7). Default: true.
    pub dynamic_addresses: bool,
    /// States that the lower layer (DTLS, an emulated link) delivers no corrupted packets.
    /// Default: false.
    ///
    /// Packets with a checksum of 0 are then accepted. They are sent once the peer announced that it accepts
    /// them, except INIT and COOKIE ECHO (RFC 9653 §5.2, §5.3). If false, every packet has its CRC32c.
    pub lower_layer_protects: bool,
}

impl Default for OfferConfig {
    fn default() -> Self {
        Self { list_addresses: true, dynamic_addresses: true, lower_layer_protects: false }
    }
}

/// A set of extensions, as the bits that the state cookie carries. An accepted association thereby knows what
/// was agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions(u16);

/// Chunk types that announce an extension in Supported Extensions. All types of a row are required.
const CHUNKS: [(Extensions, &[ChunkType]); 7] = [
    (Extensions::ASCONF, &[ChunkType::ASCONF, ChunkType::ASCONF_ACK]),
    // The parameters of RFC 4895 decide. RFC 5061 §4.2.7 also requires the chunk in the list, beside those
    // of ASCONF.
    (Extensions::AUTH, &[ChunkType::AUTH]),
    (Extensions::FORWARD_TSN, &[ChunkType::FORWARD_TSN]),
    (Extensions::I_DATA, &[ChunkType::I_DATA]),
    (Extensions::I_FORWARD_TSN, &[ChunkType::I_FORWARD_TSN]),
    (Extensions::RE_CONFIG, &[ChunkType::RE_CONFIG]),
    (Extensions::STREAM_CREDIT, &[ChunkType::STREAM_CREDIT, ChunkType::STREAM_BLOCKED]),
];

/// Parameters whose presence announces an extension.
const PARAMS: [(Extensions, Param<'static>); 2] = [
    (Extensions::ZERO_CHECKSUM, Param::ZeroChecksumAcceptable(OVER_DTLS)),
    (Extensions::ECN, Param::EcnCapable),
];

/// The Error Detection Method Identifier of SCTP over DTLS (RFC 9653 §6).
const OVER_DTLS: u32 = 1;

impl Extensions {
    /// Nothing beyond RFC 9260.
    pub(crate) const NONE: Self = Self(0);
    /// Dynamic addresses (RFC 5061 §4.2.7).
    pub(crate) const ASCONF: Self = Self(1);
    /// Authenticated chunks (RFC 4895).
    pub(crate) const AUTH: Self = Self(2);
    /// Partial reliability (RFC 3758 §3.1).
    pub(crate) const FORWARD_TSN: Self = Self(1 << 4);
    /// Interleaving (RFC 8260 §2.2.1).
    pub(crate) const I_DATA: Self = Self(1 << 5);
    /// Partial reliability together with interleaving (RFC 8260 §2.3.1).
    pub(crate) const I_FORWARD_TSN: Self = Self(1 << 6);
    /// Stream reconfiguration (RFC 6525 §5.1).
    pub(crate) const RE_CONFIG: Self = Self(1 << 7);

    /// Explicit congestion notification (RFC 4960 Appendix A).
    pub(crate) const ECN: Self = Self(1 << 8);
    /// Limits for each stream (docs/internals/stream-credit.md).
    pub(crate) const STREAM_CREDIT: Self = Self(1 << 9);
    /// Acceptance of a checksum of 0 (RFC 9653 §5.1).
    pub(crate) const ZERO_CHECKSUM: Self = Self(1 << 15);

    /// Returns the extensions that this end offers.
    pub(crate) fn offered(
        auth: AuthPolicy,
        protection: &Protection,
        offer: OfferConfig,
        streams: &StreamsConfig,
        ecn: bool,
    ) -> Self {
        // RFC 5061 §4.2.7: ASCONF goes with AUTH only
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
        //= type=exception
        //= reason=option `auth.policy`, held by default: with `Unprotected` ASCONF is listed
        //= reason=alone
        //# An implementation supporting this extension MUST list the ASCONF,the ASCONF-ACK, and the AUTH
        //# chunks in its INIT and INIT-ACK parameters.
        // draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.2: the DTLS chunk takes the place of AUTH
        let asconf = auth != AuthPolicy::Off || *protection != Protection::Insecure;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
        //# The sender MUST support both the sending and the receiving of any chunk types listed within the
        //# Supported Extensions Parameter.
        let offers = [
            (offer.dynamic_addresses && asconf, Self::ASCONF),
            (auth.speaks() && !protection.is_required(), Self::AUTH),
            (offer.lower_layer_protects, Self::ZERO_CHECKSUM),
            (ecn, Self::ECN),
            // No other stack can use it, nor this one in clear.
            (*protection != Protection::Insecure, Self::STREAM_CREDIT),
            (streams.partial_reliability, Self::FORWARD_TSN),
            (streams.interleaving, Self::I_DATA),
            (streams.reconfiguration != Reconfiguration::Off, Self::RE_CONFIG),
            (streams.partial_reliability && streams.interleaving, Self::I_FORWARD_TSN),
        ];
        let offered = offers.into_iter().filter(|&(wanted, _)| wanted);
        offered.fold(Self::NONE, |all, (_, extension)| all.with(extension))
    }

    /// Returns the extensions that both ends may use, if this end announced `self` and the peer `theirs`.
    /// `protected` is true if the DTLS chunk was agreed on.
    pub(crate) fn agreed(self, auth: AuthPolicy, protected: bool, theirs: Self) -> Self {
        let both = self.both(theirs);
        // draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.2: support MUST NOT be negotiated in combination
        if protected {
            return both.without(Self::AUTH);
        }
        let both = both.without(Self::STREAM_CREDIT);
        // RFC 5061 §4.1.1: MUST be authenticated
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //= type=exception
        //= reason=option `auth.policy`, held by default: `NotRequired` changes addresses with a peer that
        //= reason=does not speak AUTH
        //# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.2
        //= type=exception
        //= reason=option `auth.policy`, held by default: `NotRequired` changes addresses with a peer that
        //= reason=does not speak AUTH
        //# This chunk MUST be sent in an authenticated way by using the mechanism defined in [RFC4895].
        let lacks_auth = auth.protects_addresses() && !both.has(Self::AUTH);
        if lacks_auth { both.without(Self::ASCONF) } else { both }
    }

    /// Returns whether messages use I-DATA chunks, because both ends announced them (RFC 8260 §2.2.1).
    pub(crate) fn interleaves(self) -> bool {
        self.has(Self::I_DATA)
    }

    /// Returns whether sent data can be abandoned. Interleaving needs I-FORWARD-TSN for that, otherwise
    /// FORWARD TSN is needed (RFC 8260 §2.3.1).
    pub(crate) fn forwards(self) -> bool {
        self.has(if self.interleaves() { Self::I_FORWARD_TSN } else { Self::FORWARD_TSN })
    }

    /// Returns the extension that the presence of a parameter announces.
    pub(crate) fn of_param(param: &Param<'_>) -> Self {
        PARAMS.iter().find(|(_, stands)| stands == param).map_or(Self::NONE, |&(extension, _)| extension)
    }

    /// Returns the parameters to announce beside Supported Extensions.
    pub(crate) fn params(self) -> impl Iterator<Item = Param<'static>> {
        PARAMS.into_iter().filter(move |&(extension, _)| self.has(extension)).map(|(_, param)| param)
    }

    /// Returns the extensions that a Supported Extensions parameter announces.
    pub(crate) fn of_chunk_types(types: &List<'_, ChunkType>) -> Self {
        let lists = |wanted: &ChunkType| types.iter().any(|typ| typ == *wanted);
        CHUNKS
            .iter()
            .filter(|(_, needed)| needed.iter().all(lists))
            .fold(Self::NONE, |all, &(extension, _)| all.with(extension))
    }

    /// Returns the chunk types to announce. PAD is always among them, because probes are padded with it
    /// (RFC 4820 §3).
    pub(crate) fn chunk_types(self) -> SmallVec<[ChunkType; 16]> {
        CHUNKS
            .iter()
            .filter(|&&(extension, _)| self.has(extension))
            .flat_map(|(_, types)| types.iter().copied())
            .chain([ChunkType::PAD])
            .collect()
    }

    /// Returns true if all of `wanted` are in the set.
    pub(crate) fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Returns the union of this set and `more`.
    pub(crate) fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns this set without `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the extensions in both sets.
    pub(crate) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the bits for the state cookie.
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// Returns the set with the bits of the state cookie.
    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn announced_extensions_are_read_back_and_incomplete_ones_ignored() {
        let all = CHUNKS.iter().fold(Extensions::NONE, |all, &(extension, _)| all.with(extension));
        let types = all.chunk_types();
        assert_eq!(Extensions::of_chunk_types(&List::from(&types[..])), all);
        assert_eq!(types.last(), Some(&ChunkType::PAD));
        for (extension, needed) in CHUNKS {
            let half: Vec<ChunkType> = types.iter().copied().filter(|typ| *typ != needed[0]).collect();
            assert!(!Extensions::of_chunk_types(&List::from(&half[..])).has(extension));
        }
        assert_eq!(Extensions::from_bits(all.bits()), all);
        assert_eq!(all.both(Extensions::NONE), Extensions::NONE);
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
    //= type=test
    //# The sender MUST support both the sending and the receiving of any chunk types listed within the
    //# Supported Extensions Parameter.
    #[test]
    fn a_chunk_type_is_listed_only_when_its_option_is_on() {
        let listed = |change: fn(&mut Config)| {
            let mut config = Config { auth: crate::auth::AuthConfig::without(), ..Config::default() };
            config.offer.dynamic_addresses = false;
            config.streams.partial_reliability = false;
            config.streams.interleaving = false;
            config.streams.reconfiguration = Reconfiguration::Off;
            change(&mut config);
            config.extensions().chunk_types().to_vec()
        };
        assert_eq!(listed(|_| {}), [ChunkType::PAD]);
        let with = |types: &[ChunkType]| [types, &[ChunkType::PAD]].concat();
        let asconf = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];
        assert_eq!(listed(|config| config.offer.dynamic_addresses = true), with(&asconf));
        assert_eq!(listed(|config| config.auth.policy = AuthPolicy::Required), with(&[ChunkType::AUTH]));
        assert_eq!(
            listed(|config| config.streams.partial_reliability = true),
            with(&[ChunkType::FORWARD_TSN])
        );
        assert_eq!(listed(|config| config.streams.interleaving = true), with(&[ChunkType::I_DATA]));
        assert_eq!(
            listed(|config| config.streams.reconfiguration = Reconfiguration::Own),
            with(&[ChunkType::RE_CONFIG])
        );
    }
}
