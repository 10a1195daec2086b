//! Builds the part of agents and mobiles in the [`Summary`](crate::Summary).

use msctp_units::Time;

use super::{MobileIp, Role};
use crate::scenario::Scenario;
use crate::summary::{AgentSummary, MobileHandoverSummary, MobileIpSummary, MobileSummary};

impl MobileIp {
    pub(crate) fn summary(&self, scenario: &Scenario) -> MobileIpSummary {
        let name = |node: usize| scenario.nodes[node].name.clone();
        let agents = self.agents.iter().map(|agent| {
            let (role, accepted, denied) = match &agent.role {
                Role::Home(home) => ("home", home.accepted, home.denied),
                Role::Foreign(foreign) => ("foreign", foreign.relayed / 2, foreign.denied),
            };
            AgentSummary {
                name: name(agent.node),
                role,
                accepted,
                denied,
                tunnelled: agent.tunnelled,
                delivered: agent.delivered,
                strangers: agent.strangers,
            }
        });
        let mobiles = self.mobiles.iter().map(|mobile| MobileSummary {
            name: name(mobile.node),
            handovers: mobile
                .handovers
                .iter()
                .map(|handover| MobileHandoverSummary {
                    at: handover.at.as_secs_f64(),
                    to: self
                        .agents
                        .iter()
                        .find(|agent| agent.ip == handover.to)
                        .map_or_else(|| handover.to.to_string(), |agent| name(agent.node)),
                    registered: handover.registered.map(|(at, _)| at.as_secs_f64()),
                    requests: handover.registered.map(|(_, requests)| requests),
                    gap: handover.gap.map(|gap| gap.as_secs_f64()),
                })
                .collect(),
            renewals: mobile.renewals,
            denied: mobile.denied,
            lost: mobile.lost.iter().copied().map(Time::as_secs_f64).collect(),
        });
        MobileIpSummary { agents: agents.collect(), mobiles: mobiles.collect() }
    }
}
