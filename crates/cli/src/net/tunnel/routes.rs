//! Whether this host has default routes, from the tables of the kernel in `/proc/net`.

use std::fs::read_to_string;

/// The flags of a route that rejects packets (`RTF_REJECT`).
const REJECT: u32 = 0x200;

/// Returns whether the host has a default route for IPv4 and for IPv6. A table that cannot be read has none.
pub(super) fn default_routes() -> [bool; 2] {
    let table = |path| read_to_string(path).unwrap_or_default();
    [has_default4(&table("/proc/net/route")), has_default6(&table("/proc/net/ipv6_route"))]
}

/// Reads `/proc/net/route`: interface, destination, gateway, flags, three counts, mask.
fn has_default4(table: &str) -> bool {
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, to, _, flags, _, _, _, mask, ..] = fields[..] else { return false };
        to == "00000000" && mask == "00000000" && !rejects(flags)
    })
}

/// Reads `/proc/net/ipv6_route`: destination, its length, source, its length, gateway, metric, two counts,
/// flags, interface.
fn has_default6(table: &str) -> bool {
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [to, "00", _, _, _, _, _, _, flags, interface] = fields[..] else { return false };
        to.bytes().all(|digit| digit == b'0') && interface != "lo" && !rejects(flags)
    })
}

fn rejects(flags: &str) -> bool {
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & REJECT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_of_ipv4_is_found() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let route =
            |to: &str, mask: &str| format!("{head}eth0\t{to}\t0100A8C0\t0003\t0\t0\t0\t{mask}\t0\t0\t0\n");
        assert!(has_default4(&route("00000000", "00000000")));
        assert!(!has_default4(&route("00000000", "00000080")), "half of the addresses");
        assert!(!has_default4(&route("0000A8C0", "00FFFFFF")));
        assert!(!has_default4(head) && !has_default4(""));
    }

    #[test]
    fn a_default_route_of_ipv6_is_found() {
        let zeros = "0".repeat(32);
        let route = |len: &str, flags: &str, interface: &str| {
            format!(
                "{zeros} {len} {zeros} 00 fe80{} 00000400 00000001 00000000 {flags} {interface}\n",
                "0".repeat(28)
            )
        };
        assert!(has_default6(&route("00", "00000003", "eth0")));
        assert!(!has_default6(&route("00", "00200200", "lo")), "the kernel's own");
        assert!(!has_default6(&route("00", "00000200", "eth0")), "unreachable");
        assert!(!has_default6(&route("01", "00000003", "eth0")) && !has_default6(""));
    }
}
