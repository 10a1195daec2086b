//! Positions of nodes over time, in integers, and distances between them.
//!
//! May not touch links, agents or events: a position is a function of time alone and needs no timer.

use std::sync::Arc;

use msctp_link::wlan::Distance;
use msctp_units::{Span, Time};

/// A position in the plane, in millimetres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Distance eastwards in millimetres.
    pub x_mm: i64,
    /// Distance northwards in millimetres.
    pub y_mm: i64,
}

impl Position {
    /// Returns the distance to another position in millimetres, rounded down.
    #[must_use]
    pub fn distance_mm(self, other: Self) -> u64 {
        let square = |a: i64, b: i64| u128::from(a.abs_diff(b)).pow(2);
        let root = (square(self.x_mm, other.x_mm) + square(self.y_mm, other.y_mm)).isqrt();
        u64::try_from(root).unwrap_or(u64::MAX)
    }

    /// Returns the position at `num / den` of the way to another one, rounded towards this one.
    fn towards(self, other: Self, num: u64, den: u64) -> Self {
        let along = |from: i64, to: i64| {
            let step = (i128::from(to) - i128::from(from)) * i128::from(num) / i128::from(den);
            (i128::from(from) + step) as i64
        };
        Self { x_mm: along(self.x_mm, other.x_mm), y_mm: along(self.y_mm, other.y_mm) }
    }
}

/// A movement in a straight line, from the position at its start to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waypoint {
    /// Start of the movement, since the start of the run.
    pub at: Span,
    /// Destination of the movement.
    pub to: Position,
    /// Speed in millimetres per second, more than zero.
    pub speed_mm_s: u64,
}

/// One straight line of a track.
#[derive(Clone, Copy, Debug)]
struct Leg {
    begins: Time,
    ends: Time,
    from: Position,
    to: Position,
}

impl Leg {
    fn position(&self, now: Time) -> Position {
        if now >= self.ends {
            return self.to;
        }
        let (num, den) = (now.since(self.begins), self.ends.since(self.begins));
        self.from.towards(self.to, num.as_nanos(), den.as_nanos())
    }
}

/// The track of a node.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    start: Position,
    legs: Vec<Leg>,
}

impl Track {
    /// Creates the track of a node that starts at a position and makes these movements, in order of time. A
    /// movement that starts before the previous one ends continues from the position at that time.
    pub(crate) fn new(start: Position, waypoints: &[Waypoint]) -> Self {
        let mut track = Self { start, legs: Vec::with_capacity(waypoints.len()) };
        for waypoint in waypoints {
            let begins = Time::ZERO + waypoint.at;
            let from = track.position(begins);
            let ns = u128::from(from.distance_mm(waypoint.to)) * 1_000_000_000
                / u128::from(waypoint.speed_mm_s.max(1));
            let takes = Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
            track.legs.push(Leg { begins, ends: begins + takes, from, to: waypoint.to });
        }
        track
    }

    /// Returns the position.
    pub(crate) fn position(&self, now: Time) -> Position {
        let begun = self.legs.partition_point(|leg| leg.begins <= now);
        begun.checked_sub(1).map_or(self.start, |last| self.legs[last].position(now))
    }
}

/// The distance between two nodes, in mm.
#[derive(Clone, Debug)]
pub(crate) struct Between(pub(crate) Arc<Track>, pub(crate) Arc<Track>);

impl Distance for Between {
    fn at(&self, now: Time) -> u64 {
        self.0.position(now).distance_mm(self.1.position(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    fn metres(x: i64, y: i64) -> Position {
        Position { x_mm: x * 1000, y_mm: y * 1000 }
    }

    fn waypoint(secs: u64, to: Position, speed: u64) -> Waypoint {
        Waypoint { at: Span::from_secs(secs), to, speed_mm_s: speed * 1000 }
    }

    #[test]
    fn a_track_goes_from_place_to_place_and_waits_there() {
        let out = waypoint(50, metres(300, 400), 10);
        let back = waypoint(150, metres(0, 0), 20);
        let track = Track::new(metres(0, 0), &[out, back]);
        assert_eq!(track.position(at(0)), metres(0, 0));
        assert_eq!(track.position(at(50)), metres(0, 0));
        // 500 m at 10 m/s.
        assert_eq!(track.position(at(60)), metres(60, 80));
        assert_eq!(track.position(at(100)), metres(300, 400));
        assert_eq!(track.position(at(150)), metres(300, 400));
        assert_eq!(track.position(at(160)), metres(180, 240));
        assert_eq!(track.position(at(999)), metres(0, 0));
        let base = Arc::new(Track::new(metres(0, 0), &[]));
        assert_eq!(Between(Arc::new(track), base).at(at(60)), 100_000);
    }

    #[test]
    fn a_movement_may_start_before_the_previous_one_ends() {
        let track =
            Track::new(metres(0, 0), &[waypoint(0, metres(100, 0), 10), waypoint(5, metres(50, 100), 10)]);
        assert_eq!(track.position(at(5)), metres(50, 0));
        assert_eq!(track.position(at(10)), metres(50, 50));
        assert_eq!(track.position(at(15)), metres(50, 100));
    }

    proptest! {
        /// A node never exceeds the speed of its fastest movement, for any waypoints.
        #[test]
        fn positions_are_continuous(
            waypoints in prop::collection::vec((0..100u64, -500..500i64, -500..500i64, 1..50u64), 0..6),
            from in 0..120_000u64,
            ms in 0..5_000u64,
        ) {
            let mut waypoints: Vec<Waypoint> =
                waypoints.into_iter().map(|(s, x, y, v)| waypoint(s, metres(x, y), v)).collect();
            waypoints.sort_by_key(|w| w.at);
            let track = Track::new(metres(0, 0), &waypoints);
            let from = Time::ZERO + Span::from_millis(from);
            let moved = track.position(from).distance_mm(track.position(from + Span::from_millis(ms)));
            let fastest = waypoints.iter().map(|w| w.speed_mm_s).max().unwrap_or(0);
            // Allow a millimetre of rounding for each coordinate at either end.
            prop_assert!(moved <= fastest * ms / 1000 + 4, "{moved} mm in {ms} ms");
        }
    }
}
