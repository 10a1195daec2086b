//! What hands messages over to an association: the sources of one end, whatever their kind.

use bytes::Bytes;

use msctp_proto::OutMessage;
use msctp_units::Time;

use super::bulk::Bulk;
use super::video::Video;
use crate::scenario::Sending;

/// A source of messages.
#[derive(Debug)]
pub(crate) enum Source {
    Bulk(Bulk),
    Video(Box<Video>),
}

impl Source {
    /// Starts or stops. A video's first message comes when [`due`](Self::due) says.
    pub(crate) fn set_running(&mut self, now: Time, start: bool) {
        match self {
            Self::Bulk(bulk) => bulk.set_running(start),
            Self::Video(video) if start => {
                video.start(now);
            }
            Self::Video(video) => video.stop(now),
        }
    }

    /// When the next message comes into being by itself; `None`: none does.
    pub(crate) fn due(&self) -> Option<Time> {
        match self {
            Self::Bulk(_) => None,
            Self::Video(video) => video.due(),
        }
    }

    /// A message comes into being at `due`.
    pub(crate) fn generate(&mut self, due: Time) {
        if let Self::Video(video) = self {
            video.poll(due);
        }
    }

    /// The next message to offer, if there is one. `app`, the number of the application, is its payload
    /// protocol identifier, by which the other end knows whose it is.
    #[inline]
    pub(crate) fn next(&self, app: u32) -> Option<OutMessage> {
        let message = |data: Bytes, sending: Sending| OutMessage {
            stream: sending.stream,
            ppid: app,
            unordered: sending.unordered,
            data,
            context: 0,
            reliability: sending.reliability,
            ..OutMessage::default()
        };
        match self {
            Self::Bulk(bulk) => Some(message(bulk.next()?, bulk.sending)),
            Self::Video(video) => Some(message(video.next()?, video.sending)),
        }
    }

    /// Is there a next message?
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.has_more(),
            Self::Video(video) => video.has_more(),
        }
    }

    /// The association took the message offered, of `len` bytes.
    #[inline]
    pub(crate) fn took(&mut self, len: usize) {
        match self {
            Self::Bulk(bulk) => bulk.took(len),
            Self::Video(video) => video.took(),
        }
    }

    /// The other end's application was given a message of it, of `len` bytes that begin with `head`; true
    /// when that was the last of all.
    #[inline]
    pub(crate) fn was_delivered(&mut self, now: Time, head: &[u8], len: usize) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.was_delivered(now, len),
            Self::Video(video) => {
                video.was_delivered(now, head);
                false
            }
        }
    }

    /// When all of it had been delivered.
    pub(crate) fn completed(&self) -> Option<Time> {
        match self {
            Self::Bulk(bulk) => bulk.completed,
            Self::Video(video) => video.completed,
        }
    }
}
