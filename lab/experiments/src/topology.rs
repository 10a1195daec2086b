//! Draws a scenario's topology as SVG: hosts and routers by their distance from the first server, links with
//! their rate and delay. Links that are down at the start are dashed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use msctp_sim::scenario::{CellularChannel, DirectionSpec, LinkSpec, NodeKind, Scenario};

use crate::figure::STYLESHEET;
use crate::xml::escape;

/// Distance between two columns and between two nodes of a column, in CSS pixels.
const COLUMN: usize = 210;
const ROW: usize = 110;
const MARGIN: usize = 90;
/// Distance between the centres of two links between the same nodes.
const BEND: f64 = 44.0;
/// Number of links above which their labels would overlap.
const MOST_LABELS: usize = 60;

/// Draws the topology as an SVG file with its own stylesheet.
#[must_use]
pub fn svg(scenario: &Scenario) -> String {
    let places = places(scenario);
    let (columns, rows) = places.values().fold((0, 0), |(x, y), place| (x.max(place.0), y.max(place.1)));
    let (width, height) = (2 * MARGIN + columns * COLUMN, 2 * MARGIN + rows * ROW);
    let at = |name: &str| {
        let (column, row) = places[name];
        (MARGIN + column * COLUMN, MARGIN + row * ROW)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n\
         <style>{STYLESHEET} svg{{background:var(--paper);font:13px sans-serif}} text{{fill:var(--ink);text-anchor:middle}} \
         .quiet{{fill:var(--axis);font-size:11px}} path{{stroke:var(--axis);stroke-width:2;fill:none}} .down{{stroke-dasharray:6 4}} \
         rect{{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}}</style>\n",
        escape(&format!("topology of {}", scenario.name))
    );
    for (number, link) in scenario.links.iter().enumerate() {
        let ((x1, y1), (x2, y2)) = (at(&link.a), at(&link.b));
        let class = if link.up { "" } else { " class=\"down\"" };
        let (x, y) = (f64::midpoint(x1 as f64, x2 as f64), f64::midpoint(y1 as f64, y2 as f64));
        let off = bend(scenario, number);
        // Writing to a String cannot fail.
        let _ = writeln!(svg, "<path d=\"M{x1} {y1}Q{x} {} {x2} {y2}\"{class}/>", y + 2.0 * off);
        if scenario.links.len() <= MOST_LABELS {
            let y = y + off;
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\">{}</text>", y - 5.0, escape(&link.name));
            let text = described(link);
            let _ = writeln!(svg, "<text class=\"quiet\" x=\"{x}\" y=\"{}\">{text}</text>", y + 13.0);
        }
    }
    for node in &scenario.nodes {
        let (x, y) = at(&node.name);
        let (half, radius) = if node.kind == NodeKind::Host { (46, 4) } else { (46, 18) };
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"36\" rx=\"{radius}\"/>",
            x - half,
            y - 18,
            2 * half
        );
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\">{}</text>", y + 5, escape(&node.name));
        let ends = scenario.links.iter().flat_map(|l| [(&l.a, l.address_a), (&l.b, l.address_b)]);
        let own = ends.filter(|(name, _)| **name == node.name).filter_map(|(_, address)| address);
        for (number, address) in own.take(3).enumerate() {
            let y = y + 32 + 13 * number;
            let _ = writeln!(svg, "<text class=\"quiet\" x=\"{x}\" y=\"{y}\">{address}</text>");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns column and row of each node: columns by the number of links from the first server, rows by the
/// mean row of the neighbours in the column before.
fn places(scenario: &Scenario) -> BTreeMap<&str, (usize, usize)> {
    let neighbours = |name: &str| -> Vec<&str> {
        let ends = scenario.links.iter().map(|link| (link.a.as_str(), link.b.as_str()));
        ends.flat_map(|(a, b)| [(a, b), (b, a)]).filter(|(a, _)| *a == name).map(|(_, b)| b).collect()
    };
    let mut columns: Vec<Vec<&str>> = Vec::new();
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let servers = scenario.associations.iter().map(|a| a.server.as_str());
    let servers = servers.chain(scenario.tcp.iter().map(|tcp| tcp.server.as_str()));
    for start in servers.take(1).chain(scenario.nodes.iter().map(|node| node.name.as_str())) {
        let mut open = VecDeque::from([(start, 0)]);
        while let Some((name, column)) = open.pop_front() {
            if places.contains_key(name) {
                continue;
            }
            if columns.len() <= column {
                columns.push(Vec::new());
            }
            places.insert(name, (column, columns[column].len()));
            columns[column].push(name);
            open.extend(neighbours(name).into_iter().map(|other| (other, column + 1)));
        }
    }
    for column in 1..columns.len() {
        let before: BTreeMap<&str, usize> =
            columns[column - 1].iter().enumerate().map(|(row, name)| (*name, row)).collect();
        let mean = |name: &&str| {
            let rows: Vec<usize> =
                neighbours(name).iter().filter_map(|other| before.get(other).copied()).collect();
            rows.iter().sum::<usize>() * 1000 / rows.len().max(1)
        };
        columns[column].sort_by_key(mean);
        for (row, name) in columns[column].iter().enumerate() {
            places.insert(name, (column, row));
        }
    }
    places
}

/// Returns the downward offset of the centre of a link, so that links between the same nodes do not overlap.
fn bend(scenario: &Scenario, number: usize) -> f64 {
    let ends = |link: &LinkSpec| {
        let (a, b) = (link.a.clone(), link.b.clone());
        if a < b { (a, b) } else { (b, a) }
    };
    let own = ends(&scenario.links[number]);
    let same = || scenario.links.iter().enumerate().filter(|(_, link)| ends(link) == own);
    let place = same().position(|(other, _)| other == number).unwrap_or(0);
    (place as f64 - (same().count() as f64 - 1.0) / 2.0) * BEND
}

fn described(link: &LinkSpec) -> String {
    let one = |way: &DirectionSpec| match way {
        DirectionSpec::Plain(plain) => format!("{} {}", plain.rate, plain.delay),
        DirectionSpec::Wlan(wlan) => format!("wlan {}", wlan.mac.rate),
        DirectionSpec::Cellular(spec) => match spec.channel {
            CellularChannel::Rate(rate) => format!("cellular {rate}"),
            CellularChannel::Signal { .. } => "cellular".to_owned(),
        },
        DirectionSpec::Egprs(_) => "egprs".to_owned(),
        DirectionSpec::Lte(_) => "lte".to_owned(),
        DirectionSpec::Trace(_) => "trace".to_owned(),
        DirectionSpec::Own(own) => own.name.clone(),
    };
    let (forward, reverse) = (one(&link.forward), one(&link.reverse));
    if forward == reverse { forward } else { format!("{forward} / {reverse}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario_file::scenario_file;

    #[test]
    fn every_node_and_link_is_drawn_once_and_no_two_nodes_share_a_place() {
        let file = scenario_file!("handover.toml");
        let scenario = Scenario::from_toml(file.text, file.path, &[]).unwrap();
        let svg = svg(&scenario);
        assert_eq!((svg.matches("<rect").count(), svg.matches("<path").count()), (5, 5));
        assert_eq!(svg.matches("class=\"down\"").count(), 1, "the WLAN is not in reach yet");
        assert_eq!((bend(&scenario, 0), bend(&scenario, 4)), (0.0, 0.0));
        for text in ["10.0.2.2", ">backbone-wlan<", ">11Mbps 20ms<", "topology of handover"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        let places = places(&scenario);
        assert_eq!(places["cn"], (0, 0));
        assert_eq!((places["r"].0, places["ar1"].0, places["mn"].0), (1, 2, 3));
        let mut taken: Vec<_> = places.values().collect();
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), 5);
    }
}
