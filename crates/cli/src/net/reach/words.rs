//! The results of probes in words.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use msctp_terminal::system::os_error;

use super::probe::Outcome;
use super::{Family, Found, StrictFilter};
use crate::net::devices;

/// The subject of a sentence.
pub(super) struct Described<'a> {
    pub(super) server: SocketAddr,
    pub(super) limit: Duration,
    pub(super) interface: &'a str,
    /// Whether the server answers over UDP from another interface.
    pub(super) answers_elsewhere: bool,
}

/// A finding, and its reason with what to do.
pub(super) struct Words {
    pub(super) finding: String,
    pub(super) why: Option<String>,
}

/// Returns how to name the host that reported an error.
fn reported_by(by: Option<IpAddr>) -> String {
    by.map_or_else(String::new, |by| format!(", as {by} reports"))
}

fn is_own(ip: IpAddr) -> bool {
    devices::addresses().iter().any(|(_, own)| *own == ip)
}

impl Described<'_> {
    /// Describes why there was no probe.
    pub(super) fn untried(&self, found: Found, family: Family) -> Words {
        let finding = match found {
            Found::NoAddress => format!("this host has no {} address there", family.name()),
            _ => format!("no route to {}", self.server.ip()),
        };
        Words { finding, why: None }
    }

    /// Describes the outcomes of both probes.
    pub(super) fn words(&self, udp: &Outcome, tcp: Option<&Outcome>, strict: Option<&StrictFilter>) -> Words {
        let (ip, port, device) = (self.server.ip(), self.server.port(), self.interface);
        let by_tcp = tcp.is_some_and(Outcome::is_answer);
        let (finding, why) = match udp {
            Outcome::Answer(time) => {
                let ms = time.as_secs_f64() * 1e3;
                let digits = usize::from(ms < 10.0);
                (format!("{ip} answers over UDP in {ms:.digits$} ms"), None)
            }
            Outcome::Closed(Some(by)) if *by != ip && is_own(*by) => self.forbidden(by_tcp),
            Outcome::Closed(Some(by)) if *by != ip => (
                format!("{by} rejects UDP to port {port} of {ip}"),
                Some("a firewall on the way; let the port through".to_owned()),
            ),
            Outcome::Closed(_) => (
                format!("nobody listens at UDP port {port} of {ip}"),
                Some(if by_tcp {
                    format!("only TCP port {port} answers there; start the server, or name its UDP port")
                } else {
                    "start the server, or name its port".to_owned()
                }),
            ),
            Outcome::Unreachable(Some(by)) if is_own(*by) => (
                format!("{ip} is unreachable"),
                Some(format!("the next hop on {device} does not answer; is it the right network?")),
            ),
            Outcome::Unreachable(by) => {
                let (over, but) = if by_tcp { (" over UDP", "; it answers over TCP") } else { ("", "") };
                (format!("{ip} is unreachable{over}{}{but}", reported_by(*by)), None)
            }
            Outcome::Forbidden => self.forbidden(by_tcp),
            Outcome::Failed(error) => (format!("cannot send to {ip}"), Some(os_error(error))),
            Outcome::Silent => self.silent(tcp, strict),
        };
        Words { finding, why }
    }

    fn forbidden(&self, by_tcp: bool) -> (String, Option<String>) {
        let Self { server, interface, .. } = self;
        let (ip, port) = (server.ip(), server.port());
        let but = if by_tcp { ", but not TCP" } else { "" };
        let remedy = format!("let its output to UDP port {port} through on {interface}");
        (format!("this host's firewall forbids UDP to {ip}{but}"), Some(remedy))
    }

    /// Describes a server without an answer over UDP, and without an error.
    fn silent(&self, tcp: Option<&Outcome>, strict: Option<&StrictFilter>) -> (String, Option<String>) {
        let (ip, port, device) = (self.server.ip(), self.server.port(), self.interface);
        let none = format!("no answer over UDP from {ip}");
        match tcp {
            Some(Outcome::Answer(_)) => (
                format!("{none}, which answers over TCP"),
                Some(
                    "a firewall on the way drops UDP; the commands use TCP if the server has --tcp"
                        .to_owned(),
                ),
            ),
            Some(Outcome::Closed(_)) => (
                format!("{none}, which refuses TCP at port {port}"),
                Some(if self.answers_elsewhere {
                    format!("a firewall on the way from {device} drops UDP")
                } else {
                    "the server does not run there, or a firewall drops UDP".to_owned()
                }),
            ),
            _ => match strict {
                Some(StrictFilter { elsewhere }) => (
                    format!("no answer from {ip}"),
                    Some(format!(
                        "this host's strict reverse-path filter drops packets that arrive over {device}, because its \
                         route to {ip} leads over {elsewhere}; set net.ipv4.conf.{device}.rp_filter to 2"
                    )),
                ),
                None => (
                    format!(
                        "no answer from {ip} for {} s, neither over UDP nor over TCP",
                        self.limit.as_secs()
                    ),
                    Some(if self.answers_elsewhere {
                        format!("{device} leads nowhere, or a firewall on the way drops both")
                    } else {
                        format!(
                            "{device} leads nowhere, a firewall on the way drops both, or that host is down"
                        )
                    }),
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_answers_elsewhere_runs() {
        let said = |udp: &Outcome, tcp: &Outcome, answers_elsewhere| {
            let server = "203.0.113.10:9899".parse().unwrap();
            let limit = Duration::from_secs(5);
            let described = Described { server, limit, interface: "wlan0", answers_elsewhere };
            described.words(udp, Some(tcp), None).why.unwrap()
        };
        let closed = Outcome::Closed(None);
        let text = said(&Outcome::Silent, &closed, false);
        assert_eq!(text, "the server does not run there, or a firewall drops UDP");
        let text = said(&Outcome::Silent, &closed, true);
        assert_eq!(text, "a firewall on the way from wlan0 drops UDP");
        assert!(said(&Outcome::Silent, &Outcome::Silent, false).contains("that host is down"));
        assert!(!said(&Outcome::Silent, &Outcome::Silent, true).contains("down"));
    }

    #[test]
    fn a_router_that_rejects_packets_is_told_from_a_closed_port() {
        let finding = |by: &str| {
            let server = "203.0.113.10:9899".parse().unwrap();
            let limit = Duration::from_secs(5);
            let described = Described { server, limit, interface: "wlan0", answers_elsewhere: false };
            described.words(&Outcome::Closed(by.parse().ok()), None, None).finding
        };
        assert_eq!(finding("203.0.113.10"), "nobody listens at UDP port 9899 of 203.0.113.10");
        assert_eq!(finding("198.51.100.2"), "198.51.100.2 rejects UDP to port 9899 of 203.0.113.10");
        assert_eq!(finding("127.0.0.1"), "this host's firewall forbids UDP to 203.0.113.10");
    }

    #[test]
    fn a_router_that_reports_an_address_as_unreachable_is_named() {
        let finding = |tcp: &Outcome| {
            let server = "203.0.113.10:9899".parse().unwrap();
            let limit = Duration::from_secs(5);
            let described = Described { server, limit, interface: "wlan0", answers_elsewhere: false };
            let udp = Outcome::Unreachable("198.51.100.2".parse().ok());
            described.words(&udp, Some(tcp), None).finding
        };
        let text = "203.0.113.10 is unreachable, as 198.51.100.2 reports";
        assert_eq!(finding(&Outcome::Silent), text);
        let text = "203.0.113.10 is unreachable over UDP, as 198.51.100.2 reports; it answers over TCP";
        assert_eq!(finding(&Outcome::Answer(Duration::ZERO)), text);
    }
}
