//! What hands messages over to an association: the sources of one end, whatever their kind.

use bytes::Bytes;

use msctp_proto::OutMessage;
use msctp_units::Time;

use super::bulk::Bulk;
use super::video::Video;

/// A source of messages.
#[derive(Debug)]
pub(crate) enum Source {
    Bulk(Bulk),
    Video(Box<Video>),
}

impl Source {
    /// The next message to offer, if there is one. `app`, the number of the application, is its payload protocol
    /// identifier, by which the other end knows whose it is.
    #[inline]
    pub(crate) fn next(&self, app: u32) -> Option<OutMessage> {
        let message = |data: Bytes, stream, unordered| OutMessage {
            stream,
            ppid: app,
            unordered,
            data,
            context: 0,
            ..OutMessage::default()
        };
        match self {
            Self::Bulk(bulk) => Some(message(bulk.next()?, bulk.stream, bulk.unordered)),
            Self::Video(video) => Some(message(video.next()?, video.stream, false)),
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

    /// The other end's application was given a message of it; true when that was the last of all.
    #[inline]
    pub(crate) fn was_delivered(&mut self, now: Time, message: &[u8]) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.was_delivered(now, message.len()),
            Self::Video(video) => {
                video.was_delivered(now, message);
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
