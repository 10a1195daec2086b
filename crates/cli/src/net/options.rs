//! Arguments that the commands for real networks have in common.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use msctp::{
    Association, AuthConfig, BindError, Config, ConnectError, DEFAULT_PORT, ENCAPSULATION_PORT, Endpoint,
    EndpointOptions, Mobility, Peer, SharedKey, Translation,
};

use crate::Failure;

/// How packets leave and how the association behaves.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct NetArgs {
    /// Local address, with a UDP port or without (`192.0.2.1`, `192.0.2.1:9899`, `[2001:db8::1]:9899`). May be repeated; without it
    /// every address of this host.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_bind)]
    bind: Vec<(IpAddr, Option<u16>)>,
    /// Keep the addresses there are at the start, instead of following the host's interfaces.
    #[arg(long)]
    fixed: bool,
    /// Interfaces by the beginnings of their names, the best first. Wired before WLAN before all others where not given.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    prefer: Vec<String>,
    /// Use no interfaces but those whose names begin like this.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Whether an address translator is before this host: the server is then told of a new address as the one that the
    /// packet came from. `auto`: where this host's address is private and the server's is not.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Nat::Auto)]
    nat: Nat,
    /// What happens to the window at a path change: a handover policy by name.
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Congestion controller by name.
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// SCTP port of the server.
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    sctp_port: u16,
    /// Largest IP packet in bytes; smaller ones are found out for each path.
    #[arg(long, value_name = "BYTES", default_value_t = Config::default().pmtu)]
    mtu: u32,
    /// A file with a key that the other end has too (RFC 4895): set-up and changes of addresses are taken from nobody else. The
    /// data itself is neither signed nor encrypted.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// [`Translation`] as it is said on the command line.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Nat {
    Auto,
    Always,
    Never,
}

impl NetArgs {
    pub(crate) fn sctp_port(&self) -> u16 {
        self.sctp_port
    }

    /// The association's options; an unknown name is the caller's mistake.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut config = Config { pmtu: self.mtu, ..Config::mobile() };
        if let Some(file) = &self.key {
            config.auth = authentication(file)?;
        }
        if let Some(policy) = &self.policy {
            config.handover_policy = policy.as_str().into();
        }
        if let Some(controller) = &self.controller {
            config.controller = controller.as_str().into();
            config.controller_options = msctp::congestion::Options::new();
        }
        config.validate().map_err(|error| Failure::Input(error.to_string()))?;
        Ok(config)
    }

    fn mobility(&self) -> Option<Mobility> {
        // Addresses that were named are those that are meant.
        if self.fixed || !self.bind.is_empty() {
            return None;
        }
        let translation = match self.nat {
            Nat::Auto => Translation::Auto,
            Nat::Always => Translation::Always,
            Nat::Never => Translation::Never,
        };
        let mut mobility = Mobility { only: self.only.clone(), translation, ..Mobility::default() };
        if !self.prefer.is_empty() {
            mobility.prefer.clone_from(&self.prefer);
        }
        Some(mobility)
    }

    /// An endpoint that takes associations.
    pub(crate) fn server(&self) -> Result<Endpoint, Failure> {
        let every = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        let bind = self.bind_or(&every, ENCAPSULATION_PORT);
        let mut options = EndpointOptions::new(bind);
        // A server stays where it is unless it is told which interfaces to follow.
        options.mobility = self.mobility().filter(|_| !self.prefer.is_empty() || !self.only.is_empty());
        let endpoint = bind_endpoint(&options)?;
        endpoint.listen(self.sctp_port, self.config()?).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(endpoint)
    }

    /// An endpoint to connect from, to a peer of this family.
    fn client(&self, remote: IpAddr) -> Result<Endpoint, Failure> {
        let every = if remote.is_ipv4() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        } else {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        };
        let mut options = EndpointOptions::new(self.bind_or(&[every], 0));
        options.mobility = self.mobility();
        bind_endpoint(&options)
    }

    fn bind_or(&self, every: &[IpAddr], port: u16) -> Vec<SocketAddr> {
        if self.bind.is_empty() {
            return every.iter().map(|&ip| SocketAddr::new(ip, port)).collect();
        }
        self.bind.iter().map(|(ip, named)| SocketAddr::new(*ip, named.unwrap_or(port))).collect()
    }
}

