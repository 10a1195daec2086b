//! Requests to a proxy, in SOCKS5 (RFC 1928) or HTTP (CONNECT); the first byte distinguishes them. Keeps no
//! state: the caller gathers bytes and parses them from the beginning.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::frame::{Reason, Target};

/// Longest request in bytes: a browser's CONNECT with its headers fits.
pub const MAX_REQUEST: usize = 8 << 10;

/// Maximum number of headers of an HTTP request.
const MAX_HEADERS: usize = 64;

const SOCKS5: u8 = 5;
const CONNECT: u8 = 1;
const ASSOCIATE: u8 = 3;

/// The result of parsing the bytes received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// More bytes are needed.
    Incomplete,
    /// The result, and the number of bytes that it consumed.
    Complete(T, usize),
    /// The bytes are invalid. Answer with these bytes, which may be empty, and close.
    Invalid(&'static [u8]),
}

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A SOCKS5 greeting. Answer with [`SOCKS_NO_AUTHENTICATION`], then call [`parse_socks`].
    Socks,
    /// An HTTP CONNECT request with its target.
    Connect(Target),
}

/// Answer to the greeting of SOCKS5: no authentication (RFC 1928, section 3).
pub const SOCKS_NO_AUTHENTICATION: &[u8] = &[SOCKS5, 0];

const SOCKS_NO_METHOD: &[u8] = &[SOCKS5, 0xff];
const SOCKS_NOT_SUPPORTED: &[u8] = &[SOCKS5, 7, 0, 1, 0, 0, 0, 0, 0, 0];
const SOCKS_ADDRESS_TYPE: &[u8] = &[SOCKS5, 8, 0, 1, 0, 0, 0, 0, 0, 0];
const HTTP_BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const HTTP_NOT_CONNECT: &[u8] =
    b"HTTP/1.1 405 Method Not Allowed\r\nAllow: CONNECT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Parses the first message of a client.
pub fn parse_greeting(bytes: &[u8]) -> Parsed<Greeting> {
    match bytes {
        [] => Parsed::Incomplete,
        [SOCKS5, rest @ ..] => match rest {
            // RFC 1928, section 3: the number of methods, and the methods
            [count, methods @ ..] if methods.len() >= usize::from(*count) => {
                let count = usize::from(*count);
                if methods[..count].contains(&0) {
                    Parsed::Complete(Greeting::Socks, 2 + count)
                } else {
                    Parsed::Invalid(SOCKS_NO_METHOD)
                }
            }
            _ => Parsed::Incomplete,
        },
        [4, ..] => Parsed::Invalid(&[0, 91, 0, 0, 0, 0, 0, 0]),
        _ => parse_connect(bytes),
    }
}

fn parse_connect(bytes: &[u8]) -> Parsed<Greeting> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_REQUEST => return Parsed::Incomplete,
        _ => return Parsed::Invalid(HTTP_BAD_REQUEST),
    };
    if request.method != Some("CONNECT") {
        return Parsed::Invalid(HTTP_NOT_CONNECT);
    }
    // The authority-form: HOST:PORT
    let authority = request.path.and_then(|path| path.rsplit_once(':'));
    let target = authority.and_then(|(host, port)| {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        Target::host(bare.unwrap_or(host), port.parse().ok()?).ok()
    });
    target
        .map_or(Parsed::Invalid(HTTP_BAD_REQUEST), |target| Parsed::Complete(Greeting::Connect(target), len))
}

/// A request of SOCKS5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocksRequest {
    /// CONNECT.
    Connect(Target),
    /// A UDP ASSOCIATE request. Answer with [`associated`], then call [`parse_datagram`].
    Associate,
}

/// Parses the request of SOCKS5 after the greeting (RFC 1928, section 4). BIND is not supported.
pub fn parse_socks(bytes: &[u8]) -> Parsed<SocksRequest> {
    let (command, kind, rest) = match bytes {
        [SOCKS5, command, _, kind, rest @ ..] => (*command, *kind, rest),
        [] | [SOCKS5] | [SOCKS5, _] | [SOCKS5, _, _] => return Parsed::Incomplete,
        _ => return Parsed::Invalid(&[]),
    };
    if command != CONNECT && command != ASSOCIATE {
        return Parsed::Invalid(SOCKS_NOT_SUPPORTED);
    }
    let (host, port, len) = match parse_address(kind, rest) {
        Parsed::Complete((host, port), len) => (host, port, 4 + len),
        Parsed::Incomplete => return Parsed::Incomplete,
        Parsed::Invalid(answer) => return Parsed::Invalid(answer),
    };
    if command == ASSOCIATE {
        // The address that the client will send from is usually 0.0.0.0:0, unknown yet (RFC 1928, section 4).
        return Parsed::Complete(SocksRequest::Associate, len);
    }
    let target = host.and_then(|host| Target::host(&host, port).ok());
    // General failure: the host or the port is invalid.
    const GENERAL: &[u8] = &[SOCKS5, 1, 0, 1, 0, 0, 0, 0, 0, 0];
    target.map_or(Parsed::Invalid(GENERAL), |target| Parsed::Complete(SocksRequest::Connect(target), len))
}

