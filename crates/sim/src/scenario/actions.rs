//! Actions of a scenario: what happens when.

use std::net::IpAddr;

use msctp_link::egprs::CodingScheme;
use msctp_link::{Carries, Probability};
use msctp_proto::handover::LinkQuality;
use msctp_units::{Rate, Span};

use super::{LinkDirection, LossConfig, Side};

/// Something that is done at a time or after something has happened.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionSpec {
    /// When.
    pub when: When,
    /// What.
    pub what: Do,
}

/// When an action is done.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// This long after the start of the run.
    At(Span),
    /// This long after something happened for the first time.
    After {
        /// What must happen.
        happening: Happening,
        /// How long to wait after it.
        delay: Span,
    },
}

/// Something that can happen.
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
    /// Somebody sends to the address from now on.
    PrimaryChanged {
        /// Association.
        association: String,
        /// The destination address of the new primary path.
        address: IpAddr,
    },
    /// A bulk application's bytes have all been delivered.
    Delivered {
        /// Application.
        app: String,
    },
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    /// Brings a link up; both ends hear of it.
    LinkUp {
        /// Link.
        link: String,
    },
    /// Takes a link down: what is on it and what is sent to it is lost; both ends hear of it.
    LinkDown {
        /// Link.
        link: String,
    },
    /// Changes a link.
    SetLink {
        /// Link.
        link: String,
        /// One direction; `None`: both.
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
        /// How long nothing is sent.
        interruption: Span,
        /// What the old cell hands on.
        carries: Carries,
        /// Coding scheme in the new cell; `None`: as before.
        scheme: Option<CodingScheme>,
        /// Share of radio blocks lost in the new cell; `None`: as before.
        bler: Option<Probability>,
    },
    /// Gives an interface its address (back): the host receives and sends with it.
    AddressUp {
        /// Address.
        address: IpAddr,
    },
    /// Takes an interface's address away: the host drops what comes for it and sends nothing from it.
    AddressDown {
        /// Address.
        address: IpAddr,
    },
    /// ASCONF Add IP Address (RFC 5061 §4.2.1) by the end the address belongs to.
    AddAddress {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// ASCONF Delete IP Address (RFC 5061 §4.2.2) by the end the address belongs to.
    DeleteAddress {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// ASCONF Set Primary Address (RFC 5061 §4.2.4) by the end the address belongs to: asks the peer to send
    /// there.
    RequestPrimary {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// The other end from the address sends there from now on, unasked (RFC 9260 §11.1.6).
    SetPrimary {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
        /// The address it sends from; `None`: as the primary path so far, if that goes.
        from: Option<IpAddr>,
    },
    /// The other end from the address sends a HEARTBEAT there now (RFC 9260 §11.1.8).
    Heartbeat {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
    },
    /// The end the address belongs to learns how the link below it is, as from a modem: what it tells the
    /// peer by a QoS_Measurement.
    ReportQuality {
        /// Association.
        association: String,
        /// Address.
        address: IpAddr,
        /// What is reported.
        quality: LinkQuality,
    },
    /// Shuts an association down in good order.
    Shutdown {
        /// Association.
        association: String,
        /// The end that asks.
        side: Side,
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
    /// The word used in files and reports.
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
            Self::StartApp { .. } => "start-app",
            Self::StopApp { .. } => "stop-app",
        }
    }
}
