//! [`carry`]: moves bytes between a connection of a link and a local socket or standard input and output.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use msctp_forward::{End, Reason};
use msctp_terminal::system::os_error;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, Stdout};
use tokio::net::TcpStream;
use tokio::net::tcp::WriteHalf;
use tokio::sync::watch;

use super::link::{Connection, Direction};

/// Carries a TCP connection until both directions have ended, then closes it. Resets it if either end fails
/// or the future is dropped. `ahead` holds bytes already read from it.
///
/// # Errors
///
/// The connection failed at either end.
pub(crate) async fn carry_tcp(
    connection: &Connection,
    ahead: &[u8],
    mut stream: TcpStream,
) -> Result<(), End> {
    // The other end has its own Nagle algorithm if its application wants one.
    let _ = stream.set_nodelay(true);
    reset_when_dropped(&stream);
    detect_loss(&stream);
    let (reader, writer) = stream.split();
    carry(connection, ahead.chain(reader), writer).await?;
    close(stream);
    Ok(())
}

/// Maximum number of frames in one write.
const GATHERED: usize = 16;

/// Makes the kernel send a RST when the socket is dropped: by an error, a signal, or the end of the process.
/// With a FIN, the program at the other end would mistake truncated data for complete data.
pub(crate) fn reset_when_dropped(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// Idle time after which TCP probes the peer, the time between two probes, and their number: a host that is
/// gone is detected after four minutes.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(120), Duration::from_secs(30), 4);

/// Makes the kernel reset an idle connection whose peer's host is gone. Such a connection would never end.
pub(crate) fn detect_loss(stream: &TcpStream) {
    let (time, interval, retries) = KEEP_ALIVE;
    let keep_alive = TcpKeepalive::new().with_time(time).with_interval(interval).with_retries(retries);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keep_alive);
}

/// Closes a TCP connection after the peer has received its last byte.
fn close(stream: TcpStream) {
    #[expect(deprecated, reason = "it blocks only with a time to linger")]
    let _ = stream.set_linger(None);
    drop(stream);
}

/// The writing half of a local socket, or standard output.
pub(crate) trait Writer: AsyncWrite {
    /// Waits until the peer has reset the socket.
    async fn reset(&self) -> io::Error;
}

impl Writer for WriteHalf<'_> {
    async fn reset(&self) -> io::Error {
        if let Err(error) = self.ready(Interest::ERROR).await {
            return error;
        }
        match self.as_ref().take_error() {
            Ok(Some(error)) | Err(error) => error,
            // A write has it.
            Ok(None) => std::future::pending().await,
        }
    }
}

impl Writer for Stdout {
    async fn reset(&self) -> io::Error {
        std::future::pending().await
    }
}

/// Copies data in both directions until both have ended.
///
/// # Errors
///
/// The connection failed at either end.
pub(crate) async fn carry(
    connection: &Connection,
    reader: impl AsyncRead,
    writer: impl Writer,
) -> Result<(), End> {
    let (reader, writer) = (pin!(reader), pin!(writer));
    // Behind the last byte no read reports a reset.
    let (read_all, mut is_read) = watch::channel(false);
    let outward = async {
        outward(connection, reader).await?;
        read_all.send_replace(true);
        Ok(())
    };
    tokio::try_join!(outward, inward(connection, writer, &mut is_read)).map(|_| ())
}

fn broken(connection: &Connection, error: &io::Error) -> End {
    let end = End::new(Reason::Reset, "");
    connection.fail(end);
    End::new(Reason::Reset, os_error(error))
}

async fn outward(connection: &Connection, mut reader: Pin<&mut impl AsyncRead>) -> Result<(), End> {
    loop {
        let room = connection.room().await?;
        let read = tokio::select! {
            biased;
            read = read(connection, reader.as_mut(), room) => read,
            end = connection.failure(Direction::Outward) => return Err(end),
        };
        match read {
            Ok(data) if data.is_empty() => {
                connection.finish();
                return Ok(());
            }
            Ok(data) => connection.write(data),
            Err(error) => return Err(broken(connection, &error)),
        }
    }
}

/// Reads at most `room` bytes; empty at the end. Allocates its buffer only when data is ready, so that an
/// idle connection uses no memory for it.
async fn read(
    connection: &Connection,
    mut reader: Pin<&mut impl AsyncRead>,
    room: usize,
) -> io::Result<Bytes> {
    let mut idle = false;
    poll_fn(|cx| {
        let mut buffer = BytesMut::with_capacity(room);
        let polled = pin!(reader.read_buf(&mut (&mut buffer).limit(room))).poll(cx);
        if polled.is_pending() && !std::mem::replace(&mut idle, true) {
            connection.idle();
        }
        polled.map_ok(|len| match len {
            // A few bytes must not keep a large buffer.
            _ if len * 2 < room => Bytes::copy_from_slice(&buffer),
            _ => std::mem::take(&mut buffer).freeze(),
        })
    })
    .await
}

/// Writes received data to the local socket. Watches the socket for a reset once its input `is_read` to the
/// end.
async fn inward(
    connection: &Connection,
    mut writer: Pin<&mut impl Writer>,
    is_read: &mut watch::Receiver<bool>,
) -> Result<(), End> {
    loop {
        let reset = async {
            let _ = is_read.wait_for(|is_read| *is_read).await;
            writer.as_ref().get_ref().reset().await
        };
        let received = tokio::select! {
            biased;
            received = connection.read() => received?,
            error = reset => return Err(broken(connection, &error)),
        };
        let Some(data) = received else { break };
        let mut queue = VecDeque::from([data]);
        while writer.is_write_vectored()
            && queue.len() < GATHERED
            && let Some(more) = connection.read_now()
        {
            queue.push_back(more);
        }
        while !queue.is_empty() {
            let written = tokio::select! {
                biased;
                written = poll_fn(|cx| {
                    let mut slices = [IoSlice::new(&[]); GATHERED];
                    for (slice, data) in slices.iter_mut().zip(&queue) {
                        *slice = IoSlice::new(data);
                    }
                    writer.as_mut().poll_write_vectored(cx, &slices[..queue.len()])
                }) => written,
                end = connection.failure(Direction::Inward) => return Err(end),
            };
            match written {
                Ok(0) => return Err(broken(connection, &io::ErrorKind::WriteZero.into())),
                Ok(len) => {
                    take(&mut queue, len);
                    connection.consumed(len);
                }
                Err(error) => return Err(broken(connection, &error)),
            }
        }
        if let Err(error) = flush(writer.as_mut()).await {
            return Err(broken(connection, &error));
        }
    }
    match writer.shutdown().await {
        Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(broken(connection, &error)),
        _ => Ok(()),
    }
}

/// Removes written bytes.
fn take(queue: &mut VecDeque<Bytes>, mut len: usize) {
    while let Some(mut data) = queue.pop_front() {
        if data.len() > len {
            drop(data.split_to(len));
            return queue.push_front(data);
        }
        len -= data.len();
    }
}

async fn flush(mut writer: Pin<&mut impl AsyncWrite>) -> io::Result<()> {
    poll_fn(|cx| -> Poll<io::Result<()>> { writer.as_mut().poll_flush(cx) }).await
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_idle_connection_is_probed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        detect_loss(&stream);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let set =
            (socket.tcp_keepalive_time(), socket.tcp_keepalive_interval(), socket.tcp_keepalive_retries());
        assert_eq!((set.0.unwrap(), set.1.unwrap(), set.2.unwrap()), KEEP_ALIVE);
    }
}
