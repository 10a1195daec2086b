//! RANDOM, CHUNKS and HMAC-ALGO of one end, and the key material made of them (RFC 4895 §3, §6.1). Keeps no
//! state.

use msctp_wire::{ChunkSet, ChunkType, HmacId, List, Param, Tlv};
use smallvec::SmallVec;

use super::{HmacAlgorithm, NEVER};

/// RFC 4895 §6.1: "The RANDOM parameter MUST contain a 32-byte Random Number".
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//# The RANDOM parameter MUST contain a 32-byte Random Number.
pub(crate) const RANDOM_LEN: usize = 32;
/// RFC 4895 §3.2: 260 bytes, header included.
const MAX_CHUNKS: usize = 256;
/// Maximum number of identifiers of an HMAC-ALGO parameter, because the state cookie holds them. RFC 4895
/// sets no limit and defines two.
const MAX_HMACS: usize = 16;

/// A Random Number.
pub(crate) type Random = [u8; RANDOM_LEN];

/// The reason why the AUTH parameters of an INIT or INIT ACK are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthFault {
    /// The Random Number does not have 32 bytes: "the association MUST be aborted" (RFC 4895 §6.1).
    Random,
    /// CHUNKS or HMAC-ALGO is too long.
    TooLong,
}

/// The three AUTH parameters of one end, byte for byte as sent, because the key is derived from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthOffer {
    pub(crate) random: Random,
    /// The CHUNKS parameter; `None` if there was none, which differs from an empty one.
    pub(crate) chunks: Option<SmallVec<[ChunkType; 8]>>,
    /// HMAC identifiers in order of preference.
    pub(crate) hmacs: SmallVec<[HmacId; 4]>,
}

/// The state of RFC 4895 that the endpoint's options do not contain: the Random Number of this end's INIT
/// ACK, and the parameters of the INIT byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CookieAuth {
    pub(crate) random: Random,
    pub(crate) peer: AuthOffer,
}

impl AuthOffer {
    /// Creates this end's offer.
    pub(crate) fn ours(random: Random, demanded: &ChunkSet, algorithms: &[HmacAlgorithm]) -> Self {
        // RFC 4895 §6.1: "MAY be omitted if it is empty"
        let chunks = (!demanded.is_empty()).then(|| demanded.iter().collect());
        Self { random, chunks, hmacs: algorithms.iter().map(|algorithm| algorithm.id()).collect() }
    }

    /// Returns the parameters for INIT and INIT ACK.
    pub(crate) fn params(&self) -> impl Iterator<Item = Param<'_>> {
        let chunks = self.chunks.as_deref().map(|types| Param::ChunkList(List::from(types)));
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# MUST send one RANDOM parameter in its INIT or INIT-ACK chunk
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# Each SCTP endpoint MUST include in the INIT and INIT-ACK a HMAC-ALGO parameter
        [Some(Param::Random(&self.random)), chunks, Some(Param::HmacAlgo(List::from(&self.hmacs[..])))]
            .into_iter()
            .flatten()
    }

    /// Appends the key vector (RFC 4895 §6.1): the parameters with headers and without padding.
    fn append_vector(&self, bytes: &mut Vec<u8>) {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# all padding MUST be removed from this concatenation before proceeding with further computation of
        //# keys
        self.params().for_each(|param| param.encode(bytes));
    }

    /// Returns the length of the key vector in bytes.
    fn vector_len(&self) -> usize {
        self.params().map(|param| param.encoded_len()).sum()
    }

    /// Returns the first listed algorithm that is supported here (RFC 4895 §6.1: SHOULD be used).
    pub(crate) fn algorithm(&self) -> Option<HmacAlgorithm> {
        self.hmacs.iter().find_map(|id| HmacAlgorithm::of_id(*id))
    }

    /// Returns the chunk types to authenticate (RFC 4895 §3.2: some MUST be ignored).
    pub(crate) fn demanded(&self) -> ChunkSet {
        let listed = self.chunks.iter().flatten().copied();
        listed.filter(|typ| !NEVER.contains(typ)).collect()
    }
}

