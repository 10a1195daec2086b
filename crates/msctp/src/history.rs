//! [`History`]: when an association came up, and where its data moved since.

use std::collections::VecDeque;

use msctp_proto::{Event, PathAddr, PathId, PrimaryCause};
use msctp_units::{Span, Time};

/// Number of moves kept; the oldest are dropped first.
const KEPT: usize = 16;

/// Start of the window around a move, before it. A silence that overlaps the window counts for the move.
const BEFORE: Span = Span::from_millis(500);

/// End of the window around a move, after it.
const AFTER: Span = Span::from_secs(5);

/// A move of an association's data: a change of its primary path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Move {
    /// Time of the move since the endpoint was bound ([`Endpoint::now`](crate::Endpoint::now)).
    pub at: Time,
    /// The addresses of the new primary path.
    pub to: PathAddr,
    /// The cause.
    pub cause: PrimaryCause,
    /// The longest time without a packet from the peer that overlaps [move − 0.5 s, move + 5 s]. A peer that
    /// has nothing to send or acknowledge is silent as well.
    pub gap: Span,
}

/// The moves of an association and the time of its establishment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// Time at which the association came up, since the endpoint was bound
    /// ([`Endpoint::now`](crate::Endpoint::now)); `None` before.
    pub up_at: Option<Time>,
    /// Number of moves so far.
    pub move_count: u64,
    /// The last 16 moves, in order of time.
    pub moves: Vec<Move>,
}

/// The record of a [`History`].
#[derive(Debug, Default)]
pub(crate) struct Record {
    up_at: Option<Time>,
    primary: Option<PathId>,
    /// Time of the last packet.
    received: Option<Time>,
    /// End and length of the longest silence that ended within [`BEFORE`].
    silence: Option<(Time, Span)>,
    move_count: u64,
    moves: VecDeque<Move>,
}

impl Record {
    /// Records a verified packet of the peer.
    pub(crate) fn receive(&mut self, now: Time) {
        let Some(last) = self.received.replace(now) else { return };
        let silence = now.since(last);
        if self.recent(now).is_none_or(|recent| recent <= silence) {
            self.silence = Some((now, silence));
        }
        if let Some(last_move) = self.moves.back_mut()
            && last <= last_move.at + AFTER
        {
            last_move.gap = last_move.gap.max(silence);
        }
    }

    /// Returns the length of the longest silence that ended recently.
    fn recent(&self, now: Time) -> Option<Span> {
        self.silence.filter(|(end, _)| now.since(*end) <= BEFORE).map(|(_, len)| len)
    }

    /// Records an event. `path` returns the primary path.
    pub(crate) fn note(
        &mut self,
        now: Time,
        event: &Event,
        primary: impl FnOnce() -> Option<(PathId, PathAddr)>,
    ) {
        match event {
            Event::Connected { .. } => {
                self.up_at = Some(now);
                self.primary = primary().map(|(id, _)| id);
            }
            // After the loss of a link, the event may confirm a path that carries the data already.
            Event::PrimaryChanged { path, cause } if self.primary != Some(*path) => {
                let Some((_, to)) = primary().filter(|(id, _)| id == path) else { return };
                self.primary = Some(*path);
                self.move_count += 1;
                if self.moves.len() == KEPT {
                    self.moves.pop_front();
                }
                let gap = self.recent(now).unwrap_or(Span::ZERO);
                self.moves.push_back(Move { at: now, to, cause: *cause, gap });
            }
            _ => {}
        }
    }

    /// Returns the history so far. The gap of the last move includes an ongoing silence.
    pub(crate) fn history(&self, now: Time) -> History {
        let mut moves: Vec<Move> = self.moves.iter().copied().collect();
        if let (Some(last), Some(received)) = (moves.last_mut(), self.received)
            && received <= last.at + AFTER
        {
            last.gap = last.gap.max(now.since(received));
        }
        History { up_at: self.up_at, move_count: self.move_count, moves }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn addresses() -> PathAddr {
        PathAddr { local: "192.0.2.1".parse().unwrap(), remote: "192.0.2.2".parse().unwrap() }
    }

    fn moved(record: &mut Record, now: u64, path: u32) {
        let path = PathId::new(path);
        let event = Event::PrimaryChanged { path, cause: PrimaryCause::Local };
        record.note(at(now), &event, || Some((path, addresses())));
    }

    #[test]
    fn a_moves_gap_is_the_longest_silence_around_it() {
        let mut record = Record::default();
        for now in [0, 100, 900, 1_000] {
            record.receive(at(now));
        }
        moved(&mut record, 1_000, 1);
        assert_eq!(record.history(at(1_000)).moves[0].gap, Span::from_millis(800), "ended 0.1 s before");
        record.receive(at(2_500));
        assert_eq!(record.history(at(2_500)).moves[0].gap, Span::from_millis(1_500), "after the move");
        record.receive(at(5_900));
        record.receive(at(6_000));
        record.receive(at(9_900));
        let history = record.history(at(20_000));
        assert_eq!(history.moves[0].gap, Span::from_millis(3_900), "it began less than 5 s after the move");
        record.receive(at(60_000));
        assert_eq!(record.history(at(60_000)).moves[0].gap, Span::from_millis(3_900), "too late");
    }

    #[test]
    fn a_silence_that_lasts_counts() {
        let mut record = Record::default();
        record.receive(at(100));
        moved(&mut record, 300, 1);
        assert_eq!(record.history(at(4_100)).moves[0].gap, Span::from_secs(4));
    }

    #[test]
    fn the_last_moves_are_kept_and_a_confirmed_path_is_no_move() {
        let mut record = Record::default();
        for n in 0..40 {
            moved(&mut record, u64::from(n) * 1_000, n / 2);
        }
        let history = record.history(at(40_000));
        assert_eq!((history.move_count, history.moves.len()), (20, 16));
        assert_eq!(history.moves[15].at, at(38_000));
    }
}
