//! [`Pool`]: assigns the addresses of a server's networks to clients. Keeps state.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::net::sources::Full;

/// Maximum number of clients.
const CLIENTS: u128 = 4096;

/// Minimum number of clients of one source, in a small network.
const FEW: usize = 4;

/// Assigns addresses to clients. Each client has one place: the same offset in every network. `T` is the
/// client.
pub(super) struct Pool<T> {
    /// The networks: each address is the server's own.
    networks: Vec<IpNet>,
    clients: BTreeMap<u128, T>,
    /// Maximum number of clients of one source.
    share: usize,
}

impl<T> Pool<T> {
    /// Creates a pool without clients. `networks`: at most one of each family, with the server's address.
    pub(super) fn new(networks: &[IpNet]) -> Self {
        let mut pool = Self { networks: networks.to_vec(), clients: BTreeMap::new(), share: 0 };
        let places = (1..=CLIENTS).filter(|&place| pool.fits(place)).count();
        pool.share = FEW.max(places / 4);
        pool
    }

    /// Assigns a place to a client. Returns the place, its addresses and the client that was replaced.
    ///
    /// The place is that of the address `had`, if it is free or `replaces` its client, else the lowest free
    /// one. `is_neighbor`: whether a client is of the same source.
    ///
    /// # Errors
    ///
    /// No place is free, or the source has its share.
    pub(super) fn take(
        &mut self,
        had: Option<IpAddr>,
        replaces: impl Fn(&T) -> bool,
        is_neighbor: impl Fn(&T) -> bool,
        client: T,
    ) -> Result<(u128, Vec<IpNet>, Option<T>), Full> {
        let wanted = had.and_then(|address| self.place(address));
        let wanted = wanted.filter(|place| self.clients.get(place).is_none_or(replaces));
        let free = || (1..=CLIENTS).find(|&place| !self.clients.contains_key(&place) && self.fits(place));
        let place = wanted.or_else(free).ok_or(Full::All)?;
        let neighbors = self.clients.values().filter(|client| is_neighbor(client)).count();
        if !self.clients.contains_key(&place) && neighbors >= self.share {
            return Err(Full::Source);
        }
        let replaced = self.clients.insert(place, client);
        Ok((place, self.addresses(place), replaced))
    }

    /// Returns the clients that `is_it` selects, each with one of its addresses.
    pub(super) fn select(&self, is_it: impl Fn(&T) -> bool) -> Vec<(IpAddr, T)>
    where
        T: Clone,
    {
        let selected = self.clients.iter().filter(|(_, client)| is_it(client));
        let address = |place: u128| self.addresses(place).first().map(IpNet::addr);
        selected.filter_map(|(place, client)| Some((address(*place)?, client.clone()))).collect()
    }

    /// Returns the maximum number of clients of one source.
    pub(super) const fn share(&self) -> usize {
        self.share
    }

    /// Frees a place, if this client still has it.
    pub(super) fn free(&mut self, place: u128, is_it: impl Fn(&T) -> bool) {
        if self.clients.get(&place).is_some_and(is_it) {
            self.clients.remove(&place);
        }
    }

    /// Returns the client that has an address.
    pub(super) fn find(&self, address: IpAddr) -> Option<&T> {
        self.clients.get(&self.place(address)?)
    }

    /// Returns the place of an address, if a client may have it.
    fn place(&self, address: IpAddr) -> Option<u128> {
        let network = self.networks.iter().find(|network| network.contains(&address))?;
        let place = number(address) - number(network.network());
        ((1..=CLIENTS).contains(&place) && self.fits(place)).then_some(place)
    }

    /// Returns whether a client may have this place in every network. The server's and the broadcast address
    /// are excluded.
    fn fits(&self, place: u128) -> bool {
        self.networks.iter().all(|network| {
            let address = number(network.network()) + place;
            let last = number(network.broadcast());
            let free = if network.addr().is_ipv4() { address < last } else { address <= last };
            free && address != number(network.addr())
        })
    }

