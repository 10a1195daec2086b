//! INIT and INIT ACK: reading the peer's offer, writing ours (RFC 9260 §3.3.2, §3.3.3, §5.1). Keeps no state.

use core::net::IpAddr;

use msctp_protection::{Binding, NegotiationError};
use msctp_units::{Span, Time};
use msctp_wire::param::Padding;
use msctp_wire::{
    Cause, ChunkType, CommonHeader, Init, InitAck, List, Param, ParamType, Tlv, Tsn, VerificationTag,
};
use smallvec::SmallVec;

use crate::addr::PathAddr;
use crate::auth::{AuthFault, AuthOffer, AuthPolicy, AuthReader, CookieAuth, Random, our_offer};
use crate::config::Config;
use crate::cookie::{Addresses, Cookie, CookieJar};
use crate::extensions::Extensions;
use crate::path::pairing::{MAX_ADDRESSES, is_endpoint};
use crate::path::{AMPLIFICATION_LIMIT, ip_header};
use crate::protection::{CookieProtection, ProtectionOffer, bind};
use crate::tags::Tags;

/// Maximum bytes of reported unrecognized parameters. An answer must fit a packet, and must not be much
/// larger than the packet that provoked it.
const MAX_REPORTED: usize = 256;

/// Forward-TSN-Supported on the wire (RFC 3758 §3.1).
const FORWARD_TSN_SUPPORTED: [u8; 4] = [0xc0, 0, 0, 4];

/// Returns the length in bytes of an Unrecognized Parameter with its quotation.
fn report_len(quoted: &[u8]) -> usize {
    4 + quoted.len().next_multiple_of(4)
}

/// The parameters of one INIT or INIT ACK.
pub(crate) type ParamList<'a> = SmallVec<[Param<'a>; 12]>;

/// The contents of an INIT or INIT ACK.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) tag: u32,
    pub(crate) a_rwnd: u32,
    /// Number of streams on which the peer wants to send.
    pub(crate) outbound_streams: u16,
    /// Number of streams on which the peer lets this end send.
    pub(crate) inbound_streams: u16,
    pub(crate) initial_tsn: Tsn,
    /// Usable addresses that the peer listed, up to this end's limit.
    pub(crate) addresses: Addresses,
    /// Address families the peer can use: (IPv4, IPv6).
    families: (bool, bool),
    /// Extensions that the peer announced beyond RFC 9260.
    pub(crate) extensions: Extensions,
    /// The peer's authentication parameters; `None` if it does not support AUTH.
    pub(crate) auth: Option<AuthOffer>,
    /// The peer's DTLS Key Management parameter.
    pub(crate) protection: Option<ProtectionOffer>,
    /// True if both ends can agree on the DTLS chunk.
    protected: bool,
    pub(crate) cookie: Option<&'a [u8]>,
    /// Time by which the peer requests to extend the cookie's lifetime.
    pub(crate) preservative: Span,
    /// True if Forward-TSN-Supported was present.
    has_forward_param: bool,
    /// Parameters to report as unrecognized, each with header and without padding (RFC 9260 §3.2.2).
    pub(crate) unrecognized: SmallVec<[&'a [u8]; 2]>,
}

/// The reason why an INIT or INIT ACK is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferFault<'a> {
    /// The Initiate Tag is 0.
    ZeroTag,
    /// a_rwnd below 1500.
    SmallWindow,
    /// No outbound or no inbound streams.
    NoStreams,
    /// A Host Name Address, header included.
    HostName(&'a [u8]),
    /// A parameter whose value is invalid for its type.
    Malformed,
    /// A Random Number that does not have 32 bytes.
    Random,
    /// The peer supports ASCONF but not AUTH.
    AsconfWithoutAuth,
    /// The peer does not support AUTH, and this end has shared keys.
    NoAuth,
    /// This end requires the DTLS chunk, and the ends cannot agree on it.
    Protection(NegotiationError),
}

