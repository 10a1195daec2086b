//! The summary of `msctp sim` for people.

use std::io::{self, Write};

use msctp_sim::summary::{
    AssociationSummary, CbrSummary, FlowSummary, HandoverSummary, LinkSummary, MobileIpSummary, Summary,
    TcpFlowSummary, TcpSummary,
};

/// Writes the summary.
pub(crate) fn write(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(
        out,
        "{}: {:.3} s, seed {}, {} packets delivered by links",
        summary.scenario, summary.duration, summary.seed, summary.packets
    )?;
    for association in &summary.associations {
        write_association(out, association)?;
    }
    for connection in &summary.tcp {
        write_tcp(out, connection)?;
    }
    write_cbr(out, &summary.cbr)?;
    if !summary.video.is_empty() {
        writeln!(out, "\nvideo                  sent  delivered   transfer mean   95 %    max (s)")?;
        for video in &summary.video {
            let [mean, p95, max] = [video.mean_transfer, video.p95_transfer, video.max_transfer]
                .map(|time| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.3}")));
            writeln!(
                out,
                "  {:<14} {:>10} {:>10} {mean:>15} {p95:>6} {max:>6}",
                video.name, video.generated, video.delivered
            )?;
        }
    }
    write_links(out, &summary.links)?;
    if summary.no_address + summary.no_route > 0 {
        writeln!(
            out,
            "  {} packets for or from an address that was not there, {} without a route",
            summary.no_address, summary.no_route
        )?;
    }
    if let Some(mobile_ip) = &summary.mobile_ip {
        write_mobile_ip(out, mobile_ip)?;
    }
    if !summary.actions.is_empty() {
        writeln!(out, "\nactions")?;
        for action in &summary.actions {
            let at = action.at.map_or_else(|| "    never".to_owned(), |at| format!("{at:>8.3} s"));
            let refused = action.refused.as_ref().map(|why| format!(": refused, {why}")).unwrap_or_default();
            writeln!(out, "  {at}  {} {}{refused}", action.action, action.subject)?;
        }
    }
    if let Some(hash) = &summary.trace_hash {
        writeln!(out, "\ntrace hash {hash}")?;
    }
    Ok(())
}

/// Writes what the constant-rate sources did.
pub(crate) fn write_cbr(out: &mut impl Write, all: &[CbrSummary]) -> io::Result<()> {
    if !all.is_empty() {
        writeln!(out, "\nconstant rate          sent   received       lost")?;
        for cbr in all {
            let lost = cbr.sent - cbr.received;
            writeln!(out, "  {:<14} {:>10} {:>10} {:>10}", cbr.name, cbr.sent, cbr.received, lost)?;
        }
    }
    Ok(())
}

/// Writes what became of packets on the links.
pub(crate) fn write_links(out: &mut impl Write, links: &[LinkSummary]) -> io::Result<()> {
    writeln!(out, "\nlink                  delivered     queue full   lost  down  too big")?;
    for link in links {
        writeln!(
            out,
            "  {:<18} {:>10} {:>14} {:>6} {:>5} {:>8}",
            link.name, link.delivered, link.queue_drops, link.losses, link.down_drops, link.too_big
        )?;
    }
    Ok(())
}

fn write_association(out: &mut impl Write, association: &AssociationSummary) -> io::Result<()> {
    let up = association
        .established
        .map_or_else(|| "never established".to_owned(), |at| format!("established at {at:.3} s"));
    let ended = association.ended.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
    writeln!(out, "\nassociation {}: {up}{ended}", association.name)?;
    for (way, flow) in
        [("client to server", &association.to_server), ("server to client", &association.to_client)]
    {
        if flow.bytes > 0 {
            write_flow(out, way, flow)?;
        }
    }
    // A switch of the end that sends no data moves nothing but its SACKs.
    for handover in association.handovers.iter().filter(|handover| handover.gap.is_some()) {
        write_handover(out, handover)?;
    }
    Ok(())
}

fn write_flow(out: &mut impl Write, way: &str, flow: &FlowSummary) -> io::Result<()> {
    writeln!(
        out,
        "  {way}: {} bytes in {} messages, {} over the run",
        flow.bytes,
        flow.messages,
        rate(flow.goodput)
    )?;
    if let Some(at) = flow.completed {
        writeln!(out, "    complete at {at:.3} s")?;
    }
    writeln!(
        out,
        "    {} chunks, {} sent again, {} time-outs, {} fast retransmits, {} SACKs",
        flow.data_chunks, flow.retransmitted, flow.timeouts, flow.fast_retransmits, flow.sacks
    )?;
    writeln!(
        out,
        "    longest gap between deliveries {:.3} s, from {:.3} s",
        flow.longest_gap, flow.longest_gap_at
    )
}

