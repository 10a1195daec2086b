//! [`Moves`]: the address requests that an association has made, so that none is repeated.

use core::net::IpAddr;
use std::collections::BTreeMap;

use msctp_units::{Span, Time};

use crate::asconf::AddressRequest;
use crate::cost::Cost;
use crate::timer_table::earlier;

/// Time after which a refused address is added again: it doubles from the first to the second.
const AGAIN: [Span; 2] = [Span::from_secs(2), Span::from_secs(60)];

/// An address that the peer was requested to add, and has not added.
#[derive(Debug)]
struct Asked {
    ip: IpAddr,
    /// Time of the last request's refusal; `None` while it is not answered. A request that could only leave
    /// through a network that carries nothing, and made way for others, counts as refused.
    refused: Option<Time>,
    /// Time to wait after the next refusal.
    wait: Span,
}

impl Asked {
    fn refuse(&mut self, now: Time) {
        self.refused = Some(now);
        self.wait = (self.wait * 2).clamp(AGAIN[0], AGAIN[1]);
    }

    /// Returns when to ask again, if the request was refused; at once if the address came into use after it.
    fn again(&self, in_use_since: Option<Time>) -> Option<Time> {
        let refused = self.refused?;
        Some(in_use_since.filter(|since| *since > refused).unwrap_or(refused + self.wait))
    }
}

/// Address requests of an association that the endpoint moves.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// True once the association is up and its first addresses are known.
    pub(crate) begun: bool,
    /// The address to which the peer was requested to send.
    pub(crate) peer_primary: Option<IpAddr>,
    /// The move in the request that adds the address: from the primary's address at that time to this one.
    /// This end's data follows when the path works.
    pub(crate) moving: Option<(Option<IpAddr>, IpAddr)>,
    /// Addresses to add in requests that were not answered yet, or were refused.
    added: Vec<Asked>,
    /// Addresses in use that no request could add yet.
    pub(crate) unlisted: Vec<IpAddr>,
    /// Addresses to delete in such requests.
    pub(crate) deleted: Vec<IpAddr>,
    /// The address in a request to delete all others.
    pub(crate) kept: Option<IpAddr>,
    /// True if no address is added, because the peer does not support RFC 5061.
    pub(crate) fixed: bool,
    /// True if no address is added, because the application chose them.
    pub(crate) chosen: bool,
    /// Time at which each preferred path was confirmed.
    pub(crate) confirmed: BTreeMap<IpAddr, Time>,
    /// Addresses to which data was moved because their links are better, and since when these were in use.
    offered: BTreeMap<IpAddr, Option<Time>>,
    /// What the links of this end's addresses cost, as was told to the association.
    pub(crate) costs: BTreeMap<IpAddr, Cost>,
    /// Answers that were not taken into account yet.
    pub(crate) answers: Vec<(AddressRequest, bool)>,
    /// Time at which to decide again.
    pub(crate) again: Option<Time>,
}

impl Moves {
    /// Takes the answers to requests into account. `used` returns whether an address is in use.
    pub(crate) fn take_answers(&mut self, now: Time, used: impl Fn(IpAddr) -> bool) {
        for (request, accepted) in core::mem::take(&mut self.answers) {
            self.answered(now, (request, accepted), &used);
        }
    }

    /// Returns whether the peer may be requested to add an address now. If it is too early, sets
    /// [`again`](Self::again).
    pub(crate) fn may_add(&mut self, now: Time, ip: IpAddr, in_use_since: Option<Time>) -> bool {
        let Some(asked) = self.added.iter().find(|asked| asked.ip == ip) else { return true };
        let Some(at) = asked.again(in_use_since) else { return false };
        if at > now {
            self.decide_again(at);
        }
        at <= now
    }

    /// Has the endpoint decide again at this time, if not sooner.
    pub(crate) fn decide_again(&mut self, at: Time) {
        self.again = earlier(self.again, Some(at));
    }

    /// Records that data moves to an address because its link is better, or began there.
    pub(crate) fn note_offered(&mut self, ip: IpAddr, in_use_since: Option<Time>) {
        self.offered.insert(ip, in_use_since);
    }

    /// Returns whether data was moved to an address since it came into use.
    pub(crate) fn was_offered(&self, ip: IpAddr, in_use_since: Option<Time>) -> bool {
        self.offered.get(&ip) == Some(&in_use_since)
    }

    /// Records a request to add an address.
    pub(crate) fn note_added(&mut self, ip: IpAddr) {
        match self.added.iter_mut().find(|asked| asked.ip == ip) {
            Some(asked) => asked.refused = None,
            None => self.added.push(Asked { ip, refused: None, wait: Span::ZERO }),
        }
    }

    fn answered(
        &mut self,
        now: Time,
        (request, accepted): (AddressRequest, bool),
        used: impl Fn(IpAddr) -> bool,
    ) {
        if let AddressRequest::Add(ip) = request
            && !accepted
            && let Some(asked) = self.added.iter_mut().find(|asked| asked.ip == ip)
        {
            asked.refuse(now);
        }
        match request {
            // The address returned before the answer, and stays.
            AddressRequest::Delete(ip) if !accepted && used(ip) => {
                self.deleted.retain(|deleted| *deleted != ip);
            }
            // The peer is asked for its primary again once there is one.
            AddressRequest::Add(ip) | AddressRequest::SetPrimary(ip)
                if !accepted && self.moving.is_some_and(|(_, to)| to == ip) =>
            {
                self.moving = None;
                self.peer_primary = None;
            }
            AddressRequest::Add(ip) if accepted => {
                self.added.retain(|asked| asked.ip != ip);
                self.deleted.retain(|deleted| *deleted != ip);
            }
            AddressRequest::Delete(ip) if accepted => {
                self.deleted.retain(|deleted| *deleted != ip);
                self.added.retain(|asked| asked.ip != ip);
                self.confirmed.remove(&ip);
                self.offered.remove(&ip);
                self.costs.remove(&ip);
            }
            AddressRequest::KeepOnly(ip) => {
                self.kept.take_if(|kept| *kept == ip);
                if accepted {
                    self.added.clear();
                    self.deleted.clear();
                    self.confirmed.retain(|known, _| *known == ip);
                    self.offered.retain(|known, _| *known == ip);
                    self.costs.retain(|known, _| *known == ip);
                }
            }
            _ => {}
        }
    }
}
