//! Colours of the parts of a chart, on light and on dark pages.
//!
//! The plotting library knows fixed colours only. Each role is drawn in its own placeholder colour; the
//! finished drawing gets CSS variables in place of the placeholders.

use plotters::style::RGBColor;

/// Colour and dashes of a curve. The hues are distinguishable with the common colour vision deficiencies
/// (after Okabe and Ito), and the dashes without any colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Orange, in long dashes.
    #[default]
    First,
    /// Blue, in short dashes.
    Second,
    /// Green, a thick line.
    Third,
    /// Purple, in dots and dashes.
    Fourth,
    /// Yellow, in fine dots.
    Fifth,
    /// The text's colour, a thin line: known rather than measured values.
    Reference,
}

/// The role of a colour in a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Text.
    Ink,
    /// Axes and markers.
    Axis,
    /// Grid lines.
    Grid,
    /// A curve's line.
    Line(Style),
    /// Dots and bars of a curve, which are never dashed.
    Solid(Style),
}

const STYLES: [Style; 6] =
    [Style::First, Style::Second, Style::Third, Style::Fourth, Style::Fifth, Style::Reference];

impl Style {
    /// The styles of measured curves, for lists of unknown length.
    pub const MEASURED: [Self; 5] = [Self::First, Self::Second, Self::Third, Self::Fourth, Self::Fifth];

    pub(super) fn width(self) -> u32 {
        match self {
            Self::First | Self::Second | Self::Fourth | Self::Fifth => 2,
            Self::Third => 4,
            Self::Reference => 1,
        }
    }

    fn dashes(self) -> Option<&'static str> {
        match self {
            Self::First => Some("9 4"),
            Self::Second => Some("4 5"),
            Self::Fourth => Some("10 4 2 4"),
            Self::Fifth => Some("2 3"),
            Self::Third | Self::Reference => None,
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::First => "var(--series-1)",
            Self::Second => "var(--series-2)",
            Self::Third => "var(--series-3)",
            Self::Fourth => "var(--series-4)",
            Self::Fifth => "var(--series-5)",
            Self::Reference => "var(--ink)",
        }
    }
}

impl Role {
    fn all() -> impl Iterator<Item = Self> {
        let curves = STYLES.into_iter().flat_map(|style| [Self::Line(style), Self::Solid(style)]);
        [Self::Ink, Self::Axis, Self::Grid].into_iter().chain(curves)
    }

    /// Returns the placeholder colour.
    pub(super) fn colour(self) -> RGBColor {
        let number = match self {
            Self::Ink => 1,
            Self::Axis => 2,
            Self::Grid => 3,
            Self::Line(style) => 10 + style as u8,
            Self::Solid(style) => 20 + style as u8,
        };
        RGBColor(number, 0, 0)
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Ink => "var(--ink)",
            Self::Axis => "var(--axis)",
            Self::Grid => "var(--grid)",
            Self::Line(style) | Self::Solid(style) => style.variable(),
        }
    }
}

/// Replaces the placeholders in a finished drawing.
pub(super) fn with_variables(svg: &str) -> String {
    Role::all().fold(svg.to_owned(), |svg, role| {
        let RGBColor(r, g, b) = role.colour();
        let placeholder = format!("\"#{r:02X}{g:02X}{b:02X}\"");
        let svg = match role {
            Role::Line(style) => match style.dashes() {
                Some(dashes) => svg.replace(
                    &format!("stroke={placeholder}"),
                    &format!("stroke=\"{}\" stroke-dasharray=\"{dashes}\"", role.variable()),
                ),
                None => svg,
            },
            _ => svg,
        };
        svg.replace(&placeholder, &format!("\"{}\"", role.variable()))
    })
}

/// The CSS variables of charts, for light and dark pages. The second curve is much darker than the third,
/// which often covers it; on dark pages it is lighter.
pub const STYLESHEET: &str = ":root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--axis:#6b7280;--grid:#e3e6ea;\
--series-1:#c05000;--series-2:#0a3f9c;--series-3:#18a077;--series-4:#8b2f8f;--series-5:#a07800}\
@media(prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e6e8eb;--axis:#8b939e;--grid:#2c3138;\
--series-1:#f5a467;--series-2:#a8d1ff;--series-3:#1f9e78;--series-4:#e29ae6;--series-5:#e6cc5c}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_a_placeholder_of_its_own() {
        let mut seen: Vec<_> = Role::all().map(|role| role.colour().0).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), Role::all().count());
    }

    #[test]
    fn only_a_dashed_curves_line_becomes_dashed() {
        let dashed = with_variables("stroke=\"#0A0000\" fill=\"#140000\" stroke=\"#140000\"");
        assert_eq!(
            dashed,
            "stroke=\"var(--series-1)\" stroke-dasharray=\"9 4\" fill=\"var(--series-1)\" stroke=\"var(--series-1)\""
        );
    }
}