fn write_tcp(out: &mut impl Write, connection: &TcpSummary) -> io::Result<()> {
    let up = connection
        .established
        .map_or_else(|| "never established".to_owned(), |at| format!("established at {at:.3} s"));
    let ended = connection.ended.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
    writeln!(out, "\ntcp {}: {up}{ended}", connection.name)?;
    for (way, flow) in
        [("client to server", &connection.to_server), ("server to client", &connection.to_client)]
    {
        if flow.bytes > 0 {
            write_tcp_flow(out, way, flow)?;
        }
    }
    Ok(())
}

fn write_tcp_flow(out: &mut impl Write, way: &str, flow: &TcpFlowSummary) -> io::Result<()> {
    writeln!(out, "  {way}: {} bytes, {} over the run", flow.bytes, rate(flow.goodput))?;
    if let Some(at) = flow.completed {
        writeln!(out, "    complete at {at:.3} s")?;
    }
    // The kernel's TCP does not say.
    if flow.segments == 0 {
        return write_gap(out, flow);
    }
    let spurious = match flow.spurious_timeouts {
        0 => String::new(),
        count => format!(" ({count} spurious)"),
    };
    writeln!(
        out,
        "    {} segments, {} sent again, {} time-outs{spurious}, {} fast retransmits, {} ACKs",
        flow.segments, flow.retransmitted, flow.timeouts, flow.fast_retransmits, flow.acks
    )?;
    write_gap(out, flow)
}

fn write_gap(out: &mut impl Write, flow: &TcpFlowSummary) -> io::Result<()> {
    writeln!(
        out,
        "    longest gap between deliveries {:.3} s, from {:.3} s",
        flow.longest_gap, flow.longest_gap_at
    )
}

fn write_handover(out: &mut impl Write, handover: &HandoverSummary) -> io::Result<()> {
    write!(
        out,
        "  >> {:.3} s: the {} sends over {} ({})",
        handover.at, handover.side, handover.to, handover.cause
    )?;
    if let (Some(before), Some(after)) = (handover.before, handover.after) {
        write!(out, ": {} in the 5 s before, {} in the 5 s after", rate(before), rate(after))?;
    }
    if let Some(gap) = handover.gap {
        write!(out, ", longest gap {gap:.3} s")?;
    }
    writeln!(out)
}

fn write_mobile_ip(out: &mut impl Write, mobile_ip: &MobileIpSummary) -> io::Result<()> {
    writeln!(out, "\nmobility agents    registrations  denied  into the tunnel  to visitors  to strangers")?;
    for agent in &mobile_ip.agents {
        writeln!(
            out,
            "  {:<8} {:<8} {:>12} {:>7} {:>16} {:>12} {:>13}",
            agent.name,
            agent.role,
            agent.accepted,
            agent.denied,
            agent.tunnelled,
            agent.delivered,
            agent.strangers
        )?;
    }
    for mobile in &mobile_ip.mobiles {
        writeln!(
            out,
            "\nmobile {}: {} registrations renewed, {} denied",
            mobile.name, mobile.renewals, mobile.denied
        )?;
        for handover in &mobile.handovers {
            write!(out, "  >> {:.3} s: to {}", handover.at, handover.to)?;
            if let (Some(at), Some(requests)) = (handover.registered, handover.requests) {
                write!(out, ", registered at {at:.3} s (requests: {requests})")?;
            }
            if let Some(gap) = handover.gap {
                write!(out, ", nothing received for {gap:.3} s")?;
            }
            writeln!(out)?;
        }
        for at in &mobile.lost {
            writeln!(out, "  {at:.3} s: hears no agent any more")?;
        }
    }
    Ok(())
}

/// A rate with three digits and a unit.
pub(crate) fn rate(bps: u64) -> String {
    let bps = bps as f64;
    match bps {
        b if b >= 1e9 => format!("{:.3} Gbps", b / 1e9),
        b if b >= 1e6 => format!("{:.3} Mbps", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kbps", b / 1e3),
        b => format!("{b} bps"),
    }
}
