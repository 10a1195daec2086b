//! TCP servers on loopback that forwarded connections reach.
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Starts a target on loopback that serves each connection in its own thread.
pub(crate) fn target(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    at
}

/// Echoes data at once, and ends when the client does.
pub(crate) fn echo() -> SocketAddr {
    target(|stream| {
        let _ = std::io::copy(&mut &stream, &mut &stream);
        let _ = stream.shutdown(Shutdown::Write);
    })
}