/// Parses a SOCKS5 address after its type: the host, `None` if it is not UTF-8, and the port.
fn parse_address(kind: u8, rest: &[u8]) -> Parsed<(Option<String>, u16)> {
    let (start, len) = match (kind, rest) {
        (1, _) => (0, 4),
        (4, _) => (0, 16),
        (3, [len, ..]) => (1, usize::from(*len)),
        (3, []) => return Parsed::Incomplete,
        _ => return Parsed::Invalid(SOCKS_ADDRESS_TYPE),
    };
    let end = start + len;
    let (Some(host), Some(&[high, low])) = (rest.get(start..end), rest.get(end..end + 2)) else {
        return Parsed::Incomplete;
    };
    let host = match kind {
        1 => host.try_into().map(|octets: [u8; 4]| Ipv4Addr::from(octets).to_string()).ok(),
        4 => host.try_into().map(|octets: [u8; 16]| Ipv6Addr::from(octets).to_string()).ok(),
        _ => core::str::from_utf8(host).map(str::to_owned).ok(),
    };
    Parsed::Complete((host, u16::from_be_bytes([high, low])), end + 2)
}

/// Parses a client's datagram into host, port and data (RFC 1928, section 7). Returns `None` for an invalid
/// datagram and for a fragment, which the caller drops.
pub fn parse_datagram(bytes: &[u8]) -> Option<(String, u16, &[u8])> {
    let [0, 0, 0, kind, rest @ ..] = bytes else { return None };
    let Parsed::Complete((host, port), len) = parse_address(*kind, rest) else { return None };
    let host = host.filter(|host| Target::host(host, port).is_ok())?;
    Some((host, port, &rest[len..]))
}

/// Encodes a datagram from an address for a client (RFC 1928, section 7).
pub fn wrap_datagram(from: SocketAddr, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, 0];
    push_address(&mut out, from);
    out.extend_from_slice(data);
    out
}

/// Returns the answer to UDP ASSOCIATE with the address at which the proxy receives datagrams.
pub fn associated(at: SocketAddr) -> Vec<u8> {
    let mut out = vec![SOCKS5, 0, 0];
    push_address(&mut out, at);
    out
}

fn push_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(1);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

