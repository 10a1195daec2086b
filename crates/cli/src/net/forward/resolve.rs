//! [`Resolver`]: resolves the names that a client's connections need.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use msctp_forward::{End, Reason};
use msctp_terminal::system::os_error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::server::OfSource;

/// Limit of threads that resolve the names of all clients.
pub(super) const RESOLVERS: usize = 128;

/// Maximum number of names that the clients of one source resolve at a time. It is far below [`RESOLVERS`]:
/// clients whose name servers do not answer must not block those of other sources.
pub(super) const NAMES_OF_SOURCE: usize = RESOLVERS / 4;

/// Maximum number of names that one client's connections resolve at a time.
const NAMES: usize = 8;

/// Time to resolve a name, including the time in the client's queue.
const RESOLVE: Duration = Duration::from_secs(10);

/// Resolves names for one client.
#[derive(Clone)]
pub(super) struct Resolver {
    names: Arc<Semaphore>,
    of_source: Arc<OfSource>,
    /// Permits for datagrams that wait for a name.
    held: Arc<Semaphore>,
}

impl Resolver {
    /// Creates the resolver of a client of a source.
    pub(super) fn new(of_source: Arc<OfSource>) -> Self {
        Self { names: Arc::new(Semaphore::new(NAMES)), of_source, held: Arc::new(Semaphore::new(NAMES)) }
    }

    /// Takes a permit for a datagram that waits for a name; `None` if all are taken. All UDP associations of
    /// the client share a few permits.
    pub(super) fn hold(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.held).try_acquire_owned().ok()
    }

    /// Returns the addresses of a host, a name or an address.
    ///
    /// # Errors
    ///
    /// The name is unknown, or no answer comes in time.
    pub(super) async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, End> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let host = host.to_owned();
        let look_up = move || Ok((host.as_str(), 0).to_socket_addrs()?.map(|found| found.ip()).collect());
        match tokio::time::timeout(RESOLVE, self.run(look_up)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(End::new(Reason::UnknownHost, os_error(&error))),
            Err(_) => Err(End::new(Reason::UnknownHost, format!("no answer for {} s", RESOLVE.as_secs()))),
        }
    }

    /// Runs a look-up in a thread. A thread cannot be stopped, so it keeps its permit until the look-up ends,
    /// even if the connection has ended.
    async fn run<T: Send + 'static>(
        &self,
        look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let permit = Arc::clone(&self.names).acquire_owned().await.map_err(io::Error::other)?;
        let of_source = Arc::clone(&self.of_source);
        let shared = Arc::clone(&of_source.names).acquire_owned().await.map_err(io::Error::other)?;
        let task = spawn_blocking(move || {
            let found = look_up();
            // A client that connects again meets the same limit: the thread holds what its source shares.
            drop((permit, shared, of_source));
            found
        });
        task.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn clients_whose_names_get_no_answer_do_not_stop_those_of_other_sources() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(NAMES_OF_SOURCE + 1)
            .build()
            .unwrap();
        let of_source = Arc::new(OfSource::new(0));
        let clients: Vec<_> =
            (0..2 * NAMES_OF_SOURCE / NAMES).map(|_| Resolver::new(Arc::clone(&of_source))).collect();
        let other = Resolver::new(Arc::new(OfSource::new(0)));
        let mut releases = Vec::new();
        runtime.block_on(async {
            for client in clients.iter().flat_map(|client| [client; 2 * NAMES]) {
                let (release, released) = mpsc::channel::<()>();
                releases.push(release);
                let look_up = client.run(move || Ok(released.recv().is_err()));
                // The connection ends early; its thread does not.
                assert!(tokio::time::timeout(Duration::from_millis(5), look_up).await.is_err());
            }
            assert_eq!(clients[0].names.available_permits(), 0);
            let answer = tokio::time::timeout(Duration::from_secs(60), other.run(|| Ok("answer"))).await;
            assert_eq!(answer.expect("a thread is left").unwrap(), "answer");
            releases.clear();
            assert_eq!(clients[0].run(|| Ok("answer")).await.unwrap(), "answer");
        });
        drop(clients);
        runtime.shutdown_timeout(Duration::from_secs(60));
        assert_eq!(Arc::strong_count(&of_source), 1, "the threads have released it");
    }
}