    fn addresses(&self, place: u128) -> Vec<IpNet> {
        let address = |network: &IpNet| {
            let number = number(network.network()) + place;
            let address = match network {
                IpNet::V4(_) => IpAddr::from(Ipv4Addr::from(number as u32)),
                IpNet::V6(_) => Ipv6Addr::from(number).into(),
            };
            IpNet::new_assert(address, network.prefix_len())
        };
        self.networks.iter().map(address).collect()
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(networks: &[&str]) -> Pool<u8> {
        Pool::new(&networks.iter().map(|network| network.parse().unwrap()).collect::<Vec<_>>())
    }

    fn take(pool: &mut Pool<u8>, had: Option<&str>, client: u8) -> Option<String> {
        let had = had.map(|address| address.parse().unwrap());
        let (_, addresses, _) = pool.take(had, |old| *old == client, |_| false, client).ok()?;
        Some(addresses.iter().map(IpNet::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn clients_get_the_same_place_in_both_networks() {
        let mut pool = pool(&["10.7.0.1/24", "fd07::1/64"]);
        assert_eq!(take(&mut pool, None, 1).unwrap(), "10.7.0.2/24 fd07::2/64");
        assert_eq!(take(&mut pool, None, 2).unwrap(), "10.7.0.3/24 fd07::3/64");
        let find = |pool: &Pool<u8>, address: &str| pool.find(address.parse().unwrap()).copied();
        assert_eq!((find(&pool, "10.7.0.3"), find(&pool, "fd07::2")), (Some(2), Some(1)));
        for other in ["10.7.0.1", "10.7.0.4", "10.7.0.255", "10.8.0.2", "fd07::1", "fd07:0:0:1::2"] {
            assert_eq!(find(&pool, other), None, "{other}");
        }
        pool.free(2, |client| *client == 9);
        assert_eq!(find(&pool, "10.7.0.2"), Some(1), "another client's");
        pool.free(2, |client| *client == 1);
        assert_eq!(take(&mut pool, None, 3).unwrap(), "10.7.0.2/24 fd07::2/64");
    }

    #[test]
    fn a_client_keeps_its_address_and_takes_no_other_clients() {
        let mut pool = pool(&["10.7.0.254/24"]);
        assert_eq!(take(&mut pool, Some("10.7.0.9"), 1).unwrap(), "10.7.0.9/24");
        assert_eq!(take(&mut pool, Some("10.7.0.9"), 1).unwrap(), "10.7.0.9/24", "it came again");
        assert_eq!(take(&mut pool, Some("10.7.0.9"), 2).unwrap(), "10.7.0.1/24");
        for never in ["10.7.0.254", "10.7.0.255", "10.7.0.0", "10.9.0.1", "fd07::2"] {
            assert_ne!(take(&mut pool, Some(never), 3).unwrap(), format!("{never}/24"));
        }
    }

    #[test]
    fn a_source_takes_a_quarter_of_the_addresses() {
        let mut pool = pool(&["10.7.0.1/24"]);
        let mut take = |had: Option<&str>, source: u8| {
            let had = had.map(|address| address.parse().unwrap());
            pool.take(had, |_| true, |client| *client == source, source).map(|(place, ..)| place)
        };
        let taken = (0..100).filter(|_| take(None, 1).is_ok()).count();
        assert_eq!((taken, take(None, 1)), (253 / 4, Err(Full::Source)));
        assert_eq!(take(Some("10.7.0.200"), 1), Err(Full::Source), "a free one that it names");
        assert_eq!(take(Some("10.7.0.2"), 1), Ok(2), "instead of its own");
        assert!(take(None, 2).is_ok());
        assert_eq!(pool.select(|client| *client == 2), [("10.7.0.65".parse().unwrap(), 2)]);
    }

    #[test]
    fn a_small_network_is_full_soon() {
        let mut pool = pool(&["10.7.0.1/30"]);
        assert_eq!(
            (take(&mut pool, None, 1), take(&mut pool, None, 2)),
            (Some("10.7.0.2/30".to_owned()), None)
        );
    }
}
