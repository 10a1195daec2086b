//! The frames: encoding and decoding. No state.
//!
//! A frame is one SCTP message. Its payload protocol identifier gives its kind; none is registered with IANA.
//!
//! | kind | stream | payload |
//! |---|---|---|
//! | [`OPEN`] | the connection's | version (1), kind (1), connection (4), port (2), host |
//! | [`OPENED`] | the connection's | version (1) |
//! | [`DATA`] | the connection's | bytes |
//! | [`END`] | the connection's | reason (1), connection (4), text |
//! | [`DATAGRAM`] | the connection's | connection (4), port (2), length of the host (1), host, data |
//! | [`CREDIT`] | [`CONTROL`] | connection (4), consumed (8), window (4); repeated |
//!
//! Numbers are in network byte order.

use core::fmt;
use core::net::IpAddr;

use bytes::{BufMut, Bytes};

/// The version of the protocol.
pub const VERSION: u8 = 1;

/// Stream of the credits and of the caller's own control messages.
pub const CONTROL: u16 = 1;

/// The first stream of connections; the client opens even numbers and the server odd ones.
pub const FIRST_STREAM: u16 = 2;

/// Opens a connection.
pub const OPEN: u32 = kind(b'O');
/// The connection was made.
pub const OPENED: u32 = kind(b'A');
/// Bytes of the connection.
pub const DATA: u32 = kind(b'D');
/// The sender's direction ends.
pub const END: u32 = kind(b'E');
/// A UDP datagram, as an unordered message that may be dropped.
pub const DATAGRAM: u32 = kind(b'U');
/// Raises limits of connections.
pub const CREDIT: u32 = kind(b'C');

/// Longest host name in bytes, DNS's limit.
pub const MAX_HOST: usize = 253;
/// Longest text of an end in bytes.
pub const MAX_TEXT: usize = 200;
/// Largest number of data bytes in a datagram, UDP's limit over IPv4.
pub const MAX_DATAGRAM: usize = 65_507;
/// Largest number of credits in a frame.
pub const MAX_CREDITS: usize = 64;

const CREDIT_LEN: usize = 16;
const DATAGRAM_HEAD: usize = 7;
const HOST: u8 = 0;
const LISTENER: u8 = 1;
const UDP: u8 = 2;

/// Returns the payload protocol identifier of a kind of frame.
pub const fn kind(letter: u8) -> u32 {
    u32::from_be_bytes([b'f', b'w', b'd', letter])
}

/// Returns whether a payload protocol identifier belongs to this protocol.
pub const fn is_ours(ppid: u32) -> bool {
    ppid >> 8 == kind(0) >> 8
}

/// A frame that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame has too few or too many bytes.
    #[error("a forwarding frame of this kind cannot have {0} bytes")]
    Length(usize),
    /// The frame has another version.
    #[error("version {0} of the forwarding protocol; this is version {VERSION}")]
    Version(u8),
    /// The kind of target is unknown.
    #[error("unknown kind {0} of target")]
    Target(u8),
    /// The host is neither an address nor a name of letters, digits, hyphens, underscores and dots.
    #[error("the host is neither an address nor a host name")]
    Host,
    /// Port 0 cannot be reached.
    #[error("port 0 cannot be reached")]
    Port,
}

/// Target of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A host, by name or address, and a TCP port.
    Host {
        /// An IP address without brackets, or a name.
        host: String,
        /// 1 to 65535.
        port: u16,
    },
    /// A target that the peer registered for one of its own listeners, by the listener's number.
    Listener(u16),
    /// A UDP socket of the server, whose datagrams name their own targets.
    Udp,
}

