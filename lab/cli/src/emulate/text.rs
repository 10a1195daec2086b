//! Prints the summary of `msctp-lab emulate` as text.

use std::io::{self, Write};

use msctp_emu::Summary;
use msctp_emu::summary::{AroundSummary, HostSummary};

use crate::sim_text::{rate, write_cbr, write_links};

/// Writes the summary.
pub(super) fn write(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let late = &summary.lateness;
    writeln!(
        out,
        "{}: {:.3} s, seed {}; {} packets handed out, {:.3} ms late in the median, {:.3} ms at the 99th percentile{}",
        summary.scenario,
        summary.duration,
        summary.seed,
        late.packets,
        1e3 * late.median,
        1e3 * late.p99,
        if summary.real_time { "" } else { " (without real-time priority)" },
    )?;
    // Hosts below a tenth of the largest count received only acknowledgments and control data.
    let most = summary.hosts.iter().map(|host| host.bytes).max().unwrap_or(0);
    for host in summary.hosts.iter().filter(|host| 10 * host.bytes >= most) {
        write_host(out, host)?;
    }
    write_cbr(out, &summary.cbr)?;
    write_links(out, &summary.links)?;
    let strays = &summary.strays;
    for (count, what) in [
        (strays.no_destination, "packets to addresses that no host has (multicast, the world outside)"),
        (strays.no_address, "packets over an interface without its address"),
        (strays.malformed, "packets that are not IP"),
        (strays.not_taken, "packets not taken by the receiving host"),
    ] {
        if count > 0 {
            writeln!(out, "  {count} {what}")?;
        }
    }
    Ok(())
}

fn write_host(out: &mut impl Write, host: &HostSummary) -> io::Result<()> {
    let (Some(first), Some(last)) = (host.first, host.last) else { return Ok(()) };
    let over = last - first;
    let mean = if over > 0.0 { host.bytes as f64 * 8.0 / over } else { 0.0 };
    writeln!(
        out,
        "\n{} was given {} bytes of data, from {first:.3} s to {last:.3} s ({})",
        host.name,
        host.bytes,
        rate(mean as u64)
    )?;
    host.around.iter().try_for_each(|around| write_around(out, around))
}

fn write_around(out: &mut impl Write, around: &AroundSummary) -> io::Result<()> {
    let AroundSummary { at, what, before, after, gap, gap_from, silent } = around;
    write!(out, "  >> {at:.3} s: {what}: {} in the 5 s before, ", rate(*before as u64))?;
    write!(out, "{} in the 5 s after, longest gap {gap:.3} s, from {gap_from:.3} s", rate(*after as u64))?;
    writeln!(out, "{}", if *silent { " to the end" } else { "" })
}
