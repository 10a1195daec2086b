//! [`Stream`]: one SCTP stream as bytes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use msctp_proto::OutMessage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::association::Association;
use crate::error::FinishError;
use crate::inbox::Item;

/// Bytes of the messages into which written bytes are cut at most.
const MESSAGE: usize = 64 << 10;

/// A stream of an association in both directions, for code that reads and writes bytes. The bounds of
/// messages are not kept.
///
/// # The end
///
/// Each direction ends by itself. [`finish`](Self::finish), or `shutdown` of [`AsyncWrite`], ends ours;
/// reading gives the end of file when the peer has ended its own, or has shut the association down. The
/// number can then be used again: drop this `Stream`, and take it anew from [`Association::stream`].
///
/// Dropping a `Stream` ends nothing: what was written is delivered, what comes goes to [`Association::recv`].
/// An end that is under way goes on.
///
/// There is no way to take back what was written (QUIC's RESET_STREAM): a stream reset of RFC 6525 comes
/// behind the last message and drops none. Send data that may be dropped as messages with a lifetime
/// ([`OutMessage::reliability`](crate::OutMessage), RFC 3758); [`Association::abort`] drops everything.
///
/// SCTP has one receive window for all streams of an association. A stream that is not read therefore stops
/// the others in the end: when 256 KiB wait here for all readers together and as much as the receive buffer
/// (`Config::receive_buffer`, or what `Config::max_receive_buffer` lets it grow to) waits in the core.
/// Read every stream that the peer may send on, or shut down.
#[derive(Debug)]
pub struct Stream {
    association: Association,
    stream: u16,
    rest: Bytes,
    /// The peer ended its direction.
    ended: bool,
    /// Ours is over.
    finishing: bool,
}

impl Stream {
    pub(crate) fn new(association: Association, stream: u16) -> Self {
        Self { association, stream, rest: Bytes::new(), ended: false, finishing: false }
    }

    /// Ends our direction (RFC 6525 §5.1.2). Ready when the peer has acknowledged everything that was written
    /// and knows that this was all; its reader sees the end of file. Nothing can be written any more; reading
    /// goes on. Dropping the future does not cancel the end; call again to wait for it.
    ///
    /// # Errors
    ///
    /// The peer cannot be told: it does not know RFC 6525 ([`FinishError::NotAgreedOn`]; everything was
    /// delivered by then), or does not want it, or the association was lost.
    pub async fn finish(&mut self) -> Result<(), FinishError> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    fn poll_finish(&mut self, cx: &Context<'_>) -> Poll<Result<(), FinishError>> {
        if !self.finishing {
            // A number whose last end is still under way: this one comes after it.
            ready!(self.association.poll_open(cx, self.stream));
            self.finishing = true;
        }
        self.association.poll_finish(cx, self.stream)
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
        // An empty part of a message is not the end.
        while self.rest.is_empty() && !self.ended {
            match ready!(self.association.poll_recv(cx, Some(self.stream)))? {
                Some(Item::Message(message)) => self.rest = message.data,
                Some(Item::End(_)) => self.ended = true,
                // A restart is an error of `poll_recv`.
                None | Some(Item::Restarted) => return Poll::Ready(Ok(())),
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
        if self.finishing {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "this stream was finished")));
        }
        ready!(self.association.poll_open(cx, self.stream));
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

    /// As [`finish`](Stream::finish).
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx).map_err(io::Error::from)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.association.release_stream(self.stream);
    }
}
