//! Finds unused parts of a scenario: profiles, nodes and links that affect no packet, and addresses that make
//! no path of their own. An override of an unused profile is an error, because it would not affect the run;
//! the rest are warnings.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::error::{Problem, ScenarioError, suggest};
use super::routes::{Interface, Routes};
use super::{AppKind, Do, NodeKind, Scenario};

impl Scenario {
    /// Describes the unused parts of the scenario in a sentence each: profiles without an association or
    /// connection, hosts without traffic, links that no packet can take, addresses that a NAT makes one.
    /// Routers count by their links.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let mut unused = Vec::new();
        for (kind, declared, used, by) in self.profiles() {
            let left = declared.into_iter().filter(|name| !used.contains(name));
            unused.extend(left.map(|name| format!("{kind}.{name} is not used: no {by} names it")));
        }
        // Agents and mobiles reach each other over paths that routes do not contain.
        if self.nodes.iter().all(|node| !node.kind.is_agent() && node.mobile.is_none()) {
            self.unused_topology(&mut unused);
        }
        if self.has_nat() {
            self.addresses_made_one(&mut unused);
        }
        unused
    }

    /// Finds the addresses of a client that the server sees as one. They are one path, so that data cannot
    /// move between them.
    fn addresses_made_one(&self, unused: &mut Vec<String>) {
        let routes = Routes::of(self);
        let added = self.added_addresses();
        for association in &self.associations {
            let more = added.get(association.name.as_str()).into_iter().flatten();
            let addresses: BTreeSet<IpAddr> =
                association.client_addresses.iter().chain(more).copied().collect();
            let mut seen: BTreeMap<(usize, IpAddr), Vec<String>> = BTreeMap::new();
            for address in addresses {
                let family = |server: &&IpAddr| server.is_ipv4() == address.is_ipv4();
                let server = association.server_addresses.iter().find(family);
                let ends = server.and_then(|server| routes.interface(address).zip(routes.interface(*server)));
                if let Some(nat) = ends.and_then(|(client, server)| routes.translation(client, server)) {
                    seen.entry(nat).or_default().push(address.to_string());
                }
            }
            for ((nat, public), addresses) in seen.into_iter().filter(|(_, all)| all.len() > 1) {
                unused.push(format!(
                    "association.{} has one path over {}: all are {public} behind the nat \"{}\", and nothing moves between \
                     them; want a nat for each",
                    association.name,
                    addresses.join(", "),
                    self.nodes[nat].name
                ));
            }
        }
    }

    /// Returns the kinds of profiles: section, declared ones, used ones, and the items that can name one.
    fn profiles(&self) -> [(&'static str, Vec<&str>, BTreeSet<&str>, &'static str); 2] {
        let sctp = self.associations.iter().flat_map(|a| [&a.client_profile, &a.server_profile]);
        let tcp = self.tcp.iter().flat_map(|tcp| [&tcp.client_profile, &tcp.server_profile]);
        [
            (
                "sctp",
                self.sctp.iter().map(|profile| profile.name.as_str()).collect(),
                sctp.filter_map(Option::as_deref).collect(),
                "association",
            ),
            (
                "tcp-profile",
                self.tcp_profiles.iter().map(|profile| profile.name.as_str()).collect(),
                tcp.filter_map(Option::as_deref).collect(),
                "TCP connection",
            ),
        ]
    }

    /// Rejects an override of a profile that is not used or does not exist. Reads the associations and
    /// connections, not the profiles. `is_written` returns whether the file has a key.
    pub(super) fn check_overrides(
        &self,
        overrides: &[String],
        is_written: impl Fn(&str) -> bool,
    ) -> Result<(), ScenarioError> {
        for pair in overrides {
            let Some((key, _)) = pair.split_once('=') else { continue };
            let mut steps = key.trim().split('.');
            let (Some(section), Some(name)) = (steps.next(), steps.next()) else { continue };
            let kinds = self.profiles();
            let Some((section, _, used, by)) = kinds.iter().find(|kind| kind.0 == section) else { continue };
            if !used.contains(name) {
                let kind = if *section == "sctp" { "sctp profile" } else { section };
                let remedy = suggest(name, used.iter().copied());
                let message = match is_written(&format!("{section}.{name}")) {
                    true => format!("changes nothing: no {by} uses the profile \"{name}\"{remedy}"),
                    false => format!("there is no {kind} \"{name}\"{remedy}"),
                };
                return Err(Problem::new(format!("override {pair}"), message).without_file());
            }
        }
        Ok(())
    }

    /// Finds hosts and links without traffic.
    fn unused_topology(&self, unused: &mut Vec<String>) {
        let routes = Routes::of(self);
        let mut links = vec![false; self.links.len()];
        let mut hosts = BTreeSet::new();
        for (from, to) in self.talks(&routes) {
            for (from, to) in [(from, to), (to, from)] {
                hosts.insert(from.node);
                for direction in routes.path(&from, &to).unwrap_or_default() {
                    links[direction / 2] = true;
                }
            }
        }
        let linked: BTreeSet<&str> =
            self.links.iter().flat_map(|link| [link.a.as_str(), link.b.as_str()]).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            if !linked.contains(node.name.as_str()) {
                unused.push(format!("node.{} is not used: it has no link", node.name));
            } else if node.kind == NodeKind::Host && !hosts.contains(&number) {
                unused.push(format!("node.{} is not used: no traffic starts or ends there", node.name));
            }
        }
        let left = self.links.iter().zip(links).filter(|(_, used)| !used);
        unused.extend(
            left.map(|(link, _)| format!("link.{} is not used: no traffic is routed over it", link.name)),
        );
    }

    /// Returns the pairs of interfaces that may send to each other.
    fn talks(&self, routes: &Routes) -> Vec<(Interface, Interface)> {
        let mut pairs: Vec<(IpAddr, IpAddr)> = Vec::new();
        // The addresses that actions add, by their node.
        let mut added: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
        for address in self.actions.iter().filter_map(|action| address_of(&action.what)) {
            if let Some(interface) = routes.interface(address) {
                added.entry(&self.nodes[interface.node].name).or_default().push(address);
            }
        }
        for association in &self.associations {
            let ends = [
                (&association.client, &association.client_addresses),
                (&association.server, &association.server_addresses),
            ];
            let [client, server] = ends.map(|(node, named)| {
                named
                    .iter()
                    .chain(added.get(node.as_str()).into_iter().flatten())
                    .copied()
                    .collect::<Vec<_>>()
            });
            pairs.extend(client.iter().flat_map(|&from| server.iter().map(move |&to| (from, to))));
        }
        pairs.extend(self.tcp.iter().map(|tcp| (tcp.client_address, tcp.server_address)));
        pairs.extend(self.apps.iter().filter_map(|app| match app.kind {
            AppKind::Cbr { from, to, .. } => Some((from, to)),
            _ => None,
        }));
        let known =
            pairs.into_iter().filter_map(|(from, to)| Some((routes.interface(from)?, routes.interface(to)?)));
        known.map(|(from, to)| (*from, *to)).collect()
    }
}

/// Returns the address that an action adds to an association.
fn address_of(what: &Do) -> Option<IpAddr> {
    match what {
        Do::AddressUp { address } | Do::AddAddress { address, .. } => Some(*address),
        _ => None,
    }
}
