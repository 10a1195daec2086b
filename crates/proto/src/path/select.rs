//! Path selection: primary, data path, failover, retransmissions, requests and replies (RFC 9260 §6.4).

use core::cmp::Reverse;
use core::net::IpAddr;

use super::pairing::can_pair;
use super::{Path, PathAddr, PathEvent, PathId, PathState, Paths, SetPrimaryError, SourceUse};

impl Paths {
    /// Returns the primary path (RFC 9260 §6.4); `None` only without paths.
    pub(crate) fn primary(&self) -> Option<PathId> {
        self.primary
    }

    /// Makes a confirmed path the primary (RFC 9260 §11.1.6, RFC 5061 §5.4).
    ///
    /// It may be inactive: data then uses an alternate until it works.
    ///
    /// # Errors
    ///
    /// The path does not exist or is not confirmed.
    pub(crate) fn set_primary(&mut self, id: PathId) -> Result<(), SetPrimaryError> {
        let path = self.get(id).ok_or(SetPrimaryError::Unknown(id))?;
        if !path.confirmed {
            return Err(SetPrimaryError::Unconfirmed(id));
        }
        self.primary = Some(id);
        self.wanted_primary = None;
        self.refresh();
        Ok(())
    }

    /// Records the peer's request for data on one of its addresses (RFC 5061 §4.2.4, §5.4).
    ///
    /// [`take_wanted_primary`](Self::take_wanted_primary) applies it. A later request or
    /// [`set_primary`](Self::set_primary) replaces it. An unknown address is ignored.
    pub(crate) fn want_primary(&mut self, remote: &IpAddr) {
        if self.has_remote(remote) {
            self.wanted_primary = Some(*remote);
        }
    }

    /// Returns, once, the new primary path that the peer requested.
    ///
    /// It is [`best_to`](Self::best_to) the address, as soon as a pair with it is confirmed (RFC 9260 §5.4).
    /// The caller passes it to [`set_primary`](Self::set_primary). Call this after a request and after each
    /// change of a path's state.
    pub(crate) fn take_wanted_primary(&mut self) -> Option<PathId> {
        let id = self.best_to(self.wanted_primary.as_ref()?)?;
        if !self.get(id)?.confirmed {
            return None;
        }
        self.wanted_primary = None;
        Some(id)
    }

    /// Returns the path for new data; `None` if no path may carry data.
    ///
    /// It is the primary if usable, otherwise one alternate (RFC 9260 §6.4.1, §8.2): the one most different
    /// from the failed path. Without a usable path it is the potentially failed one with the fewest errors
    /// (RFC 7829 §3.2). Without one of those it stays unchanged, so that T3-rtx keeps probing the peer;
    /// RFC 9260 §8.2 leaves this open. No path may carry data if none is confirmed, or if every local address
    /// is being added or deleted.
    #[inline]
    pub(crate) fn data_path(&self) -> Option<PathId> {
        self.data_path
    }

    /// Returns true if the data path is confirmed: any chunk may be sent there (RFC 9260 §5.4).
    pub(crate) fn has_confirmed_data_path(&self) -> bool {
        self.data_path.and_then(|id| self.get(id)).is_some_and(Path::is_confirmed)
    }

    /// Returns the path for retransmitting a chunk last sent on `last_used`, whose T3-rtx expired.
    ///
    /// It is the usable path that differs most, first by remote address (RFC 9260 §6.4), then by local
    /// address. Ties go to the fewest errors, then the lowest id. Without another usable path it is the same
    /// one if usable. Next comes the potentially failed one with the fewest errors, then the most divergent
    /// (RFC 7829 §3.2). If no path works, they are tried in turn (RFC 9260 §8.2 leaves this open): without
    /// heartbeats nothing else finds a path that works again. An address that the peer has not listed comes
    /// after the usable paths to those that it has: an observer may have answered for it.
    pub(crate) fn retransmission_path(&self, last_used: PathId) -> Option<PathId> {
        let last = self.get(last_used).map(|path| path.addr);
        let usable = |heard_only: bool| {
            let others = self.list.iter().filter(move |path| path.id != last_used && path.is_usable());
            others
                .filter(move |path| self.is_heard_only(&path.addr.remote) == heard_only)
                .min_by_key(|path| {
                    let apart = Reverse(last.map(|last| divergence(last, path.addr)));
                    (path.cost().backup, apart, path.error_count, path.id)
                })
                .map(|path| path.id)
        };
        usable(false)
            .or_else(|| self.get(last_used).filter(|path| path.is_usable()).map(|path| path.id))
            .or_else(|| usable(true))
            .or_else(|| self.potentially_failed_path(last))
            .or_else(|| self.next_in_turn(last_used))
            .or(self.data_path)
    }

