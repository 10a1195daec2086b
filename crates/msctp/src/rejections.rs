//! [`Rejections`]: rejected set-ups that wait for the application. A flood loses no reason and no other
//! source.

use std::collections::{BTreeMap, VecDeque};
use std::mem::{Discriminant, discriminant};
use std::net::{IpAddr, SocketAddr};

use msctp_security::Error;

use crate::tls::{Rejected, Rejection};
use crate::unproven::source_of;

/// Number of entries from which on set-ups with reasons of one kind share an entry.
const MANY: usize = 64;

/// The queue of a listener, of at most [`MANY`] entries and one for each further kind of reason.
#[derive(Debug, Default)]
pub(crate) struct Rejections(VecDeque<Rejected>);

/// A reason without its details, of which a peer can cause any number.
type Kind = (Discriminant<Rejection>, Option<Discriminant<Error>>);

fn kind(rejection: &Rejection) -> Kind {
    let error = match rejection {
        Rejection::Security(error) => Some(discriminant(error)),
        _ => None,
    };
    (discriminant(rejection), error)
}

impl Rejections {
    /// Adds a rejected set-up, or counts it at an earlier one.
    pub(crate) fn push(&mut self, remote: SocketAddr, error: Rejection) {
        let source = source_of(remote.ip());
        let same = |entry: &&mut Rejected| source_of(entry.remote.ip()) == source && entry.error == error;
        if let Some(entry) = self.0.iter_mut().find(same) {
            entry.count += 1;
            return;
        }
        self.0.push_back(Rejected { remote, error, count: 1 });
        if self.0.len() > MANY {
            self.merge();
        }
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&mut self) -> Option<Rejected> {
        self.0.pop_front()
    }

    /// Merges two entries of one kind: of the source that has most entries or, if each has one of a kind, of
    /// any sources.
    fn merge(&mut self) {
        let mut entries: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for entry in &self.0 {
            *entries.entry(source_of(entry.remote.ip())).or_default() += 1;
        }
        let largest = entries.iter().max_by_key(|(_, count)| **count).map(|(source, _)| *source);
        let pair = largest.and_then(|source| self.pair(Some(source))).or_else(|| self.pair(None));
        if let Some((first, second)) = pair
            && let Some(second) = self.0.remove(second)
        {
            self.0[first].count += second.count;
        }
    }

    /// Returns the positions of two entries of one kind, the earlier first.
    fn pair(&self, source: Option<IpAddr>) -> Option<(usize, usize)> {
        let mut first: Vec<(Kind, usize)> = Vec::new();
        for (at, entry) in self.0.iter().enumerate() {
            if source.is_some_and(|source| source != source_of(entry.remote.ip())) {
                continue;
            }
            let kind = kind(&entry.error);
            match first.iter().find(|(other, _)| *other == kind) {
                Some(&(_, earlier)) => return Some((earlier, at)),
                None => first.push((kind, at)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use msctp_security::Refused;

    use super::*;

    fn at(host: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], 9899))
    }

    fn refused(key: usize) -> Rejection {
        Error::Refused(Refused(format!("key {key}"))).into()
    }

    fn all(mut rejections: Rejections) -> Vec<Rejected> {
        std::iter::from_fn(|| rejections.pop()).collect()
    }

    #[test]
    fn equal_reasons_of_a_source_are_counted() {
        let mut rejections = Rejections::default();
        for (host, error) in [(1, Error::CodeUsed), (2, Error::CodeUsed), (1, Error::CodeUsed)] {
            rejections.push(at(host), error.into());
        }
        rejections.push(at(1), Error::WrongCode.into());
        let counts: Vec<_> = all(rejections).iter().map(|entry| (entry.remote, entry.count)).collect();
        assert_eq!(counts, [(at(1), 2), (at(2), 1), (at(1), 1)]);
    }

    #[test]
    fn a_flood_displaces_neither_another_reason_nor_another_source() {
        let mut rejections = Rejections::default();
        rejections.push(at(1), Error::WrongCode.into());
        rejections.push(at(2), refused(0));
        for key in 0..10_000 {
            rejections.push(at(1), refused(key));
        }
        rejections.push(at(3), Rejection::KeysDiffer);
        rejections.push(at(3), refused(1));
        let all = all(rejections);
        assert!(all.len() <= MANY, "{}", all.len());
        assert_eq!(all.iter().map(|entry| entry.count).sum::<u64>(), 10_004, "each is counted");
        for (remote, error) in [
            (at(1), Error::WrongCode.into()),
            (at(2), refused(0)),
            (at(3), Rejection::KeysDiffer),
            (at(3), refused(1)),
        ] {
            let found = all.iter().find(|entry| entry.remote == remote && entry.error == error);
            assert_eq!(found.map(|entry| entry.count), Some(1), "{error}");
        }
    }

    #[test]
    fn many_sources_take_bounded_memory_and_no_reason_is_lost() {
        let mut rejections = Rejections::default();
        for host in 0..200 {
            rejections.push(at(host), refused(host.into()));
            rejections.push(at(host), Error::CodeUsed.into());
        }
        rejections.push(at(250), Error::WrongCode.into());
        let all = all(rejections);
        assert!(all.len() <= MANY + 2, "{}", all.len());
        assert_eq!(all.iter().map(|entry| entry.count).sum::<u64>(), 401);
        assert!(all.iter().any(|entry| entry.error == Error::WrongCode.into()));
    }
}
