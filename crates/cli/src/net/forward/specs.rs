//! The forwarding flags, in ssh's words: -L, -D, -R, -W.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use msctp_forward::Target;

/// `-L [BIND:]PORT:HOST:HOSTPORT` or `-D [BIND:]PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    /// Address at which this end listens.
    pub(crate) bind: SocketAddr,
    /// Target to which the server connects; `None` if each client names its target, as with a proxy.
    pub(crate) target: Option<Target>,
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => write!(f, "-L {}:{target}", self.bind),
            None => write!(f, "-D {}", self.bind),
        }
    }
}

/// `-R [BIND:]PORT:HOST:HOSTPORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Address at which the server listens.
    pub(crate) bind: SocketAddr,
    /// Host to which this end connects.
    pub(crate) host: String,
    /// Port of `host`.
    pub(crate) port: u16,
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-R {}:{}", self.bind, self.target())
    }
}

impl Remote {
    /// Returns the target to which this end connects.
    pub(crate) fn target(&self) -> Target {
        Target::Host { host: self.host.clone(), port: self.port }
    }
}

/// Parses the value of -L.
pub(crate) fn parse_local(text: &str) -> Result<Local, String> {
    let (bind, target) = parse_fixed(text)?;
    Ok(Local { bind, target: Some(target) })
}

/// Parses the value of -R.
pub(crate) fn parse_remote(text: &str) -> Result<Remote, String> {
    match parse_fixed(text)? {
        (bind, Target::Host { host, port }) if bind.port() > 0 => Ok(Remote { bind, host, port }),
        _ => Err("port 0: want the port at which the server listens, 1 to 65535".to_owned()),
    }
}

fn parse_fixed(text: &str) -> Result<(SocketAddr, Target), String> {
    match split(text)[..] {
        [port, host, hostport] => Ok((parse_bind(None, port)?, parse_target(host, hostport)?)),
        [bind, port, host, hostport] => Ok((parse_bind(Some(bind), port)?, parse_target(host, hostport)?)),
        _ => Err("want [BIND:]PORT:HOST:HOSTPORT, IPv6 addresses in brackets".to_owned()),
    }
}

/// Parses the value of -D.
pub(crate) fn parse_dynamic(text: &str) -> Result<Local, String> {
    let bind = match split(text)[..] {
        [port] => parse_bind(None, port)?,
        [bind, port] => parse_bind(Some(bind), port)?,
        _ => return Err("want [BIND:]PORT, an IPv6 address in brackets".to_owned()),
    };
    Ok(Local { bind, target: None })
}

/// Parses the value of -W.
pub(crate) fn parse_stdio(text: &str) -> Result<Target, String> {
    match split(text)[..] {
        [host, port] => parse_target(host, port),
        _ => Err("want HOST:PORT, an IPv6 address in brackets".to_owned()),
    }
}

/// Splits the text at the colons outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|char| {
        depth += i32::from(char == '[') - i32::from(char == ']');
        char == ':' && depth <= 0
    })
    .collect()
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Parses the address to listen at. As with ssh, an empty address or `*` is every address, and none is
/// loopback.
fn parse_bind(bind: Option<&str>, port: &str) -> Result<SocketAddr, String> {
    let ip = match bind.map(bare) {
        None | Some("localhost") => Ipv4Addr::LOCALHOST.into(),
        Some("" | "*") => Ipv4Addr::UNSPECIFIED.into(),
        Some(text) => text.parse::<IpAddr>().map_err(|_| {
            format!("{text:?} is not an address to bind: want an IP address, localhost, or * for all")
        })?,
    };
    let port =
        port.parse().map_err(|_| format!("{port:?} is not a port: want 0 to 65535; 0 is any free one"))?;
    Ok(SocketAddr::new(ip, port))
}

fn parse_target(host: &str, port: &str) -> Result<Target, String> {
    let number = port.parse().ok().filter(|&port: &u16| port > 0);
    let port = number.ok_or_else(|| format!("{port:?} is not a port: want 1 to 65535"))?;
    Target::host(bare(host), port).map_err(|_| format!("{host:?} is neither a host name nor an IP address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarding_flags_are_those_of_ssh() {
        for (text, want) in [
            ("8080:example.net:80", "-L 127.0.0.1:8080:example.net:80"),
            ("localhost:8080:10.0.0.1:80", "-L 127.0.0.1:8080:10.0.0.1:80"),
            ("*:8080:a:80", "-L 0.0.0.0:8080:a:80"),
            (":0:a:80", "-L 0.0.0.0:0:a:80"),
            ("[::1]:8080:[2001:db8::1]:80", "-L [::1]:8080:[2001:db8::1]:80"),
        ] {
            assert_eq!(parse_local(text).unwrap().to_string(), want);
        }
        for (text, want) in [
            ("8080", "want [BIND:]PORT:HOST:HOSTPORT"),
            ("8080:a", "want [BIND:]PORT:HOST:HOSTPORT"),
            ("1:2:3:4:5", "want [BIND:]PORT:HOST:HOSTPORT"),
            ("x:a:80", "\"x\" is not a port: want 0 to 65535"),
            ("x:8080:a:80", "\"x\" is not an address to bind"),
            ("8080:a:0", "\"0\" is not a port: want 1 to 65535"),
            ("8080:a b:80", "\"a b\" is neither a host name nor an IP address"),
        ] {
            let error = parse_local(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
        let remote = parse_remote("*:8080:localhost:80").unwrap();
        assert_eq!(remote.to_string(), "-R 0.0.0.0:8080:localhost:80");
        assert!(parse_remote("0:a:80").unwrap_err().contains("want the port at which the server listens"));
        assert_eq!(parse_dynamic("1080").unwrap().to_string(), "-D 127.0.0.1:1080");
        assert_eq!(parse_dynamic("[::]:1080").unwrap().to_string(), "-D [::]:1080");
        assert!(parse_dynamic("a:b:1").is_err() && parse_dynamic("x").is_err());
        assert_eq!(parse_stdio("[::1]:22").unwrap(), Target::host("::1", 22).unwrap());
        assert!(parse_stdio("a").is_err() && parse_stdio("::1:22").is_err());
    }
}
