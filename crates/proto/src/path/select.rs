//! Where packets go: primary, data path, failover, retransmissions, requests and replies (RFC 9260 §6.4).

use core::cmp::Reverse;
use core::net::IpAddr;

use super::{Path, PathAddr, PathEvent, PathId, PathState, Paths, SetPrimaryError, SourceUse};

impl Paths {
    /// The primary path (RFC 9260 §6.4). `None` only without paths.
    pub fn primary(&self) -> Option<PathId> {
        self.primary
    }

    /// Makes a confirmed path the primary (RFC 9260 §11.1.6, RFC 5061 §5.4). An inactive one may be: data then takes an
    /// alternate until it works.
    ///
    /// # Errors
    /// There is no such path, or it is not confirmed.
    pub fn set_primary(&mut self, id: PathId) -> Result<(), SetPrimaryError> {
        let path = self.get(id).ok_or(SetPrimaryError::Unknown(id))?;
        if !path.confirmed {
            return Err(SetPrimaryError::Unconfirmed(id));
        }
        self.primary = Some(id);
        self.refresh();
        Ok(())
    }

    /// Where new data goes: the primary if it is usable, else one alternate (RFC 9260 §6.4.1, §8.2). With no usable path
    /// at all (RFC 9260 §8.2 leaves it open) it stays where it was, so that T3-rtx keeps asking. `None` when no path may
    /// carry data: none is confirmed, or every local address is being added or deleted.
    #[inline]
    pub fn data_path(&self) -> Option<PathId> {
        self.data_path
    }

    /// Where a chunk goes whose T3-rtx expired and that was last sent on `last_used`: the usable path that differs most
    /// from it, by remote address first, because that is what RFC 9260 §6.4 asks for, then by local address; of equals
    /// the one with the fewest errors, then the least id. Without another usable path the same one if it is usable, else
    /// the data path (RFC 9260 §6.4.1).
    pub fn retransmission_path(&self, last_used: PathId) -> Option<PathId> {
        let last = self.get(last_used).map(|path| path.addr);
        let alternate = self
            .list
            .iter()
            .filter(|path| path.id != last_used && path.is_usable())
            .min_by_key(|path| {
                (Reverse(last.map(|last| divergence(last, path.addr))), path.error_count, path.id)
            })
            .map(|path| path.id);
        alternate
            .or_else(|| self.get(last_used).filter(|path| path.is_usable()).map(|path| path.id))
            .or(self.data_path)
    }

    /// Where a packet with a request to change addresses goes (RFC 5061 §5.1 A4, B4). On a retransmission `last_used` is
    /// where it went before; another path is preferred then. An address that is being added may be the source
    /// (§5.3 F1), one that is being deleted never (F4, F6). It is taken when nothing else works: an interface that
    /// replaces another has no other way to be added (§5.3.2).
    pub fn request_path(&self, last_used: Option<PathId>) -> Option<PathId> {
        self.list
            .iter()
            .filter(|path| path.source != SourceUse::ReceiveOnly)
            // RFC 9260 §5.4 forbids requests to an unconfirmed address, whatever the pair.
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

    /// Where the reply to a packet that came at `at` goes: back where it came from (RFC 9260 §6.4), as long as that pair
    /// is confirmed and may be a source, else the data path. `None`: there is neither.
    #[inline]
    pub fn reply_path(&self, at: PathAddr) -> Option<PathId> {
        let back = self.list.iter().find(|path| path.addr == at);
        back.filter(|path| path.confirmed && path.link_up && path.source == SourceUse::Full)
            .map(|path| path.id)
            .or(self.data_path)
    }

    /// The path that packets to `remote` take: the primary's local address if there is such a pair, else the usable pair
    /// with the fewest errors, else the first. Used when the peer asks for a primary by its address (RFC 5061 §4.2.4).
    pub fn best_to(&self, remote: &IpAddr) -> Option<PathId> {
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

    /// Finds the data path anew; called after every change of a path's state, link, source or existence.
    pub(super) fn refresh(&mut self) {
        let chosen = self.choose();
        let from = core::mem::replace(&mut self.data_path, chosen);
        if from != chosen {
            self.emit(PathEvent::DataPathChanged { from, to: chosen });
        }
    }

    fn choose(&self) -> Option<PathId> {
        let may_carry = |path: &&Path| path.confirmed && path.source == SourceUse::Full;
        self.list
            .iter()
            .filter(may_carry)
            .min_by_key(|path| {
                let usable = path.is_usable();
                (
                    !usable,
                    !path.link_up,
                    // Without a usable path data stays where it is; with one the primary comes first.
                    !usable || Some(path.id) != self.primary,
                    // One alternate only (RFC 9260 §8.2): stay with it while it works.
                    Some(path.id) != self.data_path,
                    path.error_count,
                    path.id,
                )
            })
            .map(|path| path.id)
    }
}

/// How different two pairs are: 0 the same, 3 both addresses differ.
fn divergence(a: PathAddr, b: PathAddr) -> u8 {
    2 * u8::from(a.remote != b.remote) + u8::from(a.local != b.local)
}