    /// Returns the potentially failed path with the fewest errors, then the most different from `last`
    /// (RFC 7829 §3.2).
    fn potentially_failed_path(&self, last: Option<PathAddr>) -> Option<PathId> {
        self.list
            .iter()
            .filter(|path| path.is_second_choice())
            .min_by_key(|path| {
                (path.error_count, Reverse(last.map(|last| divergence(last, path.addr))), path.id)
            })
            .map(|path| path.id)
    }

    /// Returns the next path after `last` that may carry data, active or not.
    pub(crate) fn next_in_turn(&self, last: PathId) -> Option<PathId> {
        let may_carry = |path: &&Path| path.confirmed && path.link_up && path.source == SourceUse::Full;
        let all = || self.list.iter().filter(may_carry).map(|path| path.id);
        all().find(|&id| id > last).or_else(|| all().next())
    }

    /// Returns the path for a request to change addresses (RFC 5061 §5.1 A4, B4).
    ///
    /// `source`: the local address that must be the source, for a request about the source address itself
    /// (RFC 5061 §4.2.1). `last_used`: the path of the previous transmission; a retransmission prefers
    /// another. An address that is being added may be the source (§5.3 F1). It is used if no other path
    /// works: an interface that replaces another cannot be added otherwise (§5.3.2). An address that is being
    /// deleted is no source (F4, F6), unless its link is up and that of every other address is down.
    pub(crate) fn request_path_from(
        &self,
        source: Option<IpAddr>,
        last_used: Option<PathId>,
    ) -> Option<PathId> {
        self.request_path_among(last_used, |path| source.is_none_or(|source| path.addr.local == source))
    }

    /// Returns a path on which a request from an address that the peer knows is likely to arrive.
    ///
    /// In other respects it is like [`request_path_from`](Self::request_path_from).
    pub(crate) fn working_request_path(&self, last_used: Option<PathId>) -> Option<PathId> {
        self.request_path_among(last_used, |path| path.source == SourceUse::Full && path.may_deliver())
    }

    fn request_path_among(
        &self,
        last_used: Option<PathId>,
        admitted: impl Fn(&Path) -> bool,
    ) -> Option<PathId> {
        let going = |path: &&Path| path.source == SourceUse::ReceiveOnly;
        let others_down = self.list.iter().filter(|path| !going(path)).all(|path| !path.link_up);
        self.list
            .iter()
            .filter(|path| admitted(path))
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# An endpoint MUST NOT set an IP header source address for an SCTP packet holding the ASCONF
            //# Chunk to be the same as an address being deleted by the ASCONF Chunk.
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //= type=exception
            //= reason=the address returned and all others went down before the answer: no other address can
            //= reason=send the ASCONF, and no other ASCONF may follow it (§5.1 A3). The peer refuses the
            //= reason=Delete (F8), or repeats its answer if it has applied it (§5.2 E2)
            //# An endpoint MUST NOT set an IP header source address for an SCTP packet holding the ASCONF
            //# Chunk to be the same as an address being deleted by the ASCONF Chunk.
            .filter(|path| !going(path) || others_down && path.link_up)
            // RFC 9260 §5.4 forbids requests to an unconfirmed address, whatever the pair.
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# The receiver MUST NOT send packets to the new address except for
            .filter(|path| path.confirmed || self.remote_is_confirmed(&path.addr.remote))
            .min_by_key(|path| {
                (
                    !path.link_up,
                    path.state == PathState::Inactive,
                    Some(path.id) == last_used,
                    path.source != SourceUse::Full,
                    path.state != PathState::Active,
                    Some(path.id) != self.data_path,
                    path.error_count,
                    path.id,
                )
            })
            .map(|path| path.id)
    }

