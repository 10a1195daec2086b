//! [`AbortReason`]: what the application says to the peer when it aborts, and its bytes on the wire.

use bytes::Bytes;

/// What separates a code from the reason before it. RFC 9260 §3.3.10.12 leaves the Upper Layer Abort Reason
/// to the application. A cause of its own could have the code, but earlier versions of pion drop an ABORT
/// with a cause that they do not know. The zero ends the reason for code that takes it for a string of C.
const MARK: &[u8] = b"\0code";

/// Length in bytes of a mark with its code.
const CODED: usize = MARK.len() + 4;

/// The reason of an ABORT from this end, sent as a User-Initiated Abort cause (RFC 9260 §3.3.10.12). Text,
/// bytes and a code convert into it.
///
/// ```
/// use msctp_proto::AbortReason;
///
/// let reason = AbortReason { code: Some(7), reason: "over quota".into() };
/// assert_eq!(AbortReason::from("over quota"), AbortReason { code: None, ..reason });
/// assert_eq!(AbortReason::from(7), AbortReason { code: Some(7), ..AbortReason::default() });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbortReason {
    /// The application's code. It follows the reason as a zero, `code` and four bytes, the most significant
    /// first; a peer that is not msctp finds them at the end of the reason. `None`: nothing is added, and a
    /// reason that ends like this is read as one with a code.
    pub code: Option<u32>,
    /// Text or bytes for the peer, which may be empty. What does not fit a packet of the smallest PMTU is
    /// left out.
    pub reason: Bytes,
}

impl AbortReason {
    /// Returns the Upper Layer Abort Reason, of at most `most` bytes.
    pub(crate) fn encode(&self, most: usize) -> Vec<u8> {
        let room = if self.code.is_some() { most.saturating_sub(CODED) } else { most };
        let mut bytes = self.reason[..self.reason.len().min(room)].to_vec();
        if let Some(code) = self.code {
            bytes.extend_from_slice(MARK);
            bytes.extend_from_slice(&code.to_be_bytes());
        }
        bytes
    }

    /// Parses an Upper Layer Abort Reason of any stack.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let coded =
            bytes.split_last_chunk().and_then(|(before, code)| Some((before.strip_suffix(MARK)?, code)));
        let (reason, code) = match coded {
            Some((reason, code)) => (reason, Some(u32::from_be_bytes(*code))),
            None => (bytes, None),
        };
        Self { code, reason: Bytes::copy_from_slice(reason) }
    }
}

impl From<u32> for AbortReason {
    fn from(code: u32) -> Self {
        Self { code: Some(code), reason: Bytes::new() }
    }
}

impl From<Bytes> for AbortReason {
    fn from(reason: Bytes) -> Self {
        Self { code: None, reason }
    }
}

impl From<Vec<u8>> for AbortReason {
    fn from(reason: Vec<u8>) -> Self {
        Bytes::from(reason).into()
    }
}

impl From<String> for AbortReason {
    fn from(reason: String) -> Self {
        Bytes::from(reason).into()
    }
}

impl From<&'static [u8]> for AbortReason {
    fn from(reason: &'static [u8]) -> Self {
        Bytes::from_static(reason).into()
    }
}

impl From<&'static str> for AbortReason {
    fn from(reason: &'static str) -> Self {
        reason.as_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_reasons_return_as_they_were_given() {
        for code in [None, Some(0), Some(7), Some(u32::MAX)] {
            for reason in ["", "enough", "\0code", "\0code\0\0"] {
                let given = AbortReason { code, reason: reason.into() };
                assert_eq!(AbortReason::parse(&given.encode(100)), given);
            }
            let long = AbortReason { code, reason: vec![b'x'; 1000].into() };
            let bytes = long.encode(100);
            let parsed = AbortReason::parse(&bytes);
            assert_eq!((bytes.len(), parsed.code), (100, code));
            assert!(parsed.reason.iter().all(|byte| *byte == b'x'));
        }
        assert_eq!(AbortReason { code: Some(7), reason: "bye".into() }.encode(100), b"bye\0code\0\0\0\x07");
    }

    #[test]
    fn the_reasons_of_other_stacks_have_no_code() {
        for reason in [&b"bye"[..], b"", b"code", b"\0cod\0\0\0\x07", b"code\0\0\0\x07", b"\0code\0\0\x07"] {
            assert_eq!(AbortReason::parse(reason), AbortReason::from(reason.to_vec()));
        }
    }
}
