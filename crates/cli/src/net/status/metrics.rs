//! `--metrics`: the status over HTTP, for Prometheus.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::monitor::Monitor;
use super::prometheus;
use crate::net::listen;

/// Time for a request and its answer.
const REQUEST: Duration = Duration::from_secs(5);

/// The longest request in bytes.
const LONGEST: usize = 8 << 10;

/// Maximum number of requests at a time.
const REQUESTS: usize = 16;

/// Parses the value of --metrics. The address defaults to loopback.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    listen::parse(text, Ipv4Addr::LOCALHOST.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, 9100)))
}

/// Listens at the address of --metrics, and prints it.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let failed = |error| Failure::Run(format!("--metrics {address}: cannot listen: {}", os_error(&error)));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    eprintln!("metrics at http://{}/metrics", listener.local_addr().map_err(failed)?);
    Ok(listener)
}

/// Answers requests until the future is dropped.
pub(super) async fn serve(listener: TcpListener, monitor: Monitor) {
    let serve = |stream| {
        let monitor = monitor.clone();
        async move {
            // A client that is gone or too slow is ignored.
            let _ = tokio::time::timeout(REQUEST, answer(stream, &monitor)).await;
        }
    };
    listen::serve_each(REQUESTS, || listener.accept(), serve).await;
}

/// Answers one request (RFC 9112), and closes the connection.
async fn answer(mut stream: TcpStream, monitor: &Monitor) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST || stream.read_buf(&mut request).await? == 0 {
            return respond(&mut stream, "400 Bad Request", "the request is too long or not complete\n")
                .await;
        }
    }
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    match line.split(|&byte| byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics", _] => {
            let text = prometheus::text(&[monitor.snapshot()]);
            respond(&mut stream, "200 OK", &text).await
        }
        [b"GET", _, _] => respond(&mut stream, "404 Not Found", "want /metrics\n").await,
        [_, _, _] => respond(&mut stream, "405 Method Not Allowed", "want GET\n").await,
        _ => respond(&mut stream, "400 Bad Request", "no HTTP request\n").await,
    }
}

async fn respond(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let len = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_on_loopback_by_default() {
        assert_eq!(parse_address("9100"), Ok("127.0.0.1:9100".parse().unwrap()));
        assert_eq!(parse_address("[::]:9100"), Ok("[::]:9100".parse().unwrap()));
        assert!(parse_address("localhost").is_err() && parse_address("70000").is_err());
    }
}
