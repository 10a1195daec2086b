//! Prints the summary of `msctp-lab sim` as text.

use std::io::{self, Write};

use msctp_sim::summary::{
    AgentSummary, AssociationSummary, CbrSummary, FlowSummary, HandoverSummary, LinkSummary,
    MiddleboxSummary, MobileIpSummary, Summary, TcpFlowSummary, TcpSummary, VideoSummary,
};
use msctp_terminal::counted;

/// Writes the summary.
pub(crate) fn write(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(
        out,
        "{}: {:.3} s, seed {}, {} delivered by links",
        summary.scenario,
        summary.duration,
        summary.seed,
        counted(summary.packets, "packet")
    )?;
    for association in &summary.associations {
        write_association(out, association)?;
    }
    for connection in &summary.tcp {
        write_tcp(out, connection)?;
    }
    write_cbr(out, &summary.cbr)?;
    write_video(out, &summary.video)?;
    write_links(out, &summary.links)?;
    if summary.no_address + summary.no_route > 0 {
        writeln!(
            out,
            "  {} to or from an address that no interface had, {} without a route",
            counted(summary.no_address, "packet"),
            summary.no_route
        )?;
    }
    if let Some(mobile_ip) = &summary.mobile_ip {
        write_mobile_ip(out, mobile_ip)?;
    }
    write_middleboxes(out, &summary.middleboxes)?;
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

/// Writes a table with columns as wide as their longest cell: the first to the left, the others to the right.
fn write_table<const N: usize>(
    out: &mut impl Write,
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> io::Result<()> {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut line = |indent: &str, cells: &dyn Fn(usize) -> String| {
        let first = format!("{indent}{:<1$}", cells(0), widths[0] + 2 - indent.len());
        let others = (1..N).map(|column| format!("  {:>1$}", cells(column), widths[column]));
        writeln!(out, "{}", (first + &others.collect::<String>()).trim_end())
    };
    line("", &|column| head[column].to_owned())?;
    rows.iter().try_for_each(|row| line("  ", &|column| row[column].clone()))
}

/// Writes the transfer times of video applications.
fn write_video(out: &mut impl Write, all: &[VideoSummary]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let seconds = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"));
    let head = ["video", "sent", "delivered", "transfer mean (s)", "95 % (s)", "max (s)"];
    let row = |video: &VideoSummary| {
        let [mean, p95, max] = [video.mean_transfer, video.p95_transfer, video.max_transfer].map(seconds);
        [video.name.clone(), video.generated.to_string(), video.delivered.to_string(), mean, p95, max]
    };
    write_table(out, head, all.iter().map(row))
}

/// Writes the counters of constant-rate sources.
pub(crate) fn write_cbr(out: &mut impl Write, all: &[CbrSummary]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let row = |cbr: &CbrSummary| {
        let [sent, received, lost] = [cbr.sent, cbr.received, cbr.sent - cbr.received].map(|n| n.to_string());
        [cbr.name.clone(), sent, received, lost]
    };
    write_table(out, ["constant rate", "sent", "received", "lost"], all.iter().map(row))
}

/// Writes the counters of the links.
pub(crate) fn write_links(out: &mut impl Write, links: &[LinkSummary]) -> io::Result<()> {
    writeln!(out)?;
    let row = |link: &LinkSummary| {
        let [delivered, full, lost, down, too_big] =
            [link.delivered, link.queue_drops, link.losses, link.down_drops, link.too_big]
                .map(|count| count.to_string());
        [link.name.clone(), delivered, full, lost, down, too_big]
    };
    write_table(out, ["link", "delivered", "queue full", "lost", "down", "too big"], links.iter().map(row))
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
    // A switch of the end that sends no data moves only its SACKs.
    for handover in association.handovers.iter().filter(|handover| handover.gap.is_some()) {
        write_handover(out, handover)?;
    }
    Ok(())
}

fn write_flow(out: &mut impl Write, way: &str, flow: &FlowSummary) -> io::Result<()> {
    writeln!(
        out,
        "  {way}: {} in {}, {} over the run",
        counted(flow.bytes, "byte"),
        counted(flow.messages, "message"),
        rate(flow.goodput)
    )?;
    if let Some(at) = flow.completed {
        writeln!(out, "    complete at {at:.3} s")?;
    }
    writeln!(
        out,
        "    {}, {} retransmitted, {}, {}, {}",
        counted(flow.data_chunks, "chunk"),
        flow.retransmitted,
        counted(flow.timeouts, "timeout"),
        counted(flow.fast_retransmits, "fast retransmit"),
        counted(flow.sacks, "SACK")
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
    // The kernel's TCP does not count segments here.
    if flow.segments == 0 {
        return write_gap(out, flow);
    }
    let spurious = match flow.spurious_timeouts {
        0 => String::new(),
        count => format!(" ({count} spurious)"),
    };
    writeln!(
        out,
        "    {}, {} retransmitted, {}{spurious}, {}, {}",
        counted(flow.segments, "segment"),
        flow.retransmitted,
        counted(flow.timeouts, "timeout"),
        counted(flow.fast_retransmits, "fast retransmit"),
        counted(flow.acks, "ACK")
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

fn write_middleboxes(out: &mut impl Write, middleboxes: &[MiddleboxSummary]) -> io::Result<()> {
    if middleboxes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let head = ["middlebox", "kind", "to outside", "dropped", "from outside", "dropped", "mappings"];
    let row = |it: &MiddleboxSummary| {
        let [outward, outward_dropped, inward, inward_dropped, created] =
            [it.outward, it.outward_dropped, it.inward, it.inward_dropped, it.created]
                .map(|count| count.to_string());
        [it.name.clone(), it.kind.to_owned(), outward, outward_dropped, inward, inward_dropped, created]
    };
    write_table(out, head, middleboxes.iter().map(row))
}

fn write_mobile_ip(out: &mut impl Write, mobile_ip: &MobileIpSummary) -> io::Result<()> {
    writeln!(out)?;
    let head = [
        "mobility agent",
        "role",
        "registrations",
        "denied",
        "into the tunnel",
        "to visitors",
        "to strangers",
    ];
    let row = |agent: &AgentSummary| {
        let [accepted, denied, tunnelled, delivered, strangers] =
            [agent.accepted, agent.denied, agent.tunnelled, agent.delivered, agent.strangers]
                .map(|count| count.to_string());
        [agent.name.clone(), agent.role.to_owned(), accepted, denied, tunnelled, delivered, strangers]
    };
    write_table(out, head, mobile_ip.agents.iter().map(row))?;
    for mobile in &mobile_ip.mobiles {
        writeln!(
            out,
            "\nmobile {}: {} renewed, {} denied",
            mobile.name,
            counted(mobile.renewals, "registration"),
            mobile.denied
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
            writeln!(out, "  {at:.3} s: no longer hears an agent")?;
        }
    }
    Ok(())
}

/// Formats a rate with a unit.
pub(crate) fn rate(bps: u64) -> String {
    let bps = bps as f64;
    match bps {
        b if b >= 1e9 => format!("{:.3} Gbps", b / 1e9),
        b if b >= 1e6 => format!("{:.3} Mbps", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kbps", b / 1e3),
        b => format!("{b} bps"),
    }
}