/// Collects the AUTH parameters of an INIT or INIT ACK. The first of repeated parameters counts, since each
/// MUST be included once (RFC 4895 §3).
#[derive(Debug, Default)]
pub(crate) struct AuthReader {
    random: Option<Random>,
    chunks: Option<SmallVec<[ChunkType; 8]>>,
    hmacs: Option<SmallVec<[HmacId; 4]>>,
}

impl AuthReader {
    pub(crate) fn random(&mut self, random: &[u8]) -> Result<(), AuthFault> {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# If the Random Number is not 32 bytes, the association MUST be aborted.
        let random = Random::try_from(random).map_err(|_| AuthFault::Random)?;
        self.random.get_or_insert(random);
        Ok(())
    }

    pub(crate) fn chunks(&mut self, types: &List<'_, ChunkType>) -> Result<(), AuthFault> {
        if types.len() > MAX_CHUNKS {
            return Err(AuthFault::TooLong);
        }
        self.chunks.get_or_insert_with(|| types.iter().collect());
        Ok(())
    }

    pub(crate) fn hmacs(&mut self, ids: &List<'_, HmacId>) -> Result<(), AuthFault> {
        if ids.len() > MAX_HMACS {
            return Err(AuthFault::TooLong);
        }
        self.hmacs.get_or_insert_with(|| ids.iter().collect());
        Ok(())
    }

    /// Returns the offer. `None` if the peer does not support AUTH: it lacks a mandatory parameter (RFC 4895
    /// §3.1, §3.3) or shares no algorithm.
    pub(crate) fn finish(self) -> Option<AuthOffer> {
        let offer = AuthOffer { random: self.random?, chunks: self.chunks, hmacs: self.hmacs? };
        offer.algorithm().is_some().then_some(offer)
    }
}

/// Returns the two key vectors in the order that an association shared key uses (RFC 4895 §6.1). The
/// numerically smaller one comes first, of equal ones the shorter.
pub(super) fn material(one: &AuthOffer, other: &AuthOffer) -> Vec<u8> {
    let len = one.vector_len();
    let mut both = Vec::with_capacity(len + other.vector_len());
    one.append_vector(&mut both);
    other.append_vector(&mut both);
    debug_assert_eq!(both.len(), both.capacity());
    let (first, second) = both.split_at(len);
    if !precedes(first, second) {
        both.rotate_left(len);
    }
    both
}

