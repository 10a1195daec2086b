//! [`KeyLogEntry`]: key material as a line of text, by which captures are decrypted.

use core::fmt::Write as _;

use zeroize::Zeroizing;

use crate::keys::KeyMaterial;
use crate::record::KeyContext;
use crate::secret::Secret;
use crate::suite::CipherSuite;

/// The first word of a line. Other lines, such as those of TLS in the same file, are skipped.
const LABEL: &str = "SCTP_DTLS_CHUNK";

/// Key material of one direction and epoch, and the packets that it protects.
///
/// Its line has eight words: `SCTP_DTLS_CHUNK`, the verification tag of the packets (eight hexadecimal
/// digits), `primary` or `restart`, the epoch (decimal), the cipher suite (four hexadecimal digits), and in
/// hexadecimal the record payload key, the sequence number key and the initialization vector. Whoever has the
/// line reads and forges these packets.
#[derive(Clone, Debug)]
pub struct KeyLogEntry {
    /// Verification tag of the packets, which the receiver chose.
    pub tag: u32,
    /// The context that protects them.
    pub context: KeyContext,
    /// The epoch that protects them.
    pub epoch: u64,
    /// The key material.
    pub keys: KeyMaterial,
}

/// The error of a damaged line in a key log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is invalid: want {want}")]
pub struct KeyLogError {
    what: &'static str,
    want: &'static str,
}

impl KeyLogEntry {
    /// Returns the line, without an end of line.
    #[must_use]
    pub fn line(&self) -> Zeroizing<String> {
        let Self { tag, context, epoch, keys } = self;
        let context = match context {
            KeyContext::Primary => "primary",
            KeyContext::Restart => "restart",
        };
        let suite = keys.suite().code();
        // Room for all: a string that grows would leave secrets behind.
        let mut line = Zeroizing::new(String::with_capacity(256));
        let _ = write!(line, "{LABEL} {tag:08x} {context} {epoch} {suite:04x}");
        for part in keys.parts() {
            line.push(' ');
            for byte in part {
                let _ = write!(line, "{byte:02x}");
            }
        }
        line
    }

    /// Parses a line. Returns `None` for a line with something else.
    ///
    /// # Errors
    /// If the line begins like an entry but is invalid.
    pub fn parse(line: &str) -> Result<Option<Self>, KeyLogError> {
        let error = |what, want| KeyLogError { what, want };
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() != Some(&LABEL) {
            return Ok(None);
        }
        let [_, tag, context, epoch, suite, key, sn_key, iv] = words[..] else {
            return Err(error("the number of words", "eight"));
        };
        let tag = u32::from_str_radix(tag, 16).map_err(|_| error("the tag", "eight hexadecimal digits"))?;
        let context = match context {
            "primary" => KeyContext::Primary,
            "restart" => KeyContext::Restart,
            _ => return Err(error("the context", "primary or restart")),
        };
        let epoch = epoch.parse().map_err(|_| error("the epoch", "a decimal number"))?;
        let suite = u16::from_str_radix(suite, 16).ok().and_then(CipherSuite::from_code);
        let suite = suite.ok_or(error("the cipher suite", "1301, 1302 or 1303"))?;
        let secret = |text| secret(text).ok_or(error("a key", "an even number of hexadecimal digits"));
        let keys = KeyMaterial::new(suite, secret(key)?, secret(sn_key)?, secret(iv)?);
        let keys = keys.map_err(|_| error("the length of a key", "that of the cipher suite"))?;
        Ok(Some(Self { tag, context, epoch, keys }))
    }
}

fn secret(text: &str) -> Option<Secret> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    for i in (0..text.len()).step_by(2) {
        bytes.push(u8::from_str_radix(&text[i..i + 2], 16).ok()?);
    }
    Some(Secret::from(&bytes[..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "SCTP_DTLS_CHUNK 0a0b0c0d restart 7 1301 000102030405060708090a0b0c0d0e0f \
                        101112131415161718191a1b1c1d1e1f 202122232425262728292a2b";

    #[test]
    fn a_line_round_trips() {
        let entry = KeyLogEntry::parse(LINE).unwrap().unwrap();
        assert_eq!((entry.tag, entry.context, entry.epoch), (0x0a0b_0c0d, KeyContext::Restart, 7));
        assert_eq!(entry.keys.parts()[2], (0x20..0x2c).collect::<Vec<u8>>());
        assert_eq!(*entry.line(), LINE);
        assert!(KeyLogEntry::parse("EXPORTER_SECRET 00 11").unwrap().is_none());
        assert!(
            KeyLogEntry::parse("# a comment").unwrap().is_none() && KeyLogEntry::parse("").unwrap().is_none()
        );
    }

    #[test]
    fn damaged_lines_are_rejected_with_their_fault() {
        for (good, bad, error) in [
            ("0a0b0c0d", "x", "the tag is invalid: want eight hexadecimal digits"),
            ("restart", "other", "the context is invalid: want primary or restart"),
            (" 7 ", " -7 ", "the epoch is invalid: want a decimal number"),
            ("1301", "1304", "the cipher suite is invalid: want 1301, 1302 or 1303"),
            ("1301", "1302", "the length of a key is invalid: want that of the cipher suite"),
            ("2a2b", "2a2", "a key is invalid: want an even number of hexadecimal digits"),
            ("2a2b", "2añ", "a key is invalid: want an even number of hexadecimal digits"),
            ("restart", "", "the number of words is invalid: want eight"),
        ] {
            let damaged = LINE.replace(good, bad);
            assert_eq!(KeyLogEntry::parse(&damaged).unwrap_err().to_string(), error, "{damaged}");
        }
    }
}
