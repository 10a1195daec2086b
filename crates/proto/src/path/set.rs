//! [`Paths`]: all paths of one association, in the order of their ids, and its address lists.

use core::net::IpAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use msctp_units::Time;
use smallvec::SmallVec;

use super::failure::DataTimeouts;
use super::heartbeat::Schedule;
use super::pairing::{MAX_ADDRESSES, MAX_PATHS, can_pair, is_endpoint};
use super::{HostAddrs, Path, PathAddr, PathEvent, PathId, PathState, PathsConfig, SourceUse};
use crate::cost::Cost;
use crate::rng::RngState;

/// Ids of the paths created for an added address.
pub(crate) type Added = SmallVec<[PathId; 4]>;

/// Pairs created for an added address.
type Pairs = SmallVec<[PathAddr; 2]>;

/// A reason why an address was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address exists already.
    #[error("{0} is already an address of this association")]
    Exists(IpAddr),
    /// A multicast, broadcast or unspecified address.
    #[error("{0} cannot be an address of a path: want a unicast address")]
    NotUnicast(IpAddr),
    /// Too many addresses or paths.
    #[error("no room for {0}: want at most {MAX_ADDRESSES} addresses at each end and {MAX_PATHS} paths")]
    Full(IpAddr),
}

/// A reason why a path did not become the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SetPrimaryError {
    /// No path has this id.
    #[error("{0} is not a path of this association")]
    Unknown(PathId),
    /// The path is not confirmed and may not carry data (RFC 9260 §5.4).
    #[error("{0} is not confirmed yet")]
    Unconfirmed(PathId),
}

/// A local address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    pub(super) addr: IpAddr,
    source: SourceUse,
    link_up: bool,
    pub(super) cost: Cost,
}

/// An address of the peer.
#[derive(Clone, Copy, Debug)]
struct Remote {
    addr: IpAddr,
    /// True if a pair with it was confirmed, even if that pair was removed.
    confirmed: bool,
    /// True if the peer has never listed it: only packets came from there.
    heard_only: bool,
}

/// All paths of one association. Iteration is in the order of path ids, which is the order of their creation.
#[derive(Debug)]
pub(crate) struct Paths {
    pub(super) config: Arc<PathsConfig>,
    /// Bytes of each packet that are neither headers nor DATA, such as an AUTH chunk (RFC 4895).
    reserved: u32,
    /// The paths by ascending id. Without removals a path's id is its index.
    pub(super) list: Vec<Path>,
    pub(super) locals: SmallVec<[Local; 1]>,
    remotes: SmallVec<[Remote; 1]>,
    /// This host's addresses; `None` if nobody told them.
    host: Option<Arc<HostAddrs>>,
    next_id: u32,
    pub(super) primary: Option<PathId>,
    /// Address on which the peer requests data.
    pub(super) wanted_primary: Option<IpAddr>,
    /// The path for new data, which `refresh` in `select` updates.
    pub(super) data_path: Option<PathId>,
    /// The previous data path while it may carry data, and the addresses of the last SACK meanwhile.
    /// `overlap` updates both.
    pub(super) former: Option<PathId>,
    /// Number of paths that carry new data at once (`Path::joined`), or 0. `overlap` updates it.
    pub(super) joined: u8,
    pub(super) heard_on: Option<PathId>,
    /// Consecutive errors of the association (RFC 9260 §8.1).
    pub(super) assoc_error_count: u32,
    /// Consecutive timeouts of user data, which answers to HEARTBEATs do not clear.
    pub(super) data_timeouts: DataTimeouts,
    pub(super) schedule: Schedule,
    /// True if PMTU discovery has not started, because unsent data never exceeded one packet.
    pub(super) pmtu_discovery_pending: bool,
    /// Number of changes of the local addresses' costs.
    pub(super) cost_version: u32,
    /// True while probes would be answered in clear although keys are agreed on.
    pub(super) probes_held: bool,
    pub(super) rng: RngState,
    events: VecDeque<PathEvent>,
}