    /// Returns the path for the reply to a packet received at `at`; `None` if there is none.
    ///
    /// It is the pair of that packet (RFC 9260 §6.4) if it is confirmed and may be a source, otherwise the
    /// data path.
    #[inline]
    pub(crate) fn reply_path(&self, at: PathAddr) -> Option<PathId> {
        let back = self.list.iter().find(|path| path.addr == at);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
        //# An endpoint MUST NOT send any chunks to an UNCONFIRMED address, with the following exceptions:
        back.filter(|path| path.confirmed && path.link_up && path.source == SourceUse::Full)
            .map(|path| path.id)
            .or(self.data_path)
    }

    /// Allows `bytes` bytes of packets with data on an unconfirmed path (`Moves::Fast`).
    ///
    /// The peer has proved that it sends from the remote address, but not that it receives there. Has no
    /// effect on a confirmed path.
    pub(crate) fn allow_early_data(&mut self, id: PathId, bytes: u64) {
        if let Some(path) = self.get_mut(id).filter(|path| !path.confirmed) {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //= type=exception
            //= reason=option `moves`, standard by default: a few packets with data may go there before
            //# The receiver MUST NOT send packets to the new address except for
            path.early = path.early.saturating_add(bytes);
            self.refresh();
        }
    }

    /// Charges an SCTP packet of `len` bytes to the early allowance of a path.
    #[inline]
    pub(crate) fn spend_early(&mut self, id: PathId, len: u64) {
        if let Some(path) = self.get_mut(id) {
            path.early = path.early.saturating_sub(len + u64::from(path.ip_header()));
        }
    }

    /// Returns the addresses for the answer to an ASCONF, or to a packet without a path, received at `at`.
    ///
    /// The destination is the packet's source address, even if that is no address of the peer (RFC 5061 §5.2
    /// E6, §5.3.2). The source is the address it arrived at, unless that may not be a source (§5.3 F1, F4).
    /// Returns `None` if no local address may be a source.
    pub(crate) fn answer_addr(&self, at: PathAddr) -> Option<PathAddr> {
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# The destination address of the SCTP packet containing the ASCONF-ACK Chunks MUST be the source
        //# address of the SCTP packet that held the ASCONF Chunks.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
        //# The receiver MUST reply to the source address of the packet in this case
        let may_be_source =
            |local: &IpAddr| self.local_source(local) == Some(SourceUse::Full) && can_pair(local, &at.remote);
        if may_be_source(&at.local) {
            return Some(at);
        }
        let local = self.locals().map(|(local, _)| local).find(may_be_source)?;
        Some(PathAddr { local, remote: at.remote })
    }

    /// Returns the path for packets to `remote`.
    ///
    /// It has the primary's local address if such a pair exists. Otherwise it is the usable pair with the
    /// fewest errors, or the first. Used when the peer requests a primary by its address (RFC 5061 §4.2.4).
    pub(crate) fn best_to(&self, remote: &IpAddr) -> Option<PathId> {
        let primary_local = self.primary.and_then(|id| self.get(id)).map(|path| path.addr.local);
        self.list
            .iter()
            .filter(|path| path.addr.remote == *remote)
            .min_by_key(|path| {
                (
                    !path.is_usable(),
                    !path.confirmed,
                    Some(path.addr.local) != primary_local,
                    path.error_count,
                    path.id,
                )
            })
            .map(|path| path.id)
    }

    /// Selects the data path again after a change of a path's state, link, source or existence.
    pub(super) fn refresh(&mut self) {
        let chosen = self.choose();
        let from = core::mem::replace(&mut self.data_path, chosen);
        self.keep_former(from.filter(|_| from != chosen));
        self.join_paths();
        if from != chosen {
            self.emit(PathEvent::DataPathChanged { from, to: chosen });
        }
    }

