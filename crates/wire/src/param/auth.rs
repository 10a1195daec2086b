//! RANDOM, CHUNKS and HMAC-ALGO (RFC 4895 §3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8002   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Random Number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8003   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Chunk Type 1  | Chunk Type 2  | Chunk Type 3  | Chunk Type 4  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8004   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          HMAC Identifier 1    |      HMAC Identifier 2        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The HMAC key is derived from these parameters as sent, with header and without padding (RFC 4895 §6.1):
//! the bytes of [`Tlv::encode`](crate::Tlv::encode).
//! [`Tlv::encode`](crate::Tlv::encode) gives those bytes.

#[cfg(test)]
mod tests {
    use crate::chunk::ChunkType;
    use crate::error::Malformed;
    use crate::ids::HmacId;
    use crate::list::List;
    use crate::param::Param;
    use crate::param::testing::{check, fault};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let random: Vec<u8> = (0..32).collect();
        let mut bytes = vec![0x80, 0x02, 0, 36];
        bytes.extend_from_slice(&random);
        check(&bytes, Param::Random(&random));
        let types = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];
        check(&[0x80, 0x03, 0, 6, 0xc1, 0x80, 0, 0], Param::ChunkList(List::from(&types)));
        let hmacs = [HmacId::SHA256, HmacId::SHA1];
        check(&[0x80, 0x04, 0, 8, 0, 3, 0, 1], Param::HmacAlgo(List::from(&hmacs)));
    }

    #[test]
    fn identifiers_must_be_whole() {
        assert_eq!(fault(&[0x80, 0x04, 0, 7, 0, 3, 0, 0]), Malformed::NotWhole { len: 3, unit: 2 });
    }
}
