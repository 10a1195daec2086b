//! Faults of addresses: Unresolvable Address (RFC 9260 §3.3.10.5), Restart of an Association with New
//! Addresses (§3.3.10.11).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 5        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                      Unresolvable Address                     /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 11        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                        New Address TLVs                       /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::check;
    use crate::param::{Param, Params};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let host_name = [0, 11, 0, 6, b'x', 0];
        let mut bytes = vec![0, 5, 0, 10];
        bytes.extend_from_slice(&host_name);
        bytes.extend_from_slice(&[0, 0]);
        check(&bytes, Cause::UnresolvableAddress(&host_name));

        let addresses = [0, 5, 0, 8, 192, 0, 2, 1, 0, 5, 0, 8, 192, 0, 2, 2];
        let mut bytes = vec![0, 11, 0, 20];
        bytes.extend_from_slice(&addresses);
        check(&bytes, Cause::RestartWithNewAddresses(&addresses));
        let params = [Param::Ipv4Address([192, 0, 2, 1].into()), Param::Ipv4Address([192, 0, 2, 2].into())];
        assert_eq!(Params::from_wire(&addresses), Params::from(&params));
    }
}
