//! Listeners of options that take `[ADDRESS:]PORT`, and of the status socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Pause after a failed accept, usually because there are too many open files.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Parses `[ADDRESS:]PORT`; the address defaults to `default`. The error has the `example`.
pub(super) fn parse(text: &str, default: IpAddr, example: SocketAddr) -> Result<SocketAddr, String> {
    let port = text.parse().ok().map(|port| SocketAddr::new(default, port));
    port.or_else(|| text.parse().ok())
        .ok_or_else(|| format!("want a port, such as {}, or {example}", example.port()))
}

/// Accepts connections and serves each in a task, at most `most` at a time, until the future is dropped.
pub(super) async fn serve_each<S, Peer, Accepted, Served>(
    most: usize,
    accept: impl Fn() -> Accepted,
    serve: impl Fn(S) -> Served,
) where
    Accepted: Future<Output = io::Result<(S, Peer)>>,
    Served: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(most));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let served = serve(stream);
        tokio::spawn(async move {
            served.await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_address_is_a_port_or_an_address_with_a_port() {
        let parse = |text: &str| {
            parse(text, Ipv4Addr::LOCALHOST.into(), SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9899)))
        };
        assert_eq!(parse("9100"), Ok("127.0.0.1:9100".parse().unwrap()));
        assert_eq!(parse("[::]:9100"), Ok("[::]:9100".parse().unwrap()));
        for wrong in ["localhost", "70000", ""] {
            assert_eq!(parse(wrong).unwrap_err(), "want a port, such as 9899, or 192.0.2.1:9899");
        }
    }
}
