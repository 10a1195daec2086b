//! Tells systemd that a service is ready (sd_notify(3)).

use std::env;
use std::io;
use std::os::unix::net::UnixDatagram;

/// Notifies systemd, if it requested that, that this service is ready. Later calls do nothing.
pub(crate) fn ready() {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| send(&socket, path.as_encoded_bytes()));
    if let Err(error) = sent {
        eprintln!("warning: $NOTIFY_SOCKET {}: {error}; systemd will time out", path.display());
    }
}

/// Sends the state to a socket's path, or to an abstract name if it begins with `@`.
fn send(socket: &UnixDatagram, to: &[u8]) -> io::Result<usize> {
    const READY: &[u8] = b"READY=1";
    match to.strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            socket.send_to_addr(READY, &address)
        }
        _ => {
            use std::os::unix::ffi::OsStrExt;
            socket.send_to(READY, std::ffi::OsStr::from_bytes(to))
        }
    }
}