    fn choose(&self) -> Option<PathId> {
        let may_carry = |path: &&Path| (path.confirmed || path.early > 0) && path.source == SourceUse::Full;
        let failed = |path: &&Path| path.state != PathState::Active;
        let left = self.data_path.and_then(|id| self.get(id)).filter(failed).map(|path| path.addr);
        self.list
            .iter()
            .filter(may_carry)
            .min_by_key(|path| {
                let usable = path.is_usable();
                let second = path.is_second_choice();
                (
                    !usable,
                    !second,
                    // RFC 7829 §3.2
                    if second { path.error_count } else { 0 },
                    !path.link_up,
                    // Without a usable path the data path stays; with one the primary comes first.
                    !usable || Some(path.id) != self.primary,
                    path.cost().backup,
                    // One alternate only (RFC 9260 §8.2): keep it while it works.
                    Some(path.id) != self.data_path,
                    // RFC 7829 §3.2, after RFC 9260 §6.4.1: as different as possible from the failed one
                    Reverse(left.map(|left| divergence(left, path.addr))),
                    path.error_count,
                    path.id,
                )
            })
            .map(|path| path.id)
    }
}

/// Returns how different two pairs are: 0 for equal pairs, 3 if both addresses differ.
fn divergence(a: PathAddr, b: PathAddr) -> u8 {
    2 * u8::from(a.remote != b.remote) + u8::from(a.local != b.local)
}

#[cfg(test)]
mod tests {
    use msctp_units::Time;

    use super::super::testing::{P0, P1, P2, P3, confirmed, events, fail, local, ms, paths, remote};
    use super::*;

    #[test]
    fn only_a_confirmed_path_becomes_primary() {
        let mut paths = paths(2, 1);
        assert_eq!(paths.set_primary(P1), Err(SetPrimaryError::Unconfirmed(P1)));
        assert_eq!(paths.set_primary(P3), Err(SetPrimaryError::Unknown(P3)));
        paths.confirm(P0, Time::ZERO);
        paths.confirm(P1, Time::ZERO);
        events(&mut paths);
        assert_eq!(paths.set_primary(P1), Ok(()));
        assert_eq!((paths.primary(), paths.data_path()), (Some(P1), Some(P1)));
        assert_eq!(events(&mut paths), [PathEvent::DataPathChanged { from: Some(P0), to: Some(P1) }]);
    }

    #[test]
    fn data_takes_one_alternate_while_the_primary_is_inactive_and_returns() {
        // RFC 9260 §6.4.1, §8.2
        let mut paths = confirmed(3, 1);
        fail(&mut paths, P0);
        assert_eq!((paths.primary(), paths.data_path()), (Some(P0), Some(P1)));
        // P2 has fewer errors now, but only one alternate should be used
        paths.on_timeout(P1);
        paths.set_link(&local(2), false, ms(1));
        paths.set_link(&local(2), true, ms(2));
        assert_eq!(paths.data_path(), Some(P1));
        fail(&mut paths, P1);
        assert_eq!(paths.data_path(), Some(P2));
        paths.on_acknowledged(P0);
        assert_eq!(paths.data_path(), Some(P0), "the primary is active again");
    }

    #[test]
    fn with_every_path_inactive_data_stays_where_it_was() {
        // RFC 9260 §8.2 leaves it open; see `data_path`
        let mut paths = confirmed(2, 1);
        fail(&mut paths, P0);
        fail(&mut paths, P1);
        assert_eq!(paths.data_path(), Some(P1));
        paths.on_acknowledged(P0);
        assert_eq!(paths.data_path(), Some(P0));
    }