impl<'a> OfferFault<'a> {
    /// Returns the cause of the ABORT that answers it; `None` for no answer.
    pub(crate) fn cause(self) -> Option<Cause<'a>> {
        match self {
            // RFC 9260 §3.3.2: "the receiver MUST silently discard the packet"
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
            //# If the value of the Initiate Tag in a received INIT chunk is found to be 0, the receiver MUST
            //# silently discard the packet.
            Self::ZeroTag => None,
            Self::SmallWindow | Self::NoStreams => Some(Cause::InvalidMandatoryParameter),
            // RFC 9260 §5.1.2 B
            Self::HostName(param) => Some(Cause::UnresolvableAddress(param)),
            Self::Malformed => Some(Cause::ProtocolViolation(b"malformed parameter")),
            // RFC 4895 §6.1
            Self::Random => Some(Cause::ProtocolViolation(b"RANDOM is not 32 bytes")),
            Self::AsconfWithoutAuth => Some(Cause::ProtocolViolation(b"ASCONF without AUTH")),
            // draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.1
            Self::Protection(error) => Some(error.cause()),
            Self::NoAuth => Some(Cause::ProtocolViolation(b"AUTH and a shared key are required here")),
        }
    }
}

impl From<AuthFault> for OfferFault<'_> {
    fn from(fault: AuthFault) -> Self {
        match fault {
            AuthFault::Random => Self::Random,
            AuthFault::TooLong => Self::Malformed,
        }
    }
}