impl Target {
    /// Returns the target for a host and a port.
    ///
    /// # Errors
    ///
    /// The host or the port is invalid.
    pub fn host(host: &str, port: u16) -> Result<Self, FrameError> {
        if port == 0 {
            return Err(FrameError::Port);
        }
        if !is_host(host) {
            return Err(FrameError::Host);
        }
        Ok(Self::Host { host: host.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Host { host, port } => write!(f, "{host}:{port}"),
            Self::Listener(number) => write!(f, "listener {number}"),
            Self::Udp => f.write_str("UDP"),
        }
    }
}

/// Returns whether the text is an IP address or a host name. Underscores are allowed: names in use have them.
pub fn is_host(text: &str) -> bool {
    if text.parse::<IpAddr>().is_ok() {
        return true;
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    // Digits and dots alone would be an address in a form that only some resolvers accept.
    let digits = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    text.len() <= MAX_HOST && !digits && name.split('.').all(label)
}

/// A request to open a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Number of the connection, unique in the association's lifetime.
    pub connection: u32,
    /// Target of the connection.
    pub target: Target,
}

impl Open {
    /// Encodes the request.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(8 + MAX_HOST);
        out.put_u8(VERSION);
        let (kind, port, host) = match &self.target {
            Target::Host { host, port } => (HOST, *port, host.as_str()),
            Target::Listener(number) => (LISTENER, *number, ""),
            Target::Udp => (UDP, 0, ""),
        };
        out.put_u8(kind);
        out.put_u32(self.connection);
        out.put_u16(port);
        out.put_slice(host.as_bytes());
        out.into()
    }

    /// Decodes a request.
    ///
    /// # Errors
    ///
    /// The request is invalid, or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let version = *bytes.first().ok_or(FrameError::Length(0))?;
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        let (head, host) = bytes.split_at_checked(8).ok_or(FrameError::Length(bytes.len()))?;
        let connection = u32::from_be_bytes([head[2], head[3], head[4], head[5]]);
        let port = u16::from_be_bytes([head[6], head[7]]);
        let target = match head[1] {
            HOST => Target::host(core::str::from_utf8(host).map_err(|_| FrameError::Host)?, port)?,
            LISTENER if host.is_empty() => Target::Listener(port),
            UDP if host.is_empty() && port == 0 => Target::Udp,
            LISTENER | UDP => return Err(FrameError::Length(bytes.len())),
            other => return Err(FrameError::Target(other)),
        };
        Ok(Self { connection, target })
    }
}

/// A UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the connection. A stream does not identify it: the end of a connection may arrive before its
    /// last datagrams, and another connection may then use the stream.
    pub connection: u32,
    /// Host of the target, or of the source of a datagram to the client: an IP address or a name.
    pub host: String,
    /// UDP port of the host.
    pub port: u16,
    /// Payload, at most [`MAX_DATAGRAM`] bytes.
    pub data: Bytes,
}

impl Datagram {
    /// Encodes a datagram whose host is at most [`MAX_HOST`] bytes long.
    pub fn encode(&self) -> Bytes {
        debug_assert!(self.host.len() <= MAX_HOST, "checked by Target::host");
        let mut out = Vec::with_capacity(DATAGRAM_HEAD + self.host.len() + self.data.len());
        out.put_u32(self.connection);
        out.put_u16(self.port);
        out.put_u8(self.host.len().min(MAX_HOST) as u8);
        out.put_slice(&self.host.as_bytes()[..self.host.len().min(MAX_HOST)]);
        out.put_slice(&self.data);
        out.into()
    }

    /// Decodes a datagram.
    ///
    /// # Errors
    ///
    /// Rejects a datagram that is too short or too long, or whose host or port is invalid.
    pub fn decode(mut bytes: Bytes) -> Result<Self, FrameError> {
        let len = bytes.len();
        let &[a, b, c, d, high, low, host_len] =
            bytes.first_chunk::<DATAGRAM_HEAD>().ok_or(FrameError::Length(len))?;
        let end = DATAGRAM_HEAD + usize::from(host_len);
        if end > len || len - end > MAX_DATAGRAM {
            return Err(FrameError::Length(len));
        }
        let data = bytes.split_off(end);
        let host = core::str::from_utf8(&bytes[DATAGRAM_HEAD..]).map_err(|_| FrameError::Host)?;
        let port = u16::from_be_bytes([high, low]);
        Target::host(host, port)?;
        Ok(Self { connection: u32::from_be_bytes([a, b, c, d]), host: host.to_owned(), port, data })
    }
}

/// Why a direction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The end of the data: TCP's FIN.
    Finished,
    /// TCP's RST, or a failure of the connection.
    Reset,
    /// The rules forbid the target.
    Forbidden,
    /// The name cannot be resolved.
    UnknownHost,
    /// The target refuses the connection.
    Refused,
    /// The target is unreachable or does not answer.
    Unreachable,
    /// A limit of the peer: connections, opens at a time, or opens per second.
    Limit,
    /// A reason of a later version.
    Other(u8),
}

