//! From a run's counters to its [`Summary`].

use msctp_units::Rate;

use crate::series::Series;
use crate::simulation::{App, Simulation};
use crate::summary::{ActionSummary, AssociationSummary, CbrSummary, FlowSummary, LinkSummary, Summary};

impl Simulation {
    /// What the run has come to so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let links = self.links();
        Summary {
            scenario: self.scenario.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            duration: self.now.as_secs_f64(),
            events: self.handled,
            packets: links.iter().map(|link| link.delivered).sum(),
            trace_hash: self.observer.hash_so_far(),
            associations: Vec::new(),
            cbr: self.cbr(),
            links,
            no_address: self.network.strays.no_address,
            no_route: self.network.strays.no_route,
            actions: self.actions(),
        }
    }

    /// What was recorded over time.
    #[must_use]
    pub fn into_series(self) -> Series {
        let mut series =
            Series { queues: self.queues.map(|probe| probe.series).unwrap_or_default(), ..Series::default() };
        for line in self.lines {
            for end in line.into_ends() {
                if let Some(mut delivery) = end.delivery {
                    delivery.finish(self.now);
                    series.delivery.push(delivery);
                }
                series.traces.extend(end.trace);
            }
        }
        series
    }

    fn cbr(&self) -> Vec<CbrSummary> {
        let named = self.scenario.apps.iter().zip(&self.apps);
        named
            .filter_map(|(spec, app)| match app {
                App::Cbr(cbr) => Some(CbrSummary {
                    name: spec.name.clone(),
                    sent: cbr.sent,
                    received: cbr.received,
                    received_bytes: cbr.received_bytes,
                }),
                App::Bulk { .. } | App::Reader { .. } => None,
            })
            .collect()
    }

    fn links(&self) -> Vec<LinkSummary> {
        let names = self.directions();
        let ends = self.scenario.links.iter().flat_map(|l| [(&l.a, &l.b), (&l.b, &l.a)]);
        let named = self.network.hops.iter().zip(names).zip(ends);
        named.map(|((hop, name), (from, to))| hop.summary(name, from.clone(), to.clone())).collect()
    }

    fn actions(&self) -> Vec<ActionSummary> {
        let shown =
            self.plan.actions.iter().filter_map(|action| action.shown.as_ref().map(|shown| (action, shown)));
        shown
            .map(|(action, (word, subject))| ActionSummary {
                action: (*word).to_owned(),
                subject: subject.clone(),
                at: action.done.map(|at| at.as_secs_f64()),
                refused: action.refused.clone(),
            })
            .collect()
    }
}