impl Paths {
    /// Creates an empty set without heartbeats. `seed` seeds nonces and jitter.
    pub(crate) fn new(config: impl Into<Arc<PathsConfig>>, seed: [u8; 32]) -> Self {
        let config = config.into();
        Self {
            pmtu_discovery_pending: config.pmtu.is_discovered(),
            cost_version: 0,
            probes_held: false,
            config,
            reserved: 0,
            list: Vec::new(),
            locals: SmallVec::new(),
            remotes: SmallVec::new(),
            host: None,
            next_id: 0,
            primary: None,
            wanted_primary: None,
            data_path: None,
            former: None,
            joined: 0,
            heard_on: None,
            assoc_error_count: 0,
            data_timeouts: DataTimeouts::default(),
            schedule: Schedule::default(),
            rng: RngState::new(seed),
            events: VecDeque::new(),
        }
    }

    /// Reserves `bytes` bytes of each packet for chunks other than DATA.
    pub(crate) fn reserve(&mut self, bytes: u32) {
        if core::mem::replace(&mut self.reserved, bytes) == bytes {
            return;
        }
        for path in &mut self.list {
            path.reserved = bytes;
            path.set_pmtu(path.pmtu);
        }
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<PathEvent> {
        let event = self.events.pop_front();
        if event.is_none() {
            // Events are rare: free the memory.
            self.events = VecDeque::new();
        }
        event
    }

    /// Returns true if [`poll_event`](Self::poll_event) would return an event.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(super) fn emit(&mut self, event: PathEvent) {
        self.events.push_back(event);
    }

