//! [`Server`]: an endpoint that accepts the clients of a command, after they were authenticated.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use msctp::security::{Error, Rejected, Rejection};
use msctp::{Association, Config, Endpoint, Incoming};
use msctp_terminal::Failure;

use super::failures::FailuresBySource;
use super::options::{NetArgs, Options, refused};
use super::security::{ClientsArgs, SecurityArgs, ServerSecurity};
use super::sources::Interfaces;
use super::status::Monitor;
use super::text::escape;
use super::{Open, notify, tcp};

/// A listening endpoint, and the clients that may connect to it.
#[derive(Clone)]
pub(crate) struct Server {
    endpoint: Endpoint,
    port: u16,
    /// The options with which the endpoint listens.
    options: Arc<Mutex<Options>>,
    security: Arc<Mutex<ServerSecurity>>,
    monitor: Monitor,
    relayed: tcp::Relayed,
    interfaces: Interfaces,
    failures: Arc<FailuresBySource>,
}

impl Server {
    /// Binds, listens, and prints the addresses and the key. `may` is the text about the rights of any
    /// client. A client that is silent for `idle_timeout` is lost; the endpoint's own timeout applies if
    /// there is none.
    pub(crate) fn start(
        net: &NetArgs,
        clients: &ClientsArgs,
        open: &Open,
        idle_timeout: Option<Duration>,
        may: &str,
    ) -> Result<Self, Failure> {
        let config = net.config()?;
        let endpoint = net.server_endpoint(open, idle_timeout, clients.tcp().is_some())?;
        let security = ServerSecurity::new(net.security(), clients)?;
        let options = (security.security()?, config);
        let port = net.sctp_port();
        let server = Self {
            endpoint,
            port,
            options: Arc::new(Mutex::new(options.clone())),
            security: Arc::new(Mutex::new(security)),
            monitor: open.monitor().clone(),
            relayed: tcp::Relayed::default(),
            interfaces: Interfaces::default(),
            failures: Arc::default(),
        };
        server.listen(options)?;
        let addresses: Vec<String> =
            server.endpoint.local_addresses().iter().map(ToString::to_string).collect();
        let addresses = if addresses.is_empty() {
            net.no_address("no address yet: the first that appears")
        } else {
            addresses.join(", ")
        };
        eprintln!("listening at {addresses}, SCTP port {port}");
        server.with_security(|security| security.announce(may));
        if let Some(tcp) = clients.tcp()
            && let Some(within) = tcp::within(&server.endpoint.local_addresses())
        {
            tokio::spawn(tcp::serve(tcp::listen(tcp)?, within, server.relayed.clone(), open.add_relay()));
        }
        notify::ready();
        Ok(server)
    }

