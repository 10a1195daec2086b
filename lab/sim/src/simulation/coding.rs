//! Changing conditions of radio links, and the quality that hosts report.

use msctp_link::egprs::{self, CodingProcess};
use msctp_link::{Carries, Change, Probability};
use msctp_proto::handover::{CodingScheme, LinkQuality};
use msctp_units::{Span, Time};

use crate::link_models::CHECKED;
use crate::random::component_seed;
use crate::scenario::{Interface, Scenario};

use super::Simulation;

/// A link with changing conditions.
#[derive(Debug)]
pub(crate) struct Coding {
    link: usize,
    process: CodingProcess,
    interruption: Span,
    carries: Carries,
}

/// Creates the scenario's coding processes. Each draws from the stream `link/NAME/coding`.
pub(crate) fn codings(scenario: &Scenario, seed: u64) -> Vec<Coding> {
    let links = scenario.links.iter().enumerate();
    let with = links.filter_map(|(number, link)| Some((number, &link.name, link.coding.as_ref()?)));
    with.map(|(link, name, spec)| {
        let stream = component_seed(seed, &format!("link/{name}/coding"));
        let process = CodingProcess::new(spec.process.clone(), stream).expect(CHECKED);
        Coding { link, process, interruption: spec.interruption, carries: spec.carries }
    })
    .collect()
}

impl Simulation {
    /// Updates the conditions of a link in both directions. Returns the time of the next change.
    pub(crate) fn on_coding(&mut self, number: usize) -> Option<Time> {
        while let Some(change) = self.codings[number].process.change(self.now) {
            let &Coding { link, interruption, carries, .. } = &self.codings[number];
            let handover = change.handover.then_some(Change::Handover { interruption, carries });
            let conditions = [Change::Coding(change.scheme), Change::BlockErrors(change.bler)];
            let changes: Vec<Change> = handover.into_iter().chain(conditions).collect();
            for direction in [2 * link, 2 * link + 1] {
                let done = self.set_link(direction, &changes, None);
                debug_assert_eq!(done, Ok(()), "{CHECKED}");
            }
            self.notify_quality(link);
        }
        self.codings[number].process.next_change()
    }

    /// Returns the radio link quality that an interface reports to its host; `None` if the link has no
    /// radio, is down, or does not report.
    pub(crate) fn quality(&self, interface: &Interface) -> Option<LinkQuality> {
        if !self.scenario.links[interface.link].report_quality {
            return None;
        }
        let up = self.network.hops[interface.egress].conditions()?;
        // The other direction of the same link.
        let down = self.network.hops[interface.egress ^ 1].conditions()?;
        Some(LinkQuality {
            coding_scheme: down.coding.map(|scheme| named(scheme, up.coding)),
            rate: Some(down.rate).filter(|rate| !rate.is_zero()),
            block_error_ppm: Some(millionths(down.block_errors)),
            round_trip: None,
            one_way: Some(down.one_way),
            cell: Some((interface.link as u64) << 32 | down.handovers),
        })
    }
}

/// Returns the number of a coding scheme: CS1 to CS4 are 1 to 4 of GPRS, MCS1 to MCS9 are 1 to 9 of EGPRS.
fn named(down: egprs::CodingScheme, up: Option<egprs::CodingScheme>) -> CodingScheme {
    let number = |scheme: egprs::CodingScheme| match scheme as u8 {
        cs @ 0..4 => (CodingScheme::GPRS, cs + 1),
        mcs => (CodingScheme::EGPRS, mcs - 3),
    };
    let (technology, down) = number(down);
    let up = up.map(number).filter(|&(other, _)| other == technology);
    CodingScheme { technology, down, up: up.map_or(0, |(_, up)| up) }
}

fn millionths(p: Probability) -> u32 {
    (p.as_f64() * 1e6).round() as u32
}
