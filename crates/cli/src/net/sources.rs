//! [`Sources`]: limits the places of one source, so that no host takes all of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The places of each source: an IPv4 address or an IPv6 /64 prefix.
#[derive(Clone)]
pub(super) struct Sources {
    taken: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    most: usize,
    most_of_one: usize,
}

/// A place, free again when dropped.
pub(super) struct Place(Sources, IpAddr);

/// All places are taken, or the source has its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    All,
    Source,
}

impl Sources {
    /// Creates `most` places, `most_of_one` for each source.
    pub(super) fn new(most: usize, most_of_one: usize) -> Self {
        Self { taken: Arc::default(), most, most_of_one }
    }

    /// Takes a place for a source. `None` exempts the client from the per-source limit.
    ///
    /// # Errors
    ///
    /// All places are taken, or the source has its share.
    pub(super) fn take(&self, from: Option<IpAddr>) -> Result<Place, Full> {
        let source = match from.unwrap_or(Ipv4Addr::UNSPECIFIED.into()).to_canonical() {
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                IpAddr::V6(prefix.into())
            }
            address @ IpAddr::V4(_) => address,
        };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values().sum::<usize>() >= self.most {
            return Err(Full::All);
        }
        let count = taken.entry(source).or_default();
        if from.is_some() && *count >= self.most_of_one {
            return Err(Full::Source);
        }
        *count += 1;
        drop(taken);
        Ok(Place(self.clone(), source))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_share_and_places_come_back() {
        let sources = Sources::new(3, 2);
        let take = |from: &str| sources.take(Some(from.parse().unwrap()));
        let held = [take("192.0.2.1").ok().unwrap(), take("::ffff:192.0.2.1").ok().unwrap()];
        assert_eq!(take("192.0.2.1").err(), Some(Full::Source));
        let other = take("2001:db8::1").ok().unwrap();
        assert_eq!(take("192.0.2.2").err(), Some(Full::All));
        drop(held);
        let same = take("2001:db8::ffff").ok().unwrap();
        assert_eq!(take("2001:db8::2").err(), Some(Full::Source), "the same /64 prefix");
        drop((other, same));
        assert!(take("2001:db8::2").is_ok());
        let all: Vec<_> = (0..3).map(|_| sources.take(None).ok().unwrap()).collect();
        assert_eq!(sources.take(None).err(), Some(Full::All));
        drop(all);
    }
}
