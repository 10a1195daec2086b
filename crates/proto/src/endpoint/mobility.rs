//! The endpoint's part in mobility: passes changes of the host's links to the associations, and collects what
//! the host must do for its sockets. Decides nothing: [`crate::mobility`] does.

use core::net::IpAddr;

use msctp_units::Time;

use super::Endpoint;
use crate::association::News;
use crate::handover::{LinkEvent, LinkState};
use crate::mobility::{LinkChange, Links, Mobility, SocketOrder, Step, follow, is_stranded, name_others};
use crate::stats::{PathState, PathStats};

/// # Mobility
///
/// An endpoint that follows its host's links ([`follow_links`](Self::follow_links)) adds their addresses to
/// its associations, moves their data and deletes addresses that are gone. The host reports its links
/// ([`link_change`](Self::link_change)), and opens and closes sockets as
/// [`poll_socket`](Self::poll_socket) says, before it drains the endpoint.
impl Endpoint {
    /// Follows the host's links from now on. `sockets` are the local addresses of the sockets that are open;
    /// an unspecified one is that of a socket whose local address the host chooses.
    pub fn follow_links(&mut self, options: Mobility, sockets: &[IpAddr]) {
        self.links = Some(Box::new(Links::new(options, sockets)));
    }

    /// Returns whether the endpoint follows the host's links.
    pub fn follows_links(&self) -> bool {
        self.links.is_some()
    }

    /// Reports interfaces that came, changed or went. Reports of one moment belong into one call. Ignored by
    /// an endpoint that does not follow the host's links.
    pub fn link_change(&mut self, now: Time, changes: &[LinkChange]) {
        self.with_links(now, |links| links.change(now, changes));
    }

    /// Uses a local address, whatever the options say of its interface. `interface` is its name, which ranks
    /// the address; empty if it is not known.
    pub fn add_address(&mut self, now: Time, address: IpAddr, interface: &str) {
        self.with_links(now, |links| links.add(now, address, interface));
    }

    /// Ends the use of a local address. Associations leave it at once if they have another, and otherwise
    /// wait for one. A change of its link uses it again, as does [`add_address`](Self::add_address).
    pub fn remove_address(&mut self, now: Time, address: IpAddr) {
        self.with_links(now, |links| links.remove(now, address));
    }

    /// Reports that an address of a [`SocketOrder::Open`] cannot be used. A change of its link tries again.
    pub fn refuse_address(&mut self, now: Time, address: IpAddr) {
        self.with_links(now, |links| links.refuse(now, address));
    }

    /// Returns what the host must do next for its sockets. Call it until it returns `None` after each call
    /// that reports something about addresses, and after [`handle_timeout`](Self::handle_timeout).
    pub fn poll_socket(&mut self) -> Option<SocketOrder> {
        self.socket_orders.pop_front()
    }

    /// Returns how good a local address is: 0 is the best. `None` if it is not used now, or the endpoint does
    /// not follow the host's links.
    pub fn rank_of(&self, address: IpAddr) -> Option<usize> {
        self.links.as_ref()?.rank(address)
    }

    /// Returns whether a local address was reported, or named, and is down now.
    pub fn is_down(&self, address: IpAddr) -> bool {
        self.links.as_ref().is_some_and(|links| links.is_down(address))
    }

    /// Returns the name of a local address's interface; `None` if nothing reported the address.
    pub fn interface_of(&self, address: IpAddr) -> Option<&str> {
        self.links.as_ref()?.interface_of(address)
    }

    /// Reports to every association that the link of a local address came up or went down, for an endpoint
    /// that does not follow the host's links.
    pub fn notify_link(&mut self, now: Time, local: IpAddr, up: bool) {
        let state = if up { LinkState::Up } else { LinkState::Down };
        for slot in 0..self.slots.len() as u32 {
            let Some(entry) = &mut self.slots[slot as usize].entry else { continue };
            self.running = Some(slot);
            // An association without the address ignores it.
            let _ = entry.association.link_event(now, LinkEvent { local, state });
            self.mark_dirty(slot);
        }
    }

    /// Handles the timers of the links.
    #[inline]
    pub(super) fn links_timeout(&mut self, now: Time) {
        if self.links.as_ref().and_then(|links| links.next_timeout()).is_some_and(|at| at <= now) {
            self.with_links(now, |links| links.timeout(now));
        }
    }

    fn with_links(&mut self, now: Time, change: impl FnOnce(&mut Links) -> Vec<Step>) {
        let Some(links) = &mut self.links else { return };
        let steps = change(links);
        // An association that nothing else carries does not wait for a link that flaps.
        let decide = !steps.is_empty() || links.has_held();
        for step in steps {
            match step {
                Step::Use(address) => {
                    let interface = self.interface_of(address).unwrap_or_default().to_owned();
                    self.socket_orders.push_back(SocketOrder::Open { address, interface });
                    self.notify_link(now, address, true);
                }
                Step::Down(address) => self.notify_link(now, address, false),
                Step::Delete(_) => {}
                Step::Gone(address) => self.socket_orders.push_back(SocketOrder::Close(address)),
            }
        }
        if decide {
            self.reconsider_all();
        }
    }

    fn reconsider_all(&mut self) {
        for slot in 0..self.slots.len() as u32 {
            if let Some(entry) = &mut self.slots[slot as usize].entry {
                entry.association.reconsider();
                self.mark_dirty(slot);
            }
        }
    }

    /// Tries other interfaces for addresses that several have, if no association's packets pass through the
    /// one in use. `stranded`: those of the association in this slot do not.
    fn choose_interfaces(&mut self, now: Time, slot: u32, stranded: bool) {
        let Some(entry) = &self.slots[slot as usize].entry else { return };
        let mut own = entry.association.locals();
        let Some(links) = self.links.as_deref_mut() else { return };
        own.retain(|ip| links.is_shared(*ip));
        for ip in own {
            let works = |path: &PathStats| path.at.local == ip && path.state == PathState::Active;
            let mut others = self.slots.iter().filter_map(|slot| slot.entry.as_ref());
            let stranded =
                stranded && !others.any(|entry| entry.association.paths().any(|path| works(&path)));
            let again = links.note_stranded(now, ip, stranded);
            if let (Some(at), Some(entry)) = (again, &mut self.slots[slot as usize].entry) {
                entry.association.with_moves(|_, moves| moves.decide_again(at));
            }
        }
    }

    /// Decides about an association whose paths or addresses changed. Returns whether it may have something
    /// to send.
    #[cold]
    pub(super) fn follow(&mut self, now: Time, slot: u32) -> bool {
        let Some(entry) = &mut self.slots[slot as usize].entry else { return false };
        let association = &mut entry.association;
        let news = association.take_news();
        match (self.links.as_deref_mut(), self.host.as_deref()) {
            (Some(links), _) => {
                association.with_moves(|association, moves| follow(association, moves, links, now));
                let stranded = is_stranded(association, links);
                if stranded {
                    links.end_holds(now);
                }
                self.choose_interfaces(now, slot, stranded);
            }
            (None, Some(host)) if news == News::Began => name_others(association, host, now),
            (None, _) => return false,
        }
        true
    }
}
