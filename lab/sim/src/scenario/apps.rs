//! Associations and applications of a scenario.

use std::net::IpAddr;
use std::sync::Arc;

use msctp_proto::Reliability;
use msctp_units::{Rate, Span};

use super::Frame;

/// An SCTP association between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationSpec {
    /// Unique among associations and applications.
    pub name: String,
    /// Host that sends the INIT.
    pub client: String,
    /// Host that answers it.
    pub server: String,
    /// The client's addresses known from the start, at least one, primary first. Others can be added by
    /// actions.
    pub client_addresses: Vec<IpAddr>,
    /// The server's addresses known from the start, at least one, primary first.
    pub server_addresses: Vec<IpAddr>,
    /// SCTP port of the client; 0 for a free one.
    pub client_port: u16,
    /// SCTP port of the server.
    pub server_port: u16,
    /// Time at which the client sends the INIT, since the start of the run.
    pub start: Span,
    /// The SCTP profile of the client; `None` for RFC 9260's defaults.
    pub client_profile: Option<String>,
    /// The SCTP profile of the server; `None` for RFC 9260's defaults.
    pub server_profile: Option<String>,
}

/// An end of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that sends the INIT.
    Client,
    /// The end that answers it.
    Server,
}

impl Side {
    /// Returns the other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Returns the word used in files and labels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSpec {
    /// Unique among associations and applications.
    pub name: String,
    /// Start of the application since the start of the run; `None` if an action starts it.
    pub start: Option<Span>,
    /// Stop of the application since the start of the run; `None` for the end of the run.
    pub stop: Option<Span>,
    /// Kind of the application.
    pub kind: AppKind,
}

/// How an application's messages are sent, with the keys of scenario files and their defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// `stream`: stream number, 0.
    pub stream: u16,
    /// `unordered`: deliver without regard to the order of the stream (RFC 9260 §6.6), false.
    pub unordered: bool,
    /// The limit of a message's transmission (RFC 3758, RFC 7496): none, or one of
    ///
    /// - `lifetime = "200ms"`: neither sent nor retransmitted beyond this age;
    /// - `max_retransmissions = 1`: abandoned when a chunk of it would need another retransmission, 0 to
    ///   65535;
    /// - `priority = 3`: abandoned when a message of a higher priority does not fit the send buffer, 0, the
    ///   highest, to 65535.
    ///   the highest, to 65535.
    pub reliability: Reliability,
}

/// The kinds of applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppKind {
    /// Sends messages over an association as fast as the association accepts them.
    Bulk {
        /// The association.
        association: String,
        /// The end that sends.
        from: Side,
        /// Total bytes to send; `None` if endless.
        bytes: Option<u64>,
        /// Bytes per message.
        message: u32,
        /// How the messages are sent.
        sending: Sending,
    },
    /// Limits the rate at which one end of an association reads. An end without a reader reads at once. A
    /// slow reader closes the receive window.
    Reader {
        /// The association.
        association: String,
        /// The end that reads.
        at: Side,
        /// User data read per second, in bit/s. With zero, the end reads nothing while the reader runs.
        rate: Rate,
    },
    /// Sends bytes over a TCP connection as fast as the connection accepts them.
    TcpBulk {
        /// The connection.
        tcp: String,
        /// The end that sends.
        from: Side,
        /// Total bytes to send before the end closes; `None` if endless.
        bytes: Option<u64>,
    },
    /// Limits the rate at which one end of a TCP connection reads. An end without a reader reads at once.
    TcpReader {
        /// The connection.
        tcp: String,
        /// The end that reads.
        at: Side,
        /// User data read per second, in bit/s. With zero, the end reads nothing while the reader runs.
        rate: Rate,
    },
    /// Sends a live video over an association: a message for each frame at the frame's time, even if the
    /// association does not accept it then.
    Video {
        /// The association.
        association: String,
        /// The end that sends.
        from: Side,
        /// The frames, at least one, sent in a cycle.
        frames: Arc<[Frame]>,
        /// How the messages are sent.
        sending: Sending,
        /// True to wait a random part of an interval before the first frame.
        random_phase: bool,
    },
    /// Sends UDP packets at a constant rate.
    Cbr {
        /// Source address.
        from: IpAddr,
        /// Destination address.
        to: IpAddr,
        /// Rate on the wire, IP and UDP headers included.
        rate: Rate,
        /// Packet size on the wire in bytes, IP and UDP headers included.
        packet: u32,
        /// True to multiply each interval by a number drawn from U(0.5, 1.5), as ns-2's `random_` does.
        jitter: bool,
        /// True to wait a random part of an interval before the first packet.
        random_phase: bool,
    },
}
