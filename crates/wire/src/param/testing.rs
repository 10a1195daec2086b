//! Checks shared by the tests of all parameters.

use super::{Param, Params};
use crate::error::{Malformed, ParamError};
use crate::tlv::{self, Tlv};

/// Checks that `bytes` (with padding) and `param` are equal, and that no truncation and no Length field
/// causes a panic.
pub(crate) fn check(bytes: &[u8], param: Param<'_>) {
    assert_eq!(Param::parse(bytes), Ok(param));
    assert!(Params::from_wire(bytes).iter().eq([Ok(param)]));
    let mut out = Vec::new();
    param.encode(&mut out);
    assert_eq!(out.len(), param.encoded_len());
    tlv::pad(&mut out, 0);
    assert_eq!(out, bytes);

    for len in 0..param.encoded_len() {
        let error = Param::parse(&bytes[..len]).expect_err("a parameter cut short");
        assert!(matches!(error, ParamError::Framing(_)), "{len}: {error}");
    }
    let mut altered = bytes.to_vec();
    for length in 0..=u16::MAX {
        altered[2..4].copy_from_slice(&length.to_be_bytes());
        if let Ok(param) = Param::parse(&altered) {
            let mut again = Vec::new();
            param.encode(&mut again);
            assert_eq!(Param::parse(&again), Ok(param), "length {length}");
        }
    }
}

/// Returns the parse error of the value of the parameter in `bytes`.
pub(crate) fn fault(bytes: &[u8]) -> Malformed {
    match Param::parse(bytes) {
        Err(ParamError::Malformed { typ, fault }) => {
            assert_eq!(typ.0, u16::from_be_bytes([bytes[0], bytes[1]]));
            fault
        }
        other => panic!("{other:?}"),
    }
}