impl<'a> Offer<'a> {
    /// Parses an INIT, or an INIT ACK through its `as_init`.
    pub(crate) fn read(init: &Init<'a>) -> Result<Self, OfferFault<'a>> {
        if init.initiate_tag.get() == 0 {
            return Err(OfferFault::ZeroTag);
        }
        // RFC 9260 §3.3.2: a_rwnd MUST NOT be smaller than 1500, OS and MIS not 0
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# A receiver of an INIT chunk with the a_rwnd value set to a value smaller than 1500 MUST discard
        //# the packet, SHOULD send a packet in response containing an ABORT chunk and using the Initiate Tag
        //# as the Verification Tag, and MUST NOT change the state of any existing association.
        if init.a_rwnd < 1500 {
            return Err(OfferFault::SmallWindow);
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# A receiver of an INIT chunk with the OS value set to 0 MUST discard the packet, SHOULD send a
        //# packet in response containing an ABORT chunk and using the Initiate Tag as the Verification Tag,
        //# and MUST NOT change the state of any existing association.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# A receiver of an INIT chunk with the MIS value set to 0 MUST discard the packet, SHOULD send a
        //# packet in response containing an ABORT chunk and using the Initiate Tag as the Verification Tag,
        //# and MUST NOT change the state of any existing association.
        if init.outbound_streams == 0 || init.inbound_streams == 0 {
            return Err(OfferFault::NoStreams);
        }
        let mut offer = Self {
            tag: init.initiate_tag.get(),
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            addresses: Addresses::new(),
            // RFC 9260 §3.3.2, note 4: without Supported Address Types any type
            families: (true, true),
            extensions: Extensions::NONE,
            auth: None,
            protection: None,
            protected: false,
            cookie: None,
            preservative: Span::ZERO,
            has_forward_param: false,
            unrecognized: SmallVec::new(),
        };
        let mut auth = AuthReader::default();
        let mut params = init.params.iter();
        loop {
            let rest = params.rest();
            let param = match params.next() {
                None => break,
                Some(Err(_)) => return Err(OfferFault::Malformed),
                Some(Ok(Param::HostName(name))) => {
                    // RFC 9260 §3.3.10.5: the cause quotes the complete TLV
                    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
                    //# The receiver of an INIT chunk containing a Host Name Address parameter MUST send an
                    //# ABORT chunk
                    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
                    //# The receiver of an INIT chunk or an INIT ACK containing a Host Name Address parameter
                    //# MUST send an ABORT chunk
                    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
                    //# The receiver of INIT ACK chunks containing a Host Name Address parameter MUST send an
                    //# ABORT chunk
                    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
                    //# If there is a Host Name Address parameter present in the received INIT or INIT ACK
                    //# chunk, the endpoint MUST immediately send an ABORT chunk
                    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
                    //# At least one null terminator is included in the Host Name string and MUST be included
                    //# in the length.
                    return Err(OfferFault::HostName(rest.get(..4 + name.len()).unwrap_or(name)));
                }
                Some(Ok(Param::DtlsKeyManagement(_))) => {
                    if offer.protection.is_none() {
                        offer.protection = ProtectionOffer::read(rest);
                    }
                    continue;
                }
                Some(Ok(param)) => param,
            };
            if !offer.take(param, &mut auth)? {
                break;
            }
        }
        offer.auth = auth.finish();
        offer.extensions = match &offer.auth {
            Some(_) => offer.extensions.with(Extensions::AUTH),
            None => offer.extensions.without(Extensions::AUTH),
        };
        Ok(offer)
    }

    /// Checks the offer against this end's options.
    ///
    /// RFC 3758 §3.3.1, §3.3.2: an end without the extension reports Forward-TSN-Supported as unrecognized.
    ///
    /// RFC 5061 §6: there MUST NOT be an association with a peer that supports ASCONF and not AUTH, unless
    /// this end's options do not require authentication. A peer that supports neither changes no addresses
    /// and is accepted, unless there are shared keys: they require AUTH for all its chunks.
    pub(crate) fn check(&mut self, config: &Config) -> Result<(), OfferFault<'a>> {
        if self.has_forward_param && !config.streams.partial_reliability {
            self.report(&FORWARD_TSN_SUPPORTED);
        }
        if let Some(keys) = config.protection.keys() {
            let agreement = ProtectionOffer::check(keys, self.protection.as_ref());
            self.protected = agreement.is_ok();
            match agreement {
                // The DTLS chunk takes the place of AUTH.
                Ok(()) => return Ok(()),
                Err(error) if config.protection.refuses(error) => return Err(OfferFault::Protection(error)),
                Err(_) => self.protection = self.protection.take().filter(ProtectionOffer::fits_cookie),
            }
        }
        let required = config.auth.policy == AuthPolicy::Required;
        if required && self.extensions.has(Extensions::ASCONF) && self.auth.is_none() {
            if self.protection.is_some() {
                // The peer has the DTLS chunk in AUTH's place: it is that which is missing.
                return Err(OfferFault::Protection(NegotiationError::MissingSupport));
            }
            return Err(OfferFault::AsconfWithoutAuth);
        }
        if config.auth.has_secret() && self.auth.is_none() {
            return Err(OfferFault::NoAuth);
        }
        Ok(())
    }

    /// Returns whether both ends can agree on the DTLS chunk. Valid after [`check`](Self::check).
    pub(crate) fn is_protected(&self) -> bool {
        self.protected
    }

    /// Parses one parameter. Returns false if no further one may be parsed.
    fn take(&mut self, param: Param<'a>, auth: &mut AuthReader) -> Result<bool, OfferFault<'a>> {
        match param {
            Param::Ipv4Address(_) | Param::Ipv6Address(_) => {
                self.addresses.extend(param.address().filter(is_endpoint));
                self.addresses.truncate(MAX_ADDRESSES);
            }
            Param::StateCookie(cookie) => self.cookie = Some(cookie),
            Param::CookiePreservative(ms) => self.preservative = Span::from_millis(u64::from(ms)),
            Param::SupportedAddressTypes(types) => {
                //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.5
                //# MUST be ignored when receiving this parameter.
                let lists = |wanted| types.iter().any(|typ| typ == wanted);
                self.families = (lists(ParamType::IPV4_ADDRESS), lists(ParamType::IPV6_ADDRESS));
            }
            Param::SupportedExtensions(types) => {
                self.extensions = self.extensions.with(Extensions::of_chunk_types(&types));
            }
            Param::ZeroChecksumAcceptable(_) | Param::EcnCapable => {
                self.extensions = self.extensions.with(Extensions::of_param(&param));
            }
            Param::Random(random) => auth.random(random)?,
            Param::ChunkList(types) => auth.chunks(&types)?,
            Param::HmacAlgo(ids) => auth.hmacs(&ids)?,
            // RFC 3758 §3.1
            Param::ForwardTsnSupported => {
                self.extensions = self.extensions.with(Extensions::FORWARD_TSN);
                self.has_forward_param = true;
            }
            Param::Unknown(unknown) => {
                let action = unknown.action();
                if action.report {
                    self.report(unknown.bytes());
                }
                return Ok(!action.stop);
            }
            //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.6
            //# This parameter MUST NOT be sent in any other chunks
            // Known, and of no use in an INIT here.
            _ => {}
        }
        Ok(true)
    }

    /// Records a parameter to report as unrecognized, unless the report would get too long.
    fn report(&mut self, param: &'a [u8]) {
        let reported = self.unrecognized.iter().map(|param| report_len(param)).sum::<usize>();
        if reported + report_len(param) <= MAX_REPORTED {
            self.unrecognized.push(param);
        }
    }

    /// Returns true if the peer can use this local address, because its family is announced or the peer
    /// itself uses it (RFC 9260 §5.1.2, last paragraph). `source` is the chunk's source address.
    pub(crate) fn can_use(&self, ours: &IpAddr, source: &IpAddr) -> bool {
        let announced = if ours.is_ipv4() { self.families.0 } else { self.families.1 };
        announced || self.addresses.iter().chain([source]).any(|theirs| theirs.is_ipv4() == ours.is_ipv4())
    }

    /// Returns all addresses of the peer: those listed and the source (RFC 9260 §5.1.2 A and C), each once,
    /// the source first.
    pub(crate) fn all_addresses(&self, source: IpAddr) -> Addresses {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
        //# the receiver MUST derive and record all the transport addresses from the received chunk AND the
        //# source IP address
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
        //# If there are no address parameters present in the received INIT or INIT ACK chunk, the endpoint
        //# MUST take the source IP address from which the chunk arrives
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.2
        //# If the INIT chunk does not contain any IP Address parameters, the endpoint receiving the INIT
        //# chunk MUST use the source address
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# If the INIT ACK chunk does not contain any IP Address parameters, the receiver of the INIT ACK
        //# chunk MUST use the source address
        let mut all = Addresses::from_slice(&[source]);
        for &address in &self.addresses {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
            //# If an SCTP endpoint that only supports either IPv4 or IPv6 receives IPv4 and IPv6 addresses
            //# in an INIT or INIT ACK chunk from its peer, it MUST use all the addresses belonging to the
            //# supported address family.
            if !all.contains(&address) && all.len() < MAX_ADDRESSES {
                all.push(address);
            }
        }
        all
    }
}

/// Returns the parameters of this end's INIT and INIT ACK, with its addresses and extensions (RFC 9260
/// §3.3.2.1).
///
/// `addresses` is empty if the source of the packet is the only one: it need not be listed, which also works
/// behind a NAT.
pub(crate) fn our_params<'a>(
    addresses: impl Iterator<Item = IpAddr>,
    chunk_types: &'a [ChunkType],
    ours: Extensions,
) -> ParamList<'a> {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
    //# Unless otherwise noted, each parameter MUST only be included once in the INIT chunk.
    let mut params = ParamList::new();
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
    //# An INIT chunk MUST NOT contain the Host Name Address parameter.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.4
    //# The sender of an INIT chunk or INIT ACK chunk MUST NOT include this parameter.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
    //# An INIT ACK chunk MUST NOT contain the Host Name Address parameter.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3.1
    //# The Host Name Address parameter is described in Section 3.3.2.1.4 and MUST NOT be included in an INIT
    //# ACK chunk.
    params.extend(addresses.map(Param::from));
    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
    //# An implementation supporting this extension MUST list the ASCONF,the ASCONF-ACK, and the AUTH chunks
    //# in its INIT and INIT-ACK parameters.
    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
    //# The sender MUST NOT include multiple Supported Extensions Parameter within any chunk.
    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.7
    //# This parameter MUST NOT appear in any other chunk.
    params.push(Param::SupportedExtensions(List::from(chunk_types)));
    // RFC 3758 §3.3.1: older than the list, and still looked for
    if chunk_types.contains(&ChunkType::FORWARD_TSN) {
        params.push(Param::ForwardTsnSupported);
    }
    for param in ours.params() {
        params.push(param);
    }
    params
}

