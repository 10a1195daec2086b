//! Schemes selected by name from a catalogue (congestion controllers and the like), and their options: a
//! table with the keys that the selected one declares.

use msctp_congestion::ControllerFactory;
use msctp_congestion::classifier::ClassifierFactory;
use msctp_lab_schemes::catalogue::{
    ControllerEntry, OptionInfo, OptionKind, Options, classifiers, find_controller,
};
use msctp_units::Span;

use super::Schemes;
use super::document::Section;
use super::error::Problem;

/// Reads the table `key` of a profile, with the keys in `known`.
pub(super) fn read(profile: &Section<'_, '_>, key: &str, known: &[OptionInfo]) -> Result<Options, Problem> {
    let mut options = Options::new();
    read_over(profile, key, known, &mut options)?;
    Ok(options)
}

/// Reads the table into existing `options`.
fn read_over(
    profile: &Section<'_, '_>,
    key: &str,
    known: &[OptionInfo],
    options: &mut Options,
) -> Result<(), Problem> {
    let names: Vec<&str> = known.iter().map(|info| info.name).collect();
    let Some(section) = profile.section(key, &names)? else { return Ok(()) };
    for info in known {
        if let Some(value) = value(&section, info)? {
            options.set(info, value).map_err(|error| Problem::new(section.key(info.name), error.problem))?;
        }
    }
    Ok(())
}

/// A controller of the catalogue, or of the caller.
#[derive(Clone, Copy)]
enum Chosen<'s> {
    Known(&'static ControllerEntry),
    Own(&'s ControllerFactory),
}

/// Reads `controller` and `controller_options` of a profile. `default` applies without `controller`.
pub(super) fn controller(
    profile: &Section<'_, '_>,
    known: impl Iterator<Item = &'static ControllerEntry>,
    (default, set): (&str, &[(&str, u64)]),
    schemes: &Schemes,
) -> Result<ControllerFactory, Problem> {
    let known = known.map(|entry| (entry.name, Chosen::Known(entry)));
    let own = schemes.controllers().map(|(name, factory)| (name, Chosen::Own(factory)));
    let mut options = Options::new();
    let entry = match profile.choice("controller", &known.chain(own).collect::<Vec<_>>())? {
        Some(Chosen::Known(entry)) => entry,
        Some(Chosen::Own(factory)) => {
            read_over(profile, "controller_options", &[], &mut options)?;
            return Ok(factory.clone());
        }
        None => {
            let entry = find_controller(default).expect("a default in the catalogue");
            for &(name, value) in set {
                let info = entry.options.iter().find(|info| info.name == name).expect("one of its options");
                options = options.with(info, value);
            }
            entry
        }
    };
    read_over(profile, "controller_options", entry.options, &mut options)?;
    Ok((entry.make)(&options))
}

/// Reads `loss_classifier` and `loss_classifier_options` of a profile.
pub(super) fn classifier(profile: &Section<'_, '_>) -> Result<Option<ClassifierFactory>, Problem> {
    let known: Vec<_> = classifiers().iter().map(|entry| (entry.name, entry)).collect();
    let entry = profile.choice("loss_classifier", &known)?.unwrap_or(&classifiers()[0]);
    let options = read(profile, "loss_classifier_options", entry.options)?;
    Ok((entry.make)(&options))
}

fn value(section: &Section<'_, '_>, info: &OptionInfo) -> Result<Option<u64>, Problem> {
    Ok(match info.kind {
        OptionKind::Flag => section.flag(info.name)?.map(u64::from),
        OptionKind::Integer => section.integer(info.name, i128::from(info.least), i128::from(info.most))?,
        OptionKind::Nanoseconds => section.span(info.name)?.map(Span::as_nanos),
        OptionKind::Thousandths => {
            let Some(number) = section.number(info.name)? else { return Ok(None) };
            let thousandths = (number * 1000.0).round();
            // Most decimal fractions have no exact binary form: round to the nearest thousandth.
            if !(thousandths >= 0.0 && (number * 1000.0 - thousandths).abs() < 1e-6) {
                let problem = format!("{number} is not allowed: want {}", info.want());
                return Err(Problem::new(section.key(info.name), problem));
            }
            Some(thousandths as u64)
        }
    })
}