    /// Returns the next deadline, in the past if something is due now.
    ///
    /// It covers [`handle_timeout`](Self::handle_timeout), [`poll_heartbeat`](Self::poll_heartbeat) and
    /// [`poll_probe`](Self::poll_probe). T3-rtx is not included: see [`earliest_t3`](Self::earliest_t3).
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        [self.next_heartbeat_timeout(), self.next_probe_timeout()].into_iter().flatten().min()
    }

    /// Times out heartbeats and probes, and checks for idle paths. An early call has no effect.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.handle_heartbeat_timeout(now);
        self.handle_probe_timeout(now);
    }

    /// Returns the number of paths.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns all paths by ascending id.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.list.iter()
    }

    /// Returns all paths by ascending id, for changes.
    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Path> {
        self.list.iter_mut()
    }

    #[inline]
    pub(crate) fn index(&self, id: PathId) -> Option<usize> {
        let guess = id.number() as usize;
        if self.list.get(guess).is_some_and(|path| path.id == id) {
            return Some(guess);
        }
        // A path before it was removed.
        self.list.binary_search_by_key(&id, |path| path.id).ok()
    }

    /// Returns the path at this index, which must exist.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &Path {
        &self.list[index]
    }

    /// Returns the path at this index, which must exist, for changes.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut Path {
        &mut self.list[index]
    }

    /// Returns the path with this id.
    #[inline]
    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.index(id).map(|i| &self.list[i])
    }

    /// Returns the path with this id for changes.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.index(id).map(|i| &mut self.list[i])
    }

    /// Returns the path between these addresses.
    #[inline]
    pub(crate) fn by_addr(&self, addr: PathAddr) -> Option<PathId> {
        self.list.iter().find(|path| path.addr == addr).map(|path| path.id)
    }

    /// Returns the path between these addresses for changes.
    #[inline]
    pub(crate) fn by_addr_mut(&mut self, addr: PathAddr) -> Option<&mut Path> {
        self.list.iter_mut().find(|path| path.addr == addr)
    }

    /// Returns when the first T3-rtx expires.
    #[inline]
    pub(crate) fn earliest_t3(&self) -> Option<Time> {
        let mut earliest = None;
        for path in &self.list {
            if let Some(at) = path.t3_rtx {
                earliest = Some(earliest.map_or(at, |earliest: Time| earliest.min(at)));
            }
        }
        earliest
    }

    /// Returns AMDCS, the smallest PMDCS of all paths in bytes, which limits fragments (RFC 9260 §7.3).
    ///
    /// `None` without paths.
    pub(crate) fn amdcs(&self) -> Option<u32> {
        self.list.iter().map(Path::pmdcs).min()
    }

    /// Returns true if verification is over: every path is confirmed or inactive (RFC 9260 §5.4).
    #[cfg(test)]
    pub(crate) fn all_verified(&self) -> bool {
        self.list.iter().all(|path| path.confirmed || path.state == PathState::Inactive)
    }

    /// Returns the local addresses with their allowed use, in the order of their addition.
    pub(crate) fn locals(&self) -> impl ExactSizeIterator<Item = (IpAddr, SourceUse)> {
        self.locals.iter().map(|local| (local.addr, local.source))
    }

    /// Returns the peer's addresses, in the order of their addition.
    pub(crate) fn remotes(&self) -> impl ExactSizeIterator<Item = IpAddr> {
        self.remotes.iter().map(|remote| remote.addr)
    }

    /// Returns true for a local address, regardless of its allowed use.
    ///
    /// Packets to it belong to the association (RFC 5061 §5.3 F4 and the note on additions).
    pub(crate) fn has_local(&self, addr: &IpAddr) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# the IP address MUST be considered a valid destination address for the reception of SCTP packets
        //# until the ASCONF-ACK arrives
        self.locals.iter().any(|local| local.addr == *addr)
    }

    /// Returns the allowed use of a local address; `None` if it is not one of this association.
    pub(crate) fn local_source(&self, addr: &IpAddr) -> Option<SourceUse> {
        self.locals.iter().find(|local| local.addr == *addr).map(|local| local.source)
    }

    /// Returns true for an address of the peer.
    pub(crate) fn has_remote(&self, addr: &IpAddr) -> bool {
        self.remotes.iter().any(|remote| remote.addr == *addr)
    }

    /// Returns true if a pair with this remote address was confirmed, since RFC 9260 §5.4 confirms addresses.
    pub(crate) fn remote_is_confirmed(&self, addr: &IpAddr) -> bool {
        self.remotes.iter().any(|remote| remote.addr == *addr && remote.confirmed)
    }

    /// Adds a local address and its pairs with all remote addresses.
    ///
    /// New pairs are unconfirmed. Once heartbeats run, they are verified at once as far as `source` allows.
    ///
    /// # Errors
    ///
    /// The address exists already, is not unicast, or exceeds a limit.
    pub(crate) fn add_local(
        &mut self,
        addr: IpAddr,
        source: SourceUse,
        now: Time,
    ) -> Result<Added, AddressError> {
        let reachable = self.remotes.iter().filter(|remote| self.may_pair(&remote.addr));
        let pairs = reachable.map(|remote| PathAddr { local: addr, remote: remote.addr }).collect();
        let pairs = self.admit(addr, self.has_local(&addr), self.locals.len(), pairs)?;
        self.locals.reserve_exact(1);
        self.locals.push(Local { addr, source, link_up: true, cost: Cost::default() });
        Ok(self.insert(&pairs, now))
    }

    /// Adds an address at which the peer is or was called, and its pairs with all local addresses.
    ///
    /// New pairs are unconfirmed (RFC 9260 §5.4 rule 3, RFC 5061 §5.3 F14).
    ///
    /// # Errors
    ///
    /// The address exists already, is not unicast, or exceeds a limit.
    pub(crate) fn add_remote(&mut self, addr: IpAddr, now: Time) -> Result<Added, AddressError> {
        self.add_remote_if(addr, true, now)
    }

    /// Adds an address that the peer lists like [`add_remote`](Self::add_remote), without paths if it is one
    /// of this host.
    ///
    /// Hosts behind different routers may have the same private address, and packets to it reach only this
    /// host.
    ///
    /// # Errors
    ///
    /// Same as [`add_remote`](Self::add_remote).
    pub(crate) fn add_listed_remote(&mut self, addr: IpAddr, now: Time) -> Result<Added, AddressError> {
        self.add_remote_if(addr, self.may_pair(&addr), now)
    }

    /// Adds an address from which packets of the peer came like
    /// [`add_listed_remote`](Self::add_listed_remote). The peer has not listed it.
    ///
    /// # Errors
    ///
    /// Same as [`add_remote`](Self::add_remote).
    pub(crate) fn add_heard_remote(&mut self, addr: IpAddr, now: Time) -> Result<Added, AddressError> {
        let added = self.add_listed_remote(addr, now)?;
        self.set_heard_only(&addr, true);
        Ok(added)
    }

    /// Records that the peer lists an address, which it may not have done before. Returns whether that is so.
    pub(crate) fn note_listed(&mut self, addr: &IpAddr) -> bool {
        self.set_heard_only(addr, false)
    }

    fn set_heard_only(&mut self, addr: &IpAddr, heard_only: bool) -> bool {
        let remote = self.remotes.iter_mut().find(|remote| remote.addr == *addr);
        remote.is_some_and(|remote| core::mem::replace(&mut remote.heard_only, heard_only) != heard_only)
    }

    /// Returns true for an address of the peer that it has not listed. An observer may have answered for it.
    pub(crate) fn is_heard_only(&self, addr: &IpAddr) -> bool {
        self.remotes.iter().any(|remote| remote.addr == *addr && remote.heard_only)
    }

    /// Returns whether these addresses of the peer fit, with their paths. Those that exist count once.
    pub(crate) fn has_room_for(&self, added: &[IpAddr]) -> bool {
        let new = || added.iter().filter(|address| !self.has_remote(address));
        let paths: usize = new().filter_map(|address| self.paths_to(address)).sum();
        self.remotes.len() + new().count() <= MAX_ADDRESSES && self.list.len() + paths <= MAX_PATHS
    }

    /// Returns the addresses that the peer has not listed, the oldest first.
    pub(crate) fn heard_remotes(&self) -> impl Iterator<Item = IpAddr> {
        self.remotes.iter().filter(|remote| remote.heard_only).map(|remote| remote.addr)
    }

    fn add_remote_if(&mut self, addr: IpAddr, pairs: bool, now: Time) -> Result<Added, AddressError> {
        let locals = self.locals.iter().filter(|_| pairs);
        let pairs = locals.map(|local| PathAddr { local: local.addr, remote: addr }).collect();
        let pairs = self.admit(addr, self.has_remote(&addr), self.remotes.len(), pairs)?;
        self.remotes.reserve_exact(1);
        self.remotes.push(Remote { addr, confirmed: false, heard_only: false });
        Ok(self.insert(&pairs, now))
    }

    /// Returns the number of paths to an address of the peer, or of those that it would have if the peer
    /// added it. `None` if it is an address of this host to which no path may lead.
    pub(crate) fn paths_to(&self, remote: &IpAddr) -> Option<usize> {
        if self.has_remote(remote) {
            return Some(self.list.iter().filter(|path| path.addr.remote == *remote).count());
        }
        let reaching = self.locals.iter().filter(|local| can_pair(&local.addr, remote));
        self.may_pair(remote).then(|| reaching.count())
    }

    /// Returns true if there may be paths to this address of the peer: it is not one of this host, or the
    /// peer is at this host.
    fn may_pair(&self, remote: &IpAddr) -> bool {
        // Every loopback address is one of this host, whether it is listed or not.
        let is_own = |address: &IpAddr| {
            address.is_loopback()
                || self.has_local(address)
                || self.host.as_ref().is_some_and(|host| host.all.contains(address))
        };
        !is_own(remote) || self.list.iter().any(|path| is_own(&path.addr.remote))
    }

    /// Sets the addresses of this host. Existing paths stay.
    pub(crate) fn set_host(&mut self, host: Option<Arc<HostAddrs>>) {
        self.host = host;
    }

    /// Returns true if a packet in clear may name this local address to a peer with, or at, the address
    /// `called`.
    pub(crate) fn shows(&self, local: &IpAddr, called: &IpAddr) -> bool {
        self.host.as_ref().is_none_or(|host| host.shows(local, called))
    }

    /// Returns true if a packet in clear may name this local address to the peer, by the confirmed addresses
    /// of the peer.
    pub(crate) fn shows_to_peer(&self, local: &IpAddr) -> bool {
        self.remotes.iter().any(|remote| remote.confirmed && self.shows(local, &remote.addr))
    }

    /// Returns the `pairs` that become paths, if `addr` is acceptable.
    fn admit(
        &self,
        addr: IpAddr,
        exists: bool,
        count: usize,
        mut pairs: Pairs,
    ) -> Result<Pairs, AddressError> {
        if exists {
            return Err(AddressError::Exists(addr));
        }
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.2.1
        //# This parameter MUST NOT contain a broadcast or multicast address.
        if !is_endpoint(&addr) {
            return Err(AddressError::NotUnicast(addr));
        }
        pairs.retain(|pair| can_pair(&pair.local, &pair.remote));
        let ids_left = (u32::MAX - self.next_id) as usize;
        if count >= MAX_ADDRESSES || self.list.len() + pairs.len() > MAX_PATHS || pairs.len() > ids_left {
            return Err(AddressError::Full(addr));
        }
        Ok(pairs)
    }

    fn insert(&mut self, pairs: &[PathAddr], now: Time) -> Added {
        let mut added = Added::new();
        // Paths are large and additions rare: reserve exactly.
        self.list.reserve_exact(pairs.len());
        for &addr in pairs {
            let id = PathId::new(self.next_id);
            self.next_id += 1;
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# F14) All addresses added by the reception of an ASCONF Chunk MUST be
            let mut path = Path::new(id, addr, &self.config, self.reserved, now);
            if !self.pmtu_discovery_pending {
                path.start_pmtu_discovery(&self.config);
            }
            if let Some(local) = self.locals.iter().find(|local| local.addr == addr.local) {
                path.source = local.source;
                path.link_up = local.link_up;
                path.costs.ours = local.cost;
            }
            self.list.push(path);
            added.push(id);
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# The receiver MUST use the path-verification procedure for the added address before using that
            //# address.
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# put into the UNCONFIRMED state and MUST have path verification performed on them before the
            //# address can be used as described in [RFC4960], Section 5.4.
            self.schedule_first(self.list.len() - 1, now);
        }
        if self.primary.is_none() {
            self.primary = added.first().copied();
        }
        self.refresh();
        added
    }

    /// Removes a local address and returns its paths. Data transfer moves the chunks in flight on them.
    pub(crate) fn remove_local(&mut self, addr: &IpAddr) -> Vec<Path> {
        self.locals.retain(|local| local.addr != *addr);
        self.remove_paths(|path| path.addr.local == *addr)
    }

    /// Removes an address of the peer and returns its paths (RFC 5061 §5.3 F13). Data transfer moves the
    /// chunks in flight on them.
    pub(crate) fn remove_remote(&mut self, addr: &IpAddr) -> Vec<Path> {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# address, the endpoint MUST consider the address no longer part of the association.
        self.remotes.retain(|remote| remote.addr != *addr);
        self.wanted_primary.take_if(|wanted| wanted == addr);
        self.remove_paths(|path| path.addr.remote == *addr)
    }

    fn remove_paths(&mut self, gone: impl Fn(&Path) -> bool) -> Vec<Path> {
        let removed: Vec<Path> = self.list.extract_if(.., |path| gone(path)).collect();
        if removed.iter().any(|path| Some(path.id) == self.primary) {
            // RFC 5061 §5.3 F12 leaves the choice open: the data path, which `refresh` selects.
            self.primary = None;
        }
        self.refresh();
        if self.primary.is_none() {
            self.primary = self.data_path.or_else(|| self.list.first().map(|path| path.id));
        }
        removed
    }

    /// Allows or forbids a local address as a source (RFC 5061 §5.3 F1, F2, F4).
    ///
    /// Unconfirmed paths from an address that becomes allowed are verified at once. Has no effect on an
    /// unknown address.
    pub(crate) fn set_source_use(&mut self, addr: &IpAddr, source: SourceUse, now: Time) {
        self.change_local(addr, now, |local| local.source = source);
    }

    /// Sets the link of a local address down or up.
    ///
    /// Paths over a link that is down carry nothing, and their error counters stay. When the link comes up
    /// they get a heartbeat at once. Has no effect on an unknown address.
    pub(crate) fn set_link(&mut self, addr: &IpAddr, up: bool, now: Time) {
        self.change_local(addr, now, |local| local.link_up = up);
    }

    /// Changes a local address and its paths.
    fn change_local(&mut self, addr: &IpAddr, now: Time, change: impl FnOnce(&mut Local)) {
        let Some(local) = self.locals.iter_mut().find(|local| local.addr == *addr) else { return };
        let before = *local;
        change(local);
        let Local { source, link_up, .. } = *local;
        if before.link_up == link_up && before.source == source {
            return;
        }
        for index in 0..self.list.len() {
            if self.list[index].addr.local == *addr {
                (self.list[index].source, self.list[index].link_up) = (source, link_up);
                self.reschedule(index, now);
            }
        }
        self.refresh();
        if !link_up || source != SourceUse::Full {
            self.test_others_if_stranded(None);
        }
    }

    /// Confirms a path without a heartbeat (RFC 9260 §5.4).
    ///
    /// Rule 1 covers addresses named by the initiator's application, rule 2 the pair of the INIT ACK. Has no
    /// effect on a path that is confirmed or does not exist.
    pub(crate) fn confirm(&mut self, id: PathId, now: Time) {
        let Some(index) = self.index(id) else { return };
        if !self.list[index].confirmed {
            self.mark_confirmed(index);
            self.reschedule(index, now);
        }
    }

    /// Resets the paths after a restart of the peer: only `confirmed` stays confirmed and becomes the
    /// primary.
    ///
    /// The others are verified once heartbeats run (RFC 9260 §5.4).
    pub(crate) fn verify_anew(&mut self, confirmed: Option<PathId>, now: Time) {
        self.remotes.iter_mut().for_each(|remote| remote.confirmed = false);
        self.wanted_primary = None;
        (self.former, self.heard_on) = (None, None);
        self.on_data_acknowledged();
        if confirmed.is_some() {
            self.primary = confirmed;
        }
        for index in 0..self.list.len() {
            let path = &mut self.list[index];
            path.confirmed = false;
            path.error_count = 0;
            path.early = 0;
            path.heartbeat.forget();
            self.set_state(index, PathState::Unconfirmed);
        }
        if let Some(id) = confirmed {
            self.confirm(id, now);
        }
        self.refresh();
    }

    /// Sets a path confirmed and active.
    pub(super) fn mark_confirmed(&mut self, index: usize) {
        let path = &mut self.list[index];
        path.confirmed = true;
        if let Some(remote) = self.remotes.iter_mut().find(|remote| remote.addr == path.addr.remote) {
            remote.confirmed = true;
        }
        self.set_state(index, PathState::Active);
    }

    pub(super) fn set_state(&mut self, index: usize, to: PathState) {
        let path = &mut self.list[index];
        let from = core::mem::replace(&mut path.state, to);
        if from != to {
            path.check_probing();
            let path = path.id;
            self.emit(PathEvent::StateChanged { path, from, to });
            self.refresh();
            if from == PathState::Active {
                self.test_others_if_stranded(Some(path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{P0, P1, P2, P3, confirmed, events, ip, local, ms, paths, remote};
    use super::*;

    fn ids(paths: &Paths) -> Vec<PathId> {
        paths.iter().map(Path::id).collect()
    }

    #[test]
    fn every_local_pairs_with_every_remote_of_its_family() {
        let mut paths = paths(2, 1);
        assert_eq!(ids(&paths), [P0, P1]);
        assert_eq!(paths.primary(), Some(P0));
        assert_eq!(paths.by_addr(PathAddr { local: local(1), remote: remote(0) }), Some(P1));
        assert_eq!(paths.add_local(ip("2001:db8::1"), SourceUse::Full, ms(0)).unwrap().len(), 0);
        let added = paths.add_remote(ip("2001:db8::2"), ms(0)).unwrap();
        assert_eq!(added[..], [P2]);
        // 1500 − 40 − 12 = 1448, 1500 − 20 − 12 = 1468; both whole words
        assert_eq!(paths.get(P2).unwrap().pmdcs(), 1448);
        assert_eq!(paths.get(P0).unwrap().pmdcs(), 1468);
        assert_eq!(paths.amdcs(), Some(1448));
    }

    #[test]
    fn addresses_are_taken_once_and_unicast_and_bounded() {
        let mut paths = paths(1, 1);
        assert_eq!(paths.add_remote(remote(0), ms(0)), Err(AddressError::Exists(remote(0))));
        assert_eq!(
            paths.add_local(ip("0.0.0.0"), SourceUse::Full, ms(0)),
            Err(AddressError::NotUnicast(ip("0.0.0.0")))
        );
        assert_eq!(paths.add_remote(ip("224.0.0.1"), ms(0)), Err(AddressError::NotUnicast(ip("224.0.0.1"))));
        for n in 1..MAX_ADDRESSES as u8 {
            paths.add_remote(remote(n), ms(0)).unwrap();
        }
        assert_eq!(paths.add_remote(remote(99), ms(0)), Err(AddressError::Full(remote(99))));
        for n in 1..4 {
            paths.add_local(local(n), SourceUse::Full, ms(0)).unwrap();
        }
        assert_eq!(paths.len(), MAX_PATHS);
        assert_eq!(paths.add_local(local(4), SourceUse::Full, ms(0)), Err(AddressError::Full(local(4))));
        assert!(!paths.has_local(&local(4)));
    }

    #[test]
    fn ids_are_never_reused_and_found_after_removals() {
        let mut paths = confirmed(2, 2);
        assert_eq!(ids(&paths), [P0, P1, P2, P3], "remote 0 with both locals, then remote 1");
        let removed = paths.remove_remote(&remote(0));
        assert_eq!(removed.iter().map(Path::id).collect::<Vec<_>>(), [P0, P1]);
        assert_eq!(ids(&paths), [P2, P3]);
        assert!(paths.get(P0).is_none());
        assert_eq!(paths.get(P3).unwrap().addr(), PathAddr { local: local(1), remote: remote(1) });
        let again = paths.add_remote(remote(0), ms(1)).unwrap();
        assert_eq!(again[..], [PathId::new(4), PathId::new(5)]);
        assert_eq!(paths.get_mut(PathId::new(5)).unwrap().addr().local, local(1));
    }

    #[test]
    fn removal_of_the_primary_moves_data_and_hands_over_what_is_in_flight() {
        // RFC 5061 §5.3 F12
        let mut paths = confirmed(2, 1);
        paths.get_mut(P0).unwrap().flight_size = 3000;
        let removed = paths.remove_local(&local(0));
        assert_eq!(removed[0].flight_size, 3000);
        assert_eq!((paths.primary(), paths.data_path()), (Some(P1), Some(P1)));
        assert_eq!(events(&mut paths), [PathEvent::DataPathChanged { from: Some(P0), to: Some(P1) }]);
        assert!(!paths.has_local(&local(0)));
        paths.remove_local(&local(1));
        assert_eq!((paths.primary(), paths.data_path()), (None, None));
    }

    #[test]
    fn confirmation_needs_no_heartbeat_where_the_rfc_allows_it() {
        // RFC 9260 §5.4 rules 1 and 2
        let mut paths = paths(1, 2);
        assert_eq!(paths.data_path(), None);
        paths.confirm(P0, ms(0));
        assert_eq!(
            events(&mut paths),
            [
                PathEvent::StateChanged { path: P0, from: PathState::Unconfirmed, to: PathState::Active },
                PathEvent::DataPathChanged { from: None, to: Some(P0) },
            ]
        );
        assert!(!paths.all_verified());
        paths.confirm(P1, ms(0));
        assert!(paths.all_verified());
        assert!(paths.remote_is_confirmed(&remote(1)) && !paths.remote_is_confirmed(&remote(2)));
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=test
    //# the IP address MUST be considered a valid destination address for the reception of SCTP packets until
    //# the ASCONF-ACK arrives
    #[test]
    fn source_rules_of_an_address_hold_for_all_its_pairs() {
        // RFC 5061 §5.3 F1, F2, F4
        let mut paths = confirmed(1, 2);
        let added = paths.add_local(local(5), SourceUse::AsconfOnly, ms(0)).unwrap();
        for &id in &added {
            paths.confirm(id, ms(0));
            assert!(!paths.get(id).unwrap().is_usable());
        }
        paths.set_source_use(&local(5), SourceUse::Full, ms(1));
        assert!(added.iter().all(|&id| paths.get(id).unwrap().is_usable()));
        paths.set_source_use(&local(0), SourceUse::ReceiveOnly, ms(2));
        assert_eq!(paths.data_path(), Some(added[0]));
        assert_eq!(paths.local_source(&local(0)), Some(SourceUse::ReceiveOnly));
        assert!(paths.has_local(&local(0)), "still valid to receive on");
        // the peer rejected the deletion
        paths.set_source_use(&local(0), SourceUse::Full, ms(3));
        assert_eq!(paths.data_path(), Some(P0));
    }
}