/// Returns whether one number precedes another. Both are in network byte order, and may differ in length.
fn precedes(one: &[u8], other: &[u8]) -> bool {
    fn significant(bytes: &[u8]) -> &[u8] {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        &bytes[zeros..]
    }
    let key = |bytes| {
        let number = significant(bytes);
        (number.len(), number)
    };
    key(one).cmp(&key(other)).then(one.len().cmp(&other.len())).is_lt()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl AuthOffer {
        fn vector(&self) -> Vec<u8> {
            let mut bytes = Vec::new();
            self.append_vector(&mut bytes);
            assert_eq!(bytes.len(), self.vector_len());
            bytes
        }
    }

    fn offer(first: u8, chunks: Option<&[u8]>, hmacs: &[u16]) -> AuthOffer {
        let mut random = [0x55; RANDOM_LEN];
        random[0] = first;
        AuthOffer {
            random,
            chunks: chunks.map(|types| types.iter().map(|typ| ChunkType(*typ)).collect()),
            hmacs: hmacs.iter().map(|id| HmacId::new(*id)).collect(),
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
    //= type=test
    //# all padding MUST be removed from this concatenation before proceeding with further computation of keys
    #[test]
    fn a_key_vector_has_headers_and_no_padding() {
        // §6.1
        let vector = offer(0x55, Some(&[0xc1]), &[3]).vector();
        let mut expected = vec![0x80, 0x02, 0, 36];
        expected.extend([0x55; 32]);
        expected.extend([0x80, 0x03, 0, 5, 0xc1, 0x80, 0x04, 0, 6, 0, 3]);
        assert_eq!(vector, expected);
        let without = offer(0x55, None, &[1]).vector();
        assert_eq!(without[36..], [0x80, 0x04, 0, 6, 0, 1], "what was not sent is omitted");
        let empty = offer(0x55, Some(&[]), &[1]).vector();
        assert_eq!(empty[36..], [0x80, 0x03, 0, 4, 0x80, 0x04, 0, 6, 0, 1]);
    }

    #[test]
    fn the_numerically_smaller_vector_comes_first_for_both_ends() {
        // §6.1
        let (low, high) = (offer(1, Some(&[0xc1, 0x80, 0, 1]), &[3, 1]), offer(2, None, &[1]));
        assert!(low.vector().len() > high.vector().len());
        // A longer vector is the larger number, whatever it begins with: both begin with 0x80.
        let expected = [high.vector(), low.vector()].concat();
        assert_eq!(material(&low, &high), expected);
        assert_eq!(material(&high, &low), expected);
        let (low, high) = (offer(1, None, &[3]), offer(2, None, &[1]));
        assert_eq!(material(&high, &low), [low.vector(), high.vector()].concat());
        assert_eq!(material(&low, &low), [low.vector(), low.vector()].concat());
    }

    #[test]
    fn numbers_are_compared_with_leading_zeros_and_then_by_length() {
        assert!(precedes(&[1, 2], &[1, 3]) && !precedes(&[1, 3], &[1, 2]));
        assert!(precedes(&[0xff], &[1, 0]));
        assert!(precedes(&[0, 0, 1], &[2]));
        // "If the key vectors are equal as numbers but differ in length": the shorter first
        assert!(precedes(&[2], &[0, 2]) && !precedes(&[0, 2], &[2]));
        assert!(!precedes(&[2], &[2]));
    }

    #[test]
    fn lists_that_could_overflow_a_buffer_are_faults() {
        let mut reader = AuthReader::default();
        for len in [0, 31, 33, 1000, 60_000] {
            assert_eq!(reader.random(&vec![1; len]), Err(AuthFault::Random), "{len}");
        }
        let types = vec![ChunkType(9); 257];
        assert_eq!(reader.chunks(&List::from(&types[..])), Err(AuthFault::TooLong));
        assert_eq!(reader.chunks(&List::from(&types[..256])), Ok(()));
        let ids = [HmacId::SHA1; 17];
        assert_eq!(reader.hmacs(&List::from(&ids[..])), Err(AuthFault::TooLong));
        assert_eq!(reader.finish(), None);
    }

    #[test]
    fn without_a_known_algorithm_auth_is_off_and_the_first_of_two_counts() {
        let read = |ids: &[HmacId]| {
            let mut reader = AuthReader::default();
            reader.random(&[7; 32]).unwrap();
            reader.random(&[8; 32]).unwrap();
            reader.hmacs(&List::from(ids)).unwrap();
            reader.finish()
        };
        let unknown = HmacId::new(2);
        assert_eq!(read(&[unknown]), None);
        assert_eq!(read(&[]), None);
        let offer = read(&[unknown, HmacId::SHA1, HmacId::SHA256]).unwrap();
        assert_eq!((offer.algorithm(), offer.random), (Some(HmacAlgorithm::Sha1), [7; 32]));
    }

    #[test]
    fn chunk_types_that_cannot_be_authenticated_are_ignored_in_a_list() {
        // §3.2
        let demanded = offer(0, Some(&[1, 2, 14, 15, 0, 0xc1]), &[1]).demanded();
        assert!(demanded.iter().eq([ChunkType(0), ChunkType(0xc1)]));
    }
}