impl Reason {
    const fn code(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Reset => 1,
            Self::Forbidden => 2,
            Self::UnknownHost => 3,
            Self::Refused => 4,
            Self::Unreachable => 5,
            Self::Limit => 6,
            Self::Other(code) => code,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            0 => Self::Finished,
            1 => Self::Reset,
            2 => Self::Forbidden,
            3 => Self::UnknownHost,
            4 => Self::Refused,
            5 => Self::Unreachable,
            6 => Self::Limit,
            code => Self::Other(code),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished",
            Self::Reset => "connection reset",
            Self::Forbidden => "forbidden by the server's rules",
            Self::UnknownHost => "unknown host",
            Self::Refused => "connection refused",
            Self::Unreachable => "unreachable",
            Self::Limit => "the peer's limit is reached",
            Self::Other(code) => return write!(f, "reason {code}"),
        })
    }
}

/// The end of a direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Reason of the end. Any reason other than [`Reason::Finished`] ends both directions and drops queued
    /// data.
    pub reason: Reason,
    /// Details for the user, at most [`MAX_TEXT`] bytes.
    pub text: String,
}

impl End {
    /// The end of the data.
    pub const FINISHED: Self = Self { reason: Reason::Finished, text: String::new() };

    /// Creates an end with a text, which is truncated if it is too long.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.truncate(
            (0..=MAX_TEXT.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0),
        );
        Self { reason, text }
    }

    /// Encodes the end of a connection's direction.
    pub fn encode(&self, connection: u32) -> Bytes {
        let mut out = vec![self.reason.code()];
        out.put_u32(connection);
        out.extend_from_slice(self.text.as_bytes());
        out.into()
    }

    /// Decodes an end; returns the connection's number, too. Text that is not UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// The reason or the number is missing, or the text is too long.
    pub fn decode(bytes: &[u8]) -> Result<(u32, Self), FrameError> {
        match bytes {
            [code, a, b, c, d, text @ ..] if text.len() <= MAX_TEXT => {
                let text = String::from_utf8_lossy(text).into_owned();
                Ok((u32::from_be_bytes([*a, *b, *c, *d]), Self { reason: Reason::of(*code), text }))
            }
            _ => Err(FrameError::Length(bytes.len())),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => self.reason.fmt(f),
            text => write!(f, "{}: {text}", self.reason),
        }
    }
}

/// The receiver's limit for a connection: `consumed + window` bytes since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The connection's number.
    pub connection: u32,
    /// Bytes that the receiver's application has consumed.
    pub consumed: u64,
    /// Bytes beyond `consumed` that the receiver accepts.
    pub window: u32,
}

impl Credit {
    /// Encodes credits, at most [`MAX_CREDITS`].
    pub fn encode(credits: &[Self]) -> Bytes {
        let mut out = Vec::with_capacity(credits.len() * CREDIT_LEN);
        for credit in credits {
            out.put_u32(credit.connection);
            out.put_u64(credit.consumed);
            out.put_u32(credit.window);
        }
        out.into()
    }

