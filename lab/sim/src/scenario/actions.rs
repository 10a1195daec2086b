//! Actions of a scenario and their times.

use std::net::IpAddr;

use msctp_link::egprs::CodingScheme;
use msctp_link::{Carries, Probability};
use msctp_proto::handover::LinkQuality;
use msctp_units::{Rate, Span};

use super::{LinkDirection, LossConfig, MiddleboxChange, Side};

/// Interval between two samples of the levels that actions wait for, about that of Wi-Fi's beacons.
pub const SAMPLING: Span = Span::from_millis(100);

/// An action that is executed at a time or after an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionSpec {
    /// Time of the action, or the event that triggers it.
    pub when: When,
    /// The action.
    pub what: Do,
}

/// Time of an action, or the event that triggers it.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// A time since the start of the run.
    At(Span),
    /// A time after an event.
    After {
        /// The event to wait for.
        happening: Happening,
        /// Time after the event.
        delay: Span,
        /// True if each occurrence triggers the action, false for the first one only.
        repeat: bool,
    },
}

/// An event that triggers an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The client of the association considers it up.
    Established {
        /// Association.
        association: String,
    },
    /// The peer acknowledged the addition of the address.
    AddressAdded {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// The peer acknowledged the deletion of the address.
    AddressDeleted {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// The address became the destination of a primary path.
    PrimaryChanged {
        /// Association.
        association: String,
        /// The destination address of the new primary path.
        address: IpAddr,
    },
    /// All bytes of a bulk application have been delivered.
    Delivered {
        /// Application.
        app: String,
    },
    /// A level of a link crossed a threshold, or was beyond it at the start. Levels are sampled every
    /// [`SAMPLING`](crate::scenario::SAMPLING).
    Level {
        /// Link.
        link: String,
        /// The level.
        level: Level,
        /// True if the level fell below the threshold, false if it rose above it.
        below: bool,
        /// The threshold, in the level's unit.
        threshold: i64,
    },
}

/// A level of a link that can trigger an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Receive power of a wireless link without fading, in mdBm. It counts as below every threshold while the
    /// link is down or out of coverage.
    Signal,
    /// Number of packets in the queue of a direction.
    Queue(LinkDirection),
    /// Rate delivered by a direction over the last [`SAMPLING`](crate::scenario::SAMPLING) × 10, in bit/s.
    Rate(LinkDirection),
}

/// The kinds of actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    /// Brings a link up and notifies both ends.
    LinkUp {
        /// Link.
        link: String,
    },
    /// Takes a link down and notifies both ends. Packets on the link, and new ones, are lost.
    LinkDown {
        /// Link.
        link: String,
    },
    /// Changes a link.
    SetLink {
        /// Link.
        link: String,
        /// One direction; `None` for both.
        direction: Option<LinkDirection>,
        /// New rate.
        rate: Option<Rate>,
        /// New propagation delay.
        delay: Option<Span>,
        /// New losses.
        loss: Option<LossConfig>,
        /// New coding scheme.
        scheme: Option<CodingScheme>,
        /// New share of radio blocks lost.
        bler: Option<Probability>,
    },
    /// The mobile at the end of a radio link changes to another cell; the link and its addresses stay.
    RadioHandover {
        /// Link.
        link: String,
        /// Time for which the link is interrupted.
        interruption: Span,
        /// Packets that the old cell forwards.
        carries: Carries,
        /// Coding scheme in the new cell; `None` for no change.
        scheme: Option<CodingScheme>,
        /// Share of radio blocks lost in the new cell; `None` for no change.
        bler: Option<Probability>,
    },
    /// Gives an interface its address, with which the host then receives and sends.
    AddressUp {
        /// Address.
        address: IpAddr,
    },
    /// Removes an interface's address. The host drops packets for it, and sends none from it.
    AddressDown {
        /// Address.
        address: IpAddr,
    },
    /// Sends ASCONF Add IP Address (RFC 5061 §4.2.1) from the end to which the address belongs.
    AddAddress {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// Sends ASCONF Delete IP Address (RFC 5061 §4.2.2) from the end to which the address belongs.
    DeleteAddress {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// Sends ASCONF Set Primary Address (RFC 5061 §4.2.4) from the end to which the address belongs: requests
    /// that the peer send there.
    RequestPrimary {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// Makes the path to the address the primary of its peer, without a request (RFC 9260 §11.1.6).
    SetPrimary {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
        /// Source address; `None` for that of the present primary path if possible.
        from: Option<IpAddr>,
    },
    /// Makes the address's peer send a HEARTBEAT to it (RFC 9260 §11.1.8).
    Heartbeat {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// Reports the quality of the link below the address to the end to which it belongs, as a modem does.
    /// That end sends it to the peer in a QoS_Measurement.
    ReportQuality {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
        /// The reported quality.
        quality: LinkQuality,
    },
    /// Shuts an association down.
    Shutdown {
        /// Association.
        association: String,
        /// The end that starts the shutdown.
        side: Side,
    },
    /// Changes a middlebox.
    ChangeMiddlebox {
        /// Node.
        node: String,
        /// The change.
        change: MiddleboxChange,
    },
    /// Starts an application.
    StartApp {
        /// Application.
        app: String,
    },
    /// Stops an application.
    StopApp {
        /// Application.
        app: String,
    },
}

impl Do {
    /// Returns the word used in files and reports.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::LinkUp { .. } => "link-up",
            Self::LinkDown { .. } => "link-down",
            Self::SetLink { .. } => "set-link",
            Self::RadioHandover { .. } => "radio-handover",
            Self::AddressUp { .. } => "address-up",
            Self::AddressDown { .. } => "address-down",
            Self::AddAddress { .. } => "add-address",
            Self::DeleteAddress { .. } => "delete-address",
            Self::RequestPrimary { .. } => "request-primary",
            Self::SetPrimary { .. } => "set-primary",
            Self::Heartbeat { .. } => "heartbeat",
            Self::ReportQuality { .. } => "report-quality",
            Self::Shutdown { .. } => "shutdown",
            Self::ChangeMiddlebox { change: MiddleboxChange::Rebind, .. } => "rebind",
            Self::ChangeMiddlebox { change: MiddleboxChange::Open, .. } => "open-portal",
            Self::ChangeMiddlebox { change: MiddleboxChange::Close, .. } => "close-portal",
            Self::StartApp { .. } => "start-app",
            Self::StopApp { .. } => "stop-app",
        }
    }
}