    #[test]
    fn a_link_that_is_down_is_left_at_once() {
        let mut paths = confirmed(2, 1);
        paths.set_link(&local(0), false, ms(1));
        assert_eq!(paths.data_path(), Some(P1));
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Active);
        paths.set_link(&local(1), false, ms(2));
        assert_eq!(paths.data_path(), Some(P1), "nowhere else to go");
        paths.set_link(&local(0), true, ms(3));
        assert_eq!(paths.data_path(), Some(P0));
    }

    #[test]
    fn timed_out_chunks_take_the_most_divergent_usable_pair() {
        // RFC 9260 §6.4.1. P0 = 0-0, P1 = 1-0, P2 = 0-1, P3 = 1-1
        let mut paths = confirmed(2, 2);
        assert_eq!(paths.retransmission_path(P0), Some(P3));
        assert_eq!(paths.retransmission_path(P2), Some(P1));
        fail(&mut paths, P3);
        assert_eq!(
            paths.retransmission_path(P0),
            Some(P2),
            "another remote address before another local one"
        );
        fail(&mut paths, P2);
        assert_eq!(paths.retransmission_path(P0), Some(P1));
        fail(&mut paths, P1);
        assert_eq!(paths.retransmission_path(P0), Some(P0), "no other");
        assert_eq!(paths.retransmission_path(P1), Some(P0));
        paths.on_acknowledged(P3);
        assert_eq!(paths.retransmission_path(PathId::new(77)), Some(P0), "the last path was removed");
    }

    #[test]
    fn with_every_path_inactive_each_is_tried_in_turn() {
        let mut paths = confirmed(3, 1);
        for path in [P0, P1, P2] {
            fail(&mut paths, path);
        }
        assert_eq!(paths.retransmission_path(P0), Some(P1));
        paths.set_link(&local(2), false, ms(1));
        assert_eq!(paths.retransmission_path(P1), Some(P0), "round, and past the link that is down");
    }

    #[test]
    fn an_unconfirmed_path_never_carries_data() {
        // RFC 9260 §5.4
        let mut paths = paths(3, 1);
        paths.confirm(P1, Time::ZERO);
        assert_eq!(paths.data_path(), Some(P1));
        assert_eq!(paths.retransmission_path(P1), Some(P1));
        fail(&mut paths, P1);
        fail(&mut paths, P0);
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Inactive);
        assert_eq!(paths.data_path(), Some(P1), "P0 is inactive too, but was never confirmed");
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //= type=test
    //# An endpoint MUST NOT set an IP header source address for an SCTP packet holding the ASCONF Chunk to be
    //# the same as an address being deleted by the ASCONF Chunk.
    #[test]
    fn requests_leave_from_an_address_being_added_only_if_nothing_else_works() {
        // RFC 5061 §5.1 B4, §5.3 F1, F4, F6, §5.3.2
        let mut paths = confirmed(1, 1);
        let new = paths.add_local(local(9), SourceUse::AsconfOnly, ms(0)).unwrap()[0];
        assert_eq!(paths.request_path_from(None, None), Some(P0));
        assert_eq!(paths.request_path_from(None, Some(P0)), Some(new), "a retransmission tries another pair");
        paths.set_link(&local(0), false, ms(1));
        assert_eq!(paths.request_path_from(None, None), Some(new), "the old link is gone");
        paths.set_link(&local(0), true, ms(2));
        paths.set_source_use(&local(9), SourceUse::Full, ms(3));
        paths.set_source_use(&local(0), SourceUse::ReceiveOnly, ms(3));
        assert_eq!(paths.request_path_from(None, None), Some(new), "never from the address being deleted");
        assert_eq!(paths.working_request_path(None), Some(new));
        paths.set_link(&local(9), false, ms(3));
        assert_eq!(paths.request_path_from(None, None), Some(P0), "unless no other address has a link");
        paths.set_link(&local(0), false, ms(3));
        assert_eq!(paths.request_path_from(None, None), Some(new), "nor has this one");
        paths.set_link(&local(0), true, ms(3));
        paths.set_link(&local(9), true, ms(3));
        paths.set_source_use(&local(9), SourceUse::AsconfOnly, ms(3));
        assert_eq!(paths.working_request_path(None), None, "one that the peer lists");
        paths.set_source_use(&local(0), SourceUse::Full, ms(3));
        assert_eq!(paths.working_request_path(Some(P0)), Some(P0));
        fail(&mut paths, P0);
        assert_eq!(
            (paths.request_path_from(None, None), paths.working_request_path(None)),
            (Some(new), None)
        );
    }

    #[test]
    fn requests_never_go_to_an_unconfirmed_address() {
        // RFC 9260 §5.4
        let mut paths = confirmed(1, 1);
        paths.add_remote(remote(5), ms(0)).unwrap();
        assert_eq!(paths.request_path_from(None, Some(P0)), Some(P0));
    }

    #[test]
    fn replies_go_to_the_packets_source_if_allowed() {
        // RFC 9260 §6.4
        let mut paths = confirmed(2, 1);
        let at = paths.get(P1).unwrap().addr();
        assert_eq!(paths.reply_path(at), Some(P1));
        paths.set_source_use(&local(1), SourceUse::ReceiveOnly, ms(0));
        assert_eq!(paths.reply_path(at), Some(P0));
        assert_eq!(paths.reply_path(PathAddr { local: local(0), remote: remote(9) }), Some(P0));
    }

    #[test]
    fn a_primary_requested_by_address_keeps_the_local_address() {
        // P0 = 0-0, P1 = 1-0, P2 = 0-1, P3 = 1-1
        let mut paths = confirmed(2, 2);
        paths.set_primary(P1).unwrap();
        assert_eq!(paths.best_to(&remote(1)), Some(P3));
        paths.set_link(&local(1), false, ms(0));
        assert_eq!(paths.best_to(&remote(1)), Some(P2));
        assert_eq!(paths.best_to(&remote(7)), None);
    }

    #[test]
    fn a_primary_the_peer_wants_waits_for_confirmation() {
        // RFC 5061 §5.4 with RFC 9260 §5.4
        let mut paths = confirmed(1, 1);
        let new = paths.add_remote(remote(5), ms(0)).unwrap()[0];
        paths.want_primary(&remote(5));
        assert_eq!(paths.take_wanted_primary(), None);
        paths.confirm(new, ms(100));
        assert_eq!(paths.take_wanted_primary(), Some(new));
        assert_eq!(paths.take_wanted_primary(), None, "once");
        paths.want_primary(&remote(9));
        assert_eq!(paths.take_wanted_primary(), None, "not there");
        paths.want_primary(&remote(0));
        assert_eq!(paths.take_wanted_primary(), Some(P0));
    }

    #[test]
    fn a_wish_for_a_primary_ends_with_a_later_choice_or_with_the_address() {
        let mut paths = confirmed(1, 1);
        let new = paths.add_remote(remote(5), ms(0)).unwrap()[0];
        paths.want_primary(&remote(5));
        paths.set_primary(P0).unwrap();
        paths.confirm(new, ms(100));
        assert_eq!(paths.take_wanted_primary(), None);
        paths.add_remote(remote(6), ms(0)).unwrap();
        paths.want_primary(&remote(6));
        paths.remove_remote(&remote(6));
        let again = paths.add_remote(remote(6), ms(0)).unwrap()[0];
        paths.confirm(again, ms(200));
        assert_eq!(paths.take_wanted_primary(), None);
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
    //= type=test
    //# The destination address of the SCTP packet containing the ASCONF-ACK Chunks MUST be the source address
    //# of the SCTP packet that held the ASCONF Chunks.
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
    //= type=test
    //# The receiver MUST reply to the source address of the packet in this case
    #[test]
    fn an_asconf_is_answered_to_its_source_from_an_address_that_may_be_one() {
        // RFC 5061 §5.2 E6, §5.3 F1, F4
        let mut paths = confirmed(2, 1);
        let at = PathAddr { local: local(0), remote: remote(77) };
        assert_eq!(paths.answer_addr(at), Some(at), "a stranger's address");
        paths.set_source_use(&local(0), SourceUse::ReceiveOnly, ms(0));
        assert_eq!(paths.answer_addr(at), Some(PathAddr { local: local(1), ..at }));
        paths.set_source_use(&local(1), SourceUse::AsconfOnly, ms(0));
        assert_eq!(paths.answer_addr(at), None);
    }
}
