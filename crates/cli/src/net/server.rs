//! [`Server`]: an endpoint that accepts the clients of a command, after they were authenticated.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use msctp::security::{Error, Rejected, Rejection};
use msctp::{Association, Config, Endpoint, Incoming};

use super::Open;
use super::options::{NetArgs, refused};
use super::security::{ClientsArgs, ServerSecurity};
use super::text::escape;
use crate::Failure;

/// An endpoint that listens, and who may connect to it.
#[derive(Clone)]
pub(crate) struct Server {
    endpoint: Endpoint,
    port: u16,
    config: Config,
    security: Arc<Mutex<ServerSecurity>>,
}

impl Server {
    /// Binds, listens, and prints the addresses, the key, and what anyone `may` do there. A client that is
    /// silent for `idle_timeout` is lost; the endpoint's own timeout applies if there is none.
    pub(crate) fn start(
        net: &NetArgs,
        clients: &ClientsArgs,
        open: &Open,
        idle_timeout: Option<Duration>,
        may: &str,
    ) -> Result<Self, Failure> {
        let config = net.config()?;
        let endpoint = net.server_endpoint(open, idle_timeout)?;
        let security = ServerSecurity::new(net.security(), clients)?;
        let port = net.sctp_port();
        let server = Self { endpoint, port, config, security: Arc::new(Mutex::new(security)) };
        server.listen()?;
        let addresses: Vec<String> =
            server.endpoint.local_addresses().iter().map(ToString::to_string).collect();
        eprintln!("listening at {}, SCTP port {port}", addresses.join(", "));
        server.with_security(|security| security.announce(may));
        Ok(server)
    }

    fn with_security<R>(&self, f: impl FnOnce(&mut ServerSecurity) -> R) -> R {
        f(&mut self.security.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn listen(&self) -> Result<(), Failure> {
        let protection = self.with_security(|security| security.protection())?;
        let config = Config { protection, ..self.config.clone() };
        self.endpoint.listen(self.port, config).map_err(|error| refused(&error))
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Takes no more clients.
    pub(crate) fn stop(&self) {
        self.endpoint.stop_listening(self.port);
    }

    /// Accepts the next client.
    ///
    /// # Errors
    /// The endpoint has ended, or the one-time code was used up by a wrong one.
    pub(crate) async fn accept(&self) -> Result<Association, Failure> {
        self.incoming().await.map(Incoming::accept)
    }

    /// Waits for the next client, as [`accept`](Self::accept).
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
                    return Ok(incoming);
                }
                rejected = self.endpoint.rejected(self.port) => {
                    self.report(&rejected.ok_or_else(ended)?)?;
                }
            }
        }
    }

    /// Listens with another key or code. Associations that are up go on.
    fn listen_again(&self) -> Result<(), Failure> {
        self.endpoint.stop_listening(self.port);
        self.listen()
    }

    fn report(&self, rejected: &Rejected) -> Result<(), Failure> {
        let own = match rejected.error {
            Rejection::NoCommonProtection(_) => {
                self.with_security(|security| format!("; this end {}", security.describe()))
            }
            _ => String::new(),
        };
        eprintln!("msctp: {}: rejected: {}{own}", rejected.remote, escape(&rejected.error.to_string()));
        if rejected.error == Rejection::Security(Error::WrongCode) {
            self.with_security(ServerSecurity::note_wrong_code)?;
            self.listen_again()?;
        }
        Ok(())
    }
}
