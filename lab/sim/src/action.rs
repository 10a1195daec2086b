//! Scheduled and event-driven actions: their times and outcomes. The simulation executes them, because it has
//! access to every component.

use std::collections::BTreeMap;
use std::net::IpAddr;

use msctp_link::Change;
use msctp_proto::handover::LinkQuality;
use msctp_units::{Span, Time};

use crate::packet::AddressId;
use crate::scenario::{LossConfig, MiddleboxChange, Side};

/// An action with its names resolved.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    LinkState {
        link: usize,
        up: bool,
    },
    SetLink {
        directions: Vec<usize>,
        changes: Vec<Change>,
        loss: Option<LossConfig>,
    },
    Address {
        address: AddressId,
        present: bool,
    },
    Association {
        association: usize,
        side: Side,
        call: Call,
    },
    App {
        app: usize,
        start: bool,
    },
    /// Changes the middlebox with this number.
    Middlebox {
        node: u32,
        change: MiddleboxChange,
    },
    /// Samples the link levels that actions wait for, repeatedly.
    Watch,
    /// Changes the conditions of a radio link, and repeats at each change.
    Coding {
        coding: usize,
    },
}

/// A call on one end of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Sets the association up.
    Connect,
    /// Adds an address of this end (RFC 5061 §4.2.1).
    AddAddress(IpAddr),
    /// Deletes an address of this end (RFC 5061 §4.2.2).
    DeleteAddress(IpAddr),
    /// Requests that the peer send to this address (RFC 5061 §4.2.4).
    RequestPrimary(IpAddr),
    /// Sends to this address of the peer from now on (RFC 9260 §11.1.6).
    SetPrimary {
        /// The peer's address.
        to: IpAddr,
        /// The local address; `None` keeps the present one if possible.
        from: Option<IpAddr>,
    },
    /// Sends a HEARTBEAT to this address of the peer (RFC 9260 §11.1.8).
    Heartbeat(IpAddr),
    /// Receives the quality of the link below a local address.
    ReportQuality(IpAddr, LinkQuality),
    /// Shuts down the association.
    Shutdown,
}

/// An event that an action can wait for, with its names resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trigger {
    Established { association: usize },
    AddressAdded { association: usize, address: IpAddr },
    AddressDeleted { association: usize, address: IpAddr },
    PrimaryChanged { association: usize, address: IpAddr },
    Delivered { app: usize },
    Level { watch: usize },
}

/// An action of the scenario and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) act: Act,
    /// The action and its subject for the summary; `None` for actions that the simulation adds.
    pub(crate) shown: Option<(&'static str, String)>,
    /// The event that the action waits for, and the delay after it.
    waits: Option<(Trigger, Span)>,
    /// True if each occurrence of the event triggers the action.
    repeat: bool,
    pub(crate) done: Option<Time>,
    pub(crate) refused: Option<String>,
}

impl Planned {
    pub(crate) fn new(
        act: Act,
        shown: Option<(&'static str, String)>,
        waits: Option<(Trigger, Span)>,
    ) -> Self {
        Self { act, shown, waits, repeat: false, done: None, refused: None }
    }

    /// Sets whether every occurrence of its event triggers the action, or only the first one.
    pub(crate) fn repeated(self, repeat: bool) -> Self {
        Self { repeat, ..self }
    }
}

/// All actions of a run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Planned>,
    /// The actions that wait for each event, by number.
    waiting: BTreeMap<Trigger, Vec<usize>>,
}

impl Plan {
    pub(crate) fn new(actions: Vec<Planned>) -> Self {
        let mut waiting: BTreeMap<Trigger, Vec<usize>> = BTreeMap::new();
        for (number, action) in actions.iter().enumerate() {
            if let Some((trigger, _)) = action.waits {
                waiting.entry(trigger).or_default().push(number);
            }
        }
        Self { actions, waiting }
    }

    /// Returns true while an action waits for an event.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the actions that an event triggers, each with its time. An action is triggered once, unless it
    /// is repeated.
    pub(crate) fn happened(&mut self, now: Time, what: Trigger) -> Vec<(usize, Time)> {
        let Some(numbers) = self.waiting.remove(&what) else { return Vec::new() };
        let actions = &self.actions;
        let delay = |&number: &usize| Some((number, now + actions[number].waits?.1));
        let due = numbers.iter().filter_map(delay).collect();
        let repeated: Vec<usize> = numbers.into_iter().filter(|&number| actions[number].repeat).collect();
        if !repeated.is_empty() {
            self.waiting.insert(what, repeated);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triggered_action_is_due_once_after_its_delay() {
        let established = Trigger::Established { association: 0 };
        let waits = |trigger, ms| Some((trigger, Span::from_millis(ms)));
        let act = Act::App { app: 0, start: true };
        let mut plan = Plan::new(vec![
            Planned::new(act.clone(), None, waits(established, 5)),
            Planned::new(act.clone(), None, None),
            Planned::new(act, None, waits(Trigger::Delivered { app: 0 }, 0)),
        ]);
        let at = Time::from_nanos(1_000_000);
        assert_eq!(plan.happened(at, Trigger::Established { association: 1 }), []);
        assert_eq!(plan.happened(at, established), [(0, Time::from_nanos(6_000_000))]);
        assert_eq!(plan.happened(at, established), []);
        assert!(plan.is_waiting());
        assert_eq!(plan.happened(at, Trigger::Delivered { app: 0 }), [(2, at)]);
        assert!(!plan.is_waiting());
    }

    #[test]
    fn a_repeated_action_is_due_after_each_occurrence() {
        let level = Trigger::Level { watch: 0 };
        let act = Act::App { app: 0, start: true };
        let mut plan = Plan::new(vec![Planned::new(act, None, Some((level, Span::ZERO))).repeated(true)]);
        for ms in [1, 5] {
            let at = Time::from_nanos(ms * 1_000_000);
            assert_eq!(plan.happened(at, level), [(0, at)]);
        }
        assert!(plan.is_waiting());
    }
}
