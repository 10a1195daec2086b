//! Converts a scenario for hosts outside the simulation, where real programs replace its associations.
//! Rejects parts that cannot run, and lists those that are left out.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::error::Problem;
use super::{ActionSpec, AppKind, Do, Scenario, ScenarioError, When};

/// A scenario for outside hosts, and the parts of the original that it lacks.
#[derive(Clone, Debug)]
pub struct WithOutsideHosts {
    /// Nodes, links, constant-rate sources, and the actions on them.
    pub scenario: Scenario,
    /// Descriptions of the parts that were left out, in the order of the file.
    pub left_out: Vec<String>,
}

impl Scenario {
    /// Returns the scenario without its SCTP associations and TCP connections, their applications and the
    /// actions on them. Real programs replace these. Links, routers, mobility, constant-rate sources and the
    /// actions on those stay.
    ///
    /// # Errors
    /// The scenario has parts that cannot run with outside hosts: Mobile IP, or actions that wait for an
    /// event of an association.
    pub fn with_outside_hosts(&self) -> Result<WithOutsideHosts, ScenarioError> {
        split(self).map_err(Problem::without_file)
    }

    /// Reads a scenario file for outside hosts. Arguments are those of
    /// [`from_toml_and_files`](Self::from_toml_and_files).
    ///
    /// # Errors
    /// The first fault, or the first part that [`with_outside_hosts`](Self::with_outside_hosts) rejects, with
    /// its line.
    pub fn from_toml_with_outside_hosts(
        text: &str,
        file: &str,
        overrides: &[String],
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<WithOutsideHosts, ScenarioError> {
        super::read::scenario(text, file, overrides, (open, &super::Schemes::none()), |scenario| {
            split(&scenario)
        })
    }
}

pub(super) fn split(original: &Scenario) -> Result<WithOutsideHosts, Problem> {
    let mut scenario = original.clone();
    let mut left_out = Vec::new();
    for node in &scenario.nodes {
        let refuse = |key: &str, message: &str| {
            Err(Problem::new(key, message.to_owned()).within(&format!("node.{}", node.name)))
        };
        if node.kind.is_agent() {
            let want = "mobility agents and their mobiles talk inside the simulator and cannot be emulated: want kind = \"router\", and address-up and address-down actions for what the mobile does";
            return refuse("kind", want);
        }
        if let Some(middlebox) = &node.middlebox {
            let want = format!(
                "a {} works inside the simulator and cannot be emulated: want kind = \"router\"",
                middlebox.options.word()
            );
            return refuse("kind", &want);
        }
        if node.mobile.is_some() {
            return refuse("mobile", "Mobile IP cannot be emulated: want this table left out");
        }
    }
    for link in &scenario.links {
        for (key, address) in [("address_a", link.address_a), ("address_b", link.address_b)] {
            if let Some(address) = address.filter(IpAddr::is_loopback) {
                let message = format!(
                    "{address} is every real host's loopback address: want another, such as 10.0.2.1"
                );
                return Err(Problem::new(format!("link.{}.{key}", link.name), message));
            }
        }
    }
    let left: BTreeSet<String> =
        scenario.apps.iter().filter(|app| !stays(&app.kind)).map(|app| app.name.clone()).collect();
    for (number, action) in scenario.actions.iter().enumerate() {
        if concerns_association(&action.what, &left) {
            continue;
        }
        if let When::After { .. } = action.when {
            let message = format!(
                "the emulator cannot observe \"{}\", an event of an association or application: want \
                 at = \"20s\"",
                action.what.word()
            );
            return Err(Problem::new(format!("action.{number}.after"), message));
        }
    }
    left_out.extend(scenario.associations.drain(..).map(|a| format!("association \"{}\"", a.name)));
    left_out.extend(scenario.tcp.drain(..).map(|tcp| format!("tcp \"{}\"", tcp.name)));
    scenario.apps.retain(|app| stays(&app.kind));
    left_out.extend(left.iter().map(|name| format!("app \"{name}\"")));
    let mut number = 0;
    scenario.actions.retain(|ActionSpec { what, .. }| {
        let out = concerns_association(what, &left);
        if out {
            left_out.push(format!("action {number} ({})", what.word()));
        }
        number += 1;
        !out
    });
    Ok(WithOutsideHosts { scenario, left_out })
}

/// Returns true if an application stays. Only constant-rate sources do, since they load links.
fn stays(app: &AppKind) -> bool {
    matches!(app, AppKind::Cbr { .. })
}

/// Returns true if this is an action on an association or on an application that is left out.
fn concerns_association(what: &Do, left: &BTreeSet<String>) -> bool {
    match what {
        Do::LinkUp { .. }
        | Do::LinkDown { .. }
        | Do::SetLink { .. }
        | Do::RadioHandover { .. }
        | Do::AddressUp { .. }
        | Do::AddressDown { .. }
        | Do::ChangeMiddlebox { .. } => false,
        Do::AddAddress { .. }
        | Do::DeleteAddress { .. }
        | Do::RequestPrimary { .. }
        | Do::SetPrimary { .. }
        | Do::Heartbeat { .. }
        | Do::ReportQuality { .. }
        | Do::Shutdown { .. } => true,
        Do::StartApp { app } | Do::StopApp { app } => left.contains(app),
    }
}
