//! DTLS Key Management (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 0x8006    |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Tie Breaker                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Reserved |R|S|C| DTLS KMId #1  | DTLS KMId #2  | DTLS KMId #3  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! :                                                               :
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | DTLS KMId #N  |                    Padding                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::error::Malformed;
use crate::ids::KeyManagementId;
use crate::layout::Value;
use crate::list::{Item, List};
use crate::read::{at_least, be32};

const C_BIT: u8 = 0x01;
const S_BIT: u8 = 0x02;
const R_BIT: u8 = 0x04;

/// Length in bytes of the fields before the identifiers: Tie Breaker and flags.
const FIXED: usize = 5;

/// The key management roles that an endpoint can take, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DtlsRoles {
    /// C: client.
    pub client: bool,
    /// S: server.
    pub server: bool,
}

/// Value of the DTLS Key Management parameter, part of INIT and INIT ACK only.
///
/// The reserved bits are sent as zero and ignored when received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DtlsKeyManagement<'a> {
    /// Tie Breaker, a random number. Of two endpoints that can take both roles, the one with the larger
    /// number is the server.
    pub tie_breaker: u32,
    /// R: protected restart is supported.
    pub restart: bool,
    /// S and C: the roles that this endpoint can take.
    pub roles: DtlsRoles,
    /// Key management methods in order of preference, at least one.
    pub methods: List<'a, KeyManagementId>,
}

impl<'a> Value<'a> for DtlsKeyManagement<'a> {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        // §4.1: the parameter must include at least one identifier.
        let value = at_least(value, FIXED + 1)?;
        let flags = value[FIXED - 1];
        Ok(Self {
            tie_breaker: be32(value, 0),
            restart: flags & R_BIT != 0,
            roles: DtlsRoles { client: flags & C_BIT != 0, server: flags & S_BIT != 0 },
            methods: List::from_wire(&value[FIXED..])?,
        })
    }

    fn encoded_len(&self) -> usize {
        FIXED + self.methods.encoded_len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(!self.methods.is_empty(), "at least one key management method must be listed");
        self.tie_breaker.write(out);
        out.push(
            u8::from(self.restart) * R_BIT
                + u8::from(self.roles.server) * S_BIT
                + u8::from(self.roles.client) * C_BIT,
        );
        self.methods.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Param;
    use crate::param::testing::{check, fault};
    use crate::tlv::Tlv;

    #[test]
    fn bytes_of_the_draft_layout() {
        let methods = [KeyManagementId::TLS, KeyManagementId::PRE_SHARED];
        let both = DtlsKeyManagement {
            tie_breaker: 0x0102_0304,
            restart: true,
            roles: DtlsRoles { client: true, server: true },
            methods: List::from(&methods),
        };
        // §4.1: the length is the number of identifiers plus 9.
        let bytes = [0x80, 0x06, 0, 11, 1, 2, 3, 4, 7, 225, 224, 0];
        check(&bytes, Param::DtlsKeyManagement(both));
        let client = DtlsRoles { client: true, server: false };
        let one =
            DtlsKeyManagement { restart: false, roles: client, methods: List::from(&methods[1..]), ..both };
        check(&[0x80, 0x06, 0, 10, 1, 2, 3, 4, 1, 224, 0, 0], Param::DtlsKeyManagement(one));
        let server = DtlsRoles { client: false, server: true };
        check(
            &[0x80, 0x06, 0, 10, 1, 2, 3, 4, 2, 224, 0, 0],
            Param::DtlsKeyManagement(DtlsKeyManagement { roles: server, ..one }),
        );
        let reserved = [0x80, 0x06, 0, 10, 1, 2, 3, 4, 0xf9, 224, 0, 0];
        assert_eq!(Param::parse(&reserved), Ok(Param::DtlsKeyManagement(one)));
    }

    #[test]
    fn a_parameter_without_methods_is_malformed() {
        assert_eq!(
            fault(&[0x80, 0x06, 0, 9, 1, 2, 3, 4, 1, 0, 0, 0]),
            Malformed::TooShort { len: 5, min: 6 }
        );
    }
}