/// Whom to connect to.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PeerArgs {
    /// The server, with its UDP port or without (`192.0.2.1`, `[2001:db8::1]:9899`, `example.net:9899`).
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// Give up when nobody has answered for so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    timeout: u64,
}

impl PeerArgs {
    /// As given in another way than by these arguments.
    pub(crate) fn new(host: &str, timeout: u64) -> Self {
        Self { host: host.to_owned(), timeout }
    }

    /// Binds and connects.
    pub(crate) async fn connect(&self, net: &NetArgs) -> Result<(Endpoint, Association), Failure> {
        let config = net.config()?;
        let address = self.address()?;
        let endpoint = net.client(address.ip())?;
        let peer = Peer { port: net.sctp_port(), ..Peer::new(address) };
        let wait = Duration::from_secs(self.timeout);
        let association = match tokio::time::timeout(wait, endpoint.connect(peer, config)).await {
            Ok(Ok(association)) => association,
            Ok(Err(ConnectError::Config(error))) => return Err(Failure::Input(error.to_string())),
            Ok(Err(error)) => return Err(Failure::Run(format!("{address}: {error}"))),
            Err(_) => {
                let key = if net.key.is_some() { ", with the same key" } else { "" };
                return Err(Failure::Run(format!(
                    "{address}: no answer for {} s (is `msctp serve`, `recv` or `perf --server` running there{key}?)",
                    self.timeout
                )));
            }
        };
        Ok((endpoint, association))
    }

    fn address(&self) -> Result<SocketAddr, Failure> {
        let unknown = |error: &dyn std::fmt::Display| {
            Failure::Input(format!("{}: {error}; want HOST or HOST:PORT", self.host))
        };
        if let Ok((ip, port)) = parse_bind(&self.host) {
            return Ok(SocketAddr::new(ip, port.unwrap_or(ENCAPSULATION_PORT)));
        }
        let with_port = match self.host.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => self.host.clone(),
            _ => format!("{}:{ENCAPSULATION_PORT}", self.host),
        };
        let mut found = with_port.to_socket_addrs().map_err(|error| unknown(&error))?;
        found.next().ok_or_else(|| unknown(&"this name has no address"))
    }
}

/// COOKIE ECHO and COOKIE ACK (RFC 9260 §3.2): without the key there is no association.
const SETUP_CHUNKS: [u8; 2] = [10, 11];
/// A shorter key is guessed.
const MIN_KEY: usize = 16;

/// Authentication with the key in a file; an end of line that an editor left is no part of it.
fn authentication(file: &Path) -> Result<AuthConfig, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Input(format!("--key {}: {why}", file.display()));
    let mut secret = std::fs::read(file).map_err(|error| wrong(&error))?;
    while secret.last().is_some_and(u8::is_ascii_whitespace) {
        secret.pop();
    }
    if secret.len() < MIN_KEY {
        return Err(wrong(&format_args!("{} bytes; want at least {MIN_KEY}", secret.len())));
    }
    Ok(AuthConfig {
        keys: vec![SharedKey { id: 1, secret }],
        active_key: 1,
        chunks: SETUP_CHUNKS.to_vec(),
        ..AuthConfig::default()
    })
}

fn bind_endpoint(options: &EndpointOptions) -> Result<Endpoint, Failure> {
    Endpoint::bind(options).map_err(|error| match error {
        BindError::Config(error) => Failure::Input(error.to_string()),
        error => Failure::Run(error.to_string()),
    })
}

/// An address, with or without a port.
fn parse_bind(text: &str) -> Result<(IpAddr, Option<u16>), String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((address.ip(), Some(address.port())));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let ip = bare.parse::<IpAddr>().map_err(|_| "want an IP address, with :PORT or without".to_owned())?;
    Ok((ip, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(parse_bind("192.0.2.1"), Ok((ip("192.0.2.1"), None)));
        assert_eq!(parse_bind("192.0.2.1:80"), Ok((ip("192.0.2.1"), Some(80))));
        assert_eq!(parse_bind("2001:db8::1"), Ok((ip("2001:db8::1"), None)));
        assert_eq!(parse_bind("[2001:db8::1]"), Ok((ip("2001:db8::1"), None)));
        assert_eq!(parse_bind("[2001:db8::1]:80"), Ok((ip("2001:db8::1"), Some(80))));
        assert!(parse_bind("192.0.2.1:x").is_err() && parse_bind("example.net").is_err());
    }
}