impl Greeting {
    /// Returns the answer for a connection that was established.
    pub fn success(&self) -> Vec<u8> {
        match self {
            Self::Socks => vec![SOCKS5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
            Self::Connect(_) => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
        }
    }

    /// Returns the answer for a connection that failed for this reason.
    pub fn failure(&self, reason: Reason) -> Vec<u8> {
        match self {
            Self::Socks => {
                // RFC 1928, section 6
                let code = match reason {
                    Reason::Forbidden => 2,
                    Reason::UnknownHost | Reason::Unreachable => 4,
                    Reason::Refused => 5,
                    _ => 1,
                };
                vec![SOCKS5, code, 0, 1, 0, 0, 0, 0, 0, 0]
            }
            Self::Connect(_) => {
                // HTTP's status codes
                let status = match reason {
                    Reason::Forbidden => "403 Forbidden",
                    Reason::Limit => "503 Service Unavailable",
                    Reason::Unreachable => "504 Gateway Timeout",
                    _ => "502 Bad Gateway",
                };
                let text = format!("{reason}\n");
                let len = text.len();
                format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{text}")
                    .into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(host: &str, port: u16) -> Target {
        Target::host(host, port).unwrap()
    }

    #[test]
    fn socks_requests_by_address_and_name() {
        assert_eq!(parse_greeting(b"\x05\x02\x02\x00rest"), Parsed::Complete(Greeting::Socks, 4));
        assert_eq!(parse_greeting(b"\x05\x01\x02"), Parsed::Invalid(b"\x05\xff"));
        for (request, target) in [
            (&b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50"[..], host("10.0.0.1", 80)),
            (b"\x05\x01\x00\x03\x0bexample.net\x01\xbb", host("example.net", 443)),
            (b"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x16", host("2001:db8::1", 22)),
        ] {
            let connect = Parsed::Complete(SocksRequest::Connect(target), request.len());
            assert_eq!(parse_socks(request), connect);
            let behind = [request, b"data"].concat();
            assert_eq!(parse_socks(&behind), connect);
            for len in 0..request.len() {
                assert_eq!(parse_socks(&request[..len]), Parsed::Incomplete, "{len}");
            }
        }
        let invalid = |request: &[u8]| match parse_socks(request) {
            Parsed::Invalid(answer) => answer.get(1).copied(),
            other => panic!("{other:?}"),
        };
        assert_eq!(invalid(b"\x05\x02\x00\x01\x0a\x00\x00\x01\x00\x50"), Some(7), "BIND");
        let associate = b"\x05\x03\x00\x01\0\0\0\0\0\0";
        assert_eq!(parse_socks(associate), Parsed::Complete(SocksRequest::Associate, 10));
        assert_eq!(invalid(b"\x05\x01\x00\x02\x0a"), Some(8));
        assert_eq!(invalid(b"\x05\x01\x00\x03\x03a b\x00\x50"), Some(1));
        assert_eq!(invalid(b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x00"), Some(1), "port 0");
        assert_eq!(invalid(b"\x04\x01"), None);
    }

    #[test]
    fn datagrams_have_their_address_before_the_data() {
        let at = "192.0.2.1:53".parse().unwrap();
        assert_eq!(associated(at), b"\x05\0\0\x01\xc0\0\x02\x01\0\x35");
        let wrapped = wrap_datagram(at, b"data");
        assert_eq!(wrapped, b"\0\0\0\x01\xc0\0\x02\x01\0\x35data");
        assert_eq!(parse_datagram(&wrapped), Some(("192.0.2.1".to_owned(), 53, &b"data"[..])));
        let six = wrap_datagram("[2001:db8::1]:443".parse().unwrap(), b"");
        assert_eq!(parse_datagram(&six), Some(("2001:db8::1".to_owned(), 443, &b""[..])));
        let named = b"\0\0\0\x03\x03a.b\0\x35x";
        assert_eq!(parse_datagram(named), Some(("a.b".to_owned(), 53, &b"x"[..])));
        for dropped in [
            &b"\0\0\x01\x01\xc0\0\x02\x01\0\x35data"[..],
            b"\0\0\0\x01\xc0\0\x02\x01\0\0data",
            b"\0\0\0\x03\x03a b\0\x35x",
            b"\0\0\0\x05\x03a.b\0\x35x",
            b"\0\0\0\x01\xc0\0\x02",
            b"",
        ] {
            assert_eq!(parse_datagram(dropped), None, "{dropped:?}");
        }
    }

    #[test]
    fn http_requests_name_a_host_and_a_port() {
        let request = b"CONNECT example.net:443 HTTP/1.1\r\nHost: example.net:443\r\nUser-Agent: x\r\n\r\n";
        let complete = Parsed::Complete(Greeting::Connect(host("example.net", 443)), request.len());
        assert_eq!(parse_greeting(request), complete);
        assert_eq!(parse_greeting(&[&request[..], b"data"].concat()), complete);
        for len in 0..request.len() {
            assert_eq!(parse_greeting(&request[..len]), Parsed::Incomplete, "{len}");
        }
        let target = parse_greeting(b"CONNECT [2001:db8::1]:80 HTTP/1.0\r\n\r\n");
        assert!(
            matches!(target, Parsed::Complete(Greeting::Connect(to), _) if to == host("2001:db8::1", 80))
        );
        let invalid = |request: &[u8]| match parse_greeting(request) {
            Parsed::Invalid(answer) => String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(invalid(b"GET http://example.net/ HTTP/1.1\r\n\r\n"), "HTTP/1.1 405");
        for bad in [
            "CONNECT example.net HTTP/1.1\r\n\r\n",
            "CONNECT a:0 HTTP/1.1\r\n\r\n",
            "\r\0\r\n",
            "CONNECT /:80 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(invalid(bad.as_bytes()), "HTTP/1.1 400", "{bad}");
        }
        assert_eq!(
            invalid(&[&b"CONNECT a:1 HTTP/1.1\r\nX: "[..], &[b'x'; MAX_REQUEST]].concat()),
            "HTTP/1.1 400"
        );
        assert_eq!(invalid(b"\x04\x01"), "\0[\0\0\0\0\0\0", "SOCKS4");
    }

    #[test]
    fn answers_give_the_reason() {
        let connect = Greeting::Connect(host("a", 1));
        for (reason, socks, http) in [
            (Reason::Forbidden, 2, "403"),
            (Reason::UnknownHost, 4, "502"),
            (Reason::Refused, 5, "502"),
            (Reason::Unreachable, 4, "504"),
            (Reason::Limit, 1, "503"),
        ] {
            assert_eq!(Greeting::Socks.failure(reason)[1], socks);
            assert_eq!(&connect.failure(reason)[9..12], http.as_bytes());
        }
        assert_eq!((Greeting::Socks.success()[1], &connect.success()[9..12]), (0, &b"200"[..]));
    }

    proptest! {
        #[test]
        fn every_input_is_parsed_within_its_bounds(bytes in prop::collection::vec(any::<u8>(), 0..600), socks: bool) {
            let bytes = if socks { [&b"\x05\x01\x00"[..], &bytes].concat() } else { bytes };
            let socks = if let Parsed::Complete(_, len) = parse_socks(&bytes) { len } else { 0 };
            let greeting = if let Parsed::Complete(_, len) = parse_greeting(&bytes) { len } else { 0 };
            prop_assert!(socks.max(greeting) <= bytes.len());
            if let Some((_, _, data)) = parse_datagram(&bytes) {
                prop_assert!(data.len() < bytes.len());
            }
        }
    }
}
