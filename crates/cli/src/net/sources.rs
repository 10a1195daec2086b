//! [`Sources`]: limits the places of one source, so that no host takes all of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::devices;

/// Returns the source of an address: the IPv4 address or the IPv6 /64 prefix.
pub(super) fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = u128::from(address) >> 64 << 64;
            IpAddr::V6(prefix.into())
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// The places of each source. `T` is what the clients of a source share.
pub(super) struct Sources<T = ()> {
    taken: Arc<Mutex<BTreeMap<IpAddr, Taken<T>>>>,
    most: usize,
    most_of_one: usize,
}

/// The number of places of a source, and what its clients share. This stays while anything holds it.
struct Taken<T> {
    count: usize,
    shared: Weak<T>,
}

/// A place, free again when dropped.
pub(super) struct Place<T = ()> {
    sources: Sources<T>,
    source: IpAddr,
    shared: Arc<T>,
}

/// All places are taken, or the source has its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    All,
    Source,
}

impl<T> Sources<T> {
    /// Creates `most` places, `most_of_one` for each source.
    pub(super) fn new(most: usize, most_of_one: usize) -> Self {
        Self { taken: Arc::default(), most, most_of_one }
    }

    /// Takes a place for a source. `None` exempts the client from the per-source limit: it shares nothing.
    ///
    /// # Errors
    ///
    /// All places are taken, or the source has its share.
    pub(super) fn take(&self, from: Option<IpAddr>, share: impl FnOnce() -> T) -> Result<Place<T>, Full> {
        let source = source(from.unwrap_or(Ipv4Addr::UNSPECIFIED.into()));
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, taken| taken.count > 0 || taken.shared.strong_count() > 0);
        if taken.values().map(|taken| taken.count).sum::<usize>() >= self.most {
            return Err(Full::All);
        }
        let of_source = taken.entry(source).or_insert_with(|| Taken { count: 0, shared: Weak::new() });
        if from.is_some() && of_source.count >= self.most_of_one {
            return Err(Full::Source);
        }
        of_source.count += 1;
        let shared = of_source.shared.upgrade().filter(|_| from.is_some());
        let shared = shared.unwrap_or_else(|| Arc::new(share()));
        of_source.shared = Arc::downgrade(&shared);
        drop(taken);
        Ok(Place { sources: self.clone(), source, shared })
    }
}

// Derived, it would want `T: Clone`.
impl<T> Clone for Sources<T> {
    fn clone(&self) -> Self {
        Self { taken: Arc::clone(&self.taken), most: self.most, most_of_one: self.most_of_one }
    }
}

impl<T> Place<T> {
    /// Returns what the clients of the source share.
    pub(super) const fn shared(&self) -> &Arc<T> {
        &self.shared
    }

    /// Frees the place. What the source shares stays for a second: limits of a second apply to a client that
    /// connects again at once.
    pub(super) async fn end(self) {
        let shared = Arc::clone(&self.shared);
        drop(self);
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(shared);
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let mut taken = self.sources.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = taken.get_mut(&self.source) {
            taken.count -= 1;
        }
    }
}

/// Time for which the addresses of the interfaces are cached.
const INTERFACES_KEPT: Duration = Duration::from_secs(1);

/// When the addresses of the interfaces were read, and the addresses.
type Read = (Instant, Vec<IpAddr>);

/// The addresses of this host's interfaces. Clones share the cache.
#[derive(Clone, Default)]
pub(super) struct Interfaces(Arc<Mutex<Option<Read>>>);

impl Interfaces {
    /// Returns whether an interface of this host has the address.
    pub(super) fn have(&self, address: IpAddr) -> bool {
        let mut interfaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if interfaces.as_ref().is_none_or(|(since, _)| since.elapsed() > INTERFACES_KEPT) {
            *interfaces = Some((
                Instant::now(),
                devices::addresses().into_iter().map(|(_, address)| address).collect(),
            ));
        }
        interfaces.as_ref().is_some_and(|(_, own)| own.contains(&address.to_canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_share_and_places_come_back() {
        let sources = Sources::<()>::new(3, 2);
        let take = |from: &str| sources.take(Some(from.parse().unwrap()), || ());
        let held = [take("192.0.2.1").ok().unwrap(), take("::ffff:192.0.2.1").ok().unwrap()];
        assert_eq!(take("192.0.2.1").err(), Some(Full::Source));
        let other = take("2001:db8::1").ok().unwrap();
        assert_eq!(take("192.0.2.2").err(), Some(Full::All));
        drop(held);
        let same = take("2001:db8::ffff").ok().unwrap();
        assert_eq!(take("2001:db8::2").err(), Some(Full::Source), "the same /64 prefix");
        drop((other, same));
        assert!(take("2001:db8::2").is_ok());
        let all: Vec<_> = (0..3).map(|_| sources.take(None, || ()).ok().unwrap()).collect();
        assert_eq!(sources.take(None, || ()).err(), Some(Full::All));
        drop(all);
    }

    #[test]
    fn the_clients_of_a_source_share_what_is_still_in_use() {
        let sources = Sources::new(9, 9);
        let take = |from: Option<&str>, new: u8| {
            sources.take(from.map(|from| from.parse().unwrap()), || new).ok().unwrap()
        };
        let first = take(Some("2001:db8::1"), 1);
        assert_eq!(**take(Some("2001:db8::2"), 2).shared(), 1);
        assert_eq!(**take(Some("192.0.2.1"), 3).shared(), 3);
        let used = Arc::clone(first.shared());
        drop(first);
        assert_eq!(**take(Some("2001:db8::3"), 4).shared(), 1, "in use without a place");
        drop(used);
        assert_eq!(**take(Some("2001:db8::3"), 5).shared(), 5);
        let exempt = take(None, 6);
        assert_eq!((**exempt.shared(), **take(None, 7).shared()), (6, 7));
    }
}