/// Returns the Supported Address Types parameter (RFC 9260 §3.3.2.1.5). It names both families: this end may
/// get an address of the other one later, and need not show which it has.
pub(crate) fn our_families() -> Param<'static> {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2.1.5
    //# The value indicating the Host Name Address parameter MUST NOT be used when sending this parameter
    const BOTH: [ParamType; 2] = [ParamType::IPV4_ADDRESS, ParamType::IPV6_ADDRESS];
    Param::SupportedAddressTypes(List::from(&BOTH))
}

/// Returns the numbers of streams in both directions (RFC 9260 §5.1.1): (outbound, inbound).
pub(crate) fn streams(config: &Config, offer: &Offer<'_>) -> (u16, u16) {
    (
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
        //# If the peer's MIS is less than the endpoint's OS, meaning that the peer is incapable of supporting
        //# all the outbound streams the endpoint wants to configure, the endpoint MUST use MIS outbound
        //# streams
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
        //# After the association is initialized, the valid outbound stream identifier range for either
        //# endpoint MUST be 0 to min(local OS, remote MIS) - 1.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.1
        //# each endpoint MUST perform the following check
        config.outbound_streams.min(offer.inbound_streams),
        config.max_inbound_streams.min(offer.outbound_streams),
    )
}

/// Returns these addresses encoded as parameters, which error causes quote. Each has a multiple of four
/// bytes.
pub(crate) fn address_params(addresses: &[IpAddr]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &address in addresses {
        Param::from(address).encode(&mut bytes);
    }
    bytes
}