    fn with_security<R>(&self, f: impl FnOnce(&mut ServerSecurity) -> R) -> R {
        f(&mut self.security.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn options(&self) -> Options {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Listens with these options.
    fn listen(&self, options: Options) -> Result<(), Failure> {
        let (security, config) = options.clone();
        self.endpoint.listen(self.port, security, config).map_err(|error| refused(&error))?;
        *self.options.lock().unwrap_or_else(PoisonError::into_inner) = options;
        Ok(())
    }

    /// Returns the options with the keys read again from their files.
    fn options_with(&self, security: &ServerSecurity) -> Result<Options, Failure> {
        let (_, config) = self.options();
        Ok((security.security()?, Config { auth: security.authentication()?, ..config }))
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the status of this process.
    pub(crate) const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Stops accepting clients.
    pub(crate) fn stop(&self) {
        self.endpoint.stop_listening(self.port);
    }

    /// Accepts the next client.
    ///
    /// # Errors
    /// The endpoint has ended, or a wrong guess used the one-time code up.
    pub(crate) async fn accept(&self) -> Result<Association, Failure> {
        self.incoming().await.map(Incoming::accept)
    }

    /// Waits for the next client; see [`accept`](Self::accept).
    pub(crate) async fn incoming(&self) -> Result<Incoming, Failure> {
        let ended = || Failure::Run("the endpoint has ended".to_owned());
        loop {
            tokio::select! {
                incoming = self.endpoint.incoming(self.port) => {
                    let incoming = incoming.ok_or_else(ended)?;
                    let key = incoming.peer_identity().map(|peer| peer.fingerprint);
                    if self.with_security(|security| security.note_client(key)) {
                        self.listen_again()?;
                    }
                    self.monitor.note_association();
                    return Ok(incoming);
                }
                rejected = self.endpoint.rejected(self.port) => {
                    self.report(&rejected.ok_or_else(ended)?)?;
                }
            }
        }
    }

    /// Returns the address of a client by which limits per source count it. `None` for a client of this host,
    /// which no limit concerns.
    pub(crate) fn source(&self, from: Option<&SocketAddr>) -> Option<IpAddr> {
        let client = self.relayed.client(*from?);
        (!client.is_loopback() && !self.interfaces.have(client)).then_some(client)
    }

    /// Prints a line about a client. Counts it instead if the client's source had many in this second.
    pub(crate) fn tell(&self, from: SocketAddr, line: &str) {
        let (reported, omitted) = self.failures.count(self.relayed.client(from));
        if omitted > 0 {
            eprintln!("{from}: {omitted} further lines about this source within a second");
        }
        if reported {
            eprintln!("{line}");
        }
    }

    /// Listens with another key or code. Existing associations continue.
    fn listen_again(&self) -> Result<(), Failure> {
        let options = self.with_security(|security| self.options_with(security))?;
        self.switch(options)
    }

    /// Listens with other options, or with the old ones if the endpoint rejects them.
    fn switch(&self, options: Options) -> Result<(), Failure> {
        let old = self.options();
        self.endpoint.stop_listening(self.port);
        self.listen(options).or_else(|failure| {
            self.listen(old)?;
            Err(failure)
        })
    }

    /// Applies changed arguments about the accepted clients. Existing associations continue, except those of
    /// clients whose key is no longer accepted.
    ///
    /// # Errors
    ///
    /// The keys cannot be used: the endpoint listens with the old ones.
    pub(crate) fn reload(&self, security: &SecurityArgs, clients: &ClientsArgs) -> Result<(), Failure> {
        self.with_security(|own| {
            let next = own.reloaded(security, clients)?;
            self.switch(self.options_with(&next)?)?;
            next.announce_nobody();
            *own = next;
            Ok(())
        })?;
        for association in self.endpoint.associations() {
            let key = association.peer_identity().map(|peer| peer.fingerprint);
            if key.is_some_and(|key| !self.with_security(|own| own.accepts(key))) {
                association.abort("this server no longer accepts the client's key");
            }
        }
        Ok(())
    }

    fn report(&self, rejected: &Rejected) -> Result<(), Failure> {
        let own = match rejected.error {
            Rejection::NoCommonProtection(_) => {
                self.with_security(|security| format!("; this end {}", security.describe()))
            }
            _ => String::new(),
        };
        self.monitor.note_refusals(reason(&rejected.error), rejected.count);
        let why = escape(&rejected.error.to_string());
        let count = match rejected.count {
            1 => String::new(),
            count => format!(" ({count} set-ups)"),
        };
        self.tell(rejected.remote, &format!("msctp: {}: rejected: {why}{own}{count}", rejected.remote));
        if rejected.error == Rejection::Security(Error::WrongCode) {
            self.with_security(ServerSecurity::note_wrong_code)?;
            self.listen_again()?;
        }
        Ok(())
    }
}

/// Returns the reason of a rejected set-up, as the status shows it.
const fn reason(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Security(Error::WrongCode) => "wrong code",
        Rejection::Security(Error::Refused(_)) => "key not allowed",
        Rejection::Security(_) => "handshake failed",
        Rejection::KeysDiffer => "other pre-shared key",
        Rejection::SetUpChanged => "set-up changed",
        Rejection::NoCommonProtection(_) => "other encryption",
        Rejection::TooManySetUps => "too many set-ups",
        Rejection::TooManyAssociations | Rejection::TooManyOfPeer => "too many associations",
        Rejection::BacklogFull => "backlog full",
        _ => "rejected",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use msctp::{EndpointOptions, Peer, Pmtu};

    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        net: NetArgs,
        #[command(flatten)]
        clients: ClientsArgs,
    }

    #[tokio::test]
    async fn a_server_listens_on_when_the_endpoint_rejects_new_options() {
        let args = Args::parse_from(["serve", "--bind", "127.0.0.1:0", "--insecure"]);
        let open = Open::default();
        let server = Server::start(&args.net, &args.clients, &open, None, "connect").unwrap();
        let (security, config) = server.options();
        let rejected = server.switch((security, Config { pmtu: Pmtu::UpTo(1), ..config }));
        assert!(rejected.unwrap_err().to_string().starts_with("--mtu 1: want "));
        let here = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
        let peer = Peer { port: server.port, ..Peer::new(server.endpoint.local_addresses()[0]) };
        let security = args.net.security().for_client("here").unwrap();
        let config = args.net.config().unwrap();
        let both = async { tokio::join!(here.connect(peer, security, config), server.accept()) };
        let (connected, accepted) = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
        assert!(connected.is_ok() && accepted.is_ok());
    }
}
