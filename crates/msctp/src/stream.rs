//! [`Stream`]: one SCTP stream as bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use msctp_proto::OutMessage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::association::Association;

/// Bytes of the messages into which written bytes are cut at most.
const MESSAGE: usize = 64 << 10;

/// A stream of an association in both directions, for code that reads and writes bytes. The bounds of messages are not kept.
///
/// Reading ends when the peer has shut the association down: SCTP does not close streams one by one. Shutting the writer down
/// waits until the peer has acknowledged everything, and leaves the association up;
/// [`Association::shutdown`] ends it. A stream that is not read stops the others when
/// some 256 KiB wait for its reader: the receive window is the association's.
#[derive(Debug)]
pub struct Stream {
    association: Association,
    stream: u16,
    rest: Bytes,
}

impl Stream {
    pub(crate) fn new(association: Association, stream: u16) -> Self {
        Self { association, stream, rest: Bytes::new() }
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.stream
    }

    /// Its association.
    pub fn association(&self) -> &Association {
        &self.association
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.association.poll_recv(cx, Some(self.stream)))? {
                Some(message) => self.rest = message.data,
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest[..len]);
        self.rest.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let len = buf.len().min(MESSAGE);
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let data = Bytes::copy_from_slice(&buf[..len]);
        let message =
            OutMessage { stream: self.stream, ppid: 0, unordered: false, data, ..OutMessage::default() };
        ready!(self.association.poll_send(cx, &message))?;
        Poll::Ready(Ok(len))
    }

    /// Nothing waits here: what was written is on its way.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.association.poll_flush(cx).map_err(io::Error::from)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.association.release_stream(self.stream);
    }
}
