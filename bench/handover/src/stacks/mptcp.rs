//! The kernel's multipath TCP over its own socket. The emulation notifies the kernel's path manager of
//! interfaces, as a network manager does.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use super::{MESSAGE, PORT, READ, server};
use crate::Failure;
use crate::arrivals::Log;

/// IPPROTO_MPTCP of linux/in.h.
const MPTCP: i32 = 262;

fn socket() -> std::io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(MPTCP)))
}

pub(super) fn serve() -> Result<(), Failure> {
    let socket = socket()?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from(([0, 0, 0, 0], PORT)).into())?;
    socket.listen(1)?;
    // Further subflows come to the listener too: it stays.
    let listener = TcpListener::from(socket);
    let (mut stream, _) = listener.accept()?;
    // A request, as everywhere: before it there is no second subflow (RFC 8684 §3.1).
    stream.read_exact(&mut [0])?;
    let message = [0x5a; MESSAGE];
    loop {
        match stream.write_all(&message) {
            Ok(()) => {}
            // The receiver's time is over.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) fn receive(end: Instant, log: &mut Log) -> Result<(), Failure> {
    let socket = socket()?;
    socket.connect(&server()?.into())?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    stream.write_all(&[1])?;
    let mut buffer = vec![0; READ];
    while Instant::now() < end {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => log.add(bytes)?,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
