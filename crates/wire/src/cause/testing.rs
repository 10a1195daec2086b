//! Checks shared by the tests of all error causes.

use super::{Cause, Causes};
use crate::error::{CauseError, Malformed};
use crate::tlv::{self, Tlv};

/// Checks that `bytes` (with padding) and `cause` are equal, and that no truncation and no Length field
/// causes a panic.
pub(crate) fn check(bytes: &[u8], cause: Cause<'_>) {
    assert_eq!(Cause::parse(bytes), Ok(cause));
    assert!(Causes::from_wire(bytes).iter().eq([Ok(cause)]));
    let mut out = Vec::new();
    cause.encode(&mut out);
    assert_eq!(out.len(), cause.encoded_len());
    tlv::pad(&mut out, 0);
    assert_eq!(out, bytes);

    for len in 0..cause.encoded_len() {
        let error = Cause::parse(&bytes[..len]).expect_err("a cause cut short");
        assert!(matches!(error, CauseError::Framing(_)), "{len}: {error}");
    }
    let mut altered = bytes.to_vec();
    for length in 0..=u16::MAX {
        altered[2..4].copy_from_slice(&length.to_be_bytes());
        if let Ok(cause) = Cause::parse(&altered) {
            let mut again = Vec::new();
            cause.encode(&mut again);
            assert_eq!(Cause::parse(&again), Ok(cause), "length {length}");
        }
    }
}

/// Returns the parse error of the value of the cause in `bytes`.
pub(crate) fn fault(bytes: &[u8]) -> Malformed {
    match Cause::parse(bytes) {
        Err(CauseError::Malformed { code, fault }) => {
            assert_eq!(code.0, u16::from_be_bytes([bytes[0], bytes[1]]));
            fault
        }
        other => panic!("{other:?}"),
    }
}
