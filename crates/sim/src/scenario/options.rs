//! Options of what is found by name in a registry (congestion controllers and the like): a table whose keys
//! are what the chosen one lists. Knows none of them.

use msctp_congestion::classifier::{classifiers, find};
use msctp_congestion::{OptionInfo, OptionKind, Options};
use msctp_units::Span;

use super::document::Section;
use super::error::Problem;

/// Reads the table `key` of a profile, with `known` for its keys.
pub(super) fn read(profile: &Section<'_, '_>, key: &str, known: &[OptionInfo]) -> Result<Options, Problem> {
    let mut options = Options::new();
    read_over(profile, key, known, &mut options)?;
    Ok(options)
}

/// The same, over what `options` are already.
pub(super) fn read_over(
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

/// Reads `loss_classifier` and `loss_classifier_options` of a profile.
pub(super) fn classifier(
    profile: &Section<'_, '_>,
    name: &mut String,
    options: &mut Options,
) -> Result<(), Problem> {
    let names: Vec<_> = classifiers().iter().map(|info| (info.name, info.name)).collect();
    if let Some(chosen) = profile.choice("loss_classifier", &names)? {
        chosen.clone_into(name);
    }
    let known = find(name).map_or(&[][..], |info| info.options);
    *options = read(profile, "loss_classifier_options", known)?;
    Ok(())
}

fn value(section: &Section<'_, '_>, info: &OptionInfo) -> Result<Option<u64>, Problem> {
    Ok(match info.kind {
        OptionKind::Flag => section.flag(info.name)?.map(u64::from),
        OptionKind::Integer => section.integer(info.name, i128::from(info.least), i128::from(info.most))?,
        OptionKind::Nanoseconds => section.span(info.name)?.map(Span::as_nanos),
        OptionKind::Thousandths => {
            let Some(number) = section.number(info.name)? else { return Ok(None) };
            let thousandths = (number * 1000.0).round();
            // Most decimal fractions are not exact in binary: what is meant is the nearest thousandth.
            if !(thousandths >= 0.0 && (number * 1000.0 - thousandths).abs() < 1e-6) {
                let problem = format!("{number} is not allowed: want {}", info.want());
                return Err(Problem::new(section.key(info.name), problem));
            }
            Some(thousandths as u64)
        }
    })
}
