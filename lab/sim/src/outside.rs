//! The output of a simulation for hosts outside of it: arrived packets, and changes of their interfaces.

use std::collections::VecDeque;

use msctp_units::Time;

use crate::packet::{AddressId, PacketId};

/// A change of which the host of an interface is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Number of the interface, as in [`OutsideHosts::interfaces`](crate::OutsideHosts::interfaces).
    pub interface: usize,
    /// The change.
    pub what: Heard,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The link went up or down.
    Link {
        /// True if it is up.
        up: bool,
    },
    /// The interface received or lost its address.
    Address {
        /// True if it has the address.
        present: bool,
    },
}

/// The output of a simulation for outside hosts.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// True if there are outside hosts.
    pub(crate) on: bool,
    /// Packets that have arrived, each with its time and the number of its interface.
    pub(crate) arrived: VecDeque<(Time, u32, PacketId)>,
    pub(crate) news: VecDeque<News>,
}

impl Outside {
    pub(crate) fn arrived(&mut self, now: Time, interface: AddressId, id: PacketId) {
        self.arrived.push_back((now, interface.0, id));
    }

    pub(crate) fn record(&mut self, interface: usize, what: Heard) {
        if self.on {
            self.news.push_back(News { interface, what });
        }
    }
}
