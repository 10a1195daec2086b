//! What an association keeps for [`crate::mobility`]: its address requests, and whether to decide again.

use msctp_units::Time;

use super::{Association, Moves};
use crate::asconf::AddressRequest;
use crate::event::Event;

/// What happened since the endpoint last decided about the association's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// Nothing that counts.
    #[default]
    Nothing,
    /// Paths, links or addresses changed.
    Changed,
    /// The association is up, was restarted, or is protected from now on.
    Began,
}

impl News {
    /// Returns what an event means.
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Connected { .. } | Event::Restarted | Event::Protected => Self::Began,
            Event::PathState { .. }
            | Event::PrimaryChanged { .. }
            | Event::PathRemoved { .. }
            | Event::AddressChange { .. } => Self::Changed,
            _ => Self::Nothing,
        }
    }
}

impl Association {
    /// Leaves the association at its addresses, whatever links its host gets: the application chose them.
    pub fn keep_addresses(&mut self) {
        self.moves.get_or_insert_default().chosen = true;
    }

    /// Returns whether [`keep_addresses`](Self::keep_addresses) was called.
    pub(crate) fn keeps_addresses(&self) -> bool {
        self.moves.as_ref().is_some_and(|moves| moves.chosen)
    }

    /// Has the endpoint decide about this association's addresses when it is drained.
    pub(crate) fn reconsider(&mut self) {
        self.events.news = self.events.news.max(News::Changed);
    }

    /// Has the endpoint decide as for a new association: it may name its addresses now.
    pub(super) fn begin_anew(&mut self) {
        self.events.news = News::Began;
    }

    /// Returns whether the endpoint is to decide.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.events.news != News::Nothing
    }

    /// Returns what happened since the last call.
    pub(crate) fn take_news(&mut self) -> News {
        core::mem::take(&mut self.events.news)
    }

    /// Decides, with the address requests so far.
    pub(crate) fn with_moves(&mut self, decide: impl FnOnce(&mut Self, &mut Moves)) {
        let mut moves = self.moves.replace(Box::default()).unwrap_or_default();
        decide(self, &mut moves);
        // A request may be refused at once.
        let meanwhile = self.moves.take().map(|meanwhile| meanwhile.answers).unwrap_or_default();
        if !meanwhile.is_empty() {
            moves.answers.extend(meanwhile);
            self.reconsider();
        }
        self.moves = Some(moves);
        self.output.upkeep_due = true;
    }

    /// Has the endpoint decide again if it is time.
    pub(super) fn moves_timeout(&mut self, now: Time) {
        if self.moves.as_mut().is_some_and(|moves| moves.again.take_if(|at| *at <= now).is_some()) {
            self.reconsider();
        }
    }

    /// Records the answer to an address request.
    pub(super) fn note_answer(&mut self, request: AddressRequest, accepted: bool) {
        if let Some(moves) = &mut self.moves {
            moves.answers.push((request, accepted));
        }
        self.events.push(Event::AddressChange { request, accepted });
    }

    /// Forgets the requests to a peer that restarted.
    pub(super) fn forget_moves(&mut self) {
        if let Some(moves) = &mut self.moves {
            let chosen = moves.chosen;
            **moves = Moves::default();
            moves.chosen = chosen;
        }
    }
}