/// Minimum length in bytes of this end's INIT, common header included. An answer of [`AMPLIFICATION_LIMIT`]
/// times that length then holds the parameters of an end with sixteen IPv6 addresses and shared keys.
const MIN_INIT: usize = 256;

/// Returns the maximum length in bytes of the answer to a packet of `asked` bytes from the unconfirmed
/// `remote`.
pub(crate) fn answer_room(asked: usize, remote: &IpAddr) -> usize {
    let ip = ip_header(remote) as usize;
    AMPLIFICATION_LIMIT as usize * (asked + ip) - ip
}

/// Returns the length in bytes of parameters, each padded.
fn params_len<'a, 'b: 'a>(params: impl IntoIterator<Item = &'a Param<'b>>) -> usize {
    params.into_iter().map(|param| param.encoded_len().next_multiple_of(4)).sum()
}

/// Returns the padding that makes an INIT with these parameters [`MIN_INIT`] bytes long (RFC 4820 §4). Peers
/// that do not know it skip it.
pub(crate) fn padding(params: &[Param<'_>]) -> Option<Param<'static>> {
    let missing = MIN_INIT.checked_sub(HEADERS + params_len(params))?;
    (missing >= 4).then(|| Param::Padding(Padding { len: missing as u16 - 4 }))
}

/// Bytes of a packet with an INIT or INIT ACK that are not parameters.
const HEADERS: usize = CommonHeader::LEN + 20;

/// The inputs of an INIT ACK from this end.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) config: &'a Config,
    /// The local addresses that the INIT ACK may name.
    pub(crate) local_addresses: &'a [IpAddr],
    /// Tags, known before the INIT is read. Tie-Tags are 0 without an association (RFC 9260 §5.2.2).
    pub(crate) tags: Tags,
    /// True if tag, TSN, Random Number and protection parameter are those of this end's INIT.
    pub(crate) collision: bool,
    /// This end's Random Number, if AUTH is enabled.
    pub(crate) random: Random,
    /// This end's DTLS Key Management parameter, if the INIT has one too.
    pub(crate) protection: Option<ProtectionOffer>,
    /// Addresses of the INIT, to which the INIT ACK is sent.
    pub(crate) at: PathAddr,
    /// Maximum length of the packet in bytes, from [`answer_room`].
    pub(crate) room: usize,
}

impl Answer<'_> {
    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
    //# After sending an INIT ACK chunk with the State Cookie parameter, "Z" MUST NOT allocate any resources
    //# or keep any states for the new association.
    /// Answers an INIT: signs a cookie and passes the INIT ACK to `send`. Keeps no state.
    pub(crate) fn give(
        &self,
        now: Time,
        init: &Init<'_>,
        offer: &Offer<'_>,
        jar: &mut CookieJar,
        send: impl FnOnce(&InitAck<'_>),
    ) {
        let (outbound_streams, inbound_streams) = streams(self.config, offer);
        // An INIT without AUTH parameters gets an INIT ACK without them.
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //= type=exception
        //= reason=an INIT ACK says nothing of AUTH to a peer whose INIT said nothing of it; option
        //= reason=`auth.policy`, held by default
        //# Each SCTP endpoint MUST include in the INIT and INIT-ACK a HMAC-ALGO parameter
        let ours =
            our_offer(&self.config.auth, self.random).filter(|_| offer.auth.is_some() && !offer.protected);
        let listed = |ours: &IpAddr| self.config.offer.list_addresses && offer.can_use(ours, &self.at.remote);
        let usable = self.local_addresses.iter().copied().filter(listed);
        let several = usable.clone().count() > 1;
        let mut cookie =
            self.cookie(now, jar.life(offer.preservative), offer, (outbound_streams, inbound_streams));
        if ours.is_none() {
            cookie.auth = None;
        }
        let mut signed = Vec::with_capacity(256);
        let chunk_types = self.config.extensions().chunk_types();
        let auth: ParamList<'_> = ours.iter().flat_map(AuthOffer::params).collect();
        let protection = self.protection.as_ref().and_then(ProtectionOffer::as_param);
        let mandatory = HEADERS
            + params_len(&auth)
            + params_len(&protection)
            + (4 + cookie.signed_len()).next_multiple_of(4);
        // An INIT that is not padded, as other stacks send it, is answered by what there is room for, the
        // most useful first. The cookie and AUTH are no larger than three times what asked for them, whatever
        // that was.
        let mut room = self.room.saturating_sub(mandatory);
        let mut params = our_params(usable.filter(|_| several), &chunk_types, self.config.extensions());
        if params_len(&params) > room {
            params = our_params(core::iter::empty(), &chunk_types, self.config.extensions());
            cookie.lists_addresses = !several;
        }
        if params_len(&params) > room {
            // The peer listed no extensions: an INIT that lists one is long enough for all of ours.
            params.clear();
        }
        room = room.saturating_sub(params_len(&params));
        params.extend(auth);
        params.extend(protection);
        let before_cookie = params.len();
        // RFC 9260 §3.2.2: unrecognized parameters of an INIT are reported in the INIT ACK
        for unrecognized in &offer.unrecognized {
            let reported = report_len(unrecognized);
            if reported <= room {
                room -= reported;
                params.push(Param::UnrecognizedParameter(unrecognized));
            }
        }
        if let Some(both) = &mut cookie.protection {
            let ports = (self.tags.peer_port, self.tags.local_port);
            both.binding = bind(ports, init, &self.init_ack(outbound_streams, &params));
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //# "Z" MUST generate and send along with the INIT ACK chunk a State Cookie.
        jar.sign(&cookie, &mut signed);
        params.insert(before_cookie, Param::StateCookie(&signed));
        send(&self.init_ack(outbound_streams, &params));
    }

    /// Returns the INIT ACK with these parameters.
    fn init_ack<'a>(&self, outbound_streams: u16, params: &'a [Param<'a>]) -> InitAck<'a> {
        InitAck {
            initiate_tag: VerificationTag::new(self.tags.local_tag),
            a_rwnd: self.config.receive_buffer,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
            //# the value MUST NOT be greater than the MIS value sent in the INIT chunk.
            // RFC 9260 §3.3.3: MUST NOT be greater than the MIS of the INIT
            outbound_streams,
            inbound_streams: self.config.max_inbound_streams,
            initial_tsn: self.tags.local_initial_tsn,
            params: params.into(),
        }
    }

    /// Returns the cookie of an association with the offers of both ends.
    fn cookie(
        &self,
        now: Time,
        life: Span,
        offer: &Offer<'_>,
        (outbound_streams, inbound_streams): (u16, u16),
    ) -> Cookie {
        Cookie {
            created: now,
            life,
            tags: Tags {
                peer_tag: offer.tag,
                outbound_streams,
                inbound_streams,
                extensions: self.config.extensions().agreed(
                    self.config.auth.policy,
                    offer.protected,
                    offer.extensions,
                ),
                ..self.tags.clone()
            },
            peer_initial_tsn: offer.initial_tsn.get(),
            peer_a_rwnd: offer.a_rwnd,
            auth: offer.auth.clone().map(|peer| CookieAuth { random: self.random, peer }),
            protection: self
                .protection
                .clone()
                .zip(offer.protection.clone())
                .map(|(ours, theirs)| CookieProtection { ours, theirs, binding: Binding::default() }),
            at: self.at,
            addresses: offer.all_addresses(self.at.remote).into_iter().skip(1).collect(),
            lists_addresses: true,
            collision: self.collision,
        }
    }
}