    /// Decodes a frame of credits.
    ///
    /// # Errors
    ///
    /// The length is not that of 1 to [`MAX_CREDITS`] credits.
    pub fn decode(bytes: &[u8]) -> Result<impl Iterator<Item = Self>, FrameError> {
        let (credits, rest) = bytes.as_chunks::<CREDIT_LEN>();
        if !rest.is_empty() || !(1..=MAX_CREDITS).contains(&credits.len()) {
            return Err(FrameError::Length(bytes.len()));
        }
        Ok(credits.iter().map(|&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]| Self {
            connection: u32::from_be_bytes([a, b, c, d]),
            consumed: u64::from_be_bytes([e, f, g, h, i, j, k, l]),
            window: u32::from_be_bytes([m, n, o, p]),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_are_addresses_and_names() {
        for good in ["a", "example.net", "example.net.", "192.0.2.1", "2001:db8::1", "a-b_c.d9", "x2"] {
            assert!(is_host(good), "{good}");
        }
        let long = vec!["a".repeat(63); 4].join(".");
        for bad in
            ["", ".", "a..b", "-a", "a b", "a/b", "[::1]", "127.1", "1", "0x7f.1", "fe80::1%eth0", "a\n", "ü"]
                .iter()
                .chain([&long.as_str(), &"a".repeat(64).as_str()])
        {
            assert!(!is_host(bad), "{bad}");
        }
    }

    #[test]
    fn requests_have_a_fixed_form() {
        let open = Open { connection: 0x0102_0304, target: Target::host("a.b", 443).unwrap() };
        assert_eq!(&open.encode()[..], b"\x01\x00\x01\x02\x03\x04\x01\xbba.b");
        let listener = Open { connection: 1, target: Target::Listener(7) };
        assert_eq!(&listener.encode()[..], b"\x01\x01\x00\x00\x00\x01\x00\x07");
        let udp = Open { connection: 2, target: Target::Udp };
        assert_eq!(&udp.encode()[..], b"\x01\x02\x00\x00\x00\x02\x00\x00");
        assert_eq!(Open::decode(&udp.encode()), Ok(udp));
        assert_eq!(Open::decode(b"\x01\x02\0\0\0\0\0\x01"), Err(FrameError::Length(8)));
        let data = Bytes::from_static(b"xyz");
        let datagram = Datagram { connection: 5, host: "a.b".to_owned(), port: 53, data };
        assert_eq!(&datagram.encode()[..], b"\0\0\0\x05\0\x35\x03a.bxyz");
        assert_eq!(Datagram::decode(datagram.encode()), Ok(datagram));
        let decode = |bytes: &'static [u8]| Datagram::decode(Bytes::from_static(bytes));
        assert_eq!(decode(b"\0\0\0\x05\0\x35"), Err(FrameError::Length(6)));
        assert_eq!(decode(b"\0\0\0\x05\0\x35\x04a.b"), Err(FrameError::Length(10)));
        assert_eq!(decode(b"\0\0\0\x05\0\0\x01a"), Err(FrameError::Port));
        assert_eq!(decode(b"\0\0\0\x05\0\x35\0data"), Err(FrameError::Host));
        let long = [&b"\0\0\0\x05\0\x35\x01a"[..], &[0; MAX_DATAGRAM + 1]].concat();
        assert_eq!(Datagram::decode(long.into()), Err(FrameError::Length(MAX_DATAGRAM + 9)));
        assert_eq!(Open::decode(b"\x02"), Err(FrameError::Version(2)));
        assert_eq!(Open::decode(b"\x01\x00\0\0\0\0\0\0a"), Err(FrameError::Port));
        assert_eq!(Open::decode(b"\x01\x03\0\0\0\0\0\0"), Err(FrameError::Target(3)));
        assert_eq!(Open::decode(b"\x01\x00\0\0\0\0\0"), Err(FrameError::Length(7)));
        assert_eq!(Open::decode(b"\x01\x00\0\0\0\0\0\x01\xff"), Err(FrameError::Host));
        assert_eq!(End::new(Reason::Reset, "ü".repeat(150)).text.len(), MAX_TEXT);
        assert!(End::decode(&[0; 4]).is_err() && End::decode(&[0; MAX_TEXT + 6]).is_err());
        let refused = End::new(Reason::Refused, "by x");
        assert_eq!(&refused.encode(9)[..], b"\x04\0\0\0\x09by x");
        assert_eq!(End::decode(&refused.encode(9)), Ok((9, refused)));
        assert!(is_ours(OPEN) && is_ours(CREDIT) && !is_ours(0) && !is_ours(u32::from_be_bytes(*b"msFI")));
    }

    proptest! {
        #[test]
        fn every_input_decodes_or_is_an_error_and_encodes_the_same(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(open) = Open::decode(&bytes) {
                prop_assert_eq!(&open.encode()[..], &bytes[..]);
            }
            if let Ok(credits) = Credit::decode(&bytes) {
                let credits: Vec<_> = credits.collect();
                prop_assert_eq!(&Credit::encode(&credits)[..], &bytes[..]);
            }
            if let Ok(datagram) = Datagram::decode(bytes.clone().into()) {
                prop_assert_eq!(&datagram.encode()[..], &bytes[..]);
            }
            if let Ok((connection, end)) = End::decode(&bytes) {
                let again = End::new(end.reason, end.text);
                prop_assert_eq!(End::decode(&again.encode(connection)), Ok((connection, again)));
            }
        }

        #[test]
        fn requests_survive_encoding(host in "[a-z][a-z0-9_-]{0,20}(\\.[a-z]{1,9}){0,5}", port in 1_u16.., connection: u32) {
            let open = Open { connection, target: Target::host(&host, port).unwrap() };
            prop_assert_eq!(Open::decode(&open.encode()), Ok(open));
        }
    }
}
