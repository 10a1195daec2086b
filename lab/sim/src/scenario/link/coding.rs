//! `coding`: changes of an EGPRS link's conditions, from a table or a Markov chain.

use msctp_link::egprs::{CodingChange, CodingConfig, CodingScheme, CodingState, CodingStep, InvalidCoding};
use msctp_link::{Carries, Probability};
use msctp_units::{Span, Time};

use super::DirectionSpec;
use super::radio::probability;
use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::keys;

/// The words of the key `carries`.
pub(in crate::scenario) const CARRIES: [(&str, Carries); 3] =
    [("everything", Carries::Everything), ("unsent", Carries::Unsent), ("nothing", Carries::Nothing)];

/// Default interruption of a link by a cell change.
pub(in crate::scenario) const INTERRUPTION: Span = Span::from_millis(500);

/// The coding process of a link, for both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingSpec {
    /// The process of changes.
    pub process: CodingConfig,
    /// Interruption of the link by a handover of the process.
    pub interruption: Span,
    /// Packets that the old cell forwards at such a handover.
    pub carries: Carries,
}

impl CodingSpec {
    /// Reads the key `coding` of a link.
    pub(super) fn read(link: &Section<'_, '_>) -> Result<Option<Self>, Problem> {
        let Some(section) = link.section("coding", &keys::CODING.names())? else { return Ok(None) };
        let process = match (section.has("table"), section.has("markov")) {
            (true, false) => table(&section)?,
            (false, true) => markov(&section)?,
            _ => {
                let message = "want exactly one of table = [ { at = \"0s\", scheme = \"CS4\", bler = 0.01 }, … ] \
                               and markov = [ { scheme = \"CS4\", bler = 0.01, mean = \"200s\", next = { CS3 = 1 } }, … ]";
                return Err(Problem::new(section.path(), message));
            }
        };
        process.check().map_err(|e| invalid(&section, &e))?;
        Ok(Some(Self {
            process,
            interruption: section.span("interruption")?.unwrap_or(INTERRUPTION),
            carries: section.choice("carries", &CARRIES)?.unwrap_or_default(),
        }))
    }

    /// Returns the initial conditions.
    pub(super) fn start(&self) -> CodingChange {
        let change = |scheme, bler| CodingChange { scheme, bler, handover: false };
        match &self.process {
            CodingConfig::Table(steps) => steps.first().map(|step| step.change),
            CodingConfig::Markov { states, .. } => states.first().map(|s| change(s.scheme, s.bler)),
        }
        .unwrap_or(change(CodingScheme::Cs4, Probability::ZERO))
    }

    /// Checks the process for a link with these two directions. Keys are relative to the link.
    pub(in crate::scenario) fn check(&self, ways: [&DirectionSpec; 2]) -> Result<(), Problem> {
        self.process.check().map_err(|e| Problem::new("coding", e.to_string()))?;
        let shares: Vec<Probability> = match &self.process {
            CodingConfig::Table(steps) => {
                if steps.first().is_some_and(|step| step.at != Time::ZERO) {
                    let message = "the first entry sets the initial conditions: want at = \"0s\"";
                    return Err(Problem::new("coding.table.0.at", message));
                }
                steps.iter().map(|step| step.change.bler).collect()
            }
            CodingConfig::Markov { states, new_cell } => {
                let states = states.iter().map(|state| state.bler);
                states.chain(new_cell.map(|(_, bler)| bler)).collect()
            }
        };
        for way in ways {
            let DirectionSpec::Egprs(spec) = way else {
                return Err(Problem::new("coding", "only an egprs link has one: want type = \"egprs\""));
            };
            shares.iter().try_for_each(|&share| spec.check_share(share))?;
        }
        Ok(())
    }
}

/// Reads the process, with its key.
fn invalid(section: &Section<'_, '_>, error: &InvalidCoding) -> Problem {
    let key = match error {
        InvalidCoding::NotInOrder { row, .. } => format!("table.{}.at", row - 1),
        InvalidCoding::Empty if section.has("table") => "table".to_owned(),
        _ => "markov".to_owned(),
    };
    Problem::new(section.key(&key), error.to_string())
}

fn scheme(section: &Section<'_, '_>) -> Result<CodingScheme, Problem> {
    section.required("scheme", section.parsed("scheme", "\"CS4\"")?, "\"CS4\"")
}

fn bler(section: &Section<'_, '_>) -> Result<Probability, Problem> {
    section.required("bler", probability(section, "bler")?, "0.01")
}

/// Reads `table = [ { at = "0s", scheme = "CS4", bler = 0.01 }, … { at = "700s", …, handover = true } ]`.
fn table(section: &Section<'_, '_>) -> Result<CodingConfig, Problem> {
    let mut steps = Vec::new();
    for (path, table) in section.items("table")? {
        let row = Section::open(table, path, &keys::CODING_STEP.names())?;
        let at = row.required("at", row.span("at")?, "\"200s\"")?;
        let handover = row.flag("handover")?.unwrap_or(false);
        let change = CodingChange { scheme: scheme(&row)?, bler: bler(&row)?, handover };
        steps.push(CodingStep { at: Time::ZERO + at, change });
    }
    Ok(CodingConfig::Table(steps))
}

/// Reads `markov = [ { scheme = "CS4", bler = 0.01, mean = "200s", next = { CS4 = 0.2, CS3 = 0.8 } }, … ]`
/// and `new_cell = { scheme = "CS3", bler = 0.015 }`.
fn markov(section: &Section<'_, '_>) -> Result<CodingConfig, Problem> {
    let keys = keys::CODING_STATE.names();
    let open = section.items("markov")?.into_iter().map(|(path, table)| Section::open(table, path, &keys));
    let rows = open.collect::<Result<Vec<_>, _>>()?;
    let mut schemes: Vec<CodingScheme> = Vec::new();
    for row in &rows {
        let scheme = scheme(row)?;
        if schemes.contains(&scheme) {
            return Err(Problem::new(
                row.key("scheme"),
                format!("{scheme} has a state already: want one each"),
            ));
        }
        schemes.push(scheme);
    }
    let mut states = Vec::new();
    for (row, &scheme) in rows.iter().zip(&schemes) {
        states.push(CodingState {
            scheme,
            bler: bler(row)?,
            mean_holding: row.required("mean", row.span("mean")?, "\"200s\"")?,
            next_ppm: next(row, &schemes)?,
        });
    }
    let new_cell = match section.section("new_cell", &["scheme", "bler"])? {
        Some(cell) => Some((scheme(&cell)?, bler(&cell)?)),
        None => None,
    };
    Ok(CodingConfig::Markov { states, new_cell })
}

/// Reads the transition probabilities. Without any, the state is absorbing.
fn next(row: &Section<'_, '_>, schemes: &[CodingScheme]) -> Result<Vec<u32>, Problem> {
    let names: Vec<&'static str> = schemes.iter().map(|scheme| scheme.name()).collect();
    let Some(next) = row.section("next", &names)? else { return Ok(Vec::new()) };
    let ppm = names.iter().map(|name| Ok(probability(&next, name)?.map_or(0, millionths)));
    let ppm: Vec<u32> = ppm.collect::<Result<_, Problem>>()?;
    let sum: u64 = ppm.iter().map(|&ppm| u64::from(ppm)).sum();
    if sum != 1_000_000 {
        let sum = sum as f64 / 1e6;
        return Err(Problem::new(next.path(), format!("the probabilities add up to {sum}: want 1")));
    }
    Ok(ppm)
}

fn millionths(p: Probability) -> u32 {
    (p.as_f64() * 1e6).round() as u32
}
